"""Runs side by side, held against the same runs step by step."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from deqcheck.dynamics import recorder
from deqcheck.dynamics.steps import Descent, walk
from deqcheck.models.problem import Problem
from deqcheck.records.basis import resting_on
from deqcheck.records.measured import Measured
from deqcheck.records.trajectory import Trajectory


def step_by_step(
    p: Problem, tracks: Sequence[str] = (), report: recorder.OnProgress = recorder.silent
) -> Trajectory:
    return walk(p, p.train, Descent(p, p.train.step, p.train.steps), tracks, report)


def agree(one: Measured, other: Measured) -> None:
    assert resting_on(one.how) == resting_on(other.how)
    assert (np.abs(one.value - other.value) <= one.error + other.error).all()
    # The radii come from the same rules; what the perturbed runs do to them differs by its signs.
    assert (one.error <= 20 * other.error + 1e-300).all()
    assert (other.error <= 20 * one.error + 1e-300).all()


def alike(one: Trajectory | None, other: Trajectory) -> None:
    assert one is not None
    assert (one.status, one.notes, one.evaluations) == (
        other.status,
        other.notes,
        other.evaluations,
    )
    assert np.array_equal(one.k, other.k) and np.array_equal(one.t, other.t)
    agree(one.gap, other.gap)
    for kind in ("series", "distance"):
        mine, theirs = getattr(one, kind), getattr(other, kind)
        assert list(mine) == list(theirs)
        for name, series in mine.items():
            assert np.array_equal(series.k, theirs[name].k)
            agree(series.value, theirs[name].value)
    for name, array in one.final.items():
        known = (run.distance[name].value.error[-1] for run in (one, other))
        assert np.linalg.norm(array - other.final[name]) <= sum(known)
