"""The loss slice: grid, summary, picture, and its refusals."""

from __future__ import annotations

import importlib
import json
import sys
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from deqcheck.models.monotone_deq.slice import REPEATS, cut, filter_normalised, unrolled_losses

CASE = """
deqcheck: 1
seed: 20
data: {kind: gaussian, n: 4, dim: 3, target: gaussian}
model: {kind: monotone-deq, m: 0.5, width: 5}
init: {kind: gaussian, scale: 0.4}
train: {kind: gd, step: 0.02, steps: 40}
"""


@pytest.fixture
def mon(tmp_path):
    path = tmp_path / "mon.yaml"
    path.write_text(CASE)
    return str(path)


def test_the_grids_are_written_whole(deqcheck, mon, tmp_path):
    output = tmp_path / "slice.npz"
    words = ("slice", mon, "--points", "5", "--output", str(output), "--format", "json")
    first = deqcheck(*words)
    assert (first.exit_code, first.stderr) == (0, "")
    content = output.read_bytes()
    assert deqcheck(*words).exit_code == 0
    assert output.read_bytes() == content
    with np.load(output) as grids:
        names = {"alpha", "beta", "loss_deq", *(f"loss_unrolled_{k}" for k in REPEATS)}
        assert set(grids.files) == names
        assert grids["loss_deq"].shape == (5, 5)
        summary = json.loads(first.stdout)
        assert summary["deq"]["largest"] == grids["loss_deq"].max()
    assert [p.name for p in tmp_path.iterdir() if p.name.startswith(".")] == []


def test_the_table_names_every_model(deqcheck, mon):
    result = deqcheck("slice", mon, "--points", "3")
    assert result.exit_code == 0
    for name in ("deq", "unrolled 6", "unrolled 11", "unrolled 18"):
        assert name in result.stdout


def test_a_picture_without_matplotlib_is_one_sentence(deqcheck, mon, tmp_path, monkeypatch):
    monkeypatch.setattr("deqcheck.report.parts.contour.available", lambda: False)
    result = deqcheck("slice", mon, "--picture", str(tmp_path / "slice.png"))
    assert result.exit_code == 2
    assert result.stderr == "deqcheck: pictures need matplotlib: pip install deqcheck[plot]\n"


def test_a_picture_has_one_panel_for_each_model(deqcheck, mon, tmp_path, monkeypatch):
    """With a stand-in for matplotlib, which is not needed to test what is handed to it."""
    drawn: list[str] = []

    class Panel(SimpleNamespace):
        def contourf(self, x, y, z, levels):
            assert np.isfinite(z).all() and len(levels) > 2

        def set_title(self, text):
            drawn.append(text)

        def set_xlabel(self, text): ...

        def set_ylabel(self, text): ...

    class Figure:
        def __init__(self, **_): ...

        def subplots(self, rows, columns, squeeze):
            return np.array([[Panel() for _ in range(columns)]], dtype=object)

        def colorbar(self, *_, **__): ...

        def savefig(self, buffer, format):
            buffer.write(format.encode())

    stand_in = ModuleType("matplotlib.figure")
    stand_in.Figure = Figure
    monkeypatch.setattr("deqcheck.report.parts.contour.available", lambda: True)
    monkeypatch.setitem(sys.modules, "matplotlib", ModuleType("matplotlib"))
    monkeypatch.setitem(sys.modules, "matplotlib.figure", stand_in)
    picture = tmp_path / "slice.svg"
    assert deqcheck("slice", mon, "--points", "3", "--picture", str(picture)).exit_code == 0
    assert picture.read_bytes() == b"svg"
    assert drawn == ["deq", "unrolled 6", "unrolled 11", "unrolled 18"]


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (("--picture", "slice.bmp"), 2, "slice.bmp: expected one of .png, .svg, .pdf"),
        (("--output", "slice.txt"), 2, "slice.txt: expected a name that ends in .npz"),
        (("--points", "4"), 2, "--points 4: expected an odd number"),
        (("--output", "/nowhere/slice.npz"), 2, "cannot write /nowhere/slice.npz"),
        (("--set", "train.step=1e200"), 4, "no end point"),
        (("--set", "train=null"), 2, "a slice needs an end point"),
    ],
)
def test_refusals(deqcheck, mon, words, code, sentence):
    result = deqcheck("slice", mon, "--points", "3", *words)
    assert result.exit_code == code
    assert sentence in result.stderr


def test_other_models_have_no_slice(deqcheck, case):
    result = deqcheck("slice", case)
    assert result.exit_code == 2
    assert "slice applies to monotone-deq, the case's model is delm" in result.stderr


def test_directions_have_the_norms_of_the_rows(monotone):
    theta = monotone(5, 3, 2, 1.0).theta0
    way = filter_normalised(theta, 0, "slice.1")
    for name in ("A", "B", "U"):
        norms = np.linalg.norm(theta[name], axis=1)
        assert np.linalg.norm(way[name], axis=1) == pytest.approx(norms)
    assert np.linalg.norm(way["u"]) == pytest.approx(np.linalg.norm(theta["u"]))


def test_the_centre_is_the_end_point_and_many_repeats_the_equilibrium(monotone, monkeypatch):
    p = monotone(5, 3, 2, 1.0, A=np.zeros((5, 5)), B=np.zeros((5, 5)))
    found = cut(p.model, p.theta0, 0, 3, 0.1)
    assert found.losses["deq"][1, 1] == p.start.loss.value
    ways = [filter_normalised(p.theta0, 0, f"slice.{i}") for i in (1, 2)]
    for i, j in ((0, 2), (1, 0)):
        steps = [found.alpha[i] * ways[0][n] + found.beta[j] * ways[1][n] for n in p.theta0]
        moved = {n: a + step for (n, a), step in zip(p.theta0.items(), steps, strict=True)}
        assert found.losses["deq"][i, j] == pytest.approx(p.model.at(moved).loss.value, rel=1e-12)
    assert found.alpha.tolist() == found.beta.tolist() == [-0.1, 0.0, 0.1]
    # W = 0: one sweep is the equilibrium.
    for name in found.losses:
        assert found.losses[name][1, 1] == pytest.approx(p.start.loss.value, rel=1e-12)
    module = importlib.import_module("deqcheck.models.monotone_deq.slice")
    monkeypatch.setattr(module, "REPEATS", (1, 400))
    slow = monotone(5, 3, 2, 1.0, A=0.5 * np.eye(5), B=np.zeros((5, 5)))
    losses = dict(unrolled_losses(slow.model, slow.theta0))
    assert losses[400] == pytest.approx(slow.start.loss.value, rel=1e-12)
    assert losses[1] != pytest.approx(slow.start.loss.value, rel=1e-3)
