"""Memory that runs use again at every step."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

# How many pages are met afresh while two arrays of 3 MB are made and freed a hundred times.
FAULTS = """
import resource
import numpy as np
from deqcheck import pages
if {kept}:
    pages.kept()
def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt
def step():
    a = np.ones(400_000)
    b = a + 1
step()
before = faults()
for _ in range(100):
    step()
print(faults() - before)
"""


def _faults(kept: bool) -> int:
    command = [sys.executable, "-c", FAULTS.format(kept=kept)]
    return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="of glibc")
def test_pages_are_met_once() -> None:
    # How many there are depends on the size of a page.
    assert 10 * _faults(True) < _faults(False)
