"""Changes of a certificate, each with its digest computed again."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

from deqcheck.certificates.write import sealed

Body = dict[str, Any]
OTHER = {"holds": "violated", "violated": "holds"}
OUTCOMES = {"confirmed": "refuted", "refuted": "confirmed", "not applicable": "confirmed"}
OUTCOMES |= {"met": "not met", "not met": "met"}


def _claims(body: Body) -> list[tuple[Body, Body]]:
    """With their verdicts: those that are decided and whose numbers are all defined."""
    return [
        (verdict, claim)
        for verdict in body["verdicts"]
        for part in ("hypotheses", "conclusions")
        for claim in verdict[part]
        if claim["decision"] in OTHER and claim["left"] is not None
        if claim["leaves"] and None not in claim["leaves"].values()
    ]


def _moved(ends: list[str]) -> list[str]:
    low, high = map(Fraction, ends)
    off = abs(low) + abs(high) + 1
    return [str(low + off), str(high + off)]


def left(body: Body, claim: Body, verdict: Body) -> bool:
    claim["left"] = _moved(claim["left"])
    return True


def right(body: Body, claim: Body, verdict: Body) -> bool:
    claim["right"] = _moved(claim["right"])
    return True


def decision(body: Body, claim: Body, verdict: Body) -> bool:
    claim["decision"] = OTHER[claim["decision"]]
    return True


def formula(body: Body, claim: Body, verdict: Body) -> bool:
    for old, new in (("<=", ">"), (">=", "<"), ("==", "<"), ("<", ">="), (">", "<=")):
        if old in claim["formula"]:
            claim["formula"] = claim["formula"].replace(old, new, 1)
            return True
    return False


def constant(body: Body, claim: Body, verdict: Body) -> bool:
    """The formula claims of one side three more."""
    claim["formula"] += " + 3"
    return True


def leaf(body: Body, claim: Body, verdict: Body) -> bool:
    """A name stands for another number."""
    name = next(iter(claim["leaves"]))
    body["rows"].append({"op": "number", "value": "-12345/7"})
    claim["leaves"][name] = len(body["rows"]) - 1
    return True


def outcome(body: Body, claim: Body, verdict: Body) -> bool:
    if verdict["outcome"] not in OUTCOMES:
        return False
    verdict["outcome"] = OUTCOMES[verdict["outcome"]]
    return True


def _rows(body: Body, key: str) -> list[Body]:
    return [row for row in body["rows"] if key in row]


def pattern(body: Body, claim: Body, verdict: Body) -> bool:
    """Every unit of every sample changes sides."""
    for row in _rows(body, "pattern")[:1]:
        row["pattern"] = [word.translate(str.maketrans("01", "10")) for word in row["pattern"]]
        return True
    return False


def unit(body: Body, claim: Body, verdict: Body) -> bool:
    """One unit of the last sample changes sides."""
    for row in _rows(body, "pattern")[:1]:
        word = row["pattern"][-1]
        row["pattern"][-1] = word[:-1] + "10"[int(word[-1])]
        return True
    return False


def witness(body: Body, claim: Body, verdict: Body) -> bool:
    for row in _rows(body, "within")[:1]:
        row["within"] = _moved(row["within"])
        return True
    return False


def state(body: Body, claim: Body, verdict: Body) -> bool:
    """The state beside which an equilibrium is said to lie."""
    for row in _rows(body, "near")[:1]:
        row["near"][0][0] = str(Fraction(row["near"][0][0]) + Fraction(1, 10**6))
        return True
    return False


def beside(body: Body, claim: Body, verdict: Body) -> bool:
    """The interval of a side begins where it ends."""
    low, high = map(Fraction, claim["left"])
    off = (high - low) or abs(high) / 10**9 or Fraction(1, 10**9)
    claim["left"] = [str(high + off), str(high + 2 * off)]
    return True


def swapped(body: Body, claim: Body, verdict: Body) -> bool:
    """Both sides and the decision."""
    if claim["left"] == claim["right"]:
        return False
    claim["left"], claim["right"] = claim["right"], claim["left"]
    return decision(body, claim, verdict)


def strict(body: Body, claim: Body, verdict: Body) -> bool:
    for old, new in (("<=", "<"), (">=", ">"), ("==", "<="), ("<", "<="), (">", ">=")):
        if old in claim["formula"]:
            claim["formula"] = claim["formula"].replace(old, new, 1)
            return True
    return False


def edition(body: Body, claim: Body, verdict: Body) -> bool:
    verdict["edition"] = {"printed": "corrected"}.get(verdict["edition"], "printed")
    return True


def equation(body: Body, claim: Body, verdict: Body) -> bool:
    claim["equation"] += " (1)"
    return True


def basis(body: Body, claim: Body, verdict: Body) -> bool:
    certified = claim["basis"].startswith("certified")
    claim["basis"] = "estimated (float64)" if certified else "certified (rational)"
    return True


def case(body: Body, claim: Body, verdict: Body) -> bool:
    """Another case is named as the one that was judged."""
    body["case"]["digest"] = "0" * 64
    return True


def share(body: Body, claim: Body, verdict: Body) -> bool:
    """A Lipschitz constant that would need 0 <= s' <= 1 and 0 <= alpha <= 1."""
    for row in _rows(body, "near")[:1]:
        row["alpha"] = "3"
        return True
    return False


def constants(body: Body, claim: Body, verdict: Body) -> bool:
    """A number that is given becomes one that the statement leaves free."""
    verdict["constants"]["slope"] = "1"
    return True


def stated(body: Body, claim: Body, verdict: Body) -> bool:
    """A number of the instance that its case does not state."""
    body["instance"]["numbers"]["gamma"] = "1/3"
    return True


def backwards(body: Body, claim: Body, verdict: Body) -> bool:
    """A name stands for the row before."""
    for name, place in claim["leaves"].items():
        if place:
            claim["leaves"][name] = place - 1
            return True
    return False


def earlier(body: Body, claim: Body, verdict: Body) -> bool:
    """A row counts from the end."""
    last = len(body["rows"])
    for place, row in enumerate(body["rows"]):
        if row.get("of"):
            row["of"] = [each - last for each in row["of"]]
            return place >= 0
    return False


def instance(body: Body, claim: Body, verdict: Body) -> bool:
    for rows in body["instance"]["arrays"].values():
        rows[0][0] = str(Fraction(rows[0][0]) + 3)
    return True


def removed(body: Body, claim: Body, verdict: Body) -> bool:
    """A check is left out."""
    for part in ("hypotheses", "conclusions"):
        verdict[part] = [each for each in verdict[part] if each is not claim]
    return True


EVERY: tuple[Callable[[Body, Body, Body], bool], ...] = (
    *(left, right, decision, formula, constant, leaf, outcome, pattern, witness, instance),
    *(removed, unit, state, beside, swapped, strict, edition, equation, constants, stated),
    *(backwards, earlier, basis, case, share),
)


def tampered(certificate: Body, which: int = 0) -> Iterator[tuple[str, Body]]:
    """By the name of the change; `which` chooses the claim that is changed."""
    for change in EVERY:
        body = copy.deepcopy(certificate["body"])
        claims = _claims(body)
        if claims:
            verdict, claim = claims[which % len(claims)]
            if change(body, claim, verdict):
                yield change.__name__, sealed(body)
