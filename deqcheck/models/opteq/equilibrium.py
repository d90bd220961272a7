"""Equilibria Z = prox_R(T(Z)) of an OptEq network: damped Newton, then a certificate.

Columns are independent: each sample has its own equation in m unknowns.
"""

from __future__ import annotations

from contextlib import suppress
from enum import Enum
from typing import Any

import numpy as np

from deqcheck.frozen import dataclass
from deqcheck.linalg.entries import column_lengths, finite
from deqcheck.linalg.errors import length, rounding
from deqcheck.models.opteq.network import Network
from deqcheck.models.problem import NoEquilibrium, norm

WARM_UP, NEWTON_STEPS, HALVINGS = 20, 200, 30
# T counts as nonexpansive up to this: norms of 1 are computed with rounding.
NONEXPANSIVE = 1e-12
# A radius that tells what lies exactly on a kink from what does not.
SMALLEST = float(np.finfo(float).tiny)
# A direction so much longer than its right-hand side comes from a system that may be singular.
SINGULAR = 1e8
# An error above this, relative to the state, certifies nothing.
CERTIFIED = 1e-6


class Existence(Enum):
    """What is known of the equilibrium; the value is the sentence."""

    UNIQUE = "one equilibrium"
    ISOLATED = "an equilibrium; others may exist"
    NOT_UNIQUE = "the equilibrium is not unique, or I - dT/dz is singular there"
    NONE_FOUND = "none found"


@dataclass(frozen=True)
class OpteqEquilibrium:
    Z: np.ndarray
    # Frobenius norm of Z - T(Z), its own rounding, and the certified distance to the equilibrium.
    residual: float
    noise: float
    error: float
    existence: Existence

    @property
    def found(self) -> bool:
        return self.existence in (Existence.UNIQUE, Existence.ISOLATED)

    def required(self) -> OpteqEquilibrium:
        if not self.found:
            raise NoEquilibrium(f"{self.existence.value} (residual {self.residual:.2g})")
        return self


class FixedPoint:
    """The map prox_R o T (or T alone) whose fixed point is wanted."""

    def __init__(self, network: Network, prox: Any = None):
        self.network, self.prox = network, prox

    @property
    def lipschitz(self) -> float:
        return self.network.lipschitz * (1.0 if self.prox is None else self.prox.lipschitz)

    @property
    def bend(self) -> float:
        """Lipschitz constant of the Jacobian, on a piece."""
        if self.prox is None:
            return self.network.bend
        stretched = self.network.lipschitz * self.network.lipschitz
        return float(self.prox.lipschitz * self.network.bend + self.prox.bend * stretched)

    def __call__(self, Z: np.ndarray) -> np.ndarray:
        moved = self.network.T(Z)
        return moved if self.prox is None else self.prox.prox(moved)

    def jacobians(self, Z: np.ndarray) -> np.ndarray:
        inner = self.network.jacobians(Z)
        if self.prox is None:
            return inner
        outer: np.ndarray = self.prox.prox_slopes(self.network.T(Z)) @ inner
        return outer

    def noise(self, Z: np.ndarray) -> float:
        """Rounding of one evaluation; the last layer rounds once more."""
        _, moved, radius = self.network.visit(Z, 0.0)
        own = rounding(len(Z), length(moved) + length(Z))
        if self.prox is None:
            return float(radius + own)
        return float(self.prox.lipschitz * radius + own + self.prox.noise(moved))

    def piece_known(self, Z: np.ndarray, radius: float) -> bool:
        """Whether the derivative of the map is that at Z, curvature apart."""
        if self.prox is None:
            return self.network.piece_known(Z, radius)
        _, moved, moved_radius = self.network.visit(Z, radius)
        return self.network.piece_known(Z, radius) and self.prox.piece_known(moved, moved_radius)

    def solve(self, start: np.ndarray, near: np.ndarray | None = None) -> OpteqEquilibrium:
        """From `near` where that leads to the only one, which it is whatever the start."""
        with np.errstate(all="ignore"):
            if near is not None and self._nonexpansive:
                found = self._from(near)
                if found.existence is Existence.UNIQUE:
                    return found
            for _ in range(WARM_UP):
                start = self(start)
            return self._from(start)

    def _from(self, start: np.ndarray) -> OpteqEquilibrium:
        Z = self._newton(start)
        # A last application leaves the exact zeros of a soft threshold.
        return self._certified(Z if self.prox is None else self(Z))

    def _newton(self, Z: np.ndarray) -> np.ndarray:
        residual = self._residuals(Z)
        for _ in range(NEWTON_STEPS):
            if not finite(Z) or not residual.any():
                break
            if norm(residual) <= self.noise(Z):
                return self._finished(Z, residual)
            moved = self._step(Z, residual)
            new = self._residuals(moved)
            if not (new < residual).any() and residual.max() <= 1e3 * self.noise(Z):
                break
            Z, residual = moved, new
        return Z

    def _residuals(self, Z: np.ndarray) -> np.ndarray:
        return column_lengths(Z - self(Z))

    def _finished(self, Z: np.ndarray, residual: np.ndarray) -> np.ndarray:
        """Within the rounding of the map one last step leaves what no further one improves."""
        last = Z + self._direction(Z, self(Z))
        found: np.ndarray = np.where(self._residuals(last) < residual, last, Z)
        return found

    def _direction(self, Z: np.ndarray, image: np.ndarray) -> np.ndarray:
        """Newton's, in each column."""
        matrices = np.eye(len(Z)) - self.jacobians(Z)
        right = (image - Z).T
        with suppress(np.linalg.LinAlgError):
            found: np.ndarray = np.linalg.solve(matrices, right[:, :, None])[:, :, 0].T
            sizes, moves = np.linalg.norm(right, axis=1), np.linalg.norm(found, axis=0)
            if self.lipschitz < 1 or (moves <= SINGULAR * sizes).all():
                return found
        # Of a system that is singular up to rounding the shortest solution.
        each = zip(matrices, right, strict=True)
        return np.stack([np.linalg.lstsq(M, b, rcond=None)[0] for M, b in each], axis=1)

    def _step(self, Z: np.ndarray, residual: np.ndarray) -> np.ndarray:
        """A Newton step in each column, halved until it helps; else one application of the map."""
        image = self(Z)
        direction = self._direction(Z, image)
        best, share = image.copy(), 1.0
        open_ = np.ones(Z.shape[1], dtype=bool)
        for _ in range(HALVINGS):
            trial = Z + share * direction
            better = open_ & (self._residuals(trial) <= (1 - 1e-4 * share) * residual)
            best[:, better] = trial[:, better]
            open_ &= ~better
            if not open_.any():
                break
            share /= 2
        return best

    def _certified(self, Z: np.ndarray) -> OpteqEquilibrium:
        # Also of states so small that their squares are no floats.
        residual, noise = length(Z - self(Z)), self.noise(Z)
        if not finite(Z) or not np.isfinite(residual):
            return OpteqEquilibrium(Z, np.inf, np.inf, np.inf, Existence.NONE_FOUND)
        total = residual + noise
        q = self.lipschitz
        local = self._local_radius(Z, total)
        contraction = total / (1 - q) if q < 1 else np.inf
        error = min(local, contraction)
        limit = CERTIFIED * max(norm(Z), 1.0)
        if error <= limit:
            existence = Existence.UNIQUE if self._alone(Z, error) else Existence.ISOLATED
        elif residual <= limit and self._near_solutions(Z):
            existence = Existence.NOT_UNIQUE
        else:
            existence = Existence.NONE_FOUND
        return OpteqEquilibrium(Z, residual, noise, error, existence)

    def _alone(self, Z: np.ndarray, error: float) -> bool:
        """Fixed points of a nonexpansive map form a convex set: an isolated one is the only one.
        On a kink it need not be isolated: relu rests at 0 and on all of t >= 0."""
        if self.lipschitz < 1:
            return True
        return self._nonexpansive and self.piece_known(Z, max(error, SMALLEST))

    @property
    def _nonexpansive(self) -> bool:
        return self.lipschitz <= 1 + NONEXPANSIVE * len(self.network.layers)

    def _inverse_norms(self, Z: np.ndarray) -> np.ndarray:
        systems = np.eye(len(Z)) - self.jacobians(Z)
        if not finite(systems):
            return np.full(len(systems), np.inf)
        sigma = np.linalg.svd(systems, compute_uv=False)
        return 1 / np.maximum(sigma[:, -1] - self.network.jacobian_rounding, 0.0)

    def _local_radius(self, Z: np.ndarray, total: float) -> float:
        """Newton-Kantorovich: beta^2 residual bend <= 1/2 puts the root within 2 beta residual."""
        beta = self._inverse_norms(Z)
        if not finite(beta):
            return np.inf
        worst = float(beta.max())
        radius = 2 * worst * total
        if not worst * worst * total * self.bend <= 0.5:
            return np.inf
        return radius if self.piece_known(Z, radius) else np.inf

    def _near_solutions(self, Z: np.ndarray) -> bool:
        """Whether the map rests at Z: a far iterate that drifts on does not."""
        later = Z
        for _ in range(WARM_UP):
            later = self(later)
        drift = norm(later - Z)
        return drift <= WARM_UP * self.noise(Z)
