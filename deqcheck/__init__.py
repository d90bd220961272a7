"""deqcheck: published convergence theorems for deep equilibrium models as checkable statements.

    import deqcheck as dq

    report = dq.run("case.yaml")
    problem = dq.problem("relu-deq", data={"X": X, "y": y}, init={"W": W, "U": U, "a": a})
    verdict = dq.judge("ling2022/thm1", problem, train={"kind": "gd", "step": 1e-3, "steps": 200})

`deqcheck docs python` is the guide. Nothing is imported before it is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from deqcheck.api import (
        advise,
        bounds,
        check,
        entry,
        falsify,
        judge,
        load,
        model_checkup,
        problem,
        read,
        run,
        run_all,
        statements,
        sweep,
        verify,
    )
    from deqcheck.case.errors import CaseError
    from deqcheck.case.read import Case
    from deqcheck.judging.errors import UsageError
    from deqcheck.records.measured import Measured
    from deqcheck.records.report import Report
    from deqcheck.records.verdict import Verdict
    from deqcheck.theorems.base import ANY, Check, Cite, Statement

__version__ = "0.2.0"

# Where each name lives (PEP 562): `deqcheck --version` must not wait for numpy.
_HOMES = {
    "deqcheck.api": (
        *("advise", "bounds", "check", "entry", "falsify", "judge", "load"),
        *("model_checkup", "problem", "read", "run", "run_all", "statements", "sweep", "verify"),
    ),
    "deqcheck.case.errors": ("CaseError",),
    "deqcheck.case.read": ("Case",),
    "deqcheck.judging.errors": ("UsageError",),
    "deqcheck.records.measured": ("Measured",),
    "deqcheck.records.report": ("Report",),
    "deqcheck.records.verdict": ("Verdict",),
    "deqcheck.theorems.base": ("ANY", "Check", "Cite", "Statement"),
}

__all__ = [
    "ANY",
    "Case",
    "CaseError",
    "Check",
    "Cite",
    "Measured",
    "Report",
    "Statement",
    "UsageError",
    "Verdict",
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


def __getattr__(name: str) -> Any:
    from importlib import import_module

    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(home), name)
    raise AttributeError(f"module 'deqcheck' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
