"""The ReLU equilibrium model at given parameters: equilibrium, gradients, Gram matrices."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from deqcheck.linalg import errors, exact, well_posed
from deqcheck.linalg.certificates import Certificate, Contraction, Monotone
from deqcheck.linalg.entries import euclidean, finite
from deqcheck.linalg.exact_zeros import Support, product_reach
from deqcheck.linalg.matrix import Matrix
from deqcheck.linalg.relu_equilibrium import Equilibrium, peaceman_rachford
from deqcheck.linalg.wide import WIDE
from deqcheck.models import relu_radii
from deqcheck.models.memory import Memory
from deqcheck.models.problem import NoEquilibrium, NotCertified, Params
from deqcheck.models.relu_state import Canonical, ReluState
from deqcheck.records.lazy import cached_property
from deqcheck.records.measured import Measured, given, nonnegative
from deqcheck.records.tower import Again

if TYPE_CHECKING:
    from deqcheck.models.relu_deq.model import ReluDeqModel


class ReluDeqState(ReluState):
    def __init__(self, model: ReluDeqModel, theta: Params, memory: Memory | None = None):
        super().__init__(model.y, theta, memory)
        self.model = model

    def renewed(self) -> ReluDeqState:
        return ReluDeqState(self.model, self.theta, self._memory)

    @property
    def a(self) -> np.ndarray:
        return self.theta["a"]

    @property
    def inputs(self) -> np.ndarray:
        return self.model.X

    @cached_property
    def q(self) -> Measured:
        """||W||_2."""
        return self.measure("norm2.W")

    @property
    def canonical(self) -> Canonical:
        (W, C), U, X = self.weights, self.theta["U"], self.model.X
        radius = relu_radii.of_C(self.model.d, errors.length(U), errors.length(X))
        return Canonical(W, C, 0.0, radius, lambda: Support(W != 0, product_reach(U, X)))

    def solve(self) -> Equilibrium:
        form = self.canonical
        return replace(self._solved(form.C), C_radius=form.C_radius, support=form.support)

    @property
    def weights(self) -> tuple[np.ndarray, np.ndarray]:
        return self.theta["W"], self.theta["U"] @ self.model.X

    @property
    def system(self) -> tuple[np.ndarray, np.ndarray]:
        W, C = self.weights
        if not self._memory.equilibria.norm_bound(W) < 1:
            self._certificate(C)
        return W, C

    def _certificate(self, C: np.ndarray) -> Certificate:
        W = self.theta["W"]
        q = self._memory.equilibria.norm_bound(W) if len(W) >= WIDE else float(self.q.high)
        plain = q < well_posed.NEXT_TO_ONE
        found: Certificate | None = Contraction(q) if plain else _best_certificate(W)
        if found is None:
            raise _unknown(W, C, self.q.value)
        return found

    def _solved(self, C: np.ndarray) -> Equilibrium:
        W, found = self.theta["W"], self._certificate(C)
        if isinstance(found, Monotone):
            lipschitz = float(np.linalg.norm(np.eye(len(W)) - W, 2))
            return peaceman_rachford(W, C, found, lipschitz)
        equilibrium = self._picard(W, C, found)
        small = len(W) <= well_posed.SMALL
        if isinstance(found, Contraction) or not small or well_posed.fits(W, C, equilibrium.Z):
            return equilibrium
        # A P-matrix: sweeps may cycle although the solution is unique.
        each = well_posed.equilibria(W, C)
        if not all(each):
            return equilibrium
        return Equilibrium(W, C, np.stack([z[0] for z in each], axis=1), found)

    def assembled(
        self, Z: np.ndarray, E: np.ndarray, r: np.ndarray, samples: slice = slice(None)
    ) -> Params:
        """(S diag(r)) Z^T, (S diag(r)) X^T, Z r."""
        return {"W": E @ Z.T, "U": E @ self.model.X[:, samples].T, "a": Z @ r}

    def exact_weights(self) -> tuple[Again, Again]:
        U, X = exact.array(self.theta["U"]), exact.array(self.model.X)
        return exact.array(self.theta["W"]), exact.product(U, X)

    def exact_gradient(self) -> dict[str, Again]:
        E, Z, X = self.again.E, self.again.Z, exact.array(self.model.X)
        return {
            "W": exact.product(E, exact.transpose(Z)),
            "U": exact.product(E, exact.transpose(X)),
            "a": self.again.Zr,
        }

    def gradient_radii(self) -> dict[str, float]:
        Z, X, E = (euclidean(a) for a in (self.Z, self.model.X, self.E))
        off = self.equilibrium.error, self.E_radius, self.r_radius
        sizes = relu_radii.Sizes(Z, X, E, self.read_residual, *off)
        return relu_radii.of_gradient(len(self.r), sizes)

    @cached_property
    def lambda_0(self) -> Measured:
        """lambda_min(Z^T Z), from the singular values of Z."""
        return self.sigma_min_Z**2

    @property
    def H_parts(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """H1 = G, H2 = G o S^T S, H3 = X^T X o S^T S."""
        G, X, SS = self.Z.T @ self.Z, self.model.X, self.V.T @ self.V
        return G, G * SS, (X.T @ X) * SS

    @cached_property
    def H(self) -> np.ndarray:
        found: np.ndarray = np.sum(self.H_parts, axis=0)
        return found

    @cached_property
    def H_radius(self) -> float:
        every = self.Z, self.V, self.model.X
        norms = [euclidean(A) for A in every]
        longest = [float(np.max(np.sum(A**2, axis=0))) for A in every]
        off, H = (self.equilibrium.error, self.V_radius), euclidean(self.H)
        return float(relu_radii.of_H(len(self.Z), self.model.d, norms, longest, off, H))

    @property
    def matrix_H(self) -> Matrix:
        return Matrix(self.H, self.H_radius, self._exact_H)

    @cached_property
    def lambda_min_H(self) -> Measured:
        """H is positive semidefinite, and singular where dependent inputs share their units: there
        Z = M X and all columns of S are equal, so that each part of H is X^T (...) X."""
        found = self.matrix_H.eigenvalue(0)
        if found.low <= 0 and (self.silent_samples.any() or self.dependent_inputs):
            return given(0, found.again)
        return nonnegative(found)

    @property
    def _exact_H(self) -> Again:
        Z, S, X = (exact.transpose(a) for a in (self.again.Z, self.again.V, self._exact_X))
        G, SS, XX = (exact.gram(a) for a in (Z, S, X))
        return exact.total([G, exact.hadamard(G, SS), exact.hadamard(XX, SS)])

    @property
    def _exact_X(self) -> Again:
        return exact.array(self.model.X)

    @cached_property
    def lambda_min_sum(self) -> Measured:
        """lambda_min(G + X^T X): the square of a singular value of Z stacked on X."""
        stacked = np.vstack([self.Z, self.model.X])
        n, both = stacked.shape[1], exact.stacked(self.again.Z, self._exact_X)
        return errors.nth_singular_value(stacked, n, self.equilibrium.error, both) ** 2

    @cached_property
    def shortest_sensitivity(self) -> Measured:
        """min_j ||s_j||."""
        least = float(np.linalg.norm(self.V, axis=0).min())
        radius = self.V_radius + errors.product(len(self.V), least)
        return Measured(least, radius, again=exact.shortest_column(self.again.V))

    @property
    def kink_margin(self) -> Measured:
        """min |pre-activation|."""
        again = Again(exact.smallest, exact.moduli(self.again.relu.H))
        return replace(self.equilibrium.kink_margin, again=again)

    further: ClassVar[Mapping[str, Callable[[Any], Measured]]] = {
        "lambda_0": lambda s: s.lambda_0,
        "lambda_min_H": lambda s: s.lambda_min_H,
        "kink_margin": lambda s: s.kink_margin,
        "X_fro": lambda s: s.model.X_fro,
    }


def _best_certificate(W: np.ndarray) -> Certificate | None:
    if not finite(W):
        raise NotCertified("W is not finite")
    return well_posed.certificate(W)


def _unknown(W: np.ndarray, C: np.ndarray, q: float) -> NoEquilibrium:
    """What is known where no test proves uniqueness."""
    start = f"||W||_2 = {q:.6g} >= 1"
    if len(W) > well_posed.SMALL:
        return NotCertified(
            f"{start}, the spectral radius of |W| and the largest eigenvalue of (W + W^T)/2 are "
            f"not below 1, and {len(W)} units are too many for the P-matrix test: whether there "
            "is an equilibrium, and only one, is not known"
        )
    start += ", and I - W is not known to be a P-matrix"
    counts = [len(found) for found in well_posed.equilibria(W, C)]
    if 0 in counts:
        return NoEquilibrium(
            f"{start}: sample {counts.index(0) + 1} has no equilibrium on any activation pattern"
        )
    if max(counts) > 1:
        many = int(np.argmax(counts))
        return NotCertified(f"{start}: sample {many + 1} has several equilibria")
    return NotCertified(f"{start}: the equilibrium is unique for these samples, not for every one")
