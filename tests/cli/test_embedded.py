from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from deqcheck.case import embedded

ROOT = Path(__file__).parents[2]


@pytest.fixture
def folder(tmp_path, monkeypatch, case):
    root = tmp_path / "cases"
    (root / "doe2031").mkdir(parents=True)
    text = Path(case).read_text()
    (root / "quickstart.yaml").write_text(text)
    (root / "doe2031" / "fig1.yaml").write_text(text)
    monkeypatch.setattr(embedded, "folder", lambda: root)
    monkeypatch.chdir(tmp_path)
    return root


def test_names_are_paths_without_the_ending(folder):
    assert embedded.names() == ["doe2031/fig1", "quickstart"]
    assert embedded.find("doe2031/fig1.yaml") == embedded.find("doe2031/fig1")
    assert embedded.find("quickstart") == folder / "quickstart.yaml"
    others = ("../small", "doe2031", "doe2031/../quickstart", "./quickstart", "quickstart/", "")
    for name in (*others, str(folder / "quickstart"), "n" * 5000, "quick\0start"):
        assert embedded.find(name) is None


def test_a_run_without_a_case_takes_the_quick_start(deqcheck, folder):
    (report,) = json.loads(deqcheck("run", "--format", "json").stdout)["reports"]
    assert report["case"]["name"] == "quickstart"
    assert report["replay"] == "deqcheck run quickstart"


def test_an_embedded_case_is_run_by_its_name(deqcheck, folder):
    (report,) = json.loads(deqcheck("run", "doe2031/fig1", "--format", "json").stdout)["reports"]
    assert report["case"]["name"] == "doe2031/fig1"


def test_a_file_of_the_same_name_comes_first(deqcheck, folder, case):
    (folder.parent / "quickstart").write_text(Path(case).read_text().replace("small", "own"))
    (report,) = json.loads(deqcheck("run", "quickstart", "--format", "json").stdout)["reports"]
    assert report["case"]["title"] == "own DELM"


def test_an_unknown_name_gets_a_suggestion(deqcheck, folder):
    result = deqcheck("run", "quickstrat")
    assert result.exit_code == 2
    assert "did you mean 'quickstart'?" in result.stderr


def test_cases_lists_them_with_titles(deqcheck, folder):
    assert deqcheck("cases").stdout.split() == [
        *("doe2031/fig1", "small", "DELM"),
        *("quickstart", "small", "DELM"),
    ]
    assert json.loads(deqcheck("cases", "--format", "json").stdout)[0] == {
        "name": "doe2031/fig1",
        "title": "small DELM",
    }


def test_titles_are_those_of_the_whole_cases():
    titles = embedded.titles()
    assert {name: case.stated.title for name, case in embedded.cases().items()} == {
        name: titles[name] for name in titles if not embedded.slow(name)
    }


def test_cases_that_come_along_are_valid(deqcheck):
    """Some of them by name; each is read and run by test_baseline.py."""
    assert embedded.QUICKSTART in embedded.names()
    result = deqcheck("validate", *[n for n in embedded.names() if not embedded.slow(n)][::10])
    assert (result.exit_code, result.stderr) == (0, "")


def test_the_cases_travel_with_a_wheel_and_an_sdist(tmp_path):
    (tmp_path / "empty").mkdir()
    words = ["egg_info", "--egg-base", str(tmp_path), "build_py", "--build-lib", str(tmp_path)]
    python("setup.py", "--quiet", *words, cwd=ROOT)
    shipped = [
        p for p in (ROOT / "cases").rglob("*") if p.suffix in (".yaml", ".npz", ".pt", ".json")
    ]
    packed = [p for p in (tmp_path / "deqcheck" / "cases").rglob("*") if p.is_file()]
    assert contents(packed, tmp_path / "deqcheck") == contents(shipped, ROOT)
    listed = (tmp_path / "deqcheck.egg-info" / "SOURCES.txt").read_text().splitlines()
    assert set(contents(shipped, ROOT)) == {line for line in listed if line.startswith("cases/")}
    words = ["-m", "deqcheck", "cases", "--format", "json"]
    found = python(*words, cwd=tmp_path / "empty", PYTHONPATH=str(tmp_path))
    assert [entry["name"] for entry in json.loads(found)] == embedded.names()


def test_a_checkout_has_the_cases_only_once():
    assert embedded.folder() == ROOT / "cases"


def python(*words: str, cwd: Path, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, *words],
        cwd=cwd,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def contents(paths: list[Path], root: Path) -> dict[str, bytes]:
    return {p.relative_to(root).as_posix(): p.read_bytes() for p in paths}
