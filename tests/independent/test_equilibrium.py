"""The checks of the statements on trained networks have the sides that were computed outside."""

from __future__ import annotations

import pytest

from . import equilibrium_moves, equilibrium_unique
from .harness import Instance, hold


@pytest.mark.parametrize(
    "instance", [*equilibrium_unique.INSTANCES, *equilibrium_moves.INSTANCES], ids=str
)
def test_the_sides_are_the_numbers_computed_outside(instance: Instance) -> None:
    hold(instance)
