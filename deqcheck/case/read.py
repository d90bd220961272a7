"""From a case file to a checked case."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deqcheck.case.digest import digest
from deqcheck.case.errors import SET, CaseError, CaseProblem, located
from deqcheck.case.expand import Stated, expand, without_sweep
from deqcheck.case.overrides import override
from deqcheck.case.schema import read_tree
from deqcheck.case.sweep import KEY, Member
from deqcheck.case.yaml_reader import Unreadable, parse
from deqcheck.fields import Refusal, plain_record, show

MOST_BYTES = 1 << 20


@dataclass(frozen=True, eq=False)
class Case:
    """A checked case. `data`, `model`, `loss`, `init` and `train` are instances of their kinds."""

    title: str
    seed: int
    data: Any
    model: Any
    loss: Any
    init: Any
    train: Any
    compare: Any
    theorems: tuple[str, ...] | None
    expect: Mapping[str, str | Mapping[str, str]]
    constants: Mapping[str, Mapping[str, float]]
    editions: tuple[str, ...]
    record_points: int
    rescale: Mapping[str, float]
    # The file as the user named it, and where its relative paths start.
    name: str
    folder: Path
    # The whole case as JSON can hold it, defaults filled in.
    resolved: Mapping[str, Any]
    digest: str
    # The case as it was written, overrides included.
    written: Mapping[str, Any]
    # Dotted key -> line, 0 for what `--set` set.
    lines: Mapping[str, int]
    # Which case of a sweep it is.
    member: Member | None = None

    @property
    def full_name(self) -> str:
        """What tells it from every other case of the file."""
        return self.name if self.member is None else f"{self.name}[{self.member.label}]"

    @property
    def full_title(self) -> str:
        return f"{self.title}, {self.member.label}" if self.title and self.member else self.title


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
    first = cases[0]
    assert first.member is not None
    choice = " ".join(f"--set {shlex.quote(setting)}" for setting in first.member.overrides())
    sentence = f"states {len(cases)} cases; expected one: choose it, such as by {choice}"
    raise located(first.name, first.lines, [(KEY, sentence)])


def read_cases(
    path: str | Path, overrides: Sequence[str] = (), seed: int | None = None
) -> list[Case]:
    """Read and check a case file, which states several cases if it has a sweep."""
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
        text = content.decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise _failed(name, line, "not UTF-8 text") from None
    return read_texts(text, name, Path(path).parent, overrides, seed)


def read_texts(
    text: str,
    name: str,
    folder: Path,
    overrides: Sequence[str] = (),
    seed: int | None = None,
) -> list[Case]:
    """Read and check the text of a case file; `name` is what messages call it."""
    if len(text) > MOST_BYTES:
        raise _too_large(name)
    try:
        tree, lines, faults = parse(text)
    except Unreadable as error:
        raise CaseError([CaseProblem(name, *error.fault)]) from None
    if not isinstance(tree, dict):
        found = "the file is empty" if tree is None else f"found {show(tree)}"
        raise _failed(name, 1, f"{found}; expected a mapping that begins with 'deqcheck: 1'")
    problems = [CaseProblem(name, *fault) for fault in faults]
    refused = override(tree, lines, overrides)
    problems += [CaseProblem("--set", None, key, sentence) for key, sentence in refused]
    if seed is not None:
        tree["seed"], lines["seed"] = seed, SET
    try:
        every = expand(tree, lines, folder)
    except Refusal as refusal:
        problems += located(name, lines, refusal.problems).problems
        every = [Stated(without_sweep(tree), lines)]
    cases = []
    for stated in every:
        try:
            # Settings from outside may leave something unjudged that the file expects.
            cases.append(_checked(stated, name, folder, as_written=not overrides))
        except CaseError as error:
            problems += error.problems
    if problems:
        # What all cases of a sweep have wrong is said once.
        raise CaseError(dict.fromkeys(problems))
    return cases


def _checked(stated: Stated, name: str, folder: Path, as_written: bool) -> Case:
    tree, lines, member = stated
    try:
        case = read_tree(tree, folder, as_written=as_written)
    except Refusal as refusal:
        raise located(name, lines, refusal.problems) from None
    resolved = without_sweep(plain_record(case))
    return Case(
        title=case.title,
        seed=case.seed,
        data=case.data,
        model=case.model,
        loss=case.loss,
        init=case.init,
        train=case.train,
        compare=case.compare,
        theorems=case.theorems,
        expect=case.expect,
        constants=case.constants,
        editions=case.editions,
        record_points=case.record.points,
        rescale=case.rescale,
        name=name,
        folder=folder,
        resolved=resolved,
        digest=digest(resolved),
        written=tree,
        lines=lines,
        member=member,
    )


def _too_large(name: str) -> CaseError:
    return _failed(name, None, f"larger than {MOST_BYTES} bytes; put arrays into an .npz file")


def _failed(name: str, line: int | None, sentence: str) -> CaseError:
    return CaseError([CaseProblem(name, line, "", sentence)])
