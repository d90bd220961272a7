"""A certificate, checked: by the verifier alone, and against the catalogue."""

from __future__ import annotations

import inspect
import pprint
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from deqcheck import verifier
from deqcheck.certificates.compare import Incomparable, departures
from deqcheck.judging import catalogue as _catalogue
from deqcheck.theorems.base import Check

CHECKED, UNCHECKED, FAILS = verifier.CHECKED, verifier.UNCHECKED, verifier.FAILS


class Line(NamedTuple):
    """What became of one claim, or of the outcome of a statement."""

    statement: str
    edition: str
    claim: str
    word: str
    reason: str


class NoCertificate(ValueError):
    """It cannot be read: why."""


@dataclass(frozen=True, repr=False)
class Verification:
    """What is left of a certificate when it is checked."""

    digest: str
    lines: tuple[Line, ...]
    # Why the claims were not compared with the catalogue; empty where they were.
    alone: str = ""

    def __repr__(self) -> str:
        counted = (f"{self.count(word)} {word}" for word in (CHECKED, UNCHECKED, FAILS))
        return f"<Verification {self.digest[:12]}: {', '.join(counted)}>"

    def count(self, word: str) -> int:
        return sum(line.word == word for line in self.lines)

    @property
    def exit_code(self) -> int:
        """1 if something fails, 3 if nothing could be re-checked, else 0."""
        return verifier.exit_code([line.word for line in self.lines])

    @property
    def ok(self) -> bool:
        return self.exit_code == 0

    def to_dict(self) -> dict[str, Any]:
        lines = [line._asdict() for line in self.lines]
        return {
            "schema": "deqcheck-verification/1",
            "sha256": self.digest,
            "compared_with_the_catalogue": not self.alone,
            "not_compared_because": self.alone,
            "counts": {word: self.count(word) for word in (CHECKED, UNCHECKED, FAILS)},
            "lines": lines,
        }


def verify(source: str | Path | Mapping[str, Any], alone: bool = False) -> Verification:
    """The certificate in a file, or as it was read from one. `alone`: only what the verifier does
    without deqcheck. Raises NoCertificate."""
    certificate = _read(source)
    try:
        found = [Line(*row) for row in verifier.verify(certificate)]
        if alone:
            return Verification(certificate["sha256"], tuple(found), "asked not to")
        if found and found[0].claim == "sha256":
            return Verification(certificate["sha256"], tuple(found), "the digest is wrong")
        return _compared(certificate, found)
    except ValueError as error:
        raise NoCertificate(str(error)) from None


def _compared(certificate: Mapping[str, Any], found: list[Line]) -> Verification:
    """What the catalogue says otherwise fails; what it cannot be asked about is not re-checked."""
    digest = certificate["sha256"]
    try:
        otherwise = list(departures(certificate["body"]))
    except Incomparable as stop:
        told = f"not compared with the catalogue: {stop}"
        lines = [e if e.word == FAILS else e._replace(word=UNCHECKED, reason=told) for e in found]
        return Verification(digest, tuple(lines), str(stop))
    except verifier.Wrong as wrong:
        return Verification(digest, (*found, Line("", "", "instance", FAILS, str(wrong))))
    except (KeyError, TypeError, AttributeError, IndexError) as error:
        raise NoCertificate(f"not a certificate: {type(error).__name__}: {error}") from None
    extra = [Line(id_, edition, claim, FAILS, what) for id_, edition, claim, what in otherwise]
    return Verification(digest, (*found, *extra))


def _read(source: str | Path | Mapping[str, Any]) -> Mapping[str, Any]:
    if isinstance(source, Mapping):
        return source
    try:
        with open(source, encoding="utf-8") as stream:
            found: Mapping[str, Any] = verifier.read(stream)
    except OSError as error:
        raise NoCertificate(error.strerror or "cannot be read") from None
    except (ValueError, RecursionError) as error:
        raise NoCertificate(f"not JSON: {error}") from None
    return found


def table(found: Verification, quiet: bool = False) -> str:
    """In words: what fails first, then what is not re-checked, then the rest; quiet, the counts."""
    lines = []
    if not quiet:
        order = (FAILS, UNCHECKED, CHECKED)
        for line in sorted(found.lines, key=lambda each: order.index(each.word)):
            where = f"{line.statement} ({line.edition})" if line.statement else "the certificate"
            claim = f": {line.claim}" if line.claim else ""
            reason = f" [{line.reason}]" if line.reason else ""
            lines.append(f"{line.word:14}  {where}{claim}{reason}")
    if found.alone:
        lines.append(f"Not compared with the catalogue: {found.alone}.")
    counts = ", ".join(f"{found.count(word)} {word}" for word in (CHECKED, UNCHECKED, FAILS))
    return "\n".join([*lines, f"sha256 {found.digest}: {counts}"]) + "\n"


def formulas() -> dict[str, dict[str, list[str]]]:
    """By statement and check; those of checks that statements share stand under the empty name."""
    owners: dict[str, Iterable[Check]] = {id_: s.checks() for id_, s in _catalogue().items()}
    table: dict[str, dict[str, list[str]]] = {}
    for id_, checks in {**owners, "": _shared()}.items():
        for check in checks:
            own = table.setdefault(id_, {}).setdefault(check.name, [])
            own += [check.formula.text] if check.formula.text not in own else []
    return table


def _shared() -> Iterator[Check]:
    """The checks in modules of theorems, alone or in rows."""
    for name, module in sorted(sys.modules.items()):
        if name.startswith("deqcheck.theorems"):
            for value in vars(module).values():
                yield from _checks_in(value)


def _checks_in(value: Any) -> Iterator[Check]:
    if isinstance(value, Check):
        yield value
    elif isinstance(value, tuple | list):
        for each in value:
            yield from _checks_in(each)
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from _checks_in(each)


def source() -> str:
    """The verifier as a file of its own, which knows the formulas of the catalogue."""
    text = inspect.getsource(verifier)
    table = formulas()
    # Behind the code, which is what is read.
    code, start, last = text.partition('if __name__ == "__main__":')
    return f"{code}CATALOGUE.update(\n{pprint.pformat(table, width=99)}\n)\n\n{start}{last}"
