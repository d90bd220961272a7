"""Every shipped case says what to expect, and it comes out so."""

from __future__ import annotations

from pathlib import Path

import pytest

from deqcheck import engine
from deqcheck.case import build_problem, read_case

FOLDER = Path(__file__).parents[1] / "cases"
CASES = sorted(FOLDER.rglob("*.yaml"))


@pytest.mark.parametrize("path", CASES, ids=lambda p: str(p.relative_to(FOLDER)))
def test_a_case_comes_out_as_expected(path: Path) -> None:
    case = read_case(path)
    report = engine.run(case, build_problem(case))
    # Without an equilibrium there is nothing to judge, and the case must say so.
    assert report.verdicts or "status" in case.expect
    for verdict in report.verdicts:
        assert verdict.met is True, (verdict.id, verdict.edition, verdict.outcome, verdict.expected)
    assert report.status.word == (case.expect.get("status") or "completed")
