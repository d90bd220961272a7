"""What is changed: constants, terms, exponents, inequalities, norms; one place at a time."""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

FLIPPED = {"<=": ">=", ">=": "<=", "<": ">", ">": "<"}
# Calls whose second argument is a formula.
CHECKS = {"Check", "row"}
NORMS = {"norm2": "frobenius", "frobenius": "norm2"}
EXTREMA = {"max": "min", "min": "max", "maximum": "minimum", "minimum": "maximum"}
# (1 + 1e-12)^n, which is granted to bounds where norms of 1 round: no constant of a paper.
GRANTED = "growth"
# Names of error bars, tolerances, limits of the work and texts.
BAR = re.compile(
    r"EPS|radius|radii|^off$|error|noise|slip|rounding|toler|widened|blur|unsure|affordable|note|[Rr]esol|reach|"
    r"RESOL|LARGEST|SMALLEST|DENSE|TRIES|STEP|SHORTER|BOX|RESTART|truncat|lapack|guess|start_at|^charge$|^slices$"
)
# Those of bars alone: other names of bars are names of what is compared, too.
PLAIN_BAR = re.compile("radius|radii|noise|rounding|toler|unsure")
# Functions that return what rounding does.
LOST = re.compile("^_?(lost|work)$")
# Smaller constants are tolerances.
TOLERANCE = 1e-5
COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.GtE, ast.LtE: ast.Gt, ast.Gt: ast.LtE, ast.GtE: ast.Lt,
}  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """A module with one node, told by its place in the tree, replaced by another."""

    path: Path
    line: int
    change: str
    place: int
    new: ast.AST
    # Of a check, not of a function.
    formula: bool = False

    @property
    def _file(self) -> str:
        return f"{self.path.parent.name}/{self.path.name}"

    @property
    def _text(self) -> str:
        return self.path.read_text().splitlines()[self.line - 1].strip()

    @property
    def label(self) -> str:
        return f"{self._file}: {self.change}"

    @property
    def place_told(self) -> str:
        """The label with the line that is changed: of constants there are many in a file."""
        return f"{self.label} in {self._text}"

    @property
    def names(self) -> tuple[str, ...]:
        """By which a reason may name it."""
        return self.label, self.place_told, f"{self._file}: any in {self._text}"

    def tree(self) -> ast.Module:
        tree = ast.parse(self.path.read_text())
        _put(tree, list(ast.walk(tree))[self.place], self.new)
        return ast.fix_missing_locations(tree)

    def lines(self) -> range:
        """Those of the statement that is changed, without what stands in its body; those of the
        class for a check."""
        text = self.path.read_text()
        tree = ast.parse(text)
        node = list(ast.walk(tree))[self.place]
        kind = ast.ClassDef if self.formula else ast.stmt
        around = [s for s in ast.walk(tree) if isinstance(s, kind) and _holds(s, node)]
        if not around:
            return range(1, len(text.splitlines()) + 1)
        inner = max(around, key=lambda s: s.lineno)
        body = [] if self.formula else getattr(inner, "body", [])
        last = body[0].lineno - 1 if body else inner.end_lineno or inner.lineno
        return range(inner.lineno, max(inner.lineno, last) + 1)


def _holds(outer: ast.stmt, node: ast.AST) -> bool:
    return any(inner is node for inner in ast.walk(outer))


def mutants(path: Path, bars: bool = True) -> Iterator[Mutant]:
    """Every one of a file, in its order; without those of error bars where they are not asked
    for."""
    tree = ast.parse(path.read_text())
    formulas, code, kept = _formulas(tree), _code(tree), _not_numbers(tree)
    code -= set() if bars else _bars(tree)
    for place, node in enumerate(ast.walk(tree)):
        changes: Iterator[tuple[str, ast.AST]] = iter(())
        if id(node) in formulas and isinstance(node, ast.Constant):
            texts = _formula_changes(str(node.value))
            changes = ((f"{node.value!r} -> {text!r}", ast.Constant(text)) for text in texts)
        elif id(node) in code and isinstance(node, ast.expr):
            news = _expression_changes(node, kept)
            changes = ((f"{ast.unparse(node)} -> {ast.unparse(new)}", new) for new in news)
        formula = id(node) in formulas
        for change, new in changes:
            yield Mutant(path, getattr(node, "lineno", 0), change, place, new, formula)


def _put(tree: ast.AST, old: ast.AST, new: ast.AST) -> None:
    class Swap(ast.NodeTransformer):
        def visit(self, node: ast.AST) -> ast.AST:
            return copy.deepcopy(new) if node is old else self.generic_visit(node)

    Swap().visit(tree)


def _formulas(tree: ast.Module) -> set[int]:
    """Texts in the second argument of a Check, and a module's names for parts of a formula."""
    places: list[ast.AST] = []
    for node in ast.walk(tree):
        called = node.func if isinstance(node, ast.Call) else None
        if isinstance(called, ast.Name) and called.id in CHECKS and len(node.args) > 1:
            places.append(node.args[1])
    named = [n.value for n in tree.body if isinstance(n, ast.Assign)]
    places += [value for value in named if _parses(getattr(value, "value", None))]
    texts = (inner for place in places for inner in ast.walk(place))
    return {id(t) for t in texts if isinstance(t, ast.Constant) and isinstance(t.value, str)}


def _code(tree: ast.Module) -> set[int]:
    """Whatever stands in the body of a function, but for its docstring."""
    functions = (n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef))
    bodies = (part for function in functions for part in function.body)
    return {id(inner) for part in bodies for inner in ast.walk(part)}


def _bars(tree: ast.Module) -> set[int]:
    """What is only an error bar, a tolerance or a limit of the work: told by its name, or by what
    it is made of."""
    found: set[int] = set()
    for node in ast.walk(tree):
        named = _bar_named(node)
        made = isinstance(node, ast.expr) and any(
            isinstance(inner, ast.Name | ast.Attribute) and _is_bar(_last(inner))
            for inner in ast.walk(node)
        )
        if named or made:
            found |= {id(inner) for inner in ast.walk(node)}
    return found | _feeding(tree)


def _feeding(tree: ast.Module) -> set[int]:
    """Local numbers that are used for bars alone: scales, condition numbers."""
    fed: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and PLAIN_BAR.search(ast.unparse(node.func)):
            fed |= {id(inner) for part in node.args for inner in ast.walk(part)}
        elif isinstance(node, ast.Assign | ast.AugAssign) and PLAIN_BAR.search(_target(node)):
            fed |= {id(inner) for inner in ast.walk(node.value)}
    for function in (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)):
        inside = list(ast.walk(function))
        given = [node for node in inside if isinstance(node, ast.Assign)]
        # What is given last is looked at first: it uses what comes before.
        for each in sorted(given, key=lambda node: -node.lineno):
            name = _target(each)
            uses = [n for n in inside if isinstance(n, ast.Name) and n.id == name]
            read = [id(n) for n in uses if isinstance(n.ctx, ast.Load)]
            if read and fed.issuperset(read):
                fed |= {id(inner) for inner in ast.walk(each)}
    return fed


def _target(node: ast.Assign | ast.AugAssign) -> str:
    """The name that is given, if it is one."""
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    names = [target.id for target in targets if isinstance(target, ast.Name)]
    return names[0] if len(names) == len(targets) == 1 else ""


def _is_bar(name: str) -> bool:
    return bool(BAR.search(name) or LOST.search(name))


def _bar_named(node: ast.AST) -> bool:
    targets: list[ast.expr] = []
    if isinstance(node, ast.FunctionDef):
        return _is_bar(node.name)
    if isinstance(node, ast.keyword):
        return bool(BAR.search(node.arg or ""))
    if isinstance(node, ast.Assign):
        targets = node.targets
    elif isinstance(node, ast.AnnAssign | ast.AugAssign):
        targets = [node.target]
    names = (inner for target in targets for inner in ast.walk(target))
    return any(isinstance(name, ast.Name) and BAR.search(name.id) for name in names)


def _last(node: ast.Name | ast.Attribute) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr


def _parses(text: object) -> bool:
    if not isinstance(text, str):
        return False
    try:
        tree = ast.parse(text.replace("^", "**"), mode="eval")
    except SyntaxError:
        return False
    # A name with a hyphen is no difference.
    return isinstance(tree.body, ast.BinOp | ast.Call) and not text.replace("-", "").isalpha()


def _formula_changes(text: str) -> Iterator[str]:
    granted = _plain(re.sub(rf"\b{GRANTED}\*", "", _plain(text)))
    # A part of formulas that brackets hold together keeps them.
    held = "({})" if text.startswith("(") and text.endswith(")") else "{}"
    return (held.format(new) for new in _changes(text) if _plain(new) != granted)


def _plain(text: str) -> str:
    found = text.replace(" ", "")
    # A product that loses its first factor loses the brackets of its only sum.
    return re.sub(r"(<=|>=)\((.*)\)$", r"\1\2", found)


def _changes(text: str) -> Iterator[str]:
    for relation in ("<=", ">=", "<", ">"):
        left, found, right = text.partition(relation)
        if found:
            yield f"{left}{FLIPPED[relation]}{right}"
            for changed in _side_changes(left):
                yield f"{changed} {relation}{right}"
            for changed in _side_changes(right):
                yield f"{left}{relation} {changed}"
            return
    left, found, right = text.partition("==")
    for changed in _side_changes(right if found else text):
        yield f"{left}== {changed}" if found else changed


def _side_changes(text: str) -> Iterator[str]:
    """Where it is only a part of a formula (of an f-string), nothing."""
    try:
        tree = ast.parse(text.strip().replace("^", "**"), mode="eval")
    except SyntaxError:
        return
    for place, node in enumerate(ast.walk(tree)):
        if isinstance(node, ast.expr):
            for new in _expression_changes(node):
                changed = copy.deepcopy(tree)
                _put(changed, list(ast.walk(changed))[place], new)
                yield ast.unparse(changed).replace("**", "^")


def _expression_changes(node: ast.expr, kept: Collection[int] = ()) -> Iterator[ast.expr]:
    if isinstance(node, ast.Constant) and id(node) not in kept:
        number = isinstance(node.value, int | float) and not isinstance(node.value, bool)
        if number and abs(node.value) > TOLERANCE:
            yield ast.Constant(2 * node.value)
            yield ast.Constant(node.value / 2)
    elif isinstance(node, ast.BinOp):
        yield from _operation_changes(node)
    elif isinstance(node, ast.Compare) and len(node.ops) == 1:
        flipped = COMPARISONS.get(type(node.ops[0]))
        if flipped:
            yield ast.Compare(node.left, [flipped()], node.comparators)
    elif isinstance(node, ast.Call):
        yield from _call_changes(node)


def _operation_changes(node: ast.BinOp) -> Iterator[ast.expr]:
    if isinstance(node.op, ast.Add | ast.Sub | ast.Mult):
        # A dropped term or factor.
        yield node.left
    if isinstance(node.op, ast.Add | ast.Mult | ast.Div):
        yield node.right if not isinstance(node.op, ast.Div) else node.left
    if isinstance(node.op, ast.Pow) and isinstance(node.right, ast.Constant):
        yield ast.BinOp(node.left, ast.Pow(), ast.Constant(node.right.value + 1))


def _call_changes(node: ast.Call) -> Iterator[ast.expr]:
    name = node.func.id if isinstance(node.func, ast.Name) else None
    if name == "sqrt" and node.args:
        yield node.args[0]
    if name in EXTREMA and len(node.args) > 1:
        yield ast.Call(ast.Name(EXTREMA[name], ast.Load()), node.args, node.keywords)
    if isinstance(node.func, ast.Attribute) and node.func.attr in NORMS:
        yield ast.Call(
            ast.Attribute(node.func.value, NORMS[node.func.attr], ast.Load()),
            node.args,
            node.keywords,
        )


def _not_numbers(tree: ast.Module) -> set[int]:
    """Indices, ranges, axes, shapes (any negative size stands for what is left) and exponents
    (which are changed by one) are not halved or doubled."""
    kept: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Subscript):
            kept |= {id(inner) for inner in ast.walk(node.slice)}
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
            kept.add(id(node.right))
        elif isinstance(node, ast.keyword) and node.arg in ("axis", "start", "indent"):
            kept.add(id(node.value))
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            if node.func.id in ("range", "enumerate", "islice"):
                kept |= {id(inner) for part in node.args for inner in ast.walk(part)}
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr in ("reshape", "arange"):
                kept |= {id(inner) for part in node.args for inner in ast.walk(part)}
        elif isinstance(node, ast.JoinedStr):
            kept |= {id(inner) for inner in ast.walk(node)}
    return kept
