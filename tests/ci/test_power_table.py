"""The power table."""

from __future__ import annotations

import json

import pytest

from deqcheck.ci.power import powers
from deqcheck.ci.records import Result
from deqcheck.cli.commands.power import slack
from deqcheck.engines import End, Reply


def result(
    name: str, outcome: str, caught: float | None, decision: str = "holds", rounding: bool = False
) -> Result:
    judged = {"name": "bound", "relation": "<=", "caught": caught, "decision": decision}
    judged["rounding"] = rounding
    statement = {"id": "a/thm1", "edition": "corrected", "outcome": outcome}
    statement["conclusions"] = [judged]
    return Result(name, name, Reply(End.RAN, facts={"statements": [statement]}))


def test_the_sharpest_case_counts_and_what_does_not_apply_does_not():
    found = powers(
        [
            result("loose", "confirmed", 40.0),
            result("sharp", "undecided", 1.25),
            result("sharper", "not applicable", 1.0),
            Result("lost", "lost", Reply(End.CRASHED, "sentence")),
        ]
    )
    (power,) = found
    assert (power.caught, power.case, power.cases, power.violated) == (1.25, "sharp", 2, ())
    assert slack(power) == "1.250x"


def test_a_refuted_check_and_a_sign_have_no_slack():
    (power,) = powers([result("wrong", "refuted", None, "violated")])
    assert (power.violated, slack(power)) == (("wrong",), "violated by")
    (power,) = powers([result("sign", "confirmed", None)])
    assert slack(power) == "a sign"


def test_what_agrees_up_to_rounding_has_no_slack():
    (power,) = powers([result("twins", "confirmed", 3303.8, rounding=True)])
    assert (power.rounding, slack(power)) == (True, "up to rounding")


@pytest.mark.usefixtures("inline")
def test_the_command_lists_every_conclusion(deqcheck, write):
    write("a")
    cases = write("b", seed=1)
    table = deqcheck("power", cases)
    assert table.exit_code == 0
    head, line = table.stdout.splitlines()
    assert head == "kawaguchi2021/gd (corrected)"
    assert line.split()[0].endswith("x") and "each step contracts the gap" in line
    document = json.loads(deqcheck("power", cases, "--format", "json").stdout)
    assert document["schema"] == "deqcheck-power/1"
    assert document["checks"][0]["cases"] == 2


@pytest.mark.usefixtures("inline")
def test_a_case_that_cannot_run_is_said_and_costs_the_exit_code(deqcheck, write):
    cases = write("good")
    (cases / "bad.yaml").write_text("deqcheck: 2\n")
    done = deqcheck("power", cases)
    assert done.exit_code == 2
    assert "bad.yaml: bad case: " in done.stderr
    assert "kawaguchi2021/gd" in done.stdout
