"""Condition 1 of Ling et al. 2022 as a function of its free radius delta, and the steps it allows.

rho_w = ||W|| + delta < 1, rho_u = ||U|| + delta, rho_a = ||a|| + delta, c_w = rho_u rho_a/(1 -
rho_w)^2, c_u = rho_a/(1 - rho_w), c_a = rho_u/(1 - rho_w). The right sides of (8) and (9) increase
with delta, that of (7) falls to one minimum and then rises. All three are log-convex in log delta,
so that one delta has the largest smallest ratio: that with the largest of (7), or one below it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, TypeAlias

import numpy as np

from deqcheck.frozen import dataclass
from deqcheck.models.relu_deq.state import ReluDeqState
from deqcheck.records.lazy import cached_property
from deqcheck.records.log_domain import logarithm
from deqcheck.records.measured import Measured, given, measured
from deqcheck.theorems.base import Check
from deqcheck.theorems.quantities import once

EQ7 = Check("weights stay in the ball", "lambda_0 >= 4/delta*max(c_w, c_u, c_a)*F*r_0", "(7)")
EQ8 = Check(
    "features stay independent",
    "lambda_0*sqrt(lambda_0) >= 4*(2 + sqrt(2))*(c_w^2 + c_u^2)*F^2*r_0/rho_a",
    "(8)",
)
EQ9 = Check("output weights lead", "lambda_0 >= 4*(c_w^2 + c_u^2)*F^2", "(9)")
EQ10 = Check(
    "step size",
    "step < min(2/lambda_0, 2*(c_w^2 + c_u^2)/((c_w^2 + c_u^2 + c_a^2)^2*F^2))",
    "(10)",
)
# 1/(c_a F)^2 <= 1/lambda_max(G) on the ball.
RELAXED = Check("step size", "step <= 1/(c_a*F)^2", "replaces (10)")

# Smaller radii leave no digits to the constants.
SMALLEST = 1e-290
# Without a residual the least delta is this factor, as a logarithm, below what (9) allows.
MARGIN = 3.0
HALVINGS = 100
# Relative, as a power of two: nearer ends of the bar of the best delta are not looked for.
FINEST = -48
# Relative; well above the rounding of the search.
BEYOND = 1e-12
Radius: TypeAlias = float | Measured | np.ndarray
WINDOW_SAMPLES = 500
# More than this the logarithms of the sides do not change between two samples of the window.
BETWEEN = 0.5


@dataclass(frozen=True)
class Condition:
    """The numbers that Condition 1 is made of, at the initialisation."""

    q: Measured
    norm_u: Measured
    norm_a: Measured
    F: Measured
    r0: Measured
    lambda_0: Measured

    NAMES: ClassVar[tuple[str, ...]] = (
        "delta", "rho_w", "rho_u", "rho_a", "c_w", "c_u", "c_a",
    )  # fmt: skip

    def at(self, delta: Radius) -> dict[str, Measured]:
        known = given(delta) if isinstance(delta, float) else measured(delta)
        values = _constants(self.q, self.norm_u, self.norm_a, known)
        return dict(zip(self.NAMES, values, strict=True))

    def values(self, delta: Radius) -> dict[str, Measured]:
        """What the formulas name."""
        return {"lambda_0": self.lambda_0, "F": self.F, "r_0": self.r0, **self.at(delta)}

    def log_ratios(self, delta: float) -> list[float]:
        """log(left/right) of (7), (8), (9): nonnegative where they hold. The constants are infinite
        where ||W|| + delta rounds to 1."""
        if not (delta > 0 and self._norms[0] + delta < 1):
            return [-math.inf] * 3
        constants = map(logarithm, _constants(*self._norms, delta))
        logs = {**self._logs, **dict(zip(self.NAMES, constants, strict=True))}
        return [-max(check.formula.log_ratios_of_logs(logs)) for check in (EQ7, EQ8, EQ9)]

    def ratios(self, delta: float | Measured) -> list[Measured]:
        """left/right of (7), (8), (9) with their error bars; without a residual (7) and (8) have
        nothing on the right."""
        return self._ratios(self.values(delta))

    def _ratios(self, values: Mapping[str, Measured]) -> list[Measured]:
        sides = [check.formula.sides(values) for check in (EQ7, EQ8, EQ9)]
        return [
            Measured(np.inf) if right.high == 0 < left.low else left / right
            for left, right in sides
        ]

    @cached_property
    def _norms(self) -> tuple[float, float, float]:
        return float(self.q.value), float(self.norm_u.value), float(self.norm_a.value)

    @cached_property
    def _logs(self) -> dict[str, float]:
        known = {"lambda_0": self.lambda_0, "F": self.F, "r_0": self.r0}
        return {name: logarithm(float(number.value)) for name, number in known.items()}

    def worst(self, delta: float, with_9: bool = True) -> float:
        return min(self.log_ratios(delta)[: 3 if with_9 else 2])

    @cached_property
    def best(self) -> float:
        return self._best(True)

    @cached_property
    def best_without_9(self) -> float:
        return self._best(False)

    def _best(self, with_9: bool) -> float:
        """The delta with the largest smallest ratio: where that stops to rise."""
        low, high = self._range
        if not self.lambda_0.value > 0:
            return float(np.exp(high)) / 2
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            if not low < middle < high:
                break
            if self._rises(float(np.exp(middle)), with_9):
                low = middle
            else:
                high = middle
        return float(np.exp((low + high) / 2))

    def _rises(self, delta: float, with_9: bool) -> bool:
        """The smallest ratio does where it is that of (7) and that rises: (8) and (9) fall."""
        first, *others = self.log_ratios(delta)[: 3 if with_9 else 2]
        if not first < min(others):
            return False
        constants = _constants(*self._norms, delta)
        largest = max(constants[-3:])
        return bool(_slopes(constants)[constants[-3:].index(largest)] < 1)

    def _side(self, delta: float, with_9: bool) -> int:
        """Whether the best delta is certain to be above (+1) or below (-1) this one; 0 if not."""
        values = self.values(delta)
        first, *others = self._ratios(values)[: 3 if with_9 else 2]
        constants = tuple(values[name] for name in self.NAMES)
        largest = max(c.low for c in constants[-3:])
        slopes = [
            slope
            for slope, c in zip(_slopes(constants), constants[-3:], strict=True)
            if c.high >= largest
        ]
        if all(first.high < x.low for x in others) and all(slope.high < 1 for slope in slopes):
            return +1
        beyond = any(first.low > x.high for x in others)
        return -1 if beyond or all(slope.low > 1 for slope in slopes) else 0

    def measured_best(self, with_9: bool = True) -> Measured:
        """The best delta, with a bar in which that of the true numbers lies. It rises with lambda_0
        (where (7) meets (8)) and r_0 (where (7) meets (9)), and falls with F. Without a residual,
        or with lambda_0 = 0, none is best, and the bar is that of the delta that is chosen."""
        if with_9 not in self._bests:
            self._bests[with_9] = self._measured_best(with_9)
        return self._bests[with_9]

    def _measured_best(self, with_9: bool) -> Measured:
        best = self.best if with_9 else self.best_without_9
        if not (self.lambda_0.high > 0 and self.r0.high > 0):
            return _spanning(best, *(self._end(side)._best(with_9) for side in (-1, +1)))
        low, high = (self._certain(best, side, with_9) for side in (+1, -1))
        return Measured(best, max(best - low, high - best) * (1 + 2.0**FINEST))

    def _certain(self, best: float, side: int, with_9: bool) -> float:
        """A delta near this one which the best one is certain to be above (+1) or below (-1): off
        by a power of two, relatively, half of which is not enough."""

        def end(x: Measured, side: int) -> Measured:
            return Measured(max(float(x.low if side > 0 else x.high), 0.0))

        F, r0, lambda_0 = end(self.F, -side), end(self.r0, side), end(self.lambda_0, side)
        # What would compute them again is not asked for here.
        norms = {name: getattr(self, name).forgetting() for name in ("q", "norm_u", "norm_a")}
        extreme = replace(self, F=F, r0=r0, lambda_0=lambda_0, **norms)

        def at(exponent: int) -> float:
            return best * (1 - side * 2.0**exponent)

        def allowed(exponent: int) -> bool:
            return bool(0 < at(exponent) < 1 - self.q.high)

        def certain(exponent: int) -> bool:
            return extreme._side(at(exponent), with_9) == side

        edge = 0.0 if side > 0 else 1 - float(self.q.low)
        exponent = self._unsure
        while exponent > FINEST and not allowed(exponent):
            exponent -= 1
        if not (lambda_0.value > 0 and allowed(exponent)):
            return edge
        if certain(exponent):
            while exponent > FINEST and certain(exponent - 1):
                exponent -= 1
            return at(exponent)
        while allowed(exponent := exponent + 1):
            if certain(exponent):
                return at(exponent)
        return edge

    @property
    def _unsure(self) -> int:
        """The power of two nearest to what the best delta may be off, relatively, to begin with."""
        known = (self.q, self.norm_u, self.norm_a, self.F, self.r0, self.lambda_0)
        off = max(float(x.error) / abs(float(x.value)) if x.value else 1.0 for x in known)
        return max(FINEST, math.frexp(min(off, 0.5))[1])

    @cached_property
    def _bests(self) -> dict[bool, Measured]:
        return {}

    @property
    def _room(self) -> float:
        return 1 - float(self.q.value)

    @property
    def _range(self) -> tuple[float, float]:
        """Logarithms of the least and the largest delta of interest. Without a residual (7) and (8)
        ask nothing, and the least delta is one that (9) allows if it allows any: c_u <= 2 (||a|| +
        delta)/(1 - ||W||)."""
        room, lam = self._room, float(self.lambda_0.value)
        high, low = float(np.log(room * (1 - 1e-12))), float(np.log(SMALLEST))
        if self.r0.value or not lam > 0:
            return low, high
        c_a = float(self.norm_u.value) / room
        with np.errstate(all="ignore"):
            by_9 = np.log(lam) / 2 + np.log(room / (8 * self.F.value)) - np.log1p(2 * c_a + 1)
        return max(min(float(by_9), high) - MARGIN, low), high

    def window(self, with_9: bool = True) -> tuple[float, float] | None:
        """The interval of all delta that fulfil the condition, None where it is empty. Without a
        residual everything below it fulfils it, too."""
        best = self.best if with_9 else self.best_without_9
        if not self.worst(best, with_9) >= 0:
            return None
        low, high = self._range
        return (
            self._edge(low, float(np.log(best)), with_9),
            self._edge(high, float(np.log(best)), with_9),
        )

    def measured_window(self) -> tuple[Measured, Measured] | None:
        """The same with error bars: the condition is the easier, the larger lambda_0 and the
        smaller the other numbers are, so the true window lies between those of the two ends."""
        found = self.window()
        widest = None if found is None else self._end(-1).window()
        if found is None or widest is None:
            return None
        narrowest = self._end(+1).window() or widest[::-1]
        low = widest[0] if self.r0.low > 0 and widest[0] > 2 * SMALLEST else 0.0
        value = found[0] if self.r0.value else 0.0
        return (
            _spanning(value, low, narrowest[0] if self.r0.high > 0 else 0.0),
            _spanning(found[1], narrowest[1], widest[1]),
        )

    def _end(self, side: int) -> Condition:
        """All numbers at their hard (+1) or easy (-1) end, and a little beyond: the logarithms of
        the search round."""

        def end(x: Measured, side: int) -> Measured:
            edge = float(x.high if side > 0 else x.low)
            return Measured(max(edge, 0.0) * (1 + side * BEYOND))

        hard = (self.q, self.norm_u, self.norm_a, self.F, self.r0)
        q, norm_u, norm_a, F, r0 = (end(x, side) for x in hard)
        return Condition(q, norm_u, norm_a, F, r0, end(self.lambda_0, -side))

    def _edge(self, outside: float, inside: float, with_9: bool) -> float:
        if self.worst(float(np.exp(outside)), with_9) >= 0:
            return float(np.exp(outside))
        for _ in range(HALVINGS):
            middle = (outside + inside) / 2
            if self.worst(float(np.exp(middle)), with_9) >= 0:
                inside = middle
            else:
                outside = middle
        return float(np.exp(inside))

    def step(self, limit: Check, delta: Radius) -> Measured:
        """The supremum of the steps that a check such as EQ10 allows."""
        return limit.right(self.values(delta))

    @cached_property
    def _samples(self) -> np.ndarray:
        """The best delta, or samples from all of the window."""
        window = self.window()
        return np.array([self.best]) if window is None else np.geomspace(*window, WINDOW_SAMPLES)

    def allowing(self, step: float, limit: Check) -> float:
        """A delta that fulfils the condition and allows this step, with the most room for both; the
        best for the condition alone if there is none. The limits are smooth in delta, so that one
        of many samples is near the top of the room."""
        key = (limit.formula.text, step)
        if key not in self._memory:
            self._memory[key] = self._allowing(step, limit)
        return self._memory[key]

    def _allowing(self, step: float, limit: Check) -> float:
        if self.step(limit, self.best).low > step:
            return self.best

        def rooms(deltas: np.ndarray) -> np.ndarray:
            loose = np.log(self.step(limit, deltas).value / step)
            found: np.ndarray = np.minimum([self.worst(float(d)) for d in deltas], loose)
            return found

        coarse = self._samples
        if np.log(self.step(limit, coarse).value.max() / step) < -BETWEEN:
            return self.best
        top = int(np.argmax(rooms(coarse)))
        low, high = coarse[max(top - 1, 0)], coarse[min(top + 1, len(coarse) - 1)]
        fine = np.geomspace(low, high, WINDOW_SAMPLES)
        found = rooms(fine)
        return float(fine[int(np.argmax(found))]) if found.max() > 0 else self.best

    def widest(self, limit: Check) -> float:
        """The delta of the window that allows the largest steps."""
        return float(self._samples[int(np.argmax(self.step(limit, self._samples).value))])

    def measured_widest(self, limit: Check) -> Measured:
        """The same with a bar: it moves with the window that it is taken from."""
        found, window = self.widest(limit), self.measured_window()
        low, high = window or (self.measured_best(),) * 2
        edges = low if low.value else self.measured_best(), high
        return Measured(found, found * max(edge.error / edge.value for edge in edges))

    @cached_property
    def _memory(self) -> dict[tuple[str, float], float]:
        return {}


def _spanning(value: float, *ends: float) -> Measured:
    off = max(abs(end - value) for end in ends) + 4 * BEYOND * max(map(abs, ends))
    return Measured(value, off)


def _constants(q: Any, norm_u: Any, norm_a: Any, delta: Any) -> tuple[Any, ...]:
    """delta, rho_w, rho_u, rho_a, c_w, c_u, c_a, of plain numbers or of measured ones."""
    rho_w, rho_u, rho_a = q + delta, norm_u + delta, norm_a + delta
    c_u, c_a = rho_a / (1 - rho_w), rho_u / (1 - rho_w)
    return delta, rho_w, rho_u, rho_a, c_u * c_a, c_u, c_a


def _slopes(constants: tuple[Any, ...]) -> tuple[Any, Any, Any]:
    """Of log c_w, log c_u, log c_a in log delta: below 1 where c/delta falls."""
    delta, rho_w, rho_u, rho_a, *_ = constants
    by_w = delta / (1 - rho_w)
    by_u, by_a = delta / rho_a + by_w, delta / rho_u + by_w
    return by_u + by_a, by_u, by_a


@once
def condition(state: ReluDeqState) -> Condition:
    """Condition 1 at these parameters."""
    norm_u, norm_a = (state.measure(f"norm2.{name}") for name in ("U", "a"))
    return Condition(state.q, norm_u, norm_a, state.model.X_fro, state.residual, state.lambda_0)
