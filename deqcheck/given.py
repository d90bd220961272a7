"""Arrays that a user brings, each with the place to blame for it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

import numpy as np

from deqcheck.fields import FilePath, Refusal, did_you_mean, refuse
from deqcheck.importing.array import Given
from deqcheck.importing.formats import npz
from deqcheck.importing.tensor import Tensor, Unusable, readable

__all__ = ["RUN_ARRAYS", "Given", "check_npz", "from_npz", "from_values", "load_npz"]

# What a recorded run holds beside its parameters.
RUN_ARRAYS = ("step", "k")


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
    headers = check_npz(file, wanted, known)
    try:
        arrays = {name: tensor.doubles(name) for name, tensor in headers.items()}
    except Unusable as reason:
        raise Refusal("path", f"{file.name}: {reason}") from None
    return {name: Given(each, "path", f"{file.name}: {name}") for name, each in arrays.items()}


def check_npz(file: FilePath, wanted: Iterable[str], known: Collection[str]) -> dict[str, Tensor]:
    """What the arrays of an .npz file are, before any is unpacked. Raises Refusal."""
    try:
        headers = npz.tensors(file)
    except Unusable as reason:
        raise Refusal("path", f"{file.name}: {reason}") from None
    sentences = [f"no array {name!r}" for name in wanted if name not in headers]
    for name, tensor in headers.items():
        if name not in known:
            sentences.append(_unknown(name, known))
        elif np.dtype(tensor.dtype).kind not in "iuf":
            sentences.append(f"{name} has dtype {tensor.dtype}; expected real numbers")
    refuse(("path", f"{file.name}: {sentence}") for sentence in sentences)
    return headers


def load_npz(file: FilePath) -> dict[str, np.ndarray]:
    """The arrays of a checked file, as they are stored. Raises Refusal."""
    try:
        with readable(), np.load(file, allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
    except Unusable as reason:
        raise Refusal("path", f"{file.name}: {reason}") from None


def _unknown(name: str, known: Collection[str]) -> str:
    hint = did_you_mean(name, known) or f"; expected {', '.join(known)}"
    return f"unknown array {name!r}{hint}"
