"""What statements of Xie et al. are made of, held by numbers that are known."""

from __future__ import annotations

from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import deqcheck as dq
from deqcheck.judging import judge
from deqcheck.models.opteq.network import Network
from deqcheck.records.comparison import Decision
from deqcheck.records.measured import Measured
from deqcheck.records.series import Series
from deqcheck.theorems.xie2021 import lem1
from deqcheck.theorems.xie2021.averaged import Lemma10
from deqcheck.theorems.xie2021.common import TOLERANCE, layer_entries
from deqcheck.theorems.xie2021.lem6 import cyclic
from deqcheck.theorems.xie2021.lem7 import Equation15
from deqcheck.theorems.xie2021.lem8 import recursion
from deqcheck.theorems.xie2021.pairs import Pair
from deqcheck.theorems.xie2021.resting import RestingSet
from deqcheck.theorems.xie2021.sec41 import Section41
from deqcheck.theorems.xie2021.sec41_explicit import Explicit
from deqcheck.theorems.xie2021.thm1 import Theorem1
from deqcheck.theorems.xie2021.thm2 import Corollary1
from deqcheck.theorems.xie2021.thm5_repaired import apart_from_end
from tests.opteq_instances import arrays, parameters, problem


def test_how_far_the_end_is_lies_between_the_lengths_of_both_ends() -> None:
    k = np.arange(3)
    moved = {"W": ([0.0, 3.0, 5.0], [0.0, 0.5, 0.1]), "b": ([0.0, 1.0, 4.0], [0.0, 0.0, 0.2])}
    series = {
        name: Series(k, 0.5 * k, Measured(np.array(value), np.array(bar)))
        for name, (value, bar) in moved.items()
    }
    _, t, apart = apart_from_end(SimpleNamespace(distance=series))  # type: ignore[arg-type]
    assert t.tolist() == [0.0, 0.5, 1.0]
    low = [np.hypot(4.9, 3.8), np.hypot(1.4, 2.8), 0.0]
    high = [np.hypot(5.1, 4.2), np.hypot(2.6, 3.2), np.hypot(0.2, 0.4)]
    assert apart.low == pytest.approx(low, abs=1e-12)
    assert apart.high == pytest.approx(high, rel=1e-12)
    # Without bars it is rounded all the same.
    sure = dict.fromkeys("Wb", Series(k, 0.5 * k, Measured(np.array([0.0, 1.0, 2.0]))))
    exact = apart_from_end(SimpleNamespace(distance=sure))[2]  # type: ignore[arg-type]
    assert Fraction(exact.low[0]) ** 2 < 8 < Fraction(exact.high[0]) ** 2


def test_products_of_jacobians_are_as_unsure_as_both_ends_together() -> None:
    """The bars of the one are far larger: its pre-activations are."""
    data, small = arrays(1, 3, 3, 2, 1, 2, 2)
    large = {name: a * (1e6 if name[0] in "Ub" else 0.5) for name, a in small.items()}
    p = problem(data, small, alpha=0.7, iterations=2)
    one, other = p.model.at(small), p.model.at(large)
    there, back = (list(Pair(*ends).factors) for ends in ((one, other), (other, one)))
    own = list(Pair(one, one).factors)
    assert [x.error for x in there] == pytest.approx([x.error for x in back], rel=1e-12)
    assert all(x.error > 1e3 * y.error for x, y in zip(there, own, strict=True))


def test_midpoints_of_fixed_points_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """A map that rests at (1, 1) and (-1, -1) and not between them."""
    theta = parameters([np.eye(2)], [np.zeros((2, 1))], [np.zeros(2)], np.ones((1, 2)))
    data = {"X": np.ones((1, 1)), "Y": np.zeros((1, 1))}
    p = problem(data, theta, activation="hardtanh", iterations=1)
    ends = [np.ones(2), -np.ones(2)]
    resting = RestingSet.of(p)
    assert resting is not None
    monkeypatch.setattr(RestingSet, "extremes", lambda *a: ends)
    right = Lemma10()._convex(p, resting)
    monkeypatch.setattr(Network, "T", lambda self, Z: np.where(Z >= 0, 1.0, -1.0))
    wrong = Lemma10()._convex(p, resting)
    assert right.judge().decision is Decision.HOLDS
    assert wrong.judge().decision is Decision.VIOLATED


@pytest.mark.parametrize(("b", "Wo"), [(1e8, 1e-8), (1e8, 1.0), (1.0, 1e8)])
def test_the_same_output_of_both_networks_at_all_scales(b: float, Wo: float) -> None:
    data, theta = arrays(2, 3, 3, 2, 2, 2, 3)
    scales = {"b": b, "Wo": Wo}
    scaled = {n: a * scales.get(n, scales.get(n[0], 1.0)) for n, a in theta.items()}
    found: Any = judge(lem1.Lemma2, problem(data, scaled, activation="relu", iterations=1))
    assert found.outcome == "confirmed"


@pytest.mark.parametrize("steps", [0, 1, 6])
def test_a_recursion_has_one_term_more_than_weights(steps: int) -> None:
    """Dyadic numbers: every term is exact. Nothing is behind the last one."""
    weights = [Fraction(1, 2 ** (k % 3 + 1)) for k in range(steps)]
    pulls = [Fraction(3 * k - 4, 8) for k in range(steps)]
    terms = [Fraction(5)]
    for w, e in zip(weights, pulls, strict=True):
        terms.append(terms[-1] - w * (terms[-1] - e))
    found = recursion(5.0, np.array(weights, float), np.array(pulls, float))
    assert found.tolist() == terms


@pytest.mark.parametrize("b", [1.0, 1e6, 1e9])
def test_the_averaged_map_is_written_out_at_states_of_all_sizes(b: float) -> None:
    """What rounds is relative to the largest state that is looked at."""
    data, theta = arrays(2, 3, 3, 2, 2, 2, 3)
    scaled = {n: a * (b if n[0] == "b" else 1.0) for n, a in theta.items()}
    found: Any = judge(
        Equation15, problem(data, scaled, activation="relu", alpha=0.5, iterations=1)
    )
    assert found.outcome == "confirmed"


@pytest.mark.parametrize("side", [1e-2, 0.1, 10.0])
def test_a_norm_of_1_that_rounds_up_is_no_cycle_that_is_not_monotone(side: float) -> None:
    """f(z) = w^2 z with w = 1 + 1e-12, which counts as 1: around a square the sum of
    <z - f(z), f(z') - f(z)> is (w^2 - 1) w^2 times the square of each side, half of it at each of
    its ends. It is granted, and not much more than that."""
    w2 = (1 + Fraction(TOLERANCE)) ** 2
    corners = [np.array(c) * side / 2 for c in ([1, 1], [-1, 1], [-1, -1], [1, -1])]
    images = [float(w2) * z for z in corners]
    gaps = [float(1 - w2) * z for z in corners]
    found, granted = cyclic(gaps, images, 0.0)
    true = float((w2 - 1) * w2 * 2 * Fraction(side) ** 2)
    assert found == pytest.approx(true, rel=1e-3, abs=0)
    assert true <= granted <= 5 * true + 1e-15


STEP = {"prox": "distance", "explicit_step": 1e-13}
WEAK = {"prox": {"kind": "distance", "weight": 1e-13}}
FAR = {"Z0": [[3.0]]}


@pytest.mark.parametrize(
    ("statement", "depth", "fields"),
    [
        (Theorem1, 1, {}),
        (Section41, 1, WEAK),
        (Corollary1, 2, {"activation": "hardtanh"}),
        (Corollary1, 2, {"alpha": 0.9, **FAR}),
        (Explicit, 1, STEP),
        (Explicit, 1, {"alpha": 0.9, **STEP, **FAR}),
    ],
)
def test_what_is_granted_to_norms_of_one_is_granted_to_smallest_values(
    statement: Any, depth: int, fields: dict[str, Any]
) -> None:
    """With W = 1 + 4e-13 the hidden objectives are not quite convex."""
    W = [np.full((1, 1), 1 + 4e-13)] * depth
    theta = parameters(W, [np.zeros((1, 1))] * depth, [np.zeros(1)] * depth, np.ones((1, 1)))
    data = {"X": np.zeros((1, 1)), "Y": np.zeros((1, 1))}
    p = problem(data, theta, **{"solver": "implicit", "activation": "identity", **fields})
    found: Any = judge(statement, p)
    assert not found.failing
    # Where the sum is not known to be convex, the distance of its minimiser is open.
    assert found.outcome == ("undecided" if fields is WEAK else "confirmed")


@pytest.mark.parametrize(("share", "applies"), [(0.9e-12, True), (0.9e-9, False)])
def test_a_small_mu_is_granted_a_share_of_itself(share: float, applies: bool) -> None:
    """An absolute 1e-12 would let a layer with mu = 1e-3 stretch distances by 1e-9."""
    mu = 1e-3
    W = [np.full((1, 1), np.sqrt(mu * (1 + share)))]
    theta = parameters(W, [np.zeros((1, 1))], [np.full(1, 0.1)], np.zeros((1, 1)))
    data = {"X": np.zeros((1, 1)), "Y": np.zeros((1, 1))}
    p = problem(data, theta, activation="identity", iterations=1)
    found: Any = judge(Theorem1, p, constants={"mu": mu})
    assert (found.outcome == "not applicable") is not applies
    assert found.outcome != "refuted"


def test_hidden_units_behind_inputs_that_the_data_does_not_show() -> None:
    """The lemma draws inputs of its own: X = 0 says nothing of U x."""
    data, theta = arrays(4, 3, 3, 2, 2, 4, 1)
    large = {n: a * (1e8 if n[0] == "U" else 1.0) for n, a in theta.items()}
    p = problem({**data, "X": 0 * data["X"]}, large, activation="identity", iterations=1)
    assert judge(lem1.Lemma1, p).outcome == "confirmed"


@pytest.mark.parametrize("n", [3, 5, 9])
def test_states_of_a_feedforward_network_that_cancel(n: int) -> None:
    """b_2 takes away what W_2 makes of a large h_1."""
    r = np.random.default_rng(n)
    W, b = [r.normal(size=(n, n)) for _ in range(2)], 1e8 * r.normal(size=n)
    cancels = -W[1] @ b + r.normal(size=n)
    theta = parameters(W, [np.zeros((n, 1))] * 2, [b, cancels], r.normal(size=(2, n)))
    data = {"X": np.zeros((1, 1)), "Y": np.zeros((2, 1))}
    p = problem(data, theta, activation="identity", iterations=1)
    assert judge(lem1.Lemma2, p).outcome in ("confirmed", "undecided")


@pytest.mark.parametrize("N", [1, 50])
@pytest.mark.parametrize("angle", [1e-8, 5e-8, 1e-7])
def test_vertices_of_nearly_equal_ranges_are_no_better_than_their_linear_programs(
    angle: float, N: int
) -> None:
    """Two lines that meet in 0 alone, at an angle below what linear programs resolve."""
    W = [np.array([[1.0, 0.0]]), np.array([[np.cos(angle), np.sin(angle)]])]
    theta = parameters(W, [np.zeros((1, 1))] * 2, [np.zeros(1)] * 2, np.eye(2))
    data = {"X": np.zeros((1, N)), "Y": np.zeros((2, N))}
    p = problem(data, theta, activation="hardtanh", alpha=0.5, iterations=1)
    assert judge(Lemma10, p).outcome in ("confirmed", "undecided")


@pytest.mark.parametrize(
    ("m", "n", "N", "entries"),
    # (n N)^2 slopes as a diagonal; (m N)^2 by the input; m N times the n d entries of U.
    [(1, 2, 1001, 2002**2), (3, 2, 10, 900), (1, 2, 3, 1 * 3 * 2 * 7)],
)
def test_the_largest_dense_matrix_of_a_layer(m: int, n: int, N: int, entries: int) -> None:
    data, theta = arrays(5, m, n, 7, 1, 2, N)
    p = problem(data, theta, alpha=0.5, iterations=1)
    assert layer_entries(p) == entries
    for id_ in ("xie2021/eq20", "xie2021/lem11", "xie2021/lem15"):
        found = judge(id_, p)
        # 10^6 entries are formed.
        assert (found.outcome == "not checked") == (entries > 10**6)
        assert not found.unchecked or f"has {entries} entries" in found.unchecked[0]


def test_a_run_of_one_point_has_no_step_to_look_at() -> None:
    run: Any = SimpleNamespace(k=np.array([0]))
    p: Any = SimpleNamespace(step=0.1)
    assert not list(dq.statements()["xie2021/certificate"]().path_hypotheses(p, run))
