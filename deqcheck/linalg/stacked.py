"""Narrow problems side by side: arrays with a leading axis, a slice for each problem.

Every slice goes through the very BLAS and LAPACK calls that it would go through alone, so its
digits do not depend on what else is in the stack, nor on whether there is one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from deqcheck.linalg.errors import LARGEST_PLAIN, SMALLEST_PLAIN
from deqcheck.records.lazy import cached_property

# Up to this width the calls themselves cost more than what they compute; and up to so many numbers
# all systems of a model fit into the cache.
NARROW, NUMBERS = 32, 500_000
# Systems are filled up to a multiple of this size, or to all units where few more are missing: few
# sizes are solved together.
ROUND, FEW = 6, 2
# Newton's method is given up after so many steps.
NEWTON = 8


def slices(m: int, n: int) -> int:
    """How many models of m units and n samples are worth being side by side."""
    return NUMBERS // max(1, n * m * m) if m <= NARROW else 0


def narrow(m: int, n: int) -> bool:
    return slices(m, n) >= 1


def dots(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The inner product of each two rows."""
    found: np.ndarray = np.matmul(a[:, None, :], b[:, :, None])[:, 0, 0]
    return found


def norms(a: np.ndarray) -> np.ndarray:
    """As np.linalg.norm of each slice."""
    rows = a.reshape(len(a), -1)
    found: np.ndarray = np.sqrt(dots(rows, rows))
    return found


def lengths(a: np.ndarray) -> np.ndarray:
    """As errors.length of each slice; nan where that would take another way."""
    rows = a.reshape(len(a), -1)
    found: np.ndarray = np.sqrt(np.add.reduce(rows * rows, axis=1))
    plain = (found > SMALLEST_PLAIN) & (found < LARGEST_PLAIN)
    if plain.all():
        return found
    return np.where(plain | ~rows.any(axis=1), found, np.nan)


def ordinary(a: np.ndarray) -> np.ndarray:
    """Whether the squares of each slice neither underflow nor overflow."""
    found = norms(a)
    plain = (found > SMALLEST_PLAIN) & (found < LARGEST_PLAIN)
    return plain if plain.all() else plain | ~a.reshape(len(a), -1).any(axis=1)


def each(a: np.ndarray) -> np.ndarray:
    """Whether all of each slice is true."""
    return np.asarray(a.reshape(len(a), -1).all(axis=1))


class Places:
    """Where the systems (I - W_SS) z_S = c_S of activation patterns S have their entries: one for
    every sample, the columns of each mask. It depends on the patterns alone.

    A unit that there is not, with weights 0, fills systems up to their size."""

    def __init__(self, mask: np.ndarray):
        self.mask = mask

    @cached_property
    def groups(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """By size: of right-hand sides with samples in rows, and of matrices."""
        m, n = self.mask.shape[1:]
        active = self.mask.transpose(0, 2, 1).reshape(-1, m)
        counts = np.count_nonzero(active, axis=1)
        sizes = -(-counts // ROUND) * ROUND
        sizes[(sizes > 0) & (sizes >= m - FEW)] = m
        order = np.argsort(~active, axis=1, kind="stable")
        order[np.arange(m) >= counts[:, None]] = m
        found = []
        for size in np.flatnonzero(np.bincount(sizes)[1:]) + 1:
            rows = np.flatnonzero(sizes == size)
            units = order[rows, :size]
            corners = (rows // n * (m + 1) ** 2)[:, None] + units * (m + 1)
            found.append((rows[:, None] * (m + 1) + units, corners[:, :, None] + units[:, None, :]))
        return found


class StackedPatterns:
    """The systems of all patterns of all slices."""

    def __init__(self, W: np.ndarray, places: Places):
        self.W, self.places = W, places

    @cached_property
    def _blocks(self) -> list[np.ndarray]:
        m = self.W.shape[1]
        weights = np.zeros((len(self.W), m + 1, m + 1))
        np.negative(self.W, out=weights[:, :m, :m])
        blocks = []
        for _, at in self.places.groups:
            block = weights.reshape(-1).take(at)
            block.reshape(len(at), -1)[:, :: at.shape[1] + 1] += 1.0
            blocks.append(block)
        return blocks

    def solve(self, C: np.ndarray) -> np.ndarray:
        """z_S = (I - W_SS)^-1 c_S in every column, zero off S."""
        return self._solved(C.transpose(0, 2, 1), self._blocks)

    def adjoint(self, a: np.ndarray) -> np.ndarray:
        """v_S = (I - W_SS)^-T a_S in every column, zero off S; one row `a` for each slice."""
        return self._solved(a[:, None, :], [block.transpose(0, 2, 1) for block in self._blocks])

    def _solved(self, rights: np.ndarray, matrices: list[np.ndarray]) -> np.ndarray:
        B, m, n = self.places.mask.shape
        right, found = np.zeros((B, n, m + 1)), np.zeros((B, n, m + 1))
        right[:, :, :m] = rights
        for (at, _), block in zip(self.places.groups, matrices, strict=True):
            found.reshape(-1)[at] = solved(block, right.reshape(-1).take(at))
        return np.ascontiguousarray(found[:, :, :m].transpose(0, 2, 1))


def solved(matrices: np.ndarray, rights: np.ndarray) -> np.ndarray:
    """Each system with its one right-hand side; nan where it is singular, which no solution is."""
    try:
        found: np.ndarray = np.linalg.solve(matrices, rights[:, :, None])[:, :, 0]
        return found
    except np.linalg.LinAlgError:
        if len(matrices) == 1:
            return np.full(rights.shape, np.nan)
    alone = [solved(matrices[i : i + 1], rights[i : i + 1]) for i in range(len(rights))]
    return np.concatenate(alone)


class Systems:
    """Those of a stack, of which some columns have other patterns since."""

    def __init__(self, patterns: StackedPatterns):
        self._patterns = patterns
        self._others: list[tuple[np.ndarray, np.ndarray, StackedPatterns]] = []

    def replace(self, slices: np.ndarray, columns: np.ndarray, patterns: StackedPatterns) -> None:
        """Each of these columns is a slice of the patterns."""
        self._others.append((slices, columns, patterns))

    def solve(self, C: np.ndarray) -> np.ndarray:
        found = self._patterns.solve(C)
        for slices, columns, patterns in self._others:
            right = C[slices, :, columns][:, :, None]
            found[slices, :, columns] = patterns.solve(right)[:, :, 0]
        return found

    def adjoint(self, a: np.ndarray) -> np.ndarray:
        found = self._patterns.adjoint(a)
        for slices, columns, patterns in self._others:
            found[slices, :, columns] = patterns.adjoint(a[slices])[:, :, 0]
        return found


class Followed(NamedTuple):
    """Z = relu(W Z + C), its pre-activations, where these were found, and the systems there."""

    Z: np.ndarray
    H: np.ndarray
    fits: np.ndarray
    systems: Systems


def follow(W: np.ndarray, C: np.ndarray, start: Places) -> Followed:
    """By Newton's method from these patterns, to one that fits its own solution: every column by
    itself."""
    patterns, mask = StackedPatterns(W, start), start.mask
    systems, Z = Systems(patterns), patterns.solve(C)
    H = W @ Z + C
    above = H > 0
    slices, columns = np.nonzero((above != mask).any(axis=1))
    if len(slices):
        changed, mask = np.unique(slices), mask.copy()
        V, c, on = W[slices], C[slices, :, columns], above[slices, :, columns]
        for _ in range(NEWTON):
            some = StackedPatterns(V, Places(on[:, :, None]))
            systems.replace(slices, columns, some)
            z = some.solve(c[:, :, None])
            Z[slices, :, columns], mask[slices, :, columns] = z[:, :, 0], on
            now = (V @ z)[:, :, 0] + c > 0
            moved = (now != on).any(axis=1)
            if not moved.any():
                break
            slices, columns, V, c, on = (a[moved] for a in (slices, columns, V, c, now))
        H[changed] = W[changed] @ Z[changed] + C[changed]
        above = H > 0
    return Followed(Z, H, each(above == mask) & each(Z >= 0), systems)
