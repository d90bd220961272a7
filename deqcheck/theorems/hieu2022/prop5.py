"""Proposition 5: gradient descent keeps the parameters within their radii."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from deqcheck.linalg import errors
from deqcheck.records.claim import Claim, Curve
from deqcheck.records.measured import EPS, Measured, stack
from deqcheck.records.trajectory import Trajectory
from deqcheck.theorems.base import CORRECTED, DESCENT, PRINTED, Check
from deqcheck.theorems.hieu2022.common import PARAMETERS, WORDS, at_start, cite, moved
from deqcheck.theorems.hieu2022.induction import Induction, Point, replay
from deqcheck.theorems.hieu2022.radii import RADII, Within, log_ratio, numbers, with_radii
from deqcheck.theorems.hieu2022.setting import Problem
from deqcheck.theorems.hieu2022.thm335 import RoomForParameters

# The smallest radii are the limit of R <- what R needs (and spares), from nearly 0 on.
TINY, SPARE, ROUNDS, MOST = 1e-290, 1.01, 200, 300.0


class ParametersStay(RoomForParameters, Within, Induction):
    """If the parameters are within their radii (Hypothesis 1) and the loss has fallen at its rate
    (Hypothesis 3) for k' = 1, ..., k, then they are within their radii at k + 1, and
    |W(k+1) - W(0)|_F <= 16 |X| r0 (3 lA^2 + 2) lU lu/(lambda0^2 m^2), where
    lA = |A(0)| + R_A, lU = |U(0)| + R_U, lu = |u(0)| + R_u.

    The text names only the two hypotheses; its proof uses the rows (3.16) for the radii and
    step <= 4/lambda0^2, without which nothing keeps step k + 1 within any ball: both are asked, the
    rest of Condition 2 is not. As printed the Frobenius norm of every parameter is moreover at
    most its lA, lU, lu (lB = |B(0)| + R_B), with the operator norm in |A(0)|, as lA is defined:
    the proof has the operator norm on both sides. Judged as far as Hypothesis 3 is known to hold,
    W and the norms on the first 100 steps (of large models 20) and at the end of the run.
    """

    id = "hieu2022/prop5"
    title = "Gradient descent keeps the parameters within their radii"
    cite = cite("Proposition 5", "(3.16), (3.21)")
    uses = ("hieu2022/condition2", "hieu2022/lem3.3.6", "hieu2022/lem3.3.7")
    dynamics = (DESCENT,)
    soundness = "typo"
    editions = (PRINTED, CORRECTED)
    searches = ()
    erratum = (
        "|A(k+1)|_F <= |A(0)| + R_A must have the operator norm on the left, as (3.21) has: "
        "n = N = 2, X = U = I, A = 0.01 I, B = u = 0, m = 0.15, labels (1e-6, 0) and radii 1e-3 "
        "satisfy all of Condition 2, and |A(1)|_F = 0.0141 > 0.011. The proof has lost lambda_0^2 "
        "in 16 lUuA/m^2 and prints lu for lU in the bound on u."
    )

    small_step = Check("step size", "step <= 4/lambda0^2", "Theorem 3.3.5")
    weights = Check(
        "W stays near its start",
        "dW <= 16*X*r0*(3*lA^2 + 2)*lU*lu/(lambda0^2*m^2)",
        "Proposition 5",
    )
    norm_of_symmetric = Check("Frobenius norm of A", "norm <= norm_0 + R", "Proposition 5")
    norm_of_skew = Check("Frobenius norm of B", "norm <= norm_0 + R", "Proposition 5")
    norm_of_inputs = Check("Frobenius norm of U", "norm <= norm_0 + R", "Proposition 5")
    norm_of_outputs = Check("Frobenius norm of u", "norm <= norm_0 + R", "Proposition 5")

    def _best(self, p: Problem) -> dict[str, float]:
        """What holds for all radii with (3.16) says most for the smallest: those that make every
        row an equality, here up to one percent; if there are none, the best."""
        given = {n: float(v) for n, v in self.fixed.items() if n in RADII}
        rows = {
            "R_A": self.room_for_symmetric,
            "R_B": self.room_for_skew,
            "R_U": self.room_for_inputs,
            "R_u": self.room_for_outputs,
        }
        radii, base = {**dict.fromkeys(RADII, TINY), **given}, numbers(at_start(p))
        if base["lambda0"] > 0 and base["r0"] > 0:
            for _ in range(ROUNDS):
                ratios = {n: log_ratio(rows[n], with_radii(base, radii)) for n in rows}
                grown = {n: np.log(SPARE * radii[n]) + ratio for n, ratio in ratios.items()}
                radii = {n: float(np.exp(min(x, MOST))) for n, x in grown.items()} | given
            if max(log_ratio(row, with_radii(base, radii)) for row in rows.values()) < 0:
                return radii
        return super()._best(p)

    def step_hypotheses(self, p: Problem) -> Iterable[Claim]:
        # With lambda0 = 0 every step is allowed, and the rows fail.
        if p.start.sigma_min_Z.low > 0:
            yield self.small_step(step=p.step, lambda0=p.start.sigma_min_Z)

    def admissible_step(self, p: Problem) -> Measured:
        return 4 / p.start.sigma_min_Z**2

    def path_hypotheses(self, p: Problem, run: Trajectory) -> Iterable[Claim | Curve]:
        yield from self.hypothesis_3(p, run)

    def conclusions(self, p: Problem, run: Trajectory) -> Iterable[Claim | Curve]:
        last = self.reach(p, run)
        for name in PARAMETERS:
            k, t, distance = moved(run, name)
            part = k <= last
            check: Check = getattr(self, f"within_{WORDS[name]}")
            R = self.radii(p)[f"R_{name}"]
            yield check.sampled(k[part], t[part], distance=distance[part], R=R)
        points = replay(p, run, last)
        k = np.array([point.k for point in points])
        dW = stack([weight_moved(p, point) for point in points])
        yield self.weights.sampled(k, k * p.step, dW=dW, **self.values(p))
        if self.printed and len(points) > 1:
            yield from self.norms(p, points)

    def norms(self, p: Problem, points: list[Point]) -> Iterable[Curve]:
        """From the first step on: nothing is said of the start."""
        k = np.array([point.k for point in points[1:]])
        for name in PARAMETERS:
            check: Check = getattr(self, f"norm_of_{WORDS[name]}")
            norm = stack([errors.frobenius(q.state.theta[name], q.slip[name]) for q in points[1:]])
            start, R = errors.norm2(p.theta0[name]), self.radii(p)[f"R_{name}"]
            yield check.sampled(k, k * p.step, norm=norm, norm_0=start, R=R)


def weight_moved(p: Problem, point: Point) -> Measured:
    """|W(k) - W(0)|_F, with dW = -(dA^T A + A^T dA) + dB - dB^T for the error of the run."""
    state = point.state
    off = p.start.W_radius + state.W_radius + EPS * errors.length(state.W)
    return errors.frobenius(state.W - p.start.W, off + point.slip_of_W())
