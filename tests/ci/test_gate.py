"""The gate as a whole, from the command line."""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path

import pytest

from deqcheck.ci import gate as gate_module
from deqcheck.ci.discover import discover, is_case
from deqcheck.engines import processes


def result(done) -> dict[str, str]:
    document = json.loads(done.stdout)
    assert document["schema"] == "deqcheck-ci/1"
    return {case["id"]: case["result"] for case in document["cases"]}


def test_a_folder_as_expected_passes_with_one_line_for_each_case(deqcheck, write):
    write("b/second", seed=1)
    done = deqcheck("ci", write("first"))
    assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    assert re.fullmatch(r"ok b/second: 1 confirmed, [\d.]+ s", lines[0])
    assert re.fullmatch(r"ok first: 1 confirmed, [\d.]+ s", lines[1])
    assert re.fullmatch(r"2 cases: 2 ok, [\d.]+ s", lines[3])
    assert done.stderr == ""


@pytest.mark.usefixtures("inline")
def test_an_expectation_missed_fails_with_its_reason_and_a_replay_line(deqcheck, write):
    write("good")
    cases = write("wrong", "expect: {kawaguchi2021/gd: refuted}")
    done = deqcheck("ci", cases)
    assert done.exit_code == 1
    lines = [line.strip() for line in done.stdout.splitlines()]
    assert any(line.startswith("FAILED wrong: 1 confirmed") for line in lines)
    assert "kawaguchi2021/gd (corrected): confirmed, expected refuted" in lines
    assert f"replay: deqcheck run {cases}/wrong.yaml" in lines


@pytest.mark.usefixtures("inline")
def test_a_refutation_that_nobody_expected_fails_and_is_placed(deqcheck, write):
    cases = write("case", "edition: printed")
    path = cases / "case.yaml"
    data = "data: {kind: values, Phi: [[1.0]], Y: [[1.0]]}"
    text = re.sub("data: .*", data, path.read_text()).replace("step: 1e-3", "step: 0.1875")
    path.write_text(re.sub("init: .*", "init: zero", text))
    done = deqcheck("ci", cases)
    assert done.exit_code == 1
    assert "violated first at k = 1, 0.25 <= 0.0497871 was claimed" in done.stdout


@pytest.mark.usefixtures("inline")
def test_nothing_decided_is_not_a_pass(deqcheck, write):
    cases = write("open", "")
    path = cases / "open.yaml"
    path.write_text(path.read_text().replace("kawaguchi2021/gd", "kawaguchi2021/thm1"))
    done = deqcheck("ci", cases)
    assert done.exit_code == 3
    assert "NOTHING DECIDED open" in done.stdout
    path.write_text(path.read_text() + "expect: {kawaguchi2021/thm1: not applicable}\n")
    assert deqcheck("ci", cases).exit_code == 0


def test_no_case_s_misfortune_takes_the_others_down(deqcheck, write, faulty):
    for name in ("crash", "exit", "kill", "memory", "print", "sleep", "z-good"):
        cases = write(name)
    (cases / "bad.yaml").write_text("deqcheck: 1\nmodle: {kind: delm}\n")
    (cases / "binary.yaml").write_bytes(b"deqcheck: 1\n\xff\xfe")
    done = deqcheck("ci", cases, "--timeout", "5", "--jobs", "2", "--format", "json")
    assert done.exit_code == 70
    assert result(done) == {
        "bad": "bad case",
        "binary": "bad case",
        "crash": "crashed",
        "exit": "crashed",
        "kill": "killed",
        "memory": "killed",
        "print": "ok",
        "sleep": "timed out",
        "z-good": "ok",
    }
    told = {case["id"]: case["sentences"] for case in json.loads(done.stdout)["cases"]}
    assert told["binary"] == [f"{cases}/binary.yaml:2: not UTF-8 text"]
    assert told["kill"] == ["its process was killed by SIGKILL"]
    assert told["memory"] == ["ran out of memory"]
    assert told["sleep"] == ["no result after 5 s"]
    assert told["exit"] == ["its process ended with exit code 3: last words"]
    (crash,) = told["crash"]
    assert crash.startswith("internal error at <string>:")
    assert crash.endswith("ZeroDivisionError: a bug in two lines")


@pytest.mark.parametrize(("name", "code"), [("crash", 70), ("kill", 4), ("exit", 70)])
def test_the_exit_code_tells_the_gravest_end(deqcheck, write, faulty, name, code):
    write("good")
    assert deqcheck("ci", write(name), "--jobs", "1").exit_code == code


@pytest.mark.usefixtures("inline")
def test_a_bad_case_alone_is_exit_2_and_its_sentences_are_in_the_report(deqcheck, write):
    cases = write("good")
    (cases / "bad.yaml").write_text("deqcheck: 1\nmodle: {kind: delm}\n")
    done = deqcheck("ci", cases)
    assert done.exit_code == 2
    assert "BAD CASE bad" in done.stdout
    assert f"{cases}/bad.yaml:2: modle:" in done.stdout
    assert "ok good" in done.stdout


def test_the_number_of_jobs_changes_nothing(deqcheck, write):
    for seed in range(3):
        cases = write(f"case{seed}", seed=seed)
    one, two = (deqcheck("ci", cases, "--jobs", n, "--format", "json") for n in ("1", "2"))
    assert untimed(one.stdout) == untimed(two.stdout)


def untimed(text: str) -> str:
    return re.sub(r'"seconds": [\d.]+', '"seconds": 0', text)


SENTENCES = {
    "no case found below {cases}: a gate that checks nothing fails": ["{cases}"],
    "{cases}/none: no such file or folder": ["{cases}/none"],
    "/dev/null: not a file or folder": ["/dev/null"],
    "--update-baseline needs --baseline FILE": ["{cases}", "--update-baseline"],
    "none.json: no such baseline; --update-baseline makes it": [
        "{cases}", "--baseline", "{cases}/none.json",
    ],
    "its schema is 'deqcheck-baseline/2', this deqcheck knows 'deqcheck-baseline/1'": [
        "{cases}", "--baseline", "{cases}/next.json",
    ],
    "text.json: not a baseline: not JSON text": ["{cases}", "--baseline", "{cases}/text.json"],
    "the entry of 'a' is damaged": ["{cases}", "--baseline", "{cases}/damaged.json"],
    "relative_allowance must be a number >= 0": ["{cases}", "--baseline", "{cases}/rough.json"],
    "cannot write {cases}/none/b.json: No such file or directory": [
        "{cases}", "--baseline", "{cases}/none/b.json", "--update-baseline",
    ],
    "cannot keep results in {cases}/text.json/store: Not a directory": [
        "{cases}/x", "--store", "{cases}/text.json/store",
    ],
    "silent.yaml: no `expect:`; under --strict every case says what it expects": [
        "{cases}/x", "--strict",
    ],
    "are both called 'twin': rename one": ["{cases}/z"],
}  # fmt: skip


@pytest.mark.parametrize("command", ["ci", "power"])
@pytest.mark.parametrize("named", [".", "locked"])
def test_a_folder_that_may_not_be_read_is_named(deqcheck, write, monkeypatch, command, named):
    cases = write("good")
    write("locked/hidden")
    real = os.scandir

    def scandir(path):
        if Path(path).name == "locked":
            raise PermissionError(13, "Permission denied", str(path))
        return real(path)

    monkeypatch.setattr(gate_module, "Processes", None)
    monkeypatch.setattr(os, "scandir", scandir)
    done = deqcheck(command, cases / named)
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr == f"{cases / 'locked'}: cannot be read: Permission denied\n"


def test_power_is_no_gate(deqcheck, tmp_path):
    done = deqcheck("power", tmp_path)
    assert (done.exit_code, done.stderr) == (2, f"deqcheck: no case found below {tmp_path}\n")


@pytest.mark.parametrize("sentence", SENTENCES)
def test_what_cannot_be_asked_is_one_sentence(deqcheck, write, monkeypatch, sentence):
    monkeypatch.setattr(gate_module, "Processes", None)
    cases = write("x/silent", "")
    write("y/silent", "")
    write("z/twin").joinpath("z/twin.yml").write_text("deqcheck: 1")
    words = [word.format(cases=cases) for word in SENTENCES[sentence]]
    if words[0] == str(cases):
        (cases / "x/silent.yaml").unlink()
        (cases / "y/silent.yaml").unlink()
        shutil.rmtree(cases / "z")
    damaged = {"schema": "deqcheck-baseline/1", "relative_allowance": 0, "cases": {"a": {}}}
    (cases / "next.json").write_text('{"schema": "deqcheck-baseline/2"}')
    (cases / "text.json").write_text("{")
    (cases / "damaged.json").write_text(json.dumps(damaged))
    (cases / "rough.json").write_text(json.dumps(damaged | {"relative_allowance": True}))
    done = deqcheck("ci", *words)
    assert (done.exit_code, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert sentence.format(cases=cases) in line


def test_cases_are_named_below_the_folder_that_holds_all_paths(write):
    cases = write("x/a")
    write("x/b")
    write("y/b")

    def names(*paths):
        return [found.id for found in discover([cases / path for path in paths]).cases]

    every = ["x/a", "x/b", "y/b"]
    assert names("") == names("x", "y") == names("x/a.yaml", "x/b.yaml", "y") == every
    assert names("x") == ["a", "b"]
    assert names("x/a.yaml") == ["a"]


@pytest.mark.usefixtures("inline")
def test_other_yaml_files_are_skipped_and_named_unless_strict(deqcheck, write):
    cases = write("good")
    (cases / "workflow.yml").write_text("on: push\n")
    (cases / ".hidden").mkdir()
    (cases / ".hidden/case.yaml").write_text("deqcheck: 1\n")
    done = deqcheck("ci", cases)
    assert done.exit_code == 0
    assert f"not cases (no key `deqcheck`): {cases}/workflow.yml" in done.stdout
    strict = deqcheck("ci", cases, "--strict")
    assert strict.exit_code == 2
    assert "BAD CASE workflow" in strict.stdout


@pytest.mark.usefixtures("inline")
def test_a_file_is_found_once_however_it_is_reached(deqcheck, write):
    cases = write("a/case")
    (cases / "link").symlink_to(cases / "a")
    done = deqcheck("ci", cases, cases / "a", cases / "a/case.yaml", "--format", "json")
    assert result(done) == {"a/case": "ok"}


def test_an_unwritable_report_stops_before_the_work(deqcheck, write, monkeypatch, tmp_path):
    monkeypatch.setattr(gate_module, "Processes", None)
    done = deqcheck("ci", write("case"), "--output", tmp_path / "none" / "out")
    assert done.exit_code == 2
    assert done.stderr.startswith("cannot write")


@pytest.mark.usefixtures("inline")
@pytest.mark.parametrize("form", ["table", "json", "junit", "markdown"])
def test_a_name_that_is_not_utf8_can_be_reported(deqcheck, write, tmp_path, form):
    cases = write("good")
    os.rename(cases / "good.yaml", os.fsencode(cases) + b"/\xff.yaml")
    out, baseline = tmp_path / "out", tmp_path / "baseline.json"
    words = ("ci", cases, "--format", form, "--output", out, "--baseline", baseline)
    done = deqcheck(*words, "--update-baseline")
    assert done.exit_code == 0, done.output
    assert "?" in out.read_text()
    assert deqcheck(*words).exit_code == 0


@pytest.mark.usefixtures("inline")
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_report_that_does_not_fit_the_disk_goes_to_stdout(deqcheck, write):
    done = deqcheck("ci", write("good"), "--output", "/dev/full")
    assert done.exit_code == 2
    assert "1 case: 1 ok" in done.stdout
    assert "No space left on device" in done.stderr


def test_a_process_that_cannot_be_started_is_the_result_of_its_case(deqcheck, write, monkeypatch):
    def refuse(*_, **__):
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(processes.subprocess, "Popen", refuse)
    done = deqcheck("ci", write("good"))
    assert done.exit_code == 70
    assert "no process could be started: Resource temporarily unavailable" in done.stdout


@pytest.mark.parametrize(
    ("text", "case"),
    [
        ("deqcheck: 1\n", True),
        ("# remark\n\n'deqcheck' : 1\n", True),
        ('{"deqcheck": 1}', True),
        ("\ufeffdeqcheck: 1\n", True),
        ("jobs:\n  deqcheck:\n    runs-on: x\n", False),
        ("mydeqcheck: 1\n", False),
        ("", False),
    ],
)
def test_a_case_is_known_by_its_first_key(tmp_path, text, case):
    path = tmp_path / "x.yaml"
    path.write_text(text, encoding="utf-8")
    assert is_case(path) is case


@pytest.mark.parametrize("form", ["json", "junit", "markdown"])
def test_what_fails_is_told_although_the_report_is_in_a_file(
    deqcheck, write, tmp_path, inline, form
):
    cases = write("wrong", "expect: {kawaguchi2021/gd: refuted}")
    write("good")
    done = deqcheck("ci", cases, "--format", form, "--output", tmp_path / "out")
    assert done.exit_code == 1 and done.stdout == ""
    told = done.stderr.splitlines()
    assert told[0].startswith("wrong: failed: kawaguchi2021/gd (corrected): confirmed, expected")
    assert told[1] == f"    replay: deqcheck run {cases / 'wrong.yaml'}"
    assert "good" not in done.stderr
