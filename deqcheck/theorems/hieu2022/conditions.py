"""Conditions 1 and 2 can be met: small labels, a read-out that starts at zero."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

import numpy as np

from deqcheck.linalg import errors
from deqcheck.records.claim import Claim
from deqcheck.records.measured import Measured
from deqcheck.theorems.base import CORRECTED, PRINTED, STATIC, Check
from deqcheck.theorems.hieu2022.common import at_start, cite
from deqcheck.theorems.hieu2022.radii import WithRadii, log_ratio, numbers, with_radii
from deqcheck.theorems.hieu2022.setting import Problem, State
from deqcheck.theorems.hieu2022.thm331 import Condition1
from deqcheck.theorems.hieu2022.thm335 import Condition2


class Feasible(WithRadii):
    """For u(0) = 0 the rows hold for labels s y, s small enough: with R_A = max(|A|, 1), R_B = 1,
    R_U = |U| and R_u proportional to s r0, the row of R_u holds by a factor 2 and the right
    sides of all others fall like s^2.
    """

    dynamics = (STATIC,)
    searches = ()
    constants: ClassVar[Mapping[str, str]] = {}

    no_read_out = Check("u starts at zero", "norm_u == 0", "setting")
    # In the row of R_u: lambda0^2 >= factor X r0 lU/(m R_u).
    factor: ClassVar[float]
    room_for_outputs: Check

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        yield from self.independence(p)
        yield self.no_read_out(norm_u=errors.norm2(p.start.u))

    def applies(self, p: Problem) -> bool:
        return bool(p.start.sigma_min_Z.value > 0 and not p.start.u.any())

    def constants_used(self, p: Problem) -> Mapping[str, float]:
        return {**self.fixed, **self.radii(p)} if self.applies(p) else self.fixed

    def _best(self, p: Problem) -> dict[str, float]:
        return _recipe(numbers(at_start(p)), self.label_scale(p), self.factor)

    def label_scale(self, p: Problem) -> float:
        base = numbers(at_start(p))
        values = with_radii({**base, **self.extras()}, _recipe(base, 1.0, self.factor))
        worst = max(
            log_ratio(check, values)
            for check in (*self.rows(), self.room_for_skew)
            if check is not self.room_for_outputs
        )
        # 0.49: the rows need not stand at their very edge.
        return float(min(1.0, np.sqrt(0.49 / np.exp(worst))))

    def quantities(self, p: Problem) -> dict[str, Measured]:
        if not self.applies(p):
            return {}
        return {"label_scale": Measured(self.label_scale(p), 0.0)}

    def values(self, p: Problem) -> dict[str, Any]:
        small = {**at_start(p), "r0": self.label_scale(p) * p.start.residual}
        return {**with_radii(small, self.radii(p)), **self.extras()}

    def claims(self, p: Problem, state: State) -> Iterable[Claim]:
        if self.applies(p):
            yield from self.row_claims(p)


def _recipe(base: Mapping[str, float], scale: float, factor: float) -> dict[str, float]:
    need = 4 * factor * base["X"] * base["r0"] * base["norm_U"] / (base["m"] * base["lambda0"] ** 2)
    return {
        "R_A": max(base["norm_A"], 1.0),
        "R_B": 1.0,
        "R_U": base["norm_U"],
        "R_u": scale * need or 1.0,
    }


class FeasibleCondition1(Feasible, Condition1):
    __doc__ = f"Condition 1, the rows (3.8) and (3.9), can be met. {Feasible.__doc__}"

    id = "hieu2022/condition1"
    title = "Condition 1 holds for small labels"
    cite = cite("Condition 1", "(3.8), (3.9)")
    factor = 4.0


class FeasibleCondition2(Feasible, Condition2):
    __doc__ = (
        "Condition 2, the rows (3.16) to (3.18), can be met in its repaired form; as printed "
        f"(3.18) asks for more than lambda0 can be whenever 20 N m^2 >= 1. {Feasible.__doc__}"
    )

    id = "hieu2022/condition2"
    title = "Condition 2 holds for small labels (repaired); as printed it is mostly empty"
    cite = cite("Condition 2", "(3.16)-(3.18)")
    constants = {"kappa": Condition2.constants["kappa"]}
    factor = 8.0
    soundness = "vacuous"
    editions = (PRINTED, CORRECTED)
    erratum = (
        "lambda0^2 <= |Z|^2/N <= |X|^2 |U|^2/(m^2 N), while (3.18) asks for lambda0^2 >= "
        "20 |X|^2 lU^2 with lU > |U|: no instance with 20 N m^2 >= 1 satisfies it, and with the "
        "lost power of m restored none does for any m."
    )

    mean = Check("lambda0 is at most the mean", "lambda0^2 <= Z_fro^2/N", "trace")
    energy = Check("size of the equilibrium", "Z_fro <= X*norm_U/m", "Lemma 3.3.3")
    necessary = Check("(3.18) with the smallest radii", "lambda0^2 >= 20*X^2*norm_U^2", "(3.18)")

    def constants_used(self, p: Problem) -> Mapping[str, float]:
        return self.fixed if self.printed else super().constants_used(p)

    def quantities(self, p: Problem) -> dict[str, Measured]:
        return {} if self.printed else super().quantities(p)

    def claims(self, p: Problem, state: State) -> Iterable[Claim]:
        at = at_start(p)
        if self.printed:
            yield self.necessary(**at)
            return
        size = errors.frobenius(p.start.Z, p.start.equilibrium.error)
        values = {**at, "Z_fro": size, "N": p.start.N}
        yield self.mean(**values)
        yield self.energy(**values)
        yield from super().claims(p, state)
