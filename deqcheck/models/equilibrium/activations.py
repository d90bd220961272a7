"""Activations with slopes in [0, 1]: (s(p) - s(q))/(p - q) is in [0, 1] for all p and q.

Such an s is nondecreasing and nonexpansive: the proximal operator of a convex function.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from deqcheck.fields import Refusal, unknown
from deqcheck.fields.spec import Choice
from deqcheck.frozen import dataclass
from deqcheck.records.measured import EPS, LIBM_ULPS
from deqcheck.records.scalar import TINY

Map = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Activation:
    """s and its slope, entry by entry; `rounded` tells whether a value is rounded by libm."""

    kind: str
    value: Map
    slope: Map
    # relu, leaky relu and identity: linear on either side of 0.
    piecewise: bool = False
    rounded: bool = True

    @property
    def is_relu(self) -> bool:
        return self.kind == "relu"

    def radius(self, v: np.ndarray, error: np.ndarray) -> np.ndarray:
        """Of s at pre-activations that are known up to the error: s is nonexpansive."""
        # exp loses as many units as its argument is large.
        ulps = 2 * LIBM_ULPS + 2 * np.abs(v)
        own = ulps * EPS * np.abs(self.value(v)) + 4 * TINY if self.rounded else 0.0
        found: np.ndarray = error + own
        return found


def _sigmoid(v: np.ndarray) -> np.ndarray:
    found: np.ndarray = np.exp(-np.logaddexp(0.0, -v))
    return found


def _bell(v: np.ndarray) -> np.ndarray:
    found: np.ndarray = _sigmoid(v) * _sigmoid(-v)
    return found


def _softplus(v: np.ndarray) -> np.ndarray:
    found: np.ndarray = np.logaddexp(0.0, v)
    return found


def _leaky(slope: float) -> Activation:
    return Activation(
        "leaky-relu",
        lambda v: np.where(v > 0, v, slope * v),
        lambda v: np.where(v > 0, 1.0, slope),
        piecewise=True,
    )


_KNOWN = {
    "relu": Activation(
        "relu", lambda v: np.maximum(v, 0.0), lambda v: (v > 0) * 1.0, True, rounded=False
    ),
    "tanh": Activation("tanh", np.tanh, lambda v: 1 / np.cosh(np.clip(v, -350, 350)) ** 2),
    "sigmoid": Activation("sigmoid", _sigmoid, _bell),
    "softplus": Activation("softplus", _softplus, _sigmoid),
}
LEAKY = "leaky-relu"
NAMES = (*_KNOWN, LEAKY)
# What people train with, and why no theorem here covers it: a slope that leaves [0, 1].
_STEEP = {
    **dict.fromkeys(("gelu", "silu", "swish", "mish"), "falls below 0 and exceeds 1"),
    **dict.fromkeys(("sin", "sine", "cos", "abs"), "falls below 0"),
    **dict.fromkeys(("selu", "square", "exp", "prelu"), "may exceed 1"),
}


def activation(kind: str, slope: float) -> Activation:
    return _leaky(slope) if kind == LEAKY else _KNOWN[kind]


@dataclass(frozen=True, kw_only=True)
class ActivationName(Choice):
    """One of the known; of others it is said why there is no theorem."""

    def read(self, value: Any, folder: Path) -> str:
        if isinstance(value, str) and value in _STEEP:
            raise Refusal(
                "",
                f"the slope of {value} {_STEEP[value]}; expected an activation with slopes in "
                f"[0, 1]: {', '.join(self.options)}",
            )
        if isinstance(value, str) and value not in self.options:
            raise Refusal("", unknown("no activation is called", value, self.options))
        return str(super().read(value, folder))
