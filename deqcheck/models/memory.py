"""What a run remembers of the states that it has seen: where to start, never what to answer.

The dynamics make one for each run and pass it to every evaluation, so that what is computed
depends on the run alone and not on what was asked of the model before.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from deqcheck.linalg.equilibria import Equilibria

if TYPE_CHECKING:
    import numpy as np

    from deqcheck.linalg.block_pencil import Frame
    from deqcheck.linalg.stacked import Places


@dataclass
class Memory:
    # Of ReLU models: the last equilibria, and the last norm of W.
    equilibria: Equilibria = field(default_factory=Equilibria)
    # Of the monotone model: the activation pattern of the last equilibrium.
    pattern: np.ndarray | None = None
    # Of narrow ReLU models: likewise.
    places: Places | None = None
    # Of OptEq: the last equilibrium.
    state: np.ndarray | None = None
    # Of the DELM: coordinates in which lambda_min(D) was found last.
    frame: Frame | None = None
