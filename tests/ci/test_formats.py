"""The four formats of the gate's report."""

from __future__ import annotations

import json
from dataclasses import replace
from xml.etree import ElementTree as Xml

import pytest

from deqcheck.ci.formats import formats, renderer
from deqcheck.ci.parts.words import summary
from deqcheck.ci.records import Change, Gate, Result, Row
from deqcheck.engines import End, Reply
from deqcheck.report.parts.render_options import RenderOptions

NASTY = "<b>&\x00\x1b[31m | `x` *y* \ud800 ]]>"


def judged(outcome: str = "confirmed") -> dict:
    empty: dict = {"hypotheses": [], "conclusions": []}
    return {"id": "a/thm1", "edition": "corrected", "outcome": outcome, **empty} | {
        "title": "t",
        "number": "Theorem 1",
    }


def row(name: str, code: int = 0, word: str = "ok", **more) -> Row:
    facts = {"digest": "d", "status": "completed", "notes": [], "statements": [judged()]}
    reply = Reply(End.RAN, facts=facts, seconds=0.25)
    if code in (2, 4, 70):
        reply = Reply(End.CRASHED, "sentence")
    path = f"cases/{name}.yaml"
    result = Result(name, path, reply, "title", replay=f"deqcheck run {path}")
    return Row(result, code, word, **more)


@pytest.fixture
def gate() -> Gate:
    slack = Change("a/thm1 (corrected)", "bound", "slack", 1.5, 2.5, "looser")
    return Gate(
        rows=(
            row("deep/down/good", notes=("a note",)),
            row("crash", 70, "crashed", sentences=("internal error",)),
            row("late", 4, "timed out", sentences=("no result after 3 s",)),
            row("nasty", 2, "bad case", sentences=(NASTY,)),
            row("open", 3, "nothing decided", sentences=("nothing was decided",)),
            row("worse", 1, "failed", changes=(slack,)),
        ),
        environment={"deqcheck": "0.1.0", "threads": 1},
        exit_code=70,
        skipped=("cases/other.yml",),
        missing=("lost",),
        seconds=3.5,
    )


def test_there_are_four():
    assert formats() == ["json", "junit", "markdown", "table"]


def test_junit_is_what_consumers_read(gate):
    text = renderer("junit")(gate, RenderOptions())
    root = Xml.fromstring(text.encode("utf-8"))
    (suite,) = root
    assert (root.tag, suite.tag) == ("testsuites", "testsuite")
    counts = {"tests": "8", "failures": "3", "errors": "3", "skipped": "1", "time": "3.500"}
    assert suite.attrib == root.attrib == {"name": "deqcheck"} | counts
    assert [(p.get("name"), p.get("value")) for p in suite.find("properties")] == [
        ("deqcheck", "0.1.0"),
        ("threads", "1"),
    ]
    cases = suite.findall("testcase")
    ends = {case.get("name"): [c.tag for c in case if c.tag != "system-out"] for case in cases}
    assert ends == {
        "good": [],
        "crash": ["error"],
        "late": ["error"],
        "nasty": ["error"],
        "open": ["failure"],
        "worse": ["failure"],
        "lost": ["failure"],
        "other.yml": ["skipped"],
    }
    assert (cases[0].get("classname"), cases[0].get("time")) == ("deqcheck.deep.down", "0.250")
    failure = cases[5].find("failure")
    assert failure.get("type") == "failed"
    assert failure.get("message").endswith("slack looser: 1.5 -> 2.5")
    assert failure.text.splitlines()[-1] == "replay: deqcheck run cases/worse.yaml"


def test_json_names_its_schema_and_counts(gate):
    text = renderer("json")(gate, RenderOptions())
    document = json.loads(text.encode("utf-8", "surrogatepass"))
    assert document["schema"] == "deqcheck-ci/1"
    assert document["exit_code"] == 70
    assert document["summary"]["cases"] == 6 and document["summary"]["missing"] == 1
    worse = document["cases"][-1]
    assert worse["changes"][0]["direction"] == "looser"
    assert worse["statements"][0]["met"] is None


def test_markdown_escapes_and_folds(gate):
    text = renderer("markdown")(gate, RenderOptions())
    assert text.startswith("### ❌ deqcheck: 6 cases: 1 ok, 1 bad case, 1 crashed")
    assert "<b>" not in text and "\\`x\\`" in text and " \\| " in text
    assert text.index("**worse**") < text.index("<details>") < text.index("deep/down/good")
    assert "- replay: `deqcheck run cases/worse.yaml`" in text


def test_the_summary_counts_in_good_grammar(gate):
    rows = [row("a", 2, "bad case"), row("b", 2, "bad case"), row("c", 4, "numerical failure")]
    rows += [row("d", 1, "failed"), row("e", 1, "failed")]
    odd = replace(gate, rows=tuple(rows), missing=())
    assert summary(odd) == "5 cases: 2 bad cases, 2 failed, 1 numerical failure"


def test_a_good_gate_is_short_in_markdown(gate):
    good = replace(gate, rows=gate.rows[:1], exit_code=0, missing=(), skipped=())
    assert renderer("markdown")(good, RenderOptions()).startswith("### ✅ deqcheck: 1 case: 1 ok\n")


@pytest.mark.parametrize(("good", "bad"), [(3000, 1), (0, 3000)])
def test_markdown_fits_a_comment(gate, good, bad):
    rows = [row(f"good{i}") for i in range(good)]
    rows += [row(f"bad{i}", 1, "failed", sentences=("sentence",)) for i in range(bad)]
    text = renderer("markdown")(replace(gate, rows=tuple(rows)), RenderOptions())
    assert len(text) < 65_000
    assert "bad0" in text and "too" in text.splitlines()[-1]


def test_the_table_has_one_line_for_each_case(gate):
    lines = renderer("table")(gate, RenderOptions()).splitlines()
    heads = [line for line in lines if line and not line.startswith(" ")]
    assert heads[0] == "ok deep/down/good: 1 confirmed, 0.2 s"
    assert heads[5] == "FAILED worse: 1 confirmed, 0.2 s"
    assert heads[6] == "MISSING lost: in the baseline, but there is no case of this name"
    assert heads[7].startswith("6 cases: 1 ok, ")
    assert "    note: a note" in lines
