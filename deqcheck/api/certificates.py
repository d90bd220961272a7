"""Certificates: written with a report, and checked."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deqcheck import atomic
from deqcheck.api.cases import Word, installed
from deqcheck.judging import UsageError
from deqcheck.judging.question import Question
from deqcheck.models.problem import AnyProblem
from deqcheck.records.report import Report

if TYPE_CHECKING:
    from deqcheck.certificates.check import Verification


def certified(
    path: Word, judge: Callable[..., Report], p: AnyProblem, question: Question, **how: Any
) -> Report:
    """The report; its certificate goes into the file."""
    from deqcheck.certificates import write

    report, found = write.certified(judge, p, question, certify=True, **how)
    try:
        atomic.replace(Path(path), write.text(found))
    except OSError as error:
        raise UsageError(f"cannot write {os.fspath(path)}: {error.strerror}") from None
    return report


def verify(certificate: Word | Mapping[str, Any], *, alone: bool = False) -> Verification:
    """Check a certificate, in a file or as read from one: each claim is computed again from the
    arrays of the instance, and its definitions are compared with the catalogue, unless `alone`.
    Raises UsageError where it is no certificate."""
    from deqcheck.certificates import check

    installed()
    source = certificate if isinstance(certificate, Mapping) else Path(certificate)
    try:
        return check.verify(source, alone)
    except check.NoCertificate as refused:
        name = "the certificate" if isinstance(source, Mapping) else source
        raise UsageError(f"{name}: {refused}") from None
