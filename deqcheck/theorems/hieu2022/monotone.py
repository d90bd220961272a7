"""Section 2.3.2: monotone operators, and the splittings that find a zero of their sum."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from deqcheck.linalg import errors
from deqcheck.linalg.late import scipy
from deqcheck.linalg.matrix import Matrix, identity, instance
from deqcheck.records.claim import Claim, Curve
from deqcheck.records.measured import Measured, given, minimum, stack
from deqcheck.seeds import rng
from deqcheck.theorems.base import CORRECTED, PRINTED, STATIC, Check
from deqcheck.theorems.hieu2022.common import MonotoneStatement, cite
from deqcheck.theorems.hieu2022.setting import Problem, State
from deqcheck.theorems.hieu2022.wellposed import SHARES

PAIRS = 50
# Steps of Peaceman-Rachford splitting that are tried, times 1/Lip.
REFLECTED = (0.01, 0.1, 1.0, 10.0, 100.0)
SWEEPS = 40
# Flops to be spent on the sweeps.
BUDGET = 2e10


def drawn_pairs(p: Problem, name: str, shape: tuple[int, ...]) -> Iterator[np.ndarray]:
    stream = rng(p.seed, name)
    for _ in range(PAIRS):
        yield stream.standard_normal((2, *shape))


class ReluIsResolvent(MonotoneStatement):
    """The equilibrium is the zero of F + G (Problem 1) with F(z) = (I - W) z - U x and G = df for
    the indicator f of z >= 0, which is convex, closed and proper: so G is maximal monotone (Lemma
    2.3.1), and its resolvent, the proximal operator of f, is the ReLU.

    0 in F(z) + G(z) means z >= 0, F(z) >= 0 and z F(z) = 0: the distance from it is |F(z)| where
    z > 0 and the negative part of F(z) where z = 0. Monotone: <z - z', g - g'> >= 0 for g in G(z),
    g' in G(z'); every such pair is z = relu(q), g = q - relu(q) for some q, and that there is one
    for every q makes G maximal (Minty). relu(q) is nearer to q than any other point of z >= 0.
    Lemma 2.3.1 is about all f; judged is the f of the model.
    """

    id = "hieu2022/lem2.3.1"
    title = "The equilibrium is a zero of the sum of two monotone operators"
    cite = cite("Problem 1 and Lemma 2.3.1", "Section 2.3.2")
    dynamics = (STATIC,)

    zero = Check("0 is in F(Z) + G(Z)", "distance <= noise", "Problem 1")
    monotone = Check("G is monotone, least of 50 drawn pairs", "product >= 0", "Lemma 2.3.1")
    nearest = Check("ReLU is the proximal operator of f", "distance < other", "Problem 1")

    def claims(self, p: Problem, state: State) -> Iterable[Claim]:
        g = state.F @ state.Z - state.C
        distance = errors.frobenius(np.where(state.Z > 0, g, np.minimum(g, 0.0)))
        size = errors.length(state.F) * errors.length(state.Z) + errors.length(state.C)
        noise = errors.rounding(state.n + len(state.X), size) + state.C_radius
        noise += state.W_radius * errors.length(state.Z)
        noise += float(state.lipschitz.high) * state.equilibrium.error
        yield self.zero(distance=distance, noise=noise)
        products, apart = [], []
        for first, second in drawn_pairs(p, f"{self.id}.pairs", (state.n,)):
            z, other = np.maximum(first, 0.0), np.maximum(second, 0.0)
            # Terms of one sign: the sum is as exact as its terms.
            product = float((z - other) @ ((first - z) - (second - other)))
            products.append(Measured(product, errors.rounding(state.n, product)))
            elsewhere = errors.frobenius(first - np.abs(second))
            apart.append((errors.frobenius(first - z), elsewhere))
        yield self.monotone(product=minimum(*products))
        nearest = min(apart, key=lambda pair: pair[1].value - pair[0].value)
        yield self.nearest(distance=nearest[0], other=nearest[1])


class LinearMonotone(MonotoneStatement):
    """F(x) = M x + h is monotone if and only if M + M^T >= 0, and strongly monotone with modulus m
    if and only if M + M^T >= 2 m I: <x - y, F(x) - F(y)> = <d, (M + M^T) d>/2 with d = x - y is
    smallest, relative to |d|^2, along the last eigenvector of M + M^T. As printed M + M^T >= m I
    is enough; m is read as the modulus, which is what the sentences around the lemma call it.

    Judged for M = I - W, whose largest such m is lambda_min(M + M^T), and the "only if" for a drawn
    M whose symmetric part has the eigenvalue -1.
    """

    id = "hieu2022/lem2.3.2"
    title = "Monotone linear operators"
    cite = cite("Lemma 2.3.2")
    dynamics = (STATIC,)
    soundness = "false"
    editions = (PRINTED, CORRECTED)
    erratum = (
        "A factor 2 is lost: M + M^T >= m I gives the modulus m/2. M = I has M + M^T = 2 I and "
        "the modulus 1, not 2. The next paragraph has it right: I - (W + W^T)/2 >= m I."
    )

    monotone = Check("monotone, least of 50 drawn pairs", "quotient >= 0", "Lemma 2.3.2")
    only_if = Check("not monotone without M + M^T >= 0", "quotient < 0", "Lemma 2.3.2")
    strongly_printed = Check("strongly monotone, printed", "quotient >= lowest", "Lemma 2.3.2")
    strongly = Check("strongly monotone, worst pair", "quotient == lowest/2", "Lemma 2.3.2")

    def claims(self, p: Problem, state: State) -> Iterable[Claim]:
        F, n = state.matrix("F"), state.n
        symmetric = F + F.T
        vectors = np.linalg.eigh(symmetric.array)[1]
        lowest = symmetric.eigenvalue(0)
        pairs = drawn_pairs(p, f"{self.id}.pairs", (n,))
        yield self.monotone(quotient=minimum(*(_quotient(F, x - y) for x, y in pairs)))
        drawn = rng(p.seed, f"{self.id}.M").standard_normal((n, n))
        down, ways = np.linalg.eigh((drawn + drawn.T) / 2)
        M = instance(drawn) - identity(n) * given(float(down[0]) + 1)
        yield self.only_if(quotient=_quotient(M, ways[:, 0]))
        worst = _quotient(F, vectors[:, 0])
        if self.printed:
            yield self.strongly_printed(quotient=worst, lowest=lowest)
        else:
            # The eigenvector is a vector of doubles only nearly: exactly, they differ.
            yield self.strongly(quotient=worst.forgetting(), lowest=lowest)


def _quotient(M: Matrix, d: np.ndarray) -> Measured:
    """<d, M d>/|d|^2."""
    way = instance(d)
    return way.inner(M @ way) / way.sum_of_squares()


class SplittingConverges(MonotoneStatement):
    """Forward-backward splitting converges linearly to the equilibrium for alpha < 2 m/Lip^2,
    Peaceman-Rachford splitting for every alpha > 0, where I - W has modulus m and the Lipschitz
    constant Lip.

    The text names no rates. A step of the first multiplies the distance from the equilibrium by at
    most |T_alpha| <= q = sqrt(1 - 2 alpha m + alpha^2 Lip^2) < 1 (Proposition 3). The second
    iterates p <- (2 (I + alpha F)^-1 - I)(2 relu - I) p, whose fixed point is
    Z + alpha (U X - F Z): with w = (I + alpha F)^-1 v, |2 w - v|^2/|v|^2 is at most
    q^2 = (1 + alpha^2 Lip^2 - 2 alpha m)/(1 + alpha^2 Lip^2 + 2 alpha m). Where q is reached, both
    sides are equal: claimed is the factor half way between q and 1.
    """

    id = "hieu2022/splitting"
    title = "Both splittings converge linearly to the equilibrium"
    cite = cite("Section 2.3.2", "(3.5), (3.6)")
    dynamics = (STATIC,)
    uses = ("hieu2022/lem2.3.1", "hieu2022/lem2.3.2", "hieu2022/prop3")

    forward = Check(
        "forward-backward splitting",
        "distance <= ((1 + sqrt(max(0, 1 - 2*alpha*m + alpha^2*Lip^2)))/2)^k*distance_0",
        "(3.6)",
        starts_equal=True,
    )
    reflected = Check(
        "Peaceman-Rachford splitting",
        "distance <= ((1 + sqrt(max(0, 1 + alpha^2*Lip^2 - 2*alpha*m)"
        "/(1 + alpha^2*Lip^2 + 2*alpha*m)))/2)^k*distance_0",
        "Section 2.3.2",
        starts_equal=True,
    )

    def unchecked(self, p: Problem) -> Iterable[str]:
        if not affordable(p.start):
            yield f"{SWEEPS} sweeps for each step: a smaller width, or fewer samples"

    def claims(self, p: Problem, state: State) -> Iterable[Curve]:
        if not affordable(state):
            return
        known = {"m": state.m, "Lip": state.lipschitz}
        for share in SHARES:
            alpha = share * float(state.forward_backward_limit.value)
            distance = stack(list(_forward(state, alpha)))
            note = f"alpha = {share} of 2 m/Lip^2"
            yield self._along(self.forward, note, distance, alpha=alpha, **known)
        for factor in REFLECTED:
            alpha = factor / float(state.lipschitz.value)
            distance = stack(list(_reflected(state, alpha)))
            note = f"alpha = {factor}/Lip"
            yield self._along(self.reflected, note, distance, alpha=alpha, **known)

    def _along(self, check: Check, note: str, distance: Measured, **values: object) -> Curve:
        k = np.arange(SWEEPS + 1)
        values |= {"distance": distance, "distance_0": distance[0]}
        return check.sampled(k, k.astype(float), note, **values)


def affordable(state: State) -> bool:
    sweeps = SWEEPS * (len(SHARES) + len(REFLECTED))
    return bool(2 * sweeps * state.n**2 * state.N <= BUDGET)


def _forward(state: State, alpha: float) -> Iterator[Measured]:
    """|Z_k - Z| of Z_k+1 = relu(T Z_k + alpha U X) from 0. As T contracts, the rounding of the
    steps adds up."""
    T = np.eye(state.n) - alpha * state.F
    Z, noise = np.zeros_like(state.Z), 0.0
    if not state.equilibrium.mask.any() and state.equilibrium.kink_margin.low > 0:
        # U X < 0: the iteration stays where it starts, at its limit.
        yield from [Measured(0.0)] * (SWEEPS + 1)
        return
    for _ in range(SWEEPS + 1):
        yield errors.frobenius(Z - state.Z, state.equilibrium.error + noise)
        size = (1 + alpha * errors.length(state.F)) * errors.length(Z)
        size += alpha * errors.length(state.C)
        noise += errors.rounding(state.n, size) + alpha * state.C_radius
        noise += alpha * state.W_radius * errors.length(Z)
        Z = np.maximum(T @ Z + alpha * state.C, 0.0)


def _reflected(state: State, alpha: float) -> Iterator[Measured]:
    """|p_k - p| of Peaceman-Rachford splitting from 0. |(I + alpha F)^-1| <= 1."""
    n, F = state.n, state.F
    lu = scipy.linalg.lu_factor(np.eye(n) + alpha * F)
    steep = 1 + alpha * errors.length(F)
    target = state.Z + alpha * (state.C - F @ state.Z)
    scale = steep * errors.length(state.Z) + alpha * errors.length(state.C)
    off = steep * state.equilibrium.error + errors.rounding(n, scale)
    off += alpha * (state.W_radius * errors.length(state.Z) + state.C_radius)
    point, noise = np.zeros_like(state.Z), 0.0
    for _ in range(SWEEPS + 1):
        yield errors.frobenius(point - target, off + noise)
        q = np.abs(point)
        solved = scipy.linalg.lu_solve(lu, q + alpha * state.C)
        size = errors.length(q) + alpha * errors.length(state.C)
        noise += 2 * errors.rounding(n, steep * size, 16.0) + 2 * alpha * state.C_radius
        noise += 2 * alpha * state.W_radius * size
        point = 2 * solved - q
