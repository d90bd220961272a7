"""SciPy, imported when a part of it is first used: whoever only checks a case needs none of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

__all__ = ["scipy"]

if TYPE_CHECKING:
    import scipy
else:
    from importlib import import_module

    class _Late:
        def __getattr__(self, name):
            # From now on it is an attribute like any other.
            found = self.__dict__[name] = getattr(import_module("scipy"), name)
            return found

    scipy = _Late()
