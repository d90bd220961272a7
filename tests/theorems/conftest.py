"""Verdicts of shipped cases, made short and changed at will."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from deqcheck import engine
from deqcheck.case import build_problem, read_case
from deqcheck.records.verdict import Verdict

CASES = Path(__file__).parents[2] / "cases"


@pytest.fixture
def verdict() -> Callable[..., Verdict]:
    def verdict(case: str, statement: str, *overrides: str, edition: str = "corrected") -> Verdict:
        read = read_case(CASES / f"{case}.yaml", overrides)
        report = engine.run(read, build_problem(read), editions=[edition], only=[statement])
        return report.verdicts[0]

    return verdict
