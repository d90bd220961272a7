"""The checks of xie2021 have the sides that were computed outside."""

from __future__ import annotations

from typing import Any

import pytest

import deqcheck as dq

from .harness import Instance, every_check_is_held, hold, of
from .xie2021 import INSTANCES


@pytest.mark.parametrize("instance", INSTANCES, ids=str)
def test_the_sides_are_the_numbers_computed_outside(instance: Instance) -> None:
    hold(instance)


@pytest.mark.parametrize("s", of("xie2021"), ids=lambda s: s.id)
def test_every_check_is_held(s: type[dq.Statement[Any, Any]]) -> None:
    every_check_is_held(s)
