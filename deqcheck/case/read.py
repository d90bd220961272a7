"""From a case file to a checked case."""

from __future__ import annotations

import copy
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deqcheck.case.digest import digest, fingerprints_of
from deqcheck.case.errors import SET, CaseError, CaseProblem, located
from deqcheck.case.expand import Stated, expand, without_sweep
from deqcheck.case.overrides import override
from deqcheck.case.renamed import notices
from deqcheck.case.schema import CaseFile, read_tree
from deqcheck.case.source import Changes, Source
from deqcheck.case.sweep import KEY
from deqcheck.case.yaml_reader import Unreadable, parse
from deqcheck.fields import Refusal, plain_record, show
from deqcheck.frozen import dataclass
from deqcheck.records.report import Place

if TYPE_CHECKING:
    from deqcheck.judging.question import Question
    from deqcheck.models.problem import AnyProblem

MOST_BYTES = 1 << 20


@dataclass(frozen=True, eq=False, repr=False)
class Case:
    """A checked case: what it states, and where it comes from."""

    stated: CaseFile
    source: Source
    # Of the user's own code that it names, as it is when the case is read.
    plugins: Mapping[str, str]
    # Whether it is no longer what its source states.
    altered: bool = False

    def __repr__(self) -> str:
        return f"<Case {self.full_name or 'without a file'}: {self.stated.title or 'no title'}>"

    @property
    def question(self) -> Question:
        """Which statements are judged, how, and what is expected."""
        from deqcheck.judging.question import Question

        stated = self.stated
        return Question(
            stated.theorems,
            stated.editions,
            stated.constants,
            stated.expect,
            notices(self.source.written),
        )

    def problem(self, scales: Mapping[str, float] | None = None) -> AnyProblem:
        """What it states, built; `scales` are further factors on its arrays. Raises CaseError or
        OutOfRange."""
        from deqcheck.case.build import build_problem

        return build_problem(self, scales)

    @cached_property
    def resolved(self) -> Mapping[str, Any]:
        """The whole case as JSON can hold it, defaults filled in."""
        resolved = without_sweep(plain_record(self.stated))
        # A seed of its own that is that of the rest changes nothing.
        seed, own = self.stated.seed, resolved.pop("seeds")
        own = {stream: other for stream, other in own.items() if other != seed}
        resolved |= {"seeds": own} if own else {}
        if self.stated.rank is None:
            del resolved["rank"]
        return {**resolved, "plugins": self.plugins} if self.plugins else resolved

    @cached_property
    def digest(self) -> str:
        return digest(self.resolved)

    @property
    def full_name(self) -> str:
        return self.source.full_name

    @property
    def full_title(self) -> str:
        title, member = self.stated.title, self.source.member
        return f"{title}, {member.label}" if title and member else title

    @property
    def place(self) -> Place | None:
        member = self.source.member
        words = member and (member.sweep, member.words)
        return Place(self.source.name, self.stated.title, *words) if words else None

    @property
    def replay(self) -> str:
        """The command that runs it again; empty where none does."""
        return "" if self.altered else self.source.replay

    def with_train(self, train: Any) -> Case:
        stated = replace(self.stated, train=train)
        return Case(stated, self.source, fingerprints_of(stated), altered=True)


def read_case(path: str | Path, overrides: Sequence[str] = (), seed: int | None = None) -> Case:
    """Read and check a file that states one case. Raises CaseError with all that is wrong."""
    return only(read_cases(path, overrides, seed))


def read_text(
    text: str,
    name: str,
    folder: Path,
    overrides: Sequence[str] = (),
    seed: int | None = None,
) -> Case:
    """Read and check the text of one case; `name` is what messages call it."""
    return only(read_texts(text, name, folder, overrides, seed))


def only(cases: Sequence[Case]) -> Case:
    """The case of a file that states no more than one. Raises CaseError."""
    if len(cases) == 1:
        return cases[0]
    first = cases[0].source
    assert first.member is not None
    choice = " ".join(f"--set {shlex.quote(setting)}" for setting in first.member.overrides())
    sentence = f"states {len(cases)} cases; expected one: choose it, such as by {choice}"
    raise located(first.name, first.lines, [(KEY, sentence)])


def read_cases(
    path: str | Path, overrides: Sequence[str] = (), seed: int | None = None
) -> list[Case]:
    """Read and check a case file, which states several cases if it has a sweep."""
    return read_texts(text_of(path), str(path), Path(path).parent, overrides, seed)


def text_of(path: str | Path) -> str:
    """Of a case file. Raises CaseError."""
    name = str(path)
    try:
        with open(path, "rb") as stream:
            content = stream.read(MOST_BYTES + 1)
    except IsADirectoryError:
        raise _failed(name, None, "is a directory; expected a case file") from None
    except FileNotFoundError:
        raise _failed(name, None, "no such file") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "not a usable path"
        raise _failed(name, None, f"cannot be read: {reason}") from None
    if len(content) > MOST_BYTES:
        raise _too_large(name)
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise _failed(name, line, "not UTF-8 text") from None


def read_texts(
    text: str,
    name: str,
    folder: Path,
    overrides: Sequence[str] = (),
    seed: int | None = None,
) -> list[Case]:
    """Read and check the text of a case file; `name` is what messages call it."""
    source, problems = parsed(text, name, folder, Changes(tuple(overrides), seed))
    return _stated_in(source, problems)


def parsed(
    text: str, name: str, folder: Path, changes: Changes
) -> tuple[Source, list[CaseProblem]]:
    """The tree of a case file once the changes are made in it, and what cannot be made of it.
    Raises CaseError."""
    if len(text) > MOST_BYTES:
        raise _too_large(name)
    try:
        tree, lines, faults = parse(text)
    except Unreadable as error:
        raise CaseError([CaseProblem(name, *error.fault)]) from None
    if not isinstance(tree, dict):
        found = "the file is empty" if tree is None else f"found {show(tree)}"
        raise _failed(name, 1, f"{found}; expected a mapping that begins with 'deqcheck: 1'")
    source, problems = changed(Source(name, folder, lines, tree), changes)
    return source, [*(CaseProblem(name, *fault) for fault in faults), *problems]


def changed(source: Source, changes: Changes) -> tuple[Source, list[CaseProblem]]:
    """The tree of a case once the changes are made in it, and those that cannot be."""
    tree, lines = copy.deepcopy(dict(source.written)), dict(source.lines)
    refused = override(tree, lines, changes.settings)
    problems = [CaseProblem("--set", None, key, sentence) for key, sentence in refused]
    if changes.seed is not None:
        tree["seed"], lines["seed"] = changes.seed, SET
    before = source.changes
    settings = (*before.settings, *changes.settings)
    both = Changes(settings, before.seed if changes.seed is None else changes.seed)
    return replace(source, written=tree, lines=lines, changes=both), problems


def _stated_in(source: Source, problems: list[CaseProblem]) -> list[Case]:
    """Every case of a tree."""
    name, lines, tree = source.name, dict(source.lines), dict(source.written)
    try:
        every = expand(tree, lines, source.folder)
    except Refusal as refusal:
        problems += located(name, lines, refusal.problems).problems
        every = [Stated(without_sweep(tree), lines)]
    cases = []
    for own, places, member in every:
        here = replace(source, written=own, lines=places, member=member)
        try:
            # Settings from outside may leave something unjudged that the file expects.
            cases.append(checked(here, as_written=not source.changes.settings))
        except CaseError as error:
            problems += error.problems
    if problems:
        # What all cases of a sweep have wrong is said once.
        raise CaseError(dict.fromkeys(problems))
    return cases


def checked(source: Source, as_written: bool = True) -> Case:
    """The case that a tree without a sweep states. Raises CaseError."""
    try:
        stated = read_tree(source.written, source.folder, as_written=as_written)
    except Refusal as refusal:
        raise located(source.name, source.lines, refusal.problems) from None
    return Case(stated, source, fingerprints_of(stated))


def _too_large(name: str) -> CaseError:
    return _failed(name, None, f"larger than {MOST_BYTES} bytes; put arrays into an .npz file")


def _failed(name: str, line: int | None, sentence: str) -> CaseError:
    return CaseError([CaseProblem(name, line, "", sentence)])
