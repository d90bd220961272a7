"""Linear residual network, the comparison of Kawaguchi's Figure 2.

f(x) = (I + H_L) ... (I + H_1) phi(x) with identity input and output maps; H = 0 is the identity.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from deqcheck.fields import integer
from deqcheck.frozen import dataclass
from deqcheck.kinds import Loss, Model
from deqcheck.linalg import errors
from deqcheck.linalg.entries import euclidean
from deqcheck.linalg.kron import unvec, vec
from deqcheck.losses.outer import Evaluation, Outer, batch_gradient
from deqcheck.losses.square import Square
from deqcheck.models.memory import Memory
from deqcheck.models.problem import BuiltModel, Objective, Params, State
from deqcheck.records.lazy import cached_property
from deqcheck.records.measured import EPS, Measured


@dataclass(frozen=True)
class LinearResNet(Model):
    """Linear residual network with identity input and output maps; parameter H (depth x m x m)."""

    kind: ClassVar[str] = "linear-resnet"
    data_arrays: ClassVar[dict[str, tuple[str, ...]]] = {"Phi": ("m", "n"), "Y": ("m", "n")}
    parameters: ClassVar[dict[str, tuple[str, ...]]] = {"H": ("L", "m", "m")}
    makes: ClassVar[dict[str, tuple[str, ...]]] = {"the list of states": ("L", "m", "n")}
    default_loss: ClassVar[str] = "square"
    example: ClassVar[str] = """\
data: {kind: gaussian, n: 20, dim: 4, target: {kind: negated-input, noise: 0.1}}
model: {kind: linear-resnet, depth: 3}
init: {kind: gaussian, scale: 0.1}
train: {kind: gd, step: 1e-4, steps: 50}"""
    loss: ClassVar[type[Loss]] = Square

    ranked: ClassVar[str] = "Phi"

    depth: int = integer(at_least=1, at_most=1000, doc="number of layers")

    def sizes(self) -> dict[str, int]:
        return {"L": self.depth}

    def from_samples(self, inputs: np.ndarray, targets: np.ndarray) -> Params:
        if inputs.shape[0] != targets.shape[0]:
            raise ValueError(
                f"linear-resnet has as many outputs as inputs; found {len(targets)} outputs for "
                f"{len(inputs)} inputs"
            )
        return {"Phi": inputs, "Y": targets}

    def build(self, arrays: Params, loss: Any) -> LinearResNetModel:
        outer = loss.on(arrays["Phi"], arrays["Y"])
        return LinearResNetModel(self.depth, outer, loss.kind)


class LinearResNetModel(BuiltModel["LinearResNetState"]):
    def __init__(self, depth: int, outer: Outer, loss_kind: str):
        self.kind, self.loss_kind = LinearResNet.kind, loss_kind
        self.outer, self.depth, self.m = outer, depth, outer.Phi.shape[0]

    def of_rank(self, relative: float) -> LinearResNetModel:
        return LinearResNetModel(self.depth, self.outer.of_rank(relative), self.loss_kind)

    @property
    def samples(self) -> int:
        return int(self.outer.Phi.shape[1])

    @property
    def infimum(self) -> Measured:
        return self.outer.infimum

    def at(self, theta: Params, memory: Memory | None = None) -> LinearResNetState:
        return LinearResNetState(self, theta)

    def explicit_gradient(self, theta: Params) -> Params:
        """vec(dP) = (before^T kron after) vec(dH_l)."""
        state = self.at(theta)
        q = vec(self.outer.slopes(state.P) @ self.outer.Phi.T)
        parts = [
            unvec(np.kron(before.T, after).T @ q, (self.m, self.m))
            for before, after in zip(state.before, state.after, strict=True)
        ]
        return {"H": np.stack(parts)}


class LinearResNetState(State):
    @property
    def names(self) -> tuple[str, ...]:
        return "loss", "loss_star", "gap", "gradient", "gradient.H", "norm2.P"

    def __init__(self, model: LinearResNetModel, theta: Params):
        self.model, self.theta = model, theta
        self._layers = np.eye(model.m) + theta["H"]

    @cached_property
    def before(self) -> list[np.ndarray]:
        """Products of the layers below each one."""
        out = [np.eye(self.model.m)]
        for layer in self._layers[:-1]:
            out.append(layer @ out[-1])
        return out

    @cached_property
    def after(self) -> list[np.ndarray]:
        """Products of the layers above each one."""
        out = [np.eye(self.model.m)]
        for layer in self._layers[:0:-1]:
            out.append(out[-1] @ layer)
        return out[::-1]

    @cached_property
    def P(self) -> np.ndarray:
        return np.asarray(self._layers[-1] @ self.before[-1])

    @cached_property
    def P_radius(self) -> float:
        sizes = np.prod([euclidean(layer) for layer in self._layers])
        return float(4 * EPS * self.model.m * self.model.depth * float(sizes))

    @cached_property
    def _outer(self) -> Evaluation:
        return self.model.outer.evaluate(self.P, errors.length(self.P), self.P_radius)

    @cached_property
    def objective(self) -> Objective:
        gap, error, Q, _ = self._outer
        return Objective(gap, error, self._through(Q))

    def gradient_of(self, weights: np.ndarray) -> tuple[Params, float]:
        Q, error = batch_gradient(self.model.outer, self.P, self.P_radius, weights)
        return self._through(Q), self._radius(error)

    def _through(self, Q: np.ndarray) -> Params:
        pairs = zip(self.before, self.after, strict=True)
        return {"H": np.stack([a.T @ Q @ b.T for b, a in pairs])}

    def _radius(self, Q_error: float) -> float:
        reach = max(euclidean(x) for x in (*self.before, *self.after))
        return reach**2 * Q_error * float(np.sqrt(self.model.depth))

    def measure(self, name: str) -> Measured:
        o = self.objective
        gap = Measured(o.gap, o.error)
        if name in ("gradient", "gradient.H"):
            return errors.frobenius(o.gradient["H"], self._radius(self._outer.gradient_error))
        return {
            "loss": gap + self.model.infimum,
            "loss_star": self.model.infimum,
            "gap": gap,
            "norm2.P": errors.norm2(self.P, self.P_radius),
        }[name]
