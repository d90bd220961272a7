"""Refusing input: keys with sentences, collected on the way up."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any


class Refusal(Exception):
    """Input that is refused: pairs of a dotted key and a sentence.

    The keys are relative to whoever refuses; `below` puts the rest in front on the way up.
    The key "" is the refusing part itself.
    """

    def __init__(self, key: str, sentence: str) -> None:
        super().__init__(key, sentence)
        self.problems = [(key, sentence)]


def refuse(problems: Iterable[tuple[str, str]]) -> None:
    """Raise one Refusal for all these problems, if there are any."""
    if every := list(problems):
        refusal = Refusal(*every[0])
        refusal.problems = every
        raise refusal


@contextmanager
def collect(problems: list[tuple[str, str]], key: str = "") -> Iterator[None]:
    """Go on after a refusal: its problems are added to `problems`, with `key` in front."""
    try:
        yield
    except Refusal as refusal:
        problems += [(join(key, sub), sentence) for sub, sentence in refusal.problems]


@contextmanager
def below(key: str) -> Iterator[None]:
    """Put `key` in front of the keys of whatever is refused inside."""
    problems: list[tuple[str, str]] = []
    with collect(problems, key):
        yield
    refuse(problems)


def join(key: str, sub: str) -> str:
    """A dotted key; list indices such as `[2]` need no dot."""
    return f"{key}.{sub}" if key and sub and not sub.startswith("[") else key + sub


def show(value: Any) -> str:
    """A value as it may stand in a one-line message."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Mapping):
        return "a mapping" if value else "an empty mapping"
    if isinstance(value, (list, tuple)):
        return "a list" if value else "an empty list"
    if hasattr(value, "shape"):
        return f"an array of shape {value.shape}"
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def nearest(word: str, options: Iterable[str]) -> str | None:
    """The option that was probably meant."""
    if len(word) > 100:
        return None
    import difflib

    folded = {option.casefold(): option for option in options}
    near = difflib.get_close_matches(word.casefold(), folded, n=1)
    return folded[near[0]] if near else None


def did_you_mean(word: str, options: Iterable[str], otherwise: str = "") -> str:
    """` (did you mean 'x'?)` if an option is near."""
    near = nearest(word, options)
    return f" (did you mean {near!r}?)" if near else otherwise


def unknown(what: str, word: str, options: Collection[str]) -> str:
    """The sentence for a word that is none of the options."""
    return f"{what} {show(word)}{did_you_mean(word, options, f'; expected {one_of(options)}')}"


def one_of(options: Collection[str]) -> str:
    """The options as they stand after `expected`."""
    if not options:
        return "none"
    return next(iter(options)) if len(options) == 1 else f"one of {', '.join(options)}"
