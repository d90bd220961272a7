"""Random directions, nearby parameters, and derivatives by central differences along a line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from deqcheck.models.problem import Params
from deqcheck.records.claim import Claim
from deqcheck.records.measured import EPS, Measured
from deqcheck.seeds import rng
from deqcheck.theorems.base import Check
from deqcheck.theorems.hieu2022.setting import Problem

DIRECTIONS = 8
# The line is shortened by this factor until the activation pattern is the same all along it.
SHORTER, TRIES = 0.1, 7


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
    size = float(np.linalg.norm(way[name]))
    return {n: a / size if n == name else np.zeros_like(a) for n, a in way.items()}


def slope(
    p: Problem, way: Params, f: Callable[[Any], tuple[np.ndarray, float]]
) -> tuple[np.ndarray, float]:
    """d f/ds along theta0 + s way, and its radius; f gives an array and its radius at a state.

    Fourth order: D(2h) - D(h) is 15 times the truncation error of D(h), which is charged four
    times over; rounding is the radius of f over h. Across a kink the radius is infinite.
    """
    size = max(1.0, max(float(np.abs(a).max(initial=0.0)) for a in p.theta0.values()))
    longest = max(float(np.abs(a).max(initial=0.0)) for a in way.values())
    h = EPS ** (1 / 5) / 4 * size / max(longest, 1.0)
    for _ in range(TRIES):
        states = {k: p.model.at(_moved(p, way, k * h)) for k in (-4, -2, -1, 1, 2, 4)}
        masks = [s.equilibrium.mask for s in states.values()]
        if all(np.array_equal(mask, p.start.equilibrium.mask) for mask in masks):
            break
        h *= SHORTER
    else:
        return np.asarray(f(p.start)[0]) * 0.0, np.inf
    found = {k: f(state) for k, state in states.items()}
    rise = {k: (found[k][0] - found[-k][0]) / (2 * k * h) for k in (1, 2, 4)}
    near, far = (4 * rise[1] - rise[2]) / 3, (4 * rise[2] - rise[4]) / 3
    truncation = 4 * float(np.linalg.norm(far - near)) / 15
    rounding = 2 * max(radius for _, radius in found.values()) / h
    # The abscissae themselves are rounded: relative to h by EPS |theta|/h.
    abscissa = 4 * EPS * size / h * float(np.linalg.norm(near))
    return near, truncation + rounding + abscissa


def _moved(p: Problem, way: Params, by: float) -> Params:
    return {n: p.theta0[n] + by * way[n] for n in way}


def same(
    p: Problem,
    check: Check,
    left: tuple[np.ndarray, float],
    right: tuple[np.ndarray, float],
) -> Claim:
    """Two arrays (with Frobenius radii) agree: compared along the second one's own direction and
    along random ones, of which that is claimed which tells them apart, if any does."""
    (a, da), (b, db) = left, right
    stream = rng(p.seed, f"same.{check.name}")
    ways = [b, *(stream.standard_normal(np.shape(a)) for _ in range(DIRECTIONS))]
    ways = [w / (float(np.linalg.norm(w)) or 1.0) for w in ways]
    noise = [4 * EPS * np.size(x) ** 0.5 * float(np.linalg.norm(x)) for x in (a, b)]
    radius = da + db + sum(noise)
    # At equal excess the first one wins, which has the most digits.
    way = max(ways, key=lambda w: max(abs(float(np.vdot(a - b, w))) - radius, 0.0))
    return check(
        f"along its own and {DIRECTIONS} random directions",
        left=Measured(float(np.vdot(a, way)), da + noise[0]),
        right=Measured(float(np.vdot(b, way)), db + noise[1]),
    )
