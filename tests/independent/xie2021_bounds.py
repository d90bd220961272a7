"""Xie et al. 2021, appendix G.1: gradients and bounds on the state (Lemmas 11-19)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .harness import Noise
from .xie2021_net import (
    IDENTITY,
    RELU,
    SOFTPLUS,
    TANH,
    Array,
    Beyond,
    Net,
    Params,
    Potential,
    Sam,
    arrays,
    claim,
    distance,
    fro,
    held,
    least_squares,
    mix,
    norm2,
    stream,
)


@dataclass(frozen=True)
class Bounds:
    """Section 5 of the specification, on the ball of radius rho."""

    net: Net
    rho: float = 0.0

    @property
    def aK(self) -> float:
        return self.net.alpha * (self.net.K or 1)

    @property
    def width(self) -> int:
        return max(len(W) for W in self.net.weights)

    @property
    def s0(self) -> float:
        return float(self.net.s.value(np.zeros(())))

    @property
    def B_Ub(self) -> float:
        v, layers = self.net.v, range(1, self.net.L + 1)
        return max(norm2(v[f"{x}{i}"]) for x in "Ub" for i in layers) + self.rho

    @property
    def B_L(self) -> float:
        return norm2(self.net.v["Wo"]) + self.rho

    @property
    def drive(self) -> float:
        """sqrt(n N) |s(0)| + B_Ub (|X|_F + sqrt N)."""
        zero = np.sqrt(self.width * self.net.N) * abs(self.s0)
        return zero + self.B_Ub * (fro(self.net.x) + np.sqrt(self.net.N))

    @property
    def B_z(self) -> float:
        """|Z^0|_F + a K L (sqrt(n N) |s(0)| + B_Ub (|X|_F + sqrt N))."""
        return fro(self.net.v["Z0"]) + self.aK * self.net.L * self.drive

    @property
    def C(self) -> float:
        return self.B_z + self.drive

    @property
    def c_A(self) -> float:
        """sqrt(B_z^2 + ||X||^2 + N)."""
        return float(np.sqrt(self.B_z**2 + norm2(self.net.x) ** 2 + self.net.N))

    @property
    def B_J(self) -> float:
        """a K sqrt(L) (C + c_A)."""
        return float(self.aK * np.sqrt(self.net.L) * (self.C + self.c_A))

    @property
    def C_J(self) -> float:
        """a K L (L_sigma (B_J + c_A)^2 + 4 B_J + 2 c_A)."""
        bent = self.net.s.curvature * (self.B_J + self.c_A) ** 2
        return self.aK * self.net.L * (bent + 4 * self.B_J + 2 * self.c_A)

    def Q1(self, r: float) -> float:
        """B_z^2 + B_L^2 B_J^2 + (2 B_J + B_L C_J) r."""
        flat = self.B_z**2 + (self.B_L * self.B_J) ** 2
        return flat + (2 * self.B_J + self.B_L * self.C_J) * r


# Lemma 11.


def printed_gradient(net: Net) -> Params:
    """(16) as printed: no 1 - beta before A(k, l+1)."""
    size = net.m * net.N
    total = {name: np.zeros((size, net.v[name].size)) for name in net.names}
    for k, seen in enumerate(net.passes, start=1):
        after = np.eye(size)
        for q in range(k + 1, len(net.passes) + 1):
            after = step_jacobian(net, q) @ after
        for i, one in enumerate(seen, start=1):
            later = np.eye(size)
            for j in range(i + 1, net.L + 1):
                later = net.through(j, seen[j - 1]) @ later
            for letter, part in net.local(i, one).items():
                total["W0" if letter == "W0" else f"{letter}{i}"] += after @ later @ part
    return net.pulled_back(total)


def step_jacobian(net: Net, k: int) -> Array:
    """beta_k V + (1 - beta_k) A(k, 1)."""
    whole = np.eye(net.m * net.N)
    for i, one in enumerate(net.passes[k - 1], start=1):
        whole = net.through(i, one) @ whole
    if net.sam is None:
        return whole
    beta, lambda_ = net.sam.at(k)
    return beta * net.Vs(lambda_, net.passes[k - 1][0].Z) + (1 - beta) * whole


def lem11(net: Net, printed: bool = False) -> dict[str, Any]:
    """One number for each parameter of the layers: the form (16), (17) against the gradient."""
    out: dict[str, Any] = {"unrolled": claim(float(net.K is None), "==", 0.0)}
    sizes = {name: fro(net.gradient[name]) for name in net.names[:-1]}
    if net.K is None:
        return out
    if not printed:
        return {**out, "agrees": [Noise(0, size) for size in sizes.values()]}
    other = printed_gradient(net)
    off = {name: fro(other[name] - net.gradient[name]) for name in sizes}
    return {
        **out,
        "agrees": [
            Beyond(off[name], size) if off[name] > 1e-9 else Noise(0, size)
            for name, size in sizes.items()
        ],
    }


SHAPES = arrays(31, 3, (4, 2), 5, 2, 2, norms=(0.9, 0.7))
R = least_squares(np.array([[0.5, -0.2, 0.1], [0.3, 0.6, -0.4]]), np.zeros(2))
SHIFTED = least_squares(R.A, np.array([0.4, -0.7]))
PULL = Sam(0.4, 0.3, 0.45, 0.2, 0.35, R)
OUTPUT = Sam(0.4, 0.3, 0.35, 0.2, 0.35)
PLAIN = Net(SHAPES, 0.3, TANH, K=3)
PULLED = replace(PLAIN, sam=PULL)
MOVED = replace(PLAIN, sam=OUTPUT)
BENT = replace(PLAIN, sam=replace(PULL, R=Potential(mix(0.4), 0.8, np.zeros(3))))
IMPLICIT = replace(PLAIN, K=None)
SOFT = Net(arrays(32, 2, (4, 3), 2, 1, 5, norms=(0.9, 0.7)), 0.35, SOFTPLUS, K=2)
BIASED = Net(arrays(33, 3, (2, 4), 2, 2, 2, norms=(0.6, 0.8), bias=3.0), 0.3, mix(0.3), K=4)
WIDE = Net(arrays(34, 3, (2, 4), 2, 2, 2, norms=(0.6, 1.1)), 0.3, TANH, K=2)

GRADIENTS = [
    held("lem11", PLAIN, lambda: lem11(PLAIN)),
    held("lem11", PULLED, lambda: lem11(PULLED), label="sam"),
    held("lem11", MOVED, lambda: lem11(MOVED), label="output"),
    held("lem11", BENT, lambda: lem11(BENT), label="potential"),
    held("lem11", IMPLICIT, lambda: lem11(IMPLICIT), outcome="not applicable", label="implicit"),
    *(
        held(
            "lem11",
            net,
            lambda net=net: lem11(net, printed=True),
            edition="printed",
            outcome=outcome,
            label=label,
        )
        for label, net, outcome in (
            ("plain", PLAIN, "confirmed"),
            ("sam", PULLED, "refuted"),
        )
    ),
]


# Lemmas 12, 14 with (20), and 18, and the derivative of the state.


def setting(net: Net) -> dict[str, Any]:
    """Nonexpansive layers, Z^K, and a SAM step with S(0) = 0 and ||S'|| <= 1."""
    out = {"layers are nonexpansive": net.nonexpansive}
    out["unrolled"] = claim(float(net.K is None), "==", 0.0)
    if net.sam is not None:
        out["centred"] = claim(float(np.abs(net.R.c).max()), "==", 0.0)
        out["gentle"] = claim(net.sam.gamma * (net.R.L_z + net.sam.lambda_), "<=", 2.0)
    return out


def lem12(net: Net) -> dict[str, Any]:
    sizes = [fro(one.Z) for seen in net.passes for one in seen] + [fro(net.Z)]
    zero = net.blocks(np.zeros((net.m, net.N)))[:-1]
    star = max(fro(Z) for Z in (*net.states, *zero))
    return {
        **setting(net),
        "bound": claim(max(sizes), "<=", Bounds(net).B_z),
        "inner": claim(max(sizes), "<=", 3 * star),
    }


def lem14(net: Net, printed: bool = False) -> dict[str, Any]:
    """sqrt(N n) |s(0)| + B_z + B_Ub (|X|_F + sqrt N); printed with sqrt(m n) s(0)."""
    largest, b = max(fro(one.G) for seen in net.passes for one in seen), Bounds(net)
    rest = b.B_z + b.B_Ub * (fro(net.v["X"]) + np.sqrt(net.N))
    zero = np.sqrt((net.m if printed else net.N) * b.width) * b.s0
    name = "printed_bound" if printed else "bound"
    return {**setting(net), name: claim(largest, "<=", zero + rest)}


def eq20(net: Net) -> dict[str, Any]:
    """(20): a (C + B_z), a |X|_F and a sqrt N."""
    sizes: dict[str, list[float]] = {"W": [], "U": [], "b": []}
    for seen in net.passes:
        for i, one in enumerate(seen, start=1):
            for letter, part in net.local(i, one).items():
                sizes[letter].append(norm2(part))
    a, b = net.alpha, Bounds(net)
    after, products = np.eye(net.m * net.N), []
    for k in range(len(net.passes), 0, -1):
        after = after @ step_jacobian(net, k)
        products.append(norm2(after))
    layers = [norm2(A) for seen in net.passes for A in suffixes(net, seen)]
    return {
        **setting(net),
        "factors": claim(max(layers), "<=", 1.0),
        "products": claim(max(products), "<=", 1.0),
        "weights": claim(max(sizes["W"]), "<=", a * (b.C + b.B_z)),
        "inputs": claim(max(sizes["U"]), "<=", a * fro(net.v["X"])),
        "biases": claim(max(sizes["b"]), "<=", a * np.sqrt(net.N)),
    }


def jacobian(net: Net) -> dict[str, Any]:
    layers = np.hstack([net.dZ[name] for name in net.layer_names])
    return {**setting(net), "bound": claim(norm2(layers), "<=", Bounds(net).B_J)}


def lem18(net: Net) -> dict[str, Any]:
    """2 g B_L B_z sum_k beta_k for R = |W_o z|^2/2 and g B_L^2 <= 1."""
    sam, b = net.sam, Bounds(net)
    own = sam is not None and sam.R is None
    out = {**setting(net), "output": claim(float(own), "==", 1.0)}
    if sam is None:
        return out
    out["small"] = claim(sam.gamma * b.B_L**2, "<=", 1.0)
    if own:
        total = sum(sam.at(k)[0] for k in range(1, (net.K or 1) + 1))
        right = 2 * sam.gamma * b.B_L * b.B_z * total
        out["bound"] = claim(norm2(net.dZ["Wo"]), "<=", right)
        slope, r = fro(net.gradient["Wo"]), fro(net.residual)
        out["sharper"] = claim(slope, "<=", (right * b.B_L + b.B_z) * r)
        out["gradient"] = claim(slope, "<=", 3 * (net.K or 1) * b.B_z * r)
    return out


OFF_CENTRE = replace(PLAIN, sam=replace(PULL, R=SHIFTED))
HARSH = replace(PLAIN, sam=replace(PULL, gamma=4.7))
LARGE = replace(PLAIN, sam=replace(OUTPUT, gamma=1.9 / norm2(SHAPES["Wo"]) ** 2))
EVERY = (lem12, lem14, eq20, jacobian)
OUT = "not applicable"

STATES = [
    *(
        held(
            rule.__name__,
            net,
            lambda rule=rule, net=net: rule(net),
            outcome=outcome,
            label=label,
        )
        for rule in EVERY
        for label, net, outcome in (
            ("plain", PLAIN, "confirmed"),
            ("sam", PULLED, "confirmed"),
            ("potential", BENT, "confirmed"),
            ("softplus", SOFT, "confirmed"),
            ("biased", BIASED, "confirmed"),
            ("expansive", WIDE, OUT),
            ("centre", OFF_CENTRE, OUT),
            ("harsh", HARSH, OUT),
        )
    ),
    *(
        held(
            rule.__name__,
            IMPLICIT,
            lambda rule=rule: rule(IMPLICIT),
            outcome=OUT,
            label="implicit",
        )
        for rule in EVERY
    ),
    *(
        held(
            "lem14",
            net,
            lambda net=net: lem14(net, printed=True),
            edition="printed",
            label=str(net.m),
        )
        for net in (SOFT, PLAIN)
    ),
    *(
        held("lem18", net, lambda net=net: lem18(net), outcome=outcome, label=label)
        for label, net, outcome in (
            ("output", MOVED, "confirmed"),
            ("large", LARGE, OUT),
            ("other", PULLED, OUT),
            ("plain", PLAIN, OUT),
        )
    ),
]


# Lemma 16.


def factors(net: Net) -> list[float]:
    """c_l = a max(0, sum_k (1 - beta_k) (kappa sigma_min(W_l) - ||W_l|| e_kl)) with
    e_kl = a (L - l) + sum_{q > k} (beta_q g (L_z + lambda_q) + (1 - beta_q) a L)."""
    a, L, K = net.alpha, net.L, net.K or 1
    weights = [(0.0, 0.0) if net.sam is None else net.sam.at(k) for k in range(1, K + 1)]
    pull = [0.0 if net.sam is None else net.sam.gamma * (net.R.L_z + w[1]) for w in weights]
    each = [w[0] * v + (1 - w[0]) * a * L for w, v in zip(weights, pull, strict=True)]
    out = []
    for i, W in enumerate(net.weights, start=1):
        sigma = np.linalg.svd(W)[1][net.m - 1]
        parts = [
            (1 - weights[k][0])
            * (net.s.kappa * sigma - norm2(W) * (a * (L - i) + sum(each[k + 1 :])))
            for k in range(K)
        ]
        out.append(a * max(0.0, sum(parts)))
    return out


def lem16(net: Net, printed: bool = False) -> dict[str, Any]:
    """(23); corrected: |gradient|^2 >= 2 lambda_min(J J^T) loss, and the biases for N = 1."""
    by_biases = sum(fro(net.gradient[f"b{i}"]) ** 2 for i in range(1, net.L + 1))
    r2, K, a = 2 * net.loss, net.K or 1, net.alpha
    if printed:
        sigma_m = min(np.linalg.svd(W)[1][-1] for W in net.weights)
        right = (K * a * net.s.kappa * sigma_m * net.sigma_o) ** 2 * net.L * net.N * r2
        given = {
            "slopes": claim(net.s.kappa, ">", 0),
            "weights": claim(sigma_m, ">", 0),
            "short": claim(a * K * net.L, "<", 1),
            "layers are nonexpansive": net.nonexpansive,
            "unrolled": claim(float(net.K is None), "==", 0.0),
            "printed_bound": claim(by_biases, ">=", right),
        }
        if net.sam is None:
            return given
        return given | {"gentle": claim(net.sam.gamma * (2 * net.R.L_z + 1), "<", 1)}
    out: dict[str, Any] = {}
    mu = float(np.linalg.svd(net.J)[1][-1]) ** 2
    if net.v["Y"].size > 1:
        out["polyak"] = claim(fro(net.slope) ** 2, ">=", mu * r2)
    if net.m >= net.N and (net.sam is None or net.sam.R is not None):
        out["features"] = claim(mu, ">=", net.sigma_Z**2)
    wide = all(len(W) >= net.m for W in net.weights) and net.norm_W <= 1
    if net.N == 1 and wide and net.K is not None:
        right = net.sigma_o**2 * sum(c**2 for c in factors(net)) * r2
        out["biases"] = claim(by_biases, ">=", right)
    return out


def steady(
    seed: int,
    N: int,
    alpha: float,
    K: int,
    k: float = 0.9,
    dy: int = 2,
    L: int = 2,
    sam: Any = None,
) -> Net:
    """Weights with singular values between 0.8 and 0.95."""
    v = arrays(seed, 3, (4, 3, 5)[:L], 2, dy, N)
    for i in range(1, L + 1):
        U, sigma, Vt = np.linalg.svd(v[f"W{i}"], full_matrices=False)
        v[f"W{i}"] = U @ np.diag(np.linspace(0.95, 0.8, len(sigma))) @ Vt
    return Net(v, alpha, mix(k), K=K, sam=sam)


SOFT_PULL = Sam(0.3, 0.2, 0.1, 0.5, 0.4, distance(0.7, np.array([0.3, -0.4, 0.5])))
ONE = steady(41, 1, 0.07, 3)
ONE_SAM = steady(42, 1, 0.06, 3, sam=SOFT_PULL)
DEEPER = steady(43, 1, 0.11, 2, L=3)
LONG = steady(44, 1, 0.3, 4)
THREE = steady(45, 3, 0.1, 3)
MANY = steady(46, 4, 0.3, 3, k=0.4)
SINGLE = steady(47, 1, 0.07, 2, dy=1)
TALL = steady(48, 2, 0.07, 2, dy=4)
THREE_MOVED = replace(THREE, sam=replace(OUTPUT, gamma=0.2))

BELOW = [
    *(
        held("lem16", net, lambda net=net: lem16(net), label=label)
        for label, net in (
            ("one", ONE),
            ("one sam", ONE_SAM),
            ("deeper", DEEPER),
            ("long", LONG),
            ("three", THREE),
            ("many", MANY),
            ("single", SINGLE),
            ("output", THREE_MOVED),
            ("implicit", replace(ONE, K=None)),
            ("expansive", ONE.at({"W1": 1.2 * ONE.v["W1"]})),
        )
    ),
    *(
        held(
            "lem16",
            net,
            lambda net=net: lem16(net, printed=True),
            edition="printed",
            outcome=outcome,
            label=label,
        )
        for label, net, outcome in (
            ("one", ONE, "confirmed"),
            ("three", THREE, "refuted"),
            ("long", LONG, OUT),
            ("tall", TALL, "confirmed"),
            ("tanh", replace(THREE, s=TANH), OUT),
            ("narrow", replace(BIASED, K=1), "confirmed"),
            ("sam", ONE_SAM, "confirmed"),
            ("steep", replace(ONE, sam=replace(SOFT_PULL, gamma=0.9)), OUT),
            ("implicit", replace(ONE, K=None), OUT),
        )
    ),
]


# Lemma 19.


@dataclass(frozen=True)
class Constants:
    """(30); what is not given is twice the value at the start."""

    net: Net
    fixed: dict[str, float]

    @property
    def norm_Ub(self) -> float:
        return Bounds(self.net).B_Ub

    @property
    def norm_X(self) -> float:
        return max(fro(self.net.x), float(np.sqrt(self.net.N)))

    @property
    def L_g(self) -> float:
        """At least 1; of g(W_0 x_0), ||X_0||_2."""
        return 1.0 if self.net.extractor is None else max(1.0, norm2(self.net.v["X"]))

    @property
    def B_Ub(self) -> float:
        return self.fixed.get("B_Ub", 2 * self.norm_Ub)

    @property
    def B_x(self) -> float:
        return self.fixed.get("B_x", 2 * self.norm_X)

    @property
    def B_L(self) -> float:
        return self.fixed.get("B_L", 2 * norm2(self.net.v["Wo"]))

    @property
    def least(self) -> float:
        """sup |s| sqrt(n N), or k/(1-k) B_Ub (B_x + sqrt N) + sqrt(n N) for k t + (1-k) tanh t."""
        net, size = self.net, np.sqrt(Bounds(self.net).width * self.net.N)
        if np.isfinite(net.s.bound):
            return float(max(size * net.s.bound, fro(net.v["Z0"])))
        k = net.s.kappa
        if not 0 < k < 1:
            return np.inf
        fixed = k * self.B_Ub * (self.B_x + np.sqrt(net.N)) / (1 - k) + size
        return float(max(fixed, fro(net.v["Z0"])))

    @property
    def B_star(self) -> float:
        return self.fixed.get("B_star", self.least)

    @property
    def smallest(self) -> float:
        return float(min(np.linalg.svd(W)[1][-1] for W in self.net.weights))

    @property
    def sigma_m(self) -> float:
        return self.fixed.get("sigma_m", self.smallest - 1 / 4)

    @property
    def C_z(self) -> float:
        b = Bounds(self.net)
        return float(
            np.sqrt(self.net.m * b.width) * b.s0 + 6 * self.B_star + 3 * self.B_Ub * self.B_x
        )

    @property
    def B_J(self) -> float:
        net = self.net
        return float(2 * net.alpha * np.sqrt(net.L) * (net.K or 1) * self.C_z)

    @property
    def C_J(self) -> float:
        net, C_D = self.net, max(3 * self.B_star, self.B_x)
        common = net.alpha * self.B_star * net.s.curvature
        second = 2 * np.sqrt(3 * net.L) * (net.K or 1) * C_D
        return float(common * (9 * np.sqrt(net.L) * self.C_z * self.L_g + second))

    @property
    def Q0(self) -> float:
        net = self.net
        root = (net.K or 1) * net.alpha * net.s.kappa * self.sigma_m * net.sigma_o
        return root**2 * net.L * net.N / 4

    @property
    def Q1(self) -> float:
        net, root = self.net, np.sqrt(self.net.loss)
        middle = 2 * net.alpha * np.sqrt(net.L) * (net.K or 1) * self.C_z * self.B_J * self.B_L
        return float(self.C_J * root + middle * self.L_g + self.B_J * root)

    @property
    def Q2(self) -> float:
        return 10 * self.C_z * self.B_L * self.L_g / self.Q0 if self.Q0 else np.inf


def pairs(net: Net, rho: float) -> list[tuple[Net, Net]]:
    """Twelve pairs of points in the ball."""
    draw, centre, out = stream(0, "xie2021/lem19.pairs"), net.theta, []
    for _ in range(12):
        ends = []
        for _ in range(2):
            direction = draw.standard_normal(centre.size)
            step = rho * draw.uniform() * direction / np.sqrt(np.sum(direction**2))
            ends.append(net.at(net.unpacked(centre + step)))
        out.append((ends[0], ends[1]))
    return out


def kinks(net: Net) -> Any:
    """relu has one, hardtanh two."""
    return claim({"relu": 1, "hardtanh": 2}.get(str(net.s.given), 0), "==", 0)


def suffixes(net: Net, seen: list[Any]) -> list[Array]:
    """A(k,l): the products of the Jacobians of layers l..L, l = L, ..., 1."""
    out, whole = [], np.eye(net.m * net.N)
    for i in range(net.L, 0, -1):
        whole = whole @ net.through(i, seen[i - 1])
        out.append(whole)
    return out


def lem19_printed(net: Net, rho: float, star: float | None) -> dict[str, Any]:
    """(29) with L_g = 1, and B_Ub, B_x, B_L that are least on the ball."""
    plain = Constants(net, {})
    least = {"B_Ub": plain.norm_Ub + rho, "B_x": plain.norm_X, "B_L": norm2(net.v["Wo"]) + rho}
    c = Constants(net, least | ({} if star is None else {"B_star": star}))
    endless = not np.isfinite(c.least)
    out: dict[str, Any] = {"exists": claim(float(endless), "==", 0.0)}
    if endless:
        return out
    if star is not None:
        out["bounded"] = claim(c.least, "<=", star)
    found: dict[str, list[tuple[float, float]]] = {}
    a, L, K, C_D = net.alpha, net.L, net.K or 1, max(3 * c.B_star, c.B_x)
    L_s = net.s.curvature

    def see(name: str, left: float, right: float) -> None:
        found.setdefault(name, []).append((left, right))

    for x, y in pairs(net, rho):
        moved = fro(x.theta - y.theta)
        state = 2 * a * np.sqrt(L) * K * c.C_z * moved
        see("printed_state", fro(x.Z - y.Z), state)
        for one, other in zip(x.passes, y.passes, strict=True):
            for i, (p, q) in enumerate(zip(one, other, strict=True), start=1):
                own = sum(norm2(x.v[f"{s}{i}"] - y.v[f"{s}{i}"]) for s in "WUb")
                turned = float(np.abs(net.s.slope(p.A) - net.s.slope(q.A)).max())
                see("printed_slopes", turned, L_s * (C_D * own + fro(p.Z - q.Z)))
                see("printed_state", fro(p.Z - q.Z), state)
            for A, B in zip(suffixes(x, one), suffixes(y, other), strict=True):
                see("printed_factor", norm2(A - B), 4 * a * np.sqrt(L) * L_s * c.C_z * moved)
        off = norm2(np.hstack([x.dZ[name] - y.dZ[name] for name in net.names[:-1]]))
        see("printed_bound", off, c.C_J * moved)
    for name, values in found.items():
        out[name] = claim(*tightest(values))
    return out


def tightest(values: list[tuple[float, float]]) -> tuple[float, str, float]:
    left, right = max(values, key=lambda pair: pair[0] / max(pair[1], 1e-300))
    return left, "<=", right


def lem19(net: Net, rho: float, printed: bool = False, star: float | None = None) -> dict[str, Any]:
    """Changes of Z^K, of its derivative by the layers and of the gradient, over distances."""
    out: dict[str, Any] = {
        "plain": claim(float(net.K is None or net.sam is not None), "==", 0.0),
        "smooth": kinks(net),
        "inside": claim(net.norm_W + rho, "<=", 1.0),
    }
    if printed:
        return out | lem19_printed(net, rho, star)
    if net.K is None or net.sam is not None or not net.s.smooth:
        return out
    b, cut = Bounds(net, rho), net.v["Wo"].size
    found: dict[str, list[tuple[float, float]]] = {}

    def see(name: str, left: float, right: float) -> None:
        found.setdefault(name, []).append((left, right))

    for x, y in pairs(net, rho):
        moved, layers = fro(x.theta - y.theta), fro((x.theta - y.theta)[:-cut])
        see("state_bound", fro(x.Z - y.Z), b.B_J * layers)
        off = norm2(np.hstack([x.dZ[name] - y.dZ[name] for name in net.names[:-1]]))
        see("derivative_bound", off, b.C_J * layers)
        r = max(fro(x.residual), fro(y.residual)) + (b.B_L * b.B_J + b.B_z) * moved
        see("gradient_bound", fro(x.slope - y.slope), b.Q1(r) * moved)
    for name, values in found.items():
        out[name] = claim(*tightest(values))
    return out


SMALL = Net(arrays(51, 3, (2, 4), 2, 1, 2, norms=(0.6, 0.8)), 0.3, TANH, K=2)
MIXED = Net(arrays(52, 2, (3, 2), 2, 2, 3, norms=(0.6, 0.97)), 0.4, mix(0.2), K=3)
LINEAR = replace(SMALL, s=IDENTITY)


def barely_bent() -> Net:
    """k near 1 and small inputs: B* is of the order of 1, L_sigma of 1e-4."""
    v = dict(SMALL.v)
    v |= {f"{x}{i}": 1e-5 * v[f"{x}{i}"] for x in "Ub" for i in (1, 2)}
    return Net(v, 0.3, mix(0.9999), K=2)


BARELY_BENT = barely_bent()
FLAT_START = replace(SMALL, v={**SMALL.v, "Z0": 9 * SMALL.v["Z0"]})

LIPSCHITZ = [
    held("lem19", SMALL, lambda: lem19(SMALL, 0.13), constants={"rho": 0.13}),
    held("lem19", SMALL, lambda: lem19(SMALL, 0.05), label="default"),
    held("lem19", MIXED, lambda: lem19(MIXED, 0.015), label="narrow"),
    held("lem19", SOFT, lambda: lem19(SOFT, 0.05), label="softplus"),
    held(
        "lem19",
        SMALL,
        lambda: lem19(SMALL, 0.3),
        constants={"rho": 0.3},
        outcome=OUT,
        label="wide",
    ),
    *(
        held("lem19", net, lambda net=net, rho=rho: lem19(net, rho), outcome=OUT, label=label)
        for label, net, rho in (
            ("relu", replace(SMALL, s=RELU), 0.05),
            ("implicit", IMPLICIT, 0.05),
            ("sam", PULLED, 0.05),
        )
    ),
    *(
        held(
            "lem19",
            net,
            lambda net=net: lem19(net, 0.011, printed=True),
            constants={"rho": 0.011},
            edition="printed",
            outcome=outcome,
            label=label,
        )
        for label, net, outcome in (
            ("tanh", SMALL, "confirmed"),
            ("mix", MIXED, "confirmed"),
            ("start", FLAT_START, "confirmed"),
            ("linear", LINEAR, OUT),
            ("softplus", SOFT, OUT),
        )
    ),
    *(
        held(
            "lem19",
            SMALL,
            lambda star=star: lem19(SMALL, 0.011, True, star),
            constants={"rho": 0.011, "B_star": star},
            edition="printed",
            outcome=outcome,
            label=f"star {star:g}",
        )
        for star, outcome in ((9.0, "confirmed"), (0.5, OUT))
    ),
    held(
        "lem19",
        BARELY_BENT,
        lambda: lem19(BARELY_BENT, 1e-5, printed=True),
        constants={"rho": 1e-5},
        edition="printed",
        outcome="refuted",
        label="barely bent",
    ),
]

INSTANCES = [*GRADIENTS, *STATES, *BELOW, *LIPSCHITZ]
