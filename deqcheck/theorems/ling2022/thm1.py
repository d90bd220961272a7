"""Theorem 1 and what its proof gives beyond it: gradient descent and flow under Condition 1."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from deqcheck.linalg import well_posed
from deqcheck.records.claim import Claim, Curve
from deqcheck.records.comparison import Decision
from deqcheck.records.measured import Measured, given
from deqcheck.records.trajectory import Trajectory
from deqcheck.theorems.base import DESCENT, FLOW, Check, Constant, Search
from deqcheck.theorems.ling2022.common import MODELS, cite, contractive, feasibility
from deqcheck.theorems.ling2022.condition import EQ7, EQ8, EQ9, EQ10, RELAXED, condition
from deqcheck.theorems.ling2022.setting import Problem, Statement


def falls(check: Check, at_rest: Check, run: Trajectory, **values: Any) -> Curve:
    """The decay of the loss; from a loss of exactly 0 there is no ratio, and it must stay there."""
    first = run.gap[0]
    chosen = at_rest if first.exact and first.value == 0 else check
    return chosen.along(run, gap=run.gap, gap_0=first, **values)


class UnderCondition1(Statement):
    """Conclusions that follow from Condition 1 for some delta."""

    models = MODELS
    constants = {
        "delta": Constant(
            "radius of Condition 1; default: the one with the best worst ratio", for_all=True
        )
    }
    searches = (
        Search("scale of the labels (repair R1)", ("y",), smaller_is_easier=True),
        Search("scale of U (repair R2)", ("U",), smaller_is_easier=False),
    )
    # Whether (9) is needed.
    with_9: ClassVar[bool]

    positive = Check("delta is positive", "delta > 0", "Condition 1")
    inside = Check("the map contracts on the ball", "norm_W + delta < 1", "Condition 1")
    eq7, eq8 = EQ7, EQ8

    def delta(self, p: Problem) -> float:
        if "delta" in self.fixed:
            return self.fixed["delta"]
        at = condition(p.start)
        return at.best if self.with_9 else at.best_without_9

    def has_ball(self, p: Problem) -> bool:
        """Whether the map contracts on the ball of radius delta, so that the constants exist."""
        return bool(p.start.q.high < 1 and 0 < self.delta(p) < 1 - p.start.q.high)

    def constants_used(self, p: Problem) -> dict[str, float]:
        return {"delta": self.delta(p)} if p.start.q.high < 1 else dict(self.fixed)

    def values(self, p: Problem) -> dict[str, Measured]:
        c = condition(p.start)
        fixed = {"norm_W": c.q, "norm_a": c.norm_a, "n": given(p.model.n)}
        return {**fixed, **c.values(self.delta(p))}

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        yield from contractive(p)
        if not p.start.q.high < 1:
            if p.start.q.low < 1:
                # Exact numbers may tell that the map contracts, not that a ball has room.
                yield self.inside(norm_W=p.start.q.forgetting(), delta=given(0))
            return
        delta = self.delta(p)
        yield self.positive(delta=given(delta))
        yield self.inside(norm_W=p.start.q, delta=given(delta))
        if not self.has_ball(p):
            return
        values = self.values(p)
        yield self.eq7(**values)
        yield self.eq8(**values)

    def notes(self, p: Problem) -> Iterable[str]:
        if not p.start.q.high < 1:
            reason, certificate = well_posed.proof(p.theta0["W"])
            if certificate is not None:
                yield f"the equilibrium is unique nevertheless: {reason}"
            return
        yield feasibility(condition(p.start), self.with_9)


class DescentUnderCondition1(UnderCondition1):
    dynamics = (DESCENT,)
    tracks: ClassVar[tuple[str, ...]] = ("sigma_min_Z",)
    with_9 = True

    eq9 = EQ9
    small_a = Check(
        "a(0) small enough for any delta", "norm_a < (1 - norm_W)/(2*sqrt(n))", "Proposition F"
    )

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        yield from super().hypotheses(p)
        if self.has_ball(p):
            yield self.eq9(**self.values(p))

    def remarks(self, p: Problem, run: Trajectory | None) -> Iterable[Claim | Curve]:
        """What (9) implies, whatever delta and the scales."""
        if self.has_ball(p):
            yield self.small_a(**self.values(p))

    def obstacle(self, p: Problem) -> str:
        """Proposition F: (9) needs ||a(0)|| < (1 - ||W(0)||)/(2 sqrt n), whatever the scales."""
        if not (self.has_ball(p) and p.theta0["a"].any()):
            return ""
        claim = self.small_a(**self.values(p))
        if claim.judge().decision is not Decision.VIOLATED:
            return ""
        return (
            f"a(0) != 0 is an obstacle: (9) needs ||a(0)|| below {claim.right.value:.4g} "
            f"(Proposition F), and it is {claim.left.value:.4g}; try --set rescale.a=0"
        )

    def largest(self) -> Check:
        """What bounds the step, as one formula."""
        raise NotImplementedError

    def delta(self, p: Problem) -> float:
        """Some delta must do for the condition and the step at once."""
        if "delta" in self.fixed or not p.step:
            return super().delta(p)
        return condition(p.start).allowing(p.step, self.largest())

    def admissible_step(self, p: Problem) -> Measured | None:
        if not self.has_ball(p):
            return None
        at = condition(p.start)
        limit = self.largest()
        return at.step(limit, self.fixed.get("delta") or at.widest(limit))

    def quantities(self, p: Problem) -> dict[str, Measured]:
        """The step that is allowed, with the bar of the delta that allows it."""
        if not self.has_ball(p):
            return {}
        at, limit = condition(p.start), self.largest()
        delta = self.fixed.get("delta") or at.measured_widest(limit)
        return {"admissible_step": at.step(limit, delta)}


class Theorem1(DescentUnderCondition1):
    """Under Condition 1 and a step below (10), gradient descent keeps ||W|| < 1 and
    lambda_min(G) > lambda_0/2, so that |grad Phi|^2 >= lambda_0 Phi, and the loss falls like
    (1 - step lambda_0/2)^k.
    """

    id = "ling2022/thm1"
    uses = ("ling2022/condition1", "ling2022/sec2.2", "ling2022/lem2", "ling2022/pl")
    title = "Gradient descent converges under Condition 1"
    cite = cite("Theorem 1", "(7)-(10)")
    tracks = ("sigma_min_Z", "norm2.W", "gradient", "loss")

    # One by one: the second term is an upper bound whatever is known of lambda_0.
    first_term = Check("step size", "step*lambda_0 < 2", "(10), first term")
    second_term = Check(
        "step size", "step < 2*(c_w^2 + c_u^2)/((c_w^2 + c_u^2 + c_a^2)^2*F^2)", "(10), second term"
    )
    bounded = Check("the equilibrium map keeps contracting", "norm_W < 1", "Theorem 1 (i)")
    eigenvalue = Check("the Gram matrix stays positive", "sigma_min_Z^2 > lambda_0/2", "(ii)")
    gradient = Check("PL inequality along the run", "gradient^2 >= lambda_0*loss", "(ii)")
    decay = Check(
        "linear rate", "gap/gap_0 <= (1 - step*lambda_0/2)^k", "Theorem 1 (iii)", decays=True
    )
    rest = Check("linear rate", "gap <= (1 - step*lambda_0/2)^k*gap_0", "Theorem 1 (iii), at rest")

    def largest(self) -> Check:
        return EQ10

    def step_hypotheses(self, p: Problem) -> Iterable[Claim]:
        if self.has_ball(p):
            values = self.values(p)
            yield self.first_term(step=p.step, lambda_0=values["lambda_0"])
            yield self.second_term(step=p.step, **values)

    def conclusions(self, p: Problem, run: Trajectory) -> Iterable[Claim | Curve]:
        lambda_0 = p.start.lambda_0
        sigma = run.series["sigma_min_Z"]
        k, t = sigma.k, sigma.t
        tracked = {name: run.series[name].value for name in self.tracks}
        yield self.bounded.sampled(k, t, norm_W=tracked["norm2.W"])
        yield self.eigenvalue.sampled(k, t, sigma_min_Z=sigma.value, lambda_0=lambda_0)
        yield self.gradient.sampled(
            k, t, gradient=tracked["gradient"], lambda_0=lambda_0, loss=tracked["loss"]
        )
        yield falls(self.decay, self.rest, run, step=p.step, lambda_0=lambda_0)


class Theorem1Plus(DescentUnderCondition1):
    """What the constants of Condition 1 give for any step up to 1/(c_a |X|_F)^2, many times (10):
    with r(k+1) = (I - step G) r + e, |e| <= step lambda_0/4 |r| by (9), the residual falls
    like (1 - 0.4 step lambda_0)^k, no weight leaves the ball of radius 0.625 delta by (7), and
    lambda_min(G) >= 0.667 lambda_0 by (8).
    """

    id = "ling2022/thm1-plus"
    uses = ("ling2022/condition1", "ling2022/sec2.2", "ling2022/lem2")
    title = "Faster rate and larger steps under Condition 1"
    cite = cite("Theorem 1, strengthened", "(7)-(9)")

    limit = RELAXED
    eigenvalue = Check("the Gram matrix stays positive", "sigma_min_Z^2 >= 0.667*lambda_0", "proof")
    moved_w = Check("W stays near", "moved_W <= 0.625*delta", "proof")
    moved_u = Check("U stays near", "moved_U <= 0.625*delta", "proof")
    moved_a = Check("a stays near", "moved_a <= 0.625*delta", "proof")
    decay = Check("linear rate", "gap/gap_0 <= (1 - 0.4*step*lambda_0)^(2*k)", "proof", decays=True)
    rest = Check("linear rate", "gap <= (1 - 0.4*step*lambda_0)^(2*k)*gap_0", "proof, at rest")

    def largest(self) -> Check:
        return self.limit

    def step_hypotheses(self, p: Problem) -> Iterable[Claim]:
        if self.has_ball(p):
            yield self.limit(step=p.step, **self.values(p))

    def conclusions(self, p: Problem, run: Trajectory) -> Iterable[Claim | Curve]:
        lambda_0 = p.start.lambda_0
        sigma = run.series["sigma_min_Z"]
        yield self.eigenvalue.sampled(sigma.k, sigma.t, sigma_min_Z=sigma.value, lambda_0=lambda_0)
        if self.has_ball(p):
            yield from self._moved(p, run)
        yield falls(self.decay, self.rest, run, step=p.step, lambda_0=lambda_0)

    def _moved(self, p: Problem, run: Trajectory) -> Iterable[Curve]:
        for name, check in (("W", self.moved_w), ("U", self.moved_u), ("a", self.moved_a)):
            moved, delta = run.distance[name], self.delta(p)
            yield check.sampled(moved.k, moved.t, **{f"moved_{name}": moved.value, "delta": delta})


class Theorem1Flow(UnderCondition1):
    """The gradient flow needs (7) and (8) alone: r' = -H r with H >= G, so lambda_min(G) stays
    above lambda_0/2 and the loss falls like exp(-lambda_0 t). G = Z^T Z is the part of the read-out
    a, which has one value at kinks, and the bounds on the other gradients hold for every slope of
    the ReLU in [0, 1]: so it holds of flows that slide along kinks.
    """

    id = "ling2022/thm1-flow"
    uses = ("ling2022/condition1", "ling2022/sec2.2", "ling2022/lem2", "ling2022/pl")
    title = "The gradient flow converges without (9)"
    cite = cite("Theorem 1 for the gradient flow", "(7), (8)")
    dynamics = (FLOW,)
    tracks = ("sigma_min_Z",)
    infima = ("sigma_min_Z",)
    with_9 = False

    eigenvalue = Check("the Gram matrix stays positive", "sigma_min_Z^2 >= lambda_0/2", "proof")
    decay = Check("exponential rate", "gap/gap_0 <= exp(-lambda_0*t)", "proof", decays=True)
    rest = Check("exponential rate", "gap <= exp(-lambda_0*t)*gap_0", "proof, at rest")

    def quantities(self, p: Problem) -> dict[str, Measured]:
        return {"rate": p.start.lambda_0} if self.has_ball(p) else {}

    def conclusions(self, p: Problem, run: Trajectory) -> Iterable[Claim | Curve]:
        lambda_0, sigma = p.start.lambda_0, run.series["sigma_min_Z"]
        yield self.eigenvalue(sigma_min_Z=sigma.infimum_until(run.t)[-1], lambda_0=lambda_0)
        yield falls(self.decay, self.rest, run, lambda_0=lambda_0)
