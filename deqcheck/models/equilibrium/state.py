"""A trained equilibrium network at given weights."""

from __future__ import annotations

import math
from collections.abc import Callable
from copy import copy
from typing import TYPE_CHECKING

import numpy as np

from deqcheck.frozen import dataclass
from deqcheck.linalg import errors, lapack
from deqcheck.linalg.entries import finite
from deqcheck.linalg.matrix import instance
from deqcheck.models.equilibrium.distance import Residual, nearest
from deqcheck.models.equilibrium.solve import equilibria
from deqcheck.models.equilibrium.weights import Weights
from deqcheck.models.problem import NoEquilibrium, Objective, Params, State
from deqcheck.records.lazy import cached_property
from deqcheck.records.measured import EPS, Measured
from deqcheck.records.scalar import TINY

if TYPE_CHECKING:
    from deqcheck.models.equilibrium.model import EquilibriumModel

# A residual above this, relative to the size of the state, is no equilibrium.
FOUND = 1e-6
# Bounds on the distance are of the order of rounding: so many times the smallest one will do.
ENOUGH = 4.0
# Products of so many terms are computed in longer numbers.
LONG = 10_000_000


@dataclass(frozen=True, eq=False)
class Equilibrium:
    """Z with bounds on the Euclidean distance of each column from the only equilibrium; inf where
    no theorem says that there is only one."""

    Z: np.ndarray
    H: np.ndarray
    errors: np.ndarray
    # The theorem that the bounds are from.
    proof: str

    @property
    def error(self) -> float:
        """Of all columns together (Frobenius)."""
        return errors.length(self.errors) * (1 + 8 * EPS)


class EquilibriumState(State):
    """Lazy: each matrix is computed once, when something asks for it."""

    def __init__(self, model: EquilibriumModel, theta: Params):
        self.model, self.theta = model, theta
        self.W, self.U, self.C = theta["W"], theta["U"], theta["C"]
        self.s = model.activation
        self.n, self.N = len(self.W), model.X.shape[1]
        # What W alone decides is shared by the states on other inputs.
        self._weights: Weights | None = None

    @cached_property
    def weights(self) -> Weights:
        return self._weights or Weights(self.W)

    # ---- what goes in ---------------------------------------------------------------------------

    @cached_property
    def inputs(self) -> np.ndarray:
        """c = U x + b, a column for each sample."""
        found: np.ndarray = self._driven[0] + self.model.b[:, None]
        return found

    @cached_property
    def _driven(self) -> tuple[np.ndarray, np.ndarray]:
        """U x, with the error of each entry."""
        return product(self.U, self.model.X)

    @cached_property
    def inputs_error(self) -> np.ndarray:
        """Of each entry."""
        found: np.ndarray = self._driven[1] + EPS * np.abs(self.inputs)
        return found

    def pre_activations(self, Z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """W z + c with the error of each entry."""
        moved, error = product(self.W, Z)
        H = moved + self.inputs
        return H, error + EPS * np.abs(H) + self.inputs_error

    def residuals(self, Z: np.ndarray) -> list[Residual]:
        """z - s(W z + c) of each column."""
        H, error = self.pre_activations(Z)
        R = Z - self.s.value(H)
        error = self.s.radius(H, error) + EPS * np.abs(R)
        return [Residual(R[:, j], error[:, j]) for j in range(Z.shape[1])]

    # ---- the equilibrium ------------------------------------------------------------------------

    @cached_property
    def _found(self) -> tuple[np.ndarray, list[Residual]]:
        """Equilibria, of which nothing is known yet but their residuals. Raises NoEquilibrium."""
        if not (finite(self.W) and finite(self.inputs)):
            raise NoEquilibrium("the weights or the inputs are not finite")
        with np.errstate(all="ignore"):
            Z = equilibria(self.W, self.inputs, self.s)
        residuals = self.residuals(Z)
        for j, r in enumerate(residuals):
            size = errors.length(Z[:, j]) + errors.length(self.inputs[:, j])
            if not r.length.value <= FOUND * size * (1 + errors.length(self.W)):
                raise NoEquilibrium(f"no equilibrium was found for sample {j}")
        return Z, residuals

    @cached_property
    def equilibrium(self) -> Equilibrium:
        """Raises NoEquilibrium where none was found."""
        (Z, residuals), bounds, proof = self._found, np.zeros(self.N), ""
        for j, r in enumerate(residuals):
            bound, proof = nearest(self.weights, r, ENOUGH)
            bounds[j] = 0.0 if proof and self._silent(Z[:, j], j) else bound.high
        return Equilibrium(Z, self.pre_activations(Z)[0], bounds, proof)

    def _silent(self, z: np.ndarray, j: int) -> bool:
        """Whether 0 was found and is an equilibrium exactly: c <= 0 of a ReLU network."""
        c = self.inputs[:, j] + self.inputs_error[:, j]
        return self.s.is_relu and not z.any() and bool((c <= 0).all())

    @property
    def silent(self) -> bool:
        """Whether all equilibria are exactly 0."""
        return not self.Z.any() and not self.equilibrium.errors.any()

    @property
    def Z(self) -> np.ndarray:
        return self._found[0]

    @cached_property
    def H_error(self) -> np.ndarray:
        """Of each pre-activation at the equilibrium."""
        rows = np.sqrt((self.W * self.W).sum(axis=1))
        moved = rows[:, None] * self.equilibrium.errors * (1 + self.n * EPS)
        found: np.ndarray = self.pre_activations(self.Z)[1] + moved
        return found

    @cached_property
    def doubtful(self) -> np.ndarray:
        """Units of which it is not known on which side of their kink they are."""
        if not self.s.piecewise:
            return np.zeros(self.Z.shape, dtype=bool)
        found: np.ndarray = np.abs(self.equilibrium.H) <= self.H_error
        return found

    @cached_property
    def slopes(self) -> np.ndarray:
        """s' at the pre-activations; at a kink that of the left side."""
        found: np.ndarray = self.s.slope(self.equilibrium.H)
        return found

    def moved_input(self, k: int, by: float = 1.0) -> EquilibriumState:
        """The same network where this number is added to the k-th input of every sample."""
        X = self.model.X.copy()
        X[k] += by
        return self.at_inputs(X)

    def at_inputs(self, X: np.ndarray) -> EquilibriumState:
        """The same network on other inputs, of which no targets are known."""
        found = EquilibriumState(self.model.with_inputs(X), self.theta)
        found._weights = self.weights
        return found

    def reading(self, C: np.ndarray) -> EquilibriumState:
        """The same network with another read-out, without D and c0."""
        model = copy(self.model)
        model.D, model.c0 = np.zeros((len(C), len(model.X))), np.zeros(len(C))
        found = EquilibriumState(model, {**self.theta, "C": C})
        found._weights = self.weights
        return found

    @cached_property
    def perturbed(self) -> EquilibriumState:
        """The network with W + dW, U + dU and b + db, each rounded."""
        model = copy(self.model)
        model.b = self.model.b + self.model.db
        theta = {"W": self.W + self.model.dW(self.W), "U": self.U + self.model.dU, "C": self.C}
        return EquilibriumState(model, theta)

    # ---- what comes out -------------------------------------------------------------------------

    @cached_property
    def outputs(self) -> np.ndarray:
        """y = C z + D x + c0."""
        found: np.ndarray = self.C @ self.Z + self.model.D @ self.model.X
        return found + self.model.c0[:, None]

    @property
    def predictions(self) -> np.ndarray:
        return self.outputs

    @cached_property
    def read_out(self) -> Measured:
        return instance(self.C).norm2()

    @cached_property
    def outputs_radius(self) -> float:
        model = self.model
        size = errors.length(self.C) * errors.length(self.Z)
        size += errors.length(model.D) * errors.length(model.X) + errors.length(model.c0)
        rounded = errors.rounding(self.n + len(model.X), size, 1.0)
        return _times(self.read_out.high, self.equilibrium.error) + rounded

    @cached_property
    def residual(self) -> np.ndarray:
        """The outputs less the targets."""
        found: np.ndarray = self.outputs - self.model.Y
        return found

    @cached_property
    def loss(self) -> Measured:
        radius = self.outputs_radius + EPS * errors.length(self.residual)
        total = errors.sum_of_squares(self.residual, radius)
        return Measured(total.value / 2, total.error / 2)

    @property
    def loss_alone(self) -> float:
        return errors.squares(self.residual) / 2

    @cached_property
    def adjoint(self) -> np.ndarray:
        """p = D w with (I - W^T D) w = C^T residual: d loss/d pre-activation."""
        return self.adjoint_of(self.C.T @ self.residual)

    def adjoint_of(self, G: np.ndarray) -> np.ndarray:
        """p for any d loss/d z, a column for each sample."""
        found = np.zeros_like(G)
        for j in range(self.N):
            D = self.slopes[:, j]
            found[:, j] = D * lapack.solve(np.eye(self.n) - self.W.T * D, G[:, j])
        return found

    @cached_property
    def sensitivity(self) -> float:
        """A bound on |(I - W^T D)^-1| = |I + W^T (I - D W^T)^-1 D| for all slopes D."""
        return inverse_bound(self.weights)

    @cached_property
    def adjoint_radius(self) -> float:
        """Slopes of smooth activations have a Lipschitz constant below 1; a doubtful unit may be on
        its other side."""
        G, E, K = self.C.T @ self.residual, self.adjoint, self.sensitivity
        w = np.zeros_like(E)
        for j in range(self.N):
            w[:, j] = G[:, j] + self.W.T @ E[:, j]
        off = np.where(self.doubtful, 1.0, 0.0 if self.s.piecewise else self.H_error)
        size = (1 + errors.length(self.W)) * errors.length(w) + errors.length(G)
        noise = errors.rounding(self.n, size)
        noise += _times(self.read_out.high, self.outputs_radius)
        return _times(K + 1, noise + errors.length(off * w) * (1 + errors.length(self.W)))

    @cached_property
    def gradient(self) -> Params:
        P, X, Z = self.adjoint, self.model.X, self.Z
        return {"W": P @ Z.T, "U": P @ X.T, "C": self.residual @ Z.T}

    @cached_property
    def gradient_norms(self) -> dict[str, Measured]:
        P, Z, X = self.adjoint, errors.length(self.Z), errors.length(self.model.X)
        dP, dZ, dR = self.adjoint_radius, self.equilibrium.error, self.outputs_radius
        p, r = errors.length(P), errors.length(self.residual)
        radii = {
            "W": dP * (Z + dZ) + p * dZ + errors.rounding(self.N, p * Z),
            "U": dP * X + errors.rounding(self.N, p * X),
            "C": dR * (Z + dZ) + r * dZ + errors.rounding(self.N, r * Z),
        }
        return {name: errors.frobenius(g, radii[name]) for name, g in self.gradient.items()}

    @property
    def objective(self) -> Objective:
        return Objective(self.loss.value, self.loss.error, self.gradient)

    # ---- measures -------------------------------------------------------------------------------

    @cached_property
    def kink_margin(self) -> Measured:
        """min |pre-activation|."""
        H = np.abs(self.equilibrium.H)
        return Measured(float(H.min()), float(self.H_error.max()))

    @cached_property
    def _measures(self) -> dict[str, Callable[[], Measured]]:
        found: dict[str, Callable[[], Measured]] = {
            "loss": lambda: self.loss,
            "gradient": lambda: errors.together(self.gradient_norms.values()),
            "equilibrium.error": lambda: Measured(self.equilibrium.error),
            "norm2.W": lambda: self.weights.norm2,
            "norm_inf.W": lambda: self.weights.norm_inf,
            "rho.|W|": lambda: self.weights.rho,
            "modulus": lambda: self.weights.modulus,
            "lipschitz": lambda: self.weights.lipschitz,
            "mu.W": lambda: self.weights.mu,
            "norm2.U": lambda: instance(self.U).norm2(),
            "norm2.C": lambda: self.read_out,
        }
        for name in self.theta:
            found[f"gradient.{name}"] = lambda name=name: self.gradient_norms[name]  # type: ignore[misc]
        return found

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._measures)

    def measure(self, name: str) -> Measured:
        return self._measures[name]()


def product(A: np.ndarray, B: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A B with the error of each entry; in longer numbers where that costs little."""
    size: np.ndarray = np.abs(A) @ np.abs(B)
    terms = A.shape[1] + 2
    if A.size * B.shape[1] > LONG:
        return A @ B, terms * (EPS * size + TINY)
    long = (A.astype(np.longdouble) @ B.astype(np.longdouble)).astype(float)
    return long, terms * float(np.finfo(np.longdouble).eps) * size + EPS * np.abs(long) + TINY


def _times(a: float, b: float) -> float:
    return a * b if a and b else 0.0


def inverse_bound(w: Weights) -> float:
    """A bound on |(I - W^T D)^-1| for all diagonal D in [0, 1]^n, by the theorems that have one."""
    bounds = [math.inf]
    if w.norm2.high < 1:
        bounds.append(float((1 / (1 - w.norm2)).high))
    if w.modulus.low > 0:
        bounds.append(float((1 + w.norm2 / w.modulus).high))
    if min(bounds) == math.inf and w.diagonal.feasible:
        T, m = w.weighted.T, w.weighted.modulus
        spread = Measured(float(T.max() / T.min()), EPS * float(T.max() / T.min()))
        bounds.append(float((1 + w.norm2 * spread / m).high))
    if min(bounds) == math.inf and w.worst_inverse is not None:
        bounds.append(float(w.worst_inverse.high))
    return min(bounds)
