"""Questions that take many instances."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from deqcheck.api.cases import Train, Word, installed, mistakes
from deqcheck.api.judged import run
from deqcheck.api.questions import CaseOrProblem, asked, check_constants, one
from deqcheck.case import Case
from deqcheck.dynamics.recorder import Progress
from deqcheck.explore import advice as advising
from deqcheck.judging import UsageError
from deqcheck.judging.catalogue import Named
from deqcheck.records.advice import Advice
from deqcheck.records.entry import Entry

if TYPE_CHECKING:
    from deqcheck.explore.falsify import Falsified
    from deqcheck.records.checkup import Checkup


def entry(
    statement: Named,
    problem: CaseOrProblem,
    *,
    train: Train | None = None,
    edition: str | None = None,
    constants: Mapping[str, float] | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Entry | None:
    """From which point of the run a convergence theorem applies, with the verdict on the rest of
    the run; None where it applies at the start, or is no convergence theorem for these dynamics.
    Raises CaseError or UsageError."""
    check_constants(constants)
    fixed = None if constants is None else {_id(statement): constants}
    report = run(
        problem,
        train=train,
        only=[statement],
        edition=edition,
        constants=fixed,
        progress=progress,
    )
    if report.trajectory is None:
        raise UsageError("the problem does not train, and an entry is one into a run: give `train`")
    return report.verdicts[-1].entry if report.verdicts else None


def advise(
    case: Word | Mapping[str, Any] | Case,
    *,
    only: Sequence[Named] = (),
    edition: str | None = None,
    set: Sequence[str] = (),
    seed: int | None = None,
    entry: bool = True,
    progress: Callable[[Progress], None] | None = None,
) -> list[Advice]:
    """How near each convergence theorem is to applying to a case, the nearest first, and what would
    make it apply: each remedy is a number that was found by search and judged, with a ready case.
    Unless `entry` is false the case is trained, too. Raises CaseError or UsageError."""
    found = one(case, set, seed)
    if not isinstance(found, Case):
        raise UsageError("advice changes the fields of a case, and a problem has none: give a case")
    with mistakes():
        _, question = asked(found, None, only, edition, None)
        every = question if only else dataclasses.replace(question, statements=None)
        return advising.advise(found, every, train=entry, progress=progress)


def model_checkup(
    path: Word,
    *,
    map: str | Mapping[str, str] | Sequence[str] = (),
    m: float | None = None,
    activation: str = "relu",
    slope: float | None = None,
    weights: str = "",
    data: Word | Mapping[str, Any] | None = None,
) -> Checkup:
    """A check-up of the trained equilibrium network in a file (`deqcheck docs checkup`): does
    exactly one equilibrium exist, how far is a point from it, which solver is guaranteed, does the
    cheap gradient descend, how far can the input move the outputs.

    `map` is a layout such as "mondeq-quant", or what the file calls the arrays ({"W": "w.weight"});
    `data` is a file or a mapping with inputs X, and if you like targets Y, classes y and points z.
    Raises UsageError.
    """
    from deqcheck.explore.checkup import Asked, checkup

    if isinstance(map, Mapping):
        map = [f"{name}={tensor}" for name, tensor in map.items()]
    words = (map,) if isinstance(map, str) else tuple(map)
    with mistakes():
        return checkup(Asked(str(path), words, m, activation, slope, weights, data))


def _id(statement: Named) -> str:
    return statement if isinstance(statement, str) else statement.id


def falsify(
    statement: Named,
    *,
    edition: str | None = None,
    seconds: float | None = None,
    evaluations: int | None = None,
    seed: int = 1,
    jobs: int = 1,
    sizes: tuple[int, int] | None = None,
    also: str = "",
    feasible: bool = False,
    degenerate: bool = False,
    keep_per_claim: bool = False,
    store: Word | None = None,
    strategy: Callable[[Any], Any] | None = None,
    progress: Callable[[Any], None] = lambda found: None,
) -> Falsified:
    """Search for an instance on which the hypotheses of a statement (an id, or a class of one's
    own) hold and a conclusion fails, and make it simple: `deqcheck docs falsify`.

    Without `evaluations` it stops after a minute, or after `seconds`. `strategy` makes, of the
    statement, an object that proposes the instances, with `ask()` and `tell(instance, score)`.
    Raises UsageError.
    """
    from deqcheck.explore.falsify import Asking, Limits
    from deqcheck.explore.falsify.kept import Kept

    installed()
    limits = Limits(evaluations, 60.0 if seconds is None and evaluations is None else seconds)
    asking = Asking(limits, seed, sizes, also, feasible, degenerate, keep_per_claim)
    if strategy is not None and (jobs != 1 or store is not None):
        raise UsageError("a strategy of your own searches in this process, and nothing is kept")
    with mistakes():
        return Kept(store).falsify(statement, edition, asking, jobs, progress, strategy)
