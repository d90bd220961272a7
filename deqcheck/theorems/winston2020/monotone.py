"""I - W strongly monotone: one equilibrium, its distance, and forward-backward splitting."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from deqcheck.linalg import errors
from deqcheck.models.equilibrium import distance
from deqcheck.models.equilibrium.distance import Bound
from deqcheck.models.equilibrium.splitting import forward_norm, forward_path
from deqcheck.models.equilibrium.weights import forward_limit, forward_step
from deqcheck.records.claim import Claim, Curve
from deqcheck.records.measured import Measured, given
from deqcheck.theorems.base import Check
from deqcheck.theorems.trained import (
    Distance,
    Problem,
    State,
    Trained,
    Unique,
    tightest,
    told,
    unread,
)

PAPER = "Winston and Kolter 2020"
# Steps of forward-backward splitting that are tried, as shares of 2 m/L^2.
SHARES = (0.25, 0.5, 0.9)
ISOMETRIC = "F^T F is a multiple of I"


class Monotone(Unique):
    """If the symmetric part of I - W has a smallest eigenvalue m > 0, z = s(W z + c) has exactly
    one solution for every c: s is the proximal operator of some convex f, and the equation is 0 in
    (I - W) z - c + df(z) with a strongly monotone right side."""

    id = "winston2020/unique"
    title = "One equilibrium where I - W is strongly monotone"
    cite = unread(PAPER, "existence and uniqueness")

    modulus = Check("modulus of I - W", "m > 0", "strong monotonicity")

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        yield self.modulus(m=p.start.weights.modulus)


def by_bounds(check: Check, state: State, z: np.ndarray, bound: Bound) -> Iterable[Claim]:
    off, apart = state.equilibrium.errors, z - state.Z
    lengths = (errors.frobenius(apart[:, j], off[j]) for j in range(state.N))
    bounds = (bound(state.weights, r) for r in state.residuals(z))
    j, left, right = tightest(zip(lengths, bounds, strict=True))
    yield check(told(j, state.N), distance=left, bound=right)


class Error(Distance):
    """For z with the residual r = z - s(W z + c), y = s(W z + c) is the equilibrium of c + W r, so
    |y - z*| <= |W r|/m and |z - z*| <= |r| + |W r|/m. As s is the gradient of a convex function and
    nonexpansive, <W d - d + r, d - r> >= 0 for d = z - z*, and |d| is at most the larger root of
    m t^2 - |(2 I - W)^T r| t + |r|^2. Judged is the smaller of the two; both are attained. The
    classical (1 + L) |r|/m (Pang 1987) is larger."""

    id = "winston2020/error"
    title = "Distance from the equilibrium of a monotone network"
    cite = unread(PAPER, "residual form")
    uses = ("winston2020/unique",)

    modulus = Check("modulus of I - W", "m > 0", "strong monotonicity")
    length = Check("Euclidean distance", "distance <= bound", "|r| + |W r|/m, or the root")
    pang = Check("the classical bound", "distance <= bound", "(1 + L) |r|/m")

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        yield self.modulus(m=p.start.weights.modulus)

    def claims(self, p: Problem, state: State) -> Iterable[Claim]:
        yield from by_bounds(self.length, state, p.model.z, distance.by_monotone)
        yield from by_bounds(self.pang, state, p.model.z, distance.pang)


class ForwardBackward(Trained):
    """z <- relu(z - a ((I - W) z - c)) contracts by |I - a (I - W)| <= q(a) = sqrt(1 - 2 a m + a^2
    L^2) with m the modulus of I - W and L = |I - W|, so that it converges to the equilibrium for 0
    < a < 2 m/L^2; q is smallest at m/L^2. |I - a (I - W)| < 1 if and only if a < 2 beta, beta the
    smallest eigenvalue of the symmetric part of (I - W)^-1, and beta >= m/L^2. For another s the
    step needs the proximal operator of a f in place of s.
    """

    id = "winston2020/fb"
    title = "Forward-backward splitting for 0 < a < 2 m/L^2"
    cite = unread(PAPER, "forward-backward splitting")
    uses = ("winston2020/unique",)

    relu = Check("the activation is relu", "relu == 1", "s = prox of a f for every a")
    modulus = Check("modulus of I - W", "m > 0", "strong monotonicity")
    factor = Check("factor of a step", "norm <= sqrt(max(0, 1 - 2*a*m + a^2*L^2))", "q(a)")
    below_one = Check("it contracts", "norm < 1", "0 < a < 2 m/L^2")
    path = Check(
        "distance from the equilibrium, by the factor half way to 1",
        "distance <= ((1 + norm)/2)^k*distance_0",
        "|I - a F|",
        starts_equal=True,
    )
    sharp = Check("it contracts below the sharp limit", "norm < 1", "a < 2 beta")
    sharper = Check("the sharp limit is no smaller", "beta >= m/L^2", "beta >= m/L^2")

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        yield self.relu(relu=given(int(p.start.s.is_relu)))
        yield self.modulus(m=p.start.weights.modulus)

    def claims(self, p: Problem, state: State) -> Iterable[Claim | Curve]:
        w = state.weights
        m, L = w.modulus, w.lipschitz
        limit = forward_limit(m, L)
        if not (state.s.is_relu and limit.low > 0):
            return
        yield from self._steps(state, [forward_step(share, limit) for share in SHARES])
        # Of an F that is nearly singular F^-1 may have no digits, and beta none above 0.
        sharp = max(2 * float(w.inverse_modulus.low), float(limit.low))
        yield self.sharp("a = 0.99 of 2 beta", norm=forward_norm(w.F, given(0.99 * sharp)))
        claim = self.sharper(beta=w.inverse_modulus, m=m, L=L)
        # Then F^-1 is F^T/L^2.
        yield claim.known_equal(ISOMETRIC, size=1.0) if w.isometric else claim

    def _steps(self, state: State, steps: Sequence[Measured]) -> Iterable[Claim | Curve]:
        w = state.weights
        for share, a in zip(SHARES, steps, strict=True):
            note, norm = f"a = {share} of 2 m/L^2", forward_norm(w.F, a)
            claim = self.factor(note, norm=norm, a=a, m=w.modulus, L=w.lipschitz)
            yield claim.known_equal(ISOMETRIC, size=1.0) if w.isometric else claim
            yield self.below_one(note, norm=norm)
            if state.N:
                k, distances = forward_path(state, a, 20)
                yield self.path.sampled(
                    k, k.astype(float), note, distance=distances, distance_0=distances[0], norm=norm
                )
