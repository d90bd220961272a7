"""The static site: every page is there, every link leads somewhere, the search finds."""

from __future__ import annotations

import json
import posixpath
import re
import shutil
import subprocess
from collections.abc import Callable
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

import pytest
from click.testing import CliRunner

from deqcheck import docs, registry, site
from deqcheck.case import embedded
from deqcheck.ci import gate
from deqcheck.ci.baseline import Baseline
from deqcheck.ci.discover import Discovery, FoundCase
from deqcheck.cli import siting
from deqcheck.cli.errors import Complaint
from deqcheck.cli.main import cli
from deqcheck.engines.here import Here
from deqcheck.figures import make
from deqcheck.figures.kawaguchi2021.fig2c import Figure2c
from deqcheck.records.figure import Picture
from deqcheck.report.figures import drawn
from deqcheck.site import Built, Drawn, frame
from deqcheck.site.frame import GALLERY, SCRIPT, SEARCH

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
VOID = {"img", "meta", "wbr", "input", "hr", "br"}
TINY = {"n": 20, "dim": 2, "step": 1e-3, "steps": 5}


class Balanced(HTMLParser):
    """Complains about tags that do not match."""

    def __init__(self, text: str):
        super().__init__()
        self.open: list[str] = []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


class Reader:
    """Ids, links and sources of a page."""

    def __init__(self, text: str):
        self.text = text
        body = text.partition("</style>")[2]
        self.ids = re.findall(r' id="([^"]*)"', body)
        self.links = re.findall(r'<a [^>]*?href="([^"]*)"', body)
        self.sources = re.findall(r' src="([^"]*)"', body)


EVERY = registry.statements()


@cache
def mine():
    return {id_: s for id_, s in EVERY.items() if s.paper() == "hieu2022"}


def figure() -> Picture:
    return make("kawaguchi2021/fig2c", sizes=TINY)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of one paper, with all cases as the baseline has them and one figure."""
    pytest.importorskip("matplotlib")
    found = tmp_path_factory.mktemp("site")
    frame.known.cache_clear()
    picture = figure()
    built = Built(site.from_baseline().cases, [Drawn(picture, drawn(picture, "png"))])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(embedded, "cases", dict)
        patch.setattr(frame, "registry", SimpleNamespace(statements=mine))
        site.write(found, built)
    frame.known.cache_clear()
    return found


@pytest.fixture(scope="module")
def pages(folder: Path) -> dict[str, Reader]:
    files = sorted(folder.rglob("*.html"))
    return {p.relative_to(folder).as_posix(): Reader(p.read_text("utf-8")) for p in files}


def test_everything_has_its_page_at_an_address_that_does_not_change(pages) -> None:
    for s in mine().values():
        assert f"statements/{s.id}.html" in pages
        assert (f"errata/{s.id}.html" in pages) == bool(s.erratum)
        assert f"papers/{s.paper()}.html" in pages
    assert all(f"cases/{name}.html" in pages for name in embedded.names())
    own = [t for t in docs.topics() if not t.startswith(("theory/", "items/", "errata"))]
    assert all(f"docs/{topic}.html" in pages for topic in own)
    # These may be cited.
    assert {"errata/hieu2022/thm3.3.5.html", "statements/hieu2022/pl.html"} <= pages.keys()


def test_every_link_leads_somewhere_within_the_site(pages) -> None:
    count = 0
    for path, page in pages.items():
        assert len(page.ids) == len(set(page.ids)), path
        for link in page.links:
            to, _, part = link.partition("#")
            there = posixpath.normpath(posixpath.join(posixpath.dirname(path), to)) if to else path
            assert there in pages, (path, link)
            assert not part or part in pages[there].ids, (path, link)
            count += 1
    assert count > 3000


def test_only_the_search_has_a_script_and_nothing_is_loaded(pages, folder) -> None:
    shown = {SEARCH: [SCRIPT], GALLERY: ["figures/kawaguchi2021-fig2c.png"]}
    for path, page in pages.items():
        assert page.sources == shown.get(path, [])
        assert ("<script" in page.text) == (path == SEARCH)
        assert not any(word in page.text for word in ("<link", "@import", "<iframe"))
    assert (folder / shown[GALLERY][0]).read_bytes().startswith(b"\x89PNG")


def test_the_gallery_tells_what_is_judged_and_where(folder) -> None:
    text = (folder / GALLERY).read_text("utf-8")
    (said,) = {each.text for each in figure().sentences[:1]}
    assert said in text and '<span class="word' in text and "a size of one" in text


def test_a_case_tells_what_came_of_each_member_or_why_nothing_did() -> None:
    entry = {"status": "diverged", "statements": {"a/b (printed)": {"outcome": "refuted"}}}
    built = Built(
        {"gao2022/sweep[step=1]": entry, "gao2022/sweep[step=2]": entry},
        failures={"quickstart": "no result after 3 s"},
    )
    body = "".join(site.cases._body("quickstart", {}, built))
    assert "quickstart: no result after 3 s" in body and "did not run" not in body
    many = "".join(site.cases._body("quickstart", dict(built.cases), Built()))
    assert "<h3>gao2022/sweep[step=2]</h3>" in many and "The run ended as diverged." in many
    assert "takes minutes" in "".join(site.cases._body("kawaguchi2021/slow/fig2c", {}, Built()))


@pytest.mark.parametrize(
    "path",
    [
        "index.html",
        "gallery.html",
        "errata/hieu2022/thm3.3.5.html",
        "statements/hieu2022/chain.html",
        "cases/quickstart.html",
        "papers/hieu2022.html",
        "docs/extend.html",
    ],
)
def test_the_markup_of_each_kind_of_page_is_closed(pages, path: str) -> None:
    assert Balanced(pages[path].text).open == []


def test_an_erratum_tells_its_severity_and_its_counterexample(folder) -> None:
    text = (folder / "errata/hieu2022/thm3.3.5.html").read_text("utf-8")
    assert "false as printed: a counterexample exists" in text
    assert "--only hieu2022/thm3.3.5 --edition both" in text
    assert "refuted as printed" in text


def test_a_statement_shows_both_editions_with_the_differences_marked(folder) -> None:
    text = (folder / "statements/hieu2022/thm3.3.5.html").read_text("utf-8")
    assert text.index("Erratum") < text.index("<h2>Assumed") < text.index("<h2>Claimed")
    assert "<mark>16</mark>" in text and "<math>" in text


def test_the_index_has_what_readers_read(folder) -> None:
    text = (folder / SCRIPT).read_text("utf-8")
    assert "</script" not in text
    found = json.loads(text.removeprefix("const PAGES = ").rstrip(";\n"))
    assert len(found) == len(list(folder.rglob("*.html"))) - 1
    (mine,) = [page for page in found if page[0] == "errata/hieu2022/thm3.3.5.html"]
    assert "L(1)/L(0) = 4" in mine[2] and "<" not in re.sub(r"<=?(?= |$)", "", mine[2])


@pytest.mark.skipif(CHROMIUM is None, reason="no chromium")
def test_the_search_works_from_the_file_system(folder, tmp_path) -> None:
    words = ["--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=3000"]
    address = f"{(folder / SEARCH).as_uri()}?q=vacuous+printed+theorem"
    done = subprocess.run(
        [CHROMIUM, *words, f"--user-data-dir={tmp_path}", "--dump-dom", address],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert 'href="errata/hieu2022/thm3.3.5.html"' in done.stdout


def call(*words: str):
    return CliRunner().invoke(cli, ["docs", *words], prog_name="deqcheck")


def test_a_folder_that_is_not_empty_is_kept(tmp_path, monkeypatch) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    refused = call("--site", str(tmp_path))
    assert refused.exit_code == 2 and refused.stderr.count("\n") == 1
    assert "is not empty; --force writes into it" in refused.stderr
    monkeypatch.setattr(site, "pages", lambda built: [])
    assert call("--site", str(tmp_path), "--force", "--quick").exit_code == 0
    assert (tmp_path / SEARCH).exists() and (tmp_path / "mine.txt").read_text() == "mine"
    assert "nothing was run" in (tmp_path / SEARCH).read_text()
    assert "go with --site" in call("verdict", "--quick").stderr
    assert "leave out the words" in call("verdict", "--site", str(tmp_path / "new")).stderr


def test_a_folder_that_cannot_be_written_shows_before_the_work(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(siting.Build, "__call__", lambda self: pytest.fail("it was built"))
    (tmp_path / "file").write_text("")
    refused = call("--site", str(tmp_path / "file" / "below"))
    assert refused.exit_code == 2 and "cannot write" in refused.stderr


def test_words_are_found_in_the_topics(monkeypatch) -> None:
    monkeypatch.setattr(embedded, "cases", dict)
    monkeypatch.setattr(docs, "topics", lambda: {"ci": "", "errors": ""})
    found = call("search", "no equilibrium", "divergence")
    assert found.exit_code == 0
    assert any(line.startswith("ci: ") for line in found.stdout.splitlines())
    nothing = call("search", "xyzzy")
    assert (nothing.exit_code, nothing.stdout) == (0, "")
    assert nothing.stderr == "deqcheck: no topic has a line with xyzzy\n"
    assert call("search").exit_code == 2
    assert "docs search error bars" in call("error", "bars").stderr


def test_a_pipe_gets_markdown() -> None:
    assert call("verdict").stdout == docs.text("verdict", dict)


class Cheap(NamedTuple):
    """A build of one case and one figure, and what it ran."""

    build: Callable[[], Built]
    ran: list[int]


@pytest.fixture
def cheap(tmp_path, monkeypatch) -> Cheap:
    """Without processes; the baseline knows another outcome."""
    pytest.importorskip("matplotlib")
    name, ran = "kawaguchi2021/equality", []
    old = json.loads((embedded.folder() / "baseline.json").read_text("utf-8"))["cases"][name]
    first = next(iter(old["statements"].values()))
    first["outcome"] = "undecided"
    monkeypatch.setattr(
        siting, "shipped", lambda: Discovery([FoundCase(name, embedded.find(name))], [])
    )
    monkeypatch.setattr(siting, "_baseline", lambda: Baseline({name: old, "gone": old}))
    monkeypatch.setattr(siting, "figures", lambda: ["kawaguchi2021/fig2c"])
    monkeypatch.setattr(Figure2c, "quick", TINY)
    monkeypatch.setattr(gate, "Processes", lambda *a: ran.append(1) or Here())
    return Cheap(siting.Build(1, tmp_path / "kept"), ran)


def test_the_build_runs_the_cases_itself_once_and_tells_deviations(cheap, capsys) -> None:
    built = cheap.build()
    told = capsys.readouterr().err
    assert "kawaguchi2021/equality: " in told and "outcome changed: undecided -> " in told
    assert "gone: in the baseline" in told
    (entry,) = built.cases.values()
    assert {"undecided"} != {s["outcome"] for s in entry["statements"].values()}
    assert built.figures[0].picture.id == "kawaguchi2021/fig2c" and not built.warning
    assert "1 cases that this build ran; it made 1 figures" in built.about
    again = cheap.build()
    assert again.cases == built.cases and len(cheap.ran) == 1


def test_an_interrupted_build_tells_how_to_go_on(cheap, capsys, monkeypatch) -> None:
    def interrupted(*words):
        raise KeyboardInterrupt

    monkeypatch.setattr(Here, "replies", interrupted)
    with pytest.raises(KeyboardInterrupt):
        cheap.build()
    assert "kept: the same command goes on" in capsys.readouterr().err


def test_without_matplotlib_there_is_a_quick_way(monkeypatch) -> None:
    monkeypatch.setattr(siting.drawing, "available", lambda: False)
    with pytest.raises(Complaint, match="or --quick"):
        siting.Build(1)()
