"""How a text is to look; decided by the command line, obeyed by the formats."""

from __future__ import annotations

from deqcheck.frozen import dataclass


@dataclass(frozen=True)
class RenderOptions:
    width: int = 80
    color: bool = False
    unicode: bool = True
    quiet: bool = False
    # Whether the formula of each check is shown.
    formulas: bool = False
    # Which table a CSV is: checks, verdicts or trajectory.
    table: str = "checks"
    # Version of the JSON report.
    schema: int = 2
