"""How near a theorem is, and what would make it apply."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

import deqcheck as dq
from deqcheck.cli.main import cli
from deqcheck.explore.advice import ACCURACY
from deqcheck.report.parts.advised import as_json

THEOREM = "gao2022/thm4.2"
CASE: dict[str, Any] = {
    "data": {"kind": "values", "X": [[1, 0], [0, 1]], "y": [1, -1]},
    "model": {"kind": "implicit-relu", "gamma": 0.01},
    "init": {"kind": "values", "W": [[3, 1], [1, 3]], "A": [[0.5, 0.5], [0.5, 0.5]], "b": [0, 0]},
    "train": {"kind": "flow", "horizon": 0.5},
    "record": {"points": 10},
}


@pytest.fixture(scope="module")
def advice() -> Any:
    (found,) = dq.advise(CASE, only=[THEOREM], entry=False)
    return found


def test_the_binding_hypothesis_is_named(advice: Any) -> None:
    assert not advice.applies and advice.binding.ratio < 1
    worst = min(h.ratio for h in dq.bounds(CASE, only=[THEOREM])[THEOREM].failing)
    assert advice.binding.ratio == worst == advice.distance


def test_every_remedy_makes_the_theorem_apply_and_little_less_does_not(advice: Any) -> None:
    """b(0) = 0, so the residual is the label: its scale is the edge of what the theorem allows."""
    assert "largest scale of y" in [remedy.name for remedy in advice.remedies]
    for remedy in advice.remedies:
        tree = yaml.safe_load(remedy.case)
        assert dq.bounds(tree, only=[THEOREM])[THEOREM].word == "hypotheses hold"
        less = dict(tree["rescale"]) if "rescale" in tree else None
        if less is not None and remedy.name == "largest scale of y":
            tree["rescale"]["y"] *= 1 + 2 * ACCURACY
            assert dq.bounds(tree, only=[THEOREM])[THEOREM].failing


def test_training_longer_is_a_remedy_too() -> None:
    case = CASE | {"train": {"kind": "flow", "horizon": 4.0}, "record": {"points": 20}}
    (found,) = dq.advise(case, only=[THEOREM])
    assert found.entry is not None and found.entry.found
    assert found.entry.verdict is not None and found.entry.verdict.outcome == "confirmed"


def test_a_step_is_found_where_only_the_step_is_too_large() -> None:
    """cases/gao2022/f1-descent with a larger step."""
    case = dq.read("gao2022/f1-descent", set=["train.step=1", "train.steps=3"])
    (found,) = dq.advise(case, only=["gao2022/thm4.4"], entry=False)
    (step,) = [r for r in found.remedies if r.name == "step size"]
    tree = yaml.safe_load(step.case)
    assert 0 < tree["train"]["step"] == step.changes["train.step"] < 1
    assert dq.bounds(tree, only=["gao2022/thm4.4"])["gao2022/thm4.4"].word == "hypotheses hold"


def test_what_no_scale_can_mend_is_said_and_not_tried() -> None:
    """Fewer units than samples: Z has no full row rank at any scale."""
    case = CASE | {
        "data": {"kind": "values", "X": [[1, 0], [0, 1]], "y": [1, -1]},
        "init": {"kind": "values", "W": [[3], [1]], "A": [[0.5]], "b": [0]},
    }
    (found,) = dq.advise(case, only=[THEOREM], entry=False)
    assert found.obstacle and not found.remedies
    assert not any("scale" in name for name in found.in_vain)


def test_two_changes_where_one_is_not_enough() -> None:
    """a(0) is larger than Proposition F allows, so that no scale of the labels is enough. Each
    ready case makes the theorem apply."""
    case = {
        "data": {"kind": "gaussian", "n": 2, "dim": 2, "target": {"kind": "gaussian"}},
        "model": {"kind": "relu-deq", "width": 4},
        "init": {"kind": "gaussian", "scale": 0.1},
        "rescale": {"a": 10.0},
        "train": {"kind": "gd", "step": 1e-3, "steps": 1},
    }
    theorem = "ling2022/thm1"
    (found,) = dq.advise(case, only=[theorem], entry=False)
    assert [remedy.name for remedy in found.remedies] == [
        "scale of a and y",
        "model.width and scale of a and y",
        "data.n and scale of a and y",
        "scale of a and scale of y",
    ]
    for remedy in found.remedies:
        tree = yaml.safe_load(remedy.case)
        assert dq.bounds(tree, only=[theorem])[theorem].word == "hypotheses hold"


def test_convergence_theorems_are_ranked_by_how_near_they_are() -> None:
    found = dq.advise("kawaguchi2021/equality", edition="both", entry=False)
    distances = [each.distance for each in found]
    assert len(found) > 2 and distances == sorted(distances, reverse=True)


def test_a_problem_has_no_fields_to_change() -> None:
    p = dq.problem("delm", {"Phi": [[1.0]], "Y": [[1.0]]}, {"A": [[0.0]], "B": [[0.0]]}, gamma=0.5)
    with pytest.raises(dq.UsageError, match="give a case"):
        dq.advise(p)  # type: ignore[arg-type]


def run(*words: str) -> Any:
    return CliRunner().invoke(cli, ["advise", *words])


def test_the_command_writes_ready_cases(tmp_path: Path) -> None:
    file = tmp_path / "case.yaml"
    file.write_text(yaml.safe_dump({"deqcheck": 1, **CASE}))
    ready = tmp_path / "ready"
    done = run(str(file), "--only", THEOREM, "--no-entry", "--quiet", "--cases", str(ready))
    assert done.exit_code == 0, done.output
    assert f"DOES NOT APPLY {THEOREM} (corrected)" in done.stdout
    assert "binding: " in done.stdout and "applies with largest scale of y: " in done.stdout
    written = sorted(ready.iterdir())
    assert written
    for each in written:
        checked = CliRunner().invoke(cli, ["validate", str(each)])
        assert checked.exit_code == 0, checked.output


def test_advice_as_json(advice: Any) -> None:
    told = json.loads(as_json([advice]))
    assert told["schema"] == "deqcheck-advice/1"
    (entry,) = told["advice"]
    assert entry["binding"]["decision"] == "violated" and entry["applies"] is False
    assert len(entry["remedies"]) == len(advice.remedies)
    assert all(yaml.safe_load(r["case"]) for r in entry["remedies"])


def test_what_is_wrong_is_one_sentence(tmp_path: Path) -> None:
    assert run("no-such-case").exit_code == 2
    file = tmp_path / "case.yaml"
    A = [[60.0, 60.0], [60.0, 60.0]]
    lost = CASE | {"init": {**CASE["init"], "A": A}, "model": {**CASE["model"], "gamma": 0.9}}
    file.write_text(yaml.safe_dump({"deqcheck": 1, **lost}))
    done = run(str(file), "--quiet", "--no-entry")
    assert done.exit_code == 4 and done.stderr.count("\n") == 1
