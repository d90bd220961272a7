"""The step of Theorem 2 and its parts as gamma tends to 1, computed again."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from deqcheck.linalg import exact
from deqcheck.models.delm.exact import ExactDelm
from deqcheck.records.lazy import cached_property
from deqcheck.records.tower import Again, Level, rational
from deqcheck.theorems.kawaguchi2021 import chains


class ExactSplit:
    """Of one output; the numbers are nodes of the tower."""

    def __init__(self, state: ExactDelm, Q: Again, delta: float):
        self._state, self._gradient = state, exact.transpose(Q)
        self._delta, self._share = rational(delta), rational(Fraction(1, state.m))

    @cached_property
    def _pi(self) -> Again:
        return chains.exact_stationary(self._state.S)

    @cached_property
    def _r(self) -> Again:
        """delta S_t U^-1 grad L0."""
        solved = exact.product(self._state.inverse, self._gradient)
        weighted = exact.hadamard(self._state.block_scalars, solved)
        return exact.scaled(self._delta, weighted)

    @cached_property
    def _step(self) -> Again:
        """-V: U^-T r, a column."""
        return exact.product(exact.transpose(self._state.inverse), self._r)

    @property
    def spread(self) -> Again:
        """Of the entries of V."""
        largest, smallest = (Again(f, self._step) for f in (exact.largest, exact.smallest))
        return Again("plus", largest, Again("minus", smallest))

    @property
    def mean(self) -> Again:
        """|mean V|."""
        return Again("size", Again("times", self._share, Again(exact.summed, self._step)))

    @cached_property
    def _along(self) -> Again:
        """pi . r, a number."""
        return exact.entry(exact.product(exact.transpose(self._pi), self._r), 0)

    @property
    def multiple(self) -> Again:
        return Again("size", self._along)

    @property
    def growth(self) -> Again:
        """|pi . (r - mean r)|."""
        mean = Again("times", self._share, Again(exact.summed, self._r))
        return Again("size", Again("plus", self._along, Again("minus", mean)))

    @cached_property
    def _q(self) -> Again:
        """r - (pi . r) 1."""
        return Again(_without_multiple, self._r, self._pi)

    @property
    def rest(self) -> Again:
        turned = exact.transpose(self._state.inverse)
        return _largest_modulus(exact.product(turned, self._q))

    @property
    def limit(self) -> Again:
        """(I - S)^#T q solves (I - S^T + 1 pi^T) x = q, as pi . q = 0."""
        return _largest_modulus(Again(_settled, self._state.S, self._pi, self._q))


def _largest_modulus(a: Again) -> Again:
    return exact.norm1(exact.transpose(a))


def _without_multiple(level: Level, r: Any, pi: Any) -> Any:
    along = (pi.transpose() * r)[0, 0]
    return exact.mapped(level, r, lambda x: x - along)


def _settled(level: Level, S: Any, pi: Any, q: Any) -> Any:
    m = S.nrows()
    entries = [int(i == j) - S[j, i] + pi[j, 0] for i in range(m) for j in range(m)]
    return exact.solution(level, exact.matrix(level, m, m, entries), q)
