"""What a case expects to come out."""

from __future__ import annotations

from collections.abc import Mapping


class Expectations(dict[str, str | Mapping[str, str]]):
    """Outcomes by statement, one word for every edition or a word for each; and, under `status`,
    how the run ends."""

    STATUS = "status"

    @property
    def status(self) -> str | None:
        word = self.get(self.STATUS)
        return word if isinstance(word, str) else None

    @property
    def outcomes(self) -> dict[str, str | Mapping[str, str]]:
        return {id_: entry for id_, entry in self.items() if id_ != self.STATUS}

    def of(self, id_: str, edition: str) -> str | None:
        entry = self.get(id_)
        return entry if entry is None or isinstance(entry, str) else entry.get(edition)
