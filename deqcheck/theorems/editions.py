"""A statement check by check, as printed beside as corrected."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from deqcheck.frozen import dataclass
from deqcheck.theorems.base import CORRECTED, PRINTED, AnyStatement, Check
from deqcheck.theorems.roles import Role, roles


@dataclass(frozen=True)
class Row:
    """One check of a statement; None where the edition has none."""

    role: Role
    printed: Check | None
    corrected: Check | None

    @property
    def any(self) -> Check:
        found = self.corrected or self.printed
        assert found is not None
        return found

    @property
    def same(self) -> bool:
        """Whether both editions ask or claim the same."""
        pair = (self.printed, self.corrected)
        return None not in pair and len({check.formula for check in pair if check}) == 1

    def of(self, edition: str) -> Check | None:
        return self.printed if edition == PRINTED else self.corrected


def rows(
    statement: type[AnyStatement], judged: Mapping[str, Collection[str]] | None = None
) -> list[Row]:
    """What is assumed, what is claimed, what we add, in this order. Of a statement whose checks
    have been seen at work, `judged` has the names of these by edition: others are inherited and
    never asked."""
    by_edition = {
        edition: {
            check: role
            for check, role in roles(statement, edition).items()
            if not judged or role is Role.REMARK or check.name in judged.get(edition, ())
        }
        for edition in statement.editions
    }
    found = []
    for role in Role:
        sides = {
            edition: [check for check, its in checks.items() if its is role]
            for edition, checks in by_edition.items()
        }
        found += _paired(role, sides.get(PRINTED, []), sides.get(CORRECTED, []))
    return found


def _paired(role: Role, printed: list[Check], corrected: list[Check]) -> list[Row]:
    """The same check, else one with the same formula, else one that is called the same."""
    partners: dict[Check, Check] = {}
    for alike in (lambda c: c, lambda c: (c.formula, _stem(c.name)), lambda c: _stem(c.name)):
        for check in printed:
            free = [c for c in corrected if c not in partners.values()]
            partner = next((c for c in free if alike(c) == alike(check)), None)
            if check not in partners and partner is not None:
                partners[check] = partner
    alone = [c for c in corrected if c not in partners.values()]
    return [
        *(Row(role, check, partners.get(check)) for check in printed),
        *(Row(role, None, check) for check in alone),
    ]


def _stem(name: str) -> str:
    return re.sub(r",? (as )?(printed|corrected|repaired)$", "", name)
