"""A mutant put in the place of what is imported already: no process need begin anew for it."""

from __future__ import annotations

import ast
import functools
import gc
import importlib
import sys
import types
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import CodeType, FunctionType

from deqcheck.theorems.base import Check

from .operators import Mutant

Key = tuple[str, int, int]


class NotSwapped(Exception):
    """The change reaches what cannot be exchanged in place."""


class Imported:
    """The functions of some files, wherever they are kept by now (classes, properties, other
    modules)."""

    def __init__(self, paths: Iterable[Path], root: Path):
        # What is frozen is not among the objects told.
        gc.unfreeze()
        self.root = root
        self.functions: dict[str, list[FunctionType]] = {str(path): [] for path in paths}
        for found in gc.get_objects():
            if isinstance(found, FunctionType) and found.__code__.co_filename in self.functions:
                self.functions[found.__code__.co_filename].append(found)
            elif isinstance(found, functools._lru_cache_wrapper):
                found.cache_clear()
        gc.freeze()

    def swap(self, mutant: Mutant) -> None:
        if not mutant.formula:
            self._swap_code(mutant)
            return
        name = self._name(mutant.path)
        texts = _texts(importlib.import_module(name))
        changed = _run_again(name, mutant.path, mutant.tree())
        if not changed:
            # A check that a function makes.
            self._swap_code(mutant)
        if not changed or _texts(importlib.import_module(name)) != texts:
            self._follow(mutant.path)

    def _swap_code(self, mutant: Mutant) -> None:
        path = str(mutant.path)
        was = _codes(compile(ast.parse(mutant.path.read_text()), path, "exec"))
        new = _codes(compile(mutant.tree(), path, "exec"))
        keys = {code: key for key, code in was.items()}
        changed = 0
        for function in self.functions[path]:
            key = keys.get(function.__code__)
            if key is None or new.get(key) is None:
                raise NotSwapped(function.__qualname__)
            try:
                changed += function.__code__ != new[key]
                function.__code__ = new[key]
            except ValueError as error:  # other free variables
                raise NotSwapped(str(error)) from None
        if not changed and mutant.line:
            raise NotSwapped("nothing is changed")

    def _follow(self, path: Path) -> None:
        """Other files of its folder make checks from what it holds, or from what these make."""
        others = [each for each in sorted(path.parent.glob("*.py")) if each != path]
        loaded = [each for each in others if self._name(each) in sys.modules]
        trees = {each: ast.parse(each.read_text()) for each in loaded}
        changed = True
        while changed:
            changed = sum(_run_again(self._name(each), each, trees[each]) for each in loaded) > 0

    def _name(self, path: Path) -> str:
        return ".".join(path.relative_to(self.root).with_suffix("").parts)


def _run_again(name: str, path: Path, tree: ast.Module) -> bool:
    """A module is run from this source; its formulas and texts go into the checks and names that
    are there. Whether any has changed."""
    module, again = importlib.import_module(name), types.ModuleType(name)
    again.__file__, again.__package__ = str(path), name.rpartition(".")[0]
    exec(compile(tree, str(path), "exec"), vars(again))
    changed = 0
    for owner, its in list(vars(again).items()):
        was = vars(module).get(owner)
        if isinstance(its, type) and isinstance(was, type) and its.__module__ == name:
            changed += sum(_taken(old, new) for old, new in _pairs(was, its))
        elif isinstance(its, str) and isinstance(was, str) and owner.isupper():
            changed += its != was
            setattr(module, owner, its)
        else:
            changed += _taken(was, its)
    return changed > 0


def _texts(module: types.ModuleType) -> dict[str, str]:
    named = vars(module).items()
    return {name: text for name, text in named if name.isupper() and isinstance(text, str)}


def _pairs(was: type, new: type) -> Iterator[tuple[object, object]]:
    return ((vars(was).get(name), value) for name, value in vars(new).items())


def _taken(old: object, new: object) -> bool:
    if not (isinstance(old, Check) and isinstance(new, Check)):
        return False
    changed = new.formula.text != old.formula.text
    old.formula = new.formula
    return changed


def _codes(code: CodeType) -> dict[Key, CodeType]:
    """Of a module: by name, line, and place among those of the same name and line (lambdas)."""
    found: dict[Key, CodeType] = {}
    seen: Counter[tuple[str, int]] = Counter()
    for each in _inside(code):
        named = each.co_qualname, each.co_firstlineno
        found[(*named, seen[named])] = each
        seen[named] += 1
    return found


def _inside(code: CodeType) -> Iterator[CodeType]:
    yield code
    for part in code.co_consts:
        if isinstance(part, CodeType):
            yield from _inside(part)
