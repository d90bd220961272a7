"""Statements and kinds from a stranger's folder, in every command; mistakes of an author."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import deqcheck as dq
from deqcheck.cli.main import cli

HEAD = "from deqcheck import ANY, Check, Cite, Measured, Statement\n"
THEOREM = (
    HEAD
    + '''

class Falls(Statement):
    """The loss does not grow."""

    id, title, cite = "doe2031/thm2", "The loss falls", Cite("Doe 2031", "Theorem 2", "(2)")
    models, dynamics = ("delm",), ("gd",)
    tracks = ("norm2.A",)
    above = Check("above the infimum", "gap_0 > 0", "(1)")
    falls = Check("falls", "gap/gap_0 <= 1", "(2)", decays=True)

    def hypotheses(self, p):
        yield self.above(gap_0=p.start.measure("gap"))

    def conclusions(self, p, run):
        yield self.falls.along(run, gap=run.gap, gap_0=run.gap[0])
'''
)
CASE = """\
deqcheck: 1
title: small
data: {kind: gaussian, n: 6, dim: 2, target: {kind: negated-input, noise: 0.1}}
model: {kind: delm, gamma: 0.5}
init: {kind: gaussian, scale: 0.3}
train: {kind: gd, step: 1e-3, steps: 5}
theorems: [doe2031/thm2]
expect: {doe2031/thm2: confirmed}
"""
LOST = "no theorem 'doe2031/thm2'"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Somebody's own: a theorem, its reference, a case."""
    (tmp_path / "theorems" / "doe2031").mkdir(parents=True)
    (tmp_path / "theorems" / "doe2031" / "thm2.py").write_text(THEOREM)
    (tmp_path / "theorems" / "doe2031" / "reference.bib").write_text("@misc{doe2031,\n}\n")
    (tmp_path / "theorems" / "doe2031" / "theory.md").write_text("What Doe found.\n")
    (tmp_path / "cases").mkdir()
    (tmp_path / "cases" / "a.yaml").write_text(CASE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def call(*words: str) -> Any:
    return CliRunner().invoke(cli, list(words), prog_name="deqcheck")


WITH = ("--with", "theorems")


class TestAStrangersTheorem:
    def test_by_run_bounds_and_validate(self, folder: Path) -> None:
        done = call("run", "cases/a.yaml", *WITH, "--quiet")
        assert (done.exit_code, done.stdout) == (
            0,
            "CONFIRMED doe2031/thm2 (corrected) cases/a.yaml\n",
        )
        assert call("bounds", "--init", "cases/a.yaml", *WITH).exit_code == 0
        assert call("validate", "cases/a.yaml", "--with=theorems").exit_code == 0
        lost = call("run", "cases/a.yaml")
        assert lost.exit_code == 2 and LOST in lost.stderr

    def test_by_ci_in_two_workers_and_power(self, folder: Path) -> None:
        (folder / "cases" / "b.yaml").write_text(CASE + "seed: 1\n")
        words = ["ci", "cases", *WITH, "--jobs", "2", "--format", "json", "--store", "kept"]
        document = json.loads(call(*words).stdout)
        assert document["exit_code"] == 0 and document["summary"]["ok"] == 2
        assert set(document["environment"]["plugins"]) == {"theorems"}
        power = call("power", "cases", *WITH)
        assert power.exit_code == 0 and "doe2031/thm2 (corrected)" in power.stdout

    def test_by_theorems_and_docs(self, folder: Path) -> None:
        listed = call("theorems", *WITH).stdout
        assert "doe2031/thm2" in listed and "kawaguchi2021/thm1" in listed and "source" in listed
        for words in (("show", "doe2031/thm2", *WITH), (*WITH, "show", "doe2031/thm2")):
            shown = call("theorems", *words).stdout
            assert "The loss does not grow." in shown and "thm2.py" in "".join(shown.split())
        entries = json.loads(call("theorems", *WITH, "--format", "json").stdout)
        sources = {e["id"]: e["source"] for e in entries}
        assert sources["doe2031/thm2"] == str(folder / "theorems" / "doe2031" / "thm2.py")
        assert sources["kawaguchi2021/thm1"] == "deqcheck"
        entry = call("theorems", "show", "doe2031/thm2", "--bibtex", *WITH).stdout
        assert entry.startswith("@misc{doe2031,")
        page = call("docs", "theory/doe2031", *WITH).stdout
        assert "What Doe found." in page and "## doe2031/thm2: The loss falls" in page

    def test_by_the_api(self, folder: Path) -> None:
        (cls,) = dq.load("theorems")
        assert dq.statements()["doe2031/thm2"] is cls
        assert dq.check("doe2031/thm2", "cases/a.yaml").outcome == "confirmed"
        report = dq.run("cases/a.yaml")
        assert set(report.environment["plugins"]) == {"theorems"}

    def test_by_pytest(self, folder: Path) -> None:
        (folder / "pyproject.toml").write_text('[tool.deqcheck]\nwith = ["theorems"]\n')
        (folder / "pytest.ini").write_text("[pytest]\ndeqcheck_cases = true\n")
        words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "cases"]
        done = subprocess.run(words, cwd=folder, capture_output=True, text=True)
        assert done.returncode == 0 and "1 passed" in done.stdout, done.stdout


def test_pyproject_names_what_is_always_there(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "pyproject.toml").write_text('[tool.deqcheck]\nwith = ["theorems"]\n')
    assert call("run", "cases/a.yaml", "--quiet").exit_code == 0
    monkeypatch.chdir(folder / "cases")
    assert call("run", "a.yaml", "--quiet").exit_code == 0
    for words in (["run", "a.yaml"], ["ci", "."]):
        bare = call(*words, "--no-plugins")
        assert bare.exit_code == 2 and LOST in bare.output


@pytest.mark.parametrize("text", ["with = 'theorems'", "with = [3]", "with = ["])
def test_a_wrong_pyproject_is_one_sentence(folder: Path, text: str) -> None:
    (folder / "pyproject.toml").write_text(f"[tool.deqcheck]\n{text}\n")
    done = call("run", "quickstart", "--quiet")
    assert done.exit_code == 0 and len(done.stderr.splitlines()) == 1
    assert "pyproject.toml: " in done.stderr


def test_an_installed_package_brings_its_own(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = folder / "site" / "doe_theorems"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "thm2.py").write_text(THEOREM)
    info = folder / "site" / "doe_theorems-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: doe-theorems\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[deqcheck.plugins]\ndoe = doe_theorems\n")
    monkeypatch.syspath_prepend(folder / "site")
    assert call("run", "cases/a.yaml", "--quiet").exit_code == 0
    listed = json.loads(call("theorems", "--format", "json").stdout)
    assert "entry point doe" in {entry["source"] for entry in listed}
    assert call("ci", "cases", "--jobs", "2").exit_code == 0
    assert call("run", "cases/a.yaml", "--no-plugins").exit_code == 2


def test_a_broken_plugin_leaves_the_rest_usable(folder: Path) -> None:
    (folder / "theorems" / "broken.py").write_text("def f(:\n")
    (folder / "pyproject.toml").write_text('[tool.deqcheck]\nwith = ["theorems"]\n')
    done = call("run", "cases/a.yaml", "quickstart", "--quiet")
    assert done.exit_code == 0 and len(done.stderr.splitlines()) == 1
    assert "broken.py:1: SyntaxError" in done.stderr
    asked = call("run", "quickstart", *WITH)
    assert asked.exit_code == 2 and "broken.py:1: SyntaxError" in asked.stderr
    with pytest.raises(dq.UsageError, match=r"broken\.py:1"):
        dq.load("theorems")
    assert "doe2031/thm2" in dq.statements() and "kawaguchi2021/thm1" in dq.statements()


def test_a_clash_names_both_places(folder: Path) -> None:
    (folder / "second.py").write_text(THEOREM.replace("class Falls", "class Other"))
    done = call("theorems", *WITH, "--with", "second.py")
    assert done.exit_code == 2
    assert "second.py: class Other: 'doe2031/thm2' is taken: Falls in " in done.stderr
    assert str(folder / "theorems" / "doe2031" / "thm2.py") in done.stderr
    taken = THEOREM.replace("doe2031/thm2", "kawaguchi2021/thm1")
    (folder / "third.py").write_text(taken)
    assert "is taken: Theorem1 in deqcheck itself" in call("theorems", "--with", "third.py").stderr
    (folder / "twice.py").write_text(THEOREM + "\n\nclass Again(Falls):\n    id = 'doe2031/thm2'\n")
    assert "class Again: 'doe2031/thm2' is taken" in call("cases", "--with", "twice.py").stderr


def test_a_changed_file_is_loaded_again(folder: Path) -> None:
    path = folder / "theorems" / "doe2031" / "thm2.py"
    dq.load("theorems")
    before = dq.run("cases/a.yaml")
    path.write_text(THEOREM.replace("gap/gap_0 <= 1", "gap/gap_0 <= 0.5"))
    dq.load("theorems")
    after = dq.run("cases/a.yaml")
    assert (before.verdicts[0].outcome, after.verdicts[0].outcome) == ("confirmed", "refuted")
    assert before.digest != after.digest, "the source of a plugin is part of the case"
    assert dq.run("quickstart").digest == dq.read("quickstart").digest
    (cls,) = dq.load("theorems")
    assert dq.statements()["doe2031/thm2"] is cls


def test_digests_of_other_cases_do_not_depend_on_plugins(folder: Path) -> None:
    before = dq.read("quickstart").digest
    dq.load("theorems")
    assert dq.read("quickstart").digest == before


def test_files_of_a_folder_import_each_other(folder: Path) -> None:
    paper = folder / "theorems" / "doe2031"
    (paper / "common.py").write_text("TITLE = 'From another file'\n")
    text = THEOREM.replace('"The loss falls"', "TITLE")
    text = text.replace(HEAD, HEAD + "from .common import TITLE\n")
    (paper / "thm2.py").write_text(text)
    assert dq.load("theorems")[0].title == "From another file"


LOSS = """\
from dataclasses import dataclass
from typing import ClassVar
import numpy as np
from deqcheck.fields import number
from deqcheck.kinds import OuterLoss
from deqcheck.losses.square import Square

@dataclass(frozen=True)
class Weighted(OuterLoss):
    kind: ClassVar[str] = "weighted"
    weight: float = number(above=0, default=4.0, doc="factor")

    def on(self, Phi, Y):
        return Square().on(2 * Phi, 2 * Y)
"""
FORMAT = """\
from deqcheck.kinds import Format

class Outcomes(Format):
    kind = "outcomes"

    def render(self, reports, options):
        return "".join(f"{v.id} {v.word}\\n" for report in reports for v in report.verdicts)
"""
INIT = """\
from dataclasses import dataclass
from typing import ClassVar
import numpy as np
from deqcheck.kinds import Data, Init, Target

@dataclass(frozen=True)
class Ones(Init):
    kind: ClassVar[str] = "ones"

    def draw(self, name, shape, seed):
        return np.ones(shape)

@dataclass(frozen=True)
class Zero(Target):
    kind: ClassVar[str] = "none"

    def targets(self, inputs, seed):
        return 0 * inputs
"""


class TestOtherKinds:
    def test_a_loss(self, folder: Path) -> None:
        (folder / "loss.py").write_text(LOSS)
        words = ("run", "quickstart", "--only", "kawaguchi2021/thm1", "--format", "json")
        done = call(*words, "--set", "loss=weighted", "--with", "loss.py")
        plain, (report,) = dq.run("quickstart"), json.loads(done.stdout)["reports"]
        assert done.exit_code == 0
        ratio = report["quantities"]["loss"]["value"] / plain.quantities["loss"].value
        assert ratio == pytest.approx(4)
        assert set(report["case"]["resolved"]["plugins"]) == {"weighted"}

    def test_a_format(self, folder: Path) -> None:
        (folder / "formats.py").write_text(FORMAT)
        words = ("run", "quickstart", "--with", "formats.py", "--format", "outcomes")
        assert call(*words).stdout == "kawaguchi2021/thm1 confirmed\nkawaguchi2021/cor1 confirmed\n"
        unknown = call("run", "quickstart", "--format", "outcomes")
        assert unknown.exit_code == 2 and "'outcomes' is not one of" in unknown.stderr

    def test_an_initialisation_and_a_target(self, folder: Path) -> None:
        (folder / "inits.py").write_text(INIT)
        words = ("--set", "init=ones", "--set", "data.target=none", "--with", "inits.py")
        assert call("run", "quickstart", "--only", "kawaguchi2021/thm1", *words).exit_code == 0

    def test_a_statement_about_probabilities_is_tried_in_processes(self, folder: Path) -> None:
        (folder / "coin.py").write_text(
            "import time\n"
            "from deqcheck import ANY, Cite, Measured\n"
            "from deqcheck.theorems.frequency import Frequency\n"
            "class Coin(Frequency):\n"
            "    '''Heads, half of the time.'''\n"
            "    id, title, cite = 'doe2031/coin', 'A coin', Cite('Doe 2031', 'Lemma 9')\n"
            "    models, dynamics = ANY, ('static',)\n"
            "    def trial(self, p, seed):\n"
            "        time.sleep(0.02)\n"
            "        return seed % 2 == 0\n"
            "    def probability(self, p):\n"
            "        return Measured(0.25)\n"
        )
        script = (
            "import deqcheck as dq\n"
            "from deqcheck import trials\n"
            "trials.WORTHWHILE = 0.0\n"
            "if __name__ == '__main__':\n"
            "    dq.load('coin.py')\n"
            "    print(dq.judge('doe2031/coin', 'quickstart', constants={'seeds': 60}).outcome)\n"
        )
        (folder / "script.py").write_text(script)
        done = subprocess.run(
            [sys.executable, "script.py"], cwd=folder, capture_output=True, text=True
        )
        assert done.stdout == "consistent\n", done.stderr


def changed(old: str, new: str) -> str:
    assert old in THEOREM
    return THEOREM.replace(old, new)


MISTAKES = {
    "unknown name": (
        changed("gap/gap_0 <= 1", "gap/gap_00 <= 1"),
        r"thm\.py:17: class Falls: check 'falls': 'gap/gap_00 <= 1' names gap_00, for which no",
    ),
    "syntax of a formula": (
        changed("gap/gap_0 <= 1", "gap/ <= 1"),
        r"thm\.py:11: class Falls: FormulaError: check 'falls': 'gap/ <= 1' cannot be read at",
    ),
    "no relation": (changed("gap_0 > 0", "gap_0"), "check 'above the infimum': 'gap_0' has no"),
    "unknown function": (
        changed("gap/gap_0 <= 1", "gap/gap_0 <= exq(-t)"),
        "calls exq, which is none of its functions exp",
    ),
    "unknown measure": (
        changed('measure("gap")', 'measure("gapp")'),
        r"thm\.py:14: class Falls: 'delm' has no measure 'gapp' \(did you mean 'gap'\?\)",
    ),
    "unknown track": (
        changed('("norm2.A",)', '("norm2.a",)'),
        r"class Falls: tracks: 'delm' has no measure 'norm2.a' \(did you mean 'norm2.A'\?\)",
    ),
    "missing import": (
        changed("from deqcheck import ANY, Check, Cite", "from deqcheck import ANY, Check"),
        r"thm\.py:7: class Falls: NameError: name 'Cite' is not defined",
    ),
    "no claim": (
        THEOREM[: THEOREM.index("    def conclusions")],
        "class Falls: claims nothing: it has neither `claims`",
    ),
    "a wrong type": (
        changed('models, dynamics = ("delm",), ("gd",)', 'models, dynamics = "delm", ("gd",)'),
        "class Falls: models is 'delm'; expected a tuple of words",
    ),
    "unknown dynamics": (changed('("gd",)', '("sgd",)'), "dynamics has 'sgd'; expected one of"),
    "no citation": (
        changed('"The loss falls", Cite("Doe 2031", "Theorem 2", "(2)")', '"The loss falls", None'),
        "class Falls: cite is missing; expected a Cite",
    ),
    "an id without a paper": (changed("doe2031/thm2", "thm2"), "id is 'thm2'; expected PAPER"),
    "return in place of yield": (
        changed("        yield self.above(", "        self.above("),
        "class Falls: hypotheses returned nothing; expected claims, each with `yield`",
    ),
    "no claim but a truth value": (
        changed("yield self.above(gap_0=p.start.measure(\"gap\"))", "yield True"),
        "class Falls: hypotheses yielded true; expected a claim",
    ),
    "a curve without along": (
        changed("self.falls.along(run, gap", "self.falls(gap"),
        "has a value for each step; use `along` or `sampled`",
    ),
    "a misspelt attribute": (
        changed("run.gap[0]", "run.gapp[0]"),
        r"thm\.py:17: class Falls: AttributeError: 'Trajectory' object has no attribute 'gapp'",
    ),
    "a syntax error": (changed("def conclusions", "dfe conclusions"), r"thm\.py:16: SyntaxError"),
    "an abstract loss": (LOSS.replace("def on(", "def onn("), "Weighted: has no on, which every"),
    "a loss that is no dataclass": (
        LOSS.replace("@dataclass(frozen=True)\n", ""),
        "class Weighted: is no dataclass",
    ),
    "an undeclared field": (
        LOSS.replace('number(above=0, default=4.0, doc="factor")', "4.0"),
        "class Weighted: weight is no field of a case",
    ),
    "nothing at all": ("X = 1\n", "defines no statement, model or other kind"),
}  # fmt: skip


@pytest.mark.parametrize("name", MISTAKES)
def test_an_authors_mistake_is_one_sentence(folder: Path, name: str) -> None:
    text, sentence = MISTAKES[name]
    (folder / "thm.py").write_text(text)
    done = call("run", "cases/a.yaml", "--with", "thm.py")
    assert done.exit_code == 2, done.output
    (line,) = done.stderr.splitlines()
    assert str(folder / "thm.py") in line
    assert re.search(sentence, line), line


def test_an_authors_mistake_ends_a_gate_in_one_sentence(folder: Path) -> None:
    (folder / "thm.py").write_text(MISTAKES["return in place of yield"][0])
    assert call("ci", "cases", "--with", "thm.py", "--jobs", "1").exit_code == 2


@pytest.mark.parametrize("path", ["nowhere.py", "empty"])
def test_a_path_with_nothing_is_one_sentence(folder: Path, path: str) -> None:
    (folder / "empty").mkdir()
    done = call("theorems", "--with", path)
    assert done.exit_code == 2 and done.stderr.startswith(f"{path}: ")


def test_reading_a_case_executes_nothing(folder: Path) -> None:
    """Python files beside a case are not touched, and a case cannot name one."""
    (folder / "cases" / "evil.py").write_text("raise SystemExit('executed')\n")
    (folder / "cases" / "a.yaml").write_text(CASE + "with: [evil.py]\n")
    done = call("run", "cases/a.yaml", *WITH)
    assert done.exit_code == 2 and "a case has no field 'with'" in done.stderr


class TestNew:
    @pytest.mark.parametrize("model", ["delm", "relu-deq", "opteq", "equilibrium"])
    def test_a_theorem_runs_as_it_is(self, folder: Path, model: str) -> None:
        done = call("new", "theorem", "roe2032/lem4.1", "--model", model)
        assert done.exit_code == 0, done.stderr
        files = done.stdout.split()
        assert all((folder / file).is_file() for file in files) and len(files) == 4
        case = "cases/roe2032/lem4_1.yaml"
        assert f"deqcheck run {case} --with theorems" in done.stderr
        assert call("run", case, *WITH).exit_code == 0
        assert "Lemma 4.1" in call("theorems", "show", "roe2032/lem4.1", *WITH).stdout
        again = call("new", "theorem", "roe2032/lem4.1", "--model", model)
        assert again.exit_code == 2 and "is there already" in again.stderr

    def test_its_tests_run_as_they_are(self, folder: Path) -> None:
        assert call("new", "theorem", "roe2032/thm1", "--model", "monotone-deq").exit_code == 0
        assert call("new", "model", "scalar-deq").exit_code == 0
        words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests"]
        done = subprocess.run(words, cwd=folder, capture_output=True, text=True)
        assert "4 passed" in done.stdout, done.stdout
        words = ("run", "cases/scalar_deq.yaml", "--with", "models", "--format", "json")
        assert json.loads(call(*words).stdout)["reports"][0]["status"]["word"] == "completed"
        assert call("gradcheck", *words[1:4]).exit_code == 0

    @pytest.mark.parametrize("model", ["delm", "implicit-relu", "linear-resnet", "monotone-deq"])
    def test_a_case_runs_as_it_is(self, folder: Path, model: str) -> None:
        assert call("new", "case", "new.yaml", "--model", model).exit_code == 0
        done = call("run", "new.yaml", "--set", "train.steps=3", "--format", "json")
        assert json.loads(done.stdout)["reports"][0]["status"]["word"] == "completed"

    @pytest.mark.parametrize(
        ("words", "sentence"),
        [
            (("theorem", "thm1"), "expected PAPER/NUMBER"),
            (("theorem", "gao2022/thm4.2"), "there is a statement 'gao2022/thm4.2' already"),
            (("theorem", "a/b", "--model", "dlm"), r"did you mean 'delm'\?"),
            (("model", "Two Words"), "expected a word in small letters"),
            (("model", "delm"), "there is a model 'delm' already"),
            (("case", "a.txt"), "expected a name that ends in .yaml"),
            (("case", "cases/a.yaml"), "cases/a.yaml is there already"),
        ],
    )
    def test_what_cannot_be_made_is_one_sentence(
        self, folder: Path, words: tuple[str, ...], sentence: str
    ) -> None:
        done = call("new", *words)
        assert done.exit_code == 2 and len(done.stderr.splitlines()) == 1
        assert re.search(sentence, done.stderr)


def test_every_command_takes_plugins() -> None:
    context = cli.make_context("deqcheck", ["cases"])
    for name in cli.list_commands(context):
        command: Callable[..., Any] | Any = cli.get_command(context, name)
        assert {"--with", "--no-plugins"} <= {o for p in command.params for o in p.opts}, name
