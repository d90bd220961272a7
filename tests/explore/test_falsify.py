"""The search for counterexamples: it finds what is false, and refutes nothing that is not."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from jsonschema import Draft202012Validator

import deqcheck as dq
from deqcheck.case.read import read_text
from deqcheck.cli import nightly
from deqcheck.cli.main import cli
from deqcheck.explore import falsify as package
from deqcheck.explore.falsify import Asking, Limits, asked, falsify, worker
from deqcheck.explore.falsify.draw import Drawing, number
from deqcheck.explore.falsify.instance import Instance
from deqcheck.explore.falsify.kept import Kept
from deqcheck.explore.falsify.mutate import moved
from deqcheck.explore.falsify.score import FLAT, TIE, Scorer, TooLate, margin
from deqcheck.explore.falsify.search import Found, Hunt
from deqcheck.explore.falsify.shrink import complexity, cost, shrunk
from deqcheck.fields import Number, Refusal
from deqcheck.judging import catalogue
from deqcheck.theorems.base import Check, Cite, Constant, Space

SCHEMA = json.loads(
    (files("deqcheck") / "report/schema/deqcheck-falsify-1.json").read_text("utf-8")
)
VALIDATOR = Draft202012Validator(SCHEMA)
SHORT = Asking(Limits(120, None))


class Doe(dq.Statement[Any, Any]):
    """|U z| is no larger than its parts allow; false with the square."""

    id, title = "doe2031/lem4", "A lemma with a wrong constant"
    cite = Cite("Doe 2031", "Lemma 4")
    models, dynamics = ("relu-deq",), ("static",)
    contracts = Check("the map contracts", "norm2_W < 1")
    bound = Check("bounded", "gradient_a <= norm2_U*X_fro*residual/(1 - norm2_W^2)")

    def hypotheses(self, p: Any) -> Iterable[Any]:
        yield self.contracts(norm2_W=p.start.measure("norm2.W"))

    def claims(self, p: Any, state: Any) -> Iterable[Any]:
        names = ("gradient.a", "norm2.U", "norm2.W", "X_fro", "residual")
        known = {name.replace(".", "_"): state.measure(name) for name in names}
        yield self.bound(**known)


class Repaired(Doe):
    """As it should be."""

    bound = Check("bounded", "gradient_a <= norm2_U*X_fro*residual/(1 - norm2_W)")


class Impossible(Doe):
    """Its hypotheses contradict each other."""

    large = Check("the weights are large", "norm2_W > 2")

    def hypotheses(self, p: Any) -> Iterable[Any]:
        yield from super().hypotheses(p)
        yield self.large(norm2_W=p.start.measure("norm2.W"))


class Scaled(Doe):
    """Right for c <= 2 only, and it speaks of all c > 0."""

    constants = {"c": Constant("a factor", for_all=True, above=0)}
    bound = Check("bounded", "c*X_fro <= 2*X_fro")
    space = Space({"m": (1, 1)}, {"sigma_w2": (None,)})

    def claims(self, p: Any, state: Any) -> Iterable[Any]:
        yield self.bound(c=self.fixed.get("c", 1.0), X_fro=1.0 + state.measure("X_fro"))


@pytest.mark.parametrize(
    ("id_", "numbers"),
    [("gao2022/sigma-min", 5), ("xie2021/lem15", 7)],
)
def test_what_is_false_as_printed_is_refuted(id_: str, numbers: int) -> None:
    found = falsify(id_, "printed", Asking(Limits(160, None)))
    assert found.found and found.code == 1 and not found.withdrawn
    assert found.simplest is not None and found.worst is not None
    assert found.simplest.entries <= numbers
    assert found.worst.margin <= found.simplest.margin <= found.worst.margin / 2
    case = read_text(found.simplest.text, "", Path())
    (verdict,) = dq.run(case).verdicts
    assert verdict.outcome == "refuted" and verdict.id == id_ and verdict.edition == "printed"
    assert set(found.simplest.others) == {"corrected"}
    assert found.simplest.others["corrected"] != "refuted"
    assert found.simplest.confirmed_by


def test_a_wrong_constant_of_an_author_is_found_and_the_right_one_is_tight() -> None:
    wrong = dq.falsify(Doe, evaluations=100)
    assert wrong.found and wrong.simplest is not None
    assert wrong.simplest.entries == 5 and wrong.simplest.claim.name == "bounded"
    instance = Instance.of_tree(wrong.simplest.case)
    W, U, X, a, y = (float(instance.arrays[name].ravel()[0]) for name in "WUXay")
    z = max(U * X, 0) / (1 - W)
    assert abs(z * (a * z - y)) > abs(U * X * (a * z - y)) / (1 - W**2) * (1 + 1e-9)
    right = dq.falsify(Repaired, evaluations=200)
    assert not right.found and right.code == 0 and right.feasible >= 50
    (tight,) = right.tightest
    assert tight.claim == "bounded" and 0 <= tight.slack < 0.01


def test_the_same_seed_finds_the_same() -> None:
    def told(seed: int) -> dict[str, Any]:
        found = falsify(Repaired, None, Asking(Limits(60, None), seed)).to_dict()
        return {key: value for key, value in found.items() if key != "seconds"}

    assert told(5) == told(5)
    assert told(5) != told(6)


def test_hypotheses_that_contradict_each_other_are_told() -> None:
    none = dq.falsify(Impossible, evaluations=60, feasible=True)
    assert none.met is None and none.code == 3 and none.conflicting
    assert set(none.conflicting) <= {"the map contracts", "the weights are large"}
    assert none.short is not None and none.short > 0
    nothing = dq.falsify(Impossible, evaluations=60)
    assert not nothing.searched and nothing.code == 3
    some = dq.falsify(Doe, evaluations=60, feasible=True)
    assert some.met is not None and some.code == 0 and not some.found


def test_hypotheses_of_which_each_fails_alone_are_told_together() -> None:
    none = dq.falsify(Impossible, evaluations=300, feasible=True)
    assert set(none.conflicting) == {"the map contracts", "the weights are large"}
    # norm2_W < 1 and > 2: the nearest have norm 1 or 2, a third of 1 + 2 apart.
    assert none.short is not None and 0.3 < none.short < 0.4
    found = Found(alone={"a": (2, 0.5)}, most=2)
    found.merge(Found(alone={"a": (2, 0.2), "b": (2, 0.1)}, most=2))
    assert found.alone == {"a": (2, 0.2), "b": (2, 0.1)} and found.conflicting == ("b", "a")
    assert worker.unplain(worker.plain(found, Doe())).alone == found.alone


class Hidden(Doe):
    """One claim is always within 1e-9 of failing; the other fails where W is large and no other
    one is near."""

    tight = Check("tight", "X_fro <= (1 + 1e-9)*X_fro")
    bound = Check("bounded", "norm2_W^8 <= 0.9")

    def claims(self, p: Any, state: Any) -> Iterable[Any]:
        X_fro = 1.0 + state.measure("X_fro")
        yield self.tight(X_fro=X_fro)
        yield self.bound(norm2_W=state.measure("norm2.W"))


def test_a_claim_with_more_slack_than_another_is_searched_too() -> None:
    found = dq.falsify(Hidden, evaluations=300, seed=3)
    assert found.found and found.simplest is not None
    assert found.simplest.claim.name == "bounded"
    assert [tight.claim for tight in found.tightest] == ["tight"]


class Trained(Doe):
    """Of a run."""

    dynamics = ("descent",)
    falls = Check("the loss falls", "gap <= gap_0")

    def conclusions(self, p: Any, run: Any) -> Iterable[Any]:
        yield self.falls.along(run, gap=run.gap, gap_0=run.gap[0])


def test_time_that_is_over_in_a_run_is_no_mistake_of_the_author() -> None:
    def late(step: Any) -> None:
        raise TooLate

    instance = next(x for x in _drawn(Trained) if Scorer(Trained())(x).feasible)
    with pytest.raises(TooLate):
        Scorer(Trained(), watch=late)(instance)


def _drawn(cls: type[Doe]) -> Iterable[Instance]:
    random, drawing = np.random.default_rng(2), Drawing(cls())
    while True:
        yield drawing.draw(random, 0)


def test_numbers_come_near_the_ends_of_their_intervals() -> None:
    random, spec = np.random.default_rng(1), Number(above=0, below=1)
    drawn = [number(random, spec) for _ in range(200)]
    assert 0 < min(drawn) < 1e-3 and 0.999 < max(drawn) < 1
    held = 0.9
    for _ in range(60):
        near = moved(random, spec, held, 0.5)
        held = near if spec.within(near) and near > held else held
    assert 1e-12 < 1 - held < 1e-4


def test_the_table_of_speeds_counts_instances() -> None:
    from tests.bench.searches import rate

    per_second, met = rate(Doe(), 20, (1, 1))
    assert per_second > 1 and 0 < met <= 1


def test_constants_that_a_statement_speaks_of_all_of_are_searched_in_their_domain() -> None:
    found = dq.falsify(Scaled, evaluations=150)
    assert found.found and found.simplest is not None
    assert found.simplest.case["constants"][Scaled.id]["c"] > 2
    assert list(Scaled(fixed={"c": 0.0}).outside()) == [
        "doe2031/lem4: c = 0 is not positive; expected a number > 0"
    ]
    assert not list(Scaled(fixed={"c": 3.0}).outside())


def test_a_constant_outside_its_domain_is_refused() -> None:
    tree = falsify(Repaired, None, Asking(Limits(20, None))).met
    assert tree is not None
    case = {k: v for k, v in tree.items() if k not in ("theorems", "edition")}
    with pytest.raises(dq.UsageError, match="c = 0 is not positive"):
        dq.judge(Scaled, case, constants={"c": 0.0})
    with pytest.raises(dq.UsageError, match="R_A = 0 is not positive"):
        dq.judge("hieu2022/thm3.3.5", "hieu2022/pl-flow", constants={"R_A": 0.0})


def test_a_further_hypothesis_is_one_in_the_names_of_the_statement() -> None:
    found = dq.falsify(Doe, evaluations=150, also="norm2_W < 0.6")
    assert found.simplest is not None
    assert abs(found.simplest.case["init"]["W"][0][0]) < 0.6
    with pytest.raises(dq.UsageError, match="have no foo; they have X_fro, gradient_a"):
        dq.falsify(Doe, evaluations=150, also="foo < 1")
    with pytest.raises(dq.UsageError, match="--also"):
        dq.falsify(Doe, evaluations=20, also="norm2_W <")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["nope"], "there is no statement 'nope'"),
        (["ling2022/lem1", "--edition", "printed"], "judged over draws"),
        (["hieu2022/condition1"], "is a condition, which claims nothing"),
        (
            ["ling2022/condition1", "--edition", "printed", "--feasible"],
            "asks how the start is drawn",
        ),
        (["gao2022/thm4.2", "--edition", "printed"], "has no printed edition"),
        (["ling2022/pl", "--sizes", "3:1"], "--sizes 3:1: expected LOW:HIGH"),
        ([], "name one statement, or take --all"),
        (["--all", "--also", "x < 1"], "--all"),
    ],
)
def test_bad_usage(arguments: list[str], sentence: str) -> None:
    result = CliRunner().invoke(cli, ["falsify", *arguments])
    assert result.exit_code == 2 and sentence in result.output


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (
            [
                "hieu2022/def2.5.2",
                "--edition",
                "printed",
                "--evaluations",
                "60",
                "--keep-per-claim",
            ],
            1,
        ),
        (["ling2022/eq11", "--evaluations", "150"], 0),
        (["ling2022/eq11", "--evaluations", "10"], 3),
        (["ling2022/eq11", "--evaluations", "60", "--feasible"], 0),
    ],
)
def test_the_json_has_its_schema(arguments: list[str], code: int, tmp_path: Path) -> None:
    file = tmp_path / "found.yaml"
    command = ["falsify", *arguments, "--format", "json", "--output", str(file)]
    result = CliRunner().invoke(cli, command)
    assert result.exit_code == code, result.output
    told = json.loads(result.stdout)
    assert not list(VALIDATOR.iter_errors(told))
    assert told["found"] == (code == 1) == file.exists()
    assert list(VALIDATOR.iter_errors({**told, "found": "yes"}))
    if code == 1:
        again = CliRunner().invoke(cli, ["run", str(file), "--quiet"])
        assert again.exit_code == 0 and again.stdout.startswith(
            "REFUTED hieu2022/def2.5.2 (printed)"
        )
        assert len(told["each"]) >= 1


def test_the_page_tells_what_was_found() -> None:
    result = CliRunner().invoke(
        cli, ["falsify", "hieu2022/def2.5.2", "--edition", "printed", "--evaluations", "60"]
    )
    assert result.exit_code == 1
    for part in ("COUNTEREXAMPLE hieu2022/def2.5.2", "the simplest (6 numbers)", "it rests on:"):
        assert part in result.stdout
    assert "the corrected edition on the simplest one: confirmed" in result.stdout
    assert "expect: {hieu2022/def2.5.2: refuted}" in result.stdout
    result = CliRunner().invoke(cli, ["falsify", "ling2022/eq11", "--evaluations", "20"])
    assert result.exit_code == 3 and result.stdout.startswith("NOTHING SEARCHED")


def test_a_refutation_that_does_not_come_out_again_is_withdrawn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(package, "confirmed", lambda s, instance: None)
    monkeypatch.setattr(package, "TRIES", 1)
    found = dq.falsify(Doe, evaluations=100)
    # The search went on as long as it might.
    assert not found.found and found.worst is None and found.evaluations == 100
    assert 1 <= found.withdrawn <= package.ROUNDS
    assert not {each.claim for each in found.tightest} - {"bounded"}


@pytest.mark.parametrize("refused", [1, 2])
def test_where_the_worst_does_not_come_out_again_another_may(
    monkeypatch: pytest.MonkeyPatch, refused: int
) -> None:
    asked: list[Instance] = []
    right = package.confirmed

    def confirmed(s: Any, instance: Instance) -> Any:
        asked.append(instance)
        # The worst, and what is made of it.
        return None if len(asked) <= 2 * refused else right(s, instance)

    monkeypatch.setattr(package, "confirmed", confirmed)
    hunts: list[Hunt] = []
    found = falsify(
        Doe,
        None,
        Asking(Limits(200, None)),
        search=lambda hunt: hunts.append(hunt) or hunt.search(),
    )
    ranked = hunts[0].found.refuting
    values = [value for value, _ in ranked]
    assert len(values) > refused and values == sorted(values, reverse=True)
    assert found.found and found.withdrawn == refused
    assert [one for one in asked if one in [each for _, each in ranked]] == [
        instance for _, instance in ranked[: -refused - 2 : -1]
    ]


def test_a_search_is_kept_and_found_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = Kept(tmp_path).falsify(Doe, None, SHORT)
    monkeypatch.setattr(Hunt, "search", None)
    again = Kept(tmp_path).falsify(Doe, None, SHORT)
    assert again.evaluations == first.evaluations
    assert again.simplest is not None and first.simplest is not None
    assert again.simplest.case == first.simplest.case


def _jsoned(value: Any) -> Any:
    return json.loads(json.dumps(value))


def test_processes_share_a_search() -> None:
    s = asked(catalogue()["hieu2022/prop3"], "printed")
    shares = [worker._share(Asking(Limits(101, None)), i, 2) for i in range(2)]
    assert [share.limits.evaluations for share in shares] == [51, 50]
    assert shares[0].seed != shares[1].seed
    reply = _jsoned(worker.answer(_jsoned(worker._request(s, shares[0], True))).facts)
    found, total = worker.unplain(reply), Found()
    assert found.evaluations == 51 and _jsoned(worker.plain(found, s)) == reply
    total.merge(found)
    total.merge(found)
    assert total.evaluations == 102 and total.feasible == 2 * found.feasible
    assert total.tightest.keys() == found.tightest.keys()
    with pytest.raises(dq.UsageError, match="other processes do not know it"):
        dq.falsify(Doe, evaluations=10, jobs=2)


def test_the_nightly_table_is_green_only_if_all_is_as_it_must_be(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    printed = asked(catalogue()["hieu2022/def2.5.2"], "printed")
    corrected = asked(catalogue()["hieu2022/def2.5.2"], "corrected")
    assert nightly.must_fall(printed) is True and nightly.must_fall(corrected) is False
    monkeypatch.setattr(nightly, "tasks", lambda: iter([printed, corrected]))
    command = ["falsify", "--all", "--evaluations", "60", "--store", str(tmp_path)]
    result = CliRunner().invoke(cli, command)
    assert result.exit_code == 0 and "counterexample" in result.stdout
    monkeypatch.setattr(nightly, "must_fall", lambda s: False)
    monkeypatch.setattr(nightly, "falsify", None)
    result = CliRunner().invoke(cli, command)
    assert result.exit_code == 1 and "NOT AS IT MUST BE" in result.stdout


def test_every_task_of_the_night_can_be_asked() -> None:
    ids = {(s.id, s.edition) for s in nightly.tasks()}
    assert ("hieu2022/prop3", "printed") in ids and ("hieu2022/prop3", "corrected") in ids
    assert not any(id_ == "ling2022/lem1" for id_, _ in ids)


def test_margins_are_relative_and_lose_their_error_bars() -> None:
    def of(formula: str, x: Any, y: Any) -> float:
        return margin(Check("", formula)(x=x, y=y).judge())

    assert of("x <= y", 1.0, 3.0) == 0.5 and of("x <= y", 3.0, 1.0) == -0.5
    assert of("x >= y", 3.0, 1.0) == 0.5 and of("x == y", 3.0, 1.0) == -0.5
    assert of("x <= y", dq.Measured(1.0, 1.0), 3.0) == 0.25
    assert of("x <= y", dq.Measured(3.0, 5.0), 1.0) == 0
    assert of("x < y", 0.0, 0.0) == 0


def test_a_tie_costs_more_than_any_hypothesis_that_fails_by_some_amount() -> None:
    class Tie(Doe):
        contracts = Check("not at zero", "norm2_W > 0")

    r = np.random.default_rng(0)
    drawn = Drawing(Tie(), (1, 1)).draw(r, 0)
    zero = drawn.with_array("W", np.zeros((1, 1)))
    assert Scorer(Tie())(zero).short == TIE
    large = drawn.with_array("W", np.full((1, 1), 2.0))
    score = Scorer(Doe())(large)
    assert 0 < score.short < 1 and score.failing == ("the map contracts",) and not score.feasible


class Guarded(Doe):
    """Hypotheses after one that fails are not even stated."""

    first = Check("the weights are positive", "W_11 > 0")
    second = Check("the weights are large", "norm2_W > 2")

    def hypotheses(self, p: Any) -> Iterable[Any]:
        W_11 = float(p.theta0["W"][0, 0])
        yield self.first(W_11=W_11)
        if W_11 > 0:
            yield self.second(norm2_W=p.start.measure("norm2.W"))
            yield self.contracts(norm2_W=p.start.measure("norm2.W"))


def test_what_fails_before_others_are_looked_at_is_farther_than_what_fails_after() -> None:
    drawn = Drawing(Guarded(), (1, 1)).draw(np.random.default_rng(0), 0)
    scorer, found = Scorer(Guarded(), patient=True), Found()
    first, later = (scorer(drawn.with_array("W", np.full((1, 1), x))) for x in (-1e-9, 0.5))
    assert first.failing == ("the weights are positive",) and first.asked == 1
    assert later.failing == ("the weights are large",) and later.asked == 3
    assert later.value < first.value
    found.add(first, 0.0)
    found.add(later, 0.0)
    large = scorer(drawn.with_array("W", np.full((1, 1), 3.0)))
    found.add(large, 0.0)
    # It failed alone only as far as anybody looked.
    assert set(found.conflicting) == {"the weights are large", "the map contracts"}
    assert worker.unplain(worker.plain(found, Guarded())).conflicting == found.conflicting


def test_identities_that_hold_are_flat() -> None:
    class Same(Doe):
        bound = Check("the same", "x == x_again")

        def claims(self, p: Any, state: Any) -> Iterable[Any]:
            yield self.bound(x=state.measure("X_fro"), x_again=state.measure("X_fro"))

    drawn = Drawing(Same(), (1, 1)).draw(np.random.default_rng(0), 0)
    ones = Instance(
        {"kind": "relu-deq"},
        *({n: np.ones_like(a) for n, a in x.items()} for x in (drawn.data, drawn.init)),
    )
    half = ones.with_array("W", np.full((1, 1), 0.5))
    assert Scorer(Same(), degenerate=True)(half).value == FLAT


def test_a_mistake_in_the_authors_file_is_told() -> None:
    class Wrong(Doe):
        def claims(self, p: Any, state: Any) -> Iterable[Any]:
            yield self.bound(nothing=1)

    with pytest.raises(dq.UsageError, match="class Wrong: check 'bounded'"):
        dq.falsify(Wrong, evaluations=60)


def test_drawn_instances_are_problems_of_every_model() -> None:
    for id_, sizes in (
        ("ling2022/pl", (2, 3)),
        ("xie2021/lem15", None),
        ("kawaguchi2021/D", (1, 2)),
    ):
        drawing, r = Drawing(asked(catalogue()[id_], None), sizes), np.random.default_rng(3)
        for _ in range(15):
            instance = drawing.draw(r, 1)
            low, high = sizes or (1, 2)
            assert all(low <= n <= high for n in instance.sizes.values())
            assert np.array_equal(instance.with_vector(instance.vector).vector, instance.vector)
            tree = instance.tree("", id_, "corrected", "")
            assert Instance.of_tree(tree).tree("", id_, "corrected", "") == tree


def test_shrinking_ends_at_the_simplest_that_stands() -> None:
    data = {"X": np.array([[0.3, 1.7]]), "y": np.array([0.123, 2.0])}
    init = {"W": np.full((1, 1), 0.51), "U": np.full((1, 1), 1.234), "a": np.ones(1)}
    start = Instance({"kind": "relu-deq"}, data, init)
    found = shrunk(start, lambda each: float(each.init["W"][0, 0]) >= 0.25)
    assert found.sizes == {"d": 1, "n": 1, "m": 1}
    assert found.init["W"].tolist() == [[1.0]] and cost(found) < cost(start)
    assert found.vector.sum() == 1.0
    assert [complexity(x) for x in (0.0, -1.0, 2.0, 0.5, 1e-5)] == [0, 1, 2, 4, 6]


def test_shrinking_leaves_out_layers_and_parts_of_the_model() -> None:
    arrays = {"W": (2, 2), "U": (2, 1), "b": (2,)}
    init = {f"{a}{i}": np.ones(shape) for i in (1, 2, 3) for a, shape in arrays.items()}
    init |= {"W0": np.ones((1, 1)), "Wo": np.ones((1, 2))}
    model = {
        "kind": "opteq",
        "depth": 3,
        "iterations": 4,
        "alpha": 0.5,
        "activation": {"kind": "relu"},
        "extractor": {"kind": "identity"},
    }
    data = {"X": np.ones((1, 1)), "Y": np.ones((1, 1))}
    found = shrunk(Instance(model, data, init), lambda each: each.spoken.depth > 1)
    # Unrolled networks need to know how long.
    assert found.model == {
        "kind": "opteq",
        "depth": 2,
        "iterations": 1,
        "activation": {"kind": "relu"},
    }
    assert set(found.sizes.values()) == {1} and found.entries == 2 * 3 + 1 + 2
    assert np.isfinite(found.problem.start.objective.gap)
    wide = {**init, "U1": np.ones((2, 3)), "W0": np.ones((3, 1))}
    with pytest.raises(Refusal, match="another size of U2"):
        Instance(model, data, wide).of_model({**model, "depth": 2})
    with pytest.raises(Refusal, match="has no U4, W4, b4"):
        Instance(model, data, init).of_model({**model, "depth": 4})


def test_the_python_of_the_page_runs() -> None:
    page = (files("deqcheck") / "docs/falsify.md").read_text("utf-8")
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert len(blocks) == 3
    names: dict[str, Any] = {}
    for block in blocks:
        exec(compile(block, "falsify.md", "exec"), names)
    assert names["found"].evaluations == 50 and not names["found"].found
    assert names["constants"]["delta"].for_all and names["space"].sizes == {"m": (2, 4)}
