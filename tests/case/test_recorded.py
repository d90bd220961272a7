"""Files of recorded runs that cannot be used: one sentence for each mistake, with its place."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from deqcheck.case import CaseError, read_case
from tests.make_recorded_arrays import START, STEP, descent

CASE = """\
deqcheck: 1
data: {kind: values, X: [[1, 0], [0, 1]], y: [1, -0.5]}
model: {kind: relu-deq}
init: {kind: values, W: [[0.0625, 0.0625], [-0.0625, 0.0625]], U: [[32, 0], [0, 32]], a: [0, 0]}
train: {kind: recorded, path: run.npz}
"""
RUN = {**descent(4), "step": np.full(4, STEP)}
Change = Callable[[dict[str, np.ndarray]], object]


def nan(run: dict[str, np.ndarray]) -> None:
    run["a"][3, 1] = np.nan


@pytest.mark.parametrize(
    ("change", "sentences"),
    [
        (lambda run: run.pop("U"), ["no array 'U'"]),
        (lambda run: run.pop("step"), ["no array 'step'"]),
        (
            lambda run: run.update(V=np.ones(3)),
            ["unknown array 'V'; expected W, U, a, step, k"],
        ),
        (
            lambda run: run.update(W=run["W"][:-1]),
            ["W has shape (4, 2, 2); expected (5, 2, 2), a state in each row"],
        ),
        (
            lambda run: run.update(step=run["step"][:2]),
            ["step has shape (2,); expected (4,), a step between each two states, or one number"],
        ),
        (
            lambda run: run.update(U=run["U"].astype(np.float16), step=np.float16(0.1)),
            [
                "U has dtype float16; expected one of float32, float64",
                "step has dtype float16; expected one of float32, float64",
            ],
        ),
        (
            lambda run: run.update(a=run["a"].astype(complex)),
            ["a has dtype complex128; expected real numbers"],
        ),
        (
            lambda run: run.update({name: run[name][:1] for name in START}),
            ["W has fewer than 2 states; expected one in each row"],
        ),
        (nan, ["a holds inf or nan in state 3"]),
        (
            lambda run: run.update(a=run["a"] + 1),
            [
                "a does not begin at the initial parameters; expected the same, as by "
                "init: {kind: recorded, path: run.npz}"
            ],
        ),
        (
            lambda run: run.update(step=-run["step"]),
            ["step holds -1.489e-05; expected numbers > 0"],
        ),
        (
            lambda run: run.update(k=np.array([0, 1, 3, 3, 4])),
            ["k does not increase from 0; expected the number of each state"],
        ),
        (
            lambda run: run.update(k=np.arange(1, 6)),
            ["k does not increase from 0; expected the number of each state"],
        ),
        (
            lambda run: run.update(k=np.arange(5.0)),
            ["k is no row of 5 integers, the number of each state"],
        ),
    ],
)
def test_a_sentence_for_each_mistake(change: Change, sentences: list[str], tmp_path: Path) -> None:
    run = {name: array.copy() for name, array in RUN.items()}
    change(run)
    np.savez(tmp_path / "run.npz", **run)
    path = tmp_path / "case.yaml"
    path.write_text(CASE)
    with pytest.raises(CaseError) as caught:
        read_case(path).problem()
    assert str(caught.value).splitlines() == [
        f"{path}:5: train.path: run.npz: {sentence}" for sentence in sentences
    ]


def test_the_first_state_of_a_run_is_an_initialisation(tmp_path: Path) -> None:
    np.savez(tmp_path / "run.npz", **RUN)
    path = tmp_path / "case.yaml"
    lines = CASE.splitlines()
    lines[3] = "init: {kind: recorded, path: run.npz}"
    path.write_text("\n".join(lines))
    p = read_case(path).problem()
    assert all(np.array_equal(p.theta0[name], START[name]) for name in START)
    np.savez(tmp_path / "run.npz", **{**RUN, "W": np.array(1.0)})
    with pytest.raises(CaseError, match=r"case.yaml:4: init.path: run.npz: W has no states"):
        read_case(path).problem()


def test_sizes_are_read_before_anything_is_unpacked(tmp_path: Path) -> None:
    """A header may promise anything: 10^12 numbers, of which none is there."""
    np.savez(tmp_path / "run.npz", **{name: a for name, a in RUN.items() if name != "W"})
    header = {"descr": "<f8", "fortran_order": False, "shape": (10**12, 2, 2)}
    with zipfile.ZipFile(tmp_path / "run.npz", "a") as archive, archive.open("W.npy", "w") as file:
        np.lib.format.write_array_header_1_0(file, header)
    path = tmp_path / "case.yaml"
    path.write_text(CASE)
    with pytest.raises(CaseError, match=r"W is 1000000000000 x 2 x 2, too large; expected at most"):
        read_case(path).problem()
