"""The cases of a sweep side by side: what was set, how far the loss fell, what was judged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from deqcheck.records.report import Report
from deqcheck.records.verdict import Status
from deqcheck.report.parts.numbers import number, with_error
from deqcheck.report.parts.panels import Panel, overlay
from deqcheck.report.parts.render_options import RenderOptions
from deqcheck.report.parts.sentences import Clock

FALL = "last loss - infimum, relative to its start"


class Sweep(NamedTuple):
    """Reports of one sweep, in its order."""

    name: str
    reports: tuple[Report, ...]

    @property
    def title(self) -> str:
        return f"sweep {self.name}"

    @property
    def header(self) -> tuple[str, ...]:
        trained = ("run", FALL) if self._trained else ()
        return (*self._keys, *trained, "outcomes")

    @property
    def _keys(self) -> tuple[str, ...]:
        first = self.reports[0].place
        return () if first is None else tuple(first.settings)

    @property
    def _trained(self) -> bool:
        return any(report.trajectory is not None for report in self.reports)

    def rows(self, options: RenderOptions) -> Iterator[tuple[str, ...]]:
        for report in self.reports:
            assert report.place is not None
            trained = (_run(report), _fall(report, options)) if self._trained else ()
            yield (*report.place.settings.values(), *trained, _outcomes(report))

    def panel(self) -> Panel | None:
        """The measured losses over each other."""
        return overlay(f"Loss along the {self.title}", {_label(r): r for r in self.reports})


def sweeps(reports: Sequence[Report]) -> list[Sweep]:
    groups: dict[tuple[str, str], list[Report]] = {}
    for report in reports:
        if report.place is not None:
            groups.setdefault((report.place.file, report.place.sweep), []).append(report)
    return [Sweep(name, tuple(group)) for (_, name), group in groups.items()]


def _label(report: Report) -> str:
    settings = {} if report.place is None else report.place.settings
    return ", ".join(f"{key} = {value}" for key, value in settings.items())


def _run(report: Report) -> str:
    if report.status is not Status.COMPLETED:
        return report.status.word
    track = report.trajectory
    if track is None or not len(track.k):
        return ""
    return f"t = {number(float(track.t[-1]))}" if Clock.of(report).flow else f"k = {track.k[-1]}"


def _fall(report: Report, options: RenderOptions) -> str:
    track = report.trajectory
    if track is None or not len(track.k) or not track.gap.value[0] > 0:
        return ""
    return with_error(track.gap[-1] / track.gap[0], options)


def _outcomes(report: Report) -> str:
    counted = Counter(verdict.word for verdict in report.verdicts)
    return ", ".join(f"{n} {name}" for name, n in sorted(counted.items()))
