"""Hieu 2022: Z = relu(W Z + U X) with W = (1 - m) I - A^T A + B - B^T, in plain NumPy."""

from __future__ import annotations

from . import (
    hieu2022_chapter2,
    hieu2022_conditions,
    hieu2022_induction,
    hieu2022_static,
    hieu2022_table,
    hieu2022_training,
)

INSTANCES = [
    *hieu2022_chapter2.INSTANCES,
    *hieu2022_static.INSTANCES,
    *hieu2022_table.INSTANCES,
    *hieu2022_conditions.INSTANCES,
    *hieu2022_training.INSTANCES,
    *hieu2022_induction.INSTANCES,
]
EXEMPT: dict[str, dict[str, str]] = {
    **hieu2022_conditions.EXEMPT,
    **hieu2022_table.EXEMPT,
}
