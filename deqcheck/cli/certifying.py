"""The file of a certificate: asked for before the run, written after it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deqcheck.cli.errors import Complaint
from deqcheck.cli.output import NewFile
from deqcheck.records.report import Report
from deqcheck.records.verdict import Status

if TYPE_CHECKING:
    from deqcheck.cli.work import Task


class CertificateFile:
    """Of one case. What cannot be written is refused now, before the long work."""

    def __init__(self, path: Path, force: bool, tasks: Sequence[Task]):
        if len(tasks) > 1:
            raise Complaint(f"--certificate is of one case; {len(tasks)} were given")
        self._file = NewFile(path, force)
        self._text = ""

    def kept(self, judge: Callable[..., Report]) -> Callable[..., Report]:
        """The same judgement; its certificate is kept for the file."""

        def judged(problem: Any, question: Any, **how: Any) -> Report:
            from deqcheck.certificates import write

            report, found = write.certified(judge, problem, question, **how)
            if report.status is not Status.INTERRUPTED:
                self._text = write.text(found)
            return report

        return judged

    def write(self) -> None:
        if self._text:
            self._file.write(self._text)
