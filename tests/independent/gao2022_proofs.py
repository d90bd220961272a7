"""The steps of the proofs A.2, A.4 and A.6 of Gao and Gao 2022, and the scale of Section 7."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from itertools import product
from typing import Any

import numpy as np

from deqcheck.seeds import rng

from .gao2022_network import Descent, Flow, Network, drawn, fro, norm, nth, problem
from .gao2022_training import (
    CONSTANTS,
    HORIZON,
    STEP,
    Constants,
    Paper,
    above,
    below,
    close,
    common,
    descent,
    falls,
    feasible,
    flow,
    settled,
)
from .harness import Expected, Instance, Sides

Made = Callable[[], Network]
Along = Callable[[np.ndarray, np.ndarray], Any]


@cache
def lively() -> Network:
    """Nothing is small, and (i)-(iii) hold for a while."""
    return drawn(114, N=2, d=3, m=6, q=0.32, gamma=0.4)


@cache
def golden() -> Network:
    """X = I, W = 20 [[1, 1], [1, -1]]: |relu(X W)| = 20 (1 + sqrt 5)/2 against |W| = 20 sqrt 2."""
    return Network(
        X=np.eye(2),
        y=np.array([0.01, -0.01]),
        W=20 * np.array([[1.0, 1.0], [1.0, -1.0]]),
        A=np.full((2, 2), 0.5),
        b=np.zeros(2),
        gamma=0.01,
    )


LIVELY = {"C1": 0.9, "C2": 0.31, "C3": 0.83}
GOLDEN = {"C1": 0.1, "C2": 0.1, "C3": 0.5}
LIVELY_HORIZON, LIVELY_STEP, GOLDEN_STEP = 0.02, 0.003, 1e-7


def along(run: Descent | Flow, f: Callable[[Network], float]) -> Along:
    return lambda k, t: [f(run.at(*pair)) for pair in zip(k, t, strict=True)]


def times(f: Along, factor: float) -> Along:
    return lambda k, t: factor * np.asarray(f(k, t))


def gradients(at: Paper) -> dict[str, float]:
    """What stands before |X|_F |yhat - y| in (36), in (41) and in (42), as they are printed."""
    u = 1 / (1 - at.gamma0)
    return {
        "b": u * at.lambda1,
        "W": u * at.lambda3,
        "A": at.gamma0 * u**2 * at.lambda1 * at.lambda3 / at.lambda2,
    }


def slopes(at: Paper, run: Descent | Flow, decay: Along) -> Expected:
    """Each gradient by the residual of now, and by (iii)."""
    found, X, r0 = {}, at.net.X_fro, at.net.r0
    for name, factor in gradients(at).items():
        left = along(run, lambda s, name=name: fro(s.gradient[name]))
        residual = along(run, lambda s: s.r0)
        found[f"{name.lower()}_now"] = Sides(left, "<=", times(residual, factor * X))
        found[f"{name.lower()}_later"] = Sides(left, "<=", times(decay, factor * X * r0))
    return found


def drifts(at: Paper, run: Descent | Flow, factor: float) -> Expected:
    """4/alpha0^2 or 8/alpha0^2 times the bounds on the gradients, and on the speed of Z."""
    X, r0, a = at.net.X_fro, at.net.r0, at.net.alpha0
    found = {}
    for name, each in gradients(at).items():
        left = along(run, lambda s, name=name: fro(getattr(s, name) - getattr(at.net, name)))
        found[f"{name.lower()}_moves"] = Sides(left, "<=", factor / a**2 * each * X * r0)
    far = factor / a**2 * speed_of_Z(at) * X**2 * r0
    moved = along(run, lambda s: fro(s.Z - at.net.Z))
    found["z_moves"] = Sides(moved, "<=", far)
    found["weyl"] = Sides(along(run, lambda s: s.alpha0), ">=", a - far)
    return found


def speed_of_Z(at: Paper) -> float:
    """What stands before |X|_F^2 |yhat - y| in (43)."""
    return at.bracket * at.lambda3 / (1 - at.gamma0) ** 2


def rooms(at: Paper, factor: float) -> Expected:
    X, r0, a = at.net.X_fro, at.net.r0, at.net.alpha0
    room = {"b": at.C["C3"], "W": at.C["C1"], "A": at.C["C2"]}
    found = {
        f"{name.lower()}_room": below(factor / a**2 * each * X * r0, room[name])
        for name, each in gradients(at).items()
    }
    far = factor / a**2 * speed_of_Z(at) * X**2 * r0
    return {**found, "z_room": below(far, a / 2)}


def dZ(net: Network) -> np.ndarray:
    """How Z moves along the flow: Q vec(dZ) = D vec(gamma Z dA + E o (X dW))."""
    source = -net.gamma * net.Z @ net.gradient["A"] - net.E * (net.X @ net.gradient["W"])
    found = np.linalg.solve(net.Q, net.D @ source.ravel(order="F"))
    return found.reshape(net.Z.shape, order="F")


def dyhat(net: Network) -> np.ndarray:
    return net.tangent({name: -g for name, g in net.gradient.items()})


def smallest(net: Network) -> float:
    return float(np.linalg.eigvalsh(net.H)[0])


def proof4_2(made: Made, C: Constants, horizon: float, printed: bool = False) -> Expected:
    at, run = Paper(made(), C), flow(made, horizon)
    X, r0, a = at.net.X_fro, at.net.r0, at.net.alpha0

    def decay(k: np.ndarray, t: np.ndarray) -> np.ndarray:
        return np.exp(-(a**2) / 4 * t)

    bound = at.lambda1 * X / (1 - at.gamma0)
    rate, product = at.net.gradient_squared, float(at.net.r @ dyhat(at.net))
    found = {
        "gradient flow": Sides(0.0, "==", 0.0),
        **common(at),
        **close(at, run),
        "so_far": falls(at, run, lambda k, t: decay(k, t) ** 2),
        "phi": Sides(along(run, lambda s: fro(s.Phi)), "<=", at.lambda1 * X),
        "state": Sides(along(run, lambda s: fro(s.Z)), "<=", bound),
        **slopes(at, run, decay),
        **drifts(at, run, 4),
        "speed": Sides(
            along(run, lambda s: fro(dZ(s))), "<=", times(decay, speed_of_Z(at) * X**2 * r0)
        ),
        "gram": Sides(along(run, smallest), ">=", a**2 / 4),
        "falls": Sides(
            along(run, lambda s: s.gradient_squared),
            ">=",
            along(run, lambda s: a**2 / 4 * s.r0**2),
        ),
        "sign": Sides(-rate, "==", product),
    }
    if max(at.residual(4) / a**2, at.drift(8) / a**3) <= 1:
        found |= rooms(at, 4)
    if printed:
        del found["sign"]
        found["sign_printed"] = Sides(-rate, "==", -product, decision="violated")
        far = found.pop("z_moves")
        found["z_moves_printed"] = replace(far, right=far.right * norm(at.net.X) ** 2 / X**2)
    return found


def at_rest(expected: Expected, *kept: str) -> Expected:
    """Where the loss is zero from the start: the setting, (i), (ii) and what is kept."""
    names = ("starts_well", "well_posed", "bounded_w", "bounded_a", "bounded_b", "regular", *kept)
    return {name: expected[name] for name in names}


def proof4_4(made: Made, C: Constants, step: float, printed: bool = False) -> Expected:
    at, run = Paper(made(), C), descent(made, step)
    a = at.net.alpha0

    def decay(k: np.ndarray, t: np.ndarray) -> np.ndarray:
        return np.sqrt(1 - step * a**2 / 4) ** k

    found = {
        "gradient descent": Sides(step, ">", 0.0),
        **common(at),
        **close(at, run),
        "below_four": Sides(step * a**2, "<", 4.0),
        "so_far": falls(at, run, lambda k, t: decay(k, t) ** 2),
        "phi": Sides(along(run, lambda s: fro(s.Phi)), "<=", at.lambda1 * at.net.X_fro),
        **slopes(at, run, decay),
        **drifts(at, run, 8),
    }
    if max(at.residual(8) / a**2, at.drift(16) / a**3, at.one_step / a**2) <= 1:
        found |= rooms(at, 8)
    if printed:
        del found["phi"]
        left, right = along(run, lambda s: norm(s.Phi)), at.lambda1 * norm(at.net.X)
        found["phi_printed"] = Sides(left, "<=", right, decision="holds")
        far = found.pop("a_moves")
        found["a_moves_printed"] = replace(far, right=far.right * norm(at.net.X) / at.net.X_fro)
    return found


def proof4_4_golden() -> Expected:
    """(38) as printed, where it is false."""
    found = dict(proof4_4(golden, GOLDEN, GOLDEN_STEP, printed=True))
    # |Phi|^2 > 2 = |W|^2/400: det(2 I - Phi^T Phi/400) = (2 - 2)(2 - 1) - 1 < 0.
    exact = np.array([[2, 1], [1, 1]])
    assert (2 - exact[0, 0]) * (2 - exact[1, 1]) - exact[0, 1] ** 2 == -1
    found["phi_printed"] = replace(found["phi_printed"], decision="violated")
    return found


def one_step(made: Made, C: Constants, step: float) -> Expected:
    at, run = Paper(made(), C), descent(made, step)
    X, a, u = at.net.X_fro, at.net.alpha0, 1 / (1 - at.gamma0)
    # As in print, with the factor that belongs to each brace.
    Q1 = (at.bracket * at.lambda1**-2 + at.lambda3**-2) * u**2 * (at.lambda1 * at.lambda3 * X) ** 2
    Q2 = at.bracket * at.lambda3**2 * u**2 * X**2

    def pairs(f: Callable[[Network, Network], float]) -> Along:
        return lambda k, t: [f(run.at(i, 0.0), run.at(i + 1, 0.0)) for i in k]

    def residual(factor: float, power: int = 1) -> Along:
        return pairs(lambda s, e: factor * s.r0**power)

    def weighed(s: Network, e: Network) -> float:
        return -float(s.r @ s.Z @ (e.b - s.b))

    ratio = pairs(lambda s, e: e.loss / s.loss)
    found = {
        "gradient descent": Sides(step, ">", 0.0),
        **common(at),
        **close(at, run),
        "features": Sides(
            pairs(lambda s, e: fro(e.Z - s.Z)), "<=", residual(step * speed_of_Z(at) * X**2)
        ),
        "predictions": Sides(
            pairs(lambda s, e: fro(e.Z @ e.b - s.Z @ s.b)), "<=", residual(step * Q1)
        ),
        "by_features": Sides(
            pairs(lambda s, e: float((e.Z @ e.b - s.Z @ e.b) @ s.r)), "<=", residual(step * Q2, 2)
        ),
        "by_weights": Sides(pairs(weighed), ">=", residual(step * a**2 / 4, 2)),
        "loss": Sides(ratio, "<=", 1 - step * a**2 / 2 + (step * Q1) ** 2 + 2 * step * Q2),
    }
    if step < at.largest_step:
        found["loss_20"] = Sides(ratio, "<=", 1 - step * (a**2 / 2 - 4 * Q2))
        if a**2 >= at.one_step:
            found["loss_19"] = Sides(ratio, "<=", 1 - step * a**2 / 4)
    return found


def gram_rate(made: Made, horizon: float) -> Expected:
    """lambda_min(H) falls along this flow, so its infimum until t is that at t."""
    net, run = made(), flow(made, horizon)
    grid = [smallest(run.at(0, t)) for t in np.linspace(0, horizon, 40)]
    assert (np.diff(grid) < 0).all() or (np.diff(grid) > 0).all()

    def infimum(k: np.ndarray, t: np.ndarray) -> np.ndarray:
        return np.array([min(grid[0], smallest(run.at(0, each))) for each in t])

    end = run.at(0, horizon)
    noise = rng(0, "gao2022/lem4.1.projections").standard_normal(net.N)
    u = end.H @ end.r / fro(end.H @ end.r) + noise / fro(noise) / 2
    well = Sides(net.q, "<", 1.0)

    def fallen(factor: float, decision: str = "holds") -> Sides:
        left = along(run, lambda s: s.loss / net.loss)
        right = lambda k, t: np.exp(-factor * infimum(k, t) * t)  # noqa: E731
        # The infimum is known as well as its dips are.
        return Sides(left, "<=", right, decision=decision, within=1e-6)

    return {
        "gradient flow": Sides(0.0, "==", 0.0),
        "starts_well": well,
        "contracts": Sides(along(run, lambda s: s.q), "<", 1.0),
        "positive": Sides(infimum, ">", 0.0, within=1e-6),
        "rate": fallen(1),
        "twice": fallen(2),
        "moves": Sides(-float(u @ end.H @ end.r), "==", float(u @ dyhat(end)), within=1e-7),
    }


def gram_at_rest() -> Expected:
    net = settled()
    return {
        "gradient flow": Sides(0.0, "==", 0.0),
        "starts_well": Sides(net.q, "<", 1.0),
        "contracts": Sides(net.q, "<", 1.0),
        "positive": Sides(smallest(net), ">", 0.0),
        "optimal": Sides(0.0, "<=", 1e-300),
    }


def eq29(net: Network, M: float, printed: bool = False, equal: str = "") -> Expected:
    """(29) with the dense Q; `equal` names what structure makes an equality."""
    DA, A = norm(net.DA), norm(net.A)
    found = {
        "positive": Sides(M, ">", 0.0),
        "contracts": Sides(net.gamma * M, "<", 1.0),
        "triangle": above(norm(net.Q), 1 - net.gamma * DA),
        "masked": below(DA, A),
        "invertible": Sides(np.linalg.svd(net.Q, compute_uv=False)[-1], ">", 0.0),
    }
    if printed:
        found["strict"] = Sides(A / M, "<", 1.0, decision="holds" if A < M else "violated")
    for name in equal.split():
        sides = found.pop(name)
        found[f"{name}_equal"] = replace(sides, relation="==", decision="holds")
    return found


def sweeps(net: Network) -> int:
    """Until |Z^(l+1) - Z^l| <= 1e-2 in the operator norm."""
    last, Z, count = np.zeros_like(net.Phi), net.Phi, 1
    while norm(Z - last) > 1e-2:
        last, Z, count = Z, net.sweep(Z), count + 1
    return count


def table1(made: Made, step: float, steps: int) -> Expected:
    run = descent(made, step)
    states = [run.at(k, 0.0) for k in range(steps + 1)]
    counts = [sweeps(s) for s in states]
    most = [2 + max(0.0, np.log(0.01 / fro(s.Phi)) / np.log(s.q)) for s in states]
    assert len(set(counts)) > 1
    return {
        "gradient descent": Sides(step, ">", 0.0),
        "contracts": Sides(along(run, lambda s: s.q), "<", 1.0),
        "moving": Sides(along(run, lambda s: s.q), ">", 0.0),
        "sweeps": Sides(lambda k, t: counts, "<", lambda k, t: most),
        "average": Sides(float(np.mean(counts)), "<", float(np.mean(most))),
    }


@cache
def multiple() -> Network:
    """A = 0.75 I with every unit active."""
    net = drawn(6, N=3, d=4, m=5, q=0.46, gamma=0.3)
    return replace(net, X=np.abs(net.X), W=np.abs(net.W), A=0.75 * np.eye(5))


@cache
def masked() -> Network:
    """Units are off on every sample."""
    return drawn(5, N=3, d=4, m=6, q=0.62, gamma=0.3)


def identity(y: float) -> Network:
    """The start of Section 7: a multiple of I, and b = 0."""
    net = drawn(31, N=2, d=3, m=5, q=0.2, gamma=0.25)
    return replace(net, y=y * net.y, A=0.8 * np.eye(5), b=np.zeros(5))


def scales(net: Network) -> list[float]:
    """The worst right/left of (17)-(19) at multiples of theta(0), with the best of some constants:
    C3 makes 8 u lambda1 |X| r0/C3 and 16 c u^2 C3^2 |X|^2 equal."""
    found = []
    for share in (0.05, 0.2, 0.4, 0.6, 0.8, 0.95):
        beta = share / net.q
        there = replace(net, W=beta * net.W, A=beta * net.A)
        worst = []
        for first, second in product((0.001, 0.01, 0.1, 0.5), repeat=2):
            C = {"C1": first * norm(there.W), "C2": second * (1 / net.gamma - norm(there.A))}
            at = Paper(there, {**C, "C3": 1.0})
            C3 = at.lambda1 * there.r0 * (1 - at.gamma0) / (2 * at.bracket * net.X_fro)
            worst.append(Paper(there, {**C, "C3": C3 ** (1 / 3)}).descent_ratio)
        found.append(min(worst))
    return found


def sec7(net: Network, printed: bool) -> Expected:
    a1 = nth(net.Phi, net.N)
    labels = 32 * net.gamma**2 * norm(net.A) * norm(net.W) ** 2 * net.X_fro**2 * fro(net.y)
    floor = (labels / a1**3) ** (2 / 3)
    found = {
        "b_zero": Sides(0.0, "==", 0.0),
        "multiple": Sides(1.0, "==", 1.0),
        "features": Sides(a1, ">", 0.0),
        "starts_well": Sides(net.q, "<", 1.0),
    }
    if not printed:
        return {**found, "floor": above(min(scales(net)), floor)}
    middle = (floor + min(scales(net))) / 2
    assert floor > 1 or min(scales(net)) < 1
    return {
        **found,
        "some": Sides(middle, "<=", 1.0, decision=below(middle, 1.0).decision, between=True),
    }


def trained(kind: str, **how: Any) -> Mapping[str, Any]:
    return {"kind": kind, **how}


FLOW = trained("flow", horizon=LIVELY_HORIZON)
PROOFS = [
    *(
        Instance(
            "gao2022/proof4.2",
            lambda: problem(lively(), points=6),
            lambda edition=edition: proof4_2(lively, LIVELY, LIVELY_HORIZON, edition == "printed"),
            edition=edition,
            train=FLOW,
            constants=LIVELY,
            outcome=outcome,
            label="lively",
        )
        for edition, outcome in (("printed", "refuted"), ("corrected", "confirmed"))
    ),
    Instance(
        "gao2022/proof4.2",
        lambda: problem(feasible(), points=6),
        lambda: proof4_2(feasible, CONSTANTS[0], HORIZON),
        train=trained("flow", horizon=HORIZON),
        constants=CONSTANTS[0],
    ),
    Instance(
        "gao2022/proof4.2",
        lambda: problem(settled(), points=4),
        lambda: {
            "gradient flow": Sides(0.0, "==", 0.0),
            **at_rest(
                {**common(Paper(settled(), CONSTANTS[0])), **proof_at_rest()}, "phi", "state"
            ),
        },
        train=trained("flow", horizon=HORIZON),
        constants=CONSTANTS[0],
        label="optimal",
    ),
    *(
        Instance(
            "gao2022/proof4.4",
            lambda: problem(lively()),
            lambda edition=edition: proof4_4(lively, LIVELY, LIVELY_STEP, edition == "printed"),
            edition=edition,
            train=trained("gd", step=LIVELY_STEP, steps=6),
            constants=LIVELY,
            label="lively",
        )
        for edition in ("printed", "corrected")
    ),
    Instance(
        "gao2022/proof4.4",
        lambda: problem(golden()),
        proof4_4_golden,
        edition="printed",
        train=trained("gd", step=GOLDEN_STEP, steps=3),
        constants=GOLDEN,
        outcome="refuted",
        label="golden",
    ),
    Instance(
        "gao2022/proof4.4",
        lambda: problem(feasible()),
        lambda: proof4_4(feasible, CONSTANTS[1], STEP),
        train=trained("gd", step=STEP, steps=4),
        constants=CONSTANTS[1],
    ),
    *(
        Instance(
            "gao2022/one-step",
            lambda net=net: problem(net()),
            lambda net=net, C=C, step=step: one_step(net, C, step),
            train=trained("gd", step=step, steps=4),
            constants=C,
            label=net.__name__,
        )
        for net, C, step in (
            (lively, LIVELY, LIVELY_STEP),
            (golden, GOLDEN, GOLDEN_STEP),
        )
    ),
    Instance(
        "gao2022/lem4.1-rate",
        lambda: problem(lively(), points=20),
        lambda: gram_rate(lively, LIVELY_HORIZON),
        train=FLOW,
    ),
    Instance(
        "gao2022/lem4.1-rate",
        lambda: problem(settled(), points=4),
        gram_at_rest,
        train=trained("flow", horizon=HORIZON),
        label="optimal",
    ),
    *(
        Instance(
            "gao2022/eq29",
            lambda net=net: problem(net()),
            lambda net=net, edition=edition, equal=equal: eq29(
                net(), norm(net().A), edition == "printed", equal
            ),
            edition=edition,
            outcome="refuted" if edition == "printed" else "confirmed",
            label=net.__name__,
        )
        for net, equal in ((masked, ""), (multiple, "triangle masked"))
        for edition in ("printed", "corrected")
    ),
    Instance(
        "gao2022/eq29",
        lambda: problem(masked()),
        lambda: {"bounded": below(norm(masked().A), 2.7), **eq29(masked(), 2.7, True)},
        edition="printed",
        constants={"M": 2.7},
        label="M",
    ),
    Instance(
        "gao2022/table1",
        lambda: problem(masked()),
        lambda: table1(masked, 0.05, 5),
        train=trained("gd", step=0.05, steps=5),
    ),
    *(
        Instance(
            "gao2022/sec7-scale",
            lambda y=y: problem(identity(y)),
            lambda y=y, edition=edition: sec7(identity(y), edition == "printed"),
            edition=edition,
            outcome="refuted" if edition == "printed" and y == 1 else "confirmed",
            label=f"labels {y}",
        )
        for y in (1, 1e-5)
        for edition in ("printed", "corrected")
    ),
]


def proof_at_rest() -> Expected:
    """Nothing moves: (i), (ii), (34) and (35) at the start."""
    at, net = Paper(settled(), CONSTANTS[0]), settled()
    X = net.X_fro
    return {
        **close(at, Descent(net, 0.0)),
        "phi": below(fro(net.Phi), at.lambda1 * X),
        "state": below(fro(net.Z), at.lambda1 * X / (1 - at.gamma0)),
    }
