"""Definition 1 at points of the ball: none of its constants is larger than the smallest quotient
|grad L0(W)|^2/(2 (L0(W) - L*_{0,R})) that was seen."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from deqcheck.linalg.errors import frobenius, length
from deqcheck.losses.outer import Evaluation
from deqcheck.records.measured import EPS, Measured, between
from deqcheck.seeds import rng
from deqcheck.theorems.kawaguchi2021.setting import Problem

# Points from which L0 is descended, and for how many steps: late ones lie along the flattest
# directions, where the quotient is smallest.
STARTS, STEPS = 4, 200
# Then how far from where descent ends the flattest direction is followed.
FAR = (-100.0, -0.1, 0.1, 100.0)
EDGE = 1 - 1e-6


def best(p: Problem, kappa: Measured) -> tuple[str, Measured]:
    """The largest constant of Definition 1, as far as it takes to tell whether kappa serves: proven
    from below, and bounded from above by the points of the ball that were tried."""
    proven = p.model.outer.pl.kappa
    none = proven.exact and proven.value == 0
    if none or kappa.high <= proven.low:
        return "", proven
    low = float(proven.low) if proven.low > 0 else 0.0
    high = float(ceiling(p).high)
    note = f"{low:.4g} is proven, and no more than {high:.4g} is true"
    return note, between(min(low, high), high)


def ceiling(p: Problem) -> Measured:
    """An upper bound on every PL constant; infinite where no point tells."""
    outer, best = p.model.outer, Measured(math.inf)
    for W in _points(p):
        if np.abs(W).sum(axis=0).max() * (1 + 4 * EPS * len(W)) < outer.R:
            here = outer.evaluate(W, length(W), 0.0)
            # Few points are better than the best one so far: only those get their bars.
            if _roughly(here) < best.high:
                best = min(best, _quotient(here), key=lambda found: float(found.high))
    return best


def _roughly(here: Evaluation) -> float:
    """A point whose gap is within its error bar tells nothing."""
    known = here.gap > 2 * here.error
    return float(np.vdot(here.gradient, here.gradient)) / (2 * here.gap) if known else math.inf


def _quotient(here: Evaluation) -> Measured:
    slope = frobenius(here.gradient, here.gradient_error)
    return slope**2 / (2 * Measured(here.gap, here.error))


def _points(p: Problem) -> Iterator[np.ndarray]:
    outer, start = p.model.outer, p.start.Z
    stream = rng(p.seed, "kawaguchi2021/thm1")
    scale = min(outer.R / 2, 1 + float(np.abs(start).max()))
    drawn = [scale * stream.normal(size=start.shape) / math.sqrt(start.size) for _ in range(STARTS)]
    step = 1 / float(outer.smoothness().value)
    # The flattest direction that Phi has.
    flat = np.outer(np.eye(len(start))[0], outer.factored.p[:, -1])
    if math.isfinite(outer.R):
        # A loss that flattens does so at the edge of the ball.
        for W in (flat, *drawn):
            edge = EDGE * outer.R / np.abs(W).sum(axis=0).max() * W
            yield from (edge, -edge)
    for W in (start, *drawn):
        for _ in range(STEPS if step > 0 else 1):
            yield W
            W = W - step * outer.slopes(W) @ outer.Phi.T
        for size in FAR:
            yield W + size * scale * flat
