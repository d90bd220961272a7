"""What an OptEq state measures, by name."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from deqcheck.linalg import errors, exact
from deqcheck.records.measured import Measured, measured
from deqcheck.records.tower import Again

if TYPE_CHECKING:
    from deqcheck.models.opteq.state import OpteqState

# Above this many entries the full Jacobian is not formed.
DENSE_LIMIT = 2_000_000
# Nor are the norms of Jacobians of the map told unasked where the cubes of their orders add up to
# more.
CUBES = 2e6


def measures(state: OpteqState) -> dict[str, Callable[[], Measured]]:
    table: dict[str, Callable[[], Measured]] = {}
    for name, own in ALWAYS.items():
        table[name] = partial(own, state)
        near = state.model.implicit or state.network.lipschitz < 1
        if name == "equilibrium.residual" and near:
            table["equilibrium.error"] = partial(rest_error, state)
    if state.outputs * state.count <= DENSE_LIMIT:
        table["lambda_min_JJt"] = lambda: state.lambda_min_JJt
        table["norm2_J"] = lambda: errors.norm2(*state.J, state.again.J)
    if state.model.implicit and state.model.depth == 1 and state.map.prox is None:
        table["phi"] = partial(phi, state)
    for name, a in state.theta.items():
        table[f"gradient.{name}"] = partial(_gradient_norm, state, name)
        table[f"norm2.{name}"] = partial(errors.norm2, a, exact=exact.array(a))
    return table


def listed(state: OpteqState) -> tuple[str, ...]:
    """What is of use to a report: not what takes long and nobody asked for."""
    costly = {"jacobian_norm"} if state.model.N * state.model.m**3 > CUBES else set()
    return tuple(name for name in state.measures if name not in costly)


def _gradient_norm(state: OpteqState, name: str) -> Measured:
    return state.gradient_norms[name]


def jacobian_norm(state: OpteqState) -> Measured:
    """max_j ||dT/dz_j||_2 at the state."""
    network = state.network
    norms = np.linalg.svd(network.jacobians(state.Z), compute_uv=False)[:, 0]
    known = network.piece_known(state.Z, state.Z_radius)
    moved = network.bend * state.Z_radius if known else np.inf
    again = exact.norm2(state.again.jacobian_of(0))
    for j in range(1, len(norms)):
        again = Again("larger", again, exact.norm2(state.again.jacobian_of(j)))
    return Measured(float(norms.max()), moved + network.jacobian_rounding, again=again)


def at_rest(state: OpteqState) -> Measured:
    """|Z - map(Z)|_F; of an equilibrium, at the computed one."""
    gap = state.Z - state.map(state.Z)
    noise = state.map.noise(state.Z)
    if state.model.implicit:
        return errors.frobenius(gap, noise)
    noise += (1 + state.map.lipschitz) * state.Z_radius
    return errors.frobenius(gap, noise, state.again.at_rest)


def rest_error(state: OpteqState) -> Measured:
    """How far the state is from the equilibrium."""
    if state.model.implicit:
        return measured(state.solved.error)
    return at_rest(state).forgetting() / (1 - measured(state.network.lipschitz))


def phi(state: OpteqState) -> Measured:
    """phi(z) = |z|^2/2 - 1^T S(W z + c) at the equilibrium, for each sample (Theorem 1)."""
    layer, Z = state.network.layers[0], state.Z
    A = layer.W @ Z + layer.drive
    S = layer.s.primitive(A)
    values = (Z**2).sum(axis=0) / 2 - S.sum(axis=0)
    sizes = (
        (Z**2).sum(axis=0)
        + np.abs(S).sum(axis=0)
        + (np.abs(A) * np.abs(layer.s.value(A))).sum(axis=0)
    )
    slope = np.linalg.norm(Z, axis=0) + layer.norm * np.linalg.norm(layer.s.value(A), axis=0)
    return Measured(
        values, slope * state.Z_radius + errors.rounding(sum(layer.W.shape), 1.0) * sizes
    )


# What can be measured of every state.
ALWAYS: dict[str, Callable[[OpteqState], Measured]] = {
    "loss": lambda s: s.loss,
    "residual": lambda s: s.residual,
    "gradient": lambda s: errors.together(s.gradient_norms.values()),
    "equilibrium.residual": at_rest,
    "Z_fro": lambda s: errors.frobenius(s.Z, s.Z_radius, s.again.Z),
    "sigma_min_Z": lambda s: s.sigma_min_Z,
    "jacobian_norm": jacobian_norm,
}
