"""A trained equilibrium network: z = s(W z + U x + b), y = C z + D x + c0, for an activation s with
slopes in [0, 1]. It is checked as it is, and not trained."""

from __future__ import annotations

from copy import copy
from typing import Any, ClassVar

import numpy as np

from deqcheck.fields import Refusal, choice, declare, integer, number
from deqcheck.frozen import dataclass
from deqcheck.kinds import Loss, Model
from deqcheck.linalg.entries import finite
from deqcheck.losses.half_square import HalfSquare
from deqcheck.models.equilibrium import oracle, parametrised
from deqcheck.models.equilibrium.activations import NAMES, ActivationName, activation
from deqcheck.models.equilibrium.state import EquilibriumState
from deqcheck.models.memory import Memory
from deqcheck.models.problem import BuiltModel, Params
from deqcheck.records.measured import Measured, given

# What may stand beside the parameters; zero where it does not: biases, a map past the layer, a
# point whose distance from the equilibrium is asked for, and changes of the weights.
BESIDE: dict[str, tuple[str, ...]] = {
    "b": ("n",),
    "c0": ("q",),
    "D": ("q", "d"),
    "z": ("n", "N"),
    "dW": ("n", "n"),
    "dU": ("n", "d"),
    "db": ("n",),
}


@dataclass(frozen=True)
class TrainedEquilibrium(Model):
    """Trained equilibrium network: z = s(W z + U x + b), y = C z + D x + c0, with several inputs
    and outputs, and an activation whose slopes are in [0, 1]. W is given as it is, or by its
    parts."""

    kind: ClassVar[str] = "equilibrium"
    data_arrays: ClassVar[dict[str, tuple[str, ...]]] = {"X": ("d", "N"), "Y": ("q", "N")}
    optional: ClassVar[dict[str, tuple[str, ...]]] = BESIDE
    predicted: ClassVar[str] = "Y"
    makes: ClassVar[dict[str, tuple[str, ...]]] = {"the state": ("n", "N")}
    default_loss: ClassVar[str] = "half-square"
    example: ClassVar[str] = """\
data: {kind: gaussian, n: 3, dim: 2, target: gaussian}
model: {kind: equilibrium, width: 4}
init: {kind: gaussian, scale: 0.2}"""
    loss: ClassVar[type[Loss]] = HalfSquare

    activation: str = declare(
        ActivationName(options=NAMES, default="relu", doc="s; its slopes are in [0, 1]")
    )
    slope: float = number(
        at_least=0, at_most=1, default=0.01, doc="of leaky-relu on the negative side"
    )
    weights: str = choice(
        *parametrised.WAYS,
        default=parametrised.DIRECT,
        doc="how W is given: as it is; monotone: (1 - m) I - A^T A + B - B^T; nemon: m I + "
        "e^-d A e^d - diag(|A| 1); projected: rows onto the 1-norm ball",
    )
    m: float | None = number(
        above=0, default=None, stored=True, doc="of monotone and nemon; required there"
    )
    bound: float = number(above=0, default=0.95, doc="radius of the ball of projected")
    bits: int | None = integer(
        at_least=2,
        at_most=52,
        default=None,
        doc="dW is W rounded to multiples of max|W|/(2^(bits - 1) - 1), less W",
    )
    width: int | None = integer(
        at_least=1, default=None, doc="n; only where the init brings no arrays"
    )

    @property
    def parameters(self) -> dict[str, tuple[str, ...]]:
        return {**parametrised.PARTS[self.weights], "U": ("n", "d"), "C": ("q", "n")}

    def sizes(self) -> dict[str, int]:
        return {} if self.width is None else {"n": self.width, "r": self.width}

    def from_samples(self, inputs: np.ndarray, targets: np.ndarray) -> Params:
        return {"X": inputs, "Y": targets}

    def absorbed(self, data: Params, theta: Params) -> tuple[Params, Params]:
        """With W in place of its parts."""
        theta = dict(theta)
        if self.weights in (parametrised.MONOTONE, parametrised.NEMON):
            if self.m is None:
                raise Refusal("model.m", "missing; expected a number > 0, or where the file has it")
            A = theta.pop("A")
            with np.errstate(all="ignore"):
                if self.weights == parametrised.MONOTONE:
                    W = parametrised.monotone(self.m, A, theta.pop("B"))
                else:
                    W = parametrised.nemon(self.m, A, theta.pop("d"))
        elif self.weights == parametrised.PROJECTED:
            W = parametrised.projected(theta.pop("W"), self.bound)
        else:
            W = theta.pop("W")
        if not finite(W):
            raise Refusal("init", "W is not finite")
        return data, {"W": W, **theta}

    def build(self, arrays: Params, loss: Any) -> EquilibriumModel:
        return EquilibriumModel(arrays, activation(self.activation, self.slope), self.bits)


class EquilibriumModel(BuiltModel[EquilibriumState]):
    """The model with its data."""

    loss_kind = "half-square"
    trains: ClassVar[bool] = False

    def __init__(self, arrays: Params, activation: Any, bits: int | None = None):
        self.kind = TrainedEquilibrium.kind
        self.X, self.Y = arrays["X"], arrays["Y"]
        self.b, self.c0, self.D, self.z = (arrays[name] for name in ("b", "c0", "D", "z"))
        self._dW, self.dU, self.db = (arrays[name] for name in ("dW", "dU", "db"))
        self.activation, self.bits = activation, bits

    def with_inputs(self, X: np.ndarray) -> EquilibriumModel:
        found = copy(self)
        found.X = X
        return found

    def dW(self, W: np.ndarray) -> np.ndarray:
        """The change of W that is asked about: given, or by rounding."""
        return self._dW if self.bits is None else rounded(W, self.bits) - W

    @property
    def infimum(self) -> Measured:
        return given(0)

    def at(self, theta: Params, memory: Memory | None = None) -> EquilibriumState:
        return EquilibriumState(self, theta)

    def explicit_gradient(self, theta: Params) -> Params:
        return oracle.gradient(self.at(theta))


def rounded(W: np.ndarray, bits: int) -> np.ndarray:
    """To 2^(bits - 1) - 1 steps on either side of 0."""
    largest = float(np.abs(W).max(initial=0.0))
    if largest == 0:
        return W
    step = largest / (2 ** (bits - 1) - 1)
    found: np.ndarray = step * np.round(W / step)
    return found
