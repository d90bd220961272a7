"""What the ReLU models of one output take from networks that were trained elsewhere.

A bias is an input that is constantly one: relu(W z + U x + b) = relu(W z + (U b)(x; 1)), and
descent on b is descent on that column. The bias c0 of the read-out is taken off the targets. Of
several outputs one is chosen.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np

from deqcheck.fields import Refusal, integer
from deqcheck.frozen import dataclass
from deqcheck.importing.array import Given
from deqcheck.kinds import Model, Shapes
from deqcheck.linalg.stacked import slices
from deqcheck.models.problem import Params

PAGE = "`deqcheck docs models`"


@dataclass(frozen=True)
class SingleOutput(Model):
    """Its biases are `b` or another name, and c0."""

    predicted: ClassVar[str] = "y"
    # The read-out, the weights of the inputs, and their bias.
    read_out: ClassVar[str]
    inner: ClassVar[str]
    bias: ClassVar[str] = "b"
    # Whether samples are rows, X W in place of U X.
    rows: ClassVar[bool] = False
    biases: ClassVar[Shapes]

    output: int | None = integer(
        at_least=0,
        default=None,
        doc="which output, from 0, where the arrays hold several; all: a case for each",
    )

    def side_by_side(self, samples: int) -> int:
        """Each has a perturbed run beside it; the only size that a case may state is the width."""
        width = max(self.sizes().values(), default=0)
        return slices(width, samples) // 2 if width else 1

    def brought(self, arrays: dict[str, Given]) -> dict[str, Given]:
        deep = [each for name, each in arrays.items() if each.array.ndim > 2 and name != "X"]
        if deep:
            sentence = f"{deep[0].label} has {deep[0].array.ndim} axes; expected a dense matrix"
            raise Refusal(deep[0].key, f"{sentence} ({PAGE} on convolutions)")
        axes = {"y": 1, "yhat": 1, self.read_out: 1, "c0": 0}
        return {
            name: self._chosen(each, axes[name]) if name in axes else each
            for name, each in arrays.items()
        }

    def _chosen(self, given: Given, axes: int) -> Given:
        array = given.array
        if array.ndim != axes + 1:
            return given
        if self.output is None and array.ndim == 2 and array.size == max(array.shape):
            # One row or one column is a vector.
            return replace(given, array=array.reshape(-1))
        outputs = len(array)
        if self.output is None and outputs > 1:
            raise Refusal(
                given.key,
                f"{given.label} has {outputs} outputs; expected one: choose it by model.output, "
                f"0 to {outputs - 1} ({PAGE})",
            )
        at = self.output or 0
        if at >= outputs:
            sentence = f"{given.label} has {outputs} outputs, and no output {at} (from 0)"
            raise Refusal(given.key, sentence)
        return replace(given, array=array[at])

    def absorbed(self, data: Params, theta: Params) -> tuple[Params, Params]:
        data, theta = dict(data), dict(theta)
        if self.bias in theta:
            b, inner = theta.pop(self.bias), theta[self.inner]
            ones, X = np.ones(data["y"].shape), data["X"]
            if self.rows:
                data["X"], theta[self.inner] = np.column_stack([X, ones]), np.vstack([inner, b])
            else:
                data["X"], theta[self.inner] = np.vstack([X, ones]), np.column_stack([inner, b])
        if "c0" in theta:
            c0 = theta.pop("c0")
            data |= {name: data[name] - c0 for name in ("y", "yhat") if name in data}
        return data, theta
