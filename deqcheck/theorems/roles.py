"""What a statement assumes, what it claims and what we add, read off its methods.

A check is assumed if the code of `hypotheses` and its kin comes to it, claimed if only that of
`conclusions` and `claims` does, a remark if only `remarks` does. The code is read, not run: a
branch on `self.printed` belongs to its edition, other branches to every problem. A test compares
what is found with the verdicts of all shipped cases.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any

from deqcheck.theorems.base import (
    DESCENT,
    FLOW,
    GRADIENT_DESCENT,
    GRADIENT_FLOW,
    PRINTED,
    STATIC,
    AnyStatement,
    Check,
    Statement,
)


class Role(str, Enum):
    ASSUMED = "assumed"
    CLAIMED = "claimed"
    REMARK = "remark"


_METHODS = {
    Role.ASSUMED: ("setting", "hypotheses", "step_hypotheses", "path_hypotheses"),
    Role.CLAIMED: ("claims", "conclusions", "tallies"),
    Role.REMARK: ("remarks",),
}


def roles(statement: type[AnyStatement], edition: str) -> dict[Check, Role]:
    """In the order of the class body; what no method comes to is left out."""
    found = dict.fromkeys(_setting(statement), Role.ASSUMED)
    for role, methods in _METHODS.items():
        reader = _Reader(statement, edition == PRINTED)
        for method in methods:
            reader.attribute(method)
        for check in reader.checks:
            found.setdefault(check, role)
    own = [check for check in statement.checks() if check in found]
    others = [check for check in found if check not in own]
    return {check: found[check] for check in (*others, *own)}


def _setting(statement: type[AnyStatement]) -> Iterator[Check]:
    if STATIC not in statement.dynamics:
        if DESCENT not in statement.dynamics:
            yield GRADIENT_FLOW
        elif FLOW not in statement.dynamics:
            yield GRADIENT_DESCENT


def _tree(function: Callable[..., Any]) -> ast.AST:
    """Nothing of what was typed in, or is a lambda."""
    code = function.__code__
    return _functions(code.co_filename).get(code.co_firstlineno, ast.Pass())


@cache
def _functions(file: str) -> dict[int, ast.AST]:
    """The functions of a file by their first line, that of their decorators."""
    try:
        tree = ast.parse(Path(file).read_text(encoding="utf-8"))
    except (OSError, SyntaxError, ValueError):
        return {}
    defined = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    return {min([n.lineno, *(d.lineno for d in n.decorator_list)]): n for n in defined}


def _function(value: Any) -> Callable[..., Any] | None:
    """The code behind a method, a property or a cached property."""
    for name in ("fget", "__func__", "func"):
        value = getattr(value, name, value)
    return value if inspect.isfunction(value) else None


def _checks_in(value: Any) -> Iterator[Check]:
    """A check, or those of a tuple, a list or a mapping."""
    if isinstance(value, Check):
        yield value
    elif isinstance(value, Mapping):
        yield from (check for each in value.values() for check in _checks_in(each))
    elif isinstance(value, tuple | list):
        yield from (check for each in value for check in _checks_in(each))


class _Reader:
    """Goes from one method of a statement through all that it calls, and collects the checks."""

    def __init__(self, statement: type[AnyStatement], printed: bool):
        self.statement, self.printed = statement, printed
        self.checks: dict[Check, None] = {}
        self._been: set[object] = set()

    def attribute(self, name: str, above: type | None = None, at: type | None = None) -> None:
        """`self.name`, or `super().name` in a class, or `Base.name`."""
        order = self.statement.__mro__
        if above is not None:
            order = order[order.index(above) + 1 :]
        elif at is not None:
            order = order[order.index(at) :]
        for owner in order:
            if name in vars(owner):
                self._value(vars(owner)[name], owner)
                return

    def _value(self, value: Any, owner: type | None) -> None:
        self.checks.update(dict.fromkeys(_checks_in(value)))
        function = _function(value)
        if function is None or function in self._been or not _of_theorems(function):
            return
        self._been.add(function)
        _Body(self, function, owner).visit(_tree(function))


def _of_theorems(function: Callable[..., Any]) -> bool:
    """Whether it may come to checks: the contract's own defaults and other rooms do not."""
    module = function.__module__
    if module == Statement.__module__:
        return False
    return ".theorems." in module or not module.startswith("deqcheck.")


class _Body(ast.NodeVisitor):
    """The body of one function."""

    def __init__(self, reader: _Reader, function: Callable[..., Any], owner: type | None):
        self.reader, self.owner = reader, owner
        self.globals = function.__globals__
        # What a local name stands for, one thing after the other, counts where it is used.
        self.locals: dict[str, list[ast.expr]] = {}

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self._block(node.body)

    def _block(self, statements: Iterable[ast.AST]) -> bool:
        """Whether it certainly returns; what comes after that is not read."""
        for statement in statements:
            if isinstance(statement, ast.If):
                if self._branch(statement.test, statement.body, statement.orelse):
                    return True
                continue
            self.visit(statement)
            if isinstance(statement, ast.Return):
                return True
        return False

    def visit_If(self, node: ast.If) -> None:
        self._branch(node.test, node.body, node.orelse)

    def visit_IfExp(self, node: ast.IfExp) -> None:
        self._branch(node.test, [node.body], [node.orelse])

    def _branch(self, test: ast.expr, yes: Iterable[ast.AST], no: Iterable[ast.AST]) -> bool:
        self.visit(test)
        truth = self._truth(test)
        if truth is not None:
            return self._block(yes if truth else no)
        # Both are read, whatever the first one does.
        return all([self._block(yes), self._block(no)])

    def _truth(self, test: ast.expr) -> bool | None:
        """What the edition decides."""
        if isinstance(test, ast.Attribute) and test.attr == "printed":
            return self.reader.printed
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            inner = self._truth(test.operand)
            return None if inner is None else not inner
        if isinstance(test, ast.BoolOp):
            known = [self._truth(each) for each in test.values]
            decisive = isinstance(test.op, ast.Or)
            return decisive if decisive in known else None
        return None

    def visit_Assign(self, node: ast.Assign) -> None:
        (target,) = node.targets[:1]
        if isinstance(target, ast.Name):
            self.locals.setdefault(target.id, []).append(node.value)
        else:
            self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> None:
        if node.id in self.locals:
            for value in self.locals.pop(node.id):
                self.visit(value)
        else:
            self.reader._value(self.globals.get(node.id), None)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        if isinstance(node.value, ast.Name) and node.value.id == "self":
            self.reader.attribute(node.attr)
        elif _is_call(node.value, "super"):
            self.reader.attribute(node.attr, self.owner)
        elif isinstance(node.value, ast.Name) and self._base(node.value.id) is not None:
            self.reader.attribute(node.attr, at=self._base(node.value.id))
        else:
            self.visit(node.value)

    def _base(self, name: str) -> type | None:
        """A class of which the statement is one, as in `Base.method(self)`."""
        found = self.globals.get(name)
        return found if found in self.reader.statement.__mro__ else None

    def visit_Call(self, node: ast.Call) -> None:
        if _is_call(node, "getattr"):
            named = _pattern(node.args[1])
            for name in dir(self.reader.statement):
                if re.fullmatch(named, name) and not name.startswith("__"):
                    self.reader.attribute(name)
        self.generic_visit(node)

    def visit_arguments(self, node: ast.arguments) -> None:
        """Types and defaults are not what it does."""


def _is_call(node: ast.AST, name: str) -> bool:
    called = node.func if isinstance(node, ast.Call) else None
    return isinstance(called, ast.Name) and called.id == name


def _pattern(name: ast.expr) -> str:
    """The names that `getattr(self, f"of_{word}")` may mean."""
    if isinstance(name, ast.Constant):
        return re.escape(str(name.value))
    if isinstance(name, ast.JoinedStr):
        parts = (part.value if isinstance(part, ast.Constant) else None for part in name.values)
        return "".join(".*" if part is None else re.escape(str(part)) for part in parts)
    return "(?!)"
