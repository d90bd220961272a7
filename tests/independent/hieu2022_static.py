"""Hieu 2022: the statements about the parameters of the case alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from scipy.linalg import sqrtm

from deqcheck.seeds import rng

from .harness import Expected, Instance, Sides
from .hieu2022_model import (
    NAMES,
    P_A,
    P_B,
    Arrays,
    arrays,
    at_start,
    commutation,
    dense,
    equilibrium,
    forced,
    fro,
    gradient,
    jacobians,
    kernel,
    map_jacobians,
    masks,
    moved,
    norm2,
    problem,
    read_out,
    residual,
    sensitivities,
    state_jacobians,
    state_slope,
    told,
    vec,
    weight,
)

SMALL_M = arrays(1, n=4, d=2, N=3, m=0.7)
LARGE_M = arrays(2, n=3, d=5, N=2, m=1.6)


def prop1(v: Arrays) -> Expected:
    """Proposition 1: the modulus of I - W is m plus the smallest eigenvalue of A^T A; any W with
    modulus m is of the form (3.3), with a square root and with half of the skew part."""
    n, m, F = len(v["A"]), v["m"], np.eye(len(v["A"])) - weight(v)
    modulus = float(np.linalg.eigvalsh(F + F.T)[0]) / 2
    smallest = float(np.linalg.eigvalsh(v["A"].T @ v["A"])[0])
    drawn = rng(0, "hieu2022/prop1.W").standard_normal((n, n))
    low = float(np.linalg.eigvalsh(drawn + drawn.T)[0]) / 2
    W = (1 - m + low) * np.eye(n) - drawn
    F = np.eye(n) - W
    root = np.real(sqrtm((F + F.T) / 2 - m * np.eye(n) + 1e-14 * np.eye(n)))
    again = weight({"A": root, "B": (W - W.T) / 4, "m": m})
    return {
        "modulus": Sides(modulus, "==", m + smallest),
        "converse": Sides(float(np.sum(again * W)) / fro(W), "==", fro(W)),
    }


def prop3(v: Arrays) -> Expected:
    """Proposition 3 at 0.1, 0.5 and 0.9 of 2 m/L^2, where q^2 = 1 - 4 s (1 - s) m^2/L^2."""
    m, F = v["m"], np.eye(len(v["A"])) - weight(v)
    L = norm2(F)
    forward, contracts = [], []
    for share in (0.1, 0.5, 0.9):
        q = np.sqrt(1 - 4 * share * (1 - share) * m**2 / L**2)
        norm = norm2(np.eye(len(F)) - share * 2 * m / L**2 * F)
        forward.append(told(norm, "<=", q))
        contracts.append(told(norm, "<", 1.0))
    return {"forward": forward, "contracts": contracts, "reflected": reflected(v)}


def reflected(v: Arrays) -> Sides:
    """At alpha = 1/L the bound on Peaceman-Rachford is sqrt((L - m)/(L + m)); the ratio on 200
    pairs of (2 (I + alpha F)^-1 (. + alpha U x) - I) (2 relu - I), where 2 relu - I is |.|."""
    n = len(v["A"])
    F, C = np.eye(n) - weight(v), v["U"] @ v["X"]
    L, m = norm2(F), v["m"]
    resolvent, stream = np.linalg.inv(np.eye(n) + F / L), rng(0, "hieu2022/prop3.pairs")
    ratios = []
    for _ in range(200):
        p, q = max(1.0, fro(C)) * stream.standard_normal((2, n))
        ends = [2 * resolvent @ (np.abs(x) + C[:, 0] / L) - np.abs(x) for x in (p, q)]
        ratios.append(fro(ends[0] - ends[1]) / fro(p - q))
    return told(max(ratios), "<=", ((L - m) / (L + m)) ** 0.5)


def prop3_printed(v: Arrays) -> Expected:
    F = np.eye(len(v["A"])) - weight(v)
    end = norm2(np.eye(len(F)) - 2 * v["m"] / norm2(F) ** 2 * F)
    return {**prop3(v), "closed": told(end, "<", 1.0)}


def prop3_normal(v: Arrays) -> Expected:
    """For A = 0 Proposition 3 is an equality: |T v|^2 = 1 - 2 alpha m + alpha^2 |F v|^2 for every
    unit v. At the end of the interval both are 1."""
    found = prop3(v)
    equal = [replace(each, decision="holds") for each in found["forward"]]
    return {**found, "forward": equal, "closed": Sides(1.0, "<", 1.0, decision="violated")}


# I - W is normal.
NORMAL = {**arrays(9, n=3, d=2, N=2, m=0.6), "A": np.zeros((3, 3))}


def way(v: Arrays, stream: str, name: str) -> Arrays:
    """The unit direction that is drawn, one parameter alone."""
    source = rng(0, stream)
    drawn = {each: source.standard_normal(np.shape(v[each])) for each in NAMES}
    part = drawn[name] / fro(drawn[name])
    return {each: part if each == name else 0 * drawn[each] for each in NAMES}


def setting(v: Arrays) -> Expected:
    H = weight(v) @ equilibrium(v) + v["U"] @ v["X"]
    return {"smooth": told(np.abs(H).min(), ">", 0.0)}


def unit(stream: str, shape: tuple[int, ...]) -> np.ndarray:
    drawn = rng(0, stream).standard_normal(shape)
    return drawn / fro(drawn)


def along(left: np.ndarray, right: np.ndarray) -> Sides:
    """Two equal arrays, along the second one."""
    return Sides(float(vec(left) @ vec(right)) / fro(right), "==", fro(right))


PARTS = {"A": "for_symmetric", "B": "for_skew", "U": "for_inputs"}


def lem321(v: Arrays) -> Expected:
    """Lemma 3.2.1 against the derivative of relu(W Z + U X) at fixed Z."""
    Z, A = equilibrium(v), v["A"]
    dZ = unit("hieu2022/lem3.2.1.Z", Z.shape)
    found = {"for_states": along(dZ - masks(v, Z) * (weight(v) @ dZ), dense(v)["Q"] @ vec(dZ))}
    for name, check in PARTS.items():
        w = way(v, "hieu2022/lem3.2.1.way", name)
        dW = -(w["A"].T @ A + A.T @ w["A"]) + w["B"] - w["B"].T
        dg = -masks(v, Z) * (dW @ Z + w["U"] @ v["X"])
        found[check] = along(dg, map_jacobians(v)[name] @ vec(w[name]))
    return {**setting(v), **found}


def lem322(v: Arrays) -> Expected:
    """Lemma 3.2.2 against one linear system for each sample."""
    at, dW = dense(v), unit("hieu2022/lem3.2.2.W", np.shape(v["A"]))
    explicit = np.linalg.inv(at["Q"]) @ at["Z"] @ vec(dW)
    found = {"for_weights": along(forced(v, dW @ equilibrium(v)), explicit)}
    for name, check in PARTS.items():
        w = way(v, "hieu2022/lem3.2.2.way", name)
        found[check] = along(state_slope(v, w), state_jacobians(v)[name] @ vec(w[name]))
    return {**setting(v), **found}


def lem323(v: Arrays, printed: bool) -> Expected:
    """Lemma 3.2.3 against <e, dZ^T u> (and <e, Z^T du>), up to the sign of the right side."""
    e, found = residual(v, equilibrium(v)), {}
    for name, check in {**PARTS, "u": "for_outputs"}.items():
        w = way(v, "hieu2022/lem3.2.3.way", name)
        slope = float(e @ (state_slope(v, w).T @ v["u"] + equilibrium(v).T @ w["u"]))
        explicit = float(e @ jacobians(v, printed)[name] @ vec(w[name]))
        same = abs(slope - explicit) < 1e-9
        decision = "holds" if same else "violated"
        found[check] = Sides(slope * np.sign(explicit), "==", abs(explicit), decision=decision)
    return {**setting(v), **found}


def prop4(v: Arrays) -> Expected:
    """(3.7)."""
    e = residual(v, equilibrium(v))
    return {**setting(v), "dynamics_of_yhat": along(speed_of_predictions(v), -kernel(v) @ e)}


def speed_of_predictions(v: Arrays) -> np.ndarray:
    down = {name: -g for name, g in gradient(v).items()}
    return state_slope(v, down).T @ v["u"] + equilibrium(v).T @ down["u"]


def prop4_printed(v: Arrays) -> Expected:
    """The kernel with u^T kron I_N: of its own direction and eight drawn ones, the one along
    which it is furthest from the truth."""
    left, right = speed_of_predictions(v), -kernel(v, printed=True) @ residual(v, equilibrium(v))
    stream = rng(0, "same.predictions follow the kernel")
    ways = [right, *(stream.standard_normal(len(right)) for _ in range(8))]
    w = max((w / fro(w) for w in ways), key=lambda w: abs(float((left - right) @ w)))
    sides = Sides(float(left @ w), "==", float(right @ w), decision="violated")
    return {**setting(v), "dynamics_of_yhat": sides}


def lem332(v: Arrays) -> Expected:
    """Lemma 3.3.2 with D; the norm is that of the largest column of V."""
    at = dense(v)
    norm = norm2(read_out(v, False) @ np.linalg.inv(at["Q"]) @ at["D"])
    largest = max(fro(column) for column in sensitivities(v, equilibrium(v)).T)
    return {
        "bound": told(largest, "<=", fro(v["u"]) / v["m"]),
        "norm": Sides(norm, "==", largest),
    }


def lem332_printed(v: Arrays) -> Expected:
    norm = norm2(read_out(v, True) @ np.linalg.inv(dense(v)["Q"]))
    return {"printed_norm": told(norm, "<=", fro(v["u"]) / v["m"])}


def lem333(v: Arrays) -> Expected:
    """Lemma 3.3.3."""
    at = at_start(v)
    return {"bound": told(fro(equilibrium(v)), "<=", at["X"] * at["U"] / v["m"])}


def others(v: Arrays, id: str) -> list[Arrays]:
    """The twelve drawn parameters, at relative distances of 1e-4 to 1."""
    size = np.sqrt(sum(fro(v[name]) ** 2 for name in NAMES))
    found = []
    for i in range(12):
        source = rng(0, f"{id}.{i}")
        drawn = {name: source.standard_normal(np.shape(v[name])) for name in NAMES}
        length = np.sqrt(sum(fro(a) ** 2 for a in drawn.values()))
        found.append(moved(v, drawn, 10.0 ** (i % 5 - 4) * size / length))
    return found


def tightest(pairs: list[tuple[float, float]]) -> Sides:
    left, right = min(pairs, key=lambda pair: pair[1] / pair[0])
    return told(left, "<=", right)


def lem334(v: Arrays) -> Expected:
    """(3.15) and the line after it, on the pair with the least room."""
    X, m, Z = fro(v["X"]), v["m"], equilibrium(v)
    states, predictions = [], []
    for o in others(v, "hieu2022/lem3.3.4"):
        dU, dW, U = norm2(v["U"] - o["U"]), norm2(weight(v) - weight(o)), norm2(o["U"])
        bound, u = X * dU / m + X * dW * U / m**2, fro(v["u"])
        states.append((fro(Z - equilibrium(o)), bound))
        moves = fro(Z.T @ v["u"] - equilibrium(o).T @ o["u"])
        predictions.append((moves, u * bound + X * U * fro(v["u"] - o["u"]) / m))
    return {"states": tightest(states), "predictions": tightest(predictions)}


def lem336(v: Arrays) -> Expected:
    """Lemma 3.3.6; the sign of the symmetric part does not matter, shown on the largest pair."""
    signs, bounds = [], []
    for o in others(v, "hieu2022/lem3.3.6"):
        dA, dB = o["A"] - v["A"], o["B"] - v["B"]
        S = v["A"].T @ dA + dA.T @ v["A"] + dA.T @ dA
        signs.append((norm2(-S + dB - dB.T), norm2(S + dB - dB.T)))
        bound = 2 * norm2(v["A"]) * norm2(dA) + norm2(dA) ** 2 + 2 * norm2(dB)
        bounds.append((norm2(weight(o) - weight(v)), bound))
    left, right = max(signs)
    return {"sign": Sides(left, "==", right), "bound": tightest(bounds)}


def gradients(v: Arrays) -> Expected:
    """Lemma 3.3.7 before the step, the bound on dZ/dt and the norms of P_A and P_B."""
    at, g = at_start(v), gradient(v)
    X, r, m, A, U, u = (at[name] for name in ("X", "r0", "m", "A", "U", "u"))
    down = {name: -part for name, part in g.items()}
    speed = u / m**2 * X**2 * (4 * (U**2 * A**2 + U**2) / m**2 + 1) * r
    n = len(v["A"])
    found: dict[str, Sides] = {
        "of_symmetric": told(fro(g["A"]), "<=", 2 / m**2 * X * U * u * A * r),
        "of_skew": told(fro(g["B"]), "<=", 2 / m**2 * X * U * u * r),
        "of_inputs": told(fro(g["U"]), "<=", X * r * u / m),
        "of_outputs": told(fro(g["u"]), "<=", X * r * U / m),
        "speed": told(fro(state_slope(v, down)), "<=", speed),
        "norm_of_symmetric": Sides(norm2(P_A(v["A"])) ** 2, "==", 4 * A**2),
    }
    if n > 1:
        assert np.isclose(norm2(np.eye(n * n) + commutation(n)), 2)
        found["norm_of_skew"] = Sides(norm2(P_B(n)), "==", 2.0)
    return found


def case(
    id: str, v: Arrays, expected: Callable[[Arrays], Expected], label: str = "", **more: str
) -> Instance:
    return Instance(id, lambda: problem(v), lambda: expected(v), label=label, **more)


BOTH = {"m < 1": SMALL_M, "m > 1": LARGE_M}
PLAIN = {
    "prop1": prop1,
    "prop3": prop3,
    "lem3.2.1": lem321,
    "lem3.2.2": lem322,
    "lem3.2.3": lambda v: lem323(v, printed=False),
    "prop4": prop4,
    "lem3.3.2": lem332,
    "lem3.3.3": lem333,
    "lem3.3.4": lem334,
    "lem3.3.6": lem336,
    "gradients": gradients,
}
REFUTED = {"edition": "printed", "outcome": "refuted"}
INSTANCES = [
    *(case(f"hieu2022/{id}", v, f, at) for id, f in PLAIN.items() for at, v in BOTH.items()),
    case("hieu2022/prop3", SMALL_M, prop3_printed, edition="printed"),
    case("hieu2022/prop3", NORMAL, prop3_normal, "normal", **REFUTED),
    case("hieu2022/lem3.2.3", SMALL_M, lambda v: lem323(v, printed=True), **REFUTED),
    case("hieu2022/prop4", SMALL_M, prop4_printed, **REFUTED),
    case("hieu2022/prop4", LARGE_M, prop4_printed, "m > 1", **REFUTED),
    case("hieu2022/lem3.3.2", SMALL_M, lem332_printed, **REFUTED),
    case("hieu2022/lem3.3.2", LARGE_M, lem332_printed, "m > 1", **REFUTED),
]
