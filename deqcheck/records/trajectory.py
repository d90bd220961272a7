"""The record of a run, with both clocks: k and t (= step * k for gradient descent)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from typing import Any, NamedTuple

import numpy as np

from deqcheck.frozen import dataclass
from deqcheck.records.measured import Measured
from deqcheck.records.series import Series
from deqcheck.records.verdict import Status
from deqcheck.records.words import FLOW


class Event(NamedTuple):
    """At a kink: the flow crosses it, begins to slide along it, leaves it, or forks there, where it
    could go on to either side."""

    kind: str
    # Its number among the pre-activations of the model.
    kink: int
    t: Measured


CROSSING, SLIDE, LEAVE, FORK = "crossing", "slide", "leave", "fork"


@dataclass(frozen=True, eq=False, repr=False)
class Verified:
    """Of a run that was made elsewhere: how far each state is from a gradient step from the one
    before, in the array in which that is worst, and how far its precision allows."""

    k: np.ndarray
    t: np.ndarray
    defect: np.ndarray
    tolerance: np.ndarray
    # In what precision its arrays are, and what of the steps cannot be looked at.
    precision: str
    left_out: str = ""

    @property
    def holds(self) -> bool:
        return not self.left_out and bool((self.defect <= self.tolerance).all())


@dataclass(frozen=True, eq=False, repr=False)
class Trajectory:
    k: np.ndarray
    t: np.ndarray
    # The loss above the model's infimum: what decays to zero.
    gap: Measured
    # The radius of the gap at the computed parameters alone, without what accumulated before.
    local_error: np.ndarray
    # How far the parameters may be from an exact step from the computed ones before.
    step_error: np.ndarray
    gradient: np.ndarray
    series: Mapping[str, Series]
    distance: Mapping[str, Series]
    final: dict[str, np.ndarray]
    status: Status = Status.COMPLETED
    notes: tuple[str, ...] = ()
    evaluations: int = 0
    # What the flow of a piecewise smooth model met, in order of time.
    events: tuple[Event, ...] = ()
    infimum: Measured = field(default_factory=lambda: Measured(0.0))
    # Of a flow: the length of the path until each recorded time.
    path: Measured | None = None
    # The dynamics that made it, with their step or tolerances.
    train: Any = None
    # Of a run that was made elsewhere.
    verified: Verified | None = None
    # The parameters at recorded points, by their position, where they were asked for.
    states: Mapping[int, Mapping[str, np.ndarray]] = field(default_factory=dict)

    def __repr__(self) -> str:
        last = f", k = {self.k[-1]}, t = {self.t[-1]:.4g}" if len(self.k) else ""
        return f"<Trajectory {self.status.word}{last}, recorded points: {len(self.k)}>"

    def until(self, last: int) -> Trajectory:
        """The run up to the recorded point `last`, which then counts as its end."""
        upto, t = slice(0, last + 1), self.t[last]

        def cut(series: Mapping[str, Series]) -> dict[str, Series]:
            return {name: each.until(t) for name, each in series.items()}

        return replace(
            self,
            k=self.k[upto],
            t=self.t[upto],
            gap=self.gap[upto],
            local_error=self.local_error[upto],
            step_error=self.step_error[upto],
            gradient=self.gradient[upto],
            series=cut(self.series),
            distance=cut(self.distance),
            path=None if self.path is None else self.path[upto],
            events=tuple(event for event in self.events if event.t.value <= t),
        )

    @property
    def forked(self) -> float | None:
        """The first time after which there are other flows from the same start."""
        return next((float(e.t.value) for e in self.events if e.kind == FORK), None)

    @property
    def complete(self) -> bool:
        return self.status is Status.COMPLETED

    @property
    def flow(self) -> bool:
        """Whether time counts, not steps."""
        return self.train is not None and self.train.kind == FLOW

    @property
    def loss(self) -> Measured:
        return self.gap + self.infimum

    @property
    def one_step(self) -> tuple[Measured, Measured]:
        """The gaps before and after each step, for what holds of one step from any point: only
        their evaluation counts, and what the step between them lost."""
        gap = Measured(self.gap.value, self.local_error)
        return gap[:-1], gap[1:].widened(self.step_error[1:] * self.gradient[1:])
