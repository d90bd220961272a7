"""Sections 5.1 and 5.2: what is claimed of drawn starts, as orders in the width or in N."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar

import numpy as np

from deqcheck.frozen import dataclass
from deqcheck.linalg import arccos, errors
from deqcheck.linalg.entries import euclidean
from deqcheck.linalg.relu_equilibrium import relu
from deqcheck.models.implicit_relu.model import ImplicitReluModel
from deqcheck.models.implicit_relu.state import ImplicitReluState
from deqcheck.records.claim import Claim
from deqcheck.records.lazy import cached_property
from deqcheck.records.measured import EPS, Measured
from deqcheck.seeds import rng
from deqcheck.theorems.base import CORRECTED, PRINTED, STATIC, Check
from deqcheck.theorems.gao2022.bounds import MODEL, cite
from deqcheck.theorems.gao2022.setting import Problem
from deqcheck.theorems.orders import Order

# The smallest width and the smallest number of samples tried; orders depend on neither.
WIDTH, SAMPLES = 32, 8
# The width at which numbers of samples are compared.
MIDDLE = 64
# Widths up to this multiple of N are looked at, each longer than the last by this factor.
LARGEST, LONGER = 64, 1.25


@dataclass(frozen=True)
class Start:
    """A draw of (27) on given samples, with C1 = C2 = C3 = 1 and gamma0 = 1/2."""

    X: np.ndarray
    W: np.ndarray
    A: np.ndarray
    b: np.ndarray

    @cached_property
    def norm_A(self) -> float:
        return float(np.linalg.norm(self.A, 2))

    @property
    def gamma(self) -> float:
        return 1 / (2 * (self.norm_A + 1))

    @cached_property
    def Z(self) -> np.ndarray:
        """Phi (I - gamma A)^-1, Lemma 5.1."""
        inner = np.eye(len(self.A)) - self.gamma * self.A
        found: np.ndarray = np.linalg.solve(inner.T, relu(self.X @ self.W).T).T
        return found

    @property
    def prediction(self) -> float:
        """|yhat(0)|, as the root of the mean of its square over b: |Z|_F/sqrt m."""
        return _size(self.Z) / math.sqrt(len(self.b))

    def needed(self, y: np.ndarray) -> float:
        """The smallest alpha1^2 for which alpha0 >= alpha1/(1 + gamma0) gives (17)-(19), with yhat
        by its mean square and u = 1/(1 - gamma0) = 2."""
        lambda1 = float(np.linalg.norm(self.W, 2)) + 1
        lambda3, X = _size(self.b) + 1, _size(self.X)
        r0 = math.hypot(self.prediction, _size(y))
        c = 1 + (2 * self.gamma * lambda1) ** 2
        lambda0 = max(lambda1, 2 * self.gamma * lambda1 * lambda3, lambda3)
        # (18) follows: (17) times the root of (19) is 2 lambda0/sqrt(c) times it, and sqrt(c) is at
        # most 1 + 2 gamma lambda1 <= 2 lambda0, as lambda3 >= 1.
        return float(1.5**2 * max(16 * lambda0 * X * r0, 64 * c * lambda3**2 * X**2))


class FromDraws(Order[ImplicitReluModel, ImplicitReluState]):
    """An order of a quantity of drawn parameters, or of drawn samples."""

    models = (MODEL,)
    dynamics = (STATIC,)
    # The parameters whose laws are asked for.
    asked: ClassVar[str] = "WAb"

    laws_w = Check("W is drawn from N(0, 1)", "scale_W == 1", "(27)")
    laws_a = Check("A is drawn from |N(0, 1)|", "scale_A == 1", "(27)")
    laws_b = Check("b is drawn from N(0, 1/m)", "scale_b == 1", "(27), times sqrt m")

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        for name, check, kind in (
            ("W", self.laws_w, "gaussian"),
            ("A", self.laws_a, "half-normal"),
            ("b", self.laws_b, "gaussian"),
        ):
            if name in self.asked:
                yield self._drawn(p, name, check, kind)

    def _drawn(self, p: Problem, name: str, check: Check, kind: str) -> Claim:
        law = p.laws.get(name)
        if law is None or law.kind != kind:
            return check("given, or drawn from another law", **{f"scale_{name}": 0.0})
        scale = law.scale * (math.sqrt(p.start.m) if name == "b" else 1.0)
        return check(**{f"scale_{name}": Measured(scale, 2 * EPS * scale)})

    def base_size(self, p: Problem) -> int:
        return WIDTH

    def normal(self, name: str, shape: tuple[int, ...], seed: int) -> np.ndarray:
        return rng(seed, f"{self.id}.{name}").standard_normal(shape)

    def start(self, X: np.ndarray, m: int, seed: int) -> Start:
        W, A, b = (
            self.normal(name, shape, seed)
            for name, shape in (("W", (X.shape[1], m)), ("A", (m, m)), ("b", (m,)))
        )
        return Start(X, W, np.abs(A), b / math.sqrt(m))

    def sphere(self, N: int, d: int, seed: int) -> np.ndarray:
        X = self.normal("X", (N, d), seed)
        found: np.ndarray = X / np.linalg.norm(X, axis=1, keepdims=True)
        return found


class NormOfB(FromDraws):
    """b with independent entries N(0, 1/m): with high probability |b| = O(1)."""

    id = "gao2022/sec5.2-b"
    title = "The norm of a random b"
    cite = cite("Section 5.2", "after (27)")
    asked = "b"

    def exponent(self, p: Problem) -> float:
        return 0.0

    def value(self, p: Problem, size: int, seed: int) -> float:
        return _size(self.normal("b", (size,), seed)) / math.sqrt(size)


class NormOfW(FromDraws):
    """W (d x m) with independent entries N(0, 1): with high probability |W| = O(sqrt m), for the
    fixed d of the case; |W| is about sqrt m + sqrt d."""

    id = "gao2022/sec5.2-w"
    title = "The norm of a random W"
    cite = cite("Section 5.2", "after (27)")
    asked = "W"

    def exponent(self, p: Problem) -> float:
        return 0.5

    def value(self, p: Problem, size: int, seed: int) -> float:
        return float(np.linalg.norm(self.normal("W", (p.model.d, size), seed), 2))


class FirstPredictions(FromDraws):
    """|yhat(0)| = O(|X|_F) for the start (27) with gamma0 = 1/2, on the samples of the case.

    Printed: because |Phi (I - gamma A)^-1|, the operator norm of Z(0), is O(|X|_F).
    Corrected: because |Z(0)|_F/sqrt m is, the root of the mean of |yhat(0)|^2 over b: the norm of
    Z(0) itself is of order sqrt m |X|_F, and b has entries of order 1/sqrt m.
    """

    id = "gao2022/sec5.2-yhat"
    title = "The first predictions of a random start"
    cite = cite("Section 5.2", "before (28)")
    soundness = "false"
    editions = (PRINTED, CORRECTED)
    uses = ("gao2022/lem5.1",)
    erratum = (
        "|Phi (I - gamma A)^-1| = O(|X|_F) has lost a factor sqrt m: the quotient is 5.5, 11.3, "
        "22.3, 32.4 at m = 50, 200, 800, 1600. |Z(0)|_F/sqrt m, which |yhat(0)| concentrates at, "
        "is of the order that the section goes on with."
    )

    def exponent(self, p: Problem) -> float:
        return 0.0

    def value(self, p: Problem, size: int, seed: int) -> float:
        start = self.start(p.model.X, size, seed)
        return float(np.linalg.norm(start.Z, 2)) if self.printed else start.prediction


class NeededFeatures(FromDraws):
    """For the start (27) with C1 = C2 = C3 = 1 and gamma0 = 1/2 the conditions (17)-(19) ask, by
    alpha0 >= alpha1/(1 + gamma0), for an alpha1^2 = sigma_N(Phi)^2 of order N sqrt m at most, (28).
    Judged in m, on the samples and labels of the case, with yhat(0) by its mean square over b;
    gao2022/sec5.2-width has the order in N. Widths that can be drawn are far from the limit: an
    order of m would be noticed, one of m^(3/4) would not.
    """

    id = "gao2022/eq28"
    title = "What the conditions ask of the features"
    cite = cite("Section 5.2", "(28)")
    uses = (
        "gao2022/thm4.4",
        "gao2022/lem5.1",
        "gao2022/sec5.2-b",
        "gao2022/sec5.2-w",
        "gao2022/sec5.2",
        "gao2022/sec5.2-yhat",
    )

    def exponent(self, p: Problem) -> float:
        return 0.5

    def value(self, p: Problem, size: int, seed: int) -> float:
        return self.start(p.model.X, size, seed).needed(p.model.y)


class QuadraticWidth(FromDraws):
    """m = Omega(N^2/lambda_*^2) suffices for (17)-(19) at the start (27), for unit samples and
    labels of size 1: with alpha1^2 >= m lambda_*/4 the conditions hold as soon as m lambda_*/4 is
    what they ask for, which is of order N sqrt m by (28). Such widths cannot be drawn (A alone has
    m^2 entries, and m is beyond 10^5 for two samples); what is asked for is drawn at the width 64,
    and taken to others by the factor sqrt m of (28). Judged is the order of m lambda_*^2 in N, on
    samples drawn from the sphere in the dimension of the case.
    """

    id = "gao2022/sec5.2-width"
    title = "A width of order N^2 suffices for a random start"
    cite = cite("Section 5.2", "m = Omega(N^2/lambda_*^2)")
    uses = ("gao2022/eq28", "gao2022/sec5.2-alpha1")

    def exponent(self, p: Problem) -> float:
        return 2.0

    def base_size(self, p: Problem) -> int:
        return SAMPLES

    def value(self, p: Problem, size: int, seed: int) -> float:
        X = self.sphere(size, p.model.d, seed)
        y = np.sign(self.normal("y", (size,), seed))
        # m lambda_*/4 = needed sqrt(m/MIDDLE), solved for m lambda_*^2.
        return 16 * self.start(X, MIDDLE, seed).needed(y) ** 2 / MIDDLE


class FeaturesOfDraws(FromDraws):
    """For W with independent entries N(0, 1), alpha1^2 = sigma_N(Phi)^2 >= m lambda_*/4 with
    probability at least 1 - delta once m is of order N/lambda_*, up to logarithms. Judged as the
    order of m lambda_*/N in N, with the smallest width m at which a draw has it; on N samples drawn
    from the sphere in dimension N, where lambda_* is of order 1.
    """

    id = "gao2022/sec5.2-alpha1"
    title = "The features of a wide draw are independent"
    cite = cite("Section 5.2", "alpha1^2 >= m lambda_*/4")
    asked = "W"
    uses = ("gao2022/gstar",)

    def exponent(self, p: Problem) -> float:
        return 0.0

    def base_size(self, p: Problem) -> int:
        return SAMPLES

    def value(self, p: Problem, size: int, seed: int) -> float:
        X = self.sphere(size, size, seed)
        smallest = lambda_star(X)
        m = smallest_width(
            relu(X @ self.normal("W", (size, LARGEST * size), seed)),
            lambda Phi: np.linalg.eigvalsh(Phi @ Phi.T)[0] >= Phi.shape[1] * smallest / 4,
        )
        return m * smallest / size


class SubGaussianSamples(FromDraws):
    """Printed: lambda_* = Theta(1) for sub-Gaussian samples, whatever their dimension; judged for
    growing N on the sphere in the dimension of the case.
    Corrected: if the dimension grows with N, here as N. In a fixed dimension G is a smooth kernel
    on ever closer samples, and lambda_* falls like a power of N.
    """

    id = "gao2022/sec5.2-lambda"
    title = "lambda_* of sub-Gaussian samples"
    cite = cite("Section 5.2", "lambda_* = Theta(1)")
    soundness = "false"
    editions = (PRINTED, CORRECTED)
    asked = ""
    uses = ("gao2022/gstar",)
    erratum = (
        "The theorem that is cited bounds lambda_* for samples whose dimension grows with their "
        "number, which the section does not say. On the sphere in dimension 4 the median of "
        "lambda_* is 0.015, 0.0027, 0.00072, 0.00019 for N = 8, 16, 32, 64, and m = Omega(N^2) "
        "does not follow from m = Omega(N^2/lambda_*^2)."
    )

    @property
    def two_sided(self) -> bool:
        return True

    def exponent(self, p: Problem) -> float:
        return 0.0

    def base_size(self, p: Problem) -> int:
        return SAMPLES

    def value(self, p: Problem, size: int, seed: int) -> float:
        return lambda_star(self.sphere(size, p.model.d if self.printed else size, seed))

    def tallied(self, p: Problem, results: Sequence[Any]) -> Claim:
        if not self.printed or p.model.d > 1:
            return super().tallied(p, results)
        note = (
            "in dimension 1 some of three samples agree, and lambda_* = 0: of no order from below"
        )
        return self.allows(note, excess=Measured(math.inf), radius=0.0)


class LinearWidth(FromDraws):
    """m = Omega(N) suffices for Section 5.1: all that it needs of W is sigma_N(Phi) > 0, and for
    W with independent normal entries (LeCun's start, whose scale plays no part) the smallest width
    with this is of order N. No width below N will do, so the order is judged from both sides, on
    samples drawn from the sphere in the dimension of the case, which must be 2 at least.
    """

    id = "gao2022/sec5.1-width"
    title = "A width of order N suffices for the scaled start"
    cite = cite("Section 5.1", "m = Omega(N)")
    asked = ""
    uses = ("gao2022/sec5.1",)

    drawn = Check("W is drawn from a normal law", "normal_W == 1", "Section 5.1")
    plane = Check("no two samples are parallel for certain", "d >= 2", "setting")

    @property
    def two_sided(self) -> bool:
        return True

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        law = p.laws.get("W")
        yield self.drawn(normal_W=float(law is not None and law.kind == "gaussian"))
        yield self.plane(d=p.model.d)

    def exponent(self, p: Problem) -> float:
        return 1.0

    def base_size(self, p: Problem) -> int:
        return SAMPLES

    def value(self, p: Problem, size: int, seed: int) -> float:
        X = self.sphere(size, p.model.d, seed)
        return smallest_width(
            relu(X @ self.normal("W", (p.model.d, LARGEST * size), seed)),
            lambda Phi: bool(errors.nth_singular_value(Phi, size).low > 0),
        )


def _size(a: np.ndarray) -> float:
    return euclidean(a)


def lambda_star(X: np.ndarray) -> float:
    """The smallest eigenvalue of E[relu(X w) relu(X w)^T]."""
    return float(np.linalg.eigvalsh(arccos.gram(X.T))[0])


def smallest_width(Phi: np.ndarray, enough: Callable[[np.ndarray], bool]) -> float:
    """Of the widths N, 1.25 N, 1.25^2 N, ... the first at which the features are enough."""
    N, most = Phi.shape
    width = float(N)
    while width <= most:
        if enough(Phi[:, : round(width)]):
            return float(round(width))
        width *= LONGER
    return 0.0
