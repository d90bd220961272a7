"""What only a real process shows."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys

import pytest

from deqcheck import postponed
from deqcheck.registry import inside, kinds
from deqcheck.threads import VARIABLES
from tests.families import ROOMS

DEQCHECK = [sys.executable, "-m", "deqcheck"]


PROBE = """\
import sys
from deqcheck.cli.main import main
sys.argv[0] = "deqcheck"
try:
    main()
finally:
    print(*sys.modules, file=sys.stderr)
"""
# A statement of each paper, and every model.
ONE_FOR_EACH_MODEL = [
    *("quickstart", "kawaguchi2021/fig2a", "gao2022/f1-flow", "ling2022/f1"),
    *("hieu2022/c1-gd", "xie2021/network"),
]


def imported(*words: str, **environment: str) -> set[str]:
    """The modules that a command has imported when it ends."""
    command = [sys.executable, "-c", PROBE, *words]
    done = subprocess.run(
        command, capture_output=True, text=True, env=os.environ | environment, check=True
    )
    return set(done.stderr.split())


def below(found: set[str], package: str) -> set[str]:
    """The public parts of a package that are among the modules."""
    parts = (name.removeprefix(f"{package}.").split(".")[0] for name in found if package in name)
    return {part for part in parts if not part.startswith("_")} - {package, "version"}


@pytest.mark.parametrize("words", [["--version"], ["--help"]])
def test_the_start_is_light(words):
    assert not {"numpy", "scipy", "rich", "yaml", "dataclasses", "hashlib"} & imported(*words)


def test_completing_a_command_is_light():
    completing = {
        "_DEQCHECK_COMPLETE": "bash_complete",
        "COMP_WORDS": "deqcheck ",
        "COMP_CWORD": "1",
    }
    assert not {"numpy", "scipy", "rich", "yaml"} & imported(**completing)


@pytest.mark.parametrize(
    "words", [["cases"], ["docs"], ["theorems"], ["validate", *ONE_FOR_EACH_MODEL]]
)
def test_what_computes_nothing_waits_for_no_scipy(words):
    assert "scipy" not in imported(*words)


def test_a_run_waits_for_no_module_that_nobody_uses():
    found = imported("run", "quickstart")
    assert "scipy.integrate" in found
    # The modules themselves are there, and empty: nothing of them is.
    assert not {n for n in found for m in postponed.MODULES if n.startswith(f"{m}.")}


def test_a_postponed_module_is_there_when_it_is_used():
    program = """\
from deqcheck import postponed
postponed.until_used()
postponed.until_used()
import sys, numpy, scipy.integrate
from numpy.testing import assert_equal
assert_equal(numpy.ma.masked_equal([1, 2], 2).sum(), 1)
assert scipy.spatial.distance.euclidean([0], [1]) == 1
from numpy.f2py import get_include
import numpy.ma.core
print(sum(type(f).__name__ == "_Postponed" for f in sys.meta_path))"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("1\n", "")


def test_a_case_imports_only_what_it_names():
    found = imported("validate", "quickstart")
    assert not {"numpy.polynomial", "difflib", "traceback", "zipfile"} & found
    papers = below(found, "deqcheck.theorems") & {
        name for name, is_folder in inside("deqcheck.theorems") if is_folder
    }
    assert papers == {"kawaguchi2021"}
    for room, kind in {"models": "delm", "losses": "square", "dynamics": "flow"}.items():
        known = {cls.__module__.split(".")[2] for cls in kinds(ROOMS[room]).values()}
        assert below(found, f"deqcheck.{room}") & known == {kind}
    # The statements named, with what they share.
    paper = "deqcheck.theorems.kawaguchi2021."
    files = {name.removeprefix(paper) for name in found if name.startswith(paper)}
    assert files == {"thm1", "cor1", "bounds", "constant", "setting"}


@pytest.mark.parametrize(("told", "threads"), [({}, 1), ({"OMP_NUM_THREADS": "2"}, 2)])
def test_one_thread_unless_told_otherwise(case, told, threads):
    environment = {name: value for name, value in os.environ.items() if name not in VARIABLES}
    done = subprocess.run(
        [*DEQCHECK, "bounds", "--init", case, "--format", "json"],
        capture_output=True,
        env=environment | told,
        check=True,
    )
    assert json.loads(done.stdout)["reports"][0]["environment"]["threads"] == threads


def test_help_summarises_every_command():
    from deqcheck.registry import modules

    text = subprocess.run([*DEQCHECK, "--help"], capture_output=True, text=True).stdout
    for name in modules("deqcheck.cli.commands"):
        (line,) = [line for line in text.splitlines() if line.startswith(f"  {name} ")]
        assert len(line.split()) > 2


def test_a_reader_that_leaves_is_no_error(case):
    run = subprocess.Popen(
        [*DEQCHECK, "run", case, "--edition", "printed"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    run.stdout.close()
    assert (run.stderr.read(), run.wait()) == (b"", 0)
    run.stderr.close()


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_full_disk_is_one_sentence(case):
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [*DEQCHECK, "run", case], stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert done.returncode == 2
    assert done.stderr == "cannot write to stdout: No space left on device\n"


def test_a_closed_stdout_is_one_sentence(case):
    command = shlex.join([*DEQCHECK, "run", case, "--format", "json"])
    done = subprocess.run(f"{command} >&-", shell=True, stderr=subprocess.PIPE, text=True)
    assert (done.returncode, done.stderr) == (2, "cannot write to stdout: it is closed\n")


def test_an_ascii_terminal_gets_ascii(case):
    environment = os.environ | {"PYTHONIOENCODING": "ascii"}
    done = subprocess.run(
        [*DEQCHECK, "run", case, "--edition", "printed"], capture_output=True, env=environment
    )
    assert done.returncode == 0
    assert b" ok " in done.stdout
    done.stdout.decode("ascii")
