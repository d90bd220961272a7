from __future__ import annotations

import io

import pytest

from deqcheck.cli.output import options_of_stdout


class Terminal(io.TextIOWrapper):
    def isatty(self):
        return True


@pytest.fixture
def terminal(monkeypatch):
    """A terminal of the given encoding, and an environment that says nothing about colours."""
    for name in ("NO_COLOR", "TERM", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)

    def install(encoding="utf-8", **environment):
        monkeypatch.setattr("sys.stdout", Terminal(io.BytesIO(), encoding))
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        return options_of_stdout()

    return install


def test_colours_are_for_terminals_that_want_them(terminal):
    assert terminal().color
    assert not terminal(NO_COLOR="1").color


def test_a_dumb_terminal_gets_none(terminal):
    assert not terminal(TERM="dumb").color


@pytest.mark.parametrize(("encoding", "unicode"), [("utf-8", True), ("ascii", False)])
def test_signs_follow_the_encoding(terminal, encoding, unicode):
    assert terminal(encoding).unicode is unicode


@pytest.mark.parametrize(("columns", "width"), [("20", 60), ("90", 90), ("400", 100)])
def test_the_width_follows_the_terminal_within_reason(terminal, columns, width):
    assert terminal(COLUMNS=columns).width == width


def test_a_pipe_is_plain_and_eighty_wide(monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(io.BytesIO(), "utf-8"))
    assert (options_of_stdout().color, options_of_stdout().width) == (False, 80)
