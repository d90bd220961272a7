"""Section 2.5: smooth and strongly convex functions, tried on the linearised loss.

The section is about every smooth function. Tried is the loss linearised at the start of the case,
f(w) = |J w + r|^2/2, in the eigenbasis of its kernel K = J J^T: f(w) = sum (sqrt(kappa_i) w_i +
c_i)^2/2 with the eigenvalues kappa_i and the components c_i of r as they are computed. So the
function is known exactly, smooth with Lsm = max kappa_i, and strongly convex with
mu = min kappa_i; from w = 0 descent with the step s/Lsm multiplies c_i by 1 - s kappa_i/Lsm.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any

import numpy as np

from deqcheck.frozen import dataclass
from deqcheck.linalg import errors, exact
from deqcheck.linalg.matrix import instance
from deqcheck.records.claim import Claim
from deqcheck.records.lazy import cached_property
from deqcheck.records.measured import EPS, Measured, chosen, given, sqrt
from deqcheck.records.scalar import TINY
from deqcheck.records.tower import Again, Level, NoExactForm, rational
from deqcheck.seeds import rng
from deqcheck.theorems.base import CORRECTED, PRINTED, STATIC, Check
from deqcheck.theorems.gao2022.static import equality
from deqcheck.theorems.hieu2022.common import MonotoneStatement, cite
from deqcheck.theorems.hieu2022.pl import smallest, why_singular
from deqcheck.theorems.hieu2022.setting import Problem, State

# Steps that are tried, as shares of 1/Lsm.
SHARES = (0.01, 0.5, 1.0)
# Accuracies that are tried, as shares of the first gradient and of the first gap.
CRITICAL, ACCURACY = (0.5, 0.01), 1e-6
TIMES = (1, 10, 100)
# Powers above this are not computed again.
LONGEST = 128
# More steps than this are not counted.
MOST = 2.0**50


@dataclass(frozen=True, eq=False)
class Quadratic:
    """sum (sqrt(kappa_i) w_i + c_i)^2/2 around w = 0."""

    kappa: np.ndarray
    c: np.ndarray

    @cached_property
    def Lsm(self) -> float:
        return float(self.kappa.max())

    @cached_property
    def mu(self) -> float:
        return float(self.kappa.min())

    @property
    def smoothness(self) -> Measured:
        return given(self.Lsm, Again(exact.largest, exact.chosen(self.kappa)))

    @property
    def convexity(self) -> Measured:
        return given(self.mu, Again(exact.smallest, exact.chosen(self.kappa)))

    def logs(self, share: float) -> np.ndarray:
        """log |1 - share kappa/Lsm|, to a few roundings."""
        x = share * (self.kappa / self.Lsm)
        with np.errstate(divide="ignore"):
            near = np.log((self.Lsm - share * self.kappa) / self.Lsm)
            return np.where(x < 0.5, np.log1p(-x), near)

    def moment(self, power: int, t: float = 0, share: float = 1.0) -> Measured:
        """sum kappa_i^power c_i^2 (1 - share kappa_i/Lsm)^(2 t)."""
        exponents = 2 * t * self.logs(share) if t else np.zeros(len(self.c))
        with np.errstate(all="ignore"):
            terms = self.kappa**power * self.c**2 * np.exp(exponents)
        # An exponent is known to a few roundings of itself.
        roundings = len(terms) + 4 + np.where(terms > 0, np.abs(exponents), 0.0)
        lost = (terms == 0) & (self.c != 0) & (self.kappa != 0) & np.isfinite(exponents)
        radius = errors.rounding(1, float(terms @ roundings)) + TINY * np.count_nonzero(lost)
        again = None
        if t <= LONGEST:
            again = Again(partial(self._moment, power, int(t), share))
            again.told(lambda: self._told(power, int(t), share))
        return Measured(float(terms.sum()), radius, again=again)

    def _told(self, power: int, t: int, share: float) -> Again:
        """The same in words: the function is chosen."""
        kappa, c, n = exact.chosen(self.kappa), exact.chosen(self.c), len(self.c)
        terms, one = exact.hadamard(c, c), exact.array(np.ones(n))
        for _ in range(power):
            terms = exact.hadamard(terms, kappa)
        if power < 0:
            terms = Again(
                exact.solution, exact.columns_scaled(exact.array(np.eye(n)), kappa), terms
            )
        ratio = rational(Fraction(share) / Fraction(self.Lsm))
        left, times = exact.minus(one, exact.scaled(ratio, kappa)), 2 * t
        while times:
            terms = exact.hadamard(terms, left) if times % 2 else terms
            left, times = exact.hadamard(left, left), times // 2
        return Again(exact.summed, terms)

    def _moment(self, power: int, t: int, share: float, level: Level) -> Any:
        total, ratio = exact.raw(level, 0), Fraction(share) / Fraction(self.Lsm)
        for kappa, c in zip(self.kappa.tolist(), self.c.tolist(), strict=True):
            if kappa == 0 and power < 0:
                raise NoExactForm
            level.charge(1 + t * t / 8)
            left = exact.raw(level, 1 - ratio * Fraction(kappa)) ** (2 * t)
            total += exact.raw(level, Fraction(kappa) ** power * Fraction(c) ** 2) * left
        return level.number(total)

    def all_at(self, value: float) -> bool:
        """Whether every component belongs to this eigenvalue (or to 0, which no gradient sees)."""
        return bool(np.isin(self.kappa[self.c != 0], (0.0, value)).all())


@lru_cache(maxsize=1)
def linearised(state: State) -> Quadratic:
    """Eigenvalues that are lost in rounding count as 0, those that are known to be larger than
    computed are taken as large as is known. Hypotheses and claims ask for the same one."""
    K = (state.kernel.K + state.kernel.K.T) / 2
    kappa, basis = np.linalg.eigh(K)
    kappa = np.where(kappa > errors.lapack(K.shape, kappa[-1]), kappa, 0.0)
    return Quadratic(np.maximum(kappa, max(float(smallest(state).low), 0.0)), basis.T @ state.r)


class OnQuadratic(MonotoneStatement):
    """A statement that is tried on the linearised loss."""

    dynamics = (STATIC,)

    def claims(self, p: Problem, state: State) -> Iterable[Claim]:
        f = linearised(state)
        if f.Lsm > 0:
            yield from self.about(p, state, f)

    def about(self, p: Problem, state: State, f: Quadratic) -> Iterable[Claim]:
        raise NotImplementedError


class Smooth(OnQuadratic):
    """One about smooth functions."""

    curved = Check("smoothness of the linearised loss", "Lsm > 0", "Definition 2.5.2")

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        yield self.curved(Lsm=linearised(p.start).smoothness)


class StronglyConvex(OnQuadratic):
    """One about strongly convex functions: on the directions that descent from w = 0 can reach f is
    one, if the kernel is positive definite."""

    positive = Check("the tangent kernel is positive", "mu > 0", "Lemma 2.5.2")

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        yield self.positive(why_singular(p.start), mu=smallest(p.start))

    def claims(self, p: Problem, state: State) -> Iterable[Claim]:
        if smallest(state).low > 0:
            yield from super().claims(p, state)


class SmoothFunctions(Smooth):
    """For a convex f these are equivalent: grad f is L-Lipschitz; f differs from its tangents by at
    most L |y - x|^2/2; <x - y, grad f(x) - grad f(y)> >= |grad f(x) - grad f(y)|^2/L; and, where f
    has second derivatives, -L I <= Hess f <= L I. Judged is the first, which makes the others
    true, on a drawn pair, with L = Lsm; and the last for f and for -f.

    As printed the third has <= in place of >=, and the last has no lower end: it then calls -f
    smooth with every L > 0, for instance with Lsm/2.
    """

    id = "hieu2022/def2.5.2"
    title = "Four descriptions of smooth functions"
    cite = cite("Definition 2.5.2", "Definition 2.5.1")
    soundness = "false"
    editions = (PRINTED, CORRECTED)
    erratum = (
        "The third item has its inequality reversed, and needs convexity; the fourth needs "
        "-L I <= Hess f as well. f = (x^2 + 4 y^2)/2 is smooth with L = 4, and for x - y = (1, 0) "
        "the third item as printed says 1 <= 1/4; -f has a negative Hessian, and its gradient is "
        "not Lipschitz with any L < 4."
    )

    gradient = Check("Lipschitz gradient, drawn pair", "change <= Lsm*apart", "first item")
    tangent = Check("distance from the tangent", "off <= Lsm/2*apart^2", "second item")
    product_printed = Check("monotone, printed", "product <= change^2/Lsm", "third item")
    product = Check("cocoercive", "product >= change^2/Lsm", "third item, corrected")
    one_side = Check("-f is smooth, worst pair", "slope <= Lsm/2", "fourth item")
    two_sides = Check("-f is smooth, worst pair", "slope == Lsm", "fourth item, corrected")
    gradient_equal = equality(gradient)
    tangent_equal = equality(tangent)
    product_equal = equality(product)

    def about(self, p: Problem, state: State, f: Quadratic) -> Iterable[Claim]:
        d = rng(p.seed, f"{self.id}.pair").standard_normal(len(f.c))
        along, Lsm = Quadratic(f.kappa, d), f.smoothness
        apart, product = instance(d).frobenius(), along.moment(1)
        change = sqrt(along.moment(2))
        flat = bool((f.kappa == f.Lsm).all())
        gradient = self.gradient_equal if flat else self.gradient
        yield gradient(change=change, Lsm=Lsm, apart=apart)
        tangent = self.tangent_equal if flat else self.tangent
        yield tangent(off=product / 2, Lsm=Lsm, apart=apart)
        reached = along.all_at(f.Lsm)
        third = self.product_printed if self.printed else self.product
        yield (self.product_equal if reached else third)(product=product, change=change, Lsm=Lsm)
        fourth = self.one_side if self.printed else self.two_sides
        yield fourth(slope=_steepest(state), Lsm=Lsm)


def _steepest(state: State) -> Measured:
    """|K v|/|v| for the last eigenvector v, from the matrix itself."""
    K = (state.kernel.K + state.kernel.K.T) / 2
    v = np.linalg.eigh(K)[1][:, -1]
    return errors.frobenius(K @ v, errors.rounding(len(v), errors.length(K))) / errors.frobenius(v)


class DescentProperty(Smooth):
    """A step of descent with any size <= 1/L lowers an L-smooth function by at least
    step/2 |grad|^2. On the linearised loss, with steps of 1/100, 1/2 and 1 of 1/Lsm, for the first
    step and for the tenth.
    """

    id = "hieu2022/prop2"
    title = "Descent property"
    cite = cite("Proposition 2")
    uses = ("hieu2022/def2.5.2",)

    progress = Check("progress of a step", "fall >= step/2*gradient^2", "Proposition 2")
    progress_equal = equality(progress)

    def about(self, p: Problem, state: State, f: Quadratic) -> Iterable[Claim]:
        for share in SHARES:
            step = chosen(share) / f.smoothness
            equal = share == 1.0 and f.all_at(f.Lsm)
            for t in (0, 10):
                note = f"step {share}/Lsm, k = {t}"
                gradient = sqrt(f.moment(1, t, share))
                check = self.progress_equal if equal else self.progress
                yield check(note, fall=self._fall(f, t, share), step=step, gradient=gradient)

    def _fall(self, f: Quadratic, t: float, share: float) -> Measured:
        """sum c^2 (1 - (1 - x)^2)/2 with x = share kappa/Lsm, as x (2 - x)/2."""
        x = share * (f.kappa / f.Lsm)
        fallen = Quadratic(f.kappa, f.c * np.sqrt(x * (2 - x) / 2))
        found = fallen.moment(0, t, share)
        # The components of `fallen` are rounded.
        again = ((f.moment(0, t, share) - f.moment(0, t + 1, share)) / 2).again
        return replace(found.widened(8 * EPS * found.value), again=again)


class CriticalPoint(Smooth):
    """Descent with the step 1/L on an L-smooth function reaches a gradient of at most eps within
    2 L (f(0) - f*)/eps^2 steps: each step before lowers f by more than eps^2/(2 L) (Proposition
    2). On the linearised loss, for eps = 1/2 and 1/100 of the first gradient.
    """

    id = "hieu2022/thm2.5.1"
    title = "Steps until the gradient is small"
    cite = cite("Theorem 2.5.1")
    soundness = "typo"
    erratum = "theta* is printed for the optimal value L*."
    uses = ("hieu2022/prop2",)

    steps = Check(
        "steps until the gradient is small", "steps <= 2*Lsm*(L - Lopt)/eps^2", "Theorem 2.5.1"
    )

    def about(self, p: Problem, state: State, f: Quadratic) -> Iterable[Claim]:
        first = sqrt(f.moment(1))
        if not first.low > 0:
            return
        lost = Quadratic(f.kappa, np.where(f.kappa > 0, 0.0, f.c))
        for share in CRITICAL:
            eps = chosen(share) * first
            values = {"L": f.moment(0) / 2, "Lopt": lost.moment(0) / 2, "eps": eps}
            note = f"eps = {share} of the first gradient"
            yield self.steps(note, steps=steps_until(f, eps), Lsm=f.smoothness, **values)


def steps_until(f: Quadratic, eps: Measured) -> Measured:
    """The first k >= 1 whose gradient is at most eps < |grad(0)|, which falls with k: between the
    last that is surely above and the first that is surely not."""
    surely = _bisected(lambda k: bool(sqrt(f.moment(1, k)).high <= eps.low))
    maybe = _bisected(lambda k: bool(sqrt(f.moment(1, k)).low <= eps.high))
    if not surely < MOST:
        return Measured(0.0, np.inf)
    return Measured((maybe + surely) / 2, (surely - maybe) / 2)


def _bisected(small: Callable[[float], bool]) -> float:
    """The first k >= 1 at which something that stays is true, or MOST."""
    low, high = 0.0, 1.0
    while high < MOST and not small(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if small(middle) else (middle, high)
    return high


class DistanceFromOptimum(StronglyConvex):
    """A mu-strongly convex f has |grad f(w)|^2/(2 mu) >= f(w) - f* >= mu |w - w*|^2/2. For the
    linearised loss at w = 0: f* = 0, |grad f|^2 = sum kappa c^2, f = sum c^2/2 and
    |w*|^2 = sum c^2/kappa, with mu = min kappa.
    """

    id = "hieu2022/lem2.5.2"
    title = "Gradient, value and distance of a strongly convex function"
    cite = cite("Lemma 2.5.2")

    above = Check("the gradient bounds the value", "gradient^2/(2*mu) >= gap", "Lemma 2.5.2")
    below = Check("the value bounds the distance", "gap >= mu/2*distance^2", "Lemma 2.5.2")
    above_equal = equality(above)
    below_equal = equality(below)

    def about(self, p: Problem, state: State, f: Quadratic) -> Iterable[Claim]:
        gap, equal = f.moment(0) / 2, f.all_at(f.mu)
        above, below = (self.above_equal, self.below_equal) if equal else (self.above, self.below)
        yield above(gradient=sqrt(f.moment(1)), mu=f.convexity, gap=gap)
        yield below(gap=gap, mu=f.convexity, distance=sqrt(f.moment(-1)))


class StronglyConvexRate(StronglyConvex):
    """Descent with the step 1/L on an L-smooth, mu-strongly convex function has
    gap(t) <= (1 - mu/L)^t gap(0), so that t >= (L/mu) log(gap(0)/eps) steps are enough for
    gap(t) <= eps. On the linearised loss, for t = 1, 10, 100, and for eps = 1e-6 gap(0).
    """

    id = "hieu2022/thm2.5.3"
    title = "Linear rate under strong convexity"
    cite = cite("Theorem 2.5.3")
    soundness = "typo"
    erratum = "The update is printed with x_k and f in place of theta_k and L."
    uses = ("hieu2022/prop2", "hieu2022/lem2.5.2")

    rate = Check("loss of the linearised model", "gap <= ((Lsm - mu)/Lsm)^t*gap_0", "Theorem 2.5.3")
    at_once = Check("one step, equal eigenvalues", "gap == 0", "Theorem 2.5.3")
    enough = Check("accuracy after so many steps", "gap <= eps", "after Theorem 2.5.3")

    def about(self, p: Problem, state: State, f: Quadratic) -> Iterable[Claim]:
        gap_0 = f.moment(0) / 2
        if f.mu == f.Lsm:
            yield self.at_once(gap=f.moment(0, 1) / 2)
        for t in () if f.mu == f.Lsm else TIMES:
            gap = f.moment(0, t) / 2
            ends = {"Lsm": f.smoothness, "mu": f.convexity}
            yield self.rate(f"t = {t}", gap=gap, **ends, t=chosen(t), gap_0=gap_0)
        last = float(np.ceil(f.Lsm / f.mu * -np.log(ACCURACY)))
        if np.isfinite(last):
            gap = f.moment(0, last) / 2
            yield self.enough(f"t = {last:.0f}", gap=gap, eps=chosen(ACCURACY) * gap_0)
