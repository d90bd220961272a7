"""Results kept in a folder, so that a run that was stopped goes on where it was.

Each entry is a file of its own, named by a digest of what it depends on, written whole or not at
all. An entry that was damaged since is as good as none.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def key(parts: Mapping[str, Any]) -> str:
    """The digest of everything that a result depends on; `parts` must be what JSON can hold."""
    return hashlib.sha256(_canonical(parts).encode()).hexdigest()


def _canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


class Store:
    def __init__(self, folder: str | Path):
        """Makes the folder; raises OSError where that is not possible."""
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)

    def get(self, name: str) -> dict[str, Any] | None:
        """What was kept under this key; None if nothing, or nothing that can be trusted."""
        try:
            entry = json.loads(self._path(name).read_bytes())
            body: dict[str, Any] = entry["body"]
            intact = entry["checksum"] == _checksum(name, body)
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return body if intact else None

    def put(self, name: str, body: Mapping[str, Any]) -> None:
        path = self._path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        content = _canonical({"body": body, "checksum": _checksum(name, body)})
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".new-")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as stream:
                stream.write(content)
                stream.flush()
                os.fsync(stream.fileno())
            os.replace(temporary, path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise

    def _path(self, name: str) -> Path:
        return self.folder / name[:2] / f"{name}.json"


def _checksum(name: str, body: Mapping[str, Any]) -> str:
    """Of the key too: an entry under a wrong name is a wrong entry."""
    return hashlib.sha256(f"{name}\n{_canonical(body)}".encode()).hexdigest()
