"""What Figures 2(c) and 3 share: a run of gradient descent between its bounds and the optimum."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

import numpy as np

from deqcheck.figures.base import Figure, Made, Setup, Work
from deqcheck.figures.runs import OnProgress, at, losses, problem, trained
from deqcheck.records.figure import Axes, Line, Sentence, sentence
from deqcheck.records.measured import Measured, exp, measured
from deqcheck.theorems.base import Check

GAMMA = 0.8
RUN = "descent"


class Bounded(Figure):
    """The loss, its two bounds at t = step k, and the optimum, on log-log axes."""

    columns = 1
    loss: ClassVar[Mapping[str, Any]]
    # What the paper says of the sharper bound.
    said: ClassVar[str]
    seed: ClassVar[int]

    sharper = Check("the bound with lambda_T is the lower one", "dependent_end <= independent_end")
    below = Check(
        "descent below the bound with lambda_T, at its tightest",
        "gap/gap_0 <= exp(-2*kappa*lambda_T*t)",
        "(7) at t = step k",
    )
    falls = Check("the loss falls to a thousandth of the gap", "gap_end <= gap_0/1000")

    def data(self, s: Setup) -> Mapping[str, Any]:
        raise NotImplementedError

    def parts(self, s: Setup) -> Mapping[str, Work]:
        def descent(progress: OnProgress) -> Made:
            model, init = {"kind": "delm", "gamma": GAMMA}, {"kind": "gaussian", "fan": "in"}
            p = problem(model, self.data(s), init, loss=self.loss, seed=self.seed)
            train = {"kind": "gd", "step": s["step"], "steps": s["steps"]}
            run = trained(p, train, progress, ("lambda_min_D",))
            # Printed: kappa of the loss where it is defined on the ball that the run stays in.
            kappa = p.model.outer.pl.kappa
            floor = p.start.lambda_independent
            infimum = run.series["lambda_min_D"].infimum_until(run.t)[-1]
            constants = [measured(each) for each in (kappa, floor, infimum)]
            made = losses(run)
            made["t"] = run.t
            made["constants"] = np.array([[c.value, c.error] for c in constants])
            return made

        return {RUN: descent}

    def bounds(self, run: Made) -> tuple[Measured, Measured]:
        """On gap/gap_0: with 1/(m (1 + gamma)^2), and with the infimum of lambda_min(D)."""
        kappa, floor, infimum = _constants(run)
        t = measured(run["t"])
        return exp(-2 * kappa * floor * t), exp(-2 * kappa * infimum * t)

    def axes(self, s: Setup, made: Mapping[str, Made]) -> Iterable[Axes]:
        run = made[RUN]
        k, best = run["k"], float(run["infimum"][0])
        independent, dependent = (best + b.value * run["gap"][0] for b in self.bounds(run))
        ends = np.array([1.0, k[-1]])
        lines = (
            Line("training trajectory", k, run["loss"]),
            Line("bound with 1/(m (1 + gamma)^2)", k, independent),
            Line("bound with inf lambda_min(D)", k, dependent),
            Line("optimal loss", ends, np.full(2, best), level=True),
        )
        yield Axes("", "iterations", "train loss", lines, log_x=True, log_y=True)

    def sentences(self, s: Setup, made: Mapping[str, Made]) -> Iterable[Sentence]:
        run = made[RUN]
        independent, dependent = self.bounds(run)
        kappa, _, infimum = _constants(run)
        gap, last = Measured(run["gap"], run["gap.error"]), len(run["k"]) - 1
        # Where both sides have digits: the nearest point of the two curves.
        known = np.flatnonzero((gap.value > 1e3 * gap.error) & (run["k"] > 0))
        ratio = (dependent.value / (gap.value / gap.value[0]))[known]
        nearest = int(known[np.argmin(ratio)])
        yield sentence(
            f"the bound with the lambda_T of the run is {self.said} than the one that holds for "
            "every start",
            [
                self.sharper(
                    f"at k = {run['k'][last]:g}",
                    dependent_end=dependent[last],
                    independent_end=independent[last],
                ),
                self.below(
                    f"at k = {run['k'][nearest]:g}",
                    gap=gap[nearest],
                    gap_0=gap[0],
                    kappa=kappa,
                    lambda_T=infimum,
                    t=measured(float(run["t"][nearest])),
                ),
            ],
            "the bounds are those of the flow, drawn at t = step k: the paper proves none of "
            "gradient descent",
        )
        yield sentence(
            "(ours) the run goes to the global minimum",
            [self.falls(gap_end=at(run, -1, "gap"), gap_0=at(run, 0, "gap"))],
            "it has arrived if at most a thousandth of the gap is left, our threshold",
        )


def _constants(run: Made) -> list[Measured]:
    """kappa, the floor of lambda_T, and lambda_T."""
    return [Measured(float(value), float(error)) for value, error in run["constants"]]
