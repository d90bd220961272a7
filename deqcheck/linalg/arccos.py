"""The arc-cosine kernel of the ReLU: E[relu(u) relu(v)] for jointly Gaussian u, v."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from deqcheck.records.scalar import TINY


def Q(x: np.ndarray) -> np.ndarray:
    """2 E[relu(u) relu(v)] for unit variances and correlation x: (sin th + (pi - th) cos th)/pi."""
    x = np.clip(x, -1.0, 1.0)
    # (1 - x)(1 + x) keeps the digits that 1 - x^2 loses near |x| = 1.
    found: np.ndarray = (np.sqrt((1 - x) * (1 + x)) + (np.pi - np.arccos(x)) * x) / np.pi
    return found


def Q_prime(x: np.ndarray) -> np.ndarray:
    found: np.ndarray = 1 - np.arccos(np.clip(x, -1.0, 1.0)) / np.pi
    return found


def angles(X: np.ndarray) -> np.ndarray:
    """Angles between the columns, as 2 atan2(|u - v|, |u + v|): arccos loses small angles."""
    unit = X / np.linalg.norm(X, axis=0)
    apart = np.stack([np.linalg.norm(unit - u[:, None], axis=0) for u in unit.T])
    along = np.stack([np.linalg.norm(unit + u[:, None], axis=0) for u in unit.T])
    angles: np.ndarray = 2 * np.arctan2(apart, along)
    return angles


def gram(X: np.ndarray) -> np.ndarray:
    """E[relu(w.x_i) relu(w.x_j)] over w ~ N(0, I), for the columns x_i of X."""
    theta = angles(X)
    norms = np.linalg.norm(X, axis=0)
    found: np.ndarray = (
        np.outer(norms, norms) * (np.sin(theta) + (np.pi - theta) * np.cos(theta)) / (2 * np.pi)
    )
    return found


def exact_angle(a: np.ndarray, b: np.ndarray) -> float:
    """The angle of two vectors, neither zero, to a few units in the last place and 0 or pi only
    where it is: |a|^2 |b|^2 - (a.b)^2 in rational numbers."""
    x, y = ([Fraction(float(v)) for v in vector] for vector in (a, b))
    dot, xx, yy = (
        sum((p * q for p, q in zip(u, v, strict=True)), Fraction(0))
        for u, v in ((x, y), (x, x), (y, y))
    )
    square = dot * dot / (xx * yy)
    # A sine that is not zero does not round to it.
    sine = max(math.sqrt(1 - square), TINY) if square < 1 else 0.0
    return math.atan2(sine, math.copysign(math.sqrt(square), dot))
