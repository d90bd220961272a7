"""A wide ReLU equilibrium model at many parameters at once.

A gradient needs the equilibrium and its sensitivities, each by sweeps from where the steps before
lead to. Those of the perturbed run are beside the run's, about as far off as at the step before.
What is known of them is looked at afterwards, by the formulas of models side by side.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from deqcheck.linalg import errors, wide
from deqcheck.linalg.along import Upper
from deqcheck.linalg.equilibria import Equilibria
from deqcheck.linalg.fixed_point import Solution
from deqcheck.linalg.stacked import each
from deqcheck.linalg.well_posed import NEXT_TO_ONE
from deqcheck.models.many import Looked, Many, one_by_one
from deqcheck.models.problem import NoEquilibrium, Params, norm
from deqcheck.models.relu_stacked import StackedRelu, StackedReluState
from deqcheck.models.relu_state import ReluState, Seen
from deqcheck.records.basis import weakest
from deqcheck.records.measured import EPS, Measured

# Differences of higher order tell nothing more: units switch.
ORDER = 5


class Trail:
    """Where the next of an evenly spaced sequence of arrays will be.

    The j-th backward difference is by how much j arrays before, continued as a polynomial, have
    missed the last one: those that missed it least are continued."""

    def __init__(self) -> None:
        self._differences: list[np.ndarray] = []
        self._order = 0

    def put(self, array: np.ndarray) -> None:
        new = [array]
        for before in self._differences[:ORDER]:
            new.append(new[-1] - before)
        missed = [norm(difference) for difference in new[1:]] or [0.0]
        self._differences, self._order = new, 1 + int(np.argmin(missed))

    @property
    def next(self) -> np.ndarray | None:
        if not self._differences:
            return None
        found, *others = self._differences[: self._order]
        for difference in others:
            found = found + difference
        return found


class Passed:
    """The way to equilibria that were found before, with bounds on the norms of their weights."""

    def __init__(self, seen: Sequence[np.ndarray], bounds: np.ndarray):
        self.seen, self.bounds = seen, bounds

    def bound(self, a: np.ndarray, limit: np.ndarray | float, upper: Upper) -> np.ndarray:
        """Norms bound eigenvalues, too."""
        return self.bounds

    def solve(self, W: np.ndarray, C: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        Z, H, *_ = self.seen
        return Z, H, each(np.isfinite(Z))

    def adjoint(self, W: np.ndarray, a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        *_, V, incoming = self.seen
        return V, incoming

    def seen_at(self, i: int) -> Seen:
        return Seen(*(array[i] for array in self.seen))

    def some(self, rows: np.ndarray) -> Passed:
        return Passed([array[rows] for array in self.seen], self.bounds[rows])


class ManyRelu(Many):
    def __init__(self, model: Any, stack: StackedRelu, inner: str, limit: float):
        """`inner` names the weights of which the equation is made: their norm is below the limit
        where it contracts."""
        self.model, self.stack = model, stack
        self._inner, self._limit, self._norms = inner, limit, Equilibria()
        self._states, self._adjoints = Trail(), Trail()
        # How far the perturbed run is off.
        self._state_off, self._adjoint_off = 0.0, 0.0

    def gradient(self, theta: Params, beside: Seen | None = None) -> tuple[Params, Seen]:
        state = self.model.at(theta)
        (W, C), a = state.weights, state.a
        seen = self._solved(W, C, a, beside)
        if beside is None:
            self._states.put(seen.H)
            self._adjoints.put(seen.V)
        else:
            self._state_off, self._adjoint_off = seen.H - beside.H, seen.V - beside.V
        r = seen.Z.T @ a - self.model.y
        return state.assembled(seen.Z, seen.V * r, r), seen

    def _solved(self, W: np.ndarray, C: np.ndarray, a: np.ndarray, beside: Seen | None) -> Seen:
        H, V = self._states.next, self._adjoints.next
        if beside is not None:
            H, V = beside.H + self._state_off, beside.V + self._adjoint_off
        W_size, C_size = norm(W), norm(C)

        def state_noise(Z: np.ndarray) -> float:
            return errors.product(len(Z), W_size * norm(Z) + C_size)

        def adjoint_noise(V: np.ndarray) -> float:
            return errors.product(len(V), (1 + W_size) * norm(V))

        state = wide.equilibrium(W, C, state_noise, np.maximum(C if H is None else H, 0.0))
        Z, H = _found(state, C)
        adjoint = wide.adjoint(W, H > 0, a, adjoint_noise, V)
        return Seen(Z, H, *_found(adjoint, C))

    def at(self, theta: Params, seen: Sequence[Seen]) -> LookedRelu:
        inner = theta[self._inner]
        with np.errstate(all="ignore"):
            bounds = np.array([self._norms.norm_bound(a, self._limit) for a in inner])
        way = Passed([np.stack(arrays) for arrays in zip(*seen, strict=True)], bounds)
        return LookedRelu(self.model, self.stack.state(self.stack, theta, way), way)


def _found(solution: Solution | None, like: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Nothing where sweeps are not the way."""
    if solution is None:
        lost = np.full(like.shape, np.nan)
        return lost, lost
    return solution.x, solution.linear


class LookedRelu(Looked):
    """Rows of which states side by side do not know enough, as where a kink is within reach of the
    rounding, are looked at by states alone, with the equilibria that were found."""

    def __init__(self, model: Any, state: StackedReluState, way: Passed):
        self.model, self.state, self.way = model, state, way
        self._numbers = np.stack([state.gap, state.error, state.radius])
        # What hardly contracts has other certificates.
        self._fine = state.room > 1 - NEXT_TO_ONE
        self._alone: dict[int, ReluState] = {}
        for i in np.flatnonzero(~state.fine & self._fine).tolist():
            self._mend(i)

    def _mend(self, i: int) -> None:
        try:
            alone = self._state(i)
            here = alone.objective
            self._numbers[:, i] = here.gap, here.error, alone.gradient_radius
        except NoEquilibrium:
            self._fine[i] = False

    def _state(self, i: int) -> ReluState:
        """That of a row alone."""
        if i not in self._alone:
            state: ReluState = self.model.at({n: a[i] for n, a in self.state.theta.items()})
            # 1 - q was rounded by at most eps/2.
            q = 1 - float(self.state.room[i]) + EPS
            state.take(self.way.seen_at(i), q)
            self._alone[i] = state
        return self._alone[i]

    @property
    def gap(self) -> np.ndarray:
        return np.asarray(self._numbers[0])

    @property
    def error(self) -> np.ndarray:
        return np.asarray(self._numbers[1])

    @property
    def radius(self) -> np.ndarray:
        return np.asarray(self._numbers[2])

    @property
    def fine(self) -> np.ndarray:
        return self._fine

    @property
    def features(self) -> Mapping[str, tuple[np.ndarray, np.ndarray]]:
        found = {}
        for name, (array, radius) in self.state.features.items():
            radius = radius.copy()
            for i, alone in self._alone.items():
                radius[i] = alone.features[name][1]
            found[name] = array, radius
        return found

    def measure(self, name: str) -> Measured:
        if name not in self.state.measures:
            return one_by_one((self._state(i) for i in range(len(self.gap))), name)
        value, error, how = self.state.measure(name)
        mended = np.flatnonzero(~self.state.fine & self.fine).tolist()
        if not mended:
            return Measured(value, error, how)
        alone = one_by_one((self._state(i) for i in mended), name)
        value, error = value.copy(), error.copy()
        value[mended], error[mended] = alone.value, alone.error
        others = how if len(mended) < len(value) else ""
        return Measured(value, error, weakest(others, alone.how))

    def some(self, rows: np.ndarray) -> LookedRelu:
        if len(rows) == len(self.gap):
            return self
        way = self.way.some(rows)
        theta = {name: a[rows] for name, a in self.state.theta.items()}
        return LookedRelu(self.model, type(self.state)(self.state.stack, theta, way), way)
