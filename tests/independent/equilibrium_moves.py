"""Splittings, Lipschitz constants, rounding and the cheap gradient: the sides from outside."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar

from .equilibrium_model import (
    I1,
    I2,
    I3,
    Arrays,
    F,
    arrays,
    drawn,
    equilibrium,
    flag,
    forward,
    fro,
    gradients,
    inputs,
    inverses,
    lowest,
    minors,
    modulus,
    norm2,
    problem,
    slopes,
    told,
)
from .equilibrium_unique import STEPS, least, weights
from .harness import Expected, Instance, Sides

SHARES = (0.25, 0.5, 0.9)
GENTLE = drawn(2, 3, 2, 2, 0.3)
# Three units, of which some are inactive, and two samples.
PAIR = drawn(5, 3, 2, 2, 0.3, N=2)
ONE_OUTPUT = drawn(5, 3, 2, 1, 0.3, N=2)
TANH = arrays(
    [[0.1, -0.2], [0.1, 0.1]], np.eye(2), [[1, 1]], [[0.1], [0.2]], [[1]], z=[[0.1], [0.1]]
)
MINUS_TWO = arrays([[-2]], [[1]], [[1], [-1]], [[1]], [[0], [0]])
J1 = arrays([[0, 0.5], [0, 0]], [[0], [1]], [[-4, 1]], [[0.01, -0.01]], [[-5.01, -3]], b=[1, 0])
ROUNDED = {**GENTLE, "dW": 0.05 * np.ones((3, 3)), "dU": np.zeros((3, 2)), "db": np.zeros(3)}
CHANGED = {**ROUNDED, "dU": 0.1 * np.ones((3, 2)), "db": np.array([0.2, 0.0, -0.1])}


def limit(v: Arrays) -> float:
    return 2 * modulus(v) / norm2(F(v)) ** 2


def path(v: Arrays, a: float, factor: float, s: Any = None) -> Sides:
    star = equilibrium(v, s)
    far = np.array([fro(Z - star) for Z in forward(v, a, 20, s)])
    bound = ((1 + factor) / 2) ** STEPS * far[0]
    # Equal at the start.
    decision = "holds" if (far[1:] < bound[1:]).all() else "violated"
    return Sides(far, "<=", bound, decision=decision)


def fb(v: Arrays, s: Any = None) -> dict[str, Any]:
    norms = [norm2(np.eye(len(v["W"])) - share * limit(v) * F(v)) for share in SHARES]
    return {
        "modulus": told(modulus(v), ">", 0.0),
        "norms": norms,
        "path": [path(v, x * limit(v), q, s) for x, q in zip(SHARES, norms, strict=True)],
    }


def winston_fb(v: Arrays) -> Expected:
    found, m, L = fb(v), modulus(v), norm2(F(v))
    beta = lowest(np.linalg.inv(F(v)))
    q = [np.sqrt(1 - 2 * a * m + a**2 * L**2) for a in (share * limit(v) for share in SHARES)]
    norms = found.pop("norms")
    return {
        **found,
        "relu": flag(True),
        "factor": [told(n, "<=", b) for n, b in zip(norms, q, strict=True)],
        "below_one": [told(n, "<", 1.0) for n in norms],
        "sharp": told(norm2(np.eye(len(F(v))) - 0.99 * 2 * beta * F(v)), "<", 1.0),
        "sharper": told(beta, ">=", m / L**2),
    }


def pabbaraju_fb(v: Arrays, closed: float | None, s: Any = None) -> Expected:
    found = fb(v, s)
    norms = found.pop("norms")
    found["contracts"] = [told(n, "<", 1.0) for n in norms]
    if closed is None:
        return {**found, "relu": flag(s is None)}
    return {
        **found,
        "closed": Sides(closed, "<", 1.0, decision="holds" if closed < 1 else "violated"),
    }


def pr(v: Arrays) -> Expected:
    m, L, n = modulus(v), norm2(F(v)), len(v["W"])
    C, star = inputs(v), equilibrium(v)
    found: dict[str, Any] = {"relu": flag(True), "modulus": told(m, ">", 0.0)}
    rows: dict[str, list[Sides]] = {"factor": [], "path": [], "nearer": []}
    for a in (0.1 / L, 1 / L, 10 / L):
        resolvent = np.linalg.inv(np.eye(n) + a * F(v))
        R = norm2((np.eye(n) - a * F(v)) @ resolvent)
        bound = np.sqrt((1 + a**2 * L**2 - 2 * a * m) / (1 + a**2 * L**2 + 2 * a * m))
        p, target, far, near = np.zeros_like(C), star + a * (C - F(v) @ star), [], []
        for _ in STEPS:
            far.append(fro(p - target))
            near.append(fro(np.maximum(p, 0) - star))
            p = 2 * resolvent @ (np.abs(p) + a * C) - np.abs(p)
        rows["factor"].append(told(R, "<=", bound))
        rows["path"].append(Sides(np.array(far), "<=", ((1 + R) / 2) ** STEPS * far[0]))
        # The right side has the rounding of the steps in it.
        rows["nearer"].append(Sides(np.array(near), "<=", np.array(far), within=1e-4))
    return {**found, **rows}


def gain(v: Arrays, C: np.ndarray) -> float:
    return max(norm2(C @ inverse @ D @ v["U"]) for D, inverse in inverses(v))


def steepest(v: Arrays, C: np.ndarray) -> float:
    """|C dz| for a unit step along the steepest direction at the first sample."""
    Z = equilibrium(v)
    D = np.diag(slopes(v, Z)[:, 0])
    J = C @ np.linalg.inv(np.eye(len(D)) - D @ v["W"]) @ D @ v["U"]
    way = np.linalg.eigh(J.T @ J)[1][:, -1]
    # The sign of a singular vector is a convention.
    way *= np.sign(way @ np.linalg.svd(J)[2][0])
    there = equilibrium({**v, "X": v["X"][:, :1] + way[:, None]})
    return fro(C @ (there - Z[:, :1]))


def constant(v: Arrays, C: np.ndarray, lam: np.ndarray) -> float:
    """min over t of the largest generalised eigenvalue."""
    X = np.diag(lam) @ F(v)
    half = np.linalg.inv(np.linalg.cholesky(X + X.T))
    A, B = half @ C.T @ C @ half.T, half @ np.diag(lam) @ v["U"]

    def largest(u: float) -> float:
        return float(np.linalg.eigvalsh(A * np.exp(-u) + B @ B.T * np.exp(u))[-1])

    return float(minimize_scalar(largest, bounds=(-12, 12), options={"xatol": 1e-10}).fun)


def lipschitz(v: Arrays) -> Expected:
    g = constant(v, v["C"], weights(v))
    return {
        "lowest": told(least(v), ">", 0.0),
        "patterns": told(gain(v, v["C"]), "<=", g),
        "moved": told(steepest(v, v["C"]), "<=", g),
    }


def thm1(v: Arrays) -> Expected:
    bound, eye = norm2(v["U"]) / modulus(v), np.eye(len(v["W"]))
    return {
        "modulus": told(modulus(v), ">", 0.0),
        "state_moves": told(steepest(v, eye), "<=", bound),
        "patterns": told(gain(v, eye), "<=", bound),
    }


def prop2(v: Arrays) -> Expected:
    sizes, c = [], fro(inputs(v))
    for share in SHARES:
        a = share * limit(v)
        norm = norm2(np.eye(len(v["W"])) - a * F(v))
        along = np.array([fro(Z) for Z in forward(v, a, 20)])
        sizes.append(Sides(along, "<=", a * c / (1 - norm)))
    positive = fro(np.maximum(inputs(v), 0))
    return {
        "relu": flag(True),
        "modulus": told(modulus(v), ">", 0.0),
        "sizes": sizes,
        "limit": told(fro(equilibrium(v)), "<=", positive / modulus(v)),
    }


def changed(v: Arrays) -> Arrays:
    b = v.get("b", np.zeros(len(v["W"])))
    return {**v, "W": v["W"] + v["dW"], "U": v["U"] + v["dU"], "b": b + v["db"]}


def thm2(v: Arrays) -> Expected:
    there, m, m_bar = changed(v), modulus(v), modulus(changed(v))
    z, moved = equilibrium(v), fro(equilibrium(v) - equilibrium(there))
    parts = fro(v["dU"] @ v["X"]) + fro(v["db"])
    bound = norm2(v["dW"]) * fro(inputs(v)) / (m * m_bar) + parts / m_bar
    change = v["dW"] @ z + v["dU"] @ v["X"] + v["db"][:, None]
    return {
        "at_zero": Sides(0.0, "==", 0.0),
        "modulus": told(m, ">", 0.0),
        "other": told(m_bar, ">", 0.0),
        "moves": told(moved, "<=", bound),
        "sharper": told(moved, "<=", fro(change) / m_bar),
    }


def thm3(v: Arrays) -> Expected:
    z, m = equilibrium(changed(v)), modulus(v)
    moved = fro(equilibrium(v) - z)
    change = v["dW"] @ z + v["dU"] @ v["X"] + v["db"][:, None]
    found = {"modulus": told(m, ">", 0.0), "change": told(moved, "<=", fro(change) / m)}
    if not (v["dU"].any() or v["db"].any()):
        found["moves"] = told(moved, "<=", norm2(v["dW"]) * fro(z) / m)
    return found


def thm4(v: Arrays) -> Expected:
    z, m = equilibrium(changed(v)), modulus(v)
    moved = fro(equilibrium(v) - z) / fro(z)
    return {
        "modulus": told(m, ">", 0.0),
        "some": told(fro(z), ">", 0.0),
        "relative": told(moved, "<=", norm2(v["dW"]) / m),
    }


def coercive(v: Arrays, s: Any = None) -> Expected:
    k, D = norm2(v["W"]), slopes(v, equilibrium(v, s), s)
    eye = np.eye(len(D))
    least_ = min(lowest(np.linalg.inv(eye - np.diag(d) @ v["W"])) for d in D.T)
    return {
        "contracts": told(k, "<", 1.0),
        "coercive": told(least_, ">=", (1 - k) / (1 + k) ** 2),
        "sharp": told(least_, ">=", 1 / (1 + k)),
    }


def inner(v: Arrays, s: Any = None) -> float:
    """Gradient times cheap gradient in all of W, U, b, C, c0."""
    Z = equilibrium(v, s)
    R = v["C"] @ Z - v["Y"]
    p, q = gradients(v, v["C"].T @ R, Z, s)
    read = np.sum((R @ Z.T) ** 2) + np.sum(R.sum(axis=1) ** 2)
    parts = [(p @ a.T) * (q @ a.T) for a in (Z, v["X"], np.ones((1, Z.shape[1])))]
    return float(sum(part.sum() for part in parts) + read)


def fung(v: Arrays) -> Expected:
    Z, k = equilibrium(v, np.tanh), norm2(v["W"])
    D, R = slopes(v, Z, np.tanh), v["C"] @ Z - v["Y"]
    kS = fro(Z) ** 2 + 1
    kT = kS + fro(v["X"]) ** 2
    kappa = max(kT * D.max() ** 2, kS) / min(kT * D.min() ** 2, kS)
    p, _ = gradients(v, v["C"].T @ R, Z, np.tanh)
    norms = [fro(p @ Z.T), fro(p @ v["X"].T), fro(R @ Z.T)]
    return {
        "one": Sides(1.0, "==", 1.0),
        "smooth": flag(True),
        "contracts": told(k, "<", 1.0),
        "rank": told(float(D.min()), ">", 0.0),
        "kappa": told(k * kappa, "<=", 1.0),
        "moving": told(max(norms), ">", 0.0),
        "descends": told(inner(v, np.tanh), ">", 0.0),
    }


def jfb_one(v: Arrays) -> Expected:
    Z, m, L, k = equilibrium(v), modulus(v), norm2(F(v)), norm2(v["W"])
    p, q = gradients(v, v["C"].T @ (v["C"] @ Z - v["Y"]), Z)
    cosines = [a @ b / fro(a) / fro(b) for a, b in zip(p.T, q.T, strict=True)]
    j = int(np.argmin(cosines))
    on = slopes(v, Z)[:, j] > 0
    G = F(v)[np.ix_(on, on)]
    share = lowest(G) / norm2(G)
    found = {
        "covered": told(max(m, 1 - k), ">", 0.0),
        "active": told(cosines[j], ">=", share),
        "plain": told(share, ">=", m / L),
    }
    if k < 1:
        found["smooth"] = told(cosines[j], ">=", np.sqrt(1 - k**2))
    return found


def batch(v: Arrays) -> Expected:
    Z, (q, N) = equilibrium(v), v["Y"].shape
    A = np.zeros((N * q, N * q))
    for i in range(N):
        for j in range(N):
            k = Z[:, i] @ Z[:, j] + v["X"][:, i] @ v["X"][:, j] + 1
            one = {**v, "X": v["X"][:, [i] * q]}, {**v, "X": v["X"][:, [j] * q]}
            P = gradients(one[0], v["C"].T, Z[:, [i] * q])[0]
            Q = gradients(one[1], v["C"].T, Z[:, [j] * q])[1]
            A[i * q : i * q + q, j * q : j * q + q] = k * P.T @ Q
    low = lowest(A)
    found = {
        "certificate": told(low, ">", 0.0),
        "some": told(fro(v["C"] @ Z - v["Y"]), ">", 0.0),
        "descends": told(inner(v), ">", 0.0),
    }
    return found if low > 0 else {**found, "ascends": told(low, "<", 0.0)}


def robust(v: Arrays) -> Expected:
    """Of two outputs: the margin at 0.999 of the radius, against the steepest direction."""
    Z = equilibrium(v)
    D = np.diag(slopes(v, Z)[:, 0])
    J = np.linalg.inv(np.eye(len(D)) - D @ v["W"]) @ D @ v["U"]
    y = (v["C"] @ Z)[:, 0]
    k = int(np.argmax(y))
    e, margin = v["C"][k] - v["C"][1 - k], y[k] - y[1 - k]
    H = (v["W"] @ Z + inputs(v))[:, 0]
    rho = (np.abs(H) / np.linalg.norm(v["W"] @ J + v["U"], axis=1)).min()
    G, g = fro(e @ J), constant(v, e[None, :], weights(v))
    radius = margin / G if margin <= rho * G else rho + (margin - rho * G) / g
    X = v["X"] - 0.999 * radius * (e @ J)[:, None] / G
    there = v["C"] @ equilibrium({**v, "X": X})
    return {
        "lowest": told(least(v), ">", 0.0),
        "classes": Sides(2.0, ">=", 2.0),
        # A radius that is certified is a little smaller.
        "attacked": Sides(float(there[k, 0] - there[1 - k, 0]), ">", 0.0, within=1e-4),
    }


def _on(
    id_: str, v: Arrays, expected: Callable[[], Expected], label: str = "", **more: Any
) -> Instance:
    fields = more.pop("fields", {})
    return Instance(id_, lambda: problem(v, **fields), expected, label=label, **more)


TANH_FIELDS = {"activation": "tanh"}
INSTANCES = [
    _on("winston2020/fb", GENTLE, lambda: winston_fb(GENTLE)),
    _on("pabbaraju2021/fb", GENTLE, lambda: pabbaraju_fb(GENTLE, None)),
    _on(
        "pabbaraju2021/fb",
        I2,
        lambda: pabbaraju_fb(I2, 1.0),
        "I2",
        edition="printed",
        outcome="refuted",
    ),
    _on(
        "pabbaraju2021/fb",
        MINUS_TWO,
        lambda: pabbaraju_fb(MINUS_TWO, 1.0, np.tanh),
        "tanh",
        edition="printed",
        outcome="refuted",
        fields=TANH_FIELDS,
    ),
    _on("giselsson2017/pr", GENTLE, lambda: pr(GENTLE)),
    _on("revay2020/lipschitz", GENTLE, lambda: lipschitz(GENTLE)),
    _on("revay2020/lipschitz", I3, lambda: lipschitz(I3), "I3"),
    _on("pabbaraju2021/thm1", GENTLE, lambda: thm1(GENTLE)),
    _on("pabbaraju2021/prop2", GENTLE, lambda: prop2(GENTLE)),
    _on("pabbaraju2021/thm2", CHANGED, lambda: thm2(CHANGED)),
    _on("li2026/thm3", ROUNDED, lambda: thm3(ROUNDED)),
    _on("li2026/thm3", CHANGED, lambda: thm3(CHANGED), "changed"),
    _on("li2026/thm4", ROUNDED, lambda: thm4(ROUNDED)),
    _on(
        "li2026/thm2",
        ROUNDED,
        lambda: {
            "modulus": told(
                modulus(changed(ROUNDED)), ">=", modulus(ROUNDED) - norm2(ROUNDED["dW"])
            )
        },
    ),
    _on(
        "li2026/converges",
        GENTLE,
        lambda: {"modulus": told(modulus(GENTLE), ">", 0.0), "one": told(minors(GENTLE), ">", 0.0)},
    ),
    _on(
        "li2026/converges",
        I3,
        lambda: {"modulus": told(-4.0, ">", 0.0), "one": told(1.0, ">", 0.0)},
        "I3",
        edition="printed",
        outcome="refuted",
    ),
    _on("fung2022/coercive", PAIR, lambda: coercive(PAIR)),
    _on("fung2022/coercive", TANH, lambda: coercive(TANH, np.tanh), "tanh", fields=TANH_FIELDS),
    _on("fung2022/thm", TANH, lambda: fung(TANH), fields=TANH_FIELDS),
    _on("jfb/one", PAIR, lambda: jfb_one(PAIR)),
    _on("jfb/batch", ONE_OUTPUT, lambda: batch(ONE_OUTPUT)),
    _on("jfb/batch", J1, lambda: batch(J1), "J1", outcome="not applicable"),
    _on("robust/radius", GENTLE, lambda: robust(GENTLE)),
    _on("robust/radius", I1, lambda: robust(I1), "I1"),
]
