"""Narrow problems side by side: arrays with a leading axis, a slice for each problem.

Every slice goes through the very BLAS and LAPACK calls that it would go through alone, so its
digits do not depend on what else is in the stack, nor on whether there is one.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from deqcheck.linalg.errors import LARGEST_PLAIN, SMALLEST_PLAIN

# Up to this width the calls themselves cost more than what they compute.
NARROW = 32
# Systems are filled up to a multiple of this size: few sizes are solved together.
ROUND = 4
# Newton's method is given up after so many steps.
NEWTON = 8


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
    found = np.sqrt(np.add.reduce(rows * rows, axis=1))
    plain = (found > SMALLEST_PLAIN) & (found < LARGEST_PLAIN)
    if plain.all():
        return found
    return np.where(plain | ~rows.any(axis=1), found, np.nan)


def each(a: np.ndarray) -> np.ndarray:
    """Whether all of each slice is true."""
    found: np.ndarray = a.reshape(len(a), -1).all(axis=1)
    return found


class StackedPatterns:
    """(I - W_SS) z_S = c_S on the activation patterns S of every sample (the columns of each mask).

    Units off the pattern fill a system up: their rows are those of the identity."""

    def __init__(self, W: np.ndarray, mask: np.ndarray):
        self.W, self.mask = W, mask

    @cached_property
    def _groups(self) -> list[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]]:
        """By size: where the entries of each system are in an array of samples in rows, which of
        them count, and the matrices."""
        B, m, n = self.mask.shape
        active = self.mask.transpose(0, 2, 1).reshape(-1, m)
        counts = np.count_nonzero(active, axis=1)
        sizes = np.minimum(-(-counts // ROUND) * ROUND, m)
        order = np.argsort(~active, axis=1, kind="stable")
        groups = []
        for size in np.flatnonzero(np.bincount(sizes)):
            if size == 0:
                continue
            rows = np.flatnonzero(sizes == size)
            units = order[rows, :size]
            on = np.arange(size) < counts[rows, None]
            flat = (rows // n * m * m)[:, None, None] + units[:, :, None] * m + units[:, None, :]
            block = np.where(on[:, :, None] & on[:, None, :], -self.W.reshape(-1)[flat], 0.0)
            block.reshape(len(rows), -1)[:, :: size + 1] += 1.0
            groups.append((rows[:, None] * m + units, on, block, block.transpose(0, 2, 1)))
        return groups

    def solve(self, C: np.ndarray) -> np.ndarray:
        """z_S in every column, zero off S."""
        return self._solved(C.transpose(0, 2, 1).reshape(-1), 2)

    def adjoint(self, a: np.ndarray) -> np.ndarray:
        """v_S = (I - W_SS)^-T a_S in every column, zero off S; one row `a` for each slice."""
        n = self.mask.shape[2]
        return self._solved(np.repeat(a, n, axis=0).reshape(-1), 3)

    def _solved(self, right: np.ndarray, which: int) -> np.ndarray:
        B, m, n = self.mask.shape
        found = np.zeros(B * n * m)
        for group in self._groups:
            at, on, matrices = group[0], group[1], group[which]
            x = solved(matrices, np.where(on, right[at], 0.0))
            found[at] = np.where(on, x, 0.0)
        return np.ascontiguousarray(found.reshape(B, n, m).transpose(0, 2, 1))


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


def follow(
    W: np.ndarray, C: np.ndarray, mask: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Z = relu(W Z + C) and its pre-activations in every slice, by Newton's method from these
    patterns; and where it ended on a pattern that fits its own solution."""
    Z, H = np.zeros_like(C), np.zeros_like(C)
    fits, todo = np.zeros(len(C), dtype=bool), np.arange(len(C))
    for _ in range(NEWTON):
        some = len(todo) < len(C)
        V, c = (W[todo], C[todo]) if some else (W, C)
        found = StackedPatterns(V, mask).solve(c)
        h = V @ found + c
        above = h > 0
        still = each(above == mask)
        good = still & each(found >= 0)
        Z[todo[good]], H[todo[good]], fits[todo[good]] = found[good], h[good], True
        # What is not finite changes no more.
        on = ~still & each(np.isfinite(h))
        if not on.any():
            break
        todo, mask = todo[on], above[on]
    return Z, H, fits
