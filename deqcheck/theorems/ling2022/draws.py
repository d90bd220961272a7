"""Parameters drawn under Assumption 1, one set for each seed."""

from __future__ import annotations

import numpy as np

from deqcheck.models.problem import Params
from deqcheck.seeds import rng
from deqcheck.theorems.ling2022.kernel import given_kernel
from deqcheck.theorems.ling2022.setting import Problem


def draw(p: Problem, seed: int, purpose: str) -> Params:
    """W_ij ~ N(0, 2 sigma_w^2/m), U_ij ~ N(0, 2/d), a_i ~ N(0, 1/m), in the sizes of the case."""
    (m, d), s2 = p.theta0["U"].shape, given_kernel(p.model).s2
    scales = {"W": np.sqrt(2 * s2 / m), "U": np.sqrt(2 / d), "a": np.sqrt(1 / m)}
    return {
        name: scale * rng(p.seed, f"{purpose}.{seed}.{name}").standard_normal(p.shapes[name])
        for name, scale in scales.items()
    }
