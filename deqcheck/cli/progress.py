"""One live line on stderr."""

from __future__ import annotations

import math
import shutil
import sys
import time
from collections.abc import Callable
from datetime import timedelta
from types import TracebackType
from typing import TextIO

from deqcheck.dynamics.recorder import Progress

PAUSE = 0.1


class ProgressLine:
    """Silent unless the stream is a terminal; cleared at the end."""

    def __init__(
        self,
        quiet: bool = False,
        stream: TextIO | None = None,
        clock: Callable[[], float] = time.monotonic,
    ):
        self.stream = stream or sys.stderr
        self.quiet = quiet
        self.shown = not quiet and self.stream.isatty()
        self.clock = clock
        self.phase = ""
        self.started = self.last = -PAUSE
        self.length = 0

    def __enter__(self) -> ProgressLine:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.length:
            self.stream.write(f"\r{' ' * self.length}\r")
            self.stream.flush()

    def __call__(self, progress: Progress) -> None:
        now = self.clock()
        if progress.phase != self.phase:
            self.phase, self.started = progress.phase, now
        if self.shown and now - self.last >= PAUSE:
            self.last = now
            self._write(_line(progress, now - self.started))

    def say(self, text: str) -> None:
        """Any text, at once."""
        if self.shown:
            self._write(text)

    def note(self, text: str) -> None:
        """A sentence that stays, above the line; in a file, too."""
        if self.quiet:
            return
        if self.length:
            self.stream.write(f"\r{' ' * self.length}\r")
            self.length = 0
        self.stream.write(f"{text}\n")
        self.stream.flush()

    def _write(self, text: str) -> None:
        text = text[: shutil.get_terminal_size().columns - 1]
        self.stream.write(f"\r{text:<{self.length}}")
        self.stream.flush()
        self.length = len(text)


def _line(progress: Progress, elapsed: float) -> str:
    parts = [progress.phase, f"k = {progress.k}", f"{progress.fraction:.0%}"]
    if not math.isnan(progress.gap):
        parts[2:2] = [f"t = {progress.t:.4g}"]
        parts.append(f"gap {progress.gap:.3e}")
    if not math.isnan(progress.bound):
        parts.append(f"bound {progress.bound:.3e}")
    if 0 < progress.fraction < 1:
        left = timedelta(seconds=round(elapsed * (1 / progress.fraction - 1)))
        parts.append(f"{left} left")
    return "  ".join(parts)
