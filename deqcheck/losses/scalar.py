"""Losses of one output, given by a function of q = w phi for every sample."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np

from deqcheck.linalg.entries import euclidean
from deqcheck.linalg.errors import F, length
from deqcheck.linalg.spectra import Factored
from deqcheck.linalg.stacked import norms
from deqcheck.losses.ball import optimality_gap, projected_newton
from deqcheck.losses.outer import PL, Evaluation, Evaluations
from deqcheck.records.lazy import cached_property
from deqcheck.records.measured import EPS, Measured
from deqcheck.records.tower import Again

# So many outputs at once, of many w.
NUMBERS = 1_000_000


class Outputs(NamedTuple):
    """Of each sample (the last axis): the loss and its slope, how far the output may be off, and
    the slope with it."""

    values: np.ndarray
    first: np.ndarray
    reach: np.ndarray
    moved: np.ndarray


class LinearScalar(ABC):
    """L0(w) = sum_i l_i(w phi_i), convex, for a row w; the ball is the box |w_j| < R."""

    def __init__(self, Phi: np.ndarray, Y: np.ndarray, R: float, relative: float = 0.0):
        self.Phi, self.Y, self.R = Phi, Y, R
        self.y = Y[0]
        self.factored = Factored(Phi, relative)
        # How far Phi may be from the matrix of smaller rank that it stands for.
        self._off = self.factored.cut if relative else 0.0
        self._columns = np.linalg.norm(Phi, axis=0)
        self._phi_norm = euclidean(Phi)

    def exact_gradient(self, W: Again) -> Again | None:
        return None

    def exact_gap(self, W: Again) -> Again | None:
        return None

    @abstractmethod
    def values(self, q: np.ndarray) -> np.ndarray: ...

    @abstractmethod
    def first(self, q: np.ndarray) -> np.ndarray: ...

    @abstractmethod
    def second(self, q: np.ndarray) -> np.ndarray: ...

    @abstractmethod
    def largest_second(self) -> float:
        """sup of the second derivative over the outputs that the ball allows (may be inf)."""

    @abstractmethod
    def _free_infimum(self) -> Measured:
        """The infimum over all w."""

    @property
    @abstractmethod
    def pl(self) -> PL: ...

    @cached_property
    def infimum(self) -> Measured:
        return self._free_infimum() if math.isinf(self.R) else self._boxed_infimum()

    def _boxed_infimum(self) -> Measured:
        w = self.minimise(self.R)
        total, error, slope, radius = self.exactly(w)
        below = optimality_gap(w[None], slope, self.R, radius)
        return Measured(total - below / 2, below / 2 + error, "Frank-Wolfe gap")

    def unbalanced(self, w: np.ndarray, slopes: np.ndarray) -> float:
        """What a dual point with Phi a != 0 may miss: w Phi a at a true minimiser, which is taken
        to be at most a few times as long as w. Where the rank is not certain it may be any length.
        """
        if not self.factored.visible:
            return math.inf
        lost = euclidean(self.Phi @ slopes) + self._off * length(slopes)
        lost += 4 * EPS * len(slopes) * self._phi_norm * euclidean(slopes)
        return 4 * lost * euclidean(w)

    def minimise(self, R: float, keep: np.ndarray | None = None) -> np.ndarray:
        """A minimiser over the box, of all samples or of those to keep."""
        Phi = self.Phi if keep is None else self.Phi[:, keep]
        here = self if keep is None else self.restricted(keep)
        return projected_newton(
            lambda w: float(here.values(w @ Phi).sum()),
            lambda w: np.asarray(Phi @ here.first(w @ Phi)),
            lambda w: np.asarray((Phi * here.second(w @ Phi)) @ Phi.T),
            np.zeros(len(Phi)),
            R,
        )

    def minimiser(self) -> np.ndarray | None:
        return self.minimise(math.inf)[None]

    @abstractmethod
    def of_radius(self, R: float) -> LinearScalar:
        """The same loss over another ball."""

    @abstractmethod
    def restricted(self, keep: np.ndarray) -> LinearScalar:
        """The same loss on some of the samples, without a ball."""

    def exactly(self, w: np.ndarray) -> Evaluation:
        """L0 itself at this very w."""
        return self._whole(w, euclidean(w), 0.0)

    def _whole(self, w: np.ndarray, size: float, radius: float) -> Evaluation:
        q = w @ self.Phi
        outputs = self._outputs(q, len(w), size, radius)
        total, error = self._sums(q, *outputs)
        _, first, _, moved = outputs
        return Evaluation(
            float(total),
            float(error),
            (self.Phi @ first)[None],
            self._slopes_error(len(q), euclidean(moved), length(first)),
        )

    def _outputs(self, q: np.ndarray, terms: int, size: F, radius: F) -> Outputs:
        """Outputs, of one w or of many, move by |phi_i| times the radius, and the sums round."""
        lost = np.asarray(radius + 4 * EPS * terms * size)[..., None]
        reach = self._columns * lost + self._off * np.asarray(size)[..., None]
        # Losses round once more what they compute from q.
        reach = reach + 2 * EPS * (1 + np.abs(q))
        moved = self.largest_step(q, reach) * reach
        return Outputs(self.values(q), self.first(q), reach, moved)

    def _sums(self, q: np.ndarray, *outputs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The loss and its error."""
        values, first, reach, moved = outputs
        size = np.abs(values).sum(axis=-1) + np.abs(q).sum(axis=-1) * EPS
        rounding = 4 * EPS * (q.shape[-1] + 4) * size
        return values.sum(axis=-1), ((np.abs(first) + moved) * reach).sum(axis=-1) + rounding

    def _slopes_error(self, samples: int, moved: F, first: F) -> F:
        """Of the gradient, from the lengths of the slopes and of how far they are moved."""
        lost = 8 * EPS * (samples**0.5 + 4) * first
        error: F = self._phi_norm * (moved + lost) + self._off * first
        return error

    def largest_step(self, q: np.ndarray, reach: np.ndarray) -> np.ndarray:
        """Bound on the second derivative between q - reach and q + reach."""
        found: np.ndarray = np.maximum(self.second(q - reach), self.second(q + reach))
        return found

    def evaluate(self, W: np.ndarray, size: float, radius: float) -> Evaluation:
        found = self._whole(W[0], size, radius)
        gap, error = self._above_infimum(found.gap, found.error)
        return found._replace(gap=gap, error=error)

    def evaluate_all(self, W: np.ndarray, size: np.ndarray, radius: np.ndarray) -> Evaluations:
        at_once = max(1, NUMBERS // len(self.y))
        pieces = [slice(i, i + at_once) for i in range(0, len(W), at_once)]
        parts = [self._evaluated(W[rows, 0], size[rows], radius[rows]) for rows in pieces]
        return Evaluations(*(np.concatenate(column) for column in zip(*parts, strict=True)))

    def _evaluated(self, w: np.ndarray, size: np.ndarray, radius: np.ndarray) -> Evaluations:
        """At many w, as `evaluate` at each."""
        q = w @ self.Phi
        outputs = self._outputs(q, w.shape[1], size, radius)
        first = np.array([length(row) for row in outputs.first])
        lost = self._slopes_error(q.shape[1], norms(outputs.moved), first)
        gap, error = self._above_infimum(*self._sums(q, *outputs))
        return Evaluations(gap, error, (outputs.first @ self.Phi.T)[:, None], lost)

    def _above_infimum(self, total: F, error: F) -> tuple[F, F]:
        star = self.infimum
        return total - star.value, error + star.error + EPS * total

    def gradient(self, W: np.ndarray) -> np.ndarray:
        found: np.ndarray = self.slopes(W) @ self.Phi.T
        return found

    def slopes(self, W: np.ndarray) -> np.ndarray:
        return self.first(W[0] @ self.Phi)[None]

    def curved_features(self, W: np.ndarray) -> np.ndarray:
        return np.asarray(self.Phi * np.sqrt(self.second(W[0] @ self.Phi)))

    def curvature_signs(self, W: np.ndarray) -> np.ndarray:
        return np.ones(len(self.y))

    def kink_distance(self, W: np.ndarray) -> Measured:
        return Measured(math.inf)

    def smoothness(self) -> Measured:
        return self.largest_second() * self.factored.largest**2
