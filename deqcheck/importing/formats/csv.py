"""Tables of numbers as text, with the names of the columns in the first line."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterator
from functools import cache, partial
from typing import IO

import numpy as np

from deqcheck.capacity import most_entries
from deqcheck.fields import FilePath, show
from deqcheck.importing.tensor import MOST_TENSORS, Tensor, Unusable, readable

NAME = ".csv"
SUFFIXES = (".csv", ".tsv", ".txt")


class Table(dict[str, Tensor]):
    """Columns by name."""


def recognises(file: FilePath, head: bytes) -> bool:
    return file.name.lower().endswith(SUFFIXES)


def tensors(file: FilePath) -> dict[str, Tensor]:
    """Each column by its name."""
    table = cache(partial(_table, file))
    with readable(), _text(file) as stream:
        names = _header(stream)
        # Each number takes two characters at least.
        if os.path.getsize(file) > 32 * most_entries():
            raise Unusable(f"a table of more than {32 * most_entries()} bytes is not read")
        rows = sum(1 for line in stream if line.strip())

    def column(i: int) -> Tensor:
        return Tensor((rows,), "float64", lambda: table()[:, i])

    return Table({name: column(i) for i, name in enumerate(names)})


def _text(file: FilePath) -> IO[str]:
    return open(file, encoding="utf-8-sig", newline="")


def _header(stream: IO[str]) -> list[str]:
    first = stream.readline(1 << 20)
    names = [name.strip() for name in next(csv.reader([first], delimiter=_separator(first)), [])]
    if not names or not all(names) or not first.endswith("\n"):
        raise Unusable("has no header; expected the names of the columns in the first line")
    if any(_number(name) is not None for name in names):
        raise Unusable(
            "the first line holds numbers; expected the names of the columns, such as x1,x2,y"
        )
    if len(names) > MOST_TENSORS:
        raise Unusable(f"has {len(names)} columns; at most {MOST_TENSORS} are read")
    twice = sorted({name for name in names if names.count(name) > 1}) if _repeats(names) else []
    if twice:
        raise Unusable(f"two columns are called {show(twice[0])}")
    return names


def _repeats(names: list[str]) -> bool:
    return len(set(names)) != len(names)


def _separator(line: str) -> str:
    return max(",;\t", key=line.count)


def _number(cell: str) -> float | None:
    try:
        return float(cell)
    except ValueError:
        return None


def _table(file: FilePath) -> np.ndarray:
    """One row for each line."""
    with _text(file) as stream:
        first = stream.readline(1 << 20)
        stream.seek(0)
        names = _header(stream)
        rows = list(_rows(stream, names, _separator(first)))
    return np.array(rows).reshape(len(rows), len(names))


def _rows(stream: IO[str], names: list[str], separator: str) -> Iterator[np.ndarray]:
    for line, cells in enumerate(csv.reader(stream, delimiter=separator), start=2):
        if not any(cell.strip() for cell in cells):
            continue
        if len(cells) != len(names):
            raise Unusable(f"line {line} has {len(cells)} cells; expected {len(names)}")
        numbers = [_number(cell) for cell in cells]
        if None in numbers:
            i = numbers.index(None)
            raise Unusable(f"line {line}, column {names[i]}: {show(cells[i])} is not a number")
        yield np.array(numbers, dtype=np.float64)
