"""The Python page: every line is executed, and shows what the page says."""

from __future__ import annotations

import doctest
import re
from importlib.resources import files
from pathlib import Path

import pytest

PAGES = {
    "python": (files("deqcheck") / "docs" / "python.md").read_text("utf-8"),
    "sweep": (files("deqcheck") / "docs" / "sweep.md").read_text("utf-8"),
    "README": (Path(__file__).parents[2] / "README.md").read_text("utf-8"),
}
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def test_every_python_block_is_a_session() -> None:
    page = PAGES["python"]
    assert "```python" not in page and page.count("```pycon") == page.count("```") / 2


@pytest.mark.parametrize("name", PAGES)
def test_the_page_shows_what_happens(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    sessions = "".join(re.findall(r"```pycon\n(.*?)```", PAGES[name], re.DOTALL))
    examples = doctest.DocTestParser().get_doctest(sessions, {}, name, None, 0)
    told: list[str] = []
    result = doctest.DocTestRunner(optionflags=FLAGS).run(examples, out=told.append)
    assert result.attempted > (1 if name == "README" else 5)
    assert result.failed == 0, "".join(told)
