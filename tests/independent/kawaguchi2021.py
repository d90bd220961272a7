"""Kawaguchi 2021: every statement, at given parameters and along runs."""

from __future__ import annotations

from . import kawaguchi2021_more, kawaguchi2021_runs, kawaguchi2021_static

INSTANCES = [
    *kawaguchi2021_static.INSTANCES,
    *kawaguchi2021_runs.INSTANCES,
    *kawaguchi2021_more.INSTANCES,
]

REPLACED = "Inherited from the base class and never judged here: the hypotheses are others."
NO_BALL = "Inherited from the base class and never judged here: Corollary 1 has no ball."
OTHER = "Inherited from the base class and never judged here: the conclusions are times."
NOT_EXACT = "The infimum of the logistic loss is never an exact number."
HELD = "The same method as for the flow, where it is held."
OF_FLOWS = "Inherited from the base class and never judged here: it belongs to the flow."
EXEMPT: dict[str, dict[str, str]] = {
    "kawaguchi2021/cor1": {
        "positive": REPLACED,
        "weights_in_ball": NO_BALL,
        "map_in_ball": NO_BALL,
    },
    "kawaguchi2021/cor2": {"positive": REPLACED, "at_rest": NOT_EXACT},
    "kawaguchi2021/gd": {"at_rest": HELD, "integrated": OF_FLOWS},
    "kawaguchi2021/times": dict.fromkeys(
        ("floor", "independent", "dependent", "integrated", "at_rest"), OTHER
    ),
}
