"""LAPACK's routines are those of scipy.linalg, whichever of the two is imported first."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import scipy.linalg

from deqcheck.linalg import lapack

NAMES = ("dgesv", "dgetrf", "dgetrs", "dpotrf")
SAME = (
    "a = [[2.0, 1.0], [1.0, 3.0]]\n"
    f"for name in {NAMES}:\n"
    "    assert getattr(lapack, name).__doc__ == getattr(scipy.linalg.lapack, name).__doc__\n"
    "assert (lapack.dpotrf(a)[0] == scipy.linalg.lapack.dpotrf(a)[0]).all()\n"
    "assert (lapack.dgetrf(a)[0] == scipy.linalg.lu_factor(a)[0]).all()\n"
)
ALONE = (
    "import sys\nfrom deqcheck.linalg import lapack\nlapack.dgetrf\n"
    "assert 'scipy.linalg' not in sys.modules\nimport scipy.linalg\n"
)


@pytest.mark.parametrize(
    "first", [ALONE, "import scipy.linalg\nfrom deqcheck.linalg import lapack\n"]
)
def test_it_is_that_of_scipy(first: str) -> None:
    done = subprocess.run([sys.executable, "-c", first + SAME], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_where_the_extension_is_missing_scipy_linalg_serves(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(lapack, "EXTENSION_SUFFIXES", ())
    monkeypatch.delitem(sys.modules, "scipy.linalg._flapack")
    assert lapack._routines.__wrapped__() is scipy.linalg.lapack


@pytest.mark.parametrize("trans", [0, 1])
@pytest.mark.parametrize("shape", [(5,), (5, 3)])
def test_solved(trans: int, shape: tuple[int, ...]) -> None:
    r = np.random.default_rng(0)
    factors, right = scipy.linalg.lu_factor(r.normal(size=(5, 5))), r.normal(size=shape)
    expected = scipy.linalg.lu_solve(factors, right, trans)
    assert np.array_equal(lapack.solved(*factors, right, trans), expected)
    right[0] = np.nan
    with pytest.raises(ValueError, match="infs or NaNs"):
        lapack.solved(*factors, right, trans)
