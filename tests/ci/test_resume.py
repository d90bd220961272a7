"""Killed at any moment, the gate goes on where it stopped and reports the same."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from deqcheck.ci import gate as gate_module
from deqcheck.store import Store
from tests.ci.conftest import Inline

CI = [sys.executable, "-m", "deqcheck", "ci"]
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks processes up in /proc")


def untimed(text: str | bytes) -> str:
    text = text.decode() if isinstance(text, bytes) else text
    return re.sub(r'"seconds": [\d.]+', "", text)


def children(pid: int) -> list[int]:
    lists = [path.read_text() for path in Path(f"/proc/{pid}/task").glob("*/children")]
    return [int(child) for text in lists for child in text.split()]


def gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


@pytest.fixture
def start():
    """Starts the gate; whatever becomes of the test, it is killed.

    It hears an interrupt even if whoever started the tests ignores it (nohup).
    """
    running: list[subprocess.Popen] = []

    def start(*words: object, **more: object) -> subprocess.Popen:
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **more}
        pipes["preexec_fn"] = lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)
        running.append(subprocess.Popen([*CI, *map(str, words)], **pipes))
        return running[-1]

    yield start
    for process in running:
        process.kill()
        process.communicate()


def until(condition) -> None:
    """Waits for an event; a test run that never ends has a time limit of its own."""
    while not condition():
        time.sleep(0.02)


# Tells when a case is under way: constants are looked at before anything is computed.
MARK = """
import os
from pathlib import Path
from deqcheck import ANY, Check, Cite, Statement

class Started(Statement):
    id, title, cite = "mark/started", "The case is under way", Cite("Mark", "1")
    models, dynamics = ANY, ("static",)
    sound = Check("sound", "one == 1")

    def faults(self):
        Path(os.environ["STARTED"]).touch()
        return ()

    def claims(self, p, state):
        yield self.sound(one=1.0)
"""


@pytest.fixture
def marked(tmp_path, monkeypatch):
    """Has a case tell when it is under way; the words that the gate needs, and whether it is."""
    (tmp_path / "mark.py").write_text(MARK)
    monkeypatch.setenv("STARTED", str(tmp_path / "started"))

    def mark(cases: Path, name: str) -> Path:
        path = cases / f"{name}.yaml"
        named = path.read_text().replace("[kawaguchi2021/gd]", "[kawaguchi2021/gd, mark/started]")
        path.write_text(named)
        return cases

    return mark, ("--with", tmp_path / "mark.py"), (tmp_path / "started").exists


@pytest.mark.usefixtures("inline")
def test_stored_results_give_the_same_report_without_work(deqcheck, write, tmp_path, monkeypatch):
    write("a")
    words = ("ci", write("b", seed=1), "--store", tmp_path / "store", "--format", "json")
    first = deqcheck(*words)
    monkeypatch.setattr(gate_module, "Processes", None)
    assert untimed(deqcheck(*words).stdout) == untimed(first.stdout)


@pytest.mark.usefixtures("inline")
def test_an_expectation_is_no_part_of_what_is_stored(deqcheck, write, tmp_path, monkeypatch):
    store = ("--store", tmp_path / "store")
    assert deqcheck("ci", write("a"), *store).exit_code == 0
    monkeypatch.setattr(gate_module, "Processes", None)
    assert deqcheck("ci", write("a", "expect: {kawaguchi2021/gd: refuted}"), *store).exit_code == 1


@pytest.mark.usefixtures("inline")
@pytest.mark.parametrize("change", ["seed", "source", "environment"])
def test_what_changes_the_numbers_is_computed_anew(deqcheck, write, tmp_path, monkeypatch, change):
    store = tmp_path / "store"
    deqcheck("ci", write("a"), "--store", store)
    if change == "source":
        monkeypatch.setattr("deqcheck.explore.single.source", lambda: "another")
    if change == "environment":
        monkeypatch.setattr("deqcheck.environment._blas", lambda: "another")
    deqcheck("ci", write("a", seed=int(change == "seed")), "--store", store)
    assert len(list(store.iterdir())) == 2


@pytest.mark.usefixtures("inline")
def test_a_corrupt_entry_is_computed_anew(deqcheck, write, tmp_path):
    words = ("ci", write("a"), "--store", tmp_path / "store", "--format", "json")
    first = deqcheck(*words)
    (entry,) = (tmp_path / "store").iterdir()
    entry.write_text(entry.read_text().replace("confirmed", "undecided"))
    assert untimed(deqcheck(*words).stdout) == untimed(first.stdout)
    assert "confirmed" in entry.read_text()


@pytest.mark.usefixtures("inline")
def test_a_store_of_another_version_is_told(deqcheck, write, tmp_path, monkeypatch):
    words = ("ci", write("a"), "--store", tmp_path / "store")
    with monkeypatch.context() as patch:
        patch.setattr("deqcheck.environment.__version__", "0.1.0")
        assert deqcheck(*words).stderr == ""
    told = f"{tmp_path / 'store'} holds results of deqcheck 0.1.0, which are computed anew: "
    assert deqcheck(*words).stderr == f"{told}remove the folder, or name another one\n"


def test_misfortunes_are_not_stored(deqcheck, write, tmp_path, faulty):
    write("kill", seed=1)
    write("crash", seed=2)
    deqcheck("ci", write("good"), "--store", tmp_path / "store")
    assert len(list((tmp_path / "store").iterdir())) == 1


@pytest.mark.usefixtures("inline")
def test_a_full_disk_costs_the_store_but_not_the_report(deqcheck, write, tmp_path, monkeypatch):
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Store, "put", full)
    write("a")
    done = deqcheck("ci", write("b", seed=1), "--store", tmp_path / "store")
    assert done.exit_code == 0
    assert "2 cases: 2 ok" in done.stdout
    told = f"cannot keep results in {tmp_path / 'store'}: No space left on device\n"
    assert done.stderr == told


def test_a_killed_gate_goes_on_where_it_stopped_and_leaves_no_worker(
    deqcheck, write, tmp_path, start, monkeypatch
):
    for seed in range(5):
        cases = write(f"case{seed}", seed=seed, steps=120)
    store = tmp_path / "store"
    words = [cases, "--jobs", "2", "--store", store, "--format", "json"]
    killed = start(*words)
    until(lambda: store.is_dir() and any(p.suffix == ".json" for p in store.iterdir()))
    workers = children(killed.pid)
    assert workers
    os.kill(killed.pid, signal.SIGKILL)
    killed.wait()
    kept = {p: p.stat().st_mtime_ns for p in store.iterdir() if not p.name.startswith(".")}
    assert 0 < len(kept) < 5
    until(lambda: all(gone(pid) for pid in workers))
    resumed = start(*words)
    out, err = resumed.communicate()
    assert (resumed.returncode, err) == (0, b"")
    monkeypatch.setattr(gate_module, "Processes", Inline)
    assert untimed(out) == untimed(deqcheck("ci", cases, "--format", "json").stdout)
    assert {p: p.stat().st_mtime_ns for p in kept} == kept


def test_a_worker_killed_from_outside_is_the_result_of_its_case(write, start, marked):
    mark, words, started = marked
    cases = mark(write("long", steps=10**6), "long")
    write("short", seed=1)
    gate = start(cases, "--jobs", "1", "--format", "json", *words)
    until(started)
    (worker,) = children(gate.pid)
    os.kill(worker, signal.SIGKILL)
    document = json.loads(gate.communicate()[0])
    assert {c["id"]: c["result"] for c in document["cases"]} == {"long": "killed", "short": "ok"}
    assert gate.returncode == 4


@pytest.fixture(params=["heard", "ignored"])
def interrupts(request):
    """Whether the tests themselves were started with interrupts ignored."""
    before = signal.getsignal(signal.SIGINT)
    if request.param == "ignored":
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interrupts")
def test_an_interrupt_ends_it_with_130_and_no_worker(write, start, marked):
    mark, words, started = marked
    gate = start(mark(write("long", steps=10**6), "long"), *words, start_new_session=True)
    until(started)
    workers = children(gate.pid)
    os.killpg(gate.pid, signal.SIGINT)
    out, err = gate.communicate()
    assert (gate.returncode, err) == (130, b"deqcheck: interrupted\n")
    assert b"-- long: not finished when the run was interrupted\n" in out
    assert b"\npartial, interrupted: 1 case: 1 not finished, " in out
    until(lambda: all(gone(pid) for pid in workers))


def test_an_interrupt_leaves_what_was_finished(write, tmp_path, start, marked):
    mark, plugin, started = marked
    write("a")
    cases = mark(write("long", steps=10**6), "long")
    store, report, baseline = (tmp_path / name for name in ("store", "ci.json", "baseline.json"))
    words = [cases, "--jobs", "1", "--store", store, "--format", "json", "--output", report]
    words += ["--baseline", baseline, "--update-baseline"]
    gate = start(*words, *plugin, start_new_session=True)
    until(lambda: started() and store.is_dir() and any(store.glob("*.json")))
    os.killpg(gate.pid, signal.SIGINT)
    out, err = gate.communicate()
    told = f"deqcheck: interrupted\nbaseline {baseline} was not written: the run is partial\n"
    assert (gate.returncode, out, err.decode()) == (130, b"", told)
    assert not baseline.exists()
    document = json.loads(report.read_text())
    assert {c["id"]: c["result"] for c in document["cases"]} == {"a": "ok"}
    assert (document["partial"], document["unfinished"]) == (True, ["long"])
    assert document["exit_code"] == 130


class Stopped:
    """In place of the workers: Ctrl-C after the first case."""

    def __init__(self, jobs: int, timeout: float | None = None):
        self.inner = Inline(jobs, timeout)

    def replies(self, task, messages):
        yield from self.inner.replies(task, [*messages][:1])
        raise KeyboardInterrupt


@pytest.fixture
def stopped(monkeypatch):
    monkeypatch.setattr(gate_module, "Processes", Stopped)


@pytest.mark.parametrize("form", ["table", "junit", "markdown"])
def test_every_format_tells_what_is_missing_from_a_partial_run(
    deqcheck, write, tmp_path, stopped, form
):
    write("a")
    done = deqcheck("ci", write("b", seed=1), "--format", form)
    assert (done.exit_code, done.stderr) == (130, "deqcheck: interrupted\n")
    assert "b: not finished when the run was interrupted" in done.stdout
    marks = {
        "table": "partial, interrupted: 2 cases: 1 ok, 1 not finished",
        "junit": 'name="partial" value="true"',
        "markdown": "### ⚠️ deqcheck: partial, interrupted: 2 cases: 1 ok, 1 not finished",
    }
    assert marks[form] in done.stdout
    if form == "junit":
        assert 'tests="2" failures="0" errors="0" skipped="1"' in done.stdout


def test_an_unfinished_case_is_not_missing_from_the_baseline(
    deqcheck, write, tmp_path, monkeypatch
):
    write("a")
    words = ("ci", write("b", seed=1), "--baseline", tmp_path / "baseline.json")
    monkeypatch.setattr(gate_module, "Processes", Inline)
    assert deqcheck(*words, "--update-baseline").exit_code == 0
    before = (tmp_path / "baseline.json").read_text()
    monkeypatch.setattr(gate_module, "Processes", Stopped)
    done = deqcheck(*words, "--format", "json")
    assert done.exit_code == 130
    assert json.loads(done.stdout)["missing"] == []
    assert deqcheck(*words, "--update-baseline").exit_code == 130
    assert (tmp_path / "baseline.json").read_text() == before


def test_an_interrupt_after_the_last_case_loses_nothing(deqcheck, write, stopped):
    done = deqcheck("ci", write("a"))
    assert (done.exit_code, done.stderr) == (0, "")
    assert "1 case: 1 ok" in done.stdout


def test_an_interrupted_power_table_is_marked(deqcheck, write, stopped):
    write("a")
    cases = write("b", seed=1)
    table = deqcheck("power", cases)
    assert (table.exit_code, table.stderr) == (130, "deqcheck: interrupted\n")
    assert "each step contracts the gap" in table.stdout
    assert table.stdout.endswith("partial, interrupted; not finished: b\n")
    document = json.loads(deqcheck("power", cases, "--format", "json").stdout)
    assert (document["partial"], document["unfinished"]) == (True, ["b"])
    assert document["checks"]
