"""Deep equilibrium linear model with column-softmax weights (Kawaguchi 2021).

z* = U^-1 phi with U = I - gamma softmax(A), prediction B z* = Z phi with Z = B U^-1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.linalg.lapack import dgetrf, dgetrs

from deqcheck.fields import Refusal, number
from deqcheck.losses.outer import Outer
from deqcheck.models import delm_oracle
from deqcheck.models.delm_state import DelmState
from deqcheck.models.problem import Objective, Params
from deqcheck.records.measured import EPS, Measured

# Beyond this no digit of U^-1 can be trusted to better than about 1e-6.
MAX_CONDITION = 1e-6 / EPS


@dataclass(frozen=True)
class Delm:
    """Deep equilibrium linear model: z = gamma softmax(A) z + phi(x), prediction B z."""

    kind: ClassVar[str] = "delm"
    data_arrays: ClassVar[dict[str, tuple[str, ...]]] = {"Phi": ("m", "n"), "Y": ("my", "n")}
    parameters: ClassVar[dict[str, tuple[str, ...]]] = {"A": ("m", "m"), "B": ("my", "m")}
    default_loss: ClassVar[str] = "square"
    losses: ClassVar[tuple[str, ...]] = ("square", "logistic", "smoothed-hinge")

    gamma: float = number(above=0, below=1, doc="contraction factor of the equilibrium equation")

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


class DelmModel:
    """The model with its data: L(A, B) = L0(B U^-1)."""

    def __init__(self, gamma: float, outer: Outer, loss_kind: str):
        self.kind, self.loss_kind = Delm.kind, loss_kind
        self.gamma = gamma
        self.outer = outer
        self.m, self.n = outer.Phi.shape
        self.my = outer.Y.shape[0]
        self.shapes = {"A": (self.m, self.m), "B": (self.my, self.m)}
        self._identity = np.eye(self.m)
        # Relative error of Z = B U^-1: rounding of S and of the solve, times cond_1(U), which for
        # column-stochastic S is at most (1 + gamma)/(1 - gamma).
        self.z_error = 4 * EPS * self.m * (1 + gamma) / (1 - gamma)

    @property
    def infimum(self) -> Measured:
        return self.outer.infimum

    def softmax(self, A: np.ndarray) -> np.ndarray:
        E = np.exp(A - np.maximum.reduce(A, 0))
        E /= np.add.reduce(E, 0)
        return E

    def resolvent(self, S: np.ndarray) -> np.ndarray:
        return self._identity - self.gamma * S

    def objective(self, theta: Params) -> Objective:
        """Gap and gradient, eqs (21), (22): G = Q U^-T, grad_A = gamma (P - S o 1 1^T P)."""
        B = theta["B"]
        S = self.softmax(theta["A"])
        # U^T is in LAPACK's own order, so that nothing is copied.
        lu, pivots, _ = dgetrf(self.resolvent(S).T, overwrite_a=True)
        Zt, _ = dgetrs(lu, pivots, B.T)
        Z_norm = math.sqrt(np.vdot(Zt, Zt))
        gap, error, Q = self.outer.gap_and_gradient(Zt.T, self.z_error * Z_norm)
        Gt, _ = dgetrs(lu, pivots, Q.T, trans=1)
        P = Zt @ Gt.T
        P *= S
        P -= S * np.add.reduce(P, 0)
        P *= self.gamma
        return Objective(gap, error, {"A": P, "B": Gt.T})

    def at(self, theta: Params) -> DelmState:
        return DelmState(self, theta)

    def kinks(self, theta: Params) -> None:
        return None

    def explicit_gradient(self, theta: Params) -> Params:
        return delm_oracle.gradient(self.at(theta))
