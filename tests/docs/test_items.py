"""The map from each paper's numbered items to statements is complete, and names what there is."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from deqcheck import registry
from deqcheck.case import embedded
from deqcheck.docs.items import written

# What the papers number, as they number it.
ITEMS = {
    "kawaguchi2021": (
        "Definition 1; Proposition 1; Theorem 1-2; Corollary 1-2; (1)-(37); Figure 1-8"
    ),
    "ling2022": (
        "Assumption 1-2; Definition 1; Condition 1; Lemma 1-4; Theorem 1-5; (1)-(14); Figure 1"
    ),
    "hieu2022": (
        "Definition 2.3.1; Definition 2.5.1-2.5.3; Definition 2.6.1-2.6.2; Definition 3.2.1; "
        "Problem 1; Proposition 1-6; Conjecture 1; Condition 1-2; Hypothesis 1-3; "
        "Lemma 2.3.1-2.3.2; Lemma 2.5.2; Lemma 2.6.2; Lemma 3.2.1-3.2.3; Lemma 3.3.2-3.3.4; "
        "Lemma 3.3.6-3.3.10; Lemma C.0.1-C.0.6; Theorem 2.5.1; Theorem 2.5.3-2.5.4; "
        "Theorem 2.6.1; Theorem 2.6.3-2.6.4; Theorem 3.3.1; Theorem 3.3.5; Theorem A.0.1; "
        "Theorem B.0.1; (2.1)-(2.14); (3.1)-(3.21); (4.1)-(4.2); Table 1.1; Figure 1.1; "
        "Figure 3.1; Figure 4.1-4.5; Figure B.1"
    ),
    "gao2022": (
        "Lemma 3.1-3.2; Lemma 4.1; Theorem 4.2; Lemma 4.3; Theorem 4.4; Lemma 5.1; (1)-(44); "
        "Figure 1-6; Table 1"
    ),
    "xie2021": (
        "Assumption 1-5; Lemma 1-19; Theorem 1-5; Corollary 1; Remark 1-2; (1)-(32); Table 1-3"
    ),
}
KIND = (
    r"(?:Definition|Problem|Proposition|Conjecture|Condition|Hypothesis|Lemma|Theorem|Corollary"
    r"|Assumption|Remark|Figure|Table)"
)
NUMBER = r"(?:[A-D]\.)?\d+(?:\.\d+)*"
RANGE = re.compile(rf"({KIND}) ({NUMBER})(?:-({NUMBER}))?|\(({NUMBER})\)(?:-\(({NUMBER})\))?")


def numbered(text: str) -> Iterator[str]:
    """`Lemma 1-3` and `(1)-(3)` are three items each; only the last part of a number runs."""
    for kind, first, last, left, right in RANGE.findall(text):
        head, _, tail = (first or left).rpartition(".")
        end = (last or right or first or left).rpartition(".")[2]
        for i in range(int(tail), int(end) + 1):
            number = f"{head}.{i}" if head else str(i)
            yield f"{kind} {number}" if kind else f"({number})"


def rows(paper: str) -> list[list[str]]:
    lines = written()[paper].splitlines()
    table = [line for line in lines if line.startswith("|")][2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table]


@pytest.mark.parametrize("paper", sorted(ITEMS))
def test_every_item_is_there(paper: str) -> None:
    found = {item for row in rows(paper) for cell in row[:2] for item in numbered(cell)}
    missing = [item for item in numbered(ITEMS[paper]) if item not in found]
    assert not missing


@pytest.mark.parametrize("paper", sorted(ITEMS))
def test_every_row_says_what_judges_it_or_why_nothing_does(paper: str) -> None:
    known = {*registry.statements(), *embedded.names()}
    for row in rows(paper):
        assert len(row) == 3 and all(row), row
        named = re.findall(rf"\b{paper}/[\w./-]+\w", row[2])
        assert set(named) <= known, set(named) - known
        assert named or len(row[2]) > 4, row


def test_ranges() -> None:
    assert list(numbered("Lemma 3.3.8-3.3.10, (26)-(28)")) == [
        "Lemma 3.3.8",
        "Lemma 3.3.9",
        "Lemma 3.3.10",
        "(26)",
        "(27)",
        "(28)",
    ]
    assert list(numbered("Lemma C.0.1")) == ["Lemma C.0.1"]
