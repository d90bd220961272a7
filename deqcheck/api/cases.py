"""Cases, problems and statements: what the other functions are about."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias, overload

import numpy as np

from deqcheck import judging, plugins
from deqcheck.case import Case, CaseError
from deqcheck.case import only as the_only
from deqcheck.case.embedded import read_named
from deqcheck.case.read import checked
from deqcheck.case.source import Changes, Source
from deqcheck.dynamics import read_train
from deqcheck.fields import did_you_mean, show
from deqcheck.judging import UsageError
from deqcheck.judging.errors import refusals
from deqcheck.models.problem import AnyProblem
from deqcheck.records.words import BOTH
from deqcheck.theorems.base import AnyStatement

Word: TypeAlias = "str | os.PathLike[str]"
Train: TypeAlias = "Mapping[str, Any] | Any"
CaseOrProblem: TypeAlias = "Word | Mapping[str, Any] | Case | AnyProblem"


def load(path: Word) -> tuple[type, ...]:
    """Load statements, models, losses, data kinds or formats of your own from a Python file or a
    folder, which runs its code; again, if it was changed. Raises UsageError."""
    try:
        return plugins.load(os.fspath(path)).classes
    except plugins.PluginError as error:
        raise UsageError(str(error)) from None


class Statements(tuple[type[AnyStatement], ...]):
    """Statements in the order of their ids; an id finds its own."""

    @overload  # type: ignore[override]
    def __getitem__(self, key: str | int) -> type[AnyStatement]: ...
    @overload
    def __getitem__(self, key: slice) -> tuple[type[AnyStatement], ...]: ...
    def __getitem__(self, key: str | int | slice) -> Any:
        if not isinstance(key, str):
            return super().__getitem__(key)
        for statement in self:
            if statement.id == key:
                return statement
        hint = did_you_mean(key, [statement.id for statement in self])
        raise KeyError(f"there is no statement {key!r}{hint}")

    def __contains__(self, key: object) -> bool:
        return any(key in (statement, statement.id) for statement in self)


def statements() -> Statements:
    """Every statement of the catalogue, with those of installed packages and of `load`."""
    installed()
    return Statements(judging.catalogue().values())


def read(
    source: Word | Mapping[str, Any], *, set: Sequence[str] = (), seed: int | None = None
) -> Case:
    """Read and check a case: a file, the name of an embedded case, or a mapping with the fields of
    a case file. `set` replaces fields, as in `["train.step=1e-3"]`. Raises CaseError."""
    installed()
    if isinstance(set, str):
        raise UsageError(f"`set` is a list of settings; found {set!r}")
    if not isinstance(source, Mapping | str | os.PathLike):
        raise UsageError(
            f"{show(source)} is no case; expected a file, the name of an embedded case, a mapping, "
            "a Case or a Problem"
        )
    if isinstance(source, Mapping):
        settings = {} if seed is None else {"seed": seed}
        tree = {"deqcheck": 1, **source, **settings}
        if set:
            raise UsageError("`set` changes a case file; set the fields of the mapping itself")
        return checked(Source(written=tree))
    return the_only(read_named(source, Changes(tuple(set), seed)))


def problem(
    model: str,
    data: Mapping[str, Any] | str,
    init: Mapping[str, Any] | str,
    *,
    loss: Mapping[str, Any] | str | None = None,
    train: Train | None = None,
    rank: Mapping[str, Any] | None = None,
    seed: int = 0,
    title: str = "",
    **fields: Any,
) -> AnyProblem:
    """A model on data, with the parameters to start from.

    `data` and `init` map the names of the model's arrays to arrays, or name a kind as a case file
    does (`{"kind": "gaussian", ...}`). `fields` are those of the model, such as `gamma` of `delm`;
    `rank`, such as `{"relative": 1e-12}`, asks for a numerical rank of the features. Raises
    CaseError.
    """
    installed()
    tree = {
        "deqcheck": 1,
        "title": title,
        "seed": plain(seed),
        "model": {"kind": model, **plain(fields)},
        "data": _arrays("data", data),
        "init": _arrays("init", init),
        "loss": plain(loss),
        "rank": plain(rank),
        # Nobody wrote down which one is asked for.
        "edition": BOTH,
    }
    with mistakes():
        found = checked(Source(written=tree)).problem()
    return found if train is None else trained(found, train)


def _arrays(name: str, given: Mapping[str, Any] | str) -> Any:
    """Arrays without a kind are values; lists and arrays are the same here."""
    if not isinstance(given, str | Mapping):
        raise UsageError(f"{name} is {show(given)}; expected a mapping from names to arrays")
    if isinstance(given, str) or "kind" in given:
        return plain(given)
    try:
        return {"kind": "values", **{key: np.asarray(a) for key, a in given.items()}}
    except (TypeError, ValueError) as error:
        raise UsageError(f"{name}: an array that is none: {error}") from None


def plain(value: Any) -> Any:
    """Numbers of NumPy as those of Python, which case files have."""
    if isinstance(value, Mapping):
        return {key: plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    return value.item() if isinstance(value, np.generic) else value


_LOOKED: list[bool] = []


def installed() -> None:
    """Installed packages may bring statements; looked for once, and a broken one is told."""
    if _LOOKED:
        return
    _LOOKED.append(True)
    try:
        plugins.load_installed()
    except plugins.PluginError as error:
        for sentence in str(error).splitlines():
            warnings.warn(f"deqcheck: {sentence}", stacklevel=3)


@contextmanager
def mistakes() -> Iterator[None]:
    """What goes wrong in somebody's own file is told with its place."""
    try:
        yield
    except (CaseError, UsageError):
        raise
    except Exception as error:
        mistake = plugins.blamed(error)
        if mistake is None:
            raise
        raise UsageError(mistake) from error


def trained(p: AnyProblem, train: Train) -> AnyProblem:
    with refusals():
        return p.trained_by(read_train(plain(train)))
