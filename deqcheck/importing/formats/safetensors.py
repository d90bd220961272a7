"""safetensors: the length of a JSON header, the header, and the raw numbers, little-endian."""

from __future__ import annotations

import json
import math
import os
from functools import partial
from typing import Any

import numpy as np

from deqcheck.fields import FilePath
from deqcheck.importing.tensor import BFLOAT16, MOST_TENSORS, Tensor, Unusable, readable, widened

NAME = ".safetensors"
# The largest header that is read.
MOST_HEADER = 25_000_000
DTYPES = {
    "F64": "float64",
    "F32": "float32",
    "F16": "float16",
    "BF16": BFLOAT16,
    "I64": "int64",
    "I32": "int32",
    "I16": "int16",
    "I8": "int8",
    "U64": "uint64",
    "U32": "uint32",
    "U16": "uint16",
    "U8": "uint8",
    "BOOL": "bool",
}


def recognises(file: FilePath, head: bytes) -> bool:
    size = os.path.getsize(file)
    plausible = len(head) > 8 and head[8:9] == b"{" and _length(head) <= size - 8
    return plausible or file.name.endswith(NAME)


def tensors(file: FilePath) -> dict[str, Tensor]:
    with readable(), open(file, "rb") as stream:
        head, room = stream.read(8), os.path.getsize(file) - 8
        if len(head) < 8 or not 0 < _length(head) <= min(room, MOST_HEADER):
            raise Unusable("not a safetensors file, or a damaged one")
        described = _described(stream.read(_length(head)))
    start = 8 + _length(head)
    end = room + 8
    return {name: _tensor(file, name, each, start, end) for name, each in described.items()}


def _length(head: bytes) -> int:
    return int.from_bytes(head[:8], "little")


def _described(text: bytes) -> dict[str, Any]:
    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(dict(pairs)) != len(pairs):
            raise Unusable("two entries of its header have the same name")
        return dict(pairs)

    try:
        found = json.loads(text.decode(), object_pairs_hook=once)
    except (ValueError, RecursionError):
        raise Unusable("its header is not JSON: a damaged file") from None
    if not isinstance(found, dict) or len(found) > MOST_TENSORS:
        raise Unusable("its header is no list of tensors: a damaged file")
    found.pop("__metadata__", None)
    return found


def _tensor(file: FilePath, name: str, each: Any, start: int, end: int) -> Tensor:
    try:
        word, shape, (first, last) = each["dtype"], tuple(each["shape"]), each["data_offsets"]
        whole = all(type(n) is int and n >= 0 for n in (*shape, first, last))
    except (KeyError, TypeError, ValueError):
        raise Unusable(f"what its header says of {name!r} cannot be read") from None
    if not whole or word not in DTYPES:
        raise Unusable(f"{name} has dtype {str(word)[:20]!r}, which is not read here")
    dtype = DTYPES[word]
    stored = np.dtype("<u2" if dtype == BFLOAT16 else dtype).newbyteorder("<")
    if last - first != math.prod(shape) * stored.itemsize or start + last > end:
        raise Unusable(f"the file ends before {name} does, or its sizes disagree: a damaged file")
    return Tensor(shape, dtype, partial(_load, file, start + first, stored, shape, dtype))


def _load(
    file: FilePath, at: int, stored: np.dtype[Any], shape: tuple[int, ...], dtype: str
) -> np.ndarray:
    with open(file, "rb") as stream:
        found = np.fromfile(stream, stored, math.prod(shape), offset=at).reshape(shape)
    found = found.astype(stored.newbyteorder("="))
    return widened(found) if dtype == BFLOAT16 else found
