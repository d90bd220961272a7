"""Images of the sets that the papers use: the user's own files, or a drawn stand-in."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from deqcheck.data.cifar import CifarData
from deqcheck.data.idx import IdxData
from deqcheck.data.images import averaging
from deqcheck.fields import FilePath, Refusal
from deqcheck.judging.errors import UsageError
from deqcheck.seeds import rng

IDX = {
    "train": ("train-images-idx3-ubyte", "train-labels-idx1-ubyte"),
    "test": ("t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"),
}
CIFAR = {"train": "data_batch_1.bin", "test": "test_batch.bin"}
STAND_IN = "synthetic stand-in for "
CIFAR100 = {"train": "train.bin", "test": "test.bin"}


class Set(NamedTuple):
    """How its images look, and in which files it comes."""

    title: str
    channels: int
    side: int
    form: str
    fetch: str


SETS = {
    "mnist": Set("MNIST", 1, 28, "idx", "the four files of MNIST"),
    "fashion-mnist": Set("Fashion-MNIST", 1, 28, "idx", "the four files of Fashion-MNIST"),
    "kmnist": Set("Kuzushiji-MNIST", 1, 28, "idx", "the four files of Kuzushiji-MNIST"),
    "cifar10": Set("CIFAR-10", 3, 32, "cifar10", "the binary version of CIFAR-10"),
    "cifar100": Set("CIFAR-100", 3, 32, "cifar100-fine", "the binary version of CIFAR-100"),
    "svhn": Set("SVHN", 3, 32, "", ""),
    "semeion": Set("SEMEION", 1, 16, "", ""),
    "imagenet": Set("ImageNet", 3, 32, "", ""),
}


class Images(NamedTuple):
    """Pixels in [0, 1] (images x channels x side x side), and labels."""

    pixels: np.ndarray
    labels: np.ndarray
    real: bool


@dataclass(frozen=True)
class Shelf:
    """The folder with a folder for each set; without one, everything is drawn."""

    folder: Path | None = None

    def title(self, name: str) -> str:
        known = SETS[name]
        return known.title if self._there(name) else STAND_IN + known.title

    def missing(self, name: str) -> str:
        """What to fetch, and where to put it; empty where the set is there."""
        known = SETS[name]
        if self._there(name):
            return ""
        if not known.form:
            return f"{known.title} cannot be read here: a synthetic stand-in of its shape is used"
        files = ", ".join(_names(known.form))
        where = "DIR" if self.folder is None else str(self.folder)
        option = " and give --images DIR" if self.folder is None else ""
        return (
            f"{known.title} is not here: a synthetic stand-in of its shape is used; fetch "
            f"{known.fetch} ({files}; plain or gzipped), put them into {where}/{name}{option}"
        )

    def take(
        self, name: str, split: str, count: int, seed: int, classes: tuple[int, ...] = ()
    ) -> Images:
        """So many images of a set, equally many of each class where classes are named."""
        if not self._there(name):
            return stand_in(SETS[name], split, count, seed, classes or tuple(range(10)))
        pixels, labels = self._read(name, split)
        stream = rng(seed, f"figure.{name}.{split}")
        groups = [np.flatnonzero(labels == c) for c in classes] or [np.arange(len(labels))]
        each = -(-count // len(groups))
        if min(map(len, groups)) < each:
            raise UsageError(f"{name} has fewer than {each} images for each class in {split}")
        drawn = [np.sort(stream.choice(group, each, replace=False)) for group in groups]
        at = np.concatenate(drawn)[:count]
        return Images(pixels[at] / 255.0, labels[at].astype(int), True)

    def _there(self, name: str) -> bool:
        return all(any(_found(path)) for path in self._paths(name))

    def _paths(self, name: str) -> list[Path]:
        form = SETS[name].form
        if self.folder is None or not form:
            return [Path("/nonexistent")]
        return [self.folder / name / file for file in _names(form)]

    def _read(self, name: str, split: str) -> tuple[np.ndarray, np.ndarray]:
        form = SETS[name].form
        assert self.folder is not None
        here = self.folder / name
        try:
            if form == "idx":
                images, labels = (_file(here / f) for f in IDX[split])
                return IdxData(per_class=1, images=images, labels=labels).read()
            file = (CIFAR if form == "cifar10" else CIFAR100)[split]
            return CifarData(per_class=1, path=_file(here / file), labels=form).read()
        except Refusal as error:
            told = "; ".join(sentence for _, sentence in error.problems)
            raise UsageError(f"{here}: {told}") from None


def _names(form: str) -> list[str]:
    if form == "idx":
        return [file for pair in IDX.values() for file in pair]
    return list((CIFAR if form == "cifar10" else CIFAR100).values())


def _file(path: Path) -> FilePath:
    """Plain or gzipped."""
    found = next(_found(path))
    return FilePath(found, str(found), "")


def _found(path: Path) -> Iterator[Path]:
    return (each for each in (path, path.with_name(path.name + ".gz")) if each.is_file())


def stand_in(known: Set, split: str, count: int, seed: int, classes: tuple[int, ...]) -> Images:
    """Smooth random images: a pattern for each class, and as much that is the image's own; an
    image has black parts, as a digit or a garment has."""
    shape = (known.channels, known.side, known.side)
    patterns = {c: _smooth(rng(seed, f"figure.{known.title}.{c}"), 1, shape)[0] for c in classes}
    labels = np.resize(np.repeat(classes, -(-count // len(classes))), count)
    own = _smooth(rng(seed, f"figure.{known.title}.{split}"), count, shape)
    fields = np.stack([patterns[int(c)] for c in labels]) + own
    return Images(np.clip(0.25 + 0.35 * fields, 0.0, 1.0), labels.astype(int), False)


def _smooth(stream: np.random.Generator, count: int, shape: tuple[int, ...]) -> np.ndarray:
    """Standard normal values on a coarse grid, between them interpolated."""
    coarse = max(shape[-1] // 4, 2)
    spread = averaging(coarse, shape[-1])
    drawn = stream.standard_normal((count, shape[0], coarse, coarse))
    found: np.ndarray = spread @ drawn @ spread.T
    return found


def rows(images: Images, side: int | None = None, gray: bool = False) -> np.ndarray:
    """One flattened image in each row, resized and in one channel where that is asked for."""
    pixels = images.pixels.mean(axis=1, keepdims=True) if gray else images.pixels
    if side is not None and side != pixels.shape[-1]:
        resize = averaging(pixels.shape[-1], side)
        pixels = resize @ pixels @ resize.T
    return pixels.reshape(len(pixels), -1)
