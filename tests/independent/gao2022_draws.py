"""Sections 5.1 and 5.2 of Gao and Gao 2022: the orders of drawn starts, by regressions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from typing import Any

import numpy as np
from scipy.stats import linregress
from scipy.stats import t as student

from deqcheck.records.law import Law
from deqcheck.seeds import rng

from .gao2022_network import Network, drawn, fro, norm, nth, problem, relu
from .gao2022_training import Paper
from .harness import Expected, Instance, Sides

SEEDS = 24
WIDTHS, SAMPLES = (32, 64, 128, 256), (8, 16, 32, 64)
Value = Callable[[int, int], float]


def regression(sizes: np.ndarray, values: np.ndarray) -> tuple[float, float]:
    """The exponent, with Student's interval and the drift between the halves."""
    x, y = np.log(sizes), np.log(values)
    line, small = linregress(x, y), x <= np.median(np.unique(x))
    drift = abs(linregress(x[small], y[small]).slope - linregress(x[~small], y[~small]).slope)
    return line.slope, student.ppf(1 - 1e-3 / 2, len(x) - 2) * line.stderr + drift


def normal(id: str, name: str, shape: tuple[int, ...], seed: int) -> np.ndarray:
    return rng(seed, f"gao2022/{id}.{name}").standard_normal(shape)


def sphere(id: str, N: int, d: int, seed: int) -> np.ndarray:
    return np.array([x / norm(x) for x in normal(id, "X", (N, d), seed)])


def started(id: str, X: np.ndarray, y: np.ndarray, m: int, seed: int) -> Network:
    """(27), with gamma0 = 1/2 for C2 = 1."""
    A = np.abs(normal(id, "A", (m, m), seed))
    return Network(
        X=X,
        y=y,
        W=normal(id, "W", (X.shape[1], m), seed),
        A=A,
        b=normal(id, "b", (m,), seed) / m**0.5,
        gamma=0.5 / (norm(A) + 1),
    )


def linear(net: Network) -> np.ndarray:
    """Lemma 5.1."""
    return net.Phi @ np.linalg.inv(np.eye(net.m) - net.gamma * net.A)


def asked(net: Network) -> float:
    """The smallest alpha1^2 with (17)-(19) for alpha0 = 2 alpha1/3, where yhat counts by its mean
    square over b."""
    r0 = (fro(linear(net)) ** 2 / net.m + net.y @ net.y) ** 0.5
    at = Paper(net, {"C1": 1.0, "C2": 1.0, "C3": 1.0})
    X, l3, u = fro(net.X), at.lambda3, 1 / (1 - at.gamma0)
    squares = (
        8 * u * max(at.lambda0_entries) * X * r0,
        (16 * at.bracket * u**2 * l3 * X**2 * r0) ** (2 / 3),
        16 * at.bracket * u**2 * l3**2 * X**2,
    )
    return max(squares) * 9 / 4


@cache
def base() -> Network:
    """Three unit samples in dimension 4."""
    net = drawn(9, N=3, d=4, m=8, q=0.4, gamma=0.3)
    return replace(net, X=np.array([x / norm(x) for x in net.X]))


def with_laws(**scales: float) -> Any:
    """The laws of (27), times these."""
    laws = {
        "W": Law("gaussian", scales.get("W", 1.0)),
        "A": Law("half-normal", scales.get("A", 1.0)),
        "b": Law("gaussian", scales.get("b", 1.0) * 8**-0.5),
    }
    return replace(problem(base()), laws=laws)


def b_value(m: int, seed: int) -> float:
    return float(np.sqrt(np.sum(normal("sec5.2-b", "b", (m,), seed) ** 2 / m)))


def w_value(m: int, seed: int) -> float:
    W = normal("sec5.2-w", "W", (4, m), seed)
    return float(np.linalg.eigvalsh(W @ W.T)[-1] ** 0.5)


def yhat_value(m: int, seed: int, printed: bool) -> float:
    Z = linear(started("sec5.2-yhat", base().X, base().y, m, seed))
    return norm(Z) if printed else fro(Z) / m**0.5


def eq28_value(m: int, seed: int) -> float:
    return asked(started("eq28", base().X, base().y, m, seed))


def width_value(N: int, seed: int) -> float:
    """m lambda_*^2 where m lambda_*/4 is what is asked at width 64, times sqrt(m/64)."""
    id = "sec5.2-width"
    y = np.sign(normal(id, "y", (N,), seed))
    return (4 * asked(started(id, sphere(id, N, 4, seed), y, 64, seed)) / 8) ** 2


def gram(X: np.ndarray) -> np.ndarray:
    """E[relu(w.x) relu(w.z)] for unit rows."""
    cosine = np.clip(X @ X.T, -1, 1)
    np.fill_diagonal(cosine, 1.0)
    angle = np.arccos(cosine)
    return (np.sin(angle) + (np.pi - angle) * cosine) / (2 * np.pi)


def lambda_value(N: int, seed: int, printed: bool) -> float:
    X = sphere("sec5.2-lambda", N, 4 if printed else N, seed)
    return float(np.linalg.eigvalsh(gram(X))[0])


def widths(N: int) -> list[int]:
    return [round(N * 1.25**i) for i in range(19)]


def alpha1_value(N: int, seed: int) -> float:
    id = "sec5.2-alpha1"
    X = sphere(id, N, N, seed)
    Phi, least = relu(X @ normal(id, "W", (N, 64 * N), seed)), np.linalg.eigvalsh(gram(X))[0]
    enough = (m for m in widths(N) if nth(Phi[:, :m], N) ** 2 >= m * least / 4)
    return next(enough) * least / N


def linear_value(N: int, seed: int) -> float:
    id = "sec5.1-width"
    Phi = relu(sphere(id, N, 4, seed) @ normal(id, "W", (4, 64 * N), seed))
    return float(next(m for m in widths(N) if np.linalg.matrix_rank(Phi[:, :m]) == N))


def order(
    value: Value, sizes: tuple[int, ...], claimed: float, laws: str, two_sided: bool = False
) -> Expected:
    every = np.array([sizes[seed % 4] for seed in range(SEEDS)])
    exponent, radius = regression(
        every, np.array([value(m, seed) for seed, m in enumerate(every.tolist())])
    )
    beyond = abs(exponent - claimed) if two_sided else exponent - claimed
    decision = "holds" if beyond <= radius else "violated"
    drawn_so = {f"laws_{name.lower()}": Sides(1.0, "==", 1.0) for name in laws}
    # Of differences of logarithms.
    return {**drawn_so, "allows": Sides(beyond, "<=", radius, within=1e-6, decision=decision)}


def linear_width() -> Expected:
    return {
        "drawn": Sides(1.0, "==", 1.0),
        "plane": Sides(4.0, ">=", 2.0),
        **order(linear_value, SAMPLES, 1, "", two_sided=True),
    }


BOTH = (("printed", "inconsistent"), ("corrected", "consistent"))
DRAWS = [
    *(
        Instance(
            f"gao2022/{id}",
            with_laws,
            lambda told=told: order(*told),
            constants={"seeds": SEEDS},
            outcome="consistent",
        )
        for id, told in (
            ("sec5.2-b", (b_value, WIDTHS, 0, "b")),
            ("sec5.2-w", (w_value, WIDTHS, 0.5, "W")),
            ("eq28", (eq28_value, WIDTHS, 0.5, "WAb")),
            ("sec5.2-width", (width_value, SAMPLES, 2, "WAb")),
            ("sec5.2-alpha1", (alpha1_value, SAMPLES, 0, "W")),
        )
    ),
    *(
        Instance(
            f"gao2022/{id}",
            with_laws,
            lambda value=value, told=told, edition=edition: order(
                partial(value, printed=edition == "printed"), *told
            ),
            edition=edition,
            constants={"seeds": SEEDS},
            outcome=outcome,
        )
        for id, value, told in (
            ("sec5.2-yhat", yhat_value, (WIDTHS, 0, "WAb")),
            ("sec5.2-lambda", lambda_value, (SAMPLES, 0, "", True)),
        )
        for edition, outcome in BOTH
    ),
    Instance(
        "gao2022/sec5.1-width",
        with_laws,
        linear_width,
        constants={"seeds": SEEDS},
        outcome="consistent",
    ),
    *(
        Instance(
            "gao2022/eq28",
            partial(with_laws, **{name: 0.5}),
            lambda name=name: {
                f"laws_{each.lower()}": Sides(
                    0.5 if each == name else 1.0,
                    "==",
                    1.0,
                    decision="violated" if each == name else "holds",
                )
                for each in "WAb"
            },
            outcome="not applicable",
            label=f"another {name}",
        )
        for name in "WAb"
    ),
]


SHARED = "Of the laws of (27); this statement does not ask for it."
COUNTED = "Of claims with a probability; this one is a claim of order."
ASKED = {
    "sec5.2-b": "b",
    "sec5.2-w": "W",
    "sec5.2-yhat": "WAb",
    "eq28": "WAb",
    "sec5.2-width": "WAb",
    "sec5.2-alpha1": "W",
    "sec5.2-lambda": "",
    "sec5.1-width": "",
}
EXEMPT_DRAWS = {
    f"gao2022/{id}": {
        "agrees": COUNTED,
        **{f"laws_{name.lower()}": SHARED for name in "WAb" if name not in laws},
    }
    for id, laws in ASKED.items()
}
