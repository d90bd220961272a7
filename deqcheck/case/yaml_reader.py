"""YAML in; plain values, the line of every key and what was wrong out.

Works on PyYAML's events: nothing is ever constructed from a tag, no alias is expanded, and the
nesting is known before Python's own stack is at risk. Scalars follow YAML 1.2 (`1e-3` is a
number, `on` is a word), and all keys are text.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import yaml

from deqcheck.fields import join, show

MOST_NESTING = 20
# Where libyaml and PyYAML's own parser do not agree.
_DOUBTFUL = re.compile("[\t?|>\ufeff]")

_WORDS: dict[str, Any] = dict.fromkeys(("", "~", "null", "Null", "NULL"))
_WORDS |= dict.fromkeys(("true", "True", "TRUE"), True)
_WORDS |= dict.fromkeys(("false", "False", "FALSE"), False)
# So many digits fit a float; longer integers are read as floats.
_INTEGER = re.compile(r"[-+]?[0-9]{1,300}")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_NOT_FINITE = re.compile(r"([-+]?)\.?(inf|Inf|INF|nan|NaN|NAN)")


class Fault(NamedTuple):
    line: int
    key: str
    sentence: str


class Unreadable(Exception):
    """A fault that ends the reading."""

    def __init__(self, line: int, key: str, sentence: str) -> None:
        super().__init__(line, key, sentence)
        self.fault = Fault(line, key, sentence)


class Tree(NamedTuple):
    """A YAML document. Keys are dotted, list items `[0]`; items share their list's line."""

    value: Any
    lines: dict[str, int]
    faults: list[Fault]


def parse(text: str) -> Tree:
    """The only document of a YAML text. Raises Unreadable."""
    return _by_libyaml(text) or _by_pyyaml(text)


def _by_libyaml(text: str) -> Tree | None:
    """Ten times as fast. What it refuses is left to the parser whose sentences are known."""
    if not yaml.__with_libyaml__ or _DOUBTFUL.search(text):
        return None
    try:
        return _Composer(text, yaml.CSafeLoader(text)).document()
    except (yaml.YAMLError, Unreadable, ValueError, OverflowError, AttributeError):
        # Among them what needs the line of a loader: libyaml's has none.
        return None


def _by_pyyaml(text: str) -> Tree:
    try:
        return _Composer(text, yaml.SafeLoader(text)).document()
    except yaml.reader.ReaderError as error:
        # The whole text is checked before the first event, so there is no mark yet.
        line = text.count("\n", 0, error.position) + 1
        raise Unreadable(line, "", f"character U+{error.character:04X} is not allowed") from None


def read_title(text: str) -> str:
    """The title of a case that is known to be valid; what comes after it is not read."""
    return str(_Composer(text, yaml.SafeLoader(text)).first("title") or "")


class _Composer:
    def __init__(self, text: str, loader: Any) -> None:
        self.text, self.loader = text, loader
        self.lines: dict[str, int] = {}
        self.faults: list[Fault] = []

    def document(self) -> Tree:
        self._next()
        if isinstance(self._peek(), yaml.StreamEndEvent):
            return Tree(None, {}, [])
        self._next()
        value = self._value("", 0)
        self._next()
        end = self._peek()
        if not isinstance(end, yaml.StreamEndEvent):
            raise Unreadable(_line(end), "", "a second document begins here; expected only one")
        return Tree(value, self.lines, self.faults)

    def first(self, wanted: str) -> Any:
        """The value of a key of the outermost mapping; None without that key."""
        for _ in ("stream", "document", "mapping"):
            self._next()
        while not isinstance(event := self._next(), yaml.MappingEndEvent):
            value = self._value(event.value, 1)
            if event.value == wanted:
                return value
        return None

    def _value(self, key: str, depth: int) -> Any:
        event = self._next()
        line = _line(event)
        if isinstance(event, yaml.AliasEvent) or event.anchor is not None:
            raise Unreadable(line, key, "anchors and aliases (& and *) are not allowed")
        if event.tag is not None:
            raise Unreadable(line, key, f"tags are not allowed; found {show(event.tag)}")
        if isinstance(event, yaml.ScalarEvent):
            self._encodable(event.value, line, key)
            return event.value if event.style else _scalar(event.value)
        if depth == MOST_NESTING:
            top = key.partition("[")[0]
            raise Unreadable(line, top, f"nested deeper than {MOST_NESTING} levels")
        if isinstance(event, yaml.SequenceStartEvent):
            return self._sequence(key, depth, line)
        return self._mapping(key, depth)

    def _sequence(self, key: str, depth: int, line: int) -> list[Any]:
        items: list[Any] = []
        while not isinstance(self._peek(), yaml.SequenceEndEvent):
            here = f"{key}[{len(items)}]"
            # Only where it says more than the list's own line: an array has many numbers.
            if (own := _line(self._peek())) != line:
                self.lines.setdefault(here, own)
            items.append(self._value(here, depth + 1))
        self._next()
        return items

    def _mapping(self, key: str, depth: int) -> dict[str, Any]:
        items: dict[str, Any] = {}
        while not isinstance(event := self._peek(), yaml.MappingEndEvent):
            line = _line(event)
            if not isinstance(event, yaml.ScalarEvent):
                raise Unreadable(line, key, "a key must be a word")
            if event.anchor is not None or event.tag is not None:
                raise Unreadable(line, key, "a key must be a plain word, without anchor or tag")
            self._next()
            self._encodable(event.value, line, key)
            here = join(key, event.value)
            if event.value in items:
                first = self.lines[here]
                self.faults.append(Fault(line, here, f"given twice; the first is in line {first}"))
                self._value(here, depth + 1)
            else:
                self.lines.setdefault(here, line)
                items[event.value] = self._value(here, depth + 1)
        self._next()
        return items

    def _encodable(self, text: str, line: int, key: str) -> None:
        try:
            text.encode()
        except UnicodeEncodeError:
            raise Unreadable(line, key, "holds half of a surrogate pair") from None

    def _peek(self) -> Any:
        try:
            return self.loader.peek_event()
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            line = mark.line + 1 if mark else self.loader.line + 1
            if mark and self.text[mark.index : mark.index + 1] == "\t":
                raise Unreadable(line, "", "a tab; indent with spaces") from None
            raise Unreadable(line, "", f"not valid YAML: {error.problem}") from None
        except (ValueError, OverflowError):
            # An escape such as "\UFFFFFFFF", or a version with thousands of digits.
            line = self.loader.line + 1
            raise Unreadable(line, "", "not valid YAML: number out of range") from None

    def _next(self) -> Any:
        self._peek()
        return self.loader.get_event()


def _line(event: Any) -> int:
    return int(event.start_mark.line) + 1


def _scalar(text: str) -> Any:
    if text in _WORDS:
        return _WORDS[text]
    if _INTEGER.fullmatch(text):
        return int(text)
    if _FLOAT.fullmatch(text):
        return float(text)
    if match := _NOT_FINITE.fullmatch(text):
        return float(match[1] + match[2])
    return text
