"""Certificates of cases: they are accepted as they are, and in no other way."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

import deqcheck as dq
from deqcheck import judging
from deqcheck.certificates import check
from deqcheck.certificates.write import certified, sealed
from deqcheck.cli.main import cli
from deqcheck.judging.question import Question
from tests.certificates.tampering import EVERY, tampered

EXAMPLE = Path(str(files("deqcheck") / "certificates/example.json"))
# By itself the verifier does not know which checks there are, and what names mean.
CATALOGUED = {"removed", "constant", "formula", "strict", "leaf", "backwards", "equation"}
CATALOGUED |= {"edition", "constants", "stated", "basis", "case"}
# A case of each model, and of the catalogue what is judged quickly.
CASES = {
    "delm": ("kawaguchi2021/equality", ["kawaguchi2021/pl"]),
    "relu-deq": ("ling2022/pl-counterexample", ["ling2022/lem2", "ling2022/pl"]),
    "implicit-relu": ("gao2022/scalar-negative", ["gao2022/lem3.2", "gao2022/sigma-min"]),
    "monotone-deq": ("hieu2022/on-a-kink", ["hieu2022/prop4", "hieu2022/eq2.4"]),
    "opteq": ("xie2021/lem6-stretched", ["xie2021/lem6"]),
}


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(cli, list(arguments), prog_name="deqcheck")


def rejected(certificate: dict[str, Any], alone: bool = False) -> bool:
    try:
        return dq.verify(certificate, alone=alone).exit_code == 1
    except dq.UsageError:
        return True


@pytest.fixture(scope="module")
def example() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(EXAMPLE.read_text())
    return found


def test_the_shipped_certificate_of_a_refuted_statement_stands() -> None:
    found = dq.verify(EXAMPLE)
    assert found.ok and not found.alone
    assert found.lines[-1].word == check.CHECKED
    assert found.lines[-1].claim == "outcome: refuted" and found.lines[-1].edition == "printed"


def test_any_change_is_seen_by_the_digest(example: dict[str, Any]) -> None:
    text = EXAMPLE.read_text()
    at = text.index('"edition"')
    changed = json.loads(text[:at] + text[at:].replace("printed", "Printed", 1))
    found = dq.verify(changed)
    assert found.exit_code == 1 and found.lines[0].claim == "sha256"


def test_each_way_of_tampering_is_caught(example: dict[str, Any]) -> None:
    for which in range(3):
        ways = dict(tampered(example, which))
        assert len(ways) >= 18
        for way, changed in ways.items():
            assert rejected(changed, alone=way not in CATALOGUED), way


def test_a_formula_of_another_check_is_refused_by_the_copy(example: dict[str, Any]) -> None:
    """One that is true, too: only the catalogue tells that it is not what is claimed."""
    body = copy.deepcopy(example["body"])
    claim = body["verdicts"][0]["hypotheses"][0]
    claim["formula"] = claim["formula"].replace("> 0", "> 1")
    claim["right"] = ["1", "1"]
    changed = sealed(body)
    assert dq.verify(changed, alone=True).ok
    assert not dq.verify(changed).ok
    table: dict[str, Any] = {}
    code = check.source().replace('if __name__ == "__main__":', "if False:")
    exec(compile(code, "verifier.py", "exec"), table)
    assert "mu > 1 is not its formula" in [row[4] for row in table["verify"](changed)]
    assert table["verify"](example)[-1][3] == check.CHECKED


@pytest.mark.parametrize("model", CASES)
def test_a_certificate_of_each_model(model: str, tmp_path: Path) -> None:
    pytest.importorskip("flint")
    case, ids = CASES[model]
    path = tmp_path / "a.json"
    report = dq.run(case, only=ids, edition="both", certificate=path, entry=False)
    found = dq.verify(path)
    assert found.ok and not found.alone, [line for line in found.lines if line.word == check.FAILS]
    assert found.digest == report.certificate
    assert found.count(check.CHECKED) >= 2
    for way, changed in tampered(json.loads(path.read_text()), 1):
        if way in ("left", "decision"):
            assert rejected(changed, alone=True), way
        if way == "instance":
            assert rejected(changed)


def test_what_doubles_compare_with_rounding_is_not_re_checked() -> None:
    """Its sides are not those of the formula without rounding."""
    pytest.importorskip("flint")
    r = np.random.default_rng(2)
    data, init = ({"Phi": (2, 2), "Y": (1, 2)}, {"A": (2, 2), "B": (1, 2)})
    drawn = [{name: r.normal(size=shape) for name, shape in each.items()} for each in (data, init)]
    p = dq.problem("delm", *drawn, gamma=0.9)
    _, found = certified(
        judging.run, p, Question(("kawaguchi2021/prop1",), ("printed",), {}), certify=True
    )
    lines = dq.verify(json.loads(json.dumps(found)), alone=True).lines
    words = {line.claim: line.word for line in lines}
    assert words["distance of an iterate from another start"] == check.UNCHECKED
    assert check.FAILS not in words.values() and check.CHECKED in words.values()


def test_the_command_writes_and_checks(tmp_path: Path) -> None:
    pytest.importorskip("flint")
    path = str(tmp_path / "a.json")
    ask = ("run", "gao2022/scalar-negative", "--only", "gao2022/sigma-min", "--certificate", path)
    done = invoke(*ask)
    digest = json.loads(Path(path).read_text())["sha256"]
    shown = " ".join(done.output.split())
    assert done.exit_code == 0 and f"certificate sha256 {digest}; 6 of 6 checks" in shown
    again = invoke(*ask)
    assert again.exit_code == 2 and "is there already" in again.output
    assert digest in invoke(*ask, "--force", "--format", "json").output
    assert digest in invoke(*ask, "--force", "--format", "html").output
    told = invoke("verify", path, "--format", "json")
    assert told.exit_code == 0 and json.loads(told.output)["counts"]["FAILS"] == 0


def test_one_certificate_is_of_one_case(tmp_path: Path) -> None:
    done = invoke("run", "quickstart", "gao2022/kink", "--certificate", str(tmp_path / "a.json"))
    assert done.exit_code == 2 and "--certificate is of one case; 2 were given" in done.output


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "not JSON"),
        ("[]", "not a certificate of the schema"),
        ('{"schema": "deqcheck-certificate/1"}', "not a certificate: KeyError"),
    ],
)
def test_what_is_no_certificate(text: str, told: str, tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(text)
    done = invoke("verify", str(path))
    assert done.exit_code == 2 and told in done.output
    with pytest.raises(dq.UsageError, match=told):
        dq.verify(path)


def test_a_missing_file_and_no_file() -> None:
    assert invoke("verify", "nowhere.json").exit_code == 2
    assert "needs the FILE" in invoke("verify").output


def test_nothing_to_re_check_has_its_own_code(example: dict[str, Any]) -> None:
    body = copy.deepcopy(example["body"])
    for claim in body["verdicts"][0]["hypotheses"] + body["verdicts"][0]["conclusions"]:
        claim["leaves"] = dict.fromkeys(claim["leaves"])
    assert dq.verify(sealed(body), alone=True).exit_code == 3


def test_an_unknown_statement_is_not_vouched_for(example: dict[str, Any]) -> None:
    body = copy.deepcopy(example["body"])
    body["verdicts"][0]["id"] = "doe2031/thm2"
    found = dq.verify(sealed(body))
    assert found.exit_code == 3 and "not in the catalogue" in found.alone


def test_the_copy_runs_where_nothing_is_installed(tmp_path: Path) -> None:
    (tmp_path / "verifier.py").write_text(check.source())
    asked = [sys.executable, "-I", "-S", "verifier.py", str(EXAMPLE), "--show"]
    done = subprocess.run(asked, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "re-checked      hieu2022/pl (printed) outcome: refuted" in done.stdout
    assert "= relu_equilibrium(r" in done.stdout


def test_ten_ways_and_more() -> None:
    assert len(EVERY) >= 10
