"""Lemma 11 in dense Kronecker form: slow, with the commutation matrix, corrected or as printed.

d vec(Z^K) = sum_k [prod_{q > k} B_q] (1 - beta_k) A_k(l+1) dloc_k, where A_k(l) is the Jacobian of
layers l..L, B_q = beta_q V_q + (1 - beta_q) A_q(1) and V_q that of S_q.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from deqcheck.linalg.kron import block_diagonal, commutation, unvec, vec
from deqcheck.models.opteq.network import Layer, Pass
from deqcheck.models.opteq.sweep import Step
from deqcheck.models.problem import Params

if TYPE_CHECKING:
    from deqcheck.models.opteq.state import OpteqState


def gradient(state: OpteqState, printed: bool = False) -> Params:
    """J^T r from the dense Jacobian of the state."""
    Wo, Z = state.Wo, state.Z
    q = np.kron(np.eye(Z.shape[1]), Wo).T @ vec(state.r)
    out = {
        name: unvec(D.T @ q, state.theta[name].shape)
        for name, D in state_jacobian(state, printed).items()
    }
    out["Wo"] = out["Wo"] + state.r @ Z.T
    return {name: out[name] for name in state.theta}


def state_jacobian(state: OpteqState, printed: bool = False) -> Params:
    """d vec(Z)/d vec(parameter) for every parameter.

    As printed, (16) lacks the factor 1 - beta_k.
    """
    size = state.Z.size
    total = {name: np.zeros((size, a.size)) for name, a in state.theta.items()}
    after = _equilibrium_factor(state) if state.model.implicit else np.eye(size)
    for step in reversed(state.steps):
        beta = step.weights.beta
        later = np.eye(size)
        for i in reversed(range(state.model.depth)):
            layer, seen = state.network.layers[i], step.passes[i]
            share = 1.0 if printed else 1 - beta
            for name, local in local_jacobians(layer, seen).items():
                total[f"{name}{i + 1}"] += share * after @ later @ local
            if state.network.extractor is not None:
                local = input_jacobian(layer, seen) @ _extractor_jacobian(state)
                total["W0"] += share * after @ later @ local
            later = later @ _layer_jacobian(layer, seen)
        after = after @ _pulled(state, step, later, total, after)
    return total


def jacobian_within(state: OpteqState, at: tuple[int, int], before: Params) -> Params:
    """(19): d vec(Z^(k,l))/d vec(parameter of a layer), from the derivatives before the sweep."""
    (k, depth), size = at, state.Z.size
    later, total = np.eye(size), {}
    passes = state.steps[k - 1].passes
    for i in reversed(range(depth)):
        layer = state.network.layers[i]
        for name, local in local_jacobians(layer, passes[i]).items():
            total[f"{name}{i + 1}"] = later @ local
        later = later @ _layer_jacobian(layer, passes[i])
    names = [f"{x}{i + 1}" for x in "WUb" for i in range(state.model.depth)]
    return {name: total.get(name, 0.0) + later @ before[name] for name in names}


def _pulled(
    state: OpteqState, step: Step, through: np.ndarray, total: Params, after: np.ndarray
) -> np.ndarray:
    """B_k; a regulariser |W_o z|^2/2 also moves Z with W_o."""
    beta = step.weights.beta
    if state.sam is None:
        return through
    m, g = state.model.m, state.sam.gamma
    if state.sam.uses_output:
        # d(Wo^T Wo Z) = dWo^T Wo Z + Wo^T dWo Z.
        Wo = state.Wo
        swapped = commutation(*Wo.shape)
        D = np.kron((Wo @ step.Z).T, np.eye(m)) @ swapped + np.kron(step.Z.T, Wo.T)
        total["Wo"] -= beta * g * after @ D
    V = block_diagonal(list(state.sam.jacobians(step.Z, step.weights)))
    out: np.ndarray = beta * V + (1 - beta) * through
    return out


def _layer_jacobian(layer: Layer, seen: Pass) -> np.ndarray:
    N = seen.Zin.shape[1]
    D = np.diag(vec(layer.s.slope(seen.A)))
    wide = np.kron(np.eye(N), layer.W)
    out: np.ndarray = layer.alpha * wide.T @ D @ wide + (1 - layer.alpha) * np.eye(seen.Zin.size)
    return out


def local_jacobians(layer: Layer, seen: Pass) -> Params:
    """The derivative of a layer's output by its own W, U and b."""
    n, m = layer.W.shape
    N = seen.Zin.shape[1]
    D = np.diag(vec(layer.s.slope(seen.A)))
    outer = layer.alpha * np.kron(np.eye(N), layer.W.T)
    direct = layer.alpha * np.kron(seen.G.T, np.eye(m)) @ commutation(n, m)
    return {
        "W": direct + outer @ D @ np.kron(seen.Zin.T, np.eye(n)),
        "U": outer @ D @ np.kron(layer.X.T, np.eye(n)),
        "b": outer @ D @ np.kron(np.ones((N, 1)), np.eye(n)),
    }


def input_jacobian(layer: Layer, seen: Pass) -> np.ndarray:
    """The derivative of a layer's output by x: a (I kron W^T) D (I kron U)."""
    N = seen.Zin.shape[1]
    D = np.diag(vec(layer.s.slope(seen.A)))
    out: np.ndarray = layer.alpha * np.kron(np.eye(N), layer.W.T) @ D @ np.kron(np.eye(N), layer.U)
    return out


def _extractor_jacobian(state: OpteqState) -> np.ndarray:
    """dx/dW_0 = diag(s'(W_0 x_0)) (X_0^T kron I)."""
    g = state.network.extractor
    assert g is not None
    out: np.ndarray = vec(g.slopes)[:, None] * np.kron(g.X0.T, np.eye(len(g.W0)))
    return out


def _equilibrium_factor(state: OpteqState) -> np.ndarray:
    """(I - M)^-1 for the map's Jacobian M, followed by the prox on the right if there is one."""
    N, m = state.model.N, state.model.m
    out = np.zeros((N * m, N * m))
    slopes = None
    if state.map.prox is not None:
        slopes = state.map.prox.prox_slopes(state.network.T(state.Z))
    for j, M in enumerate(state.map.jacobians(state.Z)):
        block = np.linalg.inv(np.eye(m) - M)
        at = slice(j * m, (j + 1) * m)
        out[at, at] = block if slopes is None else block @ slopes[j]
    return out
