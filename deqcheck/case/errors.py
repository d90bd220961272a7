"""What is wrong with a case, and where."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from deqcheck.fields import show
from deqcheck.frozen import dataclass

# The line of whatever an option set, not the file.
SET, GRID = 0, -1
OPTIONS = {SET: "--set", GRID: "--grid"}
_INDEX = re.compile(r"\[\d+\]\Z")


@dataclass(frozen=True)
class CaseProblem:
    """One sentence; `line` is None where there is none, `key` is "" for the file as a whole."""

    file: str
    line: int | None
    key: str
    sentence: str

    def __str__(self) -> str:
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        # A key is the user's text: it may hold line breaks or control characters.
        key = self.key if self.key.isprintable() and len(self.key) <= 100 else show(self.key)
        return ": ".join(part for part in (place, key, self.sentence) if part)


class CaseError(Exception):
    """A case that cannot be used, with all its problems in the order of the file."""

    __module__ = "deqcheck"

    def __init__(self, problems: Iterable[CaseProblem]) -> None:
        self.problems = sorted(problems, key=lambda problem: problem.line or 0)
        super().__init__("\n".join(str(problem) for problem in self.problems))


def located(name: str, lines: Mapping[str, int], problems: Iterable[tuple[str, str]]) -> CaseError:
    """Problems given by key as an error that names lines.

    What has no line of its own (a missing key) has that of the nearest thing around it.
    """

    def place(key: str, sentence: str) -> CaseProblem:
        # Without lines there is no file.
        line = _line(key, lines) if lines else None
        if line in OPTIONS:
            return CaseProblem(OPTIONS[line], None, key, sentence)
        return CaseProblem(name, line, key, sentence)

    return CaseError(place(key, sentence) for key, sentence in problems)


def _line(key: str, lines: Mapping[str, int]) -> int:
    while key and key not in lines:
        # A key is the user's text, and may end in a bracket that is no index.
        whole = _INDEX.sub("", key)
        key = whole if whole != key else key.rpartition(".")[0]
    return lines.get(key, 1)
