"""The centre: a problem, the question asked of it, and the verdicts on it.

`judge` is the heart; `run` and `bounds` call it for every statement of a question. Nothing here
knows files, cases or printing. Whoever only asks which statements there are waits for no dynamics:
what judges is imported when it is used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from deqcheck.judging.catalogue import catalogue
from deqcheck.judging.errors import UsageError
from deqcheck.judging.question import Question, choose

if TYPE_CHECKING:
    from deqcheck.judging.reports import bounds, run, trained_together
    from deqcheck.judging.training import check_start, train
    from deqcheck.judging.verdicts import judge

_HOMES = {
    **dict.fromkeys(("bounds", "run", "trained_together"), "deqcheck.judging.reports"),
    **dict.fromkeys(("check_start", "train"), "deqcheck.judging.training"),
    "judge": "deqcheck.judging.verdicts",
}

__all__ = [
    "Question",
    "UsageError",
    "bounds",
    "catalogue",
    "check_start",
    "choose",
    "judge",
    "run",
    "train",
    "trained_together",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'deqcheck.judging' has no attribute {name!r}")
