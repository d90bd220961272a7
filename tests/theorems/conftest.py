"""Verdicts of shipped cases, made short and changed at will."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from deqcheck.case import read_case
from deqcheck.judging import judge
from deqcheck.records.verdict import Verdict

CASES = Path(__file__).parents[2] / "cases"


@pytest.fixture
def verdict() -> Callable[..., Verdict]:
    def verdict(case: str, statement: str, *overrides: str, edition: str = "corrected") -> Verdict:
        read = read_case(CASES / f"{case}.yaml", overrides)
        constants = read.question.constants.get(statement)
        return judge(statement, read.problem(), edition=edition, constants=constants)

    return verdict
