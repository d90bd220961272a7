"""Initial parameters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from deqcheck.fields import (
    FilePath,
    Refusal,
    Stored,
    array,
    below,
    choice,
    declare,
    file,
    flag,
    inline,
    join,
    number,
    part,
    refuse,
    unknown,
)
from deqcheck.frozen import dataclass
from deqcheck.given import RUN_ARRAYS, Given, check_npz, from_npz, from_values, load_npz
from deqcheck.importing.naming import LISTED
from deqcheck.importing.presets import preset
from deqcheck.importing.source import Source
from deqcheck.importing.specs import Map, Paths, Words
from deqcheck.kinds import Data, Init, Model, Shapes
from deqcheck.records.law import Law
from deqcheck.seeds import rng


@dataclass(frozen=True)
class ZeroInit(Init):
    """Zeros."""

    kind: ClassVar[str] = "zero"
    scale: float = number(default=1.0, doc="no effect: every initialisation has a scale")

    def draw(self, name: str, shape: tuple[int, ...], seed: int) -> np.ndarray:
        return np.zeros(shape)


@dataclass(frozen=True)
class IdentityInit(Init):
    """Ones on the diagonal, zeros elsewhere; a vector is ones."""

    kind: ClassVar[str] = "identity"
    scale: float = number(default=1.0, doc="what stands in place of the ones")

    def draw(self, name: str, shape: tuple[int, ...], seed: int) -> np.ndarray:
        return self.scale * (np.eye(*shape) if len(shape) == 2 else np.ones(shape))


@dataclass(frozen=True)
class GaussianInit(Init):
    """Independent normal entries."""

    kind: ClassVar[str] = "gaussian"
    scale: float = number(at_least=0, default=1.0, doc="standard deviation of an entry")
    fan: str = choice(
        "none", "in", default="none", doc="in: divide by the root of the last axis' size"
    )

    def draw(self, name: str, shape: tuple[int, ...], seed: int) -> np.ndarray:
        normal = rng(seed, f"init.{name}").standard_normal(shape)
        return self.scale * (normal / np.sqrt(shape[-1]) if self.fan == "in" else normal)

    def law(self, name: str, shape: tuple[int, ...]) -> Law:
        return Law("gaussian", self.scale / (shape[-1] ** 0.5 if self.fan == "in" else 1.0))


@dataclass(frozen=True)
class HalfNormalInit(Init):
    """Absolute values of independent normal entries."""

    kind: ClassVar[str] = "half-normal"
    scale: float = number(at_least=0, default=1.0, doc="standard deviation before the modulus")

    def draw(self, name: str, shape: tuple[int, ...], seed: int) -> np.ndarray:
        return self.scale * np.abs(rng(seed, f"init.{name}").standard_normal(shape))

    def law(self, name: str, shape: tuple[int, ...]) -> Law:
        return Law("half-normal", self.scale)


@dataclass(frozen=True, eq=False)
class ValuesInit(Init):
    """The parameters, under their own names, as lists of numbers."""

    kind: ClassVar[str] = "values"
    scale: float = number(default=1.0, doc="factor on every parameter")
    numbers: Mapping[str, np.ndarray] = inline(array(), doc="each parameter by its name")

    def given(self, wanted: Iterable[str], known: Shapes) -> dict[str, Given]:
        found = from_values(self.numbers, wanted, known)
        return {name: each.scaled(self.scale) for name, each in found.items()}


@dataclass(frozen=True)
class NpzInit(Init):
    """The parameters, under their own names, from an .npz file."""

    kind: ClassVar[str] = "npz"
    path: FilePath = file(doc="an .npz file, relative to the case")
    scale: float = number(default=1.0, doc="factor on every parameter")

    def given(self, wanted: Iterable[str], known: Shapes) -> dict[str, Given]:
        found = from_npz(self.path, wanted, known)
        return {name: each.scaled(self.scale) for name, each in found.items()}


@dataclass(frozen=True, eq=False)
class FileInit(Init):
    """The parameters from a file that was made elsewhere: npz, npy, csv with a header, safetensors,
    or a checkpoint of PyTorch (.pt, .pth), which is read without running anything.

    `map` says what the file calls them (`A: mon.A.weight`, `u: "Wout.weight[3]"`, `W: W.weight.T`,
    `b: W.bias + U.bias`), or names a layout of known code, with exceptions beside it
    (`{preset: torch-linear, a: head.weight}`); a parameter that it does not name has its own name
    there. A bias is `b` (`bias` for implicit-relu), the bias of the read-out is `c0`.
    """

    kind: ClassVar[str] = "file"
    path: Mapping[str, FilePath] = declare(Paths(doc="the file, or one for each parameter"))
    map: Any = declare(Map(default={}, doc="what the file calls the parameters"))
    transpose: tuple[str, ...] = declare(
        Words(default=[], doc="parameters that it holds transposed")
    )
    squeeze: bool = flag(default=True, doc="drop axes of length 1 that are too many")
    ignore: tuple[str, ...] = declare(
        Words(default=[], doc="names in the file, or patterns such as head.*, that are left out")
    )
    scale: float = number(default=1.0, doc="factor on every parameter")
    # Known once the case is built.
    model: Model | None = None
    data: Data | None = None
    only: str = ""

    @property
    def source(self) -> Source:
        return Source(self.path, self.map, self.transpose, self.squeeze, self.ignore)

    def within(self, model: Model, data: Data | None, only: str = "") -> Init:
        return replace(self, model=model, data=data, only=only)

    def given(self, wanted: Iterable[str], known: Shapes) -> dict[str, Given]:
        source, model = self.source, "" if self.model is None else self.model.kind
        known = {self.only: known[self.only]} if self.only else known
        made = source.arrays(wanted, known, model, complete=not self.only)
        called = {name: self.path.get(name) or self.path[""] for name in made}
        told = {name: each.notes for name, each in made.items()}
        left = source.unused(made, self._elsewhere())
        if left and made and not self.only:
            last = next(reversed(made))
            listed = ", ".join(left[:LISTED]) + (", ..." if len(left) > LISTED else "")
            told[last] = (*told[last], f"of {called[last].name} is not used: {listed}")
        return {
            name: Given(self.scale * each.array, "path", f"{called[name].name}: {name}", told[name])
            for name, each in made.items()
        }

    def _elsewhere(self) -> list[str]:
        """What else is read from the file: the data, and numbers of the model."""
        if self.model is None:
            return []
        stored = [value for value in vars(self.model).values() if isinstance(value, Stored)]
        if self.map.preset is not None:
            stored += preset(self.map.preset, self.model.kind).scalars.values()
        said = getattr(self.data, "map", None)
        of_data = () if said is None else said.arrays.values()
        names = [*self.model.data_arrays, *(s for s in of_data if isinstance(s, str))]
        return [*names, *(each.name for each in stored)]

    def scalar(self, name: str, stored: Stored | None) -> tuple[np.ndarray, Stored] | None:
        if stored is None and self.map.preset is not None and self.model is not None:
            layout = preset(self.map.preset, self.model.kind)
            if name in layout.absent:
                why = f"{self.map.preset} does not store it; {layout.absent[name]}"
                raise Refusal("", f"missing; expected a number ({why})")
            stored = layout.scalars.get(name)
        return None if stored is None else (self.source.scalar(stored), stored)


@dataclass(frozen=True)
class ScaledInit(Init):
    """The scaled start of Gao and Gao 2022, Section 5.1, for `implicit-relu`: W as stated,
    A = |W| I and b = 0, all times the smallest beta that (24)-(26) allow; then gamma is
    1/(2 (|A| + 1))."""

    kind: ClassVar[str] = "scaled"
    W: Any = part(Init, doc="an initialisation of W")
    beyond: float = number(at_least=1, default=1.001, doc="factor on the smallest beta")

    def within(self, model: Model, data: Data | None, only: str = "") -> Init:
        return replace(self, W=self.W.within(model, data, "W"))

    def given(self, wanted: Iterable[str], known: Shapes) -> dict[str, Given]:
        with below("W"):
            found: dict[str, Given] = self.W.given(["W"], known) if "W" in wanted else {}
        return {name: replace(each, key=join("W", each.key)) for name, each in found.items()}

    def draw(self, name: str, shape: tuple[int, ...], seed: int) -> np.ndarray:
        drawn: np.ndarray = self.W.draw(name, shape, seed) if name == "W" else np.zeros(shape)
        return drawn

    def settled(
        self, model: Model, data: Mapping[str, np.ndarray], theta: dict[str, np.ndarray]
    ) -> tuple[Model, dict[str, np.ndarray]]:
        make = getattr(model, "scaled_start", None)
        if make is None:
            raise Refusal("kind", f"no scaled start of {model.kind!r} is known")
        found: tuple[Model, dict[str, np.ndarray]] = make(data, theta["W"], self.beyond)
        return found


@dataclass(frozen=True)
class RecordedInit(Init):
    """The first state of a run that was made elsewhere, as `train: {kind: recorded}` reads it."""

    kind: ClassVar[str] = "recorded"
    path: FilePath = file(doc="an .npz file, relative to the case")
    scale: float = number(default=1.0, doc="factor on every parameter")

    def given(self, wanted: Iterable[str], known: Shapes) -> dict[str, Given]:
        wanted = list(wanted)
        headers = check_npz(self.path, wanted, (*known, *RUN_ARRAYS))
        refuse(
            ("path", f"{self.path.name}: {name} has no states; expected one in each row")
            for name in wanted
            if not headers[name].shape or not headers[name].shape[0]
        )
        stored = load_npz(self.path)
        first = {name: stored[name][0].astype(np.float64) for name in wanted}
        return {
            name: Given(self.scale * array, "path", f"{self.path.name}: {name}")
            for name, array in first.items()
        }


@dataclass(frozen=True, eq=False)
class EachInit(Init):
    """One initialisation for each parameter, under the parameter's name."""

    kind: ClassVar[str] = "each"
    parts: Mapping[str, Any] = inline(
        part(Init), doc="an initialisation for each parameter by its name"
    )

    def within(self, model: Model, data: Data | None, only: str = "") -> Init:
        return replace(self, parts={n: p.within(model, data, n) for n, p in self.parts.items()})

    def given(self, wanted: Iterable[str], known: Shapes) -> dict[str, Given]:
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

    def law(self, name: str, shape: tuple[int, ...]) -> Law | None:
        found: Law | None = self.parts[name].law(name, shape)
        return found
