"""How a flow meets the kinks of a piecewise smooth model: it crosses them, or slides along them.

Write the gradient with a slope s_k in [0, 1] at a kink k whose height h_k is zero: it is G + J^T c,
where the unit is off in G, row k of J is the gradient of h_k, and c_k = s_k e_k with e_k the
derivative of the loss by the unit's output. A flow that slides keeps h at zero, J (G + J^T c) = 0:
it is the projection of -G onto the tangent space of the kinks, and it lasts while 0 <= c_k <= e_k.
Off, the unit is pushed towards its kink if c_k > 0; on, if c_k < e_k.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import NamedTuple

import numpy as np

from deqcheck.frozen import dataclass
from deqcheck.models.memory import Memory
from deqcheck.models.problem import AnyProblem, Held, State, norm, pack, unpack
from deqcheck.records.measured import EPS

# A height within this many roundings of the largest lies on its kink at the start.
ROUNDINGS = 16
# At an event heights within this part of the largest are looked at together: what happens within
# the tolerance of the integration happens at once.
TOGETHER = 1e-12
# A computed slope that leaves [0, 1] by so many times what the residual may be off has not left it,
# and a residual of which this part is not known moves nothing across a kink any more.
SLACK, REST = 8.0, 0.1
# Rows of length 1 whose Gram matrix has no smaller eigenvalue: normal equations lose few digits.
INDEPENDENT = 1e-6
# A height beyond so many times what the integration left of a slide tells its side.
NEAR = 16.0
# So many kinks on which the flow stands at once are tried in every combination.
FEW = 4


# Where a unit stands.
OFF, ON, SLIDES = "off", "on", "slides"


class Undecided(Exception):
    """No choice of sides and slopes fits at the kinks on which the flow stands."""


@dataclass(frozen=True)
class Mode:
    """Where every unit stands: on a side of its kink, or sliding along it (then not above)."""

    above: np.ndarray
    # The height at which each kink is met: zero, but for what an integration left of a slide.
    levels: np.ndarray
    sliding: tuple[int, ...] = ()

    def key(self) -> tuple[bytes, tuple[int, ...]]:
        return self.above.tobytes(), self.sliding

    def put(self, kink: int, side: str, alike: np.ndarray) -> Mode:
        """With one kink, and those that are the same function, moved to `side`."""
        above = self.above.copy()
        above[alike == kink] = side == ON
        sliding = {*self.sliding} - {kink} | ({kink} if side == SLIDES else set())
        return replace(self, above=above, sliding=tuple(sorted(sliding)))

    def side(self, kink: int) -> str:
        if kink in self.sliding:
            return SLIDES
        return ON if self.above[kink] else OFF


class Motion(NamedTuple):
    """How the parameters move in a mode."""

    velocity: np.ndarray
    heights: np.ndarray
    # Of the sliding kinks: c, e, and what rounding may do to both.
    forces: np.ndarray
    pulls: np.ndarray
    noise: np.ndarray
    held: Held
    # The part of the residual that is not known, and how far the velocity may be off.
    off: float
    drift: float

    @property
    def slopes(self) -> np.ndarray:
        with np.errstate(all="ignore"):
            found = np.where(self.pulls > 0, self.forces / self.pulls, 0.0)
        return np.clip(found, 0.0, 1.0)

    def room(self) -> np.ndarray:
        """For each sliding kink how far its slope is inside [0, 1], times e: negative outside."""
        found: np.ndarray = np.minimum(self.forces, self.pulls - self.forces)
        return found


NOTHING = np.zeros(0)


def _balance(rows: np.ndarray, gradient: np.ndarray) -> np.ndarray:
    """c with rows (gradient + rows^T c) = 0, of the least norm where the rows, of length 1, are
    dependent: by the normal equations, whose error one more solution squares."""
    gram, right = rows @ rows.T, -(rows @ gradient)
    if not (np.isfinite(gram).all() and np.isfinite(right).all()):
        return np.full(len(rows), np.nan)
    if len(rows) > 1 and np.linalg.eigvalsh(gram)[0] < INDEPENDENT:
        return np.asarray(np.linalg.lstsq(rows.T, -gradient, rcond=len(gradient) * EPS)[0])
    found = right / gram[0] if len(rows) == 1 else np.linalg.solve(gram, right)
    rest = rows @ (gradient + found @ rows)
    return found - (rest / gram[0] if len(rows) == 1 else np.linalg.solve(gram, rest))


class Kinks:
    """The kinks of one problem."""

    def __init__(self, problem: AnyProblem, memory: Memory):
        self.problem, self.memory = problem, memory
        start = problem.start.kinks
        assert start is not None
        self.alike = start.alike
        # One of each class of kinks that are the same function is watched.
        self.watched = np.flatnonzero(self.alike == np.arange(len(self.alike)))
        # The same, to look at what they are as it lies where all are.
        self._seen = slice(None) if len(self.watched) == len(self.alike) else self.watched
        self.first = Mode(start.above[self.alike], np.zeros(len(self.alike)))

    def motion(self, theta: np.ndarray, mode: Mode, blur: float = 0.0) -> Motion:
        """Of parameters that may be off by `blur`. Raises NoEquilibrium."""
        state: State = self.problem.model.at(unpack(theta, self.problem.shapes), self.memory)
        held = state.held(mode.above)
        gradient = pack(held.gradient)
        size, r = norm(gradient), held.residual
        # dr = J dtheta with |J| at least |J^T r|/|r|, and what that does to J^T r.
        speed = max(held.speed, size / r if r > 0 else 0.0)
        lost = held.rounding + speed * blur
        off, drift = lost / r if r > 0 else np.inf, speed * lost
        if not mode.sliding:
            return Motion(-gradient, held.heights, NOTHING, NOTHING, NOTHING, held, off, drift)
        rows = np.array([pack(held.row(k)) for k in mode.sliding])
        sizes = np.sqrt(np.einsum("ij,ij->i", rows, rows))
        sizes[sizes == 0] = 1.0
        forces = _balance(rows / sizes[:, None], gradient) / sizes
        pulls = held.pulls(mode.sliding) + held.couplings(mode.sliding).T @ forces
        noise = SLACK * (drift / sizes + held.gain * lost + off * np.abs(pulls))
        velocity = -(gradient + rows.T @ forces)
        return Motion(velocity, held.heights, forces, pulls, noise, held, off, drift)

    def beyond(self, motion: Motion, mode: Mode) -> bool:
        """Whether something has changed, and not by rounding or the tolerance alone."""
        found = self.slack(motion, mode)
        found[len(self.watched) :] += motion.noise
        return bool((found < 0).any())

    def slack(self, motion: Motion, mode: Mode) -> np.ndarray:
        """How far each watched kink, and then each slope, is from changing: negative beyond."""
        k = self._seen
        if motion.off >= REST:
            return np.full(len(self.watched) + len(mode.sliding), np.inf)
        heights = motion.heights[k] - mode.levels[k]
        found = np.where(mode.above[k], heights, -heights) + self._rounding(motion)
        if not mode.sliding:
            return np.asarray(found)
        found[np.searchsorted(self.watched, mode.sliding)] = np.inf
        return np.concatenate([found, motion.room()])

    def _rounding(self, motion: Motion) -> float:
        return ROUNDINGS * EPS * float(np.abs(motion.heights).max(initial=0.0))

    def standing(self, motion: Motion, mode: Mode, part: float = ROUNDINGS * EPS) -> list[int]:
        """The kinks on which the flow stands, within a part of the largest height, and those along
        which it slides."""
        k, largest = self.watched, float(np.abs(motion.heights).max(initial=0.0))
        near = np.abs(motion.heights[k] - mode.levels[k]) <= part * largest
        return sorted({*k[near].tolist(), *mode.sliding})

    def decide(self, theta: np.ndarray, mode: Mode, standing: list[int], blur: float) -> Mode:
        """Sides and slopes at the kinks on which the flow stands, each with those of the others:
        one after the other goes where it is pushed, until none is pushed any more."""
        seen = set()
        while mode.key() not in seen:
            seen.add(mode.key())
            pushed = self._pushed(theta, mode, standing, blur)
            if pushed is None:
                return mode
            mode = mode.put(*pushed, self.alike)
        return self._any(theta, mode, standing, blur)

    def _any(self, theta: np.ndarray, mode: Mode, standing: list[int], blur: float) -> Mode:
        if len(standing) <= FEW:
            for sides in product((OFF, SLIDES, ON), repeat=len(standing)):
                for kink, side in zip(standing, sides, strict=True):
                    mode = mode.put(kink, side, self.alike)
                if self._pushed(theta, mode, standing, blur) is None:
                    return mode
        raise Undecided("no slopes fit at the kinks that are met")

    def _pushed(
        self, theta: np.ndarray, mode: Mode, standing: list[int], blur: float
    ) -> tuple[int, str] | None:
        """The first kink that does not stay where it is, and where it goes."""
        motion = self.motion(theta, mode, blur)
        for i, kink in enumerate(mode.sliding):
            c, e, noise = motion.forces[i], motion.pulls[i], motion.noise[i]
            if c < -noise:
                return kink, OFF
            if c > e + noise:
                return kink, ON
        for kink in standing:
            if kink not in mode.sliding:
                rate = self._rate(motion, kink)
                if (rate < 0) if mode.above[kink] else (rate > 0):
                    return kink, SLIDES
        return None

    def through(self, theta: np.ndarray, mode: Mode, kink: int) -> Mode:
        """Beyond a kink that is met more slowly than the velocity is known: an integration from
        there follows the computed velocity, and one that leads back slides."""
        other = mode.put(kink, OFF if mode.above[kink] else ON, self.alike)
        motion = self.motion(theta, other)
        rate = float(pack(motion.held.row(kink)) @ motion.velocity)
        back = rate < 0 if other.above[kink] else rate > 0
        return mode.put(kink, SLIDES, self.alike) if back else other

    def _rate(self, motion: Motion, kink: int) -> float:
        """dh/dt of a kink that does not slide, zero where rounding may have made it."""
        row = pack(motion.held.row(kink))
        rate = float(row @ motion.velocity)
        noise = SLACK * float(np.linalg.norm(row)) * (motion.drift + EPS * norm(motion.velocity))
        return rate if abs(rate) > noise else 0.0

    def fork(self, theta: np.ndarray, mode: Mode, standing: list[int], blur: float) -> int | None:
        """One of these kinks to whose other side the flow might as well go on."""
        for kink in standing:
            if kink in mode.sliding:
                continue
            other = mode.put(kink, OFF if mode.above[kink] else ON, self.alike)
            rate = self._rate(self.motion(theta, other, blur), kink)
            moves = rate > 0 if other.above[kink] else rate < 0
            if moves and self._pushed(theta, other, standing, blur) is None:
                return kink
        return None

    def settled(self, motion: Motion, mode: Mode, standing: list[int]) -> Mode:
        """With levels that none of these kinks is beyond already."""
        levels = mode.levels.copy()
        for kink in standing:
            h = float(motion.heights[kink])
            levels[kink] = min(h, 0.0) if mode.above[kink] else max(h, 0.0)
        return replace(mode, levels=levels)

    def slopes(self, theta: np.ndarray, mode: Mode, heights: np.ndarray) -> np.ndarray:
        """For each kink the slope where it slides, or where its height does not tell its side: by
        rounding, or by what the integration left of a slide.

        `heights` are those of the state itself: near a kink it may be on the other side, where
        they are some times as large."""
        sliding = np.zeros(0)
        if mode.sliding or (np.abs(heights) < NEAR * np.abs(mode.levels)).any():
            motion = self.motion(theta, mode)
            heights, sliding = motion.heights, motion.slopes
        found, size = np.full(len(self.alike), np.nan), np.abs(heights)
        least = np.maximum(TOGETHER * float(size.max(initial=0.0)), np.abs(mode.levels))
        open_ = size <= least
        found[open_] = mode.above[open_]
        for kink, s in zip(mode.sliding, sliding, strict=True):
            found[self.alike == kink] = s
        return found
