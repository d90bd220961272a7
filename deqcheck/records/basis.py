"""On what a decision rests: on exact numbers, or on error bars."""

from __future__ import annotations

from functools import lru_cache

from deqcheck.frozen import dataclass

# Where a radius comes from, if it is an estimate: with a safety factor, or from what was looked at.
# The weaker ones come first.
TRIALS, COMPANION = "trials", "difference to the second run"
# A rank that the case asks for; the threshold follows.
ASKED_RANK = "numerical rank at "
ESTIMATES = {
    TRIALS: "trials",
    "two integrations": "two runs",
    COMPANION: "companion",
    "sampled infimum": "sampled",
    "parabolas through the samples": "sampled",
    "smallest over the free constants": "search",
    ASKED_RANK: "numerical rank",
    "numerical rank": "LAPACK",
    "the rank is not certain": "LAPACK",
    "Bauer-Fike": "LAPACK",
    "Kato-Temple": "LAPACK",
    "Lanczos above Cholesky": "LAPACK",
    "Lanczos above a certified floor": "LAPACK",
    "Weyl": "LAPACK",
}
# What is known of a run by looking at some of it is not known better than the run.
WEAKER = ("trials", "sampled")
ORDER = {how: i for i, how in enumerate(ESTIMATES)}


@lru_cache(maxsize=1024)
def weakest(*hows: str) -> str:
    """Of several sources of error the weakest estimate; empty where none is one."""
    known = [how for how in hows if _source(how) in ORDER]
    return min(known, key=lambda how: ORDER[_source(how)]) if known else ""


def _source(how: str) -> str:
    return ASKED_RANK if how.startswith(ASKED_RANK) else how


@dataclass(frozen=True)
class Basis:
    """`certified (rational)`, `estimated (float64)`, `estimated (two runs)`."""

    certified: bool
    by: str

    @property
    def kind(self) -> str:
        return "certified" if self.certified else "estimated"

    def __str__(self) -> str:
        return f"{self.kind} ({self.by})"


# The radii count the roundings, but nobody has proven of every one that it does.
FLOATS = Basis(False, "float64")
# What rests on such bars alone.
ROUNDINGS = (FLOATS, Basis(False, "LAPACK"))


@lru_cache(maxsize=1024)
def resting_on(*hows: str) -> Basis:
    """What a comparison of numbers with these sources of error rests on."""
    how = weakest(*hows)
    if not how:
        return FLOATS
    return Basis(False, how if _source(how) == ASKED_RANK else ESTIMATES[how])
