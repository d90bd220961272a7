from __future__ import annotations

import csv
import io

import samples

from deqcheck.report import renderer
from deqcheck.report.parts.render_options import RenderOptions


def rows(*reports):
    return list(csv.DictReader(io.StringIO(renderer("csv")(reports, RenderOptions()))))


def test_one_row_for_each_hypothesis_and_conclusion():
    found = rows(samples.report(samples.confirmed(), samples.not_applicable()))
    assert [(row["id"], row["part"]) for row in found] == [
        ("doe2031/thm2", "hypothesis"),
        ("doe2031/thm2", "conclusion"),
        ("doe2031/lem1", "hypothesis"),
        ("doe2031/lem1", "hypothesis"),
        ("doe2031/lem1", "conclusion"),
    ]
    assert {row["case"] for row in found} == {"decay.yaml"}


def test_numbers_are_whole_and_exact_ones_have_no_error():
    hypothesis = rows(samples.report(samples.confirmed()))[0]
    assert float(hypothesis["left_error"]) == 1e-15
    assert (hypothesis["right"], hypothesis["right_error"]) == ("1.0", "")
    assert hypothesis["horizon"] == ""


def test_a_violation_is_placed():
    (row,) = rows(samples.report(samples.refuted()))
    assert (row["decision"], row["first_violation_k"]) == ("violated", "1")
    assert float(row["first_violation_t"]) == samples.STEP


def test_before_training_the_quantities_have_rows():
    found = rows(samples.before_training())
    assert [(row["id"], row["part"], row["name"]) for row in found] == [
        ("", "quantity", "loss"),
        ("doe2031/thm2", "quantity", "rate"),
        ("doe2031/thm2", "hypothesis", "contraction"),
    ]


def table(name, *reports):
    text = renderer("csv")(reports, RenderOptions(table=name))
    return list(csv.DictReader(io.StringIO(text)))


def test_a_row_for_each_verdict():
    found = table("verdicts", samples.report(samples.confirmed(), samples.not_applicable()))
    assert [(row["id"], row["outcome"]) for row in found] == [
        ("doe2031/thm2", "confirmed"),
        ("doe2031/lem1", "not applicable"),
    ]
    assert found[0]["reason"] == ""
    assert "fails" in found[1]["reason"]


def test_a_row_for_each_step_with_every_bound():
    report = samples.report(samples.confirmed())
    run = report.trajectory
    found = table("trajectory", report)
    assert [float(row["gap"]) for row in found if row["gap"]] == list(run.gap.value)
    assert [int(row["k"]) for row in found] == sorted(int(row["k"]) for row in found)
    facts = report.verdicts[0].conclusions[0].curve
    name = f"doe2031/thm2: {report.verdicts[0].conclusions[0].name}"
    assert [float(row[name]) for row in found if row[name]] == list(facts.bound.value)


def test_the_trajectories_of_several_cases_share_their_columns():
    one = samples.report(samples.confirmed())
    two = samples.report()
    found = table("trajectory", one, two)
    assert len(found) == 2 * len(table("trajectory", two))
    assert [*found[0]][:3] == ["case", "k", "t"]


def test_a_case_that_does_not_train_has_no_steps():
    assert table("trajectory", samples.before_training()) == []
