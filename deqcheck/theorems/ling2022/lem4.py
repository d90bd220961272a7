"""Lemma 4: one more layer as a Gaussian matrix applied to two fixed vectors."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations, islice
from typing import NamedTuple

import numpy as np

from deqcheck.linalg import errors
from deqcheck.linalg.entries import euclidean
from deqcheck.linalg.relu_equilibrium import relu
from deqcheck.records.claim import Claim
from deqcheck.records.measured import Measured, given
from deqcheck.theorems.base import CORRECTED, PRINTED, STATIC, Check, Space
from deqcheck.theorems.ling2022.common import MODELS, cite, worst
from deqcheck.theorems.ling2022.kernel import given_kernel
from deqcheck.theorems.ling2022.setting import Problem, State, Statement, without_sigma

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
    """With V a basis of the previous layers' features of samples i and j, p and q what is new in
    their features of layer l, q_perp the part of q orthogonal to p: G^(l+1)_ij = relu(M h).
    relu(M h') for M = [W V, W p/|p|, W q_perp/|q_perp|] sqrt(m)/sigma_w and sqrt(d) U side by
    side, and h.h' = sigma_w^2 G^(l)_ij/m + x_i.x_j/d. Printed is q in place of q_perp in M and h',
    and M with 2l + d + 2 columns. That the entries of M are independent N(0, 2) is a law over
    draws, ling2022/lem4-law: on one start it is not judged.
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

    # Two samples need features that the layers before lack.
    space = Space({"n": (2, 3), "m": (4, 6), "d": (2, 3)}, {"sigma_w2": ()})

    independent = Check(
        "pairs and layers with new features", "usable >= 1", "p and q_perp not zero"
    )
    positive = Check("sigma_w is positive", "sigma_w2 > 0", "M has 1/sigma_w")
    reproduced = Check(
        f"the next layer is reproduced (worst of l <= {LAYERS}, at most {PAIRS} pairs)",
        "G_formula == G_next",
        "Lemma 4 (i)",
    )
    product = Check("product of h and h'", "product == sigma_w2/m*G + xi", "Lemma 4 (i)")
    columns = Check("columns of M", "columns == 2*l + d", "Lemma 4 (ii)")
    columns_printed = Check("columns of M", "columns == 2*l + d + 2", "Lemma 4 (ii), printed")

    def unchecked(self, p: Problem) -> Iterable[str]:
        return without_sigma(p)

    def hypotheses(self, p: Problem) -> Iterable[Claim]:
        s2 = p.model.sigma_w2
        if s2 is not None:
            yield self.positive(sigma_w2=given(s2))
        if s2:
            yield self.independent(usable=len(usable(p, self.printed)))

    def claims(self, p: Problem, state: State) -> Iterable[Claim]:
        found = usable(p, self.printed) if p.model.sigma_w2 else {}
        if not found:
            return
        yield worst([self._reproduced(p, *at, parts) for at, parts in found.items()])
        yield worst([self._product(p, *at, parts) for at, parts in found.items()])
        (layer, *_), parts = next(iter(found.items()))
        check = self.columns_printed if self.printed else self.columns
        yield check(columns=parts.M.shape[1], l=layer, d=p.model.d)

    def _reproduced(self, p: Problem, layer: int, i: int, j: int, parts: Representation) -> Claim:
        M, h, h2 = parts
        u, v = relu(M @ h), relu(M @ h2)
        *_, before, Z = layers_of(p, layer + 1)
        du, dv = (_noise(p, before[:, s], p.model.X[:, s], len(h)) for s in (i, j))
        radius = euclidean(v) * du + (euclidean(u) + du) * dv
        return self.reproduced(
            f"samples {i + 1} and {j + 1}, l = {layer}",
            G_formula=Measured(float(u @ v), radius),
            G_next=Measured(float(Z[:, i] @ Z[:, j]), radius),
        )

    def _product(self, p: Problem, layer: int, i: int, j: int, parts: Representation) -> Claim:
        """Rounded on the scale of |h| |h'|."""
        (m, d), Z, X = p.theta0["U"].shape, layers_of(p, layer)[-1], p.model.X
        size = euclidean(parts.h) * euclidean(parts.h2)
        G = float(np.linalg.norm(Z[:, i]) * np.linalg.norm(Z[:, j]))
        xi = float(np.linalg.norm(X[:, i]) * np.linalg.norm(X[:, j])) / d
        return self.product(
            f"samples {i + 1} and {j + 1}, l = {layer}",
            product=Measured(float(parts.h @ parts.h2), errors.rounding(m + len(parts.h), size)),
            sigma_w2=p.model.sigma_w2,
            m=m,
            G=Measured(float(Z[:, i] @ Z[:, j]), errors.rounding(m, G)),
            xi=Measured(float(X[:, i] @ X[:, j]) / d, errors.rounding(d, xi)),
        )


def _noise(p: Problem, z: np.ndarray, x: np.ndarray, count: int) -> float:
    """Rounding of M h = W z + U x, each term on its own scale."""
    W, U, z_size, x_size = (errors.length(a) for a in (p.theta0["W"], p.theta0["U"], z, x))
    return errors.rounding(len(z) + count, W * z_size + U * x_size)


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
    """None where p or q_perp is zero, or too near to it to have a direction; printed q."""
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
    q_new = _rest(q, V if printed else np.column_stack([V, e]))
    if not _new(q_new, q):
        return None
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
