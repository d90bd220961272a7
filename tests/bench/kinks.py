"""How many flows of ordinary ReLU models run to their end: python -m tests.bench.kinks [MODEL].

Gaussian data and the papers' initialisations; the horizon is long enough for the loss to fall by
1e-6, or to rest. End states of short runs are compared with gradient descent, whose error is a
multiple of its step.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable

import numpy as np

from deqcheck.dynamics.flow import GradientFlow
from deqcheck.dynamics.integration import Integration
from deqcheck.models.implicit_relu.model import ImplicitReluModel
from deqcheck.models.memory import Memory
from deqcheck.models.monotone_deq.model import MonotoneDeqModel
from deqcheck.models.problem import Problem, gradient_norm, norm, pack
from deqcheck.models.relu_deq.model import ReluDeqModel
from deqcheck.records.verdict import Status

INSTANCES, COMPARED, SHORT, LONGEST = 40, 4, 0.1, 64.0
STEPS = (1e-3, 1e-4)


def relu_deq(r: np.random.Generator, m: int = 8, n: int = 4, d: int = 3) -> Problem:
    X, y = r.normal(size=(d, n)), r.normal(size=n)
    theta = {
        "W": r.normal(size=(m, m)) * np.sqrt(2 * 0.04 / m),
        "U": r.normal(size=(m, d)) * np.sqrt(2 / d),
        "a": r.normal(size=m) / np.sqrt(m),
    }
    return Problem(ReluDeqModel(X, y), theta, record_points=20)


def monotone_deq(r: np.random.Generator, n: int = 6, N: int = 4, d: int = 3) -> Problem:
    X, y = r.normal(size=(d, N)), r.normal(size=N)
    theta = {
        "A": r.normal(size=(n, n)) / np.sqrt(n),
        "B": r.normal(size=(n, n)) / np.sqrt(n),
        "U": r.normal(size=(n, d)),
        "u": r.normal(size=n),
    }
    return Problem(MonotoneDeqModel(0.5, X, y, "peaceman-rachford"), theta, record_points=20)


def implicit_relu(r: np.random.Generator, m: int = 8, N: int = 4, d: int = 3) -> Problem:
    X, y = r.normal(size=(N, d)), r.normal(size=N)
    theta = {
        "W": r.normal(size=(d, m)),
        "A": r.normal(size=(m, m)) / np.sqrt(m),
        "b": r.normal(size=m) / np.sqrt(m),
    }
    gamma = 0.3 / float(np.linalg.norm(theta["A"], 2))
    return Problem(ImplicitReluModel(gamma, X, y), theta, record_points=20)


MODELS: dict[str, Callable[[np.random.Generator], Problem]] = {
    "relu-deq": relu_deq,
    "monotone-deq": monotone_deq,
    "implicit-relu": implicit_relu,
}


def descent(p: Problem, horizon: float, step: float) -> np.ndarray:
    theta = p.theta0
    for _ in range(round(horizon / step)):
        gradient = p.model.at(theta).gradient
        theta = {name: a - step * gradient[name] for name, a in theta.items()}
    return pack(theta)


def apart(p: Problem) -> list[float]:
    """How far descent with each step, and extrapolated to step 0, ends from the flow."""
    run = GradientFlow(horizon=SHORT, rtol=1e-8).run(p)
    end, ends = pack(run.final), [descent(p, SHORT, step) for step in STEPS]
    ratio = STEPS[1] / STEPS[0]
    extrapolated = (ends[1] - ratio * ends[0]) / (1 - ratio)
    return [norm(each - end) for each in (*ends, extrapolated)]


def horizon(p: Problem) -> float:
    """When the loss has fallen, or rests: as one rough integration sees it."""
    rough = Integration(p, "DOP853", LONGEST, (1e-6, 1e-8), Memory())
    first = p.start.objective
    t = 0.25
    while t < LONGEST:
        rough.advance(t)
        if rough.status is not Status.COMPLETED:
            return t
        here = p.model.at(rough.theta(t))
        slopes = rough.slopes(t)
        found = (here if slopes is None else here.with_slopes(slopes)).objective
        rests = gradient_norm(found.gradient) <= 1e-6 * gradient_norm(first.gradient)
        if found.gap <= 1e-6 * first.gap or rests:
            return t
        t *= 2**0.5
    return LONGEST


def fall(p: Problem) -> tuple[str, float, Counter[str], float]:
    """The flow until the loss has fallen or rests: how it ends, and how far it fell."""
    begin = time.process_time()
    run = GradientFlow(horizon=horizon(p), rtol=1e-6).run(p)
    share = float(run.gap.value[-1] / run.gap.value[0])
    kinds = Counter(event.kind for event in run.events)
    return run.status.word, share, kinds, time.process_time() - begin


def main(names: list[str]) -> None:
    for name in names or list(MODELS):
        ends: Counter[str] = Counter()
        for seed in range(INSTANCES):
            p = MODELS[name](np.random.default_rng(seed))
            word, share, kinds, seconds = fall(p)
            ends[word] += 1
            far = [f"{x:.1e}" for x in apart(p)] if seed < COMPARED else ""
            print(
                name, seed, word, f"{share:.1e}", dict(kinds), f"{seconds:.1f} s", far, flush=True
            )
        print(name, dict(ends), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
