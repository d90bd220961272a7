"""A run with its bounds, column by column and step by step."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from deqcheck.records.report import Report
from deqcheck.report.parts.curves import bounds

# A name, the steps, the times, the values.
Column = tuple[str, np.ndarray, np.ndarray, Any]


def steps_of(report: Report) -> list[dict[str, Any]]:
    """A row for each recorded step, in order of time, with what was taken there."""
    rows: dict[tuple[float, int], dict[str, Any]] = {}
    for name, steps, times, values in columns_of(report):
        spread = np.broadcast_to(values, np.shape(steps))
        for k, t, value in zip(steps.tolist(), times.tolist(), spread.tolist(), strict=True):
            rows.setdefault((t, k), {"k": k, "t": t}).setdefault(name, value)
    return [rows[key] for key in sorted(rows)]


def columns_of(report: Report) -> Iterator[Column]:
    """The loss, the gap, the gradient, each tracked quantity and each bound as `id: name`."""
    run = report.trajectory
    if run is None:
        return
    for name, measured in (("loss", run.loss), ("gap", run.gap)):
        yield name, run.k, run.t, measured.value
        yield f"{name}_error", run.k, run.t, measured.error
    yield "gradient", run.k, run.t, run.gradient
    for name, series in run.series.items():
        yield name, series.k, series.t, series.value.value
        yield f"{name}_error", series.k, series.t, series.value.error
    seen = set()
    for key, _, judged, facts in bounds(report):
        name = f"{key}: {judged.name}"
        # A check that was made twice is two curves of one name: the first is shown.
        if name not in seen:
            seen.add(name)
            yield name, facts.k, facts.t, facts.bound.value
