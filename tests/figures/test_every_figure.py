"""Every figure, at a tiny size, through the same code; and what is said of it, from its curves."""

from __future__ import annotations

import json
import re
from importlib.resources import files

import jsonschema
import numpy as np
import pytest

from deqcheck import docs
from deqcheck.case import embedded
from deqcheck.figures import Setup, figures, make
from deqcheck.records.figure import Axes, Grid, Line, Picture, Word, sentence
from deqcheck.report.figures import drawn
from deqcheck.report.json import dumps
from deqcheck.theorems.base import Check

IMAGES = {"n": 6, "n_test": 6, "m": 4, "batch": 4, "epochs": 4, "trials": 2, "rates": (0.01, 0.001)}
GAO = {"n": 6, "side": 4, "width": 8, "epochs": 6}
LAYER = {"n": 4, "side": 4, "channels": 4, "groups": 2}
CUT = {**LAYER, "n": 8, "classes": 2, "epochs": 1, "batch": 8, "points": 3, "seen": 1, "cuts": 1}
XIE = {"n": 3, "side": 2, "m": 4, "depth": 2, "draws": 2, "alphas": (0.1, 1.0)}
TINY = {
    "kawaguchi2021/fig1": {**IMAGES, "sets": 1},
    "kawaguchi2021/fig2a": {"n": 40, "dim": 3, "steps": 40, "step": 1e-3},
    "kawaguchi2021/fig2b": {"n": 40, "dim": 3, "steps": 40, "step": 1e-3},
    "kawaguchi2021/fig2c": {"n": 40, "dim": 3, "steps": 60, "step": 1e-3},
    "kawaguchi2021/fig3": {"n": 20, "dim": 3, "steps": 60},
    "kawaguchi2021/fig4": {**IMAGES, "sets": 1},
    "kawaguchi2021/fig5": {**IMAGES, "sets": 1},
    "kawaguchi2021/fig6": {**IMAGES, "sets": 1, "epochs": 1},
    "kawaguchi2021/fig7": {**IMAGES, "sets": 1, "epochs": 1},
    "kawaguchi2021/fig8": {**IMAGES, "sets": 1},
    "ling2022/fig1": {"n": 5, "side": 3, "widths": (6, 12), "steps": 6},
    "gao2022/table1": {**GAO, "gammas": (0.1, 0.5)},
    **{f"gao2022/fig{i}": {**GAO, "widths": (6, 12)} for i in (1, 4)},
    **{f"gao2022/fig{i}": {**GAO, "gammas": (0.1, 0.5)} for i in (2, 6)},
    **{f"gao2022/fig{i}": {**GAO, "steps": (10.0, 1.0)} for i in (3, 5)},
    "hieu2022/fig3.1": CUT,
    "hieu2022/fig4.1": {**LAYER, "steps": 4, "draws": 2},
    "hieu2022/fig4.2": {**LAYER, "steps": 4, "draws": 2},
    "hieu2022/fig4.3": {**LAYER, "n": 8, "classes": 2, "epochs": 2, "batch": 8, "shown": 4},
    "hieu2022/fig4.4": CUT,
    "hieu2022/fig4.5": CUT,
    "hieu2022/kernel-table": {"draws": 2},
    "xie2021/table1": XIE,
    "xie2021/table2": {"n": 4, "side": 2, "m": 3, "steps": 4, "draws": 2},
    "xie2021/table3": XIE,
}


@pytest.fixture(scope="module")
def pictures() -> dict[str, Picture]:
    return {id_: make(id_, sizes=sizes) for id_, sizes in TINY.items()}


def test_every_figure_is_here_listed_and_documented() -> None:
    assert set(TINY) == set(figures())
    told = docs.text("figures", embedded.cases)
    for id_, figure in figures().items():
        assert f"`{id_}`" in told
        assert figure.__doc__ and figure.number and figure.title
        assert id_.partition("/")[0] == figure.__module__.split(".")[-2]
        assert set(figure.quick) == set(figure.full)
        for variant in figure.variants:
            assert f"`{variant}`" in told


@pytest.mark.parametrize("id_", TINY)
def test_a_figure_is_judged_and_says_what_it_shows(id_: str, pictures: dict[str, Picture]) -> None:
    picture = pictures[id_]
    assert picture.axes and picture.sentences
    assert "a size of one's own" in picture.headline
    for each in picture.sentences:
        assert each.text and (each.claims or each.word is Word.NOT_DECIDED)
        for claim in each.claims:
            # No decision without an error bar that allows for it.
            low, high = claim.left.value - claim.left.error, claim.left.value + claim.left.error
            right = claim.right.value
            sides = {"<": low < right, "<=": low <= right, ">": high > right, ">=": high >= right}
            if claim.decision.value == "holds":
                assert sides[claim.relation]
    schema = files("deqcheck.report") / "schema" / "deqcheck-figures-1.json"
    made = {"schema": "deqcheck-figures/1", "environment": {}, "figures": [picture.to_dict()]}
    jsonschema.validate(json.loads(dumps(made)), json.loads(schema.read_text()))


@pytest.mark.parametrize("id_", TINY)
def test_every_part_has_a_cost(id_: str) -> None:
    figure = figures()[id_]()
    for variant in figure.variants or ("",):
        s = Setup(figure.full, variant)
        assert all(figure.cost(s, part) > 0 for part in figure.parts(s))


# Numbers of the papers themselves: a single minimum, a norm below 1, the bound of a corollary.
THEIRS = {"minima <= 1", "norm_W < 1", "gap/gap_0 <= exp(-2*kappa*lambda_T*t)"}


@pytest.mark.parametrize("id_", TINY)
def test_a_threshold_that_the_paper_does_not_name_is_called_ours(
    id_: str, pictures: dict[str, Picture]
) -> None:
    for each in pictures[id_].sentences:
        formulas = {claim.formula for claim in each.claims} - THEIRS
        if any(re.search(r"[1-9]", formula) for formula in formulas):
            assert "our threshold" in each.note or "our choice" in each.note, each


def test_stand_ins_are_told_in_the_title_and_where_to_put_the_images(
    pictures: dict[str, Picture],
) -> None:
    for id_, picture in pictures.items():
        drawn_sets = figures()[id_].images
        assert bool(drawn_sets) == ("synthetic stand-in for" in picture.headline), id_
        assert bool(drawn_sets) == any("stand-in" in note for note in picture.notes), id_
    told = " ".join(pictures["ling2022/fig1"].notes)
    assert "train-images-idx3-ubyte" in told and "DIR/mnist and give --images DIR" in told


def test_lines_bands_contours_and_surfaces_are_drawn() -> None:
    pytest.importorskip("matplotlib")
    x = np.arange(1.0, 4.0)
    # What diverges, and a gap between two paths, must not break the axes.
    lines = (
        Line("a", x, np.array([1.0, 1e300, np.inf]), band=x),
        Line("b", x, np.array([1.0, np.nan, 2.0])),
        Line("level", x, x, level=True),
    )
    z = np.add.outer(x**2, x)
    axes = (
        Axes("lines", "x", "y", lines, log_x=True, log_y=True),
        Axes("linear", "x", "y", lines),
        Axes("contours", "x", "y", grid=Grid(x, x, z, "loss")),
        Axes("surface", "x", "y", grid=Grid(x, x, z, "loss", surface=True)),
    )
    claim = Check("a name", "left <= right")(left=1.0, right=2.0)
    said = (sentence("what $ the paper says", [claim]),)
    picture = Picture("a/b", "A, Figure 1", "title", ("quick",), axes, (), said, columns=2)
    assert b"supports: what" in drawn(picture, "svg")


def test_the_bounds_of_figure_2c(pictures: dict[str, Picture]) -> None:
    """From plain arrays: the infimum of the loss and the bound for any start."""
    from deqcheck.data.drawn import GaussianData
    from deqcheck.targets import NegatedInput

    X, Y = GaussianData(n=40, dim=3, target=NegatedInput(noise=0.1)).samples(1)
    lines = {line.label: line for line in pictures["kawaguchi2021/fig2c"].axes[0].lines}
    W = np.linalg.lstsq(X.T, Y.T, rcond=None)[0].T
    best = ((W @ X - Y) ** 2).sum()
    assert lines["optimal loss"].y[0] == pytest.approx(best, rel=1e-9)
    loss = lines["training trajectory"].y
    # kappa of the square loss is 2 lambda_min(X X^T).
    kappa = 2 * np.linalg.eigvalsh(X @ X.T)[0]
    t = 1e-3 * np.arange(61)
    bound = best + (loss[0] - best) * np.exp(-2 * kappa * t / (3 * 1.8**2))
    assert lines["bound with 1/(m (1 + gamma)^2)"].y == pytest.approx(bound, rel=1e-9)


def test_a_wider_model_is_compared_with_a_narrower_one(pictures: dict[str, Picture]) -> None:
    picture = pictures["ling2022/fig1"]
    first, second = picture.axes[0].lines
    claim = picture.sentences[1].claims[0]
    assert (claim.left.value, claim.right.value) == (second.y[-1], first.y[-1])
    third = picture.sentences[0].claims[0]
    assert (third.left.value, third.right.value) == (second.y[2], first.y[2])


def test_a_rise_of_the_loss_is_the_largest(pictures: dict[str, Picture]) -> None:
    picture = pictures["gao2022/fig3"]
    large = picture.axes[0].lines[0]
    claim = picture.sentences[0].claims[0]
    assert claim.left.value == pytest.approx(np.diff(large.y).max(), rel=1e-12)


def test_shares_and_minima_of_a_plane() -> None:
    from deqcheck.figures.hieu2022.landscape import minima, share_below

    axis = np.linspace(-1, 1, 9)
    a, b = np.meshgrid(axis, axis)
    bowl, two = a**2 + b**2, (a**2 - 0.25) ** 2 + b**2
    sharp, blurred = np.zeros((9, 9)), np.full((9, 9), 0.02)
    for grid, error, low, high in (
        (bowl, sharp, 1, 1),
        (two, sharp, 2, 2),
        # The two are too shallow to be told from the ridge between them, where others may be.
        (two, blurred, 0, 5),
    ):
        found = minima(grid, error)
        assert (found.value - found.error, found.value + found.error) == (low, high)
    made = {"cuts": np.stack([bowl, two]), "errors": np.stack([sharp, sharp]), "axis": axis}
    shares, unsure = share_below(made, 0.3)
    assert shares.tolist() == [(bowl < 0.3).sum() / 81, (two < 0.3).sum() / 81]
    assert unsure == pytest.approx(1 / 81)
    made["errors"] = np.stack([0.1 + sharp, sharp])
    assert share_below(made, 0.3)[1] == pytest.approx(
        ((bowl < 0.4).sum() - (bowl < 0.2).sum()) / 162 + 1 / 81
    )
