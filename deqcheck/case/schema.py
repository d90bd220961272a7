"""The case file, version 1: its fields, and what must agree between them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from deqcheck import registry
from deqcheck.case.judged import unjudged
from deqcheck.case.ranks import Rank, faults
from deqcheck.case.renamed import current
from deqcheck.case.sweep import STREAMS, Grid, Sweeps
from deqcheck.fields import (
    Choice,
    Part,
    Spec,
    below,
    choice,
    collect,
    declare,
    did_you_mean,
    integer,
    mapping,
    number,
    one_of,
    part,
    read_each,
    read_record,
    refuse,
    section,
    show,
    specs,
    text,
    unknown,
)
from deqcheck.frozen import dataclass
from deqcheck.kinds import Data, Dynamics, Init, Loss, Model
from deqcheck.records.expectations import Expectations
from deqcheck.records.verdict import Outcome, Status
from deqcheck.records.words import BOTH, CORRECTED, EDITIONS, editions

VERSION = 1
OUTCOMES = tuple(outcome.value for outcome in Outcome)
STATUSES = tuple(status.word for status in Status if status is not Status.INTERRUPTED)


@dataclass(frozen=True, kw_only=True)
class _Version(Spec):
    @property
    def expected(self) -> str:
        return f"{VERSION}, the version of the case format"

    def read(self, value: Any, folder: Path) -> int:
        if value != VERSION or not isinstance(value, int) or isinstance(value, bool):
            raise self.wrong(value)
        return VERSION


@dataclass(frozen=True, kw_only=True)
class _Ids(Spec):
    @property
    def expected(self) -> str:
        return "a list of theorem ids"

    def read(self, value: Any, folder: Path) -> tuple[str, ...]:
        if not isinstance(value, list):
            raise self.wrong(value)
        problems = []
        ids: dict[str, None] = {}
        for index, item in enumerate(value):
            if not isinstance(item, str):
                problems.append((f"[{index}]", f"expected a theorem id; found {show(item)}"))
            elif item in ids:
                problems.append((f"[{index}]", f"{show(item)} is given twice"))
            else:
                ids[item] = None
        refuse(problems)
        return tuple(ids)

    def plain(self, value: tuple[str, ...]) -> list[str]:
        return list(value)


@dataclass(frozen=True, kw_only=True)
class _Editions(Spec):
    """An outcome for each edition that is named."""

    @property
    def expected(self) -> str:
        return f"an outcome for {' and '.join(EDITIONS)}"

    def read(self, value: Any, folder: Path) -> dict[str, str]:
        refuse(
            (name, unknown("no edition", name, EDITIONS)) for name in value if name not in EDITIONS
        )
        return read_each(((name, _OUTCOME, word) for name, word in value.items()), folder)


@dataclass(frozen=True, kw_only=True)
class _Expect(Spec):
    """Outcomes by theorem id, and the status of the run under `status`."""

    @property
    def expected(self) -> str:
        return "a mapping from theorem ids to outcomes"

    def read(self, value: Any, folder: Path) -> Expectations:
        if not isinstance(value, dict):
            raise self.wrong(value)
        words = ((key, _judge(key, item), item) for key, item in value.items())
        return Expectations(read_each(words, folder))


_OUTCOME = Choice(options=OUTCOMES)
_STATUS = Choice(options=STATUSES)
_EDITIONS = _Editions()


def _judge(key: str, item: Any) -> Spec:
    if key == Expectations.STATUS:
        return _STATUS
    return _EDITIONS if isinstance(item, dict) else _OUTCOME


@dataclass(frozen=True)
class Record:
    """What of a run is kept."""

    points: int = integer(at_least=2, default=200, doc="largest number of recorded points")


@dataclass(frozen=True)
class Compare:
    """Another model on the same data, trained for comparison only."""

    model: Model = part(Model, doc="the other model")
    init: Init = part(Init, doc="where its parameters start")
    train: Dynamics = part(Dynamics, doc="how it is trained")


@dataclass(frozen=True)
class CaseFile:
    """A case file, version 1."""

    deqcheck: int = declare(_Version(doc="version of the case format"))
    title: str = text(default="", doc="one line about the case")
    seed: int = integer(at_least=0, default=0, doc="seed of everything that is drawn")
    seeds: Mapping[str, int] = mapping(
        integer(at_least=0),
        default={},
        doc="seeds of their own for data (inputs and targets), init, or train (batches, and what "
        "statements draw)",
    )
    data: Data = part(Data, doc="what the model is trained on")
    model: Model = part(Model, doc="the model")
    loss: Loss = part(Loss, default=None, doc="the loss; default: that of the paper")
    init: Init = part(Init, doc="where the parameters start")
    train: Dynamics | None = part(Dynamics, default=None, doc="how the model is trained")
    compare: Compare | None = section(
        Compare, default=None, doc="another model on the same data, as a second curve"
    )
    theorems: tuple[str, ...] | None = declare(
        _Ids(default=None, doc="what to judge; default: every statement that applies to the case")
    )
    expect: Expectations = declare(_Expect(default={}, doc="the outcomes that are expected"))
    constants: Mapping[str, Mapping[str, float]] = mapping(
        mapping(number()), default={}, doc="free constants of a statement, fixed"
    )
    edition: str = choice(*EDITIONS, BOTH, default=CORRECTED, doc="which edition is judged")
    rescale: Mapping[str, float] = mapping(
        number(), default={}, doc="factors on arrays of the data or on parameters, by name"
    )
    rank: Rank | None = section(
        Rank, default=None, doc="asks for a numerical rank of the features, not for the exact one"
    )
    record: Record = section(Record, default={}, doc="what of a run is kept")
    sweep: tuple[Grid, ...] | None = declare(
        Sweeps(default=None, doc="settings that vary: the file states a case for each")
    )

    @property
    def editions(self) -> tuple[str, ...]:
        return editions(self.edition)

    def seed_of(self, stream: str) -> int:
        return self.seeds.get(stream, self.seed)

    def check(self) -> Iterator[tuple[str, str]]:
        for name in self.seeds:
            if name not in STREAMS:
                yield f"seeds.{name}", unknown("nothing is drawn under the name", name, STREAMS)
        if self.loss is not None and not isinstance(self.loss, self.model.loss):
            yield "loss", no_theory(self.model, self.loss)
        yield from faults(self)


def no_theory(model: Model, loss: Loss) -> str:
    """The sentence for a loss that is not what the model needs."""
    options = one_of([n for n, c in registry.kinds(Loss).items() if issubclass(c, model.loss)])
    owner, other = show(model.kind), show(loss.kind)
    return f"{owner} has no theory for the loss {other}; expected {options}"


# The keys whose value is a kind.
PARTS = tuple(name for name, spec in specs(CaseFile).items() if isinstance(spec, Part))


def read_tree(tree: Mapping[str, Any], folder: Path, as_written: bool = True) -> CaseFile:
    """The checked case, or a Refusal with everything that is wrong with it.

    A case that is not as written may expect something that it is no longer judged by.
    """
    if "deqcheck" in tree:
        # Under another version everything else may mean something else: say only this.
        with below("deqcheck"):
            specs(CaseFile)["deqcheck"].read(tree["deqcheck"], folder)
    tree = current(tree, lambda sentence: None)
    problems: list[tuple[str, str]] = []
    with collect(problems):
        case: CaseFile = read_record(CaseFile, tree, folder, "a case")
    problems += _unknown_statements(tree)
    refuse(problems)
    if case.loss is None:
        case = replace(case, loss=registry.kinds(Loss)[case.model.default_loss]())
    if as_written and (case.theorems or case.expect):
        refuse(unjudged(case, registry.statements()))
    return case


def _perhaps_own(name: str, known: Iterable[str]) -> str:
    papers = {id_.partition("/")[0] for id_ in known}
    own = name.partition("/")[0] not in papers
    return "; a statement of your own is loaded by --with PATH" if own else ""


def _unknown_statements(tree: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    theorems, expect, constants = (tree.get(key) for key in ("theorems", "expect", "constants"))
    named = []
    if isinstance(theorems, list):
        named += [(f"theorems[{i}]", name) for i, name in enumerate(theorems)]
    if isinstance(expect, dict):
        named += [(f"expect.{name}", name) for name in expect if name != Expectations.STATUS]
    if isinstance(constants, dict):
        named += [(f"constants.{name}", name) for name in constants]
    if not named:
        return
    known = registry.statements()
    for key, name in named:
        if isinstance(name, str) and name not in known:
            hint = did_you_mean(name, known, "; `deqcheck theorems` lists them all")
            yield key, f"no theorem {show(name)}{hint}{_perhaps_own(name, known)}"
    for name, values in constants.items() if isinstance(constants, dict) else ():
        if name in known and isinstance(values, dict):
            for constant in values:
                if constant not in known[name].constants:
                    options = known[name].constants
                    sentence = unknown(f"{name} has no free constant", constant, options)
                    yield f"constants.{name}.{constant}", sentence
