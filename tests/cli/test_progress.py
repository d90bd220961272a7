from __future__ import annotations

import io

from deqcheck import judging
from deqcheck.cli.progress import ProgressLine
from deqcheck.dynamics.recorder import Progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


def steps(count):
    return [Progress("descent", k, 0.1 * k, k / count, 1.0 / (k + 1)) for k in range(count)]


def drawn(stream, **more):
    """The lines shown while 100 steps come at 32 a second."""
    now = iter(range(1000))
    with ProgressLine(stream=stream, clock=lambda: next(now) / 32, **more) as progress:
        for step in steps(100):
            progress(step)
    return [line.strip() for line in stream.getvalue().split("\r") if line.strip()]


def test_at_most_ten_updates_a_second():
    lines = drawn(Terminal())
    assert len(lines) == 25
    assert "descent  k = 48  t = 4.8  48%  gap 2.041e-02  0:00:02 left" in lines


def test_the_line_is_cleared_at_the_end():
    stream = Terminal()
    drawn(stream)
    last = stream.getvalue().split("\r")
    assert last[-1] == ""
    assert last[-2].strip() == ""


def test_nothing_is_shown_without_a_terminal_or_when_quiet():
    assert drawn(io.StringIO()) == []
    assert drawn(Terminal(), quiet=True) == []


def test_the_bound_is_told_where_one_is_known():
    stream = Terminal()
    with ProgressLine(stream=stream) as progress:
        progress(Progress("flow", 1, 0.5, 0.25, 1e-3, 2e-3))
    assert "gap 1.000e-03  bound 2.000e-03" in stream.getvalue()


def test_a_run_tells_the_bound_of_a_statement_that_promises_a_rate(delm, monkeypatch):
    from deqcheck.dynamics.flow import GradientFlow
    from deqcheck.theorems.kawaguchi2021.thm1 import Theorem1

    def rate(self, p):
        return self.quantities(p)["rate_independent"]

    monkeypatch.setattr(Theorem1, "guaranteed_rate", rate)
    problem = delm(train=GradientFlow(horizon=0.01))
    seen = []
    judging.run(problem, judging.Question(("kawaguchi2021/thm1",)), progress=seen.append)
    run = [step for step in seen if step.phase == "flow"]
    assert run and all(step.gap <= step.bound for step in run)
    assert seen[-1].phase == "judging kawaguchi2021/thm1"
