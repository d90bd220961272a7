"""Flows of small ReLU DEQs against gradient descent with ever smaller steps, and against smoothed
ReLUs, both in plain NumPy: python -m tests.bench.descent [INSTANCES].

Without kinks the end of descent with step h is that of the flow + c h + d h^2 + ...: three steps
extrapolate to it up to a multiple of their product. Along a slide descent jumps from one side
of the kink to the other: it is off by a multiple of h that depends on the phase of these jumps, and
nothing extrapolates. There the distance itself must fall like h; that of a softplus of width e must
fall, too.
"""

from __future__ import annotations

import sys

import numpy as np
import scipy

from deqcheck.dynamics.flow import GradientFlow
from deqcheck.models.problem import Params, Problem, norm, pack, unpack
from deqcheck.models.relu_deq.model import ReluDeqModel

HORIZON, STEPS, WIDTHS = 0.25, (1e-3, 1e-4, 1e-5), (1e-2, 1e-3, 1e-4)


WEIGHTS = [np.prod([other / (other - step) for other in STEPS if other != step]) for step in STEPS]


def small(seed: int, m: int = 3, n: int = 3, d: int = 2) -> Problem:
    r = np.random.default_rng(seed)
    W = r.normal(size=(m, m))
    theta = {
        "W": 0.3 * W / np.linalg.norm(W, 2),
        "U": r.normal(size=(m, d)),
        "a": r.normal(size=m),
    }
    return Problem(ReluDeqModel(r.normal(size=(d, n)), r.normal(size=n)), theta, record_points=4)


def gradient(
    X: np.ndarray,
    y: np.ndarray,
    theta: Params,
    width: float = 0.0,
    warm: list[np.ndarray] | None = None,
) -> Params:
    """By fixed-point iterations, 0.3^40 being less than the rounding; for a ReLU, or a softplus.
    `warm` keeps the equilibrium and its adjoint from one step to the next: then half of them do."""
    W, a = theta["W"], theta["a"]
    C = theta["U"] @ X
    Z, V = warm or [np.zeros_like(C), np.zeros_like(C)]
    sweeps = 20 if warm else 40

    def act(H: np.ndarray) -> np.ndarray:
        return width * np.logaddexp(0, H / width) if width else np.maximum(H, 0)

    for _ in range(sweeps):
        Z = act(W @ Z + C)
    H = W @ Z + C
    D = scipy.special.expit(H / width) if width else (H > 0).astype(float)
    r = Z.T @ a - y
    A = a[:, None] * r
    for _ in range(sweeps):
        V = D * (A + W.T @ V)
    if warm is not None:
        warm[:] = [Z, V]
    return {"W": V @ Z.T, "U": V @ X.T, "a": Z @ r}


def descent(p: Problem, step: float) -> np.ndarray:
    theta = p.theta0
    warm: list[np.ndarray] = []
    for _ in range(round(HORIZON / step)):
        g = gradient(p.model.X, p.model.y, theta, warm=warm)
        theta = {name: a - step * g[name] for name, a in theta.items()}
    return pack(theta)


def smoothed(p: Problem, width: float) -> np.ndarray:
    def velocity(_: float, theta: np.ndarray) -> np.ndarray:
        return -pack(gradient(p.model.X, p.model.y, unpack(theta, p.shapes), width))

    start = pack(p.theta0)
    found = scipy.integrate.solve_ivp(velocity, (0, HORIZON), start, "LSODA", rtol=1e-9, atol=1e-11)
    return np.asarray(found.y[:, -1])


def main(count: int) -> None:
    """As many instances of which the flow slides, and half as many of which it does not."""
    slid, others = count, count // 2
    for seed in range(20 * count):
        p = small(seed)
        run = GradientFlow(horizon=HORIZON, rtol=1e-9).run(p)
        slides = any(event.kind == "slide" for event in run.events)
        slid, others = slid - slides, others - (not slides)
        if (slid if slides else others) < 0:
            continue
        end = pack(run.final)
        bar = norm(np.array([s.value.error[-1] for s in run.distance.values()]))
        ends = [descent(p, step) for step in STEPS]
        far = [norm(each - end) for each in ends]
        # The parabola through the three ends, at step 0.
        beyond = norm(np.array(WEIGHTS) @ np.array(ends) - end)
        soft = [norm(smoothed(p, width) - end) for width in WIDTHS]
        kinds = sorted({event.kind for event in run.events})
        shown = " ".join(f"{x:.1e}" for x in far)
        print(
            seed,
            ",".join(kinds) or "smooth",
            f"descent {shown}, extrapolated {beyond:.1e}, bar {bar:.1e}, softplus",
            " ".join(f"{x:.1e}" for x in soft),
            flush=True,
        )


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else 12)
