"""z = relu(W z + c) is the linear complementarity problem of I - W and -c."""

from __future__ import annotations

from collections.abc import Iterable

from deqcheck.models.equilibrium import distance
from deqcheck.models.equilibrium.illposed import Witness, witness
from deqcheck.records.claim import Claim
from deqcheck.records.measured import Measured, given
from deqcheck.theorems.base import Check, Cite
from deqcheck.theorems.trained import UNREAD, Distance, Problem, State, Trained
from deqcheck.theorems.winston2020.monotone import by_bounds

MANY = "all principal minors of I - W are 2^n: they are looked at up to 16 units"


class PMatrix(Trained):
    """If all principal minors of I - W are positive, z = s(W z + c) has exactly one solution for
    every c: det(I - Th W) is affine in each slope with these minors at the vertices, so that I - Th
    W is invertible for all slopes, and z - s(W z + c) is a homeomorphism. For ReLU the converse
    holds as well (Samelson, Thrall and Wesler 1958, Murty 1972): one solution for every c only
    then. Every c is that of some input where U has full row rank."""

    id = "lcp/p-matrix"
    title = "One equilibrium where I - W is a P-matrix"
    cite = Cite("Samelson, Thrall and Wesler 1958", UNREAD)

    minors = Check("principal minors of I - W", "smallest_minor > 0", "P-matrix")
    inverse = Check("I - D W has a bounded inverse on all patterns", "1/worst_inverse > 0", "K")

    def unchecked(self, p: Problem) -> Iterable[str]:
        if not p.start.weights.affordable:
            yield MANY

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        w = p.start.weights
        if w.affordable:
            yield self.minors(smallest_minor=w.minors.smallest)

    def claims(self, p: Problem, state: State) -> Iterable[Claim]:
        w = state.weights
        if w.worst_inverse is not None:
            yield self.inverse(w.patterns_told, worst_inverse=w.worst_inverse)


class IllPosed(Trained):
    """If a principal minor of I - W is not positive, some c has two solutions of z = relu(W z + c).
    For the smallest set S of units with det(I - W_SS) <= 0 the last column x of adj(I - W_SS), 0
    off S, has x_i ((I - W) x)_i <= 0 for all i, and the positive and the negative part of x both
    solve the equation for c = (I - W) x^+ - ((I - W) x)^+. In rational numbers. Cheap cases: W_ii
    >= 1, two units, and a real eigenvalue >= 1 of W with its eigenvector as x. The input is that
    with U x + b = c where U has full row rank, else the network has two equilibria for some
    bias."""

    id = "lcp/ill-posed"
    title = "Two equilibria where I - W is no P-matrix"
    cite = Cite("Murty 1972", UNREAD)

    relu = Check("the activation is relu", "relu == 1", "LCP")
    minor = Check("a principal minor of I - W", "minor <= 0", "no P-matrix")
    first = Check("x^+ is an equilibrium", "residual == 0", "x^+")
    second = Check("x^- is an equilibrium", "residual == 0", "x^-")
    apart = Check("the two are different", "distance > 0", "x != 0")

    def unchecked(self, p: Problem) -> Iterable[str]:
        w = p.start.weights
        if not w.affordable and witness(w.array) is None:
            yield MANY

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        w = p.start.weights
        yield self.relu(relu=given(int(p.start.s.is_relu)))
        found = witness(w.array)
        if found is not None:
            yield self.minor(found.how, minor=found.minor)
        elif w.affordable:
            yield self.minor(minor=w.minors.smallest)

    def claims(self, p: Problem, state: State) -> Iterable[Claim]:
        found = witness(state.weights.array) if state.s.is_relu else None
        if found is not None:
            for check, point in ((self.first, found.first), (self.second, found.second)):
                yield check(residual=_exactly(found.residual(point)))
            yield self.apart(distance=_exactly(found.distance))

    def notes(self, p: Problem) -> Iterable[str]:
        found = witness(p.start.weights.array) if p.start.s.is_relu else None
        if found is not None and p.start.n <= 8:
            yield described(found)


def _exactly(x: object) -> Measured:
    return given(x)  # type: ignore[arg-type]


def described(found: Witness) -> str:
    first, second, c = (
        "(" + ", ".join(f"{float(x):.6g}" for x in each) + ")"
        for each in (found.first, found.second, found.c)
    )
    return f"for c = {c} both {first} and {second} are equilibria"


class Error(Distance):
    """|z - z*| <= K |r| with the residual r = z - s(W z + c) and the largest K = |(I - D W)^-1|
    over the 2^n patterns D (Chen and Xiang 2006): along one slope the inverse runs through a
    segment, so that the vertices of the cube have the largest. No smaller constant will do for
    every c."""

    id = "lcp/error"
    title = "Distance from the equilibrium by the worst pattern"
    cite = Cite("Chen and Xiang 2006", UNREAD)
    uses = ("lcp/p-matrix",)

    minors = Check("principal minors of I - W", "smallest_minor > 0", "P-matrix")
    length = Check("Euclidean distance", "distance <= bound", "K |r|")

    def unchecked(self, p: Problem) -> Iterable[str]:
        w = p.start.weights
        if not w.affordable:
            yield MANY
        elif w.worst_inverse is None and w.minors.smallest.low > 0:
            yield "the inverses of all 2^n patterns are needed: up to 12 units, if well conditioned"

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        w = p.start.weights
        if w.affordable:
            yield self.minors(smallest_minor=w.minors.smallest)

    def claims(self, p: Problem, state: State) -> Iterable[Claim]:
        if state.weights.worst_inverse is not None:
            yield from by_bounds(self.length, state, p.model.z, distance.by_patterns)
