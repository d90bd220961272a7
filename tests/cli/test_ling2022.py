"""The ReLU equilibrium model from the command line."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest
import yaml

CASE = """\
deqcheck: 1
data: {kind: values, X: [[1.4142135623730951, 0], [0, 1.4142135623730951]], y: [1, -0.5]}
model: {kind: relu-deq}
init: {kind: values, W: [[0.0625, 0.0625], [-0.0625, 0.0625]], U: [[1, 0], [0, 1]], a: [0, 0]}
train: {kind: gd, step: 1e-3, steps: 20}
theorems: [ling2022/thm1]
"""


@pytest.fixture
def small(tmp_path: Path) -> str:
    path = tmp_path / "small.yaml"
    path.write_text(CASE)
    return str(path)


def test_the_search_finds_both_repairs_and_their_cases_are_confirmed(deqcheck, small, tmp_path):
    result = deqcheck("bounds", "--init", "--search", small)
    assert result.exit_code == 0
    labels, inputs = result.stdout.split("---\n")
    assert "repair R1" in labels
    scale = yaml.safe_load(inputs)["rescale"]["U"]
    assert scale == pytest.approx(31.1003, abs=1e-3)
    for i, text in enumerate((labels, inputs)):
        ready = tmp_path / f"ready{i}.yaml"
        ready.write_text(text)
        run = deqcheck("run", str(ready), "--quiet")
        assert run.stdout.startswith("CONFIRMED ling2022/thm1")
        (_, command) = text.splitlines()[:2]
        assert command.startswith(f"# deqcheck run {small} --set=rescale.")
        again = deqcheck(*shlex.split(command)[2:], "--quiet")
        assert again.stdout.startswith("CONFIRMED ling2022/thm1")


def test_a_case_that_was_found_runs_anywhere(deqcheck, tmp_path, monkeypatch):
    words = ("bounds", "--init", "--search", "ling2022/f2", "--only", "ling2022/thm1")
    text = deqcheck(*words).stdout.split("---\n")[0]
    (tmp_path / "ready.yaml").write_text(text)
    monkeypatch.chdir(tmp_path)
    assert deqcheck("validate", "ready.yaml").exit_code == 0


def test_the_search_names_the_output_weights_as_the_obstacle(deqcheck, small):
    result = deqcheck("bounds", "--init", "--search", small, "--set", "init.a=[0.6, 0.8]")
    assert result.stdout.count("none between 1e-14 and 1e+14 (a(0) != 0 is an obstacle") == 2
    assert "try --set rescale.a=0" in result.stdout
    repaired = ("--set", "init.a=[0.6, 0.8]", "--set", "rescale.a=0")
    found = deqcheck("bounds", "--init", "--search", small, *repaired).stdout
    assert "none was found" not in found


def test_bounds_have_the_agreed_names(deqcheck, small):
    words = ("--format", "json", "--set", "model.sigma_w2=0.05")
    (report,) = json.loads(deqcheck("bounds", "--init", small, *words).stdout)["reports"]
    names = set(report["quantities"])
    assert names >= {
        "loss", "residual", "gradient", "gradient.W", "gradient.U", "gradient.a",
        "equilibrium.residual", "equilibrium.error", "norm2.W", "norm2.U", "norm2.a",
        "sigma_min_Z", "lambda_0", "lambda_min_H", "kink_margin", "rho_w", "rho_u", "rho_a",
        "c_w", "c_u", "c_a", "delta", "X_fro", "lambda_star", "K_fro",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("model.sigma_w2=1", "model.sigma_w2: 1 is out of range; expected a number >= 0 and < 1"),
        ("model.width=3", "init.U: U has shape (2, 2); expected (m, d) = (3, 2) because the model"),
        ("model.width=0", "model.width: 0 is out of range"),
        ("model.widht=3", "'relu-deq' has no field 'widht' (did you mean 'width'?)"),
        ("data.X=[[1, 0], [1, 0]]", "data: column 2 of X is zero; expected non-zero samples"),
        ("data.y=[1, 2, 3]", "y has shape (3,); expected (n,) = (2,)"),
        ("init.a=[1]", "a has shape (1,); expected (m,) = (2,)"),
        ("train.step=0", "train.step: 0 is out of range"),
        ("loss=square", "'relu-deq' has no theory for the loss 'square'"),
        ("constants={ling2022/lem1: {seeds: 0}}", ""),
    ],
)
def test_bad_input_is_refused_in_one_sentence(deqcheck, small, setting, message):
    words = ("--only", "ling2022/lem1") if not message else ()
    result = deqcheck("run", small, "--set", setting, *words)
    assert result.exit_code == 2
    expected = message or "seeds = 0; expected an integer"
    assert expected in result.stderr, result.stderr


def test_a_start_without_a_known_equilibrium_is_explained(deqcheck, small):
    settings = ("--set", "init.W=[[2, 0], [0, 0]]", "--set", "init.U=[[-1, 0], [0, 1]]")
    result = deqcheck("run", small, *settings)
    assert "not-certified" in result.stdout
    assert "sample 1 has several equilibria" in " ".join(result.stdout.split())
    assert "NOT APPLICABLE ling2022/thm1" in result.stdout


def test_trials_are_kept_in_the_store(deqcheck, small, tmp_path):
    words = ("run", "ling2022/norm-of-w", "--set", "edition=corrected", "--set", "expect={}",
             "--set", "constants={ling2022/lem1: {seeds: 100}}", "--only", "ling2022/lem1",
             "--store", str(tmp_path / "kept"), "--quiet")  # fmt: skip
    first = deqcheck(*words)
    assert first.exit_code == 0, first.stderr
    kept = list((tmp_path / "kept").rglob("*.json"))
    assert len(kept) == 5
    assert deqcheck(*words).stdout == first.stdout


def test_a_store_that_cannot_be_is_a_complaint(deqcheck, small, tmp_path):
    (tmp_path / "file").write_text("")
    result = deqcheck("run", small, "--store", str(tmp_path / "file" / "below"))
    assert result.exit_code == 2
    assert "cannot keep results" in result.stderr
