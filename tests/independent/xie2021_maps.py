"""Xie et al. 2021: Lemmas 5-7 and 15, 17, (15), (19), the extractor, and explicit last layers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import combinations, pairwise
from typing import Any

import numpy as np

from .harness import Noise, Sides
from .xie2021_bounds import BIASED, IMPLICIT, MOVED, OUTPUT, PLAIN, PULLED, SOFT, Bounds, setting
from .xie2021_bounds import WIDE as TOO_WIDE
from .xie2021_net import (
    FINITE,
    IDENTITY,
    RELU,
    SOFTPLUS,
    TANH,
    Activation,
    Array,
    Beyond,
    Net,
    Params,
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
from .xie2021_views import (
    CENTER,
    DEEP,
    LAYER,
    PAIR,
    REGULARS,
    ROUGH,
    SQUARE,
    preimage,
    sec41,
    wide,
)

OUT = "not applicable"


# The extractor: x = g(W_0 x_0).


def extracting(seed: int, g: Activation, **more: Any) -> Net:
    """Three features of four inputs."""
    v = arrays(seed, 3, (4, 2), 3, 2, 2, norms=(0.9, 0.7))
    r = np.random.default_rng(seed + 1)
    v |= {"W0": 0.6 * r.normal(size=(3, 4)), "X": r.normal(size=(4, 2))}
    return replace(Net(v, 0.3, TANH, K=3, extractor=g), **more)


EXTRACTED = extracting(81, TANH)
EXTRACTED_SAM = extracting(82, SOFTPLUS, sam=OUTPUT, s=mix(0.4))


# Lemma 15 and (19).


def sweeps(net: Net) -> Iterator[tuple[int, int, Params, Params]]:
    """k, l', d vec(Z^(k,l')) by each parameter, and that of the state before sweep k."""
    size = net.m * net.N
    D = {name: np.zeros((size, net.v[name].size)) for name in net.names}
    for k, seen in enumerate(net.passes, start=1):
        E = {name: part.copy() for name, part in D.items()}
        for i, one in enumerate(seen, start=1):
            step = net.through(i, one)
            E = {name: step @ part for name, part in E.items()}
            for letter, part in net.local(i, one).items():
                E["W0" if letter == "W0" else f"{letter}{i}"] += part
            yield k, i, E, D
        D = E if net.sam is None else net._pulled(k, seen[0].Z, D, E)


def lem15(net: Net, printed: bool = False) -> dict[str, Any]:
    """(21): K a C, K a B_x, K a sqrt N; within sweep k one more than k - 1 (printed: k - 2)."""
    b, K, a, N = Bounds(net), net.K or 1, net.alpha, net.N
    B_x = max(fro(net.x), np.sqrt(N)) if printed else fro(net.x)
    zero = np.sqrt((net.m if printed else N) * b.width) * b.s0
    rest = 2 * b.B_Ub * B_x if printed else b.B_Ub * (fro(net.x) + np.sqrt(N))
    unit = {"W": a * (zero + 2 * b.B_z + rest), "U": a * B_x, "b": a * np.sqrt(N)}
    words = {"W": "weights", "U": "inputs", "b": "biases"}
    out, layers = setting(net), range(1, net.L + 1)
    if net.K is None:
        return out
    least = 2 if printed else 1
    found: dict[str, list[tuple[float, int]]] = {x: [] for x in "WUb"}
    for k, depth, E, _ in sweeps(net):
        for x in "WUb":
            found[x] += [
                (norm2(E[f"{x}{i}"]), (depth >= i) + k - least)
                for i in layers
                if depth >= i or k > 1
            ]
    r = fro(net.residual)
    for x, word in words.items():
        out[word] = claim(max(norm2(net.dZ[f"{x}{i}"]) for i in layers), "<=", K * unit[x])
        norm, count = max(found[x], key=lambda pair: pair[0] / max(pair[1], 1e-300))
        out[f"inner_{word}"] = claim(norm, "<=", count * unit[x])
        slope = max(fro(net.gradient[f"{x}{i}"]) for i in layers)
        out[f"slope_{word}"] = claim(slope, "<=", K * unit[x] * b.B_L * r)
    return out


def eq19(net: Net, printed: bool = False) -> dict[str, Any]:
    """Printed: the derivative of the state before sweep k - 1 where that before sweep k belongs."""
    out: dict[str, Any] = {"unrolled": claim(float(net.K is None), "==", 0.0), "agrees": []}
    if net.K is None:
        return {"unrolled": out["unrolled"]}
    before: list[Params] = []
    for k, depth, E, D in sweeps(net):
        if depth == 1:
            before.append(D)
            whole = np.eye(net.m * net.N)
        whole = net.through(depth, net.passes[k - 1][depth - 1]) @ whole
        size = fro(np.hstack([E[name] for name in net.layer_names]))
        if not printed or k == 1:
            out["agrees"].append(Noise(0, size))
            continue
        lost = [whole @ (D[name] - before[k - 2][name]) for name in net.layer_names]
        out["agrees"].append(Beyond(fro(np.hstack(lost)), size))
    return out


def lem17(net: Net) -> dict[str, Any]:
    """(24): a K L B_Ub; (25): times B_L L_g |r| with L_g = ||X_0||."""
    out, b = setting(net), Bounds(net)
    if net.K is None:
        return out
    right = net.alpha * net.K * net.L * b.B_Ub
    out["inputs"] = claim(norm2(net.by_input()), "<=", right)
    if net.extractor is not None:
        whole = right * b.B_L * norm2(net.v["X"]) * fro(net.residual)
        out["extractor"] = claim(fro(net.gradient["W0"]), "<=", whole)
    return out


MANY = Net(
    {
        "W1": np.zeros((1, 1)),
        "U1": np.zeros((1, 1)),
        "b1": np.zeros(1),
        "Wo": np.ones((1, 1)),
        "X": np.zeros((1, 60)),
        "Y": np.zeros((1, 60)),
        "Z0": np.zeros((1, 60)),
    },
    0.01,
    SOFTPLUS,
    K=1,
)
RULES: dict[str, Callable[[Net], dict[str, Any]]] = {"lem15": lem15, "eq19": eq19, "lem17": lem17}

DERIVATIVES = [
    *(
        held(id_, net, lambda rule=rule, net=net: rule(net), outcome=outcome, label=label)
        for id_, rule in RULES.items()
        for label, net, outcome in (
            ("plain", PLAIN, "confirmed"),
            ("sam", PULLED, "confirmed"),
            ("output", MOVED, "confirmed"),
            ("softplus", SOFT, "confirmed"),
            ("extracted", EXTRACTED, "confirmed"),
            ("extracted sam", EXTRACTED_SAM, "confirmed"),
            ("many", MANY, "confirmed"),
            ("implicit", IMPLICIT, OUT),
        )
    ),
    *(
        held(id_, TOO_WIDE, lambda rule=RULES[id_]: rule(TOO_WIDE), outcome=OUT, label="expansive")
        for id_ in ("lem15", "lem17")
    ),
    *(
        held(
            id_,
            net,
            lambda rule=rule, net=net: rule(net, printed=True),
            edition="printed",
            outcome="refuted",
            label=label,
        )
        for id_, rule in (("lem15", lem15), ("eq19", eq19))
        for label, net in (
            ("plain", PLAIN),
            ("sam", PULLED),
            ("biased", BIASED),
            ("softplus", SOFT),
        )
    ),
    held(
        "lem15",
        MANY,
        lambda: lem15(MANY, printed=True),
        edition="printed",
        outcome="refuted",
        label="many",
    ),
]


# Lemmas 5 and 6.


def cycles(left: list[Array], right: list[Array]) -> float:
    """The largest sum_i <left_i, right_{i+1} - right_i> around cycles of four."""
    totals = []
    for first in range(0, len(left), 4):
        ring = [*range(first, first + 4), first]
        totals.append(
            sum(float(np.sum(left[a] * (right[b] - right[a]))) for a, b in pairwise(ring))
        )
    return max(totals)


def stretched(z: list[Array], u: list[Array]) -> float:
    pairs = zip(z[:-1], z[1:], u[:-1], u[1:], strict=True)
    return max(fro(ua - ub) / fro(a - b) for a, b, ua, ub in pairs)


def cyclic(left: list[Array], right: list[Array]) -> Noise | Beyond:
    total, size = cycles(left, right), max(fro(a) for a in (*left, *right)) ** 2
    return Beyond(total, size) if total > 1e-6 else Noise(total, size)


def lem5(net: Net) -> dict[str, Any]:
    """z - f(z) cyclically monotone in f(z), f cyclically monotone, f nonexpansive."""
    z = list(net.points("xie2021/lem5.points", 64))
    maps = [lambda Z, i=i: net.f(i, Z) for i in range(1, net.L + 1)]
    if net.prox is not None and net.explicit is None:
        maps.append(net.prox.prox)
    out: dict[str, Any] = {"layers are nonexpansive": net.nonexpansive}
    out |= {"proximal": [], "gradient": [], "contracts": []}
    for f in maps:
        u = [f(Z) for Z in z]
        out["proximal"].append(cyclic([a - b for a, b in zip(z, u, strict=True)], u))
        out["gradient"].append(cyclic(u, z))
        out["contracts"].append(claim(stretched(z, u), "<=", 1.0))
    return out


def lem6(net: Net, c: float, printed: bool = False) -> dict[str, Any]:
    """A = c P on blocks; f = G o A, and printed also c G o A^-1."""
    out: dict[str, Any] = {
        "layers are nonexpansive": net.nonexpansive,
        "invertible": claim(c, ">", 0),
        "lipschitz": claim(c, "<=", 1),
    }
    if not 0 < c <= 1:
        return out
    draw = stream(0, "xie2021/lem6.points")
    sizes = 10.0 ** draw.uniform(-1, 1, size=64)
    z = [size * draw.standard_normal((net.L, net.m, net.N)) for size in sizes]

    def G(Z: Array) -> Array:
        return np.stack([net.f(i + 1, block) for i, block in enumerate(Z)])

    def A(Z: Array) -> Array:
        return c * np.stack([Z[-1], *Z[:-1]])

    def inverse(Z: Array) -> Array:
        return np.stack([*Z[1:], Z[0]]) / c

    y, f = [A(Z) for Z in z], [G(A(Z)) for Z in z]
    if not printed:
        return out | {
            "right_gradient": cyclic(f, y),
            "right_contracts": claim(stretched(y, f), "<=", 1.0),
            "right_back": cyclic([a - b for a, b in zip(y, f, strict=True)], f),
        }
    other = [c * G(inverse(Z)) for Z in z]
    return out | {
        "gradient": cyclic([G(A(Z)) for Z in y], z),
        "contracts": claim(stretched(z, f), "<=", 1.0),
        "back": cyclic([a - b for a, b in zip(y, other, strict=True)], other),
    }


def turned(net: Net, c: float, outcome: str, label: str, printed: bool = True) -> Any:
    return held(
        "lem6",
        net,
        lambda: lem6(net, c, printed),
        edition="printed" if printed else "corrected",
        constants={} if c == 1 else {"c": c},
        outcome=outcome,
        label=label,
    )


LINEAR = replace(LAYER, s=IDENTITY)
PROXIMAL = [
    *(
        held("lem5", net, lambda net=net: lem5(net), label=label)
        for label, net in (
            ("deep", DEEP),
            ("relu", ROUGH),
            *((label, REGULARS[label]) for label in ("distance", "l1")),
        )
    ),
    held("lem5", TOO_WIDE, lambda: lem5(TOO_WIDE), outcome=OUT, label="expansive"),
    turned(DEEP, 1.0, "refuted", "three"),
    turned(PAIR, 1.0, "confirmed", "pair"),
    turned(LAYER, 1.0, "confirmed", "one"),
    turned(LINEAR, 0.5, "refuted", "half"),
    turned(DEEP, 1.2, OUT, "long"),
    turned(DEEP, -0.5, OUT, "back"),
    *(
        turned(net, c, "confirmed", label, printed=False)
        for label, net, c in (
            ("three", DEEP, 1.0),
            ("half", LINEAR, 0.5),
            ("relu", ROUGH, 0.3),
        )
    ),
    turned(DEEP, 1.2, OUT, "long", printed=False),
]


# Lemma 7 and (15).


def factor(net: Net, alpha: float) -> float:
    """|c_0| + sum over sets of p layers of alpha^(p-1) (1-alpha)^(L-p)/L prod ||W||^2."""
    w, L = [norm2(W) ** 2 for W in net.weights], net.L
    if alpha == 0:
        return sum(w) / L
    total = 1 - (1 - (1 - alpha) ** L) / (L * alpha)
    for p in range(1, L + 1):
        share = alpha ** (p - 1) * (1 - alpha) ** (L - p) / L
        total += share * sum(float(np.prod(chosen)) for chosen in combinations(w, p))
    return total


def lem7(net: Net) -> dict[str, Any]:
    """|x_n - x_0| <= |T_n x_0 - x_0|/(1 - k) for alpha = 1/4, 1/16, ..., and |T_n x_0 - x_0| <=
    sum_l D_{l-1}/L with D_l = D_{l-1} + alpha (|g_l| + D_{l-1})."""
    alphas = [0.25**n for n in range(1, 7)]
    k = max(factor(net, alpha) for alpha in (0.0, *alphas))
    out: dict[str, Any] = {
        "layers are nonexpansive": net.nonexpansive,
        "strict": claim(min(norm2(W) for W in net.weights), "<", 1.0),
        # Here k = 1 is made of whole numbers and a half: nothing is rounded.
        "contracts": Sides(k, "<", 1.0, decision="holds" if k < 1 else "violated"),
    }
    if k >= 1:
        return out
    Y = wide(net)
    moved, spread, away = [], [], []
    for alpha in alphas:
        deep = replace(net, alpha=alpha)
        moved.append(fro(deep.T(Y) - Y) / (net.L * alpha))
        away.append(fro(deep.equilibrium(Y) - Y))
        D = [0.0]
        for i in range(1, net.L):
            D.append(D[-1] + alpha * (fro(net.inner(i, Y) - Y) + D[-1]))
        spread.append(sum(D) / net.L)
    # What T_alpha x_0 is off from x_0 is a difference, divided by alpha.
    loose = {"within": 1e-6}
    reached = [each / (1 - k) for each in moved]
    return out | {
        "pointwise": Sides(lambda n, _: moved, "<=", lambda n, _: spread, **loose),
        "near": Sides(lambda n, _: away, "<=", lambda n, _: reached, **loose),
    }


def eq15(net: Net, printed: bool = False) -> dict[str, Any]:
    """Printed: all compositions of proximal operators, as if these were linear."""
    a, L = net.alpha, net.L
    out: dict[str, Any] = {
        "layers are nonexpansive": net.nonexpansive,
        "proper": claim(a, "<", 1.0),
    }
    if a == 1:
        return out
    worst = size = 0.0
    for Z in net.points("xie2021/eq15.points", 8):
        right = (1 - (1 - (1 - a) ** L) / (L * a)) * Z
        for p in range(1, L + 1):
            for chosen in combinations(range(1, L + 1), p):
                image = Z
                for i in chosen:
                    image = net.inner(i, image)
                right = right + a ** (p - 1) * (1 - a) ** (L - p) / L * image
        worst = max(worst, fro(Z + (net.T(Z) - Z) / (L * a) - right))
        size = max(size, fro(Z))
    linear = not printed or worst < 1e-9
    return out | {"expanded": Noise(0, size) if linear else Beyond(worst, size)}


STILL = Net(arrays(83, 1, (1, 1), 1, 1, 2), 0.5, TANH).at(
    {x: np.ones((1, 1)) for x in ("W1", "W2")}
)
LIMITS = [
    *(
        held("lem7", net, lambda net=net: lem7(net), outcome=outcome, label=label)
        for label, net, outcome in (
            ("deep", DEEP, "confirmed"),
            ("relu", ROUGH, "confirmed"),
            ("still", STILL, OUT),
        )
    ),
    *(
        held(
            "eq15",
            net,
            lambda net=net, printed=printed: eq15(net, printed),
            edition="printed" if printed else "corrected",
            outcome=outcome if printed else "confirmed",
            label=label,
        )
        for label, net, outcome in (
            ("deep", DEEP, "refuted"),
            ("relu", ROUGH, "refuted"),
            ("linear", replace(DEEP, s=IDENTITY), "confirmed"),
            ("one", LAYER, "confirmed"),
        )
        for printed in (True, False)
    ),
    held(
        "eq15",
        replace(DEEP, alpha=1.0),
        lambda: eq15(replace(DEEP, alpha=1.0)),
        outcome=OUT,
        label="no skip",
    ),
]


# Section 4.1: any convex R, and I - g grad R.


@dataclass(frozen=True)
class Box:
    """0 on [low, high]^m, infinite elsewhere."""

    low: float
    high: float

    @property
    def given(self) -> dict[str, Any]:
        return {"kind": "box", "low": self.low, "high": self.high}

    def value(self, Z: Array) -> float:
        return 0.0 if Z.min() >= self.low and Z.max() <= self.high else np.inf

    def prox(self, Z: Array) -> Array:
        return np.minimum(np.maximum(Z, self.low), self.high)

    def nearest(self, Z: Array, wanted: Array) -> Array:
        """The normal cone: outward where an end is reached."""
        up, down = np.maximum(wanted, 0) * (self.high == Z), np.minimum(wanted, 0) * (self.low == Z)
        return up + down


@dataclass(frozen=True)
class Euclidean:
    """weight |z|_2 of each column."""

    weight: float

    @property
    def given(self) -> dict[str, Any]:
        return {"kind": "euclidean", "weight": self.weight}

    def twice(self) -> Euclidean:
        return Euclidean(2 * self.weight)

    def value(self, Z: Array) -> float:
        return self.weight * sum(fro(column) for column in Z.T)

    def prox(self, Z: Array) -> Array:
        columns = [max(0.0, 1 - self.weight / (fro(u) or 1e-300)) * u for u in Z.T]
        return np.stack(columns, axis=1)

    def nearest(self, Z: Array, wanted: Array) -> Array:
        out = []
        for column, pull in zip(Z.T, wanted.T, strict=True):
            at_zero = pull * min(1.0, self.weight / fro(pull))
            out.append(self.weight * column / fro(column) if column.any() else at_zero)
        return np.stack(out, axis=1)


GENERAL = {
    "box": replace(LAYER, prox=Box(-0.1, 0.25)),
    "deep box": replace(DEEP, prox=Box(-0.3, 0.1)),
    "euclidean": replace(LAYER, prox=Euclidean(0.2)),
    "deep euclidean": replace(DEEP, prox=Euclidean(0.3)),
    "relu euclidean": replace(SQUARE, prox=Euclidean(0.25)),
}


def explicit(net: Net, printed: bool = False) -> dict[str, Any]:
    """z = u - g grad R(u) at u = T(z): R counts at u, in the equation of the first block."""
    out: dict[str, Any] = {
        "step": claim(float(net.explicit is not None), "==", 1.0),
        "layers are nonexpansive": net.nonexpansive,
        "an equilibrium was found": FINITE,
    }
    if net.explicit is None:
        return out
    Z, g, R = net.equilibrium(), net.explicit, net.prox
    blocks = net.blocks(Z)
    if printed:
        left = preimage(net, net.L, Z) - blocks[-2] + g * R.gradient(Z)
        return out | {"printed_block": Beyond(fro(left), fro(Z))}
    out |= {"first": Noise(0, fro(blocks[1])), "inclusion": [Noise(0, fro(b)) for b in blocks[2:]]}
    if net.L > 1:
        return out
    del out["inclusion"]
    if net.alpha < 1:
        return out | {"lowest": Noise(0, 1.0)}
    drawn = net.points("xie2021/sec4.1-explicit.points", 64)
    values = [phi(net, w) + g * R.value(net.inner(1, w)) for w in drawn]
    here = phi(net, Z) + g * R.value(net.inner(1, Z))
    return out | {"lowest": Noise(here - min(values), 1.0)}


def phi(net: Net, w: Array) -> float:
    """phi(f(w)) = <f(w), w> - psi(w) - |f(w)|^2/2 of one layer."""
    image, A = net.inner(1, w), net.v["W1"] @ w + net.drive(1)
    return float(np.sum(image * w) - np.sum(net.s.primitive(A)) - np.sum(image**2) / 2)


STEEP = least_squares(np.array([[1.1, -0.2, 0.1], [0.3, 0.9, -0.4]]), np.array([0.7, -0.3]))
EXPLICIT = {
    "one": replace(LAYER, prox=distance(0.8, CENTER), explicit=0.7),
    "long": replace(LAYER, prox=distance(0.8, CENTER), explicit=1.6),
    "deep": replace(DEEP, prox=STEEP, explicit=0.4),
    "no skip": Net(
        arrays(17, 3, (4,), 2, 1, 2, norms=0.9), 1.0, mix(0.3), None, None, STEEP, None, 0.5
    ),
}
PLAIN_PROX = REGULARS["distance"]

LAST = [
    *(
        held(
            "sec4.1",
            net,
            lambda net=net, printed=printed: sec41(net, printed),
            edition="printed" if printed else "corrected",
            outcome="refuted" if printed else "confirmed",
            label=label,
        )
        for label, net in GENERAL.items()
        for printed in (True, False)
        if not printed or net.s is not RELU
    ),
    *(held("lem5", net, lambda net=net: lem5(net), label=label) for label, net in GENERAL.items()),
    *(
        held(
            "sec4.1-explicit",
            net,
            lambda net=net, printed=printed: explicit(net, printed),
            edition="printed" if printed else "corrected",
            outcome="refuted" if printed else "confirmed",
            label=label,
        )
        for label, net in EXPLICIT.items()
        for printed in (True, False)
    ),
    held(
        "sec4.1-explicit",
        PLAIN_PROX,
        lambda: explicit(PLAIN_PROX),
        outcome=OUT,
        label="prox",
    ),
]

INSTANCES = [*DERIVATIVES, *PROXIMAL, *LIMITS, *LAST]
