"""Sections 2.5 and 2.6: the PL inequality, its rates, and the length of the path."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import ClassVar

import numpy as np

from deqcheck.linalg import errors
from deqcheck.linalg.exact_zeros import equal_columns
from deqcheck.records.claim import Claim, Curve
from deqcheck.records.measured import EPS, Measured, given
from deqcheck.records.trajectory import Trajectory
from deqcheck.theorems.base import CORRECTED, DESCENT, FLOW, PRINTED, Check
from deqcheck.theorems.hieu2022.common import MonotoneStatement, cite
from deqcheck.theorems.hieu2022.path import path_length
from deqcheck.theorems.hieu2022.setting import Problem, State

# Steps of descent on the linearised loss.
STEPS = 2000


class PolyakLojasiewicz(MonotoneStatement):
    """|grad L|^2 = r^T K r >= 2 lambda_min(K) L (Theorem 2.6.4), so L is mu-PL* with
    mu = 2 lambda_min(K), in the thesis' sense |grad L|^2 >= mu L. Along a flow on which this holds
    with mu > 0 the loss falls at least like exp(-mu t) and the path is at most 2 sqrt(L(0)/mu);
    along kinks with the kernel of the flow's slopes.

    For gradient descent the constants are known for the loss linearised at the start: smoothness
    lambda_max(K), and after k steps r(k) = (I - step K)^k r(0). There, step 1/Lsm contracts by
    1 - mu/(2 Lsm) (Theorem 2.5.4; printed: 1 - mu/Lsm), any step <= 1/Lsm by 1 - step mu/2
    (Theorem 2.6.3), and the path is at most (1 + sqrt(1 - c mu))/(1 - step Lsm/2) sqrt(L(0)/mu)
    with c = step (1 - step Lsm/2) (Section 2.6.1; printed: 2 sqrt(L(0)/mu), as for the flow).
    """

    id = "hieu2022/pl"
    title = "PL inequality, rates and path length"
    cite = cite("Theorems 2.5.4, 2.6.3, 2.6.4", "Definition 2.5.3")
    uses = ("hieu2022/prop2", "hieu2022/prop4")
    dynamics = (FLOW, DESCENT)
    soundness = "false"
    editions = (PRINTED, CORRECTED)
    erratum = (
        "Theorem 2.5.4 needs 1 - mu/(2 Lsm) for Definition 2.5.3: f = x^2/2 with smoothness 4, "
        "mu = 2 and step 1/4 has f(1)/f(0) = 0.5625 > 1 - mu/4 = 0.5. Theorem 2.6.3 is informal: "
        "it is read with step <= 1/Lsm. For the path of descent the printed 2 is unproved."
    )
    constants: ClassVar[Mapping[str, str]] = {
        "Lsm": "smoothness of the linearised loss; default lambda_max(K)",
        "mu": "PL constant; default 2 lambda_min(K)",
    }
    tracks: ClassVar[tuple[str, ...]] = ("lambda_min_K",)
    infima: ClassVar[tuple[str, ...]] = ("lambda_min_K",)

    positive = Check("the tangent kernel is positive", "mu > 0", "Definition 2.5.3")
    smooth = Check("smoothness of the linearised loss", "lambda_max_K <= Lsm", "Theorem 2.5.4")
    allowed = Check("PL constant of the linearised loss", "mu <= 2*lambda_min_K", "Theorem 2.6.4")
    gradient = Check("PL inequality of the loss", "gradient^2 >= 2*lambda_min_K*L", "Theorem 2.6.4")
    one_printed = Check("share lost in one step, worst residual", "fall >= mu/Lsm", "Theorem 2.5.4")
    one = Check(
        "share lost in one step, worst residual", "fall >= mu/(2*Lsm)", "Theorem 2.5.4, corrected"
    )
    many = Check(
        "2000 steps of half the size, the residual of the case",
        "log_ratio <= 2000*log(1 - step*mu/2)",
        "Theorem 2.6.3",
    )
    descent_path = Check(
        "path of descent, step 1/Lsm",
        "length <= (1 + sqrt(1 - c*mu))/(1 - step*Lsm/2)*sqrt(L/mu)",
        "Section 2.5",
    )
    descent_path_printed = Check(
        "path of descent, step 1/Lsm, printed", "length <= 2*sqrt(L/mu)", "end of Section 2.6.1"
    )
    rate = Check(
        "loss of the flow", "gap/gap_0 <= exp(-mu*t)", "Theorem 2.6.4 integrated", decays=True
    )
    flow_path = Check("path of the flow", "length <= 2*sqrt(gap_0/mu)", "Section 2.6")

    def mu(self, p: Problem) -> Measured:
        """2 lambda_min(K), rounded down: any smaller number is a PL constant as well. Where it is
        not known to be positive, all that is known."""
        if "mu" in self.fixed:
            return given(self.fixed["mu"])
        lowest = 2 * smallest(p.start)
        return given(lowest.low) if lowest.low > 0 else lowest

    def Lsm(self, p: Problem) -> Measured:
        """lambda_max(K), rounded up: any larger number is a smoothness constant as well."""
        if "Lsm" in self.fixed:
            return given(self.fixed["Lsm"])
        return given(p.start.kernel.eigenvalues[-1].high)

    def faults(self) -> Iterable[str]:
        return self.not_positive()

    def constants_used(self, p: Problem) -> Mapping[str, float]:
        return {"mu": self.mu(p).value, "Lsm": self.Lsm(p).value}

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        yield self.positive(why_singular(p.start), mu=self.mu(p))
        if "Lsm" in self.fixed:
            yield self.smooth(lambda_max_K=p.start.kernel.eigenvalue(-1), Lsm=self.Lsm(p))
        if "mu" in self.fixed:
            yield self.allowed(mu=self.mu(p), lambda_min_K=smallest(p.start))

    def claims(self, p: Problem, state: State) -> Iterable[Claim]:
        mu, Lsm, lowest = self.mu(p), self.Lsm(p), smallest(state)
        if not (mu.low > 0 and Lsm.low >= state.kernel.eigenvalues[-1].value):
            return
        norm = errors.together(state.gradient_norms.values())
        claim = self.gradient(gradient=norm, lambda_min_K=lowest, L=state.loss)
        yield claim.known_equal("K is a number") if state.N == 1 else claim
        # (1 - x)^2 on [lambda_min/Lsm, lambda_max/Lsm], a part of [0, 1], is largest at the left.
        fall = _fall(lowest / Lsm)
        if self.printed:
            yield self.one_printed(fall=fall, mu=mu, Lsm=Lsm)
            if state.loss.low > 0:
                _, length = _linear_descent(state, 1 / float(Lsm.value))
                yield self.descent_path_printed(length=length, L=state.loss, mu=mu)
            return
        yield self.one(fall=fall, mu=mu, Lsm=Lsm)
        if state.loss.low > 0:
            step = 1 / Lsm
            log_ratio, _ = _linear_descent(state, float(step.value) / 2)
            yield self.many(log_ratio=log_ratio, step=step / 2, mu=mu)
            _, length = _linear_descent(state, float(step.value))
            c = step * (1 - step * Lsm / 2)
            yield self.descent_path(length=length, c=c, mu=mu, step=step, Lsm=Lsm, L=state.loss)

    def conclusions(self, p: Problem, run: Trajectory) -> Iterable[Claim | Curve]:
        if p.step or self.printed:
            return
        mu = 2 * run.series["lambda_min_K"].infimum_until(run.t)
        yield self.rate.along(run, gap=run.gap, gap_0=run.gap[0], mu=mu)
        yield self.flow_path.along(run, length=path_length(run), gap_0=run.gap[0], mu=mu)


def why_singular(state: State) -> str:
    """A reason that no rounding can touch, or nothing."""
    silent = state.silent_samples
    if silent.any():
        return f"sample {int(np.argmax(silent))} activates no unit: K has a zero row"
    pair = equal_columns(state.inputs)
    if pair:
        return f"samples {pair[0]} and {pair[1]} are equal: so are two rows of K"
    # With equal v_i every part of the derivative of yhat_i is a linear map of x_i.
    shared = state.dependent_inputs
    return f"{shared}: so are rows of K" if shared else ""


@lru_cache(maxsize=1)
def smallest(state: State) -> Measured:
    """lambda_min(K): exactly 0 where K is singular whatever its numbers are. K is at least Z^T Z,
    whose smallest eigenvalue may be known to more digits."""
    lowest = state.kernel.eigenvalue(0)
    if lowest.low <= 0 and why_singular(state):
        return given(0)
    low = max(float(lowest.low), max(float(state.sigma_min_Z.low), 0.0) ** 2 * (1 - 4 * EPS))
    if low <= lowest.low:
        return lowest
    error = (lowest.high - low) / 2 * (1 + 8 * EPS)
    return Measured((low + lowest.high) / 2, error, again=lowest.again)


def _fall(x: Measured) -> Measured:
    """1 - (1 - x)^2 for x in [0, 1], where it grows: between its values at the two ends. As
    x (2 - x) a small x keeps its digits."""
    low, high = max(float(x.low), 0.0), min(float(x.high), 1.0)
    ends = [low * (2 - low) * (1 - 4 * EPS), high * (2 - high) * (1 + 4 * EPS)]
    error = (ends[1] - ends[0]) / 2 * (1 + 4 * EPS)
    return Measured((ends[0] + ends[1]) / 2, error, again=(x * (2 - x)).again)


def _linear_descent(state: State, step: float) -> tuple[Measured, Measured]:
    """log of the loss ratio after STEPS steps of r <- (I - step K) r, and the path's length.

    In the eigenbasis of K: r_i(k) = (1 - step kappa_i)^k r_i, |gradient|^2 = sum kappa_i r_i^2.
    """
    K = (state.kernel.K + state.kernel.K.T) / 2
    kappa, basis = np.linalg.eigh(K)
    share = (basis.T @ state.r) ** 2
    with np.errstate(divide="ignore"):
        shrink = 2 * np.log(np.abs(1 - step * kappa))
    k = np.arange(STEPS)
    decay = np.exp(np.multiply.outer(k, shrink))
    length = step * float(np.sqrt(decay @ (share * np.maximum(kappa, 0.0))).sum())
    with np.errstate(divide="ignore"):
        scaled = np.log(share / share.sum()) + STEPS * shrink
    largest = float(scaled.max())
    ratio = largest + float(np.log(np.exp(scaled - largest).sum()))
    # Relative radius of kappa, of the residual, and of sums of STEPS terms.
    relative = float(state.kernel.eigenvalues.error[0]) / max(float(kappa[0]), EPS)
    off = 8 * (relative + state.r_radius / max(float(state.residual.value), 1e-300) + STEPS * EPS)
    return Measured(ratio, off * (1 + abs(ratio))), Measured(length, off * length)
