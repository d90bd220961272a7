"""Training any model by gradient descent or gradient flow, and recording it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from deqcheck.fields import Part, Refusal, below, show
from deqcheck.kinds import Dynamics


def read_train(train: Mapping[str, Any] | Any) -> Any:
    """Dynamics from a mapping such as `{"kind": "gd", "step": 1e-3, "steps": 200}`; an instance of
    a kind is that already. Raises Refusal."""
    if isinstance(train, Dynamics):
        return train
    if not isinstance(train, Mapping | str):
        raise Refusal("train", f"{show(train)} is no dynamics; expected a mapping with a kind")
    with below("train"):
        return Part(family=Dynamics).read(train if isinstance(train, str) else dict(train), Path())
