"""What `bounds --init --search` prints: for each statement, a case in which it applies."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import suppress

from deqcheck import judging
from deqcheck.case import Case
from deqcheck.case.write import case_yaml
from deqcheck.cli.options import AskedFor
from deqcheck.cli.work import Task
from deqcheck.models.problem import NoEquilibrium
from deqcheck.records.arithmetic import in_range
from deqcheck.records.words import DESCENT, RECORDED, dynamics
from deqcheck.search import LARGEST, SMALLEST, FoundScale, search
from deqcheck.theorems.base import AnyStatement, Search


def searched(task: Task, choice: AskedFor) -> str:
    """YAML documents, each preceded by comments that say what was found, and what runs it."""
    if dynamics(task.case.stated.train) == RECORDED:
        raise judging.UsageError(
            "a recorded run starts where it does: to search for a scale, choose other dynamics, "
            "such as by --set 'train={kind: gd, step: 1e-3, steps: 100}'"
        )
    documents = list(_documents(task, choice))
    if not documents:
        raise judging.UsageError("no statement of this case has a scale to search for")
    return "---\n".join(documents)


def _documents(task: Task, choice: AskedFor) -> Iterator[str]:
    case = task.case
    for statement in judging.choose(choice.of(case.question), task.problem):
        for wanted in statement.searches:
            found = search(statement, wanted, case.problem)
            label = f"{statement.id} ({statement.edition}), {wanted.name}"
            if found is None:
                _refuse_out_of_range(statement, task)
                why = statement.obstacle(task.problem)
                reach = f"none between {SMALLEST:g} and {LARGEST:g}"
                yield f"# {label}: {reach}{f' ({why})' if why else ''}\n"
            else:
                changes = _changes(case, wanted, found)
                settings = [f"--set={key}={value!r}" for key, value in changes.items()]
                comment = f"# {label}: {found.scale:.6g}\n# {case.replay} {shlex.join(settings)}\n"
                yield comment + case_yaml(case, changes)


def _refuse_out_of_range(statement: AnyStatement, task: Task) -> None:
    """Where numbers are lost, that no scale was found says nothing."""
    with suppress(NoEquilibrium), in_range():
        judging.check_start(task.problem)
        for hypothesis in statement.hypotheses(task.problem):
            hypothesis.judge()


def _changes(case: Case, wanted: Search, found: FoundScale) -> dict[str, float]:
    """What to set, by dotted key; the step only where the case trains by gradient descent."""
    changes = {f"rescale.{n}": found.scale * case.stated.rescale.get(n, 1.0) for n in wanted.arrays}
    if found.step is not None and dynamics(case.stated.train) == DESCENT:
        changes["train.step"] = found.step
    return changes
