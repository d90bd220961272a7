"""Images in IDX format: MNIST, Fashion-MNIST, Kuzushiji-MNIST."""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from deqcheck.data.images import Images, content
from deqcheck.fields import FilePath, Refusal, file

UNSIGNED_BYTE = 8


@dataclass(frozen=True, eq=False)
class IdxData(Images):
    """Two classes of images from a pair of IDX files, plain or gzipped."""

    kind: ClassVar[str] = "idx"
    images: FilePath = file(doc="an IDX file with three axes, such as train-images-idx3-ubyte.gz")
    labels: FilePath = file(doc="an IDX file with one axis, such as train-labels-idx1-ubyte.gz")

    def read(self) -> tuple[np.ndarray, np.ndarray]:
        pixels = _idx(self.images, "images", 3)
        labels = _idx(self.labels, "labels", 1)
        if len(pixels) != len(labels):
            sentence = f"{self.labels.name} has {len(labels)} labels for {len(pixels)} images"
            raise Refusal("labels", sentence)
        return pixels[:, None], labels


def _idx(path: FilePath, key: str, axes: int) -> np.ndarray:
    """Two zero bytes, the type, the number of axes, their sizes (big-endian), the numbers."""
    data = content(path, key)
    if len(data) < 4 or data[:2] != b"\0\0":
        raise Refusal(key, f"{path.name}: not an IDX file")
    if data[2] != UNSIGNED_BYTE or data[3] != axes:
        found = f"type {data[2]} and {data[3]} axes"
        raise Refusal(key, f"{path.name}: {found}; expected unsigned bytes and {axes} axes")
    start = 4 + 4 * axes
    if len(data) < start:
        raise Refusal(key, f"{path.name}: ends within its header")
    shape = struct.unpack(f">{axes}I", data[4:start])
    if math.prod(shape) != len(data) - start:
        size = " x ".join(map(str, shape))
        raise Refusal(key, f"{path.name}: {len(data) - start} bytes for {size} numbers")
    return np.frombuffer(data, dtype=np.uint8, offset=start).reshape(shape)
