"""What a file of the initialisation holds, perhaps before a map: softplus(m_raw) + 1e-4."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from deqcheck.fields.refusal import Refusal, collect, refuse, unknown
from deqcheck.fields.spec import Choice, Number, Spec, Text
from deqcheck.frozen import dataclass

MAPS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "identity": lambda x: x,
    "softplus": lambda x: np.logaddexp(0.0, x),
    "exp": np.exp,
    "sigmoid": lambda x: np.exp(-np.logaddexp(0.0, -x)),
    "tanh": np.tanh,
    "square": np.square,
    "abs": np.abs,
}
# `from` is no name for an attribute.
_SPECS: dict[str, Spec] = {
    "from": Text(),
    "map": Choice(options=tuple(MAPS)),
    "times": Number(),
    "plus": Number(),
}


@dataclass(frozen=True)
class Stored:
    """times map(x) + plus, entry by entry, of the array x of this name."""

    name: str
    map: str = "identity"
    times: float = 1.0
    plus: float = 0.0

    def of(self, array: np.ndarray) -> np.ndarray:
        with np.errstate(all="ignore"):
            mapped = MAPS[self.map](array)
            return self.times * mapped + self.plus if (self.times, self.plus) != (1, 0) else mapped

    def plain(self) -> dict[str, Any]:
        return {"from": self.name, "map": self.map, "times": self.times, "plus": self.plus}


def read_stored(value: Mapping[str, Any], folder: Path) -> Stored:
    """`{from: NAME, map: softplus, times: 1, plus: 1e-4}`. Raises Refusal."""
    problems: list[tuple[str, str]] = []
    if "from" not in value:
        problems.append(("from", "missing; expected the name of an array in the file"))
    found: dict[str, Any] = {}
    for key, item in value.items():
        if key not in _SPECS:
            problems.append((key, unknown("this mapping has no field", key, tuple(_SPECS))))
            continue
        with collect(problems, key):
            found["name" if key == "from" else key] = _SPECS[key].read(item, folder)
    refuse(problems)
    return Stored(**found)


@dataclass(frozen=True, kw_only=True)
class StoredNumber(Number):
    """A number, or where the file of the initialisation holds it."""

    def read(self, value: Any, folder: Path) -> Any:
        if isinstance(value, dict):
            return read_stored(value, folder)
        return super().read(value, folder)

    def plain(self, value: Any) -> Any:
        return value.plain() if isinstance(value, Stored) else super().plain(value)

    def taken(self, array: np.ndarray, stored: Stored) -> float:
        """The number that was found. Raises Refusal."""
        if array.size != 1:
            shape = " x ".join(map(str, array.shape))
            raise Refusal("", f"{stored.name} is {shape}; expected one number")
        return super().read(float(stored.of(array).reshape(())), Path())
