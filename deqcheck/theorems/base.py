"""The contract of every statement: hypotheses, quantities, conclusions, citation."""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Generic, TypeAlias

import numpy as np

from deqcheck.frozen import dataclass
from deqcheck.models.problem import M, Problem, S
from deqcheck.records.claim import Claim, Curve, granted
from deqcheck.records.formula import Formula, FormulaError
from deqcheck.records.measured import Measured, given
from deqcheck.records.trajectory import Trajectory
from deqcheck.records.words import CORRECTED, DESCENT, FLOW, PRINTED, STATIC
from deqcheck.theorems.along import ExactLeaves, with_step
from deqcheck.theorems.searched import Constant, Space, note_values

__all__ = [
    "ANY",
    "CORRECTED",
    "DESCENT",
    "FLOW",
    "PRINTED",
    "STATIC",
    "AnyStatement",
    "Check",
    "Cite",
    "Constant",
    "Search",
    "Space",
    "Statement",
]


@dataclass(frozen=True)
class Cite:
    paper: str
    number: str
    equations: str = ""

    def __str__(self) -> str:
        return ", ".join(part for part in (self.paper, self.number, self.equations) if part)


class Check:
    """A named and numbered formula of a statement; calling it with values makes a claim."""

    def __init__(
        self,
        name: str,
        formula: str,
        equation: str = "",
        decays: bool = False,
        contracts: bool = False,
        starts_equal: bool | None = None,
    ):
        """`decays`: a bound on gap/gap(0), whose rate is compared with that of the run.
        `contracts`: the right side is a factor below 1, and its distance from 1 counts.
        `starts_equal`: the two sides agree at the first step, which then says nothing; so they do
        where it decays, unless told otherwise."""
        if not isinstance(formula, str):
            raise FormulaError(f"check {name!r}: the formula is {formula!r}; expected text")
        self.name = name
        self.formula = Formula(formula)
        self.equation = equation
        try:
            self.formula.check()
        except (ValueError, TypeError) as error:
            raise self._blamed(error) from None
        self.decays = decays
        self.contracts = contracts
        self.starts_equal = decays if starts_equal is None else starts_equal

    def _blamed(self, error: Exception) -> FormulaError:
        return FormulaError(f"check {self.name!r}: {self.formula.text!r} {error}")

    def __call__(self, note: str = "", /, **values: Any) -> Claim:
        note_values(values)
        values, formula = with_step(values), self.formula
        try:
            left, right = formula.sides(values)
            if not (isinstance(left.value, float) and isinstance(right.value, float)):
                raise FormulaError("has a value for each step; use `along` or `sampled`")
        except (ValueError, TypeError) as error:
            raise self._blamed(error) from None
        if formula.rounding and not (math.isfinite(left.value) and math.isfinite(right.value)):
            # A deviation or its rounding that has overflown tells nothing.
            left = left.widened(math.inf)
        return Claim(
            name=self.name,
            left=left,
            relation=formula.relation,
            right=right,
            equation=self.equation,
            formula=formula.text,
            note=note,
            rounding=formula.rounding,
            leaves=values,
        )

    def right(self, values: Mapping[str, Any]) -> Measured:
        """The right side alone, such as the supremum of the steps in `step < ...`."""
        blind = dict.fromkeys(self.formula.names, 0.0)
        return self.formula.sides({**blind, **values})[1]

    def along(self, run: Trajectory, note: str = "", /, **values: Any) -> Curve:
        """The formula at every recorded step of a run; `k` and `t` are given by the run."""
        found = self.sampled(run.k, run.t, note, **values)
        exact = ExactLeaves.of(run, values)
        return found if exact is None else replace(found, points=lambda i: self._point(exact, i))

    def _point(self, exact: ExactLeaves, i: int) -> Claim | None:
        """The formula at one recorded step, of numbers that can be computed again."""
        values = exact.at(i)
        return None if values is None else replace(self(**values), moving=exact.moving)

    def sampled(self, k: np.ndarray, t: np.ndarray, note: str = "", /, **values: Any) -> Curve:
        """The formula at given steps."""
        try:
            sides = self.formula.sides({"k": k.astype(float), "t": t, **values})
        except (ValueError, TypeError) as error:
            raise self._blamed(error) from None
        left, right = (_spread(side, k.shape) for side in sides)
        return Curve(
            name=self.name,
            left=left,
            relation=self.formula.relation,
            right=right,
            k=k,
            t=t,
            equation=self.equation,
            formula=self.formula.text,
            note=note,
            decays=self.decays,
            contracts=self.contracts,
            starts_equal=self.starts_equal,
            rounding=self.formula.rounding,
            granted=granted(values),
        )


def _spread(side: Measured, shape: tuple[int, ...]) -> Measured:
    return Measured(np.broadcast_to(side.value, shape), np.broadcast_to(side.error, shape))


GRADIENT_FLOW = Check("gradient flow", "step == 0", "setting")
GRADIENT_DESCENT = Check("gradient descent", "step > 0", "setting")
# In what other dynamics may depart from the two, as their `departures` tell it.
DEPARTURES = (
    Check("gradient descent or flow", "described == 1", "setting"),
    Check("all samples in each step", "batch == samples", "setting"),
    Check("no momentum", "momentum == 0", "setting"),
    Check("gradients at the equilibrium", "tolerance == 0", "setting"),
    Check("a constant step", "largest_step == smallest_step", "setting"),
)
# Of a run that was made elsewhere.
GRADIENT_STEPS = Check("each step is a gradient step", "defect <= tolerance", "setting")


# In place of the models of a statement: it applies to every one.
ANY: tuple[str, ...] = ("any model",)


@dataclass(frozen=True)
class Search:
    """Arrays to be scaled together, and whether smaller or larger scales are easier."""

    name: str
    arrays: tuple[str, ...]
    smaller_is_easier: bool


class Statement(Generic[M, S]):
    """A theorem, lemma, proposition or corollary, judged in one edition."""

    id: ClassVar[str]
    title: ClassVar[str]
    cite: ClassVar[Cite]
    models: ClassVar[tuple[str, ...]]
    # The losses that it applies to; empty for any.
    losses: ClassVar[tuple[str, ...]] = ()
    # FLOW, DESCENT, or STATIC for what holds at any parameters.
    dynamics: ClassVar[tuple[str, ...]]
    # sound, typo, false (as printed), vacuous or unproven.
    soundness: ClassVar[str] = "sound"
    editions: ClassVar[tuple[str, ...]] = (CORRECTED,)
    # The editions in which it is a condition: met or not met, it claims nothing.
    condition_in: ClassVar[tuple[str, ...]] = ()
    # Names that it had before: they are still understood.
    aliases: ClassVar[tuple[str, ...]] = ()
    # "For every T such that ... on [0, T]": judged on the longest [0, T] on which the path
    # hypotheses hold.
    until_broken: ClassVar[bool] = False
    erratum: ClassVar[str] = ""
    # The ids of the statements that its proof rests on.
    uses: ClassVar[tuple[str, ...]] = ()
    # Free constants of the statement and what they mean; a `Constant` tells its domain, too.
    constants: ClassVar[Mapping[str, str]] = {}
    # Where `falsify` looks for counterexamples.
    space: ClassVar[Space] = Space()
    # Spectral quantities that the dynamics must record, and those of them whose infimum is needed.
    tracks: ClassVar[tuple[str, ...]] = ()
    infima: ClassVar[tuple[str, ...]] = ()
    # Scales that `bounds --init --search` may vary until the hypotheses hold.
    searches: ClassVar[tuple[Search, ...]] = ()

    @classmethod
    def paper(cls) -> str:
        """The work it is from, as its id names it."""
        return cls.id.partition("/")[0]

    @classmethod
    def incompatibility(cls, model: str, loss: str) -> str:
        """Why a case with this model and loss cannot be judged by it; empty if it can."""
        if cls.models is not ANY and model not in cls.models:
            return f"{cls.id} applies to {' and '.join(cls.models)}, the case's model is {model}"
        if cls.losses and loss not in cls.losses:
            losses = " and ".join(cls.losses)
            return f"{cls.id} applies to the loss {losses}, the case's loss is {loss}"
        return ""

    @classmethod
    def reason_skipped(cls, model: str, loss: str, dynamics: str) -> str:
        """Why it says nothing about such a case unless it is asked for; empty if it does. Without
        training the dynamics are static, and whatever applies to some dynamics applies."""
        if dynamics in (STATIC, *cls.dynamics) or STATIC in cls.dynamics:
            return cls.incompatibility(model, loss)
        spoken = " and ".join(cls.dynamics)
        other = f"{cls.id} applies to {spoken}, the case trains by {dynamics}"
        return cls.incompatibility(model, loss) or other

    @classmethod
    def judged_in(cls, wanted: Sequence[str]) -> Sequence[str]:
        """The editions asked for, or the only one that it has."""
        return [edition for edition in wanted if edition in cls.editions] or cls.editions

    def __init__(self, edition: str = CORRECTED, fixed: Mapping[str, float] | None = None):
        self.edition = edition
        self.fixed = dict(fixed or {})

    @property
    def printed(self) -> bool:
        return self.edition == PRINTED

    @property
    def is_condition(self) -> bool:
        return self.edition in self.condition_in

    def departures(self, p: Problem[M, S]) -> Iterable[Claim]:
        """Whether dynamics other than descent and flow are one of the two in this case."""
        if p.train is None or STATIC in self.dynamics:
            return
        known = p.train.departures(p)
        for check in DEPARTURES:
            if check.formula.names <= known.keys():
                yield check(**{name: known[name] for name in check.formula.names})

    def path_departures(self, run: Trajectory) -> Iterable[Curve]:
        """Whether a run that was made elsewhere is gradient descent."""
        made = run.verified
        if made is not None and len(made.k):
            sides = {"defect": made.defect, "tolerance": made.tolerance}
            yield GRADIENT_STEPS.sampled(made.k, made.t, f"in {made.precision}", **sides)

    def setting(self, p: Problem[M, S]) -> Iterable[Claim]:
        """The dynamics that the statement applies to; a flow is descent with step 0."""
        if p.train is not None and STATIC not in self.dynamics:
            if DESCENT not in self.dynamics:
                yield GRADIENT_FLOW(step=given(p.step))
            elif FLOW not in self.dynamics:
                yield GRADIENT_DESCENT(step=given(p.step))

    def constants_used(self, p: Problem[M, S]) -> Mapping[str, float]:
        """The values of the free constants that the claims use."""
        return self.fixed

    def faults(self) -> Iterable[str]:
        """Sentences about constants of the case that make no sense."""
        return ()

    def outside(self) -> Iterable[str]:
        """The faults of constants that are outside of what the statement means."""
        for name, value in self.fixed.items():
            meant = self.constants.get(name)
            if isinstance(meant, Constant) and not meant.domain.within(value):
                found = "not positive" if meant.domain.bounds == "> 0" else "out of range"
                expected = meant.domain.expected
                yield f"{self.id}: {name} = {value:g} is {found}; expected {expected}"

    def not_positive(self) -> Iterable[str]:
        """The fault of constants that must be positive and are not."""
        for name, value in self.fixed.items():
            if value <= 0:
                yield f"{self.id}: {name} = {value:g} is not positive; expected a number > 0"

    def unchecked(self, p: Problem[M, S]) -> Iterable[str]:
        """The parts of the statement that deqcheck cannot look at on this problem: why, and what
        would help. They are no failed hypotheses; without them nothing is confirmed."""
        return ()

    def notes(self, p: Problem[M, S]) -> Iterable[str]:
        """What else there is to say about the statement on this problem."""
        return ()

    def obstacle(self, p: Problem[M, S]) -> str:
        """Why no scale may make the hypotheses hold; empty where nothing is known."""
        return ""

    def hypotheses(self, p: Problem[M, S]) -> Iterable[Claim]:
        """What must hold before training. Where the equilibrium of the start is not certified, the
        claims that come before the first use of it are judged."""
        return ()

    def step_hypotheses(self, p: Problem[M, S]) -> Iterable[Claim]:
        """What must hold of the step size of gradient descent."""
        return ()

    def admissible_step(self, p: Problem[M, S]) -> Measured | None:
        """The supremum of the step sizes that the statement allows, if it restricts them."""
        return None

    def path_hypotheses(self, p: Problem[M, S], run: Trajectory) -> Iterable[Claim | Curve]:
        """What must hold along the run."""
        return ()

    def quantities(self, p: Problem[M, S]) -> Mapping[str, Measured]:
        """What the statement promises before training: rates, admissible steps, times."""
        return {}

    def guaranteed_rate(self, p: Problem[M, S]) -> Measured | None:
        """r with gap(t) <= gap(0) exp(-r t), where it is promised before training."""
        return self.quantities(p).get("rate")

    def conclusions(self, p: Problem[M, S], run: Trajectory) -> Iterable[Claim | Curve]:
        return ()

    def claims(self, p: Problem[M, S], state: S) -> Iterable[Claim | Curve]:
        """Pointwise conclusions of a static statement at one state of the model."""
        return ()

    def remarks(self, p: Problem[M, S], run: Trajectory | None) -> Iterable[Claim | Curve]:
        """What deqcheck adds and the paper does not say: it takes no part in the outcome."""
        return ()

    @classmethod
    def text(cls) -> str:
        """The docstring; a line break within a paragraph is the source's, not the reader's."""
        return re.sub(r"(?<=\S)\n(?=\S)", " ", inspect.cleandoc(cls.__doc__ or ""))

    @classmethod
    def bounds_the_loss(cls) -> bool:
        """Whether it is a convergence theorem: a bound on gap/gap(0) along a run."""
        return STATIC not in cls.dynamics and any(check.decays for check in cls.checks())

    @classmethod
    def checks(cls) -> list[Check]:
        """The formulas in the order of the class body."""
        return [v for c in reversed(cls.__mro__) for v in vars(c).values() if isinstance(v, Check)]


AnyStatement: TypeAlias = Statement[Any, Any]
