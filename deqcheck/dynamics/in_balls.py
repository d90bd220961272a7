"""Gradient descent in balls: what the loss is after each step, rounded outward.

The step is made of the nodes of the tower that define the loss and its gradient at the start, with
the arrays of the later step in place of those of the start. The pattern of every equilibrium is
verified at every step; where a ball touches a kink, or has lost its digits, the run ends.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from deqcheck.linalg.exact_relu import on_its_pattern
from deqcheck.models.problem import AnyProblem
from deqcheck.records.lazy import cached_property
from deqcheck.records.tower import Again, NoExactForm
from deqcheck.records.tower.balls import Balls
from deqcheck.records.tower.node import flint

# The pilot run: from the second half of so many steps the bits that a step loses are told.
PILOT, PILOT_BITS = 60, 512
# A share more than that, what is left at the end, and the most that a run may take.
MORE, LEFT, MOST = 1.1, 128, 8192
# Steps that are followed.
LONGEST = 5000


class InBalls:
    """A run of gradient descent, made when somebody asks for it."""

    def __init__(self, p: AnyProblem):
        self._problem = p
        self.step = Fraction(p.step)
        self.nodes = p.start.exact_descent()

    @cached_property
    def _run(self) -> BallDescent | None:
        """With as many bits as a pilot run tells."""
        p, nodes = self._problem, self.nodes
        if nodes is None or nodes[1].keys() != p.theta0.keys() or flint() is None:
            return None
        try:
            pilot = BallDescent(p, nodes, PILOT_BITS)
        except NoExactForm:
            return None
        steps = min(p.train.steps, LONGEST)
        pilot.gap_after(PILOT // 2)
        first = pilot.lost
        pilot.gap_after(PILOT)
        each = max(0.0, pilot.lost - first) / (PILOT - PILOT // 2)
        needed = MORE * (pilot.lost + each * steps) + LEFT
        return BallDescent(p, nodes, 64 * math.ceil(needed / 64)) if needed <= MOST else None

    def gap_after(self, k: int) -> Again | None:
        return None if self._run is None else self._run.gap_after(k)

    @property
    def ended(self) -> str:
        return "" if self._run is None else self._run.ended


class BallDescent:
    """The run, as far as somebody asked for it."""

    def __init__(self, p: AnyProblem, nodes: tuple[Again, Mapping[str, Again]], bits: int):
        gap = nodes[0].spoken
        gradient = {name: node.spoken for name, node in nodes[1].items()}
        self.step, self.gap, self.gradient = Fraction(p.step), gap, gradient
        self.bits, self.ended = bits, ""
        self._level = Balls(bits, math.inf)
        self._names = {
            id(n): name for n in _leaves(gap, *gradient.values()) for name in [_name(n, p)]
        }
        self._order = _ordered(gap, *gradient.values())
        self._fixed: dict[int, Any] = {}
        self._patterns: dict[int, list[set[int]]] = {}
        with self._level.flint.ctx.workprec(bits):
            self._theta = {name: self._array(a) for name, a in p.theta0.items()}
            self._size = self._level.rational(self.step)
        self._gaps: list[Any] = []

    def _array(self, a: np.ndarray) -> Any:
        columns = a.reshape(len(a), -1)
        q = self._level.flint.fmpq
        exact = [q(*float(x).as_integer_ratio()) for x in columns.ravel()]
        mat = self._level.flint.fmpq_mat(*columns.shape, exact)
        return self._level.flint.arb_mat(mat)

    @property
    def lost(self) -> float:
        """Bits, by the widest entry of the parameters."""
        entries = [x for a in self._theta.values() for x in a.entries()]
        widest = max((_exponent(x.rad()) for x in entries), default=0)
        largest = max((_exponent(x.mid()) for x in entries), default=0)
        return max(0.0, self.bits + widest - largest)

    def gap_after(self, k: int) -> Again | None:
        with self._level.flint.ctx.workprec(self.bits):
            while len(self._gaps) <= min(k, LONGEST) and not self.ended:
                self._go_on()
        if k >= len(self._gaps):
            return None
        found = self._gaps[k]
        return self.gap if k == 0 else Again(lambda level: _seen(level, found))

    def _go_on(self) -> None:
        k = len(self._gaps)
        try:
            values = self._evaluated()
        except NoExactForm:
            self.ended = f"certified until k = {k - 1}: a ball touches a kink at k = {k}"
            return
        found = values[id(self.gap)]
        if not found.is_finite() or float(found.rad()) > 1e-9 * abs(float(found.mid())) + 1e-300:
            self.ended = f"certified until k = {k - 1}: the balls are wide at k = {k}"
            return
        self._gaps.append(found)
        moved = {n: self._theta[n] - values[id(g)] * self._size for n, g in self.gradient.items()}
        if all(x.is_finite() for a in moved.values() for x in a.entries()):
            self._theta |= moved
        else:
            self.ended = f"certified until k = {k}: the balls are wide at k = {k + 1}"

    def _evaluated(self) -> dict[int, Any]:
        known: dict[int, Any] = {}
        for node in self._order:
            name = self._names.get(id(node))
            if name:
                known[id(node)] = self._theta[name]
            elif id(node) in self._fixed:
                known[id(node)] = self._fixed[id(node)]
            else:
                known[id(node)] = self._made(node, known)
        return known

    def _made(self, node: Again, known: Mapping[int, Any]) -> Any:
        word = node.word
        assert word is not None
        parts = [known[id(part.spoken)] for part in word.of]
        if word.op == "relu_equilibrium":
            mask = word.given["pattern"]
            before = self._patterns.get(id(node)) or [
                set(np.flatnonzero(c).tolist()) for c in mask.T
            ]
            W, C = parts
            found, self._patterns[id(node)] = on_its_pattern(self._level, W, C, before)
            return found
        if word.op == "scaled":
            return parts[1] * parts[0]
        if not word.of or word.op == "onto_row_space":
            self._fixed[id(node)] = node.at(self._level)
            return self._fixed[id(node)]
        return node.made(self._level, parts)


def _exponent(x: Any) -> float:
    """Of an exact ball: about its logarithm to the base 2."""
    mantissa, exponent = x.man_exp()
    return int(abs(mantissa)).bit_length() + int(exponent) if mantissa else -math.inf


def _seen(level: Any, ball: Any) -> Any:
    """What balls found is the same on every level of balls, and on no other."""
    if level.exact:
        raise NoExactForm
    return ball


def _leaves(*nodes: Again) -> list[Again]:
    return [node for node in _ordered(*nodes) if node.word is not None and node.word.op == "array"]


def _ordered(*nodes: Again) -> list[Again]:
    """Each node after those that it is made of. Raises NoExactForm where one has no words."""
    found: dict[int, Again] = {}

    def visit(node: Again) -> None:
        if id(node) in found:
            return
        if node.word is None:
            raise NoExactForm
        for part in node.word.of:
            visit(part.spoken)
        found[id(node)] = node

    for node in nodes:
        visit(node)
    return list(found.values())


def _name(leaf: Again, p: AnyProblem) -> str:
    """Of the parameter that an array is; empty for the data."""
    assert leaf.word is not None
    entries = leaf.word.given["entries"]
    if isinstance(entries, np.ndarray):
        for name, a in p.theta0.items():
            if np.shares_memory(entries, a):
                return name
    return ""
