"""Theorems 4.2 and 4.4, Section 5.1 and the step 1/N of Gao and Gao 2022, as they are printed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from scipy.optimize import brentq

from .gao2022_network import Descent, Flow, Network, drawn, fro, norm, nth, problem
from .harness import Expected, Instance, Sides

Constants = Mapping[str, float]


@dataclass(frozen=True)
class Paper:
    """What Theorems 4.2 and 4.4 call by a name of its own, with C1, C2, C3 given."""

    net: Network
    C: Constants

    @property
    def lambda1(self) -> float:
        return self.net.norms["W"] + self.C["C1"]

    @property
    def lambda2(self) -> float:
        return self.net.norms["A"] + self.C["C2"]

    @property
    def lambda3(self) -> float:
        return self.net.norms["b"] + self.C["C3"]

    @property
    def gamma0(self) -> float:
        return self.net.gamma * self.lambda2

    @property
    def lambda0_entries(self) -> tuple[float, float, float]:
        """After (15)."""
        l1, l2, l3, g0 = self.lambda1, self.lambda2, self.lambda3, self.gamma0
        return (
            l1 / self.C["C3"],
            g0 * l1 * l3 / ((1 - g0) * self.C["C2"] * l2),
            l3 / self.C["C1"],
        )

    @property
    def bracket(self) -> float:
        """1 + gamma0^2/(1 - gamma0)^2 lambda1^2/lambda2^2 of (15), (18), (19)."""
        g0 = self.gamma0
        return 1 + g0**2 / (1 - g0) ** 2 * self.lambda1**2 / self.lambda2**2

    def residual(self, factor: float) -> float:
        """Right of (14) with 4, of (17) with 8."""
        X, r0 = self.net.X_fro, self.net.r0
        return factor / (1 - self.gamma0) * max(self.lambda0_entries) * X * r0

    def drift(self, factor: float) -> float:
        """Right of (15) with 8, of (18) with 16."""
        X, r0 = self.net.X_fro, self.net.r0
        return self.bracket * factor * self.lambda3 / (1 - self.gamma0) ** 2 * X**2 * r0

    @property
    def one_step(self) -> float:
        """Right of (19)."""
        return self.bracket * 16 * self.lambda3**2 / (1 - self.gamma0) ** 2 * self.net.X_fro**2

    @property
    def eta2(self) -> float:
        """The second entry of the minimum in (20), with the printed lambda bar."""
        l1, l3 = self.lambda1, self.lambda3
        bar = self.bracket * (self.bracket * l1**-2 + l3**-2) ** -2
        return 2 * (1 - self.gamma0) ** 2 * bar * l1**-4 * l3**-2 * self.net.X_fro**-2

    @property
    def largest_step(self) -> float:
        """Right of (20)."""
        return min(4 / self.net.alpha0**2, self.eta2)

    @property
    def flow_ratio(self) -> float:
        """The worst right/left of (14), (15)."""
        a = self.net.alpha0
        return max(self.residual(4) / a**2, self.drift(8) / a**3)

    @property
    def descent_ratio(self) -> float:
        """The worst right/left of (17)-(19)."""
        a = self.net.alpha0
        return max(self.residual(8) / a**2, self.drift(16) / a**3, self.one_step / a**2)


def step_ceiling(net: Network) -> float:
    """No constants that meet (19) leave a larger eta2: c lambda3^2 at most what (19) leaves of it,
    eta2 <= 2 (1 - gamma0)^2 c lambda3^2/(lambda1^4 |X|_F^2), with C1, C2 -> 0."""
    X, room = fro(net.X), 1 - net.q
    moved = net.alpha0**2 * room**2 / (16 * X**2)
    return 2 * room**2 * moved / (norm(net.W) ** 4 * X**2)


def judged(left: float, right: float) -> str:
    return "holds" if left >= right else "violated"


def above(left: float, right: float) -> Sides:
    return Sides(left, ">=", right, decision=judged(left, right))


def below(left: float, right: float) -> Sides:
    return Sides(left, "<=", right, decision=judged(right, left))


def common(at: Paper) -> Expected:
    certifiable = {"certifiable": Sides(at.net.alpha0, ">", 0.0)} if at.net.r0 else {}
    return {
        "starts_well": Sides(at.net.q, "<", 1.0),
        "well_posed": Sides(at.gamma0, "<", 1.0),
        **certifiable,
    }


def flow_conditions(at: Paper) -> Expected:
    a = at.net.alpha0
    return {
        **common(at),
        "first": above(a**2, at.residual(4)),
        "second": above(a**3, at.drift(8)),
    }


def descent_conditions(at: Paper) -> Expected:
    a = at.net.alpha0
    return {
        **common(at),
        "first": above(a**2, at.residual(8)),
        "second": above(a**3, at.drift(16)),
        "third": above(a**2, at.one_step),
    }


def close(at: Paper, run: Descent | Flow) -> Expected:
    """(i) and (ii)."""

    def along(f: Callable[[Network], float]) -> Any:
        return lambda k, t: [f(run.at(*pair)) for pair in zip(k, t, strict=True)]

    return {
        "bounded_w": Sides(along(lambda s: norm(s.W)), "<=", at.lambda1),
        "bounded_a": Sides(along(lambda s: norm(s.A)), "<=", at.lambda2),
        "bounded_b": Sides(along(lambda s: norm(s.b)), "<=", at.lambda3),
        "regular": Sides(along(lambda s: s.alpha0), ">=", at.net.alpha0 / 2),
    }


def falls(at: Paper, run: Descent | Flow, bound: Any) -> Sides:
    """(iii)."""

    def gap(k: np.ndarray, t: np.ndarray) -> list[float]:
        return [run.at(*pair).loss / at.net.loss for pair in zip(k, t, strict=True)]

    return Sides(gap, "<=", bound)


@cache
def feasible() -> Network:
    """A small residual and a small b: all of (14)-(19) hold with room for many constants."""
    first = drawn(5, N=3, d=4, m=7, q=0.37, gamma=0.3)
    b = 0.002 * first.b
    y = first.Z @ b + 1e-5 * np.array([1.0, -0.6, 0.4])
    return drawn(5, N=3, d=4, m=7, q=0.37, gamma=0.3, b=b, y=y)


@cache
def wild() -> Network:
    """Nothing is small."""
    return drawn(12, N=2, d=3, m=5, q=0.41, gamma=0.7)


@cache
def long_samples() -> Network:
    """alpha0 is so large that only its square keeps 4/alpha0^2 above the other entry of (20)."""
    return replace(wild(), X=1e6 * wild().X)


@cache
def short_samples() -> Network:
    """The same with a small alpha0."""
    return replace(wild(), X=1e-6 * wild().X)


@cache
def settled() -> Network:
    """b = 0 and y = 0: the loss is zero from the start."""
    return drawn(5, N=3, d=4, m=7, q=0.37, gamma=0.3, b=np.zeros(7), y=np.zeros(3))


# Each makes another entry of lambda0 the largest.
CONSTANTS = (
    {"C1": 0.3, "C2": 0.21, "C3": 0.007},
    {"C1": 0.4, "C2": 0.0004, "C3": 0.03},
    {"C1": 0.0001, "C2": 0.11, "C3": 0.023},
)
# The worst condition of Theorem 4.4 is (18), (19), and (17) by each entry of lambda0.
WILD_CONSTANTS = (
    {"C1": 0.9, "C2": 0.31, "C3": 0.23},
    {"C1": 1.7, "C2": 0.05, "C3": 1.3},
    {"C1": 1e-4, "C2": 0.13, "C3": 0.7},
    {"C1": 0.6, "C2": 1e-4, "C3": 0.4},
    {"C1": 0.8, "C2": 0.17, "C3": 1e-4},
)
HORIZON, WILD_HORIZON, STEP, WILD_STEP = 0.3, 0.02, 2.3e-7, 0.004


@cache
def flow(net: Callable[[], Network], horizon: float) -> Flow | Descent:
    """Where the loss is zero already nothing moves."""
    return Flow(net(), horizon) if net().r0 else Descent(net(), 0.0)


@cache
def descent(net: Callable[[], Network], step: float) -> Descent:
    return Descent(net(), step)


def thm4_2(net: Callable[[], Network], C: Constants, horizon: float) -> Expected:
    """Theorem 4.2."""
    at, run = Paper(net(), C), flow(net, horizon)

    def bound(k: np.ndarray, t: np.ndarray) -> np.ndarray:
        return np.exp(-(at.net.alpha0**2) * t / 2)

    return {
        "gradient flow": Sides(0.0, "==", 0.0),
        **flow_conditions(at),
        **close(at, run),
        "rate": falls(at, run, bound),
    }


def thm4_4(net: Callable[[], Network], C: Constants, step: float) -> Expected:
    """Theorem 4.4."""
    at, run = Paper(net(), C), descent(net, step)
    small = "holds" if step < at.largest_step else "violated"

    def bound(k: np.ndarray, t: np.ndarray) -> np.ndarray:
        return (1 - step * at.net.alpha0**2 / 4) ** k

    return {
        "gradient descent": Sides(step, ">", 0.0),
        **descent_conditions(at),
        "small_step": Sides(step, "<", at.largest_step, decision=small),
        **close(at, run),
        "rate": falls(at, run, bound),
    }


def at_rest(expected: Expected) -> Expected:
    """(iii) where the loss is zero from the start."""
    kept = {name: sides for name, sides in expected.items() if name != "rate"}
    return {**kept, "optimal": Sides(0.0, "<=", 1e-300)}


FIXED = {"C1": 0.29, "C2": 0.19}


@cache
def best_third() -> float:
    """C3 where (17), which falls with it, and (19), which grows, are equally hard."""

    def apart(C3: float) -> float:
        at = Paper(feasible(), {**FIXED, "C3": C3})
        return at.residual(8) - at.one_step

    return float(brentq(apart, 1e-4, 1.0, xtol=1e-15))


def refused(step: float, decision: str) -> Expected:
    """A step that is too large for the best C3, and perhaps for every one."""
    C = {**FIXED, "C3": best_third()}
    found = dict(thm4_4(feasible, C, step))
    del found["small_step"]
    at = Paper(feasible(), C)
    searched = {
        name: replace(found[name], within=1e-6)
        for name in ("first", "second", "third", "bounded_b")
    }
    middle = (at.eta2 + step_ceiling(at.net)) / 2
    some = Sides(step, "<", middle, decision=decision, between=True)
    return {**found, **searched, "some_step": some}


def eta_claim(net: Network, C: Constants) -> Expected:
    """The facts F1-F4 behind the corrected claim."""
    at = Paper(net, C)
    N, X, a, c, g0 = net.N, fro(net.X), net.alpha0, at.bracket, at.gamma0
    return {
        **descent_conditions(at),
        "F1": Sides(a, "<=", at.lambda1 * X / (1 - g0) / N**0.5),
        "F2": Sides(at.eta2, "<=", 4 / a**2 / (8 * N)),
        "F3_balance": above(at.lambda1, 4 * (c * N) ** 0.5 * at.lambda3),
        "F3_rate": below(at.eta2 * a**2 / 4, 1 / (32 * N**2)),
        "F4": below(at.eta2 * 256 * c**0.5 * N ** (5 / 2) * X * net.r0, 1 - g0),
    }


def eta_printed(net: Network, C: Constants, decision: str) -> Expected:
    """Section 7: the step 1/N; of the largest one only the two ends are known."""
    at = Paper(net, C)
    middle = (at.eta2 + max(step_ceiling(net), at.eta2)) / 2
    deviation = max(abs(norm(x) - 1) for x in net.X)
    unit = "holds" if deviation <= 1e-12 else "violated"
    return {
        "unit": Sides(deviation, "<=", 1e-12, decision=unit),
        **descent_conditions(at),
        "one_over_n": Sides(1 / net.N, "<", middle, decision=decision, between=True),
    }


@cache
def bold() -> Network:
    """Small W and tiny labels for unit samples: the conditions leave room for the step 1/N."""
    X = np.array([[0.6, 0.8, 0.0], [0.0, -0.28, 0.96]])
    net = drawn(1, N=2, d=3, m=4, q=0.2, gamma=0.3, X=X, b=np.zeros(4))
    return replace(net, W=0.01 * net.W, y=1e-10 * net.y)


@cache
def unit_samples() -> Network:
    """Rows that are unit vectors in binary, and a W that meets (17)-(19)."""
    return Network(
        X=np.array([[1.0, 0.0], [0.0, -1.0]]),
        y=np.array([1.0, -0.5]),
        W=np.array([[40.0, 20.0], [-20.0, -40.0]]),
        A=np.full((2, 2), 0.5),
        b=np.zeros(2),
        gamma=0.01,
    )


UNIT_CONSTANTS = {"C1": 0.2, "C2": 0.25, "C3": 2.9}
BOLD = {"C1": 1e-4, "C2": 0.1, "C3": 2e-4}


def nonnegative(beta: float, y: float, ratio: float = 1.0) -> Network:
    """The start of Section 5.1: b = 0, A >= 0, |A| = ratio |W|, gamma0 = 1/2 with C2 = 1."""
    rng = np.random.default_rng(4)
    W, A = beta * rng.normal(size=(4, 5)), np.abs(rng.normal(size=(5, 5)))
    A *= ratio * norm(W) / norm(A)
    return Network(
        X=rng.normal(size=(2, 4)),
        y=y * rng.normal(size=2),
        W=W,
        A=A,
        b=np.zeros(5),
        gamma=1 / (2 * (larger(W, A) + 1)),
    )


def larger(W: np.ndarray, A: np.ndarray) -> float:
    return max(norm(W), norm(A))


def smallest_beta(net: Network) -> float:
    """The smallest beta with (24)-(26), each solved for it."""
    X, labels, W, a1 = fro(net.X), fro(net.y), larger(net.W, net.A), nth(net.Phi, net.N)
    conditions: Sequence[Callable[[float], float]] = (
        lambda s: (2 / 3 * s * a1) ** 2 - 16 * (s * W + 1) * X * labels,
        lambda s: (2 / 3 * s * a1) ** 3 - 128 * X**2 * labels,
        lambda s: (2 / 3 * s * a1) ** 2 - 128 * X**2,
    )
    return max(brentq(f, 1e-9, 1e9, xtol=1e-14, rtol=1e-14) for f in conditions)


def scaled(net: Network, beta: float) -> Paper:
    """beta theta(0) with gamma0 = 1/2 for the larger norm, and C1 = C2 = C3 = 1."""
    gamma = 1 / (2 * (beta * larger(net.W, net.A) + 1))
    there = replace(net, W=beta * net.W, A=beta * net.A, b=beta * net.b, gamma=gamma)
    return Paper(there, {"C1": 1.0, "C2": 1.0, "C3": 1.0})


def sec5_1(net: Network, features: str = "holds") -> Expected:
    """(24)-(26) and (17)-(19) at the hardest of three scales beyond the smallest beta."""
    X, y, size, a1 = fro(net.X), fro(net.y), larger(net.W, net.A), nth(net.Phi, net.N)
    found: dict[str, Sides] = {
        "b_zero": Sides(norm(net.b), "==", 0.0),
        "nonnegative": above(net.A.min(), 0.0),
        "features": Sides(a1, ">", 0.0),
    }
    sides: dict[str, list[tuple[float, float]]] = {}
    for beyond in (1.001, 10, 1000):
        beta = beyond * smallest_beta(net)
        at = scaled(net, beta)
        conditions = descent_conditions(at)
        for name, left, right in (
            ("scale_24", (2 / 3 * beta * a1) ** 2, 16 * (beta * size + 1) * X * y),
            ("scale_25", (2 / 3 * beta * a1) ** 3, 128 * X**2 * y),
            ("scale_26", (2 / 3 * beta * a1) ** 2, 128 * X**2),
            ("regular", at.net.alpha0, 2 / 3 * beta * a1),
            *((name, conditions[name].left, conditions[name].right)
              for name in ("first", "second", "third")),
        ):  # fmt: skip
            sides.setdefault(name, []).append((left, right))
    hardest = {
        name: min(pairs, key=lambda pair: pair[0] / pair[1]) for name, pairs in sides.items()
    }
    found |= {name: above(*pair) for name, pair in hardest.items()}
    # gamma0 = (beta |A| + 1)/(2 (beta s + 1)) is largest at an end: it is monotone in beta.
    gamma0 = max(at.gamma0 for at in (scaled(net, b * smallest_beta(net)) for b in (1.001, 1000)))
    return {**found, "well_posed": Sides(gamma0, "<", 1.0)}


TRAINED = [
    *(
        Instance(
            "gao2022/thm4.2",
            lambda: problem(feasible(), points=6),
            lambda C=C: thm4_2(feasible, C, HORIZON),
            train={"kind": "flow", "horizon": HORIZON},
            constants=C,
            label=f"entry {i}",
        )
        for i, C in enumerate(CONSTANTS)
    ),
    Instance(
        "gao2022/thm4.2",
        lambda: problem(wild(), points=6),
        lambda: thm4_2(wild, WILD_CONSTANTS[0], WILD_HORIZON),
        train={"kind": "flow", "horizon": WILD_HORIZON},
        constants=WILD_CONSTANTS[0],
        outcome="not applicable",
        label="wild",
    ),
    Instance(
        "gao2022/thm4.2",
        lambda: problem(settled(), points=4),
        lambda: at_rest(thm4_2(settled, CONSTANTS[0], HORIZON)),
        train={"kind": "flow", "horizon": HORIZON},
        constants=CONSTANTS[0],
        label="optimal",
    ),
    *(
        Instance(
            "gao2022/thm4.4",
            lambda: problem(feasible()),
            lambda C=C: thm4_4(feasible, C, STEP),
            train={"kind": "gd", "step": STEP, "steps": 7},
            constants=C,
            label=f"entry {i}",
        )
        for i, C in enumerate(CONSTANTS)
    ),
    Instance(
        "gao2022/thm4.4",
        lambda: problem(wild()),
        lambda: thm4_4(wild, WILD_CONSTANTS[0], WILD_STEP),
        train={"kind": "gd", "step": WILD_STEP, "steps": 5},
        constants=WILD_CONSTANTS[0],
        outcome="not applicable",
        label="wild",
    ),
    *(
        Instance(
            "gao2022/thm4.4",
            lambda net=net: problem(net()),
            lambda net=net, step=step: thm4_4(net, WILD_CONSTANTS[1], step),
            train={"kind": "gd", "step": step, "steps": 1},
            constants=WILD_CONSTANTS[1],
            outcome="not applicable",
            label=net.__name__,
        )
        for net, step in ((long_samples, 1e-18), (short_samples, 3.0))
    ),
    Instance(
        "gao2022/thm4.4",
        lambda: problem(settled()),
        lambda: at_rest(thm4_4(settled, CONSTANTS[0], STEP / 3)),
        train={"kind": "gd", "step": STEP / 3, "steps": 3},
        constants=CONSTANTS[0],
        label="optimal",
    ),
    Instance(
        "gao2022/thm4.4",
        lambda: problem(feasible()),
        lambda: refused(1e-5, "violated"),
        train={"kind": "gd", "step": 1e-5, "steps": 3},
        constants=FIXED,
        outcome="not applicable",
        label="no constants",
    ),
    Instance(
        "gao2022/thm4.4",
        lambda: problem(feasible()),
        lambda: refused(6e-6, "undecided"),
        train={"kind": "gd", "step": 6e-6, "steps": 3},
        constants=FIXED,
        outcome="undecided",
        label="perhaps some constants",
    ),
    *(
        Instance(
            "gao2022/eta-claim",
            lambda: problem(feasible()),
            lambda C=C: eta_claim(feasible(), C),
            constants=C,
            label=f"entry {i}",
        )
        for i, C in enumerate(CONSTANTS)
    ),
    Instance(
        "gao2022/eta-claim",
        lambda: problem(wild()),
        lambda: eta_claim(wild(), WILD_CONSTANTS[1]),
        constants=WILD_CONSTANTS[1],
        outcome="not applicable",
        label="wild",
    ),
    Instance(
        "gao2022/eta-claim",
        lambda: problem(feasible()),
        lambda: eta_printed(feasible(), CONSTANTS[1], "violated"),
        edition="printed",
        constants=CONSTANTS[1],
        outcome="not applicable",
        label="other lengths",
    ),
    Instance(
        "gao2022/eta-claim",
        lambda: problem(unit_samples()),
        lambda: eta_printed(unit_samples(), UNIT_CONSTANTS, "violated"),
        edition="printed",
        constants=UNIT_CONSTANTS,
        outcome="refuted",
    ),
    Instance(
        "gao2022/eta-claim",
        lambda: problem(settled()),
        lambda: eta_claim(settled(), CONSTANTS[0]),
        constants=CONSTANTS[0],
        label="optimal",
    ),
    Instance(
        "gao2022/eta-claim",
        lambda: problem(bold()),
        lambda: eta_printed(bold(), BOLD, "holds"),
        edition="printed",
        constants=BOLD,
        label="small W",
    ),
    Instance(
        "gao2022/sec5.1",
        lambda: problem(nonnegative(40, 0.3)),
        lambda: sec5_1(nonnegative(40, 0.3)),
    ),
    Instance(
        "gao2022/sec5.1",
        lambda: problem(replace(nonnegative(1, 1.7), gamma=0.05)),
        lambda: sec5_1(nonnegative(1, 1.7)),
        label="small, another gamma",
    ),
    *(
        Instance(
            "gao2022/sec5.1",
            lambda ratio=ratio: problem(nonnegative(1, 1.7, ratio)),
            lambda ratio=ratio: sec5_1(nonnegative(1, 1.7, ratio)),
            label=f"|A| = {ratio} |W|",
        )
        for ratio in (0.3, 3.0)
    ),
]
