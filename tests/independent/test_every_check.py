"""Each check of each statement has its numbers from outside, or a reason why not."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pytest

import deqcheck as dq
from deqcheck.registry import inside
from deqcheck.theorems.base import Check

PAPERS = [name for name, is_folder in inside("deqcheck.theorems") if is_folder]


def module(paper: str) -> Any:
    return import_module(f"tests.independent.{paper}")


INSTANCES = [instance for paper in PAPERS for instance in module(paper).INSTANCES]


@pytest.mark.parametrize("s", dq.statements(), ids=lambda s: s.id)
def test_every_check_is_held(s: type[dq.Statement[Any, Any]]) -> None:
    """By its attribute; EXEMPT of the paper's file says why one is not."""
    held = {name for each in INSTANCES if each.id == s.id for name in each.expected()}
    exempt = module(s.paper()).EXEMPT.get(s.id, {})
    checks = {n for c in s.__mro__ for n, v in vars(c).items() if isinstance(v, Check)}
    assert checks - held == set(exempt), "neither held nor exempt, or both"
    editions = {each.edition for each in INSTANCES if each.id == s.id}
    assert editions == set(s.editions)
    assert all(reason for reason in exempt.values())
