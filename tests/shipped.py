"""The shipped cases, run once for a whole test session, however many processes it has."""

from __future__ import annotations

import os
import shutil
from collections.abc import Collection
from functools import cache
from pathlib import Path

from filelock import FileLock

from deqcheck.case import Case, embedded
from deqcheck.ci.discover import FoundCase, discover
from deqcheck.ci.gate import Runner, alone, stated_in
from deqcheck.ci.records import Result
from deqcheck.environment import source
from deqcheck.store import Store
from deqcheck.threads import cores

FOLDER = Path(__file__).parents[1] / "cases"
SLOW = os.environ.get("DEQCHECK_SLOW") == "1"
# Whether cases are run in this very process, and nothing is kept: what is exchanged here (mutants)
# is not there in others.
HERE = False


def cases() -> list[FoundCase]:
    """Those in a folder `slow` only if DEQCHECK_SLOW=1."""
    found = discover([FOLDER], every=True).cases
    return [case for case in found if SLOW or not embedded.slow(case.id)]


@cache
def stated() -> dict[str, Case]:
    """What these files state, by id."""
    pairs = (pair for found in cases() for pair in stated_in(found))
    return {found.id: case for found, case in pairs if isinstance(case, Case)}


def results(folder: Path, names: Collection[str] | None = None) -> dict[str, Result]:
    """By case, of all or only some; kept in the folder as long as deqcheck's source stays the same.

    All at once keep all cores busy: tests that need many should ask for all.
    """
    wanted = [case for case in cases() if names is None or case.id in names]
    if HERE:
        return {pair[0].id: alone(pair) for found in wanted for pair in stated_in(found)}
    store = folder / source()
    with FileLock(folder / "lock"):
        for old in folder.iterdir():
            if old.is_dir() and old != store:
                shutil.rmtree(old)
        found = Runner(cores(), timeout=600, store=Store(store)).results(wanted)
    return {result.id: result for result in found}
