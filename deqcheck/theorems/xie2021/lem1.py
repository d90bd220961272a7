"""Lemmas 1 and 2: feedforward networks inside OptEq."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from deqcheck.linalg import errors
from deqcheck.linalg.spectra import exact_rank
from deqcheck.models.opteq.network import Network
from deqcheck.models.problem import Params
from deqcheck.records.claim import Claim
from deqcheck.records.measured import EPS, Measured
from deqcheck.seeds import rng
from deqcheck.theorems.base import CORRECTED, PRINTED, Check
from deqcheck.theorems.xie2021.common import Pointwise, cite, tolerance
from deqcheck.theorems.xie2021.factors import chain_factors, factor_noise, rank_of
from deqcheck.theorems.xie2021.setting import Problem

# How many inputs are drawn.
INPUTS = 16
# Beyond this width ranks are not computed in rationals.
WIDEST = 30


def no_chain(p: Problem) -> Iterable[str]:
    """A feedforward network is read off the case where every layer has the width of the state."""
    apart = sum(len(layer.W) != p.model.m for layer in p.start.network.layers)
    if apart:
        yield (
            f"{apart} of the {p.model.depth} layers have another width than the state, so that the "
            "weights form no feedforward network: layers of the width of the state"
        )


class Lemma1(Pointwise):
    """A feedforward network y = W_L s(W_{L-1} ... s(W_1 z_0 + U_1 x + b_1) ...) with the weights of
    the case (n_k = m) has the same output as the network (2) of hidden units, in which W_k is
    V_k V_{k-1}^T with V_k of a common width. Printed: the width max_k n_k suffices. Corrected:
    max_k (n_k + n_{k-1} - rank W_k) does, built backwards with Lemma 4. Where no V_k are found at
    the printed width, that alone shows nothing: for L = 3 and s' > 0 it is shown that there are
    none. If outputs span R^m, V_2 is invertible; if derivatives by z_0 do, so is V_1; then every
    derivative of (2) is invertible, while those of the network have rank at most rank W_2.
    """

    id = "xie2021/lem1"
    title = "Hidden-unit form of a feedforward network"
    cite = cite("Lemma 1", "(1), (2)")
    soundness = "false"
    editions = (PRINTED, CORRECTED)
    erratum = (
        "The width max n_k is not enough: s = tanh, W_1 = W_3 = I and W_2 = [[1, 1], [2, 2]] give "
        "the output (tanh t, tanh 2t), t = tanh z_1 + tanh z_2. It spans R^2 and is no function of "
        "one a^T z, so that all V_k of width 2 are invertible and (2) is one to one; the network "
        "is not. (Large weights come as near as one likes.) max_k (n_k + n_{k-1} - rank W_k) is "
        "enough. Weights 1, 0, 1 have no factors of width 1 either, but other weights give the "
        "same, constant, output."
    )

    obstruction = Check(
        "a weight between invertible hidden units is invertible",
        "rank_W >= width",
        "Lemma 1, printed",
    )
    output = Check("both networks give the same output", "difference <= noise", "Lemma 1")

    def unchecked(self, p: Problem) -> Iterable[str]:
        yield from no_chain(p)
        if not list(no_chain(p)) and self._factors(p) is None and self._obstructed(p) is None:
            yield (
                f"no factors of width {p.model.m} were found, which does not show that no network "
                "(2) has the same output: invertible inner weights; or three layers, s' > 0 and "
                "outputs that span the space"
            )

    def claims(self, p: Problem, state: object) -> Iterable[Claim]:
        if list(no_chain(p)):
            return
        factors = self._factors(p)
        if factors is not None:
            yield self._compare(p, factors)
        elif (rank := self._obstructed(p)) is not None:
            yield self.obstruction(rank_W=rank, width=p.model.m)

    def _factors(self, p: Problem) -> list[np.ndarray] | None:
        weights, m = [layer.W for layer in p.start.network.layers], p.model.m
        width = m if self.printed else max(2 * m - rank_of(W) for W in weights)
        return chain_factors(weights, width)

    def _obstructed(self, p: Problem) -> int | None:
        """rank W_2 where no hidden units of width m can give the output, else None."""
        weights, m, s = [layer.W for layer in p.start.network.layers], p.model.m, p.model.s
        if len(weights) != 3 or m > WIDEST or not (s.strict or s.slopes[0] > 0):
            return None
        rank = exact_rank(weights[1])
        if rank == m:
            return None
        z, x = drawn_inputs(p)
        seen = Feedforward(p, weights)
        known = (
            errors.nth_singular_value(a, m, seen.noise(z, x)).low > 0
            for a in (seen.output(z, x), seen.derivatives(z, x))
        )
        return rank if all(known) else None

    def _compare(self, p: Problem, factors: list[np.ndarray]) -> Claim:
        weights = [layer.W for layer in p.start.network.layers]
        noise = max(
            factor_noise(W, V, before)
            for W, V, before in zip(weights, factors[1:], factors[:-1], strict=True)
        )
        z, x = drawn_inputs(p)
        products = [V @ before.T for V, before in zip(factors[1:], factors[:-1], strict=True)]
        one, other = (Feedforward(p, each).output(z, x) for each in (weights, products))
        growth = float(np.prod([1 + np.linalg.norm(W, 2) for W in weights]))
        drive = sum(float(np.linalg.norm(layer.drive)) for layer in p.start.network.layers)
        size = (1 + drive + float(np.linalg.norm(z) + np.linalg.norm(x))) * growth
        off = float(np.linalg.norm(one - other))
        return self.output(difference=Measured(off), noise=tolerance(noise * size, size))


def drawn_inputs(p: Problem) -> tuple[np.ndarray, np.ndarray]:
    """z_0 and x of the feedforward network."""
    draw = rng(p.seed, "xie2021/lem1.inputs")
    return draw.standard_normal((p.model.m, INPUTS)), draw.standard_normal((len(p.model.X), INPUTS))


@dataclass(frozen=True)
class Feedforward:
    """y = W_L s(W_{L-1} ... s(W_1 z_0 + U_1 x + b_1) ... + U_{L-1} x + b_{L-1})."""

    p: Problem
    weights: list[np.ndarray]

    def _inner(self, z: np.ndarray, x: np.ndarray) -> Iterable[tuple[np.ndarray, np.ndarray]]:
        for W, layer in zip(self.weights[:-1], self.p.start.network.layers, strict=False):
            A = W @ z + layer.U @ x + layer.b[:, None]
            z = self.p.model.s.value(A)
            yield A, z

    def output(self, z: np.ndarray, x: np.ndarray) -> np.ndarray:
        for _, after in self._inner(z, x):
            z = after
        out: np.ndarray = self.weights[-1] @ z
        return out

    def derivatives(self, z: np.ndarray, x: np.ndarray) -> np.ndarray:
        """dy/dz_0 of every input, one below the other."""
        D = np.broadcast_to(np.eye(len(z)), (z.shape[1], len(z), len(z)))
        for W, (A, _) in zip(self.weights, self._inner(z, x), strict=False):
            D = self.p.model.s.slope(A).T[:, :, None] * (W @ D)
        return np.asarray(self.weights[-1] @ D).reshape(-1, len(z))

    def noise(self, z: np.ndarray, x: np.ndarray) -> float:
        """Rounding of both, generously: every layer stretches what came before."""
        length = 4 * len(self.weights) * (len(z) + len(x))
        growth = float(np.prod([1 + np.linalg.norm(W) for W in self.weights])) ** 2
        layers = self.p.start.network.layers
        drive = sum(1 + float(np.linalg.norm(a.U) + np.linalg.norm(a.b)) for a in layers)
        return errors.rounding(length, growth * drive * (1 + float(np.linalg.norm([*z, *x]))))


class Lemma2(Pointwise):
    """A deep OptEq contains every feedforward network h_1 = s(U_1 x + b_1),
    h_l = s(W_l h_{l-1} + b_l), y = W_o h_L: with a = 1, a reset layer W = 0, and layers that keep
    h_l in a block of their own, one application of T gives the network's output from any start.
    """

    id = "xie2021/lem2"
    title = "Deep OptEq networks contain feedforward ones"
    cite = cite("Lemma 2")
    soundness = "typo"
    erratum = (
        "The proof sets W_1 = 0 and lets the input enter through U_1 alone: then f_1 = 0 whatever "
        "x is, and the input is lost. It has to enter after the reset, through U_2; the lemma "
        "holds."
    )

    output = Check("both networks give the same output", "difference <= noise", "Lemma 2")
    again = Check("a second application changes nothing", "difference <= noise", "Lemma 2")

    def unchecked(self, p: Problem) -> Iterable[str]:
        return no_chain(p)

    def claims(self, p: Problem, state: object) -> Iterable[Claim]:
        if list(no_chain(p)):
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
