"""Scaled ReLU implicit network (Gao and Gao 2022).

Z = relu(gamma Z A + relu(X W)) (N x m, one sample for each row), yhat = Z b, L = |yhat - y|^2/2.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from deqcheck.fields import Refusal, integer, number
from deqcheck.frozen import dataclass
from deqcheck.kinds import Loss
from deqcheck.linalg import errors
from deqcheck.linalg.precise import Numbers, relu_certain
from deqcheck.linalg.stacked import slices
from deqcheck.losses.half_square import HalfSquare
from deqcheck.models.implicit_relu import oracle, scaled
from deqcheck.models.implicit_relu.stacked import PARTS, StackedImplicit
from deqcheck.models.implicit_relu.state import ImplicitReluState
from deqcheck.models.memory import Memory
from deqcheck.models.problem import Params
from deqcheck.models.relu_many import ManyRelu
from deqcheck.models.relu_model import ReluModel
from deqcheck.models.single_output import SingleOutput


@dataclass(frozen=True)
class ImplicitRelu(SingleOutput):
    """ReLU implicit network: Z = relu(gamma Z A + relu(X W + 1 bias^T)), prediction Z b + c0, half
    square loss."""

    kind: ClassVar[str] = "implicit-relu"
    data_arrays: ClassVar[dict[str, tuple[str, ...]]] = {"X": ("N", "d"), "y": ("N",)}
    parameters: ClassVar[dict[str, tuple[str, ...]]] = {
        "W": ("d", "m"),
        "A": ("m", "m"),
        "b": ("m",),
    }
    biases: ClassVar[dict[str, tuple[str, ...]]] = {"bias": ("m",), "c0": ()}
    read_out: ClassVar[str] = "b"
    inner: ClassVar[str] = "W"
    bias: ClassVar[str] = "bias"
    rows: ClassVar[bool] = True
    makes: ClassVar[dict[str, tuple[str, ...]]] = {
        "the state": ("N", "m"),
        "the kernel": ("N", "N"),
    }
    default_loss: ClassVar[str] = "half-square"
    example: ClassVar[str] = """\
data: {kind: sphere, n: 6, dim: 4, target: gaussian}
model: {kind: implicit-relu, gamma: 0.3, width: 10}
init: {kind: each, W: {kind: gaussian, fan: in}, A: {kind: gaussian, fan: in}, b: gaussian}
train: {kind: gd, step: 1e-3, steps: 50}"""
    loss: ClassVar[type[Loss]] = HalfSquare

    gamma: float | None = number(
        above=0,
        default=None,
        stored=True,
        doc="scale of the implicit layer, gamma |A| must stay below 1; init: scaled derives it",
    )
    width: int | None = integer(
        at_least=1, default=None, doc="hidden units m, where the initialisation leaves them open"
    )

    def sizes(self) -> dict[str, int]:
        return {} if self.width is None else {"m": self.width}

    def from_samples(self, inputs: np.ndarray, targets: np.ndarray) -> Params:
        if len(targets) != 1:
            raise ValueError(f"{len(targets)} outputs for each sample; the model has one")
        return {"X": inputs.T, "y": targets[0]}

    def scaled_start(
        self, data: Mapping[str, np.ndarray], W: np.ndarray, beyond: float
    ) -> tuple[ImplicitRelu, Params]:
        """Of Section 5.1, for `init: scaled`."""
        if self.gamma is not None:
            raise Refusal("", "derives gamma; expected a model without one")
        gamma, theta = scaled.scaled_start(data["X"], data["y"], W, beyond)
        return replace(self, gamma=gamma), theta

    def build(self, arrays: Params, loss: Any) -> ImplicitReluModel:
        if not arrays["X"].any():
            raise Refusal("data", "every sample is zero (X = 0); expected a non-zero X")
        if self.gamma is None:
            raise Refusal("model.gamma", "missing; expected a number > 0")
        return ImplicitReluModel(self.gamma, arrays["X"], arrays["y"])


class ImplicitReluModel(ReluModel[ImplicitReluState]):
    """The model with its data."""

    def __init__(self, gamma: float, X: np.ndarray, y: np.ndarray):
        self.kind = ImplicitRelu.kind
        self.gamma, self.X, self.y = gamma, X, y
        self.N, self.d = X.shape
        self.X_size = errors.length(X)

    def at(self, theta: Params, memory: Memory | None = None) -> ImplicitReluState:
        return ImplicitReluState(self, theta, memory)

    def stacked(
        self, others: Sequence[ImplicitReluModel], shapes: Mapping[str, tuple[int, ...]]
    ) -> StackedImplicit | None:
        if set(shapes) != set(PARTS) or any(type(o) is not ImplicitReluModel for o in others):
            return None
        # A single unit has norms of its own, without an SVD.
        m = shapes["b"][0]
        return StackedImplicit(others, m) if m > 1 and slices(m, self.N) > 1 else None

    def many(self, shapes: Mapping[str, tuple[int, ...]]) -> ManyRelu | None:
        """Where the model is too wide to be side by side with others."""
        if set(shapes) != set(PARTS) or slices(shapes["b"][0], self.N) > 1:
            return None
        return ManyRelu(self, StackedImplicit([self], shapes["b"][0]), "A", 1 / self.gamma)

    def explicit_gradient(self, theta: Params) -> Params:
        return oracle.gradient(self.at(theta))

    def precise_form(self, theta: Params, digits: Numbers) -> tuple[np.ndarray, ...]:
        XW = digits.lift(self.X) @ theta["W"]
        Phi = np.where(relu_certain(XW), XW, digits.lift_one(0.0))
        return digits.lift_one(self.gamma) * theta["A"].T, Phi.T, theta["b"]

    def precise_parts(
        self, theta: Params, digits: Numbers, Z: np.ndarray, E: np.ndarray, r: np.ndarray
    ) -> Params:
        X = digits.lift(self.X)
        heard = np.where(relu_certain(X @ theta["W"]), E.T, digits.lift_one(0.0))
        return {
            "W": X.T @ heard,
            "A": digits.lift_one(self.gamma) * (Z @ E.T),
            "b": Z @ r,
        }
