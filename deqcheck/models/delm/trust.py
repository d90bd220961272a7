"""For one output, the flow as a step of a quadratic model of L0 in a trust region."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from deqcheck.frozen import dataclass
from deqcheck.linalg.entries import euclidean
from deqcheck.linalg.errors import length
from deqcheck.linalg.kron import vec
from deqcheck.linalg.late import scipy
from deqcheck.models.delm import oracle
from deqcheck.models.delm.spectrum import block_scalars
from deqcheck.records.lazy import cached_property
from deqcheck.records.measured import EPS, Measured

if TYPE_CHECKING:
    from deqcheck.models.delm.state import DelmState

# Shares of delta_bar, the supremum of the scales for which G is positive definite.
SHARES = (0.5, 0.01, 0.99)
# A relative error of S_t beyond this leaves nothing to compare.
LARGEST_LOSS = 1e-3


@dataclass(frozen=True, eq=False)
class Curved:
    """What does not depend on delta: the Hessian H = C diag(signs) C^T, F = U^-1 H U^-T in the same
    form, S_t = diag(M), and the velocity -D q with D = U^-T diag(M) U^-1."""

    state: DelmState
    C: np.ndarray
    signs: np.ndarray
    M: np.ndarray
    F: np.ndarray
    q: np.ndarray
    velocity: np.ndarray
    delta_bar: float

    @classmethod
    def of(cls, state: DelmState) -> Curved:
        outer, q = state.model.outer, vec(state.Q)
        C, M = outer.curved_features(state.Z), block_scalars(state)
        solved = scipy.linalg.lu_solve(state.lu, np.column_stack([C, q]))
        velocity = -scipy.linalg.lu_solve(state.lu, M * solved[:, -1], trans=1)
        bar = float(state.measure("delta_bar").value)
        return cls(state, C, outer.curvature_signs(state.Z), M, solved[:, :-1], q, velocity, bar)

    @cached_property
    def cancelled(self) -> float:
        """How many times 64 m eps the relative error of S_t may be: J_k Z^T cancels where the
        entries of Z are large and nearly equal."""
        state, gamma = self.state, self.state.gamma
        size = np.sqrt(np.maximum(self.M - 1, 0)) / gamma
        off = (state.m + 8) * EPS * length(state.Z) + state.Z_radius
        lost = float((gamma**2 * off * (2 * size + off) / self.M).max())
        # With no digits left nothing is known.
        return 1 + lost / (64 * EPS * state.m) if lost < LARGEST_LOSS else np.nan

    def region(self, share: float) -> TrustRegion:
        # Without curvature every delta serves.
        delta = share * self.delta_bar if np.isfinite(self.delta_bar) else share
        curved, U = (self.F * self.signs) @ self.F.T, self.state.U
        root = np.sqrt(self.M)
        return TrustRegion(
            self.q,
            (self.C * self.signs) @ self.C.T,
            U @ (np.diag(1 / self.M) - delta * curved) @ U.T,
            delta,
            delta * self.velocity,
            np.eye(len(root)) - delta * root[:, None] * curved * root,
        )


@dataclass(frozen=True)
class TrustRegion:
    """Model gradient q, Hessian H, metric G, radius scale delta, minimiser v; and
    K = I - delta S^1/2 F S^1/2, which is positive definite where G = U S^-1/2 K S^-1/2 U^T is."""

    q: np.ndarray
    H: np.ndarray
    G: np.ndarray
    delta: float
    v: np.ndarray
    K: np.ndarray

    @classmethod
    def at(cls, state: DelmState, share: float = SHARES[0]) -> TrustRegion:
        return state.curved.region(share)

    def value(self, v: np.ndarray) -> float:
        return float(self.q @ v + v @ self.H @ v / 2)

    @cached_property
    def _terms(self) -> list[np.ndarray]:
        return [self.q, self.H @ self.v, self.G @ self.v / self.delta]

    @property
    def residual(self) -> float:
        """|q + H v + G v/delta|: the multiplier is 1/(2 delta)."""
        return float(np.linalg.norm(sum(self._terms)))

    @property
    def scale(self) -> float:
        """The size of what cancels there."""
        return sum(euclidean(t) for t in self._terms)


def stationarity(state: DelmState) -> Measured:
    """The largest residual over all shares, relative to what cancels, and to what rounding may do
    to S_t; not known for several outputs."""
    if state.my != 1:
        return Measured(np.nan)
    regions = [TrustRegion.at(state, share) for share in SHARES]
    largest = max((r.residual / r.scale for r in regions if r.scale > 0), default=0.0)
    return Measured(largest / state.curved.cancelled)


def velocity(state: DelmState) -> Measured:
    """v/delta against dZ/dt = -(B' + gamma Z S') U^-1 for (A', B') = grad L, relative to it."""
    if state.my != 1:
        return Measured(np.nan)
    moved = -oracle.tangent(state, oracle.columns(state, state.Q))[0]
    size = euclidean(moved)
    off = euclidean(moved - state.curved.velocity)
    return Measured(off / size / state.curved.cancelled if size else 0.0)
