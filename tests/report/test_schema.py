"""The JSON Schema of reports: it takes every report, and nothing that only looks like one."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from importlib.resources import files
from typing import Any

import numpy as np
import pytest
import samples
from click.testing import CliRunner
from jsonschema import Draft202012Validator

from deqcheck.cli.main import cli
from deqcheck.environment import environment
from deqcheck.records.comparison import Decision
from deqcheck.records.measured import Measured
from deqcheck.records.power import LOWER, UPPER
from deqcheck.records.report import Place, Report
from deqcheck.records.verdict import Outcome, Status
from deqcheck.records.words import EDITIONS
from deqcheck.report import renderer
from deqcheck.report.parts.render_options import RenderOptions

NAME = "deqcheck-report/2"
SCHEMA = json.loads((files("deqcheck") / "report/schema/deqcheck-report-2.json").read_text("utf-8"))
VALIDATOR = Draft202012Validator(SCHEMA)
SMALL = """\
deqcheck: 1
data: {kind: gaussian, n: 6, dim: 2, target: {kind: negated-input, noise: 0.1}}
model: {kind: delm, gamma: 0.5}
init: {kind: gaussian, scale: 0.3}
train: {kind: gd, step: 1e-3, steps: 5}
"""
SWEEP = "sweep: {steps: {train.step: [1e-3, 2e-3]}, seeds: {seed: [4]}}\n"
COMPARE = """\
compare:
  model: {kind: linear-resnet, depth: 2}
  init: zero
  train: {kind: gd, step: 1e-3, steps: 5}
"""
RUNS = {
    "flow": ("run", "quickstart"),
    "descent": ("run", "kawaguchi2021/gd-counterexample", "--edition", "both"),
    "several": ("run", "gao2022/kink", "kawaguchi2021/gd-counterexample"),
    "before training": ("bounds", "--init", "quickstart"),
    "array": ("bounds", "--init", "xie2021/layer"),
    "lost numbers": ("run", "gao2022/step-one-over-n"),
    "no equilibrium": ("run", "ling2022/equilibria-none"),
    "diverged": ("run", "kawaguchi2021/gd-harmless", "--set", "train.step=1e3"),
    "out of range": ("run", "quickstart", "--set", "rescale.Phi=1e160"),
}


def document(reports: Sequence[Report]) -> Any:
    return json.loads(renderer("json")(reports, RenderOptions()))


def told(*words: str) -> Any:
    """What the command line tells."""
    result = CliRunner().invoke(cli, [*words, "--format", "json"], prog_name="deqcheck")
    return json.loads(result.stdout)


def labelled(report: Report, **more: Any) -> Report:
    """A sample with the labels of a real one."""
    written = samples.Written("0123456789abcdef" * 4, report.resolved)
    return replace(report, written=written, environment=environment(), **more)


def faults(found: Any) -> list[str]:
    return [f"{error.json_path}: {error.message}" for error in VALIDATOR.iter_errors(found)]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("schema")
    found = {name: told(*words) for name, words in RUNS.items()}
    for name, more in {"sweep": SWEEP, "companion": COMPARE}.items():
        path = folder / f"{name}.yaml"
        path.write_text(SMALL + more)
        found[name] = told("run", str(path))
    return found


def test_the_schema_is_one():
    Draft202012Validator.check_schema(SCHEMA)
    assert SCHEMA["properties"]["schema"] == {
        "description": "Name and version of this format.",
        "const": NAME,
    }


def test_it_knows_every_word():
    parts = SCHEMA["$defs"]
    judged = parts["judged"]["properties"]
    assert parts["outcome"]["enum"] == [outcome.value for outcome in Outcome]
    assert parts["status_word"]["enum"] == [status.word for status in Status]
    assert judged["decision"]["enum"] == [decision.value for decision in Decision]
    assert judged["relation"]["enum"] == [*UPPER, *LOWER, "=="]
    assert tuple(parts["statement"]["properties"]["edition"]["enum"]) == EDITIONS


def objects(schema: Any) -> Iterator[dict[str, Any]]:
    """Every part of the schema that describes an object."""
    if isinstance(schema, dict):
        if schema.get("type") == "object":
            yield schema
        schema = list(schema.values())
    if isinstance(schema, list):
        for part in schema:
            yield from objects(part)


def test_only_a_case_may_have_keys_of_its_own():
    loose = [part for part in objects(SCHEMA) if "additionalProperties" not in part]
    assert loose == [SCHEMA["$defs"]["case"]["properties"]["resolved"]]


def test_a_key_is_required_unless_it_is_known_to_be_optional():
    optional = [set(o.get("properties", ())) - set(o.get("required", ())) for o in objects(SCHEMA)]
    curve = set(SCHEMA["$defs"]["judged"]["dependentRequired"])
    assert [keys for keys in optional if keys] == [
        {"trajectory", "companion", "certificate"},
        {"sweep"},
        # Of an entry that was found, and of one that was not.
        {"t", "loss", "outcome", "hypotheses", "conclusions", "quantities", "blocking", "trend"},
        {"conclusions", "remarks", "unchecked", "entry"},
        curve | {"undecided"},
        {"marker"},
    ]


VERDICTS = (
    samples.confirmed(edition="printed"),
    samples.confirmed(constants={"c": 2.0, "d": np.inf}, notes=("One.",)),
    samples.refuted(),
    samples.not_applicable(),
)
LOST = {
    "nan": Measured(np.nan),
    "overflown": Measured(-np.inf, 1.0),
    "exact": Measured(np.array([1.0, np.inf])),
    "array": Measured(np.array([1.0, np.nan]), np.array([0.5, 0.0])),
}


@pytest.mark.parametrize(
    "report",
    [
        samples.report(),
        samples.report(*VERDICTS),
        samples.report(samples.confirmed(12_000), steps=12_000),
        samples.before_training(),
        replace(samples.before_training(), quantities=LOST),
        samples.report(companion=samples.report().trajectory, companion_name="linear-resnet"),
        samples.report(place=Place("a.yaml", "A", "steps", {"train.step": "0.1"})),
        *(samples.report(status=s, expected_status=s.word, notes=("A note.",)) for s in Status),
    ],
)
def test_samples_are_valid(report):
    assert faults(document([labelled(report)])) == []


@pytest.mark.parametrize("name", [*RUNS, "sweep", "companion"])
def test_runs_are_valid(runs, name):
    assert faults(runs[name]) == []


def test_the_runs_show_what_is_optional(runs):
    first = {name: found["reports"][0] for name, found in runs.items()}
    words = {name: report["status"]["word"] for name, report in first.items()}
    assert words["no equilibrium"] == "no-equilibrium"
    assert (words["diverged"], words["out of range"]) == ("diverged", "out-of-range")
    assert "sweep" in first["sweep"]["case"] and len(runs["sweep"]["reports"]) == 3
    assert first["companion"]["companion"]["model"] == "linear-resnet"
    assert "trajectory" in first["flow"] and "trajectory" not in first["before training"]
    assert "conclusions" not in first["before training"]["statements"][0]
    assert isinstance(first["array"]["quantities"]["phi"]["value"], list)
    lost = json.dumps(first["lost numbers"])
    assert '"marker": "nan"' in lost and '"error": "inf"' in lost


def renamed(entry: dict[str, Any], old: str, new: str) -> None:
    entry[new] = entry.pop(old)


# Each spoils a sample whose first statement is confirmed; its conclusion is a curve.
SPOILT: dict[str, Callable[[Any, Any, Any], object]] = {
    "another version": lambda d, s, c: d.update(schema="deqcheck-report/1"),
    "no reports": lambda d, s, c: d.update(reports=[]),
    "a schema in a report": lambda d, s, c: d["reports"][0].update(schema=NAME),
    "a misspelt key": lambda d, s, c: renamed(c, "rounding", "roundng"),
    "a misspelt optional key": lambda d, s, c: renamed(d["reports"][0], "trajectory", "track"),
    "a further key": lambda d, s, c: d["reports"][0]["environment"].update(host="a"),
    "no seconds": lambda d, s, c: d["reports"][0].pop("seconds"),
    "no error": lambda d, s, c: c["left"].pop("error"),
    "no series": lambda d, s, c: d["reports"][0]["trajectory"].pop("series"),
    "half a curve": lambda d, s, c: c.pop("horizon"),
    "a point without slack": lambda d, s, c: c["tightest"].pop("slack"),
    "an outcome without conclusions": lambda d, s, c: s.pop("conclusions"),
    "conclusions without an outcome": lambda d, s, c: s.update(outcome=None, met=None),
    "a wrong outcome": lambda d, s, c: s.update(outcome="proven"),
    "a wrong expectation": lambda d, s, c: s.update(expected="Confirmed"),
    "a wrong edition": lambda d, s, c: s.update(edition="both"),
    "a wrong decision": lambda d, s, c: c.update(decision="true"),
    "a wrong relation": lambda d, s, c: c.update(relation="!="),
    "a wrong status": lambda d, s, c: d["reports"][0]["status"].update(word="finished"),
    "complete and partial": lambda d, s, c: d["reports"][0].update(partial=True),
    "NaN as a value": lambda d, s, c: c["left"].update(value="nan"),
    "NaN as an error": lambda d, s, c: c["left"].update(error="nan"),
    "NaN as a ratio": lambda d, s, c: c.update(ratio="NaN"),
    "NaN in an array": lambda d, s, c: d["reports"][0]["trajectory"]["loss"].append("nan"),
    "a negative error": lambda d, s, c: c["left"].update(error=-1.0),
    "null without a marker": lambda d, s, c: c["left"].update(value=None, error="inf"),
    "a marker of a finite value": lambda d, s, c: c["left"].update(marker="inf"),
    "an array in a claim": lambda d, s, c: c.update(left={"value": [1.0], "error": None}),
    "a step between two": lambda d, s, c: c.update(last=1.5),
    "a digest cut short": lambda d, s, c: d["reports"][0]["case"].update(digest="abc"),
}


@pytest.mark.parametrize("spoil", SPOILT.values(), ids=SPOILT)
def test_it_says_no(spoil):
    found = document([labelled(samples.report(samples.confirmed()))])
    spoilt = copy.deepcopy(found)
    (statement,) = spoilt["reports"][0]["statements"]
    spoil(spoilt, statement, statement["conclusions"][0])
    assert spoilt != found
    assert faults(found) == []
    assert faults(spoilt) != []
