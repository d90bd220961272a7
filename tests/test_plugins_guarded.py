"""Somebody's own code: when it is run, who is blamed, and how it is replayed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import deqcheck as dq
from deqcheck import plugins
from deqcheck.cli.main import cli

THEOREM = """
from deqcheck import ANY, Check, Cite, Statement

class Falls(Statement):
    \"\"\"The loss is small.\"\"\"
    id, title, cite = "doe2031/thm2", "The loss is small", Cite("Doe 2031", "Theorem 2")
    models, dynamics = ANY, ("static",)
    small = Check("small", "loss <= bound", "(1)")

    def claims(self, p, state):
        {body}
"""
REFUTED = 'yield self.small(loss=state.measure("loss"), bound=-1.0)'
CASE = """
deqcheck: 1
data: {kind: gaussian, n: 5, dim: 3, target: {kind: gaussian, outputs: 2}}
model: {kind: delm, gamma: 0.5}
init: {kind: gaussian, scale: 0.3}
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "thm2.py").write_text(THEOREM.format(body=REFUTED))
    (tmp_path / "a.yaml").write_text(CASE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def call(*words: str) -> Any:
    return CliRunner().invoke(cli, list(words), prog_name="deqcheck")


@pytest.mark.parametrize(
    "words",
    [
        ("theorems", "show", "ling2022/thm1", "--no-plugins"),
        ("theorems", "--no-plugins", "show", "ling2022/thm1"),
        ("theorems", "--no-plugins"),
        ("new", "case", "--no-plugins", "z.yaml", "--model", "delm"),
        ("run", "a.yaml", "--no-plugins"),
        ("validate", "a.yaml", "--no-plugins"),
    ],
    ids=" ".join,
)
def test_no_plugins_runs_nothing_wherever_it_stands(folder: Path, words: tuple[str, ...]) -> None:
    (folder / "pyproject.toml").write_text('[tool.deqcheck]\nwith = ["own/evil.py"]\n')
    (folder / "own" / "evil.py").write_text("import pathlib; pathlib.Path('ran').touch()\n")
    call(*words)
    assert not (folder / "ran").exists()
    call(*(word for word in words if word != "--no-plugins"))
    assert (folder / "ran").exists() or words[0] == "new"


def test_what_is_refuted_is_replayed_with_its_plugin() -> None:
    done = call("run", "a.yaml", "--with", "own", "--only", "doe2031/thm2")
    (line,) = (line for line in done.stdout.splitlines() if "replay:" in line)
    words = done.stdout[done.stdout.index("replay: deqcheck ") :].split()[2:]
    assert "--with" in words and done.exit_code == 1, line
    assert call(*words[: words.index("--edition") + 2]).exit_code == 1


def test_a_file_by_two_ways_is_loaded_once(folder: Path) -> None:
    (folder / "pyproject.toml").write_text('[tool.deqcheck]\nwith = ["own"]\n')
    for path in ("own/thm2.py", "own", "."):
        assert call("theorems", "show", "doe2031/thm2", "--with", path).exit_code == 0
    (folder / "pyproject.toml").unlink()
    words = ("--with", "own/thm2.py", "--with", "own")
    assert call("theorems", "show", "doe2031/thm2", *words).exit_code == 0


def test_a_file_imports_what_lies_beside_it(folder: Path) -> None:
    (folder / "own" / "common.py").write_text("BOUND = -1.0\n")
    text = THEOREM.format(body=REFUTED.replace("-1.0", "BOUND"))
    (folder / "own" / "thm2.py").write_text(f"from .common import BOUND\n{text}")
    assert call("run", "a.yaml", "--with", "own/thm2.py", "--only", "doe2031/thm2").exit_code == 1
    before = plugins.load("own/thm2.py").sha256
    (folder / "own" / "common.py").write_text("BOUND = 1e9\n")
    assert plugins.load("own/thm2.py").sha256 != before
    assert dq.judge("doe2031/thm2", "a.yaml").outcome == "confirmed"


def test_two_folders_of_one_name_are_two_plugins(folder: Path) -> None:
    for name in ("a", "b"):
        (folder / name / "theorems").mkdir(parents=True)
        text = THEOREM.format(body=REFUTED).replace("doe2031", f"doe203{name}")
        (folder / name / "theorems" / "x.py").write_text(text)
        dq.load(f"{name}/theorems")
    assert set(plugins.fingerprints()) == {"a/theorems", "b/theorems"}


def test_one_broken_statement_spares_the_other_cases() -> None:
    Path("own/thm2.py").write_text(THEOREM.format(body='yield state.measure("nosuch")'))
    done = call("run", "a.yaml", "quickstart", "--with", "own", "--quiet")
    assert done.exit_code == 2 and "has no measure 'nosuch'" in done.stderr
    done = call("run", "a.yaml", "kawaguchi2021/equality", "--with", "own", "--quiet")
    assert "kawaguchi2021/equality" in done.stdout


STATEMENTS = {
    "1/0": ("yield self.small(loss=1 / 0, bound=1)", "thm2.py:11: class Falls: ZeroDivisionError"),
    "check": ("yield self.small", "claims yielded the check 'small' itself; call it"),
    "text": ("yield self.small(loss='a', bound=1)", "check 'small': 'loss <= bound' could not"),
    "none": ("return None", "claims returned nothing; expected claims, each with `yield`"),
}


@pytest.mark.parametrize("name", STATEMENTS)
def test_a_mistake_in_a_statement_names_its_place(folder: Path, name: str) -> None:
    body, sentence = STATEMENTS[name]
    (folder / "own" / "thm2.py").write_text(THEOREM.format(body=body))
    done = call("run", "a.yaml", "--with", "own")
    assert done.exit_code == 2 and len(done.stderr.splitlines()) == 1
    assert sentence in done.stderr and "class Falls" in done.stderr


OTHERS = {
    "format": (
        "from deqcheck.kinds import Format\n\n\nclass Mine(Format):\n    kind = 'mine'\n\n"
        "    def render(self, reports, options):\n        return reports[0].verdcits\n",
        ("--format", "mine"),
        "x.py:8: class Mine, render: AttributeError",
    ),
    "data": (
        "from dataclasses import dataclass\nfrom deqcheck.kinds import Data\n\n\n"
        "@dataclass(frozen=True)\nclass Mine(Data):\n    kind = 'mine'\n\n"
        "    def arrays(self, model, seed):\n        return self.scael\n",
        ("--set", "data=mine"),
        "x.py:10: class Mine, arrays: AttributeError",
    ),
}


@pytest.mark.parametrize("name", OTHERS)
def test_a_mistake_in_any_other_kind_names_its_place(folder: Path, name: str) -> None:
    text, words, sentence = OTHERS[name]
    (folder / "own" / "thm2.py").unlink()
    (folder / "own" / "x.py").write_text(text)
    done = call("run", "a.yaml", "--with", "own", *words)
    assert (done.exit_code, "internal error" in done.stderr) == (2, False), done.stderr
    assert sentence in done.stderr
    if name == "data":
        dq.load("own")
        with pytest.raises(dq.UsageError, match="class Mine, arrays"):
            dq.run("a.yaml", set=["data=mine"])


BROKEN = {
    "import sys; sys.exit(5)": "SystemExit: 5",
    "from deqcheck.kinds import Format\nclass F(Format):\n    kind = 'json'\n"
    "    def render(self, reports, options): return ''": "'json' is taken: deqcheck itself has",
    "from deqcheck import Statement\nclass S(Statement): pass": "class S: has no id, such as",
    "from deqcheck import Check\nx = Check('x', 3)": "check 'x': the formula is 3; expected text",
    THEOREM.format(body="pass").replace(
        "models", "soundness = 'foo'; models"
    ): "soundness is 'foo'",
    THEOREM.format(body="pass").replace("models", "constants = ('a',); models"): "constants is a",
}


@pytest.mark.parametrize("text", BROKEN, ids=BROKEN.values())
def test_what_cannot_be_loaded_is_one_sentence(folder: Path, text: str) -> None:
    (folder / "own" / "thm2.py").write_text(text)
    done = call("run", "a.yaml", "--with", "own")
    assert done.exit_code == 2 and len(done.stderr.splitlines()) == 1
    assert BROKEN[text] in done.stderr


def test_what_is_no_python_file_is_told() -> None:
    done = call("run", "a.yaml", "--with", "a.yaml")
    assert (done.exit_code, done.stderr) == (2, "a.yaml: is no Python file\n")


def test_an_unknown_model_of_a_statement_is_told() -> None:
    text = THEOREM.format(body=REFUTED).replace("= ANY,", '= ("relu-dq",),')
    Path("own/thm2.py").write_text(text)
    done = call("run", "a.yaml", "--with", "own", "--only", "doe2031/thm2")
    assert "there is no model 'relu-dq' (did you mean 'relu-deq'?)" in done.stderr


def test_a_statement_that_is_not_loaded_may_be_ones_own() -> None:
    Path("a.yaml").write_text(CASE + "theorems: [doe2031/thm2]\n")
    assert "a statement of your own is loaded by --with PATH" in call("run", "a.yaml").stderr
