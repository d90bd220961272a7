"""The ReLU deep equilibrium model of the paper: what its statements apply to."""

from __future__ import annotations

from typing import TypeAlias

from deqcheck.models import problem
from deqcheck.models.relu_deq.model import ReluDeqModel
from deqcheck.models.relu_deq.state import ReluDeqState
from deqcheck.theorems import base, frequency

State: TypeAlias = ReluDeqState
Problem: TypeAlias = problem.Problem[ReluDeqModel, ReluDeqState]


class Statement(base.Statement[ReluDeqModel, ReluDeqState]):
    models = ("relu-deq",)


class Draws(frequency.Frequency[ReluDeqModel, ReluDeqState]):
    """A statement that holds with some probability under Assumption 1."""

    models = Statement.models
