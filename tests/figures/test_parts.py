"""Solvers, gradients and means that figures are made of, each against plain mathematics."""

from __future__ import annotations

import gzip
import struct
from pathlib import Path

import numpy as np
import pytest

from deqcheck.dynamics.recorder import silent
from deqcheck.figures.anderson import anderson
from deqcheck.figures.baselines import Dense, descended
from deqcheck.figures.hieu2022 import network
from deqcheck.figures.images import SETS, Shelf, rows
from deqcheck.figures.ling2022.published import descent
from deqcheck.figures.runs import mean
from deqcheck.judging.errors import UsageError

R = np.random.default_rng(5)


def test_anderson_solves_a_linear_equation() -> None:
    M, c = R.normal(size=(6, 6)) / 6, R.normal(size=6)
    found = anderson(lambda z: M @ z + c, np.zeros(6), 1e-12, 200, keep=True)
    assert found.z == pytest.approx(np.linalg.solve(np.eye(6) - M, c), rel=1e-9)
    assert found.residuals[0] == 1.0 and found.residuals[-1] <= 1e-12
    assert len(found.visited) == len(found.residuals)


@pytest.mark.parametrize("repeats", [None, 3])
def test_the_gradient_of_the_layer(repeats: int | None) -> None:
    shape = network.Shape(1, 2, 1, 3, repeats, 1e-13, 200)
    theta = network.started(shape, 0, 0.1)
    stream = np.random.default_rng(3)
    images, labels = stream.normal(size=(3, 1, 4, 4)), np.arange(3)
    value, gradient = network.gradient(shape, theta, images, labels)
    assert value == pytest.approx(network.loss(shape, theta, images, labels), rel=1e-8)
    for name in theta:
        way, h = stream.normal(size=theta[name].shape), 1e-6
        ends = [
            network.loss(shape, {**theta, name: theta[name] + e * way}, images, labels)
            for e in (-h, h)
        ]
        slope = float(np.vdot(gradient[name], way))
        assert (ends[1] - ends[0]) / (2 * h) == pytest.approx(slope, rel=1e-4, abs=1e-6)


@pytest.mark.parametrize("bias", [True, False])
def test_the_gradient_of_a_dense_network(bias: bool) -> None:
    net = Dense(3, bias)
    theta = net.started([4, 5, 5, 2], 0)
    X, Y = R.normal(size=(4, 7)), R.normal(size=(2, 7))
    gradient = net.gradient(theta, X, Y)
    for name in theta:
        way, h = R.normal(size=theta[name].shape), 1e-6

        def loss(e: float, name: str = name, way: np.ndarray = way) -> float:
            moved = {**theta, name: theta[name] + e * way}
            return float(((net.predict(moved, X) - Y) ** 2).sum() / 7)

        slope = (loss(h) - loss(-h)) / (2 * h)
        assert slope == pytest.approx(float(np.vdot(gradient[name], way)), rel=1e-5, abs=1e-8)


def test_descent_without_batches_and_momentum_is_descent() -> None:
    A = np.diag([1.0, 3.0])
    done = descended(
        {"x": np.ones(2)},
        lambda theta, _: {"x": A @ theta["x"]},
        lambda theta: (float(theta["x"] @ A @ theta["x"]) / 2, 0.0),
        4,
        4,
        0.1,
        0.0,
        3,
        [0, 1, 2, 3],
        0,
    )
    states = [np.array([0.9, 0.7]) ** k for k in range(4)]
    assert done.losses[0] == pytest.approx([x @ A @ x / 2 for x in states])


def test_the_authors_descent_is_one_on_their_parameters() -> None:
    """W, U, b and a as in the code: z = relu(W z + U x + b)/sqrt(m), the sum of squares."""
    X, y, m, rate = np.eye(3), R.random(3), 4, 1e-3
    made = descent(X, y, m, rate, 1, 1e-12, 0, silent)
    from deqcheck.seeds import rng

    W = 0.4 * rng(0, "init.W").standard_normal((m, m))
    U = rng(0, "init.U").standard_normal((m, 4))
    U[:, -1] = 0
    a = rng(0, "init.a").standard_normal(m)
    inputs = np.vstack([X, np.ones(3)])

    def loss(W: np.ndarray, U: np.ndarray, a: np.ndarray) -> float:
        Z = np.zeros((m, 3))
        for _ in range(200):
            Z = np.maximum(W @ Z + U @ inputs, 0) / np.sqrt(m)
        return float(((a @ Z - y) ** 2).sum())

    assert made["loss"][0] == pytest.approx(loss(W, U, a), rel=1e-9)
    h, theta = 1e-6, [W, U, a]
    moved = []
    for i, array in enumerate(theta):
        slope = np.zeros_like(array)
        for at in np.ndindex(array.shape):
            ends = []
            for e in (-h, h):
                other = [each.copy() for each in theta]
                other[i][at] += e
                ends.append(loss(*other))
            slope[at] = (ends[1] - ends[0]) / (2 * h)
        moved.append(array - rate * slope)
    assert made["loss"][1] == pytest.approx(loss(*moved), rel=1e-6)


def test_means_of_draws_know_how_little_few_draws_say() -> None:
    values = np.array([1.0, 2.0, 4.0])
    found = mean(values)
    # Student's 1 - 0.00135 quantile with two degrees of freedom.
    assert found.value == pytest.approx(7 / 3)
    assert found.error == pytest.approx(19.206 * values.std(ddof=1) / 3**0.5, rel=1e-3)
    assert mean([1.0]).error == np.inf
    assert mean([1.0, np.inf]).error == np.inf


def _idx(path: Path, array: np.ndarray) -> None:
    head = struct.pack(f">HBB{array.ndim}I", 0, 8, array.ndim, *array.shape)
    with gzip.open(path, "wb") as file:
        file.write(head + array.astype(np.uint8).tobytes())


def test_the_users_own_images_are_taken(tmp_path: Path) -> None:
    (tmp_path / "mnist").mkdir()
    pixels, labels = R.integers(0, 256, (8, 28, 28)), np.array([0, 1, 2, 0, 1, 2, 0, 1])
    for split in ("train", "t10k"):
        _idx(tmp_path / "mnist" / f"{split}-images-idx3-ubyte.gz", pixels)
        _idx(tmp_path / "mnist" / f"{split}-labels-idx1-ubyte.gz", labels)
    shelf = Shelf(tmp_path)
    assert shelf.title("mnist") == "MNIST" and shelf.missing("mnist") == ""
    assert shelf.missing("cifar10").startswith("CIFAR-10 is not here")
    found = shelf.take("mnist", "train", 4, 0, (0, 1))
    assert found.labels.tolist() == [0, 0, 1, 1] and found.real
    every = {(p / 255).tobytes() for p in pixels}
    assert all(image.tobytes() in every for image in found.pixels[:, 0])
    with pytest.raises(UsageError, match="fewer than 4"):
        shelf.take("mnist", "train", 8, 0, (0, 1))
    (tmp_path / "mnist" / "train-images-idx3-ubyte").write_text("broken")
    with pytest.raises(UsageError, match=r"mnist: train-images-idx3-ubyte: not an IDX file$"):
        shelf.take("mnist", "train", 4, 0, (0, 1))


def test_a_stand_in_has_the_shape_of_the_set_and_is_labelled() -> None:
    for name, known in SETS.items():
        found = Shelf().take(name, "train", 7, 0)
        assert found.pixels.shape == (7, known.channels, known.side, known.side)
        assert not found.real and found.pixels.min() >= 0 and found.pixels.max() <= 1
        assert Shelf().title(name) == f"synthetic stand-in for {known.title}"
    train, test = (Shelf().take("mnist", split, 4, 0) for split in ("train", "test"))
    assert not np.array_equal(train.pixels, test.pixels)
    assert rows(train, 7).shape == (4, 49)
