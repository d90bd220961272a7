"""Modules that are imported by others and used by nobody.

SciPy takes every public name of NumPy, and with them its Fortran compiler and its test tools;
its optimisation takes geometry. To run these modules is a quarter of what SciPy's integrators take
to import.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import LazyLoader
from types import ModuleType

MODULES = frozenset({"numpy.f2py", "numpy.ma", "numpy.testing", "scipy.spatial"})


class _Postponed:
    """Finds them where they are; each is run when something of it is first asked for."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        spec = PathFinder.find_spec(fullname, path, target) if fullname in MODULES else None
        if spec is not None and spec.loader is not None:
            spec.loader = LazyLoader(spec.loader)
        return spec


def until_used() -> None:
    """In a process that is deqcheck's own."""
    if not any(isinstance(finder, _Postponed) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Postponed())
