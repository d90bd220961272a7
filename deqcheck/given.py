"""Arrays that a user brings, each with the place to blame for it."""

from __future__ import annotations

import zipfile
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from deqcheck.fields import FilePath, Refusal, did_you_mean, refuse

# Of one array: 0.8 GB.
MOST_ENTRIES = 10**8
MOST_BYTES = 4 << 30


@dataclass(frozen=True, eq=False)
class Given:
    """An array, the key (below its kind) that is to blame for it, and what sentences call it."""

    array: np.ndarray
    key: str
    label: str

    def scaled(self, factor: float) -> Given:
        return replace(self, array=factor * self.array)


def from_values(
    arrays: Mapping[str, np.ndarray], wanted: Iterable[str], known: Collection[str]
) -> dict[str, Given]:
    """The arrays written in a case: all the wanted ones, and nothing that is not even known."""
    missing = [(name, "missing; expected its numbers") for name in wanted if name not in arrays]
    extra = [(name, _unknown(name, known)) for name in arrays if name not in known]
    refuse(missing + extra)
    return {name: Given(array, name, name) for name, array in arrays.items()}


def from_npz(file: FilePath, wanted: Iterable[str], known: Collection[str]) -> dict[str, Given]:
    """The arrays of an .npz file: all the wanted ones, and nothing that is not even known."""
    try:
        arrays = _load(file)
    except _Unusable as reason:
        raise Refusal("path", f"{file.name}: {reason}") from None
    sentences = [f"no array {name!r}" for name in wanted if name not in arrays]
    for name, array in arrays.items():
        if name not in known:
            sentences.append(_unknown(name, known))
        elif array.dtype.kind not in "iuf":
            sentences.append(f"{name} has dtype {array.dtype}; expected real numbers")
    refuse(("path", f"{file.name}: {sentence}") for sentence in sentences)
    return {
        name: Given(array.astype(np.float64), "path", f"{file.name}: {name}")
        for name, array in arrays.items()
    }


def _unknown(name: str, known: Collection[str]) -> str:
    hint = did_you_mean(name, known) or f"; expected {', '.join(known)}"
    return f"unknown array {name!r}{hint}"


class _Unusable(Exception):
    pass


def _load(file: FilePath) -> dict[str, np.ndarray]:
    if not zipfile.is_zipfile(file):
        raise _Unusable("not an .npz file, or a damaged one")
    # numpy and zipfile raise a dozen unrelated exceptions on damaged files.
    try:
        with zipfile.ZipFile(file) as archive:
            size = sum(entry.file_size for entry in archive.infolist())
        if size > MOST_BYTES:
            raise _Unusable(f"unpacks to {size} bytes; at most {MOST_BYTES} are read")
        with np.load(file, allow_pickle=False) as archive:
            names = list(archive.files)
            arrays = {name: _member(archive, name) for name in names}
    except _Unusable:
        raise
    except Exception as error:
        raise _Unusable(f"cannot be read ({type(error).__name__})") from None
    return arrays


def _member(archive: np.lib.npyio.NpzFile, name: str) -> np.ndarray:
    try:
        array = archive[name]
    except ValueError as error:
        if "allow_pickle" in str(error):
            raise _Unusable(f"{name} holds Python objects; expected real numbers") from None
        raise
    if not isinstance(array, np.ndarray):
        raise _Unusable(f"{name} is not an array")
    return array
