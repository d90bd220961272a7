from __future__ import annotations

import numpy as np

from deqcheck.report.parts.plot import MARGIN, Line, plot

X = np.linspace(0, 1, 50)


def cells(rows, glyph, height):
    return [
        (column, row)
        for row, text in enumerate(rows[:height])
        for column, letter in enumerate(text[MARGIN:])
        if letter == glyph
    ]


def test_an_exponential_is_a_straight_line_from_corner_to_corner():
    rows = plot([Line("decay", X, np.exp(-9 * X))], "t", width=72, height=16)
    found = cells(rows, "*", 16)
    assert (0, 0) in found
    assert (61, 15) in found
    assert len(found) == 62
    assert all(abs(row - column * 15 / 61) <= 0.5 for column, row in found)


def test_every_row_fits_and_ticks_tell_the_ends():
    rows = plot([Line("decay", X, 10.0 ** (-3 * X))], "t", width=60, height=11)
    assert max(map(len, rows)) <= 60
    assert rows[0].startswith(" 1.0e+00 |")
    assert rows[10].startswith(" 1.0e-03 |")
    assert rows[-1].strip() == "* decay"


def test_a_power_law_is_straight_on_a_logarithmic_x_axis():
    x = np.geomspace(1, 1e6, 500)
    rows = plot([Line("power", np.append(0, x), np.append(5, 1 / x))], "k", True, 71, 13)
    found = cells(rows, "*", 13)
    assert all(abs(row - column * 12 / 60) <= 0.6 for column, row in found)
    assert "k (log)" in rows[14]


def test_zero_negative_and_nan_points_are_left_out():
    y = np.array([1.0, 0.1, 0.0, -1.0, np.nan])
    rows = plot([Line("gap", np.arange(5.0), y)], "k", height=8)
    assert cells(rows, "*", 8)
    assert plot([Line("gap", np.arange(2.0), np.zeros(2))], "k") == []


def test_the_first_line_lies_on_top_and_equal_lines_take_turns():
    first, second = Line("a", X, np.exp(-X)), Line("b", X, np.exp(-9 * X))
    rows = plot([first, second, Line("c", X, second.y)], "t", height=10)
    assert rows[0][MARGIN] == "*"
    assert [row.strip() for row in rows[-3:]] == ["* a", "o b", "+ c"]
    drawn = "".join(row[MARGIN:] for row in rows[:10])
    assert abs(drawn.count("o") - drawn.count("+")) <= 1 and drawn.count("o") > 20


def test_ticks_tell_each_other_apart():
    for y in (1 - 1e-5 * X, 3 - X, 1 - 1e-9 * X, np.exp(-40 * X)):
        rows = plot([Line("flat", X, y)], "t", height=16)
        ticks = [row[: MARGIN - 2].strip() for row in rows[:16]]
        told = [tick for tick in ticks if tick]
        assert len(told) == 4 and len(set(told)) == (4 if y[0] - y[-1] > 1e-7 else len(set(told)))


def test_twelve_curves_have_twelve_markers():
    lines = [Line(f"c{i}", X, np.exp(-(i + 1) * X)) for i in range(12)]
    legend = [row.strip() for row in plot(lines, "t", height=16)[-12:]]
    assert len({entry[0] for entry in legend}) == 12


def test_a_bound_far_below_does_not_flatten_the_loss():
    rows = plot([Line("loss", X, 1 - X / 2), Line("bound", X, np.exp(-600 * X))], "t", height=10)
    assert float(rows[9].split("|")[0]) > 1e-7


def test_a_constant_is_drawn():
    assert len(cells(plot([Line("flat", X, np.ones(50))], "t"), "*", 16)) == 62
