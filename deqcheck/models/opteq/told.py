"""An OptEq network in the words of certificates: sums, products, activations and their slopes.

Nothing is computed here: these nodes say what those of `exact` and `exact_states` are.
"""

from __future__ import annotations

from collections.abc import Generator
from fractions import Fraction
from functools import reduce
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from deqcheck.linalg import exact
from deqcheck.models.opteq.entries import slopes, values
from deqcheck.records.lazy import cached_property
from deqcheck.records.tower import Again, Untold, rational

if TYPE_CHECKING:
    from deqcheck.models.opteq.exact_states import ExactStates

# Layers that are written out.
MOST = 100


class Visit(NamedTuple):
    """What one layer saw: its input, pre-activation and activation."""

    Zin: Again
    A: Again
    G: Again


class Pull(NamedTuple):
    """Around layer i, in reverse: of its pre-activation, and of its output."""

    layer: int
    Pd: Again
    Q: Again
    seen: Visit


class Told:
    def __init__(self, states: ExactStates):
        self._states, self._model = states, states.model
        self._a = Fraction(self._model.alpha)

    def _mix(self, inner: Again, outer: Again) -> Again:
        """a inner + (1 - a) outer."""
        parts = exact.scaled(rational(self._a), inner), exact.scaled(rational(1 - self._a), outer)
        return exact.plus(*parts)

    def _slopes(self, A: Again) -> Again:
        if not self._states.plain:
            raise Untold
        return slopes(self._states.s, A)

    # ---- forward ------------------------------------------------------------------------------

    def through(self, Z: Again) -> tuple[list[Visit], Again]:
        """All layers from Z."""
        seen = []
        for W, C in zip(self._states.W, self._states.C, strict=True):
            A = exact.plus(exact.product(W, Z), C)
            G = values(self._states.s, A)
            seen.append(Visit(Z, A, G))
            Z = self._mix(exact.product(exact.transpose(W), G), Z)
        return seen, Z

    @cached_property
    def run(self) -> tuple[list[list[Visit]], Again]:
        """The layers of each iteration, and the state that is read out."""
        model, count = self._model, self._states.iterations
        if model.fields.sam is not None or count * model.depth > MOST:
            raise Untold
        if model.implicit:
            return [self.through(self._states.Z)[0]], self._states.Z
        Z, steps = exact.array(model.Z0), []
        for _ in range(count):
            seen, Z = self.through(Z)
            steps.append(seen)
        return steps, Z

    def gap(self, Z: Again) -> Again:
        """Z - T(Z)."""
        if self._model.fields.prox is not None:
            raise Untold
        return exact.minus(Z, self.through(Z)[1])

    # ---- Jacobians of the map -----------------------------------------------------------------

    def jacobian(self, seen: list[Visit], j: int) -> Again:
        """dT/dz of sample j."""
        layers = [self._layer(i, each.A, j) for i, each in enumerate(seen)]
        return reduce(lambda found, layer: exact.product(layer, found), layers)

    def _layer(self, i: int, A: Again, j: int) -> Again:
        """a W^T D W + (1 - a) I of layer i."""
        W, d = self._states.W[i], self._slopes(exact.column_of(A, j))
        inner = exact.product(exact.columns_scaled(exact.transpose(W), d), W)
        return self._mix(inner, exact.array(np.eye(self._model.m)))

    @cached_property
    def factors(self) -> tuple[list[Again], list[Again]]:
        """The products of Jacobians (20), in the order of `ExactOpteq.factors`."""
        layers: list[Again] = []
        iterations: list[Again] = []
        samples, after = range(self._model.N), None
        for seen in reversed(self.run[0]):
            whole: list[Again] = []
            for i in reversed(range(len(seen))):
                own = [self._layer(i, seen[i].A, j) for j in samples]
                whole = _times(whole, own) if whole else own
                layers += whole
            after = _times(after, whole) if after else whole
            iterations += after
        return layers, iterations

    # ---- reverse mode -------------------------------------------------------------------------

    def _sweep(self, Q: Again, at: tuple[int, int] | None) -> Generator[Pull, None, None]:
        """From the adjoint Q of the state, or of that after so many iterations and layers."""
        steps = self.run[0]
        if self._model.fields.prox is not None or (self._model.implicit and at is not None):
            raise Untold
        if at is not None:
            Q = yield from self._layers(steps[at[0] - 1][: at[1]], Q)
            steps = steps[: at[0] - 1]
        if self._model.implicit:
            Q = self._implicit(Q)
        for seen in reversed(steps):
            Q = yield from self._layers(seen, Q)

    def _layers(self, seen: list[Visit], Q: Again) -> Generator[Pull, None, Again]:
        for i in reversed(range(len(seen))):
            W = self._states.W[i]
            pulled = exact.scaled(rational(self._a), exact.product(W, Q))
            Pd = exact.hadamard(self._slopes(seen[i].A), pulled)
            yield Pull(i, Pd, Q, seen[i])
            parts = exact.product(exact.transpose(W), Pd), exact.scaled(rational(1 - self._a), Q)
            Q = exact.plus(*parts)
        return Q

    def _implicit(self, Q: Again) -> Again:
        """(I - M_j)^-T q_j in column j."""
        one, columns = exact.array(np.eye(self._model.m)), []
        for j in range(self._model.N):
            system = exact.transpose(exact.minus(one, self.jacobian(self.run[0][0], j)))
            solved = Again(exact.solution, system, exact.column_of(Q, j))
            columns.append(exact.transpose(solved))
        return exact.transpose(reduce(exact.stacked, columns))

    @cached_property
    def gradient(self) -> dict[str, Again]:
        """Of |r|^2/2, by each parameter."""
        s = self._states
        ones = exact.array(np.ones((self._model.N, 1)))
        X, found = exact.transpose(s.X), {"Wo": exact.product(s.r, exact.transpose(s.Z))}
        for each in self._sweep(exact.product(exact.transpose(s.Wo), s.r), None):
            tag, W0 = each.layer + 1, self._through_extractor(each)
            weights = exact.scaled(
                rational(self._a), exact.product(each.seen.G, exact.transpose(each.Q))
            )
            direct = exact.product(each.Pd, exact.transpose(each.seen.Zin))
            _add(found, f"W{tag}", exact.plus(direct, weights))
            _add(found, f"U{tag}", exact.product(each.Pd, X))
            _add(found, f"b{tag}", exact.product(each.Pd, ones))
            if W0 is not None:
                _add(found, "W0", exact.product(W0, exact.transpose(exact.array(self._model.X))))
        return found

    def _through_extractor(self, each: Pull) -> Again | None:
        s, g = self._states, self._model.fields.extractor
        if g is None:
            return None
        pulled = exact.product(exact.transpose(s.array(f"U{each.layer + 1}")), each.Pd)
        return exact.hadamard(slopes(g, s.extracted), pulled)

    def rows(self, rows: Again, count: int, direct: bool, at: tuple[int, int] | None) -> Again:
        """d (rows z_j)/d theta, the rows of sample 1 first; `direct`: by the output weights too."""
        outputs = [self._by_sample(rows, i, count if direct else 0, at) for i in range(count)]
        found = [
            exact.transpose(exact.column_of(each, j))
            for j in range(self._model.N)
            for each in outputs
        ]
        return reduce(exact.stacked, found)

    def _by_sample(self, rows: Again, i: int, outputs: int, at: tuple[int, int] | None) -> Again:
        """Of row i, a column for each sample: matrices row by row, in the order of theta."""
        s, N = self._states, self._model.N
        ones = exact.array(np.ones((1, N)))
        Q = exact.product(exact.column_of(exact.transpose(rows), i), ones)
        found: dict[str, Again] = {}
        for each in self._sweep(Q, at):
            tag, W0 = each.layer + 1, self._through_extractor(each)
            direct = Again(exact.khatri_rao, each.Pd, each.seen.Zin)
            weights = Again(exact.khatri_rao, each.seen.G, each.Q)
            _add(found, f"W{tag}", exact.plus(direct, exact.scaled(rational(self._a), weights)))
            _add(found, f"U{tag}", Again(exact.khatri_rao, each.Pd, s.X))
            _add(found, f"b{tag}", each.Pd)
            if W0 is not None:
                _add(found, "W0", Again(exact.khatri_rao, W0, exact.array(self._model.X)))
        if outputs:
            unit = exact.product(exact.array(np.eye(outputs)[:, [i]]), ones)
            found["Wo"] = Again(exact.khatri_rao, unit, s.Z)
        blocks = [
            found.get(name) or exact.array(np.zeros((a.size, N))) for name, a in s.theta.items()
        ]
        return reduce(exact.stacked, blocks)


def _add(found: dict[str, Again], name: str, part: Again) -> None:
    found[name] = exact.plus(found[name], part) if name in found else part


def _times(left: list[Again], right: list[Again]) -> list[Again]:
    return [exact.product(a, b) for a, b in zip(left, right, strict=True)]
