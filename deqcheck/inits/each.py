"""Every parameter in its own way."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from deqcheck.fields import below, inline, join, part, refuse, unknown
from deqcheck.given import Given


@dataclass(frozen=True, eq=False)
class EachInit:
    """One initialisation for each parameter, under the parameter's name."""

    kind: ClassVar[str] = "each"
    parts: Mapping[str, Any] = inline(
        part("deqcheck.inits"), doc="an initialisation for each parameter by its name"
    )

    def given(self, wanted: Iterable[str], known: Collection[str]) -> dict[str, Given]:
        wanted = list(wanted)
        problems = [
            (name, "missing; expected an initialisation for this parameter")
            for name in wanted
            if name not in self.parts
        ]
        problems += [
            (name, unknown("the model has no parameter", name, known))
            for name in self.parts
            if name not in known
        ]
        refuse(problems)
        found: dict[str, Given] = {}
        for name, part_ in self.parts.items():
            with below(name):
                given = part_.given([name], known).get(name)
            if given is not None:
                found[name] = replace(given, key=join(name, given.key))
        return found

    def draw(self, name: str, shape: tuple[int, ...], seed: int) -> np.ndarray:
        drawn: np.ndarray = self.parts[name].draw(name, shape, seed)
        return drawn
