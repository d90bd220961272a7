"""The fields of a kind: what a case may say, and the sentence for whatever else it says.

A kind is a frozen dataclass whose fields are declared with the functions below. Each leaves a
`Spec` behind, which checks a value read from YAML, writes it back as plain JSON, and carries
what the documentation needs. All fields are keyword-only.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from deqcheck.fields.record import (
    Free,
    Inline,
    Part,
    Section,
    plain_record,
    read_each,
    read_record,
    specs,
)
from deqcheck.fields.refusal import (
    Refusal,
    below,
    collect,
    did_you_mean,
    join,
    one_of,
    refuse,
    show,
    unknown,
)
from deqcheck.fields.spec import (
    REQUIRED,
    Array,
    Choice,
    File,
    FilePath,
    Flag,
    Integer,
    Number,
    Spec,
    Text,
)
from deqcheck.fields.stored import Stored, StoredNumber, read_stored
from deqcheck.kinds import Kind

__all__ = [
    "REQUIRED",
    "Array",
    "Choice",
    "File",
    "FilePath",
    "Flag",
    "Free",
    "Inline",
    "Integer",
    "Number",
    "Part",
    "Refusal",
    "Section",
    "Spec",
    "Stored",
    "StoredNumber",
    "Text",
    "array",
    "below",
    "choice",
    "collect",
    "declare",
    "did_you_mean",
    "file",
    "flag",
    "inline",
    "integer",
    "join",
    "mapping",
    "number",
    "one_of",
    "part",
    "plain_record",
    "read_each",
    "read_record",
    "read_stored",
    "refuse",
    "section",
    "show",
    "specs",
    "text",
    "unknown",
]


def declare(spec: Spec) -> Any:
    """A dataclass field that carries its spec."""
    metadata = {"spec": spec}
    if spec.default is REQUIRED:
        return dataclasses.field(kw_only=True, metadata=metadata)
    # Read when an instance is made: the default of a part is a word, its class may not exist yet.
    return dataclasses.field(
        kw_only=True,
        metadata=metadata,
        default_factory=lambda: None if spec.default is None else spec.read(spec.default, Path()),
    )


def number(
    *,
    above: float | None = None,
    below: float | None = None,
    at_least: float | None = None,
    at_most: float | None = None,
    default: Any = REQUIRED,
    doc: str = "",
    infinite: bool = False,
    stored: bool = False,
) -> Any:
    """A float; `infinite` allows inf, `stored` that a file of the initialisation holds it."""
    spec = (StoredNumber if stored else Number)(
        above=above,
        below=below,
        at_least=at_least,
        at_most=at_most,
        default=default,
        doc=doc,
        infinite=infinite,
    )
    return declare(spec)


def integer(
    *,
    at_least: int | None = None,
    at_most: int | None = None,
    default: Any = REQUIRED,
    doc: str = "",
) -> Any:
    return declare(Integer(at_least=at_least, at_most=at_most, default=default, doc=doc))


def choice(*options: str, default: Any = REQUIRED, doc: str = "") -> Any:
    """One word of several."""
    return declare(Choice(options=options, default=default, doc=doc))


def text(default: Any = REQUIRED, doc: str = "") -> Any:
    return declare(Text(default=default, doc=doc))


def flag(default: Any = REQUIRED, doc: str = "") -> Any:
    """true or false."""
    return declare(Flag(default=default, doc=doc))


def file(doc: str = "", default: Any = REQUIRED) -> Any:
    """A file beside the case; the value is a FilePath."""
    return declare(File(default=default, doc=doc))


def array(doc: str = "", default: Any = REQUIRED) -> Any:
    """Numbers written in the case itself; the value is a float64 array."""
    return declare(Array(default=default, doc=doc))


def part(family: type[Kind], doc: str = "", default: Any = REQUIRED) -> Any:
    """A kind of another family."""
    return declare(Part(family=family, default=default, doc=doc))


def section(record: type, doc: str = "", default: Any = REQUIRED) -> Any:
    """A mapping with the fields of another dataclass of fields."""
    return declare(Section(record=record, default=default, doc=doc))


def mapping(inner: Any, doc: str = "", default: Any = REQUIRED) -> Any:
    """A mapping with free keys; `inner` is the field that each value is read as."""
    return declare(Free(inner=inner.metadata["spec"], default=default, doc=doc))


def inline(inner: Any, doc: str = "") -> Any:
    """Free keys that stand beside the kind's other fields; at most one such field in a kind."""
    return declare(Inline(inner=inner.metadata["spec"], default={}, doc=doc))
