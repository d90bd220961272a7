"""What the lemmas about the network at given parameters share."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from deqcheck.models.implicit_relu import oracle
from deqcheck.records.claim import Claim
from deqcheck.records.measured import Measured, given
from deqcheck.theorems.base import STATIC, Check
from deqcheck.theorems.gao2022.bounds import MODEL
from deqcheck.theorems.gao2022.setting import Problem, State, Statement


class Pointwise(Statement):
    models = (MODEL,)
    dynamics = (STATIC,)


class BoundedA(Pointwise):
    """The setting of Section 3: |A| <= M for some M > 0, and gamma M < 1."""

    constants = {"M": "bound on |A|; default: |A| itself"}

    bounded = Check("|A| is bounded by M", "norm_A <= M", "Section 3")
    contracts = Check("gamma M is below 1", "gamma*M < 1", "Section 3")

    def faults(self) -> Iterable[str]:
        return self.not_positive()

    def M(self, p: Problem) -> Measured:
        return given(self.fixed["M"]) if "M" in self.fixed else p.start.norm_A

    def M_is_norm(self, p: Problem) -> bool:
        """Whether M is |A| itself, known without rounding."""
        norm, M = p.start.norm_A, self.M(p)
        return M is norm or (norm.exact and bool(M.value == norm.value))

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        if "M" in self.fixed:
            yield self.bounded(norm_A=p.start.norm_A, M=self.M(p))
        yield self.contracts(gamma=given(p.model.gamma), M=self.M(p))


def equality(check: Check) -> Check:
    """The same with ==, for where structure makes it one: rounding cannot tell that from >= or <=,
    but it can tell whether both sides agree."""
    formula = check.formula
    text = formula.text.replace(formula.relation, "==", 1)
    return Check(f"{check.name}, equal here", text, check.equation)


def scales_by(state: State, value: float, vectors: np.ndarray) -> bool:
    """Whether A v = value v for every column v, seen without rounding: A is diagonal, and has this
    value wherever some v is not zero."""
    a = state.diagonal_A
    return a is not None and bool((a[vectors.any(axis=1)] == value).all())


class OffKinks(Pointwise):
    """Derivatives exist where no pre-activation that counts is zero."""

    smooth = Check("not on a kink that counts", "kinks == 0", "setting")

    def notes(self, p: Problem) -> Iterable[str]:
        if not oracle.affordable(p.start):
            yield (
                f"beyond N m = {oracle.LARGEST} the Kronecker forms are evaluated by the blocks "
                "of Q, one for each sample, and not densely as well"
            )
