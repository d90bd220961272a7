"""The centre: a problem, the question asked of it, and the verdicts on it.

`judge` is the heart; `run` and `bounds` call it for every statement of a question. Nothing here
knows files, cases or printing.
"""

from deqcheck.judging.catalogue import catalogue
from deqcheck.judging.errors import UsageError
from deqcheck.judging.question import Question, choose
from deqcheck.judging.reports import bounds, run, trained_together
from deqcheck.judging.training import check_start, train
from deqcheck.judging.verdicts import judge

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
