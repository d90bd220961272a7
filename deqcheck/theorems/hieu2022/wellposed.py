"""Propositions 1 and 3: monotone weights, and the splittings that find the equilibrium."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

import numpy as np
import scipy

from deqcheck.linalg import errors
from deqcheck.linalg.relu_equilibrium import relu
from deqcheck.models.monotone_deq.state import weight
from deqcheck.records.claim import Claim
from deqcheck.records.measured import EPS, Measured, maximum, measured
from deqcheck.seeds import rng
from deqcheck.theorems.base import CORRECTED, PRINTED, STATIC, Check
from deqcheck.theorems.hieu2022.common import MonotoneStatement, cite
from deqcheck.theorems.hieu2022.draws import same
from deqcheck.theorems.hieu2022.setting import Problem, State

PAIRS = 200
SWEEPS = 60
# Steps of forward-backward splitting that are tried, as shares of 2 m/Lip^2; 1/2 is the best one.
SHARES = (0.1, 0.5, 0.9)


class MonotoneWeights(MonotoneStatement):
    """sym(I - W) >= m I if and only if W = (1 - m) I - A^T A + B - B^T for some A, B."""

    id = "hieu2022/prop1"
    title = "The weights of the model are exactly the monotone ones"
    cite = cite("Proposition 1")
    dynamics = (STATIC,)
    erratum = "Lemma 2.3.2, used beside it, omits a factor: W + W^T >= m I means modulus m/2."

    modulus = Check("modulus of I - W", "modulus == m + sigma_min_A^2", "Proposition 1")
    converse = Check("A and B from any monotone W", "left == right", "Proposition 1, converse")

    def claims(self, p: Problem, state: State) -> Iterable[Claim]:
        F = state.F
        radius = state.W_radius + EPS * float(np.linalg.norm(F))
        lowest = errors.symmetric_eigenvalues((F + F.T) / 2, radius)[0]
        sigma = errors.singular_values(state.A)[-1]
        yield self.modulus(modulus=lowest, m=state.m, sigma_min_A=sigma)
        drawn = rng(p.seed, f"{self.id}.W").standard_normal((state.n, state.n))
        low = float(np.linalg.eigvalsh((drawn + drawn.T) / 2)[0])
        W = np.eye(state.n) - (drawn + (state.m - low) * np.eye(state.n))
        A, B = monotone_parts(state.m, W)
        # Eigenvalues that rounding makes negative are cut off: at most n eps |I - W|.
        size = float(np.linalg.norm(W)) + state.m + 1
        noise = 16 * EPS * state.n * size
        yield same(p, self.converse, (weight(state.m, A, B), noise), (W, noise))


def monotone_parts(m: float, W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A = (sym(I - W) - m I)^1/2 and B = W's skew half: the converse of Proposition 1."""
    F = np.eye(len(W)) - W
    values, vectors = np.linalg.eigh((F + F.T) / 2)
    return np.sqrt(np.maximum(values - m, 0.0))[:, None] * vectors.T, (W - W.T) / 4


class Splitting(MonotoneStatement):
    """Forward-backward splitting Z <- relu(Z - alpha ((I - W) Z - U X)) contracts by
    q = sqrt(1 - 2 alpha m + alpha^2 Lip^2) < 1 for 0 < alpha < 2 m/Lip^2, Lip = |I - W|; the best
    is alpha = m/Lip^2. Peaceman-Rachford splitting contracts for every alpha > 0, at 1/Lip by
    sqrt((Lip - m)/(Lip + m)). As printed, forward-backward converges at alpha = 2 m/Lip^2 as well.
    """

    id = "hieu2022/prop3"
    title = "Splittings converge linearly to the equilibrium"
    cite = cite("Proposition 3", "(3.1), (4.2)")
    dynamics = (STATIC,)
    soundness = "false"
    editions = (PRINTED, CORRECTED)
    erratum = (
        "The text also prints the closed interval: n = 1, m = 0.5, A = B = 0, U x = 1, alpha = 4 "
        "gives 4, 0, 4, 0, ... around the fixed point 2. The plain iteration (3.1) need not "
        "converge at all: n = 1, m = 3, U x = 1 gives 1, 0, 1, 0, ..."
    )

    forward = Check(
        "forward-backward operator",
        "norm <= sqrt(max(0, 1 - 2*alpha*m + alpha^2*Lip^2))",
        "Proposition 3",
    )
    iterates = Check(
        "forward-backward error, worst sweep",
        "error_next <= sqrt(max(0, 1 - 2*alpha*m + alpha^2*Lip^2))*error",
        "Proposition 3",
    )
    reflected = Check(
        "Peaceman-Rachford operator, worst of 200 drawn pairs",
        "ratio <= sqrt((1 + alpha^2*Lip^2 - 2*alpha*m)/(1 + alpha^2*Lip^2 + 2*alpha*m))",
        "not proved in the thesis",
    )
    closed = Check(
        "forward-backward comes to rest at the closed end", "swing <= 0", "Proposition 3"
    )

    def claims(self, p: Problem, state: State) -> Iterable[Claim]:
        if self.printed:
            yield self.closed(swing=swing(state))
            return
        m, lip = state.m, state.lipschitz
        for share in SHARES:
            alpha = share * state.forward_backward_limit.value
            note = f"alpha = {share} of 2 m/Lip^2"
            norm = _forward_norm(state, alpha)
            yield self.forward(note, norm=norm, alpha=alpha, m=m, Lip=lip)
            error, after = _worst_sweep(state, alpha)
            yield self.iterates(note, error_next=after, error=error, alpha=alpha, m=m, Lip=lip)
        alpha = 1 / lip.value
        yield self.reflected(ratio=_reflected(p, state, alpha), alpha=alpha, m=m, Lip=lip)


def _forward_norm(state: State, alpha: float) -> Measured:
    radius = alpha * state.W_radius + 4 * EPS * (1 + alpha * np.linalg.norm(state.F))
    return errors.norm2(np.eye(state.n) - alpha * state.F, float(radius))


def _sweeps(state: State, alpha: float) -> Iterable[np.ndarray]:
    Z = np.zeros_like(state.C)
    step = (1 - alpha) * np.eye(state.n) + alpha * state.W
    for _ in range(SWEEPS):
        yield Z
        Z = relu(step @ Z + alpha * state.C)


def _worst_sweep(state: State, alpha: float) -> tuple[Measured, Measured]:
    """Error before and after the sweep that contracts least, as far as the errors have digits."""
    noise = state.equilibrium.error * 4
    distances = [float(np.linalg.norm(Z - state.Z)) for Z in _sweeps(state, alpha)]
    pairs = [(a, b) for a, b in pairwise(distances) if a > 1e4 * noise]
    if not pairs:
        return measured(np.nan), measured(np.nan)
    before, after = max(pairs, key=lambda pair: pair[1] / pair[0])
    return Measured(before, noise), Measured(after, noise)


def _reflected(p: Problem, state: State, alpha: float) -> Measured:
    """The largest ratio |T p - T p'|/|p - p'| of the Peaceman-Rachford operator T."""
    lu = scipy.linalg.lu_factor(np.eye(state.n) + alpha * state.F)
    stream = rng(p.seed, "hieu2022/prop3.pairs")

    def T(point: np.ndarray) -> np.ndarray:
        q = 2 * relu(point) - point
        out: np.ndarray = 2 * scipy.linalg.lu_solve(lu, q + alpha * state.C[:, 0]) - q
        return out

    worst = measured(0.0)
    scale = max(1.0, float(np.linalg.norm(state.C)))
    for _ in range(PAIRS):
        first, second = scale * stream.standard_normal((2, state.n))
        apart = float(np.linalg.norm(first - second))
        reach = apart + scale * (1 + float(np.linalg.norm(first)) + float(np.linalg.norm(second)))
        noise = 16 * EPS * state.n * reach
        ratio = Measured(float(np.linalg.norm(T(first) - T(second))), noise) / apart
        worst = maximum(worst, ratio)
    return worst


def swing(state: State) -> Measured:
    """How far the iterates at alpha = 2 m/Lip^2 swing for ever: 0 where the sweep certainly
    contracts, known where the iterates repeat exactly, and undecided otherwise."""
    alpha = state.forward_backward_limit.value
    if _forward_norm(state, alpha).high < 1:
        return measured(0.0)
    *_, before, last, new = _sweeps(state, alpha)
    moved = float(np.linalg.norm(new - last))
    return measured(moved if moved > 0 and np.array_equal(before, new) else np.nan)
