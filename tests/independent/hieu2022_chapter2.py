"""Hieu 2022: the statements of Chapter 2 and of Appendices A to C."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from deqcheck.seeds import rng

from .harness import Expected, Noise, Sides
from .hieu2022_model import (
    NAMES,
    P_A,
    P_B,
    Arrays,
    arrays,
    dense,
    equilibrium,
    fro,
    gradient,
    jacobians,
    kernel,
    masks,
    moved,
    norm2,
    residual,
    sensitivities,
    single,
    state_slope,
    told,
    vec,
    weight,
)
from .hieu2022_static import along, case, setting, unit, way

# |J| < 1, and J is not normal.
CONTRACTING = arrays(3, n=3, d=2, N=2, m=0.9, weights=0.2)
GENERIC = arrays(9, n=4, d=2, N=3, m=0.7)
# Two samples activate one unit, the same one: K is singular.
SINGULAR = arrays(5, n=4, d=2, N=3, m=0.7)
ONE = single(m=0.5, A=0.0, U=1.0, u=1.0, x=1.0, y=1.0)
# K = I: every eigenvalue is the largest and the smallest.
ROUND = {
    "A": np.zeros((2, 2)),
    "B": np.zeros((2, 2)),
    "U": np.eye(2),
    "u": np.zeros(2),
    "X": np.eye(2),
    "y": np.array([1.0, -2.0]),
    "m": 1.0,
}
DEAD = {**ONE, "U": -np.ones((1, 1))}


def equal(left: float, right: float) -> Sides:
    return Sides(left, "==", right)


def off(left: float, right: float) -> Sides:
    return Sides(left, "==", right, decision="violated")


def contraction(v: Arrays) -> dict[str, float]:
    """J = D (I_N kron W) in full."""
    at = dense(v)
    J = np.eye(len(at["Q"])) - at["Q"]
    return {
        "norm": norm2(J),
        "rho": float(np.abs(np.linalg.eigvals(J)).max()),
        "sigma": float(np.linalg.svd(at["Q"])[1][-1]),
        "log_det": float(np.log(np.abs(np.linalg.det(at["Q"])))),
        "d": len(J),
    }


def near(v: Arrays) -> Sides:
    """(2.5): relu(W (Z + dZ) + U X) - Z, where no pre-activation changes its sign."""
    Z, W, C = equilibrium(v), weight(v), v["U"] @ v["X"]
    dZ = rng(0, "hieu2022/eq2.8.Z").standard_normal(Z.shape)
    dZ *= np.abs(W @ Z + C).min() / (2 * fro(W) * fro(dZ)) if W.any() else 1
    return along(np.maximum(W @ (Z + dZ) + C, 0) - Z, masks(v, Z) * (W @ dZ))


def eq28(v: Arrays, equalities: bool = False) -> Expected:
    at = contraction(v)
    names = ("norm", "smallest", "determinant")
    rows = [(at["rho"], "<=", at["norm"]), (at["sigma"], ">=", 1 - at["norm"])]
    rows.append((at["log_det"], ">=", at["d"] * np.log(1 - at["rho"])))
    found = {
        f"{name}_equal" if equalities else name: equal(a, b) if equalities else told(a, r, b)
        for name, (a, r, b) in zip(names, rows, strict=True)
    }
    return {**setting(v), "contracts": told(at["norm"], "<", 1.0), "linear": near(v), **found}


def eq28_printed(v: Arrays, same: Callable[[float, float], Sides], determinant: str) -> Expected:
    at, found = contraction(v), eq28(v, determinant == "determinant_equal")
    kept = ("smooth", "contracts", "linear", determinant)
    return {
        **{name: found[name] for name in kept},
        "norm_printed": same(at["norm"], at["rho"]),
        "smallest_printed": same(at["sigma"], 1 - at["rho"]),
    }


def pairs(id: str, n: int) -> list[np.ndarray]:
    source = rng(0, f"hieu2022/{id}.pairs")
    return [source.standard_normal((2, n)) for _ in range(50)]


def lem231(v: Arrays) -> Expected:
    """Complementarity, and the projection to z >= 0."""
    Z, F = equilibrium(v), np.eye(len(v["A"])) - weight(v)
    size = fro(F) * fro(Z) + fro(v["U"] @ v["X"])
    drawn = pairs("lem2.3.1", len(Z))
    products = [
        np.sum((np.maximum(p, 0) - np.maximum(q, 0)) * (np.minimum(p, 0) - np.minimum(q, 0)))
        for p, q in drawn
    ]
    apart = [(fro(np.minimum(p, 0)), fro(p - np.abs(q))) for p, q in drawn]
    return {
        "zero": Noise(0.0, size),
        "monotone": told(min(products), ">=", 0.0),
        "nearest": told(*min(((a, "<", b) for a, b in apart), key=lambda x: x[2] - x[0])),
    }


def lem232(v: Arrays, printed: bool) -> Expected:
    """The smallest quotient <d, M d>/|d|^2 is the smallest eigenvalue of (M + M^T)/2."""
    F = np.eye(len(v["A"])) - weight(v)
    drawn = [p - q for p, q in pairs("lem2.3.2", len(F))]
    smallest = float(np.linalg.eigvalsh((F + F.T) / 2)[0])
    found = {
        "monotone": told(min(float(d @ F @ d) / float(d @ d) for d in drawn), ">=", 0.0),
        "only_if": told(-1.0, "<", 0.0),
    }
    if printed:
        return {**found, "strongly_printed": told(smallest, ">=", 2 * smallest)}
    return {**found, "strongly": equal(smallest, smallest)}


def splitting(v: Arrays) -> Expected:
    """40 sweeps of each; q as in Proposition 3, and for reflected resolvents."""
    Z, W, C, m = equilibrium(v), weight(v), v["U"] @ v["X"], v["m"]
    eye = np.eye(len(Z))
    F, k = eye - W, np.arange(41)
    L = norm2(F)
    forward, reflected = [], []
    for share in (0.1, 0.5, 0.9):
        a, z, far = share * 2 * m / L**2, 0 * Z, [fro(Z)]
        for _ in range(40):
            z = np.maximum(z - a * (F @ z - C), 0)
            far.append(fro(z - Z))
        q = np.sqrt(max(1 - 4 * share * (1 - share) * m**2 / L**2, 0))
        forward.append(Sides(np.array(far), "<=", (0.5 + q / 2) ** k * far[0]))
    for share in (0.01, 0.1, 1.0, 10.0, 100.0):
        a = share / L
        inverse, end, p = np.linalg.inv(eye + a * F), Z - a * (F @ Z - C), 0 * Z
        far = [fro(end)]
        for _ in range(40):
            p = 2 * inverse @ (np.abs(p) + a * C) - np.abs(p)
            far.append(fro(p - end))
        top = max(1 + share**2 - 2 * share * m / L, 0)
        q = np.sqrt(top / (1 + share**2 + 2 * share * m / L))
        reflected.append(Sides(np.array(far), "<=", (0.5 + q / 2) ** k * far[0]))
    return {"forward": forward, "reflected": reflected}


def spectrum(v: Arrays) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """K, the first residual, the eigenvalues and the largest."""
    K = kernel(v)
    K = (K + K.T) / 2
    kappa = np.linalg.eigvalsh(K)
    return K, residual(v, equilibrium(v)), kappa, float(kappa[-1])


def curved(v: Arrays) -> dict[str, Sides]:
    return {"curved": told(spectrum(v)[3], ">", 0.0)}


def positive(v: Arrays) -> dict[str, Sides]:
    return {"positive": told(float(spectrum(v)[2][0]), ">", 0.0)}


def def252(v: Arrays, printed: bool, equalities: bool) -> Expected:
    """With f = sum kappa_i w_i^2/2 and the drawn difference d of two points."""
    _, _, kappa, L = spectrum(v)
    d = rng(0, "hieu2022/def2.5.2.pair").standard_normal(len(kappa))
    change, product = fro(kappa * d), float(np.sum(kappa * d**2))
    rows = {
        "gradient": (change, "<=", L * fro(d)),
        "tangent": (product / 2, "<=", L * float(d @ d) / 2),
        "product": (product, ">=", change**2 / L),
    }
    found = {
        f"{name}_equal" if equalities else name: equal(a, b) if equalities else told(a, r, b)
        for name, (a, r, b) in rows.items()
    }
    if printed and not equalities:
        found["product_printed"] = told(product, "<=", change**2 / L)
        del found["product"]
    fourth = {"one_side": told(L, "<=", L / 2)} if printed else {"two_sides": equal(L, L)}
    return {**curved(v), **found, **fourth}


def descended(v: Arrays, step: float, steps: int) -> np.ndarray:
    K, r, _, _ = spectrum(v)
    for _ in range(steps):
        r = r - step * (K @ r)
    return r


def prop2(v: Arrays) -> Expected:
    K, _, kappa, L = spectrum(v)
    flat = bool(np.allclose(kappa, L, rtol=1e-12, atol=0))
    found: dict[str, list[Sides]] = {"progress": []}
    for share in (0.01, 0.5, 1.0):
        for k in (0, 10):
            r, step = descended(v, share / L, k), share / L
            after = r - step * (K @ r)
            fall, bound = (float(r @ r) - float(after @ after)) / 2, step / 2 * float(r @ K @ r)
            if flat and share == 1:
                found.setdefault("progress_equal", []).append(equal(fall, bound))
            else:
                found["progress"].append(told(fall, ">=", bound))
    return {**curved(v), **found}


def thm251(v: Arrays) -> Expected:
    """Counted step by step; f* is what no step can change."""
    K, r, kappa, L = spectrum(v)
    lost = np.linalg.eigh(K)[1][:, kappa < 1e-12 * L].T @ r
    first, f = np.sqrt(float(r @ K @ r)), (float(r @ r) - float(lost @ lost)) / 2
    found = []
    for share in (0.5, 0.01):
        steps, s = 0, r
        while np.sqrt(float(s @ K @ s)) > share * first:
            s, steps = s - K @ s / L, steps + 1
        found.append(told(steps, "<=", 2 * L * f / (share * first) ** 2))
    return {**curved(v), "steps": found}


def lem252(v: Arrays, equalities: bool) -> Expected:
    K, r, kappa, _ = spectrum(v)
    mu, f = float(kappa[0]), float(r @ r) / 2
    above, below = float(r @ K @ r) / (2 * mu), mu / 2 * float(r @ np.linalg.solve(K, r))
    if equalities:
        return {**positive(v), "above_equal": equal(above, f), "below_equal": equal(f, below)}
    return {**positive(v), "above": told(above, ">=", f), "below": told(f, ">=", below)}


def thm253(v: Arrays) -> Expected:
    _, r, kappa, L = spectrum(v)
    mu, f = float(kappa[0]), float(r @ r) / 2
    t = int(np.ceil(L / mu * np.log(1e6)))
    last = descended(v, 1 / L, t)
    found: Expected = {
        **positive(v),
        "enough": told(float(last @ last) / 2, "<=", 1e-6 * f),
    }
    if mu == L:
        return {**found, "at_once": equal(0.0, 0.0)}
    rates = []
    for k in (1, 10, 100):
        s = descended(v, 1 / L, k)
        rates.append(told(float(s @ s) / 2, "<=", (1 - mu / L) ** k * f))
    return {**found, "rate": rates}


def furthest(left: np.ndarray, right: np.ndarray, name: str) -> Sides:
    """Of the second one's own direction and eight drawn ones, that which tells them apart most."""
    stream = rng(0, f"same.{name}")
    ways = [right, *(stream.standard_normal(np.shape(right)) for _ in range(8))]
    w = max((w / fro(w) for w in ways), key=lambda w: abs(float(np.sum((left - right) * w))))
    return off(float(np.sum(left * w)), float(np.sum(right * w)))


def eq213(v: Arrays, printed: bool) -> Expected:
    """Descent on |Phi w - y|^2/(2 N), against (I - step K/N)^k; K without 1/N as printed."""
    Phi, y = equilibrium(v).T, v["y"]
    N = len(y)
    K = Phi @ Phi.T
    lambdas, basis = np.linalg.eigh(K)
    step, share = 1 / (2 * lambdas[-1]), 1 if printed else 1 / N
    w, first, second = np.zeros(len(Phi.T)), [], []
    for k in range(1, 17):
        w = w - step * Phi.T @ (Phi @ w - y) / N
        if k in (1, 4, 16):
            left = Phi @ w - y
            right = -y
            for _ in range(k):
                right = right - step * share * (K @ right)
            norm = np.sqrt(np.sum((1 - step * share * lambdas) ** (2 * k) * (basis.T @ y) ** 2))
            if printed and N > 1:
                first.append(furthest(left, right, "residuals after k steps"))
                second.append(off(fro(left), float(norm)))
            else:
                first.append(along(left, right))
                second.append(equal(fro(left), float(norm)))
    tail = "_printed" if printed else ""
    return {f"residuals{tail}": first, f"norms{tail}": second}


def unseen(v: Arrays) -> Expected:
    """By the Jacobians at the samples and at the drawn inputs together."""
    N = len(v["y"])
    x = rng(0, "hieu2022/unseen.x").standard_normal((len(v["X"]), 3))
    x = x / np.linalg.norm(x, axis=0) * fro(v["X"]) / np.sqrt(N)
    more = {**v, "X": np.hstack([v["X"], x]), "y": np.append(v["y"], np.zeros(3))}
    e, down = residual(v, equilibrium(v)), {name: -g for name, g in gradient(v).items()}
    speed = state_slope(more, down).T @ v["u"] + equilibrium(more).T @ down["u"]
    rows = [J[N:] @ (J[:N].T @ e) for J in jacobians(more).values()]
    return {**setting(more), "follows": along(speed[N:], -np.sum(rows, axis=0))}


PARTS = {"A": "for_symmetric", "B": "for_skew", "U": "for_inputs"}


def pushed(v: Arrays, w: Arrays) -> np.ndarray:
    """D (dW Z + dU X)."""
    Z, A = equilibrium(v), v["A"]
    dW = -(w["A"].T @ A + A.T @ w["A"]) + w["B"] - w["B"].T
    return masks(v, Z) * (dW @ Z + w["U"] @ v["X"])


def eq24(v: Arrays) -> Expected:
    """v solves (I - W^T D) v = u r in every sample; D v once more is the same."""
    Z, W = equilibrium(v), weight(v)
    e, on = residual(v, Z), masks(v, Z)
    E = sensitivities(v, Z) * e
    found = {"fixed_point": along(E, on * (W.T @ E + np.outer(v["u"], e)))}
    for name, check in PARTS.items():
        w = way(v, "hieu2022/eq2.4.way", name)
        slope, explicit = float(e @ (state_slope(v, w).T @ v["u"])), float(np.sum(E * pushed(v, w)))
        found[check] = equal(slope * np.sign(explicit), abs(explicit))
    return {**setting(v), **found}


def thmA01(v: Arrays) -> Expected:
    """A step h along a drawn unit direction of all parameters."""
    source = rng(0, "hieu2022/thmA.0.1.way")
    drawn = {name: source.standard_normal(np.shape(v[name])) for name in NAMES}
    length = np.sqrt(sum(fro(a) ** 2 for a in drawn.values()))
    w = {name: a / length for name, a in drawn.items()}
    h = 1e-3 * np.sqrt(sum(fro(v[name]) ** 2 for name in NAMES))
    other, Z = moved(v, w, h), equilibrium(v)
    assert np.array_equal(masks(v, Z), masks(other, equilibrium(other)))
    dZ = state_slope(v, w)
    remainder = fro(equilibrium(other) - Z - h * dZ)
    bound = h * norm2(weight(other) - weight(v)) * fro(dZ) + h**2 * norm2(w["A"]) ** 2 * fro(Z)
    # The remainder is a difference of numbers a million times larger.
    sides = Sides(remainder, "<=", bound / v["m"], within=1e-6)
    return {
        **setting(v),
        "invertible": told(float(np.linalg.svd(dense(v)["Q"])[1][-1]), ">", 0.0),
        "solves": Noise(0.0, fro(Z) + fro(v["U"] @ v["X"])),
        "derivative": sides,
    }


def lemC02(v: Arrays, printed: bool) -> Expected:
    """Zr = relu(Zr W^T + X^T U^T), with vec of the rows' matrix."""
    Z, n = equilibrium(v), len(v["A"])
    N = Z.shape[1]
    D = np.diag(vec(masks(v, Z).T))
    inverse = np.linalg.inv(np.eye(n * N) - D @ np.kron(weight(v), np.eye(N)))
    rows, inputs = (inverse @ D @ np.kron(np.eye(n), M.T) for M in (Z, v["X"]))
    id = "hieu2022/lemC.0.2"
    dW = unit(f"{id}.W", (n, n))
    A, B, U = (way(v, f"{id}.way", name)[name] for name in ("A", "B", "U"))
    slopes = {
        "for_weights": rows @ vec(dW.T),
        "for_symmetric": rows @ P_A(v["A"]) @ vec(A),
        "for_skew": rows @ P_B(n) @ vec(B.T),
        "for_inputs": inputs @ vec(U.T),
    }
    sign = -1 if printed else 1
    sides = {
        name: Sides(sign * fro(s), "==", fro(s), decision="violated" if printed else "holds")
        for name, s in slopes.items()
    }
    tangents = {
        "for_symmetric": state_slope(v, way(v, f"{id}.way", "A")),
        "for_skew": state_slope(v, way(v, f"{id}.way", "B")),
        "for_inputs": state_slope(v, way(v, f"{id}.way", "U")),
    }
    for name, dZ in tangents.items():
        assert np.allclose(vec(dZ.T), slopes[name], rtol=0, atol=1e-12)
    return {**setting(v), **sides}


def thmB01(v: Arrays) -> Expected:
    """relu(U x + u), tanh(A . + u), |B . + u|: the stacked state has the three layers."""
    u = v["u"][:, None]
    first = np.maximum(v["U"] @ v["X"] + u, 0)
    second = np.tanh(v["A"] @ first + u)
    third = np.abs(v["B"] @ second + u)
    whole = float(np.sqrt(fro(first) ** 2 + fro(second) ** 2 + fro(third) ** 2))
    return {"output": equal(fro(third), fro(third)), "rest": equal(whole, whole)}


def flat(v: Arrays) -> Expected:
    return {"curved": told(0.0, ">", 0.0)}


def singular(v: Arrays) -> Expected:
    return {"positive": told(0.0, ">", 0.0)}


REFUTED = {"edition": "printed", "outcome": "refuted"}
NOT = {"outcome": "not applicable"}
PLAIN: dict[str, Callable[[Arrays], Expected]] = {
    "lem2.3.1": lem231,
    "lem2.3.2": lambda v: lem232(v, printed=False),
    "splitting": splitting,
    "def2.5.2": lambda v: def252(v, printed=False, equalities=False),
    "prop2": prop2,
    "thm2.5.1": thm251,
    "lem2.5.2": lambda v: lem252(v, equalities=False),
    "thm2.5.3": thm253,
    "eq2.13": lambda v: eq213(v, printed=False),
    "unseen": unseen,
    "eq2.4": eq24,
    "thmA.0.1": thmA01,
    "lemC.0.2": lambda v: lemC02(v, printed=False),
    "thmB.0.1": thmB01,
}
INSTANCES = [
    *(case(f"hieu2022/{id}", GENERIC, f) for id, f in PLAIN.items()),
    case("hieu2022/eq2.8", CONTRACTING, eq28),
    case("hieu2022/eq2.8", ONE, lambda v: eq28(v, True), "one unit"),
    case(
        "hieu2022/eq2.8",
        ONE,
        lambda v: eq28_printed(v, equal, "determinant_equal"),
        "one unit",
        edition="printed",
    ),
    case("hieu2022/eq2.8", CONTRACTING, lambda v: eq28_printed(v, off, "determinant"), **REFUTED),
    case("hieu2022/lem2.3.2", GENERIC, lambda v: lem232(v, printed=True), **REFUTED),
    case("hieu2022/def2.5.2", GENERIC, lambda v: def252(v, True, False), **REFUTED),
    case("hieu2022/def2.5.2", ROUND, lambda v: def252(v, False, True), "round"),
    case("hieu2022/def2.5.2", DEAD, flat, "dead", **NOT),
    case("hieu2022/prop2", ROUND, prop2, "round"),
    case("hieu2022/thm2.5.1", SINGULAR, thm251, "singular"),
    case("hieu2022/lem2.5.2", ROUND, lambda v: lem252(v, True), "round"),
    case("hieu2022/lem2.5.2", DEAD, singular, "dead", **NOT),
    case("hieu2022/thm2.5.3", ROUND, thm253, "round"),
    case("hieu2022/eq2.13", GENERIC, lambda v: eq213(v, printed=True), **REFUTED),
    case("hieu2022/eq2.13", ONE, lambda v: eq213(v, True), "one unit", edition="printed"),
    case("hieu2022/lemC.0.2", GENERIC, lambda v: lemC02(v, printed=True), **REFUTED),
]
