"""Lemmas 1 and 2: feedforward networks inside OptEq."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from deqcheck.frozen import dataclass
from deqcheck.linalg import errors
from deqcheck.linalg.entries import euclidean
from deqcheck.linalg.remembered import spectral_norm
from deqcheck.linalg.spectra import exact_rank
from deqcheck.models.opteq.network import Layer, Network
from deqcheck.models.problem import Params
from deqcheck.records.claim import Claim
from deqcheck.records.measured import Measured
from deqcheck.seeds import rng
from deqcheck.theorems.base import CORRECTED, PRINTED, Check, Space
from deqcheck.theorems.xie2021.common import Pointwise, cite, tolerance
from deqcheck.theorems.xie2021.factors import chain_factors, factor_noise, rank_of
from deqcheck.theorems.xie2021.setting import Problem

# How many inputs are drawn.
INPUTS = 16
# Beyond this width ranks are not computed in rationals.
WIDEST = 30


def no_chain(p: Problem) -> Iterable[str]:
    """A feedforward network is read off a case whose layers are no wider than the state."""
    apart = sum(len(layer.W) > p.model.m for layer in p.start.network.layers)
    if apart:
        yield (
            f"{apart} of the {p.model.depth} layers are wider than the state, so that the weights "
            "form no feedforward network: layers of at most the width of the state"
        )


def chain(p: Problem) -> list[np.ndarray]:
    """W_k (n_k x n_{k-1}), n_0 = m: the first n_{k-1} columns of the weights of the case."""
    layers = p.start.network.layers
    widths = [p.model.m, *(len(layer.W) for layer in layers[:-1])]
    return [layer.W[:, :width] for layer, width in zip(layers, widths, strict=True)]


class Lemma1(Pointwise):
    """A feedforward network y = W_L s(W_{L-1} ... s(W_1 z_0 + U_1 x + b_1) ...) has the same output
    as the network (2) of hidden units, h -> V_k^T s(V_k h + U_k x + b_k) from h = V_0^T z_0, in
    which W_k is V_k V_{k-1}^T with V_k of a common width. Its W_k (n_k x n_{k-1}, n_0 = m) are the
    first n_{k-1} columns of those of the case. Printed: the width max_k n_k suffices. Corrected:
    max_k (n_k + n_{k-1} - rank W_k) does, built backwards with Lemma 4. Where no V_k are found at
    the printed width, that alone shows nothing: for L = 3, n_k = m and s' > 0 it is shown that
    there are none. If outputs span R^m, V_2 is invertible; if derivatives by z_0 do, so is V_1;
    then every derivative of (2) is invertible, while those of the network have rank at most rank
    W_2.
    """

    id = "xie2021/lem1"
    title = "Hidden-unit form of a feedforward network"
    cite = cite("Lemma 1", "(1), (2)")
    uses = ("xie2021/lem4",)
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

    space = Space(dict.fromkeys(("m", "n1", "n2", "n3"), (2, 2)), {"depth": (1, 2, 3, 3)})

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
                "(2) has the same output: invertible inner weights; or three layers of the width "
                "of the state, s' > 0 and outputs that span the space"
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
        weights = chain(p)
        width = p.model.m if self.printed else max(sum(W.shape) - rank_of(W) for W in weights)
        return chain_factors(weights, width)

    def _obstructed(self, p: Problem) -> int | None:
        """rank W_2 where no hidden units of width m can give the output, else None."""
        weights, m, s = chain(p), p.model.m, p.model.s
        square = all(len(W) == m for W in weights)
        if len(weights) != 3 or not square or m > WIDEST or not (s.strict or s.slopes[0] > 0):
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
        z, x = drawn_inputs(p)
        one, other = Feedforward(p, chain(p)).output(z, x), hidden_units(p, factors, z, x)
        noise, size = _apart(p, factors, z, x)
        off = euclidean(one - other)
        return self.output(difference=Measured(off), noise=tolerance(noise, size))


def _apart(
    p: Problem, factors: list[np.ndarray], z: np.ndarray, x: np.ndarray
) -> tuple[float, float]:
    """How far rounding may bring the outputs apart, and the size of what the last weight sees and
    makes. A weight is met up to the rounding of its factors, which acts on what the layer sees;
    U_k x + b_k may cancel that; later layers stretch what earlier ones are off."""
    weights, layers = chain(p), p.start.network.layers
    seen = [z, *(after for _, after in Feedforward(p, weights).inner(z, x))]
    drives = [_drive_rounding(layer, x) for layer in layers[:-1]]
    off = 0.0
    pairs = zip(weights, factors[1:], factors[:-1], strict=True)
    for (W, V, before), here, drive in zip(pairs, seen, [*drives, 0.0], strict=True):
        off = spectral_norm(W) * off + factor_noise(W, V, before) * euclidean(here) + drive
    return off, (1 + euclidean(weights[-1])) * (1 + euclidean(seen[-1]))


def _drive_rounding(layer: Layer, x: np.ndarray) -> float:
    """Of U x + b and of what it is added to."""
    size = euclidean(layer.U) * euclidean(x) + float(np.sqrt(x.shape[1])) * euclidean(layer.b)
    return errors.rounding(len(x) + 2, size)


def drawn_inputs(p: Problem) -> tuple[np.ndarray, np.ndarray]:
    """z_0 and x of the feedforward network."""
    draw = rng(p.seed, "xie2021/lem1.inputs")
    d = len(p.start.network.X)
    return draw.standard_normal((p.model.m, INPUTS)), draw.standard_normal((d, INPUTS))


def hidden_units(p: Problem, V: list[np.ndarray], z: np.ndarray, x: np.ndarray) -> np.ndarray:
    """(2): h = V_k^T s(V_k h + U_k x + b_k) from V_0^T z_0, y = V_L h."""
    h: np.ndarray = V[0].T @ z
    for factor, layer in zip(V[1:-1], p.start.network.layers, strict=False):
        h = factor.T @ p.model.s.value(factor @ h + layer.U @ x + layer.b[:, None])
    return np.asarray(V[-1] @ h)


@dataclass(frozen=True)
class Feedforward:
    """y = W_L s(W_{L-1} ... s(W_1 z_0 + U_1 x + b_1) ... + U_{L-1} x + b_{L-1})."""

    p: Problem
    weights: list[np.ndarray]

    def inner(self, z: np.ndarray, x: np.ndarray) -> Iterable[tuple[np.ndarray, np.ndarray]]:
        for W, layer in zip(self.weights[:-1], self.p.start.network.layers, strict=False):
            A = W @ z + layer.U @ x + layer.b[:, None]
            z = self.p.model.s.value(A)
            yield A, z

    def output(self, z: np.ndarray, x: np.ndarray) -> np.ndarray:
        for _, after in self.inner(z, x):
            z = after
        out: np.ndarray = self.weights[-1] @ z
        return out

    def derivatives(self, z: np.ndarray, x: np.ndarray) -> np.ndarray:
        """dy/dz_0 of every input, one below the other."""
        D = np.broadcast_to(np.eye(len(z)), (z.shape[1], len(z), len(z)))
        for W, (A, _) in zip(self.weights, self.inner(z, x), strict=False):
            D = self.p.model.s.slope(A).T[:, :, None] * (W @ D)
        return np.asarray(self.weights[-1] @ D).reshape(-1, len(z))

    def noise(self, z: np.ndarray, x: np.ndarray) -> float:
        """Rounding of both, generously: every layer stretches what came before."""
        length = 4 * len(self.weights) * (len(z) + len(x))
        growth = float(np.prod([1 + np.linalg.norm(W) for W in self.weights])) ** 2
        layers = self.p.start.network.layers
        drive = sum(1 + (euclidean(a.U) + euclidean(a.b)) for a in layers)
        return errors.rounding(length, growth * drive * (1 + float(np.linalg.norm([*z, *x]))))


class Lemma2(Pointwise):
    """A deep OptEq contains every feedforward network h_1 = s(U_1 x + b_1),
    h_l = s(W_l h_{l-1} + b_l), y = W_o h_L: with a = 1, a reset layer W = 0, and layers that keep
    h_l in a block of their own, one application of T gives the network's output from any start.
    Layers may have any widths n_l <= m; W_l has the first n_{l-1} columns of that of the case, W_o
    the first n_L.
    """

    id = "xie2021/lem2"
    title = "Deep OptEq networks contain feedforward ones"
    cite = cite("Lemma 2")
    uses = ("xie2021/lem4",)
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
        X, Wo = p.start.network.X, p.start.Wo[:, : len(p.start.network.layers[-1].W)]
        theta = embedding(p, Wo)
        network = Network(1.0, p.model.s, X, theta, p.model.depth + 1)
        shape = (theta["Wo"].shape[1], p.model.N)
        start = 10 * rng(p.seed, "xie2021/lem2.start").standard_normal(shape)
        once = network.T(start)
        h = hidden_states(p)[-1]
        size, radius = euclidean(h) * (1 + euclidean(Wo)), _chain_rounding(p)
        off = euclidean(theta["Wo"] @ once - Wo @ h)
        noise = spectral_norm(Wo) * radius + errors.rounding(len(h), euclidean(Wo) * euclidean(h))
        yield self.output(difference=Measured(off), noise=tolerance(2 * noise, size))
        last = theta[f"W{p.model.depth + 1}"]
        off = euclidean(network.T(once) - once)
        noise = spectral_norm(last) * radius
        noise += errors.rounding(len(last), euclidean(last) * euclidean(h))
        yield self.again(difference=Measured(off), noise=tolerance(2 * noise, size))


def hidden_states(p: Problem) -> list[np.ndarray]:
    """h_1, ..., h_L."""
    found: list[np.ndarray] = [p.model.s.value(p.start.network.layers[0].drive)]
    for W, layer in zip(chain(p)[1:], p.start.network.layers[1:], strict=True):
        found.append(p.model.s.value(W @ found[-1] + layer.b[:, None]))
    return found


def _chain_rounding(p: Problem) -> float:
    """How far rounding may bring h_L from the exact one: W_l h_{l-1} and b_l may cancel, and later
    layers stretch what earlier ones are off. Zeros beside W_l add nothing."""
    states = hidden_states(p)
    off = errors.rounding(1, euclidean(states[0]))
    layers = zip(chain(p)[1:], p.start.network.layers[1:], states[:-1], states[1:], strict=True)
    for W, layer, before, after in layers:
        shift = float(np.sqrt(p.model.N)) * euclidean(layer.b)
        own = errors.rounding(len(before) + 2, euclidean(W) * euclidean(before) + shift)
        off = spectral_norm(W) * off + own + errors.rounding(1, euclidean(after))
    return off


def embedding(p: Problem, Wo: np.ndarray) -> Params:
    """A reset layer, then layer l with A_l in block l - 1 and I in block l."""
    layers, d = p.start.network.layers, len(p.start.network.X)
    widths = [len(layer.W) for layer in layers]
    ends = np.cumsum([0, *widths])
    first, total = widths[0], int(ends[-1])
    out: Params = {
        "W1": np.zeros((first, total)),
        "U1": np.zeros((first, d)),
        "b1": np.zeros(first),
    }
    for i, (A, layer) in enumerate(zip(chain(p), layers, strict=True)):
        W = np.zeros((widths[i], total))
        W[:, ends[i] : ends[i + 1]] = np.eye(widths[i])
        if i:
            W[:, ends[i - 1] : ends[i]] = A
        out[f"W{i + 2}"], out[f"b{i + 2}"] = W, layer.b
        # The input enters after the reset: through the first layer's U it would be lost.
        out[f"U{i + 2}"] = np.zeros((widths[i], d)) if i else layer.U
    out["Wo"] = np.zeros((len(Wo), total))
    out["Wo"][:, ends[-2] :] = Wo
    return out
