"""Which lines of the files that are changed each test reaches, and how long it takes.

Recorded once for each test file and kept as long as that file and deqcheck stay the same.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest
from _pytest.runner import runtestprotocol
from _pytest.warnings import catch_warnings_for_item

# A function that is called more often by one test has shown its lines.
CALLS = 40
Trace = Callable[[FrameType, str, Any], Any]


@dataclass(frozen=True)
class Reach:
    """The lines of each file as the bits of a number."""

    test: str
    passed: bool
    seconds: float
    lines: Mapping[str, int]

    def any_of(self, path: Path, lines: Iterable[int]) -> bool:
        found = self.lines.get(str(path), 0)
        return any(found >> line & 1 for line in lines)


class Recorder:
    """A trace function for the lines of some files."""

    def __init__(self, paths: Iterable[Path]):
        self.lines = {str(path): set[int]() for path in paths}
        self.calls: dict[CodeType, int] = {}

    def __call__(self, frame: FrameType, event: str, argument: object) -> Trace | None:
        code = frame.f_code
        lines = self.lines.get(code.co_filename)
        if lines is None:
            return None
        calls = self.calls[code] = self.calls.get(code, 0) + 1
        if calls > CALLS:
            return None

        def line(frame: FrameType, event: str, argument: object) -> Trace:
            lines.add(frame.f_lineno)
            return line

        return line

    def reached(self) -> dict[str, int]:
        return {path: sum(1 << n for n in lines) for path, lines in self.lines.items() if lines}


def passes(item: pytest.Item, following: pytest.Item | None) -> bool:
    # Around the protocol, where pytest itself does it: what a test says of warnings is part of it.
    with catch_warnings_for_item(item.config, item.ihook, when="runtest", item=item):
        reports = runtestprotocol(item, log=False, nextitem=following)
    return not any(report.failed for report in reports)


def _recorded(items: Sequence[pytest.Item], paths: Sequence[Path]) -> list[Reach]:
    found = []
    for item, following in zip(items, [*items[1:], None], strict=True):
        recorder, begun = Recorder(paths), time.process_time()
        sys.settrace(recorder)
        try:
            passed = passes(item, following)
        finally:
            sys.settrace(None)
        took = time.process_time() - begun
        found.append(Reach(item.nodeid, passed, took, recorder.reached()))
    return found


def _in_a_fork(items: Sequence[pytest.Item], paths: Sequence[Path], kept: Path) -> None:
    """So that nothing which one test file has computed is there for the next, or for a mutant."""
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        return
    try:
        told = json.dumps([asdict(reach) for reach in _recorded(items, paths)])
        new = kept.with_suffix(".new")
        new.write_text(told)
        new.replace(kept)
    finally:
        os._exit(0)


def _digest(paths: Iterable[Path]) -> str:
    sums = "".join(hashlib.sha256(path.read_bytes()).hexdigest() for path in paths)
    return hashlib.sha256(sums.encode()).hexdigest()[:16]


def recorded(
    items: Sequence[pytest.Item], paths: Sequence[Path], code: Path, folder: Path
) -> list[Reach]:
    """Of tests that pass; `code` is what they test."""
    folder.mkdir(parents=True, exist_ok=True)
    version, every = _digest(sorted(code.rglob("*.py"))), []
    for file, group in groupby(items, key=lambda item: item.path):
        kept = folder / f"{file.stem}-{_digest([file])}-{version}.json"
        if not kept.exists():
            print(f"which lines {file.name} reaches", file=sys.stderr, flush=True)
            _in_a_fork(list(group), paths, kept)
        every += [Reach(**told) for told in json.loads(kept.read_text())]
    passed = [reach for reach in every if reach.passed]
    for reach in every:
        if not reach.passed:
            print(f"fails as it is: {reach.test}", file=sys.stderr)
    print(f"{len(passed)} tests, {len(every) - len(passed)} more that fail as they are", flush=True)
    return passed
