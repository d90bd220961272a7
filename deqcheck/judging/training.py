"""Training for the sake of some statements: what they need recorded is recorded."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress

from deqcheck import pages, threads
from deqcheck.dynamics.recorder import Progress
from deqcheck.judging.authored import check_tracks
from deqcheck.judging.errors import refusals
from deqcheck.linalg.entries import SMALLEST, subnormal
from deqcheck.models.problem import AnyProblem, NoEquilibrium, gradient_norm
from deqcheck.records.arithmetic import OutOfRange, in_range
from deqcheck.records.trajectory import Trajectory
from deqcheck.theorems.base import AnyStatement


@in_range()
def train(
    problem: AnyProblem, statements: Sequence[AnyStatement], progress: Callable[[Progress], None]
) -> Trajectory:
    """Raises OutOfRange where there is no step to take, and UsageError."""
    pages.kept()
    with suppress(NoEquilibrium):
        start = problem.start.objective
        _finite_at_start("loss", start.gap)
        _finite_at_start("norm of the gradient", gradient_norm(start.gradient))
    for s in statements:
        check_tracks(s, problem)
    tracks = tracks_of(statements)
    infima = _union(s.infima for s in statements)
    with refusals(), threads.fitting(problem.shapes):
        run: Trajectory = problem.train.run(problem, tracks, infima, progress)
    return run


def tracks_of(statements: Sequence[AnyStatement]) -> tuple[str, ...]:
    return _union(s.tracks for s in statements)


def check_start(problem: AnyProblem) -> None:
    """Raises OutOfRange where even the loss of the initial parameters is no float, or where a
    number given is subnormal: its products have absolute errors, which no relative bar sees."""
    for name, a in (problem.data | problem.theta0).items():
        if subnormal(a):
            raise OutOfRange(
                f"{name} has entries below {SMALLEST:.1e}, of which floats keep fewer digits"
            )
    _finite_at_start("loss", problem.start.loss_alone)


def _finite_at_start(what: str, value: float) -> None:
    if not math.isfinite(value):
        raise OutOfRange(f"the {what} is {value:g} at the initial parameters")


def _union(groups: Iterable[Sequence[str]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for group in groups for name in group))
