"""Linear separation: which samples some direction pushes to zero loss, and with what margin."""

from __future__ import annotations

import numpy as np

from deqcheck.linalg.entries import euclidean
from deqcheck.linalg.late import scipy
from deqcheck.records.measured import EPS, Measured

# A slack of the separation program above this is positive: its vertices have slacks 0 or 1.
SEPARATED = 1e-6


def separated(signed: np.ndarray) -> np.ndarray:
    """For each column s_i phi_i: whether some w has w s_j phi_j >= 0 for all j and > 0 for i.

    max sum t_i, 0 <= t_i <= 1, w s_i phi_i >= t_i: at the optimum every separable t_i is 1.
    """
    m, n = signed.shape
    result = scipy.optimize.linprog(
        np.append(np.zeros(m), -np.ones(n)),
        A_ub=np.hstack([-signed.T, np.eye(n)]),
        b_ub=np.zeros(n),
        bounds=[(None, None)] * m + [(0, 1)] * n,
        method="highs",
    )
    if result.status != 0:
        return np.zeros(n, dtype=bool)
    return np.asarray(result.x[m:] > SEPARATED)


def balanced_slopes(Phi: np.ndarray, slopes: np.ndarray) -> np.ndarray:
    """The nearest slopes (where not zero) with Phi a = 0, as a dual point must have."""
    active = slopes != 0
    block = Phi[:, active]
    out = slopes.copy()
    for _ in range(2):
        out[active] -= np.linalg.lstsq(block, block @ out[active], rcond=None)[0]
    return out


def hard_margin(signed: np.ndarray) -> Measured:
    """||w||_2 of the shortest w with w s_i phi_i >= 1 for all i (least-distance programming).

    Between the dual bound sum(u)/||sum u_i s_i phi_i|| and the norm of a feasible w.
    """
    n = signed.shape[1]
    E = np.vstack([signed, np.ones(n)])
    u, _ = scipy.optimize.nnls(E, np.append(np.zeros(len(signed)), 1.0), maxiter=50 * max(E.shape))
    r = E @ u - np.append(np.zeros(len(signed)), 1.0)
    w = -r[:-1] / r[-1]
    margin = float((w @ signed).min())
    if margin <= 0:
        return Measured(np.nan)
    upper = euclidean(w) / margin
    lower = float(u.sum() / np.linalg.norm(signed @ u))
    slack = 16 * EPS * n * upper
    return Measured((upper + lower) / 2, max(upper - lower, 0.0) / 2 + slack, "duality")


def smallest_box(signed: np.ndarray) -> float:
    """The smallest max_j |w_j| among the w with w s_i phi_i >= 1 for all i."""
    m, n = signed.shape
    sides = np.vstack(
        [
            np.hstack([-signed.T, np.zeros((n, 1))]),
            np.hstack([np.eye(m), -np.ones((m, 1))]),
            np.hstack([-np.eye(m), -np.ones((m, 1))]),
        ]
    )
    result = scipy.optimize.linprog(
        np.append(np.zeros(m), 1.0),
        A_ub=sides,
        b_ub=np.append(-np.ones(n), np.zeros(2 * m)),
        bounds=[(None, None)] * m + [(0, None)],
        method="highs",
    )
    return float(result.x[-1]) if result.status == 0 else np.inf
