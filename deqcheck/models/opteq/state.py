"""An OptEq network at given parameters: everything that can be measured there."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from deqcheck.linalg import errors, exact
from deqcheck.linalg.exact_zeros import equal_columns
from deqcheck.models.memory import Memory
from deqcheck.models.opteq import held
from deqcheck.models.opteq.equilibrium import FixedPoint, OpteqEquilibrium
from deqcheck.models.opteq.exact import ExactOpteq
from deqcheck.models.opteq.exact_states import Near
from deqcheck.models.opteq.gradient import (
    Gradient,
    input_rows,
    per_sample,
    read_out_radius,
    residual_radius,
    seed_radius,
    summed,
)
from deqcheck.models.opteq.lean import Seen
from deqcheck.models.opteq.measures import ALWAYS, listed, measures
from deqcheck.models.opteq.network import Network
from deqcheck.models.opteq.passed import Passed
from deqcheck.models.opteq.plain import plain
from deqcheck.models.opteq.sweep import (
    NO_SAM,
    Piece,
    Pull,
    Sam,
    Step,
    backwards,
    backwards_within,
    iterate,
    through_layers,
)
from deqcheck.models.problem import Kinks, NoEquilibrium, Objective, Params, Plain, State, norm
from deqcheck.records.lazy import cached_property
from deqcheck.records.measured import Measured, given
from deqcheck.records.tower import Again

if TYPE_CHECKING:
    from deqcheck.models.opteq.model import OpteqModel

# Derivatives by one parameter, and how far they may be off.
Block: TypeAlias = tuple[np.ndarray, float]
# A pre-activation nearer to a kink than this lies on it.
KINK = 1e-12


class OpteqState(State):
    """Lazy: each matrix is computed once, when something asks for it."""

    def __init__(self, model: OpteqModel, theta: Params, memory: Memory | None = None):
        self.model, self.theta = model, theta
        self._memory = memory or Memory()
        # Whether it was given a forward pass that its parameters alone would not make.
        self._given = False
        self.Wo = theta["Wo"]
        self.shapes = {name: a.shape for name, a in theta.items()}
        extractor = model.extractor_at(theta)
        X = model.X if extractor is None else extractor.X
        self.network = Network(model.alpha, model.s, X, theta, model.depth, extractor)

    @cached_property
    def sam(self) -> Sam | None:
        return self.model.sam_at(self.Wo)

    @cached_property
    def map(self) -> FixedPoint:
        return FixedPoint(self.network, self.model.prox_at(self.Wo))

    @cached_property
    def solved(self) -> OpteqEquilibrium:
        """The equilibrium and what is known of it, found or not."""
        found = self.map.solve(self.model.Z0, self._memory.state)
        if found.found:
            self._memory.state = found.Z
        return found

    @cached_property
    def _forward(self) -> tuple[list[Step], np.ndarray, float]:
        if self.model.implicit:
            found = self.solved.required()
            passes, _, _ = self.network.visit(found.Z, found.error)
            return [Step(self.network, found.Z, passes, NO_SAM)], found.Z, found.error
        return iterate([self.network] * self.model.iterations, self.model.Z0, self.sam)

    @property
    def steps(self) -> list[Step]:
        return self._forward[0]

    @property
    def Z(self) -> np.ndarray:
        """The state that is read out: Z^K, or the equilibrium."""
        return self._forward[1]

    @property
    def Z_radius(self) -> float:
        return self._forward[2]

    @property
    def predictions(self) -> np.ndarray:
        found: np.ndarray = self.Wo @ self.Z
        return found

    @cached_property
    def again(self) -> ExactOpteq:
        """The state, to be computed again. Of a contraction the equilibrium is the only one, of
        other maps the only one within the radius."""
        near = None
        if self.model.implicit:
            try:
                near = Near(self.Z, np.inf if self.map.lipschitz < 1 else self.Z_radius)
            except NoEquilibrium:
                near = Near(None, 0.0)
        iterations = self.model.iterations if near else len(self.steps)
        return ExactOpteq(self.model, self.theta, iterations, near)

    @cached_property
    def r(self) -> np.ndarray:
        found: np.ndarray = self.Wo @ self.Z - self.model.Y
        return found

    @cached_property
    def _Wo_norm(self) -> float:
        return float(errors.norm2(self.Wo).high)

    @cached_property
    def r_radius(self) -> float:
        return float(residual_radius(self.Wo, self._Wo_norm, self.Z, self.Z_radius, self.model.Y))

    @cached_property
    def residual(self) -> Measured:
        return errors.frobenius(self.r, self.r_radius, self.again.r)

    @cached_property
    def loss(self) -> Measured:
        return errors.sum_of_squares(self.r, self.r_radius, self.again.r) / 2

    @property
    def loss_alone(self) -> float:
        return errors.squares(self.r) / 2

    def after(self, k: int) -> OpteqState:
        """The same after k iterations only."""
        out = OpteqState(self.model, self.theta)
        steps = self.steps
        out._forward, out._given = (steps[:k], steps[k].Z, steps[k].passes[0].Zin_error), True
        return out

    def sweep(self, Q: np.ndarray, error: float) -> Iterable[Piece | Pull]:
        """Reverse mode from the adjoint Q (m x N) of the state that is read out."""
        if not self.model.implicit:
            return backwards(self.steps, self.sam, Q, error)
        step = self.steps[0]
        return through_layers(step.network, step.passes, *self._implicit(Q, error))

    def _implicit(self, Q: np.ndarray, error: float) -> tuple[np.ndarray, float]:
        """v_j = (I - M_j)^-T q_j, M_j the Jacobian of the map at the equilibrium."""
        here = FixedPoint(self.steps[0].network, self.map.prox)
        jacobians = here.jacobians(self.Z)
        matrices = np.eye(len(Q)) - jacobians
        v = np.linalg.solve(matrices.transpose(0, 2, 1), Q.T[:, :, None])[:, :, 0].T
        smallest = np.linalg.svd(matrices, compute_uv=False)[:, -1].min()
        turned = self.map.bend * self.Z_radius + self.network.jacobian_rounding
        left = float(smallest) - turned
        # On an unknown piece, or next to a singular one, nothing is known of the inverse.
        known = left > 0 and here.piece_known(self.Z, self.Z_radius)
        v_error = (error + turned * norm(v)) / left if known else np.inf
        if self.map.prox is not None:
            slopes = self.map.prox.prox_slopes(self.network.T(self.Z))
            bent = self.map.prox.bend * self.network.lipschitz * self.Z_radius
            v_error = self.map.prox.lipschitz * v_error + bent * norm(v)
            v = np.einsum("jki,kj->ij", slopes, v)
        return v, v_error

    @cached_property
    def _gradient(self) -> Gradient:
        return self._from(self.r, self.r_radius)

    def gradient_of(self, weights: np.ndarray) -> tuple[Params, float]:
        found = self._from(self.r * weights, self.r_radius * float(np.max(np.abs(weights))))
        return found.parts, math.hypot(*found.radii.values())

    def _from(self, r: np.ndarray, r_radius: float) -> Gradient:
        """What comes of an error r of the outputs (dy x N), known up to the radius."""
        sweep = self.sweep(self.Wo.T @ r, seed_radius(self.Wo, self._Wo_norm, r, r_radius))
        parts, radii = summed(self.network, self.shapes, sweep, self.Wo)
        parts["Wo"] = parts["Wo"] + r @ self.Z.T
        radii["Wo"] += read_out_radius(r, r_radius, self.Z, self.Z_radius)
        return Gradient(parts, radii)

    @property
    def gradient(self) -> Params:
        return self._gradient.parts

    @property
    def gradient_radius(self) -> float:
        return math.hypot(*self._gradient.radii.values())

    def exact_descent(self) -> tuple[Again, Mapping[str, Again]] | None:
        """Of iterations; an equilibrium has a witness, which moves."""
        gap = self.loss.again
        return None if gap is None or self.model.implicit else (gap, self.again.gradient)

    @cached_property
    def gradient_norms(self) -> dict[str, Measured]:
        (parts, radii), exact = self._gradient, self.again.gradient
        return {name: errors.frobenius(parts[name], radii[name], exact[name]) for name in parts}

    def derivative(self, rows: np.ndarray) -> tuple[np.ndarray, float]:
        """d (rows z_j)/d theta through the state (N x rows x P), one reverse pass for each row."""
        out, radii = self._rows(rows, self.sweep)
        return out, math.hypot(*radii.values())

    def _rows(
        self, rows: np.ndarray, pull: Callable[[np.ndarray, float], Iterable[Piece | Pull]]
    ) -> tuple[np.ndarray, dict[str, float]]:
        """With a radius for the columns of each parameter."""
        out, squares = [], dict.fromkeys(self.theta, 0.0)
        for w in rows:
            sweep = list(pull(np.repeat(w[:, None], self.model.N, axis=1), 0.0))
            out.append(per_sample(self.network, self.shapes, sweep, self.Wo))
            for name, e in summed(self.network, self.shapes, sweep, self.Wo).radii.items():
                squares[name] += e * e
        return np.stack(out, axis=1), {name: math.sqrt(e) for name, e in squares.items()}

    @cached_property
    def J(self) -> tuple[np.ndarray, float]:
        """d vec(yhat)/d theta (N d_y x P) and its radius."""
        inner, radius = self.derivative(self.Wo)
        N, outputs = inner.shape[:2]
        direct = inner[:, :, -self.Wo.size :].reshape(N, outputs, *self.Wo.shape)
        direct[:, range(outputs), range(outputs), :] += self.Z.T[:, None, :]
        inner[:, :, -self.Wo.size :] = direct.reshape(N, outputs, -1)
        return inner.reshape(N * outputs, -1), radius + self.Z_radius * float(np.sqrt(outputs))

    @cached_property
    def dZ(self) -> tuple[np.ndarray, float]:
        """d vec(Z)/d theta (N m x P) and its radius."""
        inner, radius = self.derivative(np.eye(self.model.m))
        return inner.reshape(-1, inner.shape[2]), radius

    @cached_property
    def dZ_by_name(self) -> dict[str, Block]:
        """d vec(Z) by each parameter (N m x its entries), each with its radius."""
        return self._by_name(self.sweep)

    def dZ_within(self, k: int, depth: int) -> dict[str, Block]:
        """The same for Z^(k,l) = f_l o ... o f_1 (Z^(k-1)), l = depth."""
        return self._by_name(
            lambda Q, _: backwards_within(self.network, self.steps, self.sam, (k, depth), Q)
        )

    def _by_name(
        self, pull: Callable[[np.ndarray, float], Iterable[Piece | Pull]]
    ) -> dict[str, Block]:
        inner, radii = self._rows(np.eye(self.model.m), pull)
        whole = inner.reshape(-1, inner.shape[2])
        ends = np.cumsum([a.size for a in self.theta.values()])[:-1]
        parts = np.split(whole, ends, axis=1)
        return {name: (D, radii[name]) for name, D in zip(self.theta, parts, strict=True)}

    @cached_property
    def by_input(self) -> tuple[np.ndarray, float]:
        """d z_j/d x_j of the state for each sample (N x m x d), and a radius for all of it."""
        rows, total = [], 0.0
        for w in np.eye(self.model.m):
            seed = np.repeat(w[:, None], self.model.N, axis=1)
            row, radius = input_rows(self.network, self.sweep(seed, 0.0))
            rows.append(row.T)
            total += radius * radius
        return np.stack(rows, axis=1), math.sqrt(total)

    @property
    def layer_columns(self) -> slice:
        """Of dZ: those that belong to (W, U, b), between the extractor's and the output's."""
        first = self.theta["W0"].size if "W0" in self.theta else 0
        return slice(first, self.count - self.Wo.size)

    @property
    def count(self) -> int:
        """P, the number of parameters."""
        return sum(a.size for a in self.theta.values())

    @property
    def outputs(self) -> int:
        return int(self.model.Y.size)

    @property
    def _twins(self) -> bool:
        """Two samples that start alike: their states and outputs are equal at all parameters."""
        return equal_columns(np.vstack([self.model.X, self.model.Z0])) is not None

    @cached_property
    def _inner_rank(self) -> int:
        """A bound on the rank of the state whatever the numbers are: without a last proximal layer
        or SAM it is W_L^T s where a = 1, and made of such parts of all layers where Z0 = 0."""
        widths = [len(layer.W) for layer in self.network.layers]
        if self.sam is not None or self.map.prox is not None:
            return self.model.m
        if self.model.alpha == 1:
            return min(self.model.m, widths[-1])
        from_zero = self.model.implicit or not self.model.Z0.any()
        return min(self.model.m, sum(widths)) if from_zero else self.model.m

    @property
    def dependent(self) -> bool:
        """Whether its columns are, whatever the numbers are."""
        return self._twins or self._inner_rank < self.model.N

    @cached_property
    def lambda_min_JJt(self) -> Measured:
        """sigma_{N d_y}(J)^2: exactly 0 when there are more outputs than parameters, and where the
        outputs are a product of inner dimension k < min(N, d_y): those fill k (N + d_y - k)
        dimensions only."""
        if self._twins or self._inner_rank < min(self.model.Y.shape):
            return given(0, exact.singular_value(self.again.J, self.outputs))
        J, radius = self.J
        return errors.nth_singular_value(J, self.outputs, radius, self.again.J) ** 2

    @cached_property
    def sigma_min_Z(self) -> Measured:
        """The N-th singular value of the state (m x N): exactly 0 when its rank is smaller."""
        if self.dependent:
            return given(0, exact.singular_value(self.again.Z, self.model.N))
        return errors.nth_singular_value(self.Z, self.Z.shape[1], self.Z_radius, self.again.Z)

    @cached_property
    def objective(self) -> Objective:
        if self.model.lean is None or self._given:
            loss = self.loss
            return Objective(loss.value, loss.error, self.gradient, lambda: self.gradient_radius)
        parts, seen = self.passed
        own = Seen(seen.r.T, seen.Z.T, seen.sizes.tolist())
        passed = Passed(self.model, self.network, own, self.Wo, self._Wo_norm)
        loss = errors.sum_of_squares(seen.r, passed.r_radius) / 2
        return Objective(loss.value, loss.error, parts, lambda: float(passed.radius))

    @cached_property
    def plain(self) -> Plain:
        # A state that was given its forward pass is not what its parameters alone would make.
        if self.model.implicit or self._given:
            return super().plain
        if self.model.lean is None:
            return plain(self)
        parts, seen = self.passed
        return Plain(errors.squares(seen.r) / 2, parts)

    @cached_property
    def passed(self) -> tuple[Params, Seen]:
        """The gradient of a lean model, and what it went through."""
        assert self.model.lean is not None and not self._given
        return self.model.lean.seen(self.theta)

    @cached_property
    def kinks(self) -> Kinks | None:
        # The kinks of a prox are not followed, so neither are those of the layers before it.
        if self.model.s.smooth or self.model.fields.prox is not None:
            return None
        found = held.heights(self.model.s, self.steps)
        return Kinks(found > 0, int((np.abs(found) < KINK).sum()), held.alike(self), found)

    def held(self, above: np.ndarray) -> held.HeldOpteq:
        return held.HeldOpteq(self, above)

    def with_slopes(self, slopes: np.ndarray) -> OpteqState:
        _, Z, radius = self._forward
        given = np.where(np.isnan(slopes), held.heights(self.model.s, self.steps) > 0, slopes)
        other = OpteqState(self.model, self.theta)
        bent = held.bent_networks(self, given, held=False)
        steps = [replace(s, network=n) for s, n in zip(self.steps, bent, strict=True)]
        # In place of what it would compute itself.
        other._forward, other._given = (steps, Z, radius), True
        other.again.plain = False
        return other

    @cached_property
    def measures(self) -> dict[str, Callable[[], Measured]]:
        return measures(self)

    @property
    def names(self) -> tuple[str, ...]:
        return listed(self)

    def measure(self, name: str) -> Measured:
        own = ALWAYS.get(name)
        return self.measures[name]() if own is None else own(self)
