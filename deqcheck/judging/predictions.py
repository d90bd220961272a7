"""The user's own predictions beside ours: is this the model that was trained elsewhere?"""

from __future__ import annotations

import numpy as np

from deqcheck.models.problem import AnyProblem

# Of the largest prediction: what single precision and a solver that stops early leave open.
ALIKE = 1e-3


def compared(p: AnyProblem) -> tuple[bool, str]:
    """Whether they agree, and the sentence; empty where there are none."""
    if p.yhat is None:
        return True, ""
    ours, theirs = p.start.predictions, p.yhat
    apart = np.abs(ours - theirs)
    size = float(max(np.abs(ours).max(), np.abs(theirs).max()))
    share = 0.0 if not size else float(apart.max()) / size
    if share <= ALIKE:
        return True, f"your predictions yhat agree with these to {share:.2g} of the largest"
    at = np.unravel_index(int(np.argmax(apart)), apart.shape)
    return False, (
        f"your predictions yhat are others: up to {share:.2g} of the largest away, at sample "
        f"{int(at[-1])} (from 0) {theirs[at]:.6g} where this model gives {ours[at]:.6g}; an array "
        "may be transposed, a bias left out, m, gamma or the output another one, or your solver "
        "far from the equilibrium"
    )
