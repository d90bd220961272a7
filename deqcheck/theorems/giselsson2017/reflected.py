"""Peaceman-Rachford splitting converges linearly for every step."""

from __future__ import annotations

from collections.abc import Iterable

from deqcheck.models.equilibrium.splitting import reflected_norm, reflected_path
from deqcheck.records.claim import Claim, Curve
from deqcheck.records.measured import given
from deqcheck.theorems.base import Check
from deqcheck.theorems.trained import Problem, State, Trained, unread
from deqcheck.theorems.winston2020.monotone import ISOMETRIC

# Steps that are tried, times 1/L.
FACTORS = (0.1, 1.0, 10.0)
STEPS = 20


class PeacemanRachford(Trained):
    """w = (I + a F)^-1 (2 z - p + a c), p <- 2 w - 2 z + p, z = relu(p), F = I - W: for every a > 0
    the distance of p from its fixed point shrinks by R = |(I - a F)(I + a F)^-1| <= sqrt((1 + a^2
    L^2 - 2 a m)/(1 + a^2 L^2 + 2 a m)) in each step, and |z_k - z*| <= |p_k - p*|. At a = 1/L the
    bound is sqrt((L - m)/(L + m)). For another s the step needs the proximal operator of a f."""

    id = "giselsson2017/pr"
    title = "Peaceman-Rachford splitting converges for every step"
    cite = unread("Giselsson 2017", "linear rates")
    uses = ("winston2020/unique",)

    relu = Check("the activation is relu", "relu == 1", "s = prox of a f for every a")
    modulus = Check("modulus of I - W", "m > 0", "strong monotonicity")
    factor = Check(
        "factor of a step",
        "R <= sqrt(max(0, (1 + a^2*L^2 - 2*a*m)/(1 + a^2*L^2 + 2*a*m)))",
        "R",
    )
    path = Check(
        "distance from the fixed point, by the factor half way to 1",
        "distance <= ((1 + R)/2)^k*distance_0",
        "R^k",
        starts_equal=True,
    )
    nearer = Check("the state is no further", "near <= far + noise", "|z_k - z*| <= |p_k - p*|")

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        yield self.relu(relu=given(int(p.start.s.is_relu)))
        yield self.modulus(m=p.start.weights.modulus)

    def claims(self, p: Problem, state: State) -> Iterable[Claim | Curve]:
        w = state.weights
        if not (w.modulus.low > 0 and state.s.is_relu):
            return
        for times in FACTORS:
            a, note = given(times / float(w.lipschitz.value)), f"a = {times}/L"
            R = reflected_norm(w.F, a)
            claim = self.factor(note, R=R, a=a, m=w.modulus, L=w.lipschitz)
            yield claim.known_equal(ISOMETRIC, size=1.0) if w.isometric else claim
            if state.N:
                k, far, near = reflected_path(state, a, STEPS)
                along = {"distance": far, "distance_0": far[0], "R": R}
                yield self.path.sampled(k, k.astype(float), note, **along)
                noise = far.error + near.error
                sides = {"near": near.value, "far": far.value, "noise": noise}
                yield self.nearer.sampled(k, k.astype(float), note, **sides)
