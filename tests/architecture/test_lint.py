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


THEOREM = """
from collections.abc import Iterable

from deqcheck.records.claim import Claim
from deqcheck.theorems.base import Check
from deqcheck.theorems.ling2022.setting import Problem, State, Statement


class Typed(Statement):
    small = Check("W is small", "norm_W < 1")

    def claims(self, p: Problem, state: State) -> Iterable[Claim]:
        yield self.small(norm_W={expression})
"""


def mypy(text: str, folder: Path) -> str:
    (folder / "theorem.py").write_text(text)
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "mypy",
            "--config-file",
            ROOT / "pyproject.toml",
            "--cache-dir",
            ROOT / ".mypy_cache",
            folder / "theorem.py",
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout


@pytest.mark.parametrize(
    ("expression", "error"),
    [
        ("state.q", ""),
        ("state.qq", '"ReluDeqState" has no attribute "qq"'),
        ("p.start.lambda_00", '"ReluDeqState" has no attribute "lambda_00"'),
        ("p.model.X_frob", '"ReluDeqModel" has no attribute "X_frob"'),
        ("state.model.sigma_w", '"ReluDeqModel" has no attribute "sigma_w"'),
    ],
)
def test_a_misspelt_attribute_in_a_theorem_is_a_type_error(
    expression: str, error: str, tmp_path: Path
) -> None:
    told = mypy(THEOREM.format(expression=expression), tmp_path)
    assert error in told
    assert ("error:" in told) == bool(error), told
