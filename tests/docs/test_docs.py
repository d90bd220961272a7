"""Every command that a document shows is run, and prints what the document says."""

from __future__ import annotations

from pathlib import Path

import pytest

from deqcheck import docs
from deqcheck.cli import embedded

from .console import ROOT, alike, perform, steps

README = ROOT / "README.md"


@pytest.mark.parametrize("topic", docs.topics())
def test_a_topic_shows_what_happens(topic: str, tmp_path: Path) -> None:
    assert not perform(docs.text(topic, embedded.cases), tmp_path)


@pytest.mark.skipif(not README.exists(), reason="no README")
def test_the_readme_shows_what_happens(tmp_path: Path) -> None:
    assert not perform(README.read_text(), tmp_path)
