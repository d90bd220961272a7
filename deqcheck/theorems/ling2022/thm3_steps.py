"""Theorem 3: the steps of its sketch."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from deqcheck.linalg import exact
from deqcheck.records.claim import Claim
from deqcheck.records.measured import Measured, given
from deqcheck.records.tower import Again, Level
from deqcheck.theorems.base import STATIC, Check
from deqcheck.theorems.ling2022.assumptions import BELOW, assumption_2
from deqcheck.theorems.ling2022.common import MODELS, cite, nearest
from deqcheck.theorems.ling2022.definition import definition
from deqcheck.theorems.ling2022.exact_kernel import off_diagonal
from deqcheck.theorems.ling2022.kernel import PopulationKernel, population_kernel
from deqcheck.theorems.ling2022.setting import Problem, State, Statement, without_sigma

LAYERS = 20
# Differences of kernels are judged while they are this much larger than their radius.
RESOLVED = 1e7


class Theorem3Steps(Statement):
    """Under sigma_w^2 < 1/8 and Assumption 2: |K^(l+1)_ij - K^(l)_ij| <= sigma_w^2 |K^(l)_ij -
    K^(l-1)_ij| + 2 sigma_w^(2l), hence |K_ij - K^(l)_ij| = O(l sigma_w^l), which is judged with the
    constant 2; and |cos th_ij| < 1 for i != j, from which K is positive definite. On the diagonal
    the first is sigma_w^(2l) <= 3 sigma_w^(2l); Theorem 3, corrected, has the sharp bound.
    """

    id = "ling2022/thm3-steps"
    uses = ("ling2022/lem3",)
    title = "The recursive inequality of the population kernel"
    cite = cite("Theorem 3, sketch")
    models = MODELS
    dynamics = (STATIC,)

    step = Check(
        "increment of the kernel", "increment <= sigma_w2*before + 2*sigma_w2^l", "(i), step"
    )
    # Squared: the root of sigma_w^2 = 0 would be rounded.
    rest = Check(
        "distance from the limit", "difference^2 <= (2*l)^2*sigma_w2^l", "(i), entry, squared"
    )
    apart = Check("the limiting vectors are not parallel", "largest_cosine < 1", "(ii)")

    def unchecked(self, p: Problem) -> Iterable[str]:
        return without_sigma(p)

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        if p.model.sigma_w2 is not None:
            yield BELOW(sigma_w2=given(p.model.sigma_w2))
        yield from assumption_2(p)

    def claims(self, p: Problem, state: State) -> Iterable[Claim]:
        kernel = population_kernel(p.model)
        if kernel is None:
            return
        steps, rests = zip(*self._layers(kernel), strict=True)
        yield nearest(steps)
        yield nearest(rests)
        if kernel.n > 1:
            cosines = np.abs(kernel.cosine[~np.eye(kernel.n, dtype=bool)])
            yield self.apart(
                largest_cosine=Measured(
                    float(cosines.max()), kernel.entry_radius, again=_largest_off(kernel)
                )
            )

    def _layers(self, kernel: PopulationKernel) -> Iterable[tuple[Claim, Claim]]:
        """l = 1, 2, ... while the differences have digits; l = 1 in any case."""
        # Without memory every layer is the limit: the same numbers.
        radius = 8 * kernel.entry_radius if kernel.s2 else 0.0
        K = definition(kernel, LAYERS + 1)
        for layer in range(1, LAYERS + 1):
            if layer > 1 and not kernel.s2**layer > RESOLVED * radius:
                return
            yield self._at(kernel, layer, radius, K[layer - 1 : layer + 2])

    def _at(
        self, kernel: PopulationKernel, layer: int, radius: float, K: list[np.ndarray]
    ) -> tuple[Claim, Claim]:
        """The entries that come nearest to their bounds."""
        before, after, D = np.abs(K[1] - K[0]), np.abs(K[2] - K[1]), np.abs(kernel.K - K[1])
        if not kernel.s2:
            after, D = np.zeros_like(after), np.zeros_like(D)
        room = kernel.s2 * before + 2 * kernel.s2**layer
        i, j = np.unravel_index(int(np.argmax(after - room)), room.shape)
        note, values = f"tightest at l = {layer}", {"l": layer, "sigma_w2": given(kernel.s2)}
        again = kernel.again
        there = again.layer(layer)
        first = exact.minus(there, again.layer(layer - 1))
        second, rest = (exact.minus(there, x) for x in (again.layer(layer + 1), again.K))
        if not kernel.s2:
            second = rest = exact.array(D)
        step = self.step(
            f"{note}, K_{i + 1},{j + 1}",
            increment=Measured(float(after[i, j]), radius, again=_size(second, i, j)),
            # K^(1) - K^(0) is no difference of layers that agree.
            before=Measured(float(before[i, j]), 8 * kernel.entry_radius, again=_size(first, i, j)),
            **values,
        )
        largest = Measured(float(D.max()), radius, again=Again(_largest_modulus, rest))
        return step, self.rest(note, difference=largest, **values)


def _size(a: Again, i: Any, j: Any) -> Again:
    return Again("size", exact.entry(a, int(i), int(j)))


def _largest_modulus(level: Level, a: Any) -> Any:
    return exact.largest(level, exact.mapped(level, a, abs))


def _largest_off(kernel: PopulationKernel) -> Again:
    return Again(_largest_modulus, Again(off_diagonal, kernel.again.cosine))
