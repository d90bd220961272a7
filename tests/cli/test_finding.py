"""Finding one's way: lists by what they are about, candidates, suggestions, completion."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner, Result

from deqcheck import registry
from deqcheck.cli.commands import theorems
from deqcheck.cli.main import cli
from deqcheck.report.parts.console import render_text
from deqcheck.report.parts.render_options import RenderOptions


def call(*words: str, **environment: str) -> Result:
    return CliRunner().invoke(cli, words, prog_name="deqcheck", env=environment)


def ids(*words: str) -> list[str]:
    return [
        entry["id"] for entry in json.loads(call("theorems", *words, "--format", "json").stdout)
    ]


def test_statements_by_what_they_are_about() -> None:
    every = json.loads(call("theorems", "--format", "json").stdout)
    for option, key, value in (
        ("--model", "model", "relu-deq"),
        ("--dynamics", "dynamics", "gd"),
        ("--status", "status", "false"),
    ):
        expected = [e["id"] for e in every if value == e[key] or value in e[key]]
        assert ids(option, value) == expected and 0 < len(expected) < len(every)
    assert ids("--model", "monotone-deq", "--dynamics", "gd", "--status", "false") == [
        id_
        for id_ in ids("--model", "monotone-deq")
        if id_ in ids("--dynamics", "gd") and id_ in ids("--status", "false")
    ]
    assert "did you mean 'relu-deq'?" in call("theorems", "--model", "relu-dec").stderr


def test_a_list_of_nothing_says_so() -> None:
    nothing = call("theorems", "--model", "relu-deq", "--dynamics", "gd", "--status", "false")
    assert (nothing.exit_code, nothing.stdout) == (0, "")
    assert nothing.stderr.count("\n") == 1 and "leave out a filter" in nothing.stderr


def test_a_pipe_gets_a_line_for_each_statement() -> None:
    found = list(registry.statements().values())
    head, *listed = call("theorems").stdout.splitlines()
    assert head.split() == ["id", "model", "status", "editions", "title"]
    for line, s in zip(listed, found, strict=True):
        assert line.startswith(f"{s.id} ") and line.endswith(f" {s.title}")
        assert ", ".join(s.models) in line and f" {s.soundness} " in line


@pytest.mark.parametrize("width", [60, 72, 80, 100])
def test_a_list_is_not_cut_at_any_width(width: int) -> None:
    found = list(registry.statements().values())
    text = render_text(theorems._lines(found, width), RenderOptions(width=width))
    rows, words = text.splitlines(), set(text.split())
    for s in found:
        assert any(row.split()[:1] == [s.id] for row in rows)
        assert words.issuperset(s.title.split())
    assert "…" not in text
    assert max(map(len, rows)) <= width


def test_the_end_of_an_id_and_a_paper() -> None:
    listed = call("theorems", "show", "cor1")
    assert listed.exit_code == 0
    assert "kawaguchi2021/cor1" in listed.stdout and "xie2021/cor1" in listed.stdout
    assert ids("show", "hieu2022")[0].startswith("hieu2022/")
    assert call("theorems", "show", "thm3.3.5").stdout.startswith("hieu2022/thm3.3.5")
    failed = call("run", "quickstart", "--only", "cor1")
    assert failed.exit_code == 2
    assert "(did you mean 'kawaguchi2021/cor1' or 'xie2021/cor1'?)" in failed.stderr


def test_the_file_of_a_case() -> None:
    shown = call("cases", "show", "quickstart").stdout
    assert shown.startswith("# The embedded first case") and "deqcheck: 1" in shown
    assert "did you mean 'quickstart'?" in call("cases", "show", "quikstart").stderr


@pytest.mark.parametrize(("word", "meant"), [("rum", "run"), ("theorem", "theorems")])
def test_a_mistyped_command(word: str, meant: str) -> None:
    failed = call(word)
    assert failed.exit_code == 2 and f"(did you mean '{meant}'?)" in failed.stderr


@pytest.mark.parametrize(
    ("setting", "sentence"),
    [
        ("loss=mse", "half-square (half the sum of squares) and square"),
        ("loss=CrossEntropy", "logistic, the cross-entropy of two classes"),
        ("train={kind: adam, lr: 1}", "no theorem here covers it: gd, sgd (with momentum)"),
    ],
)
def test_words_of_others(setting: str, sentence: str) -> None:
    failed = call("validate", "quickstart", "--set", setting)
    assert failed.exit_code == 2 and sentence in failed.stderr


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("deqcheck run quick", "plain,quickstart"),
        ("deqcheck run quick", "file,quick"),
        ("deqcheck run --only kawaguchi2021/co", "plain,kawaguchi2021/cor1"),
        ("deqcheck theorems show xie2021/co", "plain,xie2021/cor1"),
        ("deqcheck docs theory/", "plain,theory/gao2022"),
        ("deqcheck cases show hieu2022/ch", "plain,hieu2022/chapter2"),
    ],
)
def test_completion(line: str, offered: str) -> None:
    count = str(len(line.split()) - 1)
    words = {"_DEQCHECK_COMPLETE": "bash_complete", "COMP_WORDS": line, "COMP_CWORD": count}
    assert offered in call(**words).stdout.splitlines()
