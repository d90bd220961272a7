"""What there is to choose from: registries that list their own folder.

A new kind, theorem or command is one new file; there is no central list to edit. A name tells
where the thing is, so that asking for one imports no more than that: the kind `relu-deq` is in
the module `relu_deq`, the statement `gao2022/thm4.2` in the folder `gao2022`. Going through a
registry imports all of it.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import pkgutil
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from functools import cache
from types import ModuleType
from typing import Any, Generic, TypeVar

T = TypeVar("T")


def modules(package: str) -> list[str]:
    """Names of the modules directly inside a package, sorted, without importing them."""
    return [name for name, is_folder in _inside(package) if not is_folder]


def folders(package: str) -> list[str]:
    """Names of the packages directly inside a package, sorted, without importing them."""
    return [name for name, is_folder in _inside(package) if is_folder]


class Registry(Mapping[str, type[T]], Generic[T]):
    """Classes by their name, found in the module or folder of the package that the name tells."""

    def __init__(self, package: str):
        self.package = package
        self._known: dict[str, dict[str, type[T]]] = {}

    @abstractmethod
    def _place(self, name: str) -> str:
        """The module or folder of a name."""

    @abstractmethod
    def _places(self) -> list[str]: ...

    @abstractmethod
    def _found(self, place: str) -> Iterator[tuple[str, type[T]]]:
        """Every name of a place with its class."""

    def __getitem__(self, name: str) -> type[T]:
        place = self._place(name)
        if place not in self._places():
            raise KeyError(name)
        return self._here(place)[name]

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(name for place in self._places() for name in self._here(place)))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def _here(self, place: str) -> dict[str, type[T]]:
        if place not in self._known:
            self._known[place] = self._read(place)
        return self._known[place]

    def _read(self, place: str) -> dict[str, type[T]]:
        found: dict[str, type[T]] = {}
        for name, cls in self._found(place):
            if name in found:
                raise TypeError(f"{self.package}: {cls} and {found[name]} are both {name!r}")
            if self._place(name) != place:
                raise TypeError(f"{cls} is {name!r}, but stands in {place}")
            found[name] = cls
        return found


class Kinds(Registry[Any]):
    """The classes of a package that carry a `kind`, by that word."""

    def _place(self, name: str) -> str:
        return name.replace("-", "_")

    def _places(self) -> list[str]:
        return modules(self.package)

    def _found(self, place: str) -> Iterator[tuple[str, type]]:
        for cls in _classes(f"{self.package}.{place}"):
            if isinstance(kind := getattr(cls, "kind", None), str):
                yield kind, cls


class Members(Registry[T]):
    """The concrete subclasses of `base` in the folders of a package, by their `id`."""

    def __init__(self, package: str, base: type[T]):
        super().__init__(package)
        self.base = base

    def _place(self, name: str) -> str:
        return name.partition("/")[0]

    def _places(self) -> list[str]:
        return folders(self.package)

    def _found(self, place: str) -> Iterator[tuple[str, type[T]]]:
        folder = f"{self.package}.{place}"
        for module in modules(folder):
            for cls in _classes(f"{folder}.{module}"):
                identifier = getattr(cls, "id", None)
                concrete = issubclass(cls, self.base) and not inspect.isabstract(cls)
                if concrete and isinstance(identifier, str):
                    yield identifier, cls


@cache
def kinds(package: str) -> Kinds:
    return Kinds(package)


@cache
def members(package: str, base: type[T]) -> Members[T]:
    return Members(package, base)


@cache
def _inside(package: str) -> list[tuple[str, bool]]:
    """What stands directly in a package, and whether it is a folder, sorted."""
    spec = importlib.util.find_spec(package)
    if spec is None or spec.submodule_search_locations is None:
        raise TypeError(f"{package} is not a package")
    found = pkgutil.iter_modules(spec.submodule_search_locations)
    return sorted((each.name, each.ispkg) for each in found if not each.name.startswith("_"))


def _classes(name: str) -> Iterator[type]:
    module: ModuleType = importlib.import_module(name)
    for value in vars(module).values():
        if isinstance(value, type) and value.__module__ == module.__name__:
            yield value
