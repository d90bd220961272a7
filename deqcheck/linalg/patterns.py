"""On a given activation pattern S the equilibrium equation is linear: (I - W_SS) z_S = c_S."""

from __future__ import annotations

from functools import cached_property, lru_cache

import numpy as np
import scipy

from deqcheck.linalg.stacked import Places, StackedPatterns, Systems, narrow

# The units and the samples of each pattern.
Columns = list[tuple[np.ndarray, np.ndarray]]


@lru_cache(maxsize=16)
def _distinct(mask: bytes, shape: tuple[int, int]) -> Columns:
    """The distinct patterns that are not empty. Between two kinks of a flow they stay the same."""
    active = np.frombuffer(mask, dtype=bool).reshape(shape)
    found: dict[bytes, list[int]] = {}
    for i, column in enumerate(active.T):
        found.setdefault(column.tobytes(), []).append(i)
    groups = [(np.flatnonzero(active[:, i[0]]), np.array(i)) for i in found.values()]
    return [(units, samples) for units, samples in groups if units.size]


@lru_cache(maxsize=16)
def _placed(mask: bytes, shape: tuple[int, int]) -> Places:
    return Places(np.frombuffer(mask, dtype=bool).reshape(1, *shape))


class Patterns:
    """The linear systems of each distinct activation pattern, factorised once; narrow ones are
    solved together."""

    def __init__(
        self,
        W: np.ndarray,
        mask: np.ndarray,
        together: Systems | StackedPatterns | None = None,
        factorised: bool = False,
    ):
        """`factorised`: narrow ones, too, which pays where few patterns are solved for often."""
        self.W, self.mask = W, mask
        if together is None and narrow(*mask.shape) and not factorised:
            together = StackedPatterns(W[None], _placed(mask.tobytes(), mask.shape))
        self._together = together

    @cached_property
    def _columns(self) -> Columns:
        return _distinct(self.mask.tobytes(), self.mask.shape)

    @cached_property
    def _groups(self) -> list[tuple[np.ndarray, np.ndarray, tuple[np.ndarray, np.ndarray]]]:
        groups = []
        for active, columns in self._columns:
            block = -self.W[active[:, None], active]
            block[np.diag_indices(active.size)] += 1.0
            # A singular block leaves inf or nan, which no solution with this pattern has.
            lu, pivots, _ = scipy.linalg.lapack.dgetrf(block, overwrite_a=True)
            groups.append((active, columns, (lu, pivots)))
        return groups

    def solve(self, C: np.ndarray) -> np.ndarray:
        """z_S = (I - W_SS)^-1 c_S in every column, zero off S."""
        if self._together is not None:
            (Z,) = self._together.solve(C[None])
            return np.asarray(Z)
        Z = np.zeros_like(C)
        for active, columns, lu in self._groups:
            at = (active[:, None], columns)
            Z[at] = scipy.linalg.lapack.dgetrs(*lu, C[at])[0]
        return Z

    def adjoint(self, a: np.ndarray) -> np.ndarray:
        """v_S = (I - W_SS)^-T a_S in every column, zero off S."""
        if self._together is not None:
            (V,) = self._together.adjoint(a[None])
            return np.asarray(V)
        V = np.zeros(self.mask.shape)
        for active, columns, lu in self._groups:
            V[active[:, None], columns] = scipy.linalg.lapack.dgetrs(*lu, a[active], trans=1)[
                0
            ].reshape(-1, 1)
        return V

    def one_adjoint(self, column: int, b: np.ndarray) -> np.ndarray:
        """v_S = (I - W_SS)^-T b_S for the pattern S of one column, zero off S."""
        v = np.zeros_like(b)
        for active, columns, lu in self._groups:
            if column in columns:
                v[active] = scipy.linalg.lapack.dgetrs(*lu, b[active], trans=1)[0]
        return v

    def cost(self) -> float:
        if self._together is not None:
            return float(2 / 3 * (np.count_nonzero(self.mask, axis=0) ** 3.0).sum())
        return float(sum(2 / 3 * active.size**3 for active, _ in self._columns))
