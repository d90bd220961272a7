"""The population kernel of Ling et al. 2022: Definition 1, Lemma 3, Theorem 3.

xi_ij = x_i.x_j/d, K^(0) = 0, K^(l)_ij = 2 E[relu(u) relu(v)] for (u, v) of covariance Lambda^(l) =
sigma_w^2 K^(l-1) + xi. For samples of any norm, with v_i = Lambda_ii, that is
K_ij = sqrt(v_i v_j) Q(Lambda_ij/sqrt(v_i v_j)).
"""

from __future__ import annotations

import numpy as np

from deqcheck.linalg import errors
from deqcheck.linalg.arccos import Q, Q_prime
from deqcheck.models.relu_deq.model import ReluDeqModel
from deqcheck.records.lazy import cached_property
from deqcheck.records.measured import EPS, Measured
from deqcheck.theorems.ling2022.exact_kernel import ExactKernel
from deqcheck.theorems.ling2022.samples import Samples
from deqcheck.theorems.quantities import once

# Norms of samples that differ from sqrt(d) by less, relatively, are taken for it.
NORM_TOLERANCE = 1e-12

# Newton from c = xi rises monotonically: 5 steps do for sigma_w^2 <= 1/8, more are harmless.
NEWTON = 60
# Units in the last place that one evaluation of Q and its argument may lose.
Q_ULPS = 16


class PopulationKernel:
    def __init__(self, X: np.ndarray, sigma_w2: float):
        self.s2, self.samples = sigma_w2, Samples(X)
        self.d, self.n = X.shape
        # Within the tolerance the samples are scaled to the norm sqrt(d), as Definition 1 has it.
        self.even = self.samples.deviation.value <= NORM_TOLERANCE
        lengths = np.ones(self.n) if self.even else self.samples.lengths
        self.again = ExactKernel(X, sigma_w2, bool(self.even))
        self.xi = np.outer(lengths, lengths) * self.samples.cosines
        self._asked: tuple[int, np.ndarray] = (0, np.zeros_like(self.xi))

    def rho(self, layer: int) -> float:
        """(1 - sigma_w^(2l))/(1 - sigma_w^2), by rho^(l) = 1 + sigma_w^2 rho^(l-1)."""
        value = 0.0
        for _ in range(layer):
            value = 1 + self.s2 * value
        return value

    def layers(self, last: int) -> list[np.ndarray]:
        """K^(0), ..., K^(last) by the definition."""
        found = [np.zeros_like(self.xi)]
        for _ in range(last):
            found.append(self._next(found[-1]))
        return found

    def layer(self, count: int) -> np.ndarray:
        """K^(count), the one that was asked for last kept: the same for every draw of weights."""
        if self._asked[0] != count:
            self._asked = count, self.layers(count)[-1]
        return self._asked[1]

    def _next(self, K: np.ndarray) -> np.ndarray:
        Lambda = self.s2 * K + self.xi
        scale = np.sqrt(np.outer(np.diag(Lambda), np.diag(Lambda)))
        cosine = Lambda / scale
        np.fill_diagonal(cosine, 1.0)
        found: np.ndarray = scale * Q(cosine)
        return found

    @property
    def entry_radius(self) -> float:
        """Of every entry of every K^(l): a layer passes errors on with a factor sigma_w^2 and adds
        the rounding of xi (d terms) and of Q, relative to the largest diagonal entry."""
        largest = float(np.diag(self.xi).max()) / (1 - self.s2)
        return (errors.rounding(self.d, 1.0) + Q_ULPS * EPS) * largest / (1 - self.s2)

    @property
    def _scale(self) -> np.ndarray:
        diagonal = np.diag(self.xi)
        found: np.ndarray = np.sqrt(np.outer(diagonal, diagonal))
        return found

    @cached_property
    def cosine(self) -> np.ndarray:
        """Of (14): c = sigma_w^2 Q(c) + (1 - sigma_w^2) cos."""
        target = (1 - self.s2) * np.clip(self.xi / self._scale, -1.0, 1.0)
        c: np.ndarray = target / (1 - self.s2)
        for _ in range(NEWTON):
            step = (self.s2 * Q(c) + target - c) / (1 - self.s2 * Q_prime(c))
            c = np.clip(c + step, -1.0, 1.0)
            if np.abs(step).max() <= 2 * EPS:
                break
        np.fill_diagonal(c, 1.0)
        return c

    @cached_property
    def K(self) -> np.ndarray:
        """The limit (14): sqrt(K_ii K_jj) Q(c)."""
        found: np.ndarray = self._scale / (1 - self.s2) * Q(self.cosine)
        return found

    @cached_property
    def lambda_star(self) -> Measured:
        return errors.eigenvalue(self.K, 0, self.n * self.entry_radius, self.again.K)

    @cached_property
    def K_fro(self) -> Measured:
        return errors.frobenius(self.K, self.n * self.entry_radius, self.again.K)


@once
def population_kernel(model: ReluDeqModel) -> PopulationKernel | None:
    """None unless the case gives sigma_w2."""
    return None if model.sigma_w2 is None else PopulationKernel(model.X, model.sigma_w2)


@once
def samples(model: ReluDeqModel) -> Samples:
    return Samples(model.X)


def given_kernel(model: ReluDeqModel) -> PopulationKernel:
    """Where the statement is not looked at unless the case gives sigma_w2."""
    found = population_kernel(model)
    if found is None:
        raise ValueError("the case gives no sigma_w2")
    return found
