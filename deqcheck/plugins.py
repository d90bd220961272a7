"""Statements, models, losses, data kinds and report formats from the user's own files.

A plugin is a Python file, a folder of them, or an installed package with an entry point in the
group `deqcheck.plugins`. Loading one runs its code: a case file never names one.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import inspect
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from deqcheck import registry
from deqcheck.frozen import dataclass
from deqcheck.kinds import FAMILIES, Format

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "deqcheck.plugins"
# The package that the user's files are modules of.
PARENT = "deqcheck_plugins"
ENTRY_POINT = "entry point "


class PluginError(Exception):
    """What is wrong with a plugin: one sentence for each mistake."""

    __module__ = "deqcheck"


@dataclass(frozen=True)
class Plugin:
    """What was loaded from one place: a path, or `entry point NAME`."""

    place: str
    sha256: str
    classes: tuple[type, ...]
    modules: tuple[str, ...]
    # Its source, with whatever else of its folder it imports.
    files: tuple[Path, ...] = ()
    # What is wrong with the rest of it.
    problems: tuple[str, ...] = ()

    def sound(self) -> Plugin:
        """The plugin itself. Raises PluginError."""
        if self.problems:
            raise PluginError("\n".join(self.problems))
        return self


_LOADED: dict[str, Plugin] = {}
# The paths that were asked for one by one, as the user wrote them.
_ASKED: list[str] = []


def loaded() -> tuple[Plugin, ...]:
    return tuple(_LOADED.values())


def fingerprints() -> dict[str, str]:
    """The name of each plugin, with no more of its path than tells it from the others, and the
    sha256 of its source."""
    return {_short(plugin): plugin.sha256 for plugin in loaded()}


def _short(plugin: Plugin) -> str:
    parts = Path(plugin.place).parts
    others = [Path(other.place).parts for other in loaded() if other is not plugin]
    lengths = range(1, len(parts) + 1)
    short = next((n for n in lengths if all(o[-n:] != parts[-n:] for o in others)), len(parts))
    return Path(*parts[-short:]).as_posix()


def options() -> list[str]:
    """What the command line needs to load them again, beside what the project itself names."""
    return [word for path in _ASKED for word in ("--with", path)]


def blamed(error: BaseException) -> str | None:
    """A sentence for a mistake in somebody's own code, with its file, line and class; None where
    none of it was being run."""
    files = {str(file) for plugin in loaded() for file in plugin.files}
    found, tb = None, error.__traceback__
    while tb is not None:
        if tb.tb_frame.f_code.co_filename in files:
            found = tb
        tb = tb.tb_next
    if found is None:
        return None
    code, owner = found.tb_frame.f_code, found.tb_frame.f_locals.get("self")
    name = f"class {type(owner).__name__}, {code.co_name}" if owner is not None else code.co_name
    return f"{code.co_filename}:{found.tb_lineno}: {name}: {_said(error)}"


def fingerprint(cls: type) -> str | None:
    """Of the plugin that a class is from; None for what comes with deqcheck."""
    return next((plugin.sha256 for plugin in loaded() if cls in plugin.classes), None)


def load(path: str | Path, asked: bool = True) -> Plugin:
    """Load a Python file, or every one in a folder; again, if it was changed. Raises PluginError.

    Whatever is sound in a folder stays loaded, even where another file in it is broken. A file
    that was loaded by another way already is not loaded twice.
    """
    place = Path(path).resolve()
    if not place.exists():
        raise PluginError(f"{path}: no such file or folder")
    if place.is_file() and place.suffix != ".py":
        raise PluginError(f"{path}: is no Python file")
    files = sorted(_files(place))
    if not files:
        raise PluginError(f"{path}: holds no Python file")
    if asked and str(path) not in _ASKED:
        _ASKED.append(str(path))
    known = _LOADED.get(str(place))
    if known is not None and known.sha256 == _sha256({*known.files, *files}, place):
        return known.sound()
    forget(str(place))
    others = {file: plugin for plugin in loaded() for file in plugin.files}
    new = [file for file in files if file not in others]
    if not new:
        return others[files[0]].sound()
    return _register(str(place), *_import(place, new))


def load_installed() -> None:
    """Every entry point of the group. Raises PluginError when all of them were tried."""
    if not _named_somewhere():
        return
    from importlib.metadata import entry_points

    problems = []
    for entry in sorted(entry_points(group=GROUP)):
        try:
            _load_entry(entry)
        except PluginError as error:
            problems.append(str(error))
    if problems:
        raise PluginError("\n".join(problems))


def _named_somewhere() -> bool:
    """Whether an installed distribution may name the group. Mostly none does, and to load
    importlib.metadata takes a tenth of the start of a command."""
    for folder in sys.path:
        if os.path.isfile(folder):
            # An archive, which importlib.metadata can read.
            return True
        if any(_names_the_group(place) for place in _distributions(folder)):
            return True
    return False


def _distributions(folder: str) -> list[str]:
    """What tells of those that are installed in a folder."""
    try:
        names = os.listdir(folder or os.curdir)
    except OSError:
        return []
    return [os.path.join(folder, name) for name in names if name.endswith("-info")]


def _names_the_group(place: str) -> bool:
    try:
        return GROUP in Path(place, "entry_points.txt").read_text(errors="replace")
    except OSError:
        return False


def _load_entry(entry: EntryPoint) -> None:
    place = f"{ENTRY_POINT}{entry.name}"
    if place in _LOADED:
        return
    try:
        found = entry.load()
    except Exception as error:
        raise PluginError(f"{place}: {_said(error)}") from None
    module = found if isinstance(found, ModuleType) else sys.modules[found.__module__]
    _register(place, list(_with_inner(module)), [])


def load_again(places: Sequence[str]) -> None:
    """In another process: what was loaded in the first one. Raises PluginError."""
    for place in places:
        if not place.startswith(ENTRY_POINT):
            load(place)
    if any(place.startswith(ENTRY_POINT) for place in places):
        load_installed()


def places() -> list[str]:
    return list(_LOADED)


def forget(*wanted: str) -> None:
    """Take plugins out again; without a place, all of them."""
    for place in wanted or places():
        plugin = _LOADED.pop(place, None)
        if not wanted:
            _ASKED.clear()
        if plugin is not None:
            registry.remove(plugin.classes)
            for name in plugin.modules:
                if name.startswith(f"{PARENT}."):
                    sys.modules.pop(name, None)


def where(cls: type) -> str:
    """The place that a class is from: `deqcheck`, or a file."""
    plugin = next((plugin for plugin in loaded() if cls in plugin.classes), None)
    if plugin is None:
        return "deqcheck"
    file = inspect.getsourcefile(cls)
    return plugin.place if plugin.place.startswith(ENTRY_POINT) or not file else file


def _files(place: Path) -> Iterator[Path]:
    if place.is_file():
        yield place
        return
    for path in place.rglob("*.py"):
        below = path.relative_to(place).parts
        hidden = any(part.startswith((".", "__pycache__")) for part in below)
        # Tests are for pytest, not for the catalogue.
        if not hidden and not path.name.startswith("test_") and path.name != "conftest.py":
            yield path


def _sha256(files: Iterable[Path], root: Path) -> str:
    digest = hashlib.sha256()
    base = root if root.is_dir() else root.parent
    for path in sorted(path for path in files if path.exists()):
        name = path.relative_to(base).as_posix() if base in path.parents else path.name
        digest.update(name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def _import(place: Path, files: Sequence[Path]) -> tuple[list[ModuleType], list[str]]:
    """Each file as a module of a package that is the folder, so that they can import each other."""
    folder = place.parent if place.is_file() else place
    root = f"{PARENT}.{_word(folder)}"
    sys.modules.setdefault(PARENT, _package(PARENT, []))
    sys.modules.setdefault(root, _package(root, [str(folder)]))
    modules, problems = [], []
    for path in files:
        try:
            modules.append(_module(".".join((root, *_steps(path, folder))), path))
        except (Exception, SystemExit) as error:
            problems.append(f"{_blamed(error, path)}: {_said(error)}")
    return modules, problems


def _word(place: Path) -> str:
    """A name for a module that no other place has."""
    short = "".join(c if c.isidentifier() or c.isdigit() else "_" for c in place.stem)
    return f"{short}_{hashlib.sha256(str(place).encode()).hexdigest()[:8]}"


def _steps(path: Path, root: Path) -> tuple[str, ...]:
    steps = path.relative_to(root).with_suffix("").parts
    return steps[:-1] if steps[-1] == "__init__" else steps


def _package(name: str, folders: list[str]) -> ModuleType:
    spec = importlib.util.spec_from_loader(name, None, is_package=True)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    module.__path__ = folders
    return module


def _module(name: str, path: Path) -> ModuleType:
    if name in sys.modules and getattr(sys.modules[name], "__file__", None) == str(path):
        # Another file imported it already.
        return sys.modules[name]
    inner = [str(path.parent)] if path.name == "__init__.py" else None
    spec = importlib.util.spec_from_file_location(name, path, submodule_search_locations=inner)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _with_inner(module: ModuleType) -> Iterator[ModuleType]:
    yield module
    for inner, _ in registry.inside(module.__name__) if hasattr(module, "__path__") else ():
        yield from _with_inner(importlib.import_module(f"{module.__name__}.{inner}"))


def _register(place: str, modules: Sequence[ModuleType], problems: Sequence[str]) -> Plugin:
    from deqcheck.theorems.authors import mistakes

    wrong, classes, nameless = list(problems), list[type](), list[str]()
    for cls in (cls for module in modules for cls in registry.defined(module)):
        found = _known(cls)
        if found is None:
            nameless += _nameless(cls)
            continue
        named, name = found
        faults = list(mistakes(cls)) or _clash(named, name, classes)
        wrong += [
            f"{inspect.getsourcefile(cls)}: class {cls.__name__}: {fault}" for fault in faults
        ]
        if not faults:
            classes.append(cls)
    if not classes and not wrong:
        wrong = nameless or [f"{place}: defines no statement, model or other kind"]
    names, files = _source(modules)
    root = files[0].parent if place.startswith(ENTRY_POINT) and files else Path(place)
    plugin = Plugin(place, _sha256(files, root), tuple(classes), names, files, tuple(wrong))
    if classes:
        _LOADED[place] = plugin
        registry.add(classes)
    return plugin.sound()


def _source(modules: Sequence[ModuleType]) -> tuple[tuple[str, ...], tuple[Path, ...]]:
    """The modules with those beside them that they import, and their files."""
    names = [module.__name__ for module in modules]
    roots = {".".join(name.split(".")[:2]) for name in names if name.startswith(f"{PARENT}.")}
    names += [n for n in sys.modules if any(n.startswith(f"{r}.") for r in roots)]
    names = list(dict.fromkeys(names))
    found = (getattr(sys.modules.get(name), "__file__", None) for name in names)
    return tuple(names), tuple(Path(file) for file in found if file)


def _nameless(cls: type) -> list[str]:
    """For a statement without an id, which may be a base of others."""
    from deqcheck.theorems.base import Statement

    if not issubclass(cls, Statement):
        return []
    place = f"{inspect.getsourcefile(cls)}: class {cls.__name__}"
    return [f"{place}: has no id, such as 'doe2031/thm2'"]


def _known(cls: type) -> tuple[registry.Registry[Any], str] | None:
    """The registry that a class belongs to, with its name there; None for a helper."""
    from deqcheck.theorems.base import Statement

    if issubclass(cls, Statement):
        # A base of other statements has no id of its own.
        return (registry.statements(), cls.id) if isinstance(vars(cls).get("id"), str) else None
    for family in FAMILIES:
        if issubclass(cls, family) and isinstance(getattr(cls, "kind", None), str):
            return registry.kinds(family), cls.kind
    return None


def _clash(known: registry.Registry[Any], name: str, classes: Sequence[type]) -> list[str]:
    same = (c for c in classes if getattr(c, known.attribute, None) == name)
    taken = known.get(name) or next((c for c in same if issubclass(c, known.base)), None)
    if known.base is Format and name in registry.modules(known.package):
        return [f"{name!r} is taken: deqcheck itself has such a format"]
    if taken is None:
        return []
    there = inspect.getsourcefile(taken) if where(taken) != "deqcheck" else "deqcheck itself"
    return [f"{name!r} is taken: {taken.__name__} in {there} has it"]


def _blamed(error: BaseException, path: Path) -> str:
    """The line of the user's file, and the class whose body it is in."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}:{error.lineno}"
    import traceback

    frames = [f for f in traceback.extract_tb(error.__traceback__) if Path(f.filename) == path]
    if not frames:
        return str(path)
    body = f": class {frames[-1].name}" if frames[-1].name[:1].isupper() else ""
    return f"{path}:{frames[-1].lineno}{body}"


def _said(error: BaseException) -> str:
    text = error.msg if isinstance(error, SyntaxError) else str(error)
    return " ".join(f"{type(error).__name__}: {text}".split())
