"""Specs of mappings, and reading the dataclasses that they fill."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from deqcheck import registry
from deqcheck.fields.refusal import (
    Refusal,
    below,
    collect,
    nearest,
    one_of,
    refuse,
    show,
    unknown,
)
from deqcheck.fields.spec import REQUIRED, Spec
from deqcheck.frozen import dataclass
from deqcheck.kinds import Kind


@dataclass(frozen=True, kw_only=True)
class Part(Spec):
    """A kind of a family. A bare word stands for a kind with nothing else to say."""

    family: type[Kind]

    @property
    def expected(self) -> str:
        return f"a mapping whose 'kind' is {one_of(registry.kinds(self.family))}"

    def read(self, value: Any, folder: Path) -> Any:
        if isinstance(value, str):
            return read_record(self._class(value), {}, folder, show(value))
        if not isinstance(value, dict):
            raise self.wrong(value)
        if "kind" not in value:
            options = one_of(registry.kinds(self.family))
            raise Refusal("kind", f"missing; expected {options}")
        with below("kind"):
            cls = self._class(value["kind"])
        fields = {name: item for name, item in value.items() if name != "kind"}
        return read_record(cls, fields, folder, show(value["kind"]))

    def plain(self, value: Any) -> dict[str, Any]:
        return {"kind": value.kind, **plain_record(value)}

    def _class(self, kind: Any) -> type:
        kinds = registry.kinds(self.family)
        if not isinstance(kind, str):
            raise Refusal("", f"expected {one_of(kinds)}; found {show(kind)}")
        if kind not in kinds:
            told = self.family.elsewhere.get(kind.casefold().replace("_", "-"))
            sentence = f"unknown kind {show(kind)}: {told}" if told else None
            raise Refusal("", sentence or unknown("unknown kind", kind, kinds))
        return kinds[kind]


@dataclass(frozen=True, kw_only=True)
class Section(Spec):
    """A mapping with the fields of a dataclass, without a choice of kinds."""

    record: type

    @property
    def expected(self) -> str:
        return f"a mapping with {', '.join(specs(self.record))}"

    def read(self, value: Any, folder: Path) -> Any:
        if not isinstance(value, dict):
            raise self.wrong(value)
        return read_record(self.record, value, folder, "this mapping")

    def plain(self, value: Any) -> dict[str, Any]:
        return plain_record(value)


@dataclass(frozen=True, kw_only=True)
class Free(Spec):
    """A mapping with keys of the user's choosing, all of one sort."""

    inner: Spec

    @property
    def expected(self) -> str:
        return f"a mapping with {self.inner.expected} for each name"

    def read(self, value: Any, folder: Path) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise self.wrong(value)
        return read_each(((key, self.inner, item) for key, item in value.items()), folder)

    def plain(self, value: Mapping[str, Any]) -> dict[str, Any]:
        return {key: self.inner.plain(item) for key, item in value.items()}


@dataclass(frozen=True, kw_only=True)
class Inline(Free):
    """Free keys that stand beside the other fields of their kind."""


def specs(cls: type) -> dict[str, Spec]:
    """The fields of a kind as a case spells them."""
    return {spelt(field.name): field.metadata["spec"] for field in _declared(cls)}


def spelt(attribute: str) -> str:
    """How a case spells an attribute: Python needs `lambda_` where a case says `lambda`."""
    return attribute.rstrip("_")


def read_each(items: Iterable[tuple[str, Spec, Any]], folder: Path) -> dict[str, Any]:
    """Read every (key, spec, value), then refuse all that is wrong at once."""
    values: dict[str, Any] = {}
    problems: list[tuple[str, str]] = []
    for key, spec, value in items:
        optional = value is None and spec.default is None
        with collect(problems, key):
            values[key] = None if optional else spec.read(value, folder)
    refuse(problems)
    return values


def read_record(cls: type, tree: Mapping[str, Any], folder: Path, owner: str) -> Any:
    """An instance of a dataclass of fields, or a Refusal with everything that is wrong.

    `owner` is what sentences call it, as in `'delm' has no field 'gama'`.
    """
    fields = specs(cls)
    inline = next((name for name, spec in fields.items() if isinstance(spec, Inline)), None)
    named = {name: spec for name, spec in fields.items() if name != inline}
    others = {name: item for name, item in tree.items() if name not in named}
    # A misspelt key is one mistake: that the right one is missing needs no saying.
    meant = set() if inline else {nearest(name, named) for name in others}
    problems = [
        (name, f"missing; expected {spec.expected}")
        for name, spec in named.items()
        if spec.default is REQUIRED and name not in tree and name not in meant
    ]
    values: dict[str, Any] = {}
    with collect(problems):
        values |= read_each(((n, named[n], item) for n, item in tree.items() if n in named), folder)
    if inline is not None:
        with collect(problems):
            values[inline] = fields[inline].read(others, folder)
    else:
        problems += [(name, unknown(f"{owner} has no field", name, named)) for name in others]
    refuse(problems)
    attributes = {spelt(field.name): field.name for field in _declared(cls)}
    record = cls(**{attributes[name]: value for name, value in values.items()})
    refuse(record.check() if hasattr(record, "check") else ())
    return record


def plain_record(record: Any) -> dict[str, Any]:
    """The fields of an instance, defaults included, as JSON can hold them."""
    plain: dict[str, Any] = {}
    for field in _declared(type(record)):
        spec, value = field.metadata["spec"], getattr(record, field.name)
        written: Any = None if value is None else spec.plain(value)
        plain |= written if isinstance(spec, Inline) else {spelt(field.name): written}
    return plain


def _declared(cls: type) -> list[dataclasses.Field[Any]]:
    return [field for field in dataclasses.fields(cls) if "spec" in field.metadata]
