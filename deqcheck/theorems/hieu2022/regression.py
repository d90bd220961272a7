"""Section 2.6: linear regression on fixed features, and predictions at unseen inputs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction

import numpy as np

from deqcheck.linalg import errors, exact
from deqcheck.linalg.matrix import Matrix
from deqcheck.models.monotone_deq.model import MonotoneDeqModel
from deqcheck.records.claim import Claim
from deqcheck.records.tower import Again, rational
from deqcheck.seeds import rng
from deqcheck.theorems.base import CORRECTED, PRINTED, STATIC, Check
from deqcheck.theorems.hieu2022.common import MonotoneStatement, cite
from deqcheck.theorems.hieu2022.derivatives import Derivative, downhill, forced, moved_predictions
from deqcheck.theorems.hieu2022.draws import same
from deqcheck.theorems.hieu2022.setting import Problem, State
from deqcheck.theorems.hieu2022.tangents import conditioning, size, solved

# Steps after which the residual is compared.
STEPS = (1, 4, 16)
UNSEEN = 3


class LinearRegression(MonotoneStatement):
    """Descent from w = 0 on |Phi w - y|^2/(2 N) has yhat(k) - y = -(I - step K/N)^k y with
    K = Phi Phi^T, and |yhat(k) - y|^2 = sum (1 - step lambda_i/N)^(2 k) (v_i^T y)^2 in the
    eigenbasis of K. As printed the update, and so (2.13), has lost 1/N.

    Judged with Phi = Z^T, the features of the case, and half the step 1/lambda_max(K), by
    iterating w.
    """

    id = "hieu2022/eq2.13"
    title = "Residuals of linear regression"
    cite = cite("Section 2.6", "(2.13), Theorem 2.6.1")
    dynamics = (STATIC,)
    soundness = "false"
    editions = (PRINTED, CORRECTED)
    erratum = (
        "The gradient of |Phi w - y|^2/(2 N) has a factor 1/N, which the update and (2.13) have "
        "lost: Phi = I, y = (1, 1) and step 1 give yhat(1) = y/2, not y. The flow is printed "
        "dtheta/dt = +grad."
    )

    residuals_printed = Check("residuals after k steps", "left == right", "(2.13)")
    residuals = Check("residuals after k steps", "left == right", "(2.13), corrected")
    norms_printed = Check("norm of the residual", "norm == root", "after (2.13)")
    norms = Check("norm of the residual", "norm == root", "after (2.13), corrected")

    def claims(self, p: Problem, state: State) -> Iterable[Claim]:
        Phi, y, N = state.Z.T, state.y, state.N
        lambdas, basis = np.linalg.eigh(Phi @ Phi.T)
        step = 0.5 / float(lambdas[-1]) if lambdas[-1] > 0 else 1.0
        share = 1 if self.printed else N
        K = Phi @ Phi.T / share
        # What the state's error makes of step K; below 3/2, |I - step K| <= 1 of the true one, too.
        dZ = state.equilibrium.error
        dK = step / share * (2 * size(Phi) + dZ) * dZ
        off = dK * size(y) if dK < 1.5 else np.inf
        first = self.residuals_printed if self.printed else self.residuals
        second = self.norms_printed if self.printed else self.norms
        w = np.zeros(state.n)
        for k in range(1, STEPS[-1] + 1):
            w = w - step / N * (Phi.T @ (Phi @ w - y))
            if k not in STEPS:
                continue
            # |I - step K| <= 1 in both: each step rounds by n + N roundings of |y|.
            noise = errors.rounding(state.n + N, k * size(y), 16.0)
            if y.any():
                # What underflows in Phi^T (Phi w - y), and in w.
                noise += k * size(Phi) * (1 + step) * errors.UNDERFLOW
            left, right = Phi @ w - y, -np.linalg.matrix_power(np.eye(N) - step * K, k) @ y
            again, form = _iterated(state, step, k), _closed_form(state, step, k, self.printed)
            yield same(p, first, Matrix(left, noise, again), Matrix(right, noise, form), k * off)
            shrunk = (1 - step * lambdas / share) ** k * (basis.T @ y)
            norm, root = errors.frobenius(left, noise, again), errors.frobenius(shrunk, noise)
            yield replace(second(f"k = {k}", norm=norm, root=root), shared=k * off)


def _iterated(state: State, step: float, k: int) -> Again:
    """Phi w - y after k steps from w = 0, computed again."""
    Z, y = state.again.Z, state.again.y
    share, turned = rational(Fraction(step) / state.N), exact.transpose(Z)
    w = exact.array(np.zeros(state.n))
    for _ in range(k):
        residual = exact.minus(exact.product(turned, w), y)
        w = exact.minus(w, exact.scaled(share, exact.product(Z, residual)))
    return exact.minus(exact.product(turned, w), y)


def _closed_form(state: State, step: float, k: int, printed: bool) -> Again:
    """-(I - step K)^k y, computed again."""
    Z, y = state.again.Z, state.again.y
    share, turned = rational(Fraction(step) / (1 if printed else state.N)), exact.transpose(Z)
    for _ in range(k):
        y = exact.minus(y, exact.scaled(share, exact.product(turned, exact.product(Z, y))))
    return exact.scaled(exact.MINUS_ONE, y)


class UnseenInputs(Derivative):
    """Along the flow the prediction at any input x, of the samples or not, moves with
    df(x)/dt = -sum_j (yhat_j - y_j) K(x, x_j), where K(x, x') is the inner product of the
    gradients of f at x and x'. The remark has the mean of the loss over the samples, and so
    a factor 1/N on both sides. Judged at 3 drawn inputs as long as the samples are.
    """

    id = "hieu2022/unseen"
    title = "Dynamics of the prediction at unseen inputs"
    cite = cite("remark after Lemma 2.6.2")
    uses = ("hieu2022/prop4", "hieu2022/lem3.2.2")

    follows = Check("predictions at unseen inputs", "left == right", "after Lemma 2.6.2")

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        yield self.smooth(kink_margin=self.extended(p).kink_margin)

    def extended(self, p: Problem) -> State:
        """The model at the same parameters on the samples and on the drawn inputs."""
        s, model = p.start, p.model
        drawn = rng(p.seed, f"{self.id}.x").standard_normal((len(s.X), UNSEEN))
        length = size(s.X) / np.sqrt(s.N)
        X = np.hstack([s.X, drawn / np.sqrt(np.sum(drawn**2, axis=0)) * length])
        y = np.append(s.y, np.zeros(UNSEEN))
        return MonotoneDeqModel(s.m, X, y, model.solver, model.alpha).at(s.theta)

    def compared(self, p: Problem, state: State) -> Iterable[Claim]:
        more, N = self.extended(p), state.N
        down, again = downhill(state)
        dZ = solved(more, forced(more, down, again))
        tangent = (dZ.value.T @ more.u + more.Z.T @ down["u"])[N:]
        explicit = -more.kernel.K[N:, :N] @ state.r
        # |df(x)| <= |J(x)| |J^T r| for the Jacobians at the drawn inputs and at the samples.
        squares = np.diag(more.kernel.K)
        seen, drawn, r = np.sqrt(squares[:N].sum()), np.sqrt(squares[N:].sum()), size(state.r)
        noise = 8 * conditioning(more) * errors.rounding(more.n + more.N, float(seen * drawn) * r)
        noise += size(more.u) * dZ.noise
        unsure = sum(more.kernel.radii.values()) * r + size(more.u) * dZ.unsure
        unsure += drawn * (seen * state.r_radius + state.gradient_radius)
        node = last_rows(moved_predictions(more, dZ.exact, again["u"]), N, more.N)
        form = exact.scaled(exact.MINUS_ONE, exact.product(kernel_between(more, N), state.again.r))
        left, right = Matrix(tangent, noise, node), Matrix(explicit, noise, form)
        yield same(p, self.follows, left, right, 2 * float(unsure))


def last_rows(a: Again, first: int, count: int) -> Again:
    return exact.transpose(exact.columns(exact.transpose(a), first, count))


def kernel_between(state: State, N: int) -> Again:
    """The rows of K from the N-th on and its first N columns, computed again."""
    return exact.columns(last_rows(state.kernel.exact, N, state.N), 0, N)
