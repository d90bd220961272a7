"""What a picture of a report shows, before anything is drawn.

Every picture, whoever draws it, is made from these records: the loss against its bounds, the
quantities that a bound keeps above a floor, and the hypotheses with their margins.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from deqcheck.frozen import dataclass
from deqcheck.records.comparison import Decision
from deqcheck.records.judged import CurveFacts, Judged
from deqcheck.records.report import Report
from deqcheck.records.series import Series
from deqcheck.records.trajectory import CROSSING, SLIDE, Trajectory
from deqcheck.records.verdict import Outcome, Verdict
from deqcheck.records.words import PRINTED
from deqcheck.report.parts.curves import Bound, bounds, relative_bound
from deqcheck.report.parts.laws import straighter_in_log
from deqcheck.report.parts.notation import in_unicode, latex, plain
from deqcheck.report.parts.notation.symbols import symbol
from deqcheck.report.parts.sentences import Clock, numbered
from deqcheck.report.parts.thin import thin

# How far below the loss, as a factor, a bound is followed before it leaves the picture.
WINDOW = 1e3
POINTS = 300
# Below this the quotients of an axis leave the range of floats.
SMALLEST = 1e-280
LOWER = (">=", ">")
SHORT = {
    "Theorem": "Thm",
    "Corollary": "Cor.",
    "Proposition": "Prop.",
    "Lemma": "Lem.",
    "Section": "Sec.",
    "Condition": "Cond.",
    "Figures": "Figs.",
}


@dataclass(frozen=True)
class Trace:
    """One curve. `measured` curves are drawn heavier than what is claimed of them."""

    label: str
    x: np.ndarray
    y: np.ndarray
    measured: bool = False
    # The first step at which the claim is violated.
    violation: tuple[float, float] | None = None
    # Beside the curve: who claims it, in few letters.
    short: str = ""
    printed: bool = False


KINKS = {CROSSING: "crosses a kink", SLIDE: "begins to slide along a kink"}
ENTRY = "entry"


@dataclass(frozen=True)
class Marks:
    """Points of a run at which the same happens; the kind is a crossing, a slide or an entry."""

    kind: str
    label: str
    at: tuple[float, ...]


@dataclass(frozen=True)
class Panel:
    title: str
    x_label: str
    y_label: str
    traces: tuple[Trace, ...]
    log_x: bool = False
    log_y: bool = True
    # Nothing is decided beyond these ends, each of one bound.
    horizons: tuple[float, ...] = ()
    # The error bar of what is measured, in units of y: nothing is decided below it.
    resolution: Trace | None = None
    # Time for one step where x counts steps: the second clock.
    step: float | None = None
    # What happens at single points of the run.
    marks: tuple[Marks, ...] = ()
    # What is measured, in LaTeX, where it is one quantity.
    symbol: str = ""

    def x_range(self) -> tuple[float, float]:
        xs = np.concatenate([trace.x for trace in self.traces])
        low, high = float(xs.min()), float(xs.max())
        return (low, high) if high > low else (low, low + 1.0)

    def y_range(self) -> tuple[float, float]:
        """Around what is measured; a bound far below it may leave the picture."""
        measured = [t.y[np.isfinite(t.y)] for t in self.traces if t.measured]
        every = np.concatenate([t.y[np.isfinite(t.y)] for t in self.traces])
        if not self.log_y:
            return _padded(float(every.min()), float(every.max()))
        own = np.concatenate(measured) if measured else every
        low = max(float(every.min()), float(own.min()) / WINDOW)
        high = min(float(every.max()), float(own.max()) * WINDOW)
        room = (high / low) ** 0.05 if high > low else 3.0
        return low / room, high * room


@dataclass(frozen=True)
class Bar:
    """A hypothesis: above 1 it holds with room. No ratio where one side is 0."""

    label: str
    ratio: float | None
    decision: Decision
    # Without its statement.
    name: str = ""
    printed: bool = False


def panels(report: Report) -> list[Panel]:
    """The loss first; nothing where the run recorded nothing."""
    if report.trajectory is None or len(report.trajectory.k) < 2:
        return []
    loss = _loss(report, report.trajectory)
    return [*([loss] if loss else []), *_floors(report, report.trajectory)]


def overlay(title: str, reports: Mapping[str, Report]) -> Panel | None:
    """The measured losses of several runs, by label."""
    traces = []
    for label, report in reports.items():
        track = report.trajectory
        if track is not None and len(track.k) > 1 and track.gap.value[0] > 0:
            relative = track.gap.value / track.gap.value[0]
            traces.append(_trace(label, _x(Clock.of(report), track), relative, True))
    shown = _shown(traces, False)
    clock = Clock.of(next(iter(reports.values())))
    return Panel(title, _x_label(clock), "relative to the start", shown) if shown else None


def bars(report: Report) -> list[Bar]:
    """Every hypothesis; what several statements share appears once, under all their names."""
    owners: dict[tuple[str, float | None, Decision], dict[str, bool]] = {}
    for verdict in report.verdicts:
        for h in verdict.hypotheses:
            key = (numbered(h), h.ratio, h.decision)
            owners.setdefault(key, {})[_statement(verdict)] = verdict.edition == PRINTED
    return [
        Bar(f"{'; '.join(names)}: {name}", ratio, decision, name, all(names.values()))
        for (name, ratio, decision), names in owners.items()
    ]


def _loss(report: Report, track: Trajectory) -> Panel | None:
    start = float(track.gap.value[0])
    if not start > 0:
        return None
    clock = Clock.of(report)
    x = _x(clock, track)
    claimed = list(_claimed(report, clock))
    gap = _trace("measured: loss - infimum", x, track.gap.value / start, True)
    log_x = straighter_in_log(gap.x, gap.y)
    traces = [gap, *_companion(report, clock), *(trace for _, trace in claimed)]
    panel = Panel(
        title="Loss against its bounds" if claimed else "Loss (no bound is claimed)",
        x_label=_x_label(clock),
        y_label="relative to the start",
        traces=_shown(traces, log_x),
        log_x=log_x,
        horizons=_horizons((facts for facts, _ in claimed), clock),
        # An infinite radius covers the whole picture.
        resolution=_trace("", x, np.minimum(track.gap.error / start, 1 / SMALLEST)),
        step=_step(clock, track),
        marks=(*_kinks(track), *_entries(report, clock)),
    )
    return panel if panel.traces else None


def _kinks(track: Trajectory) -> Iterator[Marks]:
    for kind, label in KINKS.items():
        times = tuple(float(e.t.value) for e in track.events if e.kind == kind)
        if times:
            yield Marks(kind, label, times)


def _entries(report: Report, clock: Clock) -> Iterator[Marks]:
    """Statements that begin to apply at the same point share their mark."""
    owners: dict[float, dict[str, None]] = {}
    for verdict in report.verdicts:
        found = verdict.entry
        if found is not None and found.k is not None and found.t is not None:
            at = found.t if clock.flow else float(found.k)
            owners.setdefault(at, {})[_statement(verdict)] = None
    for at, names in owners.items():
        verb = "applies" if len(names) == 1 else "apply"
        yield Marks(ENTRY, f"{'; '.join(names)}: {verb} from here", (at,))


def _claimed(report: Report, clock: Clock) -> Iterator[tuple[CurveFacts, Trace]]:
    """The bounds that are claimed, equal ones of several statements under one label."""
    groups: dict[bytes, list[Bound]] = {}
    for bound in bounds(report):
        values = relative_bound(bound)
        if values is not None:
            groups.setdefault(values.tobytes(), []).append(bound)
    for group in groups.values():
        facts, judged = group[0].facts, group[0].judged
        owners = dict.fromkeys(_statement(bound.verdict) for bound in group)
        label = f"{'; '.join(owners)}: {numbered(judged)}"
        trace = _trace(label, _x(clock, facts), facts.bound.value)
        printed = all(bound.verdict.edition == PRINTED for bound in group)
        brief = _brief(group[0].verdict, judged) | {"printed": printed}
        yield facts, replace(trace, violation=_violation(facts, clock), **brief)


def _companion(report: Report, clock: Clock) -> Iterator[Trace]:
    other = report.companion
    if other is not None and len(other.k) and other.gap.value[0] > 0:
        label = f"{report.companion_name}, for comparison"
        yield _trace(label, _x(clock, other), other.gap.value / other.gap.value[0], True)


def _floors(report: Report, track: Trajectory) -> list[Panel]:
    """Lower bounds along the run, and recorded quantities that a claim keeps above a floor.

    Floors of the same measured curve share a panel.
    """
    clock = Clock.of(report)
    found: dict[tuple[bytes, bytes], Panel] = {}
    for verdict in report.verdicts:
        for judged in verdict.conclusions:
            panel = _floor(verdict, judged, track, clock)
            if panel is None or verdict.outcome is Outcome.NOT_APPLICABLE:
                continue
            key = (panel.traces[0].x.tobytes(), panel.traces[0].y.tobytes())
            found[key] = _joined(found[key], panel) if key in found else panel
    return list(found.values())


def _joined(panel: Panel, other: Panel) -> Panel:
    """The floors of the other panel, too, unless they are there already."""
    seen = {trace.y.tobytes() for trace in panel.traces}
    added = tuple(trace for trace in other.traces[1:] if trace.y.tobytes() not in seen)
    return replace(
        panel,
        traces=panel.traces + added,
        log_y=panel.log_y and other.log_y,
        horizons=tuple(sorted({*panel.horizons, *other.horizons})),
    )


def _floor(verdict: Verdict, judged: Judged, track: Trajectory, clock: Clock) -> Panel | None:
    if judged.relation not in LOWER:
        return None
    facts = judged.curve
    if facts is not None:
        x = _x(clock, facts)
        value = _trace(f"measured: {_side(judged, 0, verdict.id)}", x, facts.value.value, True)
        claim = _trace(_claim_label(verdict, judged), x, facts.bound.value)
        claim = replace(claim, violation=_violation(facts, clock), **_brief(verdict, judged))
        traces = (value, claim)
        found = _panel(judged.name, clock, track, traces, _horizons([facts], clock))
        left = judged.formula.split(judged.relation, 1)[0].strip()
        return found and replace(found, symbol=_symbol(left, verdict.id))
    for name in verdict.drivers:
        if name in track.series:
            series = track.series[name]
            # The claim is about the infimum of just this series, which its error bar covers.
            if judged.left.low <= float(np.min(series.value.value)) <= judged.left.high:
                x = _x(clock, series)
                shown = plain.name(symbol(name, verdict.id).row)
                value = _trace(f"measured: {shown}", x, series.value.value, True)
                label = _claim_label(verdict, judged)
                floor = _trace(label, x[[0, -1]], np.full(2, judged.right.value))
                floor = replace(floor, **_brief(verdict, judged))
                found = _panel(judged.name, clock, track, (value, floor))
                return found and replace(found, symbol=_symbol(name, verdict.id))
    return None


def _side(judged: Judged, side: int, scope: str) -> str:
    """The left (0) or right (-1) side of a formula; without one, the name of the claim."""
    written = in_unicode(judged.formula, scope)
    return re.split(" [≤≥=<>] ", written)[side] if judged.formula else judged.name


def _symbol(name: str, scope: str) -> str:
    """Of a variable, for an axis."""
    found = latex.name(symbol(name, scope).row) if name.isidentifier() else ""
    return f"${found}$" if found else ""


def _claim_label(verdict: Verdict, judged: Judged) -> str:
    claim = replace(judged, name=_side(judged, -1, verdict.id))
    return f"{_statement(verdict)}: {numbered(claim)}"


def _panel(
    title: str,
    clock: Clock,
    track: Trajectory,
    traces: Sequence[Trace],
    horizons: tuple[float, ...] = (),
) -> Panel | None:
    log_y = all((trace.y[np.isfinite(trace.y)] > SMALLEST).all() for trace in traces)
    shown = _shown(traces, False, log_y)
    if not shown:
        return None
    step = _step(clock, track)
    return Panel(title, _x_label(clock), "", shown, False, log_y, horizons, step=step)


def _statement(verdict: Verdict) -> str:
    """`Theorem 1`, and the edition where it is not the usual one."""
    name = verdict.number or verdict.id
    return f"{name} (printed)" if verdict.edition == PRINTED else name


def _brief(verdict: Verdict, judged: Judged) -> dict[str, Any]:
    """`Thm 1 (7)`, where there is little room."""
    owner, equation = verdict.number or verdict.id, judged.equation
    name = equation if equation.startswith(owner) else f"{owner} {equation}".strip()
    for word, brief in SHORT.items():
        name = name.replace(word, brief)
    return {"short": name, "printed": verdict.edition == PRINTED}


def _x(clock: Clock, record: Trajectory | CurveFacts | Series) -> np.ndarray:
    return np.asarray(record.t if clock.flow else record.k, dtype=float)


def _x_label(clock: Clock) -> str:
    return "time t of the flow" if clock.flow else "step k"


def _step(clock: Clock, track: Trajectory) -> float | None:
    if clock.flow or not track.k[-1]:
        return None
    step = float(track.t[-1] / track.k[-1])
    # The steps of a run that was made elsewhere may differ in length.
    return step if np.allclose(track.t, step * track.k, rtol=1e-6, atol=0) else None


def _trace(label: str, x: np.ndarray, y: np.ndarray, measured: bool = False) -> Trace:
    at = thin(len(x), POINTS)
    return Trace(label, np.asarray(x, dtype=float)[at], np.asarray(y, dtype=float)[at], measured)


def _shown(traces: Sequence[Trace], log_x: bool, log_y: bool = True) -> tuple[Trace, ...]:
    """What the axes can show; nothing where they cannot show the first trace."""
    shown = []
    for trace in traces:
        keep = np.isfinite(trace.y) & ((trace.x > 0) | (not log_x))
        keep &= (trace.y > SMALLEST) | (not log_y)
        shown.append(replace(trace, x=trace.x[keep], y=trace.y[keep]))
    if not shown or not len(shown[0].x):
        return ()
    return tuple(trace for trace in shown if len(trace.x))


def _horizons(curves: Iterable[CurveFacts], clock: Clock) -> tuple[float, ...]:
    """Where the bounds cease to be decided before the run ends: at 0, if they never are."""
    ends = set()
    for facts in curves:
        if facts.horizon != facts.last and facts.first_violation is None:
            end = facts.horizon_t if clock.flow else facts.horizon
            ends.add(0.0 if end is None else float(end))
    return tuple(sorted(ends))


def _violation(facts: CurveFacts, clock: Clock) -> tuple[float, float] | None:
    first = facts.first_violation
    if first is None:
        return None
    at = int(np.flatnonzero((facts.k == first.k) & (facts.t == first.t))[0])
    y = float(facts.value.value[at])
    return (first.t if clock.flow else float(first.k), y) if y > 0 else None


def _padded(low: float, high: float) -> tuple[float, float]:
    room = 0.05 * (high - low) or 0.5
    return low - room, high + room
