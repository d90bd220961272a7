from __future__ import annotations

import json
import math

import samples

from deqcheck.report import renderer
from deqcheck.report.parts.render_options import RenderOptions


def documents(*reports, schema=2):
    def refuse(word):
        raise AssertionError(f"{word} is not JSON")

    return json.loads(
        renderer("json")(reports, RenderOptions(schema=schema)), parse_constant=refuse
    )


def document(report):
    (entry,) = documents(report)["reports"]
    assert entry == json.loads(json.dumps(report.to_dict()))
    return entry


def test_one_report_has_the_keys_of_its_schema():
    entry = document(samples.report(samples.confirmed()))
    assert set(entry) == {
        "case",
        "environment",
        "status",
        "partial",
        "notes",
        "replay",
        "seconds",
        "quantities",
        "statements",
        "trajectory",
    }
    assert entry["case"] == {
        "title": "A decay",
        "name": "decay.yaml",
        "digest": "abc",
        "resolved": {"train": {"kind": "gd"}},
    }
    assert entry["status"]["word"] == "completed"
    assert entry["partial"] is False


def test_a_statement_has_both_parts_and_a_curve_its_facts():
    (statement,) = document(samples.report(samples.confirmed()))["statements"]
    assert statement["outcome"] == "confirmed"
    (hypothesis,), (conclusion,) = statement["hypotheses"], statement["conclusions"]
    claim = {
        "name",
        "equation",
        "formula",
        "left",
        "relation",
        "right",
        "ratio",
        "decision",
        "caught",
        "rounding",
        "note",
        "basis",
    }
    assert set(hypothesis) == claim
    assert set(conclusion) == claim | {
        "horizon",
        "last",
        "points",
        "horizon_t",
        "last_t",
        "tightest",
        "rate_tightness",
        "rate_error",
        "first_violation",
    }
    assert hypothesis["ratio"] == 2
    assert conclusion["tightest"]["k"] == 1
    assert math.isclose(conclusion["rate_tightness"], 0.5, rel_tol=1e-6)
    assert conclusion["first_violation"] is None


def test_a_violation_is_placed():
    (statement,) = document(samples.report(samples.refuted()))["statements"]
    first = statement["conclusions"][0]["first_violation"]
    assert (first["k"], first["t"]) == (1, samples.STEP)
    assert first["slack"] < 1


def test_exact_infinite_and_unknown_numbers_are_told_apart():
    quantities = document(samples.report())["quantities"]
    assert quantities == {
        "loss": {"value": 3.0, "error": 1e-12},
        "m": {"value": 5.0, "error": None},
        "radius": {"value": None, "error": None, "marker": "inf"},
        "unknown": {"value": 1.0, "error": "inf"},
    }


def test_the_trajectory_and_its_bounds_are_thinned_together():
    steps = 12_000
    entry = document(samples.report(samples.confirmed(steps), steps=steps))["trajectory"]
    bound = entry["bounds"]["doe2031/thm2"]["exponential"]
    assert entry["steps"] == steps
    assert (entry["k"][0], entry["k"][1], entry["k"][-1]) == (0, 1, steps)
    assert 500 < len(entry["k"]) <= 1000
    assert entry["k"] == bound["k"] == entry["series"]["lambda"]["k"]
    lengths = {len(entry[name]) for name in ("k", "t", "loss", "loss_error", "gap", "gap_error")}
    assert lengths == {len(entry["gradient"])} == {len(bound["value"])}


def test_two_editions_of_a_statement_keep_their_bounds_apart():
    both = samples.report(samples.confirmed(edition="printed"), samples.confirmed())
    assert set(document(both)["trajectory"]["bounds"]) == {"doe2031/thm2", "doe2031/thm2@printed"}
    alone = samples.report(samples.confirmed(edition="printed"))
    assert set(document(alone)["trajectory"]["bounds"]) == {"doe2031/thm2"}


def test_one_report_and_several_have_one_shape():
    one, several = documents(samples.report()), documents(samples.report(), samples.report())
    assert one["schema"] == several["schema"] == "deqcheck-report/2"
    assert (len(one["reports"]), len(several["reports"])) == (1, 2)


def test_the_old_shape_is_one_report_or_a_list():
    entry = documents(samples.report(), schema=1)
    assert entry == {"schema": "deqcheck-report/1", **document(samples.report())}
    several = documents(samples.report(), samples.report(), schema=1)
    assert several == {"schema": "deqcheck-reports/1", "reports": [entry, entry]}


def test_before_training_there_is_no_trajectory_and_no_conclusion():
    entry = document(samples.before_training())
    (statement,) = entry["statements"]
    assert "trajectory" not in entry
    assert "conclusions" not in statement
    assert statement["outcome"] is None
    assert statement["quantities"] == {"rate": {"value": 1.0, "error": 1e-15}}


def test_equal_reports_give_equal_bytes():
    first, second = (
        renderer("json")([samples.report(samples.confirmed())], RenderOptions()) for _ in "ab"
    )
    assert first == second
    assert first.endswith("}\n")
