"""The moment of entry, as `run` finds it, beside a scan of every recorded point or step.

    python -m tests.entries                    descents of 40 ordinary instances of each model
    python -m tests.entries --near             ... whose theorem begins to apply along the run
    python -m tests.entries --flows            flows of ordinary instances, until the loss is gone
    python -m tests.entries ... --keep FILE    ... and go on where a run with this file ended

Ordinary instances have Gaussian data and the works' initialisations; their descents never enter,
since the hypotheses on the step do not weaken along a run. With `--near` the read-out is 0, the
step is one that the theorem admits, and the labels are a little larger than that. The scan judges
every recorded state in full, one after the other, with `--near` that of every step, made by a plain
loop. Exit code 1 where the two differ, or where the verdict from the entry on is `refuted`.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

import deqcheck as dq
from deqcheck.dynamics import read_train
from deqcheck.judging.verdicts import before_training
from deqcheck.models.problem import AnyProblem, NoEquilibrium, Params
from deqcheck.records.comparison import Decision

from .instances import MODELS

DESCENT = {
    "relu-deq": "ling2022/thm1",
    "implicit-relu": "gao2022/thm4.4",
    "monotone-deq": "hieu2022/thm3.3.5",
    "opteq": "xie2021/thm5-repaired",
}
FLOW = {
    "relu-deq": "ling2022/thm1-flow",
    "implicit-relu": "gao2022/thm4.2",
    "monotone-deq": "hieu2022/thm3.3.1",
    "opteq": "xie2021/thm5-repaired",
}
READ_OUT = {"relu-deq": "a", "implicit-relu": "b", "monotone-deq": "u", "opteq": "Wo"}
# A run is over where the loss has fallen so far, and at the latest after so many steps.
FALLEN, MOST_STEPS, POINTS = 1e-16, 4000, 60
# With --near: so many steps; by the first few it is told how fast the residual falls.
NEAR_STEPS, PILOT = 120, 20
SHORTEST = 1e-12
# The largest step that is tried, how often it or the labels are halved, and how finely they are
# told at last.
LARGEST, HALVINGS = 0.5, 60
NARROW = 1e-6


def applies(statement: Any, p: AnyProblem) -> bool:
    return all(h.decision is Decision.HOLDS for h in before_training(statement, p))


def _largest(holds: Callable[[float], bool], above: float) -> float | None:
    """The largest admitted number, nearly, if any is found by halving."""
    for _ in range(HALVINGS):
        if holds(above / 2):
            break
        above /= 2
    else:
        return None
    low, high = above / 2, above
    while high > (1 + NARROW) * low:
        middle = (low * high) ** 0.5
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def near(kind: str, statement: Any, r: np.random.Generator) -> AnyProblem | None:
    """A descent from read-out 0 whose theorem applies but for its labels, which are a little too
    large."""
    fields = MODELS[kind](r)
    label, out = ("Y" if kind == "opteq" else "y"), READ_OUT[kind]
    init = {**fields["init"], out: np.zeros_like(fields["init"][out])}

    def made(step: float, scale: float) -> AnyProblem:
        data = {**fields["data"], label: scale * fields["data"][label]}
        train = {"kind": "gd", "step": step, "steps": NEAR_STEPS}
        return dq.problem(kind, **{**fields, "data": data, "init": init}, train=train)

    scale = _largest(lambda scale: applies(statement, made(SHORTEST, scale)), 1.0)
    if scale is None:
        return None
    step = _largest(lambda step: applies(statement, made(step, scale / 2)), LARGEST)
    if step is None:
        return None
    step /= 2
    scale = _largest(lambda scale: applies(statement, made(step, scale)), 1.0)
    return None if scale is None else made(step, scale * _fallen(made(step, scale), r))


def _fallen(p: AnyProblem, r: np.random.Generator) -> float:
    """By how much the residual falls in some of the steps."""
    theta = next(theta for k, theta in descended(p, p.step) if k == PILOT)
    a_step = (p.start.objective.gap / p.model.at(theta).objective.gap) ** (0.5 / PILOT)
    return float(a_step ** r.integers(5, NEAR_STEPS - 20))


def ordinary(kind: str, flowing: bool, r: np.random.Generator) -> AnyProblem:
    """Trained until the loss has fallen far, or for long."""
    p = dq.problem(kind, **MODELS[kind](r))
    step = LARGEST
    while (steps := _steps_down(p, step)) is None:
        step /= 2
    if flowing:
        return p.trained_by(read_train({"kind": "flow", "horizon": step * steps}))
    return p.trained_by(read_train({"kind": "gd", "step": step, "steps": steps}))


def _steps_down(p: AnyProblem, step: float) -> int | None:
    """After how many steps of this size the loss has fallen far; None if it rises, or if equilibria
    are lost."""
    last = first = p.start.objective.gap
    with suppress(NoEquilibrium):
        for k, theta in descended(p, step):
            gap = p.model.at(theta).objective.gap
            if not gap <= last:
                return None
            if gap <= FALLEN * first or k == MOST_STEPS:
                return k
            last = gap
    return None


def descended(p: AnyProblem, step: float) -> Iterator[tuple[int, Params]]:
    """Gradient descent by its definition, every state found anew."""
    k, theta = 0, p.theta0
    while True:
        gradient = p.model.at(theta).objective.gradient
        k, theta = k + 1, {name: a - step * gradient[name] for name, a in theta.items()}
        yield k, theta


def scanned_steps(statement: Any, p: AnyProblem) -> int | None:
    """The first step of a descent from which the hypotheses hold."""
    for k, theta in descended(p, p.step):
        left = p.train.rest(k, k * p.step)
        if left is None:
            return None
        if applies(statement, replace(p, theta0=theta, train=left)):
            return k
    return None


def scanned_points(statement: Any, p: AnyProblem) -> int | None:
    """The first recorded point from which the hypotheses hold."""
    keeping = replace(p, record_states=True)
    run = dq.run(keeping, only=[statement.id], edition="corrected", entry=False).trajectory
    assert run is not None
    for i, theta in sorted(run.states.items()):
        left = p.train.rest(int(run.k[i]), float(run.t[i]))
        if left is not None and applies(statement, replace(p, theta0=dict(theta), train=left)):
            return int(run.k[i])
    return None


def compared(kind: str, seed: int, flowing: bool, close: bool) -> dict[str, Any]:
    name = (FLOW if flowing else DESCENT)[kind]
    statement, r = dq.statements()[name](), np.random.default_rng([seed, len(kind)])
    p = near(kind, statement, r) if close else ordinary(kind, flowing, r)
    if p is None:
        return {"outcome": "no admitted step was found"}
    p = replace(p, record_points=POINTS)
    began = time.process_time()
    found = dq.run(p, only=[name], edition="corrected")[name]
    seconds = time.process_time() - began
    entry = found.entry
    verdict = None if entry is None else entry.verdict
    return {
        "statement": name,
        "start": str(found.outcome),
        "found": None if entry is None else entry.k,
        "scanned": (scanned_steps if close else scanned_points)(statement, p),
        "outcome": "none" if verdict is None else str(verdict.outcome),
        "blocking": "" if entry is None or entry.blocking is None else entry.blocking.name,
        "seconds": round(seconds, 2),
    }


def main() -> int:
    read = argparse.ArgumentParser(prog="python -m tests.entries", description=__doc__)
    read.add_argument("--models", default=",".join(MODELS))
    read.add_argument("--each", type=int, default=40)
    read.add_argument("--seed", type=int, default=1)
    read.add_argument("--near", action="store_true")
    read.add_argument("--flows", action="store_true")
    read.add_argument("--keep", metavar="FILE", type=Path)
    asked = read.parse_args()
    known = {}
    if asked.keep and asked.keep.exists():
        known = {row["name"]: row for row in map(json.loads, asked.keep.read_text().splitlines())}
    rows = []
    for i in range(asked.each):
        for kind in asked.models.split(","):
            name = f"{kind} {asked.seed + i}"
            if name not in known:
                found = compared(kind, asked.seed + i, asked.flows, asked.near)
                known[name] = {"name": name, **found}
                if asked.keep:
                    with asked.keep.open("a") as kept:
                        kept.write(json.dumps(known[name]) + "\n")
            rows.append(known[name])
            print(json.dumps(known[name]), flush=True)
    return summed_up(rows)


def summed_up(rows: list[dict[str, Any]]) -> int:
    wrong = [row for row in rows if row.get("found") != row.get("scanned")]
    refuted = [row for row in rows if row["outcome"] == "refuted"]
    print(f"{len(rows)} runs, {sum(row.get('found') is not None for row in rows)} enter")
    print(", ".join(f"{n} {word}" for word, n in Counter(row["outcome"] for row in rows).items()))
    for row in wrong:
        print(f"the scan finds another entry: {row}")
    return 1 if wrong or refuted else 0


if __name__ == "__main__":
    sys.exit(main())
