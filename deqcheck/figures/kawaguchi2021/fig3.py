"""Figure 3: the rate for the logistic loss."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from deqcheck.figures.base import Setup
from deqcheck.figures.kawaguchi2021.bounded import Bounded


class Figure3(Bounded):
    """As Figure 2(c) for the logistic loss.

    The paper states neither the data nor n, m, tau, R, gamma, step or start: here 60 samples of
    random labels in R^10, tau = 0.01, gamma = 0.8, step 1e-3, and a start of entries N(0, 1/m).
    """

    id = "kawaguchi2021/fig3"
    number = "Kawaguchi 2021, Figure 3"
    title = "Two bounds for the logistic loss"
    quick = {"n": 60, "dim": 10, "step": 1e-3, "steps": 4000}
    full = {**quick, "steps": 100_000}
    loss = {"kind": "logistic", "tau": 0.01}
    seed = 0
    said = "faster"

    def data(self, s: Setup) -> Mapping[str, Any]:
        return {"kind": "gaussian", "n": s["n"], "dim": s["dim"], "target": "labels"}
