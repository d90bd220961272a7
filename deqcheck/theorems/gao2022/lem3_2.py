"""Lemma 3.2: the spectrum of Q, and the gradients (7)-(9)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from deqcheck.linalg import errors, exact
from deqcheck.linalg.entries import euclidean
from deqcheck.linalg.matrix import Matrix, instance
from deqcheck.models.implicit_relu import oracle, spectrum
from deqcheck.records.claim import Claim
from deqcheck.records.measured import Measured, between, given, maximum, minimum
from deqcheck.seeds import rng
from deqcheck.theorems.base import CORRECTED, PRINTED, Check
from deqcheck.theorems.drawn import looked_at
from deqcheck.theorems.gao2022.bounds import cite, worst
from deqcheck.theorems.gao2022.setting import Problem, State
from deqcheck.theorems.gao2022.static import BoundedA, OffKinks, equality

# Up to this width a double root can be told by exact rational arithmetic.
RATIONAL_WIDTH = 8


class Lemma32(BoundedA):
    """Q = I - gamma D (A^T kron I) is invertible if |A| <= M with M > 0, and gamma0 = gamma M < 1.

    Printed: lambda_min(Q) > 1 - gamma0. Q is not symmetric, so this is read as the smallest real
    part of an eigenvalue: no eigenvalue of D A^T has a real part as large as M. (The smallest
    singular value, or the smallest eigenvalue of the symmetric part, would be other readings; a
    refutation here speaks of the first alone, though at A = M = 1 all of them fail.)
    Corrected: sigma_min(Q), the smallest eigenvalue of the symmetric part, the smallest real part
    and the smallest modulus of an eigenvalue are all at least 1 - gamma |A|, not always more.
    """

    id = "gao2022/lem3.2"
    title = "The linearised equation is invertible"
    cite = cite("Lemma 3.2", "(6)")
    uses = ("gao2022/eq29",)
    soundness = "false"
    editions = (PRINTED, CORRECTED)
    erratum = (
        "The inequality is not strict: N = d = m = 1, X = W = A = M = 1, gamma = 1/2 gives "
        "Q = 1/2 = 1 - gamma0. Nor need the eigenvalues be real: A = [[0, 1], [-1, 0]], X = 1, "
        "W = (3, 3), gamma = 1/2 gives 1 +- i/2. The proof, (29), bounds |Q| from below, which "
        "does not make Q invertible: sigma_min(Q) >= 1 - gamma |A| is needed, and true. What is "
        "used later, |Q^-1| <= 1/(1 - gamma0), is right."
    )

    positive = Check("M is positive", "M > 0", "Lemma 3.2")
    strict = Check(
        "real parts of the eigenvalues of D A^T, over M, below 1",
        "lambda_max_DA_over_M < 1",
        "(6) over gamma M",
    )
    singular = Check("smallest singular value of Q", "sigma_min_Q >= 1-gamma*norm_A", "(6)")
    symmetric = Check(
        "smallest eigenvalue of the symmetric part", "lambda_min_sym >= 1-gamma*norm_A", "(6)"
    )
    real_part = Check("smallest real part", "real_part_min >= 1-gamma*norm_A", "(6)")
    modulus = Check("smallest modulus of an eigenvalue", "modulus_min >= 1-gamma*norm_A", "(6)")
    inverse = Check("the inverse is bounded", "norm_Q_inverse <= 1/(1-gamma*M)", "Lemma 3.2")
    singular_equal = equality(singular)
    symmetric_equal = equality(symmetric)
    real_part_equal = equality(real_part)
    modulus_equal = equality(modulus)
    inverse_equal = equality(inverse)
    norm = Check("largest singular value of Q", "norm_Q <= 1+gamma*norm_A", "(6)")

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        if self.printed:
            note = "" if p.start.A.any() else "A = 0: give a positive M by `constants`"
            yield self.positive(note, M=self.M(p))
        yield from super().hypotheses(p)

    def unchecked(self, p: Problem) -> Iterable[str]:
        return _too_many_blocks(p.start)

    def quantities(self, p: Problem) -> dict[str, Measured]:
        if not spectrum.affordable(p.start):
            return {}
        eigenvalues = [np.linalg.eigvals(block.array) for block in spectrum.blocks(p.start)]
        return {"imaginary_part_max": Measured(max(float(e.imag.max()) for e in eigenvalues))}

    def claims(self, p: Problem, state: State) -> Iterable[Claim]:
        if not spectrum.affordable(state):
            return
        if self.printed:
            if state.A.any() or "M" in self.fixed:
                yield self.strict(lambda_max_DA_over_M=self._largest_over_M(p, state))
            return
        known = {"gamma": given(state.gamma), "norm_A": state.norm_A}
        sigma = _edges(state)
        real = 1 - given(state.gamma) * _largest_real_part(state)
        equal = reaches_norm(state)
        for plain, same, name, value in (
            (self.singular, self.singular_equal, "sigma_min_Q", sigma["sigma"]),
            (self.symmetric, self.symmetric_equal, "lambda_min_sym", sigma["symmetric"]),
            (self.real_part, self.real_part_equal, "real_part_min", real),
            (self.modulus, self.modulus_equal, "modulus_min", sigma["modulus"]),
        ):
            yield (same if equal else plain)(**{name: value}, **known)
        inverse = self.inverse_equal if equal and self.M_is_norm(p) else self.inverse
        yield inverse(norm_Q_inverse=1 / sigma["sigma"], gamma=given(state.gamma), M=self.M(p))

    def remarks(self, p: Problem, run: Any) -> Iterable[Claim]:
        if not self.printed and spectrum.affordable(p.start):
            largest = _edges(p.start)["norm"]
            yield self.norm(norm_Q=largest, gamma=given(p.start.gamma), norm_A=p.start.norm_A)

    def _largest_over_M(self, p: Problem, state: State) -> Measured:
        """Exactly 1 where |A| is an eigenvalue and M, or where M is an eigenvalue in rational
        arithmetic: |A| <= M allows no larger."""
        if self.M_is_norm(p) and reaches_norm(state):
            return given(1)
        blocks = list(spectrum.masked(state))
        known = not state.equilibrium.doubtful.any()
        if "M" in self.fixed and known and any(_has_eigenvalue(a, self.fixed["M"]) for a in blocks):
            return given(1)
        return _largest_real_part(state) / self.M(p)


class Invertible(BoundedA):
    """|Q| >= 1 - gamma |D (A^T kron I)| >= 1 - gamma |A|, and Q is invertible.

    Printed: |A| <= M makes 1 - gamma |A| > 1 - gamma0, and the bound on |Q| makes Q invertible.
    Corrected: 1 - gamma |A| >= 1 - gamma0; and Q is invertible since |Q - I| <= gamma |A| < 1, not
    because its norm is large: diag(1, 0) has norm 1 and no inverse.
    """

    id = "gao2022/eq29"
    title = "Why Q is invertible"
    cite = cite("A.2", "(29)")
    soundness = "false"
    editions = (PRINTED, CORRECTED)
    erratum = (
        "A norm from below does not make a matrix invertible: diag(1, 0) has norm 1. What does is "
        "sigma_min(Q) >= 1 - |Q - I| >= 1 - gamma |A|. And |A| <= M gives >=, not >: M = |A| is "
        "allowed."
    )

    positive = Check("M is positive", "M > 0", "Lemma 3.2")
    triangle = Check("reverse triangle inequality", "norm_Q >= 1-gamma*norm_DA", "(29)")
    triangle_equal = equality(triangle)
    masked = Check("D shrinks", "norm_DA <= norm_A", "(29)")
    masked_equal = equality(masked)
    strict = Check("strictly above 1 - gamma0", "norm_A_over_M < 1", "(29) over gamma M")
    invertible = Check("Q is invertible", "sigma_min_Q > 0", "(29)")

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        yield self.positive(M=self.M(p))
        yield from super().hypotheses(p)

    def unchecked(self, p: Problem) -> Iterable[str]:
        return _too_many_blocks(p.start)

    def claims(self, p: Problem, state: State) -> Iterable[Claim]:
        if not spectrum.affordable(state):
            return
        edges = _edges(state)
        DA = maximum(*(instance(block).norm2() for block in spectrum.masked(state)))
        if state.equilibrium.doubtful.any():
            DA = Measured(0.0, np.inf)
        triangle = self.triangle_equal if _shrinks_all(state) else self.triangle
        norm_Q = edges["norm"]
        if not (state.equilibrium.mask | state.equilibrium.doubtful).all():
            # A unit that is off leaves a row of I in its block.
            cut = between(max(1.0, float(norm_Q.low)), max(1.0, float(norm_Q.high)))
            norm_Q = replace(cut, again=norm_Q.again)
        yield triangle(norm_Q=norm_Q, gamma=given(state.gamma), norm_DA=DA)
        yield (self.masked_equal if _keeps_norm(state) else self.masked)(
            norm_DA=DA, norm_A=state.norm_A
        )
        if self.printed:
            equal = self.M_is_norm(p)
            ratio = given(1) if equal else state.norm_A / self.M(p)
            yield self.strict(norm_A_over_M=ratio)
        yield self.invertible(sigma_min_Q=edges["sigma"])


def _keeps_norm(state: State) -> bool:
    """Whether |D A^T| = |A| for some pattern, seen without rounding: D takes no row of A^T away but
    zeros, or A is diagonal and its largest entry is kept."""
    sure = state.equilibrium.mask & ~state.equilibrium.doubtful
    a = state.diagonal_A
    if a is not None:
        return bool((sure.T & (np.abs(a) == state.norm_A.value)).any()) or not state.A.any()
    empty = ~np.asarray(state.A.any(axis=0))
    return bool((sure.T | empty).all(axis=1).any())


def _shrinks_all(state: State) -> bool:
    """Whether Q = (1 - gamma a) I, a >= 0: A = a I with every unit active, or a = 0."""
    a, sure = state.diagonal_A, state.equilibrium.mask & ~state.equilibrium.doubtful
    alike = a is not None and bool((a == state.norm_A.value).all())
    return alike and (bool(sure.all()) or not state.A.any())


def _too_many_blocks(state: State) -> Iterable[str]:
    if not spectrum.affordable(state):
        patterns = spectrum.patterns(state).shape[1]
        yield (
            f"the spectrum of Q has {patterns} blocks of {state.m} rows, one for each "
            "activation pattern: too many to factorise; fewer units or samples would do"
        )


def reaches_norm(state: State) -> bool:
    """Whether |A| is an eigenvalue of D A^T for some activation pattern, seen without rounding: A
    is diagonal, or it is symmetric, its largest eigenvalue is its norm, and all units are active.
    """
    U = state.equilibrium
    sure = U.mask & ~U.doubtful
    a = state.diagonal_A
    if a is not None:
        return bool(state.norm_A.value in a[sure.any(axis=1)]) or not a.any()
    if not (sure.all(axis=0).any() and np.array_equal(state.A, state.A.T)):
        return False
    eigenvalues = errors.symmetric_eigenvalues(state.A)
    return bool(eigenvalues[-1].low > -eigenvalues[0].low)


def _largest_real_part(state: State) -> Measured:
    """Of all eigenvalues of the blocks D_i A^T: exact where A is diagonal."""
    if state.equilibrium.doubtful.any():
        return Measured(0.0, np.inf)
    a = state.diagonal_A
    if a is not None:
        return given(float((state.equilibrium.mask * a[:, None]).max()))
    return maximum(*map(spectrum.largest_real_part, spectrum.masked(state)))


def _edges(state: State) -> dict[str, Measured]:
    """Of all blocks: smallest and largest singular value, smallest eigenvalue of the symmetric
    part, smallest modulus of an eigenvalue."""
    found = []
    for block in spectrum.blocks(state):
        ends = (block.nth_singular_value(k) for k in (state.m, 1))
        least = ((block + block.T) / 2).eigenvalue(0)
        found.append((*ends, least, _smallest_modulus(block)))
    smallest, largest, symmetric, moduli = zip(*found, strict=True)
    return {
        "sigma": minimum(*smallest),
        "norm": maximum(*largest),
        "symmetric": minimum(*symmetric),
        "modulus": minimum(*moduli),
    }


def _smallest_modulus(block: Matrix) -> Measured:
    modulus = float(np.abs(np.linalg.eigvals(block.array)).min())
    around = spectrum.eigenvalue_radius(block.array, block.radius)
    return Measured(modulus, around, again=block.exact and exact.smallest_modulus(block.exact))


def _has_eigenvalue(a: np.ndarray, value: float) -> bool:
    """Whether det(value I - a) = 0, in exact rational arithmetic."""
    n = len(a)
    if n > RATIONAL_WIDTH:
        return False
    rows = [
        [Fraction(value if i == j else 0.0) - Fraction(float(a[i, j])) for j in range(n)]
        for i in range(n)
    ]
    for column in range(n):
        pivot = next((i for i in range(column, n) if rows[i][column]), None)
        if pivot is None:
            return True
        rows[column], rows[pivot] = rows[pivot], rows[column]
        for row in rows[column + 1 :]:
            share = row[column] / rows[column][column]
            for j in range(column, n):
                row[j] -= share * rows[column][j]
    return False


DIRECTIONS = 5


class Gradients(OffKinks):
    """The gradients (7)-(9) in Kronecker form against the tangent of the predictions: for random
    directions v, <dL/dtheta, v> is r^T d yhat, with d yhat from the linearised equation on the
    fixed pattern of active units.

    Asked is that L is differentiable: no entry of U or of X W is zero, apart from those that
    nothing can change and those that are not heard: at b = 0, or where neither b nor A passes the
    unit on, its kink is of second order. So the paper's own start A = I, b = 0 is covered, where
    every dead unit has U = 0.

    Remarks: what deqcheck computes with, dW = X^T (E o (r . P)), dA = gamma Z^T (r . P),
    db = Z^T r, is the same.
    """

    id = "gao2022/gradient"
    title = "The gradients of the loss"
    cite = cite("Lemma 3.2", "(7)-(9)")
    uses = ("gao2022/lem3.2",)

    along_w = Check(f"dL/dW along a direction (worst of {DIRECTIONS})", "inner_W == slope_W", "(7)")
    along_a = Check(f"dL/dA along a direction (worst of {DIRECTIONS})", "inner_A == slope_A", "(8)")
    along_b = Check(f"dL/db along a direction (worst of {DIRECTIONS})", "inner_b == slope_b", "(9)")
    fast_w = Check("the fast dL/dW is (7)", "distance_W <= noise", "(7)")
    fast_a = Check("the fast dL/dA is (8)", "distance_A <= noise", "(8)")
    fast_b = Check("the fast dL/db is (9)", "distance_b <= noise", "(9)")

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        s = p.start
        counts = (s.r != 0) | (s.r_radius > 0)
        yield self.smooth(kinks=s.kinks_in_the_way(counts, np.abs(s.r) > s.r_radius))

    def claims(self, p: Problem, state: State) -> Iterable[Claim]:
        dense = oracle.affordable(state)
        explicit = p.model.explicit_gradient(p.theta0) if dense else state.gradient
        radii = _radii(state, dense)
        for name, along in (("W", self.along_w), ("A", self.along_a), ("b", self.along_b)):
            yield from worst(
                along(**{f"inner_{name}": inner, f"slope_{name}": slope})
                for inner, slope in looked_at(_slopes(p, name, explicit[name], radii[name]))
            )

    def remarks(self, p: Problem, run: Any) -> Iterable[Claim]:
        s = p.start
        if not oracle.affordable(s):
            return
        explicit, radii = p.model.explicit_gradient(p.theta0), _radii(s, dense=True)
        for name, fast in (("W", self.fast_w), ("A", self.fast_a), ("b", self.fast_b)):
            distance = euclidean(explicit[name] - s.gradient[name])
            yield fast(**{f"distance_{name}": distance}, noise=radii[name])


def _radii(state: State, dense: bool) -> dict[str, float]:
    """The dense inverse loses up to |Q| |Q^-1| <= (1 + gamma0)/(1 - gamma0) more."""
    condition = (1 + float(state.gamma0.high)) / (1 - float(state.gamma0.high))
    factor = 1 + condition if dense else 1.0
    return {name: radius * factor for name, radius in state.gradient_radii().items()}


def _slopes(
    p: Problem, name: str, gradient: np.ndarray, radius: float
) -> Iterable[tuple[Measured, Measured]]:
    """Directions of length 1 to 2 that lean towards the gradient, so that the slope is not small
    against it: the random part is turned so that it does not lean away."""
    stream, s = rng(p.seed, f"gao2022/gradient.{name}"), p.start
    again = s.exact_gradient()[name]
    size, r = errors.length(gradient), errors.length(s.r)
    for _ in range(DIRECTIONS):
        noise = stream.standard_normal(gradient.shape)
        v = noise / np.linalg.norm(noise)
        if size > 0:
            v = gradient / size + (v if np.vdot(v, gradient) >= 0 else -v)
        moved, away = s.tangent({name: v})
        reach = errors.length(moved)
        rounded = errors.rounding(2, size + r * reach)
        error = r * away + s.r_radius * (reach + away)
        d = exact.array(v)
        along = exact.inner(again, d)
        inner = Measured(float(np.vdot(gradient, v)), 2 * radius + rounded * s.m, again=along)
        slope = exact.inner(s.again.r, s.computed.tangent(s.again, {name: d}))
        yield inner, Measured(float(s.r @ moved), error + rounded * s.N, "tangent", slope)
