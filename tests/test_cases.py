"""Every shipped case says what to expect, and it comes out so."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from deqcheck import engine
from deqcheck.case import build_problem, read_case

FOLDER = Path(__file__).parents[1] / "cases"
# What takes minutes, or needs data that are not shipped, lies in a folder `slow`.
SLOW = os.environ.get("DEQCHECK_SLOW") == "1"
CASES = sorted(p for p in FOLDER.rglob("*.yaml") if SLOW or p.parent.name != "slow")


@pytest.mark.parametrize("path", CASES, ids=lambda p: str(p.relative_to(FOLDER)))
def test_a_case_comes_out_as_expected(path: Path) -> None:
    case = read_case(path)
    report = engine.run(case, build_problem(case))
    assert report.verdicts
    for verdict in report.verdicts:
        assert verdict.met is True, (verdict.id, verdict.edition, verdict.outcome, verdict.expected)
    assert report.status.word == (case.expect.get("status") or "completed")
