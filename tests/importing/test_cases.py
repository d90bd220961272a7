"""From files that were made elsewhere to a problem, and what is said where they do not fit.

The networks are evaluated here by plain iteration, in the precision of the files.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import deqcheck as dq
from deqcheck.case import CaseError, build_problem
from deqcheck.case.read import checked, read_text, read_texts
from deqcheck.case.source import Source
from deqcheck.fields import Refusal
from deqcheck.importing.array import Given
from deqcheck.models.relu_deq.model import ReluDeq

from . import writers

RNG = np.random.default_rng(1)
N, D, UNITS, OUTPUTS = 7, 3, 5, 4
X = RNG.normal(size=(N, D)).astype(np.float32)
LABELS = RNG.integers(OUTPUTS, size=N)


def normal(*shape: int, scale: float = 0.3) -> np.ndarray:
    return (scale * RNG.normal(size=shape)).astype(np.float32)


RELU = {
    "deq.W.weight": normal(UNITS, UNITS, scale=0.1),
    "deq.U.weight": normal(UNITS, D),
    "deq.U.bias": normal(UNITS),
    "head.weight": normal(OUTPUTS, UNITS),
    "head.bias": normal(OUTPUTS),
}
MONOTONE = {
    "mon.core.A": normal(2, UNITS),
    "mon.core.S": normal(UNITS, UNITS),
    "mon.core.m_raw": np.array(0.5, dtype=np.float32),
    "mon.core.U": normal(UNITS, D),
    "mon.core.b": normal(UNITS),
    "classifier.weight": normal(OUTPUTS, UNITS),
    "classifier.bias": normal(OUTPUTS),
}


def equilibrium(W: np.ndarray, C: np.ndarray, step: float = 0.2) -> np.ndarray:
    """Damped iteration, a row for each sample."""
    z = np.zeros_like(C)
    for _ in range(600):
        z = np.maximum(z - step * (z - z @ W.T - C), 0)
    return z


def relu_outputs(p: dict[str, np.ndarray] = RELU) -> np.ndarray:
    p = {name: array.astype(float) for name, array in p.items()}
    z = equilibrium(p["deq.W.weight"], X @ p["deq.U.weight"].T + p["deq.U.bias"])
    return z @ p["head.weight"].T + p["head.bias"]


def monotone_outputs(p: dict[str, np.ndarray] = MONOTONE) -> np.ndarray:
    p = {name: array.astype(float) for name, array in p.items()}
    A, S, m = p["mon.core.A"], p["mon.core.S"], np.log1p(np.exp(p["mon.core.m_raw"])) + 1e-4
    W = (1 - m) * np.eye(UNITS) - A.T @ A + S - S.T
    z = equilibrium(W, X @ p["mon.core.U"].T + p["mon.core.b"])
    return z @ p["classifier.weight"].T + p["classifier.bias"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    writers.checkpoint(tmp_path / "relu.pt", RELU)
    writers.checkpoint(tmp_path / "mon.pt", MONOTONE)
    rows = (",".join(repr(float(x)) for x in (*row, y)) for row, y in zip(X, LABELS, strict=True))
    (tmp_path / "table.csv").write_text("height,width,depth,label\n" + "\n".join(rows) + "\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


TABLE = {"kind": "file", "path": "table.csv", "map": {"y": "label"}, "one_hot": True}


def problem(**parts: Any) -> Any:
    return build_problem(checked(Source(written={"deqcheck": 1, **parts})))


def complaint(**parts: Any) -> list[str]:
    with pytest.raises(CaseError) as caught:
        problem(**parts)
    return [f"{p.key}: {p.sentence}" for p in caught.value.problems]


@pytest.mark.parametrize("output", [0, 3])
def test_a_relu_deq_with_biases_and_several_outputs(folder: Path, output: int) -> None:
    p = problem(
        data=TABLE,
        model={"kind": "relu-deq", "output": output},
        init={"kind": "file", "path": "relu.pt", "map": "torch-linear"},
    )
    residual = relu_outputs()[:, output] - (output == LABELS)
    assert p.start.loss.value == pytest.approx((residual**2).sum() / 2, rel=1e-12)
    assert p.theta0["U"].shape == (UNITS, D + 1) and (p.model.X[-1] == 1).all()
    assert any("further input" in note for note in p.told)
    assert any("c0" in note for note in p.told)


@pytest.mark.parametrize("output", [0, 2])
def test_a_monotone_deq_with_a_rectangular_A(folder: Path, output: int) -> None:
    p = problem(
        data=TABLE,
        model={"kind": "monotone-deq", "output": output},
        init={"kind": "file", "path": "mon.pt", "map": "mondeq-quant"},
    )
    residual = monotone_outputs()[:, output] - (output == LABELS)
    assert p.start.loss.value == pytest.approx((residual**2).sum() / 2, rel=1e-12)
    assert p.model.m == pytest.approx(np.log1p(np.exp(0.5)) + 1e-4, rel=1e-15)
    # Rows of zeros stay zero.
    assert p.theta0["A"].shape == (UNITS, UNITS) and not p.theta0["A"][2:].any()
    assert p.start.gradient["A"][:2].any() and not p.start.gradient["A"][2:].any()


def test_more_rows_than_units(folder: Path) -> None:
    """The factor R has the gradient of A: with A = Q R, Q^T of it."""
    tall = {**MONOTONE, "mon.core.A": normal(UNITS + 3, UNITS)}
    writers.checkpoint(folder / "tall.pt", tall)
    parts = {"data": TABLE, "model": {"kind": "monotone-deq", "output": 1}}
    init = {"kind": "file", "path": "tall.pt", "map": "mondeq-quant"}
    p = problem(**parts, init=init)
    residual = monotone_outputs(tall)[:, 1] - (LABELS == 1)
    assert p.start.loss.value == pytest.approx((residual**2).sum() / 2, rel=1e-12)
    A = tall["mon.core.A"].astype(float)
    G, g = p.start.E @ p.start.Z.T, p.start.gradient["A"]
    assert np.linalg.norm(g) == pytest.approx(np.linalg.norm(A @ (G + G.T)), rel=1e-10)


@pytest.mark.parametrize("rows", [2, UNITS + 3])
def test_descent_on_a_rectangular_A(folder: Path, rows: int) -> None:
    """By plain NumPy on A as it is (r x n), with the bias as a bias."""
    arrays = {**MONOTONE, "mon.core.A": normal(rows, UNITS)}
    writers.checkpoint(folder / "r.pt", arrays)
    p = problem(
        data=TABLE,
        model={"kind": "monotone-deq", "output": 1},
        init={"kind": "file", "path": "r.pt", "map": "mondeq-quant"},
        train={"kind": "gd", "step": 0.01, "steps": 4},
    )
    names = {"A": "core.A", "S": "core.S", "U": "core.U", "b": "core.b"}
    A, S, U, b = (arrays[f"mon.{name}"].astype(float) for name in names.values())
    u, m = arrays["classifier.weight"][1].astype(float), p.model.m
    y = (LABELS == 1) - float(arrays["classifier.bias"][1])
    losses = []
    for _ in range(5):
        W = (1 - m) * np.eye(UNITS) - A.T @ A + S - S.T
        z = equilibrium(W, X @ U.T + b)
        r = z @ u - y
        losses.append(r @ r / 2)
        # (I - J W^T) v = J u for each sample.
        on = (z > 0).astype(float)
        V = np.array([np.linalg.solve(np.eye(UNITS) - j[:, None] * W.T, j * u) for j in on])
        E = V * r[:, None]
        G = E.T @ z
        A, S, U = A + 0.01 * A @ (G + G.T), S - 0.01 * (G - G.T), U - 0.01 * E.T @ X
        b, u = b - 0.01 * E.sum(axis=0), u - 0.01 * (r @ z)
    made = p.train.run(p, (), (), lambda progress: None)
    assert made.loss.value == pytest.approx(losses, rel=1e-10)


def test_the_bias_moves_as_a_bias(folder: Path) -> None:
    """The gradient of the added column is that of b: the sum over samples."""
    p = problem(
        data=TABLE,
        model={"kind": "relu-deq", "output": 0},
        init={"kind": "file", "path": "relu.pt", "map": "torch-linear"},
    )

    def loss(b: np.ndarray) -> float:
        r = relu_outputs({**RELU, "deq.U.bias": b})[:, 0] - (LABELS == 0)
        return float(r @ r / 2)

    b, h = RELU["deq.U.bias"].astype(float), 1e-6
    slopes = [(loss(b + h * e) - loss(b - h * e)) / (2 * h) for e in np.eye(UNITS)]
    assert p.start.gradient["U"][:, -1] == pytest.approx(slopes, abs=1e-7)


def test_an_implicit_network_in_rows(folder: Path) -> None:
    arrays = {
        "W.weight": normal(UNITS, D),
        "W.bias": normal(UNITS),
        "A.weight": normal(UNITS, UNITS),
    }
    writers.safetensors(folder / "w.safetensors", {**arrays, "out.weight": normal(1, UNITS)})
    held = {name: array.astype(float) for name, array in arrays.items()}
    np.save(folder / "X.npy", X.T)
    np.save(folder / "y.npy", LABELS)
    p = problem(
        data={"kind": "file", "path": {"X": "X.npy", "y": "y.npy"}, "layout": "columns"},
        model={"kind": "implicit-relu", "gamma": 0.3},
        init={"kind": "file", "path": "w.safetensors", "map": "torch-linear"},
    )
    phi = np.maximum(X @ held["W.weight"].T + held["W.bias"], 0)
    z = phi
    for _ in range(200):
        z = np.maximum(0.3 * z @ held["A.weight"].T + phi, 0)
    assert np.allclose(p.start.Z.T, z, atol=1e-12)
    assert p.start.predictions == pytest.approx(z @ p.theta0["b"], rel=1e-12)


CASE = {"model": {"kind": "relu-deq"}, "theorems": ["ling2022/lem2"]}


def yhat(off: float) -> dict[str, Any]:
    Z = equilibrium(RELU["deq.W.weight"].astype(float), X @ RELU["deq.U.weight"].T.astype(float))
    a = RELU["head.weight"][0].astype(float)
    return {
        "data": {"kind": "values", "X": X.T, "y": LABELS, "yhat": Z @ a + off},
        "init": {"W": RELU["deq.W.weight"], "U": RELU["deq.U.weight"], "a": a, "kind": "values"},
    }


def test_your_own_predictions_are_compared() -> None:
    report = dq.run({**CASE, **yhat(0.0)})
    assert "agree" in report.notes[0] and report.warning == ""
    other = dq.run({**CASE, **yhat(0.1)})
    assert "yhat are others" in other.notes[0] and other.warning == other.notes[0]
    assert other["ling2022/lem2"].outcome == report["ling2022/lem2"].outcome
    turned = yhat(0.0)
    turned["init"]["W"] = turned["init"]["W"].T
    assert "transposed" in dq.run({**CASE, **turned}).warning


def test_parameters_from_several_files(folder: Path) -> None:
    """Each may name a layout, and a bias that another one takes is not left out."""
    one = {"kind": "file", "path": "relu.pt", "map": "torch-linear"}
    p = problem(
        data=TABLE,
        model={"kind": "relu-deq", "output": 0},
        init={"kind": "each", **dict.fromkeys("WUab", one)},
    )
    assert np.array_equal(p.theta0["U"][:, :D], RELU["deq.U.weight"])
    assert np.array_equal(p.theta0["a"], RELU["head.weight"][0])


def test_images_are_flattened_and_kernels_refused(folder: Path) -> None:
    kernel = {**RELU, "deq.U.weight": np.ones((UNITS, 1, 3, 3), dtype=np.float32)}
    writers.checkpoint(folder / "conv.pt", kernel)
    np.savez(folder / "images.npz", X=X.reshape(N, 1, 1, D), y=LABELS)
    init = {"kind": "file", "map": "torch-linear"}
    parts = {"data": {"kind": "file", "path": "images.npz", "layout": "rows"}}
    parts |= {"model": {"kind": "relu-deq", "output": 0}}
    assert np.array_equal(problem(**parts, init={**init, "path": "relu.pt"}).model.X[:D], X.T)
    (told,) = complaint(**parts, init={**init, "path": "conv.pt"})
    assert "U has 3 axes; expected a dense matrix (`deqcheck docs models` on convolutions)" in told


@pytest.mark.parametrize("shape", [(-1,), (1, -1), (-1, 1)])
def test_one_row_or_one_column_is_a_vector_and_one_bias_a_number(shape: tuple[int, ...]) -> None:
    vector = np.arange(3.0)
    given = {"y": vector.reshape(shape), "a": 2 * vector.reshape(shape), "c0": np.array([0.5])}
    found = ReluDeq().brought({name: Given(a, name, name) for name, a in given.items()})
    assert {name: each.array.tolist() for name, each in found.items()} == {
        "y": [0, 1, 2], "a": [0, 2, 4], "c0": 0.5
    }  # fmt: skip
    (chosen,) = ReluDeq(output=1).brought({"y": Given(np.eye(2), "y", "y")}).values()
    assert chosen.array.tolist() == [0, 1]
    for output, said in ((None, "2 outputs; expected one.*0 to 1"), (2, "no output 2")):
        with pytest.raises(Refusal, match=said):
            ReluDeq(output=output).brought({"y": Given(np.eye(2), "y", "y")})


def test_everything_that_is_wrong_at_once(folder: Path) -> None:
    np.savez(folder / "d.npz", X=X, y=LABELS)
    assert complaint(
        data={"kind": "npz", "path": "d.npz"},
        model={"kind": "relu-deq"},
        init={"kind": "values", "W": np.eye(4), "U": np.ones((5, D)), "a": np.ones(4)},
    ) == [
        "data.path: d.npz: X is d x n, samples in columns; yours is 7 x 3 and looks transposed: "
        "say layout: rows, or transpose it",
        "init.U: U has shape (5, 3); expected (m, d) = (4, d) because W is 4 x 4",
    ]
    np.savez(folder / "d.npz", X=X, y=np.eye(OUTPUTS)[LABELS])
    told = complaint(
        data={"kind": "npz", "path": "d.npz"},
        model={"kind": "relu-deq", "output": 0, "width": 3},
        init="gaussian",
    )
    assert len(told) == 2 and all("looks transposed: say layout: rows" in each for each in told)
    rows = {"kind": "npz", "path": "d.npz", "layout": "rows"}
    parts = {"W": np.eye(4) / 2, "U": np.ones((4, D)), "a": np.ones(4)}
    model = {"kind": "relu-deq", "output": 1}
    p = problem(data=rows, model=model, init={"kind": "values", **parts})
    assert np.array_equal(p.model.X, X.T) and np.array_equal(p.model.y, LABELS == 1)


@pytest.mark.parametrize(
    ("init", "key", "sentence"),
    [
        ({"map": {"W": "deq.W"}}, "init.map.W", "no array 'deq.W'"),
        ({"map": {"V": "deq.W"}}, "init.map.V", "the model has no array 'V'"),
        ({"map": "torch-linaer"}, "init.map", "did you mean 'torch-linear'?"),
        ({"map": "monotone_op_net"}, "init", "monotone_op_net is a layout of monotone-deq"),
        (
            {"map": {"preset": "torch-linear", "b": {"from": "deq.U.bias", "map": "log"}}},
            "init.map.b.map",
            "expected one of identity, softplus",
        ),
        (
            {"map": {"W": "W.weight", "U": "U.weight", "a": "head.weight[0]"}},
            "init.map",
            "deq.U.bias stands beside deq.U.weight and would be left out",
        ),
        ({"path": {"W": "relu.pt"}}, "init.path", "expected a file for U, or one for all"),
        ({"map": "torch-linear", "transpose": ["U"]}, "init.path", "yours looks transposed"),
    ],
)
def test_refusals(folder: Path, init: dict[str, Any], key: str, sentence: str) -> None:
    told = complaint(
        data=TABLE,
        model={"kind": "relu-deq", "output": 0},
        init={"kind": "file", "path": "relu.pt", **init},
    )
    assert any(each.startswith(key) and sentence in each for each in told), told


def test_an_output_must_be_chosen_and_there(folder: Path) -> None:
    init = {"kind": "file", "path": "relu.pt", "map": "torch-linear"}
    data = {**TABLE, "one_hot": False}
    (told,) = complaint(data=data, model={"kind": "relu-deq"}, init=init)
    assert "has 4 outputs; expected one: choose it by model.output, 0 to 3" in told
    (told,) = complaint(data=data, model={"kind": "relu-deq", "output": 4}, init=init)
    assert "has 4 outputs, and no output 4" in told
    two = {"a": Given(np.ones((2, 5)), "a", "a")}
    with pytest.raises(Refusal, match="has 2 outputs; expected one"):
        ReluDeq().brought(two)
    with pytest.raises(Refusal, match="has 2 outputs, and no output 2"):
        ReluDeq(output=2).brought(two)


def test_an_output_is_chosen_of_everything_that_has_one() -> None:
    several = {"a": (2, 5), "y": (2, 3), "yhat": (2, 3), "c0": (2,), "U": (2, 4)}
    drawn = {name: np.random.default_rng(0).normal(size=size) for name, size in several.items()}
    found = ReluDeq(output=1).brought({n: Given(array, n, n) for n, array in drawn.items()})
    for name, array in drawn.items():
        assert np.array_equal(found[name].array, array if name == "U" else array[1]), name


def test_all_outputs_in_turn(folder: Path) -> None:
    text = """
deqcheck: 1
data: {kind: file, path: table.csv, map: {y: label}, one_hot: true}
model: {kind: relu-deq, output: all}
init: {kind: file, path: relu.pt, map: torch-linear}
"""
    cases = read_texts(text, "case.yaml", folder)
    losses = [case.problem().start.loss.value for case in cases]
    residuals = relu_outputs() - (LABELS[:, None] == np.arange(OUTPUTS))
    assert losses == pytest.approx((residuals**2).sum(axis=0) / 2, rel=1e-12)
    assert cases[2].full_name == "case.yaml[outputs: model.output=2]"
    with pytest.raises(CaseError) as caught:
        read_texts(text.replace("path: relu.pt, map: torch-linear", "path: no.pt"), "c", folder)
    assert "no such file: 'no.pt'" in str(caught.value)


def test_numbers_of_the_model(folder: Path) -> None:
    stored = {"from": "mon.core.m_raw", "map": "softplus", "plus": 1e-4}
    names = {"A": "core.A", "B": "core.S", "U": "core.U", "b": "core.b"}
    names |= {"u": "classifier.weight[1]", "c0": "classifier.bias[1]"}
    init = {"kind": "file", "path": "mon.pt", "map": names}
    data = {**TABLE, "one_hot": False}
    p = problem(data=data, model={"kind": "monotone-deq", "m": stored}, init=init)
    assert p.model.m == pytest.approx(np.log1p(np.exp(0.5)) + 1e-4, rel=1e-15)
    told = complaint(data=data, model={"kind": "monotone-deq"}, init=init)
    assert told == ["model.m: missing; expected a number > 0, or where the file has it"]
    told = complaint(data=data, model={"kind": "monotone-deq", "m": {"from": "core.U"}}, init=init)
    assert told == ["model.m: core.U is 5 x 3; expected one number"]
    negative = {"from": "core.m_raw", "plus": -3}
    told = complaint(data=data, model={"kind": "monotone-deq", "m": negative}, init=init)
    assert told == ["model.m: -2.5 is out of range; expected a number > 0"]
    told = complaint(data=data, model={"kind": "monotone-deq", "m": stored}, init="gaussian")
    assert told == ["model.m: 'gaussian' holds no numbers; expected init: {kind: file}"]


def test_a_layout_without_m_asks_for_it(folder: Path) -> None:
    renamed = {"A": "mon.core.A", "B": "mon.core.S", "U": "mon.core.U"}
    arrays = {f"mon.linear_module.{n}.weight": MONOTONE[old] for n, old in renamed.items()}
    arrays |= {"mon.linear_module.U.bias": MONOTONE["mon.core.b"]}
    arrays |= {f"Wout.{end}": MONOTONE[f"classifier.{end}"] for end in ("weight", "bias")}
    writers.checkpoint(folder / "op.pt", arrays)
    init = {"kind": "file", "path": "op.pt", "map": "monotone_op_net"}
    (told,) = complaint(data=TABLE, model={"kind": "monotone-deq", "output": 1}, init=init)
    assert told.startswith("model.m: missing; expected a number (monotone_op_net does not store it")
    m = float(np.log1p(np.exp(0.5)) + 1e-4)
    p = problem(data=TABLE, model={"kind": "monotone-deq", "output": 1, "m": m}, init=init)
    residual = monotone_outputs()[:, 1] - (LABELS == 1)
    assert p.start.loss.value == pytest.approx((residual**2).sum() / 2, rel=1e-12)


def test_one_file_for_data_and_parameters(folder: Path) -> None:
    both = {**RELU, "inputs": X, "targets": LABELS.astype(np.float64)}
    writers.checkpoint(folder / "all.pt", both)
    text = """
deqcheck: 1
data: {kind: file, path: all.pt, map: {X: inputs, y: targets}, layout: rows}
model: {kind: relu-deq}
init:
  kind: file
  path: all.pt
  map: {preset: torch-linear, a: "head.weight[2]", c0: "head.bias[2]"}
"""
    case = read_text(text, "case.yaml", folder)
    residual = relu_outputs()[:, 2] - LABELS
    assert case.problem().start.loss.value == pytest.approx(residual @ residual / 2, rel=1e-12)
    assert len(case.digest) == 64


GAUSSIAN = {"kind": "gaussian", "n": 10**6, "dim": 2, "target": "gaussian"}


@pytest.mark.parametrize(
    ("model", "sizes"),
    [
        (
            {"kind": "relu-deq", "width": 500},
            ["the state is 500 x 1000000", "the kernel is 1000000"],
        ),
        ({"kind": "monotone-deq", "m": 1, "width": 5}, ["the kernel is 1000000 x 1000000"]),
        ({"kind": "implicit-relu", "gamma": 1, "width": 5}, ["the kernel is 1000000 x 1000000"]),
        (
            {"kind": "opteq", "iterations": 1000, "activation": "tanh", "m": 2, "n": 2},
            ["the list of states is 1000 x 2 x 1000000"],
        ),
    ],
)
def test_what_does_not_fit_into_memory_is_refused(model: dict[str, Any], sizes: list[str]) -> None:
    told = complaint(data=GAUSSIAN, model=model, init="gaussian")
    assert len(told) == len(sizes)
    for each, size in zip(told, sizes, strict=True):
        assert size in each and "too large" in each


# Half the sum of squares of PyTorch's own predictions at these parameters, printed by the script
# that trained the networks; residuals are a thirtieth of the predictions, which have seven digits.
@pytest.mark.parametrize(
    ("name", "loss"),
    [("torch-relu", 0.00560202390515252), ("torch-monotone", 0.006521378482300166)],
)
def test_the_loss_is_that_of_the_framework_which_trained_it(name: str, loss: float) -> None:
    report = dq.bounds(f"import/{name}")
    assert report.quantities["loss"].value == pytest.approx(loss, rel=1e-5)
    assert "your predictions yhat agree" in report.notes[0]


def test_what_is_wrong_with_data_model_and_weights_is_told_at_once(tmp_path: Path) -> None:
    np.savez(tmp_path / "data.npz", X=X.T)
    np.savez(tmp_path / "weights.npz", A=normal(2, 2))
    text = """
deqcheck: 1
data: {kind: file, path: data.npz}
model: {kind: monotone-deq}
init: {kind: file, path: weights.npz, map: {A: nowhere}}
"""
    (tmp_path / "case.yaml").write_text(text)
    with pytest.raises(CaseError) as told:
        dq.bounds(tmp_path / "case.yaml")
    keys = [line.split(": ")[1] for line in str(told.value).splitlines()]
    assert {key.partition(".")[0] for key in keys} == {"data", "model", "init"}
    assert "model.m" in keys
