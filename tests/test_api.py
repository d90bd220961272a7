"""The public API: what it exports, what it returns, and what it refuses."""

from __future__ import annotations

import builtins
import json
import subprocess
import sys
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from jsonschema import Draft202012Validator

import deqcheck as dq
from deqcheck.records.verdict import Outcome

SCHEMA = json.loads((files("deqcheck") / "report/schema/deqcheck-report-2.json").read_text("utf-8"))
FIXED = (
    "run run_all bounds judge check problem read statements Case Statement Check Cite Measured "
    "Report Verdict CaseError UsageError"
)
DESCENT = {"kind": "gd", "step": 1e-3, "steps": 20}
SMALL = {
    "data": {"kind": "gaussian", "n": 6, "dim": 2, "target": {"kind": "negated-input"}},
    "model": {"kind": "delm", "gamma": 0.5},
    "init": {"kind": "gaussian", "scale": 0.3},
}


def arrays(seed: int = 0, m: int = 6) -> dict[str, dict[str, np.ndarray]]:
    r = np.random.default_rng(seed)
    data = {"X": r.normal(size=(3, 4)), "y": r.normal(size=4)}
    W = r.normal(size=(m, m))
    init = {"W": W / np.linalg.norm(W, 2) / 3, "U": r.normal(size=(m, 3)), "a": r.normal(size=m)}
    return {"data": data, "init": init}


@pytest.fixture
def p() -> Any:
    return dq.problem("relu-deq", **arrays())


def test_the_agreed_names_are_exported() -> None:
    assert set(FIXED.split()) <= set(dq.__all__) <= set(dir(dq))
    for name in dq.__all__:
        assert getattr(dq, name).__doc__, name
    assert sorted(name for names in dq._HOMES.values() for name in names) == sorted(dq.__all__)
    with pytest.raises(AttributeError, match="no attribute 'jugde'"):
        dq.jugde  # type: ignore[attr-defined]  # noqa: B018


def test_importing_deqcheck_imports_nothing_heavy() -> None:
    program = "import sys, deqcheck; print([m for m in ('numpy', 'yaml') if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"


def test_a_report_is_an_object_and_prints_nothing(
    p: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    report = dq.run(p, train=DESCENT)
    assert "\n" not in repr(report) + repr(report.verdicts[0]) + repr(p) + repr(report.trajectory)
    assert {v.id for v in report.verdicts} >= {"ling2022/thm1", "ling2022/pl"}
    entry = report.to_dict()
    document = {"schema": "deqcheck-report/2", "reports": [json.loads(json.dumps(entry))]}
    assert list(Draft202012Validator(SCHEMA).iter_errors(document)) == []
    assert entry["case"]["resolved"]["train"] == DESCENT
    assert entry["case"]["resolved"]["data"]["X"] == arrays()["data"]["X"].tolist()
    assert report.html().endswith("</html>\n")
    assert report._repr_html_().startswith("<table>") and "ling2022/pl" in report._repr_html_()
    assert "ling2022/pl" in report["ling2022/pl"]._repr_html_()
    assert report["ling2022/pl"].to_dict() in entry["statements"]
    assert capsys.readouterr() == ("", "")


def test_a_verdict_is_found_by_its_id_and_edition() -> None:
    report = dq.run("kawaguchi2021/gd-counterexample", edition="both")
    gd = "kawaguchi2021/gd"
    assert report[gd].edition == report[gd, "corrected"].edition == "corrected"
    assert report[gd, "printed"].outcome == "refuted" == Outcome.REFUTED
    assert dq.run("kawaguchi2021/gd-counterexample", edition="printed")[gd].edition == "printed"
    for wrong in ("kawaguchi2021/thm1", (gd, "first")):
        with pytest.raises(KeyError, match=r"was not judged; judged: kawaguchi2021/gd \(printed\)"):
            report[wrong]  # type: ignore[index]


def test_judging_one_statement_is_what_a_report_says_of_it(p: Any) -> None:
    report = dq.run(p, train=DESCENT, edition="both", entry=False)
    for told in report.verdicts:
        alone = dq.judge(told.id, p, train=DESCENT, edition=told.edition)
        again = dq.judge(told.id, p, report.trajectory, edition=told.edition)
        assert alone.to_dict() == again.to_dict() == told.to_dict()


def test_a_case_is_trained_by_its_own_dynamics() -> None:
    case = dq.read({**SMALL, "train": DESCENT})
    verdict = dq.judge("kawaguchi2021/gd", case)
    assert verdict.outcome == dq.run(case)["kawaguchi2021/gd"].outcome == "confirmed"
    assert verdict.conclusions[0].curve is not None
    static = dq.judge("kawaguchi2021/gd", dq.read(SMALL))
    assert static.outcome == "not checked" and static.conclusions == ()
    assert static.unchecked == (
        "it speaks of training, and this case does not train: give it `train` (gd)",
    )


def test_a_run_of_something_else_is_refused(p: Any) -> None:
    other = dq.problem("relu-deq", **arrays(seed=1))
    run = dq.run(other, train=DESCENT).trajectory
    with pytest.raises(dq.UsageError, match="it is a run of another problem"):
        dq.judge("ling2022/pl", p, run)
    with pytest.raises(dq.UsageError, match="both given"):
        dq.judge("ling2022/pl", other, run, train=DESCENT)
    bare = dq.run(other, train=DESCENT, only=["ling2022/pl"]).trajectory
    with pytest.raises(dq.UsageError, match=r"does not record sigma_min_Z .*ling2022/thm1 needs"):
        dq.judge("ling2022/thm1", other, bare)


def test_check_is_for_test_suites(p: Any) -> None:
    assert dq.check("ling2022/lem2", p).outcome == "confirmed"
    with pytest.raises(AssertionError) as error:
        dq.check("ling2022/thm1", p, train=DESCENT)
    text = str(error.value)
    assert text.startswith("NOT APPLICABLE ling2022/thm1 (corrected)")
    assert "hypotheses" in text and "features stay independent (8)" in text


class Norm(dq.Statement):
    """The weights are smaller than c, and stay so."""

    id, title, cite = "doe2031/lem1", "Small weights", dq.Cite("Doe 2031", "Lemma 1")
    models, dynamics = ("relu-deq",), ("gd", "flow")
    tracks = ("norm2.W",)
    constants = {"c": "bound on the weights"}
    small = dq.Check("small at the start", "norm_W < c", "(1)")
    stays = dq.Check("small along the run", "norm_W < c", "(2)")

    def hypotheses(self, p: Any) -> Any:
        yield self.small(norm_W=p.start.measure("norm2.W"), c=self.fixed.get("c", 1.0))

    def conclusions(self, p: Any, run: Any) -> Any:
        series = run.series["norm2.W"]
        bound = self.fixed.get("c", 1.0)
        yield self.stays.sampled(series.k, series.t, norm_W=series.value, c=bound)


def test_a_statement_of_ones_own_needs_no_registry(p: Any) -> None:
    assert dq.judge(Norm, p, train=DESCENT).outcome == "confirmed"
    assert dq.judge(Norm, p, train=DESCENT, constants={"c": 0.1}).outcome == "not applicable"
    assert dq.judge(Norm, p, train={"kind": "flow", "horizon": 1e-3}).flow
    report = dq.run(p, train=DESCENT, only=[Norm, "ling2022/pl"], constants={Norm.id: {"c": 2.0}})
    assert list(dict.fromkeys(v.id for v in report)) == [Norm.id, "ling2022/pl"]
    assert report[Norm.id].constants == {"c": 2.0}


def test_a_trajectory_is_a_frame(p: Any) -> None:
    report = dq.run(p, train=DESCENT)
    frame = report.to_frame()
    assert list(frame["k"]) == list(range(21)) and frame["t"].is_monotonic_increasing
    assert report.trajectory is not None
    assert np.array_equal(frame["gap"], report.trajectory.gap.value)
    assert {"loss", "gradient", "sigma_min_Z", "sigma_min_Z_error"} <= set(frame.columns)
    assert any(name.startswith("ling2022/thm1: ") for name in frame.columns)
    only = ["ling2022/thm1-flow"]
    flow = dq.run(p, train={"kind": "flow", "horizon": 1e-3}, only=only).to_frame()
    assert flow["t"].is_monotonic_increasing and flow["t"].is_unique
    assert len(dq.run(p, only=["ling2022/pl"]).to_frame()) == 0


def test_a_figure_is_returned_and_axes_are_used(p: Any) -> None:
    matplotlib = pytest.importorskip("matplotlib.figure")
    report = dq.run(p, train=DESCENT)
    assert isinstance(report.plot(), matplotlib.Figure)
    own = matplotlib.Figure()
    axes = own.add_subplot()
    assert report.plot(axes) is own and axes.get_lines()
    with pytest.raises(ValueError, match="nothing to draw"):
        dq.run(p).plot()


@pytest.mark.parametrize(
    ("package", "use"),
    [("pandas", lambda r: r.to_frame()), ("matplotlib", lambda r: r.plot())],
)
def test_without_an_extra_one_sentence_says_what_to_install(
    p: Any, monkeypatch: pytest.MonkeyPatch, package: str, use: Callable[[Any], Any]
) -> None:
    report = dq.run(p, train=DESCENT)
    real = builtins.__import__

    def missing(name: str, *rest: Any, **more: Any) -> Any:
        if name.split(".")[0] == package:
            raise ImportError(name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", missing)
    monkeypatch.setattr("deqcheck.report.parts.picture.find_spec", lambda name: None)
    with pytest.raises(ImportError, match=rf"needs? {package}: pip install 'deqcheck\[\w+\]'"):
        use(report)


def test_a_sweep_is_a_list_of_reports(tmp_path: Path) -> None:
    path = tmp_path / "sweep.yaml"
    tree = {**SMALL, "deqcheck": 1, "train": DESCENT, "sweep": {"seeds": {"seed": [1, 2, 3]}}}
    path.write_text(json.dumps(tree))
    reports = dq.run_all(path, only=["kawaguchi2021/gd"])
    assert [r.resolved["seed"] for r in reports] == [1, 2, 3]
    assert "--set seed=2" in reports[1].replay
    with pytest.raises(dq.CaseError, match="states 3 cases; expected one"):
        dq.run(path)
    assert dq.run(path, set=["sweep=null"], seed=2).digest == reports[1].digest


def test_what_was_altered_has_no_command_that_does_it_again() -> None:
    report = dq.run("quickstart", train=DESCENT)
    assert (report.name, report.replay) == ("quickstart", "")
    assert dq.run("quickstart", seed=3).replay == "deqcheck run quickstart --seed 3"


def test_bounds_are_known_before_training(p: Any) -> None:
    report = dq.bounds(p, only=["ling2022/thm1"])
    assert report.trajectory is None and report["ling2022/thm1"].outcome is None
    assert report.quantities["loss"].value > 0


def test_the_catalogue_is_found_by_id() -> None:
    found = dq.statements()
    assert found["gao2022/thm4.2"].id == "gao2022/thm4.2" and found[0] in found
    assert "gao2022/thm4.2" in found and "gao2022/thm9" not in found
    assert len(found) == len({s.id for s in found}) >= 84
    with pytest.raises(KeyError, match=r"no statement 'gao2022/thm4\.3' .did you mean"):
        found["gao2022/thm4.3"]


def test_a_report_is_a_sequence_of_verdicts(p: Any) -> None:
    report = dq.run(p, only=["ling2022/pl"])
    assert len(report) == 2 and list(report) == list(report.verdicts) and report[0] in report
    # Of arrays without a case nobody said which edition is asked for.
    assert report["ling2022/pl"].edition == "corrected"
    assert report["ling2022/pl", "printed"].edition == "printed"


def test_numbers_of_numpy_are_numbers(p: Any) -> None:
    train = {"kind": "gd", "step": np.float64(1e-4), "steps": np.int64(2)}
    report = dq.run(p, train=train, only=["ling2022/pl"])
    assert report.trajectory is not None and report.trajectory.k[-1] == 2
    judged = dq.judge("ling2022/thm1", p, train=train)
    again = dq.judge("ling2022/thm1", p, dq.run(p, train=train, only=["ling2022/thm1"]))
    assert judged.outcome == again.outcome
    (only,) = dq.run_all(dq.read(SMALL))
    assert only.verdicts


def test_numbers_out_of_range_are_undecided_not_an_error() -> None:
    huge = {"Phi": [[1e200]], "Y": [[1.0]]}
    p = dq.problem("delm", huge, {"A": [[0.0]], "B": [[1.0]]}, gamma=0.5)
    assert dq.run(p).status.word == "out-of-range"
    verdict = dq.judge("kawaguchi2021/prop1", p)
    assert verdict.outcome == "undecided" and "out of range" in verdict.notes[0]


def test_without_an_equilibrium_a_verdict_says_so() -> None:
    given = arrays()
    given["init"]["W"] = 30 * np.eye(6)
    p = dq.problem("relu-deq", **given)
    verdict = dq.judge("ling2022/thm1", p)
    assert verdict.outcome in ("not applicable", "undecided")
    assert "no equilibrium where it is needed" in verdict.notes[-1]


X, INIT = arrays()["data"]["X"], arrays()["init"]
REFUSED: list[tuple[Callable[[], Any], str]] = [
    (lambda: dq.run("nowhere.yaml"), "nowhere.yaml: neither a file nor an embedded case"),
    (lambda: dq.run("quickstrat"), r"did you mean 'quickstart'\?"),
    (lambda: dq.read({"model": {"kind": "delm"}}), "data: missing; expected a mapping"),
    (lambda: dq.read(SMALL, set=["seed=1"]), "`set` changes a case file"),
    (lambda: dq.run(dq.read(SMALL), seed=1), "this one is read already"),
    (lambda: dq.run(SMALL, only="gao2022/thm4.2"), "`only` is a list of statements"),
    (lambda: dq.run(SMALL, edition="first"), "no edition 'first'; expected one of printed"),
    (lambda: dq.judge("kawaguchi2021/gd", SMALL, edition="both"), "no edition 'both'"),
    (lambda: dq.judge("kawaguchi2021/gd", SMALL, constants={"q": 1.0}), "no free constant 'q'"),
    (lambda: dq.run(SMALL, train={"kind": "gd", "step": 0, "steps": 3}), r"train\.step: 0 is out"),
    (lambda: dq.run(SMALL, train={"kind": "adam"}), r"train\.kind: unknown kind 'adam'"),
    (lambda: dq.run(SMALL, only=["gao2022/thm4.2"]), "gao2022/thm4.2 applies to implicit-relu"),
    (lambda: dq.problem("relu", {"X": X}, INIT), r"model\.kind: unknown kind 'relu'"),
    (lambda: dq.problem("relu-deq", {"X": X}, INIT), r"data\.y: missing; expected its numbers"),
    (lambda: dq.problem("relu-deq", {"X": X * 1j, "y": X[0]}, INIT), r"data\.X: has dtype complex"),
    (lambda: dq.problem("relu-deq", {"X": "abc", "y": X[0]}, INIT), r"data\.X: has dtype <U3"),
    (lambda: dq.problem("relu-deq", {"X": X, "y": X[0]}, INIT, widht=3), "did you mean 'width'"),
    (lambda: dq.problem("relu-deq", {"X": X * np.nan, "y": X[0]}, INIT), r"data\.X: holds inf or"),
    (lambda: dq.problem("relu-deq", {"X": [[1], [1, 2]]}, INIT), "data: an array that is none"),
    (lambda: dq.problem("relu-deq", None, INIT), "data is nothing; expected a mapping"),
    (lambda: dq.problem("relu-deq", [X, X[0]], INIT), "data is a list; expected a mapping"),
    (lambda: dq.run(None), "nothing is no case; expected a file"),
    (lambda: dq.run(3), "3 is no case; expected a file"),
    (lambda: dq.run(SMALL, train=3), "train: 3 is no dynamics"),
    (lambda: dq.run(SMALL, constants={"delta": 0.1}), r"constants\['delta'\] is 0.1"),
    (lambda: dq.run(SMALL, constants=[1]), "constants is a list; expected a mapping"),
    (lambda: dq.judge("kawaguchi2021/gd", SMALL, constants={"q": "a"}), "the constant q is 'a'"),
    (lambda: dq.judge("kawaguchi2021/gd", SMALL, "abc"), "run is 'abc'; expected the trajectory"),
    (lambda: dq.judge(None, SMALL), "nothing names no statement"),
    (lambda: dq.judge(3, SMALL), "3 names no statement"),
    (lambda: dq.read("quickstart", set="a=b"), "`set` is a list of settings"),
    (lambda: dq.load("nowhere"), "nowhere: no such file or folder"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "sentence"), REFUSED, ids=[s for _, s in REFUSED])
def test_bad_input_is_one_sentence(call: Callable[[], Any], sentence: str) -> None:
    with pytest.raises((dq.CaseError, dq.UsageError), match=sentence):
        call()
