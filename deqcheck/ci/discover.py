"""Which cases there are below some paths."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from deqcheck.ci.records import GateError, NoCase

SUFFIXES = (".yaml", ".yml")
# At the beginning of a line: an indented key belongs to something else.
_CASE = re.compile(rb"^(\xef\xbb\xbf)?(\{\s*)?['\"]?deqcheck['\"]?\s*:", re.MULTILINE)
# A case is no larger (see deqcheck.case.read); what is after that need not be looked at.
_LOOKED_AT = 1 << 20


class FoundCase(NamedTuple):
    """A case file, and what results call it: its path below the folder that holds all paths."""

    id: str
    path: Path


class Discovery(NamedTuple):
    cases: list[FoundCase]
    # YAML files that do not claim to be cases.
    skipped: list[str]


def discover(paths: Iterable[str | Path], every: bool = False) -> Discovery:
    """All cases, sorted by id; with `every`, each YAML file must be one. Raises GateError, and
    NoCase where there is none.

    A file that is named is a case; below a folder, a YAML file with a key `deqcheck`. Hidden
    folders are left out and links to folders are not followed.
    """
    places = [Path(path) for path in paths]
    root = _root(places)
    cases: dict[str, FoundCase] = {}
    skipped: set[str] = set()
    for place in places:
        for path in _below(place):
            if every or os.path.isfile(place) or is_case(path):
                cases.setdefault(os.path.realpath(path), FoundCase(_name(path, root), path))
            else:
                skipped.add(path.as_posix())
    _refuse_twins(cases.values())
    if not cases:
        where = " ".join(map(str, places))
        raise NoCase(f"deqcheck: no case found below {where}")
    return Discovery(sorted(cases.values()), sorted(skipped))


def is_case(path: Path) -> bool:
    """Whether a file has the key that every case begins with; an unreadable one counts as one."""
    try:
        with path.open("rb") as stream:
            return bool(_CASE.search(stream.read(_LOOKED_AT)))
    except OSError:
        return True


def _root(places: Iterable[Path]) -> str:
    """The deepest folder that holds all of them."""
    folders = (os.path.dirname(p) if os.path.isfile(p) else p for p in map(os.path.abspath, places))
    return os.path.commonpath(list(folders))


def _below(path: Path) -> Iterator[Path]:
    # Not Path.is_file: it raises for a name that is too long.
    if os.path.isfile(path):
        yield path
        return
    if not os.path.isdir(path):
        what = "not a file or folder" if os.path.exists(path) else "no such file or folder"
        raise GateError(f"{path}: {what}")
    for folder, folders, files in os.walk(path, onerror=_refuse):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(files):
            file = Path(folder, name)
            if file.suffix in SUFFIXES and not name.startswith(".") and file.is_file():
                yield file


def _refuse(error: OSError) -> None:
    """A folder that cannot be looked into may hold cases."""
    raise GateError(f"{error.filename}: cannot be read: {error.strerror}")


def _name(path: Path, root: str) -> str:
    name = Path(os.path.relpath(path, root)).with_suffix("").as_posix()
    return name.encode("utf-8", "replace").decode()


def _refuse_twins(cases: Iterable[FoundCase]) -> None:
    by_name: dict[str, list[Path]] = {}
    for case in cases:
        by_name.setdefault(case.id, []).append(case.path)
    sentences = [
        f"deqcheck: {' and '.join(map(str, twins))} are both called {name!r}: rename one"
        for name, twins in sorted(by_name.items())
        if len(twins) > 1
    ]
    if sentences:
        raise GateError("\n".join(sentences))
