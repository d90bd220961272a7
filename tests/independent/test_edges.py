"""Where a rule of a statement begins and ends: numbers from outside on both sides of its edge."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import deqcheck as dq
from deqcheck.records.measured import Measured
from deqcheck.theorems.ling2022 import common, condition1
from deqcheck.theorems.ling2022.condition import condition

from .hieu2022_induction import GENERIC, fro, gradient
from .hieu2022_model import problem as monotone
from .ling2022_condition import FAR, best, start
from .ling2022_model import arrays, drawn
from .ling2022_model import problem as relu


@pytest.mark.parametrize(
    ("inputs", "count"), [([0.0], 1), ([1.0], 0), ([-1.0], 2), ([0.0, 1.0], 0), ([0.0, -1.0], 2)]
)
def test_equilibria_of_an_expansive_unit_are_counted(inputs: list[float], count: int) -> None:
    """z = relu(2 z + c): 0 for c = 0, none for c > 0, 0 and -c for c < 0."""
    X = np.array([inputs, np.ones(len(inputs))])
    v = {"W": [[2.0]], "U": [[1.0, 0.0]], "a": [1.0], "X": X, "y": X[1]}
    assert common._equilibria(relu({name: np.array(a) for name, a in v.items()})).value == count


@pytest.mark.parametrize(("s2", "has"), [(0.0626, True), (0.1249, True), (0.1251, False)])
def test_the_bounds_of_section_3_2_have_room_below_one_eighth(s2: float, has: bool) -> None:
    v = arrays(seed=1, m=5, n=2, d=3)
    found = dq.judge("ling2022/sec3.2-phi", drawn(v, s2), constants={"seeds": 1, "t": 0.5})
    wanted = (4 * 2 / (1 - np.sqrt(8 * s2)) ** 2 + float(v["y"] @ v["y"])) / 0.5
    bound = found.quantities.get("bound")
    assert (bound is not None) == has
    if bound is not None:
        assert bound.value == pytest.approx(wanted, rel=1e-9)


@pytest.mark.parametrize("off", [1e-4, 0.3])
def test_the_hardest_delta_is_that_of_the_largest_smallest_eigenvalue(off: float) -> None:
    """The best delta for lambda_0 at the upper end of its bar lies within the bar that is given."""
    s, at = start(FAR), condition(relu(FAR).start)
    wide = replace(at, lambda_0=Measured(s["lambda_0"], off * s["lambda_0"]))
    wanted = best({**s, "lambda_0": s["lambda_0"] * (1 + off)})
    found = condition1._hardest(wide)
    assert isinstance(found, Measured)
    assert found.value == pytest.approx(wanted, rel=1e-6)
    # Not the best one for the middle of the bar.
    assert abs(best(s) - wanted) > 1e-6 * wanted


@pytest.mark.parametrize(("id", "shown"), [("lem3.3.8-3.3.10", 2), ("lem3.3.7", 1)])
def test_a_ball_that_the_first_step_leaves_is_shown_with_it(id: str, shown: int) -> None:
    """If the lemma needs that step in the ball; else the start, which is in every ball."""
    far = 0.03 * fro(gradient(GENERIC)["A"])
    verdict = dq.judge(
        f"hieu2022/{id}",
        monotone(GENERIC),
        train={"kind": "gd", "step": 0.03, "steps": 3},
        constants={"R_A": far / 2},
    )
    (ball,) = (each for each in verdict.hypotheses if each.name == "Hypothesis 1, A in its ball")
    assert ball.curve is not None
    assert ball.curve.value.value == pytest.approx([0.0, far][:shown], rel=1e-9)
    assert ball.decision == ("violated" if shown > 1 else "holds")
