"""The explicit Kronecker form of `oracle`, computed again: nodes made of nodes.

vec stacks columns: the vector of a matrix M is that of the rows of M^T.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from deqcheck.linalg import exact
from deqcheck.models.exact_relu_state import ExactReluState
from deqcheck.records.tower import Again, Level

if TYPE_CHECKING:
    from deqcheck.models.monotone_deq.state import MonotoneDeqState


def commutation(n: int) -> Again:
    """K vec(M) = vec(M^T) for M of n rows and columns."""
    return Again(lambda level: _commutation(level, n)).called("commutation", n=n)


def _commutation(level: Level, n: int) -> Any:
    K = exact.zeros(level, n * n, n * n)
    for i in range(n):
        for j in range(n):
            K[i * n + j, j * n + i] = 1
    return K


def _one(n: int) -> Again:
    return exact.array(np.eye(n))


def _kronecker(a: Again, b: Again) -> Again:
    return Again(exact.kronecker, a, b)


def _minus(a: Again) -> Again:
    return exact.scaled(exact.MINUS_ONE, a)


def _solved(a: Again, b: Again) -> Again:
    return Again(exact.solution, a, b)


def P_A(A: Again, n: int) -> Again:
    """-(I + K)(I_n kron A^T)."""
    left = exact.plus(_one(n * n), commutation(n))
    return _minus(exact.product(left, _kronecker(_one(n), exact.transpose(A))))


def P_B(n: int) -> Again:
    """I - K."""
    return exact.minus(_one(n * n), commutation(n))


def weight_slope(A: np.ndarray, name: str, way: Again) -> Again:
    """d vec(W)/d vec(P) times a vector, for P = A, B and W itself."""
    if name == "A":
        return exact.product(P_A(exact.array(A), len(A)), way)
    return exact.product(P_B(len(A)), way) if name == "B" else way


class _Form:
    """What the formulas share, at one state; N samples of n units."""

    def __init__(self, state: ExactReluState, n: int, N: int):
        self.state, self.n, self.N = state, n, N

    def D(self, H: Again) -> Again:
        """The active units, as a diagonal matrix."""
        size = self.n * self.N
        on = exact.where_positive(Again(exact.vec, H), exact.array(np.ones(size)))
        return exact.columns_scaled(_one(size), on)

    @property
    def active(self) -> Again:
        return self.D(self.state.relu.H)

    @property
    def Q(self) -> Again:
        """I - D (I_N kron W)."""
        turned = _kronecker(_one(self.N), self.state.W)
        return exact.minus(_one(self.n * self.N), exact.product(self.active, turned))

    def read_out(self, printed: bool) -> Again:
        """I_N kron u^T; printed: u^T kron I_N."""
        one, row = _one(self.N), exact.transpose(self.state.a)
        return _kronecker(row, one) if printed else _kronecker(one, row)

    def along_rows(self, features: Again) -> Again:
        """D (features^T kron I_n)."""
        rows = _kronecker(exact.transpose(features), _one(self.n))
        return exact.product(self.active, rows)


def _form(state: MonotoneDeqState) -> _Form:
    return _Form(state.again, state.n, state.N)


def sensitivity_operator(state: MonotoneDeqState, printed: bool) -> Again:
    """(u^T kron I_N) Q^-1 as printed, (I_N kron u^T) Q^-1 D as used."""
    form = _form(state)
    rows = exact.transpose(form.read_out(printed))
    found = exact.transpose(_solved(exact.transpose(form.Q), rows))
    return found if printed else exact.product(found, form.active)


def map_slope(state: MonotoneDeqState, name: str, way: np.ndarray) -> Again:
    """Lemma 3.2.1 times a vector, as a matrix: g along a change of Z, W, A, B or U."""
    return exact.unvec(_map_slope(state, name, way), state.n, state.N)


def state_slope(state: MonotoneDeqState, name: str, way: np.ndarray) -> Again:
    """Lemma 3.2.2 times a vector, as a matrix."""
    return exact.unvec(_state_slope(state, name, way), state.n, state.N)


def _map_slope(state: MonotoneDeqState, name: str, way: np.ndarray) -> Again:
    form, vector = _form(state), exact.array(way.ravel(order="F"))
    if name == "Z":
        return exact.product(form.Q, vector)
    features = exact.array(state.X) if name == "U" else state.again.Z
    moved = vector if name == "U" else weight_slope(state.A, name, vector)
    return _minus(exact.product(form.along_rows(features), moved))


def _state_slope(state: MonotoneDeqState, name: str, way: np.ndarray) -> Again:
    return _minus(_solved(_form(state).Q, _map_slope(state, name, way)))


def loss_slope(state: MonotoneDeqState, name: str, way: np.ndarray, printed: bool) -> Again:
    """Lemma 3.2.3 times a vector."""
    moved = exact.product(_form(state).read_out(printed), _state_slope(state, name, way))
    return exact.product(exact.transpose(state.again.r), moved)


def kernel_product(state: MonotoneDeqState, printed: bool) -> Again:
    """Proposition 4: -K r, the sum of J (J^T r)."""
    s, form = state.again, _form(state)
    system, outer = form.Q, form.read_out(printed)
    adjoint = _solved(exact.transpose(system), exact.product(exact.transpose(outer), s.r))
    by_U, by_W = form.along_rows(exact.array(state.X)), form.along_rows(s.Z)
    through = exact.product(by_U, exact.product(exact.transpose(by_U), adjoint))
    for inner in (P_A(exact.array(state.A), state.n), P_B(state.n)):
        pulled = exact.product(exact.transpose(by_W), adjoint)
        pulled = exact.product(inner, exact.product(exact.transpose(inner), pulled))
        through = exact.plus(through, exact.product(by_W, pulled))
    inside = exact.product(outer, _solved(system, through))
    return _minus(exact.plus(inside, exact.product(exact.transpose(s.Z), exact.product(s.Z, s.r))))


def row_slope(state: MonotoneDeqState, moved: Again, inputs: bool, printed: bool) -> Again:
    """Lemma C.0.2, the equilibrium in rows (N x n), times vec dWr or vec dUr."""
    s, form, n, N = state.again, _form(state), state.n, state.N
    active = form.D(exact.transpose(s.relu.H))
    turned = _kronecker(s.W, _one(N))
    system = exact.minus(_one(n * N), exact.product(active, turned))
    features = exact.array(state.X) if inputs else s.Z
    rows = exact.product(_kronecker(_one(n), exact.transpose(features)), moved)
    found = _solved(system, exact.product(active, rows))
    return exact.unvec(_minus(found) if printed else found, N, n)
