from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from deqcheck import __version__
from deqcheck.api import statements
from deqcheck.cli.citing import AUTHOR, TITLE
from deqcheck.theorems.references import bibtex

ROOT = Path(__file__).parents[2]


def test_cite_gives_an_entry_with_the_version(deqcheck):
    result = deqcheck("--cite")
    assert result.exit_code == 0
    assert result.stdout.startswith("@software{deqcheck,")
    assert f"version = {{{__version__}}}" in result.stdout
    assert "--bibtex" in result.stderr


def test_the_citation_file_says_the_same():
    told = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert told["title"] == TITLE
    assert str(told["version"]) == __version__
    assert told["authors"] == [{"name": AUTHOR}]
    assert told["license"] == "MIT"


PAPERS = {s.paper(): s for s in statements()}


@pytest.mark.parametrize("paper", sorted(PAPERS))
def test_every_paper_has_its_reference(paper):
    entry = bibtex(PAPERS[paper])
    assert entry is not None
    assert re.match(rf"@\w+{{{paper},\n", entry)
    assert "author" in entry
    assert "year" in entry
    assert entry.count("{") == entry.count("}")


@pytest.mark.parametrize("work", ["kawaguchi2021", "ling2022", "hieu2022", "gao2022", "xie2021"])
def test_the_five_works_are_there(work):
    assert work in PAPERS


def test_the_thesis_has_the_title_of_its_title_page():
    title = "An analysis of applying neural tangent kernels for deep equilibrium models"
    assert f"title         = {{{title}}}" in bibtex(PAPERS["hieu2022"])


def test_a_statement_shows_its_reference(deqcheck):
    result = deqcheck("theorems", "show", "kawaguchi2021/thm1", "--bibtex")
    assert result.exit_code == 0
    assert result.stdout == f"{bibtex(PAPERS['kawaguchi2021'])}\n"


def test_an_unknown_work_is_a_sentence(deqcheck, monkeypatch):
    from deqcheck.cli.commands import theorems

    monkeypatch.setattr(theorems, "bibtex", lambda ident: None)
    result = deqcheck("theorems", "show", "kawaguchi2021/thm1", "--bibtex")
    assert result.exit_code == 2
    assert result.stderr == "deqcheck: no BibTeX entry is known for Kawaguchi 2021\n"
