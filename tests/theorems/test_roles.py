"""What a statement assumes, claims and remarks: read off its code, against what is judged."""

from __future__ import annotations

import pytest

from deqcheck import registry
from deqcheck.case import evidence
from deqcheck.theorems.base import CORRECTED, FLOW, PRINTED, Check, Statement
from deqcheck.theorems.editions import rows
from deqcheck.theorems.roles import Role, roles

# Of dynamics other than descent and flow, and of the corollary that Section 3.1.4 takes up.
ELSEWHERE = {
    "all samples in each step",
    "no momentum",
    "a constant step",
    "gradients at the equilibrium",
    "each step is a gradient step",
}
OF_COROLLARY = {"Phi has rank m", "Phi has full rank", "Phi is not zero"}


def judged(id_: str) -> dict[str, set[str]]:
    return {edition: found.judged for edition, found in evidence.of(id_).items()}


@pytest.mark.parametrize("part", ["hypotheses", "conclusions"])
def test_every_check_that_a_shipped_case_judges_has_its_role(part: str) -> None:
    wanted = {"hypotheses": Role.ASSUMED, "conclusions": Role.CLAIMED}[part]
    count = 0
    for s in registry.statements().values():
        for edition, found in evidence.of(s.id).items():
            by_name: dict[str, set[Role]] = {}
            for check, role in roles(s, edition).items():
                by_name.setdefault(check.name, set()).add(role)
            known = found.parts[part] - ELSEWHERE
            if s.id == "kawaguchi2021/times":
                known -= OF_COROLLARY
            for name in known:
                assert wanted in by_name[name], (s.id, edition, name)
                count += 1
    assert count > 300


def test_every_statement_of_ours_claims_something() -> None:
    for s in registry.statements().values():
        found = rows(s, judged(s.id))
        assert any(row.role is Role.CLAIMED for row in found), s.id
        for row in found:
            assert (row.printed is None or PRINTED in s.editions) and (
                row.corrected is None or CORRECTED in s.editions
            )


class Repaired(Statement):
    """An example."""

    id, title, models, dynamics = "doe2031/thm1", "Example", ("delm",), (FLOW,)
    editions = (PRINTED, CORRECTED)
    room = Check("room", "a >= 8*b", "(1)")
    room_printed = Check("room", "a >= 4*b", "(1)")
    extra = Check("extra", "c > 0")
    rate = Check("rate", "gap <= 1")
    of_weights = Check("of A", "a <= 1")
    of_inputs = Check("of B", "b <= 1")
    ours = Check("ours", "c < 1")
    unused = Check("unused", "c < 2")

    def hypotheses(self, p):
        checks = (self.room_printed,), (self.room, self.extra)
        yield from (check() for check in checks[0 if self.printed else 1])

    def step_hypotheses(self, p):
        if self.printed:
            yield self.room_printed()
            return
        yield self.room()
        yield self._more()

    def _more(self):
        return self.extra()

    def conclusions(self, p, run):
        yield self.rate.along(run)
        for name in ("weights", "inputs"):
            yield getattr(self, f"of_{name}")()

    def remarks(self, p, run):
        yield self.ours()


class Chosen(Repaired):
    def hypotheses(self, p):
        last, repaired = self.room_printed, self.room
        other = (self.extra,)
        yield (last if self.printed else repaired)()
        yield from (() if self.printed else other)


def test_editions_are_told_apart_by_their_branches() -> None:
    found = roles(Repaired, CORRECTED)
    assert found[Repaired.rate] is found[Repaired.of_inputs] is Role.CLAIMED
    assert found[Repaired.ours] is Role.REMARK
    assert Repaired.unused not in found
    # What both branches name is read in both.
    assert Repaired.extra in roles(Repaired, PRINTED)
    assert {check.name for check in roles(Repaired, PRINTED)} >= {"gradient flow", "room", "rate"}


def test_names_that_an_edition_does_not_judge_are_left_out() -> None:
    seen = {PRINTED: {"room", "rate"}, CORRECTED: {"room", "rate", "extra"}}
    found = rows(Repaired, seen)
    (extra,) = (row for row in found if row.any.name == "extra")
    assert extra.printed is None and extra.corrected is Repaired.extra
    assert [row.role for row in found if row.any.name == "ours"] == [Role.REMARK]


def test_one_of_each_edition_makes_a_pair() -> None:
    class Clear(Repaired):
        def hypotheses(self, p):
            if self.printed:
                yield self.room_printed()
            else:
                yield self.room()
                yield self.extra()

    found = {row.any.name: row for row in rows(Clear)}
    assert found["room"].printed is Repaired.room_printed
    assert found["room"].corrected is Repaired.room and not found["room"].same
    assert found["extra"].printed is None
    assert found["rate"].same
