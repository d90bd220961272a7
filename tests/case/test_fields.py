"""Declaring fields, and registries that list their folder."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from deqcheck.fields import (
    REQUIRED,
    Refusal,
    array,
    choice,
    file,
    flag,
    integer,
    mapping,
    number,
    part,
    plain_record,
    read_record,
    section,
    specs,
    text,
)
from deqcheck.kinds import Target


@dataclass(frozen=True)
class Inner:
    beta: float = number(above=0, default=1)
    lambda_: float = number(default=None)


@dataclass(frozen=True)
class Everything:
    step: float = number(above=0, doc="step size")
    radius: float = number(at_least=0, default=math.inf, infinite=True)
    steps: int = integer(at_least=1, at_most=9, default=3)
    word: str = choice("one", "two", default="one")
    name: str = text(default="")
    verbose: bool = flag(default=False)
    weights: np.ndarray = array(default=[[1, 2]])
    target: Any = part(Target, default="negated-input")
    inner: Inner = section(Inner, default={})
    table: Any = mapping(number(), default={})
    optional: Any = file(default=None)


def read(**tree):
    return read_record(Everything, tree, Path(), "'everything'")


def test_defaults():
    record = read(step=1)
    assert isinstance(record.step, float) and record.radius == math.inf
    assert record.weights.tolist() == [[1, 2]] and record.weights.dtype == np.float64
    assert record.target.kind == "negated-input" and record.inner == Inner(beta=1.0)
    assert Everything(step=1.0).target == record.target
    assert plain_record(record) == {
        "step": 1.0,
        "radius": "inf",
        "steps": 3,
        "word": "one",
        "name": "",
        "verbose": False,
        "weights": [[1.0, 2.0]],
        "target": {"kind": "negated-input", "noise": 0.0},
        "inner": {"beta": 1.0, "lambda": None},
        "table": {},
        "optional": None,
    }


def test_python_words_may_be_fields():
    assert read(step=1, inner={"lambda": 2}).inner.lambda_ == 2.0
    assert list(specs(Inner)) == ["beta", "lambda"]


def test_specs_document():
    found = specs(Everything)
    assert found["step"].doc == "step size" and found["step"].default is REQUIRED
    assert found["step"].expected == "a number > 0"
    assert found["radius"].expected == "a number >= 0 or inf"
    assert found["steps"].expected == "an integer >= 1 and <= 9"
    assert found["target"].default == "negated-input"


def test_every_problem_at_once():
    with pytest.raises(Refusal) as caught:
        read(stepp=1, steps=True, verbose=1, table={"a": "b"}, inner={"gamma": 1}, optional=2)
    assert caught.value.problems == [
        ("steps", "expected an integer >= 1 and <= 9; found true"),
        ("verbose", "expected true or false; found 1"),
        ("table.a", "expected a number; found 'b'"),
        ("inner.gamma", "this mapping has no field 'gamma'; expected one of beta, lambda"),
        ("optional", "expected the path of a file, relative to the case; found 2"),
        ("stepp", "'everything' has no field 'stepp' (did you mean 'step'?)"),
    ]


@pytest.mark.parametrize("value", [True, None, "1", [1], {}, math.nan, math.inf, 0, -1])
def test_what_is_no_step(value):
    with pytest.raises(Refusal):
        read(step=value)
