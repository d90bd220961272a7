"""Propositions 1 and 3: monotone weights, and the splittings that find the equilibrium."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from deqcheck.linalg.entries import euclidean
from deqcheck.linalg.late import scipy
from deqcheck.linalg.matrix import Matrix, identity
from deqcheck.linalg.relu_equilibrium import relu
from deqcheck.models.monotone_deq.state import weight
from deqcheck.records.claim import Claim
from deqcheck.records.measured import EPS, Measured, chosen, given, maximum, measured
from deqcheck.records.trajectory import Trajectory
from deqcheck.seeds import rng
from deqcheck.theorems.base import CORRECTED, PRINTED, STATIC, Check
from deqcheck.theorems.hieu2022.common import MonotoneStatement, cite
from deqcheck.theorems.hieu2022.draws import same
from deqcheck.theorems.hieu2022.setting import Problem, State

PAIRS = 200
# Steps of forward-backward splitting that are tried, as shares of 2 m/Lip^2; 1/2 is best.
SHARES = (0.1, 0.5, 0.9)


class MonotoneWeights(MonotoneStatement):
    """sym(I - W) >= m I if and only if W = (1 - m) I - A^T A + B - B^T for some A, B."""

    id = "hieu2022/prop1"
    title = "The weights of the model are exactly the monotone ones"
    cite = cite("Proposition 1")
    uses = ("hieu2022/lem2.3.2",)
    dynamics = (STATIC,)
    erratum = (
        "Printed as I - W >= m I, the condition means the symmetric part of I - W. Lemma 2.3.2, "
        "used beside it, omits a factor 2."
    )

    modulus = Check("modulus of I - W", "modulus == m + sigma_min_A^2", "Proposition 1")
    converse = Check("A and B from any monotone W", "left == right", "Proposition 1, converse")

    def claims(self, p: Problem, state: State) -> Iterable[Claim]:
        F = state.matrix("F")
        lowest = ((F + F.T) / 2).eigenvalue(0)
        sigma = state.matrix("A").nth_singular_value(state.n)
        yield self.modulus(modulus=lowest, m=given(state.m), sigma_min_A=sigma)
        drawn = rng(p.seed, f"{self.id}.W").standard_normal((state.n, state.n))
        low = float(np.linalg.eigvalsh((drawn + drawn.T) / 2)[0])
        # On the boundary; for a single unit inside, since there the boundary is W = 1 - m alone.
        modulus = state.m + (1.0 if state.n == 1 else 0.0)
        W = np.eye(state.n) - (drawn + (modulus - low) * np.eye(state.n))
        A, B = monotone_parts(state.m, W)
        # Eigenvalues that rounding makes negative are cut off: at most n eps |I - W|.
        size = euclidean(W) + state.m + 1
        noise = 16 * EPS * state.n * size
        yield same(p, self.converse, Matrix(weight(state.m, A, B), noise), Matrix(W, noise))


def monotone_parts(m: float, W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A = (sym(I - W) - m I)^1/2 and B = W's skew half: the converse of Proposition 1."""
    F = np.eye(len(W)) - W
    values, vectors = np.linalg.eigh((F + F.T) / 2)
    return np.sqrt(np.maximum(values - m, 0.0))[:, None] * vectors.T, (W - W.T) / 4


class Splitting(MonotoneStatement):
    """The operator T_alpha = I - alpha (I - W) of forward-backward splitting,
    Z <- relu(T_alpha Z + alpha U X), has |T_alpha| <= sqrt(1 - 2 alpha m + alpha^2 Lip^2) with
    Lip = |I - W| for every alpha > 0 (Proposition 3), so that it contracts, |T_alpha| < 1, for
    0 < alpha < 2 m/Lip^2. The sentence before the proposition prints the interval closed: T_alpha
    contracts at alpha = 2 m/Lip^2 as well. Contraction is read as |T_alpha| < 1, as the text has it
    after the proposition; with |T_alpha| <= 1 the closed interval would be right, and the
    iteration need not converge.
    """

    id = "hieu2022/prop3"
    title = "Forward-backward splitting contracts"
    cite = cite("Proposition 3", "(3.5)")
    uses = ("hieu2022/prop1",)
    dynamics = (STATIC,)
    soundness = "false"
    editions = (PRINTED, CORRECTED)
    erratum = (
        "The interval is open at 2 m/Lip^2: for A = 0, where I - W is normal, |T_alpha| = 1 there, "
        "and n = 1, m = 0.5, A = B = 0, U x = 1, alpha = 4 gives 4, 0, 4, 0, ... around the fixed "
        "point 2. The plain iteration (3.1) need not converge at all: n = 1, m = 3, U x = 1 gives "
        "1, 0, 1, 0, ..."
    )

    forward = Check(
        "forward-backward operator",
        "norm <= sqrt(max(0, 1 - 2*alpha*m + alpha^2*Lip^2))",
        "Proposition 3",
    )
    contracts = Check("it contracts", "norm < 1", "Proposition 3")
    closed = Check("it contracts at the closed end", "norm < 1", "Section 3.2.2")
    reflected = Check(
        "Peaceman-Rachford operator, worst of 200 drawn pairs",
        "ratio <= sqrt((1 + alpha^2*Lip^2 - 2*alpha*m)/(1 + alpha^2*Lip^2 + 2*alpha*m))",
        "not in the thesis",
    )

    def claims(self, p: Problem, state: State) -> Iterable[Claim]:
        limit = state.forward_backward_limit
        for share in SHARES:
            alpha, note = share * limit.value, f"alpha = {share} of 2 m/Lip^2"
            norm = forward_norm(state, chosen(alpha))
            known = {"alpha": chosen(alpha), "m": given(state.m), "Lip": state.lipschitz}
            claim = self.forward(note, norm=norm, **known)
            # I - W = m I - S with S skew: |T v|^2 = (1 - 2 alpha m) |v|^2 + alpha^2 |(I - W) v|^2.
            yield claim if state.A.any() else claim.known_equal("A = 0", size=1.0)
            yield self.contracts(note, norm=norm)
        if self.printed:
            yield self.closed("alpha = 2 m/Lip^2", norm=_closed_norm(state))

    def remarks(self, p: Problem, run: Trajectory | None) -> Iterable[Claim]:
        """The thesis says that Peaceman-Rachford splitting converges for every alpha, and not how
        fast."""
        s = p.start
        alpha = 1 / s.lipschitz.value
        known = {"alpha": chosen(alpha), "m": given(s.m), "Lip": s.lipschitz}
        yield self.reflected(ratio=_reflected(p, s, alpha), **known)


def forward_norm(state: State, alpha: Measured) -> Measured:
    """|I - alpha F|."""
    return (identity(state.n) - state.matrix("F") * alpha).norm2()


def _closed_norm(state: State) -> Measured:
    """At alpha = 2 m/Lip^2. For A = 0 it is 1: I - W = m I - S with S skew, so that
    |T v|^2 = (1 - 2 alpha m) |v|^2 + alpha^2 |(I - W) v|^2 for every v."""
    if not state.A.any():
        return given(1)
    return forward_norm(state, state.forward_backward_limit)


def _reflected(p: Problem, state: State, alpha: float) -> Measured:
    """The largest ratio |T p - T p'|/|p - p'| of the Peaceman-Rachford operator T, up to what it
    adds to every p alike."""
    lu = scipy.linalg.lu_factor(np.eye(state.n) + alpha * state.F)
    stream = rng(p.seed, "hieu2022/prop3.pairs")

    def T(point: np.ndarray) -> np.ndarray:
        q = 2 * relu(point) - point
        out: np.ndarray = 2 * scipy.linalg.lu_solve(lu, q) - q
        return out

    worst = measured(0.0)
    scale = max(1.0, euclidean(state.C))
    for _ in range(PAIRS):
        first, second = scale * stream.standard_normal((2, state.n))
        apart = euclidean(first - second)
        reach = apart + scale * (1 + euclidean(first) + euclidean(second))
        noise = 16 * EPS * state.n * reach
        ratio = Measured(float(np.linalg.norm(T(first) - T(second))), noise) / apart
        worst = maximum(worst, ratio)
    return worst
