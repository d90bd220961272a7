"""Lemma 3: the population kernel by a recursion for cosines."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from deqcheck.linalg import exact
from deqcheck.linalg.arccos import Q
from deqcheck.records.claim import Claim
from deqcheck.records.measured import Measured, given
from deqcheck.theorems.base import CORRECTED, PRINTED, STATIC, Check
from deqcheck.theorems.ling2022.assumptions import BELOW, assumption_2, norms
from deqcheck.theorems.ling2022.common import MODELS, cite
from deqcheck.theorems.ling2022.definition import definition
from deqcheck.theorems.ling2022.kernel import PopulationKernel, population_kernel
from deqcheck.theorems.ling2022.setting import Problem, State, Statement, without_sigma

LAYERS = 6
# Smaller entries are not shown: their identity has few digits.
LEAST = 1e-6


class Lemma3(Statement):
    """For samples of norm sqrt(d), K^(l)_ij of Definition 1, computed by quadrature of (6), is
    rho^(l) Q(cos th^(l)_ij) with rho^(l) = (1 - sigma_w^(2l))/(1 - sigma_w^2), cos th^(l)_ij =
    (sigma_w^2 K^(l-1)_ij + xi_ij)/(sigma_w^2 K^(l-1)_ii + 1) = (1 - 1/rho^(l)) Q(cos th^(l-1)_ij)
    + xi_ij/rho^(l). Printed, under sigma_w^2 < 1/8 and Assumption 2: K^(l-1) in both formulas of
    the cosine is that of Definition 1, and (13), which is not defined at l = 1, starts there from
    cos th^(1)_ij = xi_ij, the first formula.
    """

    id = "ling2022/lem3"
    uses = ("ling2022/eq11",)
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

    diagonal = Check(
        "diagonal of the kernel", "K_definition == (1 - sigma_w2^l)/(1 - sigma_w2)", "rho^(l)"
    )
    by_kernel = Check("cosine from the kernel", "K_formula == K_definition", "(12)")
    by_cosine = Check("cosine from the previous cosine", "K_formula == K_definition", "(13)")

    def unchecked(self, p: Problem) -> Iterable[str]:
        return without_sigma(p)

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        if not self.printed:
            yield from norms(p)
            return
        if p.model.sigma_w2 is not None:
            yield BELOW(sigma_w2=given(p.model.sigma_w2))
        yield from assumption_2(p)

    def claims(self, p: Problem, state: State) -> Iterable[Claim]:
        kernel = population_kernel(p.model)
        if kernel is not None:
            truth = definition(kernel, LAYERS)
            yield self._diagonal(kernel, truth)
            yield _compared(self.by_kernel, kernel, self._by_kernel(kernel, truth), truth)
            yield _compared(self.by_cosine, kernel, self._by_cosine(kernel), truth)

    def _diagonal(self, kernel: PopulationKernel, truth: list[np.ndarray]) -> Claim:
        """At the layer and sample that are furthest off; where all agree, at the last layer."""
        diagonals = np.array([np.diag(K) for K in truth[1:]])
        rho = np.array([kernel.rho(layer) for layer in range(1, LAYERS + 1)])
        apart, radius = np.abs(diagonals - rho[:, None]), 4 * kernel.entry_radius
        layer, i = LAYERS - 1, 0
        if apart.max() > radius:
            layer, i = (int(at) for at in np.unravel_index(int(np.argmax(apart)), apart.shape))
        return self.diagonal(
            f"sample {i + 1}, l = {layer + 1}",
            K_definition=Measured(
                float(diagonals[layer, i]),
                radius,
                again=exact.entry(kernel.again.layer(layer + 1), i, i),
            ),
            sigma_w2=given(kernel.s2),
            l=layer + 1,
        )

    def _by_kernel(self, kernel: PopulationKernel, truth: list[np.ndarray]) -> list[np.ndarray]:
        """K^(1), ... by (12), the cosine from the kernel of Definition 1."""
        found = []
        for layer, K in enumerate(truth[:-1], 1):
            below = K if self.printed else np.diag(K)[:, None]
            cosine = (kernel.s2 * K + kernel.xi) / (kernel.s2 * below + 1)
            found.append(kernel.rho(layer) * Q(cosine))
        return found

    def _by_cosine(self, kernel: PopulationKernel) -> list[np.ndarray]:
        """K^(1), ... by (12), the cosine by (13)."""
        found, cosine = [], kernel.xi
        for layer in range(1, LAYERS + 1):
            if layer > 1:
                rho = kernel.rho(layer - 1 if self.printed else layer)
                cosine = (1 - 1 / rho) * Q(cosine) + kernel.xi / rho
            found.append(kernel.rho(layer) * Q(cosine))
        return found


def _compared(
    check: Check, kernel: PopulationKernel, found: list[np.ndarray], definition: list[np.ndarray]
) -> Claim:
    """At the entry and layer that are furthest apart; where all agree, at the largest entry, off
    the diagonal unless all is 0 there, which has no digits."""
    truth = np.array(definition[1:])
    formula, radius = np.array(found), 4 * kernel.entry_radius
    apart = np.abs(formula - truth)
    score = apart
    if apart.max() <= 2 * radius:
        off = np.where(np.eye(kernel.n, dtype=bool), 0.0, truth)
        score = off if off.max() > LEAST else truth
    layer, i, j = np.unravel_index(int(np.argmax(score)), score.shape)
    note = f"worst of l <= {LAYERS}: K_{i + 1},{j + 1} at l = {layer + 1}"
    at = (layer, i, j)
    return check(
        note,
        K_formula=Measured(formula[at], radius),
        K_definition=Measured(truth[at], radius),
    )
