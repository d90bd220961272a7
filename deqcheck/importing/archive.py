"""Zip files from anywhere: sizes are read from the directory and bounded before anything is
unpacked. Of an entry no more is ever unpacked than the directory says."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from deqcheck.capacity import most_bytes
from deqcheck.fields import FilePath
from deqcheck.importing.tensor import MOST_TENSORS, Unusable, readable

if TYPE_CHECKING:
    import zipfile


@contextmanager
def opened(file: FilePath) -> Iterator[zipfile.ZipFile]:
    """Raises Unusable."""
    import zipfile

    with readable(), zipfile.ZipFile(file) as archive:
        entries = archive.infolist()
        if len(entries) > MOST_TENSORS:
            raise Unusable(f"holds {len(entries)} entries; at most {MOST_TENSORS} are read")
        size = sum(entry.file_size for entry in entries)
        if size > most_bytes():
            raise Unusable(f"unpacks to {size} bytes; at most {most_bytes()} are read")
        twice = len(entries) - len({entry.filename for entry in entries})
        if twice:
            raise Unusable("holds two entries of the same name")
        yield archive


def members(file: FilePath) -> list[str]:
    """The names of the entries; none of a file that is damaged."""
    try:
        with opened(file) as archive:
            return archive.namelist()
    except Unusable:
        return []
