"""Whole commands in their own processes, against the bare import of click."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[3]
IMPORT = (sys.executable, "-c", "import click")
QUICK = (("--version",), ("validate", "quickstart"), ("run", "quickstart"))
LONG = ("run", "kawaguchi2021/fig2c")


def contests(quick: bool, seeds: int) -> Iterator[list[object]]:
    """None: these are timed by the clock on the wall."""
    return iter(())


def growth(quick: bool) -> Iterator[str]:
    rounds = 3 if quick else 7
    with tempfile.TemporaryDirectory() as folder:
        deqcheck = (sys.executable, "-m", "deqcheck")
        commands: dict[str, Sequence[str]] = {"import click": IMPORT}
        for words in QUICK if quick else (*QUICK, LONG):
            commands[f"deqcheck {' '.join(words)}"] = (*deqcheck, *words)
        took: dict[str, list[float]] = {name: [] for name in commands}
        for turn in range(rounds + 1):
            for name, command in commands.items():
                seconds = _wall(command, folder)
                if turn:
                    took[name].append(seconds)
    base = np.array(took["import click"])
    for name, seconds in took.items():
        ratio = np.quantile(np.array(seconds) / base, 0.5)
        yield f"command  {name:<32} {np.median(seconds):6.3f} s   {ratio:6.2f} x import click"


def _wall(command: Sequence[str], folder: str) -> float:
    here = os.environ | {"PYTHONPATH": str(ROOT)}
    start = time.perf_counter()
    subprocess.run(command, cwd=folder, env=here, check=True, capture_output=True)
    return time.perf_counter() - start
