"""The check-up of a trained network: its answers, its files, and what it refuses."""

from __future__ import annotations

import json
from importlib.resources import files
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from jsonschema import Draft202012Validator

import deqcheck as dq
from deqcheck.cli.main import cli
from deqcheck.explore.checkup.proofs import posed, tried, two_equilibria
from deqcheck.records.checkup import Checkup
from tests.importing.writers import checkpoint
from tests.report.pages import Page

SCHEMA = json.loads((files("deqcheck") / "report/schema/deqcheck-model-1.json").read_text("utf-8"))
ROTATION = np.array([[3, -4], [4, 3]]) / 10
INSTANCES = {
    "I1": (ROTATION, "yes", "banach/norminf"),
    "I2": ([[0, -3], [3, 0]], "yes", "winston2020/unique"),
    "I3": ([[0, 10], [0, 0]], "yes", "elghaoui2021/pf"),
    "I4": ([[0, -3, 0], [0, 0, -3], [-3, 0, 0]], "yes", "lcp/p-matrix"),
    "I5": ([[-9, 9], [0, 0.5]], "yes", "jafarpour2021/unique"),
    "I6": ([[0, 2], [2, 0]], "no", ""),
    "weighted": ([[0.5, 20, 0], [-0.4, 0.5, 0], [0, 0, -3]], "yes", "revay2020/lmi"),
}


def saved(folder: Path, **arrays: Any) -> str:
    path = folder / "model.npz"
    np.savez(path, **{name: np.asarray(a, dtype=float) for name, a in arrays.items()})
    return str(path)


def of(W: Any, folder: Path, **more: Any) -> Checkup:
    n = len(W)
    arrays = {"W": W, "U": np.eye(n), "C": np.eye(n), **more.pop("arrays", {})}
    return dq.model_checkup(saved(folder, **arrays), **more)


def call(*words: str) -> Any:
    return CliRunner().invoke(cli, ["model", *words], prog_name="deqcheck")


@pytest.mark.parametrize("name", INSTANCES)
def test_the_cheapest_proof_is_named(name: str, tmp_path: Path) -> None:
    W, unique, proof = INSTANCES[name]
    found = of(W, tmp_path)
    assert (found.posed.value, found.proof) == (unique, proof)
    assert len(found.answers) == 5
    Draft202012Validator(SCHEMA).validate(found.to_dict())


def fact(found: Checkup, question: int, name: str) -> float:
    (value,) = (f.value for f in found.answers[question - 1].facts if f.name.startswith(name))
    assert value is not None and value.error <= 1e-8 * abs(value.value) + 1e-11
    return float(value.value)


def test_the_numbers_of_a_rotation(tmp_path: Path) -> None:
    """I1: ||W||_2 = 1/2, m = 7/10, L^2 = 13/20; 28/13 is both limits of forward-backward."""
    data = {"X": [[1.0]], "z": [[1.0], [0.0]], "Y": [[0.0], [0.0]]}
    found = of(ROTATION, tmp_path, arrays={"U": [[1], [-0.5]]}, data=data)
    assert fact(found, 2, "by the worst pattern") == pytest.approx(1.604589228, rel=1e-8)
    assert fact(found, 3, "forward-backward, steps below") == pytest.approx(28 / 13)
    assert fact(found, 3, "forward-backward, sharp") == pytest.approx(28 / 13)
    assert fact(found, 3, "Peaceman-Rachford, factor there") == pytest.approx(0.265564437)
    assert fact(found, 4, "cosine at least") == pytest.approx(0.7 / np.sqrt(0.65))
    assert fact(found, 5, "|dz|/|dx|") == pytest.approx(1.597191, rel=1e-6)
    assert fact(found, 5, "over all patterns") == pytest.approx(10 / 7)
    (sample,) = found.samples
    assert sample.radius == pytest.approx(1.0, rel=1e-6)
    assert sample.margin == pytest.approx(17 / 13)
    assert sample.radius_norms == pytest.approx(0.578940, rel=1e-5)
    assert sample.distance == pytest.approx(0.481377, rel=1e-5)


def test_two_equilibria_are_shown(tmp_path: Path) -> None:
    W = np.array(INSTANCES["I6"][0], dtype=float)
    two = of(W, tmp_path).two
    assert two is not None and two.first != two.second
    for z in map(np.array, (two.first, two.second)):
        assert np.array_equal(z, np.maximum(W @ z + np.array(two.c), 0))
    assert two.input == pytest.approx(two.c)
    short = of(W, tmp_path, arrays={"U": [[1], [1]]}, data={"X": [[-1.0, -2.0]]})
    assert any("of the first 2 samples 2 have an equilibrium" in note for note in short.notes)
    assert short.two is not None and short.two.input is None
    assert short.posed.value == "not decided"
    assert "with another bias" in short.answers[0].words


def minors(W: np.ndarray) -> float:
    n = len(W)
    patterns = (np.diag(on) for on in product([0.0, 1.0], repeat=n))
    return min(float(np.linalg.det(np.eye(n) - D @ W)) for D in patterns)


def test_no_wrong_yes_and_no_wrong_no() -> None:
    """Against all patterns, 1 to 5 units, structured and drawn."""
    r = np.random.default_rng(0)
    seen = set()
    for k in range(40):
        n = int(r.integers(1, 6))
        W = r.normal(size=(n, n)) * r.choice([0.2, 0.6, 1.0, 2.0])
        W = np.round(W) if k % 4 == 0 else W
        data, init = {"X": np.ones((n, 1)), "Y": np.ones((1, 1))}, {"C": np.ones((1, n))}
        p = dq.problem("equilibrium", data, {"W": W, "U": np.eye(n), **init})
        found, least = tried(p), minors(W)
        word = posed(found, two_equilibria(p.start, found)).value
        seen.add(next((t.id for t in found if t.word == "proves it"), word))
        if abs(least) > 1e-9:
            assert word == ("yes" if least > 0 else "no"), W
        elif word == "yes":
            assert least > 0, W
    assert len(seen) >= 5


@pytest.mark.parametrize("activation", ["relu", "tanh", "leaky-relu"])
def test_no_attack_crosses_a_radius(activation: str, tmp_path: Path) -> None:
    r = np.random.default_rng(1)
    crossed = attacked = 0
    for _ in range(3):
        n, d, q = (int(a) for a in r.integers(2, 5, size=3))
        W, U, C, b = (r.normal(size=s) for s in ((n, n), (n, d), (q, n), (n,)))
        W *= 0.5 / np.linalg.norm(W, 2)
        X = r.normal(size=(d, 3))
        path = saved(tmp_path, W=W, U=U, C=C, b=b)
        found = dq.model_checkup(path, activation=activation, data={"X": X})
        for j, sample in enumerate(found.samples):
            if not 0 < sample.radius < 1e6:
                continue
            ways = r.normal(size=(d, 40))
            points = X[:, [j]] + 0.999 * sample.radius * ways / np.linalg.norm(ways, axis=0)
            crossed += int(np.sum(_classes(W, U, C, b, points, activation) != sample.predicted))
            attacked += 40
    assert attacked > 100 and crossed == 0


def _classes(W, U, C, b, X, activation):  # type: ignore[no-untyped-def]
    s = {
        "relu": lambda v: np.maximum(v, 0),
        "tanh": np.tanh,
        "leaky-relu": lambda v: np.where(v > 0, v, 0.01 * v),
    }[activation]
    Z = np.zeros((len(W), X.shape[1]))
    for _ in range(200):
        Z = s(W @ Z + U @ X + b[:, None])
    return np.argmax(C @ Z, axis=0)


def parts(r: np.random.Generator, n: int, d: int, q: int) -> dict[str, np.ndarray]:
    sizes = {"A": (2, n), "S": (n, n), "U": (n, d), "b": (n,)}
    found = {f"mon.core.{name}": r.normal(size=size) for name, size in sizes.items()}
    found |= {"classifier.weight": r.normal(size=(q, n)), "classifier.bias": r.normal(size=q)}
    return {**found, "mon.core.m_raw": np.array(0.3)}


def test_a_checkpoint_is_recognised(tmp_path: Path) -> None:
    arrays = parts(np.random.default_rng(2), 4, 3, 2)
    path = checkpoint(tmp_path / "net.pt", arrays)
    found = dq.model_checkup(path)
    assert found.proof == "winston2020/unique" and found.weights == "monotone"
    assert "read as mondeq-quant" in found.notes
    A, S = arrays["mon.core.A"], arrays["mon.core.S"]
    W = (1 - np.logaddexp(0, 0.3) - 1e-4) * np.eye(4) - A.T @ A + S - S.T
    m = float(np.linalg.eigvalsh(2 * np.eye(4) - W - W.T)[0]) / 2
    judged = next(t.judged for t in found.tried if t.id == "winston2020/unique")
    assert judged is not None and judged.left.value == pytest.approx(m)


def layouts(r: np.random.Generator) -> dict[str, tuple[dict[str, np.ndarray], np.ndarray]]:
    """For each layout tensors, and the W that they make with m = 0.5."""
    A, B, d, U, C = (r.normal(size=s) for s in ((3, 3), (3, 3), 3, (3, 2), (2, 3)))
    ends = {"net.Wout.weight": C, "net.Wout.bias": np.ones(2)}
    module = "net.mon.linear_module."
    inner = {f"{module}U.weight": U, f"{module}U.bias": np.ones(3), f"{module}A.weight": A}
    similar = A * np.exp(d[None, :] - d[:, None])
    return {
        "monotone_op_net": (
            {**inner, f"{module}B.weight": B, **ends},
            0.5 * np.eye(3) - A.T @ A + B - B.T,
        ),
        "nemon": (
            {**inner, f"{module}d": d, **ends},
            0.5 * np.eye(3) + similar - np.diag(np.abs(A).sum(axis=1)),
        ),
        "implicitdl": ({"A": 0.1 * A, "B": U, "C": C, "D": np.zeros((2, 2))}, 0.1 * A),
        "torch-linear": (
            {"deq.W.weight": B, "deq.U.weight": U, "deq.U.bias": np.ones(3), "head.weight": C},
            B,
        ),
    }


@pytest.mark.parametrize("layout", ["monotone_op_net", "nemon", "implicitdl", "torch-linear"])
def test_every_layout_makes_its_weights(layout: str, tmp_path: Path) -> None:
    arrays, W = layouts(np.random.default_rng(3))[layout]
    path = checkpoint(tmp_path / "net.pt", arrays)
    m = 0.5 if layout in ("monotone_op_net", "nemon") else None
    for given in ((), layout):
        found = dq.model_checkup(path, map=given, m=m)
        judged = next(t.judged for t in found.tried if t.id == "winston2020/unique")
        wanted = float(np.linalg.eigvalsh(2 * np.eye(3) - W - W.T)[0]) / 2
        assert judged is not None and judged.left.value == pytest.approx(wanted)
    if m is not None:
        with pytest.raises(dq.UsageError, match="--m: missing: the file does not store m"):
            dq.model_checkup(path)


def test_every_format_and_exit_code(tmp_path: Path) -> None:
    good = saved(tmp_path, W=ROTATION, U=np.eye(2), C=np.eye(2))
    table = call(good)
    assert table.exit_code == 0 and "1. Does exactly one equilibrium exist" in table.stdout
    assert "proves it  banach/norminf" in table.stdout
    document = json.loads(call(good, "--format", "json").stdout)
    Draft202012Validator(SCHEMA).validate(document)
    page = tmp_path / "page.html"
    assert call(good, "--format", "html", "--output", str(page)).exit_code == 0
    text = page.read_text()
    seen = Page(text)
    assert seen.count("article") == 5 and seen.count("script") == 0
    assert "Does exactly one equilibrium exist for every input? yes" in seen.text
    assert text.index("answer-1") < text.index("answer-5") < text.index("Theorems tried")
    assert len(call(good, "--quiet").stdout.splitlines()) == 5
    bad = saved(tmp_path, W=INSTANCES["I6"][0], U=np.eye(2), C=np.eye(2))
    refuted = call(bad)
    assert refuted.exit_code == 1 and "two equilibria" in " ".join(refuted.stdout.split())
    smooth = call(bad, "--activation", "tanh")
    assert smooth.exit_code == 3 and "not decided" in smooth.stdout


def test_samples_are_listed(tmp_path: Path) -> None:
    good = saved(tmp_path, W=ROTATION, U=np.eye(2), C=np.eye(2))
    rows = tmp_path / "X.npz"
    np.savez(rows, X=np.random.default_rng(0).normal(size=(12, 2)), y=np.arange(12) % 2)
    found = call(good, "--data", str(rows))
    assert found.exit_code == 0 and "and 2 more" in found.stdout and "cosine" in found.stdout


BAD = {
    "no layout": ({"foo": [[1.0]]}, (), "no layout that is known here: it holds foo (1 x 1)"),
    "missing m": (
        {"A": np.eye(2), "B": np.eye(2), "U": np.eye(2), "C": np.eye(2)},
        (),
        "--m: missing: the file does not store m",
    ),
    "m": (
        {"A": np.eye(2), "B": np.eye(2), "U": np.eye(2), "C": np.eye(2)},
        ("--m", "-1"),
        "--m: -1.0 is out of range",
    ),
    "shapes": ({"W": np.eye(2), "U": np.eye(3), "C": np.eye(2)}, (), "U has shape (3, 3)"),
    "steep": (
        {"W": np.eye(2), "U": np.eye(2), "C": np.eye(2)},
        ("--activation", "gelu"),
        "the slope of gelu falls below 0",
    ),
    "unknown": (
        {"W": np.eye(2), "U": np.eye(2), "C": np.eye(2)},
        ("--activation", "tahn"),
        "no activation is called 'tahn'",
    ),
    "nan": ({"W": [[np.nan]], "U": [[1.0]], "C": [[1.0]]}, (), "W is not finite"),
    "layout": ({"W": [[0.0]]}, ("--map", "torch-linaer"), "did you mean 'torch-linear'"),
    "name": ({"W": [[0.0]]}, ("--map", "Q=W"), "Q=W: expected NAME=TENSOR"),
    "tensor": ({"W": [[0.0]]}, ("--map", "W=Q", "--map", "U=W", "--map", "C=W"), "no array 'Q'"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_a_sentence(name: str, tmp_path: Path) -> None:
    arrays, words, sentence = BAD[name]
    found = call(saved(tmp_path, **arrays), *words)
    assert found.exit_code == 2, found.output
    assert sentence in found.stderr
    assert len(found.stderr.splitlines()) == 1


def test_wrong_data_is_a_sentence(tmp_path: Path) -> None:
    good = saved(tmp_path, W=ROTATION, U=np.eye(2), C=np.eye(2))
    for data, sentence in (
        ({"X": np.ones((3, 5))}, "X has shape (3, 5)"),
        ({"X": np.ones((2, 5)), "Y": np.ones((2, 4))}, "Y has shape (2, 4)"),
        ({"Y": np.ones((2, 4))}, "expected X"),
        ({"X": np.ones((2, 2)), "y": [0, 7]}, "the classes 0 to 1"),
        ({"X": [[np.inf], [0.0]]}, "X is not finite"),
    ):
        with pytest.raises(dq.UsageError, match=sentence.replace("(", r"\(").replace(")", r"\)")):
            dq.model_checkup(good, data=data)
