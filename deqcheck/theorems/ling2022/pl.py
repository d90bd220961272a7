"""Section 2.3: the Polyak-Lojasiewicz inequalities."""

from __future__ import annotations

from collections.abc import Iterable

from deqcheck.linalg import errors, exact
from deqcheck.linalg.matrix import Matrix
from deqcheck.records.claim import Claim, Curve
from deqcheck.records.measured import Measured, nonnegative
from deqcheck.records.trajectory import Trajectory
from deqcheck.theorems.base import CORRECTED, DESCENT, FLOW, PRINTED, STATIC, Check
from deqcheck.theorems.ling2022.adjoint import printed_H
from deqcheck.theorems.ling2022.common import MODELS, NO_KINK, cite, unique
from deqcheck.theorems.ling2022.setting import Problem, State, Statement

# The printed R is made up to this number of entries.
LARGEST = 10**7


class PolyakLojasiewicz(Statement):
    """|grad Phi|^2 = r^T H r >= 2 lambda_min(H) Phi with H = G + (G + X^T X) o S^T S, and
    lambda_min(H) >= lambda_min(G), wherever the equilibrium is the only one and Phi has a gradient.
    With one sample (4) is an equality, so is (5) where a = 0, and they are judged as such; with
    fewer units than samples lambda_min(G) = 0, and (5) says nothing. The printed edition has H with
    the R of Lemma 2 as printed, read as (a^T kron I_n) J^-1 D: (a kron I_n) has no product with
    J^-1 unless m = 1. Where m = 1 or n = 1 both are right. Remark: by Schur's product theorem even
    lambda_min(H) >= lambda_min(G) + lambda_min(G + X^T X) min_j |s_j|^2.
    """

    id = "ling2022/pl"
    uses = ("ling2022/lem2",)
    title = "Polyak-Lojasiewicz inequalities"
    cite = cite("Section 2.3", "(4), (5)")
    models = MODELS
    dynamics = (STATIC,)
    soundness = "false"
    editions = (PRINTED, CORRECTED)
    erratum = (
        "With the R of Lemma 2 as printed (read as (a^T kron I_n) J^-1 D), (4) fails: m = n = d = "
        "2, W = 0, U = I, X = [[2, 1], [1, 2]], a = (1, 1), y = (2, 4) has Phi = 1, |grad|^2 = 10 "
        "and 2 lambda_min(H) Phi = 74. With R = (I_n kron a^T) J^-1 D both sides are 10."
    )

    identity = Check("gradient as a quadratic form", "gradient^2 == quadratic_form", "(4)")
    by_h = Check("PL inequality with H", "gradient^2 >= 2*lambda_min_H*loss", "(4)")
    equal_h = Check("PL inequality with H", "gradient^2 == 2*lambda_min_H*loss", "(4), one sample")
    ordered = Check("H above G", "lambda_min_H >= sigma_min_Z^2", "(5)")
    equal = Check("H above G", "lambda_min_H == sigma_min_Z^2", "(5), H = G")
    by_gram = Check("PL inequality with G", "gradient^2 >= 2*sigma_min_Z^2*loss", "(5)")
    equal_gram = Check(
        "PL inequality with G", "gradient^2 == 2*sigma_min_Z^2*loss", "(5), one sample and H = G"
    )
    schur = Check(
        "Schur's sharpening",
        "lambda_min_H >= sigma_min_Z^2 + lambda_min_sum*shortest^2",
        "Schur product",
    )

    def unchecked(self, p: Problem) -> Iterable[str]:
        m, n = len(p.theta0["W"]), p.model.n
        if self.printed and m * n * n > LARGEST:
            yield (
                f"the printed R has {m * n * n} entries, none of them zero by structure, the limit "
                f"is {LARGEST}: a smaller instance, or the corrected edition, whose R is block "
                "diagonal"
            )

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        yield from unique(p)
        yield NO_KINK(kink_margin=p.start.kink_margin)

    def claims(self, p: Problem, state: State) -> Iterable[Claim]:
        if any(self.unchecked(p)):
            return
        H = printed_H(state) if self.printed else state.matrix_H
        gradient, sigma = state.measure("gradient"), state.sigma_min_Z
        # With a = 0 both H2 and H3 are exactly zero.
        bare = not state.a.any()
        smallest = sigma**2 if bare else self._smallest(state, H)
        yield self.identity(gradient=gradient, quadratic_form=_form(state, H))
        by_h = self.equal_h if p.model.n == 1 else self.by_h
        yield by_h(gradient=gradient, lambda_min_H=smallest, loss=state.loss)
        if not (sigma.exact and sigma.value == 0):
            ordered = self.equal if bare else self.ordered
            yield ordered(lambda_min_H=smallest, sigma_min_Z=sigma)
        by_gram = self.equal_gram if bare and p.model.n == 1 else self.by_gram
        yield by_gram(gradient=gradient, sigma_min_Z=sigma, loss=state.loss)

    def _smallest(self, state: State, H: Matrix) -> Measured:
        """H is positive semidefinite."""
        return nonnegative(H.eigenvalue(0)) if self.printed else state.lambda_min_H

    def remarks(self, p: Problem, run: Trajectory | None) -> Iterable[Claim]:
        if not self.printed:
            yield self.schur(
                lambda_min_H=p.start.lambda_min_H,
                sigma_min_Z=p.start.sigma_min_Z,
                lambda_min_sum=p.start.lambda_min_sum,
                shortest=p.start.shortest_sensitivity,
            )


class AlongRuns(Statement):
    """(4) and (5) at every step of the training: |grad Phi|^2 >= 2 lambda_min(H) Phi >= 2
    lambda_tau Phi, as long as the equilibrium is the only one. (5) needs the part of the gradient
    in a alone, so it holds at kinks, too, and along the gradient flow. With one sample (4) is an
    equality, and is not looked at; (5) is one where a = 0 as well, and the first step says nothing
    of it.
    """

    id = "ling2022/pl-run"
    uses = ("ling2022/lem2",)
    title = "Polyak-Lojasiewicz inequalities along the training"
    cite = cite("Section 2.3", "(4), (5)")
    models = MODELS
    dynamics = (DESCENT, FLOW)
    tracks = ("sigma_min_Z", "gradient", "loss", "lambda_min_H")

    by_h = Check("PL inequality with H", "gradient^2 >= 2*lambda_min_H*loss", "(4)")
    by_gram = Check("PL inequality with G", "gradient^2 >= 2*sigma_min_Z^2*loss", "(5)")
    by_gram_later = Check(
        "PL inequality with G",
        "gradient^2 >= 2*sigma_min_Z^2*loss",
        "(5), from the second step",
        starts_equal=True,
    )

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        return unique(p)

    def conclusions(self, p: Problem, run: Trajectory) -> Iterable[Curve]:
        sigma = run.series["sigma_min_Z"]
        values = {name: run.series[name].value for name in self.tracks}
        if p.model.n > 1 and not run.flow:
            yield self.by_h.sampled(sigma.k, sigma.t, **values)
        # At a = 0 the gradient is that of a alone.
        equal = p.model.n == 1 and not p.theta0["a"].any()
        by_gram = self.by_gram_later if equal else self.by_gram
        yield by_gram.sampled(sigma.k, sigma.t, **values)


def _form(state: State, H: Matrix) -> Measured:
    """r^T H r. Without read-out H = Z^T Z, which has nothing of the samples where Z is 0."""
    r, dr, size = errors.length(state.r), state.r_radius, H.size
    if not state.a.any():
        r = state.read_residual
    again = state.again.r
    node = H.exact and exact.inner(again, exact.product(H.exact, again))
    error = (2 * r + dr) * dr * H.whole + r**2 * (H.radius + errors.rounding(len(state.r), size))
    return Measured(float(state.r @ H.array @ state.r), error, again=node)
