"""Making figures for a command: where their pieces are kept, and how one goes on."""

from __future__ import annotations

from pathlib import Path

from deqcheck.cli.errors import say
from deqcheck.cli.progress import ProgressLine
from deqcheck.cli.work import sentences
from deqcheck.figures import make
from deqcheck.figures.images import Shelf
from deqcheck.records.figure import Picture
from deqcheck.store import Store

# Where the pieces of a long run are kept unless another folder is named.
KEPT = Path(".deqcheck")


def made(
    id_: str,
    line: ProgressLine,
    store: Store | None = None,
    full: bool = False,
    variant: str | None = None,
    shelf: Shelf | None = None,
) -> Picture:
    try:
        with sentences():
            return make(
                id_,
                full=full,
                variant=variant,
                shelf=shelf,
                store=store,
                progress=line,
                tell=line.note if full else lambda sentence: None,
            )
    except KeyboardInterrupt:
        if store is not None:
            kept(store)
        raise


def kept(store: Store) -> None:
    say(f"\ndeqcheck: what is done is kept in {store.folder}: the same command goes on")
