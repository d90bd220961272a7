"""A check-up of a trained equilibrium network: five questions, answered by the theorems."""

from __future__ import annotations

import time
from pathlib import Path

from deqcheck.environment import environment
from deqcheck.explore.checkup.answers import answers
from deqcheck.explore.checkup.proofs import posed, proven, tried, two_equilibria
from deqcheck.explore.checkup.reading import Asked, problem
from deqcheck.explore.checkup.samples import samples, verified
from deqcheck.models.problem import NoEquilibrium
from deqcheck.records.arithmetic import in_range
from deqcheck.records.checkup import Checkup

__all__ = ["Asked", "checkup"]


@in_range()
def checkup(asked: Asked) -> Checkup:
    """Raises UsageError or OutOfRange."""
    started = time.perf_counter()
    p, told = problem(asked)
    state = p.start
    found = tried(p)
    two = two_equilibria(state, found)
    notes = list(told)
    try:
        rows = samples(state, asked.has_point, asked.has_targets) if state.N else ()
    except NoEquilibrium as stop:
        rows = ()
        notes.append(f"nothing is said of the samples: {stop}")
    if rows and not proven(found):
        notes += verified(state)
    sizes = {"units": state.n, "inputs": len(state.U.T), "outputs": len(state.C)}
    return Checkup(
        name=Path(asked.path).name,
        sizes={**sizes, "samples": state.N},
        activation=state.s.kind,
        weights=asked.weights or "direct",
        posed=posed(found, two),
        answers=answers(p, found, two, rows),
        tried=found,
        two=two,
        samples=rows,
        notes=tuple(notes),
        seconds=time.perf_counter() - started,
        environment=environment(),
    )
