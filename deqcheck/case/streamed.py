"""The cases of a sweep, of any number: each is made when it is asked for."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from deqcheck.case.axes import SEEDS, typed_grid, typed_seeds, typed_zip
from deqcheck.case.embedded import find_text
from deqcheck.case.errors import GRID, CaseError, CaseProblem, located
from deqcheck.case.expand import beside, grids_of, stated, without_sweep
from deqcheck.case.read import Case, changed, checked, parsed
from deqcheck.case.source import Changes, Source
from deqcheck.case.sweep import GRID as GRID_PART
from deqcheck.case.sweep import KEY, ZIP, Grid, Member
from deqcheck.fields import Refusal, below
from deqcheck.models.problem import AnyProblem
from deqcheck.records.arithmetic import OutOfRange

# Values of one axis that are looked at before anything is run.
PROBES = 1000
# What a sweep is called that was not written in a file.
TYPED = "grid"


@dataclass(frozen=True, eq=False)
class Stream:
    """What a file states, or what is made of it on the command line."""

    source: Source
    grids: tuple[Grid, ...]

    def __len__(self) -> int:
        return sum(grid.size for grid in self.grids)

    @property
    def keys(self) -> tuple[str, ...]:
        """What varies."""
        every = (key for grid in self.grids for axis in grid.axes for key in axis.keys)
        return tuple(dict.fromkeys(every))

    @property
    def title(self) -> str:
        return str(self.source.written.get("title") or "")

    @cached_property
    def _beside(self) -> dict[str, int]:
        return beside(self.source.lines)

    def member(self, position: int) -> Member:
        for grid in self.grids:
            if position < grid.size:
                return grid.member(position)
            position -= grid.size
        raise IndexError(position)

    def replay(self, member: Member) -> str:
        return replace(self.source, member=member).replay

    def case(self, member: Member) -> Case:
        """Raises CaseError."""
        lines = self.source.lines
        try:
            own, places, _ = stated(self.source.written, lines, self._beside, member)
        except Refusal as refusal:
            raise located(self.source.name, lines, refusal.problems) from None
        here = replace(self.source, written=own, lines=places, member=member)
        return checked(here, as_written=False)

    def check(self) -> None:
        """Every value of every axis, before anything is run. Raises CaseError with all that is
        wrong; what is wrong with some combinations only is the result of these."""
        problems: dict[tuple[str, int | None, str], CaseProblem] = {}
        for member in (probe for grid in self.grids for probe in grid.probes(PROBES)):
            try:
                self.case(member)
            except CaseError as error:
                for each in error.problems:
                    # Of many values of a key, the first that is wrong.
                    problems.setdefault((each.file, each.line, each.key), each)
        if problems:
            raise CaseError(problems.values())

    def built(self) -> tuple[Case, AnyProblem] | None:
        """The first member, or else the last, so that what is wrong with all is told at once.
        Raises CaseError where neither can be built."""
        wrong: list[CaseProblem] = []
        for position in dict.fromkeys((0, len(self) - 1)):
            try:
                case = self.case(self.member(position))
                return case, case.problem()
            except CaseError as error:
                wrong += error.problems
            except OutOfRange:
                return None
        raise CaseError(dict.fromkeys(wrong))


def read_stream(
    word: str | os.PathLike[str] | Mapping[str, Any] | Source,
    changes: Changes,
    typed: Mapping[str, Any] | None = None,
    expect: bool = False,
) -> Stream:
    """The sweep of a file, or else the one that is typed: then the file's expectations, which are
    about other numbers, are left out unless they are to be kept. Raises CaseError."""
    if isinstance(word, Mapping | Source):
        here = word if isinstance(word, Source) else Source(written={"deqcheck": 1, **word})
        source, problems = changed(here, changes)
    else:
        text, folder = find_text(word)
        source, problems = parsed(text, os.fspath(word), folder, changes)
    if problems:
        raise CaseError(problems)
    if typed:
        source = _with_typed(source, typed, expect)
    if source.written.get(KEY) is None:
        sentence = "states one case: name what varies, such as by --grid KEY=VALUES or --seeds N"
        raise CaseError([CaseProblem(source.name, None, "", sentence)])
    try:
        grids = grids_of(source.written, source.folder)
    except Refusal as refusal:
        if typed:
            raise CaseError(_of_option(*problem) for problem in refusal.problems) from None
        raise located(source.name, source.lines, refusal.problems) from None
    found = Stream(source, grids)
    found.check()
    return found


def _with_typed(source: Source, typed: Mapping[str, Any], expect: bool) -> Source:
    tree = without_sweep(source.written)
    settings = source.changes.settings
    if not expect and tree.pop("expect", None):
        settings = (*settings, "expect={}")
    # Without lines there is no file, and no option either.
    lines = {**beside(source.lines), KEY: GRID} if source.lines else {}
    return replace(
        source,
        written={**tree, KEY: {TYPED: typed}},
        lines=lines,
        changes=source.changes._replace(settings=settings),
    )


def _of_option(key: str, sentence: str) -> CaseProblem:
    """What is wrong with an option, in its own words: `--grid: model.gamma.points: ...`."""
    option, _, rest = key.removeprefix(f"{KEY}.{TYPED}").lstrip(".").partition(".")
    return CaseProblem(f"--{option or GRID_PART}", None, rest, sentence)


def typed_sweep(
    grid: Sequence[str], zips: Sequence[str], seeds: Sequence[str]
) -> dict[str, dict[str, Any] | Any]:
    """What `--grid`, `--zip` and `--seeds` say, as a case has it. Raises Refusal, with the option
    as key."""
    found: dict[str, Any] = {}
    for option, words, typed in (
        (GRID_PART, grid, typed_grid),
        (ZIP, zips, typed_zip),
        (SEEDS, seeds, typed_seeds),
    ):
        pairs: dict[str, Any] = {}
        for word in words:
            with below(f"--{option}"):
                key, said = typed(word)
                if key in pairs:
                    raise Refusal(key, "given twice")
                pairs[key] = said
        if pairs:
            found[option] = pairs
    if "" in found.get(SEEDS, {}):
        if len(found[SEEDS]) > 1:
            raise Refusal(f"--{SEEDS}", "of everything, or of single streams; not both")
        found[SEEDS] = found[SEEDS][""]
    return found
