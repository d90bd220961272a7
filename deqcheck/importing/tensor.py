"""An array in a file: what its header says, and its numbers when they are wanted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np

from deqcheck.capacity import too_large
from deqcheck.frozen import dataclass

# How many a file may hold.
MOST_TENSORS = 100_000
# Floats that have fewer digits than single precision.
COARSE = {"float16": 3, "bfloat16": 2}
# NumPy has no bfloat16: the upper half of a single-precision number.
BFLOAT16 = "bfloat16"


class Unusable(Exception):
    """Why a file cannot be read, without its name."""


@dataclass(frozen=True, eq=False)
class Tensor:
    shape: tuple[int, ...]
    # As NumPy calls it, or bfloat16.
    dtype: str
    # The numbers as they are stored; bfloat16 widened to single precision.
    load: Callable[[], np.ndarray]
    # What there is to say about it.
    note: str = ""

    def __str__(self) -> str:
        return " x ".join(map(str, self.shape)) or "a number"

    def doubles(self, name: str) -> np.ndarray:
        """As doubles, with nothing lost. Raises Unusable."""
        if self.dtype != BFLOAT16 and np.dtype(self.dtype).kind not in "iuf":
            raise Unusable(f"{name} has dtype {self.dtype}; expected real numbers")
        sentence = too_large(name, self.shape)
        if sentence:
            raise Unusable(sentence)
        with readable():
            stored = self.load()
        with np.errstate(all="ignore"):
            found: np.ndarray = np.asarray(stored, dtype=np.float64)
            # A nan is said elsewhere.
            lost = (found.astype(stored.dtype) != stored) & (stored == stored)
            # 2^64 - 1 is rounded up to 2^64, which wraps around or saturates: not the same number.
            if stored.dtype.kind in "iu":
                lost |= np.abs(found) > 2.0**53
        if np.any(lost):
            raise Unusable(
                f"{name} has dtype {self.dtype} and numbers that doubles do not hold, such as "
                f"{stored[lost].flat[0]}; expected float64, or integers below 2^53"
            )
        return found


def widened(halves: np.ndarray) -> np.ndarray:
    """bfloat16, read as unsigned integers, in single precision."""
    return (halves.astype(np.uint32) << 16).view(np.float32)


@contextmanager
def readable() -> Iterator[None]:
    """numpy and zipfile raise a dozen unrelated exceptions on damaged files."""
    try:
        yield
    except Unusable:
        raise
    except Exception as error:
        raise Unusable(f"cannot be read ({type(error).__name__})") from None
