"""Kawaguchi 2021: z = gamma softmax(A) z + phi(x), f = B z, in plain NumPy and SciPy."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import combinations
from typing import Any

import numpy as np
import scipy

import deqcheck as dq

# How many times of a flow are looked at.
RECORDED = 48


@dataclass(frozen=True, eq=False)
class Delm:
    """The raw arrays: Phi (m x n), Y (my x n), A (m x m), B (my x m), and the loss."""

    Phi: np.ndarray
    Y: np.ndarray
    A: np.ndarray
    B: np.ndarray
    gamma: float
    loss: str = "square"
    tau: float = 0.0
    power: float = 2.0
    R: float = math.inf
    seed: int = 0

    def problem(self) -> Any:
        fields = {"logistic": {"tau": self.tau}, "smoothed-hinge": {"k": self.power}}
        found = dq.problem(
            "delm",
            data={"Phi": self.Phi, "Y": self.Y},
            init={"A": self.A, "B": self.B},
            loss={"kind": self.loss, "R": self.R, **fields.get(self.loss, {})},
            gamma=self.gamma,
            seed=self.seed,
        )
        return replace(found, record_points=RECORDED)

    @property
    def m(self) -> int:
        return len(self.Phi)

    @property
    def my(self) -> int:
        return len(self.Y)

    @property
    def sigma(self) -> np.ndarray:
        """The singular values of Phi, largest first."""
        return np.linalg.svd(self.Phi, compute_uv=False)

    @property
    def floor(self) -> float:
        """Theorem 1: 1/(m (1 + gamma)^2)."""
        return 1 / (self.m * (1 + self.gamma) ** 2)

    def L0(self, W: np.ndarray) -> float:
        """(2), for each of the losses."""
        q, y = W @ self.Phi, self.Y
        if self.loss == "square":
            return float(np.sum((q - y) ** 2))
        if self.loss == "logistic":
            p = 1 / (1 + np.exp(-q))
            cross = -y * np.log(p) - (1 - y) * np.log(1 - p)
            return float(np.sum(cross + self.tau * q**2))
        return float(np.sum(np.maximum(1 - y * q, 0) ** self.power))

    def Q(self, W: np.ndarray) -> np.ndarray:
        """grad L0(W) = sum_i l'(W phi_i) phi_i^T."""
        q, y = W @ self.Phi, self.Y
        if self.loss == "square":
            slopes = 2 * (q - y)
        elif self.loss == "logistic":
            slopes = 1 / (1 + np.exp(-q)) - y + 2 * self.tau * q
        else:
            slopes = -self.power * y * np.maximum(1 - y * q, 0) ** (self.power - 1)
        return slopes @ self.Phi.T

    def second(self, W: np.ndarray) -> np.ndarray:
        """l'' at every output."""
        q, y = W @ self.Phi, self.Y
        if self.loss == "square":
            return np.full(q.shape, 2.0)
        if self.loss == "logistic":
            p = 1 / (1 + np.exp(-q))
            return p * (1 - p) + 2 * self.tau
        short = 1 - y * q
        scale = self.power * (self.power - 1)
        return scale * np.where(short > 0, np.abs(short) ** (self.power - 2), 0)

    @cached_property
    def infimum(self) -> float:
        """L*_{0,R}, over ||W||_1 < R; of one output that is a box."""
        if self.loss == "square" and math.isinf(self.R):
            W = np.linalg.lstsq(self.Phi.T, self.Y.T, rcond=None)[0].T
            return self.L0(W)
        assert self.my == 1
        found = scipy.optimize.minimize(
            lambda w: self.L0(w[None]),
            np.zeros(self.m),
            jac=lambda w: self.Q(w[None])[0],
            method="L-BFGS-B",
            bounds=[(-self.R, self.R)] * self.m,
            options={"ftol": 0.0, "gtol": 1e-13, "maxiter": 10_000},
        )
        return float(found.fun)

    def gap(self, W: np.ndarray) -> float:
        return self.L0(W) - self.infimum

    @property
    def rho(self) -> np.ndarray:
        """inf of p (1 - p) over ||W||_1 < R for each sample: |W phi_i| is at most R |phi_i|_1."""
        p = 1 / (1 + np.exp(-self.R * np.abs(self.Phi).sum(axis=0)))
        return p * (1 - p)

    @property
    def kappa_printed(self) -> float:
        """Corollaries 1 and 2, with sigma_min the min(m, n)-th singular value."""
        if self.loss == "square":
            return float(2 * self.sigma[-1] ** 2)
        return float((2 * self.tau + self.rho.min()) * self.sigma[-1] ** 2)

    @property
    def kappa(self) -> float:
        """The best proven PL constant: 2 sigma_pos^2 for the square loss, for the logistic one the
        smallest eigenvalue of sum_i (2 tau + rho_i) phi_i phi_i^T on the range of Phi, for the
        squared hinge 2/|w|^2 with the hard-margin vector w."""
        rank = int(np.linalg.matrix_rank(self.Phi))
        if self.loss == "square":
            return float(2 * self.sigma[rank - 1] ** 2)
        if self.loss == "logistic":
            weighted = self.Phi * np.sqrt(2 * self.tau + self.rho)
            return float(np.linalg.svd(weighted, compute_uv=False)[rank - 1] ** 2)
        return float(2 / np.sum(hard_margin(self.Phi * self.Y) ** 2))

    @property
    def smoothness(self) -> float:
        """sup of the second derivative of L0 along unit directions."""
        largest = {"square": 2.0, "logistic": 0.25 + 2 * self.tau, "smoothed-hinge": 2.0}
        return float(largest[self.loss] * self.sigma[0] ** 2)


def hard_margin(signed: np.ndarray) -> np.ndarray:
    """The shortest w with w . x >= 1 for every column x: the best over all sets of active columns,
    on which w = X (X^T X)^-1 1."""
    m, n = signed.shape
    best = np.full(m, np.inf)
    for size in range(1, min(m, n) + 1):
        for active in combinations(range(n), size):
            X = signed[:, active]
            w = X @ np.linalg.solve(X.T @ X, np.ones(size))
            if (w @ signed >= 1 - 1e-12).all() and w @ w < best @ best:
                best = w
    return best


def softmax(A: np.ndarray) -> np.ndarray:
    """sigma(A)_ij = exp(A_ij)/sum_k exp(A_kj)."""
    E = np.exp(A)
    return E / E.sum(axis=0)


@dataclass(frozen=True, eq=False)
class Point:
    """The model at (A, B)."""

    d: Delm
    A: np.ndarray
    B: np.ndarray

    @cached_property
    def S(self) -> np.ndarray:
        return softmax(self.A)

    @cached_property
    def U(self) -> np.ndarray:
        return np.eye(self.d.m) - self.d.gamma * self.S

    @cached_property
    def V(self) -> np.ndarray:
        """U^-1."""
        return np.linalg.inv(self.U)

    @cached_property
    def Z(self) -> np.ndarray:
        return self.B @ self.V

    @cached_property
    def Q(self) -> np.ndarray:
        return self.d.Q(self.Z)

    @cached_property
    def J(self) -> list[np.ndarray]:
        """(J_k)_ij = d sigma(A)_ik/d A_jk."""
        return [np.diag(s) - np.outer(s, s) for s in self.S.T]

    @cached_property
    def gradient(self) -> tuple[np.ndarray, np.ndarray]:
        """(21) and (22): grad_A by columns gamma J_k^T Z^T Q U^-T e_k, and grad_B = Q U^-T."""
        G = self.Q @ self.V.T
        columns = [self.d.gamma * J.T @ self.Z.T @ g for J, g in zip(self.J, G.T, strict=True)]
        return np.stack(columns, axis=1), G

    @property
    def slope(self) -> float:
        """|grad L|."""
        return math.sqrt(sum(float(np.sum(g**2)) for g in self.gradient))

    @cached_property
    def D(self) -> np.ndarray:
        """(8)."""
        eye, g = np.eye(self.d.my), self.d.gamma
        terms = (
            np.kron(np.outer(row, row), eye + g**2 * self.Z @ J @ J.T @ self.Z.T)
            for row, J in zip(self.V, self.J, strict=True)
        )
        return np.asarray(sum(terms))

    @cached_property
    def lambda_min(self) -> float:
        return float(np.linalg.eigvalsh(self.D)[0])

    @cached_property
    def gap(self) -> float:
        return self.d.gap(self.Z)


def start(d: Delm) -> Point:
    return Point(d, d.A, d.B)


def norm1(M: np.ndarray) -> float:
    """The induced 1-norm: the largest column sum of moduli."""
    return float(np.abs(M).sum(axis=0).max())


def norm2(M: np.ndarray) -> float:
    return float(np.linalg.norm(M, 2))


class Flow:
    """(6) by solve_ivp, together with the integral of lambda_min(D_t)."""

    def __init__(self, d: Delm, horizon: float):
        self.d, self.horizon = d, horizon
        self._seen: dict[float, Point] = {}
        self._solution = scipy.integrate.solve_ivp(
            self._velocity,
            (0, horizon),
            np.concatenate([d.A.ravel(), d.B.ravel(), [0.0]]),
            method="DOP853",
            rtol=1e-12,
            atol=1e-13,
            max_step=horizon / 10,
            dense_output=True,
        ).sol

    def _point(self, x: np.ndarray) -> Point:
        d = self.d
        return Point(d, x[: d.m**2].reshape(d.A.shape), x[d.m**2 : -1].reshape(d.B.shape))

    def _velocity(self, _: float, x: np.ndarray) -> np.ndarray:
        here = self._point(x)
        A, B = here.gradient
        return np.concatenate([-A.ravel(), -B.ravel(), [here.lambda_min]])

    def at(self, t: float) -> Point:
        if t not in self._seen:
            self._seen[t] = self._point(self._solution(t))
        return self._seen[t]

    def along(self, t: np.ndarray, number: Callable[[Point], float]) -> np.ndarray:
        return np.array([number(self.at(float(s))) for s in t])

    def integral(self, t: np.ndarray) -> np.ndarray:
        return np.array([self._solution(float(s))[-1] for s in t])

    @cached_property
    def _fine(self) -> tuple[np.ndarray, np.ndarray]:
        t = np.linspace(0, self.horizon, 121)
        return t, self.along(t, lambda p: p.lambda_min)

    def infimum(self, t: np.ndarray) -> np.ndarray:
        """lambda_T for every T in t."""
        grid, fine = self._fine
        here = self.along(t, lambda p: p.lambda_min)
        return np.array([min(x, fine[grid <= s].min()) for s, x in zip(t, here, strict=True)])

    @property
    def lowest(self) -> float:
        """lambda_T at the horizon."""
        grid, fine = self._fine
        i = int(np.argmin(fine))
        ends = grid[max(i - 1, 0)], grid[min(i + 1, len(grid) - 1)]
        found = scipy.optimize.minimize_scalar(
            lambda t: self.at(t).lambda_min, bounds=ends, options={"xatol": 1e-12}
        )
        return min(float(found.fun), float(fine[i]))

    def reaches(self, share: float) -> float:
        """When the gap is that share of the first one."""
        wanted = share * start(self.d).gap
        return float(scipy.optimize.brentq(lambda t: self.at(t).gap - wanted, 0, self.horizon))


@cache
def flow(d: Delm, horizon: float) -> Flow:
    return Flow(d, horizon)


@cache
def descent(d: Delm, step: float, steps: int) -> list[Point]:
    """Gradient descent, every iterate from 0 to steps."""
    run = [start(d)]
    for _ in range(steps):
        A, B = run[-1].gradient
        run.append(Point(d, run[-1].A - step * A, run[-1].B - step * B))
    return run


def drawn(
    of: int, *, m: int, n: int, my: int, gamma: float, scale: float = 0.8, **more: Any
) -> Delm:
    """Gaussian data, targets and weights; the labels of a loss for one output are signs."""
    r = np.random.default_rng(of)
    Phi, Y = r.normal(size=(m, n)), r.normal(size=(my, n))
    A, B = scale * r.normal(size=(m, m)), scale * r.normal(size=(my, m))
    loss = more.get("loss", "square")
    if loss == "logistic":
        Y = (Y > 0).astype(float)
    elif loss == "smoothed-hinge":
        Y = np.where(Y > 0, 1.0, -1.0)
    return Delm(**{"Phi": Phi, "Y": Y, "A": A, "B": B, "gamma": gamma, **more})
