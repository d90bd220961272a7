"""Parameters drawn under Assumption 1, one set for each seed."""

from __future__ import annotations

import numpy as np

from deqcheck.models.problem import Params
from deqcheck.seeds import rng
from deqcheck.theorems.ling2022.kernel import given_kernel
from deqcheck.theorems.ling2022.setting import Problem


def draw(p: Problem, seed: int, purpose: str) -> Params:
    """In the sizes of the case."""
    m, d = p.shapes["U"]
    return draw_of(p, seed, purpose, m, d)


def draw_of(p: Problem, seed: int, purpose: str, m: int, d: int, names: str = "WUa") -> Params:
    """W_ij ~ N(0, 2 sigma_w^2/m), U_ij ~ N(0, 2/d), a_i ~ N(0, 1/m), those that are named."""
    s2, shapes = given_kernel(p.model).s2, {"W": (m, m), "U": (m, d), "a": (m,)}
    scales = {"W": np.sqrt(2 * s2 / m), "U": np.sqrt(2 / d), "a": np.sqrt(1 / m)}
    return {
        name: scales[name] * rng(p.seed, f"{purpose}.{seed}.{name}").standard_normal(shapes[name])
        for name in names
    }
