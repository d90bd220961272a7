"""The scaled start of Section 5.1: A = |W| I, b = 0, gamma0 = 1/2, and the smallest beta."""

from __future__ import annotations

import numpy as np

from deqcheck.fields import Refusal
from deqcheck.linalg import errors
from deqcheck.linalg.relu_equilibrium import relu
from deqcheck.models.problem import Params
from deqcheck.records.measured import Measured, maximum, sqrt


def smallest_scale(a1: Measured, X: Measured, y: Measured, W: Measured) -> Measured:
    """The smallest factor beta on W and A for (24)-(26), with a1 = sigma_N(Phi) and the norms of
    X, y and W: (24) is a quadratic in it. The others imply (25): with (a beta)^2 >= 16 X y and
    (a beta)^2 >= 128 X^2, (a beta)^3 >= 16 X y sqrt(128) X >= 128 X^2 y."""
    a, K = 2 * a1 / 3, 16 * X * y
    quadratic = (K * W + sqrt((K * W) ** 2 + 4 * a**2 * K)) / (2 * a**2)
    return maximum(quadratic, sqrt(128) * X / a)


def half(size: float) -> float:
    """gamma with gamma0 = gamma (|A| + C2) = 1/2 for |A| = size and C2 = 1."""
    return 1 / (2 * (size + 1))


def scaled_start(
    X: np.ndarray, y: np.ndarray, W: np.ndarray, beyond: float
) -> tuple[float, Params]:
    """gamma and beta theta(0) for the W of theta(0), with beta this many times the smallest."""
    Phi = relu(X @ W)
    radius = errors.product(X.shape[1], errors.length(X) * errors.length(W))
    a1, size = errors.nth_singular_value(Phi, len(X), radius), errors.norm2(W)
    if not a1.low > 0:
        raise Refusal(
            "W",
            f"the features relu(X W) of {W.shape[1]} units are not known to be independent for "
            f"{len(X)} samples, and no scale makes them so; expected sigma_N(relu(X W)) > 0",
        )
    smallest = smallest_scale(a1, errors.frobenius(X), errors.frobenius(y), size)
    beta = beyond * float(smallest.high)
    norm, m = beta * float(size.value), W.shape[1]
    return half(norm), {"W": beta * W, "A": norm * np.eye(m), "b": np.zeros(m)}
