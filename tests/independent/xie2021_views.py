"""Xie et al. 2021, sections 2, 3 and 4.1: layers as proximal operators, networks as inclusions."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.optimize import nnls

from .harness import Noise, Sides
from .xie2021_net import (
    FINE,
    FINITE,
    IDENTITY,
    L1,
    RELU,
    SOFTPLUS,
    TANH,
    TIGHT,
    Activation,
    Array,
    Beyond,
    Endless,
    Net,
    Remark,
    Unknown,
    arrays,
    claim,
    distance,
    fro,
    held,
    least_squares,
    mix,
    norm2,
)

NONE = claim(0, "==", 0)


def plain(net: Net) -> Sides:
    """No last layer prox_R."""
    return claim(float(net.prox is not None), "==", 0.0)


# Lemmas 1 and 2: chains of square matrices.


def chain(ranks: tuple[int, ...], s: Activation = TANH, m: int = 3) -> Net:
    """Layers of width m whose weights have these ranks, exactly: the deficient ones are products of
    whole numbers over a power of two."""
    v = arrays(2, m, (m,) * len(ranks), 2, 2, 4)
    r = np.random.default_rng(4)
    for i, rank in enumerate(ranks, start=1):
        if rank < m:
            left, right = r.integers(-4, 5, (m, rank)), r.integers(-4, 5, (rank, m))
            v[f"W{i}"] = left @ right / 64.0
            assert np.linalg.matrix_rank(v[f"W{i}"]) == rank
    return Net(v, 1.0, s, K=1)


def lem1(net: Net) -> dict[str, Any]:
    """The output is that of W_k = V_k V_{k-1}^T."""
    return {"output": Noise(0, max(fro(W) for W in net.weights))}


def squeezed(s: Activation = TANH) -> Net:
    """Between two invertible weights one of rank 2, in whole numbers."""
    net = chain((3, 3, 3), s)
    return net.at({"W2": np.array([[1.0, 1.0, 0.0], [2.0, 2.0, 0.0], [0.0, 0.0, 1.0]])})


def obstructed() -> dict[str, Any]:
    """Outputs and derivatives span the space, so that W_2 would have to be invertible."""
    return {"obstruction": claim(np.linalg.matrix_rank(squeezed().v["W2"]), ">=", 3)}


def feedforward(net: Net) -> Array:
    """h_1 = s(U_1 x + b_1), h_l = s(W_l h_{l-1} + b_l)."""
    h = net.s.value(net.drive(1))
    for i in range(2, net.L + 1):
        h = net.s.value(net.v[f"W{i}"][:, : len(h)] @ h + net.v[f"b{i}"][:, None])
    return h


def lem2(net: Net) -> dict[str, Any]:
    h = feedforward(net)
    size = fro(net.v["Wo"][:, : len(h)] @ h)
    return {"output": Noise(0, size), "again": Noise(0, size)}


UNEVEN = Net(arrays(3, 3, (3, 4, 2), 2, 2, 2), 0.6, TANH, K=2)
TAPERED = Net(arrays(3, 4, (3, 4, 1, 2), 2, 2, 2), 0.6, SOFTPLUS, K=2)
NOT_CHECKED: dict[str, Any] = {}

CHAINS = [
    held("lem1", chain((3, 3, 3)), lambda: lem1(chain((3, 3, 3))), edition="printed"),
    held(
        "lem1",
        chain((1, 3, 3, 2)),
        lambda: lem1(chain((1, 3, 3, 2))),
        edition="printed",
        label="ends",
    ),
    held("lem1", squeezed(), obstructed, edition="printed", outcome="refuted", label="squeezed"),
    *(
        held(
            "lem1",
            net,
            lambda: NOT_CHECKED,
            edition="printed",
            outcome="not checked",
            label=label,
        )
        for label, net in (
            ("long", chain((3, 1, 3, 2, 3))),
            ("relu", squeezed(RELU)),
            ("linear", squeezed(IDENTITY)),
        )
    ),
    held("lem1", chain((3, 3, 3)), lambda: lem1(chain((3, 3, 3)))),
    held("lem1", chain((2, 1, 3)), lambda: lem1(chain((2, 1, 3))), label="singular"),
    held("lem1", squeezed(), lambda: lem1(squeezed()), label="squeezed"),
    held("lem1", UNEVEN, lambda: NOT_CHECKED, outcome="not checked", label="uneven"),
    held("lem1", TAPERED, lambda: lem1(TAPERED), label="tapered"),
    held("lem2", TAPERED, lambda: lem2(TAPERED), label="tapered"),
    held("lem2", chain((3, 3, 3)), lambda: lem2(chain((3, 3, 3)))),
    held("lem2", chain((3, 3), SOFTPLUS), lambda: lem2(chain((3, 3), SOFTPLUS)), label="softplus"),
    held("lem2", UNEVEN, lambda: NOT_CHECKED, outcome="not checked", label="uneven"),
]


# Lemma 3 and Lemma 4.


def lem3(net: Net) -> dict[str, Any]:
    """(6): the blocks are a fixed point, and iterating (6) leads to it."""
    Z = net.equilibrium()
    out: dict[str, Any] = {
        "no last proximal layer": plain(net),
        "an equilibrium was found": FINITE,
        "forward": Noise(0, fro(np.vstack(net.blocks(Z)[1:]))),
    }
    return {**out, "backward": Remark(Noise(0, fro(Z)))} if net.q < 1 else out


DEEP = Net(arrays(3, 3, (3, 4, 2), 2, 2, 2, norms=(0.7, 0.9, 0.8)), 0.6, TANH)
ROUGH = Net(arrays(13, 3, (3, 3), 2, 1, 2, norms=(0.7, 0.85)), 0.4, RELU)
STRONG = Net(arrays(16, 3, (4, 2), 2, 2, 2, norms=(1.1, 1.2)), 0.6, TANH)
REGULAR = replace(DEEP, prox=distance(0.7, np.array([0.3, -0.4, 0.5])))


def factoring(rows: int, k: int, d: int, rank: int | None = None, rank_A: int | None = None) -> Net:
    """A = W_1 (rows x k) and W = U_1 (rows x d) of given ranks."""
    v = arrays(5, k, (rows,), d, 1, 2)
    v["U1"][:, rank:] *= rank is None
    v["W1"][rank_A:] *= rank_A is None
    return Net(v, 0.5, TANH, K=1)


def lem4(net: Net, printed: bool = False) -> dict[str, Any]:
    """B has rank min(n, rank W + k - m) at most; printed, n."""
    A, W = net.v["W1"], net.v["U1"]
    (m, k), n, rank = A.shape, W.shape[1], np.linalg.matrix_rank
    out: dict[str, Any] = {
        "wide": claim(k, ">=", max(m, n)),
        "full_rows": claim(rank(A), ">=", m),
    }
    if k < max(m, n) or rank(A) < m:
        return out
    reachable = min(n, rank(W) + k - m)
    out["product"] = Noise(0, max(fro(W), 1.0))
    if printed:
        return {**out, "full": claim(reachable, ">=", n)}
    return {**out, "reached": claim(reachable, "==", reachable)}


FACTORINGS = {
    "wide": (factoring(2, 6, 3), "confirmed", "confirmed"),
    "square": (factoring(4, 4, 2), "confirmed", "confirmed"),
    "flat": (factoring(2, 4, 4, rank=1), "refuted", "confirmed"),
    "singular": (factoring(4, 4, 2, rank=1), "refuted", "confirmed"),
    "nothing": (factoring(2, 4, 3, rank=0), "refuted", "confirmed"),
    "narrow": (factoring(2, 3, 4), "not applicable", "not applicable"),
    "tall": (factoring(4, 3, 2), "not applicable", "not applicable"),
    "rows": (factoring(3, 5, 2, rank_A=2), "not applicable", "not applicable"),
}

MATRICES = [
    held("lem3", DEEP, lambda: lem3(DEEP)),
    held("lem3", STRONG, lambda: lem3(STRONG), label="strong"),
    held("lem3", ROUGH, lambda: lem3(ROUGH), label="relu"),
    held(
        "lem3",
        REGULAR,
        lambda: {"no last proximal layer": plain(REGULAR), "an equilibrium was found": FINITE},
        outcome="not applicable",
        label="prox",
    ),
    *(
        held(
            "lem4",
            net,
            lambda net=net, edition=edition: lem4(net, edition == "printed"),
            edition=edition,
            outcome=outcome,
            label=label,
        )
        for label, (net, *outcomes) in FACTORINGS.items()
        for edition, outcome in zip(("printed", "corrected"), outcomes, strict=True)
    ),
]


# Theorem 1, the remark after it, and the skip connection.


def thm1(net: Net, mu: float = 1.0, rests: bool = True) -> dict[str, Any]:
    """f(z) = (1/mu) W^T s(W z + c): Jacobians (1/mu) W^T D W, firm nonexpansiveness, envelopes."""
    drawn = net.points("xie2021/thm1.points", 128)
    out: dict[str, Any] = {"scale": [], "convex": [], "nonexpansive": [], "firm": []}
    out |= {"envelope": [], "proximal": [], "level": [], "minimiser": [], "explicit": []}
    for i, W in enumerate(net.weights, start=1):
        out["scale"].append(claim(mu * (1 + TIGHT), ">=", norm2(W) ** 2, FINE))
        spectra = [
            np.linalg.eigvalsh(net.slopes(i, Z[:, j], j) / mu)
            for Z in drawn[:8]
            for j in range(net.N)
        ]
        largest = float(np.max(spectra))
        out["convex"].append(Noise(float(np.min(spectra)), 1.0, ">="))
        out["nonexpansive"].append(claim(round(largest, 12), "<=", 1.0))
        firm = []
        for a, b in zip(drawn[::2], drawn[1::2], strict=True):
            d, df = a - b, (net.inner(i, a) - net.inner(i, b)) / mu
            firm.append(fro(df) ** 2 - float(np.sum(df * d)))
        out["firm"].append(Noise(max(firm), 1.0))
        size = fro(drawn[0]) ** 2
        out["envelope"].append(Noise(0, size))
        out["proximal"].append(Noise(0, size))
        if not rests:
            continue
        Z = fixed_point(net, i, mu)
        out["level"].append(Noise(0, 1.0))
        out["minimiser"].append(Noise(0, 1.0))
        if net.s is RELU and W.shape[0] == W.shape[1] and mu == 1:
            out["explicit"].append(Noise(fro(Z - by_nnls(net, i)), fro(Z)))
    return {name: sides for name, sides in out.items() if sides}


def fixed_point(net: Net, i: int, mu: float) -> Array:
    """z = (1/mu) W^T s(W z + c) of one layer."""

    def J(Z: Array, j: int) -> Array:
        return np.eye(net.m) - net.slopes(i, Z[:, j], j) / mu

    Z = net.v["Z0"]
    for _ in range(100):
        Z = net.inner(i, Z) / mu
    return net.newton(lambda Z: Z - net.inner(i, Z) / mu, J, Z)


def by_nnls(net: Net, i: int) -> Array:
    """z = W^T t with t >= 0 minimising <t, (I - W W^T) t>/2 - <c, t> (relu, W invertible)."""
    W = net.v[f"W{i}"]
    root = np.linalg.cholesky(np.eye(len(W)) - W @ W.T)
    columns = [nnls(root.T, np.linalg.solve(root, c))[0] for c in net.drive(i).T]
    return W.T @ np.stack(columns, axis=1)


LAYER = Net(arrays(7, 3, (4,), 2, 1, 2, norms=0.9), 0.7, TANH)
SQUARE = Net(arrays(8, 3, (3,), 2, 1, 2, norms=0.85), 0.7, RELU)
TWO = Net(arrays(9, 3, (4, 3), 2, 1, 2, norms=(0.9, 0.7)), 0.7, mix(0.3))


def well_posed(net: Net, printed: bool = False, strict: Any = None) -> dict[str, Any]:
    """One layer; |f(a) - f(b)| <= ||W||^2 |a - b|."""
    out: dict[str, Any] = {"single": claim(net.L, "==", 1), "no last proximal layer": plain(net)}
    out["an equilibrium was found"] = FINITE
    if printed:
        strictly = strict or claim(1.0, "==", 1.0)
        return {**out, "layers are nonexpansive": net.nonexpansive, "strict": strictly}
    drawn = net.points("xie2021/well-posed.points", 128)
    ratios = [
        fro(net.inner(1, a) - net.inner(1, b)) / fro(a - b)
        for a, b in zip(drawn[::2], drawn[1::2], strict=True)
    ]
    contracts = claim(net.norm_W, "<", 1.0)
    return {
        **out,
        "contracts": contracts,
        "factor": claim(max(ratios), "<=", net.norm_W**2 + TIGHT, FINE),
    }


def drifting() -> Net:
    """softplus, W W^T = I, c = U x + b up to 0.3: s(t) - t > 0 never is -0.3."""
    v = arrays(1, 2, (2,), 1, 1, 2)
    v |= {"W1": np.array([[0.0, 1.0], [-1.0, 0.0]]), "U1": np.array([[0.1], [-0.2]])}
    v |= {"X": np.array([[1.0, -1.0]]), "b1": np.array([0.2, -0.4])}
    return Net(v, 1.0, SOFTPLUS, K=1)


def without_rest() -> dict[str, Any]:
    net = drifting()
    return {
        "single": claim(1, "==", 1),
        "no last proximal layer": NONE,
        "layers are nonexpansive": Sides(1.0, "<=", 1 + TIGHT, FINE),
        "strict": claim(1, "==", 1),
        "exists": claim(-float(net.drive(1).max()), ">", 0.0),
    }


def lost(norm: float) -> Net:
    """softplus with ||W|| >= 1 and rows that are not orthonormal: no solver finds a rest."""
    v = {**drifting().v, "W1": np.diag([norm, 0.5]), "b1": np.array([0.2, 0.3])}
    return Net(v, 1.0, SOFTPLUS, K=1)


def unsolved(net: Net, printed: bool) -> dict[str, Any]:
    out = {**well_posed(net, printed), "an equilibrium was found": Endless(None, "undecided")}
    return out | {"layers are nonexpansive": Sides(1.0, "<=", 1 + TIGHT, FINE)} if printed else out


def touching() -> Net:
    """relu with ||W|| = 1 and a negative drive: z = 0 alone, though phi is not strictly convex."""
    v = arrays(1, 2, (2,), 1, 1, 2)
    v |= {"W1": np.diag([1.0, 0.5]), "U1": np.zeros((2, 1)), "b1": np.array([-1.0, -2.0])}
    return Net(v, 1.0, RELU)


def single() -> Net:
    """relu with W = 1 and c < 0: phi(u) = -c u is linear."""
    v = arrays(1, 1, (1,), 1, 1, 2)
    v |= {"W1": np.ones((1, 1)), "U1": np.zeros((1, 1)), "b1": np.array([-1.0])}
    return Net(v, 1.0, RELU)


def skip(net: Net, printed: bool = False) -> dict[str, Any]:
    """y = a f(z) + (1 - a) z has prox_{(1-a) phi}(y) = f(z), so that the gradient of M^(1-a)(y)
    + |y - z|^2/2 there is (z - f(z)) (1 - a); with the factor a it is 0."""
    drawn, a = net.points("xie2021/skip.points", 8), net.alpha
    size = max(fro(Z) for Z in drawn)
    out: dict[str, Any] = {
        "proper": claim(a, "<", 1.0),
        "layers are nonexpansive": net.nonexpansive,
    }
    layers = range(1, net.L + 1)
    if a == 1:
        return out
    if not printed:
        return {**out, "proximal": [Noise(0, size) for _ in layers]}
    lefts = [(1 - a) * max(fro(Z - net.inner(i, Z)) for Z in drawn) for i in layers]
    return {**out, "proximal": [Beyond(left, size) for left in lefts]}


SHORT_MU = 0.75


def turns() -> Net:
    """Orthogonal weights and s = id: every slope is 1."""
    v = arrays(14, 3, (3, 3), 2, 1, 2)
    v |= {f"W{i}": np.linalg.svd(v[f"W{i}"])[0] for i in (1, 2)}
    return Net(v, 0.6, IDENTITY, K=1)


TURNS = turns()
WIDE = Net(arrays(15, 3, (2,), 2, 1, 2, norms=0.85), 0.7, RELU)
LAYERS = [
    held("thm1", LAYER, lambda: thm1(LAYER)),
    held("thm1", TWO, lambda: thm1(TWO, 1.3), constants={"mu": 1.3}, label="mu"),
    held("thm1", SQUARE, lambda: thm1(SQUARE), label="relu"),
    held("thm1", WIDE, lambda: thm1(WIDE), label="wide"),
    held("thm1", TURNS, lambda: thm1(TURNS, rests=False), outcome="not checked", label="isometry"),
    held(
        "thm1",
        LAYER,
        lambda: thm1(LAYER, SHORT_MU),
        constants={"mu": SHORT_MU},
        outcome="not applicable",
        label="short",
    ),
    *(
        held("well-posed", net, lambda net=net: well_posed(net), label=str(net.s.given))
        for net in (LAYER, SQUARE)
    ),
    held("well-posed", SQUARE, lambda: well_posed(SQUARE, printed=True), edition="printed"),
    held(
        "well-posed",
        touching(),
        lambda: well_posed(touching(), printed=True, strict=Unknown("==", 1.0)),
        edition="printed",
        outcome="undecided",
        label="touching",
    ),
    held(
        "well-posed",
        single(),
        lambda: well_posed(single(), printed=True, strict=claim(0.0, "==", 1.0)),
        edition="printed",
        outcome="not applicable",
        label="single",
    ),
    held(
        "well-posed", drifting(), without_rest, edition="printed", outcome="refuted", label="none"
    ),
    held(
        "well-posed",
        lost(1.0),
        lambda: unsolved(lost(1.0), True),
        edition="printed",
        outcome="undecided",
        label="lost",
    ),
    held(
        "well-posed",
        lost(1.1),
        lambda: unsolved(lost(1.1), False),
        outcome="not applicable",
        label="lost",
    ),
    held("well-posed", TWO, lambda: well_posed(TWO), outcome="not applicable", label="two"),
    *(
        held(
            "skip",
            net,
            lambda net=net, edition=edition: skip(net, edition == "printed"),
            edition=edition,
            outcome=outcome,
            label=str(net.L) + net.s.given,
        )
        for net in (DEEP, SQUARE)
        for edition, outcome in (("printed", "refuted"), ("corrected", "confirmed"))
    ),
    held(
        "skip",
        replace(DEEP, alpha=1.0),
        lambda: skip(replace(DEEP, alpha=1.0)),
        outcome="not applicable",
        label="none",
    ),
]


# Theorem 2, Corollary 1 and Theorem 3.


def setting(net: Net) -> dict[str, Any]:
    return {
        "no last proximal layer": plain(net),
        "layers are nonexpansive": net.nonexpansive,
        "an equilibrium was found": FINITE,
    }


def thm2(net: Net) -> dict[str, Any]:
    """z_{i-1} - z_i is a subgradient of the i-th term at z_i."""
    blocks = net.blocks(net.equilibrium())
    return {**setting(net), "inclusion": [Noise(0, fro(block)) for block in blocks[1:]]}


def cor1(net: Net) -> dict[str, Any]:
    """The equilibrium of two layers minimises the sum of both envelopes and |z_1 - z_0|^2/2."""
    out = {**setting(net), "two": claim(net.L, "==", 2)}
    if net.L != 2:
        return out
    size = fro(np.vstack(net.blocks(net.equilibrium())[1:]))
    lowest = Noise(least(net), 1.0) if net.alpha == 1 else Noise(0, 1.0)
    return {**out, "stationary": [Noise(0, size), Noise(0, size)], "lowest": lowest}


def least(net: Net) -> float:
    """a = 1: the objective at the equilibrium, less the smallest one at drawn (f_1(w), f_2(v)).

    phi(f(w)) = <f(w), w> - psi(w) - |f(w)|^2/2.
    """

    def phi(i: int, w: Array) -> float:
        image, A = net.inner(i, w), net.v[f"W{i}"] @ w + net.drive(i)
        return float(np.sum(image * w) - np.sum(net.s.primitive(A)) - np.sum(image**2) / 2)

    def objective(w: Array, v: Array) -> float:
        return phi(1, w) + phi(2, v) + fro(net.inner(1, w) - net.inner(2, v)) ** 2 / 2

    drawn, Z = net.points("xie2021/cor1.points", 128), net.equilibrium()
    values = [objective(w, v) for w, v in zip(drawn[::2], drawn[1::2], strict=True)]
    return objective(Z, net.inner(1, Z)) - min(values)


def wide(net: Net) -> Array:
    """L y = sum_l W_l^T s(W_l y + c_l), by Newton."""
    layers = range(1, net.L + 1)

    def F(Y: Array) -> Array:
        return net.L * Y - sum(net.inner(i, Y) for i in layers)

    def J(Y: Array, j: int) -> Array:
        return net.L * np.eye(net.m) - sum(net.slopes(i, Y[:, j], j) for i in layers)

    Y = net.v["Z0"]
    for _ in range(200):
        Y = Y - F(Y) / net.L
    return net.newton(F, J, Y)


def first_order(net: Net, Y: Array) -> Array:
    """v = -(DG)^-1 sum_{i > j} Dg_i g_j with g_l = W_l^T s(W_l . + c_l) - id."""
    layers, columns = range(1, net.L + 1), []
    g = [net.inner(i, Y) - Y for i in layers]
    for n in range(net.N):
        D = [net.slopes(i, Y[:, n], n) - np.eye(net.m) for i in layers]
        parts = (D[i] @ g[j][:, n] for i in range(net.L) for j in range(i))
        right = sum(parts, start=np.zeros(net.m))
        columns.append(-np.linalg.solve(sum(D), right))
    return np.stack(columns, axis=1)


def thm3(net: Net) -> dict[str, Any]:
    """|z_i - y*| <= e + D_L with D_l = D_{l-1} + alpha (|g_l| + D_{l-1}), S = sum_l D_{l-1} and
    e the smaller of alpha S/(1 - q) and S/(L - ||stack||^2 - sum_l ((1 + alpha)^(l-1) - 1)) of the
    weights stacked, the second where it is positive; and (z_0 - y*)/alpha = v + O(alpha)."""
    smallest = min(norm2(W) for W in net.weights)
    out: dict[str, Any] = {"strict": claim(smallest, "<", 1.0)}
    out["layers are nonexpansive"] = net.nonexpansive
    Y = wide(net)
    out |= {"objective": Noise(0, 1.0), "limit": []}
    for alpha in (0.1, 0.01, 0.001):
        deep = replace(net, alpha=alpha)
        blocks = deep.blocks(deep.equilibrium(Y))[:-1]
        D = [0.0]
        for i in range(1, net.L + 1):
            D.append(D[-1] + alpha * (fro(net.inner(i, Y) - Y) + D[-1]))
        turned = sum((1 + alpha) ** i - 1 for i in range(net.L))
        modulus = net.L - norm2(np.vstack(net.weights)) ** 2 - turned
        shares = [alpha / (1 - deep.q)] + ([1 / modulus] if modulus > 0 else [])
        right = min(shares) * sum(D[:-1]) + D[-1]
        off = max(fro(block - Y) for block in blocks)
        # For one layer the limit is the equilibrium itself.
        out["limit"].append(Noise(0, fro(Y)) if net.L == 1 else claim(off, "<=", right))
    if net.s.smooth:
        errors = []
        for alpha in (1 / 1024, 1 / 256):
            Z = replace(net, alpha=alpha).equilibrium(Y)
            errors.append(fro((Z - Y) / alpha - first_order(net, Y)))
        slope = claim(errors[0], "<=", 0.5 * errors[1])
        out["slope"] = Remark(Sides(0, "<=", 0, decision="undecided") if net.L == 1 else slope)
    return out


PAIR = Net(arrays(12, 3, (4, 2), 2, 1, 2, norms=(0.7, 0.85)), 0.6, TANH)
EXPANSIVE = Net(arrays(12, 3, (4, 2), 2, 1, 2, norms=(0.7, 1.02)), 0.6, TANH)

NETWORKS = [
    held("thm2", DEEP, lambda: thm2(DEEP)),
    held("thm2", replace(DEEP, alpha=1.0), lambda: thm2(replace(DEEP, alpha=1.0)), label="no skip"),
    held("thm2", ROUGH, lambda: thm2(ROUGH), label="relu"),
    held("thm2", EXPANSIVE, lambda: thm2(EXPANSIVE), outcome="not applicable", label="expansive"),
    held("cor1", PAIR, lambda: cor1(PAIR)),
    held("cor1", ROUGH, lambda: cor1(ROUGH), label="relu"),
    held("cor1", DEEP, lambda: cor1(DEEP), outcome="not applicable", label="three"),
    held(
        "cor1",
        replace(PAIR, alpha=1.0),
        lambda: cor1(replace(PAIR, alpha=1.0)),
        label="no skip",
    ),
    held("thm3", DEEP, lambda: thm3(DEEP)),
    held("thm3", ROUGH, lambda: thm3(ROUGH), label="relu"),
    held("thm3", LAYER, lambda: thm3(LAYER), label="one"),
    held("thm3", PAIR, lambda: thm3(PAIR), label="pair"),
]


# Section 4.1.


def preimage(net: Net, i: int, Y: Array) -> Array:
    """w with a f(w) + (1 - a) w = y; w - y is the gradient of a M_phi^(1-a) at y."""
    a = net.alpha

    def J(W: Array, j: int) -> Array:
        return a * net.slopes(i, W[:, j], j) + (1 - a) * np.eye(net.m)

    return net.newton(lambda W: net.f(i, W) - Y, J, Y)


def nearest(R: Any, Z: Array, wanted: Array) -> Array:
    """The subgradient of R at Z that is nearest to the wanted one."""
    if hasattr(R, "nearest"):
        return R.nearest(Z, wanted)
    if not isinstance(R, L1):
        return R.gradient(Z)
    inside = np.minimum(np.maximum(wanted, -R.weight), R.weight)
    return np.where(Z == 0, inside, R.weight * np.sign(Z))


def smoothed(net: Net, Z: Array) -> float:
    """a M_phi^1(z) = a (|z|^2/2 - psi(z)) of one layer."""
    A = net.v["W1"] @ Z + net.drive(1)
    return net.alpha * (fro(Z) ** 2 / 2 - float(np.sum(net.s.primitive(A))))


def sec41(net: Net, printed: bool = False) -> dict[str, Any]:
    """Printed: R joins the last of L blocks. Corrected: it is a block of its own."""
    R, Z = net.prox, net.equilibrium()
    out: dict[str, Any] = {
        "regular": claim(1, "==", 1),
        "layers are nonexpansive": net.nonexpansive,
        "an equilibrium was found": FINITE,
    }
    if printed:
        wanted = net.blocks(Z)[-2] - preimage(net, net.L, Z)
        left = fro(wanted - nearest(R, Z, wanted))
        return {**out, "printed_block": Beyond(left, fro(Z))}
    out["inclusion"] = [Noise(0, fro(block)) for block in net.blocks(Z)[1:]]
    out["extra"] = Noise(0, fro(net.T(Z)))
    drawn = [R.prox(u) for u in net.points("xie2021/sec4.1.points", 64)]
    planes = [R.value(Z) + float(np.sum((net.T(Z) - Z) * (u - Z))) - R.value(u) for u in drawn]
    out["supports"] = Noise(max(planes), 1.0)
    if net.L > 1:
        return out
    here = smoothed(net, Z) + R.value(Z)
    out["lowest"] = Noise(here - min(smoothed(net, u) + R.value(u) for u in drawn), 1.0)
    if hasattr(R, "gradient"):
        out["objective"] = Noise(0, fro(Z))
    if "weight" in R.given:
        given = {**R.given, "weight": 2 * R.given["weight"]}
        if hasattr(R, "twice"):
            double = R.twice()
        elif isinstance(R, L1):
            double = L1(given["weight"])
        else:
            double = distance(given["weight"], given["center"])
        twice = replace(net, prox=double).equilibrium()
        least = R.value(twice)
        out["shrinks"] = claim(least, "<=", R.value(Z)) if Z.any() else Noise(least, 1.0)
    return out


CENTER = np.array([0.3, -0.4, 0.5])
FREE = least_squares(np.array([[0.5, -0.2, 0.1], [0.3, 0.6, -0.4]]), np.array([0.7, -0.3]))
ONTO = arrays(17, 3, (4,), 2, 1, 2, norms=0.9)
REGULARS = {
    "deep": REGULAR,
    "deep l1": replace(DEEP, prox=L1(0.11)),
    "distance": replace(LAYER, prox=distance(0.3, CENTER)),
    "l1": replace(LAYER, prox=L1(0.15)),
    "no skip": Net(ONTO, 1.0, mix(0.3), prox=distance(0.4, CENTER)),
    "l1 zero": replace(LAYER, prox=L1(5.0)),
    "matrix": replace(SQUARE, prox=FREE),
}
NO_R = Net(arrays(3, 3, (4,), 2, 2, 2), 0.6, TANH)

REGULARISED = [
    held(
        "sec4.1",
        net,
        lambda net=net, printed=printed: sec41(net, printed),
        edition="printed" if printed else "corrected",
        outcome="refuted" if printed else "confirmed",
        label=label,
    )
    for label, net in REGULARS.items()
    for printed in (True, False)
    if not printed or (net.s is not RELU and label != "l1 zero")
] + [
    held(
        "sec4.1",
        NO_R,
        lambda: {
            "regular": claim(0, "==", 1),
            "layers are nonexpansive": NO_R.nonexpansive,
            "an equilibrium was found": FINITE,
        },
        outcome="not applicable",
        label="none",
    )
]

INSTANCES = [*CHAINS, *MATRICES, *LAYERS, *NETWORKS, *REGULARISED]
