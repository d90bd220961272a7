"""IDX and CIFAR readers, on files made here and on the real Fashion-MNIST where it is installed."""

from __future__ import annotations

import gzip
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from deqcheck.case import build_problem, embedded
from deqcheck.case.errors import CaseError
from deqcheck.case.read import read_case, read_text
from deqcheck.data.images import averaging

FASHION = Path("/usr/share/datasets/fashion-mnist")


def idx(pixels: np.ndarray) -> bytes:
    return struct.pack(f">BBBB{pixels.ndim}I", 0, 0, 8, pixels.ndim, *pixels.shape) + bytes(
        pixels.astype(np.uint8).tobytes()
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    r = np.random.default_rng(0)
    pixels = r.integers(1, 256, size=(12, 4, 6))
    labels = np.array([0, 1, 2] * 4)
    (tmp_path / "images").write_bytes(idx(pixels))
    (tmp_path / "images.gz").write_bytes(gzip.compress(idx(pixels)))
    (tmp_path / "labels").write_bytes(idx(labels))
    (tmp_path / "labels.gz").write_bytes(gzip.compress(idx(labels)))
    colours = r.integers(0, 256, size=(6, 3072))
    ten = np.hstack([np.array([[3], [5]] * 3), colours]).astype(np.uint8)
    (tmp_path / "batch.bin").write_bytes(ten.tobytes())
    hundred = np.hstack([np.array([[1, 3], [2, 5]] * 3), colours]).astype(np.uint8)
    (tmp_path / "hundred.bin.gz").write_bytes(gzip.compress(hundred.tobytes()))
    return tmp_path


def case(folder: Path, data: str, *overrides: str) -> Any:
    text = f"""
deqcheck: 1
data: {data}
model: {{kind: implicit-relu, gamma: 0.1, width: 3}}
init: {{kind: each, W: gaussian, A: identity, b: zero}}
"""
    return build_problem(read_text(text, "case", folder, overrides)).model


IDX = "{kind: idx, images: images, labels: labels, per_class: 2}"
CIFAR = "{kind: cifar, path: batch.bin, classes: [3, 5], per_class: 2}"


def test_idx_plain_and_gzipped_give_the_same_samples(folder: Path) -> None:
    plain = case(folder, IDX)
    packed = case(folder, IDX.replace("images,", "images.gz,").replace("labels,", "labels.gz,"))
    assert plain.X.shape == (4, 24) and np.array_equal(plain.X, packed.X)
    assert plain.y.tolist() == [1, 1, -1, -1]
    assert np.allclose(np.linalg.norm(plain.X, axis=1), 1)


def test_pixels_come_from_their_class_in_the_file(folder: Path) -> None:
    model = case(folder, IDX, "data.unit_norm=false", "data.classes=[2, 0]", "data.per_class=4")
    pixels = np.random.default_rng(0).integers(1, 256, size=(12, 4, 6)) / 255
    labels = np.array([0, 1, 2] * 4)
    assert np.allclose(model.X[:4], pixels[labels == 2].reshape(4, -1))
    assert np.allclose(model.X[4:], pixels[labels == 0].reshape(4, -1))
    assert case(folder, IDX, "data.coding=zero-one").y.tolist() == [0, 0, 1, 1]


def test_draws_follow_the_seed(folder: Path) -> None:
    one, same = (case(folder, IDX, "seed=1").X for _ in range(2))
    others = [case(folder, IDX, f"seed={seed}").X for seed in range(2, 8)]
    assert np.array_equal(one, same)
    assert any(not np.array_equal(one, other) for other in others)


def test_resizing_averages_boxes(folder: Path) -> None:
    whole = case(folder, IDX, "data.unit_norm=false", "data.per_class=4")
    small = case(folder, IDX, "data.unit_norm=false", "data.per_class=4", "data.side=2")
    boxes = whole.X.reshape(8, 2, 2, 2, 3).mean(axis=(2, 4)).reshape(8, 4)
    assert np.allclose(small.X, boxes)
    for size, wanted in ((5, 3), (3, 5), (4, 4)):
        weights = averaging(size, wanted)
        assert np.allclose(weights.sum(axis=1), 1)
        assert np.allclose(weights.sum(axis=0), wanted / size)


def test_cifar_records(folder: Path) -> None:
    model = case(folder, CIFAR, "data.unit_norm=false", "data.per_class=3")
    r = np.random.default_rng(0)
    r.integers(1, 256, size=(12, 4, 6))
    colours = r.integers(0, 256, size=(6, 3072)) / 255
    assert np.allclose(model.X[:3], colours[::2])
    gray = case(folder, CIFAR, "data.unit_norm=false", "data.per_class=3", "data.grayscale=true")
    red, green, blue = colours[::2].reshape(3, 3, 1024).transpose(1, 0, 2)
    assert np.allclose(gray.X[:3], 0.299 * red + 0.587 * green + 0.114 * blue)
    for labels, classes in (("fine", "[3, 5]"), ("coarse", "[1, 2]")):
        hundred = case(
            folder, CIFAR, "data.path=hundred.bin.gz", f"data.labels=cifar100-{labels}",
            f"data.classes={classes}", "data.unit_norm=false", "data.per_class=3",
        )  # fmt: skip
        assert np.allclose(hundred.X, model.X)


@pytest.mark.parametrize(
    ("data", "override", "sentence"),
    [
        (IDX, "data.per_class=5", "only 4 images of class 0; 5 are wanted"),
        (IDX, "data.classes=[0, 9]", "only 0 images of class 9; 2 are wanted"),
        (IDX, "data.classes=[1, 1]", "expected two different labels, such as [0, 1]"),
        (IDX, "data.classes=[0, 1.5]", "expected two different labels, such as [0, 1]"),
        (IDX, "data.images=labels", "type 8 and 1 axes; expected unsigned bytes and 3 axes"),
        (IDX, "data.labels=short", "short has 3 labels for 12 images"),
        (IDX, "data.images=cut", "cut: 5 bytes for 2 x 4 x 6 numbers"),
        (IDX, "data.images=header", "header: ends within its header"),
        (IDX, "data.images=batch.bin", "batch.bin: not an IDX file"),
        (IDX, "data.images=broken.gz", "broken.gz: a damaged gzip file"),
        (IDX, "data.images=black", "a drawn image is black and has no direction"),
        (CIFAR, "data.path=images", "304 bytes are no whole records of 3073"),
        (CIFAR, "data.labels=cifar100-fine", "no whole records of 3074"),
    ],
)
def test_bad_files_get_their_sentence(
    folder: Path, data: str, override: str, sentence: str
) -> None:
    (folder / "short").write_bytes(idx(np.array([0, 1, 0])))
    (folder / "cut").write_bytes(idx(np.zeros((2, 4, 6)))[:21])
    (folder / "header").write_bytes(b"\0\0\x08\x03\0\0")
    (folder / "broken.gz").write_bytes(gzip.compress(idx(np.zeros((2, 4, 6))))[:20])
    (folder / "black").write_bytes(idx(np.zeros((12, 2, 2))))
    with pytest.raises(CaseError) as error:
        case(folder, data, override)
    assert sentence in str(error.value)


@pytest.mark.skipif(not FASHION.exists(), reason="Fashion-MNIST is not installed")
def test_the_real_fashion_mnist() -> None:
    data = (
        f"{{kind: idx, images: {FASHION}/t10k-images-idx3-ubyte.gz, "
        f"labels: {FASHION}/t10k-labels-idx1-ubyte.gz, per_class: 1000, side: 7}}"
    )
    model = case(Path(), data)
    assert model.X.shape == (2000, 49) and (model.X >= 0).all()
    # Trousers (1) are narrow: their middle column weighs more than in T-shirts (0).
    middle = model.X.reshape(2000, 7, 7)[:, :, 3].sum(axis=1)
    assert middle[1000:].mean() > middle[:1000].mean()


@pytest.mark.parametrize("name", [n for n in embedded.names() if n.endswith("-fashion")])
def test_a_slow_case_is_valid_where_its_images_are(name: str, tmp_path: Path) -> None:
    """Files in the place of those that do not come along."""
    pixels = np.random.default_rng(0).integers(1, 256, size=(1000, 2, 2))
    (tmp_path / "images").write_bytes(idx(pixels))
    (tmp_path / "labels").write_bytes(idx(np.arange(1000) % 2))
    settings = [f"data.{key}={tmp_path / key}" for key in ("images", "labels")]
    found = build_problem(read_case(embedded.folder() / f"{name}.yaml", settings))
    assert found.model.X.shape == (1000, 4)
