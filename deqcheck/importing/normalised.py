"""Weights that a checkpoint holds in parts: weight norm and spectral norm of PyTorch.

Weight norm stores g and v with w = g v/|v| (each row, or the whole), spectral norm stores w and
the vectors u, v of its last power iteration, and the model applies w/(u^T w v).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import NamedTuple

import numpy as np

from deqcheck.importing.tensor import Tensor, Unusable

Make = Callable[..., np.ndarray]


class Layout(NamedTuple):
    """The endings of the parts of a weight, and how they make one."""

    name: str
    parts: tuple[str, ...]
    make: Make


def weight_norm(g: np.ndarray, v: np.ndarray) -> np.ndarray:
    if v.ndim != 2 or g.size not in (1, len(v)):
        raise Unusable(f"a weight norm of shape {g.shape} over {v.shape} is not read here")
    each = g.size == len(v) and g.ndim == 2
    norms = np.linalg.norm(v, axis=1, keepdims=True) if each else np.linalg.norm(v)
    found: np.ndarray = g * v / norms
    return found


def spectral_norm(w: np.ndarray, u: np.ndarray, v: np.ndarray) -> np.ndarray:
    if w.ndim != 2 or u.shape != w.shape[:1] or v.shape != w.shape[1:]:
        raise Unusable(f"a spectral norm over {w.shape} is not read here")
    found: np.ndarray = w / (u @ w @ v)
    return found


NEW = "parametrizations.{}."
LAYOUTS = (
    Layout("weight norm", ("{}_g", "{}_v"), weight_norm),
    Layout("weight norm", (f"{NEW}original0", f"{NEW}original1"), weight_norm),
    Layout("spectral norm", ("{}_orig", "{}_u", "{}_v"), spectral_norm),
    Layout("spectral norm", (f"{NEW}original", f"{NEW}0._u", f"{NEW}0._v"), spectral_norm),
)


def whole(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The tensors, and the weights that their parts make, which the parts then no longer are."""
    made = {name: tensor for name, tensor, _ in _made(tensors)}
    used = {part for _, _, parts in _made(tensors) for part in parts}
    return {**{name: t for name, t in tensors.items() if name not in used}, **made}


def _made(tensors: Mapping[str, Tensor]) -> Iterator[tuple[str, Tensor, list[str]]]:
    for layout in LAYOUTS:
        for name in tensors:
            owner, _, last = name.rpartition(layout.parts[0].format("weight"))
            if last or (owner and not owner.endswith(".")):
                continue
            parts = [f"{owner}{part.format('weight')}" for part in layout.parts]
            if name != parts[0] or not all(part in tensors for part in parts):
                continue
            whole_name, held = f"{owner}weight", [tensors[part] for part in parts]
            largest = max(held, key=lambda tensor: len(tensor.shape))
            note = (
                f"{whole_name} is made of its parts under {layout.name}: statements about training "
                "see the weight itself, not its parts"
            )
            load = partial(_load, layout.make, whole_name, held)
            yield whole_name, Tensor(largest.shape, "float64", load, note), parts


def _load(make: Make, name: str, parts: list[Tensor]) -> np.ndarray:
    with np.errstate(all="ignore"):
        found: np.ndarray = make(*(part.doubles(name) for part in parts))
    return found
