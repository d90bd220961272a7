"""Searches kept on disk, so that one that was made is not made again."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from deqcheck.environment import environment, source
from deqcheck.explore.falsify import Asking, Falsified, asked, falsify
from deqcheck.explore.falsify.climb import Strategy
from deqcheck.explore.falsify.search import Found, Hunt
from deqcheck.explore.falsify.worker import plain, searched_in_processes, unplain
from deqcheck.judging.catalogue import Named, find
from deqcheck.judging.errors import UsageError
from deqcheck.store import Store
from deqcheck.theorems.base import AnyStatement


class Kept:
    """With or without a folder."""

    def __init__(self, folder: str | os.PathLike[str] | None = None):
        """Raises UsageError."""
        try:
            self._store = None if folder is None else Store(os.fspath(folder))
        except OSError as error:
            raise UsageError(f"cannot keep results in {folder}: {error.strerror}") from None

    def falsify(
        self,
        statement: Named,
        edition: str | None,
        asking: Asking,
        jobs: int = 1,
        progress: Callable[[Found], None] = lambda found: None,
        strategy: Callable[[AnyStatement], Strategy] | None = None,
    ) -> Falsified:
        """By one process or several. Raises UsageError."""
        if self._store is None and jobs == 1:
            return falsify(statement, edition, asking, strategy=strategy, progress=progress)
        s = asked(find(statement), edition, asking.feasible)
        known = self.get(s, asking, jobs, "search")

        def search(hunt: Hunt) -> None:
            if known is not None:
                hunt.found = unplain(known)
            elif jobs > 1:
                hunt.found = searched_in_processes(s, asking, jobs)
            else:
                hunt.search(progress)
            if known is None:
                self.put(s, asking, jobs, "search", plain(hunt.found, s))

        return falsify(statement, edition, asking, search=search)

    def get(self, s: AnyStatement, asking: Asking, jobs: int, what: str) -> dict[str, Any] | None:
        return None if self._store is None else self._store.get(_key(s, asking, jobs, what))

    def put(
        self, s: AnyStatement, asking: Asking, jobs: int, what: str, value: dict[str, Any]
    ) -> None:
        if self._store is not None:
            self._store.put(_key(s, asking, jobs, what), value)


def _key(s: AnyStatement, asking: Asking, jobs: int, what: str) -> str:
    """Whatever the result depends on."""
    question = {"id": s.id, "edition": s.edition, "asking": asdict(asking), "jobs": jobs}
    made = {"environment": environment(), "source": source()}
    return json.dumps({"falsify": what, **question, **made}, sort_keys=True)
