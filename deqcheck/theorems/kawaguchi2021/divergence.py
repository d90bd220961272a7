"""Appendix C: without the softmax the iteration can diverge."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from deqcheck.frozen import dataclass
from deqcheck.linalg import exact
from deqcheck.linalg.errors import lapack, length
from deqcheck.linalg.late import scipy
from deqcheck.linalg.matrix import instance
from deqcheck.models.delm.model import DelmModel
from deqcheck.models.delm.state import DelmState
from deqcheck.records.claim import Claim
from deqcheck.records.measured import EPS, Measured, between, given, minimum
from deqcheck.records.tower import Again, rational
from deqcheck.records.trajectory import Trajectory
from deqcheck.theorems.base import STATIC, Check
from deqcheck.theorems.kawaguchi2021.bounds import cite
from deqcheck.theorems.kawaguchi2021.setting import Problem, Statement

# Even: then |mu^(l+1) - 1| has room above |mu|^(l+1) - 1 for a negative mu, too.
ITERATES = (2, 8, 16)
# Powers of A by which its eigenvalues are bounded.
POWERS = 8


class Divergence(Statement):
    """With A in the place of softmax(A), the iterates z_l = gamma A z_(l-1) + phi from z_0 = phi
    can diverge once the operator norm of A is not bounded by one.

    They do where an eigenvalue lambda of A has |gamma lambda| > 1 and the left eigenvector w of
    length 1 sees the features: w . z_l = (w . phi) (mu^(l+1) - 1)/(mu - 1) with mu = gamma lambda,
    so |z_l| >= |w . phi| (|mu|^(l+1) - 1)/(|mu| + 1), which has no limit. These are the hypotheses;
    lambda is the largest eigenvalue. A norm above one alone is not enough: for
    A = [[0, 2], [0, 0]], z_l is the same from l = 1 on. With the softmax the same iterates stay
    below |phi|_1/(1 - gamma) (Proposition 1).
    """

    id = "kawaguchi2021/divergence"
    title = "Without the softmax the iteration can diverge"
    cite = cite("Appendix C", "existence of the limit")
    dynamics = (STATIC,)
    uses = ("kawaguchi2021/prop1",)

    unbounded = Check("the norm of A exceeds one", "norm_A > 1", "Appendix C")
    expands = Check("an eigenvalue expands", "gamma*lambda_A > 1", "Appendix C")
    excited = Check("the features are seen by it", "seen > 0", "Appendix C")
    grows = Check(
        "an iterate without the softmax",
        "norm_z >= seen*((gamma*lambda_A)^(l+1) - 1)/(gamma*lambda_A + 1)",
        "Appendix C",
    )
    bounded = Check(
        "an iterate with the softmax", "norm1_z <= norm1_phi/(1-gamma)", "Proposition 1"
    )

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        mode = Mode.of(p)
        A = instance(p.start.A)
        # Each of the three is an operator norm of A.
        yield self.unbounded(norm_A=minimum(A.norm1(), A.norm2(), A.norm_inf()))
        yield self.expands(gamma=given(p.model.gamma), lambda_A=mode.size)
        yield self.excited(seen=mode.seen)

    def claims(self, p: Problem, state: DelmState) -> Iterable[Claim]:
        mode, gamma = Mode.of(p), given(p.model.gamma)
        phi = p.model.outer.Phi[:, mode.sample]
        for count in ITERATES:
            yield self.grows(
                f"l = {count}",
                norm_z=_iterated(p.model, state.A, state.again.A, phi, count),
                seen=mode.seen,
                gamma=gamma,
                lambda_A=mode.size,
                l=count,
            )

    def remarks(self, p: Problem, run: Trajectory | None) -> Iterable[Claim]:
        """The same sample with the softmax."""
        phi = p.model.outer.Phi[:, Mode.of(p).sample]
        S = p.start.again.S
        last = _iterated(p.model, p.start.S, S, phi, ITERATES[-1], 1)
        size = instance(phi).norm1()
        yield self.bounded(norm1_z=last, norm1_phi=size, gamma=given(p.model.gamma))


@dataclass(frozen=True)
class Mode:
    """The largest eigenvalue of A in modulus, and the sample that its left eigenvector sees."""

    size: Measured
    sample: int
    seen: Measured

    @classmethod
    def of(cls, p: Problem) -> Mode:
        A, Phi = p.start.A, p.model.outer.Phi
        values, left, right = scipy.linalg.eig(A, left=True)
        at = int(np.argmax(np.abs(values)))
        # First-order perturbation: |A| times the backward error, over the cosine of w and the right
        # eigenvector; of the eigenvector over the gap to the other eigenvalues as well.
        w, off = left[:, at], lapack(A.shape, length(A))
        cosine = abs(complex(np.vdot(w, right[:, at])))
        others = np.abs(np.delete(values, at) - values[at]).min(initial=np.inf)
        bar = 2 * off / cosine if cosine > 0 else np.inf
        turned = 2 * bar / others + EPS * len(A) if others > 0 else np.inf
        amplitude = np.abs(w.conj() @ Phi)
        sample = int(np.argmax(amplitude))
        error = (turned + EPS * len(A)) * float(np.linalg.norm(Phi[:, sample]))
        size = _at_most(Measured(float(abs(values[at])), bar), _radius(A))
        size = replace(size, again=exact.spectral_radius(p.start.again.A))
        return cls(size, sample, Measured(float(amplitude[sample]), float(error)))


def _radius(A: np.ndarray) -> float:
    """An upper bound of every eigenvalue, whatever the eigenvectors are: |A^k|^(1/k) (Gelfand)."""
    power, size, found = np.eye(len(A)), 1.0, np.inf
    moduli = np.abs(A)
    for k in range(1, POWERS + 1):
        power, size = power @ A, size * float(moduli.sum(axis=0).max())
        largest = float(np.abs(power).sum(axis=0).max()) + 2 * k * len(A) * EPS * size
        found = min(found, largest ** (1 / k) * (1 + 8 * EPS))
        if largest == 0:
            break
    return found


def _at_most(x: Measured, high: float) -> Measured:
    """A number that is not negative, of which an upper bound is known as well."""
    low = max(float(x.low), 0.0)
    return x if x.high <= high or low > high else between(low, high)


def _iterated(
    model: DelmModel, M: np.ndarray, node: Again, phi: np.ndarray, count: int, order: int = 2
) -> Measured:
    """|z_count| for z_l = gamma M z_(l-1) + phi from z_0 = phi. Every iterate rounds m + 2 times,
    and the same iteration with moduli bounds what comes of that."""
    scaled = model.gamma * M
    z, size = phi, np.abs(phi)
    for _ in range(count):
        z, size = scaled @ z + phi, np.abs(scaled) @ size + np.abs(phi)
    lost = 2 * (count + 1) * (len(phi) + 2) * EPS * float(np.linalg.norm(size, order))
    last = _last(exact.scaled(rational(model.gamma), node), exact.array(phi), count)
    norm = exact.norm1(last) if order == 1 else exact.frobenius(last)
    return Measured(float(np.linalg.norm(z, order)), lost, again=norm)


def _last(M: Again, phi: Again, count: int) -> Again:
    z = phi
    for _ in range(count):
        z = exact.plus(exact.product(M, z), phi)
    return z
