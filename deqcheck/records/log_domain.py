"""Inequalities between positive numbers, in logarithms: for searches over free constants.

The formula that is searched is the one that is judged; only the arithmetic differs: products become
sums, so that nothing under- or overflows, and a maximum on the smaller side (a minimum on the
larger one) becomes one smooth ratio for each of its entries.
"""

from __future__ import annotations

import ast
import copy
import math
from collections.abc import Callable, Iterator, Mapping, Sequence


class Ratios:
    """log(smaller/larger), one for each entry of an extremum: at most 0 where it holds."""

    def __init__(self, smaller: ast.expr, larger: ast.expr, names: Sequence[str], text: str):
        self._names = tuple(names)
        trees = [
            ast.BinOp(_logarithmic(s), ast.Sub(), _logarithmic(g))
            for s in _entries(smaller, "max")
            for g in _entries(larger, "min")
        ]
        self._count = len(trees)
        self._of_logs = _compiled(trees, self._names, text)

    def __len__(self) -> int:
        return self._count

    def __call__(self, values: Mapping[str, float]) -> list[float]:
        """inf where it has no value, as for a negative number; 0/0 is an equality."""
        return self.of_logs({name: logarithm(values[name]) for name in self._names})

    def of_logs(self, known: Mapping[str, float]) -> list[float]:
        """The same, of the logarithms."""
        logs = [known[name] for name in self._names]
        if any(map(math.isnan, logs)):
            return [math.inf] * self._count
        return [0.0 if math.isnan(found) else float(found) for found in self._of_logs(*logs)]


def logarithm(x: float) -> float:
    """Of a number that is not negative."""
    if x > 0:
        return math.log(x)
    return -math.inf if x == 0 else math.nan


def _entries(node: ast.expr, extremum: str) -> Iterator[ast.expr]:
    """The formula with every call of the extremum replaced by each of its arguments."""
    for inner in ast.walk(node):
        if _calls(inner, extremum):
            assert isinstance(inner, ast.Call)
            for argument in inner.args:
                yield from _entries(_replaced(node, inner, argument), extremum)
            return
    yield node


def _replaced(node: ast.expr, old: ast.expr, new: ast.expr) -> ast.expr:
    found = _Replaced(old, new).visit(copy.deepcopy(node))
    assert isinstance(found, ast.expr)
    return found


class _Replaced(ast.NodeTransformer):
    """One node, told by its text, by another."""

    def __init__(self, old: ast.expr, new: ast.expr):
        self._old, self._new = ast.dump(old), new

    def visit(self, node: ast.AST) -> ast.AST:
        return self._new if ast.dump(node) == self._old else super().generic_visit(node)


def _calls(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name


def _logarithmic(node: ast.expr) -> ast.expr:
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return ast.Constant(logarithm(node.value))
    if isinstance(node, ast.Name):
        return node
    if isinstance(node, ast.BinOp):
        return _operation(node)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        inner = [_logarithmic(argument) for argument in node.args]
        if node.func.id == "sqrt":
            return ast.BinOp(inner[0], ast.Mult(), ast.Constant(0.5))
        if node.func.id in ("max", "min"):
            return ast.Call(node.func, inner, [])
    raise ValueError(f"has no logarithm: {ast.unparse(node)}")


def _operation(node: ast.BinOp) -> ast.expr:
    left = _logarithmic(node.left)
    if isinstance(node.op, ast.Pow):
        # The exponent is a number, not one of the positive quantities.
        return ast.BinOp(left, ast.Mult(), node.right)
    right = _logarithmic(node.right)
    if isinstance(node.op, ast.Mult | ast.Div):
        sign: ast.operator = ast.Add() if isinstance(node.op, ast.Mult) else ast.Sub()
        return ast.BinOp(left, sign, right)
    name = "plus" if isinstance(node.op, ast.Add) else "minus"
    return ast.Call(ast.Name(name, ast.Load()), [left, right], [])


def _compiled(
    trees: Sequence[ast.expr], names: Sequence[str], text: str
) -> Callable[..., tuple[float, ...]]:
    """One function of the logarithms, by position."""
    arguments = ast.arguments([], [ast.arg(name) for name in names], None, [], [], None, [])
    body = ast.Tuple([copy.deepcopy(tree) for tree in trees], ast.Load())
    function = ast.Expression(ast.Lambda(arguments, body))
    found: Callable[..., tuple[float, ...]] = eval(
        compile(ast.fix_missing_locations(function), text, "eval"), _FUNCTIONS
    )
    return found


def _plus(a: float, b: float) -> float:
    a, b = (a, b) if a >= b else (b, a)
    return a if math.isinf(b) or math.isinf(a) else a + math.log1p(math.exp(b - a))


def _minus(a: float, b: float) -> float:
    """log(exp(a) - exp(b)); -inf where nothing is left."""
    return a if b == -math.inf else a + math.log(-math.expm1(b - a)) if a > b else -math.inf


_FUNCTIONS = {"plus": _plus, "minus": _minus, "max": max, "min": min, "__builtins__": {}}
