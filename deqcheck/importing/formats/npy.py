"""A single array of NumPy, `.npy`."""

from __future__ import annotations

from typing import IO, Any

import numpy as np

from deqcheck.fields import FilePath
from deqcheck.importing.tensor import Tensor, Unusable, readable

NAME = ".npy"
MAGIC = b"\x93NUMPY"


def recognises(file: FilePath, head: bytes) -> bool:
    return head.startswith(MAGIC)


def tensors(file: FilePath) -> dict[str, Tensor]:
    """It has no name."""
    with readable(), open(file, "rb") as stream:
        shape, dtype = header(stream, "")

    def load() -> np.ndarray:
        found: np.ndarray = np.load(file, allow_pickle=False)
        return found

    return {"": Tensor(shape, str(dtype), load)}


def header(stream: IO[bytes], name: str) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Shape and dtype of an array at the beginning of a stream."""
    called = name or "it"
    if stream.read(6) != MAGIC:
        raise Unusable(f"{called} is not an array")
    version = tuple(stream.read(2))
    reader = np.lib.format.read_array_header_2_0
    if version == (1, 0):
        reader = np.lib.format.read_array_header_1_0
    shape, _, dtype = reader(stream)
    if dtype.hasobject:
        raise Unusable(f"{called} holds Python objects; expected real numbers")
    return shape, dtype
