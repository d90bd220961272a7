"""Monotone deep equilibrium model (Nguyen Ngoc Hieu 2022).

Z = relu(W Z + U X) with W = (1 - m) I - A^T A + B - B^T, so that sym(I - W) >= m I whatever the
parameters are; yhat = Z^T u, loss |yhat - y|^2/2.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from deqcheck.fields import Refusal, choice, integer, number
from deqcheck.frozen import dataclass
from deqcheck.importing.array import Given
from deqcheck.kinds import Loss
from deqcheck.linalg.precise import Numbers
from deqcheck.linalg.stacked import slices
from deqcheck.losses.half_square import HalfSquare
from deqcheck.models.memory import Memory
from deqcheck.models.monotone_deq import oracle
from deqcheck.models.monotone_deq.stacked import PARTS, StackedMonotone
from deqcheck.models.monotone_deq.state import MonotoneDeqState
from deqcheck.models.problem import Params
from deqcheck.models.relu_model import ReluModel
from deqcheck.models.single_output import SingleOutput

PEACEMAN_RACHFORD, FORWARD_BACKWARD = "peaceman-rachford", "forward-backward"


@dataclass(frozen=True)
class MonotoneDeq(SingleOutput):
    """Monotone deep equilibrium model: z = relu(W z + U x + b), prediction u^T z + c0, with
    W = (1 - m) I - A^T A + B - B^T. A may be given with r rows."""

    kind: ClassVar[str] = "monotone-deq"
    data_arrays: ClassVar[dict[str, tuple[str, ...]]] = {"X": ("d", "N"), "y": ("N",)}
    parameters: ClassVar[dict[str, tuple[str, ...]]] = {
        "A": ("n", "n"),
        "B": ("n", "n"),
        "U": ("n", "d"),
        "u": ("n",),
    }
    biases: ClassVar[dict[str, tuple[str, ...]]] = {"b": ("n",), "c0": ()}
    read_out: ClassVar[str] = "u"
    inner: ClassVar[str] = "U"
    makes: ClassVar[dict[str, tuple[str, ...]]] = {
        "the state": ("n", "N"),
        "the kernel": ("N", "N"),
    }
    default_loss: ClassVar[str] = "half-square"
    example: ClassVar[str] = """\
data: {kind: gaussian, n: 6, dim: 4, target: gaussian}
model: {kind: monotone-deq, m: 1, width: 8}
init: {kind: gaussian, scale: 0.3}
train: {kind: gd, step: 1e-4, steps: 50}"""
    loss: ClassVar[type[Loss]] = HalfSquare
    required: ClassVar[tuple[str, ...]] = ("m",)

    m: float = number(
        above=0, default=None, stored=True, doc="strong monotonicity of I - W; required"
    )
    width: int = integer(at_least=1, default=None, doc="n; only where the init brings no arrays")
    solver: str = choice(
        PEACEMAN_RACHFORD,
        FORWARD_BACKWARD,
        default=PEACEMAN_RACHFORD,
        doc="splitting method that finds the equilibrium",
    )
    alpha: float = number(
        above=0,
        default=None,
        doc="step of the splitting; default 1/|I - W| (Peaceman-Rachford) or m/|I - W|^2",
    )

    def sizes(self) -> dict[str, int]:
        return {} if self.width is None else {"n": self.width}

    def brought(self, arrays: dict[str, Given]) -> dict[str, Given]:
        found = super().brought(arrays)
        if "A" in found and "B" in found:
            found["A"] = _square(found["A"], len(found["B"].array))
        return found

    def from_samples(self, inputs: np.ndarray, targets: np.ndarray) -> Params:
        if len(targets) != 1:
            raise ValueError(f"{len(targets)} outputs; 'monotone-deq' has exactly one")
        return {"X": inputs, "y": targets[0]}

    def build(self, arrays: Params, loss: Any) -> MonotoneDeqModel:
        if self.m is None:
            raise Refusal("model.m", "missing; expected a number > 0")
        return MonotoneDeqModel(self.m, arrays["X"], arrays["y"], self.solver, self.alpha)


def _square(given: Given, n: int) -> Given:
    """A enters by A^T A and its gradient -A (G + G^T). Rows of zeros stay zero and change neither;
    of A = Q R with more rows than columns, R moves as A does, and Q stays."""
    A = given.array
    if A.ndim != 2 or A.shape[1] != n or len(A) == n:
        return given
    size = f"A is {len(A)} x {n}"
    if len(A) < n:
        padded = np.vstack([A, np.zeros((n - len(A), n))])
        note = f"{size}: rows of zeros, which training leaves as they are, make it square"
        return replace(given, array=padded, notes=(*given.notes, note))
    note = f"{size}: in its place R of A = Q R, with R^T R = A^T A up to rounding"
    R: np.ndarray = np.linalg.qr(A)[1]
    return replace(given, array=R, notes=(*given.notes, note))


class MonotoneDeqModel(ReluModel[MonotoneDeqState]):
    """The model with its data."""

    def __init__(
        self,
        m: float,
        X: np.ndarray,
        y: np.ndarray,
        solver: str = PEACEMAN_RACHFORD,
        alpha: float | None = None,
    ):
        self.kind = MonotoneDeq.kind
        self.m, self.X, self.y = m, X, y
        self.solver, self.alpha = solver, alpha
        self.d, self.N = X.shape

    def at(self, theta: Params, memory: Memory | None = None) -> MonotoneDeqState:
        return MonotoneDeqState(self, theta, memory)

    def stacked(
        self, others: Sequence[MonotoneDeqModel], shapes: Mapping[str, tuple[int, ...]]
    ) -> StackedMonotone | None:
        plain = all(type(o) is MonotoneDeqModel and o.alpha is None for o in others)
        if set(shapes) != set(PARTS) or not plain:
            return None
        # A single unit has norms of its own, without an SVD.
        n = shapes["u"][0]
        return StackedMonotone(others, n) if n > 1 and slices(n, self.N) > 1 else None

    def check(self, theta: Params) -> Iterator[tuple[str, str]]:
        """What only shows at the parameters to start from: an inadmissible splitting step."""
        if self.alpha is None or self.solver != FORWARD_BACKWARD:
            return
        limit = self.at(theta).forward_backward_limit
        if not self.alpha < limit.low:
            yield (
                "model.alpha",
                f"{self.alpha:g} is no step for forward-backward splitting; expected a number "
                f"below 2 m/|I - W|^2 = {limit.value:.6g} at the initial parameters",
            )

    def explicit_gradient(self, theta: Params) -> Params:
        return oracle.gradient(self.at(theta))

    def precise_form(self, theta: Params, digits: Numbers) -> tuple[np.ndarray, ...]:
        A, B = theta["A"], theta["B"]
        eye, one = digits.lift(np.eye(len(A))), digits.lift_one(1.0)
        W = (one - digits.lift_one(self.m)) * eye - A.T @ A + B - B.T
        return W, theta["U"] @ digits.lift(self.X), theta["u"]

    def precise_parts(
        self, theta: Params, digits: Numbers, Z: np.ndarray, E: np.ndarray, r: np.ndarray
    ) -> Params:
        G = E @ Z.T
        return {
            "A": -(theta["A"] @ (G + G.T)),
            "B": G - G.T,
            "U": E @ digits.lift(self.X).T,
            "u": Z @ r,
        }
