"""The shipped cases, run once for a whole test session, however many processes it has."""

from __future__ import annotations

import fcntl
import os
import shutil
from pathlib import Path

from deqcheck.ci.discover import Found, discover
from deqcheck.ci.gate import Runner
from deqcheck.ci.records import Result
from deqcheck.cli.running import cores
from deqcheck.environment import source
from deqcheck.store import Store

FOLDER = Path(__file__).parents[1] / "cases"
SLOW = os.environ.get("DEQCHECK_SLOW") == "1"


def cases() -> list[Found]:
    """Those in a folder `slow` only if DEQCHECK_SLOW=1."""
    found = discover([FOLDER], every=True).cases
    return [case for case in found if SLOW or "slow" not in case.id.split("/")]


def results(folder: Path) -> dict[str, Result]:
    """By case; kept in the folder as long as deqcheck's source stays the same."""
    store = folder / source()
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for old in folder.iterdir():
            if old.is_dir() and old != store:
                shutil.rmtree(old)
        found = Runner(cores(), timeout=600, store=Store(store)).results(cases())
    return {result.id: result for result in found}
