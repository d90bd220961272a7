"""The field `rank` of a case: singular values of the features that count as zero."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from deqcheck import registry
from deqcheck.fields import number, one_of, show
from deqcheck.frozen import dataclass
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
