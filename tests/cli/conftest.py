from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from deqcheck.cli.main import cli

CASE = """\
deqcheck: 1
title: small DELM
seed: 0
data: {kind: gaussian, n: 6, dim: 2, target: {kind: negated-input, noise: 0.1}}
model: {kind: delm, gamma: 0.5}
init: {kind: gaussian, scale: 0.3}
train: {kind: gd, step: 1e-3, steps: 5}
"""


@pytest.fixture
def case(tmp_path: Path) -> str:
    path = tmp_path / "small.yaml"
    path.write_text(CASE)
    return str(path)


@pytest.fixture
def deqcheck():
    """Calls the command line within the process."""

    def call(*words: str):
        return CliRunner().invoke(cli, list(words), prog_name="deqcheck")

    return call
