"""What a good case says, its digest, and settings from the command line."""

from __future__ import annotations

import json

import numpy as np
import pytest

from deqcheck.case import CaseError, read_case

from .conftest import CASE


def test_defaults_are_filled_in(read):
    case = read()
    assert (case.stated.seed, case.stated.editions, case.stated.record.points) == (
        0,
        ("corrected",),
        200,
    )
    assert (
        case.stated.theorems is None
        and case.stated.train is None
        and case.stated.expect == case.stated.constants == {}
    )
    assert case.stated.loss.kind == case.stated.model.default_loss
    assert case.resolved["init"] == {"kind": "gaussian", "scale": 0.3, "fan": "none"}
    assert case.resolved["loss"] == {"kind": "square", "R": "inf"}
    assert json.loads(json.dumps(case.resolved)) == case.resolved
    assert case.source.lines["model.gamma"] == 5


@pytest.mark.parametrize(
    ("spelt", "value"),
    [("1e-3", 1e-3), ("1.e5", 1e5), (".5", 0.5), ("+2E+2", 200.0), ("7", 7.0), ("010", 10.0)],
)
def test_numbers(read, spelt, value):
    case = read(text=CASE.replace("0.3", spelt))
    assert case.stated.init.scale == value and isinstance(case.stated.init.scale, float)


def test_bare_words_and_text_keys(read):
    case = read("init=identity", "title='on'")
    assert case.stated.init.kind == "identity" and case.stated.init.scale == 1.0
    assert read("title=on").stated.title == "on"


def test_expectations(read):
    text = CASE + (
        "theorems: [kawaguchi2021/thm1]\n"
        "expect: {kawaguchi2021/thm1: {printed: refuted, corrected: not applicable},"
        " status: completed}\n"
        "edition: both\n"
    )
    case = read(text=text)
    assert case.stated.theorems == ("kawaguchi2021/thm1",) and case.stated.editions == (
        "printed",
        "corrected",
    )
    assert case.stated.expect["kawaguchi2021/thm1"]["corrected"] == "not applicable"
    assert case.stated.expect["status"] == "completed"


def test_settings_may_leave_unjudged_what_the_file_expects(read):
    text = CASE + "train: {kind: flow, horizon: 1}\nexpect: {kawaguchi2021/thm1: confirmed}\n"
    assert read(text=text).stated.expect == {"kawaguchi2021/thm1": "confirmed"}
    assert read("train={kind: gd, step: 1, steps: 1}", text=text).stated.train.kind == "gd"
    with pytest.raises(CaseError, match="applies to flow, the case trains by gd"):
        read(text=text.replace("{kind: flow, horizon: 1}", "{kind: gd, step: 1, steps: 1}"))


def test_digest_ignores_what_changes_nothing(read):
    case = read()
    lines = CASE.strip().splitlines()
    for text in (
        CASE.replace("a small case", "renamed"),
        "# a comment\n" + CASE,
        "\n".join(reversed(lines)),
        CASE.replace("0.3", "3e-1"),
        CASE + f"loss: {case.stated.loss.kind}\nseed: 0\n",
        CASE + "expect: {kawaguchi2021/thm1: confirmed}\n",
    ):
        assert read(text=text).digest == case.digest


def test_digest_sees_what_changes_something(read):
    settings = ["seed=1", "model.gamma=0.25", "data.n=6", "init.scale=0.2", "init=identity"]
    settings += ["edition=both", "theorems=[kawaguchi2021/thm1]", "record={points: 3}"]
    settings += ["constants.kawaguchi2021/thm1.kappa=2"]
    digests = {read(setting).digest for setting in settings} | {read().digest}
    assert len(digests) == len(settings) + 1


def test_digest_knows_files_by_content(read, tmp_path):
    arrays = {"A": np.eye(3), "B": np.eye(3)}
    (tmp_path / "there").mkdir()
    for folder in (tmp_path, tmp_path / "there"):
        np.savez(folder / "start.npz", **arrays)
    here, there = (
        read("init={kind: npz, path: start.npz}", folder=folder)
        for folder in (tmp_path, tmp_path / "there")
    )
    absolute = read(f"init={{kind: npz, path: {tmp_path / 'start.npz'}}}")
    assert here.digest == there.digest == absolute.digest
    assert str(tmp_path) not in json.dumps(absolute.resolved)
    assert here.resolved["init"]["path"]["path"] == "start.npz"
    np.savez(tmp_path / "start.npz", A=np.eye(3), B=2 * np.eye(3))
    assert read("init={kind: npz, path: start.npz}").digest != here.digest


def test_paths_are_relative_to_the_case(tmp_path, monkeypatch):
    (tmp_path / "cases").mkdir()
    np.savez(tmp_path / "cases" / "start.npz", A=np.eye(3))
    (tmp_path / "cases" / "case.yaml").write_text(
        CASE.replace("{kind: gaussian, scale: 0.3}", "{kind: npz, path: start.npz}")
    )
    monkeypatch.chdir(tmp_path)
    assert read_case("cases/case.yaml").stated.init.path.path == tmp_path / "cases" / "start.npz"


def test_set_makes_and_changes(read):
    case = read("train.kind=gd", "train.step=1e-3", "train.steps=5", "model.gamma=0.25")
    assert (case.stated.train.kind, case.stated.train.step, case.stated.model.gamma) == (
        "gd",
        1e-3,
        0.25,
    )
    text = CASE.replace("{kind: negated-input, noise: 0.1}", "negated-input")
    assert read("data.target.noise=0.2", text=text).stated.data.target.noise == 0.2
    case = read("constants.gao2022/thm4.4.C1=2", "expect.gao2022/thm4.4=refuted")
    assert case.stated.constants == {"gao2022/thm4.4": {"C1": 2.0}}
    assert case.stated.expect == {"gao2022/thm4.4": "refuted"}
    assert read("title=a=b").stated.title == "a=b"


def test_seed_wins(read):
    assert read("seed=3", seed=4).stated.seed == 4


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("model.gamma=2", "model.gamma: 2 is out of range; expected a number > 0 and < 1"),
        ("model.gamma=", "model.gamma: expected a number > 0 and < 1; found nothing"),
        ("model.gama=.5", "model.gama: 'delm' has no field 'gama' (did you mean 'gamma'?)"),
        ("train.kind=flow", "train.horizon: missing; expected a number > 0"),
        (
            "train.horizon=1",
            "train.kind: missing; expected one of flow, gd, recorded, sgd, truncated",
        ),
        ("title.words=1", "title.words: there is no mapping to set this in"),
        ("title", "expected key=value; found 'title'"),
        ("=1", "expected key=value; found '=1'"),
        ("init={", "init: not valid YAML: expected the node content, but found '<stream end>'"),
        ("init={kind: zero, kind: zero}", "init.kind: given twice"),
        ("init=*x", "init: anchors and aliases (& and *) are not allowed"),
    ],
)
def test_bad_settings(messages, setting, message):
    assert messages(setting) == [f"--set: {message}"]


@pytest.mark.parametrize("key", ["data.[]", "data.x]", "[", "]", "data.[0]x]"])
def test_keys_with_brackets_that_are_no_indices(messages, key):
    [line] = messages(f"{key}=1")
    assert "has no field" in line


def test_settings_come_first(read):
    with pytest.raises(CaseError) as caught:
        read("seed=-1", text=CASE.replace("0.5", "5"))
    assert [problem.line for problem in caught.value.problems] == [None, 5]
