"""The harness must be able to say no."""

from __future__ import annotations

from pathlib import Path

import pytest

from .console import alike, perform, steps

ALIKE = [
    ("a b\n", "a   b\n"),
    ("0.67 s\n", "1.2 s\n"),
    ("loss 244.7 ± 7e-10\n", "loss 244.8 ± 2e-10\n"),
    ("first\n...\nlast\n", "first\nx\ny\nlast\n"),
    ("first\n...\nlast\n", "first\nlast\n"),
    ("...\n", ""),
    ("REFUTED x: ...\n", "REFUTED x: the rest\n"),
    ("first\n...\n", "first\nx\n"),
    ("residual 1e-15\n", "residual 9e-15\n"),
]
DIFFERENT = [
    ("a\n", "b\n"),
    ("REFUTED x: ...\n", "REFUTED y: the rest\n"),
    ("REFUTED x: ...\n", "REFUTED\n"),
    ("a\n", "a\nb\n"),
    ("a\nb\n", "a\n"),
    ("loss 244.7\n", "loss 250.1\n"),
    ("loss 1 ± 7e-10\n", "loss 1 ± 7e-3\n"),
    ("CONFIRMED x\n", "REFUTED x\n"),
    ("first\n...\nlast\n", "first\nx\n"),
    ("thm1\n", "thm2\n"),
    ("exit 0\n", "exit 2\n"),
]


@pytest.mark.parametrize(("shown", "printed"), ALIKE)
def test_what_is_alike(shown: str, printed: str) -> None:
    assert alike(shown, printed)


@pytest.mark.parametrize(("shown", "printed"), DIFFERENT)
def test_what_is_different(shown: str, printed: str) -> None:
    assert not alike(shown, printed)


def test_files_and_commands_are_found() -> None:
    document = (
        "```yaml a.yaml\nx: 1\n```\ntext\n```console\n$ one\nout\n$ two\n```\n```sh\nno\n```\n"
    )
    found = [(s.name, s.command, s.text) for s in steps(document)]
    assert found == [("a.yaml", "", "x: 1\n"), ("", "one", "out\n"), ("", "two", "")]


def test_a_wrong_document_is_caught(tmp_path: Path) -> None:
    right = "```console\n$ deqcheck --version\ndeqcheck, version 0.2.0\n$ echo x | cat\nx\n```\n"
    assert perform(right, tmp_path) == []
    (told,) = perform(right.replace("\nx\n", "\ny\n"), tmp_path)
    assert told == "$ echo x | cat\n--- shown\ny\n--- printed\nx\n"
