"""The fields of `kind: file`: where the file is, and what is called what in it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from deqcheck.fields import (
    File,
    FilePath,
    Refusal,
    Spec,
    Stored,
    read_each,
    read_stored,
    refuse,
    show,
    unknown,
)
from deqcheck.frozen import dataclass
from deqcheck.importing.presets import PRESETS

PRESET = "preset"
_FILE = File()


@dataclass(frozen=True, kw_only=True)
class Paths(Spec):
    """A file for all arrays, under the name "", or one for each."""

    @property
    def expected(self) -> str:
        return "the path of a file, relative to the case, or one for each array"

    def read(self, value: Any, folder: Path) -> dict[str, FilePath]:
        if isinstance(value, str):
            return {"": _FILE.read(value, folder)}
        if not isinstance(value, dict) or not value:
            raise self.wrong(value)
        return read_each(((name, _FILE, item) for name, item in value.items()), folder)

    def plain(self, value: dict[str, FilePath]) -> Any:
        written = {name: _FILE.plain(file) for name, file in value.items()}
        return written.get("", written)


@dataclass(frozen=True)
class Names:
    """What a file calls the arrays of a model: where it says so, and by a layout of known code."""

    preset: str | None
    # A name, columns by name, or an array before a map.
    arrays: dict[str, str | tuple[str, ...] | Stored]


@dataclass(frozen=True, kw_only=True)
class Map(Spec):
    @property
    def expected(self) -> str:
        return f"a name for each array, or a layout ({', '.join(PRESETS)})"

    def read(self, value: Any, folder: Path) -> Names:
        if isinstance(value, str):
            return Names(self._preset(value), {})
        if not isinstance(value, dict):
            raise self.wrong(value)
        chosen = None
        if PRESET in value:
            chosen = self._preset(value[PRESET], PRESET)
        others = ((name, _NAME, item) for name, item in value.items() if name != PRESET)
        return Names(chosen, read_each(others, folder))

    def _preset(self, value: Any, key: str = "") -> str:
        if not isinstance(value, str) or value not in PRESETS:
            raise Refusal(key, unknown("no layout is called", value, tuple(PRESETS)))
        return value

    def plain(self, value: Names) -> dict[str, Any]:
        arrays = {name: _NAME.plain(item) for name, item in value.arrays.items()}
        return arrays if value.preset is None else {PRESET: value.preset, **arrays}


@dataclass(frozen=True, kw_only=True)
class _Name(Spec):
    @property
    def expected(self) -> str:
        return "a name in the file such as out.weight[3], or a list of columns"

    def read(self, value: Any, folder: Path) -> str | tuple[str, ...] | Stored:
        if isinstance(value, dict):
            return read_stored(value, folder)
        words = value if isinstance(value, list) else [value]
        if not words or not all(isinstance(word, str) and word for word in words):
            raise self.wrong(value)
        return tuple(words) if isinstance(value, list) else str(value)

    def plain(self, value: Any) -> Any:
        if isinstance(value, Stored):
            return value.plain()
        return list(value) if isinstance(value, tuple) else value


_NAME = _Name()


@dataclass(frozen=True, kw_only=True)
class Words(Spec):
    """A list of names."""

    @property
    def expected(self) -> str:
        return "a list of names"

    def read(self, value: Any, folder: Path) -> tuple[str, ...]:
        if not isinstance(value, list):
            raise self.wrong(value)
        refuse(
            (f"[{i}]", f"expected a name; found {show(word)}")
            for i, word in enumerate(value)
            if not isinstance(word, str)
        )
        return tuple(value)

    def plain(self, value: tuple[str, ...]) -> list[str]:
        return list(value)
