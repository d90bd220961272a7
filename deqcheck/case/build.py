"""From a checked case to the problem it states."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from deqcheck.capacity import too_large, too_many
from deqcheck.case.errors import located
from deqcheck.case.ranks import KEY
from deqcheck.case.read import Case
from deqcheck.case.schema import CaseFile, no_theory
from deqcheck.case.shapes import Sizes, transposed
from deqcheck.data.arrays import YHAT, sample_letter, shapes_of
from deqcheck.fields import (
    Refusal,
    Stored,
    StoredNumber,
    below,
    collect,
    refuse,
    specs,
    unknown,
)
from deqcheck.given import Given
from deqcheck.records.arithmetic import FAILURES, in_range

if TYPE_CHECKING:
    from deqcheck.models.problem import AnyProblem
    from deqcheck.records.law import Law


READ_OUT_BIAS = "c0"


def build_problem(case: Case, scales: Mapping[str, float] | None = None) -> AnyProblem:
    """The model on its data, with the parameters to start from. Raises CaseError or OutOfRange.

    `scales` are further factors on the arrays, beside those of the case.
    """
    stated, source = case.stated, case.source
    if scales:
        both = {name: f * stated.rescale.get(name, 1.0) for name, f in scales.items()}
        stated = replace(stated, rescale={**stated.rescale, **both})
    try:
        with in_range():
            problem = replace(_problem(stated), origin=case)
            if stated.compare is None:
                return problem
            with below("compare"):
                return replace(problem, companion=_problem(_companion(stated)))
    except Refusal as refusal:
        raise located(source.name, source.lines, refusal.problems) from None
    except MemoryError:
        sentence = "the arrays of this case do not fit into memory"
        raise located(source.name, source.lines, [("data", sentence)]) from None


def _companion(case: CaseFile) -> CaseFile:
    """The model of `compare` on the same data."""
    other = case.compare
    assert other is not None
    if not isinstance(case.loss, other.model.loss):
        raise Refusal("model", no_theory(other.model, case.loss))
    shared = {n: f for n, f in case.rescale.items() if n in other.model.data_arrays}
    return replace(case, model=other.model, init=other.init, train=other.train, rescale=shared)


def _problem(case: CaseFile) -> AnyProblem:
    from deqcheck.models.problem import Problem

    problems: list[tuple[str, str]] = []
    case = _with_scalars(case, problems)
    data, theta0, drawn, told = _arrays(case, problems)
    _rescale(case, data, theta0)
    # What is optional stands beside the parameters, but is not trained.
    optional = {name: theta0.pop(name) for name in case.model.optional}
    absorbed = [name for name in case.model.biases if name in theta0]
    shapes = {name: theta0[name].shape for name in drawn if name in theta0}
    data, theta0 = case.model.absorbed(data, theta0)
    yhat = data.pop(YHAT, None)
    data, relative, of_rank = _ranked(case, data)
    with below("init"):
        stated, theta0 = case.init.settled(case.model, data, theta0)
    model = _built(stated, {**data, **optional}, case)
    if relative:
        model = model.of_rank(relative)
    refuse(model.check(theta0))
    # What a bias was put into has no law any more.
    same = [name for name in shapes if name in theta0 and theta0[name].shape == shapes[name]]
    laws = {name: _law(case, name, shapes[name]) for name in same}
    problem: AnyProblem = Problem(
        model=model,
        theta0=theta0,
        data={**data, **optional},
        laws={name: law for name, law in laws.items() if law is not None},
        seed=case.seed_of("train"),
        record_points=case.record.points,
        yhat=yhat,
        told=(*told, *_of_biases(absorbed), *of_rank),
    )
    return problem if case.train is None else problem.trained_by(case.train)


def _ranked(
    case: CaseFile, data: dict[str, np.ndarray]
) -> tuple[dict[str, np.ndarray], float, tuple[str, ...]]:
    """The data, the threshold where it has made a rank smaller, and what to say of it."""
    if case.rank is None:
        return data, 0.0, ()
    from deqcheck.models.ranks import ranked

    with below(KEY):
        found = ranked(data, case.model.ranked, case.rank.relative)
    return found.data, case.rank.relative if found.smaller else 0.0, found.told


def _of_biases(absorbed: list[str]) -> Iterator[str]:
    for name in absorbed:
        if name == READ_OUT_BIAS:
            yield f"{name}, the bias of the read-out, is taken off the targets and not trained"
        else:
            yield f"{name} is the weight of a further input that is constantly 1"


def _built(stated: Any, arrays: dict[str, np.ndarray], case: CaseFile) -> Any:
    try:
        return stated.build(arrays, case.loss)
    except FAILURES:
        # A LinAlgError is a ValueError, too.
        raise
    except ValueError as error:
        raise Refusal("model", str(error)) from None


def _with_scalars(case: CaseFile, problems: list[tuple[str, str]]) -> CaseFile:
    """With the initialisation told the model, and the numbers of the model that its file holds;
    what is wrong with them is told later, with the rest."""
    init = case.init.within(case.model, case.data)
    found: dict[str, float] = {}
    for key, spec in specs(type(case.model)).items():
        value = getattr(case.model, key, None)
        stored = value if isinstance(value, Stored) else None
        if not isinstance(spec, StoredNumber) or (value is not None and stored is None):
            continue
        with collect(problems, f"model.{key}"):
            taken = init.scalar(key, stored)
            if taken is not None:
                found[key] = spec.taken(*taken)
            elif stored is not None:
                raise Refusal("", f"{init.kind!r} holds no numbers; expected init: {{kind: file}}")
            elif key in case.model.required:
                raise Refusal("", f"missing; expected {spec.expected}, or where the file has it")
    model: Any = case.model
    return replace(case, init=init, model=replace(model, **found) if found else model)


def _arrays(
    case: CaseFile, problems: list[tuple[str, str]]
) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray], list[str], tuple[str, ...]]:
    """Data, parameters, the names of those that were drawn, and notes. What is wrong with the data
    is told together with what is wrong with the parameters."""
    sizes = Sizes()
    given: dict[str, Given] = {}
    data: dict[str, np.ndarray] = {}
    wrong: list[tuple[str, str]] = []
    # Where a large scale overflows, the check that every entry is finite says so.
    with collect(wrong, "data"):
        stored = case.data.arrays(case.model, case.seed_of("data"))
        shapes = {name: shapes_of(case.model)[name] for name in stored}
        refuse(transposed(stored, shapes, sample_letter(case.model.data_arrays)))
        given = case.model.brought(stored)
        data = sizes.fit(given, shapes)
    if wrong:
        # Sizes of wrong data are no measure for the rest.
        sizes = Sizes()
    clashes = [
        sizes.bind(letter, size, f"the model has {letter} = {size}")
        for letter, size in case.model.sizes().items()
    ]
    problems += wrong + [("model", sentence) for sentence in clashes if sentence]
    with collect(problems, "init"):
        brought = _brought(case, sizes)
    refuse(problems)
    with below("init"):
        theta0, drawn = _parameters(case, sizes, brought)
    told = (note for each in (*given.values(), *brought.values()) for note in each.notes)
    return data, theta0, drawn, tuple(dict.fromkeys(told))


def _law(case: CaseFile, name: str, shape: tuple[int, ...]) -> Law | None:
    """As it was drawn and rescaled."""
    law = case.init.law(name, shape)
    factor = abs(case.rescale.get(name, 1.0))
    return law if law is None else law._replace(scale=factor * law.scale)


def _rescale(case: CaseFile, *groups: dict[str, np.ndarray]) -> None:
    known = [name for group in groups for name in group]
    refuse(
        (f"rescale.{name}", unknown("the model has no array", name, known))
        for name in case.rescale
        if name not in known
    )
    for group in groups:
        for name in case.rescale.keys() & group.keys():
            group[name] = case.rescale[name] * group[name]
    refuse(
        (f"rescale.{name}", f"{case.rescale[name]:g} takes {name} out of the range of floats")
        for group in groups
        for name in case.rescale.keys() & group.keys()
        if not np.isfinite(group[name]).all()
    )


def _brought(case: CaseFile, sizes: Sizes) -> dict[str, Given]:
    """The parameters that the user brings: they may decide sizes that the rest needs."""
    symbols = _symbols(case)
    parameters = case.model.brought(case.init.given(case.model.parameters, symbols))
    sizes.fit(parameters, {name: symbols[name] for name in parameters})
    return parameters


def _symbols(case: CaseFile) -> dict[str, tuple[str, ...]]:
    return {**case.model.parameters, **case.model.optional, **case.model.biases}


def _parameters(
    case: CaseFile, sizes: Sizes, parameters: dict[str, Given]
) -> tuple[dict[str, np.ndarray], list[str]]:
    """All of them, and the names of those that were drawn."""
    symbols, drawn_ones = _symbols(case), []
    asked = getattr(case.init, "parts", ())
    refuse(_too_large(case, symbols, sizes))
    for name in symbols:
        if name in parameters or (name in case.model.biases and name not in asked):
            continue
        shape = _decided(name, sizes.shape(symbols[name]))
        drawn = name not in case.model.optional or name in asked
        array = case.init.draw(name, shape, case.seed_of("init")) if drawn else np.zeros(shape)
        parameters[name] = Given(array, "", name)
        drawn_ones += [name] if drawn else []
    return sizes.fit(parameters, {n: symbols[n] for n in symbols if n in parameters}), drawn_ones


def _too_large(
    case: CaseFile, symbols: dict[str, tuple[str, ...]], sizes: Sizes
) -> Iterator[tuple[str, str]]:
    """Before anything is drawn: the parameters, and what an evaluation makes of them."""
    named = {**symbols, **case.model.makes}
    shapes = {name: sizes.shape(letters) for name, letters in named.items()}
    known = {
        name: [size for size in shape if isinstance(size, int)]
        for name, shape in shapes.items()
        if not any(isinstance(size, str) for size in shape)
    }
    alone = [too_large(name, shape) for name, shape in known.items()]
    every = alone if any(alone) else [too_many(known.values())]
    yield from (("", sentence) for sentence in every if sentence)


def _decided(name: str, shape: tuple[int | str, ...]) -> tuple[int, ...]:
    open_letters = [size for size in shape if isinstance(size, str)]
    if open_letters:
        raise Refusal("", f"cannot draw {name}: nothing decides the size {open_letters[0]}")
    return tuple(int(size) for size in shape)
