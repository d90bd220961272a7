"""JUnit XML: one suite, one test case for each case. YAML files that are no cases are skipped, and
so are cases that an interrupt left unfinished."""

from __future__ import annotations

import re
from xml.etree import ElementTree as Xml

from deqcheck.ci.parts.words import missing, outcomes, unfinished
from deqcheck.ci.records import Gate, Row
from deqcheck.report.parts.render_options import RenderOptions

SUITE = "deqcheck"
# A case that ran and was not as expected is a failure, one that gave no verdict is an error.
FAILURES = (1, 3)
# What XML 1.0 cannot hold.
_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def render(gate: Gate, options: RenderOptions) -> str:
    failures = sum(row.exit_code in FAILURES for row in gate.rows) + len(gate.missing)
    errors = sum(not row.ok and row.exit_code not in FAILURES for row in gate.rows)
    skipped = len(gate.skipped) + len(gate.unfinished)
    counts = {
        "name": SUITE,
        "tests": str(len(gate.rows) + len(gate.missing) + skipped),
        "failures": str(failures),
        "errors": str(errors),
        "skipped": str(skipped),
        "time": f"{gate.seconds:.3f}",
    }
    root = Xml.Element("testsuites", counts)
    suite = Xml.SubElement(root, "testsuite", counts)
    properties = Xml.SubElement(suite, "properties")
    for name, value in sorted(gate.environment.items()):
        Xml.SubElement(properties, "property", name=name, value=_clean(str(value)))
    if gate.partial:
        Xml.SubElement(properties, "property", name="partial", value="true")
    for row in gate.rows:
        _row(suite, row)
    for name in gate.missing:
        _outcome(_case(suite, name), "failure", "missing", missing(name))
    for name in gate.unfinished:
        _outcome(_case(suite, name), "skipped", "", unfinished(name))
    for path in gate.skipped:
        _outcome(_case(suite, path), "skipped", "", "no key `deqcheck`")
    Xml.indent(root, " ")
    return f"<?xml version='1.0' encoding='utf-8'?>\n{Xml.tostring(root, encoding='unicode')}\n"


def _row(suite: Xml.Element, row: Row) -> None:
    case = _case(suite, row.result.id, row.result.reply.seconds)
    case.set("file", _clean(row.result.path))
    if not row.ok:
        kind = "failure" if row.exit_code in FAILURES else "error"
        text = "\n".join((*row.troubles, f"replay: {row.result.replay}"))
        _outcome(case, kind, row.word, row.troubles[0] if row.troubles else row.word, text)
    told = "\n".join((outcomes(row), *(f"note: {remark}" for remark in row.remarks))).strip()
    if told:
        Xml.SubElement(case, "system-out").text = _clean(told)


def _case(suite: Xml.Element, name: str, seconds: float = 0.0) -> Xml.Element:
    folder, _, last = name.rpartition("/")
    group = f"{SUITE}.{folder.replace('/', '.')}".rstrip(".")
    return Xml.SubElement(
        suite, "testcase", classname=_clean(group), name=_clean(last), time=f"{seconds:.3f}"
    )


def _outcome(case: Xml.Element, kind: str, word: str, message: str, text: str = "") -> None:
    element = Xml.SubElement(case, kind, message=_clean(message))
    if word:
        element.set("type", word)
    if text:
        element.text = _clean(text)


def _clean(text: str) -> str:
    return _FORBIDDEN.sub("\ufffd", text)
