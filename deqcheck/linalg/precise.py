"""Linear algebra in many digits, on arrays of objects: slow, and made for few steps.

The numbers are balls (python-flint, where it is installed) or decimals of the standard library.
"""

from __future__ import annotations

import decimal
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

# Where a run in float64 still knows something, its errors have not grown by more than 1e13: of 60
# digits more than 40 are left. Balls know themselves what is left of them.
DIGITS, BITS = 60, (256, 1024, 4096)
# Balls that are wider than this, relative to their array (or to SMALL), have lost what they were
# made for.
WIDEST, SMALL = 1e-25, 1e-20


class Uncertain(Exception):
    """Not even these digits tell a sign, or enough of a number."""


class Numbers(ABC):
    """One kind of numbers."""

    name: str

    @abstractmethod
    def lift_one(self, x: float) -> Any:
        """Exactly this number."""

    @abstractmethod
    def working(self) -> Any:
        """A context in which the digits are there."""

    @abstractmethod
    def log(self, x: Any) -> Any:
        """The natural logarithm."""

    @abstractmethod
    def tanh(self, x: Any) -> Any:
        """The hyperbolic tangent."""

    def exp(self, x: Any) -> Any:
        return x.exp()

    def lift(self, a: np.ndarray) -> np.ndarray:
        found = np.empty(a.shape, dtype=object)
        found.ravel()[:] = [self.lift_one(x) for x in a.ravel().tolist()]
        return found

    def lower(self, a: np.ndarray) -> np.ndarray:
        """The nearest floats. Raises Uncertain."""
        return np.array([float(x) for x in a.ravel()], dtype=float).reshape(a.shape)


class Decimals(Numbers):
    name = f"{DIGITS} digits"

    def lift_one(self, x: float) -> Any:
        return decimal.Decimal(x)

    def log(self, x: Any) -> Any:
        return x.ln()

    def tanh(self, x: Any) -> Any:
        small = (-2 * abs(x)).exp()
        return ((1 - small) / (1 + small)).copy_sign(x)

    @contextmanager
    def working(self) -> Iterator[None]:
        with decimal.localcontext() as context:
            context.prec = DIGITS
            try:
                yield
            except decimal.DecimalException:
                raise Uncertain from None


class Balls(Numbers):
    """Every operation is rounded outward; a comparison is true only if it certainly is."""

    def __init__(self, bits: int) -> None:
        import flint

        self._flint, self._bits = flint, bits
        self.name = f"balls of {bits} bits"

    def lift_one(self, x: float) -> Any:
        return self._flint.arb(x)

    def log(self, x: Any) -> Any:
        return x.log()

    def tanh(self, x: Any) -> Any:
        return x.tanh()

    def lower(self, a: np.ndarray) -> np.ndarray:
        found = super().lower(np.array([x.mid() for x in a.ravel()]).reshape(a.shape))
        radius = max((float(x.rad()) for x in a.ravel()), default=0.0)
        if not radius <= WIDEST * max(float(np.max(np.abs(found), initial=0.0)), SMALL):
            raise Uncertain
        return found

    @contextmanager
    def working(self) -> Iterator[None]:
        with self._flint.ctx.workprec(self._bits):
            yield


def numbers() -> tuple[Numbers, ...]:
    """Balls where there are any, ever finer."""
    try:
        return tuple(Balls(bits) for bits in BITS)
    except ImportError:
        return (Decimals(),)


def relu_certain(h: np.ndarray) -> np.ndarray:
    """Where h > 0. Raises Uncertain where that cannot be told."""
    on, off = (np.array(x, dtype=bool) for x in (h > 0, h <= 0))
    if not (on | off).all():
        raise Uncertain
    return on


def solve(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """A^-1 B by elimination with pivots; B has columns."""
    A, B, n = A.copy(), B.copy(), len(A)
    for j in range(n):
        i = j + int(np.argmax([abs(float(x)) for x in A[j:, j]]))
        A[[j, i]], B[[j, i]] = A[[i, j]], B[[i, j]]
        if not (A[j, j] > 0 or A[j, j] < 0):
            raise Uncertain
        for k in range(j + 1, n):
            factor = A[k, j] / A[j, j]
            A[k, j:] = A[k, j:] - factor * A[j, j:]
            B[k] = B[k] - factor * B[j]
    for j in reversed(range(n)):
        B[j] = (B[j] - (A[j, j + 1 :] @ B[j + 1 :] if j + 1 < n else 0)) / A[j, j]
    return B


def relu_equilibrium(
    W: np.ndarray, C: np.ndarray, a: np.ndarray, guess: np.ndarray, digits: Numbers
) -> tuple[np.ndarray, np.ndarray]:
    """Z = relu(W Z + C), whose pattern is the guess (a column for each sample) or near it, and V
    with columns (I - J W^T)^-1 J a. Raises Uncertain."""
    zero = digits.lift_one(0.0)
    eye = digits.lift(np.eye(len(W)))
    Z, V = np.full(C.shape, zero), np.full(C.shape, zero)
    for j in range(C.shape[1]):
        on = guess[:, j].copy()
        for _ in range(len(W) + 1):
            Z[:, j] = zero
            S = np.flatnonzero(on)
            if len(S):
                system = (eye - W)[np.ix_(S, S)]
                Z[S, j] = solve(system, C[S, j][:, None])[:, 0]
            found = relu_certain(W @ Z[:, j] + C[:, j])
            if np.array_equal(found, on):
                break
            on = found
        else:
            raise Uncertain
        if len(S):
            V[S, j] = solve(system.T, a[S][:, None])[:, 0]
    return Z, V
