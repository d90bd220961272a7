"""Definition 1, infima, Hessians, (19), (25), appendices B and C: broken versions are caught."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

import deqcheck as dq
from deqcheck.judging import judge
from deqcheck.losses.logistic import Logistic
from deqcheck.losses.square import Square
from deqcheck.models.problem import Problem
from deqcheck.records.comparison import Decision, computed_again
from deqcheck.records.verdict import Outcome
from deqcheck.theorems.kawaguchi2021 import expansion, hessian
from deqcheck.theorems.kawaguchi2021.average import AverageFirst
from deqcheck.theorems.kawaguchi2021.constant import ceiling
from deqcheck.theorems.kawaguchi2021.convexity import Convexity
from deqcheck.theorems.kawaguchi2021.def1 import Definition1
from deqcheck.theorems.kawaguchi2021.divergence import Divergence
from deqcheck.theorems.kawaguchi2021.infima import Infima
from deqcheck.theorems.kawaguchi2021.pl import WholeLossPL
from tests.theorems.breaking import broken

Builder = Callable[..., Problem]
LABELS = np.array([[1.0, 0, 0, 1, 0]])
PHI = np.array([[1.0, 0.5, -1, 0.3, 2], [0.2, -1, 1, 0.7, 1]])


@pytest.fixture
def labelled(delm: Builder) -> Problem:
    """Inseparable labels, and a ball that holds the start."""
    return delm(2, 5, 1, 0.4, loss=Logistic(R=1.5), Phi=PHI, Y=LABELS,
                A=np.zeros((2, 2)), B=[[0.05, -0.05]])  # fmt: skip


@pytest.mark.parametrize(
    ("statement", "name", "old", "new"),
    [
        (Infima, "inside", "infimum_0R", "10*infimum_0R"),
        (Infima, "smaller", "infimum_larger", "1.001*infimum_larger"),
        (Infima, "flatter", "rho_larger", "100*rho_larger"),
        (Convexity, "curved", "sigma_min^2", "100*sigma_min^2"),
    ],
)
def test_a_broken_statement_about_labels_is_refuted(
    labelled: Problem, statement: type, name: str, old: str, new: str
) -> None:
    assert judge(statement, labelled).outcome is Outcome.CONFIRMED
    assert judge(broken(statement, name, old, new), labelled).outcome is Outcome.REFUTED


@pytest.mark.parametrize(
    ("statement", "name", "old", "new"),
    [
        (hessian.Hessian, "rank", "rank_Phi*my", "rank_Phi"),
        (hessian.Hessian, "deficient", "m*my", "m"),
        (Convexity, "steep", "2*sigma_min^2", "200*sigma_min^2"),
        (expansion.Expansion, "remainder", "step^2", "step^2/1000"),
    ],
)
def test_a_broken_statement_is_refuted(
    delm: Builder, statement: type, name: str, old: str, new: str
) -> None:
    p = delm(3, 2, 2, 0.6)
    assert judge(statement, p).outcome is Outcome.CONFIRMED
    assert judge(broken(statement, name, old, new), p).outcome is Outcome.REFUTED


def test_faster_growth_is_refuted(delm: Builder) -> None:
    p = delm(2, 2, 1, 0.5, A=[[0.0, 3], [3, 0]], Phi=np.eye(2))
    assert judge(Divergence, p).outcome is Outcome.CONFIRMED
    wrong = broken(Divergence, "grows", "^(l+1)", "^(2*l+1)")
    assert judge(wrong, p).outcome is Outcome.REFUTED


def test_a_more_even_step_is_refuted(delm: Builder) -> None:
    p = delm(3, 4, 1, 0.97)
    assert judge(AverageFirst, p).outcome is Outcome.CONFIRMED
    wrong = broken(AverageFirst, "even", "4*limit", "limit/4")
    assert judge(wrong, p).outcome is Outcome.REFUTED


def test_a_step_from_a_fit_is_known_as_well_as_its_residual(delm: Builder) -> None:
    """The labels are the predictions, up to rounding: so is all of the step."""
    pytest.importorskip("flint")
    for seed in range(4):
        first = delm(3, 4, 1, 0.5, seed=seed, A=np.zeros((3, 3)))
        p = delm(3, 4, 1, 0.5, seed=seed, A=np.zeros((3, 3)), Y=first.start.predictions)
        for claim in AverageFirst("corrected").claims(p, p.start):
            exact = computed_again(claim.left, claim.relation, claim.right)
            assert exact is not None
            assert claim.left.low <= exact.left.high
            assert exact.left.low <= claim.left.high


def test_a_norm_above_one_is_not_enough_to_diverge(delm: Builder) -> None:
    """A^2 = 0: the iterates stand still from the second on, and the only eigenvalue is 0."""
    p = delm(2, 2, 1, 0.5, A=[[0.0, 2], [0, 0]], Phi=np.eye(2))
    verdict = judge(Divergence, p)
    assert verdict.outcome is Outcome.NOT_APPLICABLE
    norm, expands, _ = verdict.hypotheses
    assert (norm.decision, expands.decision) == (Decision.HOLDS, Decision.VIOLATED)
    # Nor is an eigenvalue that no sample sees.
    p = delm(2, 1, 1, 0.5, A=[[3.0, 0], [0, 0.1]], Phi=[[0.0], [1.0]])
    assert judge(Divergence, p).outcome is not Outcome.CONFIRMED


@pytest.mark.parametrize("factor", [0.999, 1.001])
def test_wrong_derivatives_of_softmax_are_refuted(
    delm: Builder, monkeypatch: pytest.MonkeyPatch, factor: float
) -> None:
    p, right = delm(3, 4, 1), expansion.softmax_jacobian
    monkeypatch.setattr(expansion, "softmax_jacobian", lambda s: factor * right(s))
    first, *rest = judge(expansion.Expansion, p).conclusions
    assert first.decision is Decision.VIOLATED
    # The shorter step shows the first-order term.
    assert rest[-1].decision is Decision.VIOLATED


def test_how_far_the_inverse_may_grow_on_the_way(delm: Builder) -> None:
    """|U(0) - U| <= gamma |step|/2, so |V| <= |V(0)|/(1 - gamma |V(0)| |step|/2), or sqrt(m)/(1 -
    gamma) where that is less; a long step shows the difference."""
    state = delm(3, 4, 1, 0.3, A=np.zeros((3, 3))).start
    V, most = np.linalg.norm(np.linalg.inv(state.U), 2), np.sqrt(3) / 0.7
    step = np.zeros((3, 3))
    for size, bound in ((0.2, V / (1 - 0.3 * V * 0.1)), (3.0, most), (100.0, most)):
        step[0, 1] = size
        found = expansion._sides(state, step)
        assert found["inverse"].value == pytest.approx(bound, rel=1e-12)
        assert found["remainder"].value <= size**2 * (0.0225 * bound**3 + 0.15 * bound**2)


def test_a_wrong_hessian_is_refuted(delm: Builder, monkeypatch: pytest.MonkeyPatch) -> None:
    p = delm(3, 4, 2)
    right = p.model.outer.slopes
    monkeypatch.setattr(p.model.outer, "slopes", lambda W: 1.0001 * right(W))
    assert judge(hessian.Hessian, p).conclusions[0].decision is Decision.VIOLATED


def test_squares_that_overflow_are_no_counterexample(delm: Builder) -> None:
    """The entries of Phi Phi^T are in range, their squares are not."""
    p = delm(2, 2, 1, Phi=[[1e100, 1], [0, 1]], Y=[[1.0, 0]], A=[[0.0, 1e5], [0, 0]])
    assert judge(hessian.Hessian, p).outcome is Outcome.CONFIRMED


def test_ranks_are_exact(delm: Builder) -> None:
    """Rows that are dependent but for a unit in the last place: Phi Phi^T in doubles has rank 1."""
    Phi = np.array([[1.0, 1.0], [1.0, 1 + 2.0**-52]])
    verdict = judge(hessian.Hessian, delm(2, 2, 1, Phi=Phi))
    assert np.linalg.matrix_rank(Phi @ Phi.T) == 1
    assert (verdict.conclusions[1].left.value, verdict.outcome) == (2, Outcome.CONFIRMED)


def test_wide_ranks_are_not_checked(delm: Builder) -> None:
    verdict = judge(hessian.Hessian, delm(25, 2, 1))
    assert verdict.outcome is Outcome.NOT_CHECKED
    assert len(verdict.conclusions) == 1 and "m = 25" in verdict.unchecked[0]


@pytest.mark.parametrize("radius", [0.3, 1.0])
def test_the_ball_that_holds_a_minimiser(
    delm: Builder, monkeypatch: pytest.MonkeyPatch, radius: float
) -> None:
    """With a ball too small for the fit, L*_R > L*, and the check says so."""
    from deqcheck.theorems.kawaguchi2021 import infima

    p = delm(2, 3, 1, 0.5, loss=Square(R=radius))
    assert judge(Infima, p).outcome is Outcome.CONFIRMED
    monkeypatch.setattr(infima, "ROOM", 1e-3)
    covered = next(c for c in judge(Infima, p).conclusions if "minimiser" in c.name)
    assert covered.decision is Decision.VIOLATED


def test_no_minimiser_no_ball(delm: Builder) -> None:
    """Separable labels: the loss falls for ever, and no R-bar exists."""
    p = delm(2, 3, 1, 0.5, loss=Logistic(R=1.0), Phi=[[1.0, 2, -1], [0, 1, -1]], Y=[[1.0, 1, 0]])
    assert p.model.outer.minimiser() is None
    names = {c.name for c in judge(Infima, p).conclusions}
    assert "a ball that holds a minimiser" not in names


def test_the_whole_loss_has_a_constant_where_the_outer_one_has(delm: Builder) -> None:
    """m = 1, phi = 1, y = 0, gamma = 1/2: L = 4 B^2, |grad L|^2/2 = 8 L; proven is 8/9."""
    p = delm(1, 1, 1, 0.5, Phi=[[1.0]], Y=[[0.0]], A=[[0.0]], B=[[1.0]])
    verdict = judge(WholeLossPL, p, edition="printed")
    assert verdict.outcome is Outcome.NOT_CHECKED
    (largest,) = verdict.remarks
    assert (largest.left.low, largest.left.high) == pytest.approx((8 / 9, 8), rel=1e-9)


def test_an_open_constant_leaves_the_whole_loss_open(delm: Builder) -> None:
    from deqcheck.losses.smoothed_hinge import SmoothedHinge

    Phi = np.array([[1.0, 1.0, -0.5], [0.3, 0.3, 1.0]])
    p = delm(2, 3, 1, 0.5, loss=SmoothedHinge(), Phi=Phi, Y=[[1.0, -1, 1]])
    (remark,) = judge(WholeLossPL, p, edition="printed").remarks
    assert remark.decision is Decision.UNDECIDED
    assert judge(Definition1, p).outcome is Outcome.UNDECIDED


def test_the_errata_in_rational_numbers() -> None:
    """What the errata of kawaguchi2021/pl and /convexity and the text of /divergence say."""
    half, one = Fraction(1, 2), Fraction(1)
    for B in (Fraction(1, 7), Fraction(-3, 2), Fraction(40)):
        # m = 1, softmax = 1, Z = B/(1 - gamma), L = Z^2, dL/dB = 2 Z/(1 - gamma), dL/dA = 0.
        Z = B / (1 - half)
        L, slope = Z**2, 2 * Z / (1 - half)
        assert L == 4 * B**2
        assert slope**2 / 2 == 8 * L > 2 / (1 + half) ** 2 * L
    # p (1 - p) = 1/4 at q = 0; tau = 1/2, sigma_min = 1, rho(inf) = 0.
    H, kappa = Fraction(1, 4) + 2 * half, 2 * half
    assert (H, half * H * half) == (Fraction(5, 4), Fraction(5, 16))
    assert half * H * half < kappa * one <= H
    # z -> gamma A z + phi with A = [[0, 2], [0, 0]], phi = (1, 1).
    z = [(one, one)]
    for _ in range(3):
        z.append((half * 2 * z[-1][1] + 1, one))
    assert z[1] == z[2] == z[3] == (2, 1)


def test_the_short_vector_of_the_erratum(delm: Builder) -> None:
    """Phi = y = 1, tau = 1/2, W = 0: H = 5/4, and kappa = 1."""
    p = delm(1, 1, 1, 0.5, loss=Logistic(tau=0.5), Phi=[[1.0]], Y=[[1.0]], A=[[0.0]], B=[[0.0]])
    (curved,) = judge(Convexity, p).conclusions
    assert (curved.left.value, curved.right.value) == pytest.approx((1.25, 1.0), rel=1e-12)
    assert judge(Convexity, p, edition="printed").outcome is Outcome.REFUTED


def test_no_point_outside_the_ball_bounds_its_constant() -> None:
    """log(1 + e^-w) on |w| < 1: |L'|^2/(2 (L - L(1))) falls towards w = -1 and beyond, where the
    start is."""

    def quotient(w: float) -> float:
        gap = np.logaddexp(0.0, -w) - np.logaddexp(0.0, -1.0)
        return float((1 + np.exp(w)) ** -2.0 / (2 * gap))

    data, theta = {"Phi": [[1.0]], "Y": [[1.0]]}, {"A": [[0.0]], "B": [[-0.95]]}
    p = dq.problem("delm", data, theta, gamma=0.5, loss={"kind": "logistic", "R": 1.0})
    assert p.start.Z[0, 0] == pytest.approx(-1.9)
    assert quotient(-1.9) < 0.9 * quotient(-1.0)
    assert ceiling(p).value == pytest.approx(quotient(-1.0), rel=1e-5)
