"""A case to start from."""

from __future__ import annotations

from pathlib import Path

import pytest

from deqcheck.case import CaseError, build_problem, read_text

CASE = """
deqcheck: 1
title: a small case
data: {kind: gaussian, n: 5, dim: 3, target: {kind: negated-input, noise: 0.1}}
model: {kind: delm, gamma: 0.5}
init: {kind: gaussian, scale: 0.3}
"""


@pytest.fixture
def read(tmp_path):
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
