"""The gradient of an OptEq network in many digits: what a refutation by descent is repeated by.

Forwards f(Z) = a W^T s(W Z + U X + b 1^T) + (1 - a) Z for every layer and iteration; backwards from
the adjoint Q of its output, with P = s'(A) o (a W Q): gW = P Zin^T + a G Q^T, gU = P X^T, gb = P 1.
An equilibrium is solved for on the pieces of its units, where the map is affine.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from deqcheck.frozen import dataclass
from deqcheck.linalg.precise import Numbers, Uncertain, relu_certain, solve
from deqcheck.models.opteq.activations import Activation
from deqcheck.models.problem import Params

if TYPE_CHECKING:
    from deqcheck.models.opteq.model import OpteqModel

# Pieces of an equilibrium are corrected so often.
PIECES = 8


class Curve(NamedTuple):
    """s and s' of one number."""

    value: Callable[[Any], Any]
    slope: Callable[[Any], Any]


def curve(s: Activation, digits: Numbers) -> Curve:
    """Raises NotImplementedError for a kind that is not known here."""
    if s.kinks:
        return Curve(lambda t: _clipped(s, t, digits), lambda t: _piece(s, t, digits))
    one = digits.lift_one(1.0)
    if s.kind == "identity":
        return Curve(lambda t: t, lambda t: one)
    if s.kind == "softplus":
        return Curve(
            lambda t: digits.log(one + digits.exp(t)), lambda t: one / (one + digits.exp(-t))
        )
    if s.kind not in ("tanh", "mix"):
        raise NotImplementedError
    k = digits.lift_one(getattr(s, "k", 0.0))
    return Curve(
        lambda t: k * t + (one - k) * digits.tanh(t),
        lambda t: k + (one - k) * (one - digits.tanh(t) ** 2),
    )


def _pieces(s: Activation) -> tuple[float, float]:
    """The ends between which s is the identity; beyond them it is constant."""
    if s.kind == "relu":
        return 0.0, np.inf
    if s.kind == "hardtanh":
        return -1.0, 1.0
    raise NotImplementedError


def _clipped(s: Activation, t: Any, digits: Numbers) -> Any:
    low, high = (digits.lift_one(x) if np.isfinite(x) else None for x in _pieces(s))
    if low is not None and not t >= low:
        _known(t <= low)
        return low
    if high is not None and not t <= high:
        _known(t >= high)
        return high
    return t


def _piece(s: Activation, t: Any, digits: Numbers) -> Any:
    """At a kink the slope to the left of it."""
    inside = True
    for end, left in zip(_pieces(s), (False, True), strict=True):
        if np.isfinite(end):
            (above,) = relu_certain(np.array([t - digits.lift_one(end)]))
            inside = inside and bool(above) is not left
    return digits.lift_one(float(inside))


def _known(decided: bool) -> None:
    if not decided:
        raise Uncertain


class Seen(NamedTuple):
    """What one layer saw: its input, s of its pre-activation and s' there."""

    layer: int
    Zin: np.ndarray
    G: np.ndarray
    D: np.ndarray


@dataclass(frozen=True)
class PreciseNetwork:
    model: OpteqModel
    theta: Params
    digits: Numbers

    def __post_init__(self) -> None:
        if self.model.fields.sam is not None or self.model.fields.prox is not None:
            raise NotImplementedError

    def gradient(self, near: np.ndarray) -> Params:
        """`near`: the state in floats, of which an equilibrium has the pieces. Raises Uncertain,
        and NotImplementedError for what is not computed here."""
        model, digits = self.model, self.digits
        s, X = curve(model.s, digits), digits.lift(model.X)
        slopes = None
        if model.fields.extractor is not None:
            g, A = curve(model.fields.extractor, digits), self.theta["W0"] @ X
            X, slopes = _each(g.value, A), _each(g.slope, A)
        Z, seen = self._forward(s, X, near)
        Wo = self.theta["Wo"]
        r = Wo @ Z - digits.lift(model.Y)
        Q = Wo.T @ r
        Q = self._through(seen, Q) if model.implicit else Q
        parts = {name: digits.lift(np.zeros(a.shape)) for name, a in self.theta.items()}
        driven = self._backward(seen, Q, X, parts)
        if slopes is not None:
            parts["W0"] = (slopes * driven) @ digits.lift(model.X).T
        parts["Wo"] = r @ Z.T
        return parts

    def _forward(self, s: Curve, X: np.ndarray, near: np.ndarray) -> tuple[np.ndarray, list[Seen]]:
        model = self.model
        if not model.implicit:
            return self._iterated(s, X, self.digits.lift(model.Z0), model.iterations)
        if model.s.curvature and not model.s.kinks:
            raise NotImplementedError
        Z = self.digits.lift(near)
        _, seen = self._iterated(s, X, Z, 1)
        for _ in range(PIECES):
            Z = self._rest(seen, Z)
            _, found = self._iterated(s, X, Z, 1)
            if all((a.D == b.D).all() for a, b in zip(seen, found, strict=True)):
                return Z, found
            seen = found
        raise Uncertain

    def _iterated(
        self, s: Curve, X: np.ndarray, Z: np.ndarray, times: int
    ) -> tuple[np.ndarray, list[Seen]]:
        a, seen = self.digits.lift_one(self.model.alpha), []
        for _ in range(times):
            for i in range(1, self.model.depth + 1):
                W, U, b = (self.theta[f"{name}{i}"] for name in "WUb")
                A = W @ Z + (U @ X + b[:, None])
                G = _each(s.value, A)
                seen.append(Seen(i, Z, G, _each(s.slope, A)))
                Z = a * (W.T @ G) + (1 - a) * Z
        return Z, seen

    def _jacobian(self, seen: list[Seen], j: int) -> np.ndarray:
        """Of the map at one sample, on the pieces of the layers."""
        a, eye = self.digits.lift_one(self.model.alpha), self._eye
        M = eye
        for each in seen:
            W = self.theta[f"W{each.layer}"]
            M = (a * (W.T @ (each.D[:, j][:, None] * W)) + (1 - a) * eye) @ M
        return M

    @property
    def _eye(self) -> np.ndarray:
        return self.digits.lift(np.eye(self.model.m))

    def _rest(self, seen: list[Seen], Z: np.ndarray) -> np.ndarray:
        """On these pieces T(z) = T(Z) + M (z - Z): where it is z."""
        out = Z.copy()
        a, moved = self.digits.lift_one(self.model.alpha), Z
        for each in seen:
            moved = a * (self.theta[f"W{each.layer}"].T @ each.G) + (1 - a) * moved
        for j in range(Z.shape[1]):
            system = self._eye - self._jacobian(seen, j)
            out[:, j] = Z[:, j] + solve(system, (moved - Z)[:, j][:, None])[:, 0]
        return out

    def _through(self, seen: list[Seen], Q: np.ndarray) -> np.ndarray:
        """v_j = (I - M_j)^-T q_j."""
        out = Q.copy()
        for j in range(Q.shape[1]):
            out[:, j] = solve((self._eye - self._jacobian(seen, j)).T, Q[:, j][:, None])[:, 0]
        return out

    def _backward(
        self, seen: list[Seen], Q: np.ndarray, X: np.ndarray, parts: Params
    ) -> np.ndarray:
        """Adds to the parts what every layer contributes; the adjoint of X."""
        a = self.digits.lift_one(self.model.alpha)
        driven = self.digits.lift(np.zeros(X.shape))
        for each in reversed(seen):
            W, U = self.theta[f"W{each.layer}"], self.theta[f"U{each.layer}"]
            P = each.D * (a * (W @ Q))
            parts[f"W{each.layer}"] = parts[f"W{each.layer}"] + P @ each.Zin.T + a * (each.G @ Q.T)
            parts[f"U{each.layer}"] = parts[f"U{each.layer}"] + P @ X.T
            parts[f"b{each.layer}"] = parts[f"b{each.layer}"] + P.sum(axis=1)
            driven = driven + U.T @ P
            Q = W.T @ P + (1 - a) * Q
        return driven


def _each(f: Callable[[Any], Any], a: np.ndarray) -> np.ndarray:
    found = np.empty(a.shape, dtype=object)
    found.ravel()[:] = [f(x) for x in a.ravel()]
    return found
