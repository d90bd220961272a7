"""From where on a theorem applies, in words."""

from __future__ import annotations

from deqcheck.records.entry import RISING, Entry, Trend
from deqcheck.records.verdict import Verdict
from deqcheck.report.parts.numbers import number
from deqcheck.report.parts.sentences import Clock, numbered

# What a theorem promises of the rest of a run, by the names that statements give it.
RATES = {"rate": "rate", "rate_per_step": "rate per step"}


def entry_told(entry: Entry, clock: Clock) -> str:
    """All of it in one line."""
    return ", ".join(entry_lines(entry, clock))


def entry_lines(entry: Entry, clock: Clock) -> list[str]:
    """From where on, in few words; and what else there is to say."""
    if entry.k is not None and entry.t is not None:
        at = f"t = {number(entry.t)}" if clock.flow else f"k = {entry.k}"
        loss = "" if entry.loss is None else f" (loss {number(entry.loss.value, 2)})"
        if entry.verdict is None:
            return [f"applies from {at}{loss}", entry.reason]
        promised = _promised(entry.verdict)
        there = f"{entry.verdict.word.upper()} from there"
        return [f"applies from {at}{loss}, {there}", *([promised] if promised else [])]
    if entry.blocking is None:
        return [f"no later point can do: {entry.reason}"]
    ratio = entry.blocking.ratio
    told = "" if ratio is None else f", ratio {number(ratio, 2)} at the end"
    moves = "" if entry.trend is None else f", {_moves(entry.trend, clock)}"
    why = f" ({entry.reason})" if entry.reason else ""
    return [
        f"never applies along this run: {numbered(entry.blocking)} stays broken{told}{moves}{why}"
        f"{_left_out(entry)}"
    ]


def _promised(verdict: Verdict) -> str:
    for name, words in RATES.items():
        if name in verdict.quantities:
            return f"guaranteed {words} {number(verdict.quantities[name].value, 3)}"
    return ""


def _moves(trend: Trend, clock: Clock) -> str:
    if trend.word != RISING:
        return trend.word
    told = f"{trend.word} from {number(trend.first, 2)}"
    # What a straight line through logarithms says is a guess, and in steps it is none at all.
    if trend.at is None or not clock.flow:
        return told
    return f"{told}; going on so it would hold at about t = {number(trend.at, 2)}, which is a guess"


def _left_out(entry: Entry) -> str:
    left = entry.points - entry.looked_at
    if left <= 0:
        return ""
    return f"; {left} of {entry.points} points were not looked at"
