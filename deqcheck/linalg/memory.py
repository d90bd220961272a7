"""What a model remembers of its last equilibria: where to start, never what to answer."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from deqcheck.linalg import errors
from deqcheck.records.measured import EPS

KEPT = 3
# Rows of W and C in which two sets of parameters are compared.
ROWS = 64
# Directions shorter than this, relative to the longest, are noise.
CUTOFF = 1e-6
# A bound on 1 - ||W|| may be this much smaller than the last one computed.
ROOM = 0.8


@dataclass
class Entry:
    W: np.ndarray
    C: np.ndarray
    Z: np.ndarray
    V: np.ndarray | None = None


class Memory:
    """Equilibria are smooth in the parameters as long as no unit switches, so the affine
    combination of old parameters nearest to the new ones gives the start for the new equilibrium.
    """

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.weights = np.zeros(0)
        self.norm: tuple[np.ndarray, float] | None = None

    def start(self, W: np.ndarray, C: np.ndarray) -> np.ndarray | None:
        """For Z = relu(W Z + C); None where there is nothing of this shape."""
        if not self.entries or self.entries[0].Z.shape != C.shape or not np.isfinite(C).all():
            self.entries = []
            return None
        rows = _rows(C)
        self.weights = self._nearest(W[rows], C[rows])
        start = self._combined([e.Z for e in self.entries])
        return None if start is None else np.maximum(start, 0.0)

    def keep(self, W: np.ndarray, C: np.ndarray, Z: np.ndarray) -> None:
        """One more than is combined, so that the sensitivities can still use the same weights."""
        if not np.isfinite(Z).all():
            return
        rows = _rows(C)
        self.entries = [Entry(W[rows].copy(), C[rows].copy(), Z), *self.entries[:KEPT]]

    def adjoint_start(self, Z: np.ndarray) -> np.ndarray | None:
        """The same combination for the sensitivities, if this equilibrium was the last one kept."""
        if not self.entries or self.entries[0].Z is not Z:
            return None
        return self._combined([e.V for e in self.entries[1:]])

    def keep_adjoint(self, Z: np.ndarray, V: np.ndarray) -> None:
        for entry in self.entries:
            if entry.Z is Z:
                entry.V = V

    def norm_bound(self, W: np.ndarray) -> float:
        """An upper bound on ||W||_2: Weyl's, from the last W whose norm was computed."""
        if self.norm is not None and self.norm[0].shape == W.shape:
            reference, norm = self.norm
            moved = float(np.linalg.norm(W - reference)) * (1 + 8 * EPS)
            if 1 - (norm + moved) >= ROOM * (1 - norm) > 0:
                return norm + moved
        exact = float(errors.norm2(W).high)
        self.norm = W.copy(), exact
        return exact

    def _nearest(self, W: np.ndarray, C: np.ndarray) -> np.ndarray:
        """Weights of sum 1."""
        newest, *others = self.entries[:KEPT]

        def against(e: Entry) -> np.ndarray:
            return np.concatenate([(e.W - newest.W).ravel(), (e.C - newest.C).ravel()])

        if not others:
            return np.ones(1)
        directions = np.stack([against(e) for e in others])
        target = np.concatenate([(W - newest.W).ravel(), (C - newest.C).ravel()])
        gram = directions @ directions.T
        found = np.linalg.lstsq(gram, directions @ target, rcond=CUTOFF**2)[0]
        return np.concatenate([[1 - found.sum()], found])

    def _combined(self, arrays: list[np.ndarray | None]) -> np.ndarray | None:
        total = None
        for weight, array in zip(self.weights, arrays, strict=False):
            if array is None:
                return arrays[0]
            total = weight * array if total is None else total + weight * array
        return total


def _rows(C: np.ndarray) -> slice:
    return slice(None, None, max(1, len(C) // ROWS))
