"""A run with its bounds as a table of pandas."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deqcheck.records.report import Report
from deqcheck.report.parts.steps import columns_of

if TYPE_CHECKING:
    import pandas

REMEDY = "tables need pandas: pip install 'deqcheck[frame]'"


def frame(report: Report) -> pandas.DataFrame:
    """A row for each recorded step, in order of time: k, t, the loss, the gap and the gradient;
    each tracked quantity by its name and each bound as `id: name`, empty where it was not taken."""
    try:
        import pandas
    except ImportError:
        raise ImportError(REMEDY) from None
    columns = []
    for name, k, t, values in columns_of(report):
        index = pandas.MultiIndex.from_arrays([t, k], names=["t", "k"])
        column = pandas.Series(values, index=index, name=name)
        columns.append(column[~index.duplicated()])
    if not columns:
        return pandas.DataFrame(columns=["k", "t", "loss", "gap", "gradient"])
    table = pandas.concat(columns, axis=1).sort_index().reset_index()
    return table[["k", "t", *(column.name for column in columns)]]
