"""Small files as other tools write them: PyTorch checkpoints and safetensors."""

from __future__ import annotations

import json
import struct
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

STORAGES = {
    "float64": "DoubleStorage",
    "float32": "FloatStorage",
    "float16": "HalfStorage",
    "int64": "LongStorage",
    "bool": "BoolStorage",
}
WORDS = {"float64": "F64", "float32": "F32", "float16": "F16", "uint64": "U64", "int64": "I64"}


def text(word: str) -> bytes:
    return b"X" + struct.pack("<I", len(word)) + word.encode()


def integer(n: int) -> bytes:
    return b"J" + struct.pack("<i", n)


def numbers(items: tuple[int, ...]) -> bytes:
    return b"(" + b"".join(map(integer, items)) + b"t"


def tensor(key: str, array: np.ndarray, strides: tuple[int, ...], count: int) -> bytes:
    """torch._utils._rebuild_tensor_v2(storage, 0, shape, strides, False, OrderedDict())."""
    storage = f"ctorch\n{STORAGES[str(array.dtype)]}\n".encode()
    reference = b"(" + text("storage") + storage + text(key) + text("cpu") + integer(count) + b"tQ"
    ends = numbers(array.shape) + numbers(strides) + b"\x89ccollections\nOrderedDict\n)R"
    return b"ctorch._utils\n_rebuild_tensor_v2\n(" + reference + integer(0) + ends + b"tR"


def state_dict(arrays: dict[str, np.ndarray], more: bytes = b"") -> tuple[bytes, dict[str, bytes]]:
    """The pickle of an OrderedDict, and the content of each storage. A Fortran-ordered array is a
    transposed view."""
    body, stored = b"", {}
    for i, (name, array) in enumerate(arrays.items()):
        turned = array.ndim == 2 and not array.flags.c_contiguous
        flat = np.array(array.T if turned else array, order="C")
        strides = tuple(s // array.itemsize for s in (flat.T if turned else flat).strides)
        stored[str(i)] = flat.tobytes()
        body += text(name) + tensor(str(i), array, strides, array.size)
    return b"\x80\x02ccollections\nOrderedDict\n)R(" + body + more + b"u.", stored


def checkpoint(path: Path, arrays: dict[str, np.ndarray], more: bytes = b"") -> Path:
    """As torch.save(state_dict, path) writes it since version 1.6."""
    listed, stored = state_dict(arrays, more)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("w/data.pkl", listed)
        archive.writestr("w/byteorder", "little")
        for key, content in stored.items():
            archive.writestr(f"w/data/{key}", content)
        archive.writestr("w/version", "3\n")
    return path


def safetensors(path: Path, arrays: dict[str, np.ndarray], **changed: Any) -> Path:
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    body = b""
    for name, array in arrays.items():
        ends = [len(body), len(body) + array.nbytes]
        word = WORDS[str(array.dtype)]
        header[name] = {"dtype": word, "shape": list(array.shape), "data_offsets": ends}
        body += array.tobytes()
    for name, entry in changed.items():
        header[name] = header.get(name, {}) | entry
    listed = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(listed)) + listed + body)
    return path
