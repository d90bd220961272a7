"""Data whose features have the numerical rank that a case asks for."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from deqcheck.fields import Refusal
from deqcheck.linalg.spectra import Blurred, cut_at


class Ranked(NamedTuple):
    """The data, whether the rank of one of their arrays is smaller now, and what to say of it."""

    data: dict[str, np.ndarray]
    smaller: bool = False
    told: tuple[str, ...] = ()


def ranked(data: dict[str, np.ndarray], name: str, relative: float) -> Ranked:
    """The data without the singular values of one array that are below this share of the largest.
    Raises Refusal."""
    if not data[name].any():
        return Ranked(data)
    try:
        cut = cut_at(data[name], relative)
    except Blurred as error:
        raise Refusal("relative", f"{name}: {error}") from None
    if cut is None:
        none = f"{name}: no singular value but zeros is below {relative:g} of the largest"
        return Ranked(data, told=(f"{none}: it is taken as given",))
    same = cut.a is data[name]
    told = (
        f"{name} {'counts as a' if same else 'is replaced by the nearest'} matrix of rank "
        f"{cut.rank}, the numerical rank at {relative:g}: the largest singular value that is left "
        f"out is {cut.dropped:.0e} of the largest of all"
    )
    return Ranked({**data, name: cut.a}, True, (told,))
