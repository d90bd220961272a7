"""Commands on a file that states several cases."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from deqcheck.report.parts import picture

ONLY = ("--only", "kawaguchi2021/gd", "--edition", "printed")
SWEEP = "sweep: {steps: {train.step: [1e-3, 2e-3]}, seeds: {seed: [4]}}\n"
NAMES = ("[steps: train.step=0.001]", "[steps: train.step=0.002]", "[seeds: seed=4]")


@pytest.fixture
def sweep(case) -> str:
    with Path(case).open("a") as file:
        file.write(SWEEP)
    return case


def test_every_member_is_run(deqcheck, sweep):
    result = deqcheck("run", sweep, *ONLY, "--quiet")
    expected = [f"CONFIRMED kawaguchi2021/gd (printed) {sweep}{name}" for name in NAMES]
    assert (result.exit_code, result.stdout.splitlines()) == (0, expected)


def test_json_tells_the_place_of_each(deqcheck, sweep):
    reports = json.loads(deqcheck("run", sweep, *ONLY, "--format", "json").stdout)["reports"]
    places = [report["case"]["sweep"] for report in reports]
    assert places[1] == {"name": "steps", "settings": {"train.step": "0.002"}}
    assert len({report["case"]["digest"] for report in reports}) == 3


def test_a_replay_line_does_that_member_again(deqcheck, sweep):
    told = json.loads(deqcheck("run", sweep, *ONLY, "--format", "json").stdout)["reports"][1]
    words = told["replay"].split()
    assert words[:2] == ["deqcheck", "run"]
    (again,) = json.loads(deqcheck(*words[1:], *ONLY, "--format", "json").stdout)["reports"]
    assert again["case"]["digest"] == told["case"]["digest"]
    assert again["statements"] == told["statements"]


def test_the_table_ends_with_each_sweep_side_by_side(deqcheck, sweep):
    text = deqcheck("run", sweep, *ONLY).stdout
    steps, seeds = text[text.index("\nsweep steps\n") :].split("\nsweep seeds\n")
    assert "train.step  run    last loss" in steps
    rows = [line.split() for line in steps.splitlines()]
    falls = {row[0]: float(row[4]) for row in rows if row[1:3] == ["k", "="]}
    # The larger step falls further.
    assert 0 < falls["0.002"] < falls["0.001"] < 1
    assert "* train.step = 0.001" in steps and "o train.step = 0.002" in steps
    assert "4     k = 5" in seeds


def test_before_training_there_is_no_fall(deqcheck, sweep):
    text = deqcheck("bounds", "--init", sweep, *ONLY).stdout
    assert "last loss" not in text
    assert "1 hypotheses hold" in text[text.index("\nsweep steps\n") :]


def test_the_page_has_the_table_and_one_picture_for_each_sweep(deqcheck, sweep):
    page = deqcheck("run", sweep, *ONLY, "--format", "html").stdout
    assert page.count('<h2 id="sweep-') == 2
    assert "Loss along the sweep steps" in page and "train.step = 0.002" in page


@pytest.mark.skipif(not picture.available(), reason="no matplotlib")
def test_the_picture_shows_the_sweeps(deqcheck, sweep, tmp_path):
    file = tmp_path / "run.svg"
    assert deqcheck("run", sweep, *ONLY, "--quiet", "--plot", str(file)).exit_code == 0
    text = file.read_text()
    assert "Loss along the sweep steps" in text and "Loss along the sweep seeds" in text
    other = deqcheck("run", sweep, "quickstart", "--plot", str(tmp_path / "two.svg"))
    assert other.stderr == "--plot draws one case; 4 were given\n"


def test_validate_names_every_member(deqcheck, sweep):
    lines = deqcheck("validate", sweep).stdout.splitlines()
    assert [line.split(": ok (digest ")[0] for line in lines] == [f"{sweep}{n}" for n in NAMES]


def test_what_is_wrong_with_all_members_is_said_once(deqcheck, sweep):
    text = Path(sweep).read_text()
    Path(sweep).write_text(
        text.replace("init: {kind: gaussian", "init: {kind: values, A: [[1]]} #")
    )
    for command in ("run", "validate"):
        result = deqcheck(command, sweep)
        assert result.exit_code == 2
        assert len(result.stderr.splitlines()) == 1


@pytest.mark.parametrize("command", ["gradcheck", "slice"])
def test_commands_for_one_case_ask_which(deqcheck, sweep, command):
    result = deqcheck(command, sweep)
    assert result.exit_code == 2
    assert "sweep: states 3 cases; expected one: choose it, such as by --set" in result.stderr
