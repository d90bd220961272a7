"""The deep equilibrium linear model at given parameters: everything that can be measured there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from deqcheck.linalg import errors, exact, largest, smallest
from deqcheck.linalg.entries import euclidean
from deqcheck.linalg.late import scipy
from deqcheck.losses.outer import Evaluation, batch_gradient
from deqcheck.models.delm import spectrum, trust
from deqcheck.models.delm.exact import ExactDelm
from deqcheck.models.delm.matrices import DelmMatrices
from deqcheck.models.delm.radii import gradient_radii
from deqcheck.models.memory import Memory
from deqcheck.models.problem import Objective, Params, State
from deqcheck.records.lazy import cached_property
from deqcheck.records.measured import EPS, Measured, given, measured, minimum, sqrt
from deqcheck.records.tower import Again

if TYPE_CHECKING:
    from deqcheck.models.delm.model import DelmModel


class DelmState(State):
    """Lazy: each matrix is computed once, when something asks for it."""

    def __init__(self, model: DelmModel, theta: Params, memory: Memory | None = None):
        self.model, self.theta, self.memory = model, theta, memory or Memory()
        self.gamma, self.m, self.my, self.n = model.gamma, model.m, model.my, model.n
        self.A, self.B = theta["A"], theta["B"]

    @cached_property
    def S(self) -> np.ndarray:
        return self.model.softmax(self.A)

    @cached_property
    def U(self) -> np.ndarray:
        return self.model.resolvent(self.S)

    @cached_property
    def lu(self) -> tuple[np.ndarray, np.ndarray]:
        lu, pivots, _ = scipy.linalg.lapack.dgetrf(self.U)
        return lu, pivots

    @cached_property
    def Z(self) -> np.ndarray:
        """B U^-1, the effective linear map (my x m)."""
        found: np.ndarray = scipy.linalg.lapack.dgetrs(*self.lu, self.B.T, trans=1)[0].T
        return found

    @property
    def predictions(self) -> np.ndarray:
        found: np.ndarray = self.Z @ self.model.outer.Phi
        return found

    @property
    def Z_radius(self) -> float:
        return float(self.model.z_error * errors.length(self.Z))

    @cached_property
    def equilibrium(self) -> np.ndarray:
        """U^-1 Phi (m x n)."""
        found: np.ndarray = scipy.linalg.lu_solve(self.lu, self.model.outer.Phi)
        return found

    @cached_property
    def again(self) -> ExactDelm:
        """The state, to be computed again."""
        return ExactDelm(self.A, self.B, self.gamma)

    @cached_property
    def matrices(self) -> DelmMatrices:
        return DelmMatrices(self)

    @cached_property
    def exact_Q(self) -> Again | None:
        return self.model.outer.exact_gradient(self.again.Z)

    @cached_property
    def U_largest(self) -> Measured:
        """||U||_2."""
        node = exact.norm2(self.again.U)
        if self.m >= largest.LARGE:
            return replace(errors.norm2(self.U, self._U_radius), again=node)
        return replace(self.U_singular[0], again=node)

    @cached_property
    def U_smallest(self) -> Measured:
        node = exact.singular_value(self.again.U, self.m)
        if self.m >= smallest.LARGE:
            found = errors.nth_singular_value(self.U, self.m, self._U_radius)
            return replace(found, again=node)
        return replace(self.U_singular[-1], again=node)

    @cached_property
    def U_singular(self) -> Measured:
        return errors.singular_values(self.U, self._U_radius)

    @property
    def _U_radius(self) -> float:
        """S is accurate to a few units in the last place, and ||S||_F <= sqrt(m)."""
        return float(4 * EPS * self.gamma * np.sqrt(self.m))

    @cached_property
    def outer(self) -> Evaluation:
        """L0 at Z, with its gradient Q (my x m)."""
        return self.model.outer.evaluate(self.Z, errors.length(self.Z), self.Z_radius)

    @property
    def Q(self) -> np.ndarray:
        return self.outer.gradient

    @cached_property
    def objective(self) -> Objective:
        return self.model.objective(self.theta)

    @property
    def gradient(self) -> Params:
        return self.objective.gradient

    def gradient_of(self, weights: np.ndarray) -> tuple[Params, float]:
        """Eqs (21), (22) as in `objective`, with Q of the batch."""
        Z = self.Z
        Q, Q_error = batch_gradient(self.model.outer, Z, self.Z_radius, weights)
        G = scipy.linalg.lu_solve(self.lu, Q.T).T
        mean = ((Z - self.B) * G).sum(axis=0) / self.gamma
        parts = {"A": self.gamma * self.S * (Z.T @ G - mean), "B": G}
        return parts, self.model.gradient_radius(self.B, errors.length(Z), G, Q_error)

    @cached_property
    def gap(self) -> Measured:
        how = self.model.outer.factored.how or "residual in row-space coordinates"
        node = self.model.outer.exact_gap(self.again.Z)
        return Measured(self.outer.gap, self.outer.error, how, node)

    def exact_descent(self) -> tuple[Again, Mapping[str, Again]] | None:
        gap, Q = self.gap.again, self.exact_Q
        return None if gap is None or Q is None else (gap, self.again.gradient(Q))

    @property
    def loss(self) -> Measured:
        return self.gap + self.model.infimum

    @property
    def residual(self) -> Measured:
        """||Z Phi - Y||_F."""
        outer = self.model.outer
        r = self.Z @ outer.Phi - outer.Y
        size = float(np.linalg.norm(self.Z) * np.linalg.norm(outer.Phi) + np.linalg.norm(outer.Y))
        moved = self.Z_radius * euclidean(outer.Phi)
        Phi, Y = exact.array(outer.Phi), exact.array(outer.Y)
        node = exact.minus(exact.product(self.again.Z, Phi), Y)
        return errors.frobenius(r, moved + errors.rounding(self.m, size), node)

    @cached_property
    def lambda_min_D(self) -> Measured:
        return replace(spectrum.lambda_min(self), again=exact.eigenvalue(self.again.D, 0))

    @cached_property
    def lambda_independent(self) -> Measured:
        """Eq. (33): 1/(m (1 + gamma)^2)."""
        found: Measured = 1 / (self.m * (1 + given(self.gamma)) ** 2)
        return found

    @cached_property
    def lambda_independent_sharp(self) -> Measured:
        """1/||U||_2^2 >= 1/min(m (1 + gamma^2), (1 + gamma sqrt m)^2) for every A."""
        g = given(self.gamma)
        return 1 / minimum(self.m * (1 + g**2), (1 + g * sqrt(self.m)) ** 2)

    def _gradient_norms(self) -> dict[str, Measured]:
        inverse = float(1 / self.U_smallest.low)
        b, z, g = (errors.length(a) for a in (self.B, self.Z, self.gradient["B"]))
        radii = gradient_radii(self.model, b, z, g, self.outer.gradient_error, inverse)
        Q = self.exact_Q
        nodes = {} if Q is None else self.again.gradient(Q)
        return {
            n: errors.frobenius(self.gradient[n], e, nodes.get(n))
            for n, e in zip("AB", radii, strict=True)
        }

    @property
    def warnings(self) -> tuple[str, ...]:
        remark = self.model.outer.factored.remark
        asks = "`rank: {relative: 1e-12}` in the case asks for the numerical rank"
        return (f"Phi: {remark}; {asks}",) if remark else ()

    @property
    def gradient_radius(self) -> float:
        """Frobenius radius of all of it."""
        return float(errors.together(self._gradient_norms().values()).error)

    def _equilibrium(self) -> tuple[Measured, Measured]:
        """Residual and certified error in the 1-norm, in which the map contracts by gamma."""
        Zeq, Phi = self.equilibrium, self.model.outer.Phi
        residual = np.abs(Zeq - self.gamma * (self.S @ Zeq) - Phi).sum(axis=0)
        size = np.abs(Zeq).sum(axis=0) + np.abs(Phi).sum(axis=0)
        noise = float((errors.rounding(self.m, 1.0) * size).max())
        worst = float(residual.max())
        return Measured(worst, noise), Measured(
            (worst + noise) / (1 - self.gamma), 0.0, "certified"
        )

    def measure(self, name: str) -> Measured:
        found: Measured = _MEASURES[name](self)
        return found

    @cached_property
    def curved(self) -> trust.Curved:
        """For one output."""
        return trust.Curved.of(self)

    @property
    def names(self) -> tuple[str, ...]:
        """Those of the trust region are zeros up to rounding, and of no use to a report."""
        listed = (n for n in _MEASURES if not n.startswith("trust."))
        return tuple(n for n in listed if self.my == 1 or n != "delta_bar")

    def _delta_bar(self) -> Measured:
        """Trust-region scale 1/lambda_max(S^1/2 F S^1/2), F = U^-1 H U^-T, H = L0'' (my = 1);
        infinite where nothing is curved upwards."""
        root = np.sqrt(spectrum.block_scalars(self))
        outer = self.model.outer
        M = scipy.linalg.lu_solve(self.lu, outer.curved_features(self.Z)) * root[:, None]
        radius = 8 * EPS * self.m * (1 + self.gamma) / (1 - self.gamma) * euclidean(M)
        signs = outer.curvature_signs(self.Z)
        if (signs >= 0).all():
            return 1 / errors.norm2(M, radius) ** 2
        wide = 3 * radius * euclidean(M)
        largest = errors.symmetric_eigenvalues((M * signs) @ M.T, wide)[-1]
        return Measured(np.inf) if largest.high <= 0 else 1 / largest

    def _cond1_U(self) -> Measured:
        """||U||_1 ||U^-1||_1 = (1 + gamma (1 - 2 min_j S_jj)) / (1 - gamma)."""
        smallest = Measured(float(np.diag(self.S).min()), 4 * EPS)
        return (1 + self.gamma * (1 - 2 * smallest)) / (1 - measured(self.gamma))


_MEASURES: dict[str, Callable[[Any], Measured]] = {
    "loss": lambda s: s.loss,
    "loss_star": lambda s: s.model.infimum,
    "gap": lambda s: s.gap,
    "residual": lambda s: s.residual,
    "gradient": lambda s: errors.together(s._gradient_norms().values()),
    "gradient.A": lambda s: s._gradient_norms()["A"],
    "gradient.B": lambda s: s._gradient_norms()["B"],
    "equilibrium.residual": lambda s: s._equilibrium()[0],
    "equilibrium.error": lambda s: s._equilibrium()[1],
    "norm2.A": lambda s: errors.norm2(s.A, exact=s.again.A),
    "norm2.B": lambda s: errors.norm2(s.B, exact=s.again.B),
    "norm1.B": lambda s: errors.norm1(s.B, exact=s.again.B),
    "norm1.Z": lambda s: errors.norm1(s.Z, s.Z_radius * np.sqrt(s.my), s.again.Z),
    "norm2.Z": lambda s: errors.norm2(s.Z, s.Z_radius, s.again.Z),
    "norm2.U_inverse": lambda s: 1 / s.U_smallest,
    "norm.Q": lambda s: errors.frobenius(s.Q, s.outer.gradient_error, s.exact_Q),
    "lambda_min_D": lambda s: s.lambda_min_D,
    "lambda_independent": lambda s: s.lambda_independent,
    "lambda_independent_sharp": lambda s: s.lambda_independent_sharp,
    "sigma_min_Phi": lambda s: s.model.outer.factored.last,
    "sigma_pos_Phi": lambda s: s.model.outer.factored.smallest_positive,
    "kappa": lambda s: s.model.outer.pl.kappa,
    "cond1_U": lambda s: s._cond1_U(),
    "delta_bar": lambda s: s._delta_bar(),
    "trust.stationarity": trust.stationarity,
    "trust.velocity": trust.velocity,
}
