"""Lines as short SVG paths: gaps, simplification to what the eye can tell apart, markers.

A report with hundreds of plots stays small because a line keeps only the points that move it by more than
``TOLERANCE`` pixels (Ramer 1972; Douglas and Peucker 1973).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["Point", "band_path", "line_path", "markers_path", "simplify"]

Point = tuple[float, float]
TOLERANCE = 0.35

#: One marker a shape, relative to its centre; the series of a plot take them in turn.
_SHAPES = (
    "m-3 0a3 3 0 1 0 6 0a3 3 0 1 0-6 0z",
    "m-2.7-2.7h5.4v5.4h-5.4z",
    "m-3.8 0l3.8-3.8 3.8 3.8-3.8 3.8z",
    "m-3.4 2.6l3.4-5.8 3.4 5.8z",
)


def simplify(points: Sequence[Point], tolerance: float = TOLERANCE) -> list[Point]:
    """The points that a line through all of them needs: the others lie within ``tolerance`` of it. Ends are
    kept.
    """
    if len(points) <= 16:
        return list(points)
    array = np.array(points, dtype=np.float64)
    keep = np.zeros(len(points), dtype=bool)
    keep[[0, -1]] = True
    stack = [(0, len(points) - 1)]
    while stack:
        first, last = stack.pop()
        if last - first < 2:
            continue
        off = _distances(array, first, last)
        worst = int(np.argmax(off))
        if off[worst] > tolerance:
            middle = first + 1 + worst
            keep[middle] = True
            stack += [(first, middle), (middle, last)]
    return [points[i] for i in np.flatnonzero(keep).tolist()]


def _distances(array: NDArray[np.float64], first: int, last: int) -> NDArray[np.float64]:
    """Distance of the points strictly between two from the segment that joins the two."""
    start, end = array[first], array[last]
    along = end - start
    inner = array[first + 1 : last] - start
    length = float(along @ along)
    share = np.clip(inner @ along / length, 0.0, 1.0) if length > 0 else np.zeros(len(inner))
    rest = inner - share[:, None] * along
    return np.asarray(np.hypot(rest[:, 0], rest[:, 1]))


def _segments(points: Sequence[Point | None]) -> list[list[Point]]:
    """Runs of points between gaps."""
    runs: list[list[Point]] = [[]]
    for point in points:
        if point is None:
            runs.append([])
        else:
            runs[-1].append(point)
    return [run for run in runs if run]


def _xy(point: Point) -> str:
    return f"{_short(point[0])} {_short(point[1])}"


def _short(number: float) -> str:
    text = f"{number:.1f}"
    return text[:-2] if text.endswith(".0") else text


def line_path(points: Sequence[Point | None]) -> str:
    """The ``d`` of a line through the points, broken at gaps; a lone point becomes a dot."""
    parts = []
    for run in _segments(points):
        kept = simplify(run) if len(run) > 1 else [run[0], run[0]]
        parts.append("M" + "L".join(_xy(p) for p in kept))
    return "".join(parts)


def band_path(low: Sequence[Point | None], high: Sequence[Point | None]) -> str:
    """The ``d`` of the area between two lines with the same abscissae, broken where either has a gap."""
    paired = [None if a is None or b is None else (a, b) for a, b in zip(low, high, strict=True)]
    runs: list[list[tuple[Point, Point]]] = [[]]
    for pair in paired:
        if pair is None:
            runs.append([])
        else:
            runs[-1].append(pair)
    parts = []
    for run in runs:
        if len(run) > 1:
            edge = simplify([b for _, b in run]) + simplify([a for a, _ in run])[::-1]
            parts.append("M" + "L".join(_xy(p) for p in edge) + "Z")
    return "".join(parts)


def markers_path(points: Sequence[Point | None], *, shape: int) -> str:
    """The ``d`` of one marker for each point: circles, squares, diamonds and triangles by ``shape`` modulo
    4.
    """
    outline = _SHAPES[shape % len(_SHAPES)]
    return "".join(f"M{_xy(point)}{outline}" for point in points if point is not None)
