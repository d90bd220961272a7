"""The verdicts of all shipped cases are those agreed upon in cases/baseline.json.

Whoever changes one updates the file in the same commit, and says why:
`deqcheck ci cases --baseline cases/baseline.json --update-baseline`.
"""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from deqcheck.ci.baseline import Baseline, entry, read
from deqcheck.ci.compare import changes
from deqcheck.ci.records import Result

from .shipped import FOLDER, SLOW, cases, stated

FILE = FOLDER / "baseline.json"


@pytest.fixture(scope="module")
def agreed() -> Baseline:
    return read(FILE)


def test_every_case_has_its_entry(agreed: Baseline) -> None:
    assert cases() and set(stated()) <= set(agreed.cases)


def test_no_entry_is_without_its_case(agreed: Baseline) -> None:
    known = {case.id.partition("[")[0] for case in cases()}
    left = {name for name in agreed.cases if name.partition("[")[0] not in known}
    assert SLOW or all("/slow/" in name for name in left)


@pytest.mark.parametrize("name", sorted(stated()))
def test_what_comes_out_is_what_was_agreed_upon(
    name: str, agreed: Baseline, shipped: Mapping[str, Result]
) -> None:
    facts = shipped[name].reply.facts
    assert facts is not None
    found = changes(agreed.cases[name], entry(facts), agreed.allowance)
    assert not found, [str(change) for change in found]
