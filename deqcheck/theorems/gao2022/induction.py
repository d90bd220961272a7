"""The inductions behind Theorems 4.2 and 4.4: from (i)-(iii) until now to bounds on the gradients
and on how far the parameters and the features have come."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from deqcheck.linalg import errors
from deqcheck.records.claim import Claim, Curve
from deqcheck.records.comparison import Decision
from deqcheck.records.trajectory import Trajectory
from deqcheck.theorems.base import Check
from deqcheck.theorems.gao2022.bounds import TRACKS, C, StaysInside
from deqcheck.theorems.gao2022.setting import Problem

# Factors of |X|_F |yhat - y| in the bounds on the three gradients, and of |X|_F^2 |yhat - y| in
# that on the speed of Z, which is |dZ/dA|^2 + |dZ/dW|^2 times |b|.
SLOPE = {
    "b": "lambda1/(1-gamma0)",
    "W": "lambda3/(1-gamma0)",
    "A": "gamma*lambda1*lambda3/(1-gamma0)^2",
}
SPEED = f"{C}*lambda3/(1-gamma0)^2"
ROOM = {"b": "C3", "W": "C1", "A": "C2"}
PARAMETERS = tuple(SLOPE)
GRADIENTS = tuple(f"gradient.{name}" for name in PARAMETERS)


def slope(name: str, equation: str, size: str = "residual") -> Check:
    """The gradient by the residual of now, or by what (iii) leaves of the first one."""
    when = "" if size == "residual" else " by (iii)"
    right = f"{SLOPE[name]}*X_fro*{size}"
    return Check(f"dL/d{name} is bounded{when}", f"gradient_{name} <= {right}", equation)


def drift(name: str, factor: int, equation: str, X: str = "X_fro") -> Check:
    """The bound on the gradient, summed over all time: 4/alpha0^2 along a flow, and along descent
    step/(1 - sqrt(1 - step alpha0^2/4)) <= 8/alpha0^2."""
    right = f"{factor}*{SLOPE[name]}*{X}*r0/alpha0^2"
    return Check(f"{name} stays near its start", f"moved_{name} <= {right}", equation)


def room(name: str, factor: int, equation: str) -> Check:
    left = f"{factor}*{SLOPE[name]}*X_fro*r0/alpha0^2"
    return Check(f"no further than {ROOM[name]}", f"{left} <= {ROOM[name]}", equation)


def drift_of_Z(factor: int, X: str = "X_fro") -> str:
    return f"{factor}*{SPEED}*{X}^2*r0/alpha0^2"


class Induction(StaysInside):
    """What the proof draws from (i)-(iii), judged as long as these hold."""

    until_broken = True
    searches = ()
    tracks: ClassVar[tuple[str, ...]] = (*TRACKS, "Phi_fro", "residual", *GRADIENTS)
    infima = ()
    # (iii), and that nothing is claimed of a start that is optimal already.
    so_far: ClassVar[Check]

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        return self.posed(p)

    def path_hypotheses(self, p: Problem, run: Trajectory) -> Iterable[Claim | Curve]:
        yield from self.stays_close(p, run)
        if p.start.residual.high > 0:
            values = {"gap": run.gap, "gap_0": run.gap[0], "step": p.step}
            yield self.so_far.along(run, alpha0=p.start.sigma_min_Z, **values)

    def values(self, p: Problem) -> dict[str, Any]:
        return {**super().values(p), "X_norm": errors.norm2(p.model.X), "step": p.step}

    def on(self, check: Check, run: Trajectory, names: Mapping[str, str], known: Any) -> Curve:
        """A check along tracked quantities, by their names in its formula."""
        series = {left: run.series[name] for left, name in names.items()}
        first = next(iter(series.values()))
        values = {**known, **{left: each.value for left, each in series.items()}}
        return check.sampled(first.k, first.t, **values)

    def slopes(
        self, run: Trajectory, known: Any, now: Mapping[str, Check], later: Mapping[str, Check]
    ) -> Iterable[Curve]:
        for name in PARAMETERS:
            left = {f"gradient_{name}": f"gradient.{name}"}
            yield self.on(now[name], run, {**left, "residual": "residual"}, known)
            yield self.on(later[name], run, left, known)

    def drifts(self, run: Trajectory, known: Any, checks: Mapping[str, Check]) -> Iterable[Curve]:
        for name, check in checks.items():
            moved = run.distance[name]
            yield check.sampled(moved.k, moved.t, **{f"moved_{name}": moved.value}, **known)

    def rooms(self, known: Any, checks: Iterable[Check]) -> Iterable[Claim]:
        """What the conditions of the theorem turn the drifts into, where these hold."""
        conditions = (check(**known) for check in self.conditions())
        if all(claim.judge().decision is Decision.HOLDS for claim in conditions):
            yield from (check(**known) for check in checks)

    def notes(self, p: Problem) -> Iterable[str]:
        if p.start.residual.high == 0:
            yield "the start is already optimal (r0 = 0): nothing moves"
