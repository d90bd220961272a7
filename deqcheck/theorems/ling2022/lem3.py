"""Lemma 3: the population kernel by a recursion for cosines."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from deqcheck.linalg.arccos import Q
from deqcheck.records.claim import Claim
from deqcheck.records.measured import Measured
from deqcheck.theorems.base import CORRECTED, PRINTED, STATIC, Check
from deqcheck.theorems.ling2022.common import MODELS, cite, population
from deqcheck.theorems.ling2022.kernel import PopulationKernel, population_kernel
from deqcheck.theorems.ling2022.setting import Problem, State, Statement

LAYERS = 6


class Lemma3(Statement):
    """For samples of norm sqrt(d), K^(l)_ij = rho^(l) Q(cos th^(l)_ij) with rho^(l) = (1 -
    sigma_w^(2l))/(1 - sigma_w^2), cos th^(l)_ij = (sigma_w^2 K^(l-1)_ij + xi_ij)/(sigma_w^2
    K^(l-1)_ii + 1) = (1 - 1/rho^(l)) Q(cos th^(l-1)_ij) + xi_ij/rho^(l).
    """

    id = "ling2022/lem3"
    title = "Recursion of the population kernel"
    cite = cite("Lemma 3", "(11)-(13)")
    models = MODELS
    dynamics = (STATIC,)
    soundness = "false"
    editions = (PRINTED, CORRECTED)
    erratum = (
        "Two indices are wrong: the denominator of the cosine is printed with K_ij, not K_ii, "
        "and (13) with rho^(l-1) instead of rho^(l), which divides by 0 at l = 1. For X = sqrt3 I, "
        "sigma_w^2 = 0.08: K_12^(2) = 0.356602637; the printed denominator gives 0.357290193, the "
        "printed (13) gives 0.343774677."
    )

    by_kernel = Check("cosine from the kernel", "K_formula == K_definition", "(12)")
    by_cosine = Check("cosine from the previous cosine", "K_formula == K_definition", "(13)")

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        yield from population(p, below=False)

    def claims(self, p: Problem, state: State) -> Iterable[Claim]:
        kernel = population_kernel(p.model)
        if kernel is not None:
            yield _compared(self.by_kernel, kernel, self._by_kernel(kernel))
            yield _compared(self.by_cosine, kernel, self._by_cosine(kernel))

    def _by_kernel(self, kernel: PopulationKernel) -> list[np.ndarray]:
        def cosine(layer: int, K: np.ndarray, c: np.ndarray) -> np.ndarray:
            below = K if self.printed else np.diag(K)[:, None]
            found: np.ndarray = (kernel.s2 * K + kernel.xi) / (kernel.s2 * below + 1)
            return found

        return _layers(kernel, cosine)

    def _by_cosine(self, kernel: PopulationKernel) -> list[np.ndarray]:
        def cosine(layer: int, K: np.ndarray, c: np.ndarray) -> np.ndarray:
            # At l = 1 the printed form is not defined; both start from cos th^(1) = xi.
            rho = kernel.rho(max(layer - 1, 1) if self.printed else layer)
            found: np.ndarray = (1 - 1 / rho) * Q(c) + kernel.xi / rho
            return found

        return _layers(kernel, cosine)


def _layers(
    kernel: PopulationKernel, cosine: Callable[[int, np.ndarray, np.ndarray], np.ndarray]
) -> list[np.ndarray]:
    """K^(1), ... by K^(l) = rho^(l) Q(cos th^(l))."""
    K = c = np.zeros_like(kernel.xi)
    found = []
    for layer in range(1, LAYERS + 1):
        c = cosine(layer, K, c)
        np.fill_diagonal(c, 1.0)
        K = kernel.rho(layer) * Q(c)
        found.append(K)
    return found


def _compared(check: Check, kernel: PopulationKernel, found: list[np.ndarray]) -> Claim:
    """At the entry and layer that are furthest apart; where all agree, at the largest entry."""
    truth = np.array(kernel.layers(LAYERS)[1:])
    formula, radius = np.array(found), 4 * kernel.entry_radius
    apart = np.abs(formula - truth)
    np.einsum("lii->li", apart)[:] = -1 if kernel.n > 1 else 0
    score = apart if apart.max() > 2 * radius else np.where(apart >= 0, truth, -np.inf)
    layer, i, j = np.unravel_index(int(np.argmax(score)), score.shape)
    note = f"worst of l <= {LAYERS}: K_{i + 1},{j + 1} at l = {layer + 1}"
    at = (layer, i, j)
    return check(
        note,
        K_formula=Measured(formula[at], radius),
        K_definition=Measured(truth[at], radius),
    )
