"""What is known of each input: its equilibrium, its prediction, its cheap gradient."""

from __future__ import annotations

import math

import numpy as np

from deqcheck.linalg import errors
from deqcheck.linalg.matrix import instance
from deqcheck.models.equilibrium.cheap import cosine, pair
from deqcheck.models.equilibrium.distance import nearest
from deqcheck.models.equilibrium.rational import MOST, on_pattern
from deqcheck.models.equilibrium.robust import Gains, radius
from deqcheck.models.equilibrium.state import EquilibriumState
from deqcheck.records.checkup import Sample
from deqcheck.records.measured import Measured

NAN = math.nan
# Samples that are looked at in rational numbers.
FEW = 20


def samples(state: EquilibriumState, has_point: bool, has_targets: bool) -> tuple[Sample, ...]:
    """Raises NoEquilibrium."""
    gains = Gains(state)
    found = state.equilibrium
    G = state.C.T @ state.residual
    points = state.residuals(state.model.z) if has_point else []
    rows = []
    for j in range(state.N):
        values: dict[str, object] = {"error": float(found.errors[j])}
        if has_point:
            values["residual"] = float(points[j].length.value)
            values["distance"] = float(nearest(state.weights, points[j])[0].high)
        values["kink"] = float(np.abs(found.H[:, j]).min())
        # Without a theorem the equilibrium may be another one.
        if len(state.C) > 1 and found.proof:
            values |= _prediction(state, j, gains)
        if has_targets and found.proof:
            values["cosine"] = _cosine(state, j, G[:, j])
        rows.append(Sample(**values))  # type: ignore[arg-type]
    return tuple(rows)


def verified(state: EquilibriumState) -> list[str]:
    """Where no theorem says that there is only one: how many of the points found are equilibria, in
    rational numbers."""
    if not state.s.is_relu or state.n > MOST:
        return ["not certified: what was found for the samples need be no equilibrium"]
    patterns = [on_pattern(state, j) for j in range(min(state.N, FEW))]
    good = sum(each is not None and each.residual == 0 for each in patterns)
    return [
        f"not certified: of the first {len(patterns)} samples {good} have an equilibrium that is "
        "verified in rational numbers, and it need not be the only one"
    ]


def _prediction(state: EquilibriumState, j: int, gains: Gains) -> dict[str, object]:
    found = radius(state, j, gains)
    return {
        "predicted": found.predicted,
        "margin": found.margin,
        "radius": found.radius,
        "radius_norms": _by_norms(state, j),
    }


def _by_norms(state: EquilibriumState, j: int) -> float:
    """min_i margin_i m/(|C_k - C_i| |U|), without D."""
    m = state.weights.modulus
    if not m.low > 0 or state.model.D.any():
        return NAN
    y, U = state.outputs[:, j], float(instance(state.U).norm2().high)
    k, found = int(np.argmax(y)), math.inf
    for i in (i for i in range(len(y)) if i != k):
        row = errors.length(state.C[k] - state.C[i])
        off = row * float(state.equilibrium.errors[j]) + 1e-14 * float(np.abs(y).max())
        gain = row * U / float(m.low)
        found = min(found, max(float(y[k] - y[i]) - off, 0.0) / gain if gain > 0 else math.inf)
    return found


def _cosine(state: EquilibriumState, j: int, g: np.ndarray) -> Measured | None:
    """None where the gradient may be 0."""
    p, q = pair(state, j, g)
    if not (p.frobenius().low > 0 and q.frobenius().low > 0):
        return None
    return cosine(p, q)
