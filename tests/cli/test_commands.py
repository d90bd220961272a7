from __future__ import annotations

import json

import pytest

from deqcheck.judging import catalogue

GD = "kawaguchi2021/gd"


@pytest.mark.parametrize("form", ["json", "csv", "table"])
def test_run_writes_every_format(deqcheck, case, form):
    result = deqcheck("run", case, "--format", form, "--edition", "printed")
    assert (result.exit_code, result.stderr) == (0, "")
    assert GD in result.stdout


def test_stdout_is_clean_json(deqcheck, case):
    document = json.loads(deqcheck("run", case, "--format", "json").stdout)
    (report,) = document["reports"]
    assert document["schema"] == "deqcheck-report/2" and "schema" not in report
    assert report["replay"] == f"deqcheck run {case}"
    assert len(report["trajectory"]["k"]) == 6


def test_options_change_the_case(deqcheck, case):
    words = ("--seed", "7", "--set", "train.steps=3", "--format", "json")
    (report,) = json.loads(deqcheck("run", case, *words).stdout)["reports"]
    assert report["case"]["resolved"]["seed"] == 7
    assert report["trajectory"]["steps"] == 3
    assert report["replay"].endswith("--set train.steps=3 --seed 7")


def test_both_editions_are_judged(deqcheck, case):
    result = deqcheck("run", case, "--edition", "both", "--only", GD, "--format", "json")
    found = [(s["id"], s["edition"]) for s in json.loads(result.stdout)["reports"][0]["statements"]]
    assert found == [(GD, "printed"), (GD, "corrected")]


def test_quiet_leaves_the_verdict_lines(deqcheck, case):
    result = deqcheck("run", case, case, "--quiet", "--only", GD, "--edition", "printed")
    assert result.stdout.splitlines() == [f"CONFIRMED {GD} (printed) {case}"] * 2


def test_several_cases_make_one_document(deqcheck, case):
    document = json.loads(deqcheck("run", case, case, "--format", "json").stdout)
    assert len(document["reports"]) == 2


def test_bounds_need_no_training(deqcheck, case):
    result = deqcheck("bounds", "--init", case, "--format", "json")
    (report,) = json.loads(result.stdout)["reports"]
    assert result.exit_code == 0
    assert "trajectory" not in report
    assert report["quantities"]["loss"]["value"] > 0


def test_bounds_are_those_of_the_initialisation_with_or_without_saying_so(deqcheck, case):
    said, unsaid = (deqcheck("bounds", case, *words) for words in (("--init",), ()))
    assert said.exit_code == unsaid.exit_code == 0
    assert said.stdout == unsaid.stdout


def test_validate_says_ok_with_the_digest(deqcheck, case):
    result = deqcheck("validate", case)
    assert result.exit_code == 0
    assert result.stdout.startswith(f"{case}: ok (digest ")


def test_validate_goes_on_after_a_bad_case(deqcheck, case, tmp_path):
    bad = tmp_path / "bad.yaml"
    bad.write_text("deqcheck: 1\nmodle: {kind: delm}\n")
    result = deqcheck("validate", str(bad), case)
    assert result.exit_code == 2
    assert f"{bad}:2: modle:" in result.stderr
    assert f"{case}: ok" in result.stdout


def test_gradcheck_agrees(deqcheck, case):
    result = deqcheck("gradcheck", case, "--format", "json")
    assert result.exit_code == 0
    assert {a["parameter"]: a["agrees"] for a in json.loads(result.stdout)} == {
        "A": True,
        "B": True,
    }
    assert "agrees" in deqcheck("gradcheck", case).stdout


def test_gradcheck_fails_if_one_disagrees(deqcheck, case, monkeypatch):
    from deqcheck.cli.commands import gradcheck
    from deqcheck.gradcheck import Agreement

    wrong = Agreement("A", 1.0, 0.5, float("inf"), 1e-9, 1e-6)
    monkeypatch.setattr(gradcheck, "gradcheck", lambda problem: (wrong,))
    assert "DISAGREES" in deqcheck("gradcheck", case).stdout
    result = deqcheck("gradcheck", case, "--format", "json")
    assert result.exit_code == 1
    assert json.loads(result.stdout)[0]["differences"] is None


def test_theorems_lists_and_shows(deqcheck):
    assert GD in deqcheck("theorems").stdout
    entries = json.loads(deqcheck("theorems", "--format", "json").stdout)
    entry = next(e for e in entries if e["id"] == GD)
    assert entry["model"] == "delm"
    assert entry["dynamics"] == ["gd"]
    shown = json.loads(deqcheck("theorems", "show", GD, "--format", "json").stdout)
    assert entry.items() <= shown.items()
    page = " ".join(deqcheck("theorems", "show", GD).stdout.split())
    assert shown["erratum"] in page
    assert all(check["formula"] in page for check in shown["checks"])


def test_an_unknown_theorem_gets_a_suggestion(deqcheck):
    result = deqcheck("theorems", "show", "kawaguchi2021/gdd")
    assert result.exit_code == 2
    assert f"did you mean {GD!r}?" in result.stderr


def test_an_unknown_command_is_bad_usage(deqcheck):
    assert deqcheck("rum").exit_code == 2


def test_the_ids_of_the_catalogue_are_whole(deqcheck):
    shown = {line.split()[0] for line in deqcheck("theorems").stdout.splitlines() if "/" in line}
    assert set(catalogue()) <= shown
