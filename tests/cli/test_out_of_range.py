"""Numbers that leave the range of floats: a sentence and exit code 4, no warning, no verdict."""

from __future__ import annotations

import importlib
import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import deqcheck as dq
from deqcheck.judging import reports
from deqcheck.losses.ball import projected_newton
from deqcheck.losses.logistic import Logistic
from deqcheck.records.arithmetic import OutOfRange, in_range
from deqcheck.records.verdict import Status
from deqcheck.theorems.xie2021.common import Worst

SENTENCE = "Numbers left the range of floating-point arithmetic"
LOSS = "the loss is inf at the initial parameters"
GRADIENT = "the norm of the gradient is inf at the initial parameters"
README = re.search(
    r"## The case file\n+```yaml\n(.*?)```",
    (Path(__file__).parents[2] / "deqcheck" / "docs" / "cases.md").read_text(),
    re.DOTALL,
)


@pytest.fixture
def readme(tmp_path: Path) -> str:
    assert README is not None
    path = tmp_path / "readme.yaml"
    path.write_text(README[1])
    return str(path)


# Case, what is set, and why there is no result.
RUNS = [
    ("README", "data.scale=1e160", LOSS),
    ("README", "init.scale=1e200", LOSS),
    ("quickstart", "rescale.Phi=1e160", LOSS),
    ("kawaguchi2021/lemmas", "rescale.Phi=1e160", LOSS),
    ("kawaguchi2021/lemmas", "rescale.B=1e160", LOSS),
    ("kawaguchi2021/logistic", "rescale.Phi=1e160", "derivatives of the loss are not finite"),
    ("kawaguchi2021/logistic", "rescale.Phi=1e-170", "square of sigma_pos(Phi) underflows"),
    ("xie2021/layer", "rescale.X=1e160", LOSS),
    ("hieu2022/inst0-flow", "rescale.X=1e160", GRADIENT),
    ("hieu2022/inst0-flow", "rescale.U=1e160", GRADIENT),
    ("hieu2022/lemmas", "rescale.U=1e160", LOSS),
]


@pytest.mark.parametrize(
    ("case", "settings", "why"),
    [
        (
            "gao2022/f2-flow",
            ("rescale.X=1e80", "train.horizon=1e-100"),
            "no equilibrium is known to be the only one",
        ),
        ("gao2022/f4-descent", ("rescale.W=1e160",), "the norm of the gradient is inf"),
    ],
)
def test_a_run_out_of_the_certified_range_confirms_nothing(deqcheck, case, settings, why):
    changed = [word for each in (*settings, "record={points: 5}") for word in ("--set", each)]
    result = deqcheck("run", case, *changed, "--no-entry", "--quiet")
    assert result.exit_code == 4
    assert why in result.stderr
    assert "CONFIRMED" not in result.stdout and "REFUTED" not in result.stdout


@pytest.mark.parametrize(("case", "setting", "why"), RUNS)
def test_a_run_ends_in_one_sentence(deqcheck, readme, case, setting, why):
    name = readme if case == "README" else case
    result = deqcheck("run", name, "--set", setting, "--quiet")
    assert (result.exit_code, result.stdout.strip()) == (4, "")
    (line,) = result.stderr.splitlines()
    assert line.startswith(f"deqcheck: {name}: {SENTENCE}") and why in line


@pytest.mark.parametrize("form", ["table", "json", "csv", "html"])
@pytest.mark.parametrize("command", [("run",), ("bounds", "--init")])
def test_every_format_tells_it_and_judges_nothing(deqcheck, readme, command, form):
    result = deqcheck(*command, readme, "--set", "data.scale=1e160", "--format", form)
    assert (result.exit_code, result.stderr) == (4, "")
    if form == "json":
        (report,) = json.loads(result.stdout)["reports"]
        assert report["status"]["word"] == "out-of-range" and report["partial"]
        assert (report["statements"], report["notes"]) == ([], [LOSS])
    elif form != "csv":
        assert "out-of-range" in result.stdout and LOSS in result.stdout
    if form == "table":
        assert not re.search("CONFIRMED|REFUTED|HYPOTHESES|no statement", result.stdout)


def test_bounds_are_quiet_about_it_as_well(deqcheck, readme):
    result = deqcheck("bounds", "--init", readme, "--set", "data.scale=1e160", "--quiet")
    assert (result.exit_code, result.stdout.strip()) == (4, "")
    (line,) = result.stderr.splitlines()
    assert SENTENCE in line and LOSS in line


@pytest.mark.parametrize("scale", ["1e20", "1e40", "1e80", "1e140"])
def test_large_is_not_out_of_range(deqcheck, scale):
    words = ("--set", f"rescale.X={scale}", "--edition", "corrected", "--quiet")
    result = deqcheck("run", "xie2021/layer", *words)
    assert result.stderr == ""
    for statement in ("well-posed", "skip", "thm2", "lem10", "lem13"):
        assert f"CONFIRMED xie2021/{statement} " in result.stdout
    assert "REFUTED" not in result.stdout


@pytest.mark.parametrize("setting", ["data.scale=1e160", "init.scale=1e160", "data.scale=1e100"])
def test_a_gradient_that_is_lost_does_not_disagree(deqcheck, readme, setting):
    result = deqcheck("gradcheck", readme, "--set", "data.n=20", "--set", setting)
    assert (result.exit_code, result.stdout) == (4, "")
    (line,) = result.stderr.splitlines()
    assert line.startswith("deqcheck: out of range: the norm of the gradient is ")


def test_a_loss_that_is_lost_nearby_does_not_disagree(deqcheck, case, monkeypatch):
    module = importlib.import_module("deqcheck.gradcheck")

    monkeypatch.setattr(module, "_slope", lambda *_: (np.nan, 0.0))
    result = deqcheck("gradcheck", case)
    assert (result.exit_code, result.stdout) == (4, "")
    assert "the loss is not finite near the initial A" in result.stderr


def test_a_search_among_lost_numbers_finds_nothing_and_says_so(deqcheck):
    words = ("bounds", "--init", "--search", "hieu2022/inst0-flow", "--set", "rescale.X=1e160")
    result = deqcheck(*words)
    assert (result.exit_code, result.stdout) == (4, "")
    assert result.stderr.startswith("deqcheck: out of range: ")


@pytest.mark.parametrize(("scale", "why"), [("1e160", LOSS), ("1e80", GRADIENT)])
def test_no_slice_is_cut_through_lost_numbers(deqcheck, scale, why):
    words = ("slice", "hieu2022/landscape", "--points", "3", "--set", f"rescale.X={scale}")
    result = deqcheck(*words)
    assert (result.exit_code, result.stdout) == (4, "")
    assert result.stderr == f"deqcheck: out of range: {why}\n"


def test_a_factor_that_overflows_is_a_bad_case(deqcheck):
    result = deqcheck("run", "quickstart", "--set", "rescale.Phi=1e308")
    assert result.exit_code == 2
    assert "rescale.Phi: 1e+308 takes Phi out of the range of floats" in result.stderr


def test_the_other_cases_are_run(deqcheck, case, tmp_path):
    huge = tmp_path / "huge.yaml"
    huge.write_text(Path(case).read_text() + "rescale: {Phi: 1e160}\n")
    result = deqcheck("run", case, str(huge), case, "--format", "json")
    assert result.exit_code == 4
    words = [report["status"]["word"] for report in json.loads(result.stdout)["reports"]]
    assert words == ["completed", "out-of-range", "completed"]


@pytest.mark.parametrize(
    ("expect", "code"), [("", 4), ("expect: {status: out-of-range}\n", 0)], ids=["open", "expected"]
)
@pytest.mark.parametrize("command", ["run", "ci", "power"])
def test_it_may_be_expected(deqcheck, case, tmp_path, command, expect, code):
    huge = tmp_path / "huge.yaml"
    huge.write_text(Path(case).read_text() + "rescale: {Phi: 1e160}\n" + expect)
    result = deqcheck(command, str(huge))
    assert result.exit_code == code
    told = "out-of-range" in result.stdout + result.stderr
    assert told or (command, code) in [("ci", 0), ("power", 0)]


def test_nothing_reaches_the_streams_of_a_real_process(readme):
    """Warnings of NumPy, and what LAPACK prints by itself."""
    for words in (
        ("bounds", "--init", readme, "--set", "data.scale=1e160"),
        ("run", "kawaguchi2021/logistic", "--set", "rescale.Phi=1e160"),
    ):
        done = subprocess.run(
            [sys.executable, "-W", "error", "-m", "deqcheck", *words, "--quiet"],
            capture_output=True,
            text=True,
            timeout=100,
        )
        assert (done.returncode, done.stdout.strip()) == (4, ""), done
        assert len(done.stderr.splitlines()) == 1


class TestTheNet:
    @pytest.mark.parametrize(
        "failure",
        [
            OverflowError(34, "Numerical result out of range"),
            ZeroDivisionError("float division by zero"),
            FloatingPointError("overflow"),
            np.linalg.LinAlgError("SVD did not converge"),
            ValueError("array must not contain infs or NaNs"),
        ],
        ids=lambda failure: type(failure).__name__,
    )
    def test_failures_of_arithmetic_are_one_kind(self, delm, monkeypatch, failure):
        def fail(*_):
            raise failure

        monkeypatch.setattr(reports, "quantities", fail)
        for command in (reports.run, reports.bounds):
            report = command(delm())
            assert report.status is Status.OUT_OF_RANGE and report.verdicts == ()
            (note,) = report.notes
            assert note.endswith(str(failure.args[-1])) and note.startswith("at reports.py:")

    @pytest.mark.parametrize(
        "bug",
        [
            TypeError("x"),
            KeyError("x"),
            ValueError("x"),
            ValueError("could not convert: array must not contain infs or NaNs"),
            AssertionError("x"),
            FileNotFoundError("x"),
        ],
        ids=repr,
    )
    def test_bugs_pass_through(self, bug):
        with pytest.raises(type(bug)), in_range():
            raise bug

    def test_no_warning_leaves_it(self):
        with in_range():
            assert np.isinf(np.array([1e200]) ** 2).all()

    def test_what_is_out_of_range_already_stays(self):
        with pytest.raises(OutOfRange, match=r"^why$"), in_range():
            raise OutOfRange("why")


def test_newton_does_not_hand_lost_numbers_to_lapack(capfd):
    with pytest.raises(FloatingPointError, match="not finite"):
        projected_newton(
            lambda w: 1.0,
            lambda w: np.ones(2),
            lambda w: np.full((2, 2), np.inf),
            np.zeros(2),
            np.inf,
        )
    assert capfd.readouterr() == ("", "")


def test_an_uncertain_rank_certifies_no_infimum(monkeypatch):
    """Its lower end is -inf, whose square must not pass for strong convexity."""
    Phi = np.array([[1.0, 2.0, -1.0], [1.0, 2.0, -1.0]])
    outer = Logistic(tau=0.1).on(Phi, np.array([[1.0, 0.0, 1.0]]))
    assert outer.infimum.error < 1e-9
    doubtful = Logistic(tau=0.1).on(Phi, np.array([[1.0, 0.0, 1.0]]))
    monkeypatch.setattr(type(doubtful.factored), "certain", False)
    assert doubtful.infimum.error == np.inf


@pytest.mark.parametrize("lost", [np.nan, np.inf])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_the_worst_of_several_is_the_lost_one(lost, place):
    seen = [1.0, 3.0, 2.0]
    worst = Worst()
    for value in seen:
        worst.see(value, 0.5)
    assert (worst.value.value, worst.noise) == (3.0, 0.5)
    seen[place] = lost
    worst = Worst()
    for value in seen:
        worst.see(value, 0.5)
    assert worst.value.error == np.inf
    assert Worst().value.error == np.inf


def test_a_statement_that_looks_where_there_is_no_equilibrium_is_left_open(deqcheck):
    """The others are judged all the same."""
    words = ("run", "gao2022/lemmas", "--set", "rescale.b=1e120", "--format", "json")
    found = {s["id"]: s for s in json.loads(deqcheck(*words).stdout)["reports"][0]["statements"]}
    assert found["gao2022/lem3.1"]["outcome"] == "confirmed"
    assert found["gao2022/lem4.1"]["outcome"] == "undecided"
    by_name = {c["name"]: c for c in found["gao2022/lem4.1"]["conclusions"]}
    # Sums of squares that overflow are no norms.
    assert by_name["H by Hadamard products is that of (11)"]["decision"] == "holds"


@pytest.mark.parametrize("sides", [(np.inf, 1.0), (np.nan, 1.0), (1.0, np.inf), (np.inf, np.inf)])
def test_a_deviation_that_overflows_is_left_open(sides):
    distance, noise = sides
    claim = dq.Check("the same", "distance <= noise")(distance=distance, noise=noise)
    assert claim.judge().decision == "undecided"
