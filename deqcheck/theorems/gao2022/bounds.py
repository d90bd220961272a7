"""What Theorems 4.2 and 4.4 share: constants, norms that stay bounded, alpha0 that stays large."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import inf
from typing import Any, ClassVar

from deqcheck.records.claim import Claim, Curve
from deqcheck.records.comparison import Decision
from deqcheck.records.judged import Judged
from deqcheck.records.measured import Measured, given, measured
from deqcheck.records.trajectory import Trajectory
from deqcheck.theorems.base import CORRECTED, Check, Cite, Search
from deqcheck.theorems.gao2022 import constants
from deqcheck.theorems.gao2022.constants import (
    NAMES,
    Chosen,
    Program,
    at_start,
    with_constants,
)
from deqcheck.theorems.gao2022.setting import Problem, Statement

PAPER = "Gao and Gao 2022"
MODEL = "implicit-relu"
TRACKS = ("norm2.W", "norm2.A", "norm2.b", "sigma_min_Z")

# lambda0 = max{lambda1/C3, gamma u lambda1 lambda3/C2, lambda3/C1}, u = 1/(1 - gamma0), and
# c = 1 + (gamma lambda1 u)^2, as they stand in the conditions.
LAMBDA0 = "max(lambda1/C3, gamma*lambda1*lambda3/(C2*(1-gamma0)), lambda3/C1)"
C = "(1 + (gamma*lambda1/(1-gamma0))^2)"


def cite(number: str, equations: str = "") -> Cite:
    return Cite(PAPER, number, equations)


def worst(claims: Iterable[Claim]) -> list[Claim]:
    """Of several claims a violated one, else an undecided one, else that with the least room."""
    return sorted(claims, key=lambda claim: _rank(claim.judge()))[:1]


def _rank(judged: Judged) -> tuple[int, float]:
    order = (Decision.VIOLATED, Decision.UNDECIDED, Decision.HOLDS)
    return order.index(judged.decision), inf if judged.ratio is None else judged.ratio


class TrainedNetwork(Statement):
    """lambda1 = |W(0)| + C1, lambda2 = |A(0)| + C2, lambda3 = |b(0)| + C3, gamma0 = gamma lambda2,
    alpha0 the N-th singular value of Z(0) (0 if m < N), r0 = |yhat(0) - y|.
    """

    models = (MODEL,)
    constants = constants.MEANING
    searches: ClassVar[tuple[Search, ...]] = (
        Search("smallest scale of W", ("W",), smaller_is_easier=False),
        Search("largest scale of y", ("y",), smaller_is_easier=True),
    )

    def __init__(self, edition: str = CORRECTED, fixed: Mapping[str, float] | None = None):
        super().__init__(edition, fixed)
        self._last: tuple[Problem, Chosen] | None = None

    starts_well = Check("well-posed at the start", "gamma*norm_A < 1", "setting")
    well_posed = Check("well-posed while |A| <= lambda2", "gamma0 < 1", "setting")
    certifiable = Check("alpha0 can be certified", "alpha0 > 0", "setting")

    def constants_used(self, p: Problem) -> dict[str, float]:
        return dict(self.choice(p).C)

    def choice(self, p: Problem) -> Chosen:
        """Kept for the problem at hand: one search serves all claims."""
        if self._last is None or self._last[0] is not p:
            self._last = (p, self.choose(p, Program(p, self.fixed)))
        return self._last[1]

    def choose(self, p: Problem, program: Program) -> Chosen:
        return program.best(self.conditions())

    def conditions(self) -> Sequence[Check]:
        """What the constants must meet before training."""
        raise NotImplementedError

    def values(self, p: Problem) -> dict[str, Any]:
        """What the formulas name, as far as it is known before training."""
        chosen = {name: given(value) for name, value in self.choice(p).C.items()}
        return with_constants(at_start(p), chosen)

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        yield from self.posed(p)
        values = self.values(p)
        first, *others = self.conditions()
        yield first(self.ratio_note(p), **values)
        yield from (check(**values) for check in others)

    def posed(self, p: Problem) -> Iterable[Claim]:
        """The setting of the conditions."""
        # First what is known without an equilibrium.
        yield self.starts_well(gamma=given(p.model.gamma), norm_A=p.start.norm_A)
        # At r0 = 0 the conditions of Theorem 4.2 hold whatever alpha0 is.
        if p.start.residual.high > 0:
            yield self.certifiable(_certificate_note(p), alpha0=p.start.sigma_min_Z)
        yield self.well_posed(**self.values(p))

    def obstacle(self, p: Problem) -> str:
        return _certificate_note(p)

    def ratio_note(self, p: Problem) -> str:
        searched = [name for name in NAMES if name not in self.fixed]
        if not searched or p.start.sigma_min_Z.low <= 0:
            return ""
        best = self.choice(p)
        return (
            f"no {', '.join(searched)} leave a smaller worst right/left than {best.ratio:.6g}"
            f"{best.counted}"
        )

    def quantities(self, p: Problem) -> dict[str, Measured]:
        v = self.values(p)
        names = ("lambda1", "lambda2", "lambda3", "gamma0", "alpha0")
        return {
            **{name: v[name] for name in names},
            "worst_ratio": measured(self.choice(p).ratio, how="smallest over the free constants"),
        }


class StaysInside(TrainedNetwork):
    """(i) and (ii) of both theorems, and of the induction behind each."""

    tracks: ClassVar[tuple[str, ...]] = TRACKS
    infima: ClassVar[tuple[str, ...]] = ("sigma_min_Z",)

    bounded_w = Check("|W| stays bounded", "norm_W <= lambda1", "(i)")
    bounded_a = Check("|A| stays bounded", "norm_A <= lambda2", "(i)")
    bounded_b = Check("|b| stays bounded", "norm_b <= lambda3", "(i)")
    regular = Check("the features stay independent", "sigma_min_Z >= alpha0/2", "(ii)")

    def stays_close(self, p: Problem, run: Trajectory) -> Iterable[Claim | Curve]:
        v = self.values(p)
        for name, check, radius in (
            ("W", self.bounded_w, "lambda1"),
            ("A", self.bounded_a, "lambda2"),
            ("b", self.bounded_b, "lambda3"),
        ):
            s = run.series[f"norm2.{name}"]
            yield check.sampled(s.k, s.t, **{f"norm_{name}": s.value, radius: v[radius]})
        s = run.series["sigma_min_Z"]
        yield self.regular.sampled(s.k, s.t, sigma_min_Z=s.value, alpha0=v["alpha0"])


class StaysClose(StaysInside):
    """The conclusions that both theorems draw besides their rate."""

    optimal = Check("the loss stays zero (up to underflow)", "gap <= noise", "(iii)")
    rate: ClassVar[Check]

    def notes(self, p: Problem) -> Iterable[str]:
        if p.start.residual.high == 0:
            yield "the start is already optimal (r0 = 0): all that is claimed is that it stays so"

    def conclusions(self, p: Problem, run: Trajectory) -> Iterable[Claim | Curve]:
        yield from self.stays_close(p, run)
        if p.start.residual.high == 0:
            yield self.optimal.along(run, gap=run.gap, noise=1e-300)
            return
        known = {"alpha0": p.start.sigma_min_Z, "step": p.step}
        yield self.rate.along(run, gap=run.gap, gap_0=run.gap[0], **known)


def _certificate_note(p: Problem) -> str:
    alpha0 = p.start.sigma_min_Z
    if alpha0.low > 0:
        return ""
    if p.start.m < p.start.N:
        return f"not certifiable: {p.start.m} units for {p.start.N} samples, so alpha0 = 0"
    why = p.start.why_sigma_is_zero
    return (
        f"not certifiable: {why}"
        if why
        else (
            "not certifiable: alpha0 lies within its error bar of zero (parallel or zero samples, "
            "or too few units that are alive)"
        )
    )
