"""The table of kernel eigenvalues at random initialisation that the author's public code prints."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from deqcheck.linalg.entries import euclidean
from deqcheck.linalg.late import scipy
from deqcheck.models.monotone_deq.model import MonotoneDeqModel
from deqcheck.models.monotone_deq.state import MonotoneDeqState
from deqcheck.models.problem import NoEquilibrium, Params
from deqcheck.records.claim import Claim
from deqcheck.records.measured import Measured, given
from deqcheck.seeds import rng
from deqcheck.theorems.base import STATIC, Check
from deqcheck.theorems.frequency import MISSED, Frequency
from deqcheck.theorems.hieu2022.common import cite
from deqcheck.theorems.hieu2022.setting import Problem, Statement

UNITS, INPUTS, SAMPLES, M = 500, 20, 5, 0.1
REPORTED_DRAWS = 1000


class Reported(NamedTuple):
    """Of one part of the kernel: the gradients with respect to these parameters, and what the
    table tells of the smallest eigenvalue, to three decimals."""

    parameters: tuple[str, ...]
    mean: float
    least: float


REPORTED = {
    "K": Reported(("A", "B", "U", "u"), 2.893, 1.042),
    "K_A + K_B": Reported(("A", "B"), 1.665, 0.588),
    "K_A": Reported(("A",), 0.551, 0.210),
    "K_B": Reported(("B",), 1.112, 0.378),
    "K_U": Reported(("U",), 0.925, 0.335),
    "Z^T Z": Reported(("u",), 0.254, 0.075),
}
# The risk of a false alarm, shared by all comparisons.
RISK = MISSED / (2 * len(REPORTED))


class KernelTable(Frequency[MonotoneDeqModel, MonotoneDeqState]):
    """The smallest eigenvalues of the tangent kernel and of its parts at random initialisation: 20
    inputs, 500 units, 5 samples, m = 0.1, entries of A, U and u normal with variance 1/500, B = A
    (the code draws both from one key), X uniform on [0, 1] with each of its rows scaled to norm 1.
    Of 1000 draws the code prints the mean and the smallest. Everything is drawn anew here: neither
    the data nor the start of the case enter, its sizes and its m do.

    If the draws here and there have one law, two means differ by no more than Student's quantile
    allows (as if the eigenvalues were normal), and half a unit of the table's last digit; and
    k or more of N draws lie below the smallest of 1000 others with probability (N/(1000 + N)) ...
    ((N - k + 1)/(1000 + N - k + 1)), whatever that law is.
    """

    id = "hieu2022/kernel-table"
    title = "Smallest eigenvalues of the kernel at random initialisation"
    cite = cite("public code", "table of kernel eigenvalues")
    models = Statement.models
    dynamics = (STATIC,)

    units = Check("units of the table", f"n == {UNITS}", "table")
    inputs = Check("inputs of the table", f"d == {INPUTS}", "table")
    samples = Check("samples of the table", f"N == {SAMPLES}", "table")
    monotone = Check("strong monotonicity of the table", "10*m == 1", "table")
    means = Check(
        "mean as reported",
        f"apart <= quantile*deviation*sqrt(1/draws + 1/{REPORTED_DRAWS}) + 0.0005",
        "table, mean",
    )
    least = Check("draws below the smallest reported are few", "chance >= risk", "table, smallest")

    def faults(self) -> Iterable[str]:
        yield from super().faults()
        if self.seeds < 2:
            yield f"{self.id} has seeds = {self.seeds}; expected at least 2, for a deviation"

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        yield self.units(n=len(p.theta0["A"]))
        yield self.inputs(d=p.model.d)
        yield self.samples(N=p.model.N)
        yield self.monotone(m=given(p.model.m))

    def trial(self, p: Problem, seed: int) -> Any:
        """Value and radius for each part; None where no equilibrium is found."""
        try:
            return [(m.value, m.error) for m in eigenvalues(*drawn(p.seed, f"{self.id}.{seed}"))]
        except NoEquilibrium:
            return None

    def tallies(self, p: Problem, results: Sequence[Any]) -> Iterable[Claim]:
        """A draw without eigenvalues may have had any."""
        table = np.array([[(0.0, np.inf)] * len(REPORTED) if r is None else r for r in results])
        return self.compared(table[:, :, 0], table[:, :, 1])

    def compared(self, values: np.ndarray, errors: np.ndarray) -> Iterator[Claim]:
        """From one row for each draw, a column for each part."""
        for (name, told), value, error in zip(REPORTED.items(), values.T, errors.T, strict=True):
            yield self._mean(name, told, value, error)
        for (name, told), value, error in zip(REPORTED.items(), values.T, errors.T, strict=True):
            yield self._least(name, told, value, error)

    def _mean(self, name: str, told: Reported, value: np.ndarray, error: np.ndarray) -> Claim:
        n, mean = len(value), Measured(float(np.mean(value)), float(np.mean(error)))
        note = f"{name}: {mean.value:.4g} of {n} draws, {told.mean:g} reported"
        # A standard deviation is a Euclidean length of deviations: it moves by no more than that
        # of the errors.
        moved = euclidean(error) / np.sqrt(n - 1)
        claim = self.means(
            note,
            apart=abs(mean - told.mean),
            quantile=float(scipy.special.stdtrit(n - 1, 1 - RISK / 2)),
            deviation=Measured(float(np.std(value, ddof=1)), moved),
            draws=n,
        )
        if claim.right.high < told.mean:
            return claim
        return replace(claim, note=f"{note}; so few draws would not exclude a mean of 0")

    def _least(self, name: str, told: Reported, value: np.ndarray, error: np.ndarray) -> Claim:
        # What the table rounds to a number is larger than it less half a unit.
        bound = told.least - 5e-4
        sure, maybe = (int(np.sum(v < bound)) for v in (value + error, value - error))
        low, high = (chance(k, len(value)) for k in (maybe, sure))
        below = f"{sure}" if sure == maybe else f"{sure} to {maybe}"
        note = f"{name}: {below} of {len(value)} draws below {told.least:g}"
        return self.least(note, chance=Measured((low + high) / 2, (high - low) / 2), risk=RISK)


def chance(k: int, n: int) -> float:
    """That k or more of n draws are below the smallest of 1000 others: the k smallest of all are
    among the n."""
    i = np.arange(k)
    return float(np.prod((n - i) / (REPORTED_DRAWS + n - i)))


def drawn(seed: int, name: str, same: bool = True) -> tuple[Params, np.ndarray]:
    """Parameters and samples of one draw, B = A if they are the same."""

    def normal(array: str, *shape: int) -> np.ndarray:
        found: np.ndarray = rng(seed, f"{name}.{array}").standard_normal(shape) / np.sqrt(UNITS)
        return found

    A = normal("A", UNITS, UNITS)
    theta = {
        "A": A,
        "B": A if same else normal("B", UNITS, UNITS),
        "U": normal("U", UNITS, INPUTS),
        "u": normal("u", UNITS),
    }
    X = rng(seed, f"{name}.X").random((INPUTS, SAMPLES))
    return theta, X / np.linalg.norm(X, axis=1, keepdims=True)


def eigenvalues(theta: Params, X: np.ndarray) -> list[Measured]:
    """The smallest one of each part. Raises NoEquilibrium."""
    kernel = MonotoneDeqModel(M, X, np.zeros(X.shape[1])).at(theta).kernel
    return [kernel.smallest(each.parameters) for each in REPORTED.values()]
