"""Sweeps: what varies, what is kept, and what is told of it."""

from __future__ import annotations

import csv
import io
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from jsonschema import Draft202012Validator

import deqcheck as dq
from deqcheck.case.source import Changes
from deqcheck.case.streamed import read_stream
from deqcheck.cli.commands import sweep as command
from deqcheck.cli.main import cli
from deqcheck.engines import End, Reply, here
from deqcheck.explore import sweep as sweeping
from deqcheck.explore.single import Results
from deqcheck.report.parts import swept
from deqcheck.store import Store

CASE = """\
deqcheck: 1
title: Small descents
data: {kind: gaussian, n: 6, dim: 2, target: {kind: negated-input, noise: 0.1}}
model: {kind: delm, gamma: 0.5}
init: {kind: gaussian, scale: 0.3}
train: {kind: gd, step: 1e-3, steps: 2}
theorems: [kawaguchi2021/gd]
expect: {kawaguchi2021/gd: confirmed}
"""
GRID = ("--grid", "model.gamma=0.1:0.9:3", "--grid", "train.step=log:1e-3:1e-1:3")
SCHEMA = json.loads(
    (files("deqcheck") / "report/schema/deqcheck-sweep-1.json").read_text(encoding="utf-8")
)


@pytest.fixture
def case(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    Path("case.yaml").write_text(CASE)
    return "case.yaml"


@pytest.fixture
def inline(monkeypatch: pytest.MonkeyPatch) -> None:
    """No processes, for tests that are not about them."""
    monkeypatch.setattr(command, "engine", lambda *_: Alike())


class Alike(here.Here):
    """In this process, with the threads of any other engine."""

    def __init__(self) -> None:
        self.threads = 1


def deqcheck(*words: str) -> Any:
    return CliRunner().invoke(cli, ["sweep", *words], prog_name="deqcheck")


def table(path: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(Path(path).read_text())))


# What varies.


def stream(case: str, sweep: str) -> Any:
    return read_stream(case, Changes((f"sweep={{s: {sweep}}}",)))


def test_a_product_varies_its_last_axis_first(case: str) -> None:
    found = stream(case, "{grid: {model.gamma: [0.1, 0.2], data.dim: [1, 3]}, seeds: 2}")
    settings = [tuple(found.member(i).settings.values()) for i in range(len(found))]
    assert settings == [(g, d, s) for g in (0.1, 0.2) for d in (1, 3) for s in (0, 1)]
    assert found.keys == ("model.gamma", "data.dim", "seed")


@pytest.mark.parametrize(
    ("said", "values"),
    [
        ("{from: 0.05, to: 0.25, points: 5}", [0.05, 0.1, 0.15, 0.2, 0.25]),
        ("{from: 0.9, to: 0.1, points: 2}", [0.9, 0.1]),
        ("{from: 0.5, to: 0.7, points: 1}", [0.5]),
        ("{from: 1e-4, to: 1e-1, points: 4, scale: log}", [1e-4, 1e-3, 1e-2, 1e-1]),
    ],
)
def test_ranges(case: str, said: str, values: list[float]) -> None:
    found = stream(case, f"{{grid: {{model.gamma: {said}}}}}")
    assert [found.member(i).settings["model.gamma"] for i in range(len(found))] == values


def test_a_range_of_integers_is_one(case: str) -> None:
    for said, values in (
        ("{from: 2, to: 8, points: 4}", [2, 4, 6, 8]),
        ("{from: 1, to: 100, points: 3, scale: log, whole: true}", [1, 10, 100]),
        ("{from: 1, to: 20, points: 3, whole: true}", [1, 10, 20]),
    ):
        found = stream(case, f"{{grid: {{data.dim: {said}}}}}")
        dims = [found.member(i).settings["data.dim"] for i in range(len(found))]
        assert dims == values and all(isinstance(dim, int) for dim in dims)


def test_lists_in_step_are_one_axis_of_a_product(case: str) -> None:
    found = stream(case, "{zip: {data.n: [5, 6], data.dim: [1, 2]}, seeds: [4, 7]}")
    settings = [tuple(found.member(i).settings.values()) for i in range(len(found))]
    assert settings == [(5, 1, 4), (5, 1, 7), (6, 2, 4), (6, 2, 7)]


def test_a_seed_of_its_own_leaves_the_rest_as_it_is(case: str) -> None:
    found = stream(case, "{seeds: {init: 2}}")
    first, second = (found.case(found.member(i)).problem() for i in range(2))
    alone = dq.read(case).problem()
    for other in (first, second):
        assert (other.model.outer.Phi == alone.model.outer.Phi).all()
        assert (other.model.outer.Y == alone.model.outer.Y).all()
    assert (first.theta0["A"] == alone.theta0["A"]).all()
    assert (first.theta0["A"] != second.theta0["A"]).all()
    found = stream(case, "{seeds: {data: 2}}")
    third = found.case(found.member(1)).problem()
    assert (third.theta0["A"] == alone.theta0["A"]).all()
    assert (third.model.outer.Phi != alone.model.outer.Phi).all()


def test_a_hundred_thousand_members_are_not_made(case: str) -> None:
    started = time.process_time()
    found = stream(case, "{grid: {model.gamma: {from: 0.1, to: 0.9, points: 100}}, seeds: 1000}")
    assert len(found) == 100_000
    assert found.member(99_999).settings == {"model.gamma": 0.9, "seed": 999}
    assert time.process_time() - started < 5


def test_a_long_list_is_for_this_command_only(case: str) -> None:
    said = deqcheck("no.yaml", "--seeds", "2").stderr
    assert said == "no.yaml: neither a file nor an embedded case; `deqcheck cases` lists them\n"
    with pytest.raises(dq.CaseError, match="states 2000 cases; expected at most 1000: `deqcheck s"):
        dq.read(case, set=["sweep={s: {seeds: 2000}}"])


WRONG = {
    "--grid model.gama=0.1,0.2": "--grid: model.gama: 'delm' has no field 'gama' (did you mean "
    "'gamma'?)",
    "--grid model.gamma=0.1:0.9:0": "--grid: model.gamma.points: an empty range; expected an "
    "integer from 1 to 1000000",
    "--grid model.gamma=log:0:1:3": "--grid: model.gamma.from: 0 has no logarithm; expected a "
    "number > 0",
    "--grid model.gamma=": "--grid: expected KEY=VALUES; found 'model.gamma='",
    "--grid model.gamma=0.1,0.1": "--grid: model.gamma: values 1 and 2 are the same",
    "--grid data.dim=1:4:6": "--grid: data.dim: expected an integer >= 1; found 1.6",
    "--grid model.gamma=0.5,1.5": "--grid: model.gamma: 1.5 is out of range; expected a number > 0 "
    "and < 1",
    "--grid train.horizon=1,2": "--grid: train.horizon: 'gd' has no field 'horizon'; expected one "
    "of step, steps",
    "--grid sweep=1,2": "--grid: sweep: a sweep cannot set 'sweep'",
    "--grid rescale.Q=1,2": "--grid: rescale.Q: the model has no array 'Q'; expected one of Phi, Y,"
    " A, B",
    "--zip data.n=5,6 --zip data.dim=1": "--zip: data.dim: expected 2 values, as many as the "
    "longest list; found 1",
    "--seeds 0": "--seeds: 0 seeds; expected 1 to 1000000, or a list of seeds",
    "--seeds inits=3": "--seeds: inits: nothing is drawn under the name 'inits' (did you mean "
    "'init'?)",
    "--seeds 2 --seeds init=2": "--seeds: of everything, or of single streams; not both",
    "--grid seed=1,2 --seeds 2": "--grid: 'seed' is varied twice",
    "": "case.yaml: states one case: name what varies, such as by --grid KEY=VALUES or --seeds N",
    "--seeds 2 --only ling2022/thm1": "deqcheck: ling2022/thm1 applies to relu-deq, the case's "
    "model is delm",
    "--seeds 2 --shard 3/2": "--shard 3/2: expected I/N with I from 1 to N, such as 3/8",
    "--seeds 2 --shard 1/2 --output a.csv": "a shard only fills the store: the same command "
    "without --shard writes",
    "--seeds 2 --output a.txt": "cannot write a.txt: expected a name that ends in one of .csv, "
    ".json, .parquet, .nc",
    "--seeds 2 --output no/a.csv": "cannot write no/a.csv: No such file or directory",
    "--seeds 2 --map a.bmp": "cannot write a.bmp: expected a name that ends in one of .png, .svg, "
    ".pdf, .html",
    "--seeds 2 --map a.html --x data.n": "--x data.n: does not vary; expected one of seed",
    "--seeds 2 --map a.html --color kawaguchi2021/gd:slak": "cannot draw the map: color "
    "kawaguchi2021/gd:slak: expected kawaguchi2021/gd:outcome, kawaguchi2021/gd:slack or "
    "kawaguchi2021/gd:rate_tightness, or the name of a quantity",
    "--seeds 2 --x seed": "--x, --y and --color say what --map FILE shows: add it",
}


@pytest.mark.parametrize("words", WRONG, ids=lambda words: words or "nothing")
def test_bad_input_is_one_sentence_at_once(case: str, words: str) -> None:
    done = deqcheck(case, *words.split())
    assert (done.exit_code, done.stdout, done.stderr) == (2, "", f"{WRONG[words]}\n")
    assert not Path(".deqcheck_cache").exists()


def test_what_is_wrong_in_a_file_has_its_line(case: str) -> None:
    line = CASE.count("\n") + 1
    Path(case).write_text(f"{CASE}sweep: {{s: {{grid: {{model.gama: [0.1, 0.2]}}}}}}\n")
    done = deqcheck(case)
    assert done.stderr == (
        f"case.yaml:{line}: model.gama: 'delm' has no field 'gama' (did you mean 'gamma'?)\n"
    )
    Path(case).write_text(f"{CASE}sweep: {{s: {{grid: {{model.gamma: {{from: 1, to: 2}}}}}}}}\n")
    assert deqcheck(case).stderr == f"case.yaml:{line}: sweep.s.grid.model.gamma.points: missing\n"


# What is run, kept and told.


@pytest.mark.usefixtures("inline")
def test_a_table_has_a_row_for_each_check_with_its_coordinates(case: str) -> None:
    done = deqcheck(case, *GRID, "--seeds", "init=2", "--output", "a.csv")
    assert done.exit_code == 0, done.stderr
    rows = table("a.csv")
    assert list(rows[0])[:4] == ["model.gamma", "train.step", "seeds.init", "seed"]
    assert {(r["model.gamma"], r["train.step"], r["seeds.init"]) for r in rows} == {
        (g, s, i) for g in ("0.1", "0.5", "0.9") for s in ("0.001", "0.01", "0.1") for i in "01"
    }
    assert {row["seed"] for row in rows} == {"0"}
    first = {r["member"]: r for r in rows if r["part"] == "conclusion"}
    report = dq.run(case, set=["model.gamma=0.1", "train.step=0.01"])
    judged = report["kawaguchi2021/gd"].conclusions[0]
    # The fourth member: gamma 0.1, the second step, the second start.
    own = first["2"]
    assert (own["outcome"], own["check"]) == ("confirmed", judged.name)
    assert (float(own["slack"]), float(own["left"])) == (judged.ratio, judged.left.value)
    assert float(own["loss"]) == report.trajectory.loss.value[-1]
    assert float(own["loss_error"]) == report.trajectory.loss.error[-1]
    assert own["digest"] != first["3"]["digest"]


@pytest.mark.usefixtures("inline")
def test_a_replay_line_makes_that_member_again(case: str) -> None:
    deqcheck(case, *GRID, "--only", "kawaguchi2021/gd", "--output", "a.json")
    members = json.loads(Path("a.json").read_text())["members"]
    for member in (members[0], members[-1]):
        words = member["replay"].replace("'", "").split()
        result = CliRunner().invoke(cli, [*words[1:], "--format", "json"])
        (again,) = json.loads(result.stdout)["reports"]
        assert again["case"]["digest"] == member["digest"]
        # What the file expects is said of another case.
        assert again["statements"][0]["expected"] is None


@pytest.mark.usefixtures("inline")
def test_json_is_what_the_schema_says_and_what_the_object_says(case: str) -> None:
    Draft202012Validator.check_schema(SCHEMA)
    deqcheck(case, *GRID, "--output", "a.json")
    told = json.loads(Path("a.json").read_text())
    found = dq.sweep(
        case, {"model.gamma": "0.1:0.9:3", "train.step": [0.001, 0.01, 0.1]}, engine=Alike()
    )
    own = found.to_dict()
    assert [m["statements"] for m in own["members"]] == [m["statements"] for m in told["members"]]
    for document in (told, own):
        assert list(Draft202012Validator(SCHEMA).iter_errors(document)) == []
    told["members"][0]["statements"][0]["checks"][0].pop("slack")
    assert list(Draft202012Validator(SCHEMA).iter_errors(told)) != []


@pytest.mark.usefixtures("inline")
def test_a_repeated_command_does_only_what_is_missing(
    case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = (case, *GRID, "--output", "a.json")
    assert deqcheck(*words, "--status").stdout == "9 members: 0 done, 0 failed, 9 missing\n"
    deqcheck(*words, "--shard", "2/3")
    assert deqcheck(*words[:-2], "--shard", "2/3").exit_code == 0
    told = deqcheck(*words, "--status").stdout
    assert told.startswith("9 members: 3 done, 0 failed, 6 missing\n")
    asked: list[int] = []
    real = Alike.replies

    def counting(self: Alike, task: str, messages: Iterable[Any]) -> Iterator[Any]:
        for key, reply in real(self, task, messages):
            asked.append(key)
            yield key, reply

    monkeypatch.setattr(Alike, "replies", counting)
    assert deqcheck(*words).exit_code == 0
    assert asked == [0, 2, 3, 5, 6, 8]
    first = Path("a.json").read_bytes()
    assert deqcheck(*words).exit_code == 0
    assert len(asked) == 6 and Path("a.json").read_bytes() == first
    # Nor is anything lost by another store.
    assert deqcheck(*words, "--store", "other").exit_code == 0
    assert Path("a.json").read_bytes() == first


def doomed(*ends: tuple[int, End]) -> type[Alike]:
    """An engine in which some members come to grief."""

    class Doomed(Alike):
        def replies(self, task: str, messages: Iterable[Any]) -> Any:
            fates = dict(ends)
            for key, message in messages:
                if key in fates:
                    yield key, Reply(fates[key], "a misfortune")
                else:
                    yield from super().replies(task, [(key, message)])

    return Doomed


def test_what_failed_is_kept_and_tried_again_when_asked(
    case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    unlucky = doomed((1, End.TIMED_OUT), (4, End.KILLED))
    monkeypatch.setattr(command, "engine", lambda *_: unlucky())
    done = deqcheck(case, *GRID, "--output", "a.csv")
    assert done.exit_code == 4
    assert "1 timed out; first: deqcheck run case.yaml " in done.stdout
    rows = {row["member"]: row for row in table("a.csv")}
    assert (rows["4"]["status"], rows["4"]["note"]) == ("killed", "a misfortune")
    monkeypatch.setattr(command, "engine", lambda *_: Alike())
    told = deqcheck(case, *GRID, "--status").stdout
    assert told.startswith("9 members: 7 done, 2 failed, 0 missing\n")
    assert "1 killed" in told and "1 timed out" in told
    # A repeated command leaves them alone.
    assert deqcheck(case, *GRID).exit_code == 4
    assert deqcheck(case, *GRID, "--retry", "failed").exit_code == 0
    assert deqcheck(case, *GRID, "--status").stdout.startswith("9 members: 9 done, 0 failed")


@pytest.mark.usefixtures("inline")
def test_exit_codes(case: str) -> None:
    # Too large a step is not applicable, which is no failure, unless the file's word counts.
    assert deqcheck(case, *GRID).exit_code == 0
    assert deqcheck(case, *GRID, "--expect").exit_code == 1
    refuted = ("kawaguchi2021/gd-counterexample", "--seeds", "1", "--edition", "printed")
    assert deqcheck(*refuted).exit_code == 1
    # Where the sweep is the file's own, so are its expectations.
    Path(case).write_text(f"{CASE}sweep: {{s: {{train.step: [1e-3, 1.0]}}}}\n")
    assert deqcheck(case).exit_code == 1
    assert deqcheck(case, "--grid", "train.step=1e3,1e4", "--set", "train.steps=300").exit_code == 4


@pytest.mark.usefixtures("inline")
def test_what_is_wrong_with_some_combinations_is_their_result(case: str) -> None:
    words = ("--grid", "data.dim=2,3", "--set", "init={kind: values, A: [[0, 0], [0, 0]]}")
    values = "init={kind: values, A: [[0, 0], [0, 0]], B: [[0, 0], [0, 0]]}"
    done = deqcheck(case, *words[:3], values, "--output", "a.csv")
    assert done.exit_code == 4, done.output
    status = {row["data.dim"]: row["status"] for row in table("a.csv")}
    assert status == {"2": "completed", "3": "bad case"}
    # With all of them, it is said at once.
    assert deqcheck(case, "--grid", "data.dim=3,4", "--set", values).exit_code == 2


def test_a_store_that_cannot_be_written_costs_nothing_but_itself(
    case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Store, "put", full)
    said: list[str] = []
    results = Results(Store("store"), said.append)
    found = sweeping.Sweeping(stream(case, "{seeds: 2}"), results).run(Alike())
    assert [member.word for member in found] == ["confirmed", "confirmed"]
    assert said == ["cannot keep results in store: No space left on device"]


def test_trials_of_a_member_are_kept_beside_it(case: str) -> None:
    store = Store("store")
    settings = ("theorems=[ling2022/lem1]", "constants={ling2022/lem1: {seeds: 40}}", "expect={}")
    found = read_stream("ling2022/narrow", Changes(settings), {"seeds": [3]})
    swept_ = sweeping.Sweeping(found, Results(store)).run(Alike())
    assert [member.word for member in swept_] == ["consistent"]
    entries = [json.loads(path.read_text()) for path in Path("store").glob("*.json")]
    results = [len(e["value"]["results"]) for e in entries if "results" in e["value"]]
    assert (len(entries), results) == (3, [20, 20])


def test_a_case_that_was_read_can_be_swept(case: str) -> None:
    read = dq.read(case, set=["data.n=5"])
    found = list(dq.sweep(read, {"train.step": [1e-3]}, seeds=[4], engine=Alike()))
    again = dq.read(case, set=["data.n=5", "train.step=1e-3", "seed=4"])
    assert [member.digest for member in found] == [again.digest]
    assert found[0].replay == (
        "deqcheck run case.yaml --set data.n=5 --set 'expect={}' --set sweep=null --set "
        "train.step=0.001 --set seed=4"
    )


def test_progress_tells_outcomes_and_the_time_left() -> None:
    from deqcheck.cli.sweeping import Told, progress_text

    tally = sweeping.Tally(10, found=2, counts=Counter(confirmed=3, undecided=1))
    tally.started = time.monotonic() - 10
    assert progress_text(tally) == "4 of 10 members  3 confirmed, 1 undecided  0:00:30 left"

    class Line:
        shown = False

    out, now = io.StringIO(), [0.0]
    told = Told(Line(), False, out, lambda: now[0])  # type: ignore[arg-type]
    for now[0] in range(65):
        told(tally)
    assert out.getvalue().count("4 of 10 members") == 2


# In processes.


def test_killed_it_goes_on_to_the_same_bytes(case: str) -> None:
    """By real processes, as bytes alike to those of an engine without any."""
    grid = {"model.gamma": "0.1:0.9:4"}
    whole = "".join(swept.as_json(dq.sweep(case, grid, seeds=3, engine=Alike())))
    words = [sys.executable, "-m", "deqcheck", "sweep", case, "--grid", "model.gamma=0.1:0.9:4"]
    words += ["--seeds", "3", "--jobs", "1", "--output", "a.json", "--store", "store"]

    def kept() -> int:
        return len(list(Path("store").glob("[!.]*.json")))

    running = subprocess.Popen(words, stdout=subprocess.DEVNULL)
    while not kept() and running.poll() is None:
        time.sleep(0.002)
    os.kill(running.pid, signal.SIGKILL)
    running.wait()
    assert 0 < kept() < 12 and not Path("a.json").exists()
    done = subprocess.run(words, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert Path("a.json").read_text() == whole


def test_slurm(case: str) -> None:
    done = deqcheck(case, *GRID, "--sbatch", "8", "--only", "kawaguchi2021/gd", "--timeout", "60")
    lines = done.stdout.splitlines()
    assert lines[0] == "#!/bin/sh" and "#SBATCH --array=1-8" in lines
    assert lines[-1] == (
        "deqcheck sweep case.yaml --grid model.gamma=0.1:0.9:3 --grid train.step=log:1e-3:1e-1:3 "
        "--only kawaguchi2021/gd --store .deqcheck_cache --timeout 60 --jobs "
        '"${SLURM_CPUS_PER_TASK:-1}" --shard "$SLURM_ARRAY_TASK_ID/8"'
    )
    assert not Path(".deqcheck_cache").exists()
