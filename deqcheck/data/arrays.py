"""Data that the user brings: from files, or written in the case itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from deqcheck.fields import FilePath, Refusal, array, choice, declare, file, flag, inline
from deqcheck.frozen import dataclass
from deqcheck.given import Given, from_npz, from_values
from deqcheck.importing.source import Source
from deqcheck.importing.specs import Map, Paths, Words
from deqcheck.kinds import Data, Model, Shapes

NATIVE, ROWS, COLUMNS = "native", "rows", "columns"
YHAT = "yhat"


def layout() -> Any:
    return choice(
        NATIVE,
        ROWS,
        COLUMNS,
        default=NATIVE,
        doc="a sample in each row, or in each column; native: as in the shapes of the model",
    )


def shapes_of(model: Model) -> Shapes:
    """The arrays that data may hold: those of the model, and its predictions."""
    own = model.data_arrays
    return {**own, YHAT: own[model.predicted]} if model.predicted else own


def sample_letter(shapes: Shapes) -> str:
    """The axis that all data arrays share; the last one where they share two."""
    first, *others = shapes.values()
    shared = [letter for letter in first if all(letter in other for other in others)]
    return shared[-1]


def oriented(given: Given, name: str, model: Model, way: str) -> Given:
    """With the samples along the axis of the theory. Several outputs where the theory has one are
    rows, outputs x samples."""
    shapes, letter = shapes_of(model), sample_letter(model.data_arrays)
    if given.array.ndim > 2 and way == ROWS:
        # Images and the like: one row for each.
        given = replace(given, array=given.array.reshape(len(given.array), -1))
    if given.array.ndim != 2:
        return given
    usual = next((symbols for symbols in shapes.values() if len(symbols) == 2), (letter,))
    stored = _way(usual, letter) if way == NATIVE else way
    return given if stored == _way(shapes[name], letter) else replace(given, array=given.array.T)


def _way(symbols: tuple[str, ...], letter: str) -> str:
    return ROWS if len(symbols) == 2 and symbols[0] == letter else COLUMNS


@dataclass(frozen=True)
class NpzData(Data):
    """The model's own arrays, under their own names, from an .npz file."""

    kind: ClassVar[str] = "npz"
    path: FilePath = file(doc="an .npz file, relative to the case")
    layout: str = layout()

    def arrays(self, model: Any, seed: int) -> dict[str, Given]:
        found = from_npz(self.path, model.data_arrays, shapes_of(model))
        return {name: oriented(each, name, model, self.layout) for name, each in found.items()}


@dataclass(frozen=True, eq=False)
class ValuesData(Data):
    """The model's own arrays, under their own names, as lists of numbers."""

    kind: ClassVar[str] = "values"
    layout: str = layout()
    numbers: Mapping[str, np.ndarray] = inline(array(), doc="each array of the model by its name")

    def arrays(self, model: Any, seed: int) -> dict[str, Given]:
        found = from_values(self.numbers, model.data_arrays, shapes_of(model))
        return {name: oriented(each, name, model, self.layout) for name, each in found.items()}


@dataclass(frozen=True, eq=False)
class FileData(Data):
    """The model's own arrays from a file that was made elsewhere: npz, npy, csv with a header,
    safetensors, or a checkpoint of PyTorch (.pt, .pth), which is read without running anything.

    `map` says what the file calls them; an array that it does not name has its own name there. Of a
    table, `y: price` is a column and `X: [age, size]` are columns side by side, a sample in each
    row; without a name, X is all the columns that are left (`"*"`). `yhat`, the predictions of your
    own code, may stand beside: they are compared with those of deqcheck.
    """

    kind: ClassVar[str] = "file"
    path: Mapping[str, FilePath] = declare(Paths(doc="the file, or one for each array"))
    map: Any = declare(Map(default={}, doc="what the file calls the arrays"))
    layout: str = layout()
    transpose: tuple[str, ...] = declare(Words(default=[], doc="arrays that it holds transposed"))
    squeeze: bool = flag(default=True, doc="drop axes of length 1 that are too many")
    ignore: tuple[str, ...] = declare(
        Words(default=[], doc="names in the file, or patterns such as id*, that are left out")
    )
    one_hot: bool = flag(
        default=False, doc="y holds class labels: the target of output k is 1 for class k, else 0"
    )

    def arrays(self, model: Any, seed: int) -> dict[str, Given]:
        shapes = shapes_of(model)
        source = Source(self.path, self.map, self.transpose, self.squeeze, self.ignore)
        made = source.arrays(model.data_arrays, shapes, model.kind)
        given = {}
        for name, each in made.items():
            label = f"{(self.path.get(name) or self.path['']).name}: {name}"
            found = Given(each.array, "path", label, each.notes)
            way = ROWS if each.stacked and self.layout == NATIVE else self.layout
            turned = name in self.transpose
            given[name] = found if turned else oriented(found, name, model, way)
        return self._coded(given, model) if self.one_hot else given

    def _coded(self, given: dict[str, Given], model: Model) -> dict[str, Given]:
        output, labels = getattr(model, "output", None), given["y"]
        if output is None or labels.array.ndim != 1:
            raise Refusal("one_hot", "needs labels, one for each sample, and model.output")
        target = (labels.array == output).astype(float)
        return {**given, "y": replace(labels, array=target)}
