"""Whole commands in their own processes, against the bare import of click: CPU time, with bytecode
that was kept, as after any first use."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from tests.bench.harness import Extent

ROOT = Path(__file__).parents[3]
IMPORTS = {
    f"import {name}": (sys.executable, "-c", f"import {name}")
    for name in ("click", "numpy", "scipy.integrate")
}
QUICK = (("--version",), ("validate", "quickstart"), ("run", "quickstart"))
# In the first rounds only.
LONG, FEW = ("run", "kawaguchi2021/slow/fig2c"), 2


def contests(extent: Extent, seeds: int) -> Iterator[list[object]]:
    """None: these are no calls in this process."""
    return iter(())


def growth(extent: Extent) -> Iterator[str]:
    rounds = 3 if extent.quick else 7
    deqcheck = (sys.executable, "-m", "deqcheck")
    commands: dict[str, Sequence[str]] = dict(IMPORTS)
    for words in QUICK if extent.quick else (*QUICK, LONG):
        commands[f"deqcheck {' '.join(words)}"] = (*deqcheck, *words)
    took: dict[str, list[float]] = {name: [] for name in commands}
    with tempfile.TemporaryDirectory() as folder:
        for command in commands.values():
            _cpu(command, folder)
        for turn in range(rounds):
            for name, command in commands.items():
                if turn < FEW or command[-len(LONG) :] != LONG:
                    took[name].append(_cpu(command, folder))
    base = took["import click"]
    for name, seconds in took.items():
        ratio = np.median([s / b for s, b in zip(seconds, base, strict=False)])
        yield f"command  {name:<32} {np.median(seconds):6.3f} s   {ratio:6.2f} x import click"


def _cpu(command: Sequence[str], folder: str) -> float:
    here = os.environ | {"PYTHONPATH": str(ROOT), "PYTHONPYCACHEPREFIX": f"{folder}/bytecode"}
    here.pop("PYTHONDONTWRITEBYTECODE", None)
    before = os.times()
    subprocess.run(command, cwd=folder, env=here, check=True, capture_output=True)
    after = os.times()
    user = after.children_user - before.children_user
    return user + after.children_system - before.children_system
