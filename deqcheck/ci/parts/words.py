"""The gate in words."""

from __future__ import annotations

from collections import Counter

from deqcheck.ci.records import Gate, Row

# Words that are nouns.
NOUNS = ("bad case", "numerical failure")


def outcomes(row: Row) -> str:
    """`2 confirmed, 1 not applicable`."""
    counted = Counter(statement["outcome"] for statement in row.statements)
    return ", ".join(f"{counted[word]} {word}" for word in sorted(counted))


def summary(gate: Gate) -> str:
    """`12 cases: 10 ok, 2 failed`."""
    total = len(gate.rows) + len(gate.unfinished)
    counts = [_several(n, word) if word in NOUNS else f"{n} {word}" for word, n in _count(gate)]
    text = f"{_several(total, 'case')}: {', '.join(counts)}"
    return f"partial, interrupted: {text}" if gate.partial else text


def _count(gate: Gate) -> list[tuple[str, int]]:
    others = {"missing": len(gate.missing), "not finished": len(gate.unfinished)}
    return [*gate.count().items(), *((word, n) for word, n in others.items() if n)]


def _several(n: int, noun: str) -> str:
    return f"{n} {noun}{'s' if n != 1 else ''}"


def missing(name: str) -> str:
    return f"{name}: in the baseline, but there is no case of this name"


def skipped(gate: Gate) -> str:
    """Which YAML files were left out, if any."""
    if not gate.skipped:
        return ""
    return f"not cases (no key `deqcheck`): {', '.join(gate.skipped)}"


def unfinished(name: str) -> str:
    return f"{name}: not finished when the run was interrupted"
