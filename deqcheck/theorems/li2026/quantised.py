"""What rounding the weights does to a monotone equilibrium network."""

from __future__ import annotations

from collections.abc import Iterable

from deqcheck.linalg import errors
from deqcheck.records.claim import Claim
from deqcheck.records.measured import Measured
from deqcheck.theorems.base import CORRECTED, PRINTED, Check, Cite, Space
from deqcheck.theorems.pabbaraju2021.bounds import between, change_at, changes
from deqcheck.theorems.trained import UNREAD, Problem, State, Trained

PAPER = "Li, Leong and Chaffey 2026"


def by_code(number: str) -> Cite:
    return Cite(PAPER, f"{number}, as their code has it ({UNREAD})")


class Converges(Trained):
    """A network with a positive modulus m of I - W has exactly one equilibrium for every input,
    which the splittings find. As the README has it, if and only if; judged of this: where all
    principal minors of I - W are positive there is one, and m would have to be positive."""

    id = "li2026/converges"
    title = "A positive modulus and convergence"
    cite = Cite(PAPER, "README of their code")
    uses = ("winston2020/unique", "lcp/p-matrix")
    soundness = "false"
    editions = (PRINTED, CORRECTED)
    erratum = (
        "Only if does not hold: W = [[0, 10], [0, 0]] has m = -4, and one equilibrium for every "
        "input, which the plain iteration reaches in two steps."
    )

    # For one unit the two are the same.
    space = Space(sizes={"n": (2, 4)})

    one = Check("one equilibrium for every input", "smallest_minor > 0", "convergence")
    modulus = Check("modulus of I - W", "m > 0", "m > 0")

    def unchecked(self, p: Problem) -> Iterable[str]:
        if self.printed and not p.start.weights.affordable:
            yield "all principal minors of I - W are 2^n: they are looked at up to 16 units"

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        w = p.start.weights
        if not self.printed:
            yield self.modulus(m=w.modulus)
        elif w.affordable:
            yield self.one(w.patterns_told, smallest_minor=w.minors.smallest)

    def claims(self, p: Problem, state: State) -> Iterable[Claim]:
        w = state.weights
        if self.printed:
            yield self.modulus(m=w.modulus)
        else:
            yield self.one(w.patterns_told, smallest_minor=w.minors.smallest)


class Modulus(Trained):
    """The modulus of I - W - dW is at least m - |dW|_2 (Weyl)."""

    id = "li2026/thm2"
    title = "The modulus after rounding"
    cite = by_code("Theorem 2")

    modulus = Check("modulus of I - W - dW", "m_bar >= m - norm2_dW", "m - |dW|")

    def claims(self, p: Problem, state: State) -> Iterable[Claim]:
        dW = changes(state)[0]
        claim = self.modulus(
            m_bar=state.perturbed.weights.modulus, m=state.weights.modulus, norm2_dW=dW.norm2()
        )
        size = float(state.weights.lipschitz.value)
        if not dW.array.any():
            claim = claim.known_equal("dW = 0", size)
        elif state.n == 1 and dW.array[0, 0] > 0:
            claim = claim.known_equal("one unit", size)
        yield claim


class Equilibria(Trained):
    """Where m > 0, every equilibrium z' of the rounded network is within |dW| |z'|/m of that of the
    first; with changes of U and b, within |dW z' + dU x + db|/m. The modulus of the rounded network
    does not matter, but z' must be an equilibrium, not what a solver left behind."""

    id = "li2026/thm3"
    title = "How far rounding moves the equilibrium"
    cite = by_code("Theorem 3")
    uses = ("winston2020/unique",)

    modulus = Check("modulus of I - W", "m > 0", "m > 0")
    moves = Check("distance of the equilibria", "moved <= norm2_dW*norm_z/m", "|dW| |z'|/m")
    change = Check("by the change at z' itself", "moved <= change/m", "|dW z' + dU x + db|/m")

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        yield self.modulus(m=p.start.weights.modulus)

    def claims(self, p: Problem, state: State) -> Iterable[Claim]:
        there = state.perturbed
        dW, dU, db = changes(state)
        moved, m = between(state, there), state.weights.modulus
        if not (dU.array.any() or db.array.any()):
            norm = errors.frobenius(there.Z, there.equilibrium.error)
            yield self.moves(moved=moved, norm2_dW=dW.norm2(), norm_z=norm, m=m)
        yield self.change(moved=moved, change=change_at(state, there), m=m)


class Condition(Trained):
    """The relative change of the equilibrium is at most |W|/m times that of W: |z - z'|/|z'| <=
    (|W|/m) |dW|/|W|. An upper bound on the condition number, not the condition number itself."""

    id = "li2026/thm4"
    title = "The condition of the equilibrium"
    cite = by_code("Theorem 4")
    uses = ("li2026/thm3",)

    modulus = Check("modulus of I - W", "m > 0", "m > 0")
    some = Check("an equilibrium that is not 0", "norm_z > 0", "|z'| > 0")
    relative = Check("relative change", "moved/norm_z <= norm2_W/m*(norm2_dW/norm2_W)", "|W|/m")

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        yield self.modulus(m=p.start.weights.modulus)
        yield self.some(norm_z=self._norm(p.start))

    def claims(self, p: Problem, state: State) -> Iterable[Claim]:
        W = state.weights.norm2
        dW, dU, db = changes(state)
        if W.low > 0 and not (dU.array.any() or db.array.any()):
            yield self.relative(
                moved=between(state, state.perturbed),
                norm_z=self._norm(state),
                norm2_W=W,
                m=state.weights.modulus,
                norm2_dW=dW.norm2(),
            )

    @staticmethod
    def _norm(state: State) -> Measured:
        there = state.perturbed
        return errors.frobenius(there.Z, there.equilibrium.error)
