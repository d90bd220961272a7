"""Arrays of NumPy by name, `.npz`."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from deqcheck.capacity import MOST_ENTRIES
from deqcheck.fields import FilePath
from deqcheck.importing.archive import opened
from deqcheck.importing.formats import npy
from deqcheck.importing.tensor import Tensor, Unusable

if TYPE_CHECKING:
    import zipfile

NAME = ".npz"


def recognises(file: FilePath, head: bytes) -> bool:
    """A zip file; one that holds a checkpoint is recognised before."""
    return head.startswith(b"PK") or file.name.endswith(NAME)


def tensors(file: FilePath) -> dict[str, Tensor]:
    import zipfile

    if not zipfile.is_zipfile(file):
        raise Unusable("not an .npz file, or a damaged one")
    with opened(file) as archive:
        return {n.removesuffix(".npy"): _tensor(file, archive, n) for n in archive.namelist()}


def _tensor(file: FilePath, archive: zipfile.ZipFile, name: str) -> Tensor:
    plain = name.removesuffix(".npy")
    if name == plain:
        raise Unusable(f"{plain} is not an array")
    with archive.open(name) as stream:
        shape, dtype = npy.header(stream, plain)
    if np.prod(shape, dtype=object) > MOST_ENTRIES:
        size = " x ".join(map(str, shape))
        raise Unusable(f"{plain} is {size}, too large; expected at most {MOST_ENTRIES} numbers")
    return Tensor(shape, str(dtype), partial(_load, file, plain))


def _load(file: FilePath, name: str) -> np.ndarray:
    with np.load(file, allow_pickle=False) as stored:
        found: np.ndarray = stored[name]
    return found
