"""The statements of exact on trained networks; the numbers are in equilibrium_*.py."""

from __future__ import annotations

from . import equilibrium_moves, equilibrium_unique

INSTANCES = [
    each
    for each in (*equilibrium_unique.INSTANCES, *equilibrium_moves.INSTANCES)
    if each.id.startswith("exact/")
]
EXEMPT: dict[str, dict[str, str]] = {}
