"""ReLU deep equilibrium model (Ling et al. 2022): Z = relu(W Z + U X), yhat = Z^T a."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from deqcheck.fields import integer, number, refuse
from deqcheck.frozen import dataclass
from deqcheck.kinds import Loss
from deqcheck.linalg import errors, exact
from deqcheck.linalg.precise import Numbers
from deqcheck.linalg.stacked import slices
from deqcheck.losses.half_square import HalfSquare
from deqcheck.models.memory import Memory
from deqcheck.models.problem import Params
from deqcheck.models.relu_deq import oracle
from deqcheck.models.relu_deq.stacked import PARTS, StackedReluDeq
from deqcheck.models.relu_deq.state import ReluDeqState
from deqcheck.models.relu_many import ManyRelu
from deqcheck.models.relu_model import ReluModel
from deqcheck.models.single_output import SingleOutput
from deqcheck.records.lazy import cached_property
from deqcheck.records.measured import Measured


@dataclass(frozen=True)
class ReluDeq(SingleOutput):
    """ReLU deep equilibrium model: z = relu(W z + U x + b), prediction a.z + c0."""

    kind: ClassVar[str] = "relu-deq"
    data_arrays: ClassVar[dict[str, tuple[str, ...]]] = {"X": ("d", "n"), "y": ("n",)}
    parameters: ClassVar[dict[str, tuple[str, ...]]] = {
        "W": ("m", "m"),
        "U": ("m", "d"),
        "a": ("m",),
    }
    biases: ClassVar[dict[str, tuple[str, ...]]] = {"b": ("m",), "c0": ()}
    read_out: ClassVar[str] = "a"
    inner: ClassVar[str] = "U"
    makes: ClassVar[dict[str, tuple[str, ...]]] = {
        "the state": ("m", "n"),
        "the kernel": ("n", "n"),
    }
    default_loss: ClassVar[str] = "half-square"
    example: ClassVar[str] = """\
data: {kind: gaussian, n: 6, dim: 4, target: gaussian}
model: {kind: relu-deq, width: 10}
init: {kind: each, W: {kind: gaussian, scale: 0.2, fan: in}, U: gaussian, a: gaussian}
train: {kind: gd, step: 1e-4, steps: 50}"""
    loss: ClassVar[type[Loss]] = HalfSquare

    width: int | None = integer(
        at_least=1, default=None, doc="m; needed where the initialisation is drawn"
    )
    sigma_w2: float | None = number(
        at_least=0,
        below=1,
        default=None,
        doc="variance sigma_w^2 of W (entries 2 sigma_w^2/m), for the population kernel",
    )

    def sizes(self) -> dict[str, int]:
        return {} if self.width is None else {"m": self.width}

    def from_samples(self, inputs: np.ndarray, targets: np.ndarray) -> Params:
        if len(targets) != 1:
            raise ValueError(f"{len(targets)} outputs for each sample; expected 1")
        return {"X": inputs, "y": targets[0]}

    def build(self, arrays: Params, loss: Any) -> ReluDeqModel:
        refuse(_faults(arrays["X"]))
        return ReluDeqModel(arrays["X"], arrays["y"], self.sigma_w2)


def _faults(X: np.ndarray) -> Iterator[tuple[str, str]]:
    zero = np.flatnonzero(~X.any(axis=0))
    if len(zero):
        yield "data", f"column {zero[0] + 1} of X is zero; expected non-zero samples"


class ReluDeqModel(ReluModel[ReluDeqState]):
    """The model with its data."""

    def __init__(self, X: np.ndarray, y: np.ndarray, sigma_w2: float | None = None):
        self.kind = ReluDeq.kind
        # In one order of entries: the digits of products depend on it.
        self.X, self.y, self.sigma_w2 = np.ascontiguousarray(X), y, sigma_w2
        self.d, self.n = X.shape

    @cached_property
    def X_fro(self) -> Measured:
        return errors.frobenius(self.X, exact=exact.array(self.X))

    def at(self, theta: Params, memory: Memory | None = None) -> ReluDeqState:
        return ReluDeqState(self, theta, memory)

    def stacked(
        self, others: Sequence[ReluDeqModel], shapes: Mapping[str, tuple[int, ...]]
    ) -> StackedReluDeq | None:
        if set(shapes) != set(PARTS) or any(type(model) is not ReluDeqModel for model in others):
            return None
        # A single unit has a norm of its own, without an SVD.
        m = shapes["a"][0]
        return StackedReluDeq(others, m) if m > 1 and slices(m, self.n) > 1 else None

    def many(self, shapes: Mapping[str, tuple[int, ...]]) -> ManyRelu | None:
        """Where the model is too wide to be side by side with others."""
        if set(shapes) != set(PARTS) or slices(shapes["a"][0], self.n) > 1:
            return None
        return ManyRelu(self, StackedReluDeq([self], shapes["a"][0]), "W", 1.0)

    def explicit_gradient(self, theta: Params) -> Params:
        return oracle.gradient(self.at(theta))

    def precise_form(self, theta: Params, digits: Numbers) -> tuple[np.ndarray, ...]:
        return theta["W"], theta["U"] @ digits.lift(self.X), theta["a"]

    def precise_parts(
        self, theta: Params, digits: Numbers, Z: np.ndarray, E: np.ndarray, r: np.ndarray
    ) -> Params:
        return {"W": E @ Z.T, "U": E @ digits.lift(self.X).T, "a": Z @ r}
