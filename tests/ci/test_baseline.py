"""Deviations from the baseline: found, told in the right direction, and only when real."""

from __future__ import annotations

import copy
import json
from pathlib import Path

import pytest

from deqcheck.ci import baseline as base
from deqcheck.ci.compare import changes, updated

pytestmark = pytest.mark.usefixtures("inline")

CASES = Path(__file__).parents[2] / "cases"
CHECK = {"decision": "holds", "slack": 2.0, "slack_error": 1e-9}
RATE = {"rate_tightness": 0.5, "rate_tightness_error": 1e-9}
ENTRY = {
    "digest": "d",
    "status": "completed",
    "statements": {
        "a/thm1 (corrected)": {
            "outcome": "confirmed",
            "hypotheses": {"small": {"decision": "holds", "margin": 3.0, "margin_error": 0.0}},
            "conclusions": {"bound": CHECK | RATE},
        }
    },
}


def other(part: str | None = None, name: str = "", **numbers):
    entry = copy.deepcopy(ENTRY)
    statement = entry["statements"]["a/thm1 (corrected)"]
    (statement[part][name] if part else statement).update(numbers)
    return entry


@pytest.mark.parametrize(
    ("after", "told"),
    [
        (other(outcome="refuted"), "a/thm1 (corrected): outcome changed: confirmed -> refuted"),
        (
            other("conclusions", "bound", decision="violated"),
            "a/thm1 (corrected): bound: decision changed: holds -> violated",
        ),
        (
            other("conclusions", "bound", slack=2.1),
            "a/thm1 (corrected): bound: slack looser: 2 -> 2.1",
        ),
        (
            other("conclusions", "bound", slack=1.9),
            "a/thm1 (corrected): bound: slack tighter: 2 -> 1.9",
        ),
        (
            other("conclusions", "bound", rate_tightness=0.6),
            "a/thm1 (corrected): bound: rate tightness tighter: 0.5 -> 0.6",
        ),
        (
            other("hypotheses", "small", margin=2.5),
            "a/thm1 (corrected): small: margin narrower: 3 -> 2.5",
        ),
        (
            other(conclusions={}),
            "a/thm1 (corrected): bound: check missing compared with the baseline",
        ),
        (
            ENTRY | {"statements": {}},
            "a/thm1 (corrected): statement missing compared with the baseline",
        ),
        (ENTRY | {"status": "diverged"}, "status changed: completed -> diverged"),
    ],
)
def test_a_change_is_told(after, told):
    (change,) = changes(ENTRY, after, 1e-4)
    assert change.fails and change.sentence == told


def test_what_is_new_is_told_but_does_not_fail():
    (change,) = changes(ENTRY | {"statements": {}}, ENTRY, 1e-4)
    assert not change.fails
    assert change.sentence == "a/thm1 (corrected): statement new compared with the baseline"


@pytest.mark.parametrize(
    ("slack", "error", "allowance", "moved"),
    [
        (2.0001, 0.0, 1e-4, False),
        (2.0003, 0.0, 1e-4, True),
        (2.0003, 1e-3, 1e-4, False),
        (2.0001, 0.0, 0.0, True),
        (2.5, 0.0, 0.3, False),
    ],
)
def test_error_bars_and_allowance_are_granted(slack, error, allowance, moved):
    after = other("conclusions", "bound", slack=slack, slack_error=error)
    assert bool(changes(ENTRY, after, allowance)) is moved


def test_a_number_that_becomes_unknown_is_a_change():
    after = copy.deepcopy(ENTRY)
    del after["statements"]["a/thm1 (corrected)"]["conclusions"]["bound"]["slack"]
    (change,) = changes(ENTRY, after, 1e-4)
    assert change.sentence.endswith("slack changed: 2 -> unknown")


ROUNDING = {"decision": "holds", "rounding": True}


def test_where_both_sides_are_rounding_only_the_decision_is_compared():
    entries = {"relation": "<=", "left": {"value": 1e-16, "error": None}, "rounding": True}
    entries |= {"decision": "holds", "right": {"value": 1e-12, "error": None}, "ratio": 1e4}
    assert base._check(entries, "slack") == ROUNDING
    entries["rounding"] = False
    assert base._check(entries, "slack")["slack"] == 1e4
    # Written before the baseline knew of rounding.
    after = other(conclusions={"bound": ROUNDING})
    assert changes(ENTRY, after, 1e-4) == ()
    assert changes(after, after, 1e-4) == ()
    violated = other(conclusions={"bound": ROUNDING | {"decision": "violated"}})
    (change,) = changes(after, violated, 1e-4)
    assert change.sentence == "a/thm1 (corrected): bound: decision changed: holds -> violated"
    assert updated(ENTRY, after, 1e-4) == after


def test_two_computations_of_one_number_are_known_by_their_formula(deqcheck, tmp_path):
    """Another machine rounds otherwise; the slack of such a check is not kept."""
    path = tmp_path / "baseline.json"
    case = CASES / "kawaguchi2021" / "lemmas.yaml"
    assert deqcheck("ci", case, "--baseline", path, "--update-baseline").exit_code == 0
    statements = json.loads(path.read_text())["cases"]["lemmas"]["statements"]
    gradient = statements["kawaguchi2021/gradient (corrected)"]["conclusions"]
    assert gradient["against central differences [2]"] == ROUNDING
    assert gradient["against the Kronecker form"] == ROUNDING
    assert "slack" in statements["kawaguchi2021/D (corrected)"]["conclusions"]["printed floor"]


def test_an_update_writes_only_real_changes():
    noise = other("conclusions", "bound", slack=2.00001)
    assert updated(ENTRY, noise, 1e-4) == ENTRY
    real = other("conclusions", "bound", slack=2.01)
    assert updated(ENTRY, real, 1e-4) == real


def test_rounding_is_inside_the_radius_that_is_written():
    for value in (1 / 3, 123456.789012345, 1e-300 / 7):
        kept = base._number("slack", value, 0.0)
        assert abs(kept["slack"] - value) <= kept["slack_error"]


@pytest.fixture
def agreed(deqcheck, write, tmp_path):
    """Two cases, their store and their baseline."""
    write("a")
    words = ("ci", write("b", seed=1), "--baseline", tmp_path / "baseline.json")
    words += ("--store", tmp_path / "store")
    assert deqcheck(*words, "--update-baseline").exit_code == 0
    return words, tmp_path / "baseline.json"


def test_a_second_run_agrees_and_a_second_update_changes_no_byte(deqcheck, agreed):
    words, path = agreed
    text = path.read_text()
    assert deqcheck(*words).exit_code == 0
    assert deqcheck(*words, "--update-baseline").exit_code == 0
    assert path.read_text() == text
    document = json.loads(text)
    assert list(document) == sorted(document)
    assert list(document["cases"]) == ["a", "b"]


def test_an_update_says_what_it_wrote(deqcheck, agreed):
    words, path = agreed
    done = deqcheck(*words, "--update-baseline")
    assert done.stderr == f"baseline {path} was written; cases in it: 2\n"
    assert deqcheck(*words).stderr == ""


def test_a_looser_bound_fails_and_an_update_accepts_it(deqcheck, agreed):
    words, path = agreed
    document = json.loads(path.read_text())
    document["relative_allowance"] = 1e-3
    label, check = "kawaguchi2021/gd (corrected)", "each step contracts the gap"
    conclusions = document["cases"]["a"]["statements"][label]["conclusions"]
    conclusions[check]["slack"] *= 0.99
    path.write_text(json.dumps(document))
    done = deqcheck(*words)
    assert done.exit_code == 1
    assert f"{label}: {check}: slack looser: " in done.stdout
    assert "2 cases: 1 ok, 1 failed" in done.stdout
    assert deqcheck(*words, "--update-baseline").exit_code == 0
    assert deqcheck(*words).exit_code == 0
    assert json.loads(path.read_text())["relative_allowance"] == 1e-3


def test_a_lost_case_fails_and_a_new_one_is_noted(deqcheck, agreed, write):
    words, path = agreed
    (write("c", seed=2) / "b.yaml").unlink()
    done = deqcheck(*words)
    assert done.exit_code == 1
    assert "MISSING b: in the baseline, but there is no case of this name" in done.stdout
    assert "note: not in the baseline" in done.stdout
    assert deqcheck(*words, "--update-baseline").exit_code == 0
    assert list(json.loads(path.read_text())["cases"]) == ["a", "c"]


def test_a_changed_case_is_noted(deqcheck, agreed, write):
    words, _ = agreed
    write("a", seed=7)
    assert "note: the case itself was changed since the baseline" in deqcheck(*words).stdout


def test_an_update_keeps_the_entry_of_a_case_that_did_not_run(deqcheck, agreed, write):
    words, path = agreed
    before = json.loads(path.read_text())
    (write("b", seed=1) / "a.yaml").write_text("deqcheck: 2\n")
    assert deqcheck(*words, "--update-baseline").exit_code == 2
    assert json.loads(path.read_text()) == before


def test_a_baseline_that_cannot_be_written_is_as_it_was(deqcheck, agreed, write, monkeypatch):
    words, path = agreed
    before = path.read_text()
    write("c", seed=2)
    deqcheck(*words)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    done = deqcheck(*words, "--update-baseline")
    assert done.exit_code == 2
    assert done.stderr == f"cannot write {path}: No space left on device; it is as it was\n"
    assert "3 cases: 3 ok" in done.stdout
    assert path.read_text() == before
