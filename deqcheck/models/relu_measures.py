"""What can be measured of every ReLU equilibrium model."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

from deqcheck.linalg import errors
from deqcheck.linalg.exact import array
from deqcheck.records.measured import Measured, measured

if TYPE_CHECKING:
    from deqcheck.models.relu_state import ReluState


@lru_cache(maxsize=64)
def measures(cls: type[ReluState], theta: tuple[str, ...]) -> dict[str, Callable[[Any], Measured]]:
    """Of states with these parameters."""
    common: dict[str, Callable[[Any], Measured]] = {
        "loss": lambda s: s.loss,
        "residual": lambda s: s.residual,
        "gradient": lambda s: errors.together(s.gradient_norms.values()),
        "equilibrium.residual": lambda s: s.equilibrium.measured_residual,
        "equilibrium.error": lambda s: measured(s.equilibrium.error),
        "sigma_min_Z": lambda s: s.sigma_min_Z,
    }
    for name in theta:
        common[f"gradient.{name}"] = partial(_gradient_norm, name)
        common[f"norm2.{name}"] = partial(_parameter_norm, name)
    return {**common, **cls.further}


def _gradient_norm(name: str, state: ReluState) -> Measured:
    return state.gradient_norms[name]


def _parameter_norm(name: str, state: ReluState) -> Measured:
    known = state.parameter_norms
    if name not in known:
        known[name] = errors.norm2(state.theta[name], exact=array(state.theta[name]))
    return known[name]
