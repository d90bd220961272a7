"""Files that appear whole or not at all."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterable
from pathlib import Path


def replace(path: Path, content: str | bytes | Iterable[str]) -> None:
    """Put `content`, whole or in parts, in the place of a file; whatever stops it, the old file is
    still there."""
    parts = [content] if isinstance(content, str | bytes) else content
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with open(handle, "wb") as file:
            for part in parts:
                # A file name that is not UTF-8 may be part of a text.
                file.write(part if isinstance(part, bytes) else part.encode(errors="replace"))
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, _mode(path))
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise


def _mode(path: Path) -> int:
    """Of the file that is replaced, else what the umask gives to a new one."""
    if path.exists():
        return stat.S_IMODE(path.stat().st_mode)
    umask = os.umask(0)
    os.umask(umask)
    return 0o666 & ~umask
