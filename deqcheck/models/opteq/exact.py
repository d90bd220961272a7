"""An OptEq network computed again: the derivatives of its state, by reverse mode."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from deqcheck.linalg import exact
from deqcheck.models.opteq.entries import beside, column, entrywise
from deqcheck.models.opteq.exact_states import ExactStates, Seen, Step
from deqcheck.records.lazy import cached_property
from deqcheck.records.tower import Again, Level

# Iteration and layer, both from 1: Z^(k,l) = f_l o ... o f_1 (Z^(k-1)).
Place = tuple[int, int]


class Adjoint(NamedTuple):
    """Around layer i: of its pre-activation, and of its output."""

    layer: int
    Pd: Any
    Q: Any
    seen: Seen


class ExactOpteq(ExactStates):
    """The derivatives of a state, too."""

    def _sweep(
        self, level: Level, Q: Any, at: Place | None
    ) -> Iterator[Adjoint | tuple[Any, Any, Any]]:
        """From the adjoint Q of the state, or of that within a sweep; of a regulariser of the
        output weights its share, state and adjoint."""
        steps, _ = self._forward.at(level)
        if at is not None:
            k, depth = at
            for piece in self._layers(level, steps[k - 1].seen[:depth], Q):
                yield piece
                Q = self._before(level, piece)
            steps = steps[: k - 1]
        if self._near is not None:
            yield from self._layers(level, steps[0].seen, self._implicit(level, Q))
            return
        sam = self.model.sam_at(self.theta["Wo"])
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
        for i in reversed(range(len(seen))):
            weights = self.W[i].at(level)
            exact.charge(level, 3 * weights.nrows() * Q.nrows() * Q.ncols(), weights, Q)
            slopes = exact.mapped(level, seen[i].A, lambda t: self._slope(level, t))
            found = Adjoint(i, entrywise(level, slopes, a * (weights * Q)), Q, seen[i])
            yield found
            Q = self._before(level, found)

    def _before(self, level: Level, after: Adjoint) -> Any:
        weights = self.W[after.layer].at(level)
        return weights.transpose() * after.Pd + (1 - self._alpha(level)) * after.Q

    def _per_sample(self, level: Level, Q: Any, at: Place | None = None) -> list[dict[str, Any]]:
        """The derivative of <Q, Z> by each parameter through the state, sample by sample."""
        a, X, Wo = self._alpha(level), self.X.at(level), self.Wo.at(level)
        out = [
            {
                name: exact.zeros(level, len(p), p.shape[1] if p.ndim > 1 else 1)
                for name, p in self.theta.items()
            }
            for _ in range(Q.ncols())
        ]
        for each in self._sweep(level, Q, at):
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
            pulled = self.array(f"U{tag}").at(level).transpose() * Pd
            t, g = column(level, self.extracted.at(level), j), self.model.fields.extractor
            slopes = exact.mapped(level, t, lambda e: g.slope_on(level, e))
            x0 = column(level, exact.array(self.model.X).at(level), j)
            parts["W0"] += entrywise(level, slopes, pulled) * x0.transpose()

    @cached_property
    def gradient(self) -> dict[str, Again]:
        """Of |r|^2/2, by each parameter."""
        every = Again(self._gradient, self.Wo, self.r, self.Z)
        return {name: self._by(name, every) for name in self.theta}

    def _by(self, name: str, every: Again) -> Again:
        node = Again(lambda level, gradient: gradient[name], every)
        return node.told(lambda: self.told.gradient[name])

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
        node = Again(lambda level, Wo: self._rows(level, Wo, True), self.Wo)
        return node.told(lambda: self.told.rows(self.Wo, len(self.theta["Wo"]), True, None))

    @cached_property
    def dZ(self) -> Again:
        """d vec(Z)/d theta (N m x P)."""
        return self._dZ(None)

    def _dZ(self, at: Place | None) -> Again:
        m = self.model.m
        node = Again(lambda level: self._rows(level, exact.identity(level, m), False, at))
        return node.told(lambda: self.told.rows(exact.array(np.eye(m)), m, False, at))

    def columns(self, at: Place | None = None) -> dict[str, Again]:
        """d vec(Z), or that of Z^(k,l), by each parameter (N m x its entries)."""
        whole, found, first = self.dZ if at is None else self._dZ(at), {}, 0
        for name, a in self.theta.items():
            found[name] = exact.columns(whole, first, first + a.size)
            first += a.size
        return found

    @cached_property
    def by_layers(self) -> Again:
        """The columns of dZ by the layers, without those of the extractor and the output."""
        first = self.theta["W0"].size if "W0" in self.theta else 0
        last = sum(a.size for a in self.theta.values()) - self.theta["Wo"].size
        return exact.columns(self.dZ, first, last)

    def _rows(self, level: Level, rows: Any, direct: bool, at: Place | None = None) -> Any:
        """d (rows z_j)/d theta, the rows of sample 1 first; `direct`: by the output weights too."""
        N, count = self.model.N, rows.nrows()
        ones, Z = exact.matrix(level, 1, N, [1] * N), self.Z.at(level)
        found: list[list[Any]] = [[] for _ in range(N * count)]
        for i in range(count):
            w = exact.matrix(level, rows.ncols(), 1, [rows[i, k] for k in range(rows.ncols())])
            for j, parts in enumerate(self._per_sample(level, w * ones, at)):
                if direct:
                    for k in range(rows.ncols()):
                        parts["Wo"][i, k] += Z[k, j]
                found[j * count + i] = [x for part in parts.values() for x in part.entries()]
        return exact.matrix(level, N * count, len(found[0]), [x for row in found for x in row])

    # ---- products of Jacobians (20) ---------------------------------------------------------

    @cached_property
    def factors(self) -> Again:
        """For each iteration, the last first, and each l = L, ..., 1 the products of the Jacobians
        of layers l..L, one for each sample; and for each iteration the products of the
        beta V + (1 - beta) A(q,1) of it and all later ones."""
        return Again(self._factors)

    def _factors(self, level: Level) -> tuple[list[Any], list[Any]]:
        steps, _ = self._forward.at(level)
        one = exact.identity(level, self.model.m)
        layers, iterations, after = [], [], [one] * self.model.N
        for step in reversed(steps):
            whole = [one] * self.model.N
            for i in reversed(range(self.depth)):
                for j in range(self.model.N):
                    whole[j] = whole[j] * self._layer_jacobian(level, i, step.seen[i], j)
                layers += whole
            after = [later * self._mixed(level, step, whole[j], j) for j, later in enumerate(after)]
            iterations += after
        return layers, iterations

    def _mixed(self, level: Level, step: Step, inner: Any, j: int) -> Any:
        """beta V + (1 - beta) A, V = (1 - g lambda) I - g H."""
        sam = self.model.sam_at(self.theta["Wo"])
        if sam is None:
            return inner
        m, g = self.model.m, exact.raw(level, Fraction(sam.gamma))
        one = exact.identity(level, m)
        H = sam.R.pull_on(level, beside(level, [column(level, step.Z, j)] * m), one)
        V = (1 - g * step.lambda_) * one - g * H
        return step.beta * V + (1 - step.beta) * inner

    def largest_factors(self) -> tuple[Again, Again]:
        """The largest norms of both."""
        count = self.model.N * len(range(self.iterations))
        layers = [self._factor(0, i) for i in range(count * self.depth)]
        iterations = [self._factor(1, i) for i in range(count)]
        return _largest(layers), _largest(iterations)

    def _factor(self, kind: int, i: int) -> Again:
        node = Again(lambda level, found: found[kind][i], self.factors)
        return node.told(lambda: self.told.factors[kind][i])


def _largest(matrices: list[Again]) -> Again:
    return reduce(lambda a, b: Again("larger", a, b), map(exact.norm2, matrices))


def z_and_q(z: Any, q: Any) -> Any:
    """z q^T + q z^T."""
    return z * q.transpose() + q * z.transpose()
