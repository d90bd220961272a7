"""From which point of a run a theorem applies."""

from __future__ import annotations

import json
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import deqcheck as dq
from deqcheck.dynamics.recorder import STATE_NUMBERS, KeptStates
from deqcheck.explore import entry
from deqcheck.explore.entry import BETWEEN, NOTHING_LEFT, TIED, entries
from deqcheck.judging.verdicts import before_training
from deqcheck.records.comparison import Decision
from deqcheck.records.entry import trend
from deqcheck.report import renderer
from deqcheck.report.parts.render_options import RenderOptions
from deqcheck.theorems.base import ANY, DESCENT, FLOW

IMPLICIT = {
    "data": {"X": np.eye(2), "y": [1.0, -1.0]},
    "init": {"W": [[3.0, 1.0], [1.0, 3.0]], "A": np.full((2, 2), 0.5), "b": [0.0, 0.0]},
    "gamma": 0.01,
}
THEOREM = "gao2022/thm4.2"


@pytest.fixture(scope="module")
def flow() -> Any:
    return dq.problem("implicit-relu", **IMPLICIT, train={"kind": "flow", "horizon": 4.0})


@pytest.fixture(scope="module")
def report(flow: Any) -> dq.Report:
    return dq.run(replace(flow, record_points=30), only=[THEOREM])


def test_the_entry_is_the_first_point_of_a_dense_scan(flow: Any, report: dq.Report) -> None:
    """The slow twin: every recorded point is judged in full, one after the other."""
    verdict = report[THEOREM]
    assert verdict.outcome == "not applicable" and verdict.entry is not None
    run = dq.run(replace(flow, record_points=30, record_states=True), entry=False, only=[THEOREM])
    assert run.trajectory is not None
    applies = []
    statement = dq.statements()[THEOREM]()
    for i, theta in sorted(run.trajectory.states.items()):
        there = replace(flow, theta0=theta)
        if all(h.decision is Decision.HOLDS for h in before_training(statement, there)):
            applies.append(i)
    assert 0 < applies[0] == verdict.entry.k < len(run.trajectory.k) - 1
    assert verdict.entry.t == run.trajectory.t[applies[0]]
    assert verdict.entry.looked_at == applies[0]


def test_the_rest_of_the_run_is_judged_from_the_entry_on(flow: Any, report: dq.Report) -> None:
    entry = report[THEOREM].entry
    assert entry is not None and entry.verdict is not None and entry.t is not None
    assert entry.verdict.outcome == "confirmed"
    kept = dq.run(replace(flow, record_points=30, record_states=True), entry=False, only=[THEOREM])
    assert kept.trajectory is not None
    theta = kept.trajectory.states[entry.k]
    rest = replace(flow, theta0=dict(theta), record_points=30).trained_by(
        replace(flow.train, horizon=4.0 - entry.t)
    )
    assert dq.judge(THEOREM, rest).to_dict() == entry.verdict.to_dict()


def test_every_format_tells_it(report: dq.Report) -> None:
    entry = report[THEOREM].entry
    assert entry is not None
    sentence = f"applies from t = {entry.t:.4g} (loss "
    for width in (72, 80, 200):
        table = renderer("table")([report], RenderOptions(width=width)).splitlines()
        assert sum(sentence in line and "CONFIRMED from there" in line for line in table) == 1
    for form in ("html", "csv"):
        assert sentence in renderer(form)([report], RenderOptions())
    assert "applies from here" in renderer("html")([report], RenderOptions())
    quiet = renderer("table")([report], RenderOptions(quiet=True))
    assert quiet.startswith("NOT APPLICABLE gao2022/thm4.2") and sentence in quiet
    told = json.loads(renderer("json")([report], RenderOptions()))["reports"][0]["statements"][0]
    assert told["outcome"] == "not applicable"
    assert told["entry"]["k"] == entry.k and told["entry"]["outcome"] == "confirmed"
    assert {h["decision"] for h in told["entry"]["hypotheses"]} == {"holds"}
    # Nobody needs the states any more.
    assert report.trajectory is not None and not report.trajectory.states


def test_what_stays_broken_is_named_with_its_trend() -> None:
    """(19) does not shrink with the residual: for descent the ratio stays where it is."""
    train = {"kind": "gd", "step": 1e-3, "steps": 60}
    found = dq.entry("gao2022/thm4.4", dq.problem("implicit-relu", **IMPLICIT), train=train)
    assert found is not None and found.k is None and found.blocking is not None
    assert found.blocking.ratio is not None and found.blocking.ratio < 1
    assert found.trend is not None and found.trend.word in ("flat", "rising", "falling")
    assert found.looked_at == found.points == 60


class Shrinks(dq.Statement[Any, Any]):
    """Once the loss is below 0.02, it falls."""

    id = "mine/shrinks"
    title = "A small loss falls"
    cite = dq.Cite("Nobody 2026", "Lemma 1")
    models = ANY
    dynamics = (DESCENT, FLOW)
    small = dq.Check("a small loss", "loss <= 0.02")
    falls = dq.Check("it falls", "gap/gap_0 <= 1", decays=True)

    def hypotheses(self, p: Any) -> Any:
        yield self.small(loss=p.start.measure("loss"))

    def conclusions(self, p: Any, run: Any) -> Any:
        yield self.falls.along(run, gap=run.gap, gap_0=run.gap[0])


class Wrong(Shrinks):
    """Once the loss is below 0.02, it is gone."""

    id = "mine/wrong"
    falls = dq.Check("it is gone", "gap/gap_0 <= 0.5^(100*k)", decays=True)


DELM = {"data": {"Phi": [[1.0]], "Y": [[1.0]]}, "init": {"A": [[0.0]], "B": [[0.0]]}, "gamma": 0.5}


def test_descent_is_looked_at_between_recorded_steps() -> None:
    """2,000 steps of which 40 are recorded: the entry is that of a scan over all of them."""
    p = replace(dq.problem("delm", **DELM), record_points=40)
    train = {"kind": "gd", "step": 1e-3, "steps": 2000}
    found = dq.entry(Shrinks, p, train=train)
    assert found is not None and found.verdict is not None and found.k is not None
    run = dq.run(p, train=train, only=[Shrinks], entry=False).trajectory
    assert run is not None
    first = int(np.flatnonzero(run.loss.value <= 0.02)[0])
    assert found.k == first and found.verdict.outcome == "confirmed"
    assert 40 <= found.looked_at < 40 + 2 * BETWEEN


def test_a_refutation_from_the_entry_on_counts() -> None:
    p = dq.problem("delm", **DELM)
    report = dq.run(p, train={"kind": "gd", "step": 0.01, "steps": 400}, only=[Wrong])
    (verdict,) = report.verdicts
    assert verdict.outcome == "not applicable" and verdict.entry is not None
    assert verdict.entry.verdict is not None and verdict.entry.verdict.outcome == "refuted"
    assert ("refuted", None) in [tuple(pair) for pair in report.ending.outcomes]


def test_an_entry_at_the_end_leaves_nothing_to_judge() -> None:
    p = dq.problem("delm", **DELM)
    train = {"kind": "gd", "step": 0.01, "steps": 400}
    first = dq.entry(Shrinks, p, train=train)
    assert first is not None
    last = dq.entry(Shrinks, p, train=train | {"steps": first.k})
    assert last is not None and last.k == first.k and last.verdict is None
    assert last.reason == NOTHING_LEFT


def test_what_applies_at_the_start_has_no_entry() -> None:
    train = {"kind": "gd", "step": 0.01, "steps": 5}
    begun = dq.problem("delm", **DELM | {"init": {"A": [[0.0]], "B": [[0.49]]}})
    assert dq.entry(Shrinks, begun, train=train) is None
    report = dq.run(begun, train=train)
    assert all(v.entry is None for v in report if v.outcome != "not applicable")


def test_without_a_run_there_is_nothing_to_enter() -> None:
    with pytest.raises(dq.UsageError, match="give `train`"):
        dq.entry(Shrinks, dq.problem("delm", **DELM))


def test_a_run_without_states_says_so() -> None:
    p = dq.problem("delm", **DELM, train={"kind": "gd", "step": 0.01, "steps": 9})
    run = dq.run(p, only=[Shrinks], entry=False).trajectory
    assert run is not None
    (found,) = entries([Shrinks()], p, run)
    assert found.k is None and "kept no parameters" in found.reason


def test_trends() -> None:
    t = np.linspace(0, 10, 11)
    rising = trend(t.tolist(), (1e-6 * np.exp(t)).tolist())
    assert rising is not None and rising.word == "rising"
    # exp(t) = 1e6.
    assert rising.at == pytest.approx(6 * np.log(10), rel=1e-9)
    # Squares of the times are no floats.
    soon = trend((1e-250 * t).tolist(), (1e-6 * np.exp(t)).tolist())
    assert soon is not None and soon.at == pytest.approx(1e-250 * rising.at, rel=1e-9)
    flat = trend(t.tolist(), [0.04] * 11)
    assert flat is not None and (flat.word, flat.at) == ("flat", None)
    falling = trend(t.tolist(), np.exp(-t).tolist())
    assert falling is not None and (falling.word, falling.at) == ("falling", None)
    assert trend([0.0, 1.0], [0.1, 0.2]) is None
    assert trend(t.tolist(), [None] * 11) is None


def test_states_need_bounded_memory() -> None:
    kept, size = KeptStates(), STATE_NUMBERS // 8
    theta = {"A": np.zeros((1, size))}
    for i in range(40):
        kept.keep(i, theta)
    assert 0 in kept.kept and 4 <= len(kept.kept) <= 8
    assert np.ptp(np.diff(sorted(kept.kept))) == 0


def test_an_interruption_loses_nothing_that_was_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("deqcheck.explore.entry.with_entries", stopped)
    train = {"kind": "gd", "step": 0.01, "steps": 9}
    report = dq.run(dq.problem("delm", **DELM), train=train, only=[Shrinks])
    assert report.status.word == "interrupted" and report[0].outcome == "not applicable"
    assert "interrupted while looking" in report.notes[-1]


def test_a_run_that_was_made_elsewhere_is_not_made_again(tmp_path: Any) -> None:
    """Its steps are those of descent, but the rest of it is what it is."""
    p = dq.problem("delm", **DELM)
    A, B, states = np.zeros((1, 1)), np.zeros((1, 1)), []
    for _ in range(200):
        states.append((A, B))
        gradient = p.model.at({"A": A, "B": B}).objective.gradient
        A, B = A - 0.01 * gradient["A"], B - 0.01 * gradient["B"]
    file = tmp_path / "run.npz"
    steps = np.full(len(states) - 1, 0.01)
    np.savez(file, A=[a for a, _ in states], B=[b for _, b in states], step=steps)
    report = dq.run(p, train={"kind": "recorded", "path": str(file)}, only=[Shrinks])
    (verdict,) = report.verdicts
    assert verdict.outcome == "not applicable" and verdict.entry is not None
    assert not verdict.entry.found and "cannot be made again" in verdict.entry.reason


def test_the_end_of_a_descent_is_no_entry_where_its_step_is_too_long() -> None:
    """Nothing is left of the run there, but what is asked of the step is asked all the same."""
    case = {
        "deqcheck": 1,
        "seed": 3,
        "data": {"kind": "gaussian", "n": 2, "dim": 3, "target": {"kind": "gaussian"}},
        "model": {"kind": "opteq", "alpha": 0.3, "iterations": 3, "m": 6, "n": 6}
        | {"activation": {"kind": "mix", "k": 0.5}},
        "init": {"kind": "gaussian", "scale": 0.08},
        "train": {"kind": "gd", "step": 0.05, "steps": 200},
        "record": {"points": 8},
    }
    p = dq.read(case).problem()
    report = dq.run(p, only=["xie2021/thm5-repaired"])
    assert report.trajectory is not None
    s = dq.statements()["xie2021/thm5-repaired"]()
    there = before_training(s, replace(p, theta0=dict(report.trajectory.final)))
    assert [h.name for h in there if h.decision is not Decision.HOLDS] == ["step at most 1/Q1"]
    entry = report.verdicts[0].entry
    assert entry is not None and entry.k is None
    assert entry.blocking is not None and entry.blocking.name == "step at most 1/Q1"


def test_rests_that_do_not_apply_are_judged_three_times(
    flow: Any, report: dq.Report, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where a hypothesis along the run fails from every entry on."""
    asked = []
    monkeypatch.setattr(entry, "decide", lambda *_: asked.append(1) or report[THEOREM])
    found = dq.run(replace(flow, record_points=30), only=[THEOREM])[THEOREM].entry
    assert found is not None and found.verdict is None
    assert len(asked) == 3


def test_progress_is_the_share_of_kept_states_that_were_looked_at() -> None:
    """A hypothesis that never holds: all ten steps are looked at, one tenth of the way each."""
    p = dq.problem("delm", **DELM, train={"kind": "gd", "step": 1e-3, "steps": 10})
    run = dq.run(replace(p, record_states=True), only=[Shrinks], entry=False).trajectory
    assert run is not None
    told: list[Any] = []
    entries([Shrinks()], p, run, told.append)
    assert [each.k for each in told] == list(range(1, 11))
    assert [10 * each.fraction for each in told] == pytest.approx(list(range(10)), abs=1e-12)
    assert [each.gap for each in told] == [run.gap.value[k] for k in range(1, 11)]


@pytest.mark.parametrize(
    ("ratios", "chosen"),
    [
        ([0.5 * (1 + TIED / 2), 0.5], 0),
        ([0.5 * (1 + 3 * TIED), 0.5], 1),
        ([0.5, 0.5 * (1 - TIED / 2)], 0),
        ([0.5, 0.3, None], 2),
        ([0.5, None, None], 1),
    ],
)
def test_of_hypotheses_that_are_as_far_from_holding_the_first_is_told(
    ratios: list[float | None], chosen: int
) -> None:
    """Those without a ratio are the furthest; those that hold do not count."""
    broken = [SimpleNamespace(decision=Decision.VIOLATED, ratio=r) for r in ratios]
    checks: Any = [SimpleNamespace(decision=Decision.HOLDS, ratio=0.1), *broken]
    assert entry._furthest(checks) is broken[chosen]
