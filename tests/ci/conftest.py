from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from deqcheck.ci import gate
from deqcheck.cli.main import cli
from deqcheck.engines import processes
from deqcheck.engines.here import Here

CASE = """\
deqcheck: 1
title: {name}
seed: {seed}
data: {{kind: gaussian, n: 6, dim: 2, target: {{kind: negated-input, noise: 0.1}}}}
model: {{kind: delm, gamma: 0.5}}
init: {{kind: gaussian, scale: 0.3}}
train: {{kind: gd, step: 1e-3, steps: {steps}}}
theorems: [kawaguchi2021/gd]
{expect}
"""
CONFIRMED = "expect: {kawaguchi2021/gd: confirmed}"
# A worker whose cases misbehave according to their names.
FAULTY = """
import json, sys; sys.path[:], task, _ = json.loads(sys.argv.pop())
import os, time, deqcheck.explore.single as single
from deqcheck.engines import worker
real = single.judge
def judge(case, *more):
    name = os.path.basename(case.source.name)
    if "crash" in name: raise ZeroDivisionError("a bug\\nin two lines")
    if "memory" in name: raise MemoryError
    if "sleep" in name: time.sleep(60)
    if "kill" in name: os.kill(os.getpid(), 9)
    if "exit" in name: print("last words", file=sys.stderr, flush=True); os._exit(3)
    if "print" in name: print("noise"); os.system("echo more noise")
    return real(case, *more)
single.judge = judge
worker.main(task)
"""


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Writes a case below tmp_path/cases and returns that folder."""

    def write(name: str, expect: str = CONFIRMED, seed: int = 0, steps: int = 5) -> Path:
        path = tmp_path / "cases" / f"{name}.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(CASE.format(name=name, seed=seed, steps=steps, expect=expect))
        return tmp_path / "cases"

    return write


@pytest.fixture
def deqcheck():
    def call(*words: str | Path):
        return CliRunner().invoke(cli, [str(word) for word in words], prog_name="deqcheck")

    return call


@pytest.fixture
def faulty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "PROGRAM", FAULTY)


class Inline:
    """In place of worker processes, for tests that are not about them."""

    def __init__(self, jobs: int, timeout: float | None = None):
        assert jobs >= 1

    def replies(self, task: str, messages: Iterable[tuple[Any, Any]]) -> Iterator[Any]:
        return Here().replies(task, reversed(list(messages)))


@pytest.fixture
def inline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate, "Processes", Inline)
