"""What only a real process shows."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

DEQCHECK = [sys.executable, "-m", "deqcheck"]


@pytest.mark.parametrize("words", [["--version"], ["--help"]])
def test_the_start_is_light(words):
    probe = (
        "import sys\n"
        "from deqcheck.cli.main import cli\n"
        "try: cli(sys.argv[1:])\n"
        "except SystemExit as end: code = end.code\n"
        "heavy = {'numpy', 'scipy', 'rich', 'yaml'} & set(sys.modules)\n"
        "sys.exit(f'{code} {heavy}' if code or heavy else 0)\n"
    )
    done = subprocess.run([sys.executable, "-c", probe, *words], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


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


def test_an_ascii_terminal_gets_ascii(case):
    environment = os.environ | {"PYTHONIOENCODING": "ascii"}
    done = subprocess.run(
        [*DEQCHECK, "run", case, "--edition", "printed"], capture_output=True, env=environment
    )
    assert done.returncode == 0
    assert b" ok " in done.stdout
    done.stdout.decode("ascii")
