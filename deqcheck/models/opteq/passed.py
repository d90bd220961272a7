"""Radii of all that a gradient went through, from sizes alone: of one network, or of many.

Those of `sweep`, which takes the matrices themselves, are the twin in the tests.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from deqcheck.models.opteq.gradient import (
    Sizes,
    radii,
    read_out_radius,
    residual_radius,
    seed_radius,
)
from deqcheck.models.opteq.lean import Seen
from deqcheck.models.opteq.network import Network, Radius
from deqcheck.models.opteq.sweep import error_below, pulled_error
from deqcheck.records.lazy import cached_property

if TYPE_CHECKING:
    from deqcheck.models.opteq.model import OpteqModel


class Passed:
    """For smooth activations. `seen` has its samples in columns."""

    def __init__(
        self, model: OpteqModel, network: Network, seen: Seen, Wo: np.ndarray, Wo_norm: Radius
    ):
        self.model, self.network, self.Wo, self.Wo_norm = model, network, Wo, Wo_norm
        self.r, self.Z, self.sizes = seen

    @cached_property
    def _forward(self) -> tuple[list[tuple[Radius, Radius]], Radius]:
        """Of the input and of the pre-activation of each layer in each iteration, and of the state;
        as `iterate` has them."""
        found: list[tuple[Radius, Radius]] = []
        radius: Radius = 0.0
        for k in range(self.model.iterations):
            for layer, (left, right) in zip(self.network.layers, self.sizes, strict=True):
                A_error, after = layer.radii(right[1][k], left[0][k], radius)
                found.append((radius, A_error))
                radius = after
        return found, radius

    @property
    def Z_radius(self) -> Radius:
        return self._forward[1]

    @cached_property
    def r_radius(self) -> Radius:
        read = self.Wo, self.Wo_norm, self.Z, self.Z_radius
        return residual_radius(*read, self.model.Y)

    @cached_property
    def radius(self) -> Radius:
        """Of the gradient."""
        pieces = list(self._backward())
        driven: list[Radius] = [0.0] * self.model.depth
        for each in pieces:
            driven[each.layer] = driven[each.layer] + each.Pd
        found, _ = radii(self.network, pieces, driven)
        read = read_out_radius(self.r, self.r_radius, self.Z, self.Z_radius)
        return np.sqrt(sum(each * each for each in (read, *found.values())))

    def _backward(self) -> Iterator[Sizes]:
        """As `backwards`; a size that is not known is replaced by a bound."""
        a, s, layers = self.model.alpha, self.model.s, self.network.layers
        error = seed_radius(self.Wo, self.Wo_norm, self.r, self.r_radius)
        passes = list(self._forward[0])
        for k in reversed(range(self.model.iterations)):
            for i in reversed(range(len(layers))):
                layer, (Zin_error, A_error) = layers[i], passes.pop()
                left, right = self.sizes[i]
                G, Pd, scaled, Zin = left[0][k], left[1][k], right[0][k], right[1][k]
                Q, P = scaled / a, layer.norm * scaled
                Pd_error = pulled_error(layer, P, Q, s.curvature * A_error * P, error)
                yield Sizes(i, Pd, Q, Zin, G, Pd_error, error, Zin_error, A_error)
                error = error_below(layer, Pd, Pd_error, Q, error)
