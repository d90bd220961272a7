"""Kawaguchi 2021: Proposition 1, Definition 1, infima, Hessians, (19), (25), appendices B, C."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from deqcheck.seeds import rng

from .harness import Expected, Instance, Noise, Sides
from .kawaguchi2021_model import Delm, Point, drawn, norm1, norm2, softmax, start
from .kawaguchi2021_runs import BALL, DEFICIENT, FEW, FLAT, SQUARE, TIGHT, rank
from .kawaguchi2021_static import DENSE_NO_MORE, GENERIC, Region, kinks, static, stationary

# Proposition 1.

BOTH_SIGNS = drawn(
    11, m=2, n=3, my=1, gamma=0.3, Phi=np.array([[1.0, -0.7, 2.1], [-0.4, 0.9, -1.8]])
)


def iterates(last: int) -> Callable[[Delm], Expected]:
    """A.5 with z_0 = phi: z* - z_l = (gamma S)^(l+1) z*; at the first iterate and the first with
    gamma^(l+1) < 1e-5 the sample that is tightest against gamma^(l+1) |phi|_1/(1 - gamma). Where
    S z* has one sign all samples of these instances are as tight as each other."""

    def of(d: Delm) -> Expected:
        S, limit = start(d).S, np.linalg.solve(start(d).U, d.Phi)
        size, z, found = np.abs(d.Phi).sum(axis=0), d.Phi, []
        both = (d.Phi.min(axis=0) < 0).all() and (d.Phi.max(axis=0) > 0).all()
        for count in range(last + 1):
            off = np.abs(z - limit).sum(axis=0)
            bound = d.gamma ** (count + 1) * size / (1 - d.gamma)
            at = int(np.argmax(np.round(off / bound, 9)))
            if count in (0, last):
                found.append(Sides(off[at], "<=" if both else "==", bound[at]))
            z = d.gamma * S @ z + d.Phi
        assert d.gamma ** (last + 1) < 1e-5 <= d.gamma**last
        return {"rate" if both else "equality": found, "elsewhere": elsewhere(d)}

    return of


def elsewhere(d: Delm) -> Noise:
    """From a drawn z_0, the sample with the largest |z_l - z*|_1 - gamma^l |z_0 - z*|_1 beside the
    numbers that it is made of; l is 3, or as small as leaves gamma^l above 1e-5."""
    S, limit = start(d).S, np.linalg.solve(start(d).U, d.Phi)
    z = rng(d.seed, "kawaguchi2021/prop1").normal(size=limit.shape) * (1 + np.abs(limit).max())
    first = np.abs(z - limit).sum(axis=0)
    power = next((k for k in (3, 2) if d.gamma**k >= 1e-5), 1)
    for _ in range(power):
        z = d.gamma * S @ z + d.Phi
    excess = np.abs(z - limit).sum(axis=0) - d.gamma**power * first
    size = np.abs(limit).sum(axis=0) + first + np.abs(d.Phi).sum(axis=0)
    at = int(np.argmax(excess / size))
    return Noise(float(excess[at]), float(size[at]))


def _shares(seed: int, negative: float, n: int) -> np.ndarray:
    """Columns with the same sum and the same 1-norm, one entry of each the same negative number."""
    r = np.random.default_rng(seed)
    rest = r.uniform(0.5, 1.5, size=(3, n))
    return np.vstack([np.full(n, -negative), 1.7 * rest / rest.sum(axis=0)])


LAST_OF_BOTH = drawn(12, m=4, n=12, my=1, gamma=0.02, Phi=_shares(3, 0.2, 12))
LAST_OF_ONE = drawn(13, m=4, n=6, my=1, gamma=0.02, Phi=_shares(4, 0.0, 6))
ONE_SIGN = drawn(14, m=3, n=4, my=1, gamma=0.006, Phi=-_shares(5, 0.0, 4)[1:])


# Definition 1.

# L0 = 2 max(0, 1 - w)^2: |grad|^2/(2 L0) = 4 for every w < 1, and 2/|w|^2 = 2 is proven.
TWICE = Delm(
    Phi=np.ones((1, 2)),
    Y=np.ones((1, 2)),
    A=np.zeros((1, 1)),
    B=np.zeros((1, 1)),
    gamma=0.5,
    loss="smoothed-hinge",
)
# One feature, labels 1, 0, 1: |grad|^2/(2 gap) is smallest at the positive end of the ball.
EDGE = Delm(
    Phi=np.ones((1, 3)),
    Y=np.array([[1.0, 0, 1]]),
    A=np.zeros((1, 1)),
    B=np.zeros((1, 1)),
    gamma=0.5,
    loss="logistic",
    R=4.0,
)


def at_the_edge() -> float:
    W = np.array([[4 * (1 - 1e-6)]])
    return float(np.sum(EDGE.Q(W) ** 2)) / (2 * EDGE.gap(W))


def def1(
    label: str,
    d: Delm,
    quotient: float,
    kappa: float | None = None,
    best: float = 0.0,
    decisions: tuple[str, str, str] = ("holds", "holds", "holds"),
    outcome: str = "met",
) -> Instance:
    """kappa > 0, kappa <= the best one and kappa <= the smallest quotient that can be seen."""
    used = d.kappa if kappa is None else kappa
    expected: dict[str, Sides] = {"positive": Sides(used, ">", 0.0, decision=decisions[0])}
    if kappa is not None:
        # Where it is open, the middle of what is known.
        expected["polyak"] = Sides(kappa, "<=", best, decision=decisions[1])
    if used:
        expected["tried"] = Sides(used, "<=", quotient, decision=decisions[2])
    return Instance(
        "kawaguchi2021/def1",
        d.problem,
        lambda: expected,
        constants={} if kappa is None else {"kappa": kappa},
        outcome=outcome,
        label=label,
    )


# Infima.


def over(d: Delm, R: float) -> float:
    return replace(d, R=R).infimum


def infima(d: Delm) -> Expected:
    """20 drawn (A, B), B scaled into ||B||_1 < (1 - gamma) R; radii 2 R and infinity; the ball of
    twice ||W* U||_1/(1 - gamma) for a least-squares or logistic minimiser W* holds it."""
    stream, points = rng(d.seed, "kawaguchi2021/infima"), []
    for _ in range(20):
        A, B = d.A + stream.normal(size=d.A.shape), d.B + stream.normal(size=d.B.shape)
        if math.isfinite(d.R):
            B = stream.uniform() * (1 - d.gamma) * d.R / norm1(B) * B
        points.append(Point(d, A, B))
    lowest = min(d.L0(p.Z) for p in points)
    free = over(d, math.inf)
    expected = {
        "inside": Sides(lowest, ">=", d.infimum),
        "covered": Noise(0.0, max(free, d.L0(start(d).Z))),
    }
    if math.isinf(d.R):
        return expected
    assert norm1(start(d).Z) < d.R
    W = rng(d.seed, "kawaguchi2021/infima/W").normal(size=d.B.shape)
    W = 0.999 * d.R / norm1(W) * W
    U = np.eye(d.m) - d.gamma * softmax(30 * np.eye(d.m))
    return expected | {
        "smaller": [Noise(over(d, R) - d.infimum, d.infimum) for R in (2 * d.R, math.inf)],
        "reached": Sides(norm1(W @ U), "<", (1 - d.gamma) * d.R),
        **(
            {"flatter": Sides(replace(d, R=2 * d.R).rho.min(), "<=", d.rho.min())}
            if d.loss == "logistic"
            else {}
        ),
    }


# Hessians.


def hessian(d: Delm) -> Expected:
    H = np.kron(2 * d.Phi @ d.Phi.T, np.eye(d.my))
    E = rng(d.seed, "kawaguchi2021/hessian").normal(size=d.B.shape)
    full = int(np.linalg.matrix_rank(H))
    expected = {
        "formula": Noise(0.0, float(np.linalg.norm(H @ E.ravel(order="F")))),
        "rank": Sides(full, "==", rank(d) * d.my),
    }
    if d.m > d.Phi.shape[1]:
        expected["deficient"] = Sides(full, "<", d.m * d.my)
    return expected


def convexity(edition: str, decision: str = "holds") -> Callable[[Delm], Expected]:
    """A.3 and A.4 at W = Z, with the whole Hessian."""

    def of(d: Delm) -> Expected:
        n, sigma, W = d.Phi.shape[1], d.sigma[-1], start(d).Z
        if d.loss == "square":
            full = min(d.m, n)
            holds = "holds" if rank(d) >= full else "violated"
            asked = {"full_rank": Sides(rank(d), ">=", full, decision=holds)}
            if d.m <= n:
                H = np.kron(2 * d.Phi @ d.Phi.T, np.eye(d.my))
                smallest = float(np.linalg.eigvalsh(H)[0])
                return asked | {"strong": Sides(smallest, "==", 2 * sigma**2, decision=decision)}
            sides = float(np.sum(d.Q(W) ** 2)) / 2, 2 * sigma**2 * d.L0(W)
            return asked | (
                {"even": Sides(sides[0], "==", sides[1])}
                if n == 1
                else {"steep": Sides(sides[0], ">=", sides[1])}
            )
        H = (d.Phi * d.second(W)) @ d.Phi.T
        smallest = float(np.linalg.eigvalsh(H)[0])
        kappa = (2 * d.tau + d.rho.min()) * sigma**2
        expected = {"rank_m": Sides(rank(d), ">=", d.m)}
        if math.isfinite(d.R):
            expected["in_ball"] = Sides(norm1(W), "<", d.R)
        if edition == "printed":
            # v of length 2^-20.
            v_H_v = smallest / 2**40
            return expected | {"any_v": Sides(v_H_v, ">=", kappa, decision=decision)}
        return expected | {"curved": Sides(smallest, ">=", kappa)}

    return of


# (19) and (25).


def expansion(d: Delm) -> Expected:
    """V = U^-1 after steps of length h along the gradient: its second-order term is h^2/2 times
    2 gamma^2 V S' V S' V + gamma V S'' V, where the columns of S' are J_k a and those of S'' are
    s_k ((a - s_k . a)^2 - variance) for the column a of the unit direction."""
    here, g = start(d), d.gamma
    direction = -here.gradient[0] / np.linalg.norm(here.gradient[0])
    first, second = np.zeros((d.m, d.m)), np.zeros((d.m, d.m))
    for k, (s, a) in enumerate(zip(here.S.T, direction.T, strict=True)):
        off = a - s @ a
        first[:, k], second[:, k] = here.J[k] @ a, s * (off**2 - s @ off**2)
    V = here.V
    bent = g**2 * V @ first @ V @ first @ V + g * V @ second @ V / 2

    def sides(h: float) -> Sides:
        size = min(math.sqrt(d.m) / (1 - g), norm2(V) / (1 - g * norm2(V) * h / 2))
        bound = h**2 * (g**2 * size**3 / 4 + g * size**2 / 2)
        # The next order is smaller by about h; rounding is granted 1e-13 or so.
        return Sides(h**2 * norm2(bent), "<=", bound, within=1e-2)

    return {"jacobian": Noise(0.0, 1.0), "remainder": [sides(1e-4), sides(1e-5)]}


# Appendix C.

LARGE = drawn(101, m=3, n=4, my=1, gamma=0.6, scale=3.0)
SMALL = drawn(102, m=3, n=4, my=1, gamma=0.4, scale=0.2)


def divergence(decisions: Mapping[str, str] | None = None) -> Callable[[Delm], Expected]:
    def of(d: Delm) -> Expected:
        values, left = np.linalg.eig(d.A.T)
        at = int(np.argmax(np.abs(values)))
        size = abs(values[at])
        # w^T A = lambda w^T, of length 1.
        seen = np.abs(left[:, at] @ d.Phi)
        sample = int(np.argmax(seen))
        phi = d.Phi[:, sample]
        mu = d.gamma * size

        def iterate(M: np.ndarray, count: int) -> np.ndarray:
            return sum(np.linalg.matrix_power(d.gamma * M, k) @ phi for k in range(count + 1))

        expected = {
            "unbounded": Sides(min(np.linalg.norm(d.A, p) for p in (1, 2, np.inf)), ">", 1.0),
            "expands": Sides(mu, ">", 1.0),
            "excited": Sides(seen[sample], ">", 0.0),
            "grows": [
                Sides(
                    norm2(iterate(d.A, count)[:, None]),
                    ">=",
                    seen[sample] * (mu ** (count + 1) - 1) / (mu + 1),
                )
                for count in (2, 8, 16)
            ],
            "bounded": Sides(
                np.abs(iterate(start(d).S, 16)).sum(), "<=", np.abs(phi).sum() / (1 - d.gamma)
            ),
        }
        for name, decision in (decisions or {}).items():
            expected[name] = replace(expected[name], decision=decision)
        return expected

    return of


# Appendix B, the average.

NEAR = replace(GENERIC, gamma=0.97)
FAR = drawn(104, m=4, n=5, my=1, gamma=0.1, scale=2.0)
NEAR_HINGE = drawn(105, m=3, n=6, my=1, gamma=0.96, loss="smoothed-hinge")


def average(decision: str = "holds") -> Callable[[Delm], Expected]:
    """V = delta d/dt Z; r = delta S_t U^-1 q, pi . r and |(I - S^T + 1 pi^T)^-1 (r - pi . r)|."""

    def of(d: Delm) -> Expected:
        at, here = Region(d), start(d)
        r, pi = at.delta * at.S @ here.V @ at.q, stationary(here.S)
        growth = abs(float(pi @ r))
        M = np.eye(d.m) - here.S.T + np.outer(np.ones(d.m), pi)
        limit = float(np.abs(np.linalg.solve(M, r - pi @ r)).max())
        room = growth / (1 - d.gamma) - 2 * limit
        V = at.v
        spread = float(V.max() - V.min()) / abs(float(V.mean()))
        beyond = "holds" if decision == "holds" else "violated"
        return {
            "one_output": Sides(1, "==", 1),
            **kinks(d),
            "near": Sides(2 * (1 - d.gamma) * limit, "<", growth, decision=decision),
            "even": Sides(spread, "<=", 4 * limit / room, decision=beyond),
        }

    return of


ONE_SAMPLE = drawn(106, m=3, n=1, my=2, gamma=0.4)
LABELLED = drawn(107, m=2, n=6, my=1, gamma=0.4, loss="logistic", tau=0.05)
BEST = 2 * SQUARE.sigma[-1] ** 2
OPEN = ("holds", "undecided", "holds")
TOO_LARGE = ("holds", "violated", "violated")

INSTANCES = [
    static("prop1", "generic", BOTH_SIGNS, iterates(9)),
    static("prop1", "both signs", LAST_OF_BOTH, iterates(2)),
    static("prop1", "one sign", LAST_OF_ONE, iterates(2)),
    static("prop1", "negative", ONE_SIGN, iterates(2)),
    # The best constant of the square loss is its smallest quotient: equal up to rounding.
    def1("square", SQUARE, BEST, decisions=("holds", "holds", "undecided")),
    def1("given", SQUARE, BEST, 0.7 * BEST, BEST),
    def1("too large", SQUARE, BEST, 1.01 * BEST, BEST, TOO_LARGE, "not met"),
    def1("hinge", TWICE, 4.0),
    def1("open", TWICE, 4.0, 3.0, 3.0, OPEN, "undecided"),
    def1("edge", EDGE, at_the_edge(), 0.1, (EDGE.kappa + at_the_edge()) / 2, OPEN, "undecided"),
    def1("flat", FLAT, 0.0, decisions=("violated", "", ""), outcome="not met"),
    static("infima", "free", SQUARE, infima),
    static("infima", "tight", TIGHT, infima),
    static("infima", "ball", BALL, infima),
    static("hessian", "more samples", SQUARE, hessian),
    static("hessian", "fewer samples", FEW, hessian),
    static("hessian", "deficient", DEFICIENT, hessian),
    static("hessian", "large", DENSE_NO_MORE, hessian),
    static("convexity", "more samples", SQUARE, convexity("corrected")),
    static("convexity", "fewer samples", FEW, convexity("corrected")),
    static("convexity", "one sample", ONE_SAMPLE, convexity("corrected")),
    static("convexity", "logistic", LABELLED, convexity("corrected")),
    static("convexity", "ball", BALL, convexity("corrected")),
    static("convexity", "short", LABELLED, convexity("printed", "violated"), "printed", "refuted"),
    static("convexity", "square", SQUARE, convexity("printed"), "printed"),
    static("expansion", "wide", FEW, expansion),
    static("expansion", "two outputs", SQUARE, expansion),
    static("divergence", "large", LARGE, divergence()),
    static(
        "divergence",
        "small",
        SMALL,
        divergence({"unbounded": "violated", "expands": "violated"}),
        outcome="not applicable",
    ),
    static("average", "near", NEAR, average()),
    static("average", "hinge", NEAR_HINGE, average()),
    static("average", "far", FAR, average("violated"), outcome="not applicable"),
]
