"""What a monotone-deq case may get wrong, one sentence each."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from deqcheck.case import CaseError, build_problem, read_text

CASE = """
deqcheck: 1
data: {kind: values, X: [[1, 0], [0, 1]], y: [1, 1]}
model: {kind: monotone-deq, m: 0.5}
init:
  kind: values
  A: [[1, 0], [0, 1]]
  B: [[0, 1], [0, 0]]
  U: [[1, 0], [0, 1]]
  u: [1, 0]
train: {kind: gd, step: 0.1, steps: 3}
"""


def complaint(*settings: str, folder: Path = Path()) -> str:
    with pytest.raises(CaseError) as raised:
        build_problem(read_text(CASE, "case.yaml", folder, settings))
    return str(raised.value)


def test_the_case_itself_is_fine() -> None:
    problem = build_problem(read_text(CASE, "case.yaml", Path()))
    assert problem.model.kind == "monotone-deq"
    assert problem.start.n == 2


@pytest.mark.parametrize(
    ("setting", "sentence"),
    [
        ("model.m=0", "model.m: 0 is out of range; expected a number > 0"),
        ("model.m=-1", "model.m: -1 is out of range; expected a number > 0"),
        ("model.m=.inf", "model.m: inf is not finite; expected a number > 0"),
        ("model.width=0", "model.width: 0 is out of range; expected an integer >= 1"),
        ("model.solver=picard", "model.solver: expected one of peaceman-rachford, forward-"),
        ("train.step=0", "train.step: 0 is out of range; expected a number > 0"),
        ("init.A=[[1, 0, 0]]", "A has shape (1, 3); expected (n, n)"),
        ("init.B=[[1]]", "B has shape (1, 1); expected (n, n) = (2, 2) because A is 2 x 2"),
        ("init.U=[[1, 0]]", "U has shape (1, 2); expected (n, d) = (2, 2) because A is 2 x 2"),
        ("init.u=[1, 2, 3]", "u has shape (3,); expected (n,) = (2,) because A is 2 x 2"),
        ("data.y=[1]", "y has shape (1,); expected (N,) = (2,) because X is 2 x 2"),
        ("data.X=[[1, 0]]", "U has shape (2, 2); expected (n, d) = (2, 1) because X is 1 x 2"),
        ("init.u=[1, .nan]", "init.u: holds inf or nan; expected finite numbers"),
        ("model.width=3", "A has shape (2, 2); expected (n, n) = (3, 3) because the model has n"),
        ("init=gaussian", "init: cannot draw A: nothing decides the size n"),
        ("loss=square", "'monotone-deq' has no theory for the loss 'square'; expected half-square"),
        (
            "data={kind: gaussian, n: 2, dim: 2, target: {kind: gaussian, outputs: 2}}",
            "data.target: 2 outputs; 'monotone-deq' has exactly one",
        ),
    ],
)
def test_bad_input_is_named(setting: str, sentence: str) -> None:
    assert sentence in complaint(setting)


def test_no_sample_and_no_unit(tmp_path: Path) -> None:
    np.savez(tmp_path / "data.npz", X=np.zeros((2, 0)), y=np.zeros(0))
    said = complaint("data={kind: npz, path: data.npz}", folder=tmp_path)
    assert "X has shape (2, 0); expected (d, N) without empty axes" in said
    empty = {"A": np.zeros((0, 0)), "B": np.zeros((0, 0)), "U": np.zeros((0, 2)), "u": np.zeros(0)}
    np.savez(tmp_path / "init.npz", **empty)
    said = complaint("init={kind: npz, path: init.npz}", folder=tmp_path)
    assert "A has shape (0, 0); expected (n, n) without empty axes" in said


def test_a_forward_backward_step_must_contract() -> None:
    # I - W = [[1.5, -1], [1, 1.5]] has norm^2 1.5^2 + 1, so the interval ends at 1/3.25.
    settings = ("model.solver=forward-backward", "model.alpha=0.31")
    said = complaint(*settings)
    assert "model.alpha: 0.31 is no step for forward-backward splitting" in said
    assert "0.307692 at the initial parameters" in said
    settings = ("model.solver=forward-backward", "model.alpha=0.3")
    assert build_problem(read_text(CASE, "case.yaml", Path(), settings)).start.Z.shape == (2, 2)
