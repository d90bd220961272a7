"""LAPACK as SciPy brings it, without the rest of scipy.linalg, whose import takes longer than most
small cases."""

from __future__ import annotations

import importlib
import sys
from functools import cache
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import scipy

# The extension module that scipy.linalg.lapack is made of.
_NAME = "scipy.linalg._flapack"


@cache
def _routines() -> ModuleType:
    """Where SciPy is built in another way, those of scipy.linalg itself."""
    if _NAME in sys.modules:
        return sys.modules[_NAME]
    folder = Path(scipy.__file__).parent / "linalg"
    for path in (folder / f"_flapack{suffix}" for suffix in EXTENSION_SUFFIXES):
        spec = spec_from_file_location(_NAME, path) if path.is_file() else None
        if spec is not None and spec.loader is not None:
            # scipy.linalg finds it there, should somebody import it later.
            found = sys.modules[_NAME] = module_from_spec(spec)
            spec.loader.exec_module(found)
            return found
    return importlib.import_module("scipy.linalg.lapack")


def __getattr__(name: str) -> Any:
    if name.startswith("_"):
        raise AttributeError(name)
    found = globals()[name] = getattr(_routines(), name)
    return found


def solved(lu: np.ndarray, pivots: np.ndarray, right: np.ndarray, trans: int = 0) -> np.ndarray:
    """From the factors of dgetrf; ValueError where the right-hand side is not finite."""
    right = np.asarray_chkfinite(right)
    found: np.ndarray = _routines().dgetrs(lu, pivots, right, trans=trans)[0]
    return found
