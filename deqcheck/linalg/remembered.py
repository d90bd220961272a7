"""Singular values and eigenvalues, remembered by the content of their matrices.

Many statements ask for the norms of the same start, each at a state of its own: of 622
decompositions for all statements about a wide implicit model, 171 were of matrices that had one. A
search changes one array of its instances at a time.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from functools import lru_cache
from hashlib import sha256
from threading import Lock
from typing import Any

import numpy as np

from deqcheck.linalg.largest import largest_singular_value
from deqcheck.records.measured import Measured

# Below this many entries a digest takes a good part of the time of a decomposition; up to so many,
# the entries themselves are the key.
LARGE, SMALL = 24 * 24, 64
# How many are kept: vectors and numbers, not matrices.
KEPT = 256

_found: OrderedDict[tuple[str, tuple[int, ...], bytes], Any] = OrderedDict()
_lock = Lock()


def singular_values(a: np.ndarray) -> np.ndarray:
    """Descending, of a finite matrix."""
    if a.size <= SMALL and a.dtype == float:
        return _of_few(a.tobytes(), a.shape).copy()
    known: np.ndarray = once("singular values", a, decomposed)
    return known.copy()


def spectral_norm(a: np.ndarray) -> float:
    """The largest of them, as np.linalg.norm(a, 2) has it."""
    return float(singular_values(a)[0])


def largest(a: np.ndarray, wanted: float) -> Measured | None:
    """The largest of them without the others, of a large finite matrix, to this relative error."""
    tall = a if len(a) >= a.shape[1] else a.T
    known: Measured | None = once("norm", a, lambda _: largest_singular_value(tall, wanted))
    return known


def once(what: str, a: np.ndarray, make: Callable[[np.ndarray], Any]) -> Any:
    """What is made of a large matrix, and takes little room."""
    if a.size < LARGE:
        return make(a)
    key = what, a.shape, sha256(np.ascontiguousarray(a).data).digest()
    with _lock:
        if key in _found:
            return _found[key]
    made = make(a)
    with _lock:
        _found[key] = made
        while len(_found) > KEPT:
            _found.popitem(last=False)
    return made


def decomposed(a: np.ndarray) -> np.ndarray:
    found: np.ndarray = np.linalg.svd(a, compute_uv=False)
    return found


def eigenvalues(a: np.ndarray) -> np.ndarray:
    """Ascending, of a finite symmetric matrix."""
    if a.size <= SMALL and a.dtype == float:
        return _symmetric_of_few(a.tobytes(), a.shape).copy()
    return np.asarray(np.linalg.eigvalsh(a))


@lru_cache(maxsize=1024)
def _of_few(entries: bytes, shape: tuple[int, ...]) -> np.ndarray:
    return decomposed(np.frombuffer(entries).reshape(shape))


@lru_cache(maxsize=1024)
def _symmetric_of_few(entries: bytes, shape: tuple[int, ...]) -> np.ndarray:
    return np.asarray(np.linalg.eigvalsh(np.frombuffer(entries).reshape(shape)))
