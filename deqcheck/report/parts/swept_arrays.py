"""A sweep for other tools: a data frame, Parquet and NetCDF; each needs a library of its own."""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np

from deqcheck.records.facts import Facts
from deqcheck.records.sweep import Sweep, SweptMember
from deqcheck.report.parts.swept import SCHEMA, checks_of, columns, coordinate, head_of, rows

WORDS = ("status", "note", "digest", "replay")
NUMBERS = (
    *("left", "left_error", "right", "right_error"),
    *("slack", "slack_error", "rate_tightness", "rate_error"),
)

REMEDIES = {
    ".parquet": (("pandas", "pyarrow"), "deqcheck[parquet]"),
    ".nc": (("xarray",), "deqcheck[netcdf]"),
}


def missing(suffix: str) -> str | None:
    """The sentence where a library is not there that this sort of file needs."""
    needed, extra = REMEDIES.get(suffix, ((), ""))
    absent = [name for name in needed if find_spec(name) is None]
    return f"{suffix} needs {' and '.join(absent)}: pip install '{extra}'" if absent else None


def frame(sweep: Sweep) -> Any:
    try:
        import pandas
    except ImportError:
        raise ImportError("a frame needs pandas: pip install 'deqcheck[frame]'") from None
    return pandas.DataFrame(list(rows(sweep)), columns=list(columns(sweep)))


def parquet(sweep: Sweep) -> bytes:
    stream = io.BytesIO()
    table = frame(sweep)
    for key in sweep.keys:
        # A column has one type; words and numbers of one key are all words.
        if table[key].map(type).nunique() > 1:
            table[key] = table[key].map(lambda value: None if value is None else str(value))
    table.to_parquet(stream, engine="pyarrow", index=False)
    return stream.getvalue()


def netcdf(sweep: Sweep) -> bytes:
    """Arrays over the axes of a sweep: `outcome` also over the statements, `slack` and the other
    numbers over the checks. Of several sweeps in one file, the members stand in a row."""
    import xarray

    return bytes(dataset(sweep, xarray).to_netcdf(engine="scipy"))


def dataset(sweep: Sweep, xarray: Any) -> Any:
    members = list(sweep)
    dims, shape, coordinates = _places(sweep, members)
    statements = {label: i for i, label in enumerate(_seen(members, lambda s: [label_of(s)]))}
    checks = {label: i for i, label in enumerate(_seen(members, _check_labels))}
    words = {name: np.full((len(members), 1), "", dtype=object) for name in WORDS}
    numbers = {name: np.full((len(members), 1), np.nan) for name in ("loss", "loss_error")}
    outcome = np.full((len(members), len(statements)), "", dtype=object)
    decision = np.full((len(members), len(checks)), "", dtype=object)
    judged = {name: np.full((len(members), len(checks)), np.nan) for name in NUMBERS}
    for i, member in enumerate(members):
        head = head_of(member)
        for name, column in {**words, **numbers}.items():
            column[i, 0] = head[name] if head[name] is not None else np.nan
        for statement in member.statements:
            outcome[i, statements[label_of(statement)]] = statement["outcome"]
            for label, check in zip(_check_labels(statement), checks_of(statement), strict=True):
                decision[i, checks[label]] = check["decision"]
                for name, array in judged.items():
                    array[i, checks[label]] = np.nan if check[name] is None else check[name]

    def over(dim: str, array: np.ndarray) -> tuple[tuple[str, ...], np.ndarray]:
        last = array.shape[-1:] if dim else ()
        return (*dims, *filter(None, [dim])), _typed(array).reshape(*shape, *last)

    found = {name: over("", column) for name, column in {**words, **numbers}.items()}
    found |= {"outcome": over("statement", outcome), "decision": over("check", decision)}
    found |= {name: over("check", array) for name, array in judged.items()}
    coordinates["statement"] = ("statement", _typed(np.array([*statements], dtype=object)))
    coordinates["check"] = ("check", _typed(np.array([*checks], dtype=object)))
    about = {"case": sweep.name, "title": sweep.title, "schema": SCHEMA}
    return xarray.Dataset(found, coords=coordinates, attrs=about)


def label_of(statement: Facts) -> str:
    return f"{statement['id']} ({statement['edition']})"


def _check_labels(statement: Facts) -> list[str]:
    head = label_of(statement)
    return [f"{head}: {check['part']}: {check['check']}" for check in checks_of(statement)]


def _seen(
    members: Sequence[SweptMember], labels: Callable[[Facts], Sequence[str]]
) -> dict[str, None]:
    every = (label for m in members for s in m.statements for label in labels(s))
    return dict.fromkeys(every)


def _places(
    sweep: Sweep, members: Sequence[SweptMember]
) -> tuple[tuple[str, ...], tuple[int, ...], dict[str, Any]]:
    """Dimensions, their lengths, and the coordinates along them."""
    axes = next(iter(sweep.axes.values()))
    if len(sweep.axes) > 1 or math.prod(len(axis.values) for axis in axes) != len(members):
        column = {key: [head_of(m).get(key) for m in members] for key in (*sweep.keys, "seed")}
        words = {key: ("member", _column(values)) for key, values in column.items()}
        return ("member",), (len(members),), words
    dims, coordinates = [], dict[str, Any]()
    for axis in axes:
        # Keys that vary in step share a dimension, which is none of them.
        dim = axis.keys[0] if len(axis.keys) == 1 else " ".join(axis.keys)
        dims.append(dim)
        for i, key in enumerate(axis.keys):
            coordinates[key] = (dim, _column([coordinate(place[i]) for place in axis.values]))
    return tuple(dims), tuple(len(axis.values) for axis in axes), coordinates


def _column(values: list[Any]) -> np.ndarray:
    numbers = all(isinstance(v, int | float) and not isinstance(v, bool) for v in values)
    if numbers:
        return np.array(values, dtype=float)
    return _typed(np.array(["" if v is None else str(v) for v in values], dtype=object))


def _typed(array: np.ndarray) -> np.ndarray:
    """Words as the fixed-width text that NetCDF knows."""
    return array.astype(str) if array.dtype == object else array
