"""The files of a sweep: tables and maps, by the endings of their names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from deqcheck.cli.errors import Complaint
from deqcheck.cli.output import Destination, save
from deqcheck.records.sweep import Sweep
from deqcheck.report.parts import map_page, map_picture, picture, swept, swept_arrays
from deqcheck.report.parts.mapped import MapError, Shade, chosen

TABLES: dict[str, Callable[[Sweep], bytes | Iterable[str]]] = {
    ".csv": swept.as_csv,
    ".json": swept.as_json,
    ".parquet": swept_arrays.parquet,
    ".nc": swept_arrays.netcdf,
}
PAGE = ".html"
PICTURES = tuple(f".{form}" for form in picture.FORMATS)


@dataclass(frozen=True)
class Drawn:
    """What a map shows."""

    x: str | None
    y: str | None
    colors: tuple[str, ...]
    shown: str


@dataclass(frozen=True)
class SweptFiles:
    """Checked when made, before the long work."""

    table: Path | None
    maps: tuple[Path, ...]
    drawn: Drawn

    def check(self, inputs: Sequence[str], keys: Sequence[str]) -> None:
        """`keys` are those that vary."""
        for path in filter(None, (self.table, *self.maps)):
            Destination(path, inputs=inputs)
        if self.table is not None:
            _check_ending(self.table, tuple(TABLES))
            absent = swept_arrays.missing(self.table.suffix.lower())
            if absent:
                raise Complaint(f"cannot write {self.table}: {absent}")
        for path in self.maps:
            _check_ending(path, (*PICTURES, PAGE))
            if path.suffix.lower() != PAGE and not picture.available():
                raise Complaint(f"deqcheck: {picture.REMEDY}")
        self._check_drawn(keys)

    def _check_drawn(self, keys: Sequence[str]) -> None:
        if not self.maps and (self.drawn.x or self.drawn.y or self.drawn.colors):
            raise Complaint("--x, --y and --color say what --map FILE shows: add it")
        for option, key in (("--x", self.drawn.x), ("--y", self.drawn.y)):
            if key is not None and key not in keys:
                raise Complaint(f"{option} {key}: does not vary; expected one of {', '.join(keys)}")
        try:
            for color in self.drawn.colors:
                Shade.read(color)
        except MapError as error:
            raise Complaint(f"cannot draw the map: {error}") from None

    def write(self, sweep: Sweep) -> None:
        if self.table is not None:
            save(self.table, TABLES[self.table.suffix.lower()](sweep))
        if not self.maps:
            return
        drawn = self.drawn
        try:
            found = chosen(sweep, drawn.x, drawn.y, drawn.colors, drawn.shown)
        except MapError as error:
            raise Complaint(f"cannot draw the map: {error}") from None
        for path in self.maps:
            form = path.suffix.lower()
            if form == PAGE:
                save(path, map_page.page(sweep, found))
            else:
                save(path, map_picture.draw(found, form[1:]))


def _check_ending(path: Path, known: Sequence[str]) -> None:
    if path.suffix.lower() not in known:
        expected = ", ".join(known)
        raise Complaint(f"cannot write {path}: expected a name that ends in one of {expected}")
