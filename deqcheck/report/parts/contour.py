"""Contours of losses on a plane, drawn by matplotlib, which is an optional extra."""

from __future__ import annotations

import importlib
import importlib.util
import io
from collections.abc import Mapping
from typing import Any

import numpy as np

LEVELS = 24
# Losses below this are drawn as this: a logarithm has no zero.
FLOOR = 1e-12


def available() -> bool:
    return importlib.util.find_spec("matplotlib") is not None


def contours(
    alpha: np.ndarray, beta: np.ndarray, losses: Mapping[str, np.ndarray], form: str
) -> bytes:
    """One panel for each grid of losses, log10, on a common scale; a picture in the format."""
    figures: Any = importlib.import_module("matplotlib.figure")
    logs = {
        name: np.log10(np.maximum(np.where(np.isfinite(grid), grid, np.nan), FLOOR))
        for name, grid in losses.items()
    }
    levels = _levels(logs)
    figure = figures.Figure(figsize=(4 * len(logs), 4), layout="constrained")
    panels = figure.subplots(1, len(logs), squeeze=False)[0]
    for panel, (name, grid) in zip(panels, logs.items(), strict=True):
        drawn = panel.contourf(beta, alpha, grid, levels=levels)
        panel.set_title(name.replace("_", " "))
        panel.set_xlabel("beta")
        panel.set_ylabel("alpha")
    figure.colorbar(drawn, ax=list(panels), label="log10 loss")
    buffer = io.BytesIO()
    figure.savefig(buffer, format=form)
    return buffer.getvalue()


def _levels(logs: Mapping[str, np.ndarray]) -> np.ndarray:
    low = min(float(np.nanmin(grid)) for grid in logs.values())
    high = max(float(np.nanmax(grid)) for grid in logs.values())
    return np.linspace(low, max(high, low + 1e-6), LEVELS)
