"""One thread for small models, all cores for wide ones, and the environment's word wins."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from deqcheck.threads import VARIABLES

PROGRAM = """
import scipy.linalg
from deqcheck import threads
from threadpoolctl import threadpool_info

def found(width):
    with threads.fitting({"A": (width, 2)}):
        return {each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"}

threads.cores = lambda: 2
before = threadpool_info()
print(found(3), found(threads.WIDE), threadpool_info() == before)
"""


@pytest.mark.parametrize(("told", "small", "wide"), [("", "1", "2"), ("1", "1", "1")])
def test_the_width_decides_unless_the_environment_does(told: str, small: str, wide: str) -> None:
    environment = {name: value for name, value in os.environ.items() if name not in VARIABLES}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env=environment | {"OPENBLAS_NUM_THREADS": told},
        capture_output=True,
        text=True,
        check=True,
    )
    first, second, restored = done.stdout.split()
    assert (first, second, restored) == (f"{{{small}}}", f"{{{wide}}}", "True")
