"""The constants of Condition 1 and the population kernel, in the names of the paper."""

from __future__ import annotations

from deqcheck.models.relu_deq.state import ReluDeqState
from deqcheck.records.measured import Measured
from deqcheck.theorems.ling2022.condition import condition
from deqcheck.theorems.ling2022.kernel import population_kernel
from deqcheck.theorems.quantities import PaperQuantities


class LingQuantities(PaperQuantities[ReluDeqState]):
    models = ("relu-deq",)

    def of(self, state: ReluDeqState) -> dict[str, Measured]:
        found: dict[str, Measured] = {}
        if state.q.high < 1:
            found |= condition(state).at(condition(state).measured_best())
        kernel = population_kernel(state.model)
        if kernel is not None:
            found |= {"lambda_star": kernel.lambda_star, "K_fro": kernel.K_fro}
        return found
