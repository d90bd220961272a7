"""What one integration of a piecewise smooth flow meets: kinks that it crosses or slides along."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from deqcheck.dynamics.sliding import OFF, ON, SLIDES, TOGETHER, Kinks, Mode, Motion, Undecided
from deqcheck.linalg.late import scipy
from deqcheck.models.memory import Memory
from deqcheck.models.problem import AnyProblem, norm
from deqcheck.records.measured import EPS, Measured
from deqcheck.records.trajectory import CROSSING, FORK, LEAVE, SLIDE, Event

if TYPE_CHECKING:
    from deqcheck.dynamics.integration import Piece

# Where a step is looked at once something in it hints at a kink.
SHARES = np.arange(1, 9) / 8
# An integration may be off by so many times the tolerance of one step.
BLUR = 10.0
# More events than this in one segment are a flow that flickers.
MOST = 1000
# A residual that is not below this part of what it was so many steps before rests, if it is small
# enough.
LATELY, FALLS = 16, 0.9


class Seen(NamedTuple):
    """An event as one integration sees it."""

    t: float
    kind: str
    kink: int
    # The time that the flow needs to move by the tolerance.
    blur: float


class Met(NamedTuple):
    """Where an integration goes on after an event."""

    t: float
    y: np.ndarray


class Kinked:
    """Follows the mode of one integration."""

    def __init__(
        self,
        problem: AnyProblem,
        memory: Memory,
        theta0: np.ndarray,
        tolerance: Callable[[np.ndarray], float],
    ):
        """`tolerance` of a displacement from theta0."""
        self.kinks = Kinks(problem, memory)
        self.theta0, self._tolerance = theta0, tolerance
        self.mode: Mode = self.kinks.first
        self.seen: list[Seen] = []
        self.evaluations = 0
        self._left = MOST
        # Whether an evaluation of the step that is being made lay beyond a kink.
        self._hint = False
        self._last: tuple[np.ndarray, Motion] | None = None
        # At the end of the last step.
        self._end: Motion | None = None
        # Whether nothing moves any more, and |r| at the end of the last steps.
        self.rests = False
        self._residuals: deque[float] = deque(maxlen=LATELY + 1)

    def begin(self) -> None:
        self._left = MOST

    def start(self) -> None:
        """At the start the one-sided velocities decide where the flow goes."""
        motion = self._motion(self.theta0)
        standing = self.kinks.standing(motion, self.mode)
        new = self.kinks.decide(self.theta0, self.mode, standing, 0.0)
        self._turn(0.0, self.theta0, new, standing)

    def _blur(self, theta: np.ndarray) -> float:
        return BLUR * self._tolerance(theta - self.theta0)

    def velocity(self, t: float, theta: np.ndarray) -> np.ndarray:
        if self.rests:
            return np.zeros_like(theta)
        motion = self._motion(theta)
        self._hint |= self.kinks.beyond(motion, self.mode)
        return motion.velocity

    def _motion(self, theta: np.ndarray) -> Motion:
        self.evaluations += 1
        motion = self.kinks.motion(theta, self.mode, self._blur(theta))
        self._last = theta, motion
        return motion

    def may_meet(self, t: float, theta: np.ndarray) -> bool:
        """Whether the step that ends here is to be looked at more closely."""
        if self.rests:
            return False
        if self._last is None or not np.array_equal(self._last[0], theta):
            self.velocity(t, theta)
        assert self._last is not None
        self._end = self._last[1]
        hint, self._hint = self._hint, False
        return hint

    def comes_to_rest(self, theta: np.ndarray) -> bool:
        """Whether what is left to go, about |r|^2/|g|, is within the tolerance of a step, and the
        residual falls no more, as along every flow it does: from there on the integration would
        follow its own errors, in steps as short as its stability asks for."""
        if self.rests or self._end is None:
            return False
        r, speed = self._end.held.residual, norm(self._end.velocity)
        self._residuals.append(r)
        within = r * r <= speed * self._tolerance(theta - self.theta0)
        self.rests = within and len(self._residuals) > LATELY and r >= FALLS * self._residuals[0]
        return self.rests

    def meet(self, piece: Piece) -> Met | None:
        """The first event of a step, with the mode changed to what it is afterwards."""

        def slack(t: float) -> np.ndarray:
            return self.kinks.slack(self._motion(self.theta0 + piece(t)), self.mode)

        times = piece.start + (piece.end - piece.start) * SHARES
        before = piece.start
        for after in times.tolist():
            motion = self._motion(self.theta0 + piece(after))
            if self.kinks.beyond(motion, self.mode):
                break
            before = after
        else:
            return None
        t, which = _first(slack, before, after, self.kinks.slack(motion, self.mode))
        self._left -= 1
        if self._left < 0:
            raise Undecided(f"more than {MOST} kinks are met: the flow flickers")
        y = piece(t)
        self._at(t, self.theta0 + y, which, self.theta0 + piece(after))
        return Met(t, y)

    def _at(self, t: float, theta: np.ndarray, which: int, later: np.ndarray) -> None:
        """Decide at an event of one kink, or slope."""
        motion, mode, kinks = self._motion(theta), self.mode, self.kinks
        blur = self._blur(theta)
        standing = kinks.standing(motion, mode, TOGETHER)
        if which >= len(kinks.watched):
            i = which - len(kinks.watched)
            kink = mode.sliding[i]
            side = OFF if motion.forces[i] < motion.pulls[i] / 2 else ON
            left = mode.put(kink, side, kinks.alike)
            found = kinks.decide(theta, left, standing, blur)
            # Within rounding it might slide on, for no time.
            new = left if found.key() == mode.key() else found
        else:
            kink = int(kinks.watched[which])
            standing = sorted({*standing, kink})
            new = kinks.decide(theta, mode, standing, blur)
            if new.key() == mode.key():
                # It touches its kink: what it does next shows just after.
                new = kinks.decide(later, mode, standing, blur)
            if new.key() == mode.key():
                new = kinks.through(theta, mode, kink)
        self._turn(t, theta, new, standing)

    def _turn(self, t: float, theta: np.ndarray, mode: Mode, standing: list[int]) -> None:
        """From here on in another mode."""
        old, self.mode = self.mode, mode
        motion = self._motion(theta)
        self.mode = self.kinks.settled(motion, mode, standing)
        blur, speed = self._blur(theta), norm(motion.velocity)
        late = blur / speed if speed > 0 and t > 0 else 0.0
        for kink in standing:
            kind = _kind(old.side(kink), mode.side(kink))
            if kind and (t > 0 or kind != CROSSING):
                self.seen.append(Seen(t, kind, kink, late))
        fork = self.kinks.fork(theta, mode, standing, blur)
        if fork is not None:
            self.seen.append(Seen(t, FORK, fork, late))
        self._hint = False


def _kind(before: str, after: str) -> str:
    if before == after:
        return ""
    if after == SLIDES:
        return SLIDE
    return LEAVE if before == SLIDES else CROSSING


def matched(tight: list[Seen], loose: list[Seen], safety: float) -> list[Event]:
    """The events of the better of two integrations; the other's times tell how well they are known.
    Of what the other does not see nothing is known."""
    others: dict[tuple[str, int], list[float]] = {}
    for each in loose:
        others.setdefault((each.kind, each.kink), []).append(each.t)
    found = []
    for each in tight:
        same = others.get((each.kind, each.kink))
        error = safety * (abs(same.pop(0) - each.t) + each.blur) if same else np.inf
        found.append(Event(each.kind, each.kink, Measured(each.t, error + EPS * each.t)))
    return found


def told(events: list[Event]) -> list[str]:
    """What a report says of them."""
    notes = []
    crossed, slides = ([e for e in events if e.kind == kind] for kind in (CROSSING, SLIDE))
    if crossed:
        notes.append(f"the flow crosses {_counted(crossed)}")
    if slides:
        still = len(slides) - sum(e.kind == LEAVE for e in events)
        on = f", {still} still at the end" if still else ""
        notes.append(f"the flow slides along {_counted(slides)}{on}")
    for e in events:
        if e.kind == FORK:
            notes.append(
                f"at t = {e.t.value:.6g} the flow could go on to either side of a kink and is not "
                "unique from there: one is followed"
            )
            break
    return notes


def _counted(events: list[Event]) -> str:
    many = "1 kink" if len(events) == 1 else f"{len(events)} kinks, the first"
    return f"{many} at t = {events[0].t.value:.6g}"


def _first(
    slack: Callable[[float], np.ndarray], a: float, b: float, at_b: np.ndarray
) -> tuple[float, int]:
    """When something first falls below zero between a and b, and what."""
    done: list[int] = []
    while True:
        done.append(int(np.argmin(at_b)))
        b = _root(lambda t: float(slack(t)[done[-1]]), a, b)
        at_b = slack(b)
        # What falls at the very same time may be below zero by rounding.
        at_b[done] = 0.0
        if not (at_b < 0).any() or b <= a:
            return b, done[-1]


def _root(f: Callable[[float], float], a: float, b: float) -> float:
    if f(a) <= 0:
        return a
    if f(b) >= 0:
        return b
    return float(scipy.optimize.brentq(f, a, b, xtol=4e-16 * max(abs(b), 1e-300), rtol=1e-15))
