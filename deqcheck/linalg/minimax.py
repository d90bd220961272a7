"""Smallest possible largest ratio: min over x of max_i f_i(x) for convex f_i (log posynomials).

The free constants of a theorem are chosen by it. Any local optimum is global, so the optimum above
zero means: no constants make every hypothesis hold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeAlias

import numpy as np

from deqcheck.frozen import dataclass
from deqcheck.linalg.late import scipy
from deqcheck.records.scalar import EPS

# Of points where some function has no value.
OUTSIDE = 1e6
# To this tolerance it is sought where only its sign matters.
ROUGH = 1e-6
# A point proved to be as near to the optimum as this is the optimum.
SHARP = 1e-10
# Weight of the row that makes multipliers add up to one.
WHOLE = 1e3
# Where the last optimum was, by the number of constants.
Memory: TypeAlias = "dict[int, np.ndarray]"
_ROUGHLY: ContextVar[Memory | None] = ContextVar("roughly", default=None)


@contextmanager
def roughly(memory: Memory) -> Iterator[None]:
    """Inside, what matters is whether the optimum is above zero. Problems that are much alike, one
    after the other, share their memory: the search is convex, so where it starts is no matter."""
    token = _ROUGHLY.set(memory)
    try:
        yield
    finally:
        _ROUGHLY.reset(token)


@dataclass(frozen=True)
class Optimum:
    x: np.ndarray
    value: float


def minimise_largest(
    f: Callable[[np.ndarray], np.ndarray], start: np.ndarray, box: tuple[float, float]
) -> Optimum:
    """Epigraph form by SLSQP. Unless its multipliers prove that this is the optimum, from several
    starts, and then a Nelder-Mead polish of the maximum.

    Outside the domain f may return inf; the search steps back.
    """
    start = np.asarray(start, dtype=float)
    low, high = box

    def largest(x: np.ndarray) -> float:
        if (x < low).any() or (x > high).any():
            return OUTSIDE
        with np.errstate(all="ignore"):
            worst = float(np.max(f(x)))
        return worst if np.isfinite(worst) else OUTSIDE

    def room(xs: np.ndarray) -> np.ndarray:
        with np.errstate(all="ignore"):
            left = xs[-1] - f(xs[:-1])
            found: np.ndarray = np.where(left == left, left, -OUTSIDE).clip(-OUTSIDE, OUTSIDE)
            return found

    def sought(x0: np.ndarray, tolerance: float) -> Any:
        x0 = np.clip(x0, low, high)
        # Differences of scipy's own take most of the time, which a rough search saves.
        slopes = {"jac": lambda xs: _forward(room, xs)} if tolerance == ROUGH else {}
        with np.errstate(all="ignore"):
            return scipy.optimize.minimize(
                lambda xs: xs[-1],
                np.append(x0, largest(x0)),
                jac=lambda xs: np.append(np.zeros(len(xs) - 1), 1.0),
                constraints={"type": "ineq", "fun": room, **slopes},
                bounds=[(low, high)] * len(x0) + [(None, None)],
                method="SLSQP",
                options={"maxiter": 500, "ftol": tolerance},
            )

    memory = _ROUGHLY.get()
    if memory is not None:
        x = sought(memory.get(len(start), start), ROUGH).x[:-1]
        best = Optimum(x, largest(x))
        if gap(f, best, box) < best.value < OUTSIDE:
            memory[len(start)] = best.x
            return best
    best = _better(Optimum(start, largest(start)), sought(start, 1e-13).x[:-1], largest)
    # Just above zero the last digits decide whether there are constants at all.
    if not 0 <= best.value <= 10 * SHARP and gap(f, best, box) <= SHARP:
        return best
    for shift in (-2.0, 2.0):
        best = _better(best, sought(start + shift, 1e-13).x[:-1], largest)
    for _ in range(3):
        polished = scipy.optimize.minimize(
            largest,
            best.x,
            method="Nelder-Mead",
            options={"xatol": 1e-10, "fatol": 1e-13, "maxiter": 4000, "maxfev": 4000},
        )
        best = _better(best, polished.x, largest)
    return best


def gap(f: Callable[[np.ndarray], np.ndarray], at: Optimum, box: tuple[float, float]) -> float:
    """The optimum lies at most so far below the value at this point, up to the differences that
    stand for slopes.

    Convex f_i lie above their tangents: with weights w >= 0 that add up to one, max_i f_i(y) >=
    sum w_i (f_i(x) + grad f_i(x) (y - x)), smallest in a corner of the box. The weights are those
    that nearly cancel the gradients of the largest f_i.
    """
    with np.errstate(all="ignore"):
        below = at.value - f(at.x)
        slopes = _slopes(f, at.x)
    if not (np.isfinite(below).all() and np.isfinite(slopes).all()):
        return np.inf
    rows = np.vstack([slopes.T, below, np.full(len(below), WHOLE)])
    w, _ = scipy.optimize.nnls(rows, np.append(np.zeros(len(rows) - 1), WHOLE))
    w /= w.sum()
    slope = w @ slopes
    reach = np.where(slope > 0, at.x - box[0], box[1] - at.x)
    return float(w @ below + np.abs(slope) @ reach)


def nearest(
    f: Callable[[np.ndarray], np.ndarray],
    best: Optimum,
    goal: np.ndarray,
    box: tuple[float, float],
    room: float,
) -> Optimum:
    """Of all points whose largest value is at most `room` above the optimum, that nearest to goal.

    The smallest possible value is one number, but where it is attained may be decided by rounding:
    right sides that a floor dominates hardly change over many powers of ten. The projection on a
    convex set of some width is one point, on every machine. Searched roughly, an optimum above zero
    is all that there is to know, wherever it is attained.
    """
    if not room > 0 or (_ROUGHLY.get() is not None and best.value > 0):
        return best
    here = float(np.max(f(goal)))
    if here <= best.value + room:
        return Optimum(goal, here)

    def left(x: np.ndarray) -> np.ndarray:
        return (best.value + room - f(x)) / room

    with np.errstate(all="ignore"):
        found = scipy.optimize.minimize(
            lambda x: ((x - goal) ** 2).sum() / 2,
            best.x,
            jac=lambda x: x - goal,
            # One-sided differences would leave four digits less.
            constraints={"type": "ineq", "fun": left, "jac": lambda x: _slopes(left, x)},
            bounds=[box] * len(goal),
            method="SLSQP",
            options={"maxiter": 500, "ftol": 1e-15},
        )
        value = float(np.max(f(found.x)))
    # SLSQP keeps to constraints up to a small part of their unit, which is the room.
    return Optimum(found.x, value) if value <= best.value + 1.01 * room else best


def _forward(f: Callable[[np.ndarray], np.ndarray], x: np.ndarray) -> np.ndarray:
    """The Jacobian by one-sided differences."""
    here, columns = f(x), []
    for i, at in enumerate(x.tolist()):
        ahead = x.copy()
        ahead[i] += EPS**0.5 * max(1.0, abs(at))
        columns.append((f(ahead) - here) / (ahead[i] - at))
    return np.array(columns).T


def _slopes(f: Callable[[np.ndarray], np.ndarray], x: np.ndarray, h: float = 1e-4) -> np.ndarray:
    """The Jacobian by differences of fourth order."""
    steps = h * np.eye(len(x))
    near = [f(x + step) - f(x - step) for step in steps]
    far = [f(x + 2 * step) - f(x - 2 * step) for step in steps]
    found: np.ndarray = (8 * np.array(near) - np.array(far)).T / (12 * h)
    return found


def _better(best: Optimum, x: np.ndarray, f: Callable[[np.ndarray], float]) -> Optimum:
    value = f(x)
    return Optimum(x, value) if value < best.value else best
