"""Lemma 4: one more layer as a Gaussian matrix applied to two fixed vectors."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations, islice
from typing import NamedTuple

import numpy as np

from deqcheck.linalg import errors
from deqcheck.linalg.relu_equilibrium import relu
from deqcheck.records.claim import Claim
from deqcheck.records.measured import Measured
from deqcheck.theorems.base import CORRECTED, PRINTED, STATIC, Check
from deqcheck.theorems.ling2022.common import GIVEN, MODELS, cite
from deqcheck.theorems.ling2022.kernel import given_kernel
from deqcheck.theorems.ling2022.setting import Problem, State, Statement

LAYERS = 3
PAIRS = 20
# Less of a feature than this is no new direction.
NEW = 1e-6


class Representation(NamedTuple):
    """M (m x (2l + d)) and the two vectors with G^(l+1)_ij = relu(M h).relu(M h')."""

    M: np.ndarray
    h: np.ndarray
    h2: np.ndarray


class Lemma4(Statement):
    """With V a basis of the previous layers' features of samples i and j, p and q their features of
    layer l, p_perp and q_perp what is new in them: G^(l+1)_ij = relu(M h).relu(M h') for M = [W V,
    W p_perp/|p_perp|, W q_perp/|q_perp|] sqrt(m)/sigma_w and sqrt(d) U side by side, whose entries
    are independent N(0, 2).
    """

    id = "ling2022/lem4"
    title = "One more layer as a Gaussian matrix"
    cite = cite("Lemma 4")
    models = MODELS
    dynamics = (STATIC,)
    soundness = "typo"
    editions = (PRINTED, CORRECTED)
    erratum = (
        "M_3 and h'_3 need q_perp in place of q: as printed G^(l+1) is not reproduced (|error|/m "
        "up to 0.2 at m = 40, l = 1). M has 2l + d columns, not 2l + d + 2, and its entries are "
        "independent N(0, 2), not conditionally on the previous layers, which fix M_1 and U."
    )

    independent = Check(
        "pairs and layers with new features", "usable >= 1", "p_perp and q_perp not zero"
    )
    positive = Check("sigma_w is positive", "sigma_w2 > 0", "Assumption 1")
    reproduced = Check(
        f"the next layer is reproduced (worst of l <= {LAYERS}, at most {PAIRS} pairs)",
        "G_formula == G_next",
        "Lemma 4 (i)",
    )
    columns = Check("columns of M", "columns == 2*l + d", "Lemma 4 (ii)")
    columns_printed = Check("columns of M", "columns == 2*l + d + 2", "Lemma 4 (ii), printed")

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        s2 = p.model.sigma_w2
        yield GIVEN(given=float(s2 is not None))
        if s2 is not None:
            yield self.positive(sigma_w2=s2)
        if s2:
            yield self.independent(usable=len(usable(p, self.printed)))

    def claims(self, p: Problem, state: State) -> Iterable[Claim]:
        found = usable(p, self.printed) if p.model.sigma_w2 else {}
        if not found:
            return
        claims = [self._reproduced(p, *at, parts) for at, parts in found.items()]
        yield max(claims, key=lambda c: abs(c.left.value - c.right.value) / c.left.error)
        (layer, *_), parts = next(iter(found.items()))
        check = self.columns_printed if self.printed else self.columns
        yield check(columns=parts.M.shape[1], l=layer, d=p.model.d)

    def _reproduced(self, p: Problem, layer: int, i: int, j: int, parts: Representation) -> Claim:
        M, h, h2 = parts
        u, v = relu(M @ h), relu(M @ h2)
        Z = layers_of(p, layer + 1)[-1]
        size = float(np.linalg.norm(M) ** 2 * np.linalg.norm(h) * np.linalg.norm(h2))
        radius = errors.rounding(len(h), size)
        return self.reproduced(
            f"samples {i + 1} and {j + 1}, l = {layer}",
            G_formula=Measured(float(u @ v), radius),
            G_next=Measured(float(Z[:, i] @ Z[:, j]), radius),
        )


def layers_of(p: Problem, last: int) -> list[np.ndarray]:
    """Z^(1), ..., Z^(last)."""
    W, C = p.theta0["W"], p.theta0["U"] @ p.model.X
    found = [relu(C)]
    for _ in range(last - 1):
        found.append(relu(W @ found[-1] + C))
    return found


def usable(p: Problem, printed: bool) -> dict[tuple[int, int, int], Representation]:
    """By layer and pair of samples, wherever both samples have new features."""
    places = [
        (layer, i, j)
        for layer in range(1, LAYERS + 1)
        for i, j in islice(combinations(range(p.model.n), 2), PAIRS)
    ]
    found = ((at, representation(p, *at, printed)) for at in places)
    return {at: parts for at, parts in found if parts is not None}


def representation(p: Problem, layer: int, i: int, j: int, printed: bool) -> Representation | None:
    """None where p_perp or q_perp is zero, or too near to it to have a direction."""
    W, U, X = p.theta0["W"], p.theta0["U"], p.model.X
    (m, d), sigma = U.shape, np.sqrt(given_kernel(p.model).s2)
    *before, last = layers_of(p, layer)
    known = [Z[:, k] for Z in before for k in (i, j)]
    V = np.linalg.qr(np.stack(known, axis=1))[0] if known else np.zeros((m, 0))
    p_, q = last[:, i], last[:, j]
    p_new = _rest(p_, V)
    if not _new(p_new, p_):
        return None
    e = p_new / np.linalg.norm(p_new)
    q_new = _rest(q, np.column_stack([V, e]))
    if not _new(q_new, q):
        return None
    q_new = q if printed else q_new
    f = q_new / np.linalg.norm(q_new)
    M = np.column_stack([np.sqrt(m) / sigma * (W @ np.column_stack([V, e, f])), np.sqrt(d) * U])
    share = sigma / np.sqrt(m)
    h = np.concatenate([share * (V.T @ p_), [share * (e @ p_), 0.0], X[:, i] / np.sqrt(d)])
    h2 = np.concatenate(
        [share * (V.T @ q), [share * (e @ q), share * np.linalg.norm(q_new)], X[:, j] / np.sqrt(d)]
    )
    return Representation(M, h, h2)


def _rest(x: np.ndarray, V: np.ndarray) -> np.ndarray:
    """x without its part in the span of V; twice, because once leaves rounding behind."""
    for _ in range(2):
        x = x - V @ (V.T @ x)
    return x


def _new(rest: np.ndarray, x: np.ndarray) -> bool:
    return bool(np.linalg.norm(rest) > NEW * np.linalg.norm(x))
