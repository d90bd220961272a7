"""Lemmas 1 and 2: feedforward networks inside OptEq."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from deqcheck.models.opteq.network import Network
from deqcheck.models.problem import Params
from deqcheck.records.claim import Claim
from deqcheck.records.measured import EPS, Measured
from deqcheck.seeds import rng
from deqcheck.theorems.base import CORRECTED, PRINTED, Check
from deqcheck.theorems.xie2021.common import Pointwise, cite, tolerance
from deqcheck.theorems.xie2021.factors import chain_factors, factor_noise, rank_of
from deqcheck.theorems.xie2021.setting import Problem

CHAIN = Check("the weights form a chain of square matrices", "apart == 0", "setting")


def apart(p: Problem) -> int:
    """How many layers have another width than the state."""
    return sum(len(layer.W) != p.model.m for layer in p.start.network.layers)


class Lemma1(Pointwise):
    """A feedforward network with weights W_1..W_L (those of the case, n_k = m) can be written with
    hidden units, W_k = V_k V_{k-1}^T. Printed: of width max_k n_k. Corrected: of width
    max_k (n_k + n_{k-1} - rank W_k), built backwards with Lemma 4.
    """

    id = "xie2021/lem1"
    title = "Hidden-unit form of a feedforward network"
    cite = cite("Lemma 1")
    soundness = "false"
    editions = (PRINTED, CORRECTED)
    erratum = (
        "The width max n_k is not enough: for widths 1 and weights 1, 0, 1 it asks for v3 v2 = 1, "
        "v2 v1 = 0, v1 v0 = 1. max_k (n_k + n_{k-1} - rank W_k) is enough."
    )

    chain = CHAIN
    obstruction = Check(
        "a weight between two invertible ones is invertible at this width",
        "rank_W >= width",
        "Lemma 1",
    )
    product = Check("W_k = V_k V_{k-1}^T", "deviation <= noise", "Lemma 1")
    output = Check("both networks give the same output", "difference <= noise", "Lemma 1")

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        yield self.chain(apart=apart(p))

    def claims(self, p: Problem, state: object) -> Iterable[Claim]:
        if apart(p):
            return
        weights = [layer.W for layer in p.start.network.layers]
        m, ranks = p.model.m, [rank_of(W) for W in weights]
        if self.printed:
            for before, here, after in zip(ranks[:-2], ranks[1:-1], ranks[2:], strict=True):
                if before == after == m:
                    # V_k V_{k-1}^T of two invertible factors has full rank.
                    yield self.obstruction(rank_W=here, width=m)
        width = m if self.printed else max(2 * m - rank for rank in ranks)
        factors = chain_factors(weights, width)
        if factors is not None:
            yield from self._compare(p, weights, factors)

    def _compare(
        self, p: Problem, weights: list[np.ndarray], factors: list[np.ndarray]
    ) -> Iterable[Claim]:
        worst, noise = 0.0, 0.0
        for W, V, before in zip(weights, factors[1:], factors[:-1], strict=True):
            worst = max(worst, float(np.linalg.norm(V @ before.T - W)))
            noise = max(noise, factor_noise(W, V, before))
        size = max(float(np.linalg.norm(W)) for W in weights)
        yield self.product(deviation=Measured(worst), noise=tolerance(noise, size))
        x = rng(p.seed, "xie2021/lem1.inputs").standard_normal((p.model.m, 16))
        one = other = x
        for W, V, before in zip(weights, factors[1:], factors[:-1], strict=True):
            one, other = p.model.s.value(W @ one), p.model.s.value(V @ (before.T @ other))
        off = float(np.linalg.norm(one - other))
        growth = float(np.prod([1 + np.linalg.norm(W, 2) for W in weights]))
        size = float(np.linalg.norm(x)) * growth
        yield self.output(difference=Measured(off), noise=tolerance(noise * size, size))


class Lemma2(Pointwise):
    """A deep OptEq contains every feedforward network h_1 = s(U_1 x + b_1),
    h_l = s(W_l h_{l-1} + b_l), y = W_o h_L: with a = 1, a reset layer W = 0, and layers that keep
    h_l in a block of their own, one application of T gives the network's output from any start.
    """

    id = "xie2021/lem2"
    title = "Deep OptEq networks contain feedforward ones"
    cite = cite("Lemma 2")

    chain = CHAIN
    output = Check("both networks give the same output", "difference <= noise", "Lemma 2")
    again = Check("a second application changes nothing", "difference <= noise", "Lemma 2")

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        yield self.chain(apart=apart(p))

    def claims(self, p: Problem, state: object) -> Iterable[Claim]:
        if apart(p):
            return
        theta = embedding(p.theta0, p.model.depth)
        network = Network(1.0, p.model.s, p.model.X, theta, p.model.depth + 1)
        shape = (theta["Wo"].shape[1], p.model.N)
        start = 10 * rng(p.seed, "xie2021/lem2.start").standard_normal(shape)
        once = network.T(start)
        h = feedforward(p)
        size = float(np.linalg.norm(h)) * (1 + float(np.linalg.norm(p.start.Wo)))
        growth = float(
            np.prod([1 + np.linalg.norm(theta[f"W{i + 2}"]) for i in range(p.model.depth)])
        )
        inner = size + float(np.linalg.norm(p.model.X) * np.linalg.norm(p.theta0["U1"]))
        noise = 16 * EPS * sum(shape) * p.model.depth * growth**2 * (1 + inner)
        off = float(np.linalg.norm(theta["Wo"] @ once - p.start.Wo @ h))
        yield self.output(difference=Measured(off), noise=tolerance(noise, size))
        off = float(np.linalg.norm(network.T(once) - once))
        yield self.again(difference=Measured(off), noise=tolerance(noise, size))


def feedforward(p: Problem) -> np.ndarray:
    h: np.ndarray = p.model.s.value(p.theta0["U1"] @ p.model.X + p.theta0["b1"][:, None])
    for i in range(2, p.model.depth + 1):
        h = p.model.s.value(p.theta0[f"W{i}"] @ h + p.theta0[f"b{i}"][:, None])
    return h


def embedding(theta: Params, depth: int) -> Params:
    """A reset layer, then layer l with A_l in block l - 1 and I in block l."""
    m, d = len(theta["b1"]), theta["U1"].shape[1]
    out: Params = {"W1": np.zeros((m, depth * m)), "U1": np.zeros((m, d)), "b1": np.zeros(m)}
    for i in range(1, depth + 1):
        W = np.zeros((m, depth * m))
        W[:, (i - 1) * m : i * m] = np.eye(m)
        if i > 1:
            W[:, (i - 2) * m : (i - 1) * m] = theta[f"W{i}"]
        out[f"W{i + 1}"], out[f"b{i + 1}"] = W, theta[f"b{i}"]
        # The input enters after the reset: through the first layer's U it would be lost.
        out[f"U{i + 1}"] = theta["U1"] if i == 1 else np.zeros((m, d))
    out["Wo"] = np.zeros((len(theta["Wo"]), depth * m))
    out["Wo"][:, (depth - 1) * m :] = theta["Wo"]
    return out
