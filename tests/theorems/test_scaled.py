"""In other units of the data every number of a statement is a power of two times what it was, and
so is its bar: ReLU and linear models are positively homogeneous, and powers of two do not round.

A bar that has lost a factor, or has one too many, has other units than its number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import deqcheck as dq
from deqcheck.models.monotone_deq.model import MonotoneDeqModel
from deqcheck.models.problem import Problem
from deqcheck.models.relu_deq.model import ReluDeq
from deqcheck.records.measured import Measured
from deqcheck.theorems.base import STATIC
from deqcheck.theorems.ling2022.sec4_4 import distance
from tests.conftest import delm_problem, implicit_problem, monotone_problem
from tests.independent.equilibrium_model import drawn
from tests.independent.equilibrium_model import problem as trained

# Inputs and labels.
UNIT = 16.0
Made = Callable[[float], Problem]


def delm(unit: float) -> Problem:
    outer = delm_problem(3, 5, 2).model.outer
    return delm_problem(3, 5, 2, Phi=unit * outer.Phi, Y=unit * outer.Y)


def implicit(unit: float) -> Problem:
    model = implicit_problem().model
    return implicit_problem(X=unit * model.X, y=unit * model.y)


def monotone(unit: float) -> Problem:
    p = monotone_problem()
    model = MonotoneDeqModel(p.model.m, unit * p.model.X, unit * p.model.y, p.model.solver)
    return Problem(model, p.theta0, None)


def relu(unit: float, **fields: Any) -> Problem:
    r = np.random.default_rng(3)
    theta = {"W": 0.2 * r.normal(size=(5, 5)), "U": r.normal(size=(5, 3)), "a": r.normal(size=5)}
    data = {"X": unit * r.normal(size=(3, 3)), "y": unit * r.normal(size=3)}
    return Problem(ReluDeq(**fields).build(data, None), theta, None)


def equilibrium(unit: float) -> Problem:
    v = drawn(0, n=3, d=2, q=2, scale=0.1, N=2)
    return trained(
        {name: a * (unit if name in ("X", "Y", "b", "z") else 1) for name, a in v.items()}
    )


MODELS: dict[str, Made] = {
    "kawaguchi2021": delm, "gao2022": implicit, "hieu2022": monotone, "ling2022": relu,
}  # fmt: skip
TRAINED = {
    s.paper() for s in dq.statements() if "equilibrium" in s.models and s.paper() not in MODELS
}
# What speaks of a length by itself, or is drawn at a length of 1.
OF_LENGTH = {
    "forward iterations": "gao2022/lem3.1: until 1e-2",
    "forward_iterations": "gao2022/lem3.1: until 1e-2",
    "the samples have norm sqrt(d)": "ling2022, Assumption 2",
    "Peaceman-Rachford operator": "hieu2022/prop3: pairs are drawn at a distance of max(1, |C|)",
    "the last block is the output": "hieu2022/thmB.0.1: of a network with a bias",
    "the state is an equilibrium": "hieu2022/thmB.0.1: of a network with a bias",
    "distance of an iterate from another start": "kawaguchi2021/prop1: drawn at 1 + |z|",
    "gradient times cheap gradient": "jfb, fung2022: z^2 + x^2 + 1",
    "smallest eigenvalue of the symmetric part of A": "jfb/batch: z^2 + x^2 + 1",
    "output with the tightest bound": "elghaoui2021/box: inputs move by 1",
}


def numbers(
    s: type[dq.Statement[Any, Any]], edition: str, p: Problem
) -> Iterator[tuple[str, Measured]]:
    statement = s(edition)
    for claim in (
        *statement.hypotheses(p),
        *statement.claims(p, p.start),
        *statement.remarks(p, None),
    ):
        yield f"{claim.name} {claim.note}, left", claim.left
        yield f"{claim.name} {claim.note}, right", claim.right
    yield from statement.quantities(p).items()


def same_but_for_units(name: str, here: Measured, there: Measured) -> None:
    value, other = np.ravel(here.value), np.ravel(there.value)
    assert value.shape == other.shape, name
    for x, y, dx, dy in zip(value, other, np.ravel(here.error), np.ravel(there.error), strict=True):
        if x == 0 or not np.isfinite(x):
            assert y == x, name
            continue
        if abs(x) <= dx:
            # Rounding itself.
            continue
        power = np.log2(abs(y / x)) if y else np.inf
        assert power == pytest.approx(np.round(power), abs=1e-6), (name, x, y)
        assert dy / abs(y) == pytest.approx(dx / abs(x), rel=1e-6, abs=1e-300), (name, dx, dy)


@pytest.mark.parametrize("paper", [*MODELS, *sorted(TRAINED)])
def test_numbers_and_bars_have_the_same_units(paper: str) -> None:
    made = MODELS.get(paper, equilibrium)
    p, q = made(1.0), made(UNIT)
    seen = 0
    for s in dq.statements():
        # A search of its own, in units of 1.
        if s.id == "gao2022/eta-claim":
            continue
        if s.paper() != paper or STATIC not in s.dynamics or p.model.kind not in s.models:
            continue
        for edition in s.editions:
            here, there = list(numbers(s, edition, p)), list(numbers(s, edition, q))
            assert len(here) == len(there), s.id
            for (name, x), (_, y) in zip(here, there, strict=True):
                if not name.startswith(tuple(OF_LENGTH)):
                    same_but_for_units(f"{s.id}, {edition}: {name}", x, y)
                    seen += 1
    assert seen


@pytest.mark.parametrize("made", [*MODELS.values(), equilibrium], ids=[*MODELS, "equilibrium"])
def test_what_states_measure_has_the_units_of_its_bar(made: Made) -> None:
    here, there = made(1.0).start, made(UNIT).start
    assert here.names and tuple(here.names) == tuple(there.names)
    # Sweeps are counted until 1e-2 is left.
    for name in set(here.names) - {"sweeps"}:
        same_but_for_units(name, here.measure(name), there.measure(name))
    for name, slope in here.gradient.items():
        np.testing.assert_array_equal(there.gradient[name], UNIT**2 * slope)


def test_the_distance_from_the_kernel_has_the_units_of_its_bar() -> None:
    here, there = (distance(relu(unit, sigma_w2=0.1).start) for unit in (1.0, UNIT))
    same_but_for_units("|G/m - K|", here, there)
    assert there.value == UNIT**2 * here.value
