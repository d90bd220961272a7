"""The curvature rho(R) of the logistic loss on the ball, in the name of Corollary 2."""

from __future__ import annotations

from deqcheck.models.delm.state import DelmState
from deqcheck.records.measured import Measured
from deqcheck.theorems.kawaguchi2021.cor2 import Corollary2, logistic
from deqcheck.theorems.quantities import PaperQuantities


class KawaguchiQuantities(PaperQuantities[DelmState]):
    models = ("delm",)

    def of(self, state: DelmState) -> dict[str, Measured]:
        if state.model.loss_kind not in Corollary2.losses:
            return {}
        return {"rho_R": logistic(state.model).rho_R}
