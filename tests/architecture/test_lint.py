"""Linting and typing are part of the tests."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    "arguments",
    [
        ["ruff", "check", "."],
        ["ruff", "format", "--check", "."],
        ["mypy", "deqcheck"],
    ],
    ids=" ".join,
)
def test_tool_is_content(arguments: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


# What a theorem may write for a number, and what mypy says of it.
EXPRESSIONS = {
    "state.q": "",
    "state.qq": '"ReluDeqState" has no attribute "qq"',
    "p.start.lambda_00": '"ReluDeqState" has no attribute "lambda_00"',
    "p.model.X_frob": '"ReluDeqModel" has no attribute "X_frob"',
    "state.model.sigma_w": '"ReluDeqModel" has no attribute "sigma_w"',
}
IMPORTS = """
from collections.abc import Iterable

from deqcheck.records.claim import Claim
from deqcheck.theorems.base import Check
from deqcheck.theorems.ling2022.setting import Problem, State, Statement
"""
THEOREM = """

class Typed{i}(Statement):
    small = Check("W is small", "norm_W < 1")

    def claims(self, p: Problem, state: State) -> Iterable[Claim]:
        yield self.small(norm_W={expression})
"""


def test_a_misspelt_attribute_in_a_theorem_is_a_type_error(tmp_path: Path) -> None:
    theorem = tmp_path / "theorem.py"
    each = (THEOREM.format(i=i, expression=e) for i, e in enumerate(EXPRESSIONS))
    theorem.write_text(IMPORTS + "".join(each))
    words = ("--config-file", ROOT / "pyproject.toml", "--cache-dir", ROOT / ".mypy_cache")
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *words, theorem],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    told = [line.partition("error: ")[2] for line in done.stdout.splitlines() if "error:" in line]
    wanted = [error for error in EXPRESSIONS.values() if error]
    assert len(told) == len(wanted), done.stdout
    assert all(error in line for error, line in zip(wanted, told, strict=True)), done.stdout
