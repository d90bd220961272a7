"""Xie et al. 2021, section 4.2: the maps that SAM mixes, and where it goes."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, pairwise
from typing import Any

import numpy as np

from .harness import Noise, Sides
from .xie2021_net import (
    FINE,
    HARDTANH,
    RELU,
    TANH,
    TIGHT,
    Array,
    Net,
    Potential,
    Remark,
    Sam,
    Unknown,
    arrays,
    claim,
    distance,
    fro,
    held,
    least_squares,
    mix,
)

# Lemma 8.


def lem8(r1: float, t1: float, r2: float, t2: float, a1: float) -> dict[str, Any]:
    """a_{k+1} = (1 - b_k) a_k + b_k r2/k^t2 with b_k = r1/(k+1)^t1, from k0 to n."""
    b, a = [0.0], [np.nan, a1]
    for k in range(1, 1 << 16):
        b.append(r1 / (k + 1) ** t1)
        a.append((1 - b[k]) * a[k] + b[k] * r2 / k**t2)
    ends = (16, 256, 4096, 16384, 65536)
    bounds = [
        claim(a[n], "<=", a[k0] * np.exp(-sum(b[k0:n])) + r2 / k0**t2) for k0, n in pairwise(ends)
    ]
    return {
        "r1_low": claim(r1, ">", 0),
        "r1_high": claim(r1, "<", 1),
        "t1_low": claim(t1, ">", 0),
        "t1_high": claim(t1, "<=", 1),
        "t2_low": claim(t2, ">", 0),
        "r2_low": claim(r2, ">", 0),
        "a1_low": claim(a1, ">=", 0),
        "bound": bounds,
        "bounded": claim(max(abs(x) for x in a[1:]), "<=", max(a1, r2)),
    }


ANY = Net(arrays(1, 2, (2,), 2, 1, 2), 0.5, TANH, K=1)
# r1, t1, r2, t2, a1.
RECURSIONS = {
    "slow": ((0.2, 0.9, 1.7, 0.4, 3.0), "confirmed"),
    "fast": ((0.7, 0.6, 0.3, 0.8, 2.0), "confirmed"),
    "growing": ((-0.02, 0.6, 0.3, 0.8, 2.0), "not applicable"),
    "large": ((1.3, 0.7, 0.6, 0.8, 2.0), "not applicable"),
    "summable": ((0.4, 1.2, 0.6, 0.8, 2.0), "not applicable"),
    "flat": ((0.01, -0.1, 0.6, 0.8, 2.0), "not applicable"),
    "disturbed": ((0.4, 0.7, 0.6, -0.1, 2.0), "not applicable"),
    "pulled": ((0.4, 0.7, -0.6, 0.8, 2.0), "not applicable"),
    "below": ((0.4, 0.7, 0.6, 0.8, -0.1), "not applicable"),
    "from zero": ((0.4, 0.7, 0.6, 0.8, 0.0), "confirmed"),
}
CONSTANTS = ("r1", "t1", "r2", "t2", "a1")

RECURRING = [
    held("lem8", ANY, lambda: lem8(0.5, 0.5, 1.0, 0.5, 1.0)),
    *(
        held(
            "lem8",
            ANY,
            lambda values=values: lem8(*values),
            constants=dict(zip(CONSTANTS, values, strict=True)),
            outcome=outcome,
            label=label,
        )
        for label, (values, outcome) in RECURSIONS.items()
    ),
]


# Lemmas 9, 10 and 13.

MATRIX = np.array([[0.5, -0.2, 0.1], [0.3, 0.6, -0.4], [-0.1, 0.2, 0.7], [0.4, 0.1, 0.3]])
R = least_squares(MATRIX, np.array([0.7, -0.3, 0.2, 0.5]))
TRACKED = Net(
    arrays(21, 3, (4, 2), 2, 1, 2, norms=(0.9, 0.8)),
    0.6,
    TANH,
    K=64,
    sam=Sam(0.3, 0.2, 1 / (2 * R.L_z), 0.3, 0.25, R),
)


def sam_net(sam: Sam | None, K: int = 8) -> Net:
    return replace(TRACKED, sam=sam, K=K)


def lem9(net: Net) -> dict[str, Any]:
    """S(x) - S(y) = V (x - y) with V = (1 - g lambda) I - g A^T A."""
    sam = net.sam
    if sam is None:
        return {"given": claim(0, "==", 1)}
    if isinstance(net.R, Potential):
        drawn = net.points("xie2021/lem9.points", 8)
        sizes = np.abs(np.concatenate([np.diag(net.Vs(sam.lambda_, Z)) for Z in drawn]))
    else:
        sizes = np.abs(np.linalg.eigvals(net.V(sam.lambda_)))
    smallest, largest = float(sizes.min()), float(sizes.max())
    return {
        "given": claim(1, "==", 1),
        "step": claim(2 * sam.gamma * net.R.L_z, "<=", 1 + TIGHT, FINE),
        "damping": claim(2 * sam.lambda_, "<=", net.R.L_z * (1 + TIGHT), FINE),
        "half": Remark(claim(smallest, ">=", 0.5)),
        "quarter": claim(smallest, ">=", 0.25 - 2 * TIGHT, FINE),
        "upper": claim(largest, "<=", 1 - sam.gamma * sam.lambda_ / 2 + 2 * TIGHT, FINE),
    }


BENT = Potential(TANH, 0.8, np.array([0.3, -0.4, 0.6]))
STEPS = {
    "potential": (Sam(0.3, 0.3, 0.6, R=BENT), "confirmed"),
    "long potential": (Sam(0.3, 0.3, 0.7, R=BENT), "not applicable"),
    "inside": (Sam(0.3, 0.17, 0.41 / R.L_z, R=R), "confirmed"),
    "near": (Sam(0.3, 0.3, 0.49 / R.L_z, R=R), "confirmed"),
    "sharp": (Sam(0.3, R.L_z / 2, 0.5 / R.L_z, R=R), "confirmed"),
    "undamped": (Sam(0.3, 0.0, 0.4, R=least_squares(np.eye(3)[:2], np.ones(2))), "confirmed"),
    "long": (Sam(0.3, 0.17, 2.3 / R.L_z, R=R), "not applicable"),
    "damped": (Sam(0.3, 0.9, 0.3 / R.L_z, R=R), "not applicable"),
    "plain": (None, "not applicable"),
}


def lem10(net: Net, convex: bool = False) -> dict[str, Any]:
    """<(I - T) a - (I - T) b, a - b> >= 0; points between fixed points are fixed."""
    drawn = net.points("xie2021/lem10.points", 128)
    products = []
    for a, b in zip(drawn[::2], drawn[1::2], strict=True):
        products.append(float(np.sum((a - b - net.T(a) + net.T(b)) * (a - b))))
    out = {"layers are nonexpansive": unit(net), "monotone": Noise(-min(products), 1.0)}
    return {**out, "convex": Noise(0, 1.0)} if convex else out


def unit(net: Net) -> Sides:
    """Assumption 2; a norm that is 1 by construction is 1."""
    norm = round(net.norm_W, 12)
    return claim(norm**2, "<=", 1 + TIGHT, FINE)


def lem13(net: Net) -> dict[str, Any]:
    """(f_l o ... o f_1 - (1 - zeta_l) I)/zeta_l is nonexpansive, zeta_l = a l/(2 + (l - 1) a)."""
    drawn, a, stretch = net.points("xie2021/lem13.points", 128), net.alpha, []
    for x, y in zip(drawn[::2], drawn[1::2], strict=True):
        for i, (u, v) in enumerate(zip(net.blocks(x), net.blocks(y), strict=True)):
            if i > 0:
                zeta = a * i / (2 + (i - 1) * a)
                stretch.append(fro((u - v) / zeta + (1 - 1 / zeta) * (x - y)) / fro(x - y))
    return {
        "layers are nonexpansive": unit(net),
        "averaged": claim(round(max(stretch), 12), "<=", 1.0),
    }


def boxes(weights: list[Array], s: Any, alpha: float, sam: Sam, K: int, N: int = 2) -> Net:
    """Orthonormal rows and no drive: the layers rest where s does."""
    v = arrays(23, weights[0].shape[1], tuple(len(W) for W in weights), 2, 1, N)
    for i, W in enumerate(weights, start=1):
        v |= {f"W{i}": W, f"U{i}": 0 * v[f"U{i}"], f"b{i}": 0 * v[f"b{i}"]}
    return Net(v, alpha, s, K=K, sam=sam)


FLAT = np.array([[0.6, 0.8, 0.0], [0.0, 0.0, 1.0]])
AWAY = distance(0.8, np.array([2.0, -1.0, 0.5]))
BOX = boxes([FLAT], HARDTANH, 0.7, Sam(0.35, 0.4, 1 / 1.6, 0.3, 0.25, AWAY), 32)
TURNED = np.array([[np.cos(0.5), np.sin(0.5)], [-np.sin(0.5), np.cos(0.5)]])
CORNER = distance(1.3, np.array([2.0, 0.9]))
TWO_BOXES = boxes(
    [np.eye(2), TURNED], HARDTANH, 0.7, Sam(0.4, 0.45, 1 / 2.6, 0.25, 0.3, CORNER), 32
)
LINE = least_squares(np.array([[1.0, 2.0]]), np.array([1.0]))
UNDECIDED_R = boxes([np.eye(2)], HARDTANH, 1.0, Sam(0.3, 0.2, 0.1, 0.3, 0.25, LINE), 8)
CONE = boxes([FLAT], RELU, 0.7, Sam(0.35, 0.4, 1 / 1.6, 0.3, 0.25, AWAY), 8)
PUSHED = replace(BOX, K=8, v={**BOX.v, "b1": np.array([0.2, -0.1])})
# A flat piece in one direction and a drive in another: what rests is not known.
TILTED = replace(BOX, K=8, v={**BOX.v, "b1": np.array([0.2, 0.0])})

MAPS = [
    *(
        held(
            "lem9",
            sam_net(sam),
            lambda sam=sam: lem9(sam_net(sam)),
            outcome=outcome,
            label=label,
        )
        for label, (sam, outcome) in STEPS.items()
    ),
    held("lem10", TRACKED, lambda: lem10(TRACKED)),
    held("lem10", BOX, lambda: lem10(BOX, convex=True), label="box"),
    held("lem10", TWO_BOXES, lambda: lem10(TWO_BOXES, convex=True), label="boxes"),
    held(
        "lem10",
        replace(CONE, s=mix(0.4)),
        lambda: lem10(replace(CONE, s=mix(0.4)), True),
        label="0",
    ),
    held("lem10", CONE, lambda: lem10(CONE, convex=True), label="cone"),
    held("lem10", TILTED, lambda: lem10(TILTED), outcome="not checked", label="tilted"),
    held("lem13", TRACKED, lambda: lem13(TRACKED)),
    held("lem13", BOX, lambda: lem13(BOX), label="box"),
]


# Theorem 4.


def resting(net: Net, k: int) -> Array:
    """The fixed point of z = beta_k S_k(z) + (1 - beta_k) T(z), by Newton."""
    assert net.sam is not None
    sam, (beta, lambda_) = net.sam, net.sam.at(k)

    def F(Z: Array) -> Array:
        S = Z - sam.gamma * (net.R.gradient(Z) + lambda_ * Z)
        return Z - beta * S - (1 - beta) * net.T(Z)

    def J(Z: Array, j: int) -> Array:
        own = slice(j * net.m, (j + 1) * net.m)
        V = net.Vs(lambda_, Z)[own, own]
        return np.eye(net.m) - beta * V - (1 - beta) * net.jacobian(Z, j)

    Z = net.states[k]
    for _ in range(100):
        Z = Z - F(Z)
    return net.newton(F, J, Z)


def polygon(rows: Array, center: Array) -> Array:
    """The point of {|rows z| <= 1} nearest to the center, among all faces and corners."""
    sides = np.vstack([rows, -rows])
    found = [center] + [center + (1 - n @ center) * n for n in sides]
    for pair in combinations(sides, 2):
        if abs(np.linalg.det(np.stack(pair))) > 1e-9:
            found.append(np.linalg.solve(np.stack(pair), np.ones(2)))
    inside = [z for z in found if (sides @ z <= 1 + 1e-12).all()]
    return min(inside, key=lambda z: fro(z - center))


def thm4_hypotheses(net: Net, bound: Any, unique: Any) -> dict[str, Any]:
    """g <= 1/(2 L_z), both weights at most eta = min(sqrt(2 L_z), 1/2, L_z/2), rho + 2 c < 1."""
    sam = net.sam
    if sam is None:
        return {"given": claim(0, "==", 1), "layers are nonexpansive": unit(net)}
    eta = min(np.sqrt(2 * net.R.L_z), 1 / 2, net.R.L_z / 2) * (1 + TIGHT)
    return {
        "given": claim(1, "==", 1),
        "layers are nonexpansive": unit(net),
        "step": claim(2 * sam.gamma * net.R.L_z, "<=", 1 + TIGHT, FINE),
        "beta": claim(sam.beta, "<=", eta, FINE),
        "damping": claim(sam.lambda_, "<=", eta, FINE),
        "positive": claim(min(sam.beta, sam.lambda_), ">", 0),
        "rho": claim(sam.rho, ">", 0),
        "c": claim(sam.c, ">", 0),
        "slow": claim(sam.rho + 2 * sam.c, "<", 1),
        "bounded": bound,
        "unique": unique,
    }


# A contraction, a bounded activation, or one fixed point and a strongly convex R.
BOUNDED = claim(0.0, "==", 0.0)
UNBOUNDED = claim(1.0, "==", 0.0)


def thm4_claims(net: Net, zbar: Array) -> dict[str, Any]:
    """Steps contract towards zbar^k by 1 - beta_k g lambda_k, and R + lambda_k |.|^2/2 is no larger
    at zbar^k than at zbar."""
    sam, K = net.sam, net.K
    assert sam is not None and K is not None
    at = [K // 2**i for i in range(5, -1, -1)]
    rests = {k: resting(net, k) for k in at}

    def moved(k: Array, _: Array) -> list[float]:
        return [fro(net.states[i] - rests[i]) for i in k]

    def allowed(k: Array, _: Array) -> list[float]:
        shrunk = [1 - np.prod(sam.at(i)) * sam.gamma for i in k]
        return [c * fro(net.states[i - 1] - rests[i]) for c, i in zip(shrunk, k, strict=True)]

    def objective(Z: Array, k: int) -> float:
        return net.R.value(Z) + sam.at(k)[1] * fro(Z) ** 2 / 2

    def tracked(k: Array, _: Array) -> list[float]:
        return [objective(rests[i], i) for i in k]

    def selected(k: Array, _: Array) -> list[float]:
        return [objective(zbar, i) for i in k]

    off = [fro(net.states[k] - zbar) for k in at]
    nearer = [
        Sides(after, "<", before, 1e-7, "holds" if after < before else "undecided")
        for before, after in pairwise(off)
    ]
    return {
        "contraction": Sides(moved, "<=", allowed),
        "selection": Sides(tracked, "<=", selected, within=1e-6),
        "nearer": nearer,
    }


# What linear programs of accuracy 1e-8 leave of a single point.
POINT = Sides(3e-8, "<=", 1e-6, within=0.99)
ALONE = claim(0.0, "<=", 1e-6)


def in_box() -> dict[str, Any]:
    """On {W^T t : |t| <= 1} the distance to a is least at t = W a, clipped."""
    zbar = FLAT.T @ np.clip(FLAT @ np.array([2.0, -1.0, 0.5]), -1, 1)
    Z = np.repeat(zbar[:, None], 2, axis=1)
    return thm4_hypotheses(BOX, BOUNDED, ALONE) | thm4_claims(BOX, Z)


def in_boxes() -> dict[str, Any]:
    zbar = polygon(np.vstack([np.eye(2), TURNED]), np.array([2.0, 0.9]))
    Z = np.repeat(zbar[:, None], 2, axis=1)
    return thm4_hypotheses(TWO_BOXES, BOUNDED, ALONE) | thm4_claims(TWO_BOXES, Z)


def contracting(net: Net) -> dict[str, Any]:
    found = thm4_hypotheses(net, BOUNDED, ALONE)
    runs = net.sam is not None and net.K is not None and net.K >= 32
    return found | (thm4_claims(net, net.equilibrium()) if runs else {})


EDGE = least_squares(np.array([[1.0, 1.0]]), np.array([2.0]))
CORNERED = boxes([np.eye(2)], HARDTANH, 1.0, Sam(0.5, 0.5, 0.25, 0.3, 0.25, EDGE), 32)
DOWN = {"b1": np.array([-1.0, -0.5])}
BESIDE = distance(1.0, np.array([0.7, -0.4]))
DROPPED = boxes([np.eye(2)], RELU, 1.0, Sam(0.5, 0.5, 0.5, 0.3, 0.25, BESIDE), 32).at(DOWN)
SIDE = least_squares(np.array([[1.0, 0.0]]), np.array([1.0]))
HALF_DROPPED = replace(DROPPED, K=8, sam=Sam(0.5, 0.5, 0.5, 0.3, 0.25, SIDE))


def cornered() -> dict[str, Any]:
    """(z_1 + z_2 - 2)^2 is least on the square at its corner, and nowhere else."""
    return thm4_hypotheses(CORNERED, BOUNDED, POINT) | thm4_claims(CORNERED, np.ones((2, 2)))


OFF_SQUARE = Potential(TANH, 1.0, np.array([1.7, 0.3]))
LOG_COSH = boxes([np.eye(2)], HARDTANH, 1.0, Sam(0.5, 0.5, 0.5, 0.3, 0.25, OFF_SQUARE), 32)
TRACKED_BENT = sam_net(Sam(0.3, 0.2, 1 / 1.6, 0.3, 0.25, BENT), 32)


def log_cosh_in_square() -> dict[str, Any]:
    """log cosh(z_1 - 1.7) + log cosh(z_2 - 0.3) is least on the square at (1, 0.3)."""
    Z = np.array([[1.0, 1.0], [0.3, 0.3]])
    return thm4_hypotheses(LOG_COSH, BOUNDED, ALONE) | thm4_claims(LOG_COSH, Z)


def dropped() -> dict[str, Any]:
    """relu(z - c) with c > 0 rests at 0 alone."""
    return thm4_hypotheses(DROPPED, BOUNDED, ALONE) | thm4_claims(DROPPED, np.zeros((2, 2)))


HALF = 1 / (2 * R.L_z)
SHORT = sam_net(Sam(0.3, 0.2, 0.7 * HALF, 0.3, 0.25, R), 64)
WEAK = distance(0.3, np.array([0.5, -0.4, 0.6]))
STEEP = distance(2.9, np.array([0.5, -0.4, 0.6]))
OUTSIDE = {
    "step": Sam(0.3, 0.2, 1.3 * HALF, 0.3, 0.25, R),
    "beta": Sam(0.31, 0.1, 1 / 0.6, 0.3, 0.25, WEAK),
    "damping": Sam(0.1, 0.55, 1 / 5.8, 0.3, 0.25, STEEP),
    "beta zero": Sam(0.0, 0.2, HALF, 0.3, 0.25, R),
    "lambda zero": Sam(0.2, 0.0, HALF, 0.3, 0.25, R),
    "rho": Sam(0.2, 0.1, HALF, 0.0, 0.25, R),
    "c": Sam(0.2, 0.1, HALF, 0.3, 0.0, R),
    "slow": Sam(0.2, 0.1, HALF, 0.37, 0.4, R),
    "given": None,
}


def spread() -> Sides:
    """{z1 + 2 z2 = 1} in the square: z1 goes from -1 to 1."""
    return Sides(2.0, "<=", 1e-6, within=1e-7, decision="violated")


LIMITS = [
    held("thm4", TRACKED, lambda: contracting(TRACKED)),
    held("thm4", SHORT, lambda: contracting(SHORT), label="a shorter step"),
    held("thm4", BOX, in_box, label="box"),
    held("thm4", TWO_BOXES, in_boxes, outcome="undecided", label="boxes"),
    *(
        held(
            "thm4",
            sam_net(sam),
            lambda sam=sam: contracting(sam_net(sam)),
            outcome="not applicable",
            label=label,
        )
        for label, sam in OUTSIDE.items()
    ),
    held(
        "thm4",
        UNDECIDED_R,
        lambda: thm4_hypotheses(UNDECIDED_R, BOUNDED, spread()),
        outcome="not applicable",
        label="line",
    ),
    held(
        "thm4",
        CONE,
        lambda: thm4_hypotheses(CONE, UNBOUNDED, ALONE),
        outcome="not applicable",
        label="cone",
    ),
    held(
        "thm4",
        PUSHED,
        lambda: thm4_hypotheses(PUSHED, BOUNDED, ALONE),
        outcome="not checked",
        label="pushed",
    ),
    held(
        "thm4",
        TILTED,
        lambda: thm4_hypotheses(TILTED, BOUNDED, Unknown("<=", 1e-6)),
        outcome="undecided",
        label="tilted",
    ),
    held("thm4", CORNERED, cornered, label="corner"),
    held("thm4", DROPPED, dropped, label="dropped"),
    held("thm4", LOG_COSH, log_cosh_in_square, label="log cosh"),
    held("thm4", TRACKED_BENT, lambda: contracting(TRACKED_BENT), label="potential"),
    held(
        "thm4",
        HALF_DROPPED,
        lambda: thm4_hypotheses(HALF_DROPPED, Unknown("==", 0.0), ALONE),
        outcome="undecided",
        label="half",
    ),
]

INSTANCES = [*RECURRING, *MAPS, *LIMITS]
