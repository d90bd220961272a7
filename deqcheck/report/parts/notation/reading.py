"""From the formula that is computed to the tree that is typeset."""

from __future__ import annotations

import ast
from functools import lru_cache

from deqcheck.records.formula import Formula
from deqcheck.report.parts.notation.nodes import (
    Absolute,
    Call,
    Negative,
    Node,
    Number,
    Power,
    Product,
    Quotient,
    Relation,
    Root,
    Sum,
)
from deqcheck.report.parts.notation.symbols import symbol


@lru_cache(maxsize=4096)
def read(formula: str, scope: str = "") -> Relation:
    """`scope` is the id of the statement whose names they are."""
    parsed = Formula(formula)
    left, right = (_node(tree, scope) for tree in parsed.trees)
    return Relation(left, parsed.relation, right)


def _node(tree: ast.expr, scope: str) -> Node:
    if isinstance(tree, ast.Constant):
        return Number(repr(tree.value))
    if isinstance(tree, ast.Name):
        return symbol(tree.id, scope)
    if isinstance(tree, ast.UnaryOp):
        return Negative(_node(tree.operand, scope))
    if isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name):
        return _called(tree.func.id, tuple(_node(each, scope) for each in tree.args))
    if isinstance(tree, ast.BinOp):
        return _joined(tree.op, _node(tree.left, scope), _node(tree.right, scope))
    raise ValueError(f"not part of the formula language: {ast.dump(tree)}")


def _called(function: str, arguments: tuple[Node, ...]) -> Node:
    if function == "sqrt":
        return Root(*arguments)
    if function == "abs":
        return Absolute(*arguments)
    return Call(function, arguments)


def _joined(operator: ast.operator, left: Node, right: Node) -> Node:
    if isinstance(operator, ast.Pow):
        return Power(left, right)
    if isinstance(left, Negative) and isinstance(operator, ast.Mult | ast.Div):
        # -2*a is -(2*a).
        return Negative(_joined(operator, left.term, right))
    if isinstance(operator, ast.Div):
        return Quotient(left, right)
    if isinstance(operator, ast.Mult):
        first = left.factors if isinstance(left, Product) else (left,)
        rest = right.factors if isinstance(right, Product) else (right,)
        return Product((*first, *rest))
    terms = left.terms if isinstance(left, Sum) else ((False, left),)
    return Sum((*terms, (isinstance(operator, ast.Sub), right)))
