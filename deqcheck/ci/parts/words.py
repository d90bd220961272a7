"""The gate in words."""

from __future__ import annotations

import shlex
from collections import Counter

from deqcheck.ci.records import Gate, Row


def outcomes(row: Row) -> str:
    """`2 confirmed, 1 not applicable`."""
    counted = Counter(statement["outcome"] for statement in row.statements)
    return ", ".join(f"{counted[word]} {word}" for word in sorted(counted))


def replay(row: Row) -> str:
    """The command that does the case again."""
    settings = (word for setting in row.result.settings for word in ("--set", setting))
    return shlex.join(["deqcheck", "run", row.result.path, *settings])


def summary(gate: Gate) -> str:
    """`12 cases: 10 ok, 2 failed`."""
    total = len(gate.rows)
    counts = ", ".join(f"{n} {word}" for word, n in gate.count().items())
    text = f"{total} case{'s' if total != 1 else ''}: {counts}"
    return f"{text}, {len(gate.missing)} missing" if gate.missing else text


def missing(name: str) -> str:
    return f"{name}: in the baseline, but there is no case of this name"


def skipped(gate: Gate) -> str:
    """Which YAML files were left out, if any."""
    if not gate.skipped:
        return ""
    return f"not cases (no key `deqcheck`): {', '.join(gate.skipped)}"
