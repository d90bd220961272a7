"""Hand-made reports: an exponential decay, its bounds, and a lemma that does not apply."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from deqcheck.dynamics.flow import GradientFlow
from deqcheck.dynamics.gd import GradientDescent
from deqcheck.records.claim import Claim, Curve
from deqcheck.records.measured import Measured
from deqcheck.records.report import Report
from deqcheck.records.series import Series
from deqcheck.records.trajectory import Trajectory
from deqcheck.records.verdict import Outcome, Verdict

STEP = 0.1
TRAIN = {"gd": GradientDescent(step=STEP, steps=50), "flow": GradientFlow(horizon=5.0)}


def decay(rate: float, steps: int, error: float = 1e-12) -> tuple[np.ndarray, np.ndarray, Measured]:
    k = np.arange(steps + 1)
    t = STEP * k
    value = 3 * np.exp(-rate * t)
    return k, t, Measured(value, np.full(steps + 1, error))


def confirmed(steps: int = 50, edition: str = "corrected", **more: Any) -> Verdict:
    """The gap falls like exp(-2t), the bound like exp(-t)."""
    k, t, gap = decay(2, steps)
    bound = Measured(3 * np.exp(-t))
    flags = {"decays": True, "starts_equal": True}
    curve = Curve("exponential", gap, "<=", bound, k, t, "(7)", "gap <= 3*exp(-t)", **flags)
    return Verdict(
        id="doe2031/thm2",
        title="Linear rate",
        edition=edition,
        outcome=Outcome.CONFIRMED,
        hypotheses=(Claim("contraction", Measured(0.5, 1e-15), "<", Measured(1), "(8)").judge(),),
        conclusions=(curve.judge(),),
        **more,
    )


def refuted(steps: int = 50) -> Verdict:
    k, t, gap = decay(2, steps)
    bound = Measured(3 * np.exp(-4 * t))
    curve = Curve("too fast", gap, "<=", bound, k, t, "(9)", "gap <= 3*exp(-4*t)")
    return Verdict(
        id="doe2031/thm3",
        title="A rate that is not there",
        edition="printed",
        outcome=Outcome.REFUTED,
        hypotheses=(),
        conclusions=(curve.judge(),),
        erratum="The rate is off by two.",
    )


def not_applicable() -> Verdict:
    return Verdict(
        id="doe2031/lem1",
        title="A lemma",
        edition="corrected",
        outcome=Outcome.NOT_APPLICABLE,
        hypotheses=(
            Claim("full rank", Measured(5), ">=", Measured(3)).judge(),
            Claim("small step", Measured(0.4), "<", Measured(0.1), "(3)").judge(),
        ),
        conclusions=(Claim("positive", Measured(1), ">", Measured(0)).judge(),),
        expected="confirmed",
    )


class Written(NamedTuple):
    digest: str
    resolved: Mapping[str, Any]


def report(*verdicts: Verdict, steps: int = 50, kind: str = "gd", **more: Any) -> Report:
    k, t, gap = decay(2, steps)
    return Report(
        title="A decay",
        name="decay.yaml",
        written=Written("abc", {"train": {"kind": kind}}),
        environment={"python": "3"},
        quantities={
            "loss": Measured(3.0, 1e-12),
            "m": Measured(5.0),
            "radius": Measured(np.inf),
            "unknown": Measured(1.0, np.inf),
        },
        verdicts=verdicts,
        trajectory=Trajectory(
            k,
            t,
            gap,
            gap.error,
            np.zeros(len(k)),
            np.sqrt(gap.value),
            series={"lambda": Series(k, t, gap)},
            distance={},
            final={},
            infimum=Measured(1.0),
            train=TRAIN[kind],
        ),
        replay="deqcheck run decay.yaml",
        **more,
    )


def before_training() -> Report:
    verdict = Verdict(
        id="doe2031/thm2",
        title="Linear rate",
        edition="corrected",
        outcome=None,
        hypotheses=(Claim("contraction", Measured(0.5), "<", Measured(1), "(8)").judge(),),
        quantities={"rate": Measured(1.0, 1e-15)},
    )
    return Report({"loss": Measured(3.0)}, (verdict,), "A decay", "decay.yaml", Written("abc", {}))
