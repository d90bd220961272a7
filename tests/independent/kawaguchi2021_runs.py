"""Kawaguchi 2021: the statements about gradient flow and gradient descent."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from .harness import Along, Expected, Instance, Sides
from .kawaguchi2021_model import Delm, Point, descent, drawn, flow, norm1, norm2, start

FLOW = {"gradient flow": Sides(0.0, "==", 0.0)}


def rank(d: Delm) -> int:
    return int(np.linalg.matrix_rank(d.Phi))


def decided(holds: bool) -> str:
    return "holds" if holds else "violated"


def positive(kappa: float) -> Expected:
    return {"positive": Sides(kappa, ">", 0.0, decision=decided(kappa > 0))}


def in_ball(d: Delm, horizon: float, edition: str) -> Expected:
    """Theorem 1 asks for ||B_t||_1 < (1 - gamma) R; its proof, A.1.7, for ||Z_t||_1 < R. A run that
    starts in the ball is judged until it is left, one that starts outside nowhere."""
    if math.isinf(d.R):
        return {}
    run = flow(d, horizon)
    if edition == "printed":
        attribute, radius = "weights_in_ball", (1 - d.gamma) * d.R

        def size(p: Point) -> float:
            return norm1(p.B)
    else:
        attribute, radius = "map_in_ball", d.R

        def size(p: Point) -> float:
            return norm1(p.Z)

    stays = size(start(d)) < radius
    left: Along = lambda k, t: run.along(t, size)  # noqa: E731
    return {attribute: Sides(left, "<", radius, decision=decided(stays))}


def bounds(d: Delm, horizon: float, kappa: float) -> Expected:
    """(7) with lambda_T replaced by 1/(m (1 + gamma)^2), with lambda_T, and with its integral."""
    run = flow(d, horizon)

    def gap(k: np.ndarray, t: np.ndarray) -> np.ndarray:
        return run.along(t, lambda p: p.gap) / start(d).gap

    return {
        "floor": Sides(run.lowest, ">=", d.floor),
        "independent": Sides(gap, "<=", lambda k, t: np.exp(-2 * kappa * d.floor * t)),
        "dependent": Sides(gap, "<=", lambda k, t: np.exp(-2 * kappa * run.infimum(t) * t)),
        "integrated": Sides(gap, "<=", lambda k, t: np.exp(-2 * kappa * run.integral(t))),
    }


def resting(d: Delm) -> Expected:
    """Targets 0 and B = 0: the loss is 0 and stays there."""
    here = start(d)
    assert not d.Y.any() and not d.B.any()
    zero: Along = lambda k, t: np.zeros(len(t))  # noqa: E731
    return {
        "floor": Sides(1 / norm2(here.U) ** 2, ">=", d.floor),
        "at_rest": Sides(zero, "<=", 0.0),
    }


def along(
    id: str,
    d: Delm,
    horizon: float,
    edition: str,
    label: str,
    hypotheses: Expected,
    kappa: float,
    constants: Mapping[str, float] | None = None,
    outcome: str = "confirmed",
    judged: Delm | None = None,
) -> Instance:
    """`judged`: the instance that the statement speaks of, where it is not the one given."""
    of = judged or d
    rests = not d.Y.any()
    return Instance(
        f"kawaguchi2021/{id}",
        d.problem,
        lambda: {
            **FLOW,
            **hypotheses,
            **in_ball(of, horizon, edition),
            **(resting(of) if rests else bounds(of, horizon, kappa)),
        },
        edition=edition,
        train={"kind": "flow", "horizon": horizon},
        constants=constants or {},
        outcome=outcome,
        label=label,
    )


SQUARE = drawn(71, m=3, n=5, my=2, gamma=0.3)
FEW = drawn(72, m=4, n=3, my=1, gamma=0.6)
DEFICIENT = drawn(
    73,
    m=3,
    n=4,
    my=2,
    gamma=0.45,
    Phi=np.array([[1.0, -2.0, 0.5, 1.5], [2.0, -4.0, 1.0, 3.0], [0.0, 1.0, 0.75, -1.25]]),
)
RIDGE = drawn(74, m=2, n=6, my=1, gamma=0.4, loss="logistic", tau=0.06)
BALL = drawn(75, m=2, n=5, my=1, gamma=0.35, scale=0.4, loss="logistic", tau=0.04, R=1.1)
BARE = drawn(76, m=3, n=6, my=1, gamma=0.3, scale=0.3, loss="logistic", R=1.3)
FLAT = replace(RIDGE, tau=0.0)
FEW_LABELS = drawn(77, m=3, n=2, my=1, gamma=0.55, scale=0.3, loss="logistic", tau=0.03, R=1.6)
OUTSIDE = drawn(79, m=3, n=6, my=1, gamma=0.7, loss="logistic", tau=0.05, R=2.2)
MARGIN = Delm(
    Phi=np.array([[0.9, 0.4, -1.1], [-0.2, 1.3, 0.3]]),
    Y=np.array([[1.0, 1.0, -1.0]]),
    A=np.array([[0.2, -0.5], [0.7, 0.1]]),
    B=np.array([[-0.3, 0.2]]),
    gamma=0.3,
    loss="smoothed-hinge",
)


def thm1(d: Delm, horizon: float, edition: str, label: str, outcome: str = "confirmed") -> Instance:
    return along("thm1", d, horizon, edition, label, positive(d.kappa), d.kappa, outcome=outcome)


def given(d: Delm, horizon: float, edition: str, share: float) -> Instance:
    """With a PL constant smaller than the best one."""
    kappa = share * d.kappa
    hypotheses = {**positive(kappa), "polyak": Sides(kappa, "<=", d.kappa)}
    return along("thm1", d, horizon, edition, "given", hypotheses, kappa, {"kappa": kappa})


def cor1(d: Delm, horizon: float, edition: str, label: str) -> Instance:
    """Printed: rank Phi = min(m, n) and 2 sigma_min^2; corrected: Phi != 0 and 2 sigma_pos^2."""
    if edition == "printed":
        full = min(d.Phi.shape)
        holds = rank(d) >= full
        hypotheses = {"full_rank": Sides(rank(d), ">=", full, decision=decided(holds))}
        outcome = "confirmed" if holds else "not applicable"
        kappa = d.kappa_printed
        return along(
            "cor1", d, horizon, edition, label, hypotheses, kappa, outcome=outcome, judged=free(d)
        )
    hypotheses = {"some_rank": Sides(rank(d), ">=", 1)}
    return along("cor1", d, horizon, edition, label, hypotheses, d.kappa, judged=free(d))


def free(d: Delm) -> Delm:
    """Corollary 1 has no ball, and its L* is the infimum over all W."""
    return d if math.isinf(d.R) else replace(d, R=math.inf)


def cor2(d: Delm, horizon: float, edition: str, label: str, outcome: str = "confirmed") -> Instance:
    """rank Phi = m is only asked for in print."""
    hypotheses = {}
    kappa = d.kappa
    if edition == "printed":
        holds = rank(d) >= d.m
        hypotheses["full_rank"] = Sides(rank(d), ">=", d.m, decision=decided(holds))
        kappa = d.kappa_printed
    return along("cor2", d, horizon, edition, label, hypotheses, kappa, outcome=outcome)


# Equal 1-norms of the features: rho is the same for every sample.
EQUAL = replace(BARE, Phi=BARE.Phi / np.abs(BARE.Phi).sum(axis=0), R=2.2)


def times(d: Delm, horizon: float, edition: str, label: str, eps: tuple[float, ...]) -> Instance:
    """(9)-(12), for those accuracies that are reached or promised within the horizon: with the
    hypotheses of the corollary, and with its constant."""
    printed = edition == "printed"
    kappa = d.kappa_printed if printed and d.loss != "smoothed-hinge" else d.kappa
    ranks = {"square": ("Phi has full rank", min(d.Phi.shape)), "logistic": ("Phi has rank m", d.m)}
    asked = {ranks[d.loss][0]: Sides(rank(d), ">=", ranks[d.loss][1])} if d.loss in ranks else {}
    if not printed:
        asked = {"Phi is not zero": Sides(rank(d), ">=", 1)} if d.loss == "square" else {}

    def reached(share: float) -> Sides:
        promised = d.m * (1 + d.gamma) ** 2 / (2 * kappa) * math.log(1 / share)
        # When an accuracy is reached is known up to the times that are recorded.
        return Sides(flow(d, horizon).reaches(share), "<=", promised, bar=0.2, between=True)

    return Instance(
        "kawaguchi2021/times",
        d.problem,
        lambda: {
            **FLOW,
            **positive(kappa),
            **asked,
            **in_ball(d, horizon, edition),
            "reached": [reached(share) for share in eps],
        },
        edition=edition,
        train={"kind": "flow", "horizon": horizon},
        label=label,
    )


# Square loss with a ball that is left on the way, and one that starts at its infimum.
TIGHT = drawn(86, m=2, n=4, my=1, gamma=0.4, scale=0.2, R=0.5)
REST = replace(FEW, Y=np.zeros((1, 3)), B=np.zeros((1, 4)))
# Separable labels leave every ball, where lambda_min(D_t) only rises.
LEAVES = Delm(
    Phi=np.array([[1.0, 2.0, -1.0], [0.0, 1.0, -1.0]]),
    Y=np.array([[1.0, 1.0, 0.0]]),
    A=np.zeros((2, 2)),
    B=np.zeros((1, 2)),
    gamma=0.5,
    loss="logistic",
    R=1.0,
)

# Gradient descent.


def curvature(here: Point, step: float) -> float:
    """A bound on |L''| between an iterate and the next, of length `away`: with |S'| <= |A'|/2 and
    |S''| <= |A'|^2, both 0 for m = 1,
    |Z'| <= |V| (|B'| + gamma |Z| |A'|/2), so at most |V| sqrt(1 + (gamma |Z|/2)^2), and
    |Z''| <= gamma |V|^2 |B'| |A'| + gamma^2 |Z| |V|^2 |A'|^2/2 + gamma |Z| |V| |A'|^2
    with |B'| |A'| <= 1/2; L'' = <Z', L0'' Z'> + <grad L0, Z''>. On the way |V| and |Z| grow by what
    |U - U_0| <= gamma away/2 and Z - Z_0 = (B - B_0 - Z_0 (U - U_0)) V allow."""
    d, away = here.d, step * here.slope
    g, bends = d.gamma, d.m > 1
    V, Z, Q = norm2(here.V), norm2(here.Z), float(np.linalg.norm(here.Q))
    half = g / 2 if bends else 0.0
    V = V / (1 - half * away * V)
    Z = Z + away * V + away * V * half * Z
    first = V * math.hypot(1, half * Z)
    second = (g * V**2 / 2 + g**2 * Z * V**2 / 2 + g * Z * V) if bends else 0.0
    return d.smoothness * first**2 + (Q + d.smoothness * first * away) * second


def gd(
    d: Delm,
    step: float,
    steps: int,
    edition: str,
    label: str,
    outcome: str = "confirmed",
    decisions: Mapping[str, str] | None = None,
) -> Instance:
    """Printed: (7) at t = step k. Corrected: the descent lemma and the PL inequality of L."""

    def expected() -> Expected:
        run = descent(d, step, steps)
        found = {
            "gradient descent": Sides(step, ">", 0.0),
            **positive(d.kappa),
            **ball(run),
            **(printed(run) if edition == "printed" else corrected(run)),
        }
        for name, decision in (decisions or {}).items():
            found[name] = replace(found[name], decision=decision)
        return found

    def ball(run: list[Point]) -> Expected:
        if math.isinf(d.R):
            return {}
        if edition == "printed":
            sizes, radius = [norm1(p.B) for p in run], (1 - d.gamma) * d.R
            return {"weights_in_ball": Sides(lambda k, t: np.array(sizes)[k], "<", radius)}
        sizes = [norm1(p.Z) for p in run]
        return {"map_in_ball": Sides(lambda k, t: np.array(sizes)[k], "<", d.R)}

    def printed(run: list[Point]) -> Expected:
        kappa, smallest = d.kappa, np.array([p.lambda_min for p in run])
        t = step * np.arange(steps + 1)
        gap = np.array([p.gap for p in run]) / run[0].gap
        infimum = np.minimum.accumulate(smallest)
        return {
            "floor": Sides(smallest.min(), ">=", d.floor),
            "independent": Sides(lambda k, _: gap[k], "<=", np.exp(-2 * kappa * d.floor * t)),
            "dependent": Sides(lambda k, _: gap[k], "<=", np.exp(-2 * kappa * infimum * t)),
        }

    def corrected(run: list[Point]) -> Expected:
        beta = np.array([curvature(p, step) for p in run[:-1]])
        smallest = np.array([p.lambda_min for p in run[:-1]])
        gap = np.array([p.gap for p in run])
        factor = 1 - 2 * step * (1 - step * beta / 2) * d.kappa * smallest
        return {
            "stable": Sides(step, "<", 2 / beta.max()),
            "contraction": Sides(lambda k, t: (gap[1:] / gap[:-1])[k], "<=", factor),
        }

    return Instance(
        "kawaguchi2021/gd",
        d.problem,
        expected,
        edition=edition,
        train={"kind": "gd", "step": step, "steps": steps},
        outcome=outcome,
        label=label,
    )


# The smallest one on which descent leaves the bound of the flow behind.
SMALLEST = Delm(*(np.array([[x]]) for x in (1.0, 1.0, 0.0, 0.0)), gamma=0.5)
ONE = drawn(78, m=1, n=4, my=1, gamma=0.3, loss="logistic", tau=0.05)

# Two features are the same: sigma_min(Phi) = 0, and the printed bound does not fall.
ALIKE = replace(RIDGE, Phi=RIDGE.Phi[[0, 0]])
# The curvature is largest at the end of the run, not at its start.
RISES = replace(drawn(75, m=2, n=4, my=1, gamma=0.5, loss="logistic", tau=0.05), B=np.zeros((1, 2)))

INSTANCES = [
    thm1(SQUARE, 0.3, "printed", "square"),
    thm1(SQUARE, 0.3, "corrected", "square"),
    given(SQUARE, 0.3, "corrected", 0.7),
    given(FEW, 0.2, "printed", 0.4),
    thm1(BALL, 0.5, "printed", "ball"),
    thm1(BALL, 0.5, "corrected", "ball"),
    thm1(OUTSIDE, 0.2, "printed", "outside", "not applicable"),
    thm1(OUTSIDE, 0.2, "corrected", "outside"),
    thm1(MARGIN, 0.2, "corrected", "hinge"),
    thm1(FLAT, 0.3, "corrected", "flat", "not applicable"),
    cor1(SQUARE, 0.3, "printed", "more samples"),
    cor1(SQUARE, 0.3, "corrected", "more samples"),
    cor1(FEW, 0.2, "printed", "fewer samples"),
    cor1(DEFICIENT, 0.1, "printed", "deficient"),
    cor1(DEFICIENT, 0.1, "corrected", "deficient"),
    cor1(TIGHT, 0.3, "printed", "tight ball"),
    cor1(TIGHT, 0.3, "corrected", "tight ball"),
    cor1(REST, 0.2, "corrected", "at rest"),
    thm1(REST, 0.2, "printed", "at rest"),
    cor2(RIDGE, 1.5, "printed", "ridge"),
    cor2(RIDGE, 1.5, "corrected", "ridge"),
    cor2(ALIKE, 0.4, "printed", "alike", "not applicable"),
    cor2(BALL, 0.5, "printed", "ball"),
    cor2(BALL, 0.5, "corrected", "ball"),
    cor2(BARE, 0.3, "printed", "bare"),
    cor2(BARE, 0.3, "corrected", "bare"),
    cor2(FEW_LABELS, 0.3, "printed", "deficient", "not applicable"),
    cor2(FEW_LABELS, 0.3, "corrected", "deficient"),
    cor2(FLAT, 0.3, "printed", "flat"),
    cor2(LEAVES, 0.5, "printed", "leaves the ball"),
    cor2(LEAVES, 0.5, "corrected", "leaves the ball"),
    times(MARGIN, 0.3, "printed", "hinge", (0.5, 0.1)),
    times(SQUARE, 10.0, "printed", "all", (0.5, 0.1, 1e-2, 1e-4, 1e-8)),
    times(FEW, 0.5, "corrected", "some", (0.5, 0.1, 1e-2)),
    times(EQUAL, 2.0, "printed", "ball", (0.5,)),
    times(BALL, 0.5, "corrected", "ball", (0.5,)),
    gd(SQUARE, 2e-3, 12, "printed", "square"),
    gd(SQUARE, 2e-3, 12, "corrected", "square"),
    gd(BALL, 5e-3, 10, "printed", "ball"),
    gd(BALL, 5e-3, 10, "corrected", "ball"),
    gd(ONE, 0.05, 6, "corrected", "one unit"),
    gd(RISES, 0.01, 12, "corrected", "rising"),
    gd(
        SMALLEST,
        0.1875,
        3,
        "printed",
        "counterexample",
        "refuted",
        {"dependent": "violated"},
    ),
    gd(SQUARE, 0.2, 2, "corrected", "large step", "not applicable", {"stable": "violated"}),
]
