"""What can be measured of each model, from a small instance of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from deqcheck.case import read_text
from deqcheck.docs import Cases
from deqcheck.kinds import Model
from deqcheck.registry import kinds

TOPIC = "measures"
TITLE = "What each model measures"
INTRODUCTION = f"""\
# {TITLE}

`p.start.measure("loss")` is a number with its error bar; `tracks = ("loss",)` has it recorded along
a run, as `run.series["loss"]`. Which of them there are may depend on the fields of the model. The
values are those of the case that `deqcheck new case FILE.yaml --model KIND` writes.
"""


def titles() -> dict[str, str]:
    return {TOPIC: TITLE}


def render(topic: str, cases: Cases) -> str:
    return "\n".join([INTRODUCTION, *_models()])


def _models() -> Iterator[str]:
    for kind, model in kinds(Model).items():
        if model.example:
            yield f"## {kind}\n"
            text = f"deqcheck: 1\n{model.example}\n"
            start = read_text(text, kind, Path()).problem().start
            for name in start.names:
                yield f"- `{name}`: {_shown(start.measure(name).value)}"
            yield ""


def _shown(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else "one for each sample"
