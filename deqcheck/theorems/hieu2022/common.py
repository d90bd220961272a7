"""What the statements of the thesis share: the citation, norms at the start, curves of a run."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from deqcheck.records.claim import Claim, Curve
from deqcheck.records.measured import Measured, given
from deqcheck.records.trajectory import Trajectory
from deqcheck.theorems.base import Check, Cite
from deqcheck.theorems.hieu2022.setting import Problem, Statement

PAPER = "Hieu 2022"
# A makes the symmetric part of W, B the skew part.
WORDS = {"A": "symmetric", "B": "skew", "U": "inputs", "u": "outputs"}
PARAMETERS = tuple(WORDS)


def cite(number: str, equations: str = "") -> Cite:
    return Cite(PAPER, number, equations)


def at_start(p: Problem) -> dict[str, Any]:
    """lambda0 = sigma_min(Z(0)), r0 = |yhat(0) - y|, X = |X|_F, m, and the norms of A, U, u."""
    s = p.start
    return {
        "lambda0": s.sigma_min_Z,
        "r0": s.residual,
        "X": s.measure("X_fro"),
        "m": given(s.m),
        **{f"norm_{name}": s.measure(f"norm2.{name}") for name in ("A", "U", "u")},
    }


class MonotoneStatement(Statement):
    models = ("monotone-deq",)


class Independent(MonotoneStatement):
    """A statement that starts from independent features."""

    wide = Check("at least as wide as there are samples", "n >= N", "setting")
    independent = Check("independent features", "lambda0 > 0", "setting")

    def independence(self, p: Problem) -> Iterable[Claim]:
        s = p.start
        yield self.wide(n=s.n, N=s.N)
        yield self.independent(s.why_sigma_is_zero, lambda0=s.sigma_min_Z)


class Training(Independent):
    """A statement about a whole run: features that are independent stay so, and the loss falls."""

    tracks: ClassVar[tuple[str, ...]] = ("sigma_min_Z",)
    infima: ClassVar[tuple[str, ...]] = ("sigma_min_Z",)

    kept = Check("the features stay independent", "sigma >= lambda0/2", "proof")
    stays = Check("a zero loss stays zero", "gap <= gap_0", "setting")

    def features(self, p: Problem, run: Trajectory) -> Curve:
        sigma = run.series["sigma_min_Z"].infimum_until(run.t)
        return self.kept.along(run, sigma=sigma, lambda0=p.start.sigma_min_Z)

    def decay(self, check: Check, run: Trajectory, **values: Any) -> Curve:
        """gap/gap_0 against a bound; 0/0 says nothing, but 0 <= 0 does."""
        if run.gap.value[0] == 0:
            return self.stays.along(run, gap=run.gap, gap_0=run.gap[0])
        return check.along(run, gap=run.gap, gap_0=run.gap[0], **values)


def with_resolution(claim: Claim, resolution: float) -> Claim:
    """Sides whose ratio is so near to 1 are not told apart."""
    return replace(claim, left=claim.left.widened(resolution * np.abs(claim.left.value)))


def consecutive(p: Problem, run: Trajectory) -> dict[str, Measured]:
    """gap and gap_next for every step but the last."""
    gap, stepped = run.one_step
    return {"gap": gap, "gap_next": stepped}


def moved(run: Trajectory, name: str) -> tuple[np.ndarray, np.ndarray, Measured]:
    """Steps, times and |P - P(0)|_F."""
    series = run.distance[name]
    return series.k, series.t, series.value
