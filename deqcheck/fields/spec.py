"""Specs of single values: numbers, words, files, arrays."""

from __future__ import annotations

import hashlib
import math
from pathlib import Path
from typing import Any

import numpy as np

from deqcheck.fields.refusal import Refusal, did_you_mean, one_of, show
from deqcheck.frozen import dataclass


class _Required:
    def __repr__(self) -> str:
        return "required"


REQUIRED = _Required()


@dataclass(frozen=True, kw_only=True)
class Spec:
    """One field: how to read it, how to write it back, and what to say about it."""

    doc: str = ""
    default: Any = REQUIRED

    @property
    def expected(self) -> str:
        """What may stand here, as in `expected a number > 0`."""
        raise NotImplementedError

    def read(self, value: Any, folder: Path) -> Any:
        """The checked value; paths are relative to `folder`. Raises Refusal."""
        raise NotImplementedError

    def plain(self, value: Any) -> Any:
        """A checked value as JSON can hold it."""
        return value

    def wrong(self, value: Any) -> Refusal:
        return Refusal("", f"expected {self.expected}; found {show(value)}")


@dataclass(frozen=True, kw_only=True)
class _Ranged(Spec):
    above: float | None = None
    below: float | None = None
    at_least: float | None = None
    at_most: float | None = None

    @property
    def bounds(self) -> str:
        limits = {">": self.above, ">=": self.at_least, "<": self.below, "<=": self.at_most}
        return " and ".join(
            f"{sign} {limit}" for sign, limit in limits.items() if limit is not None
        )

    def within(self, value: float) -> bool:
        return (
            (self.above is None or value > self.above)
            and (self.at_least is None or value >= self.at_least)
            and (self.below is None or value < self.below)
            and (self.at_most is None or value <= self.at_most)
        )

    def in_range(self, value: Any) -> Any:
        if not self.within(value):
            raise Refusal("", f"{show(value)} is out of range; expected {self.expected}")
        return value


@dataclass(frozen=True, kw_only=True)
class Number(_Ranged):
    infinite: bool = False

    @property
    def expected(self) -> str:
        return f"a number {self.bounds}".rstrip() + (" or inf" if self.infinite else "")

    def read(self, value: Any, folder: Path) -> float:
        if isinstance(value, bool) or not isinstance(value, (int, float)) or math.isnan(value):
            raise self.wrong(value)
        if math.isinf(value) and not self.infinite:
            raise Refusal("", f"{value} is not finite; expected {self.expected}")
        # Refuse in the user's spelling: 0, not 0.0.
        return float(self.in_range(value))

    def plain(self, value: float) -> float | str:
        return str(value) if math.isinf(value) else value


@dataclass(frozen=True, kw_only=True)
class Integer(_Ranged):
    @property
    def expected(self) -> str:
        return f"an integer {self.bounds}".rstrip()

    def read(self, value: Any, folder: Path) -> int:
        if isinstance(value, bool) or not isinstance(value, int):
            raise self.wrong(value)
        return int(self.in_range(value))


@dataclass(frozen=True, kw_only=True)
class Choice(Spec):
    options: tuple[str, ...]

    @property
    def expected(self) -> str:
        return one_of(self.options)

    def read(self, value: Any, folder: Path) -> str:
        if not isinstance(value, str):
            raise self.wrong(value)
        if value not in self.options:
            hint = did_you_mean(value, self.options)
            raise Refusal("", f"expected {self.expected}; found {show(value)}{hint}")
        return value


@dataclass(frozen=True, kw_only=True)
class Text(Spec):
    @property
    def expected(self) -> str:
        return "text"

    def read(self, value: Any, folder: Path) -> str:
        if not isinstance(value, str):
            raise self.wrong(value)
        return value


@dataclass(frozen=True, kw_only=True)
class Flag(Spec):
    @property
    def expected(self) -> str:
        return "true or false"

    def read(self, value: Any, folder: Path) -> bool:
        if not isinstance(value, bool):
            raise self.wrong(value)
        return value


@dataclass(frozen=True)
class FilePath:
    """A file that a case names: where it is, how the case wrote it, and its content's sha256."""

    path: Path
    written: str
    sha256: str

    def __fspath__(self) -> str:
        return str(self.path)

    @property
    def name(self) -> str:
        return self.path.name


@dataclass(frozen=True, kw_only=True)
class File(Spec):
    @property
    def expected(self) -> str:
        return "the path of a file, relative to the case"

    def read(self, value: Any, folder: Path) -> FilePath:
        if not isinstance(value, str) or not value:
            raise self.wrong(value)
        # Whole: its end is what tells it from others.
        path, named = folder.absolute() / value, repr(value) if len(value) < 1000 else show(value)
        try:
            if path.is_dir():
                raise Refusal("", f"{named} is a directory; expected {self.expected}")
            if not path.exists():
                raise Refusal("", f"no such file: {named}")
            # Reading a pipe or a device might never end.
            if not path.is_file():
                raise Refusal("", f"{named} is not a plain file")
            digest = hashlib.sha256()
            with path.open("rb") as stream:
                while block := stream.read(1 << 20):
                    digest.update(block)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or "not a usable path"
            raise Refusal("", f"cannot read {named}: {reason}") from None
        return FilePath(path, value, digest.hexdigest())

    def plain(self, value: FilePath) -> dict[str, str]:
        # An absolute path would make the digest of a case depend on the machine.
        path = value.name if Path(value.written).is_absolute() else value.written
        return {"path": path, "sha256": value.sha256}


@dataclass(frozen=True, kw_only=True)
class Array(Spec):
    @property
    def expected(self) -> str:
        return "a list of numbers or of equally long lists of numbers"

    def read(self, value: Any, folder: Path) -> np.ndarray:
        if isinstance(value, np.ndarray):
            if value.dtype.kind not in "iuf":
                raise Refusal("", f"has dtype {value.dtype}; expected real numbers")
        elif isinstance(value, list):
            self._shape(value)
        else:
            raise self.wrong(value)
        array = np.array(value, dtype=np.float64)
        if not np.isfinite(array).all():
            raise Refusal("", "holds inf or nan; expected finite numbers")
        return array

    def plain(self, value: np.ndarray) -> Any:
        return value.tolist()

    def _shape(self, value: Any) -> tuple[int, ...]:
        if isinstance(value, list):
            shapes = [self._shape(item) for item in value]
            if any(shape != shapes[0] for shape in shapes):
                raise Refusal("", f"rows of different length; expected {self.expected}")
            return (len(value), *shapes[0]) if shapes else (0,)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise Refusal("", f"holds {show(value)}; expected {self.expected}")
        return ()
