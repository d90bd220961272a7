"""The explicit Kronecker form of `oracle`, computed again: nodes made of nodes.

vec stacks columns: the vector of a matrix M is that of the rows of M^T.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from deqcheck.linalg import exact
from deqcheck.linalg.exact_entries import unvec
from deqcheck.models.exact_relu_state import ExactReluState
from deqcheck.records.tower import Again, Level, NoExactForm

if TYPE_CHECKING:
    from deqcheck.models.monotone_deq.state import MonotoneDeqState


def vec(level: Level, a: Any) -> Any:
    return exact.matrix(level, a.nrows() * a.ncols(), 1, a.transpose().entries())


def commutation(level: Level, n: int) -> Any:
    """K vec(M) = vec(M^T) for M of n rows and columns."""
    K = exact.zeros(level, n * n, n * n)
    for i in range(n):
        for j in range(n):
            K[i * n + j, j * n + i] = 1
    return K


def P_A(A: Again) -> Again:
    """-(I + K)(I_n kron A^T)."""
    return Again(_P_A, A)


def _P_A(level: Level, A: Any) -> Any:
    n = A.nrows()
    left = exact.identity(level, n * n) + commutation(level, n)
    inner = exact.kronecker(level, exact.identity(level, n), A.transpose())
    exact.charge(level, n**4, A)
    return -1 * (left * inner)


def P_B(level: Level, n: int) -> Any:
    """I - K."""
    return exact.identity(level, n * n) - commutation(level, n)


def weight_slope(A: Again, name: str, way: Again) -> Again:
    """d vec(W)/d vec(P) times a vector, for P = A, B and W itself."""
    if name == "A":
        return exact.product(P_A(A), way)
    if name == "B":
        return Again(lambda level, A, x: P_B(level, A.nrows()) * x, A, way)
    return way


def D(level: Level, H: Any) -> Any:
    """The active units, as a diagonal matrix."""
    found = exact.zeros(level, H.nrows() * H.ncols(), H.nrows() * H.ncols())
    for k, h in enumerate(vec(level, H).entries()):
        if not (h > 0 or h <= 0):
            raise NoExactForm
        found[k, k] = int(h > 0)
    return found


def Q(level: Level, W: Any, H: Any) -> Any:
    """I - D (I_N kron W)."""
    size = H.nrows() * H.ncols()
    turned = exact.kronecker(level, exact.identity(level, H.ncols()), W)
    return exact.identity(level, size) - D(level, H) * turned


def read_out(level: Level, u: Any, N: int, printed: bool) -> Any:
    """I_N kron u^T; printed: u^T kron I_N."""
    one, row = exact.identity(level, N), u.transpose()
    return exact.kronecker(level, row, one) if printed else exact.kronecker(level, one, row)


def sensitivity_operator(state: ExactReluState, printed: bool) -> Again:
    """(u^T kron I_N) Q^-1 as printed, (I_N kron u^T) Q^-1 D as used."""

    def made(level: Level, W: Any, H: Any, u: Any) -> Any:
        rows = read_out(level, u, H.ncols(), printed).transpose()
        found = exact.solution(level, Q(level, W, H).transpose(), rows).transpose()
        return found if printed else found * D(level, H)

    return Again(made, state.W, state.relu.H, state.a)


def map_slope(state: MonotoneDeqState, name: str, way: np.ndarray) -> Again:
    """Lemma 3.2.1 times a vector, as a matrix: g along a change of Z, W, A, B or U."""
    return Again(_unvec, _map_slope(state, name, way), state.again.Z)


def state_slope(state: MonotoneDeqState, name: str, way: np.ndarray) -> Again:
    """Lemma 3.2.2 times a vector, as a matrix."""
    return Again(_unvec, _state_slope(state, name, way), state.again.Z)


def _unvec(level: Level, x: Any, Z: Any) -> Any:
    return unvec(level, x, Z.nrows(), Z.ncols())


def _vector(way: np.ndarray) -> Again:
    return exact.array(way.ravel(order="F"))


def _map_slope(state: MonotoneDeqState, name: str, way: np.ndarray) -> Again:
    s, vector = state.again, _vector(way)
    if name == "Z":
        return Again(lambda level, W, H, x: Q(level, W, H) * x, s.W, s.relu.H, vector)
    features = exact.array(state.X) if name == "U" else s.Z
    moved = vector if name == "U" else weight_slope(exact.array(state.A), name, vector)
    return Again(_along_rows, s.relu.H, features, moved)


def _along_rows(level: Level, H: Any, features: Any, x: Any) -> Any:
    """-D (features^T kron I_n) x."""
    rows = exact.kronecker(level, features.transpose(), exact.identity(level, H.nrows()))
    return -1 * (D(level, H) * (rows * x))


def _state_slope(state: MonotoneDeqState, name: str, way: np.ndarray) -> Again:
    s = state.again
    return Again(
        lambda level, W, H, g: -1 * exact.solution(level, Q(level, W, H), g),
        s.W,
        s.relu.H,
        _map_slope(state, name, way),
    )


def loss_slope(state: MonotoneDeqState, name: str, way: np.ndarray, printed: bool) -> Again:
    """Lemma 3.2.3 times a vector."""
    s = state.again

    def made(level: Level, u: Any, r: Any, slope: Any) -> Any:
        return r.transpose() * (read_out(level, u, r.nrows(), printed) * slope)

    return Again(made, s.a, s.r, _state_slope(state, name, way))


def kernel_product(state: MonotoneDeqState, printed: bool) -> Again:
    """Proposition 4: -K r, the sum of J (J^T r)."""
    s = state.again
    A, X = exact.array(state.A), exact.array(state.X)

    def made(level: Level, *matrices: Any) -> Any:
        W, H, Z, u, r, A, X = matrices
        n, N = H.nrows(), H.ncols()
        system, active = Q(level, W, H), D(level, H)
        outer, one = read_out(level, u, N, printed), exact.identity(level, n)
        adjoint = exact.solution(level, system.transpose(), outer.transpose() * r)
        by_U = active * exact.kronecker(level, X.transpose(), one)
        by_W = active * exact.kronecker(level, Z.transpose(), one)
        through = by_U * (by_U.transpose() * adjoint)
        for inner in (_P_A(level, A), P_B(level, n)):
            through += by_W * (inner * (inner.transpose() * (by_W.transpose() * adjoint)))
        return -1 * (outer * exact.solution(level, system, through) + Z.transpose() * (Z * r))

    return Again(made, s.W, s.relu.H, s.Z, s.a, s.r, A, X)


def row_slope(state: MonotoneDeqState, moved: Again, inputs: bool, printed: bool) -> Again:
    """Lemma C.0.2, the equilibrium in rows (N x n), times vec dWr or vec dUr."""
    s = state.again

    def made(level: Level, W: Any, H: Any, features: Any, x: Any) -> Any:
        n, N = H.nrows(), H.ncols()
        active = D(level, H.transpose())
        turned = exact.kronecker(level, W, exact.identity(level, N))
        system = exact.identity(level, n * N) - active * turned
        rows = exact.kronecker(level, exact.identity(level, n), features.transpose()) * x
        found = exact.solution(level, system, active * rows)
        return unvec(level, -1 * found if printed else found, N, n)

    return Again(made, s.W, s.relu.H, exact.array(state.X) if inputs else s.Z, moved)
