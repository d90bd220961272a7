"""Pairs of parameters, for the Lipschitz constants of Lemma 19."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import count
from typing import Any

import numpy as np

from deqcheck.linalg import errors
from deqcheck.models.opteq.network import Layer, Network, Pass
from deqcheck.models.opteq.sweep import Step
from deqcheck.models.problem import Params, pack
from deqcheck.records.lazy import cached_property
from deqcheck.records.measured import Measured, maximum
from deqcheck.theorems.xie2021.bounds import Bounds


class Pair:
    """Two states of the network and how far apart everything is."""

    def __init__(self, a: Any, b: Any):
        self.a, self.b = a, b

    def _apart(self, names: Iterable[str]) -> Measured:
        moved: Params = {n: self.a.theta[n] - self.b.theta[n] for n in names}
        size = float(np.linalg.norm(pack({n: self.a.theta[n] for n in moved})))
        return errors.frobenius(pack(moved), errors.rounding(1, size))

    @cached_property
    def layers(self) -> Measured:
        return self._apart(name for name in self.a.theta if name != "Wo")

    @cached_property
    def whole(self) -> Measured:
        return self._apart(self.a.theta)

    @cached_property
    def state(self) -> Measured:
        return errors.frobenius(self.a.Z - self.b.Z, self.a.Z_radius + self.b.Z_radius)

    @cached_property
    def derivative(self) -> Measured:
        (Da, ea), (Db, eb) = self.a.dZ, self.b.dZ
        cut = -self.a.Wo.size
        return errors.norm2(Da[:, :cut] - Db[:, :cut], ea + eb)

    @cached_property
    def gradient(self) -> Measured:
        off = pack(self.a.gradient) - pack(self.b.gradient)
        radii = [norm.error for s in (self.a, self.b) for norm in s.gradient_norms.values()]
        return errors.frobenius(off, sum(radii))

    @property
    def _passes(self) -> Iterator[tuple[int, Pass, Pass]]:
        """What layer l (from 0) saw in each iteration, at both."""
        for one, other in zip(self.a.steps, self.b.steps, strict=True):
            yield from zip(count(), one.passes, other.passes, strict=False)

    @property
    def inner_states(self) -> list[Measured]:
        """|Z^(k,l)(a) - Z^(k,l)(b)|."""
        return [_moved(one, other) for _, one, other in self._passes]

    @property
    def slopes(self) -> Iterator[tuple[Measured, Measured, Measured]]:
        """For each D^(k,l): its change, ||dW|| + ||dU|| + |db|, and the change of the input."""
        s = self.a.model.s
        for i, one, other in self._passes:
            own = [self.a.theta[f"{x}{i + 1}"] - self.b.theta[f"{x}{i + 1}"] for x in "WUb"]
            change = float(np.abs(s.slope(one.A) - s.slope(other.A)).max())
            radius = s.curvature * (one.A_error + other.A_error) + errors.rounding(2, 1.0)
            moved = sum((errors.norm2(part) for part in own), Measured(0.0))
            yield Measured(change, radius), moved, _moved(one, other)

    @property
    def factors(self) -> Iterator[Measured]:
        """||A(k,l)(a) - A(k,l)(b)||, the products of the Jacobians of layers l..L."""
        for one, other in zip(self.a.steps, self.b.steps, strict=True):
            (A, ea), (B, eb) = (
                suffix_products(self.a.network, one),
                suffix_products(self.b.network, other),
            )
            for x, y, radius in zip(A, B, ea + eb, strict=True):
                off = float(np.linalg.norm(x - y, 2, axis=(1, 2)).max())
                yield Measured(off, radius)

    def residual(self, bounds: Bounds) -> Measured:
        """On the segment: that of the ends, and what may be gained in between."""
        gained = (bounds.B_L * bounds.B_J + bounds.B_z) * self.whole
        return maximum(self.a.residual, self.b.residual) + gained


def _moved(one: Pass, other: Pass) -> Measured:
    return errors.frobenius(one.Zin - other.Zin, one.Zin_error + other.Zin_error)


def turned(layer: Layer, seen: Pass) -> float:
    """How far a slope may be off; with kinks, whether its piece is known."""
    if layer.s.smooth:
        return float(layer.s.curvature * seen.A_error)
    return float(layer.s.doubtful(seen.A, seen.A_error).any())


def suffix_products(network: Network, step: Step) -> tuple[list[np.ndarray], np.ndarray]:
    """A(k,l) for l = L, ..., 1, one m x m block for each sample, and radii: every factor has norm
    at most about 1, so that the radii of the factors add up."""
    out, radii, whole, radius = [], [], np.eye(network.layers[0].W.shape[1]), 0.0
    for layer, seen in reversed(list(zip(network.layers, step.passes, strict=True))):
        inner = layer.slopes_between(seen.A)
        whole = whole @ (layer.alpha * inner + (1 - layer.alpha) * np.eye(len(seen.Zin)))
        bent = layer.alpha * layer.norm**2 * turned(layer, seen)
        radius = max(layer.lipschitz, 1.0) * radius + bent
        radius += errors.rounding(2 * sum(layer.W.shape), 1 + layer.frobenius**2)
        out.append(whole)
        radii.append(radius)
    return out, np.array(radii)
