"""Lemma 3: a deep equilibrium as one layer of blocks."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from deqcheck.linalg.entries import euclidean
from deqcheck.linalg.kron import block_diagonal
from deqcheck.models.opteq.equilibrium import OpteqEquilibrium
from deqcheck.models.opteq.network import Network
from deqcheck.records.claim import Claim
from deqcheck.records.measured import Measured
from deqcheck.theorems.base import Check
from deqcheck.theorems.xie2021.common import Pointwise, cite, found, plain, tolerance, work
from deqcheck.theorems.xie2021.setting import Problem


class Lemma3(Pointwise):
    """If Z = T(Z), the blocks zt = (z_1, ..., z_{L-1}, z_0) solve zt = a Wt^T s(Wt P zt + Ut x +
    bt) + (1 - a) P zt, where P zt = (z_0, z_1, ..., z_{L-1}). A remark, not of the paper: the
    converse holds as well, and iterating (6) leads to the equilibrium.
    """

    id = "xie2021/lem3"
    title = "A deep equilibrium is one layer of blocks"
    cite = cite("Lemma 3", "(6), (13)")

    forward = Check("blocks of the equilibrium solve (6)", "residual <= noise", "(6)")
    backward = Check("iterating (6) from 0 ends at the same z_0", "distance <= noise", "(6)")

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        yield plain(p)
        yield found(p)

    def claims(self, p: Problem, state: object) -> Iterable[Claim]:
        network, solved = p.start.network, p.start.solved
        if not solved.found or p.start.map.prox is not None:
            return
        zt = blocks_of(network, solved)
        residual = float(np.linalg.norm(zt - stacked(network, zt)))
        noise = stacked_noise(network, solved, zt)
        yield self.forward(residual=Measured(residual), noise=tolerance(noise, euclidean(zt)))

    def remarks(self, p: Problem, run: object) -> Iterable[Claim]:
        network, solved = p.start.network, p.start.solved
        if solved.found and p.start.map.prox is None and network.lipschitz < 1:
            yield self._backward(network, solved)

    def _backward(self, network: Network, solved: OpteqEquilibrium) -> Claim:
        L, q, Z = len(network.layers), network.lipschitz, solved.Z
        zt = blocks_of(network, solved)
        noise = stacked_noise(network, solved, zt)
        x = np.zeros_like(zt)
        for _ in range(20_000):
            moved = stacked(network, x)
            done = np.linalg.norm(moved - x) <= noise
            x = moved
            if done:
                break
        # L applications of (6) send each block once through T, which contracts by q.
        left = x
        for _ in range(L):
            left = stacked(network, left)
        rest = euclidean(left - x)
        distance = float(np.linalg.norm(x[-len(Z) :] - Z))
        room = (rest + (L + 1) * noise) / (1 - q) + noise
        return self.backward(distance=Measured(distance), noise=tolerance(room, euclidean(Z)))


def blocks_of(network: Network, solved: OpteqEquilibrium) -> np.ndarray:
    """z_1, ..., z_{L-1}, z_0."""
    blocks = network.blocks(solved.Z)
    return np.vstack([*blocks[1:-1], blocks[0]])


def stacked_noise(network: Network, solved: OpteqEquilibrium, zt: np.ndarray) -> float:
    """How far (6) may be from holding: rounding, and the error of the equilibrium."""
    size = euclidean(zt)
    rounded = sum(2 * work(layer, size) for layer in network.layers)
    return solved.error * (1 + network.lipschitz) + rounded


def stacked(network: Network, zt: np.ndarray) -> np.ndarray:
    """The right side of (6) with dense block matrices."""
    L = len(network.layers)
    m = len(zt) // L
    P = np.zeros((L * m, L * m))
    for i in range(L):
        before = (i - 1) % L
        P[i * m : (i + 1) * m, before * m : (before + 1) * m] = np.eye(m)
    W = block_diagonal([layer.W for layer in network.layers])
    drive = np.vstack([layer.drive for layer in network.layers])
    inner = P @ zt
    out: np.ndarray = network.alpha * W.T @ network.s.value(W @ inner + drive)
    found: np.ndarray = out + (1 - network.alpha) * inner
    return found
