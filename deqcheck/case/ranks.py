"""The field `rank` of a case: singular values of the features that count as zero."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from deqcheck import registry
from deqcheck.fields import Refusal, number, one_of, show
from deqcheck.kinds import Loss, Model

if TYPE_CHECKING:
    from deqcheck.case.schema import CaseFile

KEY = "rank"


@dataclass(frozen=True)
class Rank:
    """Which singular values of the features count as zero. Without it, the instance is judged as
    given: a singular value of 1e-17 is not zero. With it, the features are replaced by the nearest
    matrix without the singular values below the threshold; ranks, row spaces, smallest singular
    values and what rests on them are those of that matrix, and are not computed again in exact
    numbers. Of models and losses whose statements ask for the rank of the features."""

    relative: float = number(
        above=0, below=1, doc="singular values below this share of the largest count as zero"
    )


def faults(case: CaseFile) -> Iterator[tuple[str, str]]:
    """Where nothing asks for a rank, the field would say nothing."""
    if case.rank is None:
        return
    models = {"model": case.model}
    if case.compare is not None:
        models["compare.model"] = case.compare.model
    for key, model in models.items():
        if not model.ranked:
            known = [name for name, kind in registry.kinds(Model).items() if kind.ranked]
            found = f"no statement asks for the rank of the data of {show(model.kind)}"
            yield KEY, f"{found} ({key}); expected {one_of(known)}, or no {show(KEY)}"
    if case.loss is not None and not getattr(case.loss, "ranked", False):
        losses = registry.kinds(Loss).items()
        known = [name for name, kind in losses if getattr(kind, "ranked", False)]
        found = f"no statement about the loss {show(case.loss.kind)} asks for the rank of the data"
        yield KEY, f"{found}; expected {one_of(known)}, or no {show(KEY)}"


class Ranked(NamedTuple):
    """The data, whether the rank of one of their arrays is smaller now, and what to say of it."""

    data: dict[str, np.ndarray]
    smaller: bool = False
    told: tuple[str, ...] = ()


def ranked(case: CaseFile, data: dict[str, np.ndarray]) -> Ranked:
    """The data with the rank that the case asks for. Raises Refusal."""
    from deqcheck.linalg.spectra import Blurred, cut_at

    name = case.model.ranked
    if case.rank is None or not data[name].any():
        return Ranked(data)
    relative = case.rank.relative
    try:
        cut = cut_at(data[name], relative)
    except Blurred as error:
        raise Refusal(f"{KEY}.relative", f"{name}: {error}") from None
    if cut is None:
        none = f"{name}: no singular value but zeros is below {relative:g} of the largest"
        return Ranked(data, told=(f"{none}: it is taken as given",))
    told = (
        f"{name} is replaced by the nearest matrix of rank {cut.rank}, the numerical rank at "
        f"{relative:g}: the largest singular value that is left out is {cut.dropped:.0e} of the "
        "largest of all"
    )
    return Ranked({**data, name: cut.a}, True, (told,))
