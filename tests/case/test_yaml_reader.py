"""The fast parser reads what the slow one reads, or leaves it to that one."""

from __future__ import annotations

import random

import pytest
import yaml

from deqcheck.case.yaml_reader import Tree, Unreadable, _by_libyaml, _by_pyyaml
from tests.shipped import FOLDER

TEXTS = [path.read_text() for path in sorted(FOLDER.rglob("*.yaml"))]
NOISE = "\t :,-[]{}#&*!|>'\"%@`?\n~ab1.e\\\u2028\x85\ufeff\x00\x07\u00e9"

pytestmark = pytest.mark.skipif(not yaml.__with_libyaml__, reason="PyYAML without libyaml")


def slowly(text: str) -> Tree | None:
    try:
        return _by_pyyaml(text)
    except (Unreadable, yaml.YAMLError):
        return None


def damaged(rng: random.Random) -> str:
    lines = rng.choice(TEXTS).splitlines(keepends=True)
    start = rng.randrange(len(lines))
    letters = list("".join(lines[start : start + rng.randrange(1, 6)]))
    for _ in range(rng.randrange(1, 5)):
        at = rng.randrange(len(letters) + 1)
        letters[at : at + rng.randrange(2)] = rng.choice(NOISE) * rng.randrange(2)
    return "".join(letters)


def test_shipped_cases_are_read_alike() -> None:
    rng = random.Random(3)
    for text in rng.sample(TEXTS, 40):
        assert _by_libyaml(text) in (None, slowly(text))


def test_damaged_cases_are_read_alike_or_left_alone() -> None:
    rng = random.Random(2)
    read = 0
    for text in (damaged(rng) for _ in range(2000)):
        fast = _by_libyaml(text)
        if fast is not None:
            read += 1
            assert repr(fast) == repr(slowly(text)), text
    assert read > 500
