"""Files that state several cases."""

from __future__ import annotations

from pathlib import Path

import pytest

from deqcheck.case import CaseError, read_text, read_texts
from deqcheck.case.write import case_yaml

from .conftest import CASE

TRAINED = f"{CASE}train: {{kind: gd, step: 1e-3, steps: 5}}\n"
SWEEP = """
sweep:
  seeds: {seed: [3, 4]}
  steps:
    train.step: [1e-3, 2e-3]
    init: [zero, {kind: gaussian, scale: 0.1}]
"""


def read_all(text, *overrides):
    return read_texts(text, "case.yaml", Path(), overrides)


def test_each_member_is_the_case_that_says_it_all_by_itself():
    found = read_all(TRAINED + SWEEP)
    assert [case.full_name for case in found] == [
        "case.yaml[seeds: seed=3]",
        "case.yaml[seeds: seed=4]",
        "case.yaml[steps: train.step=0.001, init=zero]",
        'case.yaml[steps: train.step=0.002, init={"kind": "gaussian", "scale": 0.1}]',
    ]
    assert [case.stated.seed for case in found] == [3, 4, 0, 0]
    assert [case.stated.init.kind for case in found] == ["gaussian", "gaussian", "zero", "gaussian"]
    alone = read_text(TRAINED, "case.yaml", Path(), ["seed=3"])
    assert (found[0].resolved, found[0].digest) == (alone.resolved, alone.digest)
    assert found[0].stated.title == alone.stated.title
    assert found[0].full_title == "a small case, seeds: seed=3"


def test_the_settings_of_a_member_choose_it():
    for case in read_all(TRAINED + SWEEP):
        again = read_text(TRAINED + SWEEP, "case.yaml", Path(), case.source.member.overrides())
        assert (again.source.member, again.digest) == (None, case.digest)


def test_overrides_apply_to_every_member_but_not_to_what_it_sets():
    found = read_all(TRAINED + SWEEP, "train.step=0.5", "train.steps=7")
    assert [case.stated.train.step for case in found] == [0.5, 0.5, 1e-3, 2e-3]
    assert {case.stated.train.steps for case in found} == {7}


def test_a_sweep_may_be_given_by_an_override():
    assert [c.stated.seed for c in read_all(TRAINED, "sweep={s: {seed: [5, 6]}}")] == [5, 6]
    assert [c.stated.seed for c in read_all(TRAINED + SWEEP, "sweep={s: {seed: [5, 6]}}")] == [5, 6]
    assert len(read_all(TRAINED + SWEEP, "sweep=null")) == 1


def test_expectations_may_vary():
    more = "sweep: {s: {seed: [1, 2], expect.kawaguchi2021/gd: [confirmed, refuted]}}"
    found = read_all(TRAINED + more)
    assert [case.stated.expect["kawaguchi2021/gd"] for case in found] == ["confirmed", "refuted"]


def test_where_one_case_is_wanted_the_sentence_says_how_to_choose():
    with pytest.raises(CaseError) as caught:
        read_text(TRAINED + SWEEP, "case.yaml", Path())
    line = (TRAINED + SWEEP).splitlines().index("sweep:") + 1
    assert str(caught.value) == (
        f"case.yaml:{line}: sweep: states 4 cases; expected one: choose it, such as by "
        "--set sweep=null --set seed=3"
    )


@pytest.mark.parametrize(
    ("sweep", "sentence"),
    [
        ("[1]", "sweep: expected a mapping from names to sweeps, such as "),
        ("{}", "sweep: expected a mapping from names to sweeps, such as "),
        ("{s: {title.x: [1, 2]}}", "sweep.s.title.x: there is no mapping to set this in"),
        (f"{{s: {{seed: {list(range(1001))}}}}}", "sweep.s: states 1001 cases; expected at most"),
    ],
)
def test_refusals(sweep, sentence):
    with pytest.raises(CaseError) as caught:
        read_all(f"{TRAINED}sweep: {sweep}\n")
    [line] = str(caught.value).splitlines()
    assert line.startswith(f"case.yaml:{TRAINED.count(chr(10)) + 1}: {sentence}")


def test_a_ready_case_of_a_member_stands_alone():
    member = read_all(TRAINED + SWEEP)[1]
    again = read_text(case_yaml(member, {"train.step": 0.25}), "ready.yaml", Path())
    assert (again.stated.seed, again.stated.train.step, again.source.member) == (4, 0.25, None)
