"""The ReLU implicit network of the paper: what its statements apply to."""

from __future__ import annotations

from typing import TypeAlias

from deqcheck.models import problem
from deqcheck.models.implicit_relu.model import ImplicitReluModel
from deqcheck.models.implicit_relu.state import ImplicitReluState
from deqcheck.theorems import base

State: TypeAlias = ImplicitReluState
Problem: TypeAlias = problem.Problem[ImplicitReluModel, ImplicitReluState]


class Statement(base.Statement[ImplicitReluModel, ImplicitReluState]):
    models = ("implicit-relu",)
