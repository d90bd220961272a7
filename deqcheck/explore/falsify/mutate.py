"""Small changes of an instance, for the search."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from deqcheck.explore.falsify.draw import (
    array,
    for_all,
    number,
    of_length,
    one_of,
    sample_axis,
    value_of,
)
from deqcheck.explore.falsify.instance import Instance
from deqcheck.fields import Part, Refusal, Section, specs
from deqcheck.fields.spec import Number
from deqcheck.kinds import Model
from deqcheck.models.problem import NoEquilibrium, State
from deqcheck.records.arithmetic import FAILURES, OutOfRange, in_range
from deqcheck.registry import kinds
from deqcheck.theorems.base import AnyStatement

Random = np.random.Generator
SIMPLE = (0.0, 1.0, -1.0, 2.0, 0.5)


def changed(
    r: Random,
    s: AnyStatement,
    instance: Instance,
    reach: float,
    seen: Callable[[str], bool] = lambda name: True,
) -> Instance:
    """One change, of the relative size `reach` where it is continuous, of an array that is seen."""
    kind = r.random()
    if kind < 0.03:
        return _field_changed(r, s, instance)
    if kind < 0.11:
        return _number_changed(r, s, instance, reach)
    if kind < 0.2 and instance.pace is not None:
        return _pace_changed(r, instance)
    if kind < 0.3 and seen(kinds(Model)[instance.model["kind"]].predicted):
        return fitted(r, instance)
    if kind < 0.36:
        return _scaled(r, instance, reach)
    names = list(instance.arrays)
    name = one_of(r, [name for name in names if seen(name)] or names)
    a = np.array(instance.arrays[name])
    if not a.size:
        return instance
    if kind < 0.46:
        return instance.with_array(name, array(r, a.shape))
    if kind < 0.62:
        return instance.with_array(name, a * float(2.0 ** (4 * reach * r.standard_normal())))
    return instance.with_array(name, _nudged(r, instance, name, a, reach))


def _nudged(r: Random, instance: Instance, name: str, a: np.ndarray, reach: float) -> np.ndarray:
    kind = r.random()
    at = tuple(int(r.integers(n)) for n in a.shape)
    if kind < 0.3:
        a[at] = float(one_of(r, SIMPLE))
    elif kind < 0.45 and name == next(iter(instance.spoken.data_arrays)):
        axis = sample_axis(instance)
        return a if axis is None else of_length(r, a, axis)
    elif kind < 0.75:
        a[at] += reach * float(r.standard_normal()) * (abs(a[at]) + 0.1)
    else:
        a = a + reach * r.standard_normal(a.shape) * (np.abs(a) + 0.01)
    return a


def numbers(instance: Instance) -> dict[str, Number]:
    """The fields of the model and its parts that are numbers and are set, by their paths."""
    found: dict[str, Number] = {}
    declared = specs(kinds(Model)[instance.model["kind"]])
    for name, value in instance.model.items():
        spec = declared.get(name)
        if isinstance(spec, Number):
            found[name] = spec
        elif isinstance(spec, Part | Section) and isinstance(value, Mapping):
            record = kinds(spec.family)[value["kind"]] if isinstance(spec, Part) else spec.record
            inner = {n: s for n, s in specs(record).items() if n in value}
            found |= {f"{name}.{n}": s for n, s in inner.items() if isinstance(s, Number)}
    return found


def _number_changed(r: Random, s: AnyStatement, instance: Instance, reach: float) -> Instance:
    """A field of the model, or a free constant."""
    fields, free = numbers(instance), for_all(s)
    names = [*fields, *free]
    if not names:
        return instance
    name = one_of(r, names)
    spec = fields[name] if name in fields else free[name].domain
    held = instance.field(name) if name in fields else (instance.constants or {}).get(name, 1.0)
    value = moved(r, spec, held, reach)
    if r.random() < 0.4 or not spec.within(value):
        value = number(r, spec)
    if name in fields:
        return instance.with_field(name, value)
    return replace(instance, constants={**(instance.constants or {}), name: value})


def moved(r: Random, spec: Number, held: float, reach: float) -> float:
    """By a factor, or its distance from an end other than 0 by one."""
    factor = float(2.0 ** (2 * reach * r.standard_normal()))
    ends = [x for x in (spec.above, spec.at_least, spec.below, spec.at_most) if x]
    if ends and r.random() < 0.5:
        end = float(one_of(r, ends))
        return end + factor * (held - end)
    return held * factor


def _field_changed(r: Random, s: AnyStatement, instance: Instance) -> Instance:
    """Another value of a field of the model that is set, or that the statement speaks of."""
    declared = specs(kinds(Model)[instance.model["kind"]])
    meant = {name: options for name, options in s.space.fields.items() if name in declared}
    names = sorted({*instance.model, *meant} - {"kind"})
    names = [name for name in names if meant.get(name) != (None,)]
    if not names:
        return instance
    name = one_of(r, names)
    value = one_of(r, meant[name]) if meant.get(name) else value_of(r, declared[name])
    model = {n: x for n, x in instance.model.items() if n != name}
    found = replace(instance, model=model if value is None else {**model, name: value})
    return found if found.fits(instance) else instance


def _pace_changed(r: Random, instance: Instance) -> Instance:
    pace = instance.pace
    assert pace is not None
    if pace.kind == "gd" and r.random() < 0.4:
        return replace(instance, pace=replace(pace, steps=int(r.integers(1, 9))))
    share = float(np.clip(pace.share * 10.0 ** (0.5 * r.standard_normal()), 1e-6, 20.0))
    if pace.share < 1:
        share = min(share, 0.999)
    return replace(instance, pace=replace(pace, share=share))


def _scaled(r: Random, instance: Instance, reach: float) -> Instance:
    """All parameters together."""
    factor = float(2.0 ** (4 * reach * r.standard_normal()))
    return instance.having(init={name: factor * a for name, a in instance.init.items()})


def fitted(r: Random, instance: Instance) -> Instance:
    """Labels at what the model predicts, up to a small residual."""
    try:
        with in_range():
            problem = instance.problem
            state: State = problem.start
            name = kinds(Model)[problem.model.kind].predicted
            if not name:
                return instance
            predicted = state.predictions
    except (NoEquilibrium, Refusal, OutOfRange, ValueError, *FAILURES):
        return instance
    size = 0.0 if r.random() < 0.15 else float(10.0 ** r.uniform(-7, 0))
    return instance.with_array(name, predicted + size * _residual(r, predicted.shape))


def _residual(r: Random, shape: tuple[int, ...]) -> np.ndarray:
    """Of any direction, all alike, or of signs that alternate from sample to sample."""
    kind = r.random()
    if kind < 0.5:
        return r.standard_normal(shape)
    return np.ones(shape) if kind < 0.75 else np.ones(shape) * (-1.0) ** np.arange(shape[-1])


def crossed(r: Random, one: Instance, other: Instance) -> Instance:
    """With some arrays of another instance of the same sizes."""
    found = one
    for name, a in other.arrays.items():
        if name in one.arrays and one.arrays[name].shape == a.shape and r.random() < 0.5:
            found = found.with_array(name, a)
    return found
