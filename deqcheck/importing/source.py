"""The arrays of a model from files, by the names that they have there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field, replace
from fnmatch import fnmatchcase
from functools import cached_property

import numpy as np

from deqcheck.fields import FilePath, Refusal, Stored, collect, join, refuse, unknown
from deqcheck.frozen import dataclass
from deqcheck.importing import tensors
from deqcheck.importing.formats.csv import Table
from deqcheck.importing.naming import Found, Tensors, columns, found, has, missing
from deqcheck.importing.normalised import whole
from deqcheck.importing.presets import Preset, preset
from deqcheck.importing.specs import Names
from deqcheck.importing.tensor import Unusable

Shapes = Mapping[str, tuple[str, ...]]
# Where a case says all columns that it does not name otherwise.
REST = "*"
BATCH_NORM = ("running_mean", "running_var")
PAGE = "`deqcheck docs models` tells what the theorems cover"


@dataclass(frozen=True, eq=False)
class Source:
    """Files, and what is called what in them."""

    paths: Mapping[str, FilePath]
    names: Names = field(default_factory=lambda: Names(None, {}))
    transpose: tuple[str, ...] = ()
    squeeze: bool = True
    ignore: tuple[str, ...] = ()

    @cached_property
    def _held(self) -> dict[FilePath, Tensors]:
        return {file: whole_or_table(file) for file in set(self.paths.values())}

    def arrays(
        self, wanted: Iterable[str], known: Shapes, model: str, complete: bool = False
    ) -> dict[str, Found]:
        """All the wanted arrays, and those of the known ones that are there. Where a file must be
        `complete`ly read, a bias that nothing takes is refused. Raises Refusal."""
        wanted, problems = list(wanted), list(self._unknown(known))
        layout = None if self.names.preset is None else preset(self.names.preset, model)
        with collect(problems):
            _ = self._held
        refuse(problems)
        made: dict[str, Found] = {}
        for name in known:
            with collect(problems):
                each = self._one(name, name in wanted, known, layout)
                if each is not None:
                    made[name] = self._turned(name, each, len(known[name]))
        if complete and not problems:
            problems += self._left_out(made)
        refuse(problems)
        return made

    def scalar(self, stored: Stored) -> np.ndarray:
        """Raises Refusal with the key "from"."""
        file = self.paths.get("") or next(iter(self.paths.values()))
        try:
            return found(stored.name, self._held[file]).array
        except Unusable as reason:
            raise Refusal("from", f"{file.name}: {reason}") from None

    def unused(self, made: Mapping[str, Found], others: Iterable[str] = ()) -> list[str]:
        """The tensors that no array was made of."""
        used = {name for each in made.values() for name in each.names}
        for each in self._held.values():
            used |= {
                name for other in others if has(other, each) for name in found(other, each).names
            }
        held = {name for each in self._held.values() for name in each}
        return sorted(name for name in held - used if not self._ignored(name))

    def _ignored(self, name: str) -> bool:
        return any(fnmatchcase(name, pattern) for pattern in self.ignore)

    def _unknown(self, known: Shapes) -> Iterator[tuple[str, str]]:
        told = {"map": self.names.arrays, "path": self.paths, "transpose": self.transpose}
        for key, names in told.items():
            for name in names:
                if name and name not in known:
                    place = key if key == "transpose" else join(key, name)
                    yield place, unknown("the model has no array", name, tuple(known))

    def _one(self, name: str, needed: bool, known: Shapes, layout: Preset | None) -> Found | None:
        file = self.paths.get(name) or self.paths.get("")
        if file is None:
            if needed:
                raise Refusal("path", f"missing; expected a file for {name}, or one for all")
            return None
        held, said = self._held[file], self.names.arrays.get(name)
        key = "path" if said is None else join("map", name)
        try:
            if said is not None:
                return self._said(name, said, held, known)
            if layout is not None:
                key = "map"
                return _by_layout(layout.arrays.get(name, ()), held, needed)
            return self._by_itself(name, needed, held, known)
        except Unusable as reason:
            raise Refusal(key, f"{file.name}: {reason}") from None

    def _said(
        self, name: str, said: str | tuple[str, ...] | Stored, held: Tensors, known: Shapes
    ) -> Found:
        if isinstance(said, Stored):
            made = found(said.name, held)
            return replace(made, array=said.of(made.array))
        if isinstance(said, tuple):
            return columns(said, held)
        return self._rest(name, held, known) if said == REST else found(said, held)

    def _by_itself(self, name: str, needed: bool, held: Tensors, known: Shapes) -> Found | None:
        """Under its own name; the only array of a file, and the rest of a table, need none."""
        own = name in self.paths
        if name in held or (needed and has(name, held)):
            return found(name, held)
        if "" in held and (needed or own):
            return found("", held)
        if isinstance(held, Table) and (own or (needed and len(known[name]) == 2)):
            return self._rest(name, held, known)
        if needed:
            raise Unusable(missing(name, held))
        return None

    def _rest(self, name: str, held: Tensors, known: Shapes) -> Found:
        others = {each for each in known if each != name and each not in self.names.arrays}
        for other, said in self.names.arrays.items():
            words = (said,) if isinstance(said, str) else () if isinstance(said, Stored) else said
            others |= set(words) if other != name else set()
        rest = tuple(each for each in held if each not in others and not self._ignored(each))
        if not rest:
            raise Unusable(f"no column is left for {name}")
        return columns(rest, held)

    def _turned(self, name: str, each: Found, axes: int) -> Found:
        array = each.array.T if name in self.transpose else each.array
        if self.squeeze and array.ndim > axes:
            short = tuple(i for i, size in enumerate(array.shape) if size == 1)
            array = array.squeeze(short[: array.ndim - axes])
        return replace(each, array=array)

    def _left_out(self, made: Mapping[str, Found]) -> Iterator[tuple[str, str]]:
        """Without its bias, or with batch norm between its layers, it is another model."""
        used = {name for each in made.values() for name in each.names}
        for name in self.unused(made):
            owner, _, last = name.rpartition(".")
            if last == "bias" and f"{owner}.weight" in used:
                yield (
                    "map",
                    f"{name} stands beside {owner}.weight and would be left out: map it, as "
                    f"b: {name} (or c0: ..., the bias of the read-out), or put it under `ignore`",
                )
            if last in BATCH_NORM:
                yield "map", f"{name}: batch norm is in none of the models; {PAGE}"


def whole_or_table(file: FilePath) -> Tensors:
    held = tensors(file)
    return held if isinstance(held, Table) else whole(held)


def _by_layout(places: tuple[str, ...], held: Tensors, needed: bool) -> Found | None:
    for place in places:
        if has(place, held):
            return found(place, held)
    if needed:
        raise Unusable(missing(places[0], held))
    return None
