"""From a checked case to the problem it states."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from deqcheck.case.errors import located
from deqcheck.case.read import Case
from deqcheck.case.schema import CaseFile, no_theory
from deqcheck.case.shapes import Sizes
from deqcheck.fields import Refusal, below, refuse, unknown
from deqcheck.given import MOST_ENTRIES, Given
from deqcheck.records.arithmetic import FAILURES, in_range

if TYPE_CHECKING:
    from deqcheck.models.problem import AnyProblem
    from deqcheck.records.law import Law


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

    model, theta0, laws = _build(case)
    problem: AnyProblem = Problem(
        model=model,
        theta0=theta0,
        laws=laws,
        seed=case.seed,
        record_points=case.record.points,
    )
    return problem if case.train is None else problem.trained_by(case.train)


def _build(case: CaseFile) -> tuple[Any, dict[str, np.ndarray], dict[str, Law]]:
    sizes = Sizes()
    # Where a large scale overflows, the check that every entry is finite says so.
    with below("data"):
        data = sizes.fit(case.data.arrays(case.model, case.seed), case.model.data_arrays)
    clashes = [
        sizes.bind(letter, size, f"the model has {letter} = {size}")
        for letter, size in case.model.sizes().items()
    ]
    refuse(("model", sentence) for sentence in clashes if sentence)
    with below("init"):
        theta0, drawn = _parameters(case, sizes)
    _rescale(case, data, theta0)
    # What is optional stands beside the parameters, but is not trained.
    optional = {name: theta0.pop(name) for name in case.model.optional}
    with below("init"):
        stated, theta0 = case.init.settled(case.model, data, theta0)
    try:
        model = stated.build({**data, **optional}, case.loss)
    except FAILURES:
        # A LinAlgError is a ValueError, too.
        raise
    except ValueError as error:
        raise Refusal("model", str(error)) from None
    refuse(model.check(theta0))
    laws = {name: _law(case, name, theta0[name].shape) for name in drawn if name in theta0}
    return model, theta0, {name: law for name, law in laws.items() if law is not None}


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


def _parameters(case: CaseFile, sizes: Sizes) -> tuple[dict[str, np.ndarray], list[str]]:
    """All of them, and the names of those that were drawn."""
    symbols = {**case.model.parameters, **case.model.optional}
    parameters: dict[str, Given] = case.init.given(case.model.parameters, symbols)
    # First what the user brings: it may decide sizes that the rest needs.
    sizes.fit(parameters, {name: symbols[name] for name in parameters})
    drawn_ones = []
    for name in symbols:
        if name not in parameters:
            shape = _decided(name, sizes.shape(symbols[name]))
            drawn = name not in case.model.optional or name in getattr(case.init, "parts", ())
            array = case.init.draw(name, shape, case.seed) if drawn else np.zeros(shape)
            parameters[name] = Given(array, "", name)
            drawn_ones += [name] if drawn else []
    return sizes.fit(parameters, symbols), drawn_ones


def _decided(name: str, shape: tuple[int | str, ...]) -> tuple[int, ...]:
    open_letters = [size for size in shape if isinstance(size, str)]
    if open_letters:
        raise Refusal("", f"cannot draw {name}: nothing decides the size {open_letters[0]}")
    decided = tuple(int(size) for size in shape)
    if math.prod(decided) > MOST_ENTRIES:
        size = " x ".join(map(str, decided))
        raise Refusal("", f"{name} is {size}, too large; expected at most {MOST_ENTRIES} numbers")
    return decided
