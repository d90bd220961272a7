"""What was recorded of steps that were looked at many at once, in columns."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from deqcheck.dynamics.recorder import Recorder, Sampled, compared
from deqcheck.models.problem import AnyProblem, Params
from deqcheck.records.measured import Measured


def as_compared(sampled: Sampled) -> Sampled:
    """With the distances that a run of its own would know."""
    last = len(sampled.k) - 1
    unknown = np.array([not (compared(i) or i == last) for i in range(last + 1)], dtype=bool)
    values = {n: (v, np.where(unknown, np.nan, off)) for n, (v, off) in sampled.values.items()}
    return sampled._replace(values=values)


class Columns:
    """Quantities with their error bars and distances, at some of the steps, which ascend."""

    def __init__(self, at: Sequence[int], names: Sequence[str], count: int):
        self._at = np.array(at, dtype=int)
        self._position = {i: position for position, i in enumerate(at)}
        self._names = names
        self._numbers = np.zeros((len(at), len(names), 3, count))

    def at(self, i: int) -> bool:
        return i in self._position

    def rows(self, steps: np.ndarray) -> np.ndarray:
        """Which of these steps are in the table."""
        return np.flatnonzero([self.at(i) for i in steps.tolist()])

    def place(self, i: int) -> int:
        return self._position[i]

    def put(
        self,
        steps: Sequence[int] | np.ndarray,
        name: str,
        rows: np.ndarray,
        numbers: tuple[np.ndarray, ...],
    ) -> None:
        """Values, errors and distances, at each of the steps one for each row."""
        j = self._names.index(name)
        places = np.searchsorted(self._at, steps)[:, None]
        assert np.array_equal(self._at[places[:, 0]], steps), "steps that are not in the table"
        for kind, each in enumerate(numbers):
            self._numbers[places, j, kind, rows] = each.reshape(len(places), -1)

    def of(self, row: int, t: np.ndarray, how: Mapping[str, str]) -> Sampled:
        k = np.array([i for i in self._position if i < len(t)], dtype=int)
        columns = np.ascontiguousarray(self._numbers[: len(k), :, :, row].transpose(1, 2, 0))
        values = {}
        for name, (value, error, apart) in zip(self._names, columns, strict=True):
            values[name] = Measured(value, error, how[name]), apart
        return Sampled(k, t[k], np.zeros(len(k)), values)


class Made(Recorder):
    """With its columns made elsewhere."""

    def __init__(self, p: AnyProblem, columns: np.ndarray, tracked: Sampled, moves: Sampled):
        super().__init__(p, p.train, tuple(tracked.values))
        self._made, self._quantities, self._distances = columns, tracked, moves

    def _columns(self) -> np.ndarray:
        return self._made.T

    def _tracked(self) -> Sampled:
        return self._quantities

    def _moves(self) -> Sampled:
        return self._distances


def row_views(x: np.ndarray, shapes: Mapping[str, tuple[int, ...]]) -> Params:
    """As `unpack` does with each row."""
    theta, at = {}, 0
    for name, shape in shapes.items():
        size = math.prod(shape)
        theta[name] = x[:, at : at + size].reshape(-1, *shape)
        at += size
    return theta
