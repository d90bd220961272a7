"""Hieu 2022: what the statements promise before training, and the radii that they choose."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

import deqcheck as dq

from .hieu2022_conditions import (
    GENERIC,
    GENTLE,
    NEAR,
    RADII,
    SMALL_M,
    WIDE_RADII,
    At,
    c_prime,
    condition1,
    condition2,
    condition2_printed,
    ratios,
    reached,
    rooms,
    stretched,
)
from .hieu2022_model import (
    Arrays,
    at_start,
    descent,
    equilibrium,
    loss,
    problem,
    single,
)
from .hieu2022_training import FIXED, FLOW, pl_constants, printed_steps, sparse

Rows = Callable[[At], dict[str, float]]
THM331, THM335 = "hieu2022/thm3.3.1", "hieu2022/thm3.3.5"


def gd(step: float, steps: int = 5) -> dict[str, Any]:
    return {"kind": "gd", "step": step, "steps": steps}


def near(value: float, within: float = 1e-8) -> Any:
    return pytest.approx(value, rel=within)


def smallest_worst(v: Arrays, rows: Rows) -> float:
    """min over the radii of the largest right/left; R_B costs nothing."""

    at = at_start(v)

    def logs(x: np.ndarray) -> np.ndarray:
        R_A, R_U, R_u = np.exp(x)
        a = stretched(at, {"R_A": R_A, "R_B": 1e9, "R_U": R_U, "R_u": R_u})
        return np.log([each for name, each in ratios(a, rows(a)).items() if "skew" not in name])

    def solved(start: np.ndarray) -> Any:
        return minimize(
            lambda z: z[-1],
            np.append(start, logs(start).max()),
            constraints={"type": "ineq", "fun": lambda z: z[-1] - logs(z[:-1])},
            method="SLSQP",
            options={"maxiter": 1000, "ftol": 1e-13},
        )

    centre = np.log([1.0, at["U"], 1e-2])
    return float(np.exp(min(solved(centre + shift).fun for shift in (-4.0, -2.0, 0.0))))


@pytest.mark.parametrize(
    ("id", "edition", "constants", "rows"),
    [
        (THM331, "corrected", {}, condition1),
        (THM335, "corrected", {}, lambda a: condition2(a, 10)),
        (THM335, "corrected", {"kappa": 20.0}, lambda a: condition2(a, 20)),
        (THM335, "printed", {}, condition2_printed),
        ("hieu2022/condition1", "corrected", {}, condition1),
        ("hieu2022/condition2", "corrected", {}, lambda a: condition2(a, 10)),
        ("hieu2022/condition2", "printed", {}, condition2_printed),
    ],
)
def test_the_radii_are_the_best(
    id: str, edition: str, constants: dict[str, float], rows: Rows
) -> None:
    found = dq.judge(id, problem(GENTLE), edition=edition, constants=constants)
    worst = found.quantities["worst_ratio"].value
    assert worst == near(smallest_worst(GENTLE, rows), 1e-3)
    a = reached(GENTLE, {name: found.constants[name] for name in RADII})
    mine = ratios(a, rows(a))
    assert worst == near(max(mine.values()))
    assert mine["room_for_skew"] == near(
        max(each for name, each in mine.items() if "skew" not in name)
    )


@pytest.mark.parametrize("v", [GENTLE, GENERIC], ids=["gentle", "generic"])
def test_with_given_radii_the_worst_row_counts(v: Arrays) -> None:
    R = RADII if v is GENTLE else WIDE_RADII
    a = reached(v, R)
    found = dq.judge(THM331, problem(v), constants=R).quantities
    assert found["worst_ratio"].value == near(max(ratios(a, condition1(a)).values()))
    assert found["rate"].value == near(a["lambda0"] ** 2 / 2)


def test_a_radius_that_is_given_stays_and_the_rest_is_the_best() -> None:
    """With R_B given its row counts as well."""
    found = dq.judge(THM331, problem(GENTLE), constants={"R_B": 1e-4})
    a = reached(GENTLE, {name: found.constants[name] for name in RADII})
    assert a["R_B"] == 1e-4
    assert found.quantities["worst_ratio"].value == near(max(ratios(a, condition1(a)).values()))
    freely = dq.judge(THM331, problem(GENTLE)).constants
    b = reached(GENTLE, {**{name: freely[name] for name in RADII}, "R_B": 1e-4})
    assert max(ratios(a, condition1(a)).values()) < max(ratios(b, condition1(b)).values())


@pytest.mark.parametrize("kappa", [10.0, 20.0])
@pytest.mark.parametrize("v", [GENTLE, GENERIC], ids=["gentle", "generic"])
def test_the_largest_step_of_the_repairs(v: Arrays, kappa: float) -> None:
    R, step = (RADII if v is GENTLE else WIDE_RADII), 1e-4
    a = reached(v, R)
    C_U = (a["X"] * a["lU"] / a["m"]) ** 2
    largest = 1 / C_U if kappa < 20 else a["lambda0"] ** 2 / (8 * (c_prime(a) + C_U) ** 2)
    constants = {**R, "kappa": kappa}
    found = dq.judge(THM335, problem(v), train=gd(step, 1), constants=constants).quantities
    assert found["largest_step"].value == near(largest)
    assert found["factor"].value == near(1 - step * a["lambda0"] ** 2 / 4)
    assert found["worst_ratio"].value == near(max(ratios(a, condition2(a, kappa)).values()))


def test_the_printed_largest_step() -> None:
    found = dq.judge(
        THM335, problem(SMALL_M), train=gd(0.03, 1), edition="printed", constants=NEAR
    ).quantities
    a = reached(SMALL_M, NEAR)
    assert found["largest_step"].value == near(min(printed_steps(a)))
    assert found["worst_ratio"].value == near(max(ratios(a, condition2_printed(a)).values()))


@pytest.mark.parametrize(("more", "outcome"), [(1.004, "confirmed"), (1.01, "not applicable")])
def test_radii_are_found_that_allow_the_step(more: float, outcome: str) -> None:
    """Radii other than those of the smallest ratio allow a step that is larger by 0.7%."""
    best = dq.judge(THM335, problem(GENTLE), constants={"kappa": 20.0})
    radii = [best.constants[name] for name in RADII]
    step = more * float(np.exp(repair_A(np.log(radii))[0]))
    allowed = outcome == "confirmed"
    assert (more < largest_allowed(np.log(radii))) == allowed
    found = dq.judge(THM335, problem(GENTLE), train=gd(step, 2), constants={"kappa": 20.0})
    assert found.outcome == outcome
    chosen = [found.constants[name] for name in RADII]
    assert (repair_A(np.log(chosen))[0] >= np.log(step)) == allowed
    assert repair_A(np.log(chosen))[1].max() <= 0


AT_GENTLE = at_start(GENTLE)


def repair_A(x: np.ndarray) -> tuple[float, np.ndarray]:
    """The logarithms of the largest step lambda_0^2/(8 C^2) and of the rows' ratios."""
    a = stretched(AT_GENTLE, dict(zip(RADII, np.exp(x), strict=True)))
    C = c_prime(a) + (a["X"] * a["lU"] / a["m"]) ** 2
    rows = np.log(list(ratios(a, condition2(a, 20)).values()))
    return float(np.log(a["lambda0"] ** 2 / (8 * C**2))), rows


def largest_allowed(x: np.ndarray) -> float:
    """The largest step for any radii that satisfy the rows, over that of the given ones."""
    found = minimize(
        lambda z: -repair_A(z)[0],
        x,
        constraints={"type": "ineq", "fun": lambda z: -repair_A(z)[1]},
        method="SLSQP",
        options={"maxiter": 500, "ftol": 1e-14},
    )
    return float(np.exp(-found.fun - repair_A(x)[0]))


def test_the_radii_of_proposition_5_are_nearly_the_smallest() -> None:
    """R <- 1.01 times what (3.16) asks of R, from 0 on; every row holds by one percent."""
    at, R = at_start(GENTLE), dict.fromkeys(RADII, 0.0)
    for _ in range(100):
        need = rooms({**stretched(at, R), **dict.fromkeys(RADII, 1.0)}, 8)
        names = ("room_for_symmetric", "room_for_skew", "room_for_inputs", "room_for_outputs")
        R = {r: 1.01 * need[n] / at["lambda0"] ** 2 for r, n in zip(RADII, names, strict=True)}
    found = dq.judge("hieu2022/prop5", problem(GENTLE), train=gd(0.009, 2))
    assert {name: found.constants[name] for name in RADII} == near(R)
    assert found.quantities["worst_ratio"].value == near(1 / 1.01)
    assert found.outcome == "confirmed"


@pytest.mark.parametrize("scale", [1e-30, 1e-6, 1.0, 1e6, 1e30])
@pytest.mark.parametrize("id", ["hieu2022/condition1", "hieu2022/condition2"])
def test_conditions_are_met_on_every_scale(id: str, scale: float) -> None:
    """U -> s U takes lambda_0 to s lambda_0; for u = 0 and R_U = |U| the row of R_u asks for
    R_u ~ r0/s, the others for r0^2 below a multiple of min(s, s^2)^2."""
    labels = 1e-4 * min(scale, scale**2)
    v = {**GENTLE, "U": scale * GENTLE["U"], "u": np.zeros(4), "y": labels * GENTLE["y"]}
    assert dq.judge(id, problem(v)).outcome == "met"
    # Without room for anything.
    large = {**v, "y": 1e4 * (scale + 1) ** 3 * GENTLE["y"]}
    assert dq.judge(id, problem(large)).outcome == "not met"


def test_a_condition_without_a_residual() -> None:
    """(3.18) repaired: 1 >= 10 (lu^2 + 4 lu^2 lU^2 (1 + lA^2)) asks for a small R_u only."""
    v = single(m=1.0, A=0.0, U=1.0, u=0.0, x=1.0, y=0.0)
    found = dq.judge("hieu2022/condition2", problem(v))
    assert found.outcome == "met"
    a = reached(v, {name: found.constants[name] for name in RADII})
    assert condition2(a, 10)["room_for_rest"] <= 1
    wide = dq.judge("hieu2022/condition2", problem(v), constants=dict.fromkeys(RADII, 1.0))
    assert wide.outcome == "not met"


@pytest.mark.parametrize(
    ("apart", "outcome"), [(-1e-4, "met"), (1e-7, "undecided"), (1e-4, "not met")]
)
def test_a_condition_that_fails_by_less_than_the_search_may_miss(
    apart: float, outcome: str
) -> None:
    """For u(0) = 0 and R_u -> s R_u with the labels the rows of the best radii are proportional to
    the labels or their square; here the worst ratio is to the labels."""
    v = {**GENTLE, "u": np.zeros(4)}
    scale = (1 + apart) / smallest_worst(v, condition1)
    scaled = {**v, "y": scale * v["y"]}
    found = dq.judge("hieu2022/condition1", problem(scaled))
    assert found.quantities["worst_ratio"].value == near(1 + apart, 2e-4)
    assert found.outcome == outcome


def test_path_condition() -> None:
    at = at_start(GENERIC)
    found = dq.judge("hieu2022/path", problem(GENERIC)).quantities
    assert found["R"].value == near(2 * at["r0"] / at["lambda0"])
    assert found["rate"].value == near(at["lambda0"] ** 2 / 2)


def test_a_kernel_below_its_error_bar_is_not_zero() -> None:
    """Two samples 3e-8 apart: K is at least Z^T Z, and sigma_min(Z) is known."""
    v = {**GENERIC, "X": np.array([[1.0, 1.0], [0.5, 0.5 + 3e-8]]), "y": np.array([0.5, -0.2])}
    found = dq.judge("hieu2022/pl", problem(v))
    assert found.hypotheses[0].decision == "holds"
    assert found.constants["mu"] == near(2 * at_start_sigma(v) ** 2, 1e-3)


def at_start_sigma(v: Arrays) -> float:
    return float(np.linalg.svd(equilibrium(v))[1][-1])


@pytest.mark.parametrize("constants", [{"mu": 0.0}, {"Lsm": -1.0}])
def test_pl_constants_that_are_not_positive_are_refused(constants: dict[str, float]) -> None:
    with pytest.raises(dq.UsageError, match="is not positive"):
        dq.judge("hieu2022/pl", problem(GENERIC), constants=constants)


def test_pl_constants() -> None:
    mu, Lsm = pl_constants(GENERIC)
    chosen = dq.judge("hieu2022/pl", problem(GENERIC)).constants
    assert chosen == near({"mu": mu, "Lsm": Lsm})
    assert chosen["mu"] <= mu * (1 + 1e-15) and chosen["Lsm"] >= Lsm * (1 - 1e-15)
    assert dq.judge("hieu2022/pl", problem(GENERIC), constants=FIXED).constants == FIXED


@pytest.mark.parametrize(("apart", "decision"), [(-1e-12, "violated"), (1e-12, "holds")])
@pytest.mark.parametrize("id", [THM331, THM335])
def test_rows_with_given_radii_are_decided_next_to_equality(
    id: str, apart: float, decision: str
) -> None:
    """R_u such that its own row is an equality, times 1 + apart."""
    at, factor = at_start(GENTLE), 4 if id == THM331 else 8
    lU = at["U"] + RADII["R_U"]
    equal = factor * at["X"] * at["r0"] * lU / (at["m"] * at["lambda0"] ** 2)
    found = dq.judge(id, problem(GENTLE), constants={**RADII, "R_u": equal * (1 + apart)})
    (row,) = (each for each in found.hypotheses if each.name == "room for u")
    assert row.decision == decision


def test_by_how_much_the_rates_could_be_stronger() -> None:
    """What is compared is the exponent of a decay, and the distance of a factor from 1."""
    step = 0.009
    found = dq.judge(THM335, problem(GENTLE), train=gd(step), constants=RADII)
    caught = {each.name: each.caught for each in found.conclusions}
    gap = np.array([loss(w) for w in descent(GENTLE, step, 5)])
    fall = step * at_start(GENTLE)["lambda0"] ** 2 / 4
    one = ((1 - gap[1:] / gap[:-1]) / fall).min()
    assert caught["each step contracts the loss"] == near(one, 1e-6)
    many = np.log(gap[1:] / gap[0]) / (np.arange(1, 6) * np.log(1 - fall))
    assert caught["loss below its geometric bound"] == near(many.min(), 1e-6)


@pytest.mark.parametrize("id", [THM331, "hieu2022/path", "hieu2022/pl"])
def test_rates_are_compared_as_exponents(id: str) -> None:
    constants = RADII if id == THM331 else {}
    found = dq.judge(id, sparse(GENTLE), train=FLOW, constants=constants)
    decays = {each.name: each.curve.decays for each in found.conclusions if each.curve}
    assert [name for name, each in decays.items() if each] == [
        "loss of the flow" if id == "hieu2022/pl" else "loss below its exponential"
    ]
