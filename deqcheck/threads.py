"""How many threads the linear algebra uses; its library asks the environment when it is loaded.

Several threads gain nothing on the small matrices of most cases, and where another process is at
work on the same cores they wait for each other: a run of a second then takes a minute.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

VARIABLES = tuple(
    f"{library}_NUM_THREADS"
    for library in ("OPENBLAS", "MKL", "OMP", "BLIS", "NUMEXPR", "VECLIB_MAXIMUM")
)
ONE = dict.fromkeys(VARIABLES, "1")


def one_unless_told() -> None:
    """One thread for this process, if numpy is not loaded and the environment says nothing."""
    if "numpy" not in sys.modules and not any(name in os.environ for name in VARIABLES):
        os.environ.update(ONE)


@contextmanager
def one_in_children() -> Iterator[None]:
    """One thread for each process started meanwhile."""
    before = {name: os.environ.get(name) for name in VARIABLES}
    os.environ.update(ONE)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def count() -> int:
    for name in VARIABLES:
        if os.environ.get(name, "").isdigit():
            return int(os.environ[name])
    return os.cpu_count() or 1
