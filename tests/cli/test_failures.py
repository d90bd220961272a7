from __future__ import annotations

import json
import os
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest

from deqcheck.cli.commands import run as run_command
from deqcheck.judging import reports
from deqcheck.judging import run as real_run
from deqcheck.records.verdict import Status


def no_run(*_, **__):
    raise AssertionError("the work started before the arguments were checked")


def test_every_problem_of_every_case_is_reported_at_once(deqcheck, case, tmp_path, monkeypatch):
    monkeypatch.setattr(run_command.judging, "run", no_run)
    bad = tmp_path / "bad.yaml"
    bad.write_text("deqcheck: 1\nmodle: {kind: delm}\n")
    result = deqcheck("run", str(bad), case, "nowhere.yaml")
    assert (result.exit_code, result.stdout) == (2, "")
    assert f"{bad}:2: modle:" in result.stderr
    assert "nowhere.yaml: neither a file nor an embedded case" in result.stderr


def test_what_fits_nothing_is_one_sentence(deqcheck, case):
    result = deqcheck("run", case, "--only", "kawaguchi2021/cor9")
    assert result.exit_code == 2
    assert len(result.stderr.splitlines()) == 1


def test_a_folder_that_may_not_be_entered_is_one_sentence(deqcheck, case, tmp_path, monkeypatch):
    """Where Path.exists would raise; root may enter everything."""

    def stat(path, **_):
        if "locked" in str(path):
            raise PermissionError(13, "Permission denied", str(path))
        return real(path)

    real = os.stat
    monkeypatch.setattr(run_command.judging, "run", no_run)
    monkeypatch.setattr(os, "stat", stat)
    monkeypatch.setattr(tempfile, "TemporaryFile", lambda dir: stat(dir))
    result = deqcheck("run", case, "--output", str(tmp_path / "locked" / "out.json"))
    assert result.exit_code == 2
    assert result.stderr.startswith("cannot write")
    assert len(result.stderr.splitlines()) == 1


@pytest.mark.parametrize("name", ["nowhere/out.json", "small.yaml/out.json"])
def test_an_unwritable_output_stops_before_the_work(deqcheck, case, tmp_path, monkeypatch, name):
    monkeypatch.setattr(run_command.judging, "run", no_run)
    result = deqcheck("run", case, "--output", str(tmp_path / name))
    assert result.exit_code == 2
    assert result.stderr.startswith("cannot write")
    assert len(result.stderr.splitlines()) == 1


def test_the_output_is_replaced_whole_and_keeps_its_mode(deqcheck, case, tmp_path):
    out = tmp_path / "out.json"
    out.write_text("old")
    out.chmod(0o640)
    result = deqcheck("run", case, "--format", "json", "--output", str(out))
    assert result.stdout == ""
    assert json.loads(out.read_text())["schema"] == "deqcheck-report/2"
    assert out.stat().st_mode & 0o777 == 0o640
    assert sorted(p.name for p in tmp_path.iterdir()) == ["out.json", "small.yaml"]


def test_a_link_stays_a_link(deqcheck, case, tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "target")
    deqcheck("run", case, "--output", str(tmp_path / "link"))
    assert (tmp_path / "link").is_symlink()
    assert "small DELM" in (tmp_path / "target").read_text()


def test_a_device_is_written_to_and_not_replaced(deqcheck, case):
    deqcheck("run", case, "--output", "/dev/null")
    assert Path("/dev/null").is_char_device()


def test_a_result_that_cannot_be_stored_goes_to_stdout(deqcheck, case, tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    result = deqcheck("run", case, "--format", "json", "--output", str(tmp_path / "out.json"))
    assert result.exit_code == 2
    assert json.loads(result.stdout)["schema"] == "deqcheck-report/2"
    assert "No space left on device" in result.stderr
    assert [p.name for p in tmp_path.iterdir()] == ["small.yaml"]


def test_an_interrupted_run_is_written_and_the_rest_left_out(deqcheck, case, tmp_path, monkeypatch):
    def interrupted(*args, **more):
        return replace(real_run(*args, **more), status=Status.INTERRUPTED)

    monkeypatch.setattr(run_command.judging, "run", interrupted)
    out = tmp_path / "out.json"
    result = deqcheck("run", case, case, "--format", "json", "--output", str(out))
    assert result.exit_code == 130
    (report,) = json.loads(out.read_text())["reports"]
    assert report["partial"] is True
    assert report["status"]["word"] == "interrupted"
    assert result.stderr.splitlines()[-1] == f"deqcheck: {case}: not run"
    assert Status.INTERRUPTED.value in result.stderr
    quiet = deqcheck("run", case, "--quiet")
    assert all("[partial]" in line for line in quiet.stdout.splitlines())


def test_a_divergence_is_a_numerical_failure_with_a_result(deqcheck, case):
    result = deqcheck(
        "run", case, "--set", "train={kind: gd, step: 1e3, steps: 400}", "--format", "json"
    )
    assert result.exit_code == 4
    assert json.loads(result.stdout)["reports"][0]["status"]["word"] == "diverged"


@pytest.mark.parametrize("command", [("run",), ("bounds", "--init")])
@pytest.mark.parametrize("bug", [KeyError("x"), TypeError("x"), ValueError("x"), IndexError("x")])
def test_a_bug_names_its_case_and_the_others_are_run(
    deqcheck, case, tmp_path, monkeypatch, command, bug
):
    second = tmp_path / "second.yaml"
    second.write_text(Path(case).read_text())
    real = reports.quantities

    def broken(state, *names):
        if (state.theta["A"] == 7).all():
            raise bug
        return real(state, *names)

    monkeypatch.setattr(reports, "quantities", broken)
    init = "{kind: values, A: [[7, 7], [7, 7]], B: [[1, 0], [0, 1]]}"
    second.write_text(Path(case).read_text().replace("{kind: gaussian, scale: 0.3}", init))
    result = deqcheck(*command, case, str(second), case, "--format", "json")
    assert result.exit_code == 70
    assert len(json.loads(result.stdout)["reports"]) == 2
    (line,) = result.stderr.splitlines()
    assert line.startswith(f"deqcheck: internal error in {second}: {type(bug).__name__}: ")


def test_a_bug_in_the_only_case_leaves_no_result(deqcheck, case, monkeypatch):
    monkeypatch.setattr(run_command.judging, "run", no_run)
    result = deqcheck("run", case)
    assert (result.exit_code, result.stdout) == (70, "")


@pytest.mark.parametrize("asked", [True, False])
def test_a_traceback_is_shown_when_asked_for(deqcheck, case, monkeypatch, asked):
    monkeypatch.setattr(run_command.judging, "run", no_run)
    result = deqcheck(*(["--traceback"] if asked else []), "run", case)
    assert result.exit_code == 70
    assert ("Traceback" in result.stderr) is asked


@pytest.mark.parametrize("train", [(), ("--set", "train=null")], ids=["descent", "static"])
def test_an_interrupt_while_judging_keeps_the_verdicts_until_then(
    deqcheck, case, monkeypatch, train
):
    real, judged = reports.verdict, []

    def verdict(s, *more):
        judged.append(s.id)
        if len(judged) == 3:
            raise KeyboardInterrupt
        return real(s, *more)

    monkeypatch.setattr(reports, "verdict", verdict)
    result = deqcheck("run", case, *train, "--no-entry", "--format", "json")
    assert result.exit_code == 130
    (report,) = json.loads(result.stdout)["reports"]
    assert [s["id"] for s in report["statements"]] == judged[:2]
    assert report["status"]["word"] == "interrupted"
    assert any(note == f"interrupted while judging {judged[2]}" for note in report["notes"])


def test_an_interrupt_outside_the_run_is_one_line(deqcheck, case, monkeypatch):
    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(run_command.judging, "run", stop)
    result = deqcheck("run", case)
    assert (result.exit_code, result.stderr) == (130, "deqcheck: interrupted\n")
