"""One integration of the gradient flow: free steps, dense output, and what its errors may be."""

from __future__ import annotations

import warnings
from bisect import bisect_left
from functools import cache, lru_cache
from typing import Any

import numpy as np

from deqcheck.dynamics.kinked import Kinked
from deqcheck.dynamics.sliding import Mode, Undecided
from deqcheck.linalg import errors
from deqcheck.linalg.late import scipy
from deqcheck.models.memory import Memory
from deqcheck.models.problem import AnyProblem, NoEquilibrium, Params, State, norm, pack, unpack
from deqcheck.records.lazy import cached_property
from deqcheck.records.measured import EPS
from deqcheck.records.verdict import Status

EXPLICIT = ("DOP853", "RK45", "RK23")
STIFF = ("Radau", "BDF", "LSODA")
# Their Newton steps end when they move theta by 10 eps: what they solve for is not known better
# than their tolerance of |theta|.
NEWTON = ("Radau", "BDF")
# scipy's methods do not go below 100 eps.
TIGHTEST = 2.3e-14
# theta(0) + y is rounded, and the velocity with it: an explicit method whose steps are as long as
# its stability allows sees that several times over.
NOISE = 16 * EPS
# An explicit method that needs more evaluations than this for one segment is starving.
STARVED = 20_000
# The dense Jacobian of a stiff method is out of reach above this number of parameters.
STIFF_LIMIT = 2000
# The first step, as a part of the time in which the gap would vanish at its first pace.
FIRST = 0.01

# Dense output is a polynomial in time, of degree 12 at most (LSODA): this many values give it.
DEGREE = 12
ORDERS = np.arange(DEGREE)


@cache
def differentiated() -> tuple[np.ndarray, np.ndarray]:
    """Where these values are taken, and the derivative made of them, in Chebyshev polynomials of
    the orders."""
    from numpy.polynomial import chebyshev

    nodes = chebyshev.chebpts1(DEGREE + 1)
    return nodes, chebyshev.chebder(np.linalg.inv(chebyshev.chebvander(nodes, DEGREE)))


class Starving(Exception):
    """The explicit method needs too many evaluations."""


class Piece:
    """Dense output y = theta - theta(0) on one accepted step."""

    def __init__(self, dense: Any, mode: Mode | None = None):
        self.start, self.end = float(dense.t_old), float(dense.t)
        self._dense, self.mode = dense, mode
        # Whether it ends where the flow meets a kink.
        self.meets = False

    def until(self, end: float) -> Piece:
        """The part of it before that time."""
        cut = Piece(self._dense, self.mode)
        cut.end, cut.meets = end, True
        return cut

    def __call__(self, t: float) -> np.ndarray:
        found: np.ndarray = self._dense(t)
        return found

    def _slopes(self) -> np.ndarray:
        """Not kept: there are thousands of pieces, and each is asked a few times at most."""
        half = (self.end - self.start) / 2
        nodes, slopes = differentiated()
        values = self._dense((self.start + self.end) / 2 + half * nodes).T
        found: np.ndarray = slopes @ values / half
        return found

    @property
    def _nested(self) -> np.ndarray | None:
        """The coefficients of DOP853's dense output."""
        return getattr(self._dense, "F", None)

    def share(self, t: Any) -> np.ndarray:
        """Where a time lies in the step as it was made: exactly 0 and 1 at its ends."""
        share = (np.asarray(t) - self._dense.t_old) / (self._dense.t - self._dense.t_old)
        return np.asarray(share)

    def velocity(self, t: Any) -> np.ndarray:
        """dy/dt of the polynomial, one row for each parameter."""
        nested = self._nested
        if nested is None:
            return self.sampled_velocity(t)
        x = self.share(t)
        found: np.ndarray = nested.T.dot(_nested_slopes(x.ravel(), len(nested)) / self._dense.h)
        return found.reshape(-1, *x.shape)

    def speed(self, share: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """|dy/dt| where the step has these shares, and what rounding may do to it: from the inner
        products of the coefficients, which are few, |F^T b|^2 = b^T (F F^T) b."""
        nested, length = self._nested, self._dense.t - self._dense.t_old
        if nested is None:
            found = np.linalg.norm(self.velocity(self._dense.t_old + share * length), axis=0)
            return found, np.zeros_like(found)
        basis = _known_slopes(share.tobytes(), len(nested)) / length
        gram = nested @ nested.T
        squares = np.maximum((basis * (gram @ basis)).sum(axis=0), 0.0)
        most = (np.abs(basis) * np.sqrt(np.diag(gram))[:, None]).sum(axis=0) ** 2
        lost = errors.product(nested.shape[1], most) + errors.product(len(nested) ** 2, most)
        # |sqrt(s + x) - sqrt(s)| is at most |x|/sqrt(s), and sqrt(|x|).
        speed = np.sqrt(squares)
        noise = lost / np.maximum(np.maximum(speed, np.sqrt(lost)), 1e-300)
        return speed.reshape(share.shape), noise.reshape(share.shape)

    def sampled_velocity(self, t: Any) -> np.ndarray:
        """The same from values of the polynomial alone."""
        x = (2 * np.asarray(t) - self.start - self.end) / (self.end - self.start)
        # T_k(cos a) = cos(k a): one product serves all times.
        angles = np.arccos(np.minimum(np.maximum(x, -1), 1))
        basis = np.cos(np.multiply.outer(ORDERS, angles)).reshape(DEGREE, -1)
        found: np.ndarray = self._slopes().T.dot(basis).reshape(-1, *x.shape)
        return found


def _nested_slopes(x: np.ndarray, count: int) -> np.ndarray:
    """The derivatives of x, x (1 - x), x^2 (1 - x), x^2 (1 - x)^2, ..., one row for each: DOP853
    gives its dense output by the coefficients F of these."""
    value, slope, rows = np.ones_like(x), np.zeros_like(x), []
    for i in range(count):
        factor, sign = (1 - x, -1.0) if i % 2 else (x, 1.0)
        value, slope = value * factor, slope * factor + sign * value
        rows.append(slope)
    return np.array(rows)


@lru_cache(maxsize=8)
def _known_slopes(x: bytes, count: int) -> np.ndarray:
    """Steps in which nothing is recorded are looked at in the same places."""
    return _nested_slopes(np.frombuffer(x), count)


class Integration:
    """The flow from theta(0) in free steps, whose length is carried on until the horizon.

    What is integrated is the displacement y = theta - theta(0), so that tolerances are relative
    to what moves: a flow near the start of which |theta| is large and |y| small keeps its digits.
    """

    def __init__(
        self,
        problem: AnyProblem,
        method: str,
        horizon: float,
        tolerances: tuple[float, float],
        memory: Memory,
        longest: float = np.inf,
    ):
        """`tolerances`: relative and absolute; `longest` bounds the steps."""
        self.problem, self.method, self.horizon, self.memory = problem, method, horizon, memory
        self.theta0 = pack(problem.theta0)
        self.rtol = max(tolerances[0], TIGHTEST)
        self.longest = longest
        start = problem.start.objective
        self._slope, self._gap = norm(pack(start.gradient)), start.gap
        self._wanted = tolerances[1]
        self.atol = self._absolute()
        self.status = Status.COMPLETED
        self.notes: list[str] = []
        # What it met on its way, for a piecewise smooth model.
        self.kinked: Kinked | None = None
        if problem.start.kinks is not None:
            self.kinked = Kinked(problem, memory, self.theta0, self._total_tolerance)
        # How far it is integrated.
        self.reach = 0.0
        self.evaluations = 0
        self._budget = STARVED
        self._left: NoEquilibrium | None = None
        self.pieces: list[Piece] = []
        # The last displacement that was asked for, and when.
        self._looked: tuple[float, np.ndarray] | None = None
        self._ends: list[float] = []
        self._solver: Any = None

    @cached_property
    def _size(self) -> np.ndarray:
        """For each parameter the root mean square of its array."""
        parts = self.problem.theta0.values()
        return np.concatenate([np.full(a.size, norm(a) / np.sqrt(a.size or 1)) for a in parts])

    @cached_property
    def _scale(self) -> float:
        """How far a parameter may move, in the mean: no further than at its first pace, and for a
        quadratic loss, with g = H d and gap = d^T H d/2 <= |d| |g|/2, about 2 gap/|g|."""
        known = [norm(self.theta0), self._slope * self.horizon]
        known += [2 * self._gap / self._slope] if self._slope > 0 else []
        positive = [d for d in known if 0 < d < np.inf]
        return min(positive, default=1.0) / float(np.sqrt(self.theta0.size))

    def _absolute(self) -> np.ndarray:
        """The absolute tolerance of each parameter, as far as rounding allows."""
        floor = (self.rtol if self.method in NEWTON else NOISE) * self._size
        return np.maximum(np.maximum(self._wanted * self._scale, floor), 1e-300)

    @property
    def _first(self) -> float:
        pace = 2 * self._gap / self._slope**2 if self._slope > 0 else self.horizon
        return float(np.clip(FIRST * pace, 1e-14 * self.horizon, 0.1 * self.horizon))

    def _total_tolerance(self, y: np.ndarray) -> float:
        return self.rtol * norm(y) + self._least

    @property
    def atol(self) -> np.ndarray:
        return self._atol

    @atol.setter
    def atol(self, sizes: np.ndarray) -> None:
        self._atol, self._least = sizes, norm(sizes)

    def tolerance(self, t: float) -> dict[str, float]:
        """What one step may be wrong by, for each array of parameters."""
        y = self.displacement(t)
        return {
            name: self.rtol * norm(part) + norm(atol)
            for (name, part), atol in zip(
                unpack(y, self.problem.shapes).items(),
                unpack(self.atol, self.problem.shapes).values(),
                strict=True,
            )
        }

    def advance(self, until: float) -> None:
        """Step until that time is reached, as far as it gets, from where the kinks at the start are
        decided; starving and events are counted from there on."""
        self._budget, self._left = STARVED, None
        if self.kinked is not None:
            self.kinked.begin()
        with warnings.catch_warnings():
            # LSODA warns of what its status says, too.
            warnings.filterwarnings("ignore", "lsoda", UserWarning)
            while (self.reach < until or self._solver is None) and self.status is Status.COMPLETED:
                self._go_on()

    def _go_on(self) -> None:
        try:
            with np.errstate(all="ignore"):
                if self._solver is None:
                    self._begin()
                else:
                    self._step()
        except Starving:
            self._stiffer()
        except Undecided as stop:
            self._failed(f"after t = {self.reach:g}: {stop}")
        except NoEquilibrium as stop:
            self.lost(stop, self.reach)

    def _begin(self) -> None:
        if self.kinked is not None:
            self.kinked.start()
        self._solver = self._started(0.0, np.zeros_like(self.theta0), self._first)

    def _step(self) -> None:
        solver = self._solver
        message = solver.step()
        if solver.status == "failed" or not np.isfinite(solver.y).all():
            if self._left is not None:
                self.lost(self._left, self.reach)
                return
            self._failed(f"{self.method} stopped after t = {self.reach:g}: {message}")
            return
        if self.kinked is None:
            self._keep(Piece(solver.dense_output()))
            return
        meets = self.kinked.may_meet(solver.t, self.theta0 + solver.y)
        piece = Piece(solver.dense_output(), self.kinked.mode)
        met = self.kinked.meet(piece) if meets else None
        if met is None:
            self._keep(piece)
            if solver.t < self.horizon and self.kinked.comes_to_rest(self.theta0 + solver.y):
                self._solver = self._started(solver.t, solver.y, self.horizon)
            return
        if met.t > piece.start:
            self._keep(piece.until(met.t))
        if met.t < self.horizon:
            self._solver = self._started(met.t, met.y, piece.end - piece.start)

    def _keep(self, piece: Piece) -> None:
        self.pieces.append(piece)
        self._ends.append(piece.end)
        self.reach = piece.end

    def _started(self, t: float, y: np.ndarray, first: float) -> Any:
        given: dict[str, Any] = {"jac": self._jacobian} if self.method in STIFF else {}
        return getattr(scipy.integrate, self.method)(
            self._velocity,
            t,
            y,
            self.horizon,
            rtol=self.rtol,
            atol=self.atol,
            max_step=self.longest,
            first_step=min(first, self.horizon - t, self.longest),
            **given,
        )

    def _failed(self, note: str) -> None:
        self.status = Status.INTEGRATOR_FAILED
        self.notes.append(note)

    def lost(self, stop: NoEquilibrium, after: float) -> None:
        self.status = stop.status
        self.notes.append(f"after t = {after:g}: {stop}")

    def _stiffer(self) -> None:
        """An explicit method that starves is replaced for the rest, and the notes say so."""
        if self.method in STIFF or self.theta0.size > STIFF_LIMIT:
            self._failed(
                f"{self.method} needed over {STARVED} evaluations after t = {self.reach:g}"
            )
            return
        self.notes.append(f"{self.method} starved after t = {self.reach:g}: continued with Radau")
        self.method, self._budget = "Radau", STARVED
        self.atol = self._absolute()
        last = self.pieces[-1] if self.pieces else None
        y = last(last.end) if last else np.zeros_like(self.theta0)
        step = last.end - last.start if last else self._first
        self._solver = self._started(self.reach, y, step)

    def _velocity(self, t: float, y: np.ndarray) -> np.ndarray:
        self.evaluations += 1
        self._budget -= 1
        if self._budget < 0:
            raise Starving
        theta = self.theta0 + y
        try:
            if self.kinked is not None:
                return self.kinked.velocity(t, theta)
            found = self.problem.model.gradient(unpack(theta, self.problem.shapes), self.memory)
        except NoEquilibrium as stop:
            if self.method not in EXPLICIT:
                raise
            # Perhaps a trial step only: an explicit method takes nan for too large a step.
            self._left = stop
            return np.full_like(y, np.nan)
        return -pack(found)

    def _jacobian(self, t: float, y: np.ndarray) -> np.ndarray:
        """By differences as wide as theta asks for: scipy's own would be as wide as y does, and
        vanish in theta(0) + y."""
        here = self._velocity(t, y)
        width = np.sqrt(EPS) * np.maximum(
            np.maximum(np.abs(self.theta0 + y), self._size), self._scale
        )
        columns = []
        for j, h in enumerate(width):
            moved = y.copy()
            moved[j] += h
            columns.append((self._velocity(t, moved) - here) / h)
        return np.array(columns).T

    def piece(self, t: float) -> Piece:
        """The step on which t lies. Raises ValueError beyond the run."""
        at = bisect_left(self._ends, t)
        if at == len(self.pieces):
            raise ValueError(f"t = {t} lies beyond the run")
        return self.pieces[at]

    def displacement(self, t: float) -> np.ndarray:
        if self._looked is None or self._looked[0] != t:
            self._looked = t, self.piece(t)(t) if t > 0 else np.zeros_like(self.theta0)
        return self._looked[1]

    def theta(self, t: float) -> Params:
        return unpack(self.theta0 + self.displacement(t), self.problem.shapes)

    def slopes(self, t: float, state: State) -> np.ndarray | None:
        """Those of the flow at kinks on which it stands, in the state at that time; None where it
        stands on none."""
        if self.kinked is None or self._solver is None:
            return None
        mode, kinks = self.piece(t).mode if t > 0 or self.pieces else self.kinked.mode, state.kinks
        assert mode is not None and kinks is not None
        theta = self.theta0 + self.displacement(t)
        found = self.kinked.kinks.slopes(theta, mode, kinks.heights)
        return None if np.isnan(found).all() else found
