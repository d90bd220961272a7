"""Symbolic shapes: the same letter is the same size everywhere."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from deqcheck.fields import refuse
from deqcheck.given import Given

Symbols = tuple[str, ...]


class Sizes:
    """The size of each letter, and what decided it."""

    def __init__(self) -> None:
        self._sizes: dict[str, int] = {}
        self._reasons: dict[str, str] = {}

    def bind(self, letter: str, size: int, reason: str) -> str | None:
        """Decide a size; the sentence if it was decided otherwise before."""
        if self._sizes.setdefault(letter, size) != size:
            return f"{reason}, but {self._reasons[letter]}, so {letter} = {self._sizes[letter]}"
        self._reasons.setdefault(letter, reason)
        return None

    def shape(self, symbols: Symbols) -> tuple[int | str, ...]:
        """The sizes that are known, the letters of the others."""
        return tuple(self._sizes.get(letter, letter) for letter in symbols)

    def fit(
        self, arrays: Mapping[str, Given], shapes: Mapping[str, Symbols]
    ) -> dict[str, np.ndarray]:
        """The arrays in the order of `shapes`, in the form the numerics want. Raises Refusal."""
        refuse(
            (given.key, sentence)
            for name, given in arrays.items()
            for sentence in self._faults(name, given, shapes[name])
        )
        return {name: np.ascontiguousarray(arrays[name].array, dtype=np.float64) for name in shapes}

    def _faults(self, name: str, given: Given, symbols: Symbols) -> Iterator[str]:
        shape = given.array.shape
        found = f"{given.label} has shape {_tuple(shape)}; expected {_tuple(symbols)}"
        if len(shape) != len(symbols):
            yield found
            return
        wanted = self.shape(symbols)
        pairs = dict.fromkeys(zip(symbols, shape, strict=True))
        wrong = [letter for letter, size in pairs if self._sizes.get(letter, size) != size]
        if 0 in shape:
            yield f"{found} without empty axes"
        elif wrong:
            because = " and ".join(dict.fromkeys(self._reasons[letter] for letter in wrong))
            turned = "; yours looks transposed" if shape[::-1] == wanted != shape else ""
            yield f"{found} = {_tuple(wanted)} because {because}{turned}"
        elif len(pairs) != len(set(symbols)):
            yield found
        else:
            for letter, size in pairs:
                self.bind(letter, size, f"{name} is {' x '.join(map(str, shape))}")
        bad = np.argwhere(~np.isfinite(given.array))
        if len(bad):
            where = _tuple(tuple(bad[0]))
            yield (
                f"{given.label} is not finite in {len(bad)} of {given.array.size} entries, "
                f"the first at {where}"
            )


def transposed(
    arrays: Mapping[str, Given], shapes: Mapping[str, Symbols], letter: str
) -> Iterator[tuple[str, str]]:
    """The data arrays that agree on the number of samples only along the other axis."""
    every = {
        # Several outputs, of which one is to be chosen, are rows.
        name: (shape, ("q", *symbols) if len(shape) == 2 and len(symbols) == 1 else symbols)
        for name, symbols in shapes.items()
        for shape in [arrays[name].array.shape]
    }
    if any(len(shape) != len(symbols) for shape, symbols in every.values()):
        return
    along = {shape[symbols.index(letter)] for shape, symbols in every.values()}
    across = {shape[len(shape) - 1 - symbols.index(letter)] for shape, symbols in every.values()}
    # A row for each sample of every array, or as many features as outputs: there are more samples.
    sure = any(len(shape) == 1 for shape, _ in every.values()) or max(across) > max(along)
    if len(along) == 1 or len(across) != 1 or not sure:
        return
    for name, (shape, symbols) in every.items():
        if len(shape) == 2:
            size, rows = " x ".join(map(str, shape)), symbols[0] == letter
            expected = f"{' x '.join(symbols)}, samples in {'rows' if rows else 'columns'}"
            yield (
                arrays[name].key,
                f"{arrays[name].label} is {expected}; yours is {size} and looks transposed: say "
                f"layout: {'columns' if rows else 'rows'}, or transpose it",
            )


def _tuple(items: tuple[object, ...]) -> str:
    return f"({', '.join(str(item) for item in items)}{',' if len(items) == 1 else ''})"
