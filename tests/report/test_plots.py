"""Plots: builders refuse what cannot be drawn, what they build survives JSON, what is drawn is to scale."""

from __future__ import annotations

import json
import math
import re
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpaudit.core import plots
from dpaudit.core.errors import InvalidParameterError
from dpaudit.report.axis import Scale, wants_log
from dpaudit.report.chart import draw_plot
from dpaudit.report.trace import TOLERANCE, band_path, line_path, markers_path, simplify
from tests.report.dom import Node, parse


def every_kind() -> dict[str, plots.Plot]:
    line = plots.series(name="a", x=[1, 2, 3], y=[1.0, None, 4.0], low=[0, 1, 2], high=[2, 3, 5])
    return {
        "histogram of atoms": plots.loss_histogram(
            title="t", values=[-1, 1], counts=[3, 4], claimed=1, infinite=2
        ),
        "histogram of bins": plots.loss_histogram(title="t", edges=[0, 1, 2], counts=[3, 4], log_counts=True),
        "delta curve": plots.delta_curve(
            title="t",
            epsilon=[0, 1],
            lower=[0.1, None],
            upper=[0.2, 0.01],
            claimed_epsilon=1,
            claimed_delta=0.05,
        ),
        "curves": plots.curves(title="t", series=[line], x_title="x", y_title="y", x_log=True, y_log=True),
        "bars": plots.bars(title="t", labels=["a", "b"], values=[1, -2], claimed=Fraction(1, 2)),
        "table": plots.table(title="t", columns=["a", "b"], rows=[["x", 1], [None, True]]),
    }


@pytest.mark.parametrize("name", list(every_kind()))
def test_plots_survive_json(name: str) -> None:
    """A plot is strict JSON, and reading it back gives the same plot."""
    plot = every_kind()[name]
    assert plots.read_plot(json.loads(json.dumps(plot, allow_nan=False))) == plot


@pytest.mark.parametrize("name", list(every_kind()))
def test_every_kind_is_drawn(name: str) -> None:
    """Each kind becomes one well-formed figure without a complaint."""
    dom = parse(draw_plot(every_kind()[name]))
    assert [node.tag for node in dom.children] == ["figure"]
    assert not dom.find("p", "problem")
    assert dom.find("svg", "chart") or dom.find("table")


def one_line(**changed: Any) -> dict[str, Any]:
    line = {"name": "a", "x": [1], "y": [1]} | changed
    return {"kind": "curves", "title": "t", "series": [line], "x_title": "", "y_title": ""}


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (None, "kind"),
        ({"kind": ["curves"]}, "kind"),
        ({"kind": "pie"}, "must be one of"),
        ({"kind": "bars", "title": "t"}, "missing"),
        ({"kind": "bars", "title": "t", "labels": ["a"], "values": [1], "colour": "red"}, "colour"),
        ({"kind": "bars", "title": "t", "labels": "ab", "values": [1, 2]}, "labels must be a list"),
        ({"kind": "bars", "title": "t", "labels": ["a"], "values": ["1"]}, "numbers or None"),
        ({"kind": "bars", "title": "t", "labels": ["a"], "values": [True]}, "numbers or None"),
        ({"kind": "bars", "title": "t", "labels": ["a"], "values": [1, 2]}, "as many entries as labels"),
        (
            {"kind": "bars", "title": "t", "labels": ["a"], "values": [1], "low": [0]},
            "low and high or neither",
        ),
        ({"kind": "bars", "title": "t", "labels": [], "values": []}, "1 to 400"),
        ({"kind": "loss_histogram", "title": "t", "counts": [1]}, "either values or edges"),
        ({"kind": "loss_histogram", "title": "t", "counts": [1], "edges": [1, 1]}, "edges must increase"),
        ({"kind": "loss_histogram", "title": "t", "counts": [1], "edges": [1]}, "counts plus one"),
        ({"kind": "loss_histogram", "title": "t", "counts": [-1], "values": [1]}, "0 or more"),
        ({"kind": "loss_histogram", "title": "t", "counts": [None], "values": [1]}, "without gaps"),
        ({"kind": "loss_histogram", "title": "t", "counts": [1], "values": [1], "infinite": -1}, "infinite"),
        ({"kind": "delta_curve", "title": "t", "epsilon": [1]}, "lower or upper"),
        ({"kind": "curves", "title": "t", "series": [], "x_title": "", "y_title": ""}, "1 to 32 series"),
        ({"kind": "curves", "title": "t", "series": [3], "x_title": "", "y_title": ""}, "must be an object"),
        (one_line(low=[1]), "low and high"),
        (one_line(y=[]), "as many entries"),
        (one_line(x=[0] * 20_001), "at most 20000 entries, got 20001"),
        ({"kind": "table", "title": "t", "columns": ["a"], "rows": [[1, 2]]}, "columns"),
        ({"kind": "table", "title": "t", "columns": ["a"], "rows": [[{}]]}, "cell"),
    ],
)
def test_what_cannot_be_drawn_is_refused(data: Any, message: str) -> None:
    """A plot of another form is refused with the reason, and the page shows the reason in its place."""
    with pytest.raises(InvalidParameterError, match=message):
        plots.read_plot(data)
    (sentence,) = parse(draw_plot(data)).children
    assert sentence.attributes["class"] == "problem"


def test_numbers_of_every_type_are_taken() -> None:
    """numpy scalars and arrays, fractions and integers become floats; what is not finite becomes a gap."""
    line = plots.series(
        name="a",
        x=np.arange(6),
        y=[Fraction(1, 4), np.float32(0.5), math.inf, math.nan, None, 10**400],
    )
    assert line["x"] == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
    assert line["y"] == [0.25, 0.5, None, None, None, None]


def test_few_losses_become_atoms_and_many_become_bins() -> None:
    """A discrete loss keeps its atoms and counts, a continuous one is binned, infinite ones are counted."""
    atoms = plots.histogram_of_losses(title="t", losses=[0.5, -0.5, 0.5, math.inf, 0.5 + 1e-16])
    assert (atoms["values"], atoms["counts"], atoms["infinite"]) == ([-0.5, 0.5], [1.0, 3.0], 1)
    losses = np.random.default_rng(3).normal(size=1000)
    bins = plots.histogram_of_losses(title="t", losses=losses, bins=20)
    assert (len(bins["edges"]), sum(bins["counts"])) == (21, 1000.0)
    with pytest.raises(InvalidParameterError, match="NaN"):
        plots.histogram_of_losses(title="t", losses=[math.nan])


def numbers_of(path: str) -> list[tuple[float, float]]:
    """The points of a path that consists of one M and relative l steps."""
    points: list[tuple[float, float]] = []
    for letter, step in re.findall(r"([Ml])([^Ml]+)", path.rstrip("Z")):
        x, y = (float(n) for n in re.findall(r"-?(?:\d+\.?\d*|\.\d+)", step))
        points.append((x, y) if letter == "M" else (points[-1][0] + x, points[-1][1] + y))
    return points


def ticks(dom: Node, *, across: bool) -> dict[float, float]:
    """Tick labels of a chart with their places in pixels."""
    found = [n for n in dom.find("text", "tick") if (n.attributes["text-anchor"] == "middle") == across]
    shift = 0.0 if across else -4.0  # labels beside the axis are lowered by 4 to stand at mid-height
    place = "x" if across else "y"
    return {
        float(n.words().replace("−", "-").replace(",", "")): float(n.attributes[place]) + shift for n in found
    }


@pytest.mark.parametrize(
    ("log", "xs", "ys"), [(False, [0, 2, 4], [0, 30, 50]), (True, [1, 10, 1000], [0.1, 5, 500])]
)
def test_curves_are_to_scale(log: bool, xs: list[float], ys: list[float]) -> None:
    """The points of a line stand where the axes' own ticks say, on linear and logarithmic axes."""
    line = plots.series(name="a", x=xs, y=ys)
    dom = parse(
        draw_plot(plots.curves(title="t", series=[line], x_title="x", y_title="y", x_log=log, y_log=log))
    )
    drawn = numbers_of(dom.find("path", "line")[0].attributes["d"])
    for axis, values in ((0, xs), (1, ys)):
        marks = ticks(dom, across=axis == 0)
        low, high = min(marks), max(marks)
        to = np.log if log else np.asarray
        for value, point in zip(values, drawn, strict=True):
            share = float((to(value) - to(low)) / (to(high) - to(low)))
            assert point[axis] == pytest.approx(marks[low] + share * (marks[high] - marks[low]), abs=0.11)


def test_claimed_lines_of_a_histogram_are_to_scale() -> None:
    """The claim stands at ±epsilon on the axis, and columns beyond it are marked, those at it are not."""
    plot = plots.loss_histogram(title="t", values=[-2, -1, 0, 1, 2], counts=[1, 5, 9, 5, 1], claimed=1)
    dom = parse(draw_plot(plot))
    marks = ticks(dom, across=True)
    places = sorted(float(n.attributes["x1"]) for n in dom.find("line", "claimed"))
    assert places == pytest.approx([marks[-1.0], marks[1.0]], abs=0.02)
    (beyond,) = dom.find("path", "column beyond")
    assert beyond.attributes["d"].count("M") == 2
    assert dom.find("path", "column")[0].attributes["d"].count("M") == 3


def test_bins_thinner_than_a_line_can_be_seen() -> None:
    """Losses that are all equal give bins of no width; the column is drawn wide enough to be seen."""
    plot = plots.loss_histogram(title="t", edges=[0.0, 1e-17, 2e-17], counts=[0, 16], claimed=1)
    d = parse(draw_plot(plot)).find("path", "column")[0].attributes["d"]
    left, right = (float(re.findall(pattern, d)[0]) for pattern in (r"M([\d.]+)", r"H([\d.]+)"))
    assert right - left >= 4


def test_bars_are_to_scale() -> None:
    """Lengths of bars are proportional to their values, from 0 to either side."""
    dom = parse(draw_plot(plots.bars(title="t", labels=["a", "b", "c"], values=[1, 4, -2])))
    widths = [float(n.attributes["width"]) for n in dom.find("rect", "column")]
    assert widths[1] == pytest.approx(4 * widths[0], abs=0.1)
    assert widths[2] == pytest.approx(2 * widths[0], abs=0.1)


def test_points_that_a_log_axis_cannot_show_are_counted() -> None:
    """Zeros and negative numbers on a logarithmic axis are gaps, and the figure says how many."""
    line = plots.series(name="a", x=[0, 1, 2, 3], y=[1, 0, -1, 2])
    plot = plots.curves(title="t", series=[line], x_title="x", y_title="y", x_log=True, y_log=True)
    note = parse(draw_plot(plot)).find("p", "note")[0].words()
    assert note.startswith("3 points")


def test_infinite_losses_are_announced() -> None:
    """Losses that no axis can show are counted below the picture."""
    text = parse(draw_plot(every_kind()["histogram of atoms"])).words()
    assert "2 losses were infinite" in text


@pytest.mark.parametrize("empty", [[None, None], [0.0, -1.0]])
def test_nothing_to_draw_is_said(empty: list[float | None]) -> None:
    """A plot whose points are all gaps is a sentence in its place, not an empty picture or an error."""
    line = plots.series(name="a", x=[1, 2], y=empty)
    plot = plots.curves(title="t", series=[line], x_title="x", y_title="y", y_log=True)
    assert parse(draw_plot(plot)).find("p", "problem")


def test_simplified_lines_stay_within_tolerance() -> None:
    """A smooth line loses most of its points and none of its shape: all of them stay near the line drawn."""
    xs = np.linspace(0, 400, 3000)
    points = [(float(x), float(100 + 80 * np.sin(x / 30))) for x in xs]
    kept = simplify(points)
    assert kept[0] == points[0]
    assert kept[-1] == points[-1]
    assert len(kept) < 120
    # On a function's graph the vertical distance is at least the distance, hence the factor for the slope.
    drawn = np.interp(xs, [p[0] for p in kept], [p[1] for p in kept])
    assert np.abs(drawn - [p[1] for p in points]).max() < TOLERANCE * math.hypot(1, 80 / 30)


def test_noisy_lines_keep_their_extremes() -> None:
    """Of a noisy line 120 points are kept, the highest and the lowest among them."""
    rng = np.random.default_rng(4)
    points = [(i / 10, float(y)) for i, y in enumerate(rng.normal(size=4000) * 40)]
    kept = simplify(points)
    assert len(kept) <= 120
    assert {min(points, key=lambda p: p[1]), max(points, key=lambda p: p[1])} <= set(kept)


def test_paths_break_at_gaps() -> None:
    """A gap ends a line and a band and starts new ones; a lone point is a dot; markers skip gaps."""
    points = [(0.0, 1.0), (1.0, 2.5), None, (3.0, -0.25), None, (5.0, 1.0), (6.0, 1.0)]
    assert line_path(points) == "M0 1l1 1.5M3 -.2l0 0M5 1l1 0"
    assert markers_path(points, shape=1).count("M") == 5
    assert band_path(points, points).count("Z") == 2


@pytest.mark.parametrize("log", [False, True])
def test_scales_are_monotone_and_ticks_are_inside(log: bool) -> None:
    """For ranges over 600 orders of magnitude: places grow with numbers, ticks lie in the range, few."""
    rng = np.random.default_rng(6)
    for _ in range(300):
        values = np.sort(10 ** rng.uniform(-300, 300) * (1 + 10 ** rng.uniform(-8, 6) * rng.random(4)))
        scale = Scale.around([float(v) for v in values], start=0.0, end=100.0, log=log)
        places = [scale(float(v)) for v in values]
        assert places == sorted(places)
        assert places[-1] > places[0]
        marks = scale.ticks()
        assert len(marks) <= 13
        slack = 1e-6 * (scale.high - scale.low)
        assert all(scale.low - slack <= mark <= scale.high + slack for mark in marks)


def test_log_is_chosen_only_for_wide_positive_ranges() -> None:
    """A factor of more than 30 asks for a logarithmic line; a negative number forbids it."""
    assert wants_log([0.0, 1e-6, 1e-3])
    assert not wants_log([1.0, 20.0])
    assert not wants_log([-1.0, 1e-6, 1.0])
    assert not wants_log([0.0])


def test_long_labels_of_bars_are_wrapped_and_not_cut() -> None:
    """Every word of a label stands in the picture, each line below the other and above its own bar."""
    label = " ".join(f"word{i}" for i in range(40))
    plot = plots.bars(title="sizes", labels=[label, "short"], values=[1.0, 2.0], value_title="size")
    dom = parse(draw_plot(plot))
    lines = [node for node in dom.find("text", "label") if node.words() != "short"]
    assert len(lines) > 2
    assert " ".join(node.words() for node in lines) == label
    heights = [float(node.attributes["y"]) for node in dom.find("text", "label")]
    bars = [float(node.attributes["y"]) for node in dom.find("rect", "column")]
    assert heights == sorted(heights)
    assert heights[-2] < bars[0] < heights[-1] < bars[1]
