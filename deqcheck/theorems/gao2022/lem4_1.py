"""Lemma 4.1: how the predictions move, and the two inequalities that follow it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from deqcheck.linalg import errors, exact
from deqcheck.linalg.entries import euclidean
from deqcheck.linalg.matrix import Matrix, instance
from deqcheck.models.implicit_relu import oracle
from deqcheck.records.claim import Claim
from deqcheck.records.measured import EPS, Measured, given, nonnegative
from deqcheck.records.tower import Again
from deqcheck.seeds import rng
from deqcheck.theorems.base import CORRECTED, PRINTED, Check
from deqcheck.theorems.drawn import looked_at
from deqcheck.theorems.gao2022.bounds import cite, worst
from deqcheck.theorems.gao2022.setting import Problem, State
from deqcheck.theorems.gao2022.static import OffKinks, Pointwise, equality, scales_by

PROJECTIONS = 5


def moving(check: Check, seed: int, state: State) -> Iterable[Claim]:
    """(10) between random vectors u that lean towards H r: -u^T H r against u^T d yhat/dt, which is
    the tangent of the predictions along -grad L."""
    H, radius = state.H_with_radius
    stream = rng(seed, "gao2022/lem4.1.projections")
    Hr, H_size = H @ state.r, euclidean(H)
    size, r_size = euclidean(Hr), euclidean(state.r)
    moved, away = motion(state)
    error = radius * (r_size + state.r_radius) + H_size * state.r_radius
    error += 8 * EPS * state.N * H_size * r_size
    minus_Hr = _negative(exact.product(state.computed.H(state.again), state.again.r))
    dyhat = _exact_motion(state)
    for _ in range(PROJECTIONS):
        noise = stream.standard_normal(state.N)
        u = (Hr / size if size else 0.0) + noise / np.linalg.norm(noise) / 2
        length = float(np.linalg.norm(u))
        total = 8 * EPS * state.N * length * euclidean(moved)
        node = exact.array(np.asarray(u))
        yield check(
            minus_uHr=Measured(-float(u @ Hr), length * error, again=exact.inner(node, minus_Hr)),
            u_dyhat=Measured(
                float(u @ moved), length * away + total, "tangent", exact.inner(node, dyhat)
            ),
        )


def motion(state: State) -> tuple[np.ndarray, float]:
    """d yhat/dt along the gradient flow by the tangent of the predictions, and its radius. The
    direction has its own: |J| <= sqrt |H|."""
    moved, away = state.tangent({name: -g for name, g in state.gradient.items()})
    H, radius = state.H_with_radius
    return moved, away + float(np.sqrt(np.linalg.norm(H) + radius)) * state.gradient_radius


def _negative(a: Again) -> Again:
    return exact.scaled(exact.MINUS_ONE, a)


def _exact_motion(state: State) -> Again:
    d = {name: _negative(g) for name, g in state.exact_gradient().items()}
    return state.computed.tangent(state.again, d)


def along_r(state: State) -> Measured:
    """(yhat - y)^T d yhat/dt along the gradient flow."""
    moved, away = motion(state)
    size, length = euclidean(state.r), euclidean(moved)
    error = size * away + state.r_radius * (length + away) + 8 * EPS * state.N * size * length
    node = exact.inner(state.again.r, _exact_motion(state))
    return Measured(float(state.r @ moved), error, "tangent", node)


def kinks(state: State) -> Measured:
    """How many keep the predictions of some sample from being differentiable."""
    every = np.ones(state.N, dtype=bool)
    return state.kinks_in_the_way(every, every)


def differentiable(state: State) -> bool:
    return bool(kinks(state).high == 0)


class Lemma41(OffKinks):
    """Along the gradient flow d yhat/dt = -H r with H = Z Z^T + M M^T + Pi Pi^T, which is positive
    semi-definite; so dL/dt <= -lambda_min(H) L, which is the remark after the lemma. Judged at the
    start, where |A| <= M and gamma M < 1 for M = |A|: d yhat/dt is the tangent of the predictions
    along -grad L, from the linearised equation.

    Remarks: dL/dt = -|grad L|^2 = -r^T H r <= -2 lambda_min(H) L, twice the rate that the paper
    reads off.
    """

    id = "gao2022/lem4.1"
    title = "The predictions follow the Gram matrix H"
    cite = cite("Lemma 4.1", "(10)-(13)")
    uses = ("gao2022/gradient",)

    contracts = Check("well-posed", "gamma*norm_A < 1", "Lemma 4.1")
    moves = Check(
        f"d yhat/dt = -H r, projected (worst of {PROJECTIONS})", "minus_uHr == u_dyhat", "(10)"
    )
    dense = Check("H by Hadamard products is that of (11)", "distance_H <= noise", "(11)-(13)")
    semidefinite = Check("H is positive semi-definite", "lambda_min_H >= 0", "Lemma 4.1")
    remark = Check("the loss falls at this rate", "gradient^2 >= lambda_min_H*loss", "Lemma 4.1")
    speed = Check("the loss falls with r^T H r", "gradient^2 == rHr", "A.4")
    twice = Check("twice as fast", "gradient^2 >= 2*lambda_min_H*loss", "sharper")
    twice_equal = equality(twice)

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        yield self.contracts(gamma=given(p.model.gamma), norm_A=p.start.norm_A)
        yield self.smooth(kinks=kinks(p.start))

    def claims(self, p: Problem, state: State) -> Iterable[Claim]:
        H, radius = state.H_with_radius
        if not kinks(p.start).low > 0:
            yield from worst(looked_at(moving(self.moves, p.seed, state)))
        if oracle.affordable(state):
            distance = errors.length(oracle.dense(state).H - H)
            condition = ((1 + state.gamma0.high) / (1 - state.gamma0.high)) ** 2
            yield self.dense(distance_H=distance, noise=radius * (1 + condition))
        yield self.semidefinite(lambda_min_H=state.lambda_min_H)
        yield self.remark(
            gradient=state.measure("gradient"), lambda_min_H=state.lambda_min_H, loss=state.loss
        )

    def remarks(self, p: Problem, run: Any) -> Iterable[Claim]:
        state = p.start
        H, radius = state.H_with_radius
        gradient, size = state.measure("gradient"), euclidean(state.r)
        H_size = euclidean(H)
        error = H_size * state.r_radius * (2 * size + state.r_radius)
        error += (size + state.r_radius) ** 2 * (radius + 8 * EPS * state.N * H_size)
        again = state.again.r
        node = exact.inner(again, exact.product(state.computed.H(state.again), again))
        rHr = Measured(float(state.r @ H @ state.r), error, again=node)
        yield self.speed(gradient=gradient, rHr=rHr)
        # One sample: H is a number.
        twice = self.twice_equal if state.N == 1 else self.twice
        yield twice(gradient=gradient, lambda_min_H=state.lambda_min_H, loss=state.loss)


class SigmaMin(Pointwise):
    """Lower bounds on the N-th singular values of M and Pi of Lemma 4.1, at the start, with
    gamma0 = gamma |A|.

    Printed: with the factor 1/(1 - gamma0), as if sigma_min(Q^-1) were its largest singular value.
    Corrected: with 1/(1 + gamma0). D_min is 1 if every unit is active on every sample and 0
    otherwise, DE_min likewise for both layers.

    Remarks, the sharper Schur form, which does not need every unit to be active:
    M M^T = gamma^2 (Z Z^T) o (P P^T) and Pi Pi^T = (X X^T) o ((E o P)(E o P)^T), where row i of P
    is p_i = (I - gamma D_i A)^-1 D_i b; equalities where all samples have the same pattern.
    """

    id = "gao2022/sigma-min"
    title = "Smallest singular values of M and Pi"
    cite = cite("Section 4.1", "after Lemma 4.1")
    uses = ("gao2022/lem3.2", "gao2022/lem4.1")
    soundness = "false"
    editions = (PRINTED, CORRECTED)
    erratum = (
        "sigma_min(Q^-1) = 1/|Q| is at least 1/(1 + gamma0), not 1/(1 - gamma0): N = d = m = 1, "
        "X = W = b = 1, A = -1, gamma = 1/2 gives M = 2/9 against 2/3 and Pi = 2/3 against 2."
    )

    contracts = Check("well-posed", "gamma*norm_A < 1", "Lemma 4.1")
    printed_m = Check(
        "sigma_N(M) as printed", "sigma_M >= gamma*norm_b/(1-gamma0)*D_min*sigma_Z", "Section 4.1"
    )
    printed_pi = Check(
        "sigma_N(Pi) as printed", "sigma_Pi >= norm_b/(1-gamma0)*DE_min*sigma_X", "Section 4.1"
    )
    plain_m = Check(
        "sigma_N(M)", "sigma_M >= gamma*norm_b/(1+gamma0)*D_min*sigma_Z", "Section 4.1, corrected"
    )
    plain_pi = Check(
        "sigma_N(Pi)", "sigma_Pi >= norm_b/(1+gamma0)*DE_min*sigma_X", "Section 4.1, corrected"
    )
    printed_m_equal = equality(printed_m)
    printed_pi_equal = equality(printed_pi)
    plain_m_equal = equality(plain_m)
    plain_pi_equal = equality(plain_pi)
    schur_m = Check("sigma_N(M), Schur", "sigma_M >= gamma*p_min*sigma_Z", "Schur product")
    schur_p = Check("the shortest p_i", "p_min >= Db_min/(1+gamma0)", "p = D b + gamma D A p")
    schur_pi = Check("sigma_N(Pi), Schur", "sigma_Pi >= Ep_min*sigma_X", "Schur product")
    schur_m_equal = equality(schur_m)
    schur_pi_equal = equality(schur_pi)

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        yield self.contracts(gamma=given(p.model.gamma), norm_A=p.start.norm_A)

    def unchecked(self, p: Problem) -> Iterable[str]:
        if not oracle.affordable(p.start):
            yield (
                f"M has N m^2 = {p.start.N * p.start.m**2} entries; its singular values are "
                f"computed up to N m = {oracle.LARGEST}: a smaller instance would do"
            )

    def claims(self, p: Problem, state: State) -> Iterable[Claim]:
        if not oracle.affordable(state):
            return
        known = self._known(state)
        # Where every unit is active M = gamma Z times |p|, p = (I - gamma A)^-1 b, and Pi likewise.
        at = -1.0 if not self.printed else 1.0
        b_scales = scales_by(state, at * float(state.norm_A.value), state.b[:, None])
        m, pi = (self.printed_m, self.printed_pi) if self.printed else (self.plain_m, self.plain_pi)
        if b_scales and known["D_min"].low == 1:
            m = self.printed_m_equal if self.printed else self.plain_m_equal
        if b_scales and known["DE_min"].low == 1:
            pi = self.printed_pi_equal if self.printed else self.plain_pi_equal
        yield m(**known)
        yield pi(**known)

    def remarks(self, p: Problem, run: Any) -> Iterable[Claim]:
        state = p.start
        if self.printed or not oracle.affordable(state):
            return
        known = self._known(state)
        known |= {
            "p_min": _shortest(state.P, state.V_radius, state.again.V),
            "Ep_min": _shortest(
                state.on * state.P, state.EP_radius, state.computed.EP(state.again)
            ),
            "Db_min": _shortest(state.equilibrium.mask.T * state.b, 0.0, _active_b(state)),
        }
        # Where all samples have one pattern, all p_i are the same.
        mask, on = state.equilibrium.mask.T, state.on
        same_m = bool((mask == mask[0]).all())
        same_pi = same_m and bool(((on & mask) == (on & mask)[0]).all())
        yield (self.schur_m_equal if same_m else self.schur_m)(**known)
        yield self.schur_p(**known)
        yield (self.schur_pi_equal if same_pi else self.schur_pi)(**known)

    def _known(self, state: State) -> dict[str, Any]:
        U = state.equilibrium
        both = U.mask.T & state.on
        open_ = U.doubtful.T, U.doubtful.T | state.on_doubtful
        return {
            **self._sigmas(state),
            "gamma": given(state.gamma),
            "gamma0": state.gamma0,
            "norm_b": state.measure("norm2.b"),
            "D_min": _all(U.mask.T, open_[0], _active(state, False)),
            "DE_min": _all(both, open_[1], _active(state, True)),
            "sigma_Z": state.sigma_min_Z,
            "sigma_X": instance(state.X).nth_singular_value(state.N),
        }

    def _sigmas(self, state: State) -> dict[str, Measured]:
        """M and Pi are exact linear images of P, Z and X, in the order of Khatri-Rao products."""
        again, N = state.again, state.N
        P = Matrix(state.V, state.V_radius, again.V)
        Z = Matrix(state.Z, state.equilibrium.error, again.Z)
        EP = Matrix((state.on * state.P).T, state.EP_radius, state.computed.EP(again))
        M, Pi = Z.khatri_rao(P) * given(state.gamma), instance(state.X.T).khatri_rao(EP)
        return {
            "sigma_M": nonnegative(M.nth_singular_value(N)),
            "sigma_Pi": nonnegative(Pi.nth_singular_value(N)),
        }


def _all(flags: np.ndarray, doubtful: np.ndarray, least: Again) -> Measured:
    """1 if all are true and 0 if not, where that is known."""
    if not (flags | doubtful).all():
        return given(0, least)
    return Measured(0.5, 0.5) if doubtful.any() else given(1, least)


def _active(state: State, both: bool) -> Again:
    """The least of the diagonals of D, or of D E."""
    ones = exact.array(np.ones(state.Z.shape))
    return Again(exact.smallest, state.computed.active(state.again, ones, both))


def _shortest(a: np.ndarray, radius: float, again: Again) -> Measured:
    """Row."""
    shortest = float(np.linalg.norm(a, axis=1).min())
    error = radius + errors.product(a.shape[1], shortest)
    return Measured(shortest, error, again=exact.shortest_column(again))


def _active_b(state: State) -> Again:
    b = exact.array(np.repeat(state.b[:, None], state.N, axis=1))
    return exact.where_positive(state.again.relu.H, b)
