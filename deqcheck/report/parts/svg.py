"""Pictures as SVG for a page: no library, colours from the page, every line told apart in grey."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from deqcheck.records.comparison import Decision
from deqcheck.report.parts.axis import Axis
from deqcheck.report.parts.markup import Markup, join, tag
from deqcheck.report.parts.numbers import number
from deqcheck.report.parts.panels import Panel, Trace

WIDTH, HEIGHT = 520, 300
LEFT, RIGHT, BOTTOM, TOP, TOP_CLOCK = 54, 496, 252, 12, 40
# Places for ticks, and for a letter of their labels, in its largest size.
Y_TICKS, LETTER = 6, 8.5
DASHES = ("", "7 4", "2 3", "10 3 2 3", "5 2", "1 4", "12 4")
MARKERS = ("", "circle", "square", "triangle", "diamond", "cross", "plus")
MARKS = 7
SIZE = 3.6
# Margins between these ratios are drawn to scale.
BAR_LOW, BAR_HIGH = 1e-3, 1e3
BAR_WIDTH, BAR_HEIGHT = 130, 16

# So many curves can be switched off one by one, and so many points of each tell their numbers.
SWITCHES, POINTS = 12, 9


def figure(panel: Panel, ident: str) -> Markup:
    """The picture and its legend."""
    styles = range(len(panel.traces))
    legend = [
        tag("li", tag("label", _switch(i, ident), _sample(trace, i), tag("span", trace.label)))
        for i, trace in zip(styles, panel.traces, strict=True)
    ]
    caption = f"{panel.title}, {panel.y_label}" if panel.y_label else panel.title
    return tag(
        "figure",
        tag("figcaption", caption, id=f"{ident}-caption"),
        _picture(panel, ident),
        tag("ul", *legend, *_shade_legend(panel), class_="legend"),
    )


def _switch(i: int, ident: str) -> Markup:
    """Ticked, its curve is shown: the style sheet sees to it."""
    return tag("input", type="checkbox", checked="", class_=f"s{i % SWITCHES}", id=f"{ident}-s{i}")


def bar(ratio: float, decision: Decision) -> Markup:
    """A margin on a logarithmic scale from 1/1000 to 1000; the pass line stands at 1."""
    axis = Axis(BAR_LOW, BAR_HIGH, True, 4, BAR_WIDTH - 4)
    middle = float(axis.at(1.0))
    end = float(axis.at(ratio))
    parts = [_rect(min(middle, end), 4, max(abs(end - middle), 1.5), 8, decision.value)]
    if not BAR_LOW <= ratio <= BAR_HIGH:
        back = end - 6 if end > middle else end + 6
        shape = f"{end:.1f},8 {back:.1f},1 {back:.1f},15"
        parts.append(tag("polygon", points=shape, class_=f"bar {decision.value}"))
    parts.append(_line(middle, 0, middle, BAR_HEIGHT, "pass"))
    return tag(
        "svg",
        *parts,
        viewBox=f"0 0 {BAR_WIDTH} {BAR_HEIGHT}",
        width=BAR_WIDTH,
        height=BAR_HEIGHT,
        role="img",
        aria_label=f"ratio {number(ratio, 3)}, the pass line is 1",
        class_="margin",
    )


def _picture(panel: Panel, ident: str) -> Markup:
    top = TOP if panel.step is None else TOP_CLOCK
    y = Axis(*panel.y_range(), panel.log_y, BOTTOM, top)
    longest = max((len(label) for _, label in y.ticks(Y_TICKS)), default=0)
    left = max(LEFT, LETTER * longest + 8)
    x = Axis(*panel.x_range(), panel.log_x, left, RIGHT)
    clip = tag("clipPath", _rect(left, top, RIGHT - left, BOTTOM - top), id=f"{ident}-clip")
    lines = [_trace(trace, i, x, y) for i, trace in enumerate(panel.traces)]
    return tag(
        "svg",
        tag("defs", clip, _hatching(ident)),
        tag("g", *_shades(panel, x, y, ident), clip_path=f"url(#{ident}-clip)"),
        *_grid(panel, x, y),
        # What is measured comes first and lies on top.
        tag("g", *reversed(lines), clip_path=f"url(#{ident}-clip)"),
        viewBox=f"0 0 {WIDTH} {HEIGHT}",
        role="img",
        aria_labelledby=f"{ident}-caption",
        class_="plot",
    )


def _grid(panel: Panel, x: Axis, y: Axis) -> Iterator[Markup]:
    for value, label in y.ticks(Y_TICKS):
        at = float(y.at(value))
        yield _line(x.start, at, RIGHT, at, "grid")
        yield _text(x.start - 6, at + 4, label, "end")
    for value, label in x.ticks(6):
        at = float(x.at(value))
        yield _line(at, BOTTOM, at, BOTTOM + 4, "axis")
        yield _text(at, BOTTOM + 18, label, "middle")
    yield _line(x.start, BOTTOM, RIGHT, BOTTOM, "axis")
    yield _line(x.start, y.end, x.start, BOTTOM, "axis")
    yield _text((x.start + RIGHT) / 2, HEIGHT - 8, panel.x_label, "middle")
    if panel.step is not None:
        yield from _second_clock(panel.step, x, y.end)


def _second_clock(step: float, x: Axis, top: float) -> Iterator[Markup]:
    clock = Axis(x.low * step, x.high * step, x.log, x.start, x.end)
    yield _line(x.start, top, RIGHT, top, "axis")
    for value, label in clock.ticks(5):
        at = float(clock.at(value))
        yield _line(at, top - 4, at, top, "axis")
        yield _text(at, top - 8, label, "middle")
    yield _text((x.start + RIGHT) / 2, 12, "time t = step size * k", "middle")


def _trace(trace: Trace, style: int, x: Axis, y: Axis) -> Markup:
    across, down = x.at(trace.x), _beyond(trace.y, y)
    points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(across, down, strict=True))
    parts = [tag("polyline", points=points, **_stroke(trace, style))]
    for i in _marked(across, style, x):
        parts.append(_marker(float(across[i]), float(down[i]), style))
    parts += [
        _point(trace, i, float(across[i]), float(down[i]), x)
        for i in _told(across, x)
        if y.end <= down[i] <= y.start
    ]
    if trace.violation is not None:
        parts.append(_violation(float(x.at(trace.violation[0])), float(y.at(trace.violation[1]))))
    return tag("g", *parts, class_=f"t{style % SWITCHES}")


def _told(across: np.ndarray, x: Axis) -> list[int]:
    """Points that tell their numbers when they are pointed at or focused."""
    places = np.linspace(x.start, x.end, POINTS)
    return sorted({int(np.abs(across - place).argmin()) for place in places})


def _point(trace: Trace, i: int, x: float, y: float, axis: Axis) -> Markup:
    at, value = float(trace.x[i]), float(trace.y[i])
    told = f"{number(at)}: {number(value, 3)}"
    left = x > (axis.start + axis.end) / 2
    side = {"x": f"{x + (-8 if left else 8):.1f}", "y": f"{y - 8:.1f}"}
    return tag(
        "g",
        tag("title", f"{trace.label} at {told}"),
        tag("circle", cx=f"{x:.1f}", cy=f"{y:.1f}", r=9, class_="hit"),
        tag("text", told, **side, text_anchor="end" if left else "start", class_="tip"),
        class_="point",
        tabindex="0",
        role="img",
        aria_label=f"{trace.label} at {told}",
    )


def _beyond(values: np.ndarray, y: Axis) -> np.ndarray:
    """Places that leave the frame, so that a line is cut at its edge and not bent along it."""
    low, high = (np.log10(end) if y.log else end for end in (y.low, y.high))
    scaled = np.log10(values) if y.log else values
    share = np.clip((scaled - low) / (high - low), -4, 5)
    return np.asarray(y.start + share * (y.end - y.start))


def _marked(across: np.ndarray, style: int, x: Axis) -> list[int]:
    """Points evenly spread over the picture, shifted so that the markers of two lines differ."""
    if not MARKERS[style % len(MARKERS)]:
        return []
    shift = (style % 5) / 5
    places = x.start + (np.arange(MARKS) + 0.1 + shift * 0.8) * (x.end - x.start) / MARKS
    return sorted({int(np.abs(across - place).argmin()) for place in places})


def _stroke(trace: Trace, style: int) -> dict[str, str | None]:
    dash = DASHES[style % len(DASHES)]
    heavy = " measured" if trace.measured else ""
    return {"class_": f"line c{style % 7}{heavy}", "stroke_dasharray": dash or None}


def _marker(x: float, y: float, style: int) -> Markup:
    kind, s, options = MARKERS[style % len(MARKERS)], SIZE, f"mark c{style % 7}"
    if kind == "circle":
        return tag("circle", cx=f"{x:.1f}", cy=f"{y:.1f}", r=s, class_=options)
    if kind in ("cross", "plus"):
        d = (
            f"M{x - s:.1f} {y - s:.1f}l{2 * s} {2 * s}m0 {-2 * s}l{-2 * s} {2 * s}"
            if kind == "cross"
            else f"M{x - s:.1f} {y:.1f}h{2 * s}M{x:.1f} {y - s:.1f}v{2 * s}"
        )
        return tag("path", d=d, class_=options)
    corners = {
        "square": ((-s, -s), (s, -s), (s, s), (-s, s)),
        "triangle": ((0, -s - 1), (s + 1, s), (-s - 1, s)),
        "diamond": ((0, -s - 1), (s + 1, 0), (0, s + 1), (-s - 1, 0)),
    }[kind]
    points = " ".join(f"{x + a:.1f},{y + b:.1f}" for a, b in corners)
    return tag("polygon", points=points, class_=options)


def _violation(x: float, y: float) -> Markup:
    ring = tag("circle", cx=f"{x:.1f}", cy=f"{y:.1f}", r=7, class_="violation")
    return tag("g", tag("title", "first violation"), ring)


def _sample(trace: Trace, style: int) -> Markup:
    line = tag("line", x1=0, y1=7, x2=44, y2=7, **_stroke(trace, style))
    marker = _marker(22, 7, style) if MARKERS[style % len(MARKERS)] else None
    return tag("svg", line, marker, viewBox="0 0 44 14", width=44, height=14, aria_hidden="true")


def _shades(panel: Panel, x: Axis, y: Axis, ident: str) -> Iterator[Markup]:
    for horizon in panel.horizons:
        at = float(x.at(horizon))
        yield _rect(at, y.end, RIGHT - at, BOTTOM - y.end, "beyond")
    noise = panel.resolution
    if noise is not None and _has_noise(panel):
        keep = (noise.y > 0) & (noise.x >= x.low)
        right, down = x.at(noise.x[keep]), _beyond(noise.y[keep], y)
        points = [f"{a:.1f},{b:.1f}" for a, b in zip(right, down, strict=True)]
        corners = [f"{right[0]:.1f},{BOTTOM}", *points, f"{right[-1]:.1f},{BOTTOM}"]
        yield tag("polygon", points=" ".join(corners), fill=f"url(#{ident}-hatch)")
    for marks in panel.marks:
        for across in (f"{float(x.at(t)):.1f}" for t in marks.at if t >= x.low):
            yield tag("line", x1=across, y1=y.end, x2=across, y2=BOTTOM, class_=marks.kind)


def _has_noise(panel: Panel) -> bool:
    """Whether the error bar reaches into the picture."""
    noise = panel.resolution
    return noise is not None and bool((noise.y > panel.y_range()[0]).any())


def _shade_legend(panel: Panel) -> Iterator[Markup]:
    if panel.horizons:
        box = _rect(0, 0, 44, 14, "beyond")
        yield _shade_item(box, "beyond the horizon of a bound: not decided")
    if _has_noise(panel):
        lines = [tag("path", d=f"M{i} 14l14 -14", class_="hatch") for i in range(-8, 44, 6)]
        yield _shade_item(join(*lines), "below the error bar of the loss: nothing can be told")
    for marks in panel.marks:
        line = tag("line", x1=22, y1=0, x2=22, y2=14, class_=marks.kind)
        yield _shade_item(line, marks.label)
    if any(trace.violation for trace in panel.traces):
        ring = tag("circle", cx=22, cy=7, r=6, class_="violation")
        yield _shade_item(ring, "first violation")


def _shade_item(sample: Markup, text: str) -> Markup:
    picture = tag("svg", sample, viewBox="0 0 44 14", width=44, height=14, aria_hidden="true")
    return tag("li", picture, tag("span", text))


def _hatching(ident: str) -> Markup:
    line = tag("path", d="M0 6l6 -6", class_="hatch")
    size = {"width": 6, "height": 6, "patternUnits": "userSpaceOnUse"}
    return tag("pattern", line, id=f"{ident}-hatch", **size)


def _rect(x: float, y: float, width: float, height: float, kind: str = "") -> Markup:
    options = f"bar {kind}" if kind in {d.value for d in Decision} else kind or None
    return tag(
        "rect",
        x=f"{x:.1f}",
        y=f"{y:.1f}",
        width=f"{width:.1f}",
        height=f"{height:.1f}",
        class_=options,
    )


def _line(x1: float, y1: float, x2: float, y2: float, kind: str) -> Markup:
    ends: Sequence[str] = [f"{v:.1f}" for v in (x1, y1, x2, y2)]
    return tag("line", x1=ends[0], y1=ends[1], x2=ends[2], y2=ends[3], class_=kind)


def _text(x: float, y: float, text: str, anchor: str) -> Markup:
    return tag("text", text, x=f"{x:.1f}", y=f"{y:.1f}", text_anchor=anchor)
