"""Equilibria z = s(W z + c), one for each column of c: found here, certified elsewhere."""

from __future__ import annotations

import numpy as np

from deqcheck.linalg import lapack
from deqcheck.linalg.entries import column_lengths, finite, nonzero
from deqcheck.linalg.minors import patterns
from deqcheck.models.equilibrium.activations import Activation
from deqcheck.records.measured import EPS

NEWTON, HALVINGS = 60, 12
# Numbers in the systems of the samples that are solved at once.
AT_ONCE = 4_000_000
# Sweeps of the method that is slow and sure, and pivots of the one that is finite.
SWEEPS, PIVOTS = 2_000, 4_000
# Up to this width all activation patterns of a ReLU network are tried instead.
FEW = 8


def equilibria(W: np.ndarray, C: np.ndarray, s: Activation) -> np.ndarray:
    """Damped Newton on z - s(W z + c), many columns at once; what is left is done one by one."""
    n, N = C.shape
    width = max(1, AT_ONCE // max(n * n, 1))
    found = np.empty_like(C)
    for at in range(0, N, width):
        found[:, at : at + width] = _newton(W, C[:, at : at + width], s)
    size = np.abs(W).sum(axis=1).max(initial=1.0)
    for j in np.flatnonzero(~_small(W, C, found, s, size)):
        other = _alone(W, C[:, j], s)
        if _length(_residual(W, C[:, j], other, s)) < _length(
            _residual(W, C[:, j], found[:, j], s)
        ):
            found[:, j] = other
    return found


def _residual(W: np.ndarray, C: np.ndarray, Z: np.ndarray, s: Activation) -> np.ndarray:
    found: np.ndarray = Z - s.value(W @ Z + C)
    return found


def _length(x: np.ndarray) -> np.ndarray:
    found = column_lengths(x)
    return found if finite(found) else np.where(np.isfinite(found), found, np.inf)


def _small(W: np.ndarray, C: np.ndarray, Z: np.ndarray, s: Activation, size: float) -> np.ndarray:
    scale = (1 + size) * (_length(Z) + _length(C))
    small: np.ndarray = _length(_residual(W, C, Z, s)) <= 1e3 * len(W) * EPS * scale
    return small


def positive(x: np.ndarray) -> np.ndarray:
    found: np.ndarray = np.maximum(x, 0.0)
    return found


def _newton(W: np.ndarray, C: np.ndarray, s: Activation) -> np.ndarray:
    Z = s.value(C)
    R = _residual(W, C, Z, s)
    size, active = _length(R), np.ones(C.shape[1], dtype=bool)
    for _ in range(NEWTON):
        left = active & (size > 0)
        if not nonzero(left):
            break
        at = _columns(left)
        step = _steps(W, s.slope(W @ Z[:, at] + C[:, at]), R[:, at])
        Z[:, at], R[:, at], active[at] = _searched(W, C[:, at], Z[:, at], R[:, at], step, s)
        size[at] = _length(R[:, at])
    return Z


def _columns(wanted: np.ndarray) -> slice | np.ndarray:
    """Where they are; all of them are looked at as they lie."""
    return slice(None) if all(wanted.tolist()) else np.flatnonzero(wanted)


def _steps(W: np.ndarray, slopes: np.ndarray, R: np.ndarray) -> np.ndarray:
    """-(I - D W)^-1 r for each column."""
    M = np.eye(len(W)) - slopes.T[:, :, None] * W
    try:
        found = lapack.solve_each(M, -R.T).T
    except np.linalg.LinAlgError:
        found = np.stack(
            [np.linalg.lstsq(m, -r, rcond=None)[0] for m, r in zip(M, R.T, strict=True)], axis=1
        )
    return np.where(np.isfinite(found), found, 0.0)


def _searched(
    W: np.ndarray,
    C: np.ndarray,
    Z: np.ndarray,
    R: np.ndarray,
    step: np.ndarray,
    s: Activation,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The longest of 1, 1/2, 1/4, ... of the step that makes the residual R smaller, the residual
    there, and whether there is one."""
    found, left, size = Z.copy(), R.copy(), _length(R)
    open_, share = np.ones(Z.shape[1], dtype=bool), 1.0
    for _ in range(HALVINGS):
        if not nonzero(open_):
            break
        at = _columns(open_)
        tried = Z[:, at] + share * step[:, at]
        rest = _residual(W, C[:, at], tried, s)
        good = _length(rest) < (1 - 1e-4 * share) * size[at]
        found[:, at] = np.where(good, tried, found[:, at])
        left[:, at] = np.where(good, rest, left[:, at])
        open_[at] = ~good
        share /= 2
    return found, left, ~open_


def _alone(W: np.ndarray, c: np.ndarray, s: Activation) -> np.ndarray:
    """Damped sweeps, which converge under a non-Euclidean contraction, then Newton; for ReLU the
    splitting and the pivots that need neither."""
    if s.is_relu and len(W) <= FEW:
        return _every_pattern(W, c)
    if s.is_relu:
        found = _reflected(W, c)
        if _length(_residual(W, c, found, s)) <= 1e-9 * (1 + _length(found)):
            return _on_pattern(W, c, found)
        return _pivoted(W, c)
    damping = 1 / (1 - min(float(np.diag(W).min()), 0.0))
    z = s.value(c)
    for _ in range(SWEEPS):
        z = (1 - damping) * z + damping * s.value(W @ z + c)
        if not finite(z):
            return np.zeros_like(c)
    return z


def _every_pattern(W: np.ndarray, c: np.ndarray) -> np.ndarray:
    """The solution on the pattern that leaves the smallest residual."""
    on = patterns(len(c)).astype(float)
    systems = np.eye(len(c)) - on[:, :, None] * W
    try:
        Z = lapack.solve_each(systems, on * c)
    except np.linalg.LinAlgError:
        pairs = zip(systems, on * c, strict=True)
        Z = np.stack([np.linalg.lstsq(m, right, rcond=None)[0] for m, right in pairs])
    Z = positive(Z)
    left = Z - positive(Z @ W.T + c)
    return np.asarray(Z[np.argmin(_length(left.T))])


def _reflected(W: np.ndarray, c: np.ndarray) -> np.ndarray:
    """Peaceman-Rachford splitting with a = 1/|I - W|: 2 relu(p) - p is |p|."""
    F = np.eye(len(W)) - W
    a = 1 / max(float(np.linalg.norm(F, 2)), 1e-300)
    inverse, p = np.linalg.pinv(np.eye(len(W)) + a * F), np.zeros_like(c)
    for _ in range(SWEEPS):
        q = np.abs(p)
        new = 2 * inverse @ (q + a * c) - q
        if not finite(new):
            break
        still = _length(new - p) <= 1e-13 * _length(new)
        p = new
        if still:
            break
    return positive(p)


def _on_pattern(W: np.ndarray, c: np.ndarray, z: np.ndarray) -> np.ndarray:
    on, found = z > 0, np.zeros_like(z)
    if on.any():
        try:
            found[on] = np.linalg.solve(np.eye(int(on.sum())) - W[np.ix_(on, on)], c[on])
        except np.linalg.LinAlgError:
            return z
    return positive(found)


def _pivoted(W: np.ndarray, c: np.ndarray) -> np.ndarray:
    """Murty: the least index on the wrong side changes sides; finite where I - W is a P-matrix."""
    on = np.zeros(len(c), dtype=bool)
    z = np.zeros_like(c)
    for _ in range(PIVOTS):
        z = np.zeros_like(c)
        if on.any():
            block = np.eye(int(on.sum())) - W[np.ix_(on, on)]
            z[on] = np.linalg.lstsq(block, c[on], rcond=None)[0]
        slack = c + W @ z - z
        wrong = np.where(on, z < 0, slack > 1e-13 * (1 + np.abs(c)))
        if not wrong.any():
            break
        on[np.flatnonzero(wrong)[0]] ^= True
    return positive(z)
