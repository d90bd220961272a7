"""Hieu 2022: Conditions 1 and 2 with their radii, and when they can be met."""

from __future__ import annotations

import numpy as np

from .harness import Expected, Instance, Sides
from .hieu2022_model import Arrays, arrays, at_start, equilibrium, fro, problem, single, told

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


def rows_of(a: At, factor: float) -> dict[str, float]:
    return condition1(a) if factor == 4 else condition2(a, 10)


def recipe(v: Arrays, factor: float, scale: float) -> At:
    """For labels s y and u(0) = 0: R_A = max(|A|, 1), R_B = 1, R_U = |U|, and the R_u that makes
    its own row hold by a factor of two."""
    at = at_start(v)
    r0 = scale * at["r0"]
    R_u = 2 * factor * at["X"] * r0 * 2 * at["U"] / (at["m"] * at["lambda0"] ** 2)
    R = {"R_A": max(at["A"], 1.0), "R_B": 1.0, "R_U": at["U"], "R_u": R_u}
    return {**reached(v, R), "r0": r0}


def label_scale(v: Arrays, factor: float) -> float:
    """All rows but that of R_u fall like s^2; the worst of them is to be 0.49."""
    a = recipe(v, factor, 1.0)
    found = ratios(a, rows_of(a, factor))
    worst = max(ratio for name, ratio in found.items() if name != "room_for_outputs")
    return min(1.0, (0.49 / worst) ** 0.5)


def feasible(v: Arrays, factor: float) -> Expected:
    """Condition 1 (factor 4) or Condition 2 (factor 8) at small labels."""
    a = recipe(v, factor, label_scale(v, factor))
    found = {
        **independence(v),
        "no_read_out": Sides(0.0, "==", 0.0),
        **row_sides(a, rows_of(a, factor)),
    }
    if factor == 8:
        Z = equilibrium(v)
        found["mean"] = told(a["lambda0"] ** 2, "<=", fro(Z) ** 2 / Z.shape[1])
        found["energy"] = told(fro(Z), "<=", a["X"] * a["U"] / a["m"])
    return found


def necessary(v: Arrays) -> Expected:
    """(3.18) at its smallest: every radius 0."""
    at = at_start(v)
    return {
        **independence(v),
        "no_read_out": Sides(0.0, "==", 0.0),
        "necessary": told(at["lambda0"] ** 2, ">=", 20 * at["X"] ** 2 * at["U"] ** 2),
    }


def with_read_out(v: Arrays, factor: float) -> Expected:
    """u(0) is not 0: nothing is said about the rows."""
    found = {**independence(v), "no_read_out": Sides(fro(v["u"]), "==", 0.0, decision="violated")}
    full = feasible(v, factor)
    return {**found, **{name: full[name] for name in ("mean", "energy") if name in full}}


SMALL_A = arrays(3, n=4, d=3, N=2, m=0.7, outputs=0.0, weights=0.2)
LARGE_A = arrays(4, n=3, d=5, N=2, m=1.3, outputs=0.0, weights=0.9)
SMALL_LABELS = arrays(3, n=4, d=3, N=2, m=0.7, outputs=0.0, weights=0.2, labels=1e-6)
# The row of A is the worst one.
STEEP = {
    "A": np.array([[0.4, 0.1], [-0.2, 0.3]]),
    "B": np.array([[0.1, 0.7], [-0.3, 0.2]]),
    "U": np.array([[4000.0, 400.0], [200.0, 4400.0]]),
    "u": np.zeros(2),
    "X": np.array([[1.0, 0.1], [0.05, 0.9]]),
    "y": np.array([2.5, -1.4]),
    "m": 3000.0,
}
SMALL_M = single(m=0.11, A=0.3, U=1.3, u=0.0, x=0.7, y=0.4)
READ_OUT = arrays(3, n=4, d=3, N=2, m=0.7, weights=0.2)

FEASIBLE = {"small A": SMALL_A, "large A": LARGE_A, "small labels": SMALL_LABELS, "steep": STEEP}


def instances(id: str, factor: float) -> list[Instance]:
    found = [
        Instance(id, lambda v=v: problem(v), lambda v=v: feasible(v, factor), label=label)
        for label, v in FEASIBLE.items()
    ]
    other = Instance(
        id,
        lambda: problem(READ_OUT),
        lambda: with_read_out(READ_OUT, factor),
        outcome="not applicable",
        label="a read-out",
    )
    return [*found, other]


def printed(v: Arrays, label: str, outcome: str) -> Instance:
    id = "hieu2022/condition2"
    return Instance(
        id, lambda: problem(v), lambda: necessary(v), "printed", None, {}, outcome, label
    )


INSTANCES = [
    *instances("hieu2022/condition1", 4),
    *instances("hieu2022/condition2", 8),
    printed(SMALL_A, "small A", "refuted"),
    printed(SMALL_M, "small m", "confirmed"),
]
NEVER = "The class inherits it and never judges it: "
EXEMPT = {
    "hieu2022/condition1": {"positive": f"{NEVER}the radii are those of the recipe."},
    "hieu2022/condition2": {
        "positive": f"{NEVER}the radii are those of the recipe.",
        "proven": f"{NEVER}kappa is the 10 of repair B.",
        "room_for_features_printed": f"{NEVER}the printed edition judges what (3.18) needs.",
        "room_for_rest_printed": f"{NEVER}the printed edition judges what (3.18) needs.",
    },
}
