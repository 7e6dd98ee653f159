"""Plots as plain data, which a suite puts into ``Outcome.plots`` and the report draws.

A plot is a JSON object with a ``kind``. Suites build it with the keyword-only functions of this module, and
``read_plot`` reads it through the same functions, so that their signatures *are* the schema. The common
fields are ``title`` (one line above the picture) and ``note`` (a sentence below it). Numbers may be ints,
floats, numpy scalars or ``Fraction``. NaN, infinities and ``None`` become ``None``, a gap.

``loss_histogram``
    ``counts`` with either ``values`` (atoms of a discrete loss) or ``edges`` (bins, one more than counts),
    ``claimed`` epsilon, drawn as lines at ±epsilon, ``infinite``, the number of infinite losses,
    ``log_counts``, ``x_title``.
``delta_curve``
    ``epsilon`` grid, ``lower`` (attack) and ``upper`` (certificate), with a delta at each epsilon, one of
    which may be ``None``, ``claimed_epsilon`` with ``claimed_delta``, drawn as a cross. The delta axis is
    logarithmic.
``curves``
    ``series``, a list of ``{name, x, y, low, high, dashed}`` (``low`` and ``high`` are a band, both or
    neither, and ``dashed`` marks a theorem's curve rather than a measured one), ``x_title``, ``y_title``,
    ``x_log``, ``y_log``.
``bars``
    ``labels``, ``values``, ``low`` and ``high`` (error bars, both or neither), ``claimed`` with
    ``claimed_name`` (a line), ``value_title``, ``log``.
``table``
    ``columns``, and ``rows`` of cells (text, numbers, booleans, ``None``).
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any, SupportsFloat

import numpy as np
from numpy.typing import NDArray

from dpaudit.core.errors import InvalidParameterError

__all__ = [
    "Plot",
    "bars",
    "curves",
    "delta_curve",
    "histogram_of_losses",
    "loss_histogram",
    "read_plot",
    "series",
    "table",
]

Plot = dict[str, Any]
Numbers = Iterable[SupportsFloat | None]

#: Larger plots are refused: reports are sent by mail, and such a plot shows no more.
MAX_POINTS = 20_000
MAX_SERIES = 32
MAX_BARS = 400
MAX_CELLS = 20_000
#: Numbers of this size and above count as infinite in a report.
HUGE = 1e300


def loss_histogram(
    *,
    title: str,
    counts: Numbers,
    values: Numbers | None = None,
    edges: Numbers | None = None,
    claimed: SupportsFloat | None = None,
    infinite: int = 0,
    log_counts: bool = False,
    x_title: str = "privacy loss",
    note: str = "",
) -> Plot:
    """Return a histogram of privacy losses.

    ``counts`` >= 0 are of atoms at ``values``, or of bins between increasing ``edges``. Raises
    ``InvalidParameterError`` unless exactly one of ``values`` and ``edges`` is given, with matching length.
    """
    heights = _solid(counts, "counts")
    if any(h < 0 for h in heights):
        raise InvalidParameterError(f"counts must be 0 or more, got {min(heights)}.", code="E-PLOT-COUNTS")
    if (values is None) == (edges is None):
        raise InvalidParameterError(
            "a loss histogram must have either values or edges, got both or neither.", code="E-PLOT-VALUES"
        )
    plot: Plot = {"kind": "loss_histogram", "title": str(title), "counts": heights}
    if values is not None:
        plot["values"] = _same_length(_solid(values, "values"), len(heights), "values", "counts")
    if edges is not None:
        ends = _same_length(_solid(edges, "edges"), len(heights) + 1, "edges", "counts plus one")
        if any(b <= a for a, b in pairwise(ends)):
            raise InvalidParameterError(
                "edges must increase, got a repeated or falling edge.", code="E-PLOT-EDGES"
            )
        plot["edges"] = ends
    if isinstance(infinite, bool) or not isinstance(infinite, int | np.integer) or infinite < 0:
        raise InvalidParameterError(
            f"infinite must be a count of 0 or more, got {infinite!r}.", code="E-PLOT-COUNTS"
        )
    return plot | {
        "claimed": _number(claimed, "claimed"),
        "infinite": int(infinite),
        "log_counts": bool(log_counts),
        "x_title": str(x_title),
        "note": str(note),
    }


def histogram_of_losses(
    *,
    title: str,
    losses: NDArray[np.float64] | Sequence[float],
    claimed: SupportsFloat | None = None,
    bins: int = 40,
    log_counts: bool = False,
    x_title: str = "privacy loss",
    note: str = "",
) -> Plot:
    """Return the ``loss_histogram`` of raw losses (one dimension).

    It has atoms if at most ``bins`` different values occur, else ``bins`` equal bins. Infinite losses of
    either sign are counted separately. NaN raises ``InvalidParameterError``.
    """
    array = np.asarray(losses, dtype=np.float64).ravel()
    if np.isnan(array).any():
        raise InvalidParameterError(
            "losses must not be NaN, got at least one. Leave out outcomes with p = p' = 0.",
            code="E-PLOT-NAN",
        )
    if not 1 <= bins <= MAX_BARS:
        raise InvalidParameterError(f"bins must be from 1 to {MAX_BARS}, got {bins}.", code="E-PLOT-SIZE")
    finite = array[np.isfinite(array)]
    options: dict[str, Any] = {
        "title": title,
        "claimed": claimed,
        "infinite": int(array.size - finite.size),
        "log_counts": log_counts,
        "x_title": x_title,
        "note": note,
    }
    # Losses that differ in the last bits only are one atom.
    atoms, counts = np.unique(np.round(finite, 12), return_counts=True)
    if atoms.size <= bins:
        return loss_histogram(counts=counts.tolist(), values=atoms.tolist(), **options)
    heights, edges = np.histogram(finite, bins=bins)
    return loss_histogram(counts=heights.tolist(), edges=edges.tolist(), **options)


def delta_curve(
    *,
    title: str,
    epsilon: Numbers,
    lower: Numbers | None = None,
    upper: Numbers | None = None,
    claimed_epsilon: SupportsFloat | None = None,
    claimed_delta: SupportsFloat | None = None,
    note: str = "",
) -> Plot:
    """Return a plot of delta against epsilon, with bounds by an attack and a certificate and the claim.

    ``lower`` and ``upper`` have one delta in [0, 1] (or ``None``) for each entry of ``epsilon``. At least one
    of them must be given.
    """
    grid = _solid(epsilon, "epsilon")
    if lower is None and upper is None:
        raise InvalidParameterError(
            "a delta curve must have lower or upper, got neither.", code="E-PLOT-VALUES"
        )
    plot: Plot = {"kind": "delta_curve", "title": str(title), "epsilon": grid}
    for name, given in (("lower", lower), ("upper", upper)):
        plot[name] = (
            None if given is None else _same_length(_numbers(given, name), len(grid), name, "epsilon")
        )
    return plot | {
        "claimed_epsilon": _number(claimed_epsilon, "claimed_epsilon"),
        "claimed_delta": _number(claimed_delta, "claimed_delta"),
        "note": str(note),
    }


def series(
    *,
    name: str,
    x: Numbers,
    y: Numbers,
    low: Numbers | None = None,
    high: Numbers | None = None,
    dashed: bool = False,
) -> dict[str, Any]:
    """Return a line of ``curves``: points (``x``, ``y``) in drawing order, and optionally a band."""
    xs = _numbers(x, "x")
    if (low is None) != (high is None):
        raise InvalidParameterError(
            f"series {name!r} must have low and high or neither, got only one.", code="E-PLOT-BAND"
        )
    line: dict[str, Any] = {
        "name": str(name),
        "x": xs,
        "y": _same_length(_numbers(y, "y"), len(xs), "y", "x"),
    }
    for key, given in (("low", low), ("high", high)):
        if given is not None:
            line[key] = _same_length(_numbers(given, key), len(xs), key, "x")
    return line | {"dashed": bool(dashed)}


def curves(
    *,
    title: str,
    series: Sequence[Mapping[str, Any]],
    x_title: str,
    y_title: str,
    x_log: bool = False,
    y_log: bool = False,
    note: str = "",
) -> Plot:
    """Return a plot of lines on common axes, such as regret against the theorem's rate or against epsilon.

    ``series`` holds objects from ``series(...)`` of this module. On a logarithmic axis, numbers of 0 or less
    are gaps, and the report states their number.
    """
    if isinstance(series, str | Mapping) or not 1 <= len(series) <= MAX_SERIES:
        raise InvalidParameterError(
            f"curves must have 1 to {MAX_SERIES} series, got {series!r:.60}.", code="E-PLOT-SIZE"
        )
    lines = [_rebuild(_build_series, line, f"series {i}") for i, line in enumerate(series)]
    return {
        "kind": "curves",
        "title": str(title),
        "series": lines,
        "x_title": str(x_title),
        "y_title": str(y_title),
        "x_log": bool(x_log),
        "y_log": bool(y_log),
        "note": str(note),
    }


_build_series = series  # ``curves`` has a parameter of that name


def bars(
    *,
    title: str,
    labels: Sequence[str],
    values: Numbers,
    low: Numbers | None = None,
    high: Numbers | None = None,
    claimed: SupportsFloat | None = None,
    claimed_name: str = "claimed",
    value_title: str = "",
    log: bool = False,
    note: str = "",
) -> Plot:
    """Return a horizontal bar for each label, with optional error bars and a line at ``claimed``."""
    names = [str(label) for label in _sized(labels, "labels")]
    if not 1 <= len(names) <= MAX_BARS:
        raise InvalidParameterError(
            f"the number of bars must be from 1 to {MAX_BARS}, got {len(names)}.", code="E-PLOT-SIZE"
        )
    if (low is None) != (high is None):
        raise InvalidParameterError(
            "bars must have low and high or neither, got only one.", code="E-PLOT-BAND"
        )
    plot: Plot = {"kind": "bars", "title": str(title), "labels": names}
    for key, given in (("values", values), ("low", low), ("high", high)):
        plot[key] = None if given is None else _same_length(_numbers(given, key), len(names), key, "labels")
    return plot | {
        "claimed": _number(claimed, "claimed"),
        "claimed_name": str(claimed_name),
        "value_title": str(value_title),
        "log": bool(log),
        "note": str(note),
    }


def table(*, title: str, columns: Sequence[str], rows: Sequence[Sequence[Any]], note: str = "") -> Plot:
    """Return a table of texts, numbers, booleans and ``None``. Every row has one cell for each column."""
    names = [str(column) for column in _sized(columns, "columns")]
    lines = [[_cell(cell) for cell in _sized(row, "a row")] for row in _sized(rows, "rows")]
    for line in lines:
        _same_length(line, len(names), "a row", "columns")
    if len(names) * len(lines) > MAX_CELLS:
        raise InvalidParameterError(
            f"a table must have at most {MAX_CELLS} cells, got {len(names) * len(lines)}.", code="E-PLOT-SIZE"
        )
    return {"kind": "table", "title": str(title), "columns": names, "rows": lines, "note": str(note)}


_BUILDERS: dict[str, Callable[..., Plot]] = {
    "loss_histogram": loss_histogram,
    "delta_curve": delta_curve,
    "curves": curves,
    "bars": bars,
    "table": table,
}


def read_plot(data: object) -> Plot:
    """Check a plot of a report and return it complete, with its optional fields.

    Raises ``InvalidParameterError`` for an unknown kind, a missing, extra or ill-typed field, or lengths
    that do not match.
    """
    if (
        not isinstance(data, Mapping)
        or not isinstance(data.get("kind"), str)
        or data["kind"] not in _BUILDERS
    ):
        kind = data.get("kind") if isinstance(data, Mapping) else data
        raise InvalidParameterError(
            f"a plot's kind must be one of {sorted(_BUILDERS)}, got {kind!r:.60}.", code="E-PLOT-KIND"
        )
    return _rebuild(
        _BUILDERS[data["kind"]], {key: value for key, value in data.items() if key != "kind"}, data["kind"]
    )


def _rebuild(builder: Callable[..., dict[str, Any]], fields: object, what: str) -> dict[str, Any]:
    if not isinstance(fields, Mapping):
        raise InvalidParameterError(
            f"{what} must be an object, got {type(fields).__name__}.", code="E-PLOT-FIELDS"
        )
    try:
        inspect.signature(builder).bind(**{str(key): value for key, value in fields.items()})
    except TypeError as error:
        raise InvalidParameterError(
            f"{what} must have the fields of its builder, got: {error}", code="E-PLOT-FIELDS"
        ) from error
    return builder(**fields)


def _number(value: object, name: str) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | Fraction | np.number):
        raise InvalidParameterError(
            f"{name} must hold numbers or None, got {value!r:.60}.", code="E-PLOT-NUMBER"
        )
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) and abs(number) < HUGE else None


def _numbers(values: object, name: str) -> list[float | None]:
    listed = _sized(values.tolist() if isinstance(values, np.ndarray) else values, name)
    if len(listed) > MAX_POINTS:
        raise InvalidParameterError(
            f"{name} must have at most {MAX_POINTS} entries, got {len(listed)}.", code="E-PLOT-SIZE"
        )
    return [_number(value, name) for value in listed]


def _solid(values: object, name: str) -> list[float]:
    numbers = _numbers(values, name)
    solid = [n for n in numbers if n is not None]
    if len(solid) != len(numbers):
        raise InvalidParameterError(
            f"{name} must be finite numbers without gaps, got a gap.", code="E-PLOT-NUMBER"
        )
    return solid


def _sized(values: object, name: str) -> list[Any]:
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
        raise InvalidParameterError(f"{name} must be a list, got {values!r:.60}.", code="E-PLOT-LIST")
    return list(values)


def _same_length(values: list[Any], wanted: int, name: str, other: str) -> list[Any]:
    if len(values) != wanted:
        raise InvalidParameterError(
            f"{name} must have as many entries as {other} ({wanted}), got {len(values)}.",
            code="E-PLOT-LENGTH",
        )
    return values


def _cell(value: object) -> str | float | int | bool | None:
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, np.bool_):
        return bool(value)
    if isinstance(value, int | np.integer):
        return int(value)
    if isinstance(value, Fraction):
        return str(value)
    if isinstance(value, float | np.floating):
        number = float(value)
        return (
            number
            if math.isfinite(number)
            else ("nan" if math.isnan(number) else "∞" if number > 0 else "−∞")
        )
    raise InvalidParameterError(
        f"a table's cell must be text, a number, a boolean or None, got {type(value).__name__}.",
        code="E-PLOT-CELL",
    )
