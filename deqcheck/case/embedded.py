"""The cases that come with deqcheck, and cases by their name."""

from __future__ import annotations

import os
from pathlib import Path, PurePosixPath

from deqcheck.case.errors import CaseError, CaseProblem
from deqcheck.case.read import Case, read_cases, read_texts, text_of
from deqcheck.case.source import Changes
from deqcheck.case.yaml_reader import read_title
from deqcheck.fields import did_you_mean

QUICKSTART = "quickstart"
# A folder of cases that take minutes, or need files which do not come along.
SLOW = "slow"


def folder() -> Path:
    """`deqcheck/cases` where deqcheck is installed, `cases` beside it in a source checkout."""
    package = Path(__file__).parents[1]
    installed = package / "cases"
    return installed if installed.is_dir() else package.parent / "cases"


def names() -> list[str]:
    """Such as `kawaguchi2021/equality`."""
    root = folder()
    return sorted(p.relative_to(root).with_suffix("").as_posix() for p in root.rglob("*.yaml"))


def slow(name: str) -> bool:
    return SLOW in name.split("/")


def find(name: str) -> Path | None:
    """The file of a name, written as `names` writes it."""
    plain = PurePosixPath(name.removesuffix(".yaml"))
    if plain.is_absolute() or ".." in plain.parts or str(plain) != name.removesuffix(".yaml"):
        return None
    file = folder() / f"{plain}.yaml"
    # Not Path.is_file: it raises for a name that is too long.
    return file if os.path.isfile(file) else None


def titles() -> dict[str, str]:
    """Of every embedded case."""
    root = folder()
    return {n: read_title((root / f"{n}.yaml").read_text(encoding="utf-8")) for n in names()}


def cases() -> dict[str, Case]:
    """Every embedded case but the slow ones, read and checked; of a sweep, its first."""
    wanted = (name for name in names() if not slow(name))
    return {name: read_cases(folder() / f"{name}.yaml")[0] for name in wanted}


def read_named(word: str | os.PathLike[str], changes: Changes | None = None) -> list[Case]:
    """Every case of a file, or else of the embedded case of that name. Raises CaseError."""
    settings, seed = changes or Changes()
    text, folder = find_text(word)
    return read_texts(text, os.fspath(word), folder, settings, seed)


def find_text(word: str | os.PathLike[str]) -> tuple[str, Path]:
    """The text of a case, and the folder that its paths start from. Raises CaseError."""
    name = os.fspath(word)
    # Not Path.exists: it raises for a name that is too long.
    if os.path.exists(name):
        return text_of(name), Path(name).parent
    found = find(name)
    if found is None:
        hint = did_you_mean(name, names(), "; `deqcheck cases` lists them")
        sentence = f"neither a file nor an embedded case{hint}"
        raise CaseError([CaseProblem(name, None, "", sentence)])
    return found.read_text(encoding="utf-8"), found.parent
