"""Which theorem proves that there is exactly one equilibrium for every input."""

from __future__ import annotations

from typing import Any

import numpy as np

from deqcheck.judging.verdicts import before_training
from deqcheck.linalg.matrix import instance
from deqcheck.models.equilibrium.illposed import witness
from deqcheck.models.equilibrium.state import EquilibriumState
from deqcheck.records.checkup import Posed, Tried, TwoEquilibria
from deqcheck.records.comparison import Decision
from deqcheck.registry import statements

# The cheapest first.
ORDER = (
    "banach/norminf",
    "banach/norm2",
    "elghaoui2021/pf",
    "winston2020/unique",
    "jafarpour2021/unique",
    "revay2020/lmi",
    "lcp/p-matrix",
)


def tried(p: Any) -> tuple[Tried, ...]:
    return tuple(_tried(id_, p) for id_ in ORDER)


def _tried(id_: str, p: Any) -> Tried:
    statement = statements()[id_]()
    found = before_training(statement, p)
    limits = "; ".join(statement.unchecked(p))
    return Tried(id_, statement.title, found[0] if found else None, limits)


def proven(found: tuple[Tried, ...]) -> bool:
    return any(t.judged is not None and t.judged.decision is Decision.HOLDS for t in found)


def posed(found: tuple[Tried, ...], two: TwoEquilibria | None) -> Posed:
    """Two equilibria for a c that no input has say nothing of the network with its own bias."""
    if proven(found):
        return Posed.YES
    reached = two is not None and two.input is not None
    return Posed.NO if reached else Posed.OPEN


def two_equilibria(state: EquilibriumState, found: tuple[Tried, ...]) -> TwoEquilibria | None:
    """Two equilibria of a ReLU network for one c, where no theorem excludes them."""
    if not state.s.is_relu or proven(found):
        return None
    made = witness(state.W)
    if made is None:
        return None
    c, first, second = (tuple(float(x) for x in each) for each in (made.c, made.first, made.second))
    return TwoEquilibria(c, first, second, made.how, _input(state, np.array(c)))


def _input(state: EquilibriumState, c: np.ndarray) -> tuple[float, ...] | None:
    """x with U x + b = c, where U has full row rank."""
    if not instance(state.U).nth_singular_value(state.n).low > 0:
        return None
    x = np.linalg.lstsq(state.U, c - state.model.b, rcond=None)[0]
    return tuple(float(a) for a in x)
