"""Claims and curves, and how they are decided."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import field, replace
from typing import Any

import numpy as np

from deqcheck.frozen import dataclass
from deqcheck.records import tower
from deqcheck.records.basis import FLOATS, Basis, resting_on
from deqcheck.records.comparison import (
    COARSE,
    EQUAL,
    IDENTITY_RESOLUTION,
    Decision,
    computed_again,
    decision_of,
    why_open,
    with_equality,
)
from deqcheck.records.curve_points import certified_curve
from deqcheck.records.formula import NOISE
from deqcheck.records.judged import RESOLUTION, CurveFacts, Judged, Point
from deqcheck.records.measured import Measured, enclosure, measured
from deqcheck.records.power import Form, caught_beyond, caught_once, stronger
from deqcheck.records.tower.following import followed
from deqcheck.records.tower.recorder import recorder

# A rate is read off only where the logarithmic decrease is known to this relative accuracy.
RATE_RESOLUTION = 1e-2
# Where a bar that is so many times smaller would count a point, another machine may count it.
NEARLY = 10.0
MORE_EFFORT = "exact arithmetic ended at its budget: --effort 10 gives it ten times as much"


def _ratio(left: float, relation: str, right: float) -> float | None:
    """Above 1 when the relation holds with room: left/right for >=, right/left for <=.

    None unless both sides are positive: other quotients say nothing.
    """
    if not (left > 0 and right > 0):
        return None
    above, below = (left, right) if relation in (">=", ">") else (right, left)
    ratio = float(above) / float(below)
    return ratio if math.isfinite(ratio) else None


def granted(values: Mapping[str, Any]) -> Any:
    """What a formula of these values grants to rounding."""
    noise = values.get(NOISE)
    return 0.0 if noise is None else abs(measured(noise).value)


@dataclass(frozen=True)
class Claim:
    """`left relation right` for two numbers."""

    name: str
    left: Measured
    relation: str
    right: Measured
    equation: str = ""
    formula: str = ""
    note: str = ""
    rounding: bool = False
    # Where the two sides are the same number: the size of what they are made of, if that is larger.
    equal: float | None = None
    # What the names in the formula stand for; of one step of a run, which of them move with it.
    leaves: Mapping[str, Any] = field(default_factory=dict)
    moving: tuple[str, ...] = ()
    # Of an identity: what moves both sides alike. It belongs to their bars and does not part them.
    shared: float = 0.0

    def known_equal(self, why: str, size: float = 0.0) -> Claim:
        """Judged with the knowledge that the two sides are the same number in exact arithmetic."""
        return replace(self, equal=size, note=_joined(self.note, why))

    def judge(self) -> Judged:
        """In doubles with their radii; what they leave open is computed again, exactly. Certifying,
        so is what they decide."""
        found = self.decided()
        return found if recorder() is None else replace(found, proof=self.proof(found))

    def proof(self, found: Judged) -> dict[str, Any]:
        """What the names stand for, as rows of the certificate that is written, and both sides.
        The loss along a run is that of its start, at the arrays of the step. What doubles compare
        with rounding has no sides without it."""
        table, run = recorder(), followed()
        assert table is not None
        start = None if run is None or run.nodes is None else run.nodes[0]
        leaves = {
            name: table.place(start if name in self.moving else measured(x).again)
            for name, x in self.leaves.items()
            if not (self.moving and name in ("k", "t"))
        }
        sides = {"left": enclosure(found.left), "right": enclosure(found.right)}
        sure = found.basis.certified or NOISE not in self.formula
        return {"leaves": leaves, **(sides if sure else dict.fromkeys(sides))}

    def in_doubles(self) -> Decision:
        """An identity holds where the sides agree up to what they do not share, too."""
        holds, violated = with_equality(*self._sides, IDENTITY_RESOLUTION, self.equal)
        if self.shared:
            left, right = self.bars
            also, violated = with_equality(left, self.relation, right, IDENTITY_RESOLUTION, None)
            holds = holds | also
        return decision_of(holds, violated)

    @property
    def bars(self) -> tuple[Measured, Measured]:
        """Both sides with all that they are unsure of."""
        if not self.shared:
            return self.left, self.right
        return self.left.widened(self.shared), self.right.widened(self.shared)

    def decided(self) -> Judged:
        found = self._judged(self.in_doubles())
        if found.decision is not Decision.UNDECIDED and not tower.is_certifying():
            return found
        answer = computed_again(*self._sides)
        if answer is None:
            return found
        better = replace(self, left=answer.left, right=answer.right, shared=0.0)._judged(
            answer.decision
        )
        if answer.decision is Decision.UNDECIDED:
            if found.decision is not Decision.UNDECIDED:
                return found
            # Balls that know less than the doubles are not shown.
            pairs = zip((answer.left, answer.right), self.bars, strict=True)
            sharper = all(new.error <= old.error for new, old in pairs)
            shown = better if sharper else found
            note = _joined(shown.note, MORE_EFFORT) if answer.exhausted else shown.note
            why = EQUAL if better.undecided == EQUAL else answer.by
            return replace(shown, undecided=why, note=note)
        if found.decision not in (answer.decision, Decision.UNDECIDED):
            better = self._overruled(found, better)
        return replace(better, basis=Basis(True, answer.by))

    def _overruled(self, found: Judged, better: Judged) -> Judged:
        """An estimate may be wrong, and so may what holds up to rounding, as an identity does where
        the bars overlap; a radius that counts the roundings may not."""
        told = (
            f"{found.left.value!r} +- {found.left.error:.2g} {self.relation} "
            f"{found.right.value!r} +- {found.right.error:.2g} {found.decision}"
        )
        rounded = NOISE in self.formula or (self.relation == "==" and self._within_bars(better))
        if found.basis == FLOATS and not rounded:
            sides = f"{better.left.value!r} and {better.right.value!r}"
            raise tower.Contradiction(f"{self.name}: {told}; exact numbers are {sides}")
        return replace(better, note=_joined(better.note, f"estimated in doubles: {told}"))

    def _within_bars(self, better: Judged) -> bool:
        pairs = zip((better.left, better.right), self.bars, strict=True)
        return all(new.low <= old.high and old.low <= new.high for new, old in pairs)

    def _judged(self, decision: Decision) -> Judged:
        undecided = decision is Decision.UNDECIDED
        left, right = self.bars
        return Judged(
            self.name,
            self.equation,
            self.formula,
            left.forgetting(),
            self.relation,
            right.forgetting(),
            decision,
            _ratio(self.left.value, self.relation, self.right.value),
            self.note,
            caught=_caught(caught_once(left, self.relation, right)),
            rounding=self.rounding,
            granted=granted(self.leaves),
            basis=resting_on(self.left.how, self.right.how),
            undecided=why_open(*self._sides, self.equal) if undecided else "",
        )

    @property
    def _sides(self) -> tuple[Measured, str, Measured]:
        return self.left, self.relation, self.right

    def stronger(self, factor: float) -> Claim:
        return replace(self, right=stronger(self.right, self.relation, factor, Form.VALUE))


@dataclass(frozen=True)
class Curve:
    """`left relation right` at every recorded step.

    `decays`: gap/gap(0) against a bound whose rate is compared with that of the run.
    `contracts`: the right side is a factor below 1, and what counts is its distance from 1.
    `starts_equal`: the two sides agree at the first step, which then says nothing.
    """

    name: str
    left: Measured
    relation: str
    right: Measured
    k: np.ndarray
    t: np.ndarray
    equation: str = ""
    formula: str = ""
    note: str = ""
    decays: bool = False
    contracts: bool = False
    starts_equal: bool = False
    rounding: bool = False
    # As of a claim.
    equal: float | None = None
    # What the formula grants to rounding at each step.
    granted: Any = 0.0
    # The claim at a recorded step, by its position, where it can be computed again.
    points: Callable[[int], Claim | None] | None = None

    def known_equal(self, why: str, size: float = 0.0) -> Curve:
        return replace(self, equal=size, note=_joined(self.note, why))

    def judge(self) -> Judged:
        """By the bars of the run; certifying, once more by exact numbers where there are some."""
        found = self._estimated()
        if self.points is None or not tower.is_certifying():
            return found
        return certified_curve(self.points, found)

    def _estimated(self) -> Judged:
        holds, violated = with_equality(
            self.left, self.relation, self.right, RESOLUTION, self.equal
        )
        first = 1 if self.starts_equal else 0
        holds[:first], violated[:first] = True, False
        doubtful = violated & ~self._above_error()
        violated &= ~doubtful
        judged = _leading(holds)
        decision = Decision.UNDECIDED
        if violated.any():
            decision = Decision.VIOLATED
        elif judged > first and not doubtful.any() and self._below_resolution(judged):
            decision = Decision.HOLDS
        last = judged - 1 if judged > first else None
        facts = self._facts(last, violated)
        at = self._decisive(facts, judged)
        left, right = self.left[at], self.right[at]
        ratio = _ratio(left.value, self.relation, right.value)
        factors = caught_beyond(self.left, self.relation, self.right, self._form)[first:]
        return Judged(
            self.name,
            self.equation,
            self.formula,
            left,
            self.relation,
            right,
            decision,
            ratio,
            self.note,
            facts,
            _caught(float(np.min(factors, initial=np.inf))),
            self.rounding,
            self.granted,
            resting_on(self.left.how, self.right.how),
            "" if decision is not Decision.UNDECIDED else COARSE,
        )

    def stronger(self, factor: float) -> Curve:
        return replace(self, right=stronger(self.right, self.relation, factor, self._form))

    @property
    def _form(self) -> Form:
        return Form.of(self.relation, self.decays, self.contracts)

    def _below_resolution(self, judged: int) -> bool:
        """Whether from here on nothing can be decided only because the bound has become small."""
        error = np.asarray(self.left.error + self.right.error)[judged:]
        small = RESOLUTION * abs(float(self.right.value[0]))
        fine = np.isfinite(error) if self.contracts else error <= small
        return bool(np.all(fine & ~self._resolved()[judged:]))

    def _resolved(self, grant: float = 1.0) -> np.ndarray:
        """Where the bound still stands above the error bars of the two sides, which may be so many
        times as large as usual."""
        error = np.asarray(self.left.error + self.right.error)
        size = 1 - self.right.value if self.contracts else self.right.value
        found: np.ndarray = error < grant * RESOLUTION * np.abs(size)
        return found

    def _above_error(self) -> np.ndarray:
        """Where a bound that decays is not yet lost in the error bars, or what it bounds is known
        to three digits; below that, both sides are what the run makes of zero."""
        error = np.asarray(self.left.error + self.right.error)
        known = np.asarray(self.left.error) < RESOLUTION * np.abs(self.left.value)
        found: np.ndarray = (error < np.abs(self.right.value)) | known
        return found | (not self.decays)

    def _slack(self) -> np.ndarray:
        above, below = self.left.value, self.right.value
        if self.relation in ("<=", "<", "=="):
            above, below = below, above
        with np.errstate(all="ignore"):
            found: np.ndarray = np.divide(above, below)
            return found

    def _facts(self, horizon: int | None, violated: np.ndarray) -> CurveFacts:
        slack = self._slack()
        first = int(np.argmax(violated)) if violated.any() else None
        # A gap that rounding made negative has no ratio to its bound.
        seen, nearly = (self._resolved(grant) & (slack > 0) for grant in (1.0, NEARLY))
        seen[0] &= not self.starts_equal
        tightest = int(np.argmin(np.where(seen, slack, np.inf))) if seen.any() else None
        rate, rate_error = self._rate_tightness(seen, nearly) if self.decays else (None, None)
        return CurveFacts(
            horizon=None if horizon is None else int(self.k[horizon]),
            last=int(self.k[-1]),
            horizon_t=None if horizon is None else float(self.t[horizon]),
            last_t=float(self.t[-1]),
            first_violation=self._point(first, slack),
            tightest=self._point(tightest, slack),
            rate_tightness=rate,
            rate_error=rate_error,
            k=self.k,
            t=self.t,
            bound=self.right,
            first=int(self.k[min(int(self.starts_equal), len(self.k) - 1)]),
            decays=self.decays,
            points=0 if horizon is None else horizon + 1 - int(self.starts_equal),
            value=self.left,
        )

    def _point(self, i: int | None, slack: np.ndarray) -> Point | None:
        if i is None:
            return None
        value = float(slack[i])
        known = value > 0 and np.isfinite(value)
        return Point(int(self.k[i]), float(self.t[i]), value if known else None)

    def _decisive(self, facts: CurveFacts, judged: int) -> int:
        point = facts.first_violation or facts.tightest
        if point is None:
            return min(judged, len(self.k) - 1)
        return int(np.flatnonzero((self.k == point.k) & (self.t == point.t))[0])

    def _rate_tightness(
        self, seen: np.ndarray, nearly: np.ndarray
    ) -> tuple[float | None, float | None]:
        """Largest log-decrease of the bound over that of the measured value: 1 is an equality.

        The radius of each quotient p/f is (dp + df p/f)/f; that of the largest one is how far the
        largest of the upper and of the lower ends are from it. The largest one is among the points
        that are resolved; those that `nearly` are count among the upper ends.
        """
        left, right = self.left, self.right
        with np.errstate(all="ignore"):
            fall = np.log(left.value[0] / left.value)
            promised = np.log(right.value[0] / right.value)
            noise = left.error / left.value + left.error[0] / left.value[0]
            loose = right.error / right.value + right.error[0] / right.value[0]
            ratio = promised / fall
            radius = (loose + noise * np.abs(ratio)) / fall
            lower, upper = ratio - radius, ratio + radius
        known = np.isfinite(promised) & np.isfinite(noise) & np.isfinite(loose) & (fall > 0)
        usable = seen & known & (noise <= RATE_RESOLUTION * fall)
        if not usable.any():
            return None, None
        nearly = nearly & known & (noise <= NEARLY * RATE_RESOLUTION * fall) | usable
        value = float(ratio[usable].max())
        return value, float(max(upper[nearly].max() - value, value - lower[usable].max()))


def _caught(smallest: float) -> float | None:
    """Of factors; below 1 the claim itself is violated."""
    return smallest if 1 <= smallest < np.inf else None


def _joined(note: str, why: str) -> str:
    return f"{note}; equal here: {why}" if note else f"equal here: {why}"


def _leading(flags: np.ndarray) -> int:
    """How many leading entries are true."""
    return len(flags) if flags.all() else int(np.argmin(flags))
