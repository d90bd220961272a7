"""Section 2.2: the equilibrium of a contraction, and the Jacobian matrix of (2)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from deqcheck.linalg import errors, exact, well_posed
from deqcheck.linalg.matrix import instance
from deqcheck.linalg.patterns import distinct
from deqcheck.linalg.relu_equilibrium import relu
from deqcheck.records.claim import Claim
from deqcheck.records.measured import EPS, Measured
from deqcheck.records.tower import Again
from deqcheck.records.trajectory import Trajectory
from deqcheck.seeds import rng
from deqcheck.theorems.base import STATIC, Check
from deqcheck.theorems.drawn import number
from deqcheck.theorems.ling2022.common import MODELS, cite, contractive, nearest
from deqcheck.theorems.ling2022.setting import Problem, State, Statement

PAIRS = 4
LAYERS = 12
# Up to this width all principal minors are computed, 2^m - 1 of them.
SMALL = 8
# Flops of the singular values of all blocks of J.
LARGEST = 2e10
# A layer is shown if the theorem leaves this many of its error bars between the sides.
RESOLVED = 4


class WellPosed(Statement):
    """If |W| < 1, the layer (1) is a contraction: (2) has exactly one solution for every X, every
    layer is nearer to it than the one before, and J = I - D (I_n kron W) is invertible. That there
    is exactly one solution for every X is the same as I - W having positive principal minors only:
    |W_SS| < 1 for every set S of units, so the eigenvalues of I - W_SS have positive real parts. J
    is block diagonal, and its block of sample j is I - D_j W. Remark: its smallest singular value
    is at least 1 - |W|.
    """

    id = "ling2022/sec2.2"
    title = "Well-posedness and the Jacobian matrix"
    cite = cite("Section 2.2", "(1), (2)")
    models = MODELS
    dynamics = (STATIC,)

    contracts = Check(
        f"two inputs of the layer come nearer (worst of {PAIRS} pairs)", "after < before", "(1)"
    )
    nearer = Check("every layer is nearer to the equilibrium", "after < before", "(1), (2)")
    minors = Check(
        f"one equilibrium for every X (m <= {SMALL})",
        "smallest_minor > 0",
        "(2), principal minors of I - W",
    )
    invertible = Check("J is invertible", "smallest_J > 0", "section 2.2")
    sharp = Check("how far J is from a singular matrix", "smallest_J >= 1 - norm_W", "Weyl")

    def unchecked(self, p: Problem) -> Iterable[str]:
        m, n = len(p.theta0["W"]), p.model.n
        if m**3 * n > LARGEST:
            yield (
                f"the singular values of {n} matrices of order {m} are beyond {LARGEST:g} "
                "operations: a smaller instance"
            )

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        yield from contractive(p)

    def claims(self, p: Problem, state: State) -> Iterable[Claim]:
        if not state.q.high < 1 or any(self.unchecked(p)):
            return
        yield nearest(_pairs(p, self.contracts))
        layers = list(_layers(state, self.nearer))
        if layers:
            yield nearest(layers)
        if len(state.Z) <= SMALL:
            yield self.minors(smallest_minor=smallest_minor(state.theta["W"]))
        yield self.invertible(smallest_J=smallest_J(state))

    def remarks(self, p: Problem, run: Trajectory | None) -> Iterable[Claim]:
        if p.start.q.high < 1 and not any(self.unchecked(p)):
            yield self.sharp(smallest_J=smallest_J(p.start), norm_W=p.start.q)


def _pairs(p: Problem, check: Check) -> Iterator[Claim]:
    W, C = p.theta0["W"], p.theta0["U"] @ p.model.X
    # The equilibrium is about as large as U X.
    scale = float(np.abs(C).max()) or 1.0
    for i in range(number(PAIRS)):
        stream = rng(p.seed, f"{WellPosed.id}.{i}")
        A, B = (scale * stream.standard_normal(C.shape) for _ in range(2))
        size = errors.length(W) * (errors.length(A) + errors.length(B)) + 2 * errors.length(C)
        a, b = exact.array(A), exact.array(B)
        node = exact.minus(_layer(p.start, a), _layer(p.start, b))
        radius = errors.rounding(len(W), size)
        after = errors.frobenius(relu(W @ A + C) - relu(W @ B + C), radius, node)
        before = errors.frobenius(A - B, EPS * errors.length(A - B), exact.minus(a, b))
        yield check(f"pair {i + 1}", after=after, before=before)


def _layer(state: State, Z: Again) -> Again:
    """relu(W Z + U X)."""
    W, C = state.exact_weights()
    return exact.relu(exact.plus(exact.product(W, Z), C))


def _layers(state: State, check: Check) -> Iterator[Claim]:
    """|Z - Z^(l+1)| against |Z - Z^(l)|, wherever |W| leaves room between them."""
    W, found = state.theta["W"], state.equilibrium
    size, room = (
        errors.length(W) * errors.length(found.Z) + errors.length(found.C),
        1 - state.q.high,
    )
    layer = np.zeros_like(found.Z)
    node, limit = exact.array(layer), state.again.Z
    before = errors.frobenius(found.Z, found.error, limit)
    for count in range(LAYERS):
        layer, node = relu(W @ layer + found.C), _layer(state, node)
        # Each layer rounds once, and |W| < 1 passes it on.
        rounding = errors.rounding(len(W), (count + 1) * size) + found.C_radius * (count + 1)
        apart = exact.minus(limit, node)
        after = errors.frobenius(found.Z - layer, found.error + rounding, apart)
        if room * before.value > RESOLVED * (before.error + after.error):
            yield check(f"tightest at l = {count}", after=after, before=before)
        before = after


def smallest_minor(W: np.ndarray) -> Measured:
    """Of I - W. LU is the exact one of M + E with |E| a few m eps |M|, and det(M + E)/det(M) =
    det(I + M^-1 E) differs from 1 by at most (1 + |M^-1 E|)^m - 1."""
    found = []
    for on in well_posed.patterns(len(W)):
        count = int(on.sum())
        if count:
            M = np.eye(count) - W[np.ix_(on, on)]
            node = exact.minus(exact.array(np.eye(count)), exact.array(W[np.ix_(on, on)]))
            value = float(np.linalg.det(M))
            relative = 8 * count**2 * EPS * float(np.linalg.cond(M))
            error = abs(value) * ((1 + relative) ** count - 1)
            found.append(Measured(value, error, again=exact.determinant(node)))
    return min(found, key=lambda minor: float(minor.low))


def smallest_J(state: State) -> Measured:
    """The smallest singular value of all blocks; samples of one pattern have the same."""
    W, eye = state.theta["W"], np.eye(len(state.Z))
    blocks = distinct(state.equilibrium.mask)[0].T
    values = [
        (instance(eye) - instance(on[:, None] * W)).nth_singular_value(len(W)) for on in blocks
    ]
    return min(values, key=lambda value: float(value.low))
