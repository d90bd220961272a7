"""The gate on files that state several cases."""

from __future__ import annotations

import json

import pytest

from deqcheck.case.read import checked
from deqcheck.case.source import Source
from deqcheck.ci.discover import FoundCase
from deqcheck.ci.gate import alone, stated_in
from deqcheck.engines import End

SWEEP = "\nsweep: {seeds: {seed: [0, 1]}}"
CONFIRMED = f"expect: {{kawaguchi2021/gd: confirmed}}{SWEEP}"
WRONG = "sweep: {seeds: {seed: [0, 1], expect.kawaguchi2021/gd: [confirmed, refuted]}}"


def test_each_member_is_a_case_of_its_own(deqcheck, write):
    """In real workers."""
    cases = write("many", CONFIRMED)
    document = json.loads(deqcheck("ci", cases, "--format", "json").stdout)
    rows = document["cases"]
    assert [row["id"] for row in rows] == ["many[seeds: seed=0]", "many[seeds: seed=1]"]
    assert len({row["digest"] for row in rows}) == 2
    assert {row["exit_code"] for row in rows} == {0}


@pytest.mark.usefixtures("inline")
def test_the_member_that_fails_is_named_with_its_replay_line(deqcheck, write):
    cases = write("many", WRONG)
    done = deqcheck("ci", cases)
    assert done.exit_code == 1
    assert "2 cases: 1 ok, 1 failed" in done.stdout
    words = " ".join(done.stdout.split())
    assert "FAILED many[seeds: seed=1" in words
    assert (
        f"replay: deqcheck run {cases}/many.yaml --set sweep=null --set seed=1 --set "
        "'expect.kawaguchi2021/gd=\"refuted\"'"
    ) in words


@pytest.mark.usefixtures("inline")
def test_members_have_their_own_entries_in_a_baseline(deqcheck, write, tmp_path):
    cases, file = write("many", CONFIRMED), tmp_path / "baseline.json"
    assert deqcheck("ci", cases, "--baseline", file, "--update-baseline").exit_code == 0
    assert deqcheck("ci", cases, "--baseline", file).exit_code == 0
    write("many", CONFIRMED.replace("[0, 1]", "[0]"))
    done = deqcheck("ci", cases, "--baseline", file)
    assert done.exit_code == 1
    assert "many[seeds: seed=1]: in the baseline, but there is no case of this name" in " ".join(
        done.stdout.split()
    )


@pytest.mark.usefixtures("inline")
def test_strict_asks_each_member_for_its_expectations(deqcheck, write):
    cases = write("many", "sweep: {seeds: {seed: [0, 1]}}")
    done = deqcheck("ci", cases, "--strict")
    assert done.exit_code == 2
    assert f"{cases}/many.yaml[seeds: seed=1]: no `expect:`" in done.stderr


def test_a_member_is_judged_without_reading_its_file_again(write, tmp_path):
    folder = write("a")
    path = folder / "a.yaml"
    path.write_text(path.read_text() + "sweep: {seeds: {seed: [1, 2]}}\n")
    stated = stated_in(FoundCase("a", path))
    path.unlink()
    assert [found.id for found, _ in stated] == ["a[seeds: seed=1]", "a[seeds: seed=2]"]
    for each in stated:
        assert alone(each).reply.end is End.RAN


def test_a_worker_is_told_all_it_needs_to_know(write):
    folder = write("a")
    path = folder / "a.yaml"
    path.write_text(path.read_text() + "sweep:\n  seeds:\n    seed: [1,\n     2]\n")
    for _, case in stated_in(FoundCase("a", path)):
        message = json.loads(json.dumps(case.source.message()))
        again = checked(Source.received(message), as_written=False)
        assert (again.digest, again.full_name) == (case.digest, case.full_name)
        assert not [key for key in message["lines"] if key.startswith("sweep.")]
