"""Maps of sweeps, and tables for other tools."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import Any

import pytest

import deqcheck as dq
from deqcheck.records.sweep import Sweep
from deqcheck.report.parts import mapped, swept

from .test_sweep import CASE, Alike

# Maps.


@pytest.fixture(scope="module")
def phase(tmp_path_factory: pytest.TempPathFactory) -> Sweep:
    path = tmp_path_factory.mktemp("phase") / "case.yaml"
    path.write_text(CASE)
    grid = {"model.gamma": "0.1:0.9:3", "train.step": "log:1e-3:1e-1:3"}
    return dq.sweep(path, grid, seeds={"init": 2}, engine=Alike())


def test_a_cell_is_the_worst_of_its_members(phase: Sweep) -> None:
    rate = "kawaguchi2021/gd:slack"
    worst = mapped.chosen(phase, None, None, [rate], "worst")
    median = mapped.chosen(phase, "model.gamma", "train.step", [rate], "median")
    share = mapped.chosen(phase, "model.gamma", "train.step", [rate], "share")
    assert isinstance(worst, mapped.Heat) and isinstance(median, mapped.Heat)
    assert isinstance(share, mapped.Heat)
    assert (worst.x.key, worst.y.key, worst.y.scale) == ("model.gamma", "train.step", "log")
    members = [
        m for m in phase if m.settings["model.gamma"] == 0.1 and m.settings["train.step"] == 1e-3
    ]
    slacks = [min(c["ratio"] for c in m.statements[0]["conclusions"]) for m in members]
    cell = worst.cells[0][0]
    assert cell is not None and (cell.value, cell.members, cell.outcome) == (
        min(slacks),
        2,
        "confirmed",
    )
    assert median.cells[0][0] is not None
    assert median.cells[0][0].value == pytest.approx(sum(slacks) / 2, rel=1e-12)
    shares = [[cell.value for cell in row if cell] for row in share.cells]
    assert shares[0][0] == 1 and shares[-1][-1] == 0
    assert "(over 2 seeds of init)" in worst.title


def test_the_worst_of_a_refuted_and_a_confirmed_member_is_refuted(phase: Sweep) -> None:
    shade = mapped.Shade.read("kawaguchi2021/gd:outcome")
    words = ["confirmed", "not applicable", "undecided", "refuted", "killed"]
    for i in range(1, len(words)):
        members = [_with(phase, word) for word in words[: i + 1]]
        cell = mapped._cell(members, shade, "worst")
        assert cell is not None and cell.outcome == words[i]


def _with(phase: Sweep, word: str) -> Any:
    member = next(iter(phase))
    if word == "killed":
        return replace(member, facts=None, end=word)
    statement = {**member.statements[0], "outcome": word}
    return replace(member, facts={**(member.facts or {}), "statements": [statement]})


def test_curves_over_one_key_have_a_band(phase: Sweep) -> None:
    found = mapped.chosen(phase, "model.gamma", None, ["loss"], "worst")
    assert isinstance(found, mapped.Curves)
    assert [band.label for band in found.bands] == [f"train.step = {s}" for s in (0.001, 0.01, 0.1)]
    for band in found.bands:
        assert all(a <= b <= c for a, b, c in zip(band.low, band.middle, band.high, strict=True))
        assert band.x == (0.1, 0.5, 0.9)
    with pytest.raises(ValueError, match="color nothing: no member tells it; known: loss, "):
        phase.map("model.gamma", color="nothing")


def test_a_page_tells_how_to_run_each_cell_again(phase: Sweep) -> None:
    from deqcheck.report.parts.map_page import page

    found = mapped.chosen(phase, None, None, [], "worst")
    text = page(phase, found)
    assert text.count('tabindex="0"') == 9 and text.count("deqcheck run ") == 9
    assert "<script" not in text and "http" not in text.replace("http-equiv", "")
    assert "not applicable" in text and page(phase, found) == text
    curves = mapped.chosen(phase, "model.gamma", None, ["loss"], "worst")
    assert "<svg" in page(phase, curves)


def test_pictures(phase: Sweep) -> None:
    pytest.importorskip("matplotlib")
    from deqcheck.report.parts.map_picture import draw, figure

    heat = mapped.chosen(phase, None, None, ["kawaguchi2021/gd:rate_tightness"], "median")
    axes = figure(heat).axes[0]
    assert (axes.get_xscale(), axes.get_yscale()) == ("linear", "log")
    assert draw(heat, "svg") == draw(heat, "svg")
    hatched = [patch for patch in axes.patches if patch.get_hatch()]
    assert isinstance(heat, mapped.Heat)
    others = [c for row in heat.cells for c in row if c and c.outcome != "confirmed"]
    assert len(hatched) == len(others) > 0
    assert len(phase.map("model.gamma").axes[0].lines) >= 3


# For other tools.


def test_what_is_counted_has_no_tick_between_two_numbers(phase: Sweep) -> None:
    pytest.importorskip("matplotlib")
    from deqcheck.report.parts import map_picture

    heat = mapped.chosen(phase, None, None, ["kawaguchi2021/gd:slack"], "worst")
    assert isinstance(heat, mapped.Heat)
    counts = mapped.Side("data.dim", tuple(range(1, 21)), "linear")
    cells = [(row[0],) * 20 for row in heat.cells]
    axes = map_picture.figure(replace(heat, x=counts, cells=cells)).axes[0]
    ticks = axes.get_xticks()
    assert len(ticks) > 3 and all(t == round(t) for t in ticks)


def test_a_frame_and_arrays_have_the_same_numbers(phase: Sweep) -> None:
    pytest.importorskip("pandas")
    frame = phase.to_frame()
    rows = list(swept.rows(phase))
    assert len(frame) == len(rows) and list(frame.columns) == list(rows[0])
    xarray = pytest.importorskip("xarray")
    from deqcheck.report.parts.swept_arrays import dataset, netcdf

    made = dataset(phase, xarray)
    assert made.slack.dims == ("model.gamma", "train.step", "seeds.init", "check")
    assert made.outcome.shape == (3, 3, 2, 1)
    one = rows[-1]
    label = f"{one['id']} ({one['edition']}): {one['part']}: {one['check']}"
    value = made.left.sel({"model.gamma": 0.9, "train.step": 0.1, "seeds.init": 1, "check": label})
    assert float(value) == one["left"]
    again = xarray.open_dataset(io.BytesIO(netcdf(phase)), engine="scipy")
    assert again.left.equals(made.left)


def test_parquet(phase: Sweep) -> None:
    pytest.importorskip("pyarrow")
    pandas = pytest.importorskip("pandas")
    from deqcheck.report.parts.swept_arrays import parquet

    again = pandas.read_parquet(io.BytesIO(parquet(phase)))
    assert again["slack"].equals(phase.to_frame()["slack"])
