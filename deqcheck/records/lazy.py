"""Attributes that are computed when they are asked for, and once.

`functools.cached_property` of Python before 3.12 takes a lock at each first look, which costs more
than many of the numbers; states and records belong to one thread.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

__all__ = ["cached_property"]

if TYPE_CHECKING:
    from functools import cached_property
else:

    class Lazy:
        """The value replaces this descriptor, which has no `__set__`, in the instance's dict."""

        def __init__(self, func):
            self.func, self.__doc__ = func, func.__doc__

        def __set_name__(self, owner, name):
            self.name = name

        def __get__(self, instance, owner=None):
            if instance is None:
                return self
            found = instance.__dict__[self.name] = self.func(instance)
            return found

    cached_property = Lazy
