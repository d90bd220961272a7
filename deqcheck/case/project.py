"""What the project around a folder says: `[tool.deqcheck]` of the nearest pyproject.toml."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from deqcheck import plugins
from deqcheck.fields import unknown

KEY = "with"


def load_configured(folder: Path | None = None) -> list[str]:
    """Load what the project names, and what installed packages bring. A sentence for each that is
    broken: the others are there all the same."""
    problems: list[str] = []
    try:
        plugins.load_installed()
    except plugins.PluginError as error:
        problems += str(error).splitlines()
    for path in _named(folder or Path.cwd(), problems):
        try:
            plugins.load(path, asked=False)
        except plugins.PluginError as error:
            problems += str(error).splitlines()
    return problems


def _named(folder: Path, problems: list[str]) -> list[Path]:
    for place in (folder, *folder.parents):
        file = place / "pyproject.toml"
        if file.is_file():
            return _paths(file, problems)
    return []


def _paths(file: Path, problems: list[str]) -> list[Path]:
    # Most folders have no such file.
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        with file.open("rb") as stream:
            tool: Any = tomllib.load(stream).get("tool", {})
    except (OSError, tomllib.TOMLDecodeError) as error:
        problems.append(f"{file}: cannot be read: {error}")
        return []
    ours = tool.get("deqcheck", {}) if isinstance(tool, dict) else {}
    named = ours.get(KEY, []) if isinstance(ours, dict) else None
    problems += [
        f"{file}: tool.deqcheck: {unknown('no field', key, [KEY])}" for key in {*ours} - {KEY}
    ]
    if not isinstance(named, list) or not all(isinstance(path, str) for path in named):
        problems.append(
            f'{file}: tool.deqcheck.{KEY}: expected a list of paths, such as ["theorems"]'
        )
        return []
    return [file.parent / path for path in named]
