"""The deep equilibrium linear model (DELM) of the paper: what its statements apply to."""

from __future__ import annotations

from typing import TypeAlias

from deqcheck.models import problem
from deqcheck.models.delm.model import DelmModel
from deqcheck.models.delm.state import DelmState
from deqcheck.theorems import base

State: TypeAlias = DelmState
Problem: TypeAlias = problem.Problem[DelmModel, DelmState]


class Statement(base.Statement[DelmModel, DelmState]):
    models = ("delm",)
