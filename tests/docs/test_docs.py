"""Every command that a document shows is run, and prints what the document says."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest
from click.testing import CliRunner

from deqcheck import docs
from deqcheck.api import statements
from deqcheck.case import embedded
from deqcheck.ci.baseline import read
from deqcheck.cli.main import cli
from deqcheck.fields import specs
from deqcheck.registry import kinds
from deqcheck.report.parts import picture
from tests.families import ROOMS

from .console import ROOT, alike, perform, perform_one, steps

README = ROOT / "README.md"
# A line of `run --quiet`: outcome, statement and edition, case.
VERDICT = re.compile(r"([A-Z ]+) (\S+ \(\w+\)) ([^\s:]+)")
# Read once.
cases = cache(embedded.cases)


@pytest.mark.parametrize("topic", sorted({*docs.topics()} - {"errata"}))
def test_a_topic_shows_what_happens(topic: str, tmp_path: Path) -> None:
    text = docs.text(topic, cases)
    if "--plot" in text and not picture.available():
        pytest.skip("no matplotlib")
    assert not perform(text, tmp_path)


def test_the_errata_show_what_happens(tmp_path: Path) -> None:
    """Their counterexamples are shipped cases, whose outcomes test_baseline.py holds; a command of
    each paper is run, and those of outcomes that the baseline does not have."""
    agreed, tried = read(ROOT / "cases" / "baseline.json").cases, set()
    for step in steps(docs.text("errata", cases)):
        said = [VERDICT.match(line) for line in step.text.splitlines()]
        assert said and all(said), step
        known = [agreed[line[3]]["statements"].get(line[2]) for line in said if line]
        paper = step.command.split()[2].partition("/")[0]
        if paper not in tried or not all(known):
            tried.add(paper)
            assert alike(step.text, perform_one(step, tmp_path))
        for line, verdict in zip(said, known, strict=True):
            assert line and (verdict is None or verdict["outcome"] == line[1].lower()), step


@pytest.mark.skipif(not README.exists(), reason="no README")
def test_the_readme_shows_what_happens(tmp_path: Path) -> None:
    assert not perform(README.read_text(), tmp_path)


@pytest.mark.skipif(not README.exists(), reason="no README")
def test_the_readme_is_a_front_door() -> None:
    text = README.read_text()
    assert len(text.splitlines()) <= 150
    said = re.search(r"More than (\d+) statements of five works", text)
    assert said and len(statements()) > int(said[1])
    shown = [step.command for step in steps(text) if step.command]
    assert all(any(word in command for command in shown) for word in ("run", "advise", "theorems"))
    # Every topic it names is one, and every topic of its own is named.
    table = text[text.index("| topic | about |") :].partition("\n\n")[0]
    named = set(re.findall(r"`([^`]+)`", table))
    topics = {topic.partition("/")[0] for topic in docs.topics()}
    assert {name.partition("/")[0] for name in named} <= topics
    assert topics - {name.partition("/")[0] for name in named} == {"completion"}


def test_there_are_commands_to_run() -> None:
    for topic in ("verdict", "errors", "sharing", "extend", "errata"):
        shown = steps(docs.text(topic, cases))
        assert any(step.command for step in shown), topic


def test_every_paper_has_its_theory() -> None:
    papers = {s.id.partition("/")[0] for s in statements()}
    topics = docs.topics()
    for paper in papers:
        assert f"theory/{paper}" in topics
        told = docs.text(f"theory/{paper}", cases)
        mine = [s for s in statements() if s.id.startswith(f"{paper}/")]
        assert all(f"## {s.id}: {s.title}" in told for s in mine)
        assert all(check.formula.text in told for s in mine for check in s.checks())
        assert (ROOT / "deqcheck" / "theorems" / paper / "theory.md").exists()


def test_every_erratum_is_told_and_every_false_statement_has_a_counterexample() -> None:
    told = docs.text("errata", cases)
    for s in statements():
        if s.erratum:
            assert s.erratum in told
        if s.soundness == "false" and len(s.editions) > 1:
            assert f"--only {s.id} --edition both" in told, s.id


def test_the_case_reference_has_every_kind_and_field() -> None:
    told = docs.text("case", cases)
    for package in ("data", "models", "losses", "inits", "dynamics", "targets"):
        for kind, cls in kinds(ROOMS[package]).items():
            assert f"### {kind}\n" in told
            assert all(f"`{key}`" in told or "(any name)" in told for key in specs(cls))


def test_the_command_lists_and_prints() -> None:
    call = CliRunner()
    listed = call.invoke(cli, ["docs"])
    assert listed.exit_code == 0
    assert all(topic in listed.output for topic in docs.topics())
    assert max(map(len, listed.output.splitlines())) <= 80
    assert call.invoke(cli, ["docs", "verdict"]).output == docs.text("verdict", cases)


def test_an_unknown_topic_gets_a_suggestion() -> None:
    result = CliRunner().invoke(cli, ["docs", "verdicts"])
    assert result.exit_code == 2
    assert "did you mean 'verdict'?" in result.output
