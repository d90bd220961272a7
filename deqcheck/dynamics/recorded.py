"""Runs that were made elsewhere: are they gradient descent, and what does hold along them?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import mode
from typing import ClassVar

import numpy as np

from deqcheck.dynamics.perturbed_run import PerturbedRun
from deqcheck.dynamics.recorder import OnProgress, Progress, silent
from deqcheck.dynamics.steps import Here, walk
from deqcheck.fields import FilePath, file, one_of, refuse, show
from deqcheck.given import RUN_ARRAYS, check_npz, load_npz
from deqcheck.importing.tensor import Tensor
from deqcheck.kinds import Dynamics
from deqcheck.models.memory import Memory
from deqcheck.models.problem import (
    AnyProblem,
    NoEquilibrium,
    Params,
    State,
    gradient_radius,
    norm,
    pack,
)
from deqcheck.records.lazy import cached_property
from deqcheck.records.measured import EPS
from deqcheck.records.trajectory import Trajectory, Verified
from deqcheck.records.words import DESCENT

PRECISIONS = ("float32", "float64")


@dataclass(frozen=True)
class RecordedRun(Dynamics):
    """A run that was made elsewhere, from an .npz file.

    It holds each parameter under its name with a leading axis of K + 1 states, `step` (K numbers,
    or one) and, where not every step was kept, `k`, the number of each state, from 0. The states
    are judged as they are. Each step is compared with a gradient step from the state before, up to
    the precision of the arrays (float32 or float64); where all agree, statements about gradient
    descent apply, with error bars that are as wide as that precision asks for. The case must start
    where the run does (`init: {kind: recorded, path: ...}`).
    """

    kind: ClassVar[str] = "recorded"
    judged_as: ClassVar[str] = DESCENT
    path: FilePath = file(doc="an .npz file, relative to the case")

    @cached_property
    def _stored(self) -> dict[str, np.ndarray]:
        return load_npz(self.path)

    def faults(self, problem: AnyProblem) -> Iterator[tuple[str, str]]:
        wanted = problem.shapes
        headers = check_npz(self.path, (*wanted, "step"), (*wanted, *RUN_ARRAYS))
        for stage in (_misshapen(headers, wanted), self._unusable(problem.theta0)):
            refuse(("path", f"{self.path.name}: {sentence}") for sentence in stage)
        yield from ()

    def _unusable(self, theta0: Params) -> Iterator[str]:
        """What only the numbers tell."""
        stored = self._stored
        for name, start in theta0.items():
            wrong = ~np.isfinite(stored[name]).reshape(len(stored[name]), -1).all(axis=1)
            if wrong.any():
                yield f"{name} holds inf or nan in state {int(np.argmax(wrong))}"
            elif not np.array_equal(stored[name][0].astype(np.float64), start):
                yield (
                    f"{name} does not begin at the initial parameters; expected the same, as by "
                    f"init: {{kind: recorded, path: {self.path.name}}}"
                )
        step = np.atleast_1d(stored["step"])
        wrong = ~(np.isfinite(step) & (step > 0))
        if wrong.any():
            yield f"step holds {show(float(step[np.argmax(wrong)]))}; expected numbers > 0"
        k = stored.get("k", np.arange(2))
        if k[0] != 0 or not (np.diff(k.astype(np.int64)) > 0).all():
            yield "k does not increase from 0; expected the number of each state"

    @property
    def numbers(self) -> np.ndarray:
        """The step number of each state."""
        states = len(next(a for name, a in self._stored.items() if name not in RUN_ARRAYS))
        found: np.ndarray = self._stored.get("k", np.arange(states)).astype(np.int64)
        return found

    @property
    def sizes(self) -> np.ndarray:
        """The step size after each state but the last."""
        step = self._stored["step"].astype(np.float64)
        return np.broadcast_to(step.reshape(-1), (len(self.numbers) - 1,))

    @property
    def step(self) -> float:
        """The largest, if they differ: then no statement about descent applies."""
        return float(self.sizes.max())

    @property
    def precision(self) -> str:
        """Of the coarsest array."""
        found = {str(a.dtype) for name, a in self._stored.items() if name not in RUN_ARRAYS}
        return next(each for each in PRECISIONS if each in found)

    def theta(self, problem: AnyProblem, i: int) -> Params:
        """The i-th state."""
        return {name: self._stored[name][i].astype(np.float64) for name in problem.theta0}

    def departures(self, problem: AnyProblem) -> dict[str, float]:
        steps = self.sizes
        return {"largest_step": float(steps.max()), "smallest_step": float(steps.min())}

    def run(
        self,
        problem: AnyProblem,
        tracks: Sequence[str] = (),
        infima: Sequence[str] = (),
        report: OnProgress = silent,
    ) -> Trajectory:
        found = verify(self, problem, report)
        run = walk(problem, self, States(self, problem, found.holds), tracks, report)
        return replace(run, verified=found, notes=(*run.notes, *_told(found)))


def _misshapen(headers: Mapping[str, Tensor], shapes: Mapping[str, tuple[int, ...]]) -> list[str]:
    """What the headers tell."""
    sentences = []
    states = mode([*headers[name].shape, 0][0] for name in shapes)
    if states < 2:
        return [f"{next(iter(shapes))} has fewer than 2 states; expected one in each row"]
    for name, shape in shapes.items():
        found, expected = headers[name], (states, *shape)
        if found.dtype not in PRECISIONS:
            sentences.append(f"{name} has dtype {found.dtype}; expected {one_of(PRECISIONS)}")
        if found.shape != expected:
            said = f"{expected}, a state in each row"
            sentences.append(f"{name} has shape {found.shape}; expected {said}")
    step, k = headers["step"], headers.get("k")
    if step.shape not in ((), (1,), (states - 1,)):
        said = f"({states - 1},), a step between each two states, or one number"
        sentences.append(f"step has shape {step.shape}; expected {said}")
    if step.dtype == "float16":
        sentences.append(f"step has dtype float16; expected {one_of(PRECISIONS)}")
    if k is not None and (k.shape != (states,) or np.dtype(k.dtype).kind == "f"):
        sentences.append(f"k is no row of {states} integers, the number of each state")
    return sentences


class States:
    """The states one after the other. Where they are those of gradient descent, a perturbed run
    shows how far they may be from those of exact arithmetic."""

    def __init__(self, train: RecordedRun, problem: AnyProblem, descent: bool):
        self._train, self._problem = train, problem
        self._numbers, self._sizes = train.numbers, train.sizes
        self._times = np.append(0.0, np.cumsum(self._sizes * np.diff(self._numbers)))
        self._eps = float(np.finfo(train.precision).eps)
        self._i = 0
        self.steps = len(self._numbers) - 1
        self.x = pack(train.theta(problem, 0))
        self.perturbed = PerturbedRun(problem, train.step, eps=self._eps) if descent else None

    def at(self, i: int) -> tuple[int, float]:
        return int(self._numbers[i]), float(self._times[i])

    def go_on(self, here: Here) -> None:
        beside, step = self.perturbed, float(self._sizes[self._i])
        self._i += 1
        self.x = pack(self._train.theta(self._problem, self._i))
        if beside is not None and not beside.precision_lost:
            beside.step = step
            radius = gradient_radius(here.state) * self._eps / EPS
            beside.follow(here.k, self.x, here.slope, radius, pack(here.other.plain.gradient))


def verify(train: RecordedRun, problem: AnyProblem, report: OnProgress = silent) -> Verified:
    """Every step that is there, as far as there are equilibria."""
    numbers, sizes, memory = train.numbers, train.sizes, Memory()
    eps = float(np.finfo(train.precision).eps)
    times = np.append(0.0, np.cumsum(sizes * np.diff(numbers)))
    next_to = np.flatnonzero(np.diff(numbers) == 1)
    rows = []
    for i in next_to.tolist():
        theta, after = train.theta(problem, i), train.theta(problem, i + 1)
        try:
            worst = _worst(problem.model.at(theta, memory), after, float(sizes[i]), eps)
        except NoEquilibrium:
            break
        rows.append((numbers[i + 1], times[i + 1], *worst))
        share = (i + 1) / len(sizes)
        report(Progress("steps compared", int(numbers[i + 1]), times[i + 1], share, np.nan))
    k, t, defect, tolerance = np.array(rows, dtype=float).reshape(-1, 4).T
    gaps = np.flatnonzero(np.diff(numbers) > 1)
    left_out = ""
    if len(gaps):
        first = gaps[0]
        left_out = (
            f"the run leaves out steps, first between k = {numbers[first]} and "
            f"k = {numbers[first + 1]}: whether it is gradient descent there cannot be looked at; "
            "record every step"
        )
    return Verified(k.astype(int), t, defect, tolerance, train.precision, left_out)


def _worst(state: State, after: Params, step: float, eps: float) -> tuple[float, float]:
    """|theta' - (theta - step g)| of the array in which it is largest beside its tolerance: what
    the step may lose in the precision of the arrays, and in ours when it is computed again."""
    found = []
    for name, g in state.objective.gradient.items():
        defect = norm((after[name] - (state.theta[name] - step * g)).ravel())
        radius = float(state.measure(f"gradient.{name}").error)
        size = norm(state.theta[name].ravel()) + step * norm(g.ravel())
        found.append((defect, (eps + EPS) * (size + step * radius / EPS)))
    # Where both are 0, an array of zeros stays one.
    return max(found, key=lambda pair: pair[0] / pair[1] if pair[0] else 0.0)


def _told(found: Verified) -> Iterable[str]:
    if found.precision == "float32":
        yield "the states are float32: each number is known to 6e-8 of its size"
    if found.left_out:
        yield found.left_out
    wrong = np.flatnonzero(found.defect > found.tolerance)
    if len(wrong):
        i = wrong[0]
        yield (
            f"not gradient descent: {len(wrong)} of {len(found.k)} steps differ from a gradient "
            f"step, first that to k = {found.k[i]}, by {found.defect[i]:.3g} where "
            f"{found.precision} allows {found.tolerance[i]:.3g}"
        )
