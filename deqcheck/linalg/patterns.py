"""On a given activation pattern S the equilibrium equation is linear: (I - W_SS) z_S = c_S."""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from deqcheck.linalg.late import scipy
from deqcheck.linalg.stacked import Places, StackedPatterns, Systems, narrow
from deqcheck.records.lazy import cached_property

# A narrow pattern that so many samples have is sooner factorised than solved for each of them.
SHARED = 2
# So are those of few samples with so many units: one by one they are factorised once, together they
# are solved twice, for states and adjoints.
FEW, BROAD = 16, 16


class Group(NamedTuple):
    """A pattern that is not empty."""

    units: np.ndarray
    samples: np.ndarray
    # Where the right-hand sides (m x n, row by row) and the matrix have its entries.
    rights: np.ndarray
    block: np.ndarray


def distinct(mask: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The distinct patterns, as columns in lexical order, and how many samples have each."""
    counts = Counter(column.tobytes() for column in mask.T)
    found = sorted(counts)
    columns = np.frombuffer(b"".join(found), dtype=bool).reshape(len(found), len(mask)).T
    return columns, np.array([counts[each] for each in found])


@lru_cache(maxsize=16)
def _distinct(mask: bytes, shape: tuple[int, int]) -> list[Group]:
    """The distinct patterns. Between two kinks of a flow they stay the same."""
    active = np.frombuffer(mask, dtype=bool).reshape(shape)
    found: dict[bytes, list[int]] = {}
    for i, column in enumerate(active.T):
        found.setdefault(column.tobytes(), []).append(i)
    groups = []
    for samples in map(np.array, found.values()):
        units = np.flatnonzero(active[:, samples[0]])
        if units.size:
            rights, block = units[:, None] * shape[1] + samples, units[:, None] * shape[0] + units
            groups.append(Group(units, samples, rights, block))
    return groups


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
        before: Patterns | None = None,
    ):
        """`factorised`: narrow ones, too, if that is sooner for states and adjoints;
        `before`: other patterns of the same W, of which those that stay are factorised already."""
        self.W, self.mask = W, mask
        self._known = {} if before is None or before.W is not W else before.factors
        if together is None and narrow(*mask.shape) and not (factorised and self._sooner):
            together = StackedPatterns(W[None], _placed(mask.tobytes(), mask.shape))
        self._together = together

    @property
    def _sooner(self) -> bool:
        m, n = self.mask.shape
        return bool((m >= BROAD and n <= FEW) or SHARED * len(self._groups) <= n)

    @cached_property
    def _groups(self) -> list[Group]:
        return _distinct(self.mask.tobytes(), self.mask.shape)

    @cached_property
    def _factored(self) -> list[tuple[Group, tuple[np.ndarray, np.ndarray]]]:
        """Of I - W_SS transposed: so LAPACK reads what is stored by rows."""
        found, F = [], np.eye(len(self.W)) - self.W
        for group in self._groups:
            factors = self._known.get(group.units.tobytes())
            if factors is None:
                # A singular block leaves inf or nan, which no solution with this pattern has.
                block = F.take(group.block).T
                lu, pivots, _ = scipy.linalg.lapack.dgetrf(block, overwrite_a=True)
                factors = lu, pivots
            found.append((group, factors))
        return found

    @property
    def factors(self) -> dict[bytes, tuple[np.ndarray, np.ndarray]]:
        """Of what is factorised, by its units."""
        known = self.__dict__.get("_factored", ())
        return {group.units.tobytes(): factors for group, factors in known}

    def solve(self, C: np.ndarray) -> np.ndarray:
        """z_S = (I - W_SS)^-1 c_S in every column, zero off S."""
        if self._together is not None:
            (Z,) = self._together.solve(C[None])
            return np.asarray(Z)
        Z, C = np.zeros(C.shape), np.ascontiguousarray(C)
        for group, lu in self._factored:
            at = group.rights
            Z.put(at, scipy.linalg.lapack.dgetrs(*lu, C.take(at), trans=1)[0])
        return Z

    def adjoint(self, a: np.ndarray) -> np.ndarray:
        """v_S = (I - W_SS)^-T a_S in every column, zero off S."""
        if self._together is not None:
            (V,) = self._together.adjoint(a[None])
            return np.asarray(V)
        V = np.zeros(self.mask.shape)
        for group, lu in self._factored:
            v = scipy.linalg.lapack.dgetrs(*lu, a.take(group.units))[0]
            V.put(group.rights, v if group.samples.size == 1 else v.repeat(group.samples.size))
        return V

    def one_adjoint(self, column: int, b: np.ndarray) -> np.ndarray:
        """v_S = (I - W_SS)^-T b_S for the pattern S of one column, zero off S."""
        v = np.zeros_like(b)
        for group, lu in self._factored:
            if column in group.samples:
                v[group.units] = scipy.linalg.lapack.dgetrs(*lu, b.take(group.units))[0]
        return v

    def cost(self) -> float:
        """Narrow ones cost no more than with all units on, which is next to nothing."""
        if self._together is not None:
            m, n = self.mask.shape
            return float(2 / 3 * n * m**3)
        return float(sum(2 / 3 * group.units.size**3 for group in self._groups))
