"""The page in a real browser, where there is one."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import samples

from deqcheck.report import renderer
from deqcheck.report.parts.render_options import RenderOptions

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
