"""Theorem 5: linear rate of gradient descent, with the constants of the paper."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from deqcheck.frozen import dataclass
from deqcheck.linalg import errors
from deqcheck.linalg.matrix import count, instance
from deqcheck.models.opteq.activations import Mix
from deqcheck.records.claim import Claim, Curve
from deqcheck.records.lazy import cached_property
from deqcheck.records.measured import Measured, given, maximum, sqrt
from deqcheck.records.trajectory import Trajectory
from deqcheck.theorems.base import CORRECTED, GRADIENT_DESCENT, PRINTED, Check, Space
from deqcheck.theorems.xie2021.bounds import sigma_output, smallest_weight
from deqcheck.theorems.xie2021.common import (
    BOUNDED,
    GIVEN_INPUT,
    INFINITY,
    UNROLLED,
    cite,
    largest_norm,
    matrix_norm,
)
from deqcheck.theorems.xie2021.setting import Problem
from deqcheck.theorems.xie2021.thm5_repaired import RepairedRate, apart_from_end

CONSTANTS = {
    "B_Ub": "bound on ||U_l|| and ||b_l||; default: twice the largest at the start",
    "B_x": "bound on 2 |X|_F and sqrt(N); default: twice the larger of |X|_F and sqrt(N)",
    "B_L": "bound on ||W_o||; default: twice its value at the start",
    "B_star": "bound on every fixed point under Assumption 3 (Assumption 4)",
    "sigma_m": "margin of sigma_min(W_l) above 1/4; default: the largest possible",
}


@dataclass(frozen=True)
class PrintedConstants:
    """The constants of Theorem 5 and Lemma 19 as the paper writes them."""

    p: Problem
    fixed: Mapping[str, Any]

    def _given(self, name: str, default: Measured) -> Measured:
        if name not in self.fixed:
            return default
        value = self.fixed[name]
        return value if isinstance(value, Measured) else given(float(value))

    @cached_property
    def input_norm(self) -> Measured:
        layers = self.p.start.network.layers
        return maximum(*(instance(each).norm2() for layer in layers for each in (layer.U, layer.b)))

    @cached_property
    def x_norm(self) -> Measured:
        return maximum(self.data_norm, sqrt(self.p.model.N))

    @cached_property
    def data_norm(self) -> Measured:
        network = self.p.start.network
        return errors.frobenius(network.X, network.X_error, self.p.start.again.X)

    @cached_property
    def L_g(self) -> Measured:
        """A Lipschitz constant of the extractor, at least 1: the bounds multiply by it what does
        not pass the extractor, too."""
        extractor = self.p.start.network.extractor
        return given(1) if extractor is None else maximum(given(1), extractor.lipschitz)

    @cached_property
    def output_norm(self) -> Measured:
        return matrix_norm(self.p.start.Wo)

    @cached_property
    def B_Ub(self) -> Measured:
        return self._given("B_Ub", 2 * self.input_norm)

    @cached_property
    def B_x(self) -> Measured:
        return self._given("B_x", 2 * self.x_norm)

    @cached_property
    def B_L(self) -> Measured:
        return self._given("B_L", 2 * self.output_norm)

    @cached_property
    def least_B_star(self) -> Measured:
        """For s = k t + (1-k) tanh t: |z| <= k |C|/(1-k) + sqrt(n N), |C|_F <= B_Ub (B_x + sqrt N);
        for |s| <= B: sqrt(n N) B. The states keep these bounds as well."""
        s, N = self.p.start.network.s, self.p.model.N
        width = max(len(layer.W) for layer in self.p.start.network.layers)
        start = instance(self.p.model.Z0).frobenius()
        if np.isfinite(s.bound):
            return maximum(sqrt(width * N) * given(s.bound), start)
        if not isinstance(s, Mix) or s.k == 1:
            return INFINITY
        k = given(s.k)
        fixed = k / (1 - k) * self.B_Ub * (self.B_x + sqrt(N)) + sqrt(width * N)
        return maximum(fixed, start)

    @property
    def unbounded(self) -> bool:
        """Where slopes are 1 for large t (id, relu, softplus), W_l = I with a small positive bias
        has no fixed point, and without any bias either none or a half-line of them."""
        return bool(np.isinf(self.least_B_star.value))

    @cached_property
    def B_star(self) -> Measured:
        return self._given("B_star", self.least_B_star)

    @cached_property
    def sigma_m(self) -> Measured:
        return self._given("sigma_m", smallest_weight(self.p.start.network) - given(0.25))

    @cached_property
    def kappa(self) -> Measured:
        return given(self.p.start.network.s.slopes[0])

    @cached_property
    def L_sigma(self) -> Measured:
        return self.p.start.network.s.most_bent

    @property
    def _aK(self) -> Measured:
        return given(self.p.model.alpha) * self.p.model.iterations

    @property
    def _root_L(self) -> Measured:
        return sqrt(self.p.model.depth)

    @cached_property
    def C_z(self) -> Measured:
        width = max(len(layer.W) for layer in self.p.start.network.layers)
        zero = sqrt(self.p.model.m * width) * self.p.start.network.s.origin
        return zero + 6 * self.B_star + 3 * self.B_Ub * self.B_x

    @cached_property
    def B_J(self) -> Measured:
        return 2 * self._aK * self._root_L * self.C_z

    @cached_property
    def C_J(self) -> Measured:
        a = given(self.p.model.alpha)
        first = 9 * a * self._root_L * self.B_star * self.L_sigma * self.C_z * self.L_g
        C_D = maximum(3 * self.B_star, self.B_x)
        second = 2 * sqrt(3) * self._root_L * self._aK * self.B_star * self.L_sigma * C_D
        return first + second

    @cached_property
    def Q0(self) -> Measured:
        a, K, L = self.p.model.alpha, self.p.model.iterations, self.p.model.depth
        smallest = sigma_output(self.p.start.Wo)
        scale = given(a) ** 2 * (K**2 * L * self.p.model.N)
        return scale * self.kappa**2 * self.sigma_m**2 * smallest**2 / 4

    @cached_property
    def Q1(self) -> Measured:
        root = sqrt(self.p.start.loss)
        middle = 2 * self._aK * self._root_L * self.C_z * self.L_g * self.B_J * self.B_L
        return self.C_J * root + middle + self.B_J * root

    @cached_property
    def Q2(self) -> Measured:
        return 10 * self.C_z * self.B_L * self.L_g / self.Q0


class Theorem5(RepairedRate):
    """Gradient descent from a point that satisfies Assumption 5 converges linearly to loss 0:
    loss_k <= (1 - step Q0)^k loss_0 with Q0 = K^2 L a^2 kappa^2 sigma_m^2 N sigma_min(W_o)^2/4,
    and |theta_k - theta*| <= Q2 (1 - step Q0)^(k/2) with Q2 = 10 C_z B_L L_g/Q0. Where theta* is is
    not known; but theta_k and the end of the run are at most the sum of both bounds apart, and at
    least as far as their distances from the start differ, parameter by parameter.
    That N is large enough is asked in the form in which the proof uses it, (31) and after. The
    bounds on U, b and W_o in Assumption 5 are blotted: 1/2 and 2/3 of B_Ub can be read, with moves
    of at most 1/2 or 1/3 of it; asked are 1/2 and 1/3, which imply both, and steps strictly below
    1/Q0 and 1/Q1, so that a refutation holds in every reading. Without an extractor L_g = 1. The
    corrected edition is the repaired Theorem 5R.
    """

    id = "xie2021/thm5"
    title = "Linear rate of gradient descent to a global minimum"
    cite = cite("Theorem 5", "(30)-(32)")
    uses = (
        "xie2021/lem12",
        "xie2021/lem15",
        "xie2021/lem16",
        "xie2021/lem17",
        "xie2021/lem18",
        "xie2021/lem19",
    )
    soundness = "false"
    editions = (PRINTED, CORRECTED)
    erratum = (
        "The loss need not fall: with one weight each, K = 2, a = 1/4, w = 3/4, u = 1/2, b = 1/4, "
        "x = (1, 1) and labels 1e-6 below and above the output all conditions hold, and the "
        "gradient is exactly 0. Q1 is too small as well: with a = 0.01, W_o = 0.1, z0 = 3 it is "
        "0.348 where the second derivative is 8.91. Q2 lacks the factor |r_0| that the proof still "
        "has in its last line: with W_o and the residual scaled by c all conditions stay, while "
        "the path keeps its length and Q2 falls as 1/c. What holds is xie2021/thm5-repaired."
    )
    constants = CONSTANTS
    # Slopes of at least kappa > 0, and a K L < 1.
    space = Space(
        fields={
            "activation": tuple(s for s in BOUNDED if s != "tanh"),
            "alpha": (0.25, 0.1, 0.01),
            "iterations": (1, 2, 3),
            "depth": (1,),
            **GIVEN_INPUT,
        }
    )

    iterated = UNROLLED
    narrow = Check("||W_l|| at most 3/4", "norm_W <= 0.75 + 1e-12", "Assumption 5")
    wide = Check(
        "sigma_min(W_l) above 1/4", "sigma_min_W + 1e-12 >= 0.25 + sigma_m", "Assumption 5"
    )
    margin = Check("sigma_m is positive", "sigma_m > 0", "Assumption 5")
    inputs = Check("||U_l||, ||b_l|| at most B_Ub/2", "norm_Ub <= B_Ub/2", "Assumption 5")
    data = Check("|X|_F at most B_x/2", "norm_X <= B_x/2", "Assumption 5")
    samples = Check("sqrt(N) at most B_x", "sqrt(N) <= B_x", "Lemma 14, proof")
    output = Check("||W_o|| at most B_L/2", "norm_Wo <= B_L/2", "Assumption 5")
    rank = Check("W_o has full row rank", "sigma_min_Wo > 0", "Assumption 5")
    exists = Check(
        "all parameters have fixed points, which are bounded", "unbounded == 0", "Assumption 4"
    )
    bounded = Check("fixed points are bounded by B_star", "bound <= B_star", "Assumption 4")
    slopes = Check("slopes bounded below", "kappa > 0", "Theorem 5")
    short = Check("a K L below 1", "alpha*K*L < 1", "Theorem 5")
    weights_stay = Check("W stays", "2*alpha*K*C_z*B_L*residual <= Q0*(0.25 - 1e-12)", "(31)")
    inputs_stay = Check("U stays", "2*alpha*K*B_x*B_L*residual <= Q0*B_Ub/3", "after (31)")
    biases_stay = Check("b stays", "2*alpha*K*root_N*B_L*residual <= Q0*B_Ub/3", "after (31)")
    data_stay = Check("X stays", "2*alpha*K*L*B_Ub*B_L*L_g^2*residual <= Q0*B_x/2", "after (31)")
    outputs_stay = Check("W_o stays", "2*3*K*B_star*residual <= Q0*sigma_min_Wo/2", "after (31)")
    step_rate = Check("step below 1/Q0", "step*Q0 < 1", "Theorem 5")
    step_smooth = Check("step below 1/Q1", "step*Q1 < 1", "Theorem 5")
    printed_rate = Check(
        "linear rate to zero", "gap/gap_0 <= (1 - step*Q0)^k", "Theorem 5", decays=True
    )
    printed_limit = Check(
        "parameters near their limit: theta_k against the end",
        "apart <= Q2*((1 - step*Q0)^(k/2) + (1 - step*Q0)^(k_end/2))",
        "Theorem 5",
    )

    def setting(self, p: Problem) -> Iterable[Claim]:
        if self.printed and p.train is not None:
            yield GRADIENT_DESCENT(step=p.step)

    def _constants(self, p: Problem) -> PrintedConstants:
        return PrintedConstants(p, self.fixed)

    def constants_used(self, p: Problem) -> dict[str, float]:
        if not self.printed:
            return {}
        constants = self._constants(p)
        return {name: float(getattr(constants, name).value) for name in CONSTANTS}

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        if not self.printed:
            yield from super().hypotheses(p)
            return
        c, start = self._constants(p), p.start
        yield self.iterated(implicit=p.model.implicit)
        yield self.smooth(kinks=len(p.model.s.kinks))
        yield self.narrow(norm_W=largest_norm(start.network))
        if "sigma_m" in self.fixed:
            yield self.wide(sigma_min_W=smallest_weight(start.network), sigma_m=c.sigma_m)
        yield self.margin(sigma_m=c.sigma_m)
        if "B_Ub" in self.fixed:
            yield self.inputs(norm_Ub=c.input_norm, B_Ub=c.B_Ub)
        if "B_x" in self.fixed:
            yield self.data(norm_X=c.data_norm, B_x=c.B_x)
            yield self.samples(N=p.model.N, B_x=c.B_x)
        if "B_L" in self.fixed:
            yield self.output(norm_Wo=c.output_norm, B_L=c.B_L)
        smallest = sigma_output(start.Wo)
        yield self.rank(sigma_min_Wo=smallest)
        yield self.slopes(kappa=c.kappa)
        yield self.exists(unbounded=c.unbounded)
        if c.unbounded:
            return
        if "B_star" in self.fixed:
            yield self.bounded(bound=c.least_B_star, B_star=c.B_star)
        size = {"alpha": given(p.model.alpha), "K": p.model.iterations}
        yield self.short(**size, L=p.model.depth)
        near = {**size, "Q0": c.Q0, "residual": start.residual}
        yield self.weights_stay(**near, C_z=c.C_z, B_L=c.B_L)
        yield self.inputs_stay(**near, B_x=c.B_x, B_L=c.B_L, B_Ub=c.B_Ub)
        yield self.biases_stay(**near, root_N=sqrt(count(p.data["X"], 1)), B_L=c.B_L, B_Ub=c.B_Ub)
        yield self.data_stay(**near, L=p.model.depth, B_Ub=c.B_Ub, B_L=c.B_L, B_x=c.B_x, L_g=c.L_g)
        del near["alpha"]
        yield self.outputs_stay(**near, B_star=c.B_star, sigma_min_Wo=smallest)

    def unchecked(self, p: Problem) -> Iterable[str]:
        if self.printed and p.model.fields.sam is not None:
            yield "Assumption 4 and the constants are worked out for plain iterations: without SAM"

    def faults(self) -> Iterable[str]:
        for name, value in self.fixed.items():
            if value <= 0 and name != "sigma_m":
                yield f"{self.id}: {name} = {value:g} is not positive; expected a number > 0"

    def step_hypotheses(self, p: Problem) -> Iterable[Claim]:
        if not self.printed:
            yield from super().step_hypotheses(p)
            return
        c = self._constants(p)
        if c.unbounded or not p.model.s.smooth:
            return
        yield self.step_rate(step=given(p.step), Q0=c.Q0)
        yield self.step_smooth(step=given(p.step), Q1=c.Q1)

    def admissible_step(self, p: Problem) -> Measured | None:
        if not self.printed:
            return super().admissible_step(p)
        c = self._constants(p)
        return 1 / maximum(c.Q0, c.Q1)

    def quantities(self, p: Problem) -> dict[str, Measured]:
        if not self.printed:
            return super().quantities(p)
        c = self._constants(p)
        return {"Q0": c.Q0, "Q1": c.Q1, "Q2": c.Q2, "C_z": c.C_z}

    def conclusions(self, p: Problem, run: Trajectory) -> Iterable[Claim | Curve]:
        if not self.printed:
            yield from super().conclusions(p, run)
            return
        if p.model.fields.sam is not None:
            return
        c = self._constants(p)
        common = {"step": p.step, "Q0": c.Q0}
        yield self.printed_rate.along(run, gap=run.gap, gap_0=run.gap[0], **common)
        # Without a positive Q0, a hypothesis, there is no bound.
        if not c.unbounded and np.isfinite(c.Q2.value):
            k, t, apart = apart_from_end(run)
            yield self.printed_limit.sampled(
                k, t, apart=apart, **common, Q2=c.Q2, k_end=float(k[-1])
            )
