"""The sentences of Section 7, each for a study of one number."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from deqcheck.figures.base import Made, Setup
from deqcheck.figures.gao2022.study import Study, numbers
from deqcheck.figures.runs import at, reached
from deqcheck.records.claim import Claim
from deqcheck.records.figure import Sentence, sentence
from deqcheck.records.measured import Measured
from deqcheck.theorems.base import Check

LOWER_TRAIN = Check("train loss of the larger one is lower", "larger < smaller")
LOWER_TEST = Check("test loss of the larger one is lower", "larger < smaller")
NEAR = Check("gamma |A(k)| within a tenth of gamma, at its farthest", "farthest <= gamma/10")
RISES = Check("the largest rise of the loss in an epoch", "rise > 0")
FALLS = Check("the largest rise of the loss in an epoch", "rise <= 0")
TEST_RISES = Check("the largest rise of the test loss between two looks at it", "rise > 0")
GROWS = Check("gamma |A(k)| grows by more than a tenth of gamma", "growth > gamma/10")


class Widths(Study):
    """Larger m: faster, lower test loss, gamma |A(k)| near gamma."""

    varied, symbol = "width", "m"

    def sentences(self, s: Setup, made: Mapping[str, Made]) -> Iterable[Sentence]:
        pairs = list(self.steps_up(s, made))
        yield sentence(
            "the larger m is, the better is the rate",
            [_lower(LOWER_TRAIN, told, a, b, "loss") for told, a, b in pairs],
            f"the train loss after {s['epochs']} epochs",
        )
        yield sentence(
            "the larger m is, the lower is the test loss",
            [_lower(LOWER_TEST, told, a, b, "test") for told, a, b in pairs],
            f"the test loss after {s['epochs']} epochs",
        )
        yield sentence(
            "the operator norms change, but stay near that of the start, gamma",
            [
                NEAR(told, farthest=_farthest(run, s["gamma"]), gamma=s["gamma"])
                for told, run in made.items()
            ],
            "near is read as: within a tenth, our threshold",
        )


class Gammas(Study):
    """Larger gamma: lower losses."""

    varied, symbol = "gamma", "gamma"

    def sentences(self, s: Setup, made: Mapping[str, Made]) -> Iterable[Sentence]:
        pairs = list(self.steps_up(s, made))
        yield sentence(
            "a larger gamma gives a lower train loss",
            [_lower(LOWER_TRAIN, told, a, b, "loss") for told, a, b in pairs],
            f"after {s['epochs']} epochs",
        )
        yield sentence(
            "a larger gamma gives a lower test loss",
            [_lower(LOWER_TEST, told, a, b, "test") for told, a, b in pairs],
            f"after {s['epochs']} epochs",
        )


class Steps(Study):
    """A step above 1/N: no consistent descent, gamma |A(k)| rises fast."""

    varied, symbol = "step", "N eta"

    def shown(self, s: Setup, value: float) -> str:
        return f"{value:g} (eta = {value / s['n']:.2g})"

    def sentences(self, s: Setup, made: Mapping[str, Made]) -> Iterable[Sentence]:
        large = [f"{n} {self.symbol} = {v:g}" for n in self.images for v in self.values(s) if v > 1]
        small = [told for told in made if told not in large]
        yield sentence(
            "with eta larger than 1/N the train loss does not fall consistently",
            [RISES(told, rise=_rise(made[told], "loss")) for told in large],
            "consistently is read as: no epoch ends with a larger loss",
        )
        yield sentence(
            "with eta up to 1/N it does",
            [FALLS(told, rise=_rise(made[told], "loss")) for told in small],
            "Section 7 takes 1/N for that; consistently as above",
        )
        yield sentence(
            "the test loss is unstable for a large eta",
            [TEST_RISES(told, rise=_rise(made[told], "test")) for told in large],
            "unstable is read as: it rises between two looks at it",
        )
        yield sentence(
            "gamma |A(k)| rises fast to a rather large value for a large eta",
            [
                GROWS(told, growth=reached(made[told], "gamma0") - s["gamma"], gamma=s["gamma"])
                for told in large
            ],
            "rather large is read as: more than a tenth above gamma, our threshold; how fast it "
            "rises is not judged",
        )


def _lower(check: Check, told: str, small: Made, large: Made, name: str) -> Claim:
    return check(told, larger=at(large, -1, name), smaller=at(small, -1, name))


def _farthest(run: Made, gamma: float) -> Measured:
    away = abs(numbers(run, "gamma0") - gamma)
    worst = int(np.argmax(away.value))
    return away[worst]


def _rise(run: Made, name: str) -> Measured:
    """The largest difference of two neighbours; where rounding leaves it open, so is this."""
    value = numbers(run, name)
    steps = value[1:] - value[:-1]
    return (
        steps[int(np.argmax(steps.low))]
        if (steps.low > 0).any()
        else steps[int(np.argmax(steps.high))]
    )
