"""The fast gradient against its two slow twins: explicit Kronecker form and central differences."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from deqcheck.frozen import dataclass
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
    """Central differences with respect to one parameter, and the radius of their error: truncation,
    and the loss's own radius over h."""
    scale = max(1.0, float(np.abs(theta[name]).max(initial=0.0)))
    h = STEP * scale
    near, lost = np.zeros_like(theta[name]), np.zeros_like(theta[name])
    rounding = 0.0
    for index in np.ndindex(theta[name].shape):
        near[index], noise = _slope(problem, theta, name, index, h)
        others = (_slope(problem, theta, name, index, k * h)[0] for k in (2, 4))
        lost[index] = truncation(near[index], *others)
        rounding += noise**2
    return near, float(np.linalg.norm(lost)) + float(np.sqrt(rounding))


def truncation(near: Any, far: Any, farther: Any) -> Any:
    """Of a central difference D(h), from D(2h) and D(4h): D(2h) - D(h) = 3 h^2 f'''/6 + ... is
    three times its error. Where the next order is as large the two may cancel, but hardly at h and
    at 2h."""
    off = np.maximum(np.abs(far - near) / 3, np.abs(farther - far) / 12)
    return TRUNCATION_SAFETY * off


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
