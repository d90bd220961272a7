"""From a case to its problem: arrays, shapes, and every way they can be wrong."""

from __future__ import annotations

import zipfile
from dataclasses import dataclass

import numpy as np
import pytest

from deqcheck.capacity import most_entries
from deqcheck.case import build, build_problem
from deqcheck.kinds import Model
from deqcheck.losses.logistic import Logistic

from .conftest import CASE

VALUES = """
deqcheck: 1
data:
  kind: values
  Phi: [[1, 2]]
  Y: [[1, 1]]
model: {kind: delm, gamma: 0.5}
init:
  kind: values
  A: [[0]]
  B: [[1]]
"""


def npz(folder, **arrays):
    np.savez(folder / "arrays.npz", **arrays)
    return "data={kind: npz, path: arrays.npz}"


def test_drawn(read):
    problem = build_problem(read("seed=3", "record.points=7"))
    assert {name: a.shape for name, a in problem.theta0.items()} == {"A": (3, 3), "B": (3, 3)}
    assert (problem.seed, problem.record_points, problem.train) == (3, 7, None)


def test_target_decides_the_outputs(read):
    assert build_problem(read("data.target=gaussian")).theta0["B"].shape == (1, 3)


def test_values(read):
    problem = build_problem(read("init.scale=2", text=VALUES))
    assert problem.theta0["B"] == [[2.0]] and problem.theta0["B"].dtype == np.float64


def test_npz_converts(read, tmp_path):
    setting = npz(tmp_path, Phi=np.eye(2, dtype=np.int8), Y=np.asfortranarray(np.ones((3, 2), "f")))
    np.savez(tmp_path / "start.npz", A=np.eye(2), B=np.ones((3, 2), ">f8"))
    problem = build_problem(read(setting, "init={kind: npz, path: start.npz, scale: -1}"))
    assert problem.theta0["B"].tolist() == [[-1, -1]] * 3
    assert all(a.flags.c_contiguous and a.dtype == "=f8" for a in problem.theta0.values())


def test_each(read, tmp_path):
    np.savez(tmp_path / "start.npz", A=np.ones((3, 3)), B=np.ones((3, 3)))
    parts = "{kind: each, A: {kind: npz, path: start.npz}, B: {kind: identity, scale: 2}}"
    theta = build_problem(read(f"init={parts}")).theta0
    assert (theta["A"] == 1).all() and (theta["B"] == 2 * np.eye(3)).all()


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        (
            "init={kind: each, A: zero, C: zero, b: zero}",
            "init.B: missing; expected an initialisation for this parameter|"
            "init.C: the model has no parameter 'C'; expected one of A, B|"
            "init.b: the model has no parameter 'b' (did you mean 'B'?)",
        ),
        (
            "init={kind: each, A: {kind: values, A: [[1]]}, B: zero}",
            "init.A.A: A has shape (1, 1); expected (m, m) = (3, 3) because Phi is 3 x 5",
        ),
        (
            "init={kind: gaussian, scale: 1e308}",
            "init: B is not finite in 1 of 9 entries, the first at (1, 2)",
        ),
    ],
)
def test_init_faults(messages, setting, message):
    assert messages(setting) == [f"--set: {line}" for line in message.split("|")]


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("data.Y=[[1, 1, 1]]",
         "data.Y: Y has shape (1, 3); expected (my, n) = (my, 2) because Phi is 1 x 2"),
        ("data.Y=[1, 1]", "data.Y: Y has shape (2,); expected (my, n)"),
        ("data.Phi=[]", "data.Phi: Phi has shape (0,); expected (m, n)"),
        ("data.Phi=[[]]", "data.Phi: Phi has shape (1, 0); expected (m, n) without empty axes"),
        ("data.y=[[1, 1]]", "data.y: unknown array 'y' (did you mean 'Y'?)"),
        ("init.A=[[1, 2]]",
         "init.A: A has shape (1, 2); expected (m, m) = (1, 1) because Phi is 1 x 2"),
        ("init={kind: values, A: [[1]]}", "init.B: missing; expected its numbers"),
    ],
)  # fmt: skip
def test_shapes(messages, setting, message):
    assert messages(setting, text=VALUES) == [f"--set: {message}"]


def test_every_shape_with_its_line(messages):
    text = VALUES.replace("A: [[0]]", "A: [[0, 0], [0, 0]]").replace("B: [[1]]", "B: [[1], [1]]")
    assert messages(text=text) == [
        "case.yaml:10: init.A: A has shape (2, 2); expected (m, m) = (1, 1) because Phi is 1 x 2",
        "case.yaml:11: init.B: B has shape (2, 1); expected (my, m) = (1, 1) because Y is 1 x 2",
    ]


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"Phi": np.eye(2)}, "no array 'Y'"),
        ({"Phi": np.eye(2), "Y": np.eye(2), "Phii": 1},
         "unknown array 'Phii' (did you mean 'Phi'?)"),
        ({"Phi": np.eye(2), "Y": np.eye(2), "x": 1}, "unknown array 'x'; expected Phi, Y, yhat"),
        ({"Phi": np.eye(2), "Y": 1j * np.eye(2)}, "Y has dtype complex128; expected real numbers"),
        ({"Phi": np.eye(2), "Y": np.eye(2) > 0}, "Y has dtype bool; expected real numbers"),
        ({"Phi": np.array([{}]), "Y": 1}, "Phi holds Python objects; expected real numbers"),
        ({"Phi": np.eye(10), "Y": np.ones((2, 7))},
         "Y has shape (2, 7); expected (my, n) = (my, 10) because Phi is 10 x 10"),
        ({"Phi": np.eye(2), "Y": [[0, np.nan]]},
         "Y is not finite in 1 of 2 entries, the first at (0, 1)"),
    ],
)  # fmt: skip
def test_npz_faults(messages, tmp_path, arrays, message):
    assert messages(npz(tmp_path, **arrays)) == [f"--set: data.path: arrays.npz: {message}"]


def test_npz_names_all_faults(messages, tmp_path):
    assert messages(npz(tmp_path, Phi=np.eye(2), y=1)) == [
        "--set: data.path: arrays.npz: no array 'Y'",
        "--set: data.path: arrays.npz: unknown array 'y' (did you mean 'Y'?)",
    ]


def test_damaged_archives(messages, tmp_path):
    setting = npz(tmp_path, Phi=np.eye(50), Y=np.eye(50))
    path = tmp_path / "arrays.npz"
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    damaged = "--set: data.path: arrays.npz: not an .npz file, or a damaged one"
    assert messages(setting) == [damaged]
    path.write_bytes(b"")
    assert messages(setting) == [damaged]
    np.save(path.with_suffix(""), np.eye(2))
    path.write_bytes(path.with_suffix(".npy").read_bytes())
    assert messages(setting) == [damaged]
    path.write_bytes(whole[:300] + b"?" + whole[301:])
    assert messages(setting) == ["--set: data.path: arrays.npz: cannot be read (BadZipFile)"]
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("notes.txt", "no array")
    assert messages(setting) == ["--set: data.path: arrays.npz: notes.txt is not an array"]


def test_too_large(messages):
    assert messages(text=CASE.replace("dim: 3", "dim: 20000")) == [
        f"case.yaml:6: init: {name} is 20000 x 20000, too large; "
        f"expected at most {most_entries()} numbers"
        for name in ("A", "B")
    ]


def test_what_the_model_refuses(messages):
    [message] = messages("data={kind: values, Phi: [[0]], Y: [[0]]}")
    assert message.startswith("--set: data: every feature is zero")


def test_loss_without_theory(messages, read, monkeypatch):
    monkeypatch.setattr(type(read().stated.model), "loss", Logistic)
    assert messages(text=CASE + "loss: square\n") == [
        "case.yaml:7: loss: 'delm' has no theory for the loss 'square'; expected logistic"
    ]


@dataclass(init=False)
class Wide(Model):
    """A stand-in for models with a width of their own and opinions on the target."""

    data_arrays = {"X": ("d", "n"), "y": ("n",)}
    parameters = {"W": ("m", "m"), "a": ("m",)}

    def __init__(self, **sizes):
        self._sizes = sizes

    def sizes(self):
        return self._sizes

    def from_samples(self, inputs, targets):
        if len(targets) != 1:
            raise ValueError(f"the model has one output, the target has {len(targets)}")
        return {"X": inputs, "y": targets[0]}

    def build(self, arrays, loss):
        if arrays["X"].shape == (1, 1):
            raise ValueError("one number is not enough")
        return Unchecked()


class Unchecked:
    def check(self, theta):
        return ()


@pytest.mark.parametrize(
    ("settings", "sizes", "message"),
    [
        ((), {}, "case.yaml:4: data.target: the model has one output, the target has 3"),
        (("data.target=gaussian",), {},
         "case.yaml:6: init: cannot draw W: nothing decides the size m"),
        (("data.target=gaussian",), {"m": 2, "d": 4},
         "case.yaml:5: model: the model has d = 4, but X is 3 x 5, so d = 3"),
        (("data.target=gaussian", "data.n=1", "data.dim=1"), {"m": 1},
         "case.yaml:5: model: one number is not enough"),
        (("data.target=gaussian", "init={kind: each, W: zero, a: {kind: values, a: [1, 2]}}"),
         {"m": 3},
         "--set: init.a.a: a has shape (2,); expected (m,) = (3,) because the model has m = 3"),
    ],
)  # fmt: skip
def test_contract_of_a_model(messages, monkeypatch, settings, sizes, message):
    inner = build._problem
    monkeypatch.setattr(build, "_problem", lambda case: inner(_with(case, Wide(**sizes))))
    assert messages(*settings) == [message]


def test_given_parameters_decide_sizes(read):
    init = "init={kind: each, W: identity, a: {kind: values, a: [1, 2]}}"
    found = build._problem(_with(read("data.target=gaussian", init).stated, Wide()))
    assert found.theta0["W"].tolist() == [[1, 0], [0, 1]]


def _with(case, model):
    object.__setattr__(case, "model", model)
    return case
