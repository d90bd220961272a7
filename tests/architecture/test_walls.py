"""No room knows the next one: who may import whom."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path

import deqcheck

ROOT = Path(deqcheck.__file__).parent
FOUNDATION = {"records", "registry", "kinds", "fields", "given", "seeds", "__init__"}
FOUNDATION |= {"capacity", "importing"}
# How classes are made: for every room.
EVERYWHERE = {"frozen"}
# What each room may import, beside itself; + stands for the foundation.
TABLE = """
records:
kinds:
registry: kinds
fields: registry kinds
seeds:
given: fields importing
capacity:
importing: fields registry kinds capacity
plugins: registry kinds theorems __init__
linalg: records
losses: linalg +
data: +
targets: +
inits: +
models: linalg losses +
dynamics: models linalg +
theorems: linalg losses models dynamics gradcheck +
gradcheck: models records
search: theorems models records
atomic:
threads:
garbage:
pages:
postponed:
frozen:
environment: threads plugins __init__
store: atomic __init__
engines: plugins threads garbage postponed environment __init__
trials: engines store theorems models environment threads __init__
judging: engines theorems dynamics models linalg store trials environment threads pages +
case: judging plugins theorems dynamics models losses data targets inits +
explore: engines search judging case theorems dynamics models linalg environment store plugins +
verifier:
certificates: verifier judging case theorems models +
api: certificates atomic explore engines judging plugins case theorems dynamics models store report
 threads +
figures: api judging theorems dynamics models data targets store environment +
report: records registry kinds __init__
docs: case theorems +
site: docs case theorems report atomic +
ci: explore engines store case report +
cli: certificates explore engines ci atomic store case judging dynamics gradcheck search report
 theorems models docs site threads garbage postponed plugins figures environment +
pytest_plugin: ci cli case __init__
__main__: cli
"""
MAY_IMPORT: dict[str, set[str]] = {}
for row in TABLE.replace("\n ", " ").strip().splitlines():
    name, _, others = row.partition(":")
    allowed = set(others.split())
    MAY_IMPORT[name] = {name} | EVERYWHERE | allowed - {"+"}
    if "+" in allowed:
        MAY_IMPORT[name] |= FOUNDATION
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
    """By functions, when they are called, or for the type checker."""
    lazy = (ast.FunctionDef, ast.If)
    found = (node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, lazy))
    return _names(inner for node in found for inner in ast.walk(node))


def _names(nodes: Iterable[ast.AST]) -> set[str]:
    names = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def test_modules_import_only_what_their_rooms_may() -> None:
    wrong = [told for path in MODULES for told in beyond_its_room(path)]
    assert not wrong, "\n".join(wrong)


def beyond_its_room(path: Path) -> Iterator[str]:
    here = room(path)
    names = imported(path)
    if here in ("__init__", "kinds", "registry"):
        # Only for the type checker, or by a function: they import nothing before it is used.
        names -= lazily_imported(path)
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
            if target not in MAY_IMPORT[here]:
                yield f"{path} imports {name}"
        elif here in FORBIDDEN.get(parts[0], ()):
            yield f"{path} imports {name}"


def test_the_walls_are_checked() -> None:
    """The test above must be able to say no."""
    click = ROOT / "cli" / "main.py"
    assert imported(click) & {"click"} and "cli" not in FORBIDDEN["click"]
    assert "cli" in FORBIDDEN["yaml"]
    assert "theorems" not in MAY_IMPORT["models"] and "report" not in MAY_IMPORT["theorems"]
    assert imported(ROOT / "judging" / "verdicts.py") & {"deqcheck.theorems.base.AnyStatement"}
    assert {room(p) for p in MODULES} <= set(MAY_IMPORT) | {"__init__"}
