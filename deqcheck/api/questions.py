"""What is asked of a case or a problem, checked."""

from __future__ import annotations

import numbers
import os
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from deqcheck.api.cases import Train, Word, read, trained
from deqcheck.case import Case
from deqcheck.fields import show, unknown
from deqcheck.judging import Question, UsageError
from deqcheck.judging.catalogue import Named
from deqcheck.models.problem import AnyProblem, Problem
from deqcheck.records.words import BOTH, EDITIONS, editions
from deqcheck.store import Store

CaseOrProblem: TypeAlias = "Word | Mapping[str, Any] | Case | AnyProblem"
Constants: TypeAlias = Mapping[str, Mapping[str, float]]
CONSTANTS = 'a mapping by statement, such as {"ling2022/thm1": {"delta": 0.1}}'


def one(case: CaseOrProblem, set: Sequence[str], seed: int | None) -> Case | AnyProblem:
    if not isinstance(case, Case | Problem):
        return read(case, set=set, seed=seed)
    if set or seed is not None:
        raise UsageError("`set` and `seed` change a case file; this one is read already")
    return case


def asked(
    case: Case | AnyProblem,
    train: Train | None,
    only: Sequence[Named],
    edition: str | None,
    constants: Constants | None,
) -> tuple[AnyProblem, Question]:
    p = case.problem() if isinstance(case, Case) else case
    question = p.origin.question if isinstance(p.origin, Case) else Question()
    if train is not None:
        p = trained(p, train)
    if edition not in (None, BOTH, *EDITIONS):
        raise UsageError(unknown("no edition", str(edition), (*EDITIONS, BOTH)))
    if isinstance(only, str):
        raise UsageError(f"`only` is a list of statements; found {only!r}")
    if constants is not None and not isinstance(constants, Mapping):
        raise UsageError(f"constants is {show(constants)}; expected {CONSTANTS}")
    for id_, fixed in (constants or {}).items():
        if not isinstance(fixed, Mapping):
            raise UsageError(f"constants[{id_!r}] is {show(fixed)}; expected {CONSTANTS}")
        check_constants(fixed)
    wanted = None if edition is None else editions(edition)
    return p, question.narrowed(only, wanted, constants)


def check_constants(constants: Any) -> None:
    """Of one statement."""
    if constants is None:
        return
    if not isinstance(constants, Mapping):
        raise UsageError(f"constants is {show(constants)}; expected a mapping, name to number")
    for name, value in constants.items():
        if isinstance(value, bool) or not isinstance(value, numbers.Real):
            raise UsageError(f"the constant {name} is {show(value)}; expected a number")


def opened(folder: Word | None) -> Store | None:
    try:
        return None if folder is None else Store(os.fspath(folder))
    except OSError as error:
        raise UsageError(f"cannot keep results in {folder}: {error.strerror}") from None
