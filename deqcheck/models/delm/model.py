"""Deep equilibrium linear model with column-softmax weights (Kawaguchi 2021).

z* = U^-1 phi with U = I - gamma softmax(A), prediction B z* = Z phi with Z = B U^-1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, TypeAlias

import numpy as np

from deqcheck.fields import Refusal, number
from deqcheck.frozen import dataclass
from deqcheck.kinds import Loss, Model, OuterLoss
from deqcheck.linalg.errors import length
from deqcheck.linalg.late import scipy
from deqcheck.linalg.precise import Numbers, solve
from deqcheck.losses.outer import Outer
from deqcheck.models.delm import oracle, side_by_side
from deqcheck.models.delm.radii import SAFE_EXPONENT, gradient_radii
from deqcheck.models.delm.state import DelmState
from deqcheck.models.memory import Memory
from deqcheck.models.problem import BuiltModel, Objective, Params
from deqcheck.records.lazy import cached_property
from deqcheck.records.measured import EPS, Measured

# Beyond this no digit of U^-1 can be trusted to better than about 1e-6.
MAX_CONDITION = 1e-6 / EPS
# Of |A|_F^2, below which exp needs no shift.
LARGEST_SQUARE = SAFE_EXPONENT**2


@dataclass(frozen=True)
class Delm(Model):
    """Deep equilibrium linear model: z = gamma softmax(A) z + phi(x), prediction B z."""

    kind: ClassVar[str] = "delm"
    data_arrays: ClassVar[dict[str, tuple[str, ...]]] = {"Phi": ("m", "n"), "Y": ("my", "n")}
    parameters: ClassVar[dict[str, tuple[str, ...]]] = {"A": ("m", "m"), "B": ("my", "m")}
    predicted: ClassVar[str] = "Y"
    ranked: ClassVar[str] = "Phi"
    makes: ClassVar[dict[str, tuple[str, ...]]] = {"the state": ("m", "n")}
    default_loss: ClassVar[str] = "square"
    example: ClassVar[str] = """\
data: {kind: gaussian, n: 20, dim: 4, target: {kind: gaussian, outputs: 2}}
model: {kind: delm, gamma: 0.5}
init: {kind: gaussian, scale: 0.3}
train: {kind: gd, step: 1e-4, steps: 50}"""
    loss: ClassVar[type[Loss]] = OuterLoss

    gamma: float = number(
        above=0, below=1, stored=True, doc="contraction factor of the equilibrium equation"
    )

    def sizes(self) -> dict[str, int]:
        return {}

    def from_samples(self, inputs: np.ndarray, targets: np.ndarray) -> Params:
        return {"Phi": inputs, "Y": targets}

    def build(self, arrays: Params, loss: Any) -> DelmModel:
        if 2 / (1 - self.gamma) > MAX_CONDITION:
            raise Refusal(
                "model.gamma",
                f"{self.gamma} leaves no verdict: cond_1(U) can reach {2 / (1 - self.gamma):.1g}; "
                f"expected gamma <= {1 - 2 / MAX_CONDITION:.12g}",
            )
        return DelmModel(self.gamma, loss.on(arrays["Phi"], arrays["Y"]), loss.kind)


# gamma S, U^T by its factors and pivots, and Z^T = U^-T B^T. At ten units a step is twenty calls
# of NumPy and two of LAPACK: what names a tuple, or looks up a function again, is felt.
Solved: TypeAlias = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


class DelmModel(BuiltModel[DelmState]):
    """The model with its data: L(A, B) = L0(B U^-1)."""

    def __init__(self, gamma: float, outer: Outer, loss_kind: str):
        self.kind, self.loss_kind = Delm.kind, loss_kind
        self.gamma = gamma
        self.outer = outer
        self.m, self.n = outer.Phi.shape
        self.my = outer.Y.shape[0]
        self._identity, self._units = np.eye(self.m), np.ones(self.m)
        self._outputs = np.full(self.my, 1 / gamma)
        # Relative error of Z = B U^-1: rounding of S and of the solve, times cond_1(U), which for
        # column-stochastic S is at most (1 + gamma)/(1 - gamma).
        self.z_error = 4 * EPS * self.m * (1 + gamma) / (1 - gamma)
        # |U^-1| <= sqrt(m) |U^-1|_1, and gamma S has columns of sum gamma.
        self.inverse = math.sqrt(self.m) / (1 - gamma)

    def of_rank(self, relative: float) -> DelmModel:
        return DelmModel(self.gamma, self.outer.of_rank(relative), self.loss_kind)

    @property
    def facts(self) -> dict[str, int]:
        return {"is_square": int(self.loss_kind == "square")}

    @property
    def samples(self) -> int:
        return int(self.n)

    @property
    def infimum(self) -> Measured:
        return self.outer.infimum

    def softmax(self, A: np.ndarray) -> np.ndarray:
        return self._weights(A) / self.gamma

    def _weights(self, A: np.ndarray) -> np.ndarray:
        """gamma softmax(A), shifted by the column maxima only where exp could overflow."""
        # |A|_F bounds every entry, and is the cheapest bound to have.
        flat = A.ravel()
        E = np.exp(A if flat.dot(flat) < LARGEST_SQUARE else A - A.max(axis=0))
        E *= self.gamma / self._units.dot(E)
        found: np.ndarray = E
        return found

    def resolvent(self, S: np.ndarray) -> np.ndarray:
        return self._identity - self.gamma * S

    def objective(self, theta: Params) -> Objective:
        """Gap and gradient, with their radii."""
        solved, B = self._solved(theta), theta["B"]
        Z = solved[-1].T
        size = length(Z)
        gap, error, Q, Q_error = self.outer.evaluate(Z, size, self.z_error * size)
        gradient = self._pulled_back(B, solved, Q)
        radius = partial(self.gradient_radius, B, size, gradient["B"], Q_error)
        return Objective(gap, error, gradient, radius)

    def gradient(self, theta: Params, memory: Memory | None = None) -> Params:
        return self.traced(theta)[0]

    def traced(self, theta: Params) -> tuple[Params, np.ndarray, np.ndarray]:
        """The gradient, Z, and gamma S."""
        solved = self._solved(theta)
        Z = solved[-1].T
        return self._pulled_back(theta["B"], solved, self.outer.gradient(Z)), Z, solved[0]

    @cached_property
    def _lapack(self) -> tuple[Callable[..., Any], Callable[..., Any]]:
        return scipy.linalg.lapack.dgesv, scipy.linalg.lapack.dgetrs

    def _solved(self, theta: Params) -> Solved:
        weights = self._weights(theta["A"])
        # U^T is in LAPACK's own order, so that nothing is copied.
        lu, pivots, Zt, _ = self._lapack[0](
            (self._identity - weights).T, theta["B"].T, overwrite_a=True
        )
        return weights, lu, pivots, Zt

    def _pulled_back(self, B: np.ndarray, solved: Solved, Q: np.ndarray) -> Params:
        """Eqs (21), (22): G = Q U^-T, grad_A = gamma S o (Z^T G - 1 mean^T).

        mean_k = s_k^T Z^T g_k, and Z S = (Z - B)/gamma because Z U = B.
        """
        weights, lu, pivots, Zt = solved
        G = self._lapack[1](lu, pivots, Q.T, trans=1)[0].T
        ZS = Zt.T - B
        ZS *= G
        # Products with ones take less time than sums.
        mean = self._outputs.dot(ZS)
        P = Zt.dot(G)
        P -= mean
        P *= weights
        return {"A": P, "B": G}

    def gradient_radius(self, B: np.ndarray, Z_size: float, G: np.ndarray, Q_error: float) -> float:
        sizes = length(B), Z_size, length(G)
        return math.hypot(*gradient_radii(self, *sizes, Q_error, self.inverse))

    def at(self, theta: Params, memory: Memory | None = None) -> DelmState:
        return DelmState(self, theta, memory)

    @property
    def states_at_once(self) -> int:
        return side_by_side.states_at_once(self.m, self.my)

    def quantities(
        self, states: Sequence[DelmState], names: Sequence[str]
    ) -> list[dict[str, Measured]]:
        if len(states) < 2 or self.states_at_once < 2:
            return super().quantities(states, names)
        return side_by_side.quantities(self, states, names)

    def many(self, shapes: Mapping[str, tuple[int, ...]]) -> side_by_side.ManyDelm | None:
        # With one unit A does not move, which is known exactly one by one.
        return side_by_side.ManyDelm(self) if self.m > 1 and set(shapes) == {"A", "B"} else None

    def explicit_gradient(self, theta: Params) -> Params:
        return oracle.gradient(self.at(theta))

    def precise_gradient(self, theta: Params, digits: Numbers) -> Params:
        """Eqs (21), (22) for the square loss: Q = 2 (Z Phi - Y) Phi^T."""
        if self.loss_kind != Delm.default_loss:
            raise NotImplementedError
        A, B, gamma = theta["A"], theta["B"], digits.lift_one(self.gamma)
        Phi, Y = digits.lift(self.outer.Phi), digits.lift(self.outer.Y)
        # The nearest floats to the column maxima: any shift would do.
        shift = digits.lift(digits.lower(A).max(axis=0))
        E = np.array([[x.exp() for x in row] for row in A - shift], dtype=object)
        S = E / E.sum(axis=0)
        U = digits.lift(np.eye(len(A))) - gamma * S
        Z = solve(U.T, B.T).T
        G = solve(U, (digits.lift_one(2.0) * (Z @ Phi - Y) @ Phi.T).T).T
        P = Z.T @ G
        return {"A": gamma * S * (P - (S * P).sum(axis=0)), "B": G}
