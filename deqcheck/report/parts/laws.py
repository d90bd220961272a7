"""Which law a curve follows, and so which axes show it as a line."""

from __future__ import annotations

import numpy as np

# A logarithmic x axis needs at least this ratio between its ends to show more than a linear one.
SPAN = 30.0


def straighter_in_log(x: np.ndarray, y: np.ndarray) -> bool:
    """Whether log y is nearer to a line in log x (a power law) than in x (an exponential)."""
    # Before it has begun to fall, every law is flat.
    keep = (x > 0) & (y > 0) & (y < y[0] / 2)
    x, y = x[keep], y[keep]
    if len(x) < 4 or x[-1] < SPAN * x[0]:
        return False
    return _bend(np.log(x), np.log(y)) < _bend(x, np.log(y))


def _bend(x: np.ndarray, y: np.ndarray) -> float:
    """Root mean square distance from the best line, each stretch of x counting by its length."""
    weight = np.sqrt(np.gradient(x) / (x[-1] - x[0]))
    centred = x - x.mean()
    system = np.stack([np.ones_like(x), centred / np.abs(centred).max()], axis=1) * weight[:, None]
    rest = np.linalg.lstsq(system, y * weight, rcond=None)[0]
    return float(np.linalg.norm(system @ rest - y * weight))
