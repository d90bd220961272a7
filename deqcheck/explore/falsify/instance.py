"""An instance of a statement's setting, as numbers that can be changed one by one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from deqcheck.dynamics import read_train
from deqcheck.fields import Refusal
from deqcheck.fields.record import read_record
from deqcheck.kinds import Kind, Loss, Model
from deqcheck.models.problem import AnyProblem, Problem
from deqcheck.records.lazy import cached_property
from deqcheck.registry import kinds

Arrays = Mapping[str, np.ndarray]
# Short runs need few points.
POINTS = 20


@lru_cache(maxsize=4096)
def _spoken(family: type[Kind], fields: str) -> Any:
    """A kind as a case states it, from its fields in JSON: many instances share theirs. Raises
    Refusal."""
    rest = json.loads(fields)
    kind = rest.pop("kind")
    return read_record(kinds(family)[kind], rest, Path(), kind)


@lru_cache(maxsize=64)
def _spoken_loss(kind: str) -> Any:
    return _spoken(Loss, json.dumps({"kind": kind}))


@dataclass(frozen=True)
class Pace:
    """How it is trained, relative to what the statement allows: a share of the largest step, or of
    the time in which the loss would vanish at its first speed."""

    kind: str
    share: float
    steps: int = 1


@dataclass(frozen=True, eq=False)
class Instance:
    """A model with its fields, arrays for its data and parameters, and how it is trained."""

    model: Mapping[str, Any]
    data: Arrays
    init: Arrays
    train: Mapping[str, Any] | None = None
    loss: str = ""
    # Those of the statement that it speaks of all of.
    constants: Mapping[str, float] | None = None
    # In place of `train`, until the step is known.
    pace: Pace | None = None

    @cached_property
    def spoken(self) -> Any:
        """The model as a case states it. Raises Refusal."""
        return _spoken(Model, json.dumps(self.model))

    @cached_property
    def shapes(self) -> dict[str, tuple[str, ...]]:
        """The letters of the axes of every array."""
        return {**self.spoken.data_arrays, **self.spoken.parameters, **self.spoken.optional}

    @cached_property
    def problem(self) -> AnyProblem:
        """With the state of its start, which is computed once. Raises Refusal, or what the model
        itself raises."""
        model = self.spoken
        loss = _spoken_loss(self.loss or model.default_loss)
        theta = {name: np.array(self.init[name], dtype=float) for name in model.parameters}
        sizes = self.sizes
        rest = {
            name: np.array(self.init.get(name, np.zeros([sizes[x] for x in letters])), dtype=float)
            for name, letters in model.optional.items()
        }
        data = {name: np.array(self.data[name], dtype=float) for name in model.data_arrays}
        data, theta = model.absorbed(data, theta)
        built = model.build({**data, **rest}, loss)
        wrong = list(built.check(theta))
        if wrong:
            raise Refusal(*wrong[0])
        train = None if self.train is None else read_train(dict(self.train))
        return Problem(
            model=built, theta0=theta, data={**data, **rest}, train=train, record_points=POINTS
        )

    @cached_property
    def sizes(self) -> dict[str, int]:
        """By letter."""
        found: dict[str, int] = {}
        for name, array in self.arrays.items():
            found |= dict(zip(self.shapes[name], array.shape, strict=True))
        return found

    @cached_property
    def arrays(self) -> Arrays:
        return {**self.data, **self.init}

    @property
    def entries(self) -> int:
        """How many numbers it takes to write its arrays down."""
        return sum(a.size for a in self.arrays.values())

    @property
    def vector(self) -> np.ndarray:
        """All entries of all arrays: for a search of one's own that knows vectors only."""
        return np.concatenate([np.ravel(a) for a in self.arrays.values()])

    def with_vector(self, x: np.ndarray) -> Instance:
        """With these entries, in the order of `vector`."""
        found, at = self, 0
        for name, a in self.arrays.items():
            found = found.with_array(name, np.reshape(x[at : at + a.size], a.shape))
            at += a.size
        return found

    def with_array(self, name: str, array: np.ndarray) -> Instance:
        # -0.0 is 0.
        array = np.asarray(array, dtype=float) + 0.0
        before = self.arrays.get(name)
        if name in self.data:
            found = self.having(data={**self.data, name: array})
        else:
            found = self.having(init={**self.init, name: array})
        if before is None or before.shape != array.shape:
            vars(found).pop("sizes", None)
        return found

    def having(self, data: Arrays | None = None, init: Arrays | None = None) -> Instance:
        """The same model with other numbers in arrays of the same shapes."""
        data, init = self.data if data is None else data, self.init if init is None else init
        rest = self.train, self.loss, self.constants, self.pace
        found = Instance(self.model, data, init, *rest)
        # What the model and the shapes alone decide.
        known, mine = vars(found), vars(self)
        known.update({name: mine[name] for name in ("spoken", "shapes", "sizes") if name in mine})
        return found

    def fits(self, other: Instance) -> bool:
        """Whether its model asks for the arrays of the other's, in the same sizes."""
        try:
            return self.shapes == other.shapes and self.spoken.sizes() == other.spoken.sizes()
        except Refusal:
            return False

    def only_change(self, before: Instance) -> str:
        """The array that distinguishes it from what it was made from; empty if that is not all."""
        if self.model is not before.model or self.constants is not before.constants:
            return ""
        if self.pace is not before.pace or self.arrays.keys() != before.arrays.keys():
            return ""
        names = [name for name, a in self.arrays.items() if a is not before.arrays[name]]
        return names[0] if len(names) == 1 else ""

    def with_field(self, path: str, value: Any) -> Instance:
        """With a field of the model, or of a part of it: `activation.k`."""
        name, _, inner = path.partition(".")
        if inner:
            value = {**self.model[name], inner: value}
        return replace(self, model={**self.model, name: value})

    def of_model(self, model: Mapping[str, Any]) -> Instance:
        """With these fields of the model, and the arrays that it then has. Raises Refusal where it
        has some that are not there, or of other sizes."""
        other = replace(self, model=model)
        needed = other.spoken.data_arrays.keys() | other.spoken.parameters.keys()
        if not needed <= self.arrays.keys():
            raise Refusal("model", f"has no {', '.join(sorted(needed - self.arrays.keys()))}")
        data, init = (
            {name: a for name, a in arrays.items() if name in other.shapes}
            for arrays in (self.data, self.init)
        )
        found = replace(other, data=data, init=init)
        for name, array in found.arrays.items():
            if any(
                found.sizes[x] != n for x, n in zip(found.shapes[name], array.shape, strict=True)
            ):
                raise Refusal("model", f"asks for another size of {name}")
        return found

    def field(self, path: str) -> float:
        name, _, inner = path.partition(".")
        return float(self.model[name][inner] if inner else self.model[name])

    def without(self, letter: str, index: int) -> Instance:
        """Less a sample, a unit, an input: whatever the letter counts."""
        keep = [i for i in range(self.sizes[letter]) if i != index]
        return self.taken(letter, keep)

    def taken(self, letter: str, order: list[int]) -> Instance:
        """With these samples, units, inputs in this order."""
        found = self
        for name, array in self.arrays.items():
            taken = array
            for axis, x in enumerate(self.shapes[name]):
                if x == letter:
                    taken = np.take(taken, order, axis=axis)
            if taken is not array:
                found = found.with_array(name, taken)
        return found

    def tree(self, title: str, id_: str, edition: str, outcome: str) -> dict[str, Any]:
        """A case of inline values that expects this outcome, if one is named."""

        def values(arrays: Arrays) -> dict[str, Any]:
            return {"kind": "values", **{name: (a + 0.0).tolist() for name, a in arrays.items()}}

        found: dict[str, Any] = {
            "deqcheck": 1,
            "title": title,
            "data": values(self.data),
            "model": dict(self.model),
            "init": values(self.init),
        }
        if self.loss:
            found["loss"] = self.loss
        if self.train is not None:
            found["train"] = dict(self.train)
            found["record"] = {"points": POINTS}
        found["theorems"] = [id_]
        if self.constants:
            found["constants"] = {id_: dict(self.constants)}
        found["edition"] = edition
        if outcome:
            found["expect"] = {id_: outcome}
        return found

    @classmethod
    def of_tree(cls, tree: Mapping[str, Any]) -> Instance:
        """What `tree` wrote."""

        def arrays(values: Mapping[str, Any]) -> dict[str, np.ndarray]:
            return {n: np.array(a, dtype=float) for n, a in values.items() if n != "kind"}

        (id_,) = tree["theorems"]
        return cls(
            tree["model"],
            arrays(tree["data"]),
            arrays(tree["init"]),
            tree.get("train"),
            tree.get("loss", ""),
            tree.get("constants", {}).get(id_),
        )
