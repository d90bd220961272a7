"""Real numbers that are computed again, better: see `node`."""

from deqcheck.records.tower.compare import Answer, compared
from deqcheck.records.tower.node import (
    Again,
    Contradiction,
    Exhausted,
    Level,
    NoExactForm,
    Untold,
    certifying,
    effort,
    flint,
    integer,
    is_certifying,
    rational,
    worded,
)

__all__ = [
    "Again",
    "Answer",
    "Contradiction",
    "Exhausted",
    "Level",
    "NoExactForm",
    "Untold",
    "certifying",
    "compared",
    "effort",
    "flint",
    "integer",
    "is_certifying",
    "rational",
    "worded",
]
