"""Lemma 3.2: the spectrum of Q, and the gradients (7)-(9)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from deqcheck.linalg import errors
from deqcheck.models.implicit_relu import oracle, spectrum
from deqcheck.models.problem import Params
from deqcheck.records.claim import Claim
from deqcheck.records.measured import EPS, Measured, maximum, minimum
from deqcheck.seeds import rng
from deqcheck.theorems.base import CORRECTED, PRINTED, Check
from deqcheck.theorems.gao2022.bounds import cite, worst
from deqcheck.theorems.gao2022.setting import Problem, State
from deqcheck.theorems.gao2022.static import BoundedA, OffKinks

# Up to this width a double root can be told by exact rational arithmetic.
RATIONAL_WIDTH = 8


class Lemma32(BoundedA):
    """Q = I - gamma D (A^T kron I) is invertible if |A| <= M and gamma0 = gamma M < 1.

    Printed: lambda_min(Q) > 1 - gamma0, read as the smallest real part of an eigenvalue; with
    Q = I - gamma D A^T that says that no eigenvalue of D A^T reaches M.
    Corrected: sigma_min(Q), the smallest eigenvalue of the symmetric part, the smallest real part
    and the smallest modulus of an eigenvalue are all at least 1 - gamma |A|, not always more.
    """

    id = "gao2022/lem3.2"
    title = "The linearised equation is invertible"
    cite = cite("Lemma 3.2", "(6)")
    soundness = "false"
    editions = (PRINTED, CORRECTED)
    erratum = (
        "The inequality is not strict: N = d = m = 1, X = W = A = M = 1, gamma = 1/2 gives "
        "Q = 1/2 = 1 - gamma0. Nor need the eigenvalues be real: A = [[0, 1], [-1, 0]], X = 1, "
        "W = (3, 3), gamma = 1/2 gives 1 +- i/2. What is used later, |Q^-1| <= 1/(1 - gamma0), "
        "is right."
    )

    strict = Check(
        "real parts of the eigenvalues of D A^T below M", "lambda_max_DA < M", "(6) over gamma"
    )
    singular = Check("smallest singular value of Q", "sigma_min_Q >= 1-gamma*norm_A", "(6)")
    symmetric = Check(
        "smallest eigenvalue of the symmetric part", "lambda_min_sym >= 1-gamma*norm_A", "(6)"
    )
    real_part = Check("smallest real part", "real_part_min >= 1-gamma*norm_A", "(6)")
    modulus = Check("smallest modulus of an eigenvalue", "modulus_min >= 1-gamma*norm_A", "(6)")
    norm = Check("largest singular value of Q", "norm_Q <= 1+gamma*norm_A", "(6)")
    inverse = Check("the inverse is bounded", "norm_Q_inverse <= 1/(1-gamma*M)", "Lemma 3.2")

    def notes(self, p: Problem) -> Iterable[str]:
        if not spectrum.affordable(p.start):
            yield "too many activation patterns of too many units: the spectrum was not computed"

    def quantities(self, p: Problem) -> dict[str, Measured]:
        if not spectrum.affordable(p.start):
            return {}
        eigenvalues = [np.linalg.eigvals(block) for block in spectrum.blocks(p.start)]
        return {"imaginary_part_max": Measured(max(float(e.imag.max()) for e in eigenvalues))}

    def claims(self, p: Problem, state: State) -> Iterable[Claim]:
        if not spectrum.affordable(state):
            return
        if self.printed:
            yield self.strict(lambda_max_DA=self._largest_real_part(state), M=self.M(p))
            return
        known = {"gamma": state.gamma, "norm_A": state.norm_A}
        sigma = [s for block in spectrum.blocks(state) for s in _edges(state, block)]
        smallest, largest = minimum(*(s[0] for s in sigma)), maximum(*(s[1] for s in sigma))
        real = 1 - state.gamma * maximum(*map(spectrum.largest_real_part, spectrum.masked(state)))
        yield self.singular(sigma_min_Q=smallest, **known)
        yield self.symmetric(lambda_min_sym=minimum(*(s[2] for s in sigma)), **known)
        yield self.real_part(real_part_min=real, **known)
        yield self.modulus(modulus_min=minimum(*(s[3] for s in sigma)), **known)
        yield self.norm(norm_Q=largest, **known)
        yield self.inverse(norm_Q_inverse=1 / smallest, gamma=state.gamma, M=self.M(p))

    def _largest_real_part(self, state: State) -> Measured:
        """Exactly M where M is an eigenvalue in rational arithmetic: |A| <= M allows no larger."""
        blocks = list(spectrum.masked(state))
        if "M" in self.fixed and any(_has_eigenvalue(a, self.fixed["M"]) for a in blocks):
            return Measured(self.fixed["M"], 0.0, "rational arithmetic")
        return maximum(*map(spectrum.largest_real_part, blocks))


def _edges(state: State, block: np.ndarray) -> Iterator[tuple[Measured, ...]]:
    """Smallest and largest singular value, smallest eigenvalue of the symmetric part, smallest
    modulus of an eigenvalue."""
    radius = spectrum.block_radius(state)
    s = errors.singular_values(block, radius)
    sym = errors.symmetric_eigenvalues((block + block.T) / 2, 2 * radius)[0]
    modulus = float(np.abs(np.linalg.eigvals(block)).min())
    yield s[-1], s[0], sym, Measured(modulus, spectrum.eigenvalue_radius(block, radius))


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
# A slope that is small against the gradient has no digits of its own.
FLAT = 1e-2


class Gradients(OffKinks):
    """The gradients (7)-(9) in Kronecker form, where no entry of U or of X W is zero: compared with
    central differences of the loss along random directions, and with the fast form
    dW = X^T (E o (r . P)), dA = gamma Z^T (r . P), db = Z^T r.
    """

    id = "gao2022/gradient"
    title = "The gradients of the loss"
    cite = cite("Lemma 3.2", "(7)-(9)")

    along_w = Check(f"dL/dW along a direction (worst of {DIRECTIONS})", "inner_W == slope_W", "(7)")
    along_a = Check(f"dL/dA along a direction (worst of {DIRECTIONS})", "inner_A == slope_A", "(8)")
    along_b = Check(f"dL/db along a direction (worst of {DIRECTIONS})", "inner_b == slope_b", "(9)")
    fast_w = Check("the fast dL/dW is (7)", "distance_W <= noise", "(7)")
    fast_a = Check("the fast dL/dA is (8)", "distance_A <= noise", "(8)")
    fast_b = Check("the fast dL/db is (9)", "distance_b <= noise", "(9)")

    def claims(self, p: Problem, state: State) -> Iterable[Claim]:
        if state.kinks.zeros:
            return
        dense = oracle.affordable(state)
        explicit = p.model.explicit_gradient(p.theta0) if dense else state.gradient
        radii = state.gradient_radii()
        for name, along, fast in (
            ("W", self.along_w, self.fast_w),
            ("A", self.along_a, self.fast_a),
            ("b", self.along_b, self.fast_b),
        ):
            yield from worst(
                along(**{f"inner_{name}": inner, f"slope_{name}": slope})
                for inner, slope in self._slopes(p, name, explicit[name], radii[name])
            )
            if not dense:
                continue
            distance = float(np.linalg.norm(explicit[name] - state.gradient[name]))
            # The dense inverse loses up to |Q| |Q^-1| <= (1 + gamma0)/(1 - gamma0) more.
            condition = (1 + state.gamma0.high) / (1 - state.gamma0.high)
            yield fast(**{f"distance_{name}": distance}, noise=radii[name] * (1 + condition))

    def _slopes(
        self, p: Problem, name: str, gradient: np.ndarray, radius: float
    ) -> Iterable[tuple[Measured, Measured]]:
        """Directions that lean towards the gradient, so that the slope is not small against it."""
        stream = rng(p.seed, f"gao2022/gradient.{name}")
        size = float(np.linalg.norm(gradient))
        for _ in range(DIRECTIONS if size > 0 else 0):
            noise = stream.standard_normal(gradient.shape)
            v = gradient / size + noise / np.linalg.norm(noise)
            if abs(np.vdot(gradient, v)) < FLAT * size:
                continue
            inner = Measured(float(np.vdot(gradient, v)), 2 * radius + 8 * EPS * size)
            yield inner, central_difference(p, {name: v}, lambda s: s.loss)


def central_difference(p: Problem, direction: Params, f: Any) -> Measured:
    """(f(theta + h v) - f(theta - h v))/2h inside one smooth piece.

    Richardson: D(h) errs by (D(2h) - D(h))/3 to leading order; its size, tripled, is the radius.
    """
    pattern, h = p.start.kinks.pattern, _first_step(p, direction)
    for _ in range(60):
        ends = {factor: _moved(p, direction, factor * h) for factor in (-2, -1, 1, 2)}
        if all(np.array_equal(s.kinks.pattern, pattern) for s in ends.values()):
            break
        h /= 2
    near = (f(ends[1]) - f(ends[-1])) / (2 * h)
    far = (f(ends[2]) - f(ends[-2])) / (4 * h)
    return Measured(near.value, near.error + abs(far.value - near.value), "central difference")


def _first_step(p: Problem, direction: Params) -> float:
    size = max(float(np.abs(a).max(initial=0.0)) for a in p.theta0.values())
    return (
        float(EPS ** (1 / 3))
        * max(size, 1.0)
        / max(float(np.abs(v).max()) for v in direction.values())
    )


def _moved(p: Problem, direction: Params, h: float) -> Any:
    theta = {n: a + h * direction[n] if n in direction else a for n, a in p.theta0.items()}
    return p.model.at(theta)
