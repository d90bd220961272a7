"""Kawaguchi 2021: the statements that hold at any parameters."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from itertools import product

import numpy as np

from deqcheck.seeds import rng

from .harness import Expected, Instance, Noise, Sides
from .kawaguchi2021_model import Delm, Point, drawn, norm1, start


def static(
    id: str,
    label: str,
    d: Delm,
    expected: Callable[[Delm], Expected],
    edition: str = "corrected",
    outcome: str = "confirmed",
) -> Instance:
    return Instance(
        f"kawaguchi2021/{id}",
        d.problem,
        lambda: expected(d),
        edition=edition,
        outcome=outcome,
        label=label,
    )


# Norms.

WIDE = drawn(21, m=4, n=6, my=2, gamma=0.35)
TALL = drawn(22, m=2, n=5, my=3, gamma=0.7)
SINGLE = drawn(23, m=3, n=5, my=1, gamma=0.45)


def norms(d: Delm) -> Expected:
    """A.1 and A.1.7: 1^T S = 1^T, so that the column sums are those of I - gamma S."""
    g, here = d.gamma, start(d)
    inverse = 1 / (1 - g)
    return {
        "inverse": Sides(norm1(here.V), "==", inverse),
        "equal": Sides(here.V.sum(axis=0)[-1], "==", inverse),
        "sums": Sides(here.U.sum(axis=0)[0], "==", 1 - g),
        "resolvent": Sides(norm1(here.U), "==", float((1 + g - 2 * g * np.diag(here.S)).max())),
        "below": Sides(norm1(here.U), "<=", 1 + g),
        "attained" if d.m == 1 else "effective": Sides(
            (1 - g) * norm1(here.Z), "==" if d.m == 1 else "<=", norm1(d.B)
        ),
    }


# Softmax with a diagonal of e^-60: |U|_1 is 1 + gamma up to rounding.
SATURATED = replace(WIDE, A=60 * (1 - np.eye(4)))


def saturated(d: Delm) -> Expected:
    found = dict(norms(d))
    del found["below"]
    return {**found, "saturated": Sides(2 * d.gamma * float(np.diag(start(d).S).min()), ">=", 0.0)}


# Gradients and D.

LOGISTIC = drawn(31, m=3, n=6, my=1, gamma=0.55, loss="logistic", tau=0.07)
NARROW = drawn(33, m=2, n=4, my=1, gamma=0.3)
SEVEN = drawn(34, m=7, n=5, my=2, gamma=0.6)
SCALAR = drawn(35, m=1, n=4, my=2, gamma=0.3)
THREE = drawn(36, m=3, n=4, my=1, gamma=0.8)
DENSE_NO_MORE = drawn(37, m=21, n=3, my=20, gamma=0.4, scale=0.3)
# More than 20 units: column by column, and along the gradient and four drawn directions.
TALLER = drawn(38, m=2, n=3, my=201, gamma=0.4, scale=0.3)


def gradients(d: Delm) -> Expected:
    """(21), (22), relative to the whole gradient; and vec(Q)^T D vec(Q) with (8)."""
    here = start(d)
    q = here.Q.ravel(order="F")
    energy = {"energy": Sides(here.slope**2, "==", float(q @ here.D @ q))}
    if d.m * max(d.m, d.my) > 400:
        return {
            "columns": [Noise(0.0, 1.0)] * 2,
            "directions": [Noise(0.0, 1.0)] * 5,
            **energy,
        }
    return {
        "explicit": [Noise(0.0, 1.0)] * 2,
        "differences": [Noise(0.0, 1.0)] * 2,
        **energy,
    }


def smallest_of_all(m: int, gamma: float) -> float:
    """inf of lambda_min(D) over all A and B: B = 0 is the worst, where it is 1/|I - gamma S|^2, and
    that norm is convex in S, so that columns of S that are unit vectors suffice. For m > 5 the
    columns that all show to the first unit vector, the first one to another."""
    eye = np.eye(m)
    maps = product(range(m), repeat=m) if m <= 5 else [(1,) + (0,) * (m - 1)]
    S = np.stack([eye[:, list(image)] for image in maps])
    return float(1 / np.linalg.norm(eye - gamma * S, 2, axis=(1, 2)).max() ** 2)


def metric(d: Delm) -> Expected:
    """(26), (8), (33), and the floors 1/(m (1 + gamma^2)) by the Frobenius norm of U and
    1/(1 + gamma sqrt(m))^2 by the triangle inequality."""
    here, m, g = start(d), d.m, d.gamma
    smallest = here.lambda_min
    frobenius, triangle = 1 / (m * (1 + g**2)), 1 / (1 + g * math.sqrt(m)) ** 2
    expected = {
        "velocity": Noise(0.0, float(np.linalg.norm(here.D @ here.Q.ravel(order="F")))),
        "printed_floor": Sides(smallest, ">=", d.floor),
        "sharp_floor": Sides(smallest, ">=", max(frobenius, triangle)),
    }
    if m * d.my <= 400:
        expected["dense"] = Sides(smallest, "==", smallest)
    if m > 1:
        expected["star_floor"] = Sides(smallest, ">=", smallest_of_all(m, g))
    return expected


# The PL inequality of the whole loss.

PL_LOGISTIC = drawn(43, m=2, n=6, my=1, gamma=0.4, loss="logistic", tau=0.09, seed=2)
PL_BALL = drawn(42, m=2, n=5, my=1, gamma=0.4, loss="logistic", tau=0.03, R=2.5)
PL_OUTSIDE = drawn(42, m=2, n=5, my=1, gamma=0.4, loss="logistic", tau=0.03, R=0.2)
PL_FLAT = replace(PL_LOGISTIC, tau=0.0)
PL_SQUARE = drawn(41, m=3, n=5, my=2, gamma=0.35, seed=5)
PL_HINGE = drawn(
    44,
    m=2,
    n=3,
    my=1,
    gamma=0.3,
    loss="smoothed-hinge",
    Phi=np.array([[0.9, 0.4, -1.1], [-0.2, 1.3, 0.3]]),
    Y=np.array([[1.0, 1.0, -1.0]]),
    R=4.0,
)


def whole(d: Delm, at: Point) -> tuple[float, float]:
    """|grad L|^2/2 and kappa lambda_min(D) (L - L*)."""
    return at.slope**2 / 2, d.kappa * at.lambda_min * at.gap


def without_constant(decision: str) -> Callable[[Delm], Expected]:
    """The largest PL constant of L without a ball: at least kappa/(m (1 + gamma)^2), and at most
    the smallest quotient of the start and of twenty drawn parameters. The middle is told."""

    def of(d: Delm) -> Expected:
        free = replace(d, R=math.inf)
        stream, seen = rng(d.seed, "kawaguchi2021/pl"), [start(free)]
        for _ in range(20):
            A, B = d.A + stream.normal(size=d.A.shape), d.B + stream.normal(size=d.B.shape)
            seen.append(Point(free, A, B))
        low = free.kappa * free.floor
        high = min(p.slope**2 / (2 * p.gap) for p in seen)
        return {
            "no_constant": Sides(
                (low + high) / 2 if low else 0.0, "==", 0.0, decision=decision, between=True
            )
        }

    return of


def pl(d: Delm) -> Expected:
    """Of the drawn points the one with the least room, by the quotient."""
    here = whole(d, start(d))
    expected = {
        "positive": Sides(d.kappa, ">", 0.0),
        "here": Sides(here[0], ">=", here[1]),
    }
    if math.isfinite(d.R):
        size = norm1(start(d).Z)
        decision = "holds" if size < d.R else "violated"
        return expected | {"ball": Sides(size, "<", d.R, decision=decision)}
    stream = rng(d.seed, "kawaguchi2021/pl")
    found = []
    for _ in range(20):
        A, B = d.A + stream.normal(size=d.A.shape), d.B + stream.normal(size=d.B.shape)
        found.append(whole(d, Point(d, A, B)))
    worst = min(found, key=lambda sides: sides[0] / sides[1])
    return expected | {"drawn": Sides(worst[0], ">=", worst[1])}


# Theorem 2 and appendix B.

TRUST_HINGE = drawn(51, m=3, n=6, my=1, gamma=0.4, loss="smoothed-hinge", seed=2)
TRUST_SQUARE = drawn(52, m=3, n=5, my=1, gamma=0.55, seed=4)
TRUST_LOGISTIC = drawn(53, m=4, n=5, my=1, gamma=0.3, loss="logistic", tau=0.06, seed=6)
TRUST_CUBE = drawn(54, m=2, n=5, my=1, gamma=0.6, loss="smoothed-hinge", power=3.0, seed=8)
TRUST_TWO = drawn(55, m=3, n=5, my=2, gamma=0.4)


class Region:
    """Theorem 2 with delta a share of its bound: G > 0 as long as delta F < S^-1."""

    def __init__(self, d: Delm, share: float = 0.5):
        here = start(d)
        self.d, self.q = d, here.Q[0]
        v_S = [float(np.sum((J.T @ here.Z[0]) ** 2)) for J in here.J]
        self.S = np.eye(d.m) + d.gamma**2 * np.diag(v_S)
        second = d.second(here.Z)[0]
        equilibria = np.linalg.solve(here.U, d.Phi)
        F = sum(c * np.outer(z, z) for c, z in zip(second, equilibria.T, strict=True))
        self.H = sum(c * np.outer(p, p) for c, p in zip(second, d.Phi.T, strict=True))
        largest = float(np.linalg.eigvals(self.S @ F).real.max())
        self.delta = share / largest if largest > 0 else share
        self.G = here.U @ (np.linalg.inv(self.S) - self.delta * F) @ here.U.T
        # The eigenvalues of S^1/2 F S^1/2 are those of S F.
        self.smallest = 1 - self.delta * largest
        self.velocity = -here.D @ self.q
        self.v = self.delta * self.velocity

    def value(self, v: np.ndarray) -> float:
        return float(self.q @ v + v @ self.H @ v / 2)

    def size(self) -> float:
        """Of what cancels in q + H v + G v/delta."""
        terms = self.q, self.H @ self.v, self.G @ self.v / self.delta
        return sum(float(np.linalg.norm(t)) for t in terms)

    def best(self) -> float:
        """Of 200 points between half and the whole of the way to the edge, every second one near
        the minimiser."""
        stream = rng(self.d.seed, "kawaguchi2021/thm2")
        radius, found = math.sqrt(self.v @ self.G @ self.v), []
        for i in range(200):
            u = stream.normal(size=self.d.m)
            if i % 2:
                u = u + 10 ** (i % 4) * self.v
            u = u / math.sqrt(u @ self.G @ u)
            found.append(self.value(stream.uniform(0.5, 1) * radius * u))
        return min(found)


def kinks(d: Delm) -> Expected:
    """The squared hinge is the only loss without a second derivative somewhere."""
    if d.loss != "smoothed-hinge" or d.power > 2:
        return {}
    return {"smooth": Sides(float(np.abs(1 - d.Y * (start(d).Z @ d.Phi)).min()), ">", 0.0)}


def trust_region(d: Delm) -> Expected:
    """Theorem 2; `smooth` where the outputs can lie on a kink."""
    at = Region(d)
    each = [at, Region(d, 0.01), Region(d, 0.99)]
    # With sigma_min(Phi) > 0 the largest eigenvalue of S F has all its digits.
    smallest = [1 - share for share in (0.5, 0.01, 0.99)]
    assert np.allclose([r.smallest for r in each], smallest, rtol=1e-9)
    return {
        "one_output": Sides(1, "==", 1),
        **kinks(d),
        "metric": [Sides(number, ">", 0.0) for number in smallest],
        "stationary": [Noise(0.0, r.size()) for r in each],
        "minimal": Sides(at.best(), ">=", at.value(at.v)),
        "outputs": Noise(0.0, float(np.linalg.norm(at.velocity @ d.Phi))),
        "anywhere": Noise(0.0, float(np.linalg.norm(at.velocity))),
    }


def trust_along(d: Delm) -> Expected:
    """Both are relative numbers, and zeros up to rounding at every t."""
    along = {"followed": Noise(0.0, 1.0), "moving": Noise(0.0, 1.0)}
    return {"gradient flow": Sides(0.0, "==", 0.0), **trust_region(d), **along}


GENERIC = drawn(61, m=3, n=5, my=1, gamma=0.45)
UNEVEN = drawn(62, m=4, n=6, my=1, gamma=0.3, scale=1.1)
# Every column of A holds the same numbers, and so does every row: S is doubly stochastic.
CIRCULANT = drawn(
    63,
    m=3,
    n=5,
    my=1,
    gamma=0.6,
    A=np.array([[0.3, 1.1, -0.4], [-0.4, 0.3, 1.1], [1.1, -0.4, 0.3]]),
)


def stationary(S: np.ndarray) -> np.ndarray:
    """pi with S pi = pi and sum(pi) = 1, by powers of S."""
    found = np.linalg.matrix_power(S, 10**6)[:, 0]
    return found / found.sum()


# Slow to forget: the second eigenvalue of S is 0.99983.
SLOW = drawn(
    64,
    m=2,
    n=3,
    my=1,
    gamma=0.5,
    A=np.array([[0.0, 0.0], [-9.0, 10.0]]),
)


def appendix_b(edition: str, decision: str = "holds") -> Callable[[Delm], Expected]:
    """(37) with r = delta S_t U^-1 q. As gamma -> 1, U^-T q for q of mean 0 grows like
    pi . q/(1 - gamma), and for pi . q = 0 it tends to (I - S^T + 1 pi^T)^-1 q (Kemeny and Snell's
    fundamental matrix agrees with the group inverse there)."""

    def of(d: Delm) -> Expected:
        at, here = Region(d), start(d)
        r, pi, eye = at.delta * at.S @ here.V @ at.q, stationary(here.S), np.eye(d.m)
        square = d.loss == "square"
        expected = {
            "one_output": Sides(1, "==", 1),
            "step": Noise(0.0, float(np.linalg.norm(at.v))),
            "perron": Sides(float(here.S.min(axis=1).sum()), ">", 0.0),
        }
        if edition == "printed":
            growth, uneven = abs(float(pi @ (r - r.mean()))), float(np.abs(pi - 1 / d.m).max())
            if decision == "holds":
                assert growth < 1e-15 and uneven < 1e-15
                growth = uneven = 0.0
            return expected | {
                "square": Sides(int(square), "==", 1, decision="holds" if square else "violated"),
                "orthogonal": Sides(growth, "==", 0.0, decision=decision),
                "uniform": Sides(uneven, "==", 0.0, decision=decision),
            }
        q = r - pi @ r
        limit = np.linalg.solve(eye - here.S.T + np.outer(np.ones(d.m), pi), q)
        rest = float(np.abs(here.V.T @ q).max())
        return expected | kinks(d) | {"oblique": Sides(rest, "<=", 2 * float(np.abs(limit).max()))}

    return of


def two_outputs(_: Delm) -> Expected:
    return {"one_output": Sides(2, "==", 1, decision="violated")}


INSTANCES = [
    static("norms", "wide", WIDE, norms),
    static("norms", "tall", TALL, norms),
    static("norms", "single", SINGLE, norms),
    static("norms", "one unit", SCALAR, norms),
    static("norms", "saturated", SATURATED, saturated),
    static("gradient", "wide", WIDE, gradients),
    static("gradient", "tall", TALL, gradients),
    static("gradient", "logistic", LOGISTIC, gradients),
    static("gradient", "large", DENSE_NO_MORE, gradients),
    static("gradient", "many outputs", TALLER, gradients),
    static("D", "wide", WIDE, metric),
    static("D", "tall", TALL, metric),
    static("D", "narrow", NARROW, metric),
    static("D", "three", THREE, metric),
    static("D", "seven", SEVEN, metric),
    static("D", "scalar", SCALAR, metric),
    static("D", "large", DENSE_NO_MORE, metric),
    static("pl", "square", PL_SQUARE, pl),
    static("pl", "logistic", PL_LOGISTIC, pl),
    static("pl", "ball", PL_BALL, pl),
    static("pl", "outside", PL_OUTSIDE, pl, outcome="not applicable"),
    static("pl", "hinge", PL_HINGE, pl),
    static("pl", "square", PL_SQUARE, without_constant("violated"), "printed", "not checked"),
    static("pl", "ball", PL_BALL, without_constant("violated"), "printed", "not checked"),
    static("pl", "flat", PL_FLAT, without_constant("holds"), "printed"),
    static("thm2", "hinge", TRUST_HINGE, trust_region),
    static("thm2", "square", TRUST_SQUARE, trust_region),
    static("thm2", "logistic", TRUST_LOGISTIC, trust_region),
    static("thm2", "cube", TRUST_CUBE, trust_region),
    replace(
        static("thm2", "flow", TRUST_SQUARE, trust_along),
        train={"kind": "flow", "horizon": 0.2},
    ),
    static("thm2", "two outputs", TRUST_TWO, two_outputs, outcome="not applicable"),
    static("appB", "generic", GENERIC, appendix_b("corrected")),
    static("appB", "uneven", UNEVEN, appendix_b("corrected")),
    static("appB", "generic", GENERIC, appendix_b("printed", "violated"), "printed", "refuted"),
    static("appB", "circulant", CIRCULANT, appendix_b("printed"), "printed"),
    static("appB", "slow", SLOW, appendix_b("corrected")),
    static("appB", "hinge", TRUST_HINGE, appendix_b("corrected")),
    static(
        "appB",
        "logistic",
        TRUST_LOGISTIC,
        appendix_b("printed", "violated"),
        "printed",
        "not applicable",
    ),
    static("appB", "two outputs", TRUST_TWO, two_outputs, outcome="not applicable"),
]
