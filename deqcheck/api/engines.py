"""Where the work is done."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from deqcheck.engines import DASK, HERE, PROCESSES, Engine, EngineError
from deqcheck.engines import engine as engine_of
from deqcheck.judging import UsageError
from deqcheck.threads import cores


def chosen_engine(
    engine: str | Engine, jobs: int | None = None, timeout: float | None = None
) -> Engine:
    """By its name, such as "dask:tcp://HOST:8786". Raises UsageError."""
    if not isinstance(engine, str):
        return engine
    where, _, address = engine.partition(":")
    if where not in (PROCESSES, HERE, DASK):
        raise UsageError(f"no engine {engine!r}; expected processes, here, dask or dask:ADDRESS")
    with engine_errors():
        return engine_of(where, jobs or cores(), timeout, address or "local")


@contextmanager
def engine_errors() -> Iterator[None]:
    try:
        yield
    except EngineError as error:
        raise UsageError(str(error)) from None
