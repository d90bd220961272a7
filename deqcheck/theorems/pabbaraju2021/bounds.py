"""Theorems 1 and 2, Proposition 2 and the step of Section 2: all rest on the modulus m of I - W."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from deqcheck.linalg import errors
from deqcheck.linalg.matrix import Matrix, instance
from deqcheck.models.equilibrium import lipschitz
from deqcheck.models.equilibrium.splitting import forward_norm, forward_path, forward_sizes
from deqcheck.models.equilibrium.weights import forward_limit, forward_step
from deqcheck.records.claim import Claim, Curve
from deqcheck.records.measured import Measured, given
from deqcheck.theorems.base import CORRECTED, PRINTED, Check, Cite
from deqcheck.theorems.revay2020.weighted import moved
from deqcheck.theorems.trained import Problem, State, Trained

PAPER = "Pabbaraju, Winston and Kolter 2021"
SHARES = (0.25, 0.5, 0.9)
STEPS = 20


class Step(Trained):
    """Forward-backward splitting z <- s(z - a ((I - W) z - c)) converges to the equilibrium for
    0 < a < 2 m/L^2 where s is relu. As printed the interval is closed at 2 m/L^2, and s may be any
    activation that is a proximal operator of some f."""

    id = "pabbaraju2021/fb"
    title = "The steps for which forward-backward splitting converges"
    cite = Cite(PAPER, "Section 2")
    uses = ("winston2020/fb",)
    soundness = "false"
    editions = (PRINTED, CORRECTED)
    erratum = (
        "The interval is open at 2 m/L^2: W = 0, a = 2, c = 1 gives 2, 0, 2, 0 around z* = 1, and "
        "W = [[0, -3], [3, 0]] at a = 1/5 circles z*. For s other than relu the step needs the "
        "proximal operator of a f, not s: W = -2, c = 1, tanh and a = 1/2 converge to 0.3252, "
        "z* = 0.3291."
    )

    relu = Check("the activation is relu", "relu == 1", "s = prox of a f for every a")
    modulus = Check("modulus of I - W", "m > 0", "strong monotonicity")
    contracts = Check("it contracts", "norm < 1", "0 < a < 2 m/L^2")
    closed = Check("it contracts at the closed end", "norm < 1", "a = 2 m/L^2")
    path = Check(
        "distance from the equilibrium, by the factor half way to 1",
        "distance <= ((1 + norm)/2)^k*distance_0",
        "convergence",
        starts_equal=True,
    )

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        if not self.printed:
            yield self.relu(relu=given(int(p.start.s.is_relu)))
        yield self.modulus(m=p.start.weights.modulus)

    def claims(self, p: Problem, state: State) -> Iterable[Claim | Curve]:
        w = state.weights
        limit = forward_limit(w.modulus, w.lipschitz)
        if not limit.low > 0 or not (self.printed or state.s.is_relu):
            return
        for share in SHARES:
            a, note = forward_step(share, limit), f"a = {share} of 2 m/L^2"
            norm = forward_norm(w.F, a)
            yield self.contracts(note, norm=norm)
            if state.N:
                k, far = forward_path(state, a, STEPS)
                sides = {"distance": far, "distance_0": far[0], "norm": norm}
                yield self.path.sampled(k, k.astype(float), note, **sides)
        if self.printed:
            # Where F^T F = L^2 I, |I - a F|^2 = 1 - 2 a m + a^2 L^2 = 1 at a = 2 m/L^2.
            yield self.closed(norm=given(1) if w.isometric else forward_norm(w.F, limit))


class Equilibria(Trained):
    """The equilibrium of a network with m > 0 moves by at most |U|_2/m |dx|."""

    id = "pabbaraju2021/thm1"
    title = "A Lipschitz constant of the equilibrium"
    cite = Cite(PAPER, "Theorem 1")
    uses = ("winston2020/unique",)

    modulus = Check("modulus of I - W", "m > 0", "strong monotonicity")
    state_moves = Check("equilibrium along the steepest input", "moved <= norm2_U/m*step", "|U|/m")
    patterns = Check("no pattern has a larger gain", "gain <= norm2_U/m", "(I - D W)^-1 D U")

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        yield self.modulus(m=p.start.weights.modulus)

    def claims(self, p: Problem, state: State) -> Iterable[Claim]:
        m, U = state.weights.modulus, instance(state.U).norm2()
        if not m.low > 0:
            return
        plain = state.reading(np.eye(state.n))
        if state.N:
            yield self.state_moves(**moved(plain), norm2_U=U, m=m)
        gain = lipschitz.over_patterns(plain)
        if gain is not None:
            claim = self.patterns(gain=gain, norm2_U=U, m=m)
            # One unit: the gain of the pattern that is on is |U|/(1 - W) = |U|/m.
            yield claim.known_equal("one unit") if state.n == 1 else claim


class Iterates(Trained):
    """The iterates f_k of forward-backward splitting from f_0 = 0 have |f_k| <= a |c|/(1 - |I - a
    F|) with c = U x + b; in the limit |z*| <= |relu(c)|/m."""

    id = "pabbaraju2021/prop2"
    title = "The iterates of forward-backward splitting are bounded"
    cite = Cite(PAPER, "Proposition 2")
    uses = ("pabbaraju2021/fb",)

    relu = Check("the activation is relu", "relu == 1", "setting")
    modulus = Check("modulus of I - W", "m > 0", "strong monotonicity")
    sizes = Check("size of the iterates", "size <= a*norm_c/(1 - norm)", "a |c|/(1 - |I - a F|)")
    limit = Check("size of the equilibrium", "size <= norm_c/m", "|relu(c)|/m")

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        yield self.relu(relu=given(int(p.start.s.is_relu)))
        yield self.modulus(m=p.start.weights.modulus)

    def claims(self, p: Problem, state: State) -> Iterable[Claim | Curve]:
        w = state.weights
        limit = forward_limit(w.modulus, w.lipschitz)
        if not (limit.low > 0 and state.s.is_relu and state.N):
            return
        off, C = errors.length(state.inputs_error), state.inputs
        for share in SHARES:
            a = forward_step(share, limit)
            k, sizes = forward_sizes(state, a, STEPS)
            known = {"norm_c": errors.frobenius(C, off), "norm": forward_norm(w.F, a)}
            note = f"a = {share} of 2 m/L^2"
            yield self.sizes.sampled(k, k.astype(float), note, size=sizes, a=a, **known)
        size = errors.frobenius(state.Z, state.equilibrium.error)
        positive = errors.frobenius(np.maximum(C, 0.0), off)
        claim = self.limit(size=size, norm_c=positive, m=w.modulus)
        yield claim.known_equal("one unit") if state.n == 1 else claim


class Perturbed(Trained):
    """With W + dW, U + dU, b + db in place of W, U, b, both with a positive modulus, the
    equilibrium moves by at most |dW| |U x + b|/(m m') + (|dU x| + |db|)/m', where s(0) = 0.
    Sharper, and for every s: |dW z + dU x + db|/m', at the equilibrium z of the first."""

    id = "pabbaraju2021/thm2"
    title = "How far a change of the weights moves the equilibrium"
    cite = Cite(PAPER, "Theorem 2")
    uses = ("winston2020/unique",)

    at_zero = Check("s(0) = 0", "at_zero == 0", "setting")
    modulus = Check("modulus of I - W", "m > 0", "strong monotonicity")
    other = Check("modulus of I - W - dW", "m_bar > 0", "strong monotonicity")
    moves = Check(
        "distance of the equilibria",
        "moved <= norm2_dW*norm_c/(m*m_bar) + (norm_dUx + norm_db)/m_bar",
        "Theorem 2",
    )
    sharper = Check("by the change at z itself", "moved <= change/m_bar", "not in the paper")

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        state = p.start
        at_zero = given(float(state.s.value(np.zeros(1))[0]))
        yield self.at_zero(at_zero=at_zero)
        yield self.modulus(m=state.weights.modulus)
        yield self.other(m_bar=state.perturbed.weights.modulus)

    def claims(self, p: Problem, state: State) -> Iterable[Claim]:
        if not state.N:
            return
        there, X = state.perturbed, instance(p.model.X)
        dW, dU, db = changes(state)
        c = Matrix(state.inputs, errors.length(state.inputs_error))
        ones = instance(np.ones((1, state.N)))
        yield self.moves(
            moved=between(state, there),
            norm2_dW=dW.norm2(),
            norm_c=c.frobenius(),
            norm_dUx=(dU @ X).frobenius(),
            norm_db=(db @ ones).frobenius(),
            m=state.weights.modulus,
            m_bar=there.weights.modulus,
        )

    def remarks(self, p: Problem, run: object) -> Iterable[Claim]:
        state, there = p.start, p.start.perturbed
        if state.N:
            change = change_at(state, state)
            far = between(state, there)
            yield self.sharper(moved=far, change=change, m_bar=there.weights.modulus)


def changes(state: State) -> tuple[Matrix, Matrix, Matrix]:
    """What the perturbed network has more, as it is after rounding."""
    there = state.perturbed
    pairs = ((there.W, state.W), (there.U, state.U), (there.model.b, state.model.b))
    dW, dU, db = (instance(new) - instance(old) for new, old in pairs)
    return dW, dU, db


def change_at(state: State, of: State) -> Measured:
    """|dW Z + dU X + db| at the equilibria Z of one of the two."""
    dW, dU, db = changes(state)
    Z = Matrix(of.Z, of.equilibrium.error)
    ones = instance(np.ones((1, state.N)))
    return (dW @ Z + dU @ instance(state.model.X) + db @ ones).frobenius()


def between(state: State, there: State) -> Measured:
    """The distance of the equilibria of all samples (Frobenius); 0 where nothing is changed."""
    if not any(each.array.any() for each in changes(state)):
        return given(0)
    radius = state.equilibrium.error + there.equilibrium.error
    return errors.frobenius(state.Z - there.Z, radius)
