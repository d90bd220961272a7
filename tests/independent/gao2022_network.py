"""Z = relu(gamma Z A + relu(X W)), yhat = Z b, L = |yhat - y|^2/2 (Gao and Gao 2022, (1)-(4))."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

import deqcheck as dq


def norm(a: np.ndarray) -> float:
    """The operator norm of a matrix, the length of a vector."""
    return float(np.linalg.norm(a, 2))


def fro(a: np.ndarray) -> float:
    return float(np.sqrt(np.sum(np.square(a))))


def nth(a: np.ndarray, n: int) -> float:
    """The n-th singular value, 0 where there are fewer."""
    s = np.linalg.svd(a, compute_uv=False)
    return float(s[n - 1]) if len(s) >= n else 0.0


def relu(a: np.ndarray) -> np.ndarray:
    return np.where(a > 0, a, 0.0)


@dataclass(frozen=True)
class Network:
    """The dense matrices of Lemmas 3.2 and 4.1 at given parameters; vec goes down the columns."""

    X: np.ndarray
    y: np.ndarray
    W: np.ndarray
    A: np.ndarray
    b: np.ndarray
    gamma: float

    @property
    def N(self) -> int:
        return len(self.X)

    @property
    def m(self) -> int:
        return len(self.b)

    @cached_property
    def norms(self) -> dict[str, float]:
        return {"W": norm(self.W), "A": norm(self.A), "b": norm(self.b)}

    @property
    def q(self) -> float:
        """gamma |A|."""
        return self.gamma * self.norms["A"]

    @cached_property
    def X_fro(self) -> float:
        return fro(self.X)

    @cached_property
    def Phi(self) -> np.ndarray:
        """(3)."""
        return relu(self.X @ self.W)

    def sweep(self, Z: np.ndarray) -> np.ndarray:
        """(1)."""
        return relu(self.gamma * Z @ self.A + self.Phi)

    @cached_property
    def Z(self) -> np.ndarray:
        """(2): sweeps find which units are active, and then it is linear."""
        Z = np.zeros_like(self.Phi)
        for _ in range(2000):
            last, Z = Z, self.sweep(Z)
            if np.abs(last - Z).max() <= 1e-14 * np.abs(Z).max():
                break
        found = np.zeros_like(Z)
        for i, on in enumerate(Z > 0):
            inner = np.eye(on.sum()) - self.gamma * self.A[np.ix_(on, on)]
            found[i, on] = np.linalg.solve(inner.T, self.Phi[i, on])
        return found

    @cached_property
    def S(self) -> np.ndarray:
        """The slopes of the implicit layer."""
        return (self.gamma * self.Z @ self.A + self.Phi > 0).astype(float)

    @cached_property
    def E(self) -> np.ndarray:
        """The slopes of the features."""
        return (self.X @ self.W > 0).astype(float)

    @cached_property
    def r(self) -> np.ndarray:
        return self.Z @ self.b - self.y

    @cached_property
    def r0(self) -> float:
        return fro(self.r)

    @property
    def loss(self) -> float:
        return float(self.r @ self.r) / 2

    @cached_property
    def alpha0(self) -> float:
        return nth(self.Z, self.N)

    @cached_property
    def D(self) -> np.ndarray:
        return np.diag(self.S.ravel(order="F"))

    @cached_property
    def DA(self) -> np.ndarray:
        """D (A^T kron I_N)."""
        return self.D @ np.kron(self.A.T, np.eye(self.N))

    @cached_property
    def Q(self) -> np.ndarray:
        """(6)."""
        return np.eye(self.N * self.m) - self.gamma * self.DA

    @cached_property
    def read_out(self) -> np.ndarray:
        """(b^T kron I_N) Q^-1 D."""
        left = np.kron(self.b[None, :], np.eye(self.N))
        return np.linalg.solve(self.Q.T, left.T).T @ self.D

    @cached_property
    def M(self) -> np.ndarray:
        """(12)."""
        return self.gamma * self.read_out @ np.kron(np.eye(self.m), self.Z)

    @cached_property
    def Pi(self) -> np.ndarray:
        """(13)."""
        E = np.diag(self.E.ravel(order="F"))
        return self.read_out @ E @ np.kron(np.eye(self.m), self.X)

    @property
    def H(self) -> np.ndarray:
        """(11)."""
        return self.Z @ self.Z.T + self.M @ self.M.T + self.Pi @ self.Pi.T

    @cached_property
    def gradient(self) -> dict[str, np.ndarray]:
        """(7)-(9)."""
        return {
            "W": (self.Pi.T @ self.r).reshape(self.W.shape, order="F"),
            "A": (self.M.T @ self.r).reshape(self.A.shape, order="F"),
            "b": self.Z.T @ self.r,
        }

    @property
    def gradient_squared(self) -> float:
        return sum(float(np.sum(g**2)) for g in self.gradient.values())

    def tangent(self, d: Mapping[str, np.ndarray]) -> np.ndarray:
        """How fast yhat moves if W, A, b move by d: the linearised equation, swept."""
        zero = {"W": np.zeros_like(self.W), "A": np.zeros_like(self.A), "b": np.zeros_like(self.b)}
        d = {**zero, **d}
        source = self.gamma * self.Z @ d["A"] + self.E * (self.X @ d["W"])
        dZ = np.zeros_like(self.Z)
        for _ in range(500):
            dZ = self.S * (self.gamma * dZ @ self.A + source)
        return dZ @ self.b + self.Z @ d["b"]

    def moved(self, step: float) -> Network:
        """One step of gradient descent."""
        g = self.gradient
        return replace(
            self,
            W=self.W - step * g["W"],
            A=self.A - step * g["A"],
            b=self.b - step * g["b"],
        )


def drawn(seed: int, N: int, d: int, m: int, q: float, gamma: float, **given: Any) -> Network:
    """Normal entries, and gamma |A| = q."""
    rng = np.random.default_rng(seed)
    made = {
        "X": rng.normal(size=(N, d)),
        "y": rng.normal(size=N),
        "W": rng.normal(size=(d, m)),
        "A": rng.normal(size=(m, m)),
        "b": rng.normal(size=m),
    }
    made["A"] *= q / gamma / norm(made["A"])
    every = {name: np.asarray(given.get(name, a), dtype=float) for name, a in made.items()}
    return Network(**every, gamma=gamma)


def problem(net: Network, points: int = 200, **fields: Any) -> Any:
    data = {"X": net.X, "y": net.y}
    init = {"W": net.W, "A": net.A, "b": net.b}
    made = dq.problem("implicit-relu", data=data, init=init, gamma=net.gamma, **fields)
    return replace(made, record_points=points)


class Descent:
    """Gradient descent from a network."""

    def __init__(self, net: Network, step: float):
        self.step, self.states = step, [net]

    def at(self, k: float, t: float) -> Network:
        while len(self.states) <= k:
            self.states.append(self.states[-1].moved(self.step))
        return self.states[int(k)]


class Flow:
    """d theta/dt = -gradient from a network until a time."""

    def __init__(self, net: Network, horizon: float):
        self.net = net
        self.states: dict[float, Network] = {}
        self.solution = solve_ivp(
            lambda t, x: -self._row(**self._network(x).gradient),
            (0.0, horizon),
            self._row(net.W, net.A, net.b),
            method="DOP853",
            rtol=1e-12,
            atol=1e-14,
            # What is interpolated between steps has no error control of its own.
            max_step=horizon / 20,
            dense_output=True,
        ).sol

    @staticmethod
    def _row(W: np.ndarray, A: np.ndarray, b: np.ndarray) -> np.ndarray:
        return np.concatenate([W.ravel(), A.ravel(), b])

    def _network(self, x: np.ndarray) -> Network:
        W, A = self.net.W, self.net.A
        first, second, third = np.split(x, [W.size, W.size + A.size])
        return replace(self.net, W=first.reshape(W.shape), A=second.reshape(A.shape), b=third)

    def at(self, k: float, t: float) -> Network:
        """Kept: what it has computed serves the other checks at this time."""
        if t not in self.states:
            self.states[t] = self._network(self.solution(t))
        return self.states[t]
