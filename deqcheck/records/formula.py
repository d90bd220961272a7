"""Formulas as text that is also the code: a claim shows exactly what it computes.

`Formula("a^2 <= exp(-2*rate*t)").sides({...})` evaluates both sides in outward arithmetic.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import cache
from typing import Any, TypeAlias

from deqcheck.frozen import dataclass
from deqcheck.records import log_domain
from deqcheck.records import measured as ms
from deqcheck.records.lazy import cached_property
from deqcheck.records.measured import Measured, given, measured

RELATIONS = ("<=", ">=", "==", "<", ">")
# What rounding, and the tolerance of a solver, may make of a zero.
NOISE = "noise"

_OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}
_FUNCTIONS: dict[str, Callable[..., Measured]] = {
    "exp": ms.exp,
    "log": ms.log,
    "sqrt": ms.sqrt,
    "cosh": ms.cosh,
    "min": ms.minimum,
    "max": ms.maximum,
    "abs": lambda x: abs(measured(x)),
}
# One side of a formula.
Evaluation: TypeAlias = Callable[[Mapping[str, Any]], Measured]
_LANGUAGE = (ast.Constant, ast.Name, ast.UnaryOp, ast.BinOp, ast.Call)


class FormulaError(ValueError):
    """A formula that is none, or values that are not those it names."""


@dataclass(frozen=True)
class Formula:
    """`left RELATION right` in plain ASCII; `^` is the power."""

    text: str

    def check(self) -> None:
        """Raises FormulaError where it could not be evaluated whatever the values."""
        for side in self.trees:
            _refuse_foreign(side)

    @cached_property
    def relation(self) -> str:
        return self._split[1]

    @cached_property
    def _split(self) -> tuple[str, str, str]:
        for relation in RELATIONS:
            left, found, right = self.text.partition(relation)
            if found:
                return left, relation, right
        raise FormulaError(f"has no relation; expected one of {', '.join(RELATIONS)}")

    @cached_property
    def names(self) -> frozenset[str]:
        """The variables that a caller must give."""
        nodes = [n for side in self.trees for n in ast.walk(side)]
        called = {id(n.func) for n in nodes if isinstance(n, ast.Call)}
        return frozenset(n.id for n in nodes if isinstance(n, ast.Name) and id(n) not in called)

    @cached_property
    def rounding(self) -> bool:
        """Whether the right side is nothing but `noise`: then the left side is 0, or has a sign, up
        to rounding, and how far below the noise it lies depends on the machine."""
        right = self.trees[1]
        if isinstance(right, ast.UnaryOp):
            right = right.operand
        return isinstance(right, ast.Name) and right.id == NOISE

    @cached_property
    def trees(self) -> tuple[ast.expr, ast.expr]:
        left, _, right = self._split
        return _parse(left), _parse(right)

    def sides(self, values: Mapping[str, Any]) -> tuple[Measured, Measured]:
        if not self.names <= values.keys():
            missing = sorted(self.names - values.keys())
            raise FormulaError(f"names {' and '.join(missing)}, for which no value was given")
        left, right = self._evaluations
        return left(values), right(values)

    @cached_property
    def _evaluations(self) -> tuple[Evaluation, Evaluation]:
        left, right = self.trees
        return _evaluation(left), _evaluation(right)

    @cached_property
    def _ratios(self) -> log_domain.Ratios:
        left, right = self.trees
        smaller, larger = (left, right) if self.relation[0] == "<" else (right, left)
        return log_domain.Ratios(smaller, larger, sorted(self.names), self.text)

    @property
    def entries(self) -> int:
        """How many ratios it has."""
        return len(self._ratios)

    def log_ratios(self, values: Mapping[str, float]) -> list[float]:
        """log(smaller/larger) of an inequality between positive numbers, for searches that need no
        error bars: at most 0 where it holds, one for each entry of a maximum on the smaller side
        or a minimum on the larger one."""
        return self._ratios(values)

    def log_ratios_of_logs(self, logs: Mapping[str, float]) -> list[float]:
        """The same, of logarithms that several formulas share."""
        return self._ratios.of_logs(logs)


def _parse(text: str) -> ast.expr:
    try:
        return ast.parse(text.strip().replace("^", "**"), mode="eval").body
    except SyntaxError as error:
        raise FormulaError(f"cannot be read at {text.strip()!r}: {error.msg}") from None


def _refuse_foreign(side: ast.expr) -> None:
    for node in ast.walk(side):
        if isinstance(node, ast.Call):
            name = node.func.id if isinstance(node.func, ast.Name) else ast.unparse(node.func)
            if name not in _FUNCTIONS:
                known = ", ".join(_FUNCTIONS)
                raise FormulaError(f"calls {name}, which is none of its functions {known}")
        elif isinstance(node, ast.expr) and not isinstance(node, _LANGUAGE):
            raise FormulaError(f"has {ast.unparse(node)!r}, which is not part of its language")
        elif isinstance(node, ast.operator) and type(node) not in _OPERATORS:
            raise FormulaError(f"has the operator {type(node).__name__}, which is not part of it")


@cache
def _constant(x: float) -> Measured:
    """A decimal such as 0.14375 that no double equals carries its rounding."""
    return given(Fraction(repr(x)))


def _evaluation(node: ast.expr) -> Evaluation:
    """What the node says, as a function of the values."""
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
        constant = _constant(node.value)
        return lambda values: constant
    if isinstance(node, ast.Name):
        name = node.id
        return lambda values: measured(values[name])
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = _evaluation(node.operand)
        return lambda values: -inner(values)
    if isinstance(node, ast.BinOp):
        return _binary(_OPERATORS[type(node.op)], node)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        function, arguments = _FUNCTIONS[node.func.id], [_evaluation(a) for a in node.args]
        return lambda values: function(*[each(values) for each in arguments])
    raise ValueError(f"not part of the formula language: {ast.dump(node)}")


def _binary(apply: Callable[[Any, Any], Any], node: ast.BinOp) -> Evaluation:
    left, power = _evaluation(node.left), node.right
    if apply is operator.pow and isinstance(power, ast.Constant) and isinstance(power.value, int):
        exponent = power.value
        return lambda values: left(values) ** exponent
    right = _evaluation(power)
    return lambda values: apply(left(values), right(values))
