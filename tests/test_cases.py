"""Every shipped case says what to expect, and it comes out so."""

from __future__ import annotations

import pytest

from deqcheck.ci.judge import judge
from deqcheck.ci.records import Result
from deqcheck.cli.exit_code import exit_code

from .shipped import stated


@pytest.mark.parametrize("name", list(stated()))
def test_a_case_comes_out_as_expected(name: str, shipped: dict[str, Result]) -> None:
    row = judge(shipped[name], exit_code, None)
    assert row.ok, row.troubles
    expect = row.result.expect
    # Without an equilibrium there is nothing to judge, and the case must say so.
    assert row.statements or "status" in expect
    for statement in row.statements:
        assert expect.of(statement["id"], statement["edition"]) is not None
