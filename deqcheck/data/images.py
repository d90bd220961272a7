"""What all image data have in common: two classes, drawn, resized and flattened."""

from __future__ import annotations

import gzip
import zlib
from abc import abstractmethod
from collections.abc import Iterable
from typing import Any

import numpy as np

from deqcheck.capacity import too_large
from deqcheck.fields import FilePath, Refusal, array, choice, flag, integer
from deqcheck.frozen import dataclass
from deqcheck.given import Given
from deqcheck.kinds import Data
from deqcheck.seeds import rng

# Of one file, unpacked.
MOST_BYTES = 1 << 30
CODINGS = {"signs": (1.0, -1.0), "zero-one": (0.0, 1.0)}


@dataclass(frozen=True, eq=False)
class Images(Data):
    """Images of two classes: equally many of each, drawn without replacement, scaled to [0, 1]."""

    classes: np.ndarray = array(doc="the labels of the two classes", default=[0, 1])
    per_class: int = integer(at_least=1, doc="how many images of each class")
    side: int | None = integer(
        at_least=1, at_most=1024, default=None, doc="resize to side x side pixels"
    )
    unit_norm: bool = flag(default=True, doc="divide every image by its Euclidean norm")
    coding: str = choice(
        *CODINGS, default="signs", doc="targets of the two classes: 1 and -1, or 0 and 1"
    )

    @abstractmethod
    def read(self) -> tuple[np.ndarray, np.ndarray]:
        """Pixels (images x channels x height x width) and labels, as bytes. Raises Refusal."""

    def check(self) -> Iterable[tuple[str, str]]:
        whole = self.classes.shape == (2,) and (self.classes == np.round(self.classes)).all()
        if not whole or self.classes[0] == self.classes[1]:
            yield "classes", "expected two different labels, such as [0, 1]"

    def arrays(self, model: Any, seed: int) -> dict[str, Given]:
        pixels, labels = self.read()
        chosen = [self._drawn(labels, int(label), seed) for label in self.classes]
        inputs = self._inputs(pixels[np.concatenate(chosen)])
        targets = np.repeat(CODINGS[self.coding], self.per_class)[None, :]
        made = model.from_samples(inputs.T, targets)
        return {name: Given(found, "", name) for name, found in made.items()}

    def _drawn(self, labels: np.ndarray, label: int, seed: int) -> np.ndarray:
        """Positions of the drawn images of one class, from the stream `data.images.<label>`."""
        found = np.flatnonzero(labels == label)
        if len(found) < self.per_class:
            sentence = f"only {len(found)} images of class {label}; {self.per_class} are wanted"
            raise Refusal("per_class", sentence)
        stream = rng(seed, f"data.images.{label}")
        return np.sort(stream.choice(found, self.per_class, replace=False))

    def _inputs(self, pixels: np.ndarray) -> np.ndarray:
        """One flattened image for each row."""
        sides = (max(size, self.side or 1) for size in pixels.shape[2:])
        sentence = too_large("the images together", (*pixels.shape[:2], *sides))
        if sentence:
            raise Refusal("per_class", sentence)
        images = pixels / 255.0
        if self.side is not None:
            rows, columns = (averaging(size, self.side) for size in images.shape[2:])
            images = rows @ images @ columns.T
        flat: np.ndarray = images.reshape(len(images), -1)
        if not self.unit_norm:
            return flat
        norms = np.linalg.norm(flat, axis=1, keepdims=True)
        if not norms.all():
            raise Refusal("unit_norm", "a drawn image is black and has no direction")
        found: np.ndarray = flat / norms
        return found


def averaging(size: int, wanted: int) -> np.ndarray:
    """Rows that average `size` pixels over `wanted` equal intervals (box filter)."""
    edges = np.linspace(0, size, wanted + 1)
    pixels = np.arange(size)
    low = np.maximum(edges[:-1, None], pixels)
    high = np.minimum(edges[1:, None], pixels + 1)
    overlap: np.ndarray = np.maximum(high - low, 0.0)
    found: np.ndarray = overlap / overlap.sum(axis=1, keepdims=True)
    return found


def content(file: FilePath, key: str) -> bytes:
    """The bytes of a file, unpacked if it is gzipped. Raises Refusal."""
    with open(file, "rb") as stream:
        packed = stream.read(2) == b"\x1f\x8b"
    try:
        with gzip.open(file) if packed else open(file, "rb") as stream:
            data = stream.read(MOST_BYTES + 1)
    except (OSError, EOFError, zlib.error):
        raise Refusal(key, f"{file.name}: a damaged gzip file") from None
    if len(data) > MOST_BYTES:
        raise Refusal(key, f"{file.name}: more than {MOST_BYTES} bytes")
    return data
