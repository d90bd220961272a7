"""What there is to choose from: registries that find classes.

A new kind, theorem or command is one new file, or a class in one; there is no central list to
edit. A name is a hint where its class stands (the kind `relu-deq` in `relu_deq`, the statement
`gao2022/thm4.2` in the folder `gao2022`, likely in its file `thm4_2`), so that asking for one
imports little more than that; where the hint is wrong, everything is imported. Classes of the
user's own files are added by `deqcheck.plugins`.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import pkgutil
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from deqcheck.kinds import Kind

if TYPE_CHECKING:
    from deqcheck.theorems.base import AnyStatement

T = TypeVar("T")
K = TypeVar("K", bound=Kind)

# Classes from outside the package, in the order in which they came.
_ADDED: list[type] = []


def add(classes: Iterable[type]) -> None:
    _ADDED.extend(classes)


def remove(classes: Iterable[type]) -> None:
    for cls in classes:
        _ADDED.remove(cls)


class Registry(Mapping[str, type[T]], Generic[T]):
    """The concrete subclasses of `base` by the name that an attribute of them tells."""

    def __init__(
        self,
        base: type[T],
        package: str,
        attribute: str,
        hint: Callable[[str], str],
        strict: bool = False,
    ):
        self.base, self.package, self.attribute = base, package, attribute
        # Whether the hint is where it stands, or nowhere.
        self._hint, self._strict = hint, strict
        self._known: dict[str, dict[str, type[T]]] = {}

    def own(self, name: str) -> type[T] | None:
        """The one of deqcheck itself."""
        hinted, places = self._hint(name), self._places()
        likely = [*self._files(hinted, name), hinted] if hinted in places else []
        for place in likely if self._strict else (*likely, *places):
            if name in self._here(place):
                return self._here(place)[name]
        return None

    def beside(self, name: str) -> list[type[T]]:
        """Those that stand where this name would."""
        hinted = self._hint(name)
        here = self._here(hinted).values() if hinted in self._places() else ()
        return [*self.added().values(), *here]

    def added(self) -> dict[str, type[T]]:
        return dict(self._named(_ADDED))

    def __getitem__(self, name: str) -> type[T]:
        found = self.added().get(name) or self.own(name)
        if found is None:
            raise KeyError(name)
        return found

    def __iter__(self) -> Iterator[str]:
        own = {name for place in self._places() for name in self._here(place)}
        return iter(sorted(own | set(self.added())))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def _places(self) -> list[str]:
        """A module that is no package is the only place of its kinds."""
        return [name for name, _ in inside(self.package)] or [""]

    def _files(self, folder: str, name: str) -> list[str]:
        """The file of a folder that is called as what follows the folder's name."""
        file = re.sub(r"[.-]", "_", name.partition("/")[2])
        return [f"{folder}.{file}"] if file and file in modules(f"{self.package}.{folder}") else []

    def _here(self, place: str) -> dict[str, type[T]]:
        if place not in self._known:
            self._known[place] = self._read(place)
        return self._known[place]

    def _read(self, place: str) -> dict[str, type[T]]:
        found: dict[str, type[T]] = {}
        for name, cls in self._named(_classes(f"{self.package}.{place}".rstrip("."))):
            if name in found:
                raise TypeError(f"{self.package}: {cls} and {found[name]} are both {name!r}")
            found[name] = cls
        return found

    def _named(self, classes: Iterable[type]) -> Iterator[tuple[str, type[T]]]:
        for cls in classes:
            name = getattr(cls, self.attribute, None)
            if issubclass(cls, self.base) and not inspect.isabstract(cls) and isinstance(name, str):
                yield name, cls


@cache
def kinds(family: type[K]) -> Registry[K]:
    """The kinds of a family by their words."""
    return Registry(family, family.package, "kind", lambda kind: kind.replace("-", "_"))


def _paper(id_: str) -> str:
    return id_.partition("/")[0]


@cache
def _statements() -> Registry[Any]:
    from deqcheck.theorems.base import Statement

    return Registry(Statement, "deqcheck.theorems", "id", _paper, strict=True)


def statements() -> Registry[AnyStatement]:
    """Every statement by its id."""
    return cast("Registry[AnyStatement]", _statements())


def renamed(id_: str) -> str | None:
    """The id of the statement that had this one before; None for every other name."""
    known = statements()
    if id_ in known:
        return None
    return next((s.id for s in known.beside(id_) if id_ in s.aliases), None)


def is_now(old: str, new: str) -> str:
    """What a reader is told of a former id."""
    return f"{old} is now {new}"


def in_papers(base: type[T], module: str) -> list[type[T]]:
    """Concrete subclasses of `base` in the modules of this name, one in a paper's folder at most,
    and in the user's files."""
    papers = (f"deqcheck.theorems.{n}" for n, is_folder in inside("deqcheck.theorems") if is_folder)
    places = (f"{paper}.{module}" for paper in papers if module in modules(paper))
    own = (cls for place in places for cls in _classes(place))
    return [c for c in (*own, *_ADDED) if issubclass(c, base) and not inspect.isabstract(c)]


def modules(package: str) -> list[str]:
    """Names of the modules directly inside a package, sorted, without importing them."""
    return [name for name, is_folder in inside(package) if not is_folder]


@cache
def inside(package: str) -> list[tuple[str, bool]]:
    """What stands directly in a package, and whether it is a folder, sorted."""
    spec = importlib.util.find_spec(package)
    if spec is None:
        raise TypeError(f"there is no {package}")
    found = pkgutil.iter_modules(spec.submodule_search_locations or [])
    return sorted((each.name, each.ispkg) for each in found if not each.name.startswith("_"))


def _classes(name: str) -> Iterator[type]:
    """Of a module, or of every module of a package."""
    module: ModuleType = importlib.import_module(name)
    yield from defined(module)
    if hasattr(module, "__path__"):
        for inner, _ in inside(name):
            yield from _classes(f"{name}.{inner}")


def defined(module: ModuleType) -> list[type]:
    """The classes that a module itself defines."""
    found = [value for value in vars(module).values() if isinstance(value, type)]
    return [cls for cls in found if cls.__module__ == module.__name__]
