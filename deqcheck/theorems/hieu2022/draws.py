"""Random directions, nearby parameters, and the comparison of two arrays along directions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from deqcheck.linalg import errors, exact
from deqcheck.linalg.entries import euclidean, nonzero
from deqcheck.linalg.matrix import Matrix
from deqcheck.models.problem import Params
from deqcheck.records.claim import Claim
from deqcheck.records.measured import Measured
from deqcheck.records.tower import Again
from deqcheck.seeds import rng
from deqcheck.theorems.base import Check
from deqcheck.theorems.hieu2022.setting import Problem

DIRECTIONS = 8


def direction(p: Problem, name: str) -> Params:
    """A unit direction in the space of all parameters."""
    stream = rng(p.seed, name)
    drawn = {n: stream.standard_normal(a.shape) for n, a in p.theta0.items()}
    size = np.sqrt(sum(float(np.vdot(a, a)) for a in drawn.values()))
    return {n: a / size for n, a in drawn.items()}


def nearby(p: Problem, name: str, scale: float) -> Params:
    """Other parameters, at about this relative distance."""
    way = direction(p, name)
    size = np.sqrt(sum(float(np.vdot(a, a)) for a in p.theta0.values())) or 1.0
    return {n: p.theta0[n] + scale * size * way[n] for n in way}


def only(way: Params, name: str) -> Params:
    """The part of a direction that one parameter takes, of unit length."""
    size = euclidean(way[name])
    return {n: a / size if n == name else np.zeros_like(a) for n, a in way.items()}


def same(
    p: Problem,
    check: Check,
    left: Matrix,
    right: Matrix,
    unsure: float = 0.0,
) -> Claim:
    """Two arrays (with Frobenius radii) agree: compared along the second one's own direction and
    along random ones, of which that is claimed which tells them apart, if any does.

    Both are made from the same computed state, so they agree up to the rounding in their radii
    where they are the same function of it; `unsure` is what the state's own error can change. That
    is shared, but where both are zero, as every function of a residual that rounds to zero.
    """
    a, b = left.array, right.array
    stream = rng(p.seed, f"same.{check.name}")
    ways = [b, *(stream.standard_normal(np.shape(a)) for _ in range(DIRECTIONS))]
    ways = [w / errors.length(w) for w in ways if nonzero(w)]
    noise = [errors.rounding(np.size(x) ** 0.5, errors.length(x)) for x in (a, b)]
    radius = left.radius + right.radius + sum(noise)
    # At equal excess the first one wins, which has the most digits.
    excess = [max(abs(float(np.vdot(a - b, w))) - radius, 0.0) for w in ways]
    way = ways[int(np.argmax(excess))]
    shared = unsure if a.any() or b.any() else 0.0
    claim = check(
        f"along its own and {DIRECTIONS} random directions",
        left=_along(left, way, noise[0] + unsure - shared),
        right=_along(right, way, noise[1] + unsure - shared),
    )
    return replace(claim, shared=shared)


def _along(a: Matrix, way: np.ndarray, more: float) -> Measured:
    again = a.exact and Again(exact.summed, exact.hadamard(a.exact, exact.array(way)))
    return Measured(float(np.vdot(a.array, way)), a.radius + more, again=again)
