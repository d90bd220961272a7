"""Nodes told to others: a table in which each is an operation on rows before it.

A certificate defines its numbers by such a table over the arrays of the instance. Witnesses go with
the rows: the active units of an equilibrium, and an enclosure of each eigenvalue.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from fractions import Fraction
from typing import Any

import numpy as np

from deqcheck.records.tower.balls import Balls
from deqcheck.records.tower.following import Followed
from deqcheck.records.tower.node import Again, Exhausted, NoExactForm, Untold, Word, flint
from deqcheck.records.tower.rationals import Rationals, Root

# Of a witness: what a ball knows beyond is of no use to the claims that doubles nearly decide.
WITNESS_BITS = 192
# Bits of a rational that is written as it is: Python reads numbers of up to 4300 digits.
LONGEST = 8192
# Exponent of a ball beyond which it is not written.
FARTHEST = 10**5
SPECTRAL = ("eigenvalue", "singular_value")
PATTERNED, NEAR = "relu_equilibrium", "opteq_equilibrium"
_RECORDER: ContextVar[Recorder | None] = ContextVar("recorder", default=None)


class Recorder:
    """The rows, and which nodes stand behind those that have a witness."""

    def __init__(self, arrays: Mapping[str, np.ndarray]):
        self._arrays = {name: _columns(a) for name, a in arrays.items()}
        self._rows: list[dict[str, Any]] = []
        self._places: dict[str, int] = {}
        # The node is kept, so that no other gets its id.
        self._seen: dict[int, tuple[Again, int | None]] = {}
        self._witnessed: dict[int, list[Again]] = {}
        self.descent: dict[str, Any] | None = None

    def place(self, node: Again | None) -> int | None:
        """The row of a node; None where it cannot be told."""
        if node is None:
            return None
        try:
            return self._placed(node)
        except (Untold, RecursionError):
            return None

    def _placed(self, node: Again) -> int:
        if id(node) not in self._seen:
            self._seen[id(node)] = node, None
            self._seen[id(node)] = node, self._told(node)
        found = self._seen[id(node)][1]
        if found is None:
            raise Untold
        return found

    def _told(self, node: Again) -> int:
        word = node.word
        if word is None:
            raise Untold
        if word.op == "array":
            return self._array(word.given["entries"])
        of = [self._placed(part) for part in word.of]
        place = self._row({"op": word.op, **({"of": of} if of else {}), **_given(word)})
        if word.op in (*SPECTRAL, PATTERNED, NEAR):
            self._witnessed.setdefault(place, []).append(node)
        return place

    def _row(self, row: dict[str, Any]) -> int:
        key = json.dumps(row, sort_keys=True)
        if key not in self._places:
            self._places[key] = len(self._rows)
            self._rows.append(row)
        return self._places[key]

    def _array(self, entries: Any) -> int:
        """An array of the instance by its name; others are written out."""
        a = np.array(entries, dtype=object) if isinstance(entries, list) else entries
        own = self._arrays.items()
        if a.dtype == float:
            for name, array in own:
                if np.shares_memory(a, array) and np.array_equal(a, array):
                    return self._row({"op": "array", "name": name})
        if len(a) == a.shape[1] > 1 and np.array_equal(a, np.eye(len(a))):
            return self._row({"op": "identity", "n": len(a)})
        for name, array in own:
            if np.array_equal(a, array):
                return self._row({"op": "array", "name": name})
            if np.array_equal(a, array.T):
                return self._row({"op": "transpose", "of": [self._row(_named(name))]})
        if (a == a.flat[0]).all() if a.size else True:
            value = str(Fraction(a.flat[0])) if a.size else "0"
            rows, columns = a.shape
            return self._row({"op": "constant", "rows": rows, "columns": columns, "value": value})
        for name, array in own:
            for j in range(array.shape[1]) if a.shape[1] == 1 else ():
                if np.array_equal(a[:, 0], array[:, j]):
                    return self._row({"op": "column", "of": [self._row(_named(name))], "j": j})
        return self._row({"op": "literal", "entries": rational_rows(a)})

    def follow(self, run: Followed | None) -> None:
        """Tell the step of a descent, too."""
        if run is not None and run.nodes is not None and self.descent is None:
            places = {name: self.place(node) for name, node in run.nodes[1].items()}
            if None not in places.values():
                self.descent = {"step": str(run.step), "gradient": places}

    def table(self) -> list[dict[str, Any]]:
        """All rows, with the best witnesses that are known by now."""
        found = [dict(row) for row in self._rows]
        for place, nodes in self._witnessed.items():
            found[place] |= _witness(nodes)
        return found


def _named(name: str) -> dict[str, Any]:
    return {"op": "array", "name": name}


def _columns(a: np.ndarray) -> np.ndarray:
    return a.reshape(len(a), -1) if a.ndim < 2 else a


def rational_rows(a: np.ndarray) -> list[list[str]]:
    return [[str(Fraction(x)) for x in row] for row in _columns(a)]


def _given(word: Word) -> dict[str, Any]:
    """The active units are a witness, no part of the definition."""

    def plain(name: str, x: Any) -> Any:
        if isinstance(x, np.ndarray):
            return rational_rows(x)
        return str(Fraction(x)) if name == "value" or isinstance(x, Fraction) else x

    return {name: plain(name, x) for name, x in word.given.items() if name != "pattern"}


def _witness(nodes: list[Again]) -> dict[str, Any]:
    word = nodes[0].word
    assert word is not None
    if word.op == PATTERNED:
        pattern = _pattern(nodes)
        return {} if pattern is None else {"pattern": pattern}
    if word.op == NEAR:
        return _near(nodes)
    squared = word.op == "singular_value"
    found = [each for node in nodes if (each := _enclosure(node, squared)) is not None]
    if not found:
        return {}
    low, high = min(found, key=lambda ends: ends[1] - ends[0])
    return {"within": [str(low), str(high)]}


def _pattern(nodes: list[Again]) -> list[str] | None:
    """The units that are active, a word for each sample; None where doubles alone tell."""
    Z = _state(nodes)[0]
    if Z is None:
        return None
    columns = range(Z.ncols())
    return ["".join("1" if Z[i, j] > 0 else "0" for i in range(Z.nrows())) for j in columns]


def _near(nodes: list[Again]) -> dict[str, Any]:
    """A state: rational where it is known so, else the middle of balls."""
    Z, bits = _state(nodes)
    if Z is None:
        return {}
    entry = _written if bits == 0 else lambda x: _outward(_dyadic(x.mid()), 0)
    columns = range(Z.ncols())
    return {"near": [[str(entry(Z[i, j])) for j in columns] for i in range(Z.nrows())]}


def _state(nodes: list[Again]) -> tuple[Any, int]:
    """As it is known best, and with how many bits. Where nobody needed its numbers, as where a rank
    is told by the widths alone, it is computed now."""
    for node in nodes:
        for bits in _computed(node):
            return node.known(bits), bits
    for level in (Rationals(), Balls(WITNESS_BITS)) if flint() is not None else ():
        try:
            with flint().ctx.workprec(WITNESS_BITS):
                return nodes[0].at(level), level.bits
        except (NoExactForm, Exhausted, RecursionError):
            pass
    return None, 0


def _computed(node: Again) -> list[int]:
    """Exact numbers first, then the finest balls."""
    known = [bits for bits in node.levels if bits >= 0]
    return sorted(known, key=lambda bits: -bits if bits else -(10**9))


def _enclosure(node: Again, squared: bool) -> tuple[Fraction, Fraction] | None:
    """Of an eigenvalue; of a singular value that of its square."""
    for bits in _computed(node):
        ends = _ends(node.known(bits), squared)
        if ends is not None:
            return ends
    return None


def _ends(x: Any, squared: bool) -> tuple[Fraction, Fraction] | None:
    found = flint()
    if isinstance(x, Root):
        return _exactly(_fraction(x.square)) if squared else None
    if isinstance(x, found.fmpq):
        q = _fraction(x)
        return _exactly(q * q if squared else q)
    if not x.is_finite() or any(_far(part) for part in (x.mid(), x.rad())):
        return None
    middle, radius = _dyadic(x.mid()), _dyadic(x.rad())
    low, high = middle - radius, middle + radius
    if squared:
        low, high = max(low, Fraction(0)) ** 2, high**2
    return _outward(low, -1), _outward(high, 1)


def _long(x: Fraction) -> bool:
    return x.numerator.bit_length() + x.denominator.bit_length() > LONGEST


def _exactly(x: Fraction) -> tuple[Fraction, Fraction]:
    return (_outward(x, -1), _outward(x, 1)) if _long(x) else (x, x)


def _written(q: Any) -> Fraction:
    x = _fraction(q)
    return _outward(x, 0) if _long(x) else x


def _outward(x: Fraction, side: int) -> Fraction:
    """A dyadic number of WITNESS_BITS bits, at most this or at least this."""
    if x == 0:
        return x
    shift = WITNESS_BITS - (x.numerator.bit_length() - x.denominator.bit_length())
    scaled = x * Fraction(2) ** shift
    whole = scaled.numerator // scaled.denominator
    return (whole + (side > 0 and whole != scaled)) / Fraction(2) ** shift


def _fraction(q: Any) -> Fraction:
    return Fraction(int(q.p), int(q.q))


def _far(x: Any) -> bool:
    """Whether it would be written with more digits than anybody reads: exponents have no end."""
    return abs(int(x.man_exp()[1])) > FARTHEST


def _dyadic(x: Any) -> Fraction:
    mantissa, exponent = x.man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


def recorder() -> Recorder | None:
    """That of the certificate that is being written, if one is."""
    return _RECORDER.get()


@contextmanager
def recording(kept: Recorder | None) -> Iterator[None]:
    token = _RECORDER.set(kept)
    try:
        yield
    finally:
        _RECORDER.reset(token)
