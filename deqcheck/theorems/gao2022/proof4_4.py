"""A.6: the steps of the proof of Theorem 4.4, along gradient descent."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from deqcheck.records.claim import Claim, Curve
from deqcheck.records.trajectory import Trajectory
from deqcheck.theorems.base import CORRECTED, DESCENT, PRINTED, Check, Space
from deqcheck.theorems.gao2022.bounds import cite
from deqcheck.theorems.gao2022.induction import (
    PARAMETERS,
    Induction,
    drift,
    drift_of_Z,
    room,
    slope,
)
from deqcheck.theorems.gao2022.setting import Problem
from deqcheck.theorems.gao2022.thm4_4 import DescentConditions

LATER = "r0*sqrt(1-step*alpha0^2/4)^k"


class DescentInduction(Induction, DescentConditions):
    """If (i) |W| <= lambda1, |A| <= lambda2, |b| <= lambda3, (ii) sigma_N(Z) >= alpha0/2 and
    (iii) L <= (1 - step alpha0^2/4)^s L(0) hold for s = 0, ..., k, then for these s the features
    and the gradients are bounded as in (38)-(42), and W, A, b and Z are no further from their start
    than the sums of these bounds, since step/(1 - sqrt(1 - step alpha0^2/4)) <= 8/alpha0^2. Under
    (17)-(19) the sums are at most C1, C2, C3 and alpha0/2, which closes the induction, with (44).
    Judged as long as (i)-(iii) hold, and asked is step < 4/alpha0^2, without which the rate is no
    number below 1; drifts are measured in the Frobenius norm.

    Printed: (38) in the operator norm, and |X|, the operator norm, in the drift of A. Corrected:
    both with Frobenius norms.
    """

    id = "gao2022/proof4.4"
    title = "The induction behind Theorem 4.4"
    cite = cite("A.6", "(38)-(42), (44)")
    dynamics = (DESCENT,)
    soundness = "false"
    editions = (PRINTED, CORRECTED)
    uses = ("gao2022/lem3.1", "gao2022/lem3.2", "gao2022/gradient", "gao2022/one-step")
    tracks = (*Induction.tracks, "norm2.Phi")
    # Below two samples and inputs the two norms are one.
    space = Space(sizes={"N": (2, 2), "d": (2, 2), "m": (2, 3)})
    erratum = (
        "(38), |relu(X W)| <= lambda1 |X| in the operator norm, is false: X = I and W = [[1, 1], "
        "[1, -1]] give (1 + sqrt 5)/2 = 1.618 against sqrt 2 = 1.414, since the ReLU does not "
        "shrink operator norms; it shrinks |.|_F. What follows uses |X|_F. In the drift of A |X| "
        "stands for |X|_F."
    )

    so_far = Check("(iii) so far", "gap/gap_0 <= (1 - step*alpha0^2/4)^k", "(iii)", decays=True)
    below_four = Check("the rate is below 1", "step*alpha0^2 < 4", "(20)")
    phi = Check("Phi is bounded", "Phi_fro <= lambda1*X_fro", "(38), (34)")
    phi_printed = Check("Phi is bounded", "norm_Phi <= lambda1*X_norm", "(38), as printed")
    b_now = slope("b", "(39)")
    b_later = slope("b", "(40)", LATER)
    w_now = slope("W", "A.6")
    w_later = slope("W", "(41)", LATER)
    a_now = slope("A", "A.6")
    a_later = slope("A", "(42)", LATER)
    b_moves = drift("b", 8, "A.6")
    w_moves = drift("W", 8, "A.6")
    a_moves = drift("A", 8, "A.6")
    a_moves_printed = drift("A", 8, "A.6, as printed", "X_norm")
    z_moves = Check("Z stays near its start", f"moved_Z <= {drift_of_Z(8)}", "A.6")
    weyl = Check("Z stays regular", f"sigma_min_Z >= alpha0 - {drift_of_Z(8)}", "(44)")
    b_room = room("b", 8, "(17)")
    w_room = room("W", 8, "(17)")
    a_room = room("A", 8, "(17)")
    z_room = Check("no further than alpha0/2", f"{drift_of_Z(8)} <= alpha0/2", "(18)")

    def step_hypotheses(self, p: Problem) -> Iterable[Claim]:
        yield self.below_four(step=p.step, alpha0=p.start.sigma_min_Z)

    def conclusions(self, p: Problem, run: Trajectory) -> Iterable[Claim | Curve]:
        known = self.values(p)
        if self.printed:
            yield self.on(self.phi_printed, run, {"norm_Phi": "norm2.Phi"}, known)
        else:
            yield self.on(self.phi, run, {"Phi_fro": "Phi_fro"}, known)
        if p.start.residual.high == 0:
            return
        yield from self.slopes(run, known, self._slopes("now"), self._slopes("later"))
        yield from self.drifts(run, known, self._drifts())
        yield self.on(self.weyl, run, {"sigma_min_Z": "sigma_min_Z"}, known)
        yield from self.rooms(known, (self.b_room, self.w_room, self.a_room, self.z_room))

    def _slopes(self, when: str) -> Mapping[str, Check]:
        return {name: getattr(self, f"{name.lower()}_{when}") for name in PARAMETERS}

    def _drifts(self) -> Mapping[str, Check]:
        a = self.a_moves_printed if self.printed else self.a_moves
        return {"b": self.b_moves, "W": self.w_moves, "A": a, "Z": self.z_moves}
