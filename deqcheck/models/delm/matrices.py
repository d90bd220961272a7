"""The matrices of a deep equilibrium linear model, which can be computed again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from deqcheck.linalg import errors
from deqcheck.linalg.matrix import Matrix, identity, instance
from deqcheck.records.lazy import cached_property
from deqcheck.records.measured import EPS, given

if TYPE_CHECKING:
    from deqcheck.models.delm.state import DelmState


class DelmMatrices:
    """Each is made when something asks for it."""

    def __init__(self, state: DelmState):
        self._state = state
        self.gamma = given(state.gamma)

    @cached_property
    def S(self) -> Matrix:
        """Each entry is known to m + 8 roundings relatively to itself, and its exponent rounds,
        which moves x e^-x by less than one."""
        S = self._state.S
        radius = (2 * self._state.m + 16) * EPS * errors.length(S)
        return Matrix(S, radius, self._state.again.S)

    @cached_property
    def U(self) -> Matrix:
        return identity(self._state.m) - self.S * self.gamma

    @cached_property
    def inverse(self) -> Matrix:
        return self.U.solve(identity(self._state.m))

    @cached_property
    def Z(self) -> Matrix:
        return Matrix(self._state.Z, self._state.Z_radius, self._state.again.Z)

    @cached_property
    def Q(self) -> Matrix:
        """grad L0 at Z."""
        found = self._state.outer
        return Matrix(found.gradient, found.gradient_error, self._state.exact_Q)

    @cached_property
    def Phi(self) -> Matrix:
        return instance(self._state.model.outer.Phi)

    @cached_property
    def ones(self) -> Matrix:
        """A row."""
        return instance(np.ones((1, self._state.m)))
