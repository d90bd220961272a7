"""How often Python looks for garbage.

Numbers with error bars are many and short-lived: the usual 700 new objects come every moment, and
one look in a hundred goes through everything there is, a twentieth of the time of a run.
"""

from __future__ import annotations

import gc


def looked_for_seldom() -> None:
    """In a process that is deqcheck's own."""
    gc.set_threshold(20_000, 20, 20)
