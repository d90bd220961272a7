"""The libraries that a researcher would use instead; none of them is a dependency."""

from __future__ import annotations

import importlib
from functools import cache
from typing import Any

NAMES = ("torch", "torchdeq", "jax", "jaxopt")


@cache
def peer(name: str) -> Any:
    """The library in double precision and one thread, or None if it is not installed."""
    try:
        module = importlib.import_module(name)
    except ImportError:
        return None
    if name == "torch":
        module.set_num_threads(1)
        module.set_default_dtype(module.float64)
    if name == "jax":
        module.config.update("jax_enable_x64", True)
    return module


def missing() -> list[str]:
    return [name for name in NAMES if peer(name) is None]
