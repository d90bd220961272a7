"""Equilibria of narrow models along their descents, of runs and of perturbed runs beside them.

Z <- relu(W Z + C) begins where the last steps of a run point to, and for the perturbed run where
the run has arrived, moved by how far they were apart before: few sweeps are left. Whatever
contracts too slowly for them is found by Newton's method on its patterns. What is found is judged
by its own defect elsewhere: nothing here is taken on trust.

Each slice is swept as often as it would be alone, so its digits do not depend on the others.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from deqcheck.linalg import errors
from deqcheck.linalg.stacked import Places, StackedPatterns, follow, norms
from deqcheck.linalg.well_posed import NEXT_TO_ONE
from deqcheck.records.measured import EPS

# Systems of fewer units are solved sooner than swept.
SWEPT = 16
# Sweeps until the defects of runs are looked at, and from one look to the next.
FIRST, LOOK = 8, 4
# More sweeps than this cost more than the systems of all patterns.
MOST = 40
# A defect below this share of what rounding may add to it is none.
SHARE = 0.25
# The room that a bound leaves below its limit may be this much smaller than that of the weights it
# is taken from.
ROOM = 0.95
# Patterns from which Newton's method starts are those of so many steps before, at most.
RENEWED = 16


# Upper bounds on a number of each matrix.
Upper = Callable[[np.ndarray], np.ndarray]


class Along:
    """Every array has a slice for each run, and then one for each perturbed run."""

    def __init__(self, mask: np.ndarray):
        """The patterns with which the runs begin."""
        runs, m, n = mask.shape
        self._runs, self._mask = runs, np.concatenate([mask, mask])
        # The last states and adjoints, and the states before.
        self._Z = self._before = self._V = np.zeros((2 * runs, m, n))
        # Runs that contract too slowly, and where Newton's method starts for them.
        self._slow, self._near, self._age = np.full(runs, m < SWEPT), Places(mask[:0]), 0
        # Weights that were decomposed, with their bounds.
        self._reference, self._bounds = np.full((2 * runs, m, m), np.nan), np.zeros(2 * runs)

    def keep(self, runs: np.ndarray) -> None:
        both = np.concatenate([runs, runs])
        for name in ("_mask", "_Z", "_before", "_V", "_reference", "_bounds"):
            setattr(self, name, getattr(self, name)[both])
        self._slow = self._slow[runs]
        self._runs, self._age = len(self._slow), 0

    def bound(self, W: np.ndarray, limit: np.ndarray | float, upper: Upper) -> np.ndarray:
        """Upper bounds on a number that moves no further than W does in the 2-norm, as by Weyl its
        singular values and the eigenvalues of its symmetric part do, to be compared with a limit of
        each: from the last weights of which `upper` told it."""
        bound = _moved(W, self._reference, self._bounds)
        near = limit - bound >= ROOM * (limit - self._bounds)
        if not near.all():
            runs, both = self._runs, near.reshape(2, -1).all(axis=0)
            far = np.flatnonzero(~both)
            known = upper(W[far])
            bound[far], bound[far + runs] = known, _moved(W[far + runs], W[far], known)
            for rows in (far, far + runs):
                self._reference[rows], self._bounds[rows] = W[rows], bound[rows]
        return bound

    def solve(self, W: np.ndarray, C: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Z = relu(W Z + C), its pre-activations, and where these were found."""
        if self._slow.all():
            self._rows = np.arange(len(W))
            Z, H, fits, self._systems = follow(W, C, self._places(self._mask))
            self._mask = H > 0
            return Z, H, fits
        self._W_size = norms(W)
        guess = 2 * self._Z - self._before
        np.maximum(guess, 0.0, out=guess)
        scale = self._W_size * norms(guess) + norms(C)
        found = _Found(W, C, guess, SHARE * errors.product(W.shape[1], scale))
        self._sweep(found, self._Z)
        self._slow = ~found.good[: self._runs]
        self._rows = np.flatnonzero(~found.good)
        if len(self._rows):
            near = self._places(self._mask[self._rows])
            Z, H, fits, self._systems = follow(W[self._rows], C[self._rows], near)
            found.put(self._rows, Z, H, fits)
        self._before, self._Z, self._mask = self._Z, found.x, found.H > 0
        return found.x, found.H, found.good

    def adjoint(self, W: np.ndarray, a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """V = J (W^T V + a) on the patterns of Z, and W^T V + a."""
        turned, c = W.transpose(0, 2, 1), a[:, :, None]
        if len(self._rows) == len(W):
            V = self._systems.adjoint(a)
            return V, turned @ V + c
        scale = (1 + self._W_size) * np.maximum(norms(self._V), norms(a))
        close = SHARE * errors.product(W.shape[1], scale)
        found = _Found(turned, c, self._V.copy(), close, self._mask.astype(float))
        self._sweep(found, self._V)
        if len(self._rows):
            V = self._systems.adjoint(a[self._rows])
            found.put(self._rows, V, turned[self._rows] @ V + c[self._rows])
        if not found.good.all():
            rows = np.flatnonzero(~found.good)
            V = StackedPatterns(W[rows], Places(self._mask[rows])).adjoint(a[rows])
            found.put(rows, V, turned[rows] @ V + c[rows])
        self._V = found.x
        return found.x, found.H

    def _sweep(self, found: _Found, last: np.ndarray) -> None:
        """The runs, and then the perturbed runs from as far from them as they were last."""
        runs = self._runs
        found.sweep(np.flatnonzero(~self._slow), FIRST)
        np.add(found.x[:runs], last[runs:] - last[:runs], out=found.x[runs:])
        found.sweep(np.flatnonzero(found.good[:runs]) + runs)

    def _places(self, mask: np.ndarray) -> Places:
        """Of patterns of the last steps: where their entries lie takes long to be found out."""
        self._age += 1
        if not 1 < self._age <= RENEWED or len(self._near.mask) != len(mask):
            self._near, self._age = Places(mask), 1
        return self._near


class _Found:
    """x = J (W x + c), with ReLU or on given patterns, and W x + c; overwrites the x of the start.
    Of each slice to a defect that is small enough."""

    def __init__(
        self,
        W: np.ndarray,
        c: np.ndarray,
        x: np.ndarray,
        close: np.ndarray,
        *pattern: np.ndarray,
    ):
        self.W, self.c, self.x, self._close, self._pattern = W, c, x, close, pattern
        self.H, self.good = np.empty(x.shape), np.zeros(len(x), dtype=bool)

    def put(
        self, rows: np.ndarray, x: np.ndarray, H: np.ndarray, good: np.ndarray | bool = True
    ) -> None:
        self.x[rows], self.H[rows], self.good[rows] = x, H, good

    def sweep(self, rows: np.ndarray, first: int = LOOK) -> None:
        """These slices, which ascend, as long as there is hope that few sweeps are left; they are
        first looked at after so many."""
        if not len(rows):
            return
        # Without a copy where there is no gap between them.
        whole = rows[-1] - rows[0] + 1 == len(rows)
        at = slice(rows[0], rows[-1] + 1) if whole else rows
        arrays = [a[at] for a in (self.W, self.c, self.x, self._close, *self._pattern)]
        before, count = np.full(len(rows), np.inf), 0
        while True:
            W, c, x, close, *pattern = arrays
            H, sweeps = np.empty(x.shape), LOOK if count else first
            for _ in range(sweeps - 1):
                _active(_image(W, c, x, H), pattern, x)
            _image(W, c, x, H)
            new, count = _active(H, pattern, np.empty(x.shape)), count + sweeps
            off = norms(new - x)
            good = off <= close
            if good.all():
                self.put(rows, x, H)
                return
            self.put(rows[good], x[good], H[good])
            # If the defects fall as they did in the last sweeps.
            hope = off * (off / before) ** ((MOST - count) / LOOK) <= close
            on, arrays[2] = hope & ~good, new
            if not on.any():
                return
            if not on.all():
                rows, off, *arrays = (array[on] for array in (rows, off, *arrays))
            before = off


def _image(W: np.ndarray, c: np.ndarray, x: np.ndarray, out: np.ndarray) -> np.ndarray:
    np.matmul(W, x, out=out)
    out += c
    return out


def _active(H: np.ndarray, pattern: list[np.ndarray], out: np.ndarray) -> np.ndarray:
    """ReLU, or H on a pattern."""
    if pattern:
        np.multiply(H, pattern[0], out=out)
    else:
        np.maximum(H, 0.0, out=out)
    return out


def norms2(W: np.ndarray) -> np.ndarray:
    """Upper bounds on ||W||_2."""
    s = np.linalg.svd(W, compute_uv=False)[:, 0]
    found: np.ndarray = (s + errors.lapack(W.shape[1:], 1.0) * s) * (1 + 4 * EPS)
    return found


def abscissae(W: np.ndarray) -> np.ndarray:
    """Upper bounds on the largest eigenvalue of (W + W^T)/2: ||W||_2 where that is well below 1.
    Below 1 they leave the same room, to contractions and to monotone I - W."""
    found = norms2(W)
    far = np.flatnonzero(~(found < NEXT_TO_ONE))
    if len(far):
        w = np.linalg.eigvalsh((W[far] + W[far].transpose(0, 2, 1)) / 2)
        # The sum of two entries is rounded, too.
        found[far] = w[:, -1] + errors.lapack(W.shape[1:], 2.0) * np.abs(w).max(axis=1)
    return found


def _moved(W: np.ndarray, reference: np.ndarray, bound: np.ndarray) -> np.ndarray:
    """A bound for weights that are this far from others with that bound, rounded outward."""
    moved = norms(W - reference)
    found: np.ndarray = (bound + moved + errors.product(W[0].size, moved)) * (1 + 4 * EPS)
    return found
