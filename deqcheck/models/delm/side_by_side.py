"""Quantities of many states at once: narrow models spend their time on calls, not on numbers.

Every array has a leading axis, a slice for each state. The formulas and radii are those of
`DelmState`, which is the twin in the tests.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from deqcheck.linalg import errors
from deqcheck.linalg.followed import End, Ends, beside
from deqcheck.linalg.followed import measured as told
from deqcheck.linalg.stacked import lengths, ordinary
from deqcheck.losses.outer import Evaluations
from deqcheck.models.delm.radii import gradient_radii
from deqcheck.models.delm.spectrum import DENSE_LIMIT, LARGEST
from deqcheck.models.many import Looked, Many, one_by_one
from deqcheck.models.problem import Params
from deqcheck.records.lazy import cached_property
from deqcheck.records.measured import EPS, Measured

if TYPE_CHECKING:
    from deqcheck.models.delm.model import DelmModel
    from deqcheck.models.delm.state import DelmState

# So many states at most: more do not pay.
MOST = 64
# From this width on the ends of spectra are followed from state to state.
FOLLOWED = 48


def states_at_once(m: int, my: int) -> int:
    return MOST if m * my <= DENSE_LIMIT else 1


class Seen(NamedTuple):
    """Z, the gradient by B, and gamma S, of one state."""

    Z: np.ndarray
    G: np.ndarray
    weights: np.ndarray


class SideBySide(Looked):
    """A model at many parameters."""

    # The gradient by B, where it was seen.
    G: np.ndarray

    def __init__(
        self,
        model: DelmModel,
        A: np.ndarray,
        B: np.ndarray,
        seen: Sequence[Seen] | None = None,
        ends: Ends | None = None,
    ):
        """`ends`: those of states nearby."""
        self.model, self.A, self.B, self.ends = model, A, B, ends or Ends()
        self._seen = seen
        if seen is not None:
            self.Z, self.G = (np.array([each[i] for each in seen]) for i in (0, 1))
        self.m, self.my, self.gamma = model.m, model.my, model.gamma

    def some(self, rows: np.ndarray) -> SideBySide:
        found = SideBySide(self.model, self.A[rows], self.B[rows], ends=self.ends)
        for name in ("weights", "U", "Z", "G", "_z"):
            if name in self.__dict__:
                setattr(found, name, self.__dict__[name][rows])
        if self._seen is not None:
            found._seen = [self._seen[row] for row in rows]
        if "_outer" in self.__dict__:
            found._outer = Evaluations(*(each[rows] for each in self._outer))
        return found

    @property
    def fine(self) -> np.ndarray:
        with np.errstate(all="ignore"):
            known = ordinary(self.A) & ordinary(self.B) & (self._z**2 < LARGEST)
            if "_outer" in self.__dict__:
                known &= ordinary(self.Q) & np.isfinite(self.gap)
        return np.asarray(known)

    @cached_property
    def weights(self) -> np.ndarray:
        """gamma S: the exponentials are most of a state whose gradient is known."""
        if self._seen is not None:
            return np.array([each.weights for each in self._seen])
        E = np.exp(self.A - self.A.max(axis=1, keepdims=True))
        E *= self.gamma / np.add.reduce(E, axis=1, keepdims=True)
        found: np.ndarray = E
        return found

    @property
    def S(self) -> np.ndarray:
        found: np.ndarray = self.weights / self.gamma
        return found

    @cached_property
    def U(self) -> np.ndarray:
        found: np.ndarray = np.eye(self.m) - self.weights
        return found

    @cached_property
    def Z(self) -> np.ndarray:
        solved = np.linalg.solve(self.U.transpose(0, 2, 1), self.B.transpose(0, 2, 1))
        return np.ascontiguousarray(solved.transpose(0, 2, 1))

    @cached_property
    def _z(self) -> np.ndarray:
        return lengths(self.Z)

    @property
    def Z_radius(self) -> np.ndarray:
        return np.asarray(self._z * self.model.z_error)

    @cached_property
    def _outer(self) -> Evaluations:
        """The outer loss at Z."""
        return self.model.outer.evaluate_all(self.Z, self._z, self.Z_radius)

    @property
    def gap(self) -> np.ndarray:
        return self._outer.gap

    @property
    def error(self) -> np.ndarray:
        return self._outer.error

    @property
    def Q(self) -> np.ndarray:
        """The gradient of the outer loss."""
        return self._outer.gradient

    @cached_property
    def radius(self) -> np.ndarray:
        """As DelmModel.gradient_radius."""
        sizes = lengths(self.B), self._z, lengths(self.G)
        Q_error = self._outer.gradient_error
        radii = gradient_radii(self.model, *sizes, Q_error, self.model.inverse)
        return np.asarray(np.hypot(*radii))

    def norm_Q(self) -> Measured:
        value = lengths(self.Q)
        return Measured(value, self._outer.gradient_error + errors.summed(self.Q[0].size, value))

    def norm1_B(self) -> Measured:
        return _norm1(self.B, np.zeros(len(self.B)))

    def norm1_Z(self) -> Measured:
        return _norm1(self.Z, self.Z_radius * np.sqrt(self.my))

    def norm2_Z(self) -> Measured:
        if self.m * self.my == 1:
            return Measured(np.abs(self.Z[:, 0, 0]), self.Z_radius)
        vectors = min(self.m, self.my) == 1
        s = self._z[:, None] if vectors else np.linalg.svd(self.Z, compute_uv=False)
        return _weyl(s, 0, self.Z_radius, max(self.m, self.my))

    @cached_property
    def _U_singular(self) -> np.ndarray:
        found: np.ndarray = np.linalg.svd(self.U, compute_uv=False)
        return found

    def _singular(self, i: int) -> Measured:
        s = self._U_singular
        return _weyl(s, i, 4 * EPS * self.gamma * math.sqrt(self.m), self.m)

    @cached_property
    def _grams(self) -> list[np.ndarray]:
        return [U.T @ U for U in self.U]

    @cached_property
    def _lowest(self) -> list[End]:
        """Of U."""
        each = zip(self.U, self._grams, strict=True)
        return [self.ends.of("U", U, G, upper=False) for U, G in each]

    @cached_property
    def _highest(self) -> list[End]:
        """Of U M^-1/2, for one output: its Gram matrix is that of U, scaled."""
        each = zip(self._factor(), self._grams, self._roots, strict=True)
        return [self.ends.of("F", F, G * r * r[:, None], upper=True) for F, G, r in each]

    def norm2_U_inverse(self) -> Measured:
        if self.m < FOLLOWED:
            return 1 / self._singular(-1)
        return 1 / told(self._lowest).widened(4 * EPS * self.gamma * math.sqrt(self.m))

    def lambda_min_D(self) -> Measured:
        if self.my >= self.m:
            return 1 / self._singular(0) ** 2
        if self.my == 1 and self.m >= FOLLOWED:
            return 1 / told(self._highest).widened(self._factor_radius()) ** 2
        s = np.linalg.svd(self._factor(), compute_uv=False)
        return 1 / _weyl(s, 0, self._factor_radius(), self.m * self.my) ** 2

    def _factor(self) -> np.ndarray:
        """(U kron I) blockdiag(M_k^-1/2), as spectrum.block_factorised makes it; for one output its
        blocks are numbers."""
        if self.my == 1:
            return np.asarray(self.U * self._roots[:, None, :])
        S = self.S
        columns = S.transpose(0, 2, 1)[:, :, None, :]
        Zs = (self.Z @ S).transpose(0, 2, 1)[:, :, :, None]
        N = self.Z[:, None] * columns - Zs * columns
        P, s, _ = np.linalg.svd(N, full_matrices=False)
        shrink = 1 - 1 / np.sqrt(1 + (self.gamma * s) ** 2)
        roots = np.eye(self.my) - (P * shrink[:, :, None, :]) @ P.transpose(0, 1, 3, 2)
        blocks = np.einsum("cik,ckab->ciakb", self.U, roots)
        order = self.m * self.my
        return np.asarray(blocks.reshape(-1, order, order))

    @cached_property
    def _roots(self) -> np.ndarray:
        """M_k^-1/2 for one output: gamma J_k Z^T has the entries gamma s_jk (z_j - Z s_k)."""
        N = self.Z.transpose(0, 2, 1) - self.Z @ self.weights / self.gamma
        N *= self.weights
        N *= N
        return np.asarray(1 / np.sqrt(1 + np.add.reduce(N, axis=1)))

    def _factor_radius(self) -> np.ndarray:
        """As spectrum._factor_radius."""
        sizes = np.abs(self.U)
        size = np.sqrt(sizes.sum(axis=1).max(axis=1) * sizes.sum(axis=2).max(axis=1))
        N_radius = self.Z_radius + 8 * EPS * self.m * self._z
        lost = 0.39 * self.gamma * N_radius + 8 * EPS * self.my
        return np.asarray(size * lost + 4 * EPS * np.sqrt(self.m))

    def measure(self, name: str) -> Measured:
        if name in self.measures and (self.my == 1 or self.m * self.my <= DENSE_LIMIT):
            return self.measures[name](self)
        return one_by_one(self._alone, name)

    def values(self, name: str, near: Looked, rows: np.ndarray) -> np.ndarray:
        """Along the singular vectors of the states nearby, where these serve."""
        assert isinstance(near, SideBySide)
        if name == "norm2.U_inverse" and self.m >= FOLLOWED:
            found = beside(self.U, [near._lowest[row] for row in rows])
        elif name == "lambda_min_D" and self.my == 1 and self.m >= FOLLOWED:
            found = beside(self._factor(), [near._highest[row] for row in rows]) ** 2
        else:
            return super().values(name, near, rows)
        return super().values(name, near, rows) if np.isnan(found).any() else 1 / found

    @cached_property
    def _alone(self) -> list[DelmState]:
        at = zip(self.A, self.B, strict=True)
        return [self.model.at({"A": A, "B": B}) for A, B in at]

    measures: ClassVar[dict[str, Callable[[SideBySide], Measured]]] = {
        "norm1.B": norm1_B,
        "norm1.Z": norm1_Z,
        "norm2.Z": norm2_Z,
        "norm2.U_inverse": norm2_U_inverse,
        "norm.Q": norm_Q,
        "lambda_min_D": lambda_min_D,
    }


def _norm1(a: np.ndarray, radius: np.ndarray) -> Measured:
    columns = np.abs(np.ascontiguousarray(a.transpose(0, 2, 1)))
    value = columns.sum(axis=2).max(axis=1)
    return Measured(value, radius + errors.summed(a.shape[1], value))


def _weyl(s: np.ndarray, i: int, radius: np.ndarray | float, order: int) -> Measured:
    """The i-th of the singular values in each row, of matrices whose longer side is this."""
    return Measured(s[:, i], radius + errors.lapack((order,), 1.0) * s[:, 0], "Weyl")


class ManyDelm(Many):
    def __init__(self, model: DelmModel):
        self.model, self.ends = model, Ends()

    def gradient(self, theta: Params, beside: Any = None) -> tuple[Params, Seen]:
        gradient, Z, weights = self.model.traced(theta)
        return gradient, Seen(Z, gradient["B"], weights)

    def at(self, theta: Params, seen: Sequence[Seen]) -> SideBySide:
        return SideBySide(self.model, theta["A"], theta["B"], seen, self.ends)


def quantities(
    model: DelmModel, states: Sequence[DelmState], names: Sequence[str]
) -> list[dict[str, Measured]]:
    """Of each state; those that are not known here are measured state by state."""
    A, B = (np.stack([state.theta[name] for state in states]) for name in "AB")
    stack = SideBySide(model, A, B)
    with np.errstate(all="ignore"):
        columns = {n: SideBySide.measures[n](stack) for n in names if n in SideBySide.measures}
    found = []
    for i, (state, fine) in enumerate(zip(states, stack.fine.tolist(), strict=True)):
        row = {}
        for name in names:
            column = columns.get(name) if fine else None
            row[name] = state.measure(name) if column is None else column[i]
        found.append(row)
    return found
