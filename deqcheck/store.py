"""Results kept on disk by their key, so that an interrupted run resumes."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from deqcheck import atomic


class Store:
    """A folder with one file for each key; an entry appears whole or not at all.

    Values are what JSON can hold. Each entry carries its key and a checksum: a damaged one counts
    as absent.
    """

    def __init__(self, folder: str | Path):
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)

    def get(self, key: str) -> dict[str, Any] | None:
        try:
            entry = json.loads(self._path(key).read_text(encoding="utf-8"))
            value: dict[str, Any] = entry["value"]
            sound = entry["key"] == key and entry["sha256"] == _checksum(key, value)
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return None
        return value if sound and isinstance(value, dict) else None

    def put(self, key: str, value: dict[str, Any]) -> None:
        entry = {"key": key, "sha256": _checksum(key, value), "value": value}
        atomic.replace(self._path(key), json.dumps(entry, sort_keys=True, allow_nan=False))

    def other_version(self, current: str) -> str | None:
        """The version of deqcheck that made the first entry found, if it is not this one."""
        first = next(self.folder.glob("[!.]*.json"), None)
        try:
            entry = {} if first is None else json.loads(first.read_text(encoding="utf-8"))
            made = json.loads(entry["key"])["environment"]["deqcheck"]
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return None
        return None if made == current else str(made)

    def _path(self, key: str) -> Path:
        return self.folder / f"{hashlib.sha256(key.encode()).hexdigest()}.json"


def _checksum(key: str, value: dict[str, Any]) -> str:
    canonical = json.dumps([key, value], sort_keys=True, allow_nan=False)
    return hashlib.sha256(canonical.encode()).hexdigest()
