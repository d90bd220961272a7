"""Whatever the bytes, reading a case gives a case or a CaseError."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from deqcheck.case import CaseError, read_case, read_text

from .conftest import CASE

quick = settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
MARKS = """ { } [ ] , : | > ' " ? - # &a *a !!x << ~ --- ... \\U %YAML"""
WORDS = " deqcheck: data: theorems: expect: kind values gaussian 1 1e-3 0x1 .inf nan"
SNIPPETS = [*MARKS.split(" "), *WORDS.split(" "), "\n", "\n  ", "\t", ": ", "- "]


def attempt(text, overrides=()):
    try:
        read_text(text, "case.yaml", Path("/nowhere"), overrides)
    except CaseError as error:
        lines = str(error).split("\n")
        assert len(lines) == len(error.problems) > 0
        assert all(line.startswith(("case.yaml:", "--set: ")) for line in lines)


@quick
@given(st.binary(max_size=200))
def test_bytes(tmp_path, content):
    path = tmp_path / "case.yaml"
    path.write_bytes(content)
    with pytest.raises(CaseError):
        read_case(path)


@quick
@given(st.lists(st.sampled_from(SNIPPETS) | st.text(max_size=3), max_size=30).map("".join))
def test_text(text):
    attempt(text)


@quick
@given(st.integers(0, len(CASE)), st.integers(0, 8), st.sampled_from(SNIPPETS) | st.text())
def test_damaged_case(start, length, insert):
    attempt(CASE[:start] + insert + CASE[start + length :])


LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
)
KEYS = "seed data data.kind data.target model model.gamma init init.A train train.kind loss"
KEYS += " theorems expect expect.status constants record"


@quick
@given(st.lists(st.tuples(st.sampled_from(KEYS.split()) | st.text(), VALUES), max_size=4))
def test_settings(pairs):
    attempt(CASE, [f"{key}={value!r}" for key, value in pairs])
