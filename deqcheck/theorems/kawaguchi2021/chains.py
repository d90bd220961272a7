"""The Markov chain of a positive S with column sums 1, by elimination without subtraction.

A state is left to any other with a probability that is an entry of S, so that the diagonal is never
needed: every number below is a sum of products of positive entries (Grassmann, Taksar, Heyman), and
keeps the relative accuracy of S however near to 1 the second eigenvalue is.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from deqcheck.linalg import exact
from deqcheck.records.measured import EPS
from deqcheck.records.tower import Again, Level

# Products of smaller entries may leave the range of floating-point numbers.
SMALLEST_ENTRY = 1e-100


def stationary(S: np.ndarray) -> np.ndarray:
    """pi with S pi = pi and sum(pi) = 1."""
    P = S.T.copy()
    pi = np.ones(len(P))
    for k in range(len(P) - 1, 0, -1):
        P[:k, k] /= P[k, :k].sum()
        P[:k, :k] += np.outer(P[:k, k], P[k, :k])
    for k in range(1, len(P)):
        pi[k] = pi[:k] @ P[:k, k]
        # Ratios multiply, and may overflow.
        pi[: k + 1] /= pi[: k + 1].sum()
    return pi


def settled(S: np.ndarray, q: np.ndarray, first: int) -> np.ndarray:
    """x with (I - S^T) x = q and x[first] = 0, the equation of `first` left out (where pi . q = 0
    it follows from the others). Entries of q of one sign meet no cancellation."""
    order = np.r_[first, np.delete(np.arange(len(S)), first)]
    P, b = S.T[np.ix_(order, order)], q[order].astype(float)
    left = np.ones(len(P))
    for k in range(len(P) - 1, 0, -1):
        left[k] = P[k, :k].sum()
        share = P[:k, k] / left[k]
        b[:k] += share * b[k]
        P[:k, :k] += np.outer(share, P[k, :k])
    x = np.zeros(len(P))
    for k in range(1, len(P)):
        x[k] = (b[k] + P[k, :k] @ x[:k]) / left[k]
    found = np.empty_like(x)
    found[order] = x
    return found


def exact_stationary(S: Again) -> Again:
    """pi once more: its equations but the last, and sum(pi) = 1."""
    return Again(_stationary, S)


def _stationary(level: Level, S: Any) -> Any:
    m = S.nrows()
    last = [[1] * m]
    rows = [[int(i == j) - S[i, j] for j in range(m)] for i in range(m - 1)]
    system = exact.matrix(level, m, m, [x for row in rows + last for x in row])
    return exact.solution(level, system, exact.matrix(level, m, 1, [0] * (m - 1) + [1]))


def exact_unevenness(S: Again) -> Again:
    """max_k |pi_k - 1/m|."""
    return Again(_unevenness, exact_stationary(S))


def _unevenness(level: Level, pi: Any) -> Any:
    even = exact.raw(level, Fraction(1, pi.nrows()))
    return exact.largest(level, exact.mapped(level, pi, lambda x: abs(x - even)))


def relative_error(A: np.ndarray) -> float:
    """Of pi and of the inverse behind `settled`, entry by entry: 2 m times that of the entries of
    S (O'Cinneide), whose exponents round once, and a cubic number of roundings."""
    m, spread = len(A), float(np.ptp(A, axis=0).max())
    return (2 * m * (m + 8 + spread) + 2 * m**3) * EPS


def doubly_stochastic(A: np.ndarray) -> bool:
    """Whether softmax(A) is known to have row sums 1 as well: up to a constant in each column, the
    columns of A hold the same numbers and so do its rows. Exact, whatever softmax rounds."""
    shifted = [[Fraction(float(a)) - Fraction(float(c.max())) for a in c] for c in A.T]
    return all(_same(lines) for lines in (shifted, list(zip(*shifted, strict=True))))


def _same(lines: list[list[Fraction]] | list[tuple[Fraction, ...]]) -> bool:
    return all(sorted(line) == sorted(lines[0]) for line in lines)
