"""What there is to choose from: registries that list their own folder.

A new kind, theorem or command is one new file; there is no central list to edit.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import pkgutil
from collections.abc import Iterator
from functools import cache
from types import ModuleType
from typing import TypeVar

T = TypeVar("T")


def modules(package: str) -> list[str]:
    """Names of the modules directly inside a package, sorted, without importing them."""
    return sorted(
        found.name
        for found in pkgutil.iter_modules(_folders(package))
        if not found.ispkg and not found.name.startswith("_")
    )


@cache
def kinds(package: str) -> dict[str, type]:
    """The classes of a package that carry a `kind`, by that word."""
    found: dict[str, type] = {}
    for name in modules(package):
        for cls in _classes(importlib.import_module(f"{package}.{name}")):
            kind = getattr(cls, "kind", None)
            if isinstance(kind, str):
                if kind in found:
                    raise TypeError(f"{package}: {cls} and {found[kind]} are both {kind!r}")
                found[kind] = cls
    return dict(sorted(found.items()))


def members(package: str, base: type[T]) -> list[type[T]]:
    """The concrete subclasses of `base` in a package and the packages below it, by their `id`."""
    found: dict[str, type[T]] = {}
    for cls in _below(package):
        identifier = getattr(cls, "id", None)
        if not issubclass(cls, base) or inspect.isabstract(cls) or not isinstance(identifier, str):
            continue
        if identifier in found:
            raise TypeError(f"{package}: {cls} and {found[identifier]} are both {identifier!r}")
        found[identifier] = cls
    return [found[identifier] for identifier in sorted(found)]


def _below(package: str) -> Iterator[type]:
    for name in modules(package):
        yield from _classes(importlib.import_module(f"{package}.{name}"))
    for found in pkgutil.iter_modules(_folders(package)):
        if found.ispkg:
            yield from _below(f"{package}.{found.name}")


def _folders(package: str) -> list[str]:
    spec = importlib.util.find_spec(package)
    if spec is None or spec.submodule_search_locations is None:
        raise TypeError(f"{package} is not a package")
    return list(spec.submodule_search_locations)


def _classes(module: ModuleType) -> Iterator[type]:
    for value in vars(module).values():
        if isinstance(value, type) and value.__module__ == module.__name__:
            yield value
