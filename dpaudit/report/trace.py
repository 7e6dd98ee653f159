"""Write lines as short SVG paths with gaps and markers.

A report with hundreds of plots stays small because a line keeps only the points that change it by more than
``TOLERANCE`` pixels (Ramer 1972; Douglas and Peucker 1973).
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

__all__ = ["Point", "band_path", "line_path", "markers_path", "simplify"]

Point = tuple[float, float]
Floats = NDArray[np.float64]
TOLERANCE = 0.35
#: The largest number of points of a line, and of each edge of a band, which needs less detail.
MAX_KEPT = 120
MAX_KEPT_EDGE = 60

#: Marker shapes relative to their centres. The series of a plot use them in turn.
_SHAPES = (
    "m-3 0a3 3 0 1 0 6 0a3 3 0 1 0-6 0z",
    "m-2.7-2.7h5.4v5.4h-5.4z",
    "m-3.8 0l3.8-3.8 3.8 3.8-3.8 3.8z",
    "m-3.4 2.6l3.4-5.8 3.4 5.8z",
)


def simplify(points: Sequence[Point], *, most: int = MAX_KEPT) -> list[Point]:
    """Return the points needed to draw a line: the others lie within ``TOLERANCE`` of it.

    Ends are kept. The farthest points are kept first, so that at most ``most`` points of a noisy line show
    its extremes.
    """
    if len(points) <= min(16, most):
        return list(points)
    array = np.array(points, dtype=np.float64)
    x, y = np.ascontiguousarray(array[:, 0]), np.ascontiguousarray(array[:, 1])
    kept = [0, len(points) - 1]
    # Segments still to be split, the worst first.
    queue = [_worst(x, y, 0, len(points) - 1)]
    while queue and len(kept) < most:
        off, first, middle, last = heappop(queue)
        if -off <= TOLERANCE * TOLERANCE:
            break
        kept.append(middle)
        for start, end in ((first, middle), (middle, last)):
            if end - start > 1:
                heappush(queue, _worst(x, y, start, end))
    return [points[i] for i in sorted(kept)]


def _worst(x: Floats, y: Floats, first: int, last: int) -> tuple[float, int, int, int]:
    """Return minus the squared distance of the farthest point from a segment, and the three indices."""
    along_x, along_y = x[last] - x[first], y[last] - y[first]
    off_x, off_y = x[first + 1 : last] - x[first], y[first + 1 : last] - y[first]
    length = along_x * along_x + along_y * along_y
    if length > 0:
        share = np.minimum(np.maximum((off_x * along_x + off_y * along_y) / length, 0.0), 1.0)
        off_x, off_y = off_x - share * along_x, off_y - share * along_y
    off = off_x * off_x + off_y * off_y
    worst = int(off.argmax())
    return -float(off[worst]), first, first + 1 + worst, last


def _segments(points: Sequence[Point | None]) -> list[list[Point]]:
    """Return the runs of points between gaps."""
    runs: list[list[Point]] = [[]]
    for point in points:
        if point is None:
            runs.append([])
        else:
            runs[-1].append(point)
    return [run for run in runs if run]


def _path(points: Sequence[Point]) -> str:
    """Return a path through the points. Relative steps of a tenth of a pixel give the shortest text."""
    tenths = [(round(x * 10), round(y * 10)) for x, y in points]
    steps = [f"{_tenths(b[0] - a[0])} {_tenths(b[1] - a[1])}" for a, b in pairwise(tenths)]
    start = f"M{_tenths(tenths[0][0])} {_tenths(tenths[0][1])}"
    return start + "".join("l" + step.replace(" -", "-") for step in steps)


def _tenths(number: int) -> str:
    whole, rest = divmod(abs(number), 10)
    return f"{'-' if number < 0 else ''}{whole or ('' if rest else 0)}{f'.{rest}' if rest else ''}"


def line_path(points: Sequence[Point | None]) -> str:
    """Return the ``d`` of a line through the points, broken at gaps. A lone point becomes a dot."""
    parts = []
    for run in _segments(points):
        kept = simplify(run) if len(run) > 1 else [run[0], run[0]]
        parts.append(_path(kept))
    return "".join(parts)


def band_path(low: Sequence[Point | None], high: Sequence[Point | None]) -> str:
    """Return the ``d`` of the area between two lines with the same abscissae, broken at gaps of either."""
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
            edge = simplify([b for _, b in run], most=MAX_KEPT_EDGE)
            edge += simplify([a for a, _ in run], most=MAX_KEPT_EDGE)[::-1]
            parts.append(_path(edge) + "Z")
    return "".join(parts)


def markers_path(points: Sequence[Point | None], *, shape: int) -> str:
    """Return the ``d`` of one marker per point: circle, square, diamond or triangle by ``shape`` modulo 4."""
    outline = _SHAPES[shape % len(_SHAPES)]
    return "".join(_path([point]) + outline for point in points if point is not None)
