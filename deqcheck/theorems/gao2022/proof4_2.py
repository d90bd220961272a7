"""A.4: the steps of the proof of Theorem 4.2, along the flow."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from deqcheck.records.claim import Claim, Curve
from deqcheck.records.trajectory import Trajectory
from deqcheck.theorems.base import CORRECTED, FLOW, PRINTED, Check
from deqcheck.theorems.gao2022.bounds import cite
from deqcheck.theorems.gao2022.induction import (
    PARAMETERS,
    SPEED,
    Induction,
    drift,
    drift_of_Z,
    room,
    slope,
)
from deqcheck.theorems.gao2022.lem4_1 import along_r, differentiable
from deqcheck.theorems.gao2022.setting import Problem
from deqcheck.theorems.gao2022.thm4_2 import FlowConditions

LATER = "r0*exp(-alpha0^2*t/4)"


class FlowInduction(Induction, FlowConditions):
    """If (i) |W| <= lambda1, |A| <= lambda2, |b| <= lambda3, (ii) sigma_N(Z) >= alpha0/2 and
    (iii) L <= exp(-alpha0^2 t/2) L(0) hold on [0, t], then on [0, t] the features and the gradients
    are bounded as in (34)-(37), W, A, b and Z are no further from their start than the integrals
    of these bounds, and H >= alpha0^2/4. Under (14) and (15) the integrals are at most C1, C2, C3
    and alpha0/2, which closes the induction. Judged as long as (i)-(iii) hold; drifts are measured
    in the Frobenius norm, which the integrals bound, too. Along kinks the flow is read with a slope
    from [0, 1], for each of which the bounds hold; dL/dt at the start needs a derivative, and is
    looked at off kinks alone.

    Printed: dL/dt = -(yhat - y)^T d yhat/dt, and |X|, the operator norm, in the bound on Z(t) -
    Z(0). Corrected: dL/dt = (yhat - y)^T d yhat/dt, and |X|_F.
    """

    id = "gao2022/proof4.2"
    title = "The induction behind Theorem 4.2"
    cite = cite("A.4", "(34)-(37)")
    dynamics = (FLOW,)
    soundness = "false"
    editions = (PRINTED, CORRECTED)
    uses = ("gao2022/lem3.1", "gao2022/lem3.2", "gao2022/gradient", "gao2022/lem4.1")
    tracks = (*Induction.tracks, "Z_fro", "Z_speed", "lambda_min_H", "gradient")
    erratum = (
        "dL/dt is (yhat - y)^T d yhat/dt, not minus that: N = d = m = 1, X = W = b = 1, A = 0, "
        "y = 0, gamma = 1/2 gives dL/dt = -9/4 and (yhat - y) d yhat/dt = -9/4. The next line of "
        "A.4, -(yhat - y)^T H (yhat - y), is right again. The bound on Z(t) - Z(0) is derived with "
        "|X|_F^2; with |X|^2, as printed, it has no proof."
    )

    so_far = Check("(iii) so far", "gap/gap_0 <= exp(-alpha0^2*t/2)", "(iii)", decays=True)
    phi = Check("Phi is bounded", "Phi_fro <= lambda1*X_fro", "(34)")
    state = Check("Z is bounded", "Z_fro <= lambda1*X_fro/(1-gamma0)", "(35)")
    b_now = slope("b", "(36)")
    b_later = slope("b", "(37)", LATER)
    w_now = slope("W", "A.4")
    w_later = slope("W", "A.4", LATER)
    a_now = slope("A", "A.4")
    a_later = slope("A", "A.4", LATER)
    b_moves = drift("b", 4, "A.4")
    w_moves = drift("W", 4, "A.4")
    a_moves = drift("A", 4, "A.4")
    speed = Check("the speed of Z", f"Z_speed <= {SPEED}*X_fro^2*{LATER}", "A.4")
    z_moves = Check("Z stays near its start", f"moved_Z <= {drift_of_Z(4)}", "A.4")
    z_moves_printed = Check(
        "Z stays near its start", f"moved_Z <= {drift_of_Z(4, 'X_norm')}", "A.4, as printed"
    )
    weyl = Check("Z stays regular", f"sigma_min_Z >= alpha0 - {drift_of_Z(4)}", "A.4, Weyl")
    gram = Check("H stays positive", "lambda_min_H >= alpha0^2/4", "A.4")
    falls = Check("the loss falls", "gradient^2 >= alpha0^2/4*residual^2", "A.4")
    sign = Check("dL/dt at the start", "-gradient^2 == r_dyhat", "A.4")
    sign_printed = Check("dL/dt at the start", "-gradient^2 == -r_dyhat", "A.4, as printed")
    b_room = room("b", 4, "(14)")
    w_room = room("W", 4, "(14)")
    a_room = room("A", 4, "(14)")
    z_room = Check("no further than alpha0/2", f"{drift_of_Z(4)} <= alpha0/2", "(15)")

    def conclusions(self, p: Problem, run: Trajectory) -> Iterable[Claim | Curve]:
        known = self.values(p)
        yield self.on(self.phi, run, {"Phi_fro": "Phi_fro"}, known)
        yield self.on(self.state, run, {"Z_fro": "Z_fro"}, known)
        if p.start.residual.high == 0:
            return
        yield from self.slopes(run, known, self._slopes("now"), self._slopes("later"))
        yield self.on(self.speed, run, {"Z_speed": "Z_speed"}, known)
        yield from self.drifts(run, known, self._drifts())
        yield self.on(self.weyl, run, {"sigma_min_Z": "sigma_min_Z"}, known)
        yield self.on(self.gram, run, {"lambda_min_H": "lambda_min_H"}, known)
        names = {"gradient": "gradient", "residual": "residual"}
        yield self.on(self.falls, run, names, known)
        if differentiable(p.start):
            sign = self.sign_printed if self.printed else self.sign
            yield sign(gradient=p.start.measure("gradient"), r_dyhat=along_r(p.start))
        yield from self.rooms(known, (self.b_room, self.w_room, self.a_room, self.z_room))

    def _slopes(self, when: str) -> Mapping[str, Check]:
        return {name: getattr(self, f"{name.lower()}_{when}") for name in PARAMETERS}

    def _drifts(self) -> Mapping[str, Check]:
        z = self.z_moves_printed if self.printed else self.z_moves
        return {"b": self.b_moves, "W": self.w_moves, "A": self.a_moves, "Z": z}
