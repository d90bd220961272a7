"""The hidden objective of a layer f(z) = (1/mu) W^T s(W z + c), columnwise.

psi(z) = (1/mu) 1^T S(W z + c), f = grad psi = prox_phi with phi = psi* - |.|^2/2. Everything here
is a sum over the columns of Z unless it says otherwise.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from deqcheck.frozen import dataclass
from deqcheck.linalg.entries import euclidean
from deqcheck.linalg.late import scipy
from deqcheck.models.opteq.network import Layer
from deqcheck.records.measured import EPS
from deqcheck.theorems.xie2021.common import TOLERANCE

# Beyond this BFGS, which keeps a dense matrix, gives way to its form with limited memory.
MOST_UNKNOWNS = 600


@dataclass(frozen=True)
class Hidden:
    layer: Layer
    mu: float = 1.0

    def pre(self, Z: np.ndarray) -> np.ndarray:
        found: np.ndarray = self.layer.W @ Z + self.layer.drive
        return found

    def f(self, Z: np.ndarray) -> np.ndarray:
        out: np.ndarray = self.layer.W.T @ self.layer.s.value(self.pre(Z)) / self.mu
        return out

    def psi(self, Z: np.ndarray) -> float:
        return float(self.layer.s.primitive(self.pre(Z)).sum()) / self.mu

    def envelope(self, Z: np.ndarray) -> float:
        """M_phi(z) = |z|^2/2 - psi(z), whose gradient is z - f(z)."""
        return float(np.vdot(Z, Z)) / 2 - self.psi(Z)

    def phi_at_image(self, Z: np.ndarray) -> float:
        """phi(f(z)) by Fenchel's equality: <f(z), z> - psi(z) - |f(z)|^2/2."""
        image = self.f(Z)
        return float(np.vdot(image, Z)) - self.psi(Z) - float(np.vdot(image, image)) / 2

    def phi_conjugate(self, Z: np.ndarray) -> float:
        """phi(f(z)) from S*: (1/mu) 1^T S*(mu t) - <c, t> - |W^T t|^2/2 at t = s(W z + c)/mu."""
        t = self.layer.s.value(self.pre(Z)) / self.mu
        conjugate = float(self.layer.s.conjugate(self.mu * t).sum()) / self.mu
        image = self.layer.W.T @ t
        return conjugate - float(np.vdot(self.layer.drive, t)) - float(np.vdot(image, image)) / 2

    def scale(self, Z: np.ndarray) -> float:
        """The size of the terms in these sums."""
        A = self.pre(Z)
        s = self.layer.s
        sizes = np.abs(s.primitive(A)).sum() + (np.abs(A) * np.abs(s.value(A))).sum()
        drive = float(np.abs(self.layer.drive * s.value(A)).sum())
        return float(np.vdot(Z, Z)) + (float(sizes) + drive) / min(self.mu, 1.0) + 1.0

    @property
    def beyond(self) -> float:
        """f stretches distances by at most this much more than 1 where mu covers ||W||, as far as
        that is granted. psi* then has the modulus 1/(1 + beyond), so that phi and its envelopes are
        convex up to -beyond |.|^2/2: what is smallest by its gradient may be undercut by that."""
        steep = float(self.layer.s.slopes[1]) * self.layer.norm * self.layer.norm / self.mu
        return float(min(max(steep - 1, 0.0), TOLERANCE)) + EPS

    def dip(self, step: np.ndarray) -> float:
        """What that comes to, so far away."""
        return self.beyond / 2 * euclidean(step) ** 2

    def noise(self, Z: np.ndarray) -> float:
        length = sum(self.layer.W.shape) + len(self.layer.X) + Z.size
        return 16 * length * EPS * self.scale(Z)


def preimage(hidden: Hidden, Y: np.ndarray, alpha: float) -> tuple[np.ndarray, float]:
    """W with alpha f(w) + (1 - alpha) w = y (scipy.optimize.root), and the norm of what is left."""

    W, s = hidden.layer.W, hidden.layer.s
    out = np.empty_like(Y)
    for j in range(Y.shape[1]):
        drive, y = hidden.layer.drive[:, j], Y[:, j]

        def miss(w: np.ndarray, drive: np.ndarray = drive, y: np.ndarray = y) -> np.ndarray:
            image: np.ndarray = W.T @ s.value(W @ w + drive) / hidden.mu
            found: np.ndarray = alpha * image + (1 - alpha) * w - y
            return found

        def slope(w: np.ndarray, drive: np.ndarray = drive, y: np.ndarray = y) -> np.ndarray:
            inner: np.ndarray = (W.T * s.slope(W @ w + drive)) @ W / hidden.mu
            return alpha * inner + (1 - alpha) * np.eye(len(y))

        out[:, j] = scipy.optimize.root(miss, y, jac=slope, method="hybr", tol=1e-14).x
    left = alpha * hidden.f(out) + (1 - alpha) * out - Y
    return out, euclidean(left)


def prox_by_nnls(hidden: Hidden, Y: np.ndarray, weight: float) -> np.ndarray | None:
    """argmin_u phi(u) + weight |u - y|^2/2 for relu and invertible W, by nonnegative least squares.

    With u = W^T t, phi = |t|^2/2 - <c, t> - |W^T t|^2/2 on t >= 0, so the objective is
    <t, (I - (1 - weight) W W^T) t>/2 - <c + weight W y, t>.
    """
    W = hidden.layer.W
    square = W.shape[0] == W.shape[1] and np.linalg.matrix_rank(W) == len(W)
    if hidden.layer.s.kind != "relu" or hidden.mu != 1 or not square:
        return None
    H = np.eye(len(W)) - (1 - weight) * W @ W.T
    if np.linalg.eigvalsh(H)[0] <= 1e-8:
        return None
    R = np.linalg.cholesky(H).T
    out = np.empty_like(Y)
    for j in range(Y.shape[1]):
        linear = hidden.layer.drive[:, j] + weight * (W @ Y[:, j])
        t, _ = scipy.optimize.nnls(R, np.linalg.solve(R.T, linear))
        out[:, j] = W.T @ t
    return out


def minimised(
    objective: Callable[[np.ndarray], tuple[float, np.ndarray]], start: np.ndarray
) -> tuple[np.ndarray, float]:
    """BFGS on a function with its gradient, restarted while it helps: the minimiser found and the
    norm of its gradient."""
    x, best = start, np.inf
    method = "BFGS" if start.size <= MOST_UNKNOWNS else "L-BFGS-B"
    for _ in range(4):
        found = scipy.optimize.minimize(
            objective, x, jac=True, method=method, options={"gtol": 1e-12}
        )
        size = float(np.linalg.norm(objective(found.x)[1]))
        if not size < best:
            break
        x, best = found.x, size
    return x, best
