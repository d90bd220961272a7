"""Every file of the folder `bad` with the exact messages beside it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from deqcheck.case import CaseError, read_case
from deqcheck.fields import one_of
from deqcheck.registry import kinds
from tests.families import ROOMS

BAD = Path(__file__).parent / "bad"


@pytest.mark.parametrize("path", sorted(BAD.glob("*.yaml")), ids=lambda path: path.stem)
def test_messages(path, monkeypatch):
    monkeypatch.chdir(BAD)
    with pytest.raises(CaseError) as caught:
        read_case(path.name)
    expected = path.with_suffix(".txt").read_text()
    for room in ("models", "losses", "targets", "inits", "data", "dynamics"):
        expected = expected.replace(f"<{room}>", one_of(kinds(ROOMS[room])))
    assert f"{caught.value}\n" == expected


def test_problems_carry_their_place():
    with pytest.raises(CaseError) as caught:
        read_case(BAD / "horizon.yaml")
    last = caught.value.problems[-1]
    assert (last.file, last.line, last.key) == (str(BAD / "horizon.yaml"), 7, "train.horizon")


def failure(path):
    with pytest.raises(CaseError) as caught:
        read_case(path)
    return str(caught.value)


def test_what_is_no_file(tmp_path):
    assert failure(tmp_path) == f"{tmp_path}: is a directory; expected a case file"
    assert failure(tmp_path / "x.yaml") == f"{tmp_path / 'x.yaml'}: no such file"
    assert failure("a\0b.yaml").endswith("cannot be read: not a usable path")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_no_permission(tmp_path):
    path = tmp_path / "case.yaml"
    path.touch(mode=0)
    assert failure(path) == f"{path}: cannot be read: Permission denied"


def test_not_utf8(tmp_path):
    path = tmp_path / "case.yaml"
    path.write_bytes(b"deqcheck: 1\ntitle: caf\xe9\n")
    assert failure(path) == f"{path}:2: not UTF-8 text"


def test_too_large(tmp_path):
    path = tmp_path / "case.yaml"
    path.write_text("#" * (1 << 20) + "\n")
    assert failure(path) == f"{path}: larger than 1048576 bytes; put arrays into an .npz file"
