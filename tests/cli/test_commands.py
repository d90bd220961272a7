from __future__ import annotations

import json
import re

import pytest

from deqcheck.judging import catalogue
from deqcheck.report.parts.notation import in_unicode, latex

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
    unmarked = page.replace("⟦", "").replace("⟧", "")
    assert all(in_unicode(check["formula"], GD) in unmarked for check in shown["checks"])
    assert {check["role"] for check in shown["checks"]} == {"assumed", "claimed"}


def test_a_statement_is_told_in_the_order_of_a_reader(deqcheck):
    page = deqcheck("theorems", "show", "hieu2022/thm3.3.5").stdout
    told = [line for line in page.splitlines() if line and not line.startswith(" ")]
    order = ["FALSE AS PRINTED", "assumed", "claimed", "free constants", "cases", "proof map"]
    assert [line for line in told if line in order] == order
    # Both editions beside each other, with what differs in brackets.
    row = page[page.index("room for Z") :]
    assert re.match(r".*\n +printed +corrected\n +λ₀³ ≥ ⟦8⟧.* λ₀³ ≥ ⟦16⟧.*⟦/m²⟧", row)
    refuting = "deqcheck run hieu2022/gd-counterexample-wide --only hieu2022/thm3.3.5"
    assert f"    {refuting} --edition printed\n" in page
    assert "‖X‖_F X" in page


def test_a_command_that_a_statement_names_gives_what_it_promises(deqcheck):
    page = deqcheck("theorems", "show", GD).stdout.splitlines()
    at = page.index("  refuted as printed")
    result = deqcheck(*page[at + 1].split()[1:], "--quiet")
    assert result.stdout.startswith(f"REFUTED {GD} (printed)")


def test_a_statement_as_latex(deqcheck):
    text = deqcheck("theorems", "show", GD, "--latex").stdout
    assert text.startswith(f"% {GD}, written by")
    assert text.count(r"\begin{itemize}") == text.count(r"\end{itemize}") == 2
    formulas = re.findall(r"\$([^$]+)\$$", text, re.MULTILINE)
    assert r"\frac{\mathrm{gap}}{\mathrm{gap}_{0}} \leq \exp\left(" in text
    assert len(formulas) == text.count(r"\item")


def test_prose_keeps_its_signs_in_latex():
    assert latex.escaped("a_1 & 50% {x} |r|") == r"a\_1 \& 50\% \{x\} $|$r$|$"


def test_an_unknown_theorem_gets_a_suggestion(deqcheck):
    result = deqcheck("theorems", "show", "kawaguchi2021/gdd")
    assert result.exit_code == 2
    assert f"did you mean {GD!r}?" in result.stderr


def test_an_unknown_command_is_bad_usage(deqcheck):
    assert deqcheck("rum").exit_code == 2


def test_the_ids_of_the_catalogue_are_whole(deqcheck):
    shown = {line.split()[0] for line in deqcheck("theorems").stdout.splitlines() if "/" in line}
    assert set(catalogue()) <= shown
