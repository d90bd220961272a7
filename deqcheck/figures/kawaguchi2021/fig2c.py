"""Figure 2(c): the rate for the square loss."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from deqcheck.figures.base import Setup
from deqcheck.figures.kawaguchi2021.bounded import Bounded


class Figure2c(Bounded):
    """Raw train loss of gradient descent from a random start on the data of Figure 2(a), the bound
    with lambda_T = 1/(m (1 + gamma)^2), the one with the infimum of lambda_min(D) along the run,
    and the optimum; log-log, up to 10^5 iterations.

    Not stated in the paper: gamma (0.8 here), the step (1e-5 here).
    """

    id = "kawaguchi2021/fig2c"
    number = "Kawaguchi 2021, Figure 2(c)"
    title = "Two bounds for the square loss"
    quick = {"n": 1000, "dim": 10, "step": 1e-5, "steps": 4000}
    full = {**quick, "steps": 100_000}
    loss = {"kind": "square"}
    seed = 1
    said = "faster and nearer to the run"

    def data(self, s: Setup) -> Mapping[str, Any]:
        target = {"kind": "negated-input", "noise": 0.1}
        return {"kind": "gaussian", "n": s["n"], "dim": s["dim"], "target": target}
