"""PyTorch checkpoints (`.pt`, `.pth`) since version 1.6, read without torch: a zip file with a
pickle that lists the tensors, and one entry for the numbers of each storage.

Nothing is executed: the pickle is taken apart by `deqcheck.importing.pickled`, which admits
tensors, the mappings that hold them, and no other global.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np

from deqcheck.fields import FilePath
from deqcheck.importing.archive import members, opened
from deqcheck.importing.pickled import Call, Global, Persistent, unpickled
from deqcheck.importing.tensor import (
    BFLOAT16,
    MOST_TENSORS,
    Tensor,
    Unusable,
    widened,
)

NAME = ".pt"
SUFFIXES = (".pt", ".pth", ".ckpt", ".bin")
LIST = "data.pkl"
# Of the list, unpacked.
MOST_LIST = 8 << 20
# Of mappings in mappings.
DEEPEST = 20
STORAGES = {
    "torch.DoubleStorage": "float64",
    "torch.FloatStorage": "float32",
    "torch.HalfStorage": "float16",
    "torch.BFloat16Storage": BFLOAT16,
    "torch.LongStorage": "int64",
    "torch.IntStorage": "int32",
    "torch.ShortStorage": "int16",
    "torch.CharStorage": "int8",
    "torch.ByteStorage": "uint8",
    "torch.BoolStorage": "bool",
}
# Without a storage type of their own: the dtype stands in the call.
UNTYPED = ("torch.storage.UntypedStorage", "torch.UntypedStorage")
DTYPES = {f"torch.{name}": name for name in ("uint16", "uint32", "uint64")}
TENSOR, TYPED_TENSOR = "torch._utils._rebuild_tensor_v2", "torch._utils._rebuild_tensor_v3"
PARAMETER = "torch._utils._rebuild_parameter"
ADMITTED = {
    "collections.OrderedDict",
    TENSOR,
    TYPED_TENSOR,
    PARAMETER,
    *STORAGES,
    *UNTYPED,
    *DTYPES,
}


def recognises(file: FilePath, head: bytes) -> bool:
    if head.startswith(b"PK"):
        names = members(file)
        damaged = not names and file.name.endswith(SUFFIXES)
        return damaged or any(name.rpartition("/")[2] == LIST for name in names)
    return head.startswith(b"\x80") or file.name.endswith(SUFFIXES)


def tensors(file: FilePath) -> dict[str, Tensor]:
    with open(file, "rb") as stream:
        if not stream.read(2).startswith(b"PK"):
            raise Unusable(
                "not a checkpoint of PyTorch 1.6 or later (a zip file), or a damaged one: save it "
                "again by torch.save(model.state_dict(), ...)"
            )
    with opened(file) as archive:
        names = archive.namelist()
        lists = [name for name in names if name.rpartition("/")[2] == LIST]
        if len(lists) != 1:
            raise Unusable("holds no list of tensors (data.pkl): not a checkpoint of PyTorch")
        folder = lists[0].removesuffix(LIST)
        if f"{folder}constants.pkl" in names:
            raise Unusable("a TorchScript archive holds code; save model.state_dict() instead")
        if archive.getinfo(lists[0]).file_size > MOST_LIST:
            raise Unusable(f"the list of its tensors is larger than {MOST_LIST} bytes")
        listed = unpickled(archive.read(lists[0]), ADMITTED.__contains__)
        order = f"{folder}byteorder"
        big = order in names and archive.read(order)[:10] == b"big"
        sizes = {name.removeprefix(f"{folder}data/"): archive.getinfo(name) for name in names}
    stored = {key: entry.file_size for key, entry in sizes.items()}
    reader = _Reader(file, folder, ">" if big else "<", stored)
    return {name: reader.tensor(name, call) for name, call in _calls(listed)}


def _calls(listed: Any) -> Iterator[tuple[str, Call]]:
    """Every tensor of mappings in mappings, with its dotted name; numbers and text between them
    are left out."""
    visited = 0
    waiting: list[tuple[str, Any, int]] = [("", listed, 0)]
    while waiting:
        name, item, depth = waiting.pop()
        visited += 1
        # One mapping may stand in many places, or in itself.
        if visited > MOST_TENSORS or depth > DEEPEST:
            raise Unusable("its mappings hold each other: not a state dict")
        if isinstance(item, Call):
            yield name, item
        elif isinstance(item, dict):
            inner = [(f"{name}.{key}".lstrip("."), value) for key, value in item.items()]
            waiting += [(key, value, depth + 1) for key, value in reversed(inner)]


@dataclass(frozen=True)
class _Reader:
    file: FilePath
    folder: str
    order: Literal["<", ">"]
    # Bytes of each storage.
    sizes: dict[str, int]

    def tensor(self, name: str, call: Call) -> Tensor:
        try:
            return self._tensor(name, call)
        except (TypeError, ValueError, IndexError):
            raise Unusable(f"{name} is not a plain tensor, or a damaged one") from None

    def _tensor(self, name: str, call: Call) -> Tensor:
        if call.name == PARAMETER:
            inner = call.arguments[0]
            if not isinstance(inner, Call) or inner.name == PARAMETER:
                raise ValueError
            return self._tensor(name, inner)
        if call.name not in (TENSOR, TYPED_TENSOR):
            raise ValueError
        reference, offset, shape, strides = call.arguments[:4]
        if not isinstance(reference, Persistent):
            raise ValueError
        word, kind, key, _, count = reference.id
        dtype = _dtype(kind, call)
        whole = (offset, count, *shape, *strides)
        if word != "storage" or not all(type(n) is int and n >= 0 for n in whole):
            raise ValueError
        width = np.dtype("u2" if dtype == BFLOAT16 else dtype).itemsize
        reach = offset + sum((n - 1) * s for n, s in zip(shape, strides, strict=True)) + 1
        held = self.sizes.get(key, -1)
        if 0 not in shape and (reach * width > held or held < 0):
            raise Unusable(f"the numbers of {name} are missing or cut off: a damaged file")
        load = partial(self._load, key, dtype, offset, tuple(shape), tuple(strides))
        return Tensor(tuple(shape), dtype, load)

    def _load(
        self, key: str, dtype: str, offset: int, shape: tuple[int, ...], strides: tuple[int, ...]
    ) -> np.ndarray:
        if math.prod(shape) == 0:
            return np.zeros(shape)
        stored = np.dtype("u2" if dtype == BFLOAT16 else dtype)
        flat = np.frombuffer(_content(self.file, f"{self.folder}data/{key}"), dtype=np.uint8)
        flat = flat[: len(flat) // stored.itemsize * stored.itemsize]
        numbers = flat.view(stored.newbyteorder(self.order)).astype(stored)[offset:]
        steps = tuple(s * stored.itemsize for s in strides)
        found = np.lib.stride_tricks.as_strided(numbers, shape, steps).copy()
        return widened(found) if dtype == BFLOAT16 else found


def _dtype(kind: Any, call: Call) -> str:
    if not isinstance(kind, Global):
        raise ValueError
    if kind.name in STORAGES:
        return STORAGES[kind.name]
    named = [DTYPES[a.name] for a in call.arguments if isinstance(a, Global) and a.name in DTYPES]
    if kind.name not in UNTYPED or not named:
        raise ValueError
    return named[0]


def _content(file: FilePath, entry: str) -> bytes:
    with opened(file) as archive:
        return archive.read(entry)
