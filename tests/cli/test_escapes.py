"""Titles and file names may hold anything; none of it commands the terminal."""

from __future__ import annotations

from pathlib import Path

import pytest

from deqcheck.report.parts.visible import visible

CLEAR = "\x1b[2J\x1b]0;owned\x07"
# YAML refuses raw control characters; a double-quoted string may spell them.
SPELT = r"\x1b[2J\x1b]0;owned\x07"


@pytest.fixture
def hostile(case: str) -> Path:
    path = Path(case).with_name(f"a{CLEAR}.yaml")
    path.write_text(Path(case).read_text().replace("title: small DELM", f'title: "x{SPELT}"'))
    return path


@pytest.mark.parametrize("form", ["table", "csv", "json", "html", "md", "tex"])
def test_no_format_lets_them_through(deqcheck, hostile: Path, form: str) -> None:
    result = deqcheck("run", str(hostile), "--format", form)
    assert result.exit_code == 0
    assert "\x1b" not in result.output and "\x07" not in result.output
    assert r"\x1b[2J" in result.output.replace(r"\u001b", r"\x1b").replace("textbackslash{}", "")


def test_no_message_lets_them_through(deqcheck, hostile: Path) -> None:
    hostile.write_text("deqcheck: 1\nmodle: {}\n")
    for words in (["run", str(hostile)], ["validate", str(hostile)], ["ci", str(hostile)]):
        result = deqcheck(*words)
        assert result.exit_code == 2
        assert "\x1b" not in result.output and r"\x1b[2J" in result.output
    missing = deqcheck("run", f"none{CLEAR}")
    assert "\x1b" not in missing.stderr and "neither a file" in missing.stderr


def test_what_is_printable_stays_as_it_is() -> None:
    assert visible("λ₀² ≥ 2·‖A‖\n\tname") == "λ₀² ≥ 2·‖A‖\n\tname"
    assert visible("a\u202eb\x9bc") == r"a\u202eb\x9bc"


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (("run", "--format", "jsn"), "'json'"),
        (("run", "--edition", "prnted"), "'printed'"),
        (("ci", "x", "--format", "jnit"), "'junit'"),
        (("theorems", "--status", "flase"), "'false'"),
        (("run", "--only-id", "x"), "--only"),
    ],
)
def test_an_unknown_word_gets_a_suggestion(deqcheck, words, meant) -> None:
    result = deqcheck(*words)
    assert result.exit_code == 2
    assert meant in result.stderr.splitlines()[-1] and "id you mean" in result.stderr


def test_tables_belong_to_csv(deqcheck, case: str) -> None:
    result = deqcheck("run", case, "--table", "trajectory")
    assert result.exit_code == 2 and result.stderr.count("\n") == 1
    assert "a table of --format csv" in result.stderr
    found = deqcheck("run", case, "--format", "csv", "--table", "trajectory").stdout.splitlines()
    assert found[0].startswith("case,k,t,loss,") and len(found) == 7
