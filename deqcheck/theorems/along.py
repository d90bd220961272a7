"""The numbers of a formula at a step of a run, where the run is followed in exact numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from deqcheck.frozen import dataclass
from deqcheck.records import tower
from deqcheck.records.measured import EPS, Measured, given
from deqcheck.records.tower.following import Followed, followed
from deqcheck.records.trajectory import Trajectory


def with_step(values: dict[str, Any]) -> dict[str, Any]:
    """The step of the run that is followed is the double of the case and no other."""
    run = followed()
    step = values.get("step")
    if run is None or not isinstance(step, float) or run.step != step:
        return values
    return {**values, "step": given(step)}


@dataclass(frozen=True)
class ExactLeaves:
    """What the names in a formula stand for along a run that is followed in exact numbers."""

    run: Trajectory
    values: Mapping[str, Any]
    exact: Followed

    @classmethod
    def of(cls, run: Trajectory, values: Mapping[str, Any]) -> ExactLeaves | None:
        """None where no such run is followed."""
        exact = followed()
        step = getattr(run.train, "step", 0.0)
        if exact is None or run.flow or exact.step != step or not len(run.k) or run.k[0]:
            return None
        return cls(run, values, exact)

    @property
    def moving(self) -> tuple[str, ...]:
        """The names of the loss at the step itself."""
        return tuple(name for name, x in self.values.items() if self._is_gap(x))

    def _is_gap(self, x: Any) -> bool:
        return isinstance(x, Measured) and x.value is self.run.gap.value

    def at(self, i: int) -> dict[str, Any] | None:
        k = int(self.run.k[i])
        gaps = {0: self._gap(0), i: self._gap(i)}
        if None in gaps.values():
            return None
        step = given(self.exact.step)
        found: dict[str, Any] = {"k": given(k), "t": given(k) * step}
        for name, x in self.values.items():
            if self._is_gap(x):
                found[name] = gaps[i]
            elif name == "gap_0":
                found[name] = gaps[0]
            elif isinstance(x, np.ndarray) or np.ndim(getattr(x, "value", 0.0)):
                # What else moves along the run has no exact numbers.
                return None
            else:
                found[name] = x
        return found

    def _gap(self, i: int) -> Measured | None:
        """None where it is not known, or lies outside of the bar of the run: it is another run."""
        node, near = self.exact.gap_after(int(self.run.k[i])), self.run.gap[i]
        if node is None:
            return None
        ends = tower.compared(node, node).left
        if ends is None or abs(ends[0] - near.value) > near.error + ends[1] + EPS * abs(ends[0]):
            return None
        return replace(near, again=node)
