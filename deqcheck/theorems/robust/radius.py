"""No attack within the certified radius changes the prediction."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from deqcheck.linalg import errors
from deqcheck.models.equilibrium import lipschitz
from deqcheck.models.equilibrium.robust import Gains, Radius, radius
from deqcheck.records.claim import Claim
from deqcheck.records.measured import Measured, given
from deqcheck.theorems.base import Check, Cite
from deqcheck.theorems.trained import Problem, State, Trained

# Samples that are attacked, and where: at this share of the radius.
ATTACKED, SHARE = 8, 0.999


class CertifiedRadius(Trained):
    """The predicted class k (the largest output) is the same for all inputs within the radius min_i
    (margin_i/G_i if margin_i <= rho G_i, else rho + (margin_i - rho G_i)/g_i): the network is
    affine on the ball of radius rho = min |v_i|/|(W J + U)_i| with J = dz/dx, G_i = |(C_k - C_i)
    J|, and g_i is the constant of revay2020/lipschitz for the output y_k - y_i. Within rho it is
    exact. Judged by an attack along the steepest direction to each other class."""

    id = "robust/radius"
    title = "A certified radius of the prediction"
    cite = Cite("deqcheck", "proved here")
    uses = ("revay2020/lipschitz",)

    lowest = Check("lambda_min(Lambda F + F^T Lambda), best Lambda of trace n", "t > 0", "LMI")
    classes = Check("at least two outputs", "outputs >= 2", "setting")
    attacked = Check("margin after the attack", "margin > 0", "inside the radius")

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        found = p.start.weights.diagonal
        yield self.lowest(found.how, t=found.value)
        yield self.classes(outputs=given(len(p.start.C)))

    def claims(self, p: Problem, state: State) -> Iterable[Claim]:
        if not state.weights.diagonal.feasible:
            return
        gains = Gains(state)
        for j in range(min(state.N, ATTACKED)):
            found = radius(state, j, gains)
            if 0 < found.radius < np.inf:
                yield self.attacked(
                    f"sample {j}, radius {found.radius:.4g}", margin=attack(state, j, found)
                )


def attack(state: State, j: int, found: Radius) -> Measured:
    """The smallest margin at SHARE of the radius, along the gradient of y_k - y_i for each i."""
    k, x = found.predicted, state.model.X[:, j]
    J = lipschitz.jacobian(state, j)
    points = []
    for i in (i for i in range(len(state.C)) if i != k):
        way = (state.C[k] - state.C[i]) @ J + state.model.D[k] - state.model.D[i]
        length = errors.length(way)
        points.append(x - SHARE * found.radius * (way / length if length > 0 else way))
    there = state.at_inputs(np.column_stack(points))
    others = [i for i in range(len(state.C)) if i != k]
    margins = [
        there.outputs[k, a] - there.outputs[i, a] for a in range(len(points)) for i in others
    ]
    return Measured(float(min(margins)), 2 * there.outputs_radius)
