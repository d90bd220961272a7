"""The monotone deep equilibrium model of the thesis: what its statements apply to."""

from __future__ import annotations

from typing import TypeAlias

from deqcheck.models import problem
from deqcheck.models.monotone_deq.model import MonotoneDeqModel
from deqcheck.models.monotone_deq.state import MonotoneDeqState
from deqcheck.theorems import base

State: TypeAlias = MonotoneDeqState
Problem: TypeAlias = problem.Problem[MonotoneDeqModel, MonotoneDeqState]


class Statement(base.Statement[MonotoneDeqModel, MonotoneDeqState]):
    models = ("monotone-deq",)
