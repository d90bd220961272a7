"""Ends of bars, `all` and `any`, signs, and equality that is known: what strangers would change."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import deqcheck as dq
from deqcheck.models.equilibrium import robust
from deqcheck.models.equilibrium import state as equilibrium_state
from deqcheck.models.equilibrium.state import EquilibriumState
from deqcheck.models.monotone_deq.model import MonotoneDeqModel
from deqcheck.models.opteq.regularizers import Box
from deqcheck.models.problem import Problem
from deqcheck.records import claim as claim_records
from deqcheck.records.comparison import Decision
from deqcheck.records.log_domain import logarithm
from deqcheck.records.measured import Measured
from deqcheck.theorems.base import Check
from deqcheck.theorems.gao2022 import gram_rate
from deqcheck.theorems.gao2022.constants import NAMES, Program
from deqcheck.theorems.hieu2022 import onestep
from deqcheck.theorems.hieu2022.induction import Point
from deqcheck.theorems.hieu2022.smooth import steps_until
from deqcheck.theorems.jfb import descent
from deqcheck.theorems.ling2022 import thm4
from tests.independent.equilibrium_model import arrays, drawn, problem
from tests.theorems.ling2022_problems import relu_deq

Builder = Callable[..., Problem]


def of(statement: str, edition: str = "corrected") -> Any:
    return dq.statements()[statement](edition)


@pytest.mark.parametrize(("last", "multiple"), [(0.5, 1.0), (0.3, 0.0)])
def test_a_diagonal_with_two_numbers_is_no_multiple_of_the_identity(
    implicit: Builder, last: float, multiple: float
) -> None:
    p = implicit(A=np.diag([0.5] * 5 + [last]))
    (claim,) = (
        c
        for c in of("gao2022/sec7-scale").hypotheses(p)
        if c.name == "A is a positive multiple of I"
    )
    assert claim.left.value == multiple


def test_the_best_scale_is_as_good_as_it_is_known_to_be(
    implicit: Builder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 1e9 +- 1e8 and 1.05e9 +- 1e7 the second is known to be smaller than 1.06e9."""
    p = implicit(N=2, A=0.5 * np.eye(6))
    statement = of("gao2022/sec7-scale", "printed")
    tried = [(1.0, Measured(1e9, 1e8)), (2.0, Measured(1.05e9, 1e7))]
    monkeypatch.setattr(statement, "ratios", lambda p: tried)
    (claim,) = statement.claims(p, p.start)
    assert claim.left.high == pytest.approx(1.06e9, rel=1e-12)
    assert claim.left.low < 1e9 and "beta = 2" in claim.note


@pytest.mark.parametrize(
    ("kinks", "error", "wanted"),
    [(0, 0.0, True), (1, 0.0, False), (0, 1.0, False), (1, 1.0, False)],
)
def test_an_end_is_judged_off_the_kinks_where_its_residual_is_known(
    kinks: int, error: float, wanted: bool
) -> None:
    state: Any = SimpleNamespace(residual=Measured(1.0, error), kink_count=Measured(float(kinks)))
    assert gram_rate.judgeable(state) is wanted


@pytest.mark.parametrize("turned", [True, False])
def test_sides_are_known_to_be_equal_where_the_map_is_an_isometry(turned: bool) -> None:
    """I - W = [[1, 2], [-2, 1]] is sqrt(5) times a rotation, [[1, 2], [-1, 1]] is not."""
    W = [[0.0, -2.0], [2.0 if turned else 1.0, 0.0]]
    v = arrays(W, np.eye(2), np.eye(2), [[1.0], [0.5]], [[0.0], [0.0]])
    p = problem(v)
    statement = of("winston2020/fb")
    names = {statement.sharper.name, statement.factor.name}
    claims = [c for c in statement.claims(p, p.start) if c.name in names]
    assert {c.name for c in claims} == names
    assert {c.equal is not None for c in claims} == {turned}


def test_the_end_of_the_admissible_interval_is_not_in_it(monotone: Builder) -> None:
    p = monotone()
    limit = p.start.forward_backward_limit
    for alpha, refused in ((limit.value, True), (limit.value * (1 - 1e-9), False)):
        model = MonotoneDeqModel(p.model.m, p.model.X, p.model.y, "forward-backward", float(alpha))
        assert bool(list(model.check(p.theta0))) is refused


@pytest.mark.parametrize(
    ("c", "silent"),
    [([-1.0, -2.0], True), ([-1.0, 0.0], True), ([0.0, 0.0], True), ([-1.0, 2.0], False)],
)
def test_zero_is_an_equilibrium_where_no_unit_is_driven(c: list[float], silent: bool) -> None:
    inputs = np.array(c)[:, None]
    relu = problem(drawn(0, n=2, d=1, q=1, scale=0.1)).start.s
    state: Any = SimpleNamespace(inputs=inputs, inputs_error=0 * inputs, s=relu)
    assert EquilibriumState._silent(state, np.zeros(2), 0) is silent
    assert EquilibriumState._silent(state, np.array([0.0, 1.0]), 0) is False


def test_a_loss_is_as_unsure_as_the_parameters_of_its_state(monotone: Builder) -> None:
    """U off by e moves Z by |X| e/m, the outputs by |u| times that, and |r|^2/2 by |r| times that
    and half its square."""
    p, e = monotone(), 1e-4
    state, slip = p.start, dict.fromkeys(p.theta0, 0.0)
    here, there = Point(0, state, {**slip, "U": e}), Point(1, state, slip)
    off = np.linalg.norm(state.u) * np.linalg.norm(state.X) * e / p.model.m
    r = np.linalg.norm(state.r)
    wanted = r * off + off**2 / 2
    assert onestep.parts(here, there)["L"].error == pytest.approx(wanted, rel=1e-6)


@pytest.mark.parametrize(("z", "known"), [(-0.95, False), (0.5, True), (1.95, False), (2.5, True)])
def test_the_piece_of_a_box_is_known_away_from_both_ends(z: float, known: bool) -> None:
    box = Box(low=-1.0, high=2.0)
    assert box.piece_known(np.array([[0.5, z]]), 0.1) is known


@pytest.mark.parametrize(("w", "count"), [(0.5, 1), (-1.5, 0)])
def test_the_inverse_is_coercive_where_the_map_contracts(w: float, count: int) -> None:
    v = arrays([[w]], [[1.0]], [[1.0]], [[1.0]], [[0.0]])
    p, statement = problem(v), of("fung2022/coercive")
    assert len(list(statement.claims(p, p.start))) == count
    assert len(list(statement.remarks(p, None))) == count


def test_long_products_are_those_of_short_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 2 x 2 and 2 x 1 numbers, 4 products, in longer numbers; where that is too many in doubles:
    a rounding for each of two terms, and two to spare, of the sums of sizes."""
    A, B = np.array([[1.0, 2.0], [3.0, 5.0]]), np.array([[7.0], [11.0]])
    eps, long = 2.0**-52, float(np.finfo(np.longdouble).eps)
    for limit, roundings in ((4, 1 + 4 * long / eps), (3, 4)):
        monkeypatch.setattr(equilibrium_state, "LONG", limit)
        found, error = equilibrium_state.product(A, B)
        assert found.tolist() == [[29.0], [76.0]]
        assert error[:, 0] == pytest.approx(roundings * eps * found[:, 0], rel=1e-12, abs=0)


def test_a_margin_is_less_by_the_rounding_of_its_outputs() -> None:
    """y = (1, 1 - 1e-8) z with z = 1e8: 4 (n + d) eps (|C| |z| + |y|) is taken from 1."""
    v = arrays([[0.0]], [[1.0]], [[1.0], [1 - 1e-8]], [[1e8]], [[0.0], [0.0]])
    state = problem(v).start
    found = robust.radius(state, 0, SimpleNamespace(of=lambda k, i: 1.0))  # type: ignore[arg-type]
    taken = 8 * 2.0**-52 * 1e8 * (np.sqrt(2) + 1)
    y = state.outputs[:, 0]
    assert float(y[0] - y[1]) - found.margin == pytest.approx(taken, rel=1e-3)


@pytest.mark.parametrize(("error", "shown"), [(0.1, 0.1), (0.9, 0.5)])
def test_of_an_open_claim_the_narrower_bars_are_shown(
    monkeypatch: pytest.MonkeyPatch, error: float, shown: float
) -> None:
    """Doubles know both sides up to 1/2, numbers that were computed again up to the error."""
    side = Measured(1.0, error)
    answer = SimpleNamespace(
        left=side, right=side, decision=Decision.UNDECIDED, exhausted=False, by="balls"
    )
    monkeypatch.setattr(claim_records, "computed_again", lambda *_: answer)
    judged = Check("open", "x <= y")(x=Measured(1.0, 0.5), y=Measured(1.0, 0.5)).judge()
    assert judged.decision is Decision.UNDECIDED
    assert (judged.left.error, judged.right.error) == (shown, shown)


@pytest.mark.parametrize(("most", "looked_at"), [(4, True), (3, False)])
def test_a_batch_is_as_large_as_samples_times_outputs(
    monkeypatch: pytest.MonkeyPatch, most: int, looked_at: bool
) -> None:
    """Two of each."""
    monkeypatch.setattr(descent, "MOST", most)
    p, statement = problem(drawn(0, n=3, d=2, q=2, scale=0.1, N=2)), of("jfb/batch")
    assert bool(list(statement.unchecked(p))) is not looked_at
    assert bool(list(statement.hypotheses(p))) is looked_at
    assert bool(list(statement.claims(p, p.start))) is looked_at


def test_constants_on_the_edge_leave_every_ratio_infinite(implicit: Builder) -> None:
    """gamma (|A| + C2) = (3/2 + 1/2)/2 = 1 and C1 = 0 are no constants: inf for each ratio there is
    inside, also where 0/0 would be an equality, as without a residual."""
    program, checks = Program(implicit(), {}), of("gao2022/thm4.2").conditions()
    inside = dict.fromkeys(NAMES, 1e-3)
    for r0 in (1.0, 0.0):
        program.start = {**program.start, "gamma": 0.5, "norm_A": 1.5, "r0": r0}
        program._logs = {name: logarithm(x) for name, x in program.start.items()}
        ratios = program.log_ratios(checks, inside)
        # Of a maximum one for each entry.
        assert len(ratios) > len(checks) and max(ratios) < np.inf
        for C in ({"C2": 0.5}, {"C2": 0.6}, {"C1": 0.0}):
            assert program.log_ratios(checks, {**inside, **C}) == [np.inf] * len(ratios)


@pytest.mark.parametrize("layers", [1, 3])
def test_the_room_for_samples_off_the_sphere_is_as_wide_as_its_bar(
    layers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A deviation of 0.02 +- 0.01 takes 9 % of room. One unit with w > 0, for which the two factors
    of z^2 - y^2 are no estimate."""
    edge = (8 * 0.02) ** 0.5
    w = (edge + (1 - edge) / 8) * (1 - 1e-9)
    p = relu_deq(1, 1, 1, W=[[w]], U=[[1.0]], X=[[1.0]], sigma_w2=0.02)
    z, y = 1 / (1 - w), (1 - w**layers) / (1 - w)
    told = SimpleNamespace(deviation=Measured(0.02, 0.01))
    monkeypatch.setattr(thm4, "samples", lambda model: told)
    for room, says in ((1.0899, False), (1.0901, True)):
        C = room * (z * z - y * y) / edge**layers
        s = thm4.Theorem4("printed", {"l": layers, "C": C})
        assert s._surely(p, p.theta0) is says


@pytest.mark.parametrize("error", [0.0, 0.05])
@pytest.mark.parametrize("blur", [0.0, 0.25])
def test_steps_are_counted_between_the_ends_of_both_bars(error: float, blur: float) -> None:
    """Gradients 16/k +- error until 1 +- blur, counted one by one; ends that meet are met."""

    def moment(order: int, k: float) -> Any:
        low, high = (16 / k - error) ** 2, (16 / k + error) ** 2
        return Measured((low + high) / 2, (high - low) / 2)

    counted = range(1, 200)
    surely = next(k for k in counted if 16 / k + error <= 1 - blur)
    maybe = next(k for k in counted if 16 / k - error <= 1 + blur)
    found = steps_until(SimpleNamespace(moment=moment), Measured(1.0, blur))  # type: ignore[arg-type]
    assert (found.value, found.error) == ((maybe + surely) / 2, (surely - maybe) / 2)
    assert (maybe < surely) is (error + blur > 0)
