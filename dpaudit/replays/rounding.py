"""What is only the rounding of the data's floats, where a claim is about real numbers.

A program that is private over the reals may round: a constant comes out as two neighbouring floats, a sum of
float32 numbers changes by a little more than its record. As run this is a leak, or a loss above the claim,
and a claim with ``model=AS_RUN`` is refuted by it. A claim about real numbers is not: what may be rounding
decides nothing, so the row is inconclusive and says so.

* A shown value: the two differ by no more than a few roundings of the data's own float type on numbers of
  that size (``by_rounding``). A real difference that small is not told from rounding.
* A loss, where the data are narrower than double: the same numbers, the same outcomes and the same program in
  double precision stay within the bound (``loss_in_double``).
* The first release, where the data are narrower than double: its laws in double precision count
  (``site_in_double``).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from dpaudit.coins import Program, Replay, SiteLoss, replay
from dpaudit.coins.transcript import count_of
from dpaudit.kernel.ball import arb, precision, upper_short
from dpaudit.replays.witnessing import BITS, witness_sites
from dpaudit.views import View

__all__ = ["by_rounding", "float_type", "in_double", "loss_in_double", "site_in_double"]


def float_type(*data: Any) -> np.dtype[Any]:
    """The narrowest type of the floats in ``data``, double if there are none."""
    types = [item.dtype for item in _parts(list(data)) if item.dtype.kind == "f"]
    return min([*types, np.dtype(float)], key=lambda dtype: np.finfo(dtype).nmant)


def by_rounding(left: Any, right: Any, *, data: Any) -> bool:
    """Whether two shown values are of one make and differ in floats alone, by no more than roundings of
    ``data`` can: a few, and one for each number, on numbers as large as the largest; never by more than half
    of the digits. Another sign of zero or NaN is no rounding."""
    if type(left) is not type(right):
        return False
    if isinstance(left, list | tuple):
        return len(left) == len(right) and all(
            by_rounding(a, b, data=data) for a, b in zip(left, right, strict=True)
        )
    if isinstance(left, dict):
        return by_rounding([*left.items()], [*right.items()], data=data)
    if not isinstance(left, float | np.floating | np.ndarray):
        return bool(left == right)
    one, other = np.asarray(left), np.asarray(right)
    if one.dtype != other.dtype or one.shape != other.shape or one.dtype.kind != "f":
        return one.dtype == other.dtype and one.tobytes() == other.tobytes()
    differ = one != other
    same = [item[~differ].tobytes() for item in (one, other)]
    if same[0] != same[1] or not np.all(np.isfinite(one[differ]) & np.isfinite(other[differ])):
        return False
    sizes = [np.abs(item[np.isfinite(item)]).max(initial=0.0) for item in (*_parts(data), one, other)]
    unit = float(np.finfo(float_type(data)).eps) / 2
    most = min((8 + count_of(data)) * unit, unit**0.5) * float(max(sizes))
    return bool(np.all(np.abs(one[differ] - other[differ]) <= most))


def in_double(data: Any) -> Any:
    """``data`` with the same numbers, none of them narrower than double."""
    if isinstance(data, list | tuple):
        return type(data)(map(in_double, data)) if type(data) in (list, tuple) else data
    if type(data) is dict:
        return {key: in_double(item) for key, item in data.items()}
    if isinstance(data, np.ndarray | np.floating) and data.dtype.kind == "f" and data.dtype.itemsize < 8:
        return data.astype(np.float64)
    return data


def loss_in_double(program: Program, result: Replay, view: View, *, end: int) -> Fraction | None:
    """The size of the loss of a replay's outcomes if its program is given the same two inputs in double
    precision, rounded up. ``None`` where they are in double precision already, or where one of them does not
    get to ``end``."""
    recording = result.recording
    if float_type(recording.data, result.data) == np.dtype(float):
        return None
    left, right = (
        replay(program, in_double(data), recording, compare=False, view=result.view, counted=result.counted)
        for data in (recording.data, result.data)
    )
    if min(left.reached, right.reached) < end:
        return None
    with precision(BITS):
        total = arb(0)
        for sign, one in ((-1, left), (1, right)):
            for item in witness_sites(one, end=end, view=view):
                total += sign * item.loss_ball()
        return upper_short(abs(total)) if total.is_finite() else None


def site_in_double(program: Program, result: Replay, index: int) -> tuple[SiteLoss, Any, Any] | None:
    """The random site at ``index`` with its laws on the same two inputs in double precision, and these two
    inputs; ``None`` where one of them does not get there."""
    inputs = [in_double(data) for data in (result.recording.data, result.data)]
    laws = []
    for data in inputs:
        again = replay(program, data, result.recording, compare=False)
        laws += [item.law_neighbour for item in again.losses if item.index == index]
    item = next((item for item in result.losses if item.index == index), None)
    if item is None or len(laws) != 2:
        return None
    moved = laws[0] != laws[1]
    found = replace(item, record=replace(item.record, law=laws[0]), law_neighbour=laws[1], moved=moved)
    return found, inputs[0], inputs[1]


def _parts(data: Any) -> Iterator[np.ndarray[Any, Any]]:
    """The arrays and numbers in ``data``, as arrays."""
    if isinstance(data, dict):
        data = [*data.values()]
    if isinstance(data, list | tuple):
        for item in data:
            yield from _parts(item)
    elif isinstance(data, np.ndarray | np.number | float | int):
        array = np.asarray(data)
        if array.dtype.kind in "fiu":
            yield array
