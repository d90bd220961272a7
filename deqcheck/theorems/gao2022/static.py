"""What the lemmas about the network at given parameters share."""

from __future__ import annotations

from collections.abc import Iterable

from deqcheck.models.implicit_relu import oracle
from deqcheck.records.claim import Claim
from deqcheck.records.measured import Measured, measured
from deqcheck.theorems.base import STATIC, Check
from deqcheck.theorems.gao2022.bounds import MODEL
from deqcheck.theorems.gao2022.setting import Problem, Statement


class Pointwise(Statement):
    models = (MODEL,)
    dynamics = (STATIC,)


class BoundedA(Pointwise):
    """The setting of Section 3: |A| <= M and gamma M < 1."""

    constants = {"M": "bound on |A|; default: |A| itself"}

    bounded = Check("|A| is bounded by M", "norm_A <= M", "Section 3")
    contracts = Check("gamma M is below 1", "gamma*M < 1", "Section 3")

    def M(self, p: Problem) -> Measured:
        return measured(self.fixed["M"]) if "M" in self.fixed else p.start.norm_A

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        if "M" in self.fixed:
            yield self.bounded(norm_A=p.start.norm_A, M=self.M(p))
        yield self.contracts(gamma=p.model.gamma, M=self.M(p))


class Dense(Pointwise):
    """Compares with the dense Kronecker form where that is affordable."""

    def notes(self, p: Problem) -> Iterable[str]:
        if not oracle.affordable(p.start):
            yield f"the dense form is compared only up to N m = {oracle.LARGEST}"


class OffKinks(Dense):
    """Derivatives exist where no pre-activation is zero."""

    smooth = Check("not on a kink", "kinks == 0", "setting")

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        yield self.smooth(kinks=p.start.kinks_in_the_way)
