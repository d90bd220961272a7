"""Real numbers that are computed again, better: see `node`."""

from deqcheck.records.tower.compare import Answer, compared
from deqcheck.records.tower.node import (
    Again,
    Exhausted,
    Level,
    NoExactForm,
    flint,
    integer,
    rational,
)

__all__ = [
    "Again",
    "Answer",
    "Exhausted",
    "Level",
    "NoExactForm",
    "compared",
    "flint",
    "integer",
    "rational",
]
