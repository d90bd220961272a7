"""How many threads the linear algebra uses.

Several threads gain nothing on the small matrices of most cases, and where another process is at
work on the same cores they wait for each other: a run of a second then takes a minute. Wide models
get all cores. What the environment says wins.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import Any

VARIABLES = tuple(
    f"{library}_NUM_THREADS"
    for library in ("OPENBLAS", "MKL", "OMP", "BLIS", "NUMEXPR", "VECLIB_MAXIMUM")
)
ONE = dict.fromkeys(VARIABLES, "1")
# From this width on several threads pay.
WIDE = 1000
_used: ContextVar[int | None] = ContextVar("threads in use", default=None)
# Processes in which the environment's word is our own.
_ours: set[int] = set()


def one_unless_told() -> None:
    """One thread to begin with, if numpy is not loaded and the environment says nothing."""
    if "numpy" not in sys.modules and not _told():
        # The libraries ask the environment when they are loaded; children are told by this.
        os.environ.update(ONE)
        _ours.add(os.getpid())


@contextmanager
def fitting(shapes: Mapping[str, tuple[int, ...]]) -> Iterator[None]:
    """As many threads as pay for parameters of these shapes, for the time of this context."""
    if _told():
        yield
        return
    width = max((side for shape in shapes.values() for side in shape), default=0)
    wanted = 1 if width < WIDE else cores()
    if wanted == 1 and os.getpid() in _ours and _used.get() in (None, 1):
        yield  # the libraries have begun so
        return
    before = _used.set(wanted)
    try:
        with _libraries().limit(limits=wanted, user_api="blas"):
            yield
    finally:
        _used.reset(before)


def _told() -> bool:
    return os.getpid() not in _ours and any(os.environ.get(name) for name in VARIABLES)


@cache
def _libraries() -> Any:
    # SciPy brings its own library, which must be there to be found.
    import scipy.linalg  # noqa: F401
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def cores() -> int:
    """That this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


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
    if (used := _used.get()) is not None:
        return used
    for name in VARIABLES:
        if os.environ.get(name, "").isdigit():
            return int(os.environ[name])
    return cores()
