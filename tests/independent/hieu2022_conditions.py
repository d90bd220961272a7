"""Hieu 2022: Conditions 1 and 2 with their radii."""

from __future__ import annotations

from collections.abc import Callable

from .harness import Instance, Sides
from .hieu2022_model import Arrays, arrays, at_start, equilibrium, gentle, problem, single, told

Radii = dict[str, float]
At = dict[str, float]


def stretched(at: At, R: Radii) -> At:
    """With lb_P = |P(0)| + R_P."""
    return {**at, **{f"l{name}": at[name] + R[f"R_{name}"] for name in ("A", "U", "u")}, **R}


def reached(v: Arrays, R: Radii) -> At:
    """The numbers at the start, with the radii."""
    return stretched(at_start(v), R)


def rooms(a: At, factor: float) -> dict[str, float]:
    """The right sides of (3.8), where the factor is 4, and of (3.16), where it is 8."""
    lA, lU, lu, m = a["lA"], a["lU"], a["lu"], a["m"]
    entries = {
        "room_for_symmetric": 2 * lU * lu * lA / (m**2 * a["R_A"]),
        "room_for_skew": 2 * lU * lu / (m**2 * a["R_B"]),
        "room_for_inputs": lu / (m * a["R_U"]),
        "room_for_outputs": lU / (m * a["R_u"]),
    }
    return {name: factor * a["X"] * a["r0"] * entry for name, entry in entries.items()}


def c_prime(a: At) -> float:
    """C' of the repaired theorem."""
    lA, lU, lu, m = a["lA"], a["lU"], a["lu"], a["m"]
    return a["X"] ** 2 * (lu**2 / m**2 + 4 * lu**2 * lU**2 * (1 + lA**2) / m**4)


def c_11(a: At) -> float:
    """C_11 of Lemma 3.3.8, without powers of m."""
    lA, lU, lu = a["lA"], a["lU"], a["lu"]
    Uu, UuA = lU * lu, lU * lu * lA
    return a["X"] ** 2 * (lu**2 + 4 * Uu**2 + 4 * UuA**2 + lU**2)


def condition1(a: At) -> dict[str, float]:
    """(3.8) and (3.9)."""
    UA, U = a["lU"] * a["lA"], a["lU"]
    inner = 4 * (UA**2 + U**2) / a["m"] ** 2 + 1
    return {
        **rooms(a, 4),
        "room_for_features": 8 * a["X"] ** 2 * a["r0"] * a["lu"] / a["m"] ** 2 * inner,
    }


def condition2(a: At, kappa: float) -> dict[str, float]:
    """(3.16), and (3.17), (3.18) repaired."""
    inner = 1 + 4 * a["lU"] ** 2 * (a["lA"] ** 2 + 1) / a["m"] ** 2
    return {
        **rooms(a, 8),
        "room_for_features": 16 * a["X"] ** 2 * a["r0"] * a["lu"] / a["m"] ** 2 * inner,
        "room_for_rest": kappa * c_prime(a),
    }


def condition2_printed(a: At) -> dict[str, float]:
    """(3.16), (3.17) and (3.18)."""
    UA, U = a["lU"] * a["lA"], a["lU"]
    inner = 1 + 6 * UA**2 + 4 * U**2
    return {
        **rooms(a, 8),
        "room_for_features_printed": 8 * a["X"] ** 2 * a["r0"] * a["lu"] * inner,
        "room_for_rest_printed": 20 * c_11(a),
    }


def left_side(name: str, lambda0: float) -> float:
    return lambda0**3 if "features" in name else lambda0**2


def ratios(a: At, rows: dict[str, float]) -> dict[str, float]:
    return {name: right / left_side(name, a["lambda0"]) for name, right in rows.items()}


def row_sides(a: At, rows: dict[str, float]) -> dict[str, Sides]:
    return {name: told(left_side(name, a["lambda0"]), ">=", right) for name, right in rows.items()}


def independence(v: Arrays) -> dict[str, Sides]:
    n, N = equilibrium(v).shape
    return {"wide": told(n, ">=", N), "independent": told(at_start(v)["lambda0"], ">", 0.0)}


def given(v: Arrays, R: Radii, rows: Callable[[At], dict[str, float]]) -> dict[str, Sides]:
    """Every row, with the radii of the case."""
    a = reached(v, R)
    return row_sides(a, rows(a))


GENTLE = gentle(1, labels=1e-3, outputs=1e-3)
GENERIC = arrays(16, n=5, d=2, N=3, m=1.4)
NARROW = arrays(6, n=2, d=3, N=4, m=0.9)
# Every printed row holds.
SMALL_M = single(m=0.1, A=0.05, U=1.1, u=0.003, x=0.9, y=0.05)
RADII = {"R_A": 0.003, "R_B": 0.005, "R_U": 4e-4, "R_u": 0.034}
WIDE_RADII = {"R_A": 0.9, "R_B": 0.2, "R_U": 1.7, "R_u": 0.6}
NEAR = {"R_A": 0.1, "R_B": 0.12, "R_U": 0.09, "R_u": 0.08}


def first(v: Arrays, R: Radii, outcome: str, label: str) -> Instance:
    return Instance(
        "hieu2022/condition1",
        lambda: problem(v),
        lambda: given(v, R, condition1),
        constants=R,
        outcome=outcome,
        label=label,
    )


def second(v: Arrays, R: Radii, outcome: str, label: str, kappa: float = 10.0) -> Instance:
    return Instance(
        "hieu2022/condition2",
        lambda: problem(v),
        lambda: {
            **given(v, R, lambda a: condition2(a, kappa)),
            "proven": told(kappa, ">=", 10.0),
        },
        constants={**R, "kappa": kappa},
        outcome=outcome,
        label=label,
    )


def second_printed(v: Arrays, R: Radii, outcome: str, label: str) -> Instance:
    return Instance(
        "hieu2022/condition2",
        lambda: problem(v),
        lambda: given(v, R, condition2_printed),
        "printed",
        constants=R,
        outcome=outcome,
        label=label,
    )


MET, NOT_MET = "met", "not met"
INSTANCES = [
    first(GENTLE, RADII, MET, "gentle"),
    first(GENERIC, WIDE_RADII, NOT_MET, "generic"),
    first(NARROW, WIDE_RADII, NOT_MET, "narrow"),
    second(GENTLE, RADII, MET, "gentle"),
    second(GENTLE, RADII, MET, "margin", 19.5),
    second(GENTLE, RADII, NOT_MET, "unproven", 7.0),
    second(GENERIC, WIDE_RADII, NOT_MET, "generic"),
    second_printed(SMALL_M, NEAR, MET, "small m"),
    second_printed(GENERIC, WIDE_RADII, NOT_MET, "generic"),
]
NEVER = "The class inherits it and never judges it: a condition is its rows."
ROWS = dict.fromkeys(("wide", "independent", "positive"), NEVER)
EXEMPT = {"hieu2022/condition1": ROWS, "hieu2022/condition2": ROWS}
