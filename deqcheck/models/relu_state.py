"""What the three ReLU equilibrium models share: half the squared residual of a linear read-out.

In canonical form Z = relu(W Z + C) (m x n), yhat = Z^T a, r = yhat - y, loss = |r|^2/2. Every
gradient is made from Z, r and the sensitivities V, whose column i is (I - J_i W^T)^-1 J_i a.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any, ClassVar, NamedTuple

import numpy as np

from deqcheck.linalg import errors
from deqcheck.linalg.certificates import Certificate, Contraction
from deqcheck.linalg.entries import finite, nonzero, same
from deqcheck.linalg.equilibria import Hint
from deqcheck.linalg.exact_zeros import Support, first_alike, shared_pattern, why_dependent
from deqcheck.linalg.relu_equilibrium import Equilibrium, followed, picard
from deqcheck.linalg.stacked import Places, narrow
from deqcheck.linalg.wide import WIDE
from deqcheck.models import relu_radii
from deqcheck.models.exact_relu_state import ExactReluState, smallest_entry
from deqcheck.models.memory import Memory
from deqcheck.models.problem import Held, Kinks, NotCertified, Objective, Params, Plain, State
from deqcheck.models.relu_held import HeldRelu
from deqcheck.models.relu_measures import measures
from deqcheck.records.lazy import cached_property
from deqcheck.records.measured import EPS, Measured, given
from deqcheck.records.tower import Again

# An equilibrium whose certified error exceeds this, relative to its size, is none.
CERTIFIED = 1e-6
# A pre-activation smaller than this, relative to the largest, is as good as on a kink.
NEAR_KINK = 1e-12


class Canonical(NamedTuple):
    """Z = relu(W Z + C), how far W and C may be off (Frobenius), and where they are exactly 0."""

    W: np.ndarray
    C: np.ndarray
    W_radius: float
    C_radius: float
    support: Callable[[], Support]


class Seen(NamedTuple):
    """An equilibrium that was found elsewhere: Z, W Z + C, V and W^T V + a."""

    Z: np.ndarray
    H: np.ndarray
    V: np.ndarray
    incoming: np.ndarray


class ReluState(State):
    """A ReLU equilibrium model at given parameters; lazy, each matrix once."""

    # What the model can measure beyond the names that every model has.
    further: ClassVar[Mapping[str, Callable[[Any], Measured]]] = {}

    def __init__(self, y: np.ndarray, theta: Params, memory: Memory | None):
        self.y, self.theta = y, theta
        self._memory = memory or Memory()
        # Where the iterations start.
        self._hint: Hint | None = None

    @property
    @abstractmethod
    def canonical(self) -> Canonical:
        """The equation."""

    @abstractmethod
    def solve(self) -> Equilibrium:
        """The equilibrium in canonical form, with its certificate."""

    @property
    @abstractmethod
    def a(self) -> np.ndarray:
        """The read-out weights."""

    @property
    @abstractmethod
    def inputs(self) -> np.ndarray:
        """One column for each sample."""

    @abstractmethod
    def assembled(
        self, Z: np.ndarray, E: np.ndarray, r: np.ndarray, samples: slice = slice(None)
    ) -> Params:
        """The gradient of something with the adjoints E of the pre-activations and r of the
        predictions, of some samples, at their states Z; the read-out comes last."""

    @property
    @abstractmethod
    def weights(self) -> tuple[np.ndarray, np.ndarray]:
        """W and C of the canonical form."""

    @property
    @abstractmethod
    def system(self) -> tuple[np.ndarray, np.ndarray]:
        """The same. Raises NoEquilibrium where it is not well-posed."""

    @abstractmethod
    def exact_weights(self) -> tuple[Again, Again]:
        """W and C of the canonical form, to be computed again."""

    @abstractmethod
    def exact_gradient(self) -> dict[str, Again]:
        """Each part of the gradient, to be computed again."""

    def exact_descent(self) -> tuple[Again, Mapping[str, Again]] | None:
        gap = self.loss.again
        return None if gap is None else (gap, self.exact_gradient())

    @cached_property
    def again(self) -> ExactReluState:
        """The state, to be computed again. Its pattern is verified there; that the equilibrium is
        the only one is known here."""
        return ExactReluState(*self.exact_weights(), self.equilibrium.mask, self.a, self.y)

    @abstractmethod
    def gradient_radii(self) -> dict[str, float]:
        """Frobenius radius of each part of the gradient (on the computed activation pattern)."""

    @cached_property
    def equilibrium(self) -> Equilibrium:
        with np.errstate(all="ignore"):
            return self._certified(self.solve())

    def _certified(self, found: Equilibrium) -> Equilibrium:
        size = errors.length(found.Z)
        # C may be the small rest of larger products.
        made_of = max(errors.length(found.C), found.C_radius / EPS)
        if not found.error <= CERTIFIED * max(size, made_of) < math.inf:
            raise NotCertified(
                f"residual {found.residual:.2g} after {found.sweeps} sweeps, certified error "
                f"{found.error:.2g} at a state of size {size:.2g}"
            )
        return found

    def take(self, seen: Seen, q: float) -> None:
        """In place of what the state would compute itself; the map contracts by q."""
        W, C, W_radius, C_radius, support = self.canonical
        found = Equilibrium(W, C, seen.Z, Contraction(q), 0, C_radius, W_radius)
        found = replace(found, pre_activations=seen.H, support=support)
        self.equilibrium = self._certified(found)
        radius = found.sensitivity_radius(self.a, seen.V, seen.incoming)
        self._sensitivities = seen.V, radius

    def _picard(self, W: np.ndarray, C: np.ndarray, certificate: Certificate) -> Equilibrium:
        """From the last equilibria where sweeps dominate the cost, from the last pattern where the
        calls themselves do."""
        if narrow(*C.shape):
            return self._near_the_last(W, C, certificate)
        if len(W) < WIDE or not isinstance(certificate, Contraction):
            return picard(W, C, certificate)
        self._hint = self._memory.equilibria.hint(W, C, self.a)
        found = picard(W, C, certificate, self._hint.state)
        if found.pre_activations is not None:
            self._hint.keep_state(found.Z, found.H)
        return found

    def _near_the_last(self, W: np.ndarray, C: np.ndarray, certificate: Certificate) -> Equilibrium:
        near, found = self._memory.places, None
        if near is not None and near.mask.shape[1:] == C.shape:
            found = followed(W, C, certificate, near)
        found = found or picard(W, C, certificate)
        if near is None or not (
            near.mask.shape[1:] == found.mask.shape and same(near.mask, found.mask)
        ):
            self._memory.places = Places(found.mask[None])
        return found

    @property
    def Z(self) -> np.ndarray:
        return self.equilibrium.Z

    @cached_property
    def r(self) -> np.ndarray:
        found: np.ndarray = self.Z.T @ self.a - self.y
        return found

    @property
    def predictions(self) -> np.ndarray:
        found: np.ndarray = self.Z.T @ self.a
        return found

    @cached_property
    def r_radius(self) -> float:
        """|dr| <= |a| |dZ|_F, plus the rounding of the read-out, if it is not 0."""
        a, dZ = errors.length(self.a), self.equilibrium.error
        if not (nonzero(self.a) and nonzero(self.Z)):
            return a * dZ
        sizes = a, errors.length(self.Z), errors.length(self.y)
        return float(relu_radii.of_residual(len(self.Z), *sizes, dZ))

    @cached_property
    def silent_samples(self) -> np.ndarray:
        """Those whose column of Z is exactly 0, and with it that of V."""
        silent: np.ndarray = ~np.any(self.equilibrium.mask, axis=0)
        if silent.any():
            silent &= np.all(self.equilibrium.certainly_zero, axis=0)
        return silent

    @cached_property
    def read_residual(self) -> float:
        """|r| over the samples that Z r has a term of."""
        silent = self.silent_samples
        return errors.length(self.r[~silent] if silent.any() else self.r)

    @cached_property
    def residual(self) -> Measured:
        return errors.frobenius(self.r, self.r_radius, self.again.r)

    @cached_property
    def loss(self) -> Measured:
        total = errors.sum_of_squares(self.r, self.r_radius, self.again.r)
        # Halving is exact.
        return Measured(total.value / 2, total.error / 2, again=(total / 2).again)

    @property
    def loss_alone(self) -> float:
        return errors.squares(self.r) / 2

    @cached_property
    def _sensitivities(self) -> tuple[np.ndarray, float]:
        found, hint = self.equilibrium, self._hint
        V, radius = found.sensitivities(self.a, None if hint is None else hint.adjoint)
        if hint is not None and finite(V):
            hint.keep_adjoint(V)
        return V, radius

    @property
    def V(self) -> np.ndarray:
        return self._sensitivities[0]

    @property
    def V_radius(self) -> float:
        return self._sensitivities[1]

    @cached_property
    def E(self) -> np.ndarray:
        """V with column i scaled by r_i: d loss / d pre-activation."""
        found: np.ndarray = self.V * self.r
        return found

    @cached_property
    def E_radius(self) -> float:
        widest = float(np.linalg.norm(self.V, axis=0).max(initial=0.0))
        largest = float(np.abs(self.r).max(initial=0.0))
        return float(relu_radii.of_scaled(widest, largest, self.V_radius, self.r_radius))

    @cached_property
    def gradient(self) -> Params:
        """The fast gradient of the loss."""
        return self.assembled(self.Z, self.E, self.r)

    def gradient_of(self, weights: np.ndarray) -> tuple[Params, float]:
        """Columns that are left out make no radius larger."""
        parts = self.assembled(self.Z, self.E * weights, self.r * weights)
        return parts, float(np.max(np.abs(weights))) * self.gradient_radius

    def _kinks(self, within: float) -> int:
        """Pre-activations of at most this size where the slope chosen at 0 changes the gradient.

        Where a + W^T V vanishes at such a unit, V solves its equation with every slope there.
        """
        at_kink = np.abs(self.equilibrium.H) <= within
        if not at_kink.any():
            return 0
        incoming = self.a[:, None] + self.equilibrium.W.T @ self.V
        return int(np.sum(at_kink & (incoming != 0)))

    @property
    def objective(self) -> Objective:
        return Objective(
            self.loss.value, self.loss.error, self.gradient, lambda: self.gradient_radius
        )

    @property
    def plain(self) -> Plain:
        return Plain(self.loss_alone, self.gradient)

    @property
    def kinks(self) -> Kinks:
        found = self.equilibrium
        return Kinks(found.mask.ravel(), self.kinks_that_matter, self.alike, found.H.ravel())

    @cached_property
    def alike(self) -> np.ndarray:
        """For each kink the first of the same unit in a sample with the same inputs."""
        return _alike(self.inputs.tobytes(), self.inputs.shape, len(self.a))

    def held(self, above: np.ndarray) -> Held:
        return HeldRelu(self, above)

    @abstractmethod
    def renewed(self) -> ReluState:
        """Another state at the same parameters."""

    def with_slopes(self, slopes: np.ndarray) -> ReluState:
        found = self.equilibrium
        other = self.renewed()
        # In place of what it would compute itself.
        other.equilibrium = replace(found, chosen=slopes[: found.Z.size].reshape(found.Z.shape))
        return other

    @cached_property
    def kink_margin(self) -> Measured:
        """min |pre-activation|: gradient formulas need it positive."""
        return replace(self.equilibrium.kink_margin, again=smallest_entry(self.again.relu.H))

    @cached_property
    def kinks_that_matter(self) -> int:
        return self._kinks(0.0)

    @property
    def warnings(self) -> tuple[str, ...]:
        largest = float(np.abs(self.equilibrium.H).max(initial=0.0))
        near = self._kinks(NEAR_KINK * largest)
        if not near:
            return ()
        return (
            f"{near} pre-activations are within {NEAR_KINK:g} of a kink, relative to the largest: "
            "the gradient is that of one side",
        )

    @cached_property
    def sigma_min_Z(self) -> Measured:
        """The n-th singular value of Z (m x n): exactly 0 when the columns must be dependent."""
        n = self.Z.shape[1]
        found = errors.nth_singular_value(self.Z, n, self.equilibrium.error, self.again.Z)
        return given(0, found.again) if found.low <= 0 and self.why_sigma_is_zero else found

    @cached_property
    def why_sigma_is_zero(self) -> str:
        """A reason that no rounding can touch, or nothing."""
        why = why_dependent(~self.equilibrium.certainly_zero, self.inputs) or self.dependent_inputs
        return why and f"{why}: sigma_min(Z) = 0"

    @cached_property
    def dependent_inputs(self) -> str:
        """Samples with the same active units whose inputs are dependent, if there are any."""
        found = self.equilibrium
        return shared_pattern(found.mask, found.doubtful, self.inputs)

    @property
    def gradient_radius(self) -> float:
        return math.hypot(*self.gradient_radii().values())

    @cached_property
    def gradient_norms(self) -> dict[str, Measured]:
        radii, exact = self.gradient_radii(), self.exact_gradient()
        return {
            name: errors.frobenius(g, radii[name], exact[name]) for name, g in self.gradient.items()
        }

    @cached_property
    def parameter_norms(self) -> dict[str, Measured]:
        """Those that were asked for."""
        return {}

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(measures(type(self), tuple(self.theta)))

    def measure(self, name: str) -> Measured:
        return measures(type(self), tuple(self.theta))[name](self)


@lru_cache(maxsize=16)
def _alike(inputs: bytes, shape: tuple[int, int], units: int) -> np.ndarray:
    """Along a run they stay the same."""
    first = first_alike(np.frombuffer(inputs).reshape(shape))
    found: np.ndarray = (len(first) * np.arange(units)[:, None] + first).ravel()
    return found
