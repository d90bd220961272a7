"""A second run beside a descent, which shows what rounding may have done to it.

Let e_k be the distance of the computed parameters from those of exact arithmetic. One step takes it
to M_k e_k plus what the step itself loses: the rounding of the update and the error of the
gradient. M_k is not known, so a perturbed run is pushed off by at least as much as a step may lose,
partly at random and partly straight away from the run (errors that always fall to the same side),
and its distance is measured.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from deqcheck.dynamics.recorder import SAFETY
from deqcheck.linalg.stacked import norms
from deqcheck.models.problem import AnyProblem, Params, norm, pack, unpack
from deqcheck.records.measured import EPS
from deqcheck.seeds import rng

# How many random patterns the perturbed run cycles through.
PATTERNS = 61
# A perturbed run pushed by chance across the one direction that grows falls short of the run's own
# error, by a factor f with a probability of about 1/f. Where distances grow, the factor of safety
# grows with them, by no more than this.
UNLUCKY = 1e3
# Errors above this share of the parameters no longer follow the linear law above; nor do they where
# a run has left the scale on which it began (an exponential knows no larger one than 1).
LINEAR = 1e-3


def patterns(seed: int, size: int) -> np.ndarray:
    """Random numbers of which every window of this size is a pattern: they stay in the cache.
    Of either sign, and of different sizes, since equal ones may cancel in a sum (a 1-norm); 1/2 at
    least, for a rounding loses no more than EPS/2 of a number."""
    stream, length = rng(seed, "gd.rounding"), size + PATTERNS - 1
    signs = stream.choice((-1.0, 1.0), length)
    found: np.ndarray = signs * stream.uniform(0.5, 1.0, length)
    return found


class PerturbedRun:
    """All parameters in one row, as `pack` puts them.

    With momentum the velocity v <- momentum v + gradient stands in place of the gradient, and what
    one gradient loses stays in it. `eps` is the precision of the arithmetic that made the run.
    """

    def __init__(self, problem: AnyProblem, step: float, momentum: float = 0.0, eps: float = EPS):
        self.step, self.momentum, self.eps = step, momentum, eps
        self._velocity = np.zeros(0)
        self.x, self._shapes = pack(problem.theta0), problem.shapes
        self._patterns = patterns(problem.seed, self.x.size)
        # Each parameter may be off by all of a gradient's radius.
        self._shares = np.concatenate(
            [np.full(a.size, a.size**-0.5) for a in problem.theta0.values()]
        )
        # All pushes together, and the largest quotient of the distance from the run and them.
        self._pushed, self._growth = 0.0, 1.0
        # What the last step may have lost.
        self.push = 0.0
        self._scale = max(1.0, norm(self.x))
        self.precision_lost = False

    @property
    def theta(self) -> Params:
        return unpack(self.x, self._shapes)

    @property
    def error_growth(self) -> float:
        """By how much more than usual the perturbed run's distance may fall short of the error."""
        return math.inf if self.precision_lost else min(self._growth, UNLUCKY)

    def follow(
        self, k: int, x: np.ndarray, slope: float, radius: float, gradient: np.ndarray
    ) -> None:
        """From step k to the next, where the run has arrived at x with a gradient (or velocity) of
        norm `slope`, known up to `radius`; `gradient` is the perturbed run's own."""
        size = norm(x)
        self.push = self.eps * (size + self.step * slope) + self.step * radius
        # Where the gradient is not known, as on a kink, neither is what follows.
        self.precision_lost = not math.isfinite(self.push)
        if self.precision_lost:
            return
        moved = self._disturbed(k % PATTERNS, radius, gradient)
        away = moved - x
        distance = norm(away)
        if distance > 0:
            away *= self.push / distance
            moved += away
            distance += self.push
        self.x = moved
        self._pushed += 2 * self.push
        if distance > self._growth * self._pushed:
            self._growth = distance / self._pushed
        self.precision_lost = not SAFETY * self.error_growth * distance <= LINEAR * min(
            size, self._scale
        )

    def _disturbed(self, first: int, radius: float, gradient: np.ndarray) -> np.ndarray:
        if self.momentum:
            gradient, radius = self._turned(first, radius, gradient), 0.0
        moved = self.x - self.step * gradient
        push = np.abs(moved)
        push *= self.eps
        lost = self._shares * (self.step * radius)
        if np.count_nonzero(gradient) < gradient.size:
            # What is exactly zero (a dead unit) stays so: rounding cannot bring it to life.
            lost *= gradient != 0
        push += lost
        push *= self._patterns[first : first + push.size]
        moved += push
        return moved

    def _turned(self, first: int, radius: float, gradient: np.ndarray) -> np.ndarray:
        """The velocity, off by its own rounding and by what the gradient may lose."""
        v = gradient + (self.momentum * self._velocity if self._velocity.size else 0.0)
        lost = self.eps * np.abs(v) + radius * self._shares * (v != 0)
        v += lost * self._patterns[first : first + v.size]
        self._velocity = v
        return v


class PerturbedRuns:
    """PerturbedRun, without momentum, for every slice of several problems of one shape."""

    def __init__(self, problems: Sequence[AnyProblem], x: np.ndarray, step: np.ndarray):
        self.x, self.step = x, step
        size = x.shape[1]
        self._patterns = np.stack([patterns(p.seed, size) for p in problems])
        arrays = problems[0].theta0.values()
        self._shares = np.concatenate([np.full(a.size, a.size**-0.5) for a in arrays])
        self._pushed, self._growth = np.zeros(len(x)), np.ones(len(x))
        self.push = np.zeros(len(x))
        self._scale = np.maximum(1.0, norms(x))
        self.lost = np.zeros(len(x), dtype=bool)

    @property
    def error_growth(self) -> np.ndarray:
        return np.minimum(self._growth, UNLUCKY)

    def keep(self, slices: np.ndarray) -> None:
        for name, array in vars(self).items():
            if name != "_shares":
                setattr(self, name, array[slices])

    def follow(
        self, k: int, x: np.ndarray, slope: np.ndarray, radius: np.ndarray, gradient: np.ndarray
    ) -> None:
        size = norms(x)
        self.push = EPS * (size + self.step * slope) + self.step * radius
        moved = self.x - self.step[:, None] * gradient
        push = np.abs(moved)
        push *= EPS
        lost = self._shares * (self.step * radius)[:, None]
        lost *= gradient != 0
        push += lost
        first = k % PATTERNS
        push *= self._patterns[:, first : first + x.shape[1]]
        moved += push
        away = moved - x
        distance = norms(away)
        apart = distance > 0
        away *= np.where(apart, self.push / distance, 0.0)[:, None]
        moved += away
        distance += np.where(apart, self.push, 0.0)
        self.x = moved
        self._pushed += 2 * self.push
        self._growth = np.where(
            distance > self._growth * self._pushed, distance / self._pushed, self._growth
        )
        near = SAFETY * self.error_growth * distance <= LINEAR * np.minimum(size, self._scale)
        self.lost = ~(np.isfinite(self.push) & near)
