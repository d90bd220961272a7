"""The Gram matrix of the features in the limit of infinite width."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from deqcheck.linalg import arccos, errors, exact
from deqcheck.linalg.relu_equilibrium import relu
from deqcheck.linalg.spectra import Factored
from deqcheck.records.claim import Claim
from deqcheck.records.lazy import cached_property
from deqcheck.records.measured import EPS, Measured, measured
from deqcheck.seeds import rng
from deqcheck.theorems.base import Check
from deqcheck.theorems.gao2022.bounds import cite
from deqcheck.theorems.gao2022.setting import Problem, State
from deqcheck.theorems.gao2022.static import Pointwise, equality

DRAWS = 50
# Numbers in Phi up to which the frequency over random W is measured.
LARGEST = 20_000


class LimitGram(Pointwise):
    """G = E[relu(X w) relu(X w)^T] over normal w has the smallest eigenvalue lambda_*.

    It is positive if (and only if) no sample is zero, no two are positively parallel, and the axes
    of the antiparallel pairs are linearly independent: the paper's "no two parallel" is more than
    needed, and must include antiparallel. It is at most |X|_F^2/N, which is 1 for unit samples.

    Remark: at most |X|_F^2/(2 N), since tr G = |X|_F^2/2.
    """

    id = "gao2022/gstar"
    title = "The limit Gram matrix is positive definite"
    cite = cite("Section 5.2", "G, lambda_*")

    no_zero = Check("no sample is zero", "shortest > 0", "Section 5.2")
    apart = Check("no two samples are positively parallel", "angle_min > 0", "Section 5.2")
    independent = Check(
        "the axes of antiparallel pairs are independent", "rank_axes >= pairs", "Section 5.2"
    )
    positive = Check("lambda_* is positive", "lambda_star > 0", "Section 5.2")
    trace = Check("lambda_* is at most 1 for unit samples", "lambda_star <= X_fro^2/N", "tr G/N")
    half = Check(
        "lambda_* is at most the mean of the trace", "lambda_star <= X_fro^2/(2*N)", "sharper"
    )
    half_equal = equality(half)

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        samples = Samples(p.model.X)
        yield self.no_zero(shortest=_shortest(samples))
        if samples.shortest > 0 and p.model.N > 1:
            yield self.apart(angle_min=samples.smallest_angle)
            pairs, rank = samples.antiparallel
            yield self.independent(rank_axes=rank, pairs=pairs)

    def quantities(self, p: Problem) -> dict[str, Measured]:
        """How often sigma_N(Phi)^2 >= m lambda_*/4 at this width, over normal W."""
        s = p.start
        if s.N * s.m > LARGEST:
            return {}
        stream = rng(p.seed, "gao2022/gstar.W")
        wanted = s.m * s.lambda_star_G.value / 4
        hits = 0
        for _ in range(DRAWS):
            Phi = relu(s.X @ stream.standard_normal((p.model.d, s.m)))
            hits += errors.nth_singular_value(Phi, s.N).value ** 2 >= wanted
        return {"frequency_alpha1": measured(hits / DRAWS)}

    def claims(self, p: Problem, state: State) -> Iterable[Claim]:
        yield self.positive(lambda_star=state.lambda_star_G)
        yield self.trace(lambda_star=state.lambda_star_G, X_fro=state.X_fro, N=state.N)

    def remarks(self, p: Problem, run: Any) -> Iterable[Claim]:
        s = p.start
        half = self.half if s.N > 1 else self.half_equal
        yield half(lambda_star=s.lambda_star_G, X_fro=s.X_fro, N=s.N)


def _shortest(samples: Samples) -> Measured:
    again = exact.shortest_column(exact.array(samples.X.T))
    return Measured(samples.shortest, samples.radius * samples.shortest, again=again)


class Samples:
    """Angles between the rows of X, none of them zero."""

    def __init__(self, X: np.ndarray):
        self.X = X
        self.radius = (X.shape[1] + 8) * EPS

    @property
    def shortest(self) -> float:
        return float(np.linalg.norm(self.X, axis=1).min())

    @cached_property
    def _angles(self) -> np.ndarray:
        """Of the pairs i < j; the others are nan."""
        angles = arccos.angles(self.X.T)
        angles[np.tril_indices(len(angles))] = np.nan
        return angles

    @property
    def smallest_angle(self) -> Measured:
        """Exactly where rounding does not tell it from 0."""
        least = float(np.nanmin(self._angles))
        if least > 4 * self.radius:
            return Measured(least, self.radius)
        exact = np.pi
        for i, j in self._within(self._angles):
            exact = min(exact, arccos.exact_angle(self.X[i], self.X[j]))
            if exact == 0:
                break
        return Measured(exact, 8 * EPS * exact)

    def _within(self, away: np.ndarray) -> np.ndarray:
        """The pairs of which rounding does not tell that this is not 0, with those near them."""
        with np.errstate(invalid="ignore"):
            return np.argwhere(away <= 8 * self.radius)

    @property
    def antiparallel(self) -> tuple[int, Measured]:
        """How many pairs, and the rank of their axes."""
        near = self._within(np.pi - self._angles)
        i = [a for a, b in near if arccos.exact_angle(self.X[a], -self.X[b]) == 0]
        if not i:
            return 0, measured(0.0)
        unit = self.X[i] / np.linalg.norm(self.X[i], axis=1, keepdims=True)
        return len(i), Factored(unit).measured_rank
