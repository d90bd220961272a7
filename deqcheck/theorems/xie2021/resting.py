"""Fixed-point sets that are known in closed form.

Layers with orthonormal rows and no drive rest exactly where s does: Fix f_l = {W_l^T t : s(t) = t},
a box, an orthant or a subspace. The composition of averaged maps rests on the intersection, which
contains 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from deqcheck.frozen import dataclass
from deqcheck.linalg.late import scipy
from deqcheck.models.opteq.convex import Quadratic, Smooth
from deqcheck.records.measured import EPS
from deqcheck.seeds import rng
from deqcheck.theorems.xie2021.setting import Problem

ORTHONORMAL = 1e-12
# Beyond every bounded set of this form: |z| <= |t| <= sqrt(n) max(|low|, |high|).
FAR = 1e4
# Where an unbounded set is cut.
BOX = 10.0
# In a linear program a row holds up to the first, and entries below the second are dropped (HiGHS).
FEASIBLE, DROPPED = 1e-7, 1e-9
# Accuracy of the linear and quadratic programs.
SOLVED = 1e-8


@dataclass(frozen=True)
class RestingSet:
    """{z : z = W_l^T t_l, low <= t_l <= high for every l} in R^m."""

    weights: tuple[np.ndarray, ...]
    low: float
    high: float

    @classmethod
    def of(cls, p: Problem) -> RestingSet | None:
        """None where the fixed points are not of this form."""
        network = p.start.network
        low, high = network.s.resting
        for layer in network.layers:
            rows = layer.W @ layer.W.T - np.eye(len(layer.W))
            if layer.drive.any() or np.abs(rows).max() > ORTHONORMAL or low > high:
                return None
        return cls(tuple(layer.W for layer in network.layers), low, high)

    @property
    def m(self) -> int:
        return int(self.weights[0].shape[1])

    @property
    def bounded(self) -> bool:
        return bool(np.isfinite(self.low) and np.isfinite(self.high))

    def _constraints(self) -> dict[str, Any]:
        """z free, z in the range of each W_l^T, low <= W_l z <= high."""
        off_range = [np.eye(self.m) - W.T @ W for W in self.weights]
        equal = np.vstack(off_range)
        inside = np.vstack(self.weights)
        rows, bounds = [], []
        if np.isfinite(self.high):
            rows.append(inside)
            bounds.append(np.full(len(inside), self.high))
        if np.isfinite(self.low):
            rows.append(-inside)
            bounds.append(np.full(len(inside), -self.low))
        keep = np.abs(equal).max(axis=1) > ORTHONORMAL
        return {
            "A_eq": equal[keep] if keep.any() else None,
            "b_eq": np.zeros(int(keep.sum())) if keep.any() else None,
            "A_ub": np.vstack(rows) if rows else None,
            "b_ub": np.concatenate(bounds) if rows else None,
            "bounds": [(None, None)] * self.m,
        }

    @property
    def recedes(self) -> bool:
        """Whether the set is unbounded: from 0, some direction leads to any distance."""
        if self.bounded:
            return False
        far = {**self._constraints(), "bounds": [(-FAR, FAR)] * self.m}
        ends = [scipy.optimize.linprog(sign * e, **far) for e in np.eye(self.m) for sign in (1, -1)]
        return any(end.status == 0 and end.fun <= -FAR / 2 for end in ends)

    def extremes(self, p: Problem, name: str, count: int) -> list[np.ndarray]:
        """Fixed points that are extreme in random directions, within a box if need be."""
        draw = rng(p.seed, name)
        constraints = self._constraints()
        if not self.bounded:
            constraints["bounds"] = [(-BOX, BOX)] * self.m
        return [
            np.asarray(scipy.optimize.linprog(draw.standard_normal(self.m), **constraints).x)
            for _ in range(count)
        ]

    def missed(self, z: np.ndarray) -> float:
        """How far T may move z, or what lies between such z, where linear programs give them: for a
        layer W^T s(W z) - z is W^T (s(W z) - W z) - (I - W^T W) z, and the rows of both are
        constraints, which points in between meet as well."""
        row = FEASIBLE + DROPPED * self.m * float(np.abs(z).max())
        return sum(float(np.sqrt(self.m) + np.sqrt(len(W))) * row for W in self.weights)

    def minimiser(self, R: Smooth) -> np.ndarray:
        """argmin of R: bounded least squares for one layer and a quadratic R, else SLSQP."""
        if len(self.weights) == 1 and isinstance(R, Quadratic):
            W = self.weights[0]
            bounds = (self.low, self.high) if self.low < self.high else (self.low, self.high + EPS)
            t = scipy.optimize.lsq_linear(R.A @ W.T, R.c, bounds, method="bvls", tol=1e-15).x
            out: np.ndarray = W.T @ t
            return out
        constraints = self._constraints()
        rules = []
        if constraints["A_eq"] is not None:
            rules.append({"type": "eq", "fun": lambda z: constraints["A_eq"] @ z})
        if constraints["A_ub"] is not None:
            rules.append(
                {"type": "ineq", "fun": lambda z: constraints["b_ub"] - constraints["A_ub"] @ z}
            )
        found = scipy.optimize.minimize(
            lambda z: R.value(z[:, None]),
            np.zeros(self.m),
            jac=lambda z: R.gradient(z[:, None])[:, 0],
            constraints=rules,
            method="SLSQP",
            options={"ftol": 1e-16, "maxiter": 1000},
        )
        return np.asarray(found.x)

    def spread(self, R: Quadratic, z: np.ndarray) -> float:
        """The widest extent of the set of minimisers, {A z' = A z} inside the fixed points."""
        constraints = self._constraints()
        slab = np.vstack([R.A, -R.A])
        limits = np.concatenate([R.A @ z + SOLVED, SOLVED - R.A @ z])
        if constraints["A_ub"] is not None:
            slab = np.vstack([constraints["A_ub"], slab])
            limits = np.concatenate([constraints["b_ub"] + SOLVED, limits])
        constraints |= {"A_ub": slab, "b_ub": limits}
        widest = 0.0
        for axis in np.eye(self.m):
            ends = [scipy.optimize.linprog(sign * axis, **constraints) for sign in (1, -1)]
            if any(end.status != 0 for end in ends):
                return np.inf
            widest = max(widest, float(-ends[1].fun - ends[0].fun))
        return widest
