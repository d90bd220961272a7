"""An equilibrium that is verified in rational numbers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction

from deqcheck.models.equilibrium.rational import MOST, OnPattern, on_pattern
from deqcheck.records.claim import Claim
from deqcheck.records.measured import Measured, given, sqrt
from deqcheck.theorems.base import Check, Cite
from deqcheck.theorems.trained import Problem, State, Trained

SAMPLES = 8


class Pattern(Trained):
    """On the units A that are active in doubles, the solution of (I - W_AA) z_A = c_A, 0 elsewhere,
    is an equilibrium of the ReLU network if z_A >= 0 and W z + c <= 0 off A. It is THE equilibrium
    where a theorem says that there is only one; then the equilibrium in doubles is within its bar
    of it."""

    id = "exact/pattern"
    title = "An equilibrium in rational numbers"
    cite = Cite("deqcheck", "proved here")

    relu = Check("the activation is relu", "relu == 1", "setting")
    active = Check("not negative where active", "least >= 0", "z_A >= 0")
    silent = Check("not positive where inactive", "largest <= 0", "W z + c <= 0 off A")
    solves = Check("it solves z = relu(W z + c)", "residual == 0", "equilibrium")
    near = Check("the equilibrium in doubles is within its bar", "distance <= noise", "certificate")

    def unchecked(self, p: Problem) -> Iterable[str]:
        if p.start.n > MOST:
            yield f"rational numbers are used up to {MOST} units"

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        state = p.start
        yield self.relu(relu=given(int(state.s.is_relu)))
        for j, found in _found(state):
            note = f"sample {j}, kink margin {float(found.kink):.3g}"
            yield self.active(note, least=given(found.least_active))
            yield self.silent(note, largest=given(found.largest_inactive))

    def claims(self, p: Problem, state: State) -> Iterable[Claim]:
        for j, found in _found(state):
            yield self.solves(f"sample {j}", residual=given(found.residual))
            if state.equilibrium.proof:
                distance = sqrt(given(_apart(state, j, found)))
                noise = Measured(float(state.equilibrium.errors[j]))
                yield self.near(f"sample {j}", distance=distance, noise=noise)


def _found(state: State) -> Iterator[tuple[int, OnPattern]]:
    """The solutions of the first samples, where their systems are regular."""
    if state.s.is_relu and state.n <= MOST:
        for j in range(min(state.N, SAMPLES)):
            found = on_pattern(state, j)
            if found is not None:
                yield j, found


def _apart(state: State, j: int, found: OnPattern) -> Fraction:
    """The square of the distance."""
    pairs = zip(state.Z[:, j], found.z, strict=True)
    return sum(((Fraction(float(a)) - b) ** 2 for a, b in pairs), Fraction(0))
