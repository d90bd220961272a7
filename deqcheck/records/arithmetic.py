"""Where floating-point arithmetic ends: failures of NumPy, SciPy and Python floats as one kind."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar

import numpy as np

from deqcheck.records.verdict import Status

HERE = Path(__file__).parents[1]
# OverflowError, ZeroDivisionError and FloatingPointError are the arithmetic errors of Python.
FAILURES = (ArithmeticError, np.linalg.LinAlgError)
# What SciPy says in a ValueError of an array that is not finite.
NOT_FINITE = ("array must not contain infs or NaNs",)


class OutOfRange(Exception):
    """Numbers left the range of floats, or cancelled to nothing; the text tells where."""

    status: ClassVar[Status] = Status.OUT_OF_RANGE


@contextmanager
def in_range() -> Iterator[None]:
    """Without warnings: what overflows shows in the error bars, or else is OutOfRange."""
    with np.errstate(all="ignore"):
        try:
            yield
        except FAILURES as failure:
            raise _told(failure) from failure
        except ValueError as failure:
            if str(failure) not in NOT_FINITE:
                raise
            raise _told(failure) from failure


def _told(failure: Exception) -> OutOfRange:
    """Where in deqcheck, and what was said there."""
    import traceback

    frames = traceback.extract_tb(failure.__traceback__)
    ours = [frame for frame in frames if HERE in Path(frame.filename).parents] or frames
    place = f"{Path(ours[-1].filename).name}:{ours[-1].lineno}"
    said = " ".join(str(failure.args[-1] if failure.args else type(failure).__name__).split())
    return OutOfRange(f"at {place}: {said}")
