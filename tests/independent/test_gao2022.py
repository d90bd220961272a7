"""The checks of gao2022 have the sides that were computed outside."""

from __future__ import annotations

from typing import Any

import pytest

import deqcheck as dq

from .gao2022 import INSTANCES
from .harness import Instance, every_check_is_held, hold, of


@pytest.mark.parametrize("instance", INSTANCES, ids=str)
def test_the_sides_are_the_numbers_computed_outside(instance: Instance) -> None:
    hold(instance)


@pytest.mark.parametrize("s", of("gao2022"), ids=lambda s: s.id)
def test_every_check_is_held(s: type[dq.Statement[Any, Any]]) -> None:
    every_check_is_held(s)
