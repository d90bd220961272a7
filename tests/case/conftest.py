"""A case to start from, and a catalogue of theorems that does not grow."""

from __future__ import annotations

from pathlib import Path

import pytest

from deqcheck.case import CaseError, build_problem, read_text, schema
from deqcheck.theorems.base import CORRECTED, DESCENT, FLOW, PRINTED, Statement

CASE = """
deqcheck: 1
title: a small case
data: {kind: gaussian, n: 5, dim: 3, target: {kind: negated-input, noise: 0.1}}
model: {kind: delm, gamma: 0.5}
init: {kind: gaussian, scale: 0.3}
"""


@pytest.fixture
def catalogue(monkeypatch):
    delm = {"models": ("delm",), "dynamics": (FLOW,)}
    implicit = {"models": ("implicit-relu",), "dynamics": (FLOW, DESCENT)}
    known = {
        "kawaguchi2021/thm1": delm | {"constants": {"kappa": "of the loss"}},
        "kawaguchi2021/cor1": delm | {"editions": (PRINTED, CORRECTED)},
        "gao2022/thm4.4": implicit | {"constants": {"C": "any"}},
    }
    made = {name: type("Known", (Statement,), {"id": name, **more}) for name, more in known.items()}
    monkeypatch.setattr(schema, "_known_statements", lambda: made)


@pytest.fixture
def read(tmp_path, catalogue):
    def read(*overrides, text=CASE, folder=tmp_path, seed=None):
        return read_text(text, "case.yaml", Path(folder), overrides, seed)

    return read


@pytest.fixture
def messages(read):
    """What is wrong with a case, when it is read or when it is built."""

    def messages(*overrides, **options):
        with pytest.raises(CaseError) as caught:
            build_problem(read(*overrides, **options))
        return str(caught.value).splitlines()

    return messages
