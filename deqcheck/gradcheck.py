"""The fast gradient against its two slow twins: explicit Kronecker form and central differences."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from deqcheck.models.problem import AnyProblem, Params, gradient_norm
from deqcheck.records.arithmetic import OutOfRange, in_range
from deqcheck.records.measured import EPS

# Central differences balance truncation h^2 against rounding eps/h at h = eps^(1/3).
STEP = EPS ** (1 / 3)
# The explicit form inverts where the fast one solves: it loses up to cond more digits.
EXPLICIT_LOSS = 100.0
TRUNCATION_SAFETY = 4.0


@dataclass(frozen=True)
class Agreement:
    """Deviations of the fast gradient relative to the whole gradient, and what is allowed."""

    parameter: str
    norm: float
    explicit: float
    differences: float
    tolerance_explicit: float
    tolerance_differences: float

    @property
    def agrees(self) -> bool:
        return (
            self.explicit <= self.tolerance_explicit
            and self.differences <= self.tolerance_differences
        )


@in_range()
def gradcheck(problem: AnyProblem) -> tuple[Agreement, ...]:
    """Raises OutOfRange where a gradient is not finite: nothing can be compared there."""
    model, theta = problem.model, problem.theta0
    fast = model.objective(theta).gradient
    explicit = model.explicit_gradient(theta)
    whole = gradient_norm(fast) or 1.0
    for size in (whole, gradient_norm(explicit)):
        if not math.isfinite(size):
            raise OutOfRange(f"the norm of the gradient is {size:g} at the initial parameters")
    out = []
    for name in theta:
        slopes, radius = differences(problem, theta, name)
        if not np.isfinite(slopes).all():
            raise OutOfRange(f"the loss is not finite near the initial {name}")
        bar = problem.start.measure(f"gradient.{name}").error
        out.append(
            Agreement(
                name,
                float(np.linalg.norm(fast[name])),
                float(np.linalg.norm(fast[name] - explicit[name])) / whole,
                float(np.linalg.norm(fast[name] - slopes)) / whole,
                EXPLICIT_LOSS * bar / whole,
                (radius + bar) / whole,
            )
        )
    return tuple(out)


def differences(problem: AnyProblem, theta: Params, name: str) -> tuple[np.ndarray, float]:
    """Central differences with respect to one parameter, and the radius of their error.

    Truncation: D(2h) - D(h) = 3 h^2 f'''/6 + ..., three times the error of D(h). Rounding: the
    loss's own radius over h.
    """
    scale = max(1.0, float(np.abs(theta[name]).max(initial=0.0)))
    h = STEP * scale
    near, far, rounding = np.zeros_like(theta[name]), np.zeros_like(theta[name]), 0.0
    for index in np.ndindex(theta[name].shape):
        near[index], noise = _slope(problem, theta, name, index, h)
        far[index], _ = _slope(problem, theta, name, index, 2 * h)
        rounding += noise**2
    truncation = TRUNCATION_SAFETY * float(np.linalg.norm(far - near)) / 3
    return near, truncation + float(np.sqrt(rounding))


def _slope(
    problem: AnyProblem, theta: Params, name: str, index: tuple[int, ...], h: float
) -> tuple[float, float]:
    moved = {**theta, name: theta[name].copy()}
    moved[name][index] = theta[name][index] + h
    up = moved[name][index]
    above = problem.model.objective(moved)
    moved[name][index] = theta[name][index] - h
    width = up - moved[name][index]
    below = problem.model.objective(moved)
    return (above.gap - below.gap) / width, (above.error + below.error) / width
