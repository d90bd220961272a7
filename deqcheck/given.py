"""Arrays that a user brings, each with the place to blame for it."""

from __future__ import annotations

import math
import zipfile
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from deqcheck.fields import FilePath, Refusal, did_you_mean, refuse

# Of one array: 0.8 GB.
MOST_ENTRIES = 10**8
MOST_BYTES = 4 << 30
# What a recorded run holds beside its parameters.
RUN_ARRAYS = ("step", "k")


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
    check_npz(file, wanted, known)
    arrays = load_npz(file)
    return {
        name: Given(array.astype(np.float64), "path", f"{file.name}: {name}")
        for name, array in arrays.items()
    }


def check_npz(file: FilePath, wanted: Iterable[str], known: Collection[str]) -> dict[str, Header]:
    """What the arrays of an .npz file are, before any is unpacked. Raises Refusal."""
    try:
        headers = _headers(file)
    except _Unusable as reason:
        raise Refusal("path", f"{file.name}: {reason}") from None
    sentences = [f"no array {name!r}" for name in wanted if name not in headers]
    for name, (_, dtype) in headers.items():
        if name not in known:
            sentences.append(_unknown(name, known))
        elif dtype.kind not in "iuf":
            sentences.append(f"{name} has dtype {dtype}; expected real numbers")
    refuse(("path", f"{file.name}: {sentence}") for sentence in sentences)
    return headers


def load_npz(file: FilePath) -> dict[str, np.ndarray]:
    """The arrays of a checked file, as they are stored. Raises Refusal."""
    try:
        with _readable(), np.load(file, allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
    except _Unusable as reason:
        raise Refusal("path", f"{file.name}: {reason}") from None


def _unknown(name: str, known: Collection[str]) -> str:
    hint = did_you_mean(name, known) or f"; expected {', '.join(known)}"
    return f"unknown array {name!r}{hint}"


class _Unusable(Exception):
    pass


class Header(NamedTuple):
    shape: tuple[int, ...]
    dtype: np.dtype[Any]


def _headers(file: FilePath) -> dict[str, Header]:
    """Raises _Unusable, also where one is too large to be read."""
    if not zipfile.is_zipfile(file):
        raise _Unusable("not an .npz file, or a damaged one")
    with _readable(), zipfile.ZipFile(file) as archive:
        size = sum(entry.file_size for entry in archive.infolist())
        if size > MOST_BYTES:
            raise _Unusable(f"unpacks to {size} bytes; at most {MOST_BYTES} are read")
        found = {n.removesuffix(".npy"): _header(archive, n) for n in archive.namelist()}
    for name, header in found.items():
        if math.prod(header.shape) > MOST_ENTRIES:
            size_of = " x ".join(map(str, header.shape))
            raise _Unusable(
                f"{name} is {size_of}, too large; expected at most {MOST_ENTRIES} numbers"
            )
    return found


def _header(archive: zipfile.ZipFile, name: str) -> Header:
    plain = name.removesuffix(".npy")
    with archive.open(name) as stream:
        if name == plain or stream.read(6) != b"\x93NUMPY":
            raise _Unusable(f"{plain} is not an array")
        version = tuple(stream.read(2))
        reader = np.lib.format.read_array_header_2_0
        if version == (1, 0):
            reader = np.lib.format.read_array_header_1_0
        shape, _, dtype = reader(stream)
    if dtype.hasobject:
        raise _Unusable(f"{plain} holds Python objects; expected real numbers")
    return Header(shape, dtype)


@contextmanager
def _readable() -> Iterator[None]:
    """numpy and zipfile raise a dozen unrelated exceptions on damaged files."""
    try:
        yield
    except _Unusable:
        raise
    except Exception as error:
        raise _Unusable(f"cannot be read ({type(error).__name__})") from None
