"""The public functions of deqcheck: cases and arrays in, reports and verdicts out.

Nothing is printed. Bad input raises CaseError or UsageError with the sentences that the command
line prints.
"""

from deqcheck.api.cases import load, problem, read, statements
from deqcheck.api.certificates import verify
from deqcheck.api.explored import advise, entry, falsify, model_checkup
from deqcheck.api.judged import bounds, check, judge, run, run_all
from deqcheck.api.swept import sweep

__all__ = [
    "advise",
    "bounds",
    "check",
    "entry",
    "falsify",
    "judge",
    "load",
    "model_checkup",
    "problem",
    "read",
    "run",
    "run_all",
    "statements",
    "sweep",
    "verify",
]
