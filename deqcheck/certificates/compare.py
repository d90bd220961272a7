"""Whether the claims of a certificate are those of the catalogue, on its own instance.

The verifier computes what the rows of a certificate say. That the rows and formulas are what the
statement means is seen here: the statements are judged again on the instance of the certificate,
and what they claim is compared with it, definition by definition.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from deqcheck import judging
from deqcheck.case import CaseError
from deqcheck.case.read import checked
from deqcheck.case.source import Source
from deqcheck.certificates.write import arrays_of, certified
from deqcheck.judging.errors import UsageError
from deqcheck.judging.question import Question
from deqcheck.models.problem import AnyProblem, NoEquilibrium
from deqcheck.records import tower
from deqcheck.records.arithmetic import OutOfRange
from deqcheck.records.words import EDITIONS
from deqcheck.verifier import WITNESSES, Wrong, fraction

Verdicts = dict[tuple[str, str], Mapping[str, Any]]


class Incomparable(Exception):
    """The statements cannot be judged here: why."""


def departures(body: Mapping[str, Any]) -> Iterator[tuple[str, str, str, str]]:
    """(statement, edition, claim, what is otherwise); the claim is empty where all are meant.
    Raises Incomparable, and Wrong where the instance is not what the case makes."""
    own = _judged_here(body)
    if body["instance"] != own["instance"]:
        yield "", "", "instance", "its numbers are not those of its case"
    if body["case"]["digest"] not in ("", own["case"]["digest"]):
        yield "", "", "case", "its digest is not that of the case"
    known: Verdicts = {(v["id"], v["edition"]): v for v in own["verdicts"]}
    theirs, mine = Definitions(body["rows"]), Definitions(own["rows"])
    if theirs.descent(body) != mine.descent(own):
        yield "", "", "", "its steps are not those of gradient descent"
    for verdict in body["verdicts"]:
        where = verdict["id"], verdict["edition"]
        if where not in known:
            yield *where, "", "it says nothing about this instance"
            continue
        for claim, what in _differences(verdict, known[where], theirs, mine):
            yield *where, claim, what


def _differences(
    verdict: Mapping[str, Any], own: Mapping[str, Any], theirs: Definitions, mine: Definitions
) -> Iterator[tuple[str, str]]:
    _same_sight(verdict["outcome"], own["outcome"])
    if verdict["outcome"] != own["outcome"]:
        yield "", f"it is {own['outcome']} here"
    for key in ("number", "constants"):
        if verdict[key] != own[key]:
            yield "", f"its {key} is {own[key]}"
    for part in ("hypotheses", "conclusions"):
        names, others = ([c["name"] for c in v[part]] for v in (verdict, own))
        if names != others:
            yield "", f"its {part} are {', '.join(others) or 'none'}"
            continue
        for claim, other in zip(verdict[part], own[part], strict=True):
            _same_sight(claim["decision"], other["decision"])
            for key in ("formula", "equation", "decision"):
                if claim[key] != other[key]:
                    yield claim["name"], f"its {key} is {other[key]}"
            # Without exact numbers here nothing is certified.
            if tower.flint() is not None and _certified(claim) != _certified(other):
                yield claim["name"], f"it is {other['basis']}"
            for key in ("moving", "points"):
                if _steps(claim.get(key)) != _steps(other.get(key)):
                    yield claim["name"], "its steps are others"
            if theirs.of(claim) != mine.of(other):
                yield claim["name"], "its numbers are defined otherwise"
            for side in ("left", "right"):
                if _apart(claim[side], other[side]):
                    yield claim["name"], f"its {side} side is elsewhere"


def _same_sight(theirs: str, mine: str) -> None:
    """Raises Incomparable where doubles leave open what exact numbers decided."""
    if tower.flint() is None and mine == "undecided" != theirs:
        raise Incomparable("doubles leave it open: pip install 'deqcheck[certify]'")


def _certified(claim: Mapping[str, Any]) -> bool:
    return str(claim["basis"]).startswith("certified")


def _steps(told: Any) -> Any:
    """Names, or the steps of points without their enclosures."""
    return told and [each[0] if isinstance(each, list) else each for each in told]


def _apart(ends: list[str] | None, others: list[str] | None) -> bool:
    """Of two enclosures of one number."""
    if ends is None or others is None:
        return ends is not others
    low, high, other_low, other_high = map(fraction, (*ends, *others))
    return low > other_high or other_low > high


class Definitions:
    """Of the rows of a table, without their witnesses."""

    def __init__(self, rows: list[Mapping[str, Any]]):
        self._digests: list[str] = []
        for row in rows:
            told = {k: v for k, v in row.items() if k not in (*WITNESSES, "of")}
            told["of"] = [self._digests[place] for place in row.get("of", ())]
            text = json.dumps(told, sort_keys=True)
            self._digests.append(hashlib.sha256(text.encode()).hexdigest())

    def of(self, claim: Mapping[str, Any]) -> dict[str, str | None]:
        return {
            name: None if place is None else self._digests[place]
            for name, place in claim["leaves"].items()
        }

    def descent(self, body: Mapping[str, Any]) -> Any:
        told = body.get("descent")
        if told is None:
            return None
        return told["step"], {n: self._digests[place] for n, place in told["gradient"].items()}


def _judged_here(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """The body of the certificate that these statements get here."""
    problem, constants = _problem(body)
    known = judging.catalogue()
    ids = tuple(dict.fromkeys(v["id"] for v in body["verdicts"]))
    unknown = [id_ for id_ in ids if id_ not in known]
    if unknown:
        raise Incomparable(f"{unknown[0]} is not in the catalogue")
    if not ids:
        raise Incomparable("it holds no verdict")
    question = Question(ids, EDITIONS, constants)
    try:
        how = {"certify": tower.flint() is not None}
        found: Mapping[str, Any] = certified(judging.run, problem, question, **how)[1]["body"]
        return found
    except (UsageError, NoEquilibrium, OutOfRange) as refused:
        raise Incomparable(str(refused)) from None


def _problem(body: Mapping[str, Any]) -> tuple[AnyProblem, Mapping[str, Any]]:
    """As its case makes it. Raises Wrong where that is another instance."""
    arrays = {name: _doubles(rows) for name, rows in body["instance"]["arrays"].items()}
    stated = {key: _stated(x) for key, x in body["case"]["stated"].items() if key != "plugins"}
    try:
        case = checked(Source(written=stated))
        found = case.problem()
    except (CaseError, OutOfRange) as refused:
        raise Incomparable(f"its case cannot be built: {refused}") from None
    own = arrays_of(found)
    if own.keys() != arrays.keys() or any(
        not np.array_equal(own[name].reshape(a.shape), a) for name, a in arrays.items()
    ):
        raise Wrong("the arrays of the instance are not those that its case makes")
    return found, case.question.constants


def _stated(x: Any) -> Any:
    """JSON has no infinity: reports write its name."""
    if isinstance(x, Mapping):
        return {key: _stated(each) for key, each in x.items()}
    return float(x) if x in ("inf", "-inf") else x


def _doubles(rows: list[list[str]]) -> np.ndarray:
    exact = [[fraction(x) for x in row] for row in rows]
    found = np.array([[float(x) for x in row] for row in exact])
    if any(Fraction(float(x)) != x for row in exact for x in row):
        raise Wrong("a number of the instance is no double")
    return found
