"""Draw a plot as a figure: SVG, axis titles, a legend and a note.

A figure is 480 units wide and scales to the available width. Axis titles and legends are HTML, so that they
wrap on a phone. Series differ in colour, dash and marker. The colours are from Okabe and Ito.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from textwrap import wrap

from markupsafe import Markup

from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.plots import Plot, read_plot
from dpaudit.report.axis import Scale
from dpaudit.report.notation import MISSING, describe, show
from dpaudit.report.svg import element, join
from dpaudit.report.trace import Point, band_path, line_path, markers_path

__all__ = ["draw_plot"]

WIDTH, HEIGHT = 480.0, 280.0
LEFT, RIGHT, TOP, BOTTOM = 62.0, 466.0, 14.0, 252.0
COLOURS, DASHES = 8, 4
MAX_MARKERS = 28
#: The height of a bar with the gap below it, and of each line of its label.
BAR_ROW, LABEL_LINE = 22.0, 16.0
#: Characters of a line of a label. Longer labels are wrapped, never cut.
MAX_LABEL = 60


@dataclass(frozen=True)
class Line:
    """One line of a chart, ready to draw: data with gaps, and the classes that colour it."""

    name: str
    x: list[float | None]
    y: list[float | None]
    css: str
    low: list[float | None] = field(default_factory=list)
    high: list[float | None] = field(default_factory=list)
    marker: int = 0


def draw_plot(data: object) -> Markup:
    """Draw one plot of a report as a ``figure``, or say in a sentence why it cannot be read."""
    try:
        plot = read_plot(data)
    except InvalidParameterError as error:
        return element("p", f"A plot of this row cannot be drawn: {error}", class_="problem")
    parts = _DRAW[plot["kind"]](plot)
    caption = [element("figcaption", plot["title"])] if plot["title"] else []
    note = [element("p", plot["note"], class_="note")] if plot["note"] else []
    return element("figure", *caption, *parts, *note, class_=f"plot {plot['kind'].replace('_', '-')}")


def _curves(plot: Plot) -> list[Markup]:
    lines = []
    for i, one in enumerate(plot["series"]):
        dash = i // COLOURS % DASHES
        css = f"s{i % COLOURS} d{dash}" + (" theory" if one["dashed"] else "")
        lines.append(Line(one["name"], one["x"], one["y"], css, one.get("low", []), one.get("high", []), i))
    return _line_chart(lines, plot["x_title"], plot["y_title"], x_log=plot["x_log"], y_log=plot["y_log"])


def _delta_curve(plot: Plot) -> list[Markup]:
    names = {"lower": "attack: δ at least", "upper": "certificate: δ at most"}
    kinds = {"lower": "attack", "upper": "certificate"}
    lines = [
        Line(names[key], list(plot["epsilon"]), plot[key], kinds[key], marker=i)
        for i, key in enumerate(("lower", "upper"))
        if plot[key] is not None
    ]
    claim = None
    if plot["claimed_epsilon"] is not None and plot["claimed_delta"] is not None:
        claim = (plot["claimed_epsilon"], plot["claimed_delta"])
    return _line_chart(lines, "ε", "δ", x_log=False, y_log=True, claim=claim)


def _line_chart(
    lines: Sequence[Line], x_title: str, y_title: str, *, x_log: bool, y_log: bool, claim: Point | None = None
) -> list[Markup]:
    marked = [claim] if claim is not None else []
    xs = [x for line in lines for x in line.x if x is not None and (x > 0 or not x_log)] + [
        p[0] for p in marked
    ]
    ys = [
        y
        for line in lines
        for part in (line.y, line.low, line.high)
        for y in part
        if y is not None and (y > 0 or not y_log)
    ]
    ys += [p[1] for p in marked if p[1] > 0 or not y_log]
    if not xs or not ys:
        return [element("p", "No point of this plot can be drawn on its axes.", class_="problem")]
    across = Scale.around(xs, start=LEFT, end=RIGHT, log=x_log, pad=0.03)
    zero = min(ys) >= 0 and min(ys) < 0.5 * max(ys)
    up = Scale.around(ys, start=BOTTOM, end=TOP, log=y_log, zero=zero, pad=0.06)
    body = [_frame(across, up)]
    body += [_band(line, across, up) for line in lines if line.low]
    body += [drawn for line in lines for drawn in _stroke(line, across, up)]
    legend = [_key(line.name, line.css, line.marker) for line in lines]
    if claim is not None:
        body.append(_cross(across(claim[0]), up(claim[1])))
        legend.append(_claim_key(f"claimed (ε = {show(claim[0])}, δ = {show(claim[1])})"))
    lost = sum(_lost(line, x_log=x_log, y_log=y_log) for line in lines)
    return [*_figure(body, x_title, y_title), element("ul", *legend, class_="legend"), *_lost_note(lost)]


def _lost(line: Line, *, x_log: bool, y_log: bool) -> int:
    """Return how many points a logarithmic axis cannot show."""
    pairs = zip(line.x, line.y, strict=True)
    return sum(
        x is not None and y is not None and ((x_log and x <= 0) or (y_log and y <= 0)) for x, y in pairs
    )


def _lost_note(lost: int) -> list[Markup]:
    if not lost:
        return []
    return [
        element(
            "p",
            f"{lost} point{'s' if lost > 1 else ''} at 0 or below cannot be shown on a logarithmic axis.",
            class_="note",
        )
    ]


def _place(xs: list[float | None], ys: list[float | None], across: Scale, up: Scale) -> list[Point | None]:
    placed: list[Point | None] = []
    for x, y in zip(xs, ys, strict=True):
        shown = x is not None and y is not None and (x > 0 or not across.log) and (y > 0 or not up.log)
        placed.append((across(x), up(y)) if shown and x is not None and y is not None else None)
    return placed


def _stroke(line: Line, across: Scale, up: Scale) -> list[Markup]:
    points = _place(line.x, line.y, across, up)
    drawn = [element("path", element("title", line.name), class_=f"line {line.css}", d=line_path(points))]
    if sum(p is not None for p in points) <= MAX_MARKERS and "theory" not in line.css:
        drawn.append(element("path", class_=f"marker {line.css}", d=markers_path(points, shape=line.marker)))
    return drawn


def _band(line: Line, across: Scale, up: Scale) -> Markup:
    # A band that reaches 0 or below is drawn down to the edge of a logarithmic axis, not dropped.
    floor = up.low if up.log else None
    low = [v if v is None or floor is None else max(v, floor) for v in line.low]
    return element(
        "path",
        class_=f"band {line.css}",
        d=band_path(_place(line.x, low, across, up), _place(line.x, line.high, across, up)),
    )


def _frame(across: Scale, up: Scale, *, rows: bool = True) -> Markup:
    """Draw grid lines, axis and tick labels."""
    parts = []
    for tick in up.ticks(5) if rows else []:
        y = up(tick)
        parts.append(element("line", class_="grid", x1=LEFT, x2=RIGHT, y1=y, y2=y))
        parts.append(element("text", show(tick), class_="tick", x=LEFT - 7, y=y + 4, text_anchor="end"))
    for tick in across.ticks(5):
        x = across(tick)
        parts.append(element("line", class_="rule", x1=x, x2=x, y1=BOTTOM, y2=BOTTOM + 5))
        parts.append(element("text", show(tick), class_="tick", x=x, y=BOTTOM + 20, text_anchor="middle"))
    parts.append(element("line", class_="rule", x1=LEFT, x2=RIGHT, y1=BOTTOM, y2=BOTTOM))
    return join(parts)


def _figure(body: list[Markup], x_title: str, y_title: str, height: float = HEIGHT) -> list[Markup]:
    label = f"{y_title} against {x_title}" if y_title else x_title
    picture = element(
        "svg", *body, class_="chart", viewBox=f"0 0 {WIDTH:g} {height:g}", role="img", aria_label=label
    )
    above = [element("div", y_title, class_="axis-title y")] if y_title else []
    below = [element("div", x_title, class_="axis-title x")] if x_title else []
    return [*above, picture, *below]


def _key(name: str, css: str, marker: int) -> Markup:
    line = element("path", class_=f"line {css}", d="M1 7H31")
    dot = (
        []
        if "theory" in css
        else [element("path", class_=f"marker {css}", d=markers_path([(16.0, 7.0)], shape=marker))]
    )
    return element(
        "li", element("svg", line, *dot, class_="key", viewBox="0 0 32 14", aria_hidden="true"), name
    )


def _claim_key(text: str) -> Markup:
    return element(
        "li", element("svg", _cross(16.0, 7.0), class_="key", viewBox="0 0 32 14", aria_hidden="true"), text
    )


def _cross(x: float, y: float) -> Markup:
    return element("path", class_="cross", d=f"M{x - 6:.1f} {y:.1f}h12M{x:.1f} {y - 6:.1f}v12")


def _histogram(plot: Plot) -> list[Markup]:
    counts: list[float] = plot["counts"]
    places: list[float] = plot["values"] if "values" in plot else plot["edges"]
    claimed: float | None = plot["claimed"]
    if not counts or not any(counts):
        return [element("p", f"No loss is finite, and {plot['infinite']} are infinite.", class_="problem")]
    limits = [] if claimed is None else ([claimed, -claimed] if min(places) < 0 else [claimed])
    across = Scale.around([*places, *limits], start=LEFT, end=RIGHT, pad=0.05)
    up = Scale.around(
        [c for c in counts if c > 0], start=BOTTOM, end=TOP + 12, log=plot["log_counts"], zero=True, pad=0.08
    )
    spans = _spans(plot, across)
    body = [_frame(across, up), *_columns(spans, counts, places, claimed, up)]
    for limit in limits:
        x = across(limit)
        body.append(element("line", class_="claimed", x1=x, x2=x, y1=TOP + 4, y2=BOTTOM))
        anchor = "end" if x > (LEFT + RIGHT) / 2 else "start"
        body.append(
            element(
                "text",
                f"claimed {show(limit)}",
                class_="tick",
                x=x + (-4 if anchor == "end" else 4),
                y=TOP + 6,
                text_anchor=anchor,
            )
        )
    picture = _figure(body, plot["x_title"], "runs" if not plot["log_counts"] else "runs (logarithmic)")
    if plot["infinite"]:
        picture.append(
            element(
                "p",
                f"{plot['infinite']:,} losses were infinite and are not on this axis.",
                class_="note alarm",
            )
        )
    return picture


def _spans(plot: Plot, across: Scale) -> list[tuple[float, float]]:
    """Return the left and right end of each column in pixels. Columns of atoms have gaps between them."""
    if "edges" in plot:
        ends = [across(e) for e in plot["edges"]]
        if min(b - a for a, b in pairwise(ends)) > 2.0:
            return [(a + 0.4, b - 0.4) for a, b in pairwise(ends)]
        # Bins thinner than a line on these axes are drawn as atoms, so that they stay visible.
        return [((a + b) / 2 - 2.5, (a + b) / 2 + 2.5) for a, b in pairwise(ends)]
    centres = [across(v) for v in plot["values"]]
    ordered = sorted(centres)
    gap = min((b - a for a, b in pairwise(ordered) if b > a), default=40.0)
    half = min(max(gap * 0.4, 1.5), 14.0)
    return [(c - half, c + half) for c in centres]


def _columns(
    spans: list[tuple[float, float]],
    counts: list[float],
    places: list[float],
    claimed: float | None,
    up: Scale,
) -> list[Markup]:
    """Draw all columns as two paths: columns within the claim, and columns beyond it."""
    paths = {"column": "", "column beyond": ""}
    for i, ((left, right), count) in enumerate(zip(spans, counts, strict=True)):
        if count > 0:
            # A bin is beyond the claim only if all of it is, by more than a rounding error.
            inner = abs(places[i]) if len(places) == len(counts) else _inner(places[i], places[i + 1])
            beyond = claimed is not None and inner > claimed * (1 + 1e-9)
            paths["column beyond" if beyond else "column"] += (
                f"M{left:.1f} {BOTTOM:g}V{min(up(count), BOTTOM - 1):.1f}H{right:.1f}V{BOTTOM:g}Z"
            )
    return [element("path", class_=css, d=d) for css, d in paths.items() if d]


def _inner(left: float, right: float) -> float:
    """Return the smallest absolute value in a bin."""
    return 0.0 if left <= 0 <= right else min(abs(left), abs(right))


def _bars(plot: Plot) -> list[Markup]:
    values, claimed = plot["values"], plot["claimed"]
    numbers = [v for key in ("values", "low", "high") for v in (plot[key] or []) if v is not None]
    numbers += [] if claimed is None else [claimed]
    if not numbers:
        return [element("p", "No bar of this plot has a value.", class_="problem")]
    left, right = 8.0, 472.0
    across = Scale.around(numbers, start=left, end=right - 70, log=plot["log"], zero=True, pad=0.02)
    base = across.start if plot["log"] else across(0.0)
    labels = [wrap(label, MAX_LABEL) or [""] for label in plot["labels"]]
    tops = [18 + BAR_ROW * i + LABEL_LINE * sum(map(len, labels[:i])) for i in range(len(values) + 1)]
    height = tops[-1]
    body = []
    if claimed is not None:
        x = across(claimed)
        body.append(element("line", class_="claimed", x1=x, x2=x, y1=14, y2=height))
    for i, value in enumerate(values):
        y = tops[i]
        for line in labels[i]:
            body.append(element("text", line, class_="label", x=left, y=y + 12))
            y += LABEL_LINE
        body += _bar(plot, i, value, y + 2, base, across)
    key = (
        []
        if claimed is None
        else [element("ul", _line_key(f"{plot['claimed_name']}: {show(claimed)}"), class_="legend")]
    )
    return [*_figure(body, plot["value_title"], "", height), *key]


def _bar(plot: Plot, index: int, value: float | None, y: float, base: float, across: Scale) -> list[Markup]:
    if value is None:
        return [element("text", MISSING, class_="tick", x=base + 4, y=y + 11)]
    end = across(value)
    drawn = [
        element("rect", class_="column", x=min(base, end), width=max(abs(end - base), 1.0), y=y, height=13)
    ]
    far = end
    low, high = (plot[key][index] if plot[key] else None for key in ("low", "high"))
    if low is not None and high is not None:
        a, b = across(low), across(high)
        drawn.append(
            element(
                "path",
                class_="whisker",
                d=f"M{a:.1f} {y + 3:g}v7M{b:.1f} {y + 3:g}v7M{a:.1f} {y + 6.5:g}H{b:.1f}",
            )
        )
        far = max(end, b)
    drawn.append(element("text", show(value), class_="tick", x=max(far, base) + 6, y=y + 11))
    return drawn


def _line_key(text: str) -> Markup:
    return element(
        "li",
        element(
            "svg",
            element("line", class_="claimed", x1=16, x2=16, y1=0, y2=14),
            class_="key",
            viewBox="0 0 32 14",
        ),
        text,
    )


def _table(plot: Plot) -> list[Markup]:
    columns = list(zip(*plot["rows"], strict=True)) if plot["rows"] else [()] * len(plot["columns"])
    css = ["number" if _is_number(column) else None for column in columns]
    head = [element("th", name, scope="col", class_=c) for name, c in zip(plot["columns"], css, strict=True)]
    rows = [
        element("tr", *[element("td", describe(cell), class_=c) for cell, c in zip(row, css, strict=True)])
        for row in plot["rows"]
    ]
    grid = element("table", element("thead", element("tr", *head)), element("tbody", *rows), class_="grid")
    return [element("div", grid, class_="scroll")]


def _is_number(column: Sequence[object]) -> bool:
    """Return whether a column holds only numbers and gaps, and at least one number."""
    values = [cell for cell in column if cell is not None]
    return bool(values) and all(isinstance(c, int | float) and not isinstance(c, bool) for c in values)


_DRAW: dict[str, Callable[[Plot], list[Markup]]] = {
    "loss_histogram": _histogram,
    "delta_curve": _delta_curve,
    "curves": _curves,
    "bars": _bars,
    "table": _table,
}
