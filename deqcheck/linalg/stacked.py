"""Narrow problems side by side: arrays with a leading axis, a slice for each problem.

Every slice goes through the very BLAS and LAPACK calls that it would go through alone, so its
digits do not depend on what else is in the stack, nor on whether there is one.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import NamedTuple

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

    A unit that there is not, with weights 0, fills systems up to their size."""

    def __init__(self, W: np.ndarray, mask: np.ndarray):
        self.W, self.mask = W, mask

    @cached_property
    def _groups(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """By size: where the entries of each system are, with samples in rows, and the matrices."""
        m, n = self.mask.shape[1:]
        active = self.mask.transpose(0, 2, 1).reshape(-1, m)
        counts = np.count_nonzero(active, axis=1)
        sizes = np.minimum(-(-counts // ROUND) * ROUND, m)
        order = np.argsort(~active, axis=1, kind="stable")
        order[np.arange(m) >= counts[:, None]] = m
        weights = np.zeros((len(self.W), m + 1, m + 1))
        np.negative(self.W, out=weights[:, :m, :m])
        groups = []
        for size in np.flatnonzero(np.bincount(sizes)[1:]) + 1:
            rows = np.flatnonzero(sizes == size)
            units = order[rows, :size]
            corners = (rows // n * (m + 1) ** 2)[:, None] + units * (m + 1)
            block = weights.reshape(-1).take(corners[:, :, None] + units[:, None, :])
            block.reshape(len(rows), -1)[:, :: size + 1] += 1.0
            groups.append((rows[:, None] * (m + 1) + units, block))
        return groups

    def solve(self, C: np.ndarray) -> np.ndarray:
        """z_S in every column, zero off S."""
        return self._solved(C.transpose(0, 2, 1), lambda block: block)

    def adjoint(self, a: np.ndarray) -> np.ndarray:
        """v_S = (I - W_SS)^-T a_S in every column, zero off S; one row `a` for each slice."""
        return self._solved(a[:, None, :], lambda block: block.transpose(0, 2, 1))

    def _solved(self, rights: np.ndarray, part: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        B, m, n = self.mask.shape
        right, found = np.zeros((B, n, m + 1)), np.zeros((B, n, m + 1))
        right[:, :, :m] = rights
        for at, block in self._groups:
            found.reshape(-1)[at] = solved(part(block), right.reshape(-1).take(at))
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


class Followed(NamedTuple):
    """Z = relu(W Z + C), its pre-activations, and where these were found; the systems, unless they
    are those of several steps."""

    Z: np.ndarray
    H: np.ndarray
    fits: np.ndarray
    patterns: StackedPatterns | None


def follow(W: np.ndarray, C: np.ndarray, mask: np.ndarray) -> Followed:
    """By Newton's method from these patterns, to one that fits its own solution."""
    Z, H = np.zeros_like(C), np.zeros_like(C)
    fits, todo = np.zeros(len(C), dtype=bool), np.arange(len(C))
    for _ in range(NEWTON):
        V, c = (W, C) if len(todo) == len(C) else (W[todo], C[todo])
        patterns = StackedPatterns(V, mask)
        found = patterns.solve(c)
        h = V @ found + c
        above = h > 0
        still = each(above == mask)
        good = still & each(found >= 0)
        if good.all() and len(todo) == len(C):
            return Followed(found, h, good, patterns)
        Z[todo[good]], H[todo[good]], fits[todo[good]] = found[good], h[good], True
        # What is not finite changes no more.
        on = ~still & each(np.isfinite(h))
        if not on.any():
            break
        todo, mask = todo[on], above[on]
    return Followed(Z, H, fits, None)
