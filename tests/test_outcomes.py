"""What becomes of a statement: conditions, remarks, limits, runs until a hypothesis breaks, former
names, draws and orders."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import deqcheck as dq
from deqcheck import registry
from deqcheck.case.renamed import notices
from deqcheck.cli.exit_code import exit_code
from deqcheck.judging import states
from deqcheck.judging.doubts import NO_NUMBERS, NOT_EXACTLY, UNRESOLVED
from deqcheck.models.problem import NoEquilibrium
from deqcheck.records import tower
from deqcheck.records.comparison import NO_FORM
from deqcheck.records.measured import Measured
from deqcheck.records.report import Ending, Report
from deqcheck.records.verdict import Outcome, Status
from deqcheck.report.table import explain
from deqcheck.theorems.frequency import Frequency, probable
from deqcheck.theorems.orders import Order, fitted

DESCENT = {"kind": "gd", "step": 0.002, "steps": 200}


@pytest.fixture
def p() -> Any:
    r = np.random.default_rng(3)
    data = {"X": r.normal(size=(3, 4)), "y": r.normal(size=4)}
    init = {"W": 0.1 * r.normal(size=(6, 6)), "U": r.normal(size=(6, 3)), "a": r.normal(size=6)}
    return dq.problem("relu-deq", data=data, init=init)


class Base(dq.Statement[Any, Any]):
    """Any."""

    title, models, dynamics = "Any", dq.ANY, ("static",)
    cite = dq.Cite("Doe 2031", "Theorem 1")
    right = dq.Check("one is positive", "one > 0", "(1)")
    wrong = dq.Check("one is above two", "one > 2", "(2)")


class Rounded(Base):
    """False by so much, where rounding may make 1 of 0."""

    id = "doe2031/rounded"
    off, how = 0.0, ""
    vanishes = dq.Check("it vanishes", "off <= noise", "(3)")
    small = dq.Check("it is small", "off <= 2 + noise", "(4)")
    below = dq.Check("it is below", "off <= 0", "(5)")
    equals = dq.Check("it is", "off == 0", "(6)")
    asked = "vanishes"

    def claims(self, p: Any, state: Any) -> Iterable[Any]:
        if self.asked in ("vanishes", "small"):
            yield getattr(self, self.asked)(off=self.off, noise=1.0)
        else:
            yield getattr(self, self.asked)(off=Measured(self.off, 1.0, self.how))


# What stands above the bound by three digits, and above what rounding makes of both sides.
BARELY = {"vanishes": 1 + 1000.0, "small": 3 + 1000.0, "below": 1000.0, "equals": 1000.0}


@pytest.mark.parametrize("asked", BARELY)
def test_a_refutation_stands_above_rounding_by_three_digits(
    asked: str, p: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Rounded, "asked", asked)
    for share, outcome in ((1.001, "refuted"), (0.999, "undecided")):
        monkeypatch.setattr(Rounded, "off", share * BARELY[asked])
        verdict = dq.judge(Rounded, p)
        assert verdict.outcome == outcome
        told = [note for note in verdict.notes if note.startswith(UNRESOLVED)]
        assert len(told) == (outcome == "undecided")
        assert [c.decision for c in verdict.conclusions] == [
            "undecided" if outcome == "undecided" else "violated"
        ]


def test_bars_that_count_no_roundings_ask_for_no_digits_more(
    p: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of an infimum along a run, which is sampled, are no roundings."""
    monkeypatch.setattr(Rounded, "asked", "below")
    monkeypatch.setattr(Rounded, "off", 2.0)
    for how, outcome in (("sampled infimum", "refuted"), ("Weyl", "undecided")):
        monkeypatch.setattr(Rounded, "how", how)
        assert dq.judge(Rounded, p).outcome == outcome


def test_a_doubt_tells_whether_exact_numbers_were_asked(
    p: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Rounded, "off", 2.0)
    verdict = dq.judge(Rounded, p)
    assert verdict.notes[-1].endswith(NOT_EXACTLY)
    assert [c.undecided for c in verdict.conclusions] == [NO_FORM]
    monkeypatch.setattr(tower, "flint", lambda: None)
    assert dq.judge(Rounded, p).notes[-1].endswith(NO_NUMBERS)


class Stepwise(Base):
    """False at some of three steps, by so much; rounding may make 1 of 0 there."""

    id = "doe2031/stepwise"
    off = (0.0, 0.0, 0.0)
    vanishes = dq.Check("it vanishes", "off <= noise", "(3)")
    shrinks = dq.Check("it shrinks", "off <= noise", "(3)", starts_equal=True)
    asked = "vanishes"

    def claims(self, p: Any, state: Any) -> Iterable[Any]:
        k = np.arange(3)
        off, noise = Measured(np.array(self.off)), Measured(np.ones(3))
        yield getattr(self, self.asked).sampled(k, k.astype(float), off=off, noise=noise)


@pytest.mark.parametrize(
    ("asked", "off", "outcome"),
    [
        ("vanishes", (0.5, 1002.0, 3.0), "refuted"),
        ("vanishes", (0.5, 1000.0, 3.0), "undecided"),
        ("vanishes", (1002.0, 2.0, 3.0), "refuted"),
        ("shrinks", (1002.0, 2.0, 3.0), "undecided"),
        ("shrinks", (1002.0, 2.0, 1002.0), "refuted"),
        ("shrinks", (1002.0, 0.5, 0.5), "confirmed"),
    ],
)
def test_at_one_of_several_steps(
    asked: str, off: tuple[float, ...], outcome: str, p: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Stepwise, "asked", asked)
    monkeypatch.setattr(Stepwise, "off", off)
    assert dq.judge(Stepwise, p).outcome == outcome


class Near(Base):
    """1 <= 1 - 2^-50, where 1 is known up to a quarter of that."""

    id = "doe2031/near"
    least = dq.Check("it is no larger", "big <= small", "(7)")

    def claims(self, p: Any, state: Any) -> Iterable[Any]:
        one, less = 1.0, 1 - 2.0**-50
        yield self.least(
            big=Measured(one, 2.0**-52, "", tower.rational(one)),
            small=Measured(less, 0.0, "", tower.rational(less)),
        )


def test_exact_numbers_let_a_narrow_refutation_stand(p: Any) -> None:
    verdict = dq.judge(Near, p)
    assert verdict.outcome == "refuted"
    assert [c.basis.certified for c in verdict.conclusions] == [True]


class Remarked(Base):
    """True, with a false addition of ours."""

    id = "doe2031/remarked"

    def claims(self, p: Any, state: Any) -> Iterable[Any]:
        yield self.right(one=1.0)

    def remarks(self, p: Any, run: Any) -> Iterable[Any]:
        yield self.wrong(one=1.0)


def test_a_remark_takes_no_part_in_the_outcome(p: Any) -> None:
    verdict = dq.judge(Remarked, p)
    assert verdict.outcome == "confirmed" and [r.decision for r in verdict.remarks] == ["violated"]
    assert verdict.to_dict()["remarks"][0]["name"] == "one is above two"
    text = explain(verdict)
    assert "remarks of deqcheck, which decide nothing" in text
    page = Report({}, (verdict,)).html()
    assert "Remarks of deqcheck" in page


class Lost(Remarked):
    """A remark that cannot be made."""

    id = "doe2031/lost"

    def remarks(self, p: Any, run: Any) -> Iterable[Any]:
        yield self.right(one=1.0)
        raise NoEquilibrium("nowhere")


class Divides(Remarked):
    id = "doe2031/divides"

    def remarks(self, p: Any, run: Any) -> Iterable[Any]:
        yield self.right(one=1.0 / len(p.theta0["a"][:0]))


def test_a_remark_that_cannot_be_made_is_left_out(p: Any) -> None:
    lost, divides = dq.judge(Lost, p), dq.judge(Divides, p)
    assert lost.outcome == divides.outcome == "confirmed"
    assert (len(lost.remarks), len(divides.remarks)) == (1, 0)


class Limited(Remarked):
    """A part of it is beyond the limits."""

    id = "doe2031/limited"

    def unchecked(self, p: Any) -> Iterable[str]:
        yield "the second sentence needs 10 samples: take more"


class Failing(Limited):
    id = "doe2031/failing"

    def hypotheses(self, p: Any) -> Iterable[Any]:
        yield self.wrong(one=1.0)


class Refuted(Limited):
    id = "doe2031/refuted"

    def claims(self, p: Any, state: Any) -> Iterable[Any]:
        yield self.wrong(one=1.0)


class Silent(Base):
    id = "doe2031/silent"


def test_limits_of_the_program_are_no_failed_hypotheses(p: Any) -> None:
    verdict = dq.judge(Limited, p)
    assert verdict.outcome == "not checked"
    assert verdict.to_dict()["unchecked"] == ["the second sentence needs 10 samples: take more"]
    assert "not checked: the second sentence needs 10 samples" in " ".join(explain(verdict).split())
    assert dq.judge(Failing, p).outcome == "not applicable"
    assert dq.judge(Refuted, p).outcome == "refuted"
    silent = dq.judge(Silent, p)
    assert silent.outcome == "not checked" and len(silent.unchecked) == 1


def test_a_failed_hypothesis_says_what_is_needed_and_what_is_there(p: Any) -> None:
    text = " ".join(explain(dq.judge(Failing, p)).split())
    assert "because one is above two fails: needs one > 2; here 1 and 2 (ratio 0.5)" in text


class Condition(Base):
    """A condition."""

    id = "doe2031/condition"
    condition_in = ("corrected",)
    aliases = ("doe2031/cond",)

    def claims(self, p: Any, state: Any) -> Iterable[Any]:
        yield self.right(one=1.0)


class Missed(Condition):
    id = "doe2031/missed"
    aliases = ()

    def hypotheses(self, p: Any) -> Iterable[Any]:
        yield self.wrong(one=1.0)


def test_a_condition_is_met_or_not_met(p: Any) -> None:
    before = dq.bounds(p, only=[Condition, Missed, Remarked])
    assert [v.word for v in before] == ["met", "not met", "hypotheses hold"]
    assert dq.judge(Condition, p).outcome == "met"
    assert dq.judge(Missed, p).outcome == "not met"
    assert dq.check(Condition, p)
    with pytest.raises(AssertionError):
        dq.check(Missed, p)


@pytest.mark.parametrize(
    ("outcome", "expected", "code"),
    [
        (Outcome.MET, None, 0),
        (Outcome.NOT_MET, None, 0),
        (Outcome.NOT_CHECKED, None, 3),
        (Outcome.NOT_CHECKED, "not checked", 0),
        (Outcome.NOT_MET, "met", 1),
        (Outcome.INCONSISTENT, None, 1),
    ],
)
def test_exit_codes(outcome: Outcome, expected: str | None, code: int) -> None:
    assert exit_code([Ending(Status.COMPLETED, None, ((outcome, expected),))]) == code


@pytest.fixture
def known() -> Iterator[None]:
    registry.add([Condition])
    yield
    registry.remove([Condition])


SMALL: dict[str, Any] = {
    "deqcheck": 1,
    "data": {"kind": "gaussian", "n": 4, "dim": 2, "target": {"kind": "negated-input"}},
    "model": {"kind": "delm", "gamma": 0.5},
    "init": {"kind": "gaussian", "scale": 0.3},
}


@pytest.mark.usefixtures("known")
def test_former_names_and_words_are_understood_and_told() -> None:
    old = {**SMALL, "theorems": ["doe2031/cond"], "expect": {"doe2031/cond": "confirmed"}}
    case = dq.read({key: value for key, value in old.items() if key != "deqcheck"})
    report = dq.run(case)
    verdict = report["doe2031/condition"]
    assert (verdict.outcome, verdict.expected, verdict.met) == ("met", "met", True)
    assert report.notes[:2] == (
        "doe2031/cond is now doe2031/condition",
        "expect.doe2031/condition: a condition is met or not met: 'confirmed' is read as 'met'",
    )
    assert notices(SMALL) == ()
    again = dq.run(
        dq.read({k: v for k, v in SMALL.items() if k != "deqcheck"}), only=["doe2031/cond"]
    )
    assert again.notes[0] == "doe2031/cond is now doe2031/condition"
    assert dq.judge("doe2031/cond", case).id == "doe2031/condition"


def test_an_edition_that_is_not_there_is_told(p: Any) -> None:
    report = dq.run(p, only=[Remarked], edition="printed")
    assert report.notes[0] == "doe2031/remarked has no printed edition: judged is corrected"


class UntilBroken(Base):
    """For every T such that W stays small on [0, T] the loss falls."""

    id, dynamics = "doe2031/until", ("gd",)
    until_broken = True
    small = dq.Check("the loss stays above a quarter", "gap >= gap_0/4", "(1)")
    falls = dq.Check("the loss is above an eighth", "gap >= gap_0/8", "(2)")

    def path_hypotheses(self, p: Any, run: Any) -> Iterable[Any]:
        yield self.small.along(run, gap=run.gap, gap_0=run.gap[0])

    def conclusions(self, p: Any, run: Any) -> Iterable[Any]:
        yield self.falls.along(run, gap=run.gap, gap_0=run.gap[0])


class ToTheEnd(UntilBroken):
    id = "doe2031/to-the-end"
    until_broken = False


def test_a_run_is_judged_until_its_hypothesis_breaks(p: Any) -> None:
    run = dq.run(p, train=DESCENT, only=[UntilBroken])
    gap = run.trajectory.gap.value  # type: ignore[union-attr]
    last = int(np.flatnonzero(gap >= gap[0] / 4)[-1])
    assert 1 < last < 200 and gap[-1] < gap[0] / 8
    verdict = run[0]
    assert verdict.outcome == "confirmed"
    assert verdict.conclusions[0].curve.last == last  # type: ignore[union-attr]
    assert verdict.notes[-1] == (
        f"judged until k = {last}, the last point at which the loss stays above a quarter is known "
        "to hold"
    )
    assert dq.judge(ToTheEnd, p, train=DESCENT).outcome == "not applicable"
    # What comes after that need not be known; what comes before it must.
    stopped = replace(run.trajectory, status=Status.INTERRUPTED)  # type: ignore[type-var]
    assert dq.judge(UntilBroken, p, stopped).outcome == "confirmed"
    assert dq.judge(UntilBroken, p, stopped.until(5)).outcome == "undecided"  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("at", "gravest"),
    [
        (("confirmed", "undecided", "refuted"), "refuted"),
        (("not applicable", "confirmed", "undecided"), "undecided"),
        (("not checked", "not applicable", "confirmed"), "confirmed"),
        (("not applicable", "not checked", "not checked"), "not checked"),
    ],
)
def test_of_many_states_the_gravest_outcome_counts(
    p: Any, at: tuple[str, ...], gravest: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = dq.judge(Remarked, p)
    start, *others = (replace(one, outcome=Outcome(word)) for word in at)
    pairs = zip((7, 9), others, strict=True)
    monkeypatch.setattr(states, "_states", lambda p: pairs)
    found = states.over_states(start, p, lambda there: there)  # type: ignore[arg-type,return-value]
    assert found.outcome == gravest
    k = (0, 7, 9)[at.index(gravest)]
    assert found.notes[-1].startswith("judged at 3 states, 0 <= k <= 9: ")
    assert found.notes[-1].endswith(f"shown is k = {k}" if k else "at 1")


def test_only_steps_that_were_looked_at_are_counted(p: Any) -> None:
    def told(points: list[int]) -> str:
        k = np.array(points)
        ones = Measured(np.ones(len(k)))
        curve = Base.right.sampled(k, k * 0.1, one=ones).judge()
        from deqcheck.report.parts.render_options import RenderOptions
        from deqcheck.report.parts.sentences import Clock, tell

        return tell(curve, Clock(False), RenderOptions())

    assert told([0, 1, 2, 3]).startswith("holds for 0 <= k <= 3 of 3")
    assert told([0, 1, 10]).startswith("holds at 3 points, 0 <= k <= 10 of 10")


@pytest.mark.parametrize(
    ("claimed", "low", "high"),
    [
        (Measured(1.0, 2e-16), 1 - 4e-16, 1.0),
        (Measured(-3.7, 0.1), 0.0, 0.0),
        (Measured(0.3, 0.1), 0.2, 0.4),
        (Measured(0.95, 0.2), 0.75, 1.0),
    ],
)
def test_a_probability_is_cut(claimed: Measured, low: float, high: float) -> None:
    cut = probable(claimed)
    assert cut.high == pytest.approx(high, abs=1e-15) and cut.high <= 1
    assert cut.low == pytest.approx(low, abs=1e-15) and cut.low >= 0


class Coin(Frequency[Any, Any]):
    """Heads, with at least the claimed probability."""

    id, title, models, dynamics = "doe2031/coin", "Coin", dq.ANY, ("static",)
    cite = dq.Cite("Doe 2031", "Theorem 2")
    claimed: Measured = Measured(1.0, 2e-16)

    def trial(self, p: Any, seed: int) -> bool:
        return seed % 2 == 0 if self.claimed.value < 1 else True

    def probability(self, p: Any) -> Measured:
        return self.claimed


@pytest.mark.parametrize(
    ("claimed", "outcome", "note"),
    [
        (Measured(1.0, 2e-16), "consistent", "100 of 100"),
        (Measured(-3.7), "consistent", "true of anything"),
        (Measured(0.01), "consistent", "no failures could exclude it"),
        (Measured(0.9), "inconsistent", "50 of 100"),
    ],
)
def test_frequencies_have_an_answer(p: Any, claimed: Measured, outcome: str, note: str) -> None:
    one = type("One", (Coin,), {"claimed": claimed, "__doc__": Coin.__doc__})
    verdict = dq.judge(one, p)
    assert verdict.outcome == outcome and note in verdict.conclusions[0].note


class Grows(Order[Any, Any]):
    """The value is O(m)."""

    id, title, models, dynamics = "doe2031/grows", "Growth", dq.ANY, ("static",)
    cite = dq.Cite("Doe 2031", "Section 5")
    power = 1.0

    def exponent(self, p: Any) -> float:
        return 1.0

    def base_size(self, p: Any) -> int:
        return 10

    def value(self, p: Any, size: int, seed: int) -> float:
        noise = np.random.default_rng(seed).normal()
        return float(size**self.power * np.exp(0.1 * noise) + 1)


@pytest.mark.parametrize(
    ("power", "upper", "outcome"),
    [
        (0.5, True, "consistent"),
        (1.0, True, "consistent"),
        (1.5, True, "inconsistent"),
        (0.5, False, "inconsistent"),
        (1.5, False, "consistent"),
    ],
)
def test_an_order_is_fitted_over_sizes(p: Any, power: float, upper: bool, outcome: str) -> None:
    one = type("One", (Grows,), {"power": power, "upper": upper, "__doc__": Grows.__doc__})
    verdict = dq.judge(one, p)
    assert verdict.outcome == outcome
    assert "sizes 10, 20, 40, 80" in verdict.conclusions[0].note


def test_an_order_of_zeros_is_left_open(p: Any) -> None:
    class Nothing(Grows):
        """The value is O(m)."""

        def value(self, p: Any, size: int, seed: int) -> float:
            return 0.0

    verdict = dq.judge(Nothing, p)
    assert verdict.outcome == "undecided" and "positive" in verdict.conclusions[0].note


def test_the_interval_of_an_exponent_holds_it() -> None:
    r = np.random.default_rng(0)
    sizes = np.repeat([10, 20, 40, 80], 25)
    missed = 0
    for _ in range(300):
        fit = fitted(sizes, sizes**0.7 * np.exp(0.2 * r.normal(size=100)))
        missed += not abs(fit.exponent - 0.7) <= fit.radius
    assert missed == 0
    # Without noise and drift the exponent is what it is.
    assert fitted(sizes, 3.0 * sizes**2.0).exponent == pytest.approx(2, abs=1e-12)
