"""Arrays from files of many formats: npz, npy, csv, safetensors, PyTorch checkpoints."""

from __future__ import annotations

import importlib
from types import ModuleType

from deqcheck.fields import FilePath, Refusal
from deqcheck.importing.tensor import Tensor, Unusable
from deqcheck.registry import modules

# In this order: a checkpoint is a zip file, too.
_ORDER = ("checkpoint", "npz", "npy", "safetensors", "csv")


LONGEST_NAME = 500


def tensors(file: FilePath) -> dict[str, Tensor]:
    """What a file holds, by name; numbers are read when they are asked for. Raises Refusal."""
    try:
        found: dict[str, Tensor] = _format(file).tensors(file)
        # They stand in sentences.
        if not all(name.isprintable() and len(name) <= LONGEST_NAME for name in found):
            raise Unusable("holds a name that is no text: a damaged file")
        return found
    except Unusable as reason:
        raise Refusal("path", f"{file.name}: {reason}") from None
    except OSError as error:
        raise Refusal("path", f"{file.name}: cannot be read: {error.strerror}") from None


def _format(file: FilePath) -> ModuleType:
    with open(file, "rb") as stream:
        head = stream.read(16)
    if not head:
        raise Unusable("is empty")
    every = [importlib.import_module(f"{__name__}.formats.{name}") for name in _formats()]
    for each in every:
        if each.recognises(file, head):
            return each
    known = ", ".join(each.NAME for each in every)
    raise Unusable(f"a format that is not read here; expected one of {known}")


def _formats() -> list[str]:
    found = modules(f"{__name__}.formats")
    return sorted(found, key=lambda name: _ORDER.index(name) if name in _ORDER else len(_ORDER))
