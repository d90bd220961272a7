"""No room knows the next one: who may import whom."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from pathlib import Path

import pytest

import deqcheck

ROOT = Path(deqcheck.__file__).parent
FOUNDATION = {"records", "registry", "fields", "given", "seeds", "__init__"}
MAY_IMPORT = {
    "records": {"records"},
    "registry": {"registry"},
    "fields": {"registry", "fields"},
    "seeds": {"seeds"},
    "linalg": {"linalg", "records"},
    "losses": {"losses", "linalg"} | FOUNDATION,
    "data": {"data"} | FOUNDATION,
    "targets": {"targets"} | FOUNDATION,
    "inits": {"inits"} | FOUNDATION,
    "activations": {"activations"} | FOUNDATION,
    "regularizers": {"regularizers", "linalg"} | FOUNDATION,
    "models": {"models", "linalg", "losses", "activations", "regularizers"} | FOUNDATION,
    "dynamics": {"dynamics", "models", "linalg"} | FOUNDATION,
    "theorems": {"theorems", "linalg", "models", "dynamics", "regularizers", "gradcheck"}
    | FOUNDATION,
    "case": {"case", "judging", "theorems", "dynamics", "models", "losses", "data", "targets"}
    | {"inits"}
    | FOUNDATION,
    "given": {"fields"},
    "search": {"theorems", "models", "records"},
    "gradcheck": {"models", "records"},
    "threads": set(),
    "environment": {"threads", "__init__"},
    "trials": {"store", "theorems", "models", "environment", "threads", "__init__"},
    "judging": {"judging", "theorems", "dynamics", "models", "store", "trials", "environment"}
    | FOUNDATION,
    "api": {"judging", "case", "theorems", "dynamics", "models", "store", "report"} | FOUNDATION,
    "report": {"report", "records", "registry", "__init__"},
    "ci": {"ci", "store", "case", "judging", "environment", "report", "models", "threads"}
    | FOUNDATION,
    "cli": {
        "cli",
        "ci",
        "atomic",
        "store",
        "case",
        "judging",
        "dynamics",
        "gradcheck",
        "search",
        "report",
    }
    | {"theorems", "models", "docs", "threads"}
    | FOUNDATION,
    "docs": {"docs", "case", "theorems"} | FOUNDATION,
    "__main__": {"cli"},
    "pytest_plugin": {"ci", "cli", "__init__"},
    "atomic": set(),
    "store": {"atomic", "__init__"},
}
FORBIDDEN = {
    "yaml": {"linalg", "models", "losses", "dynamics", "theorems", "report", "records", "cli"},
    "click": set(MAY_IMPORT) - {"cli", "__main__"},
    "rich": set(MAY_IMPORT) - {"cli", "ci", "report", "__main__"},
    "scipy": {"records", "report", "cli", "case", "fields", "registry"},
}
MODULES = sorted(ROOT.rglob("*.py"))


def room(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def imported(path: Path) -> set[str]:
    return _names(ast.walk(ast.parse(path.read_text())))


def lazily_imported(path: Path) -> set[str]:
    """By functions, when they are called."""
    tree = ast.walk(ast.parse(path.read_text()))
    functions = (node for node in tree if isinstance(node, ast.FunctionDef))
    return _names(inner for function in functions for inner in ast.walk(function))


def _names(nodes: Iterable[ast.AST]) -> set[str]:
    names = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(ROOT)))
def test_a_module_imports_only_what_its_room_may(path: Path) -> None:
    here = room(path)
    names = imported(path)
    if here == "__init__":
        # Only for the type checker: the package itself imports nothing before it is used.
        names = {name for name in names if not name.startswith("deqcheck")}
    if here == "records":
        # A record shows itself in the formats of reports; it finds them when it is asked to.
        names -= {name for name in lazily_imported(path) if name.startswith("deqcheck.report")}
    for name in names:
        parts = name.split(".")
        if parts[0] == "deqcheck":
            target = (
                parts[1]
                if (ROOT / parts[1]).exists() or (ROOT / f"{parts[1]}.py").exists()
                else "__init__"
            )
            assert target in MAY_IMPORT[here], f"{path} imports {name}"
        elif parts[0] in FORBIDDEN:
            assert here not in FORBIDDEN[parts[0]], f"{path} imports {name}"


def test_the_walls_are_checked() -> None:
    """The test above must be able to say no."""
    assert "theorems" not in MAY_IMPORT["models"] and "report" not in MAY_IMPORT["theorems"]
    assert imported(ROOT / "judging" / "verdicts.py") & {"deqcheck.theorems.base.Statement"}
    assert {room(p) for p in MODULES} <= set(MAY_IMPORT) | {"__init__"}
