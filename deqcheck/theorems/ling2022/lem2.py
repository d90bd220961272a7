"""Lemma 2: the gradients in Kronecker form."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial, reduce

import numpy as np

from deqcheck.linalg import errors, exact
from deqcheck.models.problem import Params
from deqcheck.records.claim import Claim
from deqcheck.records.measured import Measured
from deqcheck.records.tower import Again
from deqcheck.seeds import rng
from deqcheck.theorems.base import CORRECTED, PRINTED, STATIC, Check
from deqcheck.theorems.drawn import number
from deqcheck.theorems.ling2022.adjoint import solved
from deqcheck.theorems.ling2022.common import MODELS, NO_KINK, cite, unique, worst
from deqcheck.theorems.ling2022.setting import Problem, State, Statement

DIRECTIONS = 4


class Lemma2(Statement):
    """If J = I - D (I_n kron W) is invertible, then with R = (I_n kron a^T) J^-1 D, vec(grad_W) =
    (Z kron I_m) R^T r, vec(grad_U) = (X kron I_m) R^T r and grad_a = Z r. D has the slopes of the
    ReLU, so no pre-activation may be zero. The formula is compared along random directions with
    the derivative of the loss, r.(Z^T da + dZ^T a), where the tangent dZ of the equilibrium solves
    J vec(dZ) = D vec(dW Z + dU X). Printed is R = (a kron I_n) J^-1 D, which has no matching shapes
    unless m = 1; it is read as (a^T kron I_n) J^-1 D, the only other reading being the right one.
    """

    id = "ling2022/lem2"
    uses = ("ling2022/sec2.2",)
    title = "Gradients of the loss"
    cite = cite("Lemma 2", "(2), (3)")
    models = MODELS
    dynamics = (STATIC,)
    soundness = "false"
    editions = (PRINTED, CORRECTED)
    erratum = (
        "The printed R = (a kron I_n) J^-1 D has no matching shapes unless m = 1; transposed to "
        "(a^T kron I_n) it has the order of row stacking, while J and Z kron I_m are for column "
        "stacking: right for m = 1 and for n = 1 only. m = n = d = 2, W = 0, U = I, X = [[2, 1], "
        "[1, 2]], a = (1, 0), y = (2, 4): the gradient in U is [[-3, -6], [0, 0]], the formula "
        "gives [[0, 0], [-6, -3]]."
    )

    invertible = Check("J is invertible", "smallest_J > 0", "Lemma 2")
    derivative = Check(
        f"the formula is the derivative (worst of {DIRECTIONS} directions)",
        "formula == derivative",
        "Lemma 2",
    )

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        yield from unique(p)
        found = p.start.equilibrium
        note = "at least: what certifies the equilibrium bounds J^-1 D"
        yield self.invertible(note, smallest_J=1 / found.certificate.inverse)
        yield NO_KINK(kink_margin=p.start.kink_margin)

    def claims(self, p: Problem, state: State) -> Iterable[Claim]:
        formula, radius = _printed(state) if self.printed else _corrected(state)
        again = _exactly_printed(state) if self.printed else state.exact_gradient()
        draws = (_direction(p, self.id, i) for i in range(number(DIRECTIONS)))
        yield worst([self._along(state, formula, radius, again, v) for v in draws])

    def _along(
        self, state: State, formula: Params, radius: float, again: Mapping[str, Again], v: Params
    ) -> Claim:
        length = float(np.sqrt(sum(np.vdot(x, x) for x in v.values())))
        along = sum(float(np.vdot(formula[name], v[name])) for name in v)
        size = float(np.sqrt(sum(np.vdot(g, g) for g in formula.values()))) * length
        count = max(x.size for x in v.values())
        parts = [exact.inner(again[name], exact.array(v[name])) for name in v]
        node = reduce(partial(Again, "plus"), parts)
        formula_along = Measured(along, radius * length + errors.product(count, size), again=node)
        return self.derivative(formula=formula_along, derivative=_derivative(state, v))


def _direction(p: Problem, purpose: str, draw: int) -> Params:
    stream = rng(p.seed, f"{purpose}.{draw}")
    scale = {name: max(1.0, float(np.abs(a).max())) for name, a in p.theta0.items()}
    return {name: scale[name] * stream.standard_normal(a.shape) for name, a in p.theta0.items()}


def _corrected(state: State) -> tuple[Params, float]:
    """(I_n kron a^T) makes R block diagonal: R^T r stacks s_j r_j, and the parts of the gradient
    are E Z^T, E X^T and Z r with E = [s_1 r_1, ..., s_n r_n]."""
    return state.gradient, state.gradient_radius


def _printed(state: State) -> tuple[Params, float]:
    """R^T r = D J^-T (a kron r), whose blocks of m entries belong to one sample each."""
    (m, n), Z, X, r = state.Z.shape, state.Z, state.model.X, state.r
    E, radius = solved(state, np.kron(state.a, r).reshape((m, n), order="F"), True)
    # |a kron dr| = |a| |dr|, if it reaches any active unit.
    if state.equilibrium.mask.any():
        radius += state.equilibrium.certificate.inverse * errors.length(state.a) * state.r_radius
    e, z, x, dz = errors.length(E), errors.length(Z), errors.length(X), state.equilibrium.error
    parts = (
        (z + x) * radius + (e + radius) * dz + errors.rounding(n, e * (z + x)),
        z * state.r_radius + (state.read_residual + state.r_radius) * dz,
        errors.rounding(n, state.read_residual * z),
    )
    return {"W": E @ Z.T, "U": E @ X.T, "a": Z @ r}, sum(parts)


def _derivative(state: State, v: Mapping[str, np.ndarray]) -> Measured:
    """Of the loss, by the tangent of the equilibrium on its own pattern."""
    Z, X, r, a = state.Z, state.model.X, state.r, state.a
    found, moved = state.equilibrium, v["W"] @ Z + v["U"] @ X
    dZ, radius = solved(state, moved, False)
    # Only what reaches an active unit counts.
    units, samples = found.mask.any(axis=1), found.mask.any(axis=0)
    z, x, size = errors.length(Z), errors.length(X[:, samples]), state.read_residual
    w, u, b = (errors.length(each) for each in (v["W"][units], v["U"][units], v["a"]))
    noise = w * found.error + errors.rounding(len(Z), w * z) + errors.rounding(len(X), u * x)
    radius += found.certificate.inverse * noise
    # |d yhat| is at most this, and is known up to the next line.
    most = z * b + errors.length(dZ) * errors.length(a)
    off = b * found.error + errors.length(a) * radius + errors.rounding(len(Z), most)
    error = state.r_radius * (most + off) + size * off + errors.rounding(len(r), size * most)
    moving = float(r @ (Z.T @ v["a"] + dZ.T @ a))
    return Measured(moving, error, again=_exact_derivative(state, v))


def _exactly_printed(state: State) -> dict[str, Again]:
    (m, n), again, X = state.Z.shape, state.again, exact.array(state.model.X)
    spread = exact.unvec(Again(exact.kronecker, again.a, again.r), m, n)
    E = again.relu.sensitivities(spread)
    return {
        "W": exact.product(E, exact.transpose(again.Z)),
        "U": exact.product(E, exact.transpose(X)),
        "a": again.Zr,
    }


def _exact_derivative(state: State, v: Mapping[str, np.ndarray]) -> Again:
    again, d = state.again, {name: exact.array(x) for name, x in v.items()}
    source = exact.product(d["U"], exact.array(state.model.X))
    moved = again.relu.tangent(exact.plus(exact.product(d["W"], again.Z), source))
    outputs = exact.plus(
        exact.product(exact.transpose(again.Z), d["a"]),
        exact.product(exact.transpose(moved), again.a),
    )
    return exact.inner(again.r, outputs)
