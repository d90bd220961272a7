"""Lemma 2: the gradients in Kronecker form."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from deqcheck.models.problem import Params
from deqcheck.models.relu_deq import oracle
from deqcheck.records.claim import Claim
from deqcheck.records.measured import EPS, Measured
from deqcheck.seeds import rng
from deqcheck.theorems.base import CORRECTED, PRINTED, STATIC, Check
from deqcheck.theorems.ling2022.common import MODELS, NO_KINK, cite, contractive
from deqcheck.theorems.ling2022.setting import Problem, State, Statement

DIRECTIONS = 4
# Central differences balance truncation h^2 against rounding eps/h.
STEP = EPS ** (1 / 3)
# A step that crosses a kink is shortened this many times, by this factor.
TRIES, SHORTER = 4, 0.1
# mn x mn matrices are made up to this size.
DENSE = 1200


class Lemma2(Statement):
    """With R = (I_n kron a^T) J^-1 D and J = I - D (I_n kron W), vec(grad_W) = (Z kron I_m) R^T r,
    vec(grad_U) = (X kron I_m) R^T r and grad_a = Z r, wherever no pre-activation is zero.
    Checked along random directions against differences of the loss.
    """

    id = "ling2022/lem2"
    title = "Gradients of the loss"
    cite = cite("Lemma 2", "(2), (3)")
    models = MODELS
    dynamics = (STATIC,)
    soundness = "false"
    editions = (PRINTED, CORRECTED)
    erratum = (
        "The printed R = (a kron I_n) J^-1 D has no matching shapes unless m = 1; transposed to "
        "(a^T kron I_n) it has the order of row stacking, while J and Z kron I_m are for column "
        "stacking. m = n = d = 2, W = 0, U = I, X = [[2, 1], [1, 2]], a = (1, 0), y = (2, 4): the "
        "gradient in U is [[-3, -6], [0, 0]], the formula gives [[0, 0], [-6, -3]]."
    )

    small = Check("the dense form fits", f"size <= {DENSE}", "m n")
    derivative = Check(
        f"the formula is the derivative (worst of {DIRECTIONS} directions)",
        "formula == difference",
        "Lemma 2",
    )
    length = Check("the formula has the length of the gradient", "formula == gradient", "Lemma 2")

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        yield from contractive(p)
        yield self.small(size=p.start.Z.size)
        yield NO_KINK(kink_margin=p.start.equilibrium.kink_margin)

    def claims(self, p: Problem, state: State) -> Iterable[Claim]:
        if state.Z.size > DENSE:
            return
        formula = oracle.gradient(state, self.printed)
        radius = float(np.sqrt(sum(r**2 for r in state.gradient_radii().values())))
        pairs = [self._pair(p, formula, radius, i) for i in range(DIRECTIONS)]
        worst = max(pairs, key=_apart)
        yield self.derivative(formula=worst[0], difference=worst[1])
        size = float(np.sqrt(sum(np.vdot(g, g) for g in formula.values())))
        yield self.length(formula=Measured(size, radius), gradient=state.measure("gradient"))

    def _pair(
        self, p: Problem, formula: Params, radius: float, draw: int
    ) -> tuple[Measured, Measured]:
        stream = rng(p.seed, f"{self.id}.{draw}")
        scale = {n: max(1.0, float(np.abs(a).max())) for n, a in p.theta0.items()}
        v = {n: scale[n] * stream.standard_normal(a.shape) for n, a in p.theta0.items()}
        length = float(np.sqrt(sum(np.vdot(x, x) for x in v.values())))
        along = sum(float(np.vdot(formula[n], v[n])) for n in v)
        return Measured(along, radius * length), _difference(p, v)


def _apart(pair: tuple[Measured, Measured]) -> float:
    """Distance in units of the radii; 0 where there is no radius."""
    formula, difference = pair
    apart = abs(formula.value - difference.value) / (formula.error + difference.error)
    return apart if np.isfinite(apart) else 0.0


def _difference(p: Problem, v: Mapping[str, np.ndarray]) -> Measured:
    """Central difference on one piece of the loss; D(2h) - D(h) is three times its error, and the
    losses have radii. Without a radius where every step tried crosses a kink."""
    here = p.start.equilibrium.mask
    for h in STEP * SHORTER ** np.arange(TRIES):
        states = {
            k: p.model.at({n: a + k * h * v[n] for n, a in p.theta0.items()})
            for k in (-2, -1, 1, 2)
        }
        if all(np.array_equal(s.equilibrium.mask, here) for s in states.values()):
            near, far = ((states[k].loss - states[-k].loss) / (2 * k * h) for k in (1, 2))
            found: Measured = near.widened(4 * abs(far.value - near.value) / 3)
            return found
    return Measured(np.nan)
