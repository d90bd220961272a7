"""Runs of deqcheck's own models, as figures need them: the loss itself, and what is drawn
beside."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from deqcheck.api import problem as _problem
from deqcheck.dynamics import read_train
from deqcheck.dynamics.recorder import Progress
from deqcheck.figures.base import Made
from deqcheck.models.problem import AnyProblem
from deqcheck.records.measured import EPS, Measured
from deqcheck.records.trajectory import Trajectory
from deqcheck.records.verdict import Status

OnProgress = Callable[[Progress], None]


def problem(model: Mapping[str, Any], data: Any, init: Any, **more: Any) -> AnyProblem:
    """A problem from the parts of a case."""
    fields = {key: value for key, value in model.items() if key != "kind"}
    return _problem(model["kind"], data, init, **more, **fields)


def trained(
    p: AnyProblem, train: Any, progress: OnProgress, tracks: Sequence[str] = (), states: int = 0
) -> Trajectory:
    """The run, with so many of its states kept; an interruption is one."""
    asked = replace(p, record_states=bool(states), record_points=max(states, 2) if states else 200)
    asked = asked.trained_by(read_train(train))
    run: Trajectory = asked.train.run(asked, tuple(tracks), (), progress)
    if run.status is Status.INTERRUPTED:
        raise KeyboardInterrupt
    return run


def counted(draws: int, progress: OnProgress) -> Iterator[int]:
    """0, 1, ..., and how many are done."""
    for i in range(draws):
        progress(Progress("", i, 0.0, i / draws, float("nan")))
        yield i


def losses(run: Trajectory, *names: str) -> Made:
    """Steps, losses and their error bars; series under their names."""
    made: Made = {"k": run.k, "infimum": np.array([run.infimum.value, run.infimum.error])}
    for name, value in (("loss", run.loss), ("gap", run.gap)):
        made |= {name: value.value, f"{name}.error": value.error}
    for name in names:
        if name in run.series:
            series = run.series[name]
            made |= {f"{name}.k": series.k, name: series.value.value}
            made[f"{name}.error"] = series.value.error
    return made


def at(made: Made, index: int, name: str = "loss") -> Measured:
    """One of the losses, or of a series."""
    return Measured(float(made[name][index]), float(made[f"{name}.error"][index]))


def largest(made: Made, name: str) -> Measured:
    """Of a series along the run: no value is larger than the largest with its bar."""
    value, bar = made[name], made[f"{name}.error"]
    low, high = float(np.max(value - bar)), float(np.max(value + bar))
    return Measured((low + high) / 2, (high - low) / 2 * (1 + 4 * EPS))


def reached(made: Made, name: str) -> Measured:
    """A value of a series that is as large as is certain."""
    low = made[name] - made[f"{name}.error"]
    return at(made, int(np.argmax(np.where(np.isfinite(low), low, -np.inf))), name)


def mean(values: Sequence[float] | np.ndarray, how: str = "draws") -> Measured:
    """Of draws: the radius is three standard errors by Student's law, so that a few draws do not
    decide what they cannot."""
    from scipy.special import stdtrit

    found = np.asarray(values, dtype=float)
    n = len(found)
    if n < 2 or not np.isfinite(found).all():
        return Measured(float(np.mean(found)) if n else np.nan, np.inf, how)
    # As improbable as three standard deviations of a normal number, on both sides.
    factor = float(stdtrit(n - 1, 1 - 0.00135))
    return Measured(float(found.mean()), factor * float(found.std(ddof=1)) / np.sqrt(n), how)
