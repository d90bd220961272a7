"""Theorem 5: the steps of its sketch, for one pair of samples."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np

from deqcheck.linalg import errors
from deqcheck.linalg.arccos import Q
from deqcheck.linalg.entries import euclidean
from deqcheck.linalg.relu_equilibrium import relu
from deqcheck.models.problem import Params
from deqcheck.records.claim import Claim
from deqcheck.records.measured import EPS, Measured, exp, log, measured
from deqcheck.seeds import rng
from deqcheck.theorems.base import CORRECTED, PRINTED, STATIC, Check
from deqcheck.theorems.frequency import SEEDS, happened
from deqcheck.theorems.ling2022.assumptions import assumption_1, assumption_2, norms
from deqcheck.theorems.ling2022.common import MODELS, cite, nearest, worst
from deqcheck.theorems.ling2022.draws import draw
from deqcheck.theorems.ling2022.kernel import Q_ULPS, PopulationKernel, given_kernel, samples
from deqcheck.theorems.ling2022.setting import Draws, Problem, State, without_sigma

MOST_LAYERS = 1000
# Layers whose mean is judged at the start.
LAYERS = 3
# Two samples whose cosine is nearer to 1 have the same mean up to rounding: (iii) is an equality.
SAME = 1e-6


class Step(Draws):
    """A step of the sketch for the samples i and j."""

    models = MODELS
    dynamics = (STATIC,)
    above_0 = ("eps", "c")
    constants = {
        **SEEDS,
        "l": "the layer",
        "i": "first sample (default 1)",
        "j": "second sample (default 2, or 1 if there is no other)",
        "eps": "what the two sides may differ by",
        "c": "printed: constant of Omega(m eps^2) (default 0.05)",
    }

    there = Check("the samples are there", "last <= n", "i and j")

    def faults(self) -> Iterable[str]:
        yield from super().faults()
        for name in ("l", "i", "j"):
            value = self.fixed.get(name, 1)
            if not (1 <= value <= MOST_LAYERS and float(value).is_integer()):
                yield f"{self.id} has {name} = {value:g}; expected an integer from 1"
        if self.fixed.get("C", 0.0) < 0:
            yield f"{self.id}: C = {self.fixed['C']:g} is negative; expected a number >= 0"

    def constants_used(self, p: Problem) -> Mapping[str, float]:
        return {"j": min(2.0, p.model.n), **super().constants_used(p), **self.fixed}

    def at(self, p: Problem) -> tuple[int, int, int]:
        """l, and the two samples counted from 0."""
        values = self.constants_used(p)
        return int(values["l"]), int(values["i"]) - 1, int(values["j"]) - 1

    def both(self, p: Problem) -> Iterable[Claim]:
        yield self.there(last=max(self.at(p)[1:]) + 1, n=p.model.n)


class FixedPair(Step):
    """Step (i): for fixed h and h' and M with independent entries N(0, 2), (1/m) relu(M h).
    relu(M h') is within eps of its mean with probability at least 1 - exp(-Omega(m eps^2)), judged
    with a constant c. h and h' are those of Lemma 4 for G^(l)_ij at the start of the case, for l =
    1 x_i/sqrt(d) and x_j/sqrt(d), while M is drawn anew. With i = j and l = 1 it is the step of
    Theorem 4's sketch about |z_i^(1)|^2/m. Corrected: with s = |h| |h'| the probability is at least
    1 - 2 exp(-m eps^2/(8 s (4 s + eps))), by Bernstein's inequality: the k-th moment of relu(u)
    relu(v) is at most (2 s)^k (2 k - 1)!!/2 <= (4 s)^k k!/2.
    """

    id = "ling2022/thm5-fixed"
    title = "One entry of the Gram matrix for fixed h and h'"
    cite = cite("Theorem 5, sketch", "(i)")
    soundness = "false"
    editions = (PRINTED, CORRECTED)
    erratum = (
        "A product of two Gaussian variables has exponential tails, not Gaussian ones: for large "
        "eps no constant in Omega(m eps^2) is small enough. m = 1, h = h' of norm 1: the event "
        "fails for g > sqrt((1 + eps)/2), g ~ N(0, 1), a probability that falls like "
        "exp(-(1 + eps)/4). At eps = 10 it is 0.0095, while exp(-0.1 eps^2) is 4.5e-5. Since eps = "
        "(2 sqrt2 sigma_w)^l < 1 where it is used, Theorem 5 is not harmed."
    )
    uses = ("ling2022/eq11", "ling2022/lem4")
    defaults = {"l": 1.0, "i": 1.0, "eps": 0.5, "c": 0.05}

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        yield from self.both(p)
        if self.printed:
            yield from assumption_1(p)
            yield from assumption_2(p)

    def gram(self, p: Problem) -> np.ndarray:
        """Of h and h'."""
        layer, i, j = self.at(p)
        G = gram_matrices(p, p.theta0, layer)[layer - 1]
        found: np.ndarray = covariance(given_kernel(p.model), G, len(p.theta0["W"]))
        return found[np.ix_([i, j], [i, j])]

    def probability(self, p: Problem) -> Measured:
        m, values = len(p.theta0["W"]), self.constants_used(p)
        eps = measured(values["eps"])
        if self.printed:
            return 1 - exp(-measured(values["c"]) * m * eps**2)
        A = self.gram(p)
        s = Measured(float(np.sqrt(A[0, 0] * A[1, 1])), Q_ULPS * EPS * float(A.max()))
        return 1 - 2 * exp(-m * eps**2 / (8 * s * (4 * s + eps)))

    def trial(self, p: Problem, seed: int) -> bool | None:
        """M h and M h' have the covariance of h and h', twice: two independent columns do for M."""
        A, m = self.gram(p), len(p.theta0["W"])
        columns = np.sqrt(2) * rng(p.seed, f"{self.id}.{seed}").standard_normal((m, 2))
        u, v = relu(columns @ roots(A)).T
        size = euclidean(u) * euclidean(v) / m + float(A.max())
        off = Measured(abs(float(u @ v) / m - float(mean(A)[0, 1])), errors.rounding(m + 64, size))
        return happened(off, "<=", measured(self.constants_used(p)["eps"]))


class Parts(NamedTuple):
    """G^(l)_ij/m, its mean given the layers before, K^(l)_ij, and |G^(l-1)_ij/m - K^(l-1)_ij|."""

    gram: Measured
    mean: Measured
    kernel: Measured
    before: Measured


class DrawnPair(Step):
    """With probability at least 1 - exp(-Omega(m eps^2) + O(l log(1/eps))), under Assumptions 1
    and 2; a does not occur in it."""

    defaults = {"l": 2.0, "i": 1.0, "c": 0.05, "C": 0.0}
    constants = {**Step.constants, "C": "printed: constant of O(l log(1/eps)) (default 0)"}

    resolved = Check("eps is positive", "eps > 0", "log(1/eps)")

    def constants_used(self, p: Problem) -> Mapping[str, float]:
        """The eps of the last line of the sketch, (2 sqrt2 sigma_w)^l, unless it is given."""
        layers = self.fixed.get("l", self.defaults["l"])
        eps = float(np.sqrt(8 * (p.model.sigma_w2 or 0.0)) ** layers)
        return {"eps": eps, **super().constants_used(p)}

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        yield from self.both(p)
        yield self.resolved(eps=self.constants_used(p)["eps"])
        yield from assumption_1(p)
        yield from assumption_2(p)

    def probability(self, p: Problem) -> Measured:
        m, v = len(p.theta0["W"]), self.constants_used(p)
        eps = measured(v["eps"])
        found: Measured = 1 - exp(
            -measured(v["c"]) * m * eps**2 - measured(v["C"]) * v["l"] * log(eps)
        )
        return found

    def parts(self, p: Problem, theta: Params) -> Parts:
        layer, i, j = self.at(p)
        kernel, m = given_kernel(p.model), len(theta["W"])
        *_, last, G = gram_matrices(p, theta, layer)
        *_, K_last, K = kernel.layers(layer)
        # Each layer rounds once; the samples are scaled to the norm sqrt(d).
        size = float(max(np.diag(G).max(), np.diag(last).max())) / m
        radius = errors.rounding(m, size * (layer + 1)) + kernel.entry_radius
        radius += 3 * float(samples(p.model).deviation.high) * size
        E = mean(covariance(kernel, last, m))
        return Parts(
            Measured(float(G[i, j]) / m, radius),
            Measured(float(E[i, j]), 2 * radius),
            Measured(float(K[i, j]), kernel.entry_radius),
            abs(Measured(float(last[i, j]) / m - float(K_last[i, j]), radius)),
        )

    def event(self, p: Problem, parts: Parts, eps: Measured) -> bool | None:
        raise NotImplementedError

    def trial(self, p: Problem, seed: int) -> bool | None:
        eps = measured(self.constants_used(p)["eps"])
        return self.event(p, self.parts(p, draw(p, seed, self.id)), eps)


class Net(DrawnPair):
    """Step (ii), at the h and h' that Lemma 4 makes of the draw itself: G^(l)_ij/m is within eps of
    the mean |h| |h'| Q(cos) that it would have if h and h' were fixed, with probability at least
    1 - exp(-Omega(m eps^2) + O(l log(1/eps))). The step says so of all h and h' at once, with a net
    of exp(O(l log(1/eps))) points: the last d entries of h are x_i/sqrt(d), and 2 l vary. The
    supremum over all of them is not computed.
    """

    id = "ling2022/thm5-net"
    title = "One entry of the Gram matrix and its mean"
    cite = cite("Theorem 5, sketch", "(ii)")
    uses = ("ling2022/thm5-fixed", "ling2022/lem4", "ling2022/lem4-law")

    def event(self, p: Problem, parts: Parts, eps: Measured) -> bool | None:
        return happened(abs(parts.gram - parts.mean), "<=", eps)


class Mean(DrawnPair):
    """Step (iii): the mean |h| |h'| Q(cos) of G^(l)_ij/m is within sigma_w^2 |G^(l-1)_ij/m -
    K^(l-1)_ij| + eps of K^(l)_ij, with probability at least 1 - exp(-Omega(m eps^2) + O(l
    log(1/eps))). Corrected, without probability or eps, for any W and U and samples of norm
    sqrt(d): it is within sigma_w^2 times the largest difference of the entries ii, jj and ij, with
    equality for i = j. By d(p Q(c/p)) = (sin th/pi) dp + (1 - th/pi) dc with weights that add up to
    at most 1, where p = |h| |h'| is the geometric mean of two numbers that differ from their common
    limit by no more than sigma_w^2 |G^(l-1)_ii/m - K^(l-1)_ii| and the same of jj. Pairs of nearly
    equal samples are left out: their weights add up to 1, and there it is an equality as well.
    """

    id = "ling2022/thm5-mean"
    title = "The mean of an entry and the population kernel"
    cite = cite("Theorem 5, sketch", "(iii)")
    soundness = "typo"
    editions = (PRINTED, CORRECTED)
    erratum = (
        "The mean is not determined by h.h' alone, but by |h| and |h'| as well: the diagonal "
        "entries of G^(l-1)/m - K^(l-1) belong into the bound. n = 2 orthogonal samples with "
        "G^(l-1)_12/m = K^(l-1)_12 and a diagonal that is off by e has a mean that is off by about "
        "sigma_w^2 e sin(th)/pi. The eps of the step covers it."
    )
    uses = ("ling2022/eq11", "ling2022/lem3", "ling2022/lem4")

    positive = Check("sigma_w is positive", "sigma_w2 > 0", "strict bounds")
    diagonal = Check("on the diagonal", "mean - K == sigma_w2*(G/m - K_before)", "(iii), i = j")
    between = Check(
        "off the diagonal", "difference <= sigma_w2*largest", "(iii), entries ii, jj and ij"
    )

    @property
    def counted(self) -> bool:
        return self.printed

    def constants_used(self, p: Problem) -> Mapping[str, float]:
        return super().constants_used(p) if self.printed else {}

    def unchecked(self, p: Problem) -> Iterable[str]:
        return without_sigma(p)

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        if self.printed:
            yield from super().hypotheses(p)
            return
        if p.model.sigma_w2 is not None:
            yield self.positive(sigma_w2=p.model.sigma_w2)
        yield from norms(p)

    def event(self, p: Problem, parts: Parts, eps: Measured) -> bool | None:
        right = measured(p.model.sigma_w2) * parts.before + eps
        return happened(abs(parts.mean - parts.kernel), "<=", right)

    def claims(self, p: Problem, state: State) -> Iterable[Claim]:
        """At the start, for the layers 2, 3, ...: the first has the mean K^(1)."""
        if self.printed or not p.model.sigma_w2:
            return
        kernel = given_kernel(p.model)
        G, K = gram_matrices(p, state.theta, LAYERS - 1), kernel.layers(LAYERS)
        numbers = range(2, LAYERS + 1)
        layers = [self._layer(kernel, p, n, G[n - 1], *K[n - 1 : n + 1]) for n in numbers]
        yield worst([diagonal for diagonal, _ in layers])
        if (kernel.xi < 1 - SAME).any():
            yield nearest(off for _, off in layers)

    def _layer(
        self, kernel: PopulationKernel, p: Problem, layer: int, *matrices: np.ndarray
    ) -> tuple[Claim, Claim]:
        """The diagonal entry with the largest difference, and the other that is nearest to its
        bound."""
        (G, K_before, K), m = matrices, len(p.theta0["W"])
        A = covariance(kernel, G, m)
        E, apart = mean(A), np.abs(G / m - K_before)
        size = float(np.diag(A).max())
        radius = errors.rounding(m, layer * float(np.diag(G).max()) / m)
        radius_E = kernel.s2 * radius + Q_ULPS * EPS * size + kernel.entry_radius
        diagonal = np.diag(apart)
        k, note = int(np.argmax(diagonal)), f"l = {layer}"
        on = self.diagonal(
            f"sample {k + 1}, {note}",
            mean=Measured(float(E[k, k]), radius_E),
            K=Measured(float(K[k, k]), kernel.entry_radius),
            sigma_w2=kernel.s2,
            m=m,
            G=Measured(float(G[k, k]), m * radius),
            K_before=Measured(float(K_before[k, k]), kernel.entry_radius),
        )
        largest = np.maximum(apart, np.maximum.outer(diagonal, diagonal))
        near = np.divide(np.abs(E - K), largest, out=np.zeros_like(E), where=largest > 0)
        ratio = np.where(kernel.xi < 1 - SAME, near, -1.0)
        i, j = np.unravel_index(int(np.argmax(ratio)), ratio.shape)
        off = self.between(
            f"samples {i + 1} and {j + 1}, {note}",
            difference=abs(Measured(float(E[i, j] - K[i, j]), radius_E + kernel.entry_radius)),
            sigma_w2=kernel.s2,
            largest=Measured(float(largest[i, j]), radius + kernel.entry_radius),
        )
        return on, off


class Recursion(DrawnPair):
    """What (ii) and (iii) give together: |G^(l)_ij/m - K^(l)_ij| <= sigma_w^2 |G^(l-1)_ij/m -
    K^(l-1)_ij| + 2 eps, with probability at least 1 - exp(-Omega(m eps^2) + O(l log(1/eps))); with
    eps = (2 sqrt2 sigma_w)^l and induction it is Theorem 5.
    """

    id = "ling2022/thm5-recursion"
    title = "The recursive inequality of the Gram matrices"
    cite = cite("Theorem 5, sketch", "(iii), last display")
    uses = ("ling2022/thm5-net", "ling2022/thm5-mean")

    def event(self, p: Problem, parts: Parts, eps: Measured) -> bool | None:
        right = measured(p.model.sigma_w2) * parts.before + 2 * eps
        return happened(abs(parts.gram - parts.kernel), "<=", right)


def gram_matrices(p: Problem, theta: Params, last: int) -> list[np.ndarray]:
    """G^(0) = 0, G^(1), ..., G^(last)."""
    C = theta["U"] @ p.model.X
    Z, found = np.zeros_like(C), [np.zeros((p.model.n, p.model.n))]
    for _ in range(last):
        Z = relu(theta["W"] @ Z + C)
        found.append(Z.T @ Z)
    return found


def covariance(kernel: PopulationKernel, G: np.ndarray, m: int) -> np.ndarray:
    """h.h' of Lemma 4 for all pairs, if G is that of the layer before."""
    found: np.ndarray = kernel.s2 * G / m + kernel.xi
    return found


def mean(A: np.ndarray) -> np.ndarray:
    """2 E[relu(u) relu(v)] for the covariances A, by (11): |h| |h'| Q(cos)."""
    lengths = np.sqrt(np.diag(A))
    size = np.outer(lengths, lengths)
    found: np.ndarray = size * Q(A / size)
    # A cosine of 1 may have been rounded.
    np.fill_diagonal(found, np.diag(A))
    return found


def roots(A: np.ndarray) -> np.ndarray:
    """Two columns with the inner products A, also where it is singular."""
    length = np.sqrt(A[0, 0])
    along = A[0, 1] / length
    return np.array([[length, along], [0.0, np.sqrt(max(A[1, 1] - along**2, 0.0))]])
