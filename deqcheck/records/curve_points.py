"""Curves along a run that is followed in exact numbers: decided once more, point by point."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from deqcheck.records.comparison import Decision
from deqcheck.records.tower.following import followed
from deqcheck.records.tower.recorder import recorder

if TYPE_CHECKING:
    from deqcheck.records.claim import Claim
    from deqcheck.records.judged import CurveFacts, Judged


def certified_curve(points: Callable[[int], Claim | None], found: Judged) -> Judged:
    """A curve that exact numbers decide at each of its points: where it is first violated, or
    everywhere that it was judged. Where they decide a part of it, that is noted."""
    facts = found.curve
    if facts is None or found.decision is Decision.UNDECIDED:
        return found
    seen: list[tuple[Claim, Judged, int]] = []
    for i in _judged_at(facts):
        claim = points(i)
        again = None if claim is None else claim.decided()
        if claim is None or again is None or not again.basis.certified:
            break
        if again.decision is not found.decision:
            break
        seen.append((claim, again, int(facts.k[i])))
    else:
        return _with_points(found, seen)
    if not seen:
        return found
    run = followed()
    until = f"certified until k = {seen[-1][2]}"
    told = run.ended if run is not None and run.ended else until
    return replace(found, note=f"{found.note}; {told}" if found.note else told)


def _judged_at(facts: CurveFacts) -> list[int]:
    """The positions that a decision rests on."""
    if facts.first_violation is not None:
        return [int(np.flatnonzero(facts.k == facts.first_violation.k)[0])]
    last = facts.last if facts.horizon is None else facts.horizon
    return np.flatnonzero((facts.k >= facts.first) & (facts.k <= last)).tolist()


def _with_points(found: Judged, seen: list[tuple[Claim, Judged, int]]) -> Judged:
    if not seen:
        return found
    coarsest = max((again.basis for _, again, _ in seen), key=lambda basis: len(basis.by))
    proof, table = None, recorder()
    if table is not None:
        table.follow(followed())
        proofs = [(claim.proof(again), k) for claim, again, k in seen]
        points = [[k, each["left"], each["right"]] for each, k in proofs]
        proof = {**proofs[0][0], "moving": list(seen[0][0].moving), "points": points}
    return replace(found, basis=coarsest, proof=proof)
