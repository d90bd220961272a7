"""Statements over seeds: exact intervals, processes, resumption, and that they can say no."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import mpmath as mp
import numpy as np
import pytest
from scipy.stats import binom

from deqcheck import trials
from deqcheck.api import read
from deqcheck.engines.here import Here
from deqcheck.judging import UsageError, judge
from deqcheck.models.problem import Problem
from deqcheck.records.comparison import Decision
from deqcheck.records.law import Law
from deqcheck.records.measured import Measured
from deqcheck.records.verdict import Outcome
from deqcheck.store import Store
from deqcheck.theorems.base import STATIC
from deqcheck.theorems.frequency import MISSED, Frequency, lower_end, upper_end
from deqcheck.theorems.ling2022.common import MODELS, cite
from deqcheck.theorems.ling2022.condition1 import Condition1
from deqcheck.theorems.ling2022.draws import draw
from deqcheck.theorems.ling2022.kernel import given_kernel
from deqcheck.theorems.ling2022.lem1 import Lemma1
from deqcheck.theorems.ling2022.thm2 import Theorem2
from deqcheck.theorems.ling2022.thm4 import Theorem4
from deqcheck.theorems.ling2022.thm5 import Theorem5
from deqcheck.trials import tally
from tests.theorems.breaking import broken
from tests.theorems.ling2022_problems import relu_deq


class Coin(Frequency):
    id, title, cite, models, dynamics = "test/coin", "", cite("none"), MODELS, (STATIC,)
    results: Any = ()
    claimed = 0.5

    def trial(self, p: Problem, seed: int) -> bool | None:
        return self.results[seed]

    def probability(self, p: Problem) -> Measured:
        return Measured(self.claimed)


def tossed(yes: int, no: int, open_: int = 0, claimed: float = 0.5) -> Outcome | None:
    class Tossed(Coin):
        pass

    Tossed.results = [True] * yes + [False] * no + [None] * open_
    Tossed.claimed = claimed
    fixed = {"seeds": yes + no + open_}
    return judge(Tossed, relu_deq(), constants=fixed).outcome


@pytest.mark.parametrize(("yes", "total"), [(0, 10), (3, 10), (10, 10), (70, 100), (1, 1)])
def test_the_interval_is_exact(yes: int, total: int) -> None:
    """At each end the data are just as improbable as allowed."""
    low, high = lower_end(yes, total), upper_end(yes, total)
    if yes < total:
        assert binom.cdf(yes, total, high) == pytest.approx(MISSED / 2, rel=1e-6)
    if yes:
        assert binom.sf(yes - 1, total, low) == pytest.approx(MISSED / 2, rel=1e-6)
    assert 0 <= low <= yes / total <= high <= 1


@pytest.mark.parametrize(
    ("yes", "no", "open_", "claimed", "outcome"),
    [
        (90, 10, 0, 0.5, Outcome.CONSISTENT),
        (50, 50, 0, 0.5, Outcome.CONSISTENT),
        (45, 55, 0, 0.5, Outcome.CONSISTENT),
        (20, 80, 0, 0.5, Outcome.INCONSISTENT),
        (99, 1, 0, 0.999999, Outcome.INCONSISTENT),
        (100, 0, 0, 0.999999, Outcome.CONSISTENT),
        (3, 0, 0, 0.5, Outcome.CONSISTENT),
        (100, 0, 0, -2.0, Outcome.CONSISTENT),
        (20, 40, 40, 0.5, Outcome.UNDECIDED),
        (10, 80, 10, 0.5, Outcome.INCONSISTENT),
        (60, 20, 20, 0.5, Outcome.CONSISTENT),
    ],
)
def test_outcomes(yes: int, no: int, open_: int, claimed: float, outcome: Outcome) -> None:
    assert tossed(yes, no, open_, claimed) is outcome


@pytest.fixture
def population() -> Problem:
    return relu_deq(40, 2, 5, 0.5, sphere=True, sigma_w2=0.02, seed=1, by_law=True)


@pytest.mark.parametrize(
    ("statement", "edition", "constants", "outcome"),
    [
        (Lemma1, "printed", {"c": 0.5, "seeds": 200}, Outcome.INCONSISTENT),
        (Lemma1, "corrected", {"seeds": 100}, Outcome.CONSISTENT),
        (Theorem2, "corrected", {"C": 0.01, "seeds": 60}, Outcome.CONSISTENT),
        (Theorem2, "corrected", {"C": 100, "seeds": 60}, Outcome.NOT_APPLICABLE),
        (Theorem5, "corrected", {"l": 1, "c": 0.5, "seeds": 60}, Outcome.CONSISTENT),
        (Theorem5, "corrected", {"l": 3, "c": 1, "seeds": 60}, Outcome.CONSISTENT),
        (Theorem4, "printed", {"seeds": 60}, Outcome.CONSISTENT),
        (Theorem4, "printed", {"C": 1e-3, "seeds": 60}, Outcome.INCONSISTENT),
        (Condition1, "printed", {"C": 0.01, "seeds": 40}, Outcome.INCONSISTENT),
    ],
)
def test_statements_about_probabilities(
    population: Problem, statement: type, edition: str, constants: dict, outcome: Outcome
) -> None:
    verdict = judge(statement, population, edition=edition, constants=constants)
    assert verdict.outcome is outcome


def test_too_small_an_excess_is_caught(population: Problem) -> None:
    """A tail bound that decays too fast in the excess is refuted by the seeds."""

    class TooFast(Lemma1):
        def probability(self, p: Problem) -> Measured:
            return 1 - (1 - super().probability(p)) ** 4000

    fixed = {"eps": 0.01, "seeds": 200}
    assert judge(Lemma1, population, constants=fixed).outcome is not Outcome.INCONSISTENT
    assert judge(TooFast, population, constants=fixed).outcome is Outcome.INCONSISTENT


def test_a_broken_eigenvalue_bound_is_caught(population: Problem) -> None:
    class TooHigh(Theorem2):
        def trial(self, p: Problem, seed: int) -> bool | None:
            star = given_kernel(p.model).lambda_star
            lambda_0 = p.model.at(draw(p, seed, self.id)).lambda_0
            return bool(lambda_0.value >= 1.2 * len(p.theta0["W"]) * star.value)

    fixed = {"C": 0.01, "seeds": 60}
    assert judge(TooHigh, population, constants=fixed).outcome is Outcome.INCONSISTENT


def test_a_claim_for_too_many_layers_is_caught(population: Problem) -> None:
    """At l = 3 and this width the event of Theorem 5 is rare."""
    fixed = {"l": 3, "c": 100, "seeds": 60}
    assert judge(Theorem5, population, constants=fixed).outcome is Outcome.INCONSISTENT


def test_the_check_itself_can_be_broken(population: Problem) -> None:
    wrong = broken(Theorem2, "agrees", "upper_end >=", "upper_end/2 >=")
    fixed = {"C": 0.01, "seeds": 60}
    assert judge(wrong, population, constants=fixed).outcome is Outcome.INCONSISTENT


def test_the_exceedance_of_lemma1_grows_towards_its_limit() -> None:
    """0.046 at m = 1 (exactly 2 (1 - Phi(2))), 0.10 at m = 10."""
    for m, expected, wide in ((1, 0.0455, 0.02), (10, 0.102, 0.03)):
        p = relu_deq(m, 1, 1, 0.5, sigma_w2=0.08)
        results = [Lemma1("printed").trial(p, seed) for seed in range(1500)]
        assert results.count(False) / 1500 == pytest.approx(expected, abs=wide)


def test_trials_depend_on_the_seed_alone(population: Problem) -> None:
    s = Lemma1("printed", {"seeds": 45})
    together = tally(s, population)
    assert together == [s.trial(population, seed) for seed in range(45)]
    assert len(set(together)) == 2


def test_processes_give_the_same_results(
    population: Problem, monkeypatch: pytest.MonkeyPatch
) -> None:
    s = Lemma1("printed", {"seeds": 3 * trials.BATCH})
    _ = population.start.Z
    here = tally(s, population)
    assert tally(s, population, engine=Here()) == here
    monkeypatch.setattr(trials, "WORTHWHILE", 0.0)
    monkeypatch.setattr(trials, "cores", lambda: 2)
    assert tally(s, population) == here


def named(p: Problem, seed: int = 0) -> Problem:
    """With a case behind it: only what can be told from other problems is kept."""
    return replace(p, origin=read("ling2022/narrow", seed=seed))


class Stopping(Lemma1):
    """Counts its trials, and may be stopped like a killed run."""

    calls = 0
    last = 10**9

    def trial(self, p: Problem, seed: int) -> bool | None:
        if Stopping.calls == Stopping.last:
            raise KeyboardInterrupt
        Stopping.calls += 1
        return super().trial(p, seed)


def test_a_stopped_run_goes_on_from_the_store(population: Problem, tmp_path: Path) -> None:
    fixed = {"seeds": 3 * trials.BATCH}
    s, store, first = Stopping("printed", fixed), Store(tmp_path), named(population)
    Stopping.calls, Stopping.last = 0, 2 * trials.BATCH + 3
    with pytest.raises(KeyboardInterrupt):
        tally(s, first, store)
    Stopping.calls, Stopping.last = 0, 10**9
    results = tally(s, first, store)
    assert Stopping.calls == trials.BATCH
    assert results == tally(Lemma1("printed", fixed), population)
    # A damaged entry is computed again, another case finds nothing, more seeds reuse the old ones.
    victim = next(tmp_path.rglob("*.json"))
    victim.write_text(victim.read_text().replace("true", "null", 1))
    Stopping.calls = 0
    assert tally(s, first, store) == results
    assert Stopping.calls == trials.BATCH
    Stopping.calls = 0
    tally(s, named(population, seed=1), store)
    assert Stopping.calls == 3 * trials.BATCH
    Stopping.calls = 0
    tally(Stopping("printed", {"seeds": 4 * trials.BATCH}), first, store)
    assert Stopping.calls == trials.BATCH


def test_results_of_another_deqcheck_are_not_taken_over(
    population: Problem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    s, store = Stopping("printed", {"seeds": trials.BATCH}), Store(tmp_path)
    Stopping.calls, Stopping.last = 0, 10**9
    tally(s, named(population), store)
    monkeypatch.setattr(trials, "source", lambda: "another")
    tally(s, named(population), store)
    assert Stopping.calls == 2 * trials.BATCH
    # Nor those of other constants or of the other edition.
    tally(Stopping("printed", {"seeds": trials.BATCH, "eps": 0.1}), named(population), store)
    tally(Stopping("corrected", {"seeds": trials.BATCH}), named(population), store)
    assert Stopping.calls == 4 * trials.BATCH


@pytest.mark.parametrize("yes", [0, 1, 17, 199])
def test_the_interval_in_forty_digits(yes: int) -> None:
    """P(X <= yes) at the upper end, as an incomplete beta integral."""
    with mp.workdps(40):
        end = mp.mpf(upper_end(yes, 200))
        tail = mp.betainc(200 - yes, yes + 1, 0, 1 - end, regularized=True)
        assert abs(tail / (mp.mpf(MISSED) / 2) - 1) < 1e-9


@pytest.mark.parametrize("seeds", [0, -1, 2.5, 1e9])
def test_a_senseless_number_of_seeds_is_refused(population: Problem, seeds: float) -> None:
    with pytest.raises(UsageError, match=r"seeds = .*; expected an integer from 1"):
        judge(Lemma1, population, constants={"seeds": seeds})


DRAWN = [(Lemma1, "corrected"), (Theorem2, "corrected"), (Theorem5, "corrected")]
DRAWN += [(Theorem4, "printed"), (Condition1, "printed"), (Lemma1, "printed")]


@pytest.mark.parametrize(("statement", "edition"), DRAWN)
def test_what_was_given_was_not_drawn(statement: type, edition: str) -> None:
    for sigma_w2 in (None, 0.02):
        verdict = judge(statement, relu_deq(sphere=True, sigma_w2=sigma_w2), edition=edition)
        assert verdict.outcome is Outcome.NOT_APPLICABLE
        failing = next(h for h in verdict.hypotheses if h.decision is Decision.VIOLATED)
        assert failing.note.startswith("W") and failing.note.endswith("not drawn from a normal law")


@pytest.mark.parametrize(("statement", "edition"), DRAWN)
def test_another_law_is_not_that_of_assumption_1(
    population: Problem, statement: type, edition: str
) -> None:
    for law in (Law("gaussian", 0.3), Law("half-normal", population.laws["W"].scale)):
        other = replace(population, laws={**population.laws, "W": law})
        assert judge(statement, other, edition=edition).outcome is Outcome.NOT_APPLICABLE


@pytest.mark.parametrize(("statement", "edition"), DRAWN)
def test_without_sigma_w2_nothing_is_drawn(statement: type, edition: str) -> None:
    verdict = judge(statement, relu_deq(sphere=True, by_law=True), edition=edition)
    assert verdict.outcome is Outcome.NOT_CHECKED
    assert "set model.sigma_w2" in verdict.unchecked[0]


@pytest.mark.parametrize(
    ("statement", "edition", "constants", "sentence"),
    [
        (Theorem2, "printed", {"C": 0}, "C = 0 is not positive"),
        (Theorem2, "corrected", {"t": 0}, "t = 0 is not positive"),
        (Theorem2, "corrected", {"t": 1}, "t = 1 is no probability of failure"),
        (Condition1, "printed", {"C": -1}, "C = -1 is not positive"),
        (Lemma1, "printed", {"c": 0}, "c = 0 is not positive"),
        (Lemma1, "corrected", {"eps": 0}, "eps = 0 is not positive"),
        (Theorem4, "printed", {"C": 0}, "C = 0 is not positive"),
        (Theorem4, "printed", {"l": 0}, "l = 0; expected an integer"),
        (Theorem5, "corrected", {"c": 0}, "c = 0 is not positive"),
        (Theorem5, "corrected", {"C": -1}, "C = -1 is negative"),
    ],
)
def test_constants_without_sense_are_refused(
    population: Problem, statement: type, edition: str, constants: dict, sentence: str
) -> None:
    with pytest.raises(UsageError, match=sentence):
        judge(statement, population, edition=edition, constants=constants)


def test_without_memory_the_norm_is_zero() -> None:
    """sigma_w = 0: ||W|| = 0 <= 0 in every draw, drawn or written down as zeros."""
    p = relu_deq(4, 2, 3, W=np.zeros((4, 4)), sigma_w2=0.0)
    for laws in ({}, {"W": Law("gaussian", 0.0)}):
        for edition in ("printed", "corrected"):
            verdict = judge(Lemma1, replace(p, laws=laws), edition=edition)
            assert verdict.outcome is Outcome.CONSISTENT
            assert "100 of 100 seeds" in verdict.conclusions[0].note


def test_the_interval_without_successes_is_finite() -> None:
    assert np.isfinite(upper_end(0, 5))
