"""An OptEq network computed again: its states, predictions, Jacobians and gradients.

Piecewise linear activations stay rational, the others are computed in balls. An equilibrium is a
root of z - map(z), which Newton finds from the computed one: on its linear piece in one step, and
then map(z) = z is seen to hold; in balls the step of Krawczyk proves that a box holds one root.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from deqcheck.linalg import exact
from deqcheck.models.opteq.entries import beside, column, entrywise
from deqcheck.models.opteq.exact_rest import rest
from deqcheck.models.problem import Params
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


class Adjoint(NamedTuple):
    """Around layer i: of its pre-activation, and of its output."""

    layer: int
    Pd: Any
    Q: Any
    seen: Seen


class Near(NamedTuple):
    """The computed equilibrium, and how far from it the only one that is meant may lie."""

    Z: np.ndarray
    reach: float


class ExactOpteq:
    """The matrices of a state, as nodes of the tower."""

    # Whether the slopes at kinks are those of the activation, so that there are derivatives.
    plain = True

    def __init__(self, model: OpteqModel, theta: Params, iterations: int, near: Near | None):
        """`near` for an equilibrium, else the state after so many iterations."""
        self.model, self._theta, self._iterations, self._near = model, theta, iterations, near
        self.s, self.depth = model.s, model.depth

    def _array(self, name: str) -> Again:
        return exact.array(self._theta[name])

    @cached_property
    def Wo(self) -> Again:
        return self._array("Wo")

    @cached_property
    def X(self) -> Again:
        """The input, extracted or not."""
        g = self.model.fields.extractor
        if g is None:
            return exact.array(self.model.X)
        return Again(
            lambda level, A: exact.mapped(level, A, lambda t: g.value_on(level, t)), self._extracted
        )

    @cached_property
    def _extracted(self) -> Again:
        """W_0 X_0."""
        return exact.product(self._array("W0"), exact.array(self.model.X))

    @cached_property
    def W(self) -> list[Again]:
        return [self._array(f"W{i}") for i in range(1, self.depth + 1)]

    @cached_property
    def C(self) -> list[Again]:
        """U X + b 1^T of each layer."""
        ones = exact.array(np.ones((1, self.model.N)))
        return [self._drive(i, ones) for i in range(1, self.depth + 1)]

    def _drive(self, i: int, ones: Again) -> Again:
        pushed = exact.product(self._array(f"b{i}"), ones)
        return exact.plus(exact.product(self._array(f"U{i}"), self.X), pushed)

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
        a, m = self._alpha(level), self.model.m
        one = exact.identity(level, m)
        found = one
        for W, each in zip(self.W, seen, strict=True):
            weights = W.at(level)
            n = weights.nrows()
            exact.charge(level, m * m * (n + m), weights, found)
            slopes = [self._slope(level, each.A[i, j]) for i in range(n)]
            rows = [slopes[i] * weights[i, k] for i in range(n) for k in range(m)]
            inner = weights.transpose() * exact.matrix(level, n, m, rows)
            found = (a * inner + (1 - a) * one) * found
        return found

    @cached_property
    def _prox(self) -> Any:
        return self.model.prox_at(self._theta["Wo"])

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
        sam = self.model.sam_at(self._theta["Wo"])
        for k in range(1, self._iterations + 1):
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
        return Again(lambda level, run: run[1], self._forward)

    def seen(self, k: int, i: int) -> Seen:
        """What layer i saw in iteration k, both from 0, as nodes."""

        def part(name: str) -> Again:
            return Again(lambda level, run: getattr(run[0][k].seen[i], name), self._forward)

        return Seen(part("Zin"), part("A"), part("G"))

    def visited(self, Z: Again) -> list[Seen]:
        """What the layers see from a state, as nodes."""
        run = Again(lambda level, Z: self.through(level, Z)[0], Z)

        def part(i: int, name: str) -> Again:
            return Again(lambda level, seen: getattr(seen[i], name), run)

        return [Seen(part(i, "Zin"), part(i, "A"), part(i, "G")) for i in range(self.depth)]

    def columns(self, name: str) -> Again:
        """d vec(Z) by one parameter (N m x its entries)."""
        before = 0
        for other, a in self._theta.items():
            if other == name:
                break
            before += a.size
        return Again(
            lambda level, D: columns_of(level, D, before, before + self._theta[name].size), self.dZ
        )

    @cached_property
    def r(self) -> Again:
        return exact.minus(exact.product(self.Wo, self.Z), exact.array(self.model.Y))

    def jacobian_of(self, j: int) -> Again:
        """dT/dz at the state of sample j."""
        return Again(
            lambda level, Z: self.jacobian(level, self.through(level, column(level, Z, j), j)[0]),
            self.Z,
        )

    @cached_property
    def at_rest(self) -> Again:
        """Z - map(Z)."""
        return Again(self._gap, self.Z)

    def _gap(self, level: Level, Z: Any) -> Any:
        columns = [self.mapped(level, column(level, Z, j), j) for j in range(Z.ncols())]
        return Z - beside(level, columns)

    # ---- reverse ------------------------------------------------------------------------------

    def _sweep(self, level: Level, Q: Any) -> Iterator[Adjoint | tuple[Any, Any, Any]]:
        """From the adjoint Q of the state; of a regulariser of the output weights its share, state
        and adjoint."""
        steps, _ = self._forward.at(level)
        if self._near is not None:
            yield from self._layers(level, steps[0].seen, self._implicit(level, Q))
            return
        sam = self.model.sam_at(self._theta["Wo"])
        for step in reversed(steps):
            beta = step.beta
            last = None
            for last in self._layers(level, step.seen, (1 - beta) * Q):
                yield last
            assert last is not None
            below = self._before(level, last)
            if sam is not None:
                g = exact.raw(level, Fraction(sam.gamma))
                if sam.uses_output:
                    yield beta * g, step.Z, Q
                back = (1 - g * step.lambda_) * Q - g * sam.R.pull_on(level, step.Z, Q)
                below = below + beta * back
            Q = below

    def _implicit(self, level: Level, Q: Any) -> Any:
        """(I - M_j)^-T q_j, and through the last proximal layer."""
        Z, columns = self.Z.at(level), []
        for j in range(Z.ncols()):
            z = column(level, Z, j)
            seen, image = self.through(level, z, j)
            inner = self.jacobian(level, seen)
            outer = None if self._prox is None else self._prox.prox_slopes_on(level, image)
            whole = inner if outer is None else outer * inner
            system = (exact.identity(level, z.nrows()) - whole).transpose()
            v = exact.solution(level, system, column(level, Q, j))
            columns.append(v if outer is None else outer.transpose() * v)
        return beside(level, columns)

    def _layers(self, level: Level, seen: list[Seen], Q: Any) -> Iterator[Adjoint]:
        a = self._alpha(level)
        for i in reversed(range(self.depth)):
            weights = self.W[i].at(level)
            exact.charge(level, 3 * weights.nrows() * Q.nrows() * Q.ncols(), weights, Q)
            slopes = exact.mapped(level, seen[i].A, lambda t: self._slope(level, t))
            found = Adjoint(i, entrywise(level, slopes, a * (weights * Q)), Q, seen[i])
            yield found
            Q = self._before(level, found)

    def _before(self, level: Level, after: Adjoint) -> Any:
        weights = self.W[after.layer].at(level)
        return weights.transpose() * after.Pd + (1 - self._alpha(level)) * after.Q

    def _per_sample(self, level: Level, Q: Any) -> list[dict[str, Any]]:
        """The derivative of <Q, Z> by each parameter through the state, sample by sample."""
        a, X, Wo = self._alpha(level), self.X.at(level), self.Wo.at(level)
        out = [
            {
                name: exact.zeros(level, len(p), p.shape[1] if p.ndim > 1 else 1)
                for name, p in self._theta.items()
            }
            for _ in range(Q.ncols())
        ]
        for each in self._sweep(level, Q):
            for j, parts in enumerate(out):
                if isinstance(each, Adjoint):
                    self._add(level, parts, each, a, X, j)
                    continue
                share, Z, q = each[0], column(level, each[1], j), column(level, each[2], j)
                both = z_and_q(Z, q)
                parts["Wo"] -= share * (Wo * both)
        return out

    def _add(
        self, level: Level, parts: dict[str, Any], each: Adjoint, a: Any, X: Any, j: int
    ) -> None:
        tag = each.layer + 1
        Pd, x = column(level, each.Pd, j), column(level, X, j)
        Zin, G = column(level, each.seen.Zin, j), column(level, each.seen.G, j)
        exact.charge(level, 2 * Pd.nrows() * (Zin.nrows() + x.nrows()), Pd, Zin)
        parts[f"W{tag}"] += Pd * Zin.transpose()
        parts[f"W{tag}"] += a * (G * column(level, each.Q, j).transpose())
        parts[f"U{tag}"] += Pd * x.transpose()
        parts[f"b{tag}"] += Pd
        if "W0" in parts:
            pulled = self._array(f"U{tag}").at(level).transpose() * Pd
            t, g = column(level, self._extracted.at(level), j), self.model.fields.extractor
            slopes = exact.mapped(level, t, lambda e: g.slope_on(level, e))
            x0 = column(level, exact.array(self.model.X).at(level), j)
            parts["W0"] += entrywise(level, slopes, pulled) * x0.transpose()

    @cached_property
    def gradient(self) -> dict[str, Again]:
        """Of |r|^2/2, by each parameter."""
        every = Again(self._gradient, self.Wo, self.r, self.Z)
        return {name: Again(lambda level, g, n=name: g[n], every) for name in self._theta}

    def _gradient(self, level: Level, Wo: Any, r: Any, Z: Any) -> dict[str, Any]:
        samples = self._per_sample(level, Wo.transpose() * r)
        parts = samples[0]
        for more in samples[1:]:
            for name in parts:
                parts[name] += more[name]
        parts["Wo"] += r * Z.transpose()
        return parts

    @cached_property
    def J(self) -> Again:
        """d vec(yhat)/d theta (N d_y x P)."""
        return Again(lambda level, Wo: self._rows(level, Wo, direct=True), self.Wo)

    @cached_property
    def dZ(self) -> Again:
        """d vec(Z)/d theta (N m x P)."""
        m = self.model.m
        return Again(lambda level: self._rows(level, exact.identity(level, m), direct=False))

    @cached_property
    def by_layers(self) -> Again:
        """The columns of dZ by the layers, without those of the extractor and the output."""
        first = self._theta["W0"].size if "W0" in self._theta else 0
        last = sum(a.size for a in self._theta.values()) - self._theta["Wo"].size
        return Again(lambda level, D: columns_of(level, D, first, last), self.dZ)

    def _rows(self, level: Level, rows: Any, direct: bool) -> Any:
        """d (rows z_j)/d theta, the rows of sample 1 first; `direct`: by the output weights too."""
        N, count = self.model.N, rows.nrows()
        ones, Z = exact.matrix(level, 1, N, [1] * N), self.Z.at(level)
        found: list[list[Any]] = [[] for _ in range(N * count)]
        for i in range(count):
            w = exact.matrix(level, rows.ncols(), 1, [rows[i, k] for k in range(rows.ncols())])
            for j, parts in enumerate(self._per_sample(level, w * ones)):
                if direct:
                    for k in range(rows.ncols()):
                        parts["Wo"][i, k] += Z[k, j]
                found[j * count + i] = [x for part in parts.values() for x in part.entries()]
        return exact.matrix(level, N * count, len(found[0]), [x for row in found for x in row])


def columns_of(level: Level, a: Any, first: int, last: int) -> Any:
    entries = [a[i, j] for i in range(a.nrows()) for j in range(first, last)]
    return exact.matrix(level, a.nrows(), last - first, entries)


def z_and_q(z: Any, q: Any) -> Any:
    """z q^T + q z^T."""
    return z * q.transpose() + q * z.transpose()


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
