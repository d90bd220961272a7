"""The checks of xie2021 have the sides that were computed outside."""

from __future__ import annotations

import pytest

from .harness import Instance, hold
from .xie2021 import INSTANCES


@pytest.mark.parametrize("instance", INSTANCES, ids=str)
def test_the_sides_are_the_numbers_computed_outside(instance: Instance) -> None:
    hold(instance)
