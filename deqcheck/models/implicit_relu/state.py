"""A ReLU implicit network at given parameters: its equilibrium and all that follows from it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from deqcheck.linalg import arccos, errors, exact, exact_arccos
from deqcheck.linalg.certificates import Contraction
from deqcheck.linalg.exact_zeros import Support, product_reach, shared_pattern, why_dependent
from deqcheck.linalg.relu_equilibrium import Equilibrium, relu
from deqcheck.linalg.wide import WIDE
from deqcheck.models.implicit_relu import spectrum
from deqcheck.models.implicit_relu.exact import ExactImplicit
from deqcheck.models.implicit_relu.held import HeldImplicit
from deqcheck.models.implicit_relu.iterates import Iterates
from deqcheck.models.memory import Memory
from deqcheck.models.problem import Kinks, NotCertified, Params
from deqcheck.models.relu_state import Canonical, ReluState
from deqcheck.records.lazy import cached_property
from deqcheck.records.measured import EPS, Measured, counted, given, nonnegative
from deqcheck.records.tower import Again

if TYPE_CHECKING:
    from deqcheck.models.implicit_relu.model import ImplicitReluModel


class ImplicitReluState(ReluState):
    """In canonical form the equilibrium is relu(gamma A^T Z + Phi^T) (m x N), read out by b."""

    def __init__(self, model: ImplicitReluModel, theta: Params, memory: Memory | None = None):
        super().__init__(model.y, theta, memory)
        self.model = model
        self.X, self.gamma, self.N = model.X, model.gamma, model.N
        self.W, self.A, self.b = theta["W"], theta["A"], theta["b"]
        self.m = len(self.b)

    def renewed(self) -> ImplicitReluState:
        return ImplicitReluState(self.model, self.theta, self._memory)

    @property
    def a(self) -> np.ndarray:
        return self.b

    @property
    def inputs(self) -> np.ndarray:
        return self.X.T

    @cached_property
    def XW(self) -> np.ndarray:
        return self.X @ self.W

    @cached_property
    def on(self) -> np.ndarray:
        """E: where X W > 0 (N x m); on a kink the slope that is chosen."""
        return self.XW > 0

    @cached_property
    def Phi(self) -> np.ndarray:
        return relu(self.XW)

    @cached_property
    def Phi_radius(self) -> float:
        """Rounding of X W, which the ReLU does not enlarge, and which dead units do not pass on."""
        size = self.model.X_size * errors.length(self.W)
        radius = errors.product(self.model.d, size)
        dead = self.XW.max() <= 0 and (self.XW + self.XW_reach).max() <= 0
        return 0.0 if dead else radius

    @cached_property
    def diagonal_A(self) -> np.ndarray | None:
        """The diagonal of A, where A has no other entries: then its spectrum is exact."""
        a = np.diag(self.A)
        return a if np.count_nonzero(self.A) == np.count_nonzero(a) else None

    @cached_property
    def norm_A(self) -> Measured:
        a = self.diagonal_A
        if a is None:
            # On which side of 1 it lies does not matter, only gamma times it.
            return errors.nth_singular_value(self.A, 1, exact=exact.array(self.A))
        return given(float(np.abs(a).max()), exact.norm2(exact.array(self.A)))

    @cached_property
    def gamma0(self) -> Measured:
        """gamma |A|: the contraction factor."""
        return given(self.gamma) * self.norm_A

    @property
    def _cheap_gamma0(self) -> float:
        """A bound on gamma |A|, rounded outward."""
        bound = self._memory.equilibria.norm_bound(self.A, 1 / self.gamma)
        return self.gamma * bound * (1 + 2 * EPS)

    @property
    def canonical(self) -> Canonical:
        scaled = self.gamma * self.A.T
        support = partial(_support, self.A, self.X, self.W, self.XW)
        return Canonical(scaled, self.Phi.T, EPS * errors.length(scaled), self.Phi_radius, support)

    @property
    def weights(self) -> tuple[np.ndarray, np.ndarray]:
        """With X W as it is where a unit of the inner layer is on."""
        return self.gamma * self.A.T, np.where(self.on, self.XW, 0.0).T

    @property
    def system(self) -> tuple[np.ndarray, np.ndarray]:
        if not self._cheap_gamma0 < 1:
            self._contraction()
        return self.weights

    def _contraction(self) -> Contraction:
        q = self.gamma0.high if self.m < WIDE else self._cheap_gamma0
        if not q < 1:
            raise NotCertified(
                f"gamma |A| = {self.gamma0.value:.6g} is not below 1, and beyond that this theory "
                "does not know whether there is an equilibrium: take a smaller gamma or A"
            )
        return Contraction(float(q))

    def solve(self) -> Equilibrium:
        W, C, W_radius, C_radius, support = self.canonical
        found = self._picard(W, C, self._contraction())
        return replace(found, C_radius=C_radius, W_radius=W_radius, support=support)

    @cached_property
    def XW_reach(self) -> np.ndarray:
        """Radius of each entry of X W: 0 only where nothing is added up."""
        return product_reach(self.X, self.W)

    @cached_property
    def on_doubtful(self) -> np.ndarray:
        """Where it is not known whether X W > 0."""
        found: np.ndarray = (np.abs(self.XW) <= self.XW_reach) & (self.XW_reach > 0)
        return found

    @cached_property
    def dependent_inputs(self) -> str:
        """Z is a linear map of X on one pattern of both layers."""
        found = self.equilibrium
        doubtful = np.vstack([found.doubtful, self.on_doubtful.T])
        return shared_pattern(np.vstack([found.mask, self.on.T]), doubtful, self.inputs)

    @property
    def EP_radius(self) -> float:
        """Of E o P: on the other side of a doubtful kink the entry of P is there or not."""
        return self.V_radius + errors.length(self.P[self.on_doubtful])

    @cached_property
    def kinks(self) -> Kinks:
        """Zeros of both layers of pre-activations, but for samples on which nothing can change
        them: U = gamma z A stays 0 where z = 0, and x W where x = 0."""
        H, XW = self.equilibrium.H, self.XW.T
        above = np.concatenate([self.equilibrium.mask.ravel(), XW.ravel() > 0])
        zeros = (H == 0)[:, self.Z.any(axis=0)].sum() + (XW == 0)[:, self.X.any(axis=1)].sum()
        return Kinks(above, int(zeros), self.alike, np.concatenate([H.ravel(), XW.ravel()]))

    @cached_property
    def alike(self) -> np.ndarray:
        """Of the outer layer, then of the inner one."""
        outer = super().alike
        return np.concatenate([outer, outer.size + outer])

    def held(self, above: np.ndarray) -> HeldImplicit:
        return HeldImplicit(self, above)

    def with_slopes(self, slopes: np.ndarray) -> ReluState:
        other = super().with_slopes(slopes)
        assert isinstance(other, ImplicitReluState)
        inner = slopes[self.Z.size :].reshape(self.Z.shape).T
        other.on = np.where(np.isnan(inner), self.on, inner)
        other.on_doubtful = self.on_doubtful & np.isnan(inner)
        return other

    @property
    def kink_count(self) -> Measured:
        """All pre-activations that are zero."""
        U, XW = self.equilibrium, (self.XW == 0) & (self.XW_reach == 0)
        sure = int(U.exact_zeros.sum() + XW.sum())
        return counted(sure, sure + int(U.doubtful.sum() + self.on_doubtful.sum()))

    @property
    def _not_off(self) -> np.ndarray:
        """The units that are not certainly off (m x N)."""
        U = self.equilibrium
        return np.asarray(U.mask | U.doubtful | U.exact_zeros)

    @cached_property
    def _heard(self) -> tuple[np.ndarray, np.ndarray]:
        """Where a change of a unit's state may change the prediction to first order, and where it
        certainly does (m x N): by b, or by A through units that are not off. A unit that is not
        heard has p = 0 whatever its slope, and what it does at its kink is of second order."""
        links, may = (self.A != 0).astype(float), np.repeat((self.b != 0)[:, None], self.N, axis=1)
        while True:
            grown = may | (links @ (may & self._not_off) > 0)
            if np.array_equal(grown, may):
                break
            may = grown
        U = self.equilibrium
        incoming = self.b[:, None] + U.W.T @ self.V
        size = errors.length(self.b) + U.W_size * (errors.length(self.V) + self.V_radius)
        radius = U.W_size * self.V_radius + errors.product(self.m, size)
        return may, may & (np.abs(incoming) > radius)

    def kinks_in_the_way(self, may: np.ndarray, does: np.ndarray) -> Measured:
        """How many zeros keep the predictions of some samples from being differentiable, of those
        samples that may count and those that do (a flag for each). Nothing can change U = gamma z A
        where z = 0, nor x W where x = 0."""
        U, (may_hear, hears) = self.equilibrium, self._heard
        may_hear, hears = may_hear & may, hears & does
        moves = (U.H - U.H_error > 0).any(axis=0)
        may_move = moves | U.doubtful.any(axis=0)
        given = np.asarray(self.X != 0).any(axis=1, keepdims=True)
        XW_zero = ((self.XW == 0) & (self.XW_reach == 0) & given).T
        sure = (U.exact_zeros & moves | XW_zero & (U.mask | U.exact_zeros) & ~U.doubtful) & hears
        open_ = (
            U.exact_zeros & may_move | U.doubtful | (XW_zero | self.on_doubtful.T) & self._not_off
        )
        return counted(int(sure.sum()), int((sure | open_ & may_hear).sum()))

    @property
    def features(self) -> Mapping[str, tuple[np.ndarray, float]]:
        return {"Z": (self.Z, self.equilibrium.error)}

    def tangent(self, d: Params) -> tuple[np.ndarray, float]:
        """How fast the predictions move if the parameters move by d, and the radius of that."""
        dZ, off = self.tangent_of_Z(d)
        db = d.get("b", np.zeros_like(self.b))
        size = errors.length(dZ) * errors.length(self.b) + errors.length(self.Z) * errors.length(db)
        radius = errors.length(self.b) * off + errors.length(db) * self.equilibrium.error
        moved: np.ndarray = dZ.T @ self.b + self.Z.T @ db
        return moved, radius + errors.product(self.m, size)

    def tangent_of_Z(self, d: Params) -> tuple[np.ndarray, float]:
        """How fast Z moves (m x N), and the radius of that: the linearised equation
        dZ = D o (gamma dZ A + gamma Z dA + E o (X dW)) on the fixed pattern, solved forwards and
        certified by its own defect."""
        U = self.equilibrium
        source, source_radius = self._source(d)
        if not (U.mask | U.doubtful).any():
            # No unit passes anything on.
            source, source_radius = np.zeros(self.Z.shape), 0.0
        dZ = U.on_its_pattern(source)
        incoming = U.W @ dZ + source
        defect = errors.length(np.where(U.mask, dZ - incoming, 0.0))
        noise = errors.product(self.m, (U.W_size * errors.length(dZ) + errors.length(source)))
        noise += U.W_radius * errors.length(dZ) + source_radius
        # On the other side of its kink a doubtful unit passes on what comes in, or nothing.
        radius = (defect + noise) * U.certificate.inverse
        if U.doubtful.any():
            radius += (errors.length(incoming[U.doubtful]) + noise) * U.certificate.inverse
        return dZ, radius

    def _source(self, d: Params) -> tuple[np.ndarray, float]:
        """gamma Z dA + E o (X dW) in canonical form (m x N), and its radius."""
        source, radius = np.zeros(self.Z.shape), 0.0
        if "A" in d:
            source += self.gamma * (d["A"].T @ self.Z)
            rounded = errors.product(self.m, errors.length(self.Z))
            radius += self.gamma * errors.length(d["A"]) * (self.equilibrium.error + rounded)
        if "W" in d:
            XdW = self.X @ d["W"]
            source += (self.on * XdW).T
            radius += errors.length(XdW[self.on_doubtful & self._not_off.T])
            size = self.model.X_size * errors.length(d["W"])
            radius += errors.product(self.model.d, size)
        return source, radius

    @property
    def P(self) -> np.ndarray:
        """Rows p_i = (I - gamma D_i A)^-1 D_i b (N x m)."""
        return self.V.T

    def assembled(
        self, Z: np.ndarray, E: np.ndarray, r: np.ndarray, samples: slice = slice(None)
    ) -> Params:
        """dW = X^T (E o (r . P)), dA = gamma Z^T (r . P), db = Z^T r."""
        return {
            "W": self.X[samples].T @ (self.on[samples] * E.T),
            "A": self.gamma * (Z @ E.T),
            "b": Z @ r,
        }

    @cached_property
    def computed(self) -> ExactImplicit:
        return ExactImplicit(self.X, self.W, self.A, self.gamma)

    def exact_weights(self) -> tuple[Again, Again]:
        return self.computed.weights

    def exact_gradient(self) -> dict[str, Again]:
        return self.computed.gradient(self.again)

    def gradient_radii(self) -> dict[str, float]:
        X, Z, E, r = self.model.X_size, *(errors.length(a) for a in (self.Z, self.E, self.r))
        dZ, dE = self.equilibrium.error, self.E_radius
        sums = errors.product(self.N, 1.0)
        return {
            "W": X * (dE + sums * E + errors.length(self.E.T[self.on_doubtful])),
            "A": self.gamma * (dZ * (E + dE) + Z * (dE + sums * E)),
            "b": dZ * (r + self.r_radius) + Z * (self.r_radius + sums * r),
        }

    @cached_property
    def speed_of_Z(self) -> Measured:
        """|dZ/dt|_F along the gradient flow. The direction has its own radius, which passes on by
        |dZ| <= (gamma |Z| |dA| + |X| |dW|)/(1 - gamma |A|)."""
        dZ, off = self.tangent_of_Z({name: -self.gradient[name] for name in ("W", "A")})
        radii = self.gradient_radii()
        away = self.gamma * errors.length(self.Z) * radii["A"] + self.model.X_size * radii["W"]
        return errors.frobenius(dZ, off + away * self.equilibrium.certificate.inverse)

    @cached_property
    def sigma_min_Phi(self) -> Measured:
        """The N-th singular value of Phi."""
        found = errors.nth_singular_value(self.Phi, self.N, self.Phi_radius, self.computed.Phi)
        return given(0, found.again) if found.low <= 0 and self._why_Phi_is_dependent else found

    @property
    def _why_Phi_is_dependent(self) -> str:
        may_differ = (self.XW + self.XW_reach > 0).T
        return why_dependent(may_differ, self.inputs) or shared_pattern(
            self.on.T, self.on_doubtful.T, self.inputs
        )

    @cached_property
    def H(self) -> np.ndarray:
        return self.H_with_radius[0]

    @cached_property
    def H_with_radius(self) -> tuple[np.ndarray, float]:
        """ZZ^T + gamma^2 (ZZ^T) o (PP^T) + (XX^T) o ((E o P)(E o P)^T), Lemma 4.1."""
        ZZ = _gram(self.Z.T, self.equilibrium.error)
        PP = _gram(self.P, self.V_radius)
        XX = _gram(self.X, 0.0)
        EP = _gram(self.on * self.P, self.EP_radius)
        M, Pi = _hadamard(ZZ, PP), _hadamard(XX, EP)
        H: np.ndarray = ZZ[0] + self.gamma**2 * M[0] + Pi[0]
        radius = ZZ[1] + self.gamma**2 * M[1] + Pi[1] + 4 * EPS * errors.length(H)
        return H, radius

    @cached_property
    def lambda_min_H(self) -> Measured:
        """H is a sum of three J J^T."""
        H, radius = self.H_with_radius
        return nonnegative(errors.eigenvalue(H, 0, radius, self.computed.H(self.again)))

    @cached_property
    def X_fro(self) -> Measured:
        return errors.frobenius(self.X, exact=self.computed.X)

    @cached_property
    def lambda_star_G(self) -> Measured:
        """Smallest eigenvalue of G = E[relu(Xw) relu(Xw)^T], w normal: 0 with any zero sample."""
        if not self.X.any(axis=1).all():
            return given(0)
        # Each angle is good to about d eps, and |d G_ij / d angle| <= |x_i| |x_j| / 2.
        radius = (self.model.d + 8) * EPS * self.model.X_size * self.model.X_size
        again = exact_arccos.gram(exact.transpose(self.computed.X))
        return errors.eigenvalue(arccos.gram(self.X.T), 0, radius, again)

    @property
    def names(self) -> tuple[str, ...]:
        return spectrum.listed(self, super().names)

    further: ClassVar[Mapping[str, Callable[[Any], Measured]]] = {
        "lambda_min_H": lambda s: s.lambda_min_H,
        "sigma_min_Q": lambda s: spectrum.sigma_min_Q(s),
        "gamma0": lambda s: s.gamma0,
        "norm2.Phi": lambda s: errors.norm2(s.Phi, s.Phi_radius, s.computed.Phi),
        "Phi_fro": lambda s: errors.frobenius(s.Phi, s.Phi_radius, s.computed.Phi),
        "Z_fro": lambda s: errors.frobenius(s.Z, s.equilibrium.error, s.again.Z),
        "Z_speed": lambda s: s.speed_of_Z,
        "sweeps": lambda s: Iterates(s).measured_count,
        "kink_count": lambda s: s.kink_count,
        "X_fro": lambda s: s.X_fro,
        "lambda_star_G": lambda s: s.lambda_star_G,
    }


def _support(A: np.ndarray, X: np.ndarray, W: np.ndarray, XW: np.ndarray) -> Support:
    """Phi is exactly zero where X W is certainly negative, too."""
    reach = product_reach(X, W)
    return Support(A.T != 0, np.where(XW + reach < 0, 0.0, reach).T)


Radius = tuple[np.ndarray, float]


def _gram(a: np.ndarray, radius: float) -> Radius:
    """a a^T with its Frobenius radius."""
    size = errors.length(a)
    rounding = errors.product(a.shape[1], size * size)
    return a @ a.T, 2 * size * radius + radius * radius + rounding


def _hadamard(a: Radius, b: Radius) -> Radius:
    """|a o b - a' o b'| <= max|a| |b - b'| + max|b| |a - a'| + |a - a'| |b - b'|."""
    largest_a, largest_b = float(np.abs(a[0]).max()), float(np.abs(b[0]).max())
    product: np.ndarray = a[0] * b[0]
    return product, largest_a * b[1] + largest_b * a[1] + a[1] * b[1] + EPS * errors.length(product)
