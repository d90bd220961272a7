"""The page in a real browser, where there is one."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import samples

from deqcheck.report import renderer
from deqcheck.report.parts.notation import in_mathml
from deqcheck.report.parts.render_options import RenderOptions
from deqcheck.report.parts.style import SHEET

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
]
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium")


REPORT = samples.report(samples.confirmed(), samples.refuted(), samples.not_applicable())
# A page that does what ours must not: the test has to see it.
CONTROL = '<img src="http://127.0.0.1:9/x.png"><script>missing()</script>'


class Visit(NamedTuple):
    document: str
    console: list[str]
    requests: list[str]


@pytest.fixture
def browse(tmp_path: Path):
    """Opens a page: the document, what the console said, what the page asked the network for."""

    def call(text: str, *words: str) -> Visit:
        page, log = tmp_path / "page.html", tmp_path / "net.json"
        page.write_text(text, encoding="utf-8")
        own = [f"--user-data-dir={tmp_path / 'profile'}", f"--log-net-log={log}"]
        own += ["--enable-logging=stderr", "--v=0", "--host-resolver-rules=MAP * ~NOTFOUND"]
        done = subprocess.run(
            [str(CHROMIUM), *FLAGS, *own, *words, page.as_uri()],
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
        console = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
        return Visit(done.stdout, console, list(_requests(json.loads(log.read_text()))))

    return call


def _requests(log: dict[str, Any]) -> Iterator[str]:
    """Of the page: the browser's own errands have no origin."""
    start = log["constants"]["logEventTypes"]["URL_REQUEST_START_JOB"]
    for event in log["events"]:
        told = event.get("params", {})
        if event["type"] == start and told.get("initiator", "not an origin") != "not an origin":
            yield told["url"]


def test_it_opens_without_errors_or_requests(browse):
    visit = browse(renderer("html")([REPORT], RenderOptions()), "--dump-dom")
    assert visit.console == []
    assert visit.requests == []
    assert visit.document.count("<figure>") == 1
    assert visit.document.count("<table") >= 6


def test_errors_and_requests_would_be_seen(browse):
    visit = browse(CONTROL, "--dump-dom")
    assert "missing is not defined" in visit.console[0]
    assert visit.requests == ["http://127.0.0.1:9/x.png"]


def test_it_prints(browse, tmp_path):
    paper = tmp_path / "report.pdf"
    browse(renderer("html")([REPORT], RenderOptions()), f"--print-to-pdf={paper}")
    assert paper.read_bytes().startswith(b"%PDF")


def test_one_statement_in_two_editions_prints_on_two_pages(browse, tmp_path):
    one = samples.confirmed(text="What it says. " * 20)
    many = tuple(replace(one.hypotheses[0], name=f"hypothesis {i}") for i in range(10))
    verdicts = [replace(one, edition=e, hypotheses=many) for e in ("printed", "corrected")]
    paper = tmp_path / "report.pdf"
    page = renderer("html")([samples.report(*verdicts)], RenderOptions())
    browse(page, f"--print-to-pdf={paper}")
    assert 1 <= len(re.findall(rb"/Type\s*/Page\b(?!s)", paper.read_bytes())) <= 2


def test_formulas_are_laid_out(browse):
    """A fraction stands above its denominator, and the plain text is out of sight."""
    markup = in_mathml("a <= b/c")
    probe = f"""<!doctype html><style>{SHEET}</style>{markup}<script>
      const box = e => e.getBoundingClientRect();
      const [b, c] = [...document.querySelectorAll("mfrac > mi")].map(box);
      const plain = box(document.querySelector(".plain"));
      document.title = [b.bottom <= c.top + 1, plain.width <= 1].join();</script>"""
    assert "<title>true,true</title>" in browse(probe, "--dump-dom").document
