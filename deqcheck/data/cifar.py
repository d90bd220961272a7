"""Images in the binary version of CIFAR-10 and CIFAR-100."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from deqcheck.data.images import Images, content
from deqcheck.fields import FilePath, Refusal, choice, file, flag
from deqcheck.frozen import dataclass

CHANNELS, SIDE = 3, 32
PIXELS = CHANNELS * SIDE * SIDE
# Bytes before the pixels of a record, and which of them is the label.
LABELS = {"cifar10": (1, 0), "cifar100-coarse": (2, 0), "cifar100-fine": (2, 1)}
# Red, green and blue in the luma of ITU-R BT.601.
LUMA = (0.299, 0.587, 0.114)


@dataclass(frozen=True, eq=False)
class CifarData(Images):
    """Two classes of images from a binary CIFAR batch (not the pickled one)."""

    kind: ClassVar[str] = "cifar"
    path: FilePath = file(doc="a batch such as data_batch_1.bin, plain or gzipped")
    labels: str = choice(*LABELS, default="cifar10", doc="which labels the records carry")
    grayscale: bool = flag(default=False, doc="one channel, the luma, in place of three")

    def read(self) -> tuple[np.ndarray, np.ndarray]:
        data = content(self.path, "path")
        before, which = LABELS[self.labels]
        record = before + PIXELS
        if not data or len(data) % record:
            sentence = f"{self.path.name}: {len(data)} bytes are no whole records of {record}"
            raise Refusal("path", f"{sentence}; expected a binary {self.labels} batch")
        records = np.frombuffer(data, dtype=np.uint8).reshape(-1, record)
        pixels = records[:, before:].reshape(-1, CHANNELS, SIDE, SIDE)
        return self._gray(pixels) if self.grayscale else pixels, records[:, which]

    def _gray(self, pixels: np.ndarray) -> np.ndarray:
        gray: np.ndarray = np.einsum("c,ncij->nij", np.array(LUMA), pixels)[:, None]
        return gray
