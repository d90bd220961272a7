"""The pytest plugin, in a pytest of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from deqcheck.ci import discover

PYTEST = [sys.executable, "-m", "pytest", "-p", "deqcheck.pytest_plugin", "-p", "no:cacheprovider"]


@pytest.fixture
def run(write, tmp_path):
    """Runs pytest on tmp_path/cases and returns the exit code with the output."""

    def run(*words: str, opt_in: bool = True, more: str = "") -> tuple[int, str]:
        (tmp_path / "pytest.ini").write_text(f"[pytest]\ndeqcheck_cases = {opt_in}\n{more}")
        root = str(Path(discover.__file__).parents[2])
        environment = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": root}
        environment.pop("PYTEST_ADDOPTS", None)
        done = subprocess.run(
            [*PYTEST, *words, "cases"],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
        )
        assert done.stderr == ""
        return done.returncode, done.stdout

    return run


def test_cases_are_tests_with_failures_that_end_in_the_replay_line(run, write):
    write("good")
    cases = write("wrong", "expect: {kawaguchi2021/gd: refuted}", seed=1)
    (cases / "bad.yaml").write_text("deqcheck: 1\nmodle: {kind: delm}\n")
    (cases / "other.yaml").write_text("on: push\n")
    code, out = run("-W", "error")
    assert code == 1
    assert "2 failed, 1 passed" in out
    assert "Traceback" not in out and ".py" not in out
    lines = out.splitlines()
    at = lines.index("replay: deqcheck run cases/wrong.yaml")
    assert lines[at - 2 : at] == [
        "failed: wrong",
        "kawaguchi2021/gd (corrected): confirmed, expected refuted",
    ]
    assert lines[at + 1].startswith(("_", "="))
    assert any(line.startswith("cases/bad.yaml:2: modle: ") for line in lines)
    assert "replay: deqcheck run cases/bad.yaml" in lines


def test_a_case_is_named_by_its_file(run, write):
    write("sub/good")
    code, out = run("--collect-only", "-q")
    assert code == 0
    assert "cases/sub/good.yaml::good" in out


def test_each_case_of_a_sweep_is_a_test(run, write):
    write("many", "sweep: {seeds: {seed: [0, 1], expect.kawaguchi2021/gd: [confirmed, refuted]}}")
    code, out = run()
    assert code == 1
    assert "1 failed, 1 passed" in out
    assert "replay: deqcheck run cases/many.yaml --set sweep=null --set seed=1" in out


def test_without_the_option_nothing_is_collected(run, write):
    write("good")
    assert run(opt_in=False)[0] == pytest.ExitCode.NO_TESTS_COLLECTED


def test_importing_the_plugin_is_cheap():
    probe = (
        "import sys, deqcheck.pytest_plugin\n"
        "from deqcheck.ci.discover import is_case\n"
        "sys.exit(' '.join({'numpy', 'scipy', 'yaml', 'rich', 'click'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True)
    assert done.stderr.strip() == ""


def test_a_deviation_from_the_baseline_fails(run, write, tmp_path, deqcheck, inline):
    cases = write("sub/good")
    baseline = tmp_path / "baseline.json"
    made = deqcheck("ci", cases, "--baseline", baseline, "--update-baseline")
    assert made.exit_code == 0, made.output
    ini = f"deqcheck_baseline = {baseline.name}\n"
    assert run(more=ini)[0] == 0
    document = json.loads(baseline.read_text())
    (statement,) = document["cases"]["sub/good"]["statements"].values()
    statement["outcome"] = "undecided"
    baseline.write_text(json.dumps(document))
    code, out = run(more=ini)
    assert code == 1 and "outcome" in out and "undecided -> confirmed" in out
    baseline.write_text("{}")
    code, out = run(more=ini)
    assert code != 0 and "baseline.json: its schema is None" in out
