"""The checks of the statements on trained networks have the sides that were computed outside."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import deqcheck as dq
from deqcheck.registry import inside

from . import equilibrium_moves, equilibrium_unique
from .harness import Instance, every_check_is_held, hold, of

# The papers that have no file of tests of their own.
PAPERS = [
    name
    for name, is_folder in inside("deqcheck.theorems")
    if is_folder and not Path(__file__).with_name(f"test_{name}.py").exists()
]


@pytest.mark.parametrize(
    "instance", [*equilibrium_unique.INSTANCES, *equilibrium_moves.INSTANCES], ids=str
)
def test_the_sides_are_the_numbers_computed_outside(instance: Instance) -> None:
    hold(instance)


@pytest.mark.parametrize("s", [s for name in PAPERS for s in of(name)], ids=lambda s: s.id)
def test_every_check_is_held(s: type[dq.Statement[Any, Any]]) -> None:
    every_check_is_held(s)
