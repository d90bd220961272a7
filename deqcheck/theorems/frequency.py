"""Statements that hold with a stated probability, checked by drawing many seeds.

Seeds are evidence, not proof: the outcome is `consistent` or `inconsistent`, never `confirmed`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, TypeAlias

from deqcheck.linalg.late import scipy
from deqcheck.models.problem import M, Problem, S
from deqcheck.records.claim import Claim
from deqcheck.records.comparison import compare
from deqcheck.records.measured import EPS, Measured
from deqcheck.records.verdict import Outcome
from deqcheck.theorems.base import Check, Statement

# The exact interval misses the true probability in at most this share of all experiments.
MISSED = 1e-3
SEEDS = {"seeds": "how many seeds are tried (default 100)"}
DEFAULT_SEEDS = 100
MOST_SEEDS = 10**7

WORDS = {Outcome.CONFIRMED: Outcome.CONSISTENT, Outcome.REFUTED: Outcome.INCONSISTENT}


def upper_end(successes: int, trials: int) -> float:
    """Of the Clopper-Pearson interval: every larger probability is excluded."""
    if successes == trials:
        return 1.0
    # The quantile of a beta distribution; scipy.stats, which has it by name, takes long to import.
    return float(scipy.special.betaincinv(successes + 1, trials - successes, 1 - MISSED / 2))


def lower_end(successes: int, trials: int) -> float:
    return 1 - upper_end(trials - successes, trials)


def happened(left: Measured, relation: str, right: Measured) -> bool | None:
    """Whether `left relation right`; None where the error bars leave it open."""
    holds, violated = compare(left, relation, right)
    return bool(holds) if holds or violated else None


def probable(claimed: Measured) -> Measured:
    """Cut to [0, 1]: a bound that is negative claims nothing, and none claims more than 1."""
    low, high = (min(max(float(end), 0.0), 1.0) for end in (claimed.low, claimed.high))
    middle = (low + high) / 2
    # Ends are rounded outward, but nothing is claimed beyond 1; against an interval of seeds a few
    # units in the last place do not count.
    return Measured(middle, max(high - middle - 4 * EPS, 0.0), claimed.how)


class Frequency(Statement[M, S]):
    """`event with probability at least p`, for parameters drawn anew from each seed."""

    constants: ClassVar[dict[str, str]] = SEEDS

    agrees = Check(
        "claimed probability not above what the seeds allow",
        "upper_end >= probability",
        "exact interval",
    )

    @property
    def counted(self) -> bool:
        """Whether this edition is one about probabilities."""
        return True

    @property
    def seeds(self) -> int:
        return int(self.fixed.get("seeds", DEFAULT_SEEDS))

    def faults(self) -> Iterable[str]:
        wanted = self.fixed.get("seeds", DEFAULT_SEEDS)
        if not (1 <= wanted <= MOST_SEEDS and float(wanted).is_integer()):
            yield f"{self.id} has seeds = {wanted:g}; expected an integer from 1 to {MOST_SEEDS}"

    def trial(self, p: Problem[M, S], seed: int) -> bool | None:
        """Whether the event happens for this seed: a function of the problem and the seed alone.
        None where rounding leaves it open."""
        raise NotImplementedError

    def probability(self, p: Problem[M, S]) -> Measured:
        """What the statement claims at least."""
        raise NotImplementedError

    def tallies(self, p: Problem[M, S], results: Sequence[Any]) -> Iterable[Claim]:
        """Everything that is claimed over the seeds."""
        yield self.tallied(p, results)

    def tallied(self, p: Problem[M, S], results: Sequence[bool | None]) -> Claim:
        """The claim against the seeds. It is consistent with them also where not even a run of
        failures could have excluded it; the note says so."""
        total, yes, open_ = len(results), results.count(True), results.count(None)
        claimed = probable(self.probability(p))
        low, high = upper_end(yes, total), upper_end(yes + open_, total)
        note = (
            f"the event happened for {yes} of {total} seeds: exact {1 - MISSED:.1%} interval "
            f"[{lower_end(yes, total):.4g}, {high:.4g}]"
        )
        upper = Measured((low + high) / 2, (high - low) / 2)
        if claimed.high <= 0:
            note += "; a probability of 0 is claimed, which is true of anything"
        elif not claimed.low > upper_end(0, total):
            note += "; so few seeds, or so weak a claim, that no failures could exclude it"
        return self.agrees(note, upper_end=upper, probability=claimed)

    @staticmethod
    def word(outcome: Outcome) -> Outcome:
        return WORDS.get(outcome, outcome)


AnyFrequency: TypeAlias = Frequency[Any, Any]
