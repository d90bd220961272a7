"""Matrices whose singular values are known to the last digit."""

from __future__ import annotations

import numpy as np
from scipy.linalg import hadamard

ORDER = 256


def exactly(s: np.ndarray, rows: int = ORDER) -> np.ndarray:
    """A matrix whose singular values are these numbers, without any rounding: signs of Hadamard
    matrices, and dyadic values with few digits."""
    left, right = hadamard(rows).astype(float), hadamard(ORDER).astype(float)
    Z = (left[:, :ORDER] * (s / 2.0**8)) @ right
    scale = np.sqrt(rows / ORDER)
    assert scale == int(scale)
    return np.asarray(Z / (scale * ORDER) * 2.0**8)
