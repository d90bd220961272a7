"""A run with its bounds as a table of pandas."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from deqcheck.records.report import Report
from deqcheck.report.parts.curves import bounds

if TYPE_CHECKING:
    import pandas

REMEDY = "tables need pandas: pip install 'deqcheck[frame]'"
Column = tuple[str, np.ndarray, np.ndarray, Any]


def frame(report: Report) -> pandas.DataFrame:
    """A row for each recorded step, in order of time: k, t, the loss, the gap and the gradient;
    each tracked quantity by its name and each bound as `id: name`, empty where it was not taken."""
    try:
        import pandas
    except ImportError:
        raise ImportError(REMEDY) from None
    columns = []
    for name, k, t, values in _columns(report):
        index = pandas.MultiIndex.from_arrays([t, k], names=["t", "k"])
        column = pandas.Series(values, index=index, name=name)
        columns.append(column[~index.duplicated()])
    if not columns:
        return pandas.DataFrame(columns=["k", "t", "loss", "gap", "gradient"])
    table = pandas.concat(columns, axis=1).sort_index().reset_index()
    return table[["k", "t", *(column.name for column in columns)]]


def _columns(report: Report) -> Iterator[Column]:
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
