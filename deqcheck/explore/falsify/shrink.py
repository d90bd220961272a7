"""Simplifications of a counterexample: as few and as short numbers as it goes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace

import numpy as np

from deqcheck.explore.falsify.instance import Instance
from deqcheck.explore.falsify.mutate import numbers
from deqcheck.fields import Refusal

DECIMALS = (0, 1, 2, 3)
Cost = tuple[int, int]


def shrunk(instance: Instance, stands: Callable[[Instance], bool]) -> Instance:
    """The simplest instance that single simplifications lead to and that still stands."""
    while True:
        price = cost(instance)
        for simplifications in RULES:
            instance = _by(simplifications, instance, stands)
        if cost(instance) == price:
            return instance


def _by(
    simplifications: Callable[[Instance], Iterator[Instance]],
    instance: Instance,
    stands: Callable[[Instance], bool],
) -> Instance:
    """Simplified by one rule as far as that goes."""
    while True:
        price = cost(instance)
        cheaper = (each for each in simplifications(instance) if cost(each) < price)
        better = next(filter(stands, cheaper), None)
        if better is None:
            return instance
        instance = better


def _smaller(instance: Instance) -> Iterator[Instance]:
    """Less a sample, unit or input."""
    for letter, size in instance.sizes.items():
        if size > 1:
            yield from (instance.without(letter, i) for i in range(size))


def _plain(instance: Instance) -> Iterator[Instance]:
    for name, a in instance.arrays.items():
        for plain in (np.zeros_like(a), np.ones_like(a), _eye(a)):
            yield instance.with_array(name, plain)


def _rounded(instance: Instance) -> Iterator[Instance]:
    for decimals in DECIMALS:
        for name, a in instance.arrays.items():
            yield instance.with_array(name, np.round(a, decimals))
            if decimals == 0:
                yield instance.with_array(name, np.round(2 * a) / 2)


def _eye(a: np.ndarray) -> np.ndarray:
    return np.eye(*a.shape) if a.ndim == 2 else np.ones_like(a)


def _copies(instance: Instance) -> Iterator[Instance]:
    """A sample or unit made equal to the first one, where that is simpler."""
    for letter, size in instance.sizes.items():
        for i in range(1, size):
            order = list(range(size))
            order[i] = 0
            yield instance.taken(letter, order)


def _entries(instance: Instance) -> Iterator[Instance]:
    for name, a in instance.arrays.items():
        for at in np.ndindex(*a.shape):
            for value in _simpler_numbers(float(a[at])):
                moved = np.array(a)
                moved[at] = value
                yield instance.with_array(name, moved)


def _simpler_numbers(x: float) -> Iterator[float]:
    """0, 1, halves, decimals, few digits: those that are simpler than it is."""
    near = (0.0, 1.0, -1.0, round(2 * x) / 2, *(round(x, d) for d in DECIMALS))
    digits = (float(f"{x:.{d}e}") for d in (0, 1, 2))
    powers = (np.sign(x) * 10.0 ** np.round(np.log10(abs(x))),) if x else ()
    for value in dict.fromkeys([*near, *map(float, powers), *digits]):
        if complexity(value) < complexity(x):
            yield value


def _leaner(instance: Instance) -> Iterator[Instance]:
    """Without a field of the model, or with one or all but one less of what it counts, such as
    layers."""
    for name, value in instance.model.items():
        if name == "kind":
            continue
        rest = {n: x for n, x in instance.model.items() if n != name}
        fewer = (1, value - 1) if isinstance(value, int) and value > 1 else ()
        for model in (rest, *({**rest, name: count} for count in fewer)):
            with suppress(Refusal):
                yield instance.of_model(model)


def _simpler_settings(instance: Instance) -> Iterator[Instance]:
    """Of the model's fields, the free constants, the training, and arrays that may be left out."""
    for name in instance.spoken.optional.keys() & instance.init.keys():
        yield replace(instance, init={n: a for n, a in instance.init.items() if n != name})
    if instance.constants:
        yield replace(instance, constants=None)
        for name, value in instance.constants.items():
            for simple in _simpler_numbers(value):
                yield replace(instance, constants={**instance.constants, name: simple})
    for name, spec in numbers(instance).items():
        for simple in _simpler_numbers(instance.field(name)):
            if spec.within(simple):
                yield instance.with_field(name, simple)
    train = dict(instance.train or {})
    if train.get("steps", 1) > 1:
        yield replace(instance, train={**train, "steps": 1})
        yield replace(instance, train={**train, "steps": train["steps"] - 1})
    for name in ("step", "horizon"):
        for simple in _simpler_numbers(float(train[name])) if name in train else ():
            if simple > 0:
                yield replace(instance, train={**train, name: simple})


RULES = (_smaller, _leaner, _simpler_settings, _plain, _rounded, _copies, _entries)


def complexity(x: float) -> int:
    """How much there is to write: 0, then 1 and -1, whole numbers, decimals."""
    if x == 0 or abs(x) == 1:
        return int(x != 0)
    return 1 + len(repr(abs(x)).removesuffix(".0"))


def cost(instance: Instance) -> Cost:
    """Numbers to print, and how long they are; equal samples cost less than different ones."""
    values = [x for a in instance.arrays.values() for x in a.ravel().tolist()]
    fields = numbers(instance)
    values += map(instance.field, fields)
    values += [float(x) for n, x in instance.model.items() if n not in fields and type(x) is int]
    values += (instance.constants or {}).values()
    values += [float(x) for x in (instance.train or {}).values() if not isinstance(x, str)]
    return instance.entries, sum(map(complexity, values)) + len(set(values))
