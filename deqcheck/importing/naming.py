"""Where an array is: `mon.A.weight`, `out.weight[3]`, `W.weight.T`, `W.bias + U.bias`."""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np

from deqcheck.fields import did_you_mean
from deqcheck.frozen import dataclass
from deqcheck.importing.tensor import COARSE, Tensor, Unusable

_INDEXED = re.compile(r"(.*)\[([^\[\]]*)\]\Z", re.DOTALL)
_ENTRY, _SLICE = re.compile(r"-?\d{1,9}\Z"), re.compile(r"(-?\d{1,9})?:(-?\d{1,9})?\Z")
# How many tensors a sentence lists.
LISTED = 12

Tensors = Mapping[str, Tensor]


@dataclass(frozen=True, eq=False)
class Found:
    """An array, the tensors that it was made of, and what there is to say about them."""

    array: np.ndarray
    names: tuple[str, ...]
    notes: tuple[str, ...] = ()
    # Whether it was made of columns: a sample in each row.
    stacked: bool = False


def found(expression: str, tensors: Tensors) -> Found:
    """The sum of the terms of an expression. Raises Unusable."""
    # A name that holds a plus is a name.
    parts = [expression] if expression in tensors else expression.split(" + ")
    terms = [_term(part.strip(), tensors) for part in parts]
    shapes = {term.array.shape for term in terms}
    if len(shapes) > 1:
        raise Unusable(f"{expression}: the terms have shapes {' and '.join(map(str, shapes))}")
    total = sum((term.array for term in terms[1:]), terms[0].array)
    return Found(total, *_joined(terms))


def columns(names: tuple[str, ...], tensors: Tensors) -> Found:
    """Vectors side by side."""
    parts = [found(name, tensors) for name in names]
    for name, part in zip(names, parts, strict=True):
        if part.array.ndim != 1:
            raise Unusable(f"{name} is no column: it has shape {part.array.shape}")
    lengths = {len(part.array) for part in parts}
    if len(lengths) > 1:
        raise Unusable("the columns have different lengths")
    return Found(np.stack([part.array for part in parts], axis=1), *_joined(parts), stacked=True)


def has(expression: str, tensors: Tensors) -> bool:
    """Whether every term of an expression is there."""
    try:
        for part in [expression] if expression in tensors else expression.split(" + "):
            _split(part.strip(), tensors)
    except Unusable:
        return False
    return True


def _joined(parts: list[Found]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    names = tuple(name for part in parts for name in part.names)
    return names, tuple(dict.fromkeys(note for part in parts for note in part.notes))


def _term(text: str, tensors: Tensors) -> Found:
    name, index, turned = _split(text, tensors)
    tensor = tensors[name]
    array = tensor.doubles(name)
    notes: tuple[str, ...] = (tensor.note,) if tensor.note else ()
    if tensor.dtype in COARSE:
        notes += (f"{name} is stored in {tensor.dtype}, about {COARSE[tensor.dtype]} digits",)
    if index is not None:
        array = _part(text, array, index)
    return Found(array.T if turned else array, (name,), notes)


def _split(text: str, tensors: Tensors) -> tuple[str, str | None, bool]:
    """The name of the tensor, the index behind it, and whether it is transposed."""
    if text in tensors:
        return text, None, False
    turned = text.endswith(".T")
    plain = text.removesuffix(".T")
    match = _INDEXED.match(plain)
    if match and plain not in tensors:
        return _known(match[1], tensors), match[2], turned
    return _known(plain if _near(plain, tensors) else text, tensors), None, turned


def _near(name: str, tensors: Tensors) -> list[str]:
    """Itself, or those that end in it: `A.weight` for `module.deq.A.weight`."""
    return [name] if name in tensors else [each for each in tensors if each.endswith(f".{name}")]


def _known(name: str, tensors: Tensors) -> str:
    near = _near(name, tensors)
    if len(near) == 1:
        return near[0]
    if near:
        raise Unusable(f"{name!r} may be {' or '.join(near[:LISTED])}; expected the whole name")
    raise Unusable(missing(name, tensors))


def missing(name: str, tensors: Tensors) -> str:
    """The sentence that lists what there is."""
    listed = [f"{each} ({tensor})" for each, tensor in list(tensors.items())[:LISTED] if each]
    more = f" and {len(tensors) - LISTED} more" if len(tensors) > LISTED else ""
    there = f"there is {', '.join(listed)}{more}" if listed else "the file holds one array"
    return f"no array {name!r}{did_you_mean(name, tensors)}; {there}"


def _part(text: str, array: np.ndarray, index: str) -> np.ndarray:
    where: list[int | slice] = []
    for piece in index.replace(" ", "").split(","):
        sliced = _SLICE.match(piece)
        if _ENTRY.match(piece):
            where.append(int(piece))
        elif sliced:
            where.append(slice(*(int(end) if end else None for end in sliced.groups())))
        else:
            raise Unusable(f"{text}: {piece!r} is no index; expected such as [3] or [:, 0:5]")
    try:
        found: np.ndarray = array[tuple(where)]
    except IndexError:
        size = " x ".join(map(str, array.shape)) or "a number"
        raise Unusable(f"{text}: there is no such entry; the array is {size}") from None
    return found
