"""The seeded instances of the audit, and small builders for OptEq problems."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from deqcheck.fields import read_record
from deqcheck.models.opteq.model import Opteq
from deqcheck.models.problem import Params, Problem


def arrays(
    seed: int,
    m: int,
    n: int,
    d: int,
    dy: int,
    L: int,
    N: int,
    s: float = 0.9,
    bscale: float = 0.3,
) -> tuple[Params, Params]:
    """Data and parameters: W = s G/||G||, U ~ N/sqrt d, b ~ bscale N, W_o ~ N/sqrt m, X, Y ~ N."""
    r = np.random.default_rng(seed)
    Ws, Us, bs = [], [], []
    for _ in range(L):
        G = r.normal(size=(n, m))
        Ws.append(s * G / np.linalg.norm(G, 2))
        Us.append(r.normal(size=(n, d)) / np.sqrt(d))
        bs.append(bscale * r.normal(size=n))
    Wo = r.normal(size=(dy, m)) / np.sqrt(m)
    data = {"X": r.normal(size=(d, N)), "Y": r.normal(size=(dy, N))}
    return data, parameters(Ws, Us, bs, Wo)


def parameters(Ws: list, Us: list, bs: list, Wo: Any) -> Params:
    theta: Params = {}
    for letter, each in (("W", Ws), ("U", Us), ("b", bs)):
        theta |= {f"{letter}{i + 1}": np.asarray(a, dtype=float) for i, a in enumerate(each)}
    return {**theta, "Wo": np.asarray(Wo, dtype=float)}


def problem(
    data: Params, theta: Params, train: Any = None, Z0: Any = None, seed: int = 0, **fields: Any
) -> Problem:
    """The fields as a case spells them."""
    depth = sum(name.startswith("W") for name in theta) - 1
    kind = read_record(Opteq, {"depth": depth, "activation": "tanh", **fields}, Path(), "opteq")
    m = theta["Wo"].shape[1]
    start = np.zeros((m, data["X"].shape[1])) if Z0 is None else np.asarray(Z0, dtype=float)
    return Problem(kind.build({**data, "Z0": start}, None), theta, train, seed=seed)
