"""The OptEq network of the paper: what its statements apply to."""

from __future__ import annotations

from typing import TypeAlias

from deqcheck.models import problem
from deqcheck.models.opteq.model import OpteqModel
from deqcheck.models.opteq.state import OpteqState
from deqcheck.theorems import base

State: TypeAlias = OpteqState
Problem: TypeAlias = problem.Problem[OpteqModel, OpteqState]


class Statement(base.Statement[OpteqModel, OpteqState]):
    models = ("opteq",)
