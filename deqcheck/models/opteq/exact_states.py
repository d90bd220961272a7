"""An OptEq network computed again: its states and predictions, and the Jacobians of its map.

Piecewise linear activations stay rational, the others are computed in balls. An equilibrium is a
root of z - map(z), which Newton finds from the computed one: on its linear piece in one step, and
then map(z) = z is seen to hold; in balls the step of Krawczyk proves that a box holds one root.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from deqcheck.linalg import exact
from deqcheck.models.opteq.entries import beside, column, named, values
from deqcheck.models.opteq.exact_rest import rest
from deqcheck.models.opteq.told import Told
from deqcheck.models.problem import Params
from deqcheck.records.lazy import cached_property
from deqcheck.records.tower import Again, Exhausted, Level, NoExactForm
from deqcheck.records.tower.rationals import Rationals

if TYPE_CHECKING:
    from deqcheck.models.opteq.model import OpteqModel, SamFields


class Seen(NamedTuple):
    """What one layer saw: its input, pre-activation and activation."""

    Zin: Any
    A: Any
    G: Any


class Step(NamedTuple):
    """One iteration: where it started, what its layers saw, and its beta and lambda."""

    Z: Any
    seen: list[Seen]
    beta: Any
    lambda_: Any


class Near(NamedTuple):
    """The computed equilibrium, if there is one, and how far from it the only one that is meant
    may lie."""

    Z: np.ndarray | None
    reach: float


class ExactStates:
    """The matrices of a state, as nodes of the tower."""

    # Whether the slopes at kinks are those of the activation, so that there are derivatives.
    plain = True

    def __init__(self, model: OpteqModel, theta: Params, iterations: int, near: Near | None):
        """`near` for an equilibrium, else the state after so many iterations."""
        self.model, self.theta, self.iterations, self._near = model, theta, iterations, near
        self.s, self.depth = model.s, model.depth
        self.told = Told(self)

    def array(self, name: str) -> Again:
        return exact.array(self.theta[name])

    @cached_property
    def Wo(self) -> Again:
        return self.array("Wo")

    @cached_property
    def X(self) -> Again:
        """The input, extracted or not."""
        g = self.model.fields.extractor
        if g is None:
            return exact.array(self.model.X)
        return values(g, self.extracted)

    @cached_property
    def extracted(self) -> Again:
        """W_0 X_0."""
        return exact.product(self.array("W0"), exact.array(self.model.X))

    @cached_property
    def W(self) -> list[Again]:
        return [self.array(f"W{i}") for i in range(1, self.depth + 1)]

    @cached_property
    def C(self) -> list[Again]:
        """U X + b 1^T of each layer."""
        ones = exact.array(np.ones((1, self.model.N)))
        return [self._drive(i, ones) for i in range(1, self.depth + 1)]

    def _drive(self, i: int, ones: Again) -> Again:
        pushed = exact.product(self.array(f"b{i}"), ones)
        return exact.plus(exact.product(self.array(f"U{i}"), self.X), pushed)

    def _alpha(self, level: Level) -> Any:
        return exact.raw(level, Fraction(self.model.alpha))

    def _slope(self, level: Level, t: Any) -> Any:
        if not self.plain:
            raise NoExactForm
        return self.s.slope_on(level, t)

    # ---- forward ------------------------------------------------------------------------------

    def through(self, level: Level, Z: Any, j: int | None = None) -> tuple[list[Seen], Any]:
        """All layers from Z, of all samples or of sample j alone."""
        a, seen = self._alpha(level), []
        for W, C in zip(self.W, self.C, strict=True):
            weights, drive = W.at(level), C.at(level)
            drive = drive if j is None else column(level, drive, j)
            exact.charge(level, 3 * weights.nrows() * Z.nrows() * Z.ncols(), weights, Z)
            A = weights * Z + drive
            G = exact.mapped(level, A, lambda t: self.s.value_on(level, t))
            seen.append(Seen(Z, A, G))
            Z = a * (weights.transpose() * G) + (1 - a) * Z
        return seen, Z

    def jacobian(self, level: Level, seen: list[Seen], j: int = 0) -> Any:
        """dT/dz of a sample: the product of a W^T D W + (1 - a) I, the last layer on the left."""
        found = exact.identity(level, self.model.m)
        for i, each in enumerate(seen):
            found = self._layer_jacobian(level, i, each, j) * found
        return found

    def _layer_jacobian(self, level: Level, i: int, seen: Seen, j: int) -> Any:
        """a W^T D W + (1 - a) I of layer i and sample j."""
        a, m, weights = self._alpha(level), self.model.m, self.W[i].at(level)
        n = weights.nrows()
        exact.charge(level, m * m * (n + m), weights)
        slopes = [self._slope(level, seen.A[k, j]) for k in range(n)]
        rows = [slopes[k] * weights[k, q] for k in range(n) for q in range(m)]
        inner = weights.transpose() * exact.matrix(level, n, m, rows)
        return a * inner + (1 - a) * exact.identity(level, m)

    @cached_property
    def _prox(self) -> Any:
        return self.model.prox_at(self.theta["Wo"])

    def mapped(self, level: Level, z: Any, j: int) -> Any:
        """prox_R(T(z)) of sample j."""
        image = self.through(level, z, j)[1]
        return image if self._prox is None else self._prox.prox_on(level, image)

    def slopes(self, level: Level, z: Any, j: int) -> Any:
        """The Jacobian of that."""
        seen, image = self.through(level, z, j)
        inner = self.jacobian(level, seen)
        return inner if self._prox is None else self._prox.prox_slopes_on(level, image) * inner

    @cached_property
    def _forward(self) -> Again:
        return Again(self._run)

    def _run(self, level: Level) -> tuple[list[Step], Any]:
        if self._near is not None:
            Z = self._rest(level)
            return [Step(Z, self.through(level, Z)[0], 0, 0)], Z
        Z, steps = exact.array(self.model.Z0).at(level), []
        sam = self.model.sam_at(self.theta["Wo"])
        for k in range(1, self.iterations + 1):
            beta, lambda_ = sam_weights(level, self.model.fields.sam, k)
            seen, image = self.through(level, Z)
            steps.append(Step(Z, seen, beta, lambda_))
            if sam is not None:
                g = exact.raw(level, Fraction(sam.gamma))
                S = (1 - g * lambda_) * Z - g * sam.R.gradient_on(level, Z)
                image = beta * S + (1 - beta) * image
            Z = image
        return steps, Z

    def _rest(self, level: Level) -> Any:
        """Balls cannot tell that a unit rests on a kink: rationals are tried first."""
        assert self._near is not None
        if self._near.Z is None:
            raise NoExactForm
        if not level.exact:
            try:
                return level.flint.arb_mat(self.Z.at(Rationals()))
            except (NoExactForm, Exhausted):
                pass
        near = exact.array(self._near.Z).at(level)
        columns = [rest(level, self, column(level, near, j), j) for j in range(near.ncols())]
        Z = beside(level, columns)
        off = sum((x * x for x in (Z - near).entries()), exact.raw(level, 0))
        if (
            np.isfinite(self._near.reach)
            and not off <= exact.raw(level, Fraction(self._near.reach)) ** 2
        ):
            raise NoExactForm
        return Z

    @cached_property
    def Z(self) -> Again:
        """The state that is read out."""
        found = Again(lambda level, run: run[1], self._forward)
        if self._near is None:
            return found.told(lambda: self.told.run[1])
        if self._prox is not None:
            return found
        a = Fraction(self.model.alpha)
        return found.called("opteq_equilibrium", *self.W, *self.C, alpha=a, **named(self.s))

    def seen(self, k: int, i: int) -> Seen:
        """What layer i saw in iteration k, both from 0, as nodes."""

        def part(name: str) -> Again:
            node = Again(lambda level, run: getattr(run[0][k].seen[i], name), self._forward)
            return node.told(lambda: getattr(self.told.run[0][k][i], name))

        return Seen(part("Zin"), part("A"), part("G"))

    def visited(self, Z: Again) -> list[Seen]:
        """What the layers see from a state, as nodes."""
        run = Again(lambda level, Z: self.through(level, Z)[0], Z)

        def part(i: int, name: str) -> Again:
            node = Again(lambda level, seen: getattr(seen[i], name), run)
            return node.told(lambda: getattr(self.told.through(Z)[0][i], name))

        return [Seen(part(i, "Zin"), part(i, "A"), part(i, "G")) for i in range(self.depth)]

    @cached_property
    def r(self) -> Again:
        return exact.minus(exact.product(self.Wo, self.Z), exact.array(self.model.Y))

    def jacobian_of(self, j: int) -> Again:
        """dT/dz at the state of sample j."""
        node = Again(
            lambda level, Z: self.jacobian(level, self.through(level, column(level, Z, j), j)[0]),
            self.Z,
        )
        return node.told(lambda: self.told.jacobian(self.told.through(self.Z)[0], j))

    @cached_property
    def at_rest(self) -> Again:
        """Z - map(Z)."""
        return Again(self._gap, self.Z).told(lambda: self.told.gap(self.Z))

    def _gap(self, level: Level, Z: Any) -> Any:
        columns = [self.mapped(level, column(level, Z, j), j) for j in range(Z.ncols())]
        return Z - beside(level, columns)


def sam_weights(level: Level, sam: SamFields | None, k: int) -> tuple[Any, Any]:
    """beta k^-rho and lambda k^-c; 0 where there is no SAM."""
    if sam is None:
        return exact.raw(level, 0), exact.raw(level, 0)
    return _falling(level, sam.beta, k, sam.rho), _falling(level, sam.lambda_, k, sam.c)


def _falling(level: Level, x: float, k: int, power: float) -> Any:
    """x k^-power."""
    if k == 1 or x == 0 or power == int(power):
        return exact.raw(level, Fraction(x) / k ** int(power))
    if level.exact:
        raise NoExactForm
    return exact.raw(level, Fraction(x)) * (-power * level.flint.arb(k).log()).exp()
