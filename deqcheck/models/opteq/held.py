"""An OptEq network with every unit held on a side of its kinks.

A piecewise linear activation is s(t) = s(k_1) + s'(-inf) (t - k_1) + sum_i jump_i relu(t - k_i),
with its kinks k_i: each of them is one unit, whose slope is 0 or 1, or what is chosen on the kink.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, cast

import numpy as np

from deqcheck.frozen import dataclass
from deqcheck.linalg.exact_zeros import first_alike
from deqcheck.models.opteq.activations import Activation
from deqcheck.models.opteq.gradient import summed
from deqcheck.models.opteq.network import Network
from deqcheck.models.opteq.sweep import (
    NO_SAM,
    Piece,
    Pull,
    Step,
    backwards,
    before_layers,
    iterate,
    through_layers,
)
from deqcheck.models.problem import Held, Params, norm
from deqcheck.records.lazy import cached_property
from deqcheck.records.measured import EPS

if TYPE_CHECKING:
    from deqcheck.models.opteq.state import OpteqState


@dataclass(frozen=True)
class Bent:
    """An activation whose unit at each kink has a given slope (one array, the kinks last)."""

    s: Activation
    factors: np.ndarray
    # Continued as a line beyond its kinks, or as the activation is.
    held: bool = True

    smooth: ClassVar[bool] = True
    curvature: ClassVar[float] = 0.0

    @property
    def slopes(self) -> tuple[float, float]:
        return self.s.slopes

    @cached_property
    def jumps(self) -> np.ndarray:
        return jumps(self.s)

    @cached_property
    def first_slope(self) -> float:
        return float(self.s.slope(np.array(self.s.kinks[:1]))[0])

    def value(self, t: np.ndarray) -> np.ndarray:
        if not self.held:
            return self.s.value(t)
        kinks = np.array(self.s.kinks)
        start = self.s.value(kinks[:1])[0] + self.first_slope * (t - kinks[0])
        found: np.ndarray = start + (t[..., None] - kinks) * self.factors @ self.jumps
        return found

    def slope(self, t: np.ndarray) -> np.ndarray:
        found: np.ndarray = self.first_slope + self.factors @ self.jumps
        return found

    def slope_beside(self, t: np.ndarray, value: np.ndarray) -> np.ndarray:
        return self.slope(t)


def jumps(s: Activation) -> np.ndarray:
    """Of s' at each kink, where it is that to the left by convention."""
    return np.diff(s.slope(np.array([*s.kinks, s.kinks[-1] + 1.0])))


def heights(s: Activation, steps: Iterable[Step]) -> np.ndarray:
    """Of every pass through every layer, unit by unit, sample by sample, kink by kink."""
    seen = [p.A[..., None] - np.array(s.kinks) for step in steps for p in step.passes]
    return np.concatenate([each.ravel() for each in seen])


def alike(state: OpteqState) -> np.ndarray:
    """For each kink the first of the same unit and pass in a sample that starts alike."""
    first = first_alike(np.vstack([state.model.X, state.model.Z0]))
    N, kinks = len(first), len(state.model.s.kinks)
    units = sum(len(p.A) for step in state.steps for p in step.passes)
    samples = N * np.arange(units)[:, None] + first
    return np.asarray((kinks * samples[..., None] + np.arange(kinks)).ravel())


def bent_networks(state: OpteqState, factors: np.ndarray, held: bool) -> list[Network]:
    """One for each iteration."""
    model, at, found = state.model, 0, []
    for _ in range(1 if model.implicit else model.iterations):
        network, layers = state.network.copy(), []
        for layer in network.layers:
            shape = (len(layer.W), model.N, len(model.s.kinks))
            size = int(np.prod(shape))
            bent = Bent(model.s, factors[at : at + size].reshape(shape).astype(float), held)
            # It is asked for values and slopes alone.
            layers.append(replace(layer, s=cast(Activation, bent)))
            at += size
        network.layers = layers
        found.append(network)
    return found


class HeldOpteq(Held):
    def __init__(self, state: OpteqState, above: np.ndarray):
        self.state = state
        model = state.model
        networks = bent_networks(state, above, True)
        with np.errstate(all="ignore"):
            if model.implicit:
                state.solved.required()
                Z = self._rest(networks[0])
                self.steps = [Step(networks[0], Z, networks[0].visit(Z, 0.0)[0], NO_SAM)]
                self.Z = Z
            else:
                self.steps, self.Z, _ = iterate(networks, model.Z0, state.sam)
            self.heights = heights(model.s, self.steps)
            r = state.Wo @ self.Z - model.Y
            self.swept = list(self._sweep(state.Wo.T @ r))
            parts = summed(state.network, state.shapes, self.swept, state.Wo).parts
            parts["Wo"] = parts["Wo"] + r @ self.Z.T
        self.gradient = parts
        self.residual = norm(r)
        self.speed, self.gain = norm(self.Z), norm(state.Wo)
        self.rounding = 4 * EPS * r.size * (norm(state.Wo) * norm(self.Z) + norm(model.Y))
        self.alike = alike(state)

    @property
    def _systems(self) -> np.ndarray:
        """I - M_j for each sample."""
        eye = np.eye(len(self.state.model.Z0))
        return np.asarray(eye - self.steps[0].network.jacobians(self.steps[0].Z))

    def _rest(self, network: Network) -> np.ndarray:
        """The map is affine: z = M z + T(0)."""
        zero = np.zeros_like(self.state.model.Z0)
        systems = np.eye(len(zero)) - network.jacobians(zero)
        found: np.ndarray = np.linalg.solve(systems, network.T(zero).T[:, :, None])[:, :, 0].T
        return found

    def _sweep(self, Q: np.ndarray) -> Iterator[Piece | Pull]:
        if not self.state.model.implicit:
            return backwards(self.steps, self.state.sam, Q, 0.0)
        step = self.steps[0]
        v = np.linalg.solve(self._systems.transpose(0, 2, 1), Q.T[:, :, None])[:, :, 0].T
        return through_layers(step.network, step.passes, v, 0.0)

    def _place(self, kink: int) -> tuple[int, int, int, int, int]:
        """Iteration, layer, unit, sample and which of the activation's kinks."""
        N, kinks = self.state.model.N, len(self.state.model.s.kinks)
        for k, step in enumerate(self.steps):
            for i, p in enumerate(step.passes):
                if kink < p.A.size * kinks:
                    unit, rest = divmod(kink, N * kinks)
                    return k, i, unit, *divmod(rest, kinks)
                kink -= p.A.size * kinks
        raise IndexError(kink)

    def _from(self, kink: int) -> Iterator[Piece | Pull]:
        """Reverse mode from a pre-activation."""
        k, i, unit, sample, _ = self._place(kink)
        step = self.steps[k]
        seen, layer = step.passes[i], step.network.layers[i]
        one = np.zeros_like(seen.A)
        one[unit, sample] = 1.0
        # As an adjoint of this layer's pre-activation alone: nothing comes from its output.
        nothing = np.zeros_like(seen.Zin)
        yield Piece(i, one, nothing, seen, 0.0, 0.0)
        Q = layer.W.T @ one
        below = step.network.copy()
        below.layers = step.network.layers[:i]
        for last in through_layers(below, step.passes[:i], Q, 0.0):
            yield last
            Q, _ = before_layers(step.network, last)
        if self.state.model.implicit:
            yield from self._sweep(Q)
        else:
            yield from backwards(self.steps[:k], self.state.sam, Q, 0.0)

    def row(self, kink: int) -> Params:
        return summed(self.state.network, self.state.shapes, self._from(kink), self.state.Wo).parts

    def _outputs(self, swept: Iterable[Piece | Pull], kinks: Sequence[int]) -> np.ndarray:
        """jump a W q at each of these kinks, over all samples that are alike: d/d output."""
        step_of = {id(p): k for k, step in enumerate(self.steps) for p in step.passes}
        sums = np.zeros((len(self.steps), len(self.steps[0].passes)), dtype=object)
        for each in swept:
            if isinstance(each, Piece):
                layer = self.steps[0].network.layers[each.layer]
                sums[step_of[id(each.seen)], each.layer] += layer.alpha * (layer.W @ each.Q)
        found = np.zeros(len(kinks))
        for n, kink in enumerate(kinks):
            k, i, unit, sample, which = self._place(kink)
            same = self._twins(sample)
            adjoint = sums[k, i]
            if isinstance(adjoint, np.ndarray):
                found[n] = jumps(self.state.model.s)[which] * adjoint[unit, same].sum()
        return found

    def _twins(self, sample: int) -> np.ndarray:
        first = first_alike(np.vstack([self.state.model.X, self.state.model.Z0]))
        return np.flatnonzero(first == first[sample])

    def pulls(self, kinks: Sequence[int]) -> np.ndarray:
        return self._outputs(self.swept, kinks)

    def couplings(self, kinks: Sequence[int]) -> np.ndarray:
        return np.array([self._outputs(self._from(kink), kinks) for kink in kinks])
