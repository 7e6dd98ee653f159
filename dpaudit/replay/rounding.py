"""Recognise differences that are only rounding of floats, for claims about real numbers.

A program that is private over the reals may round: a constant comes out as two neighbouring floats, or a sum
of float32 numbers changes by a little more than its record. As run this is a leak, or a loss above the claim,
and it refutes a claim with ``model=AS_RUN``. It does not refute a claim about real numbers: what may be
rounding decides nothing, so the row is inconclusive and says so.

* An output: the two values differ by at most a few roundings of the data's own float type on numbers of that
  size (``by_rounding``). A real difference of that size cannot be distinguished from rounding.
* A loss, if the data are narrower than double: the same numbers, the same outcomes and the same program in
  double precision stay within the bound (``loss_in_double``).
* The first release, if the data are narrower than double: its distributions in double precision count
  (``site_in_double``).
* Any of these, whatever the data are: the program runs on both inputs in the other rounding modes of the
  processor (``dpaudit/core/rounding_modes.py``). The results of the modes span the possible real numbers, and
  the least difference between them counts (``met_in_modes``, ``loss_in_modes``, ``site_in_modes``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from dpaudit.coins import Program, Replay, Replayer, SiteLoss, replay
from dpaudit.coins.base import To
from dpaudit.coins.limits import StepLimitError
from dpaudit.coins.matching import DivergedError
from dpaudit.coins.replayer import Leak
from dpaudit.coins.transcript import count_of, run_program, same_shown
from dpaudit.coins.unwatched import unwatched
from dpaudit.core.errors import InvalidParameterError, MechanismError
from dpaudit.core.rounding_modes import MODES, in_mode, rounding_mode
from dpaudit.core.views import PUBLIC, View
from dpaudit.distributions.base import Distribution
from dpaudit.kernel.ball import arb, precision, upper_short
from dpaudit.replay.accounting import worst_cost
from dpaudit.replay.witness_search import BITS, witness_sites

__all__ = [
    "by_rounding",
    "float_type",
    "in_double",
    "loss_in_double",
    "loss_in_modes",
    "met_in_modes",
    "site_in_double",
    "site_in_modes",
]


def float_type(*data: Any) -> np.dtype[Any]:
    """Return the narrowest type of the floats in ``data``, or double if there are none."""
    types = [item.dtype for item in _parts(list(data)) if item.dtype.kind == "f"]
    return min([*types, np.dtype(float)], key=lambda dtype: np.finfo(dtype).nmant)


def by_rounding(left: Any, right: Any, *, data: Any) -> bool:
    """Return whether two outputs have the same structure and differ only by rounding of floats.

    The limit is a few roundings of ``data`` and one for each number, on numbers as large as the largest, and
    never more than half of the digits. A different sign of zero or NaN is not rounding.
    """
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
    """Return ``data`` with the same numbers, none of them narrower than double."""
    if isinstance(data, list | tuple):
        return type(data)(map(in_double, data)) if type(data) in (list, tuple) else data
    if type(data) is dict:
        return {key: in_double(item) for key, item in data.items()}
    if isinstance(data, np.ndarray | np.floating) and data.dtype.kind == "f" and data.dtype.itemsize < 8:
        return data.astype(np.float64)
    return data


def loss_in_double(program: Program, result: Replay, view: View, *, end: int) -> Fraction | None:
    """Return the size of the loss of a replay's outcomes with both inputs in double precision, rounded up.

    Return ``None`` if the inputs are in double precision already, or if one of them does not get to ``end``.
    """
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
    """Return the random site at ``index`` with its distributions on both inputs in double precision.

    The tuple also holds these two inputs. Return ``None`` if one of them does not get there.
    """
    inputs = [in_double(data) for data in (result.recording.data, result.data)]
    distributions = []
    for data in inputs:
        again = replay(program, data, result.recording, compare=False)
        distributions += [item.distribution_neighbour for item in again.losses if item.index == index]
    item = next((item for item in result.losses if item.index == index), None)
    if item is None or len(distributions) != 2:
        return None
    moved = distributions[0] != distributions[1]
    found = replace(
        item,
        record=replace(item.record, distribution=distributions[0]),
        distribution_neighbour=distributions[1],
        moved=moved,
    )
    return found, inputs[0], inputs[1]


def loss_in_modes(program: Program, result: Replay, view: View, *, end: int) -> Fraction | None:
    """Return the least size of the loss of a replay's outcomes that rounding allows, rounded up.

    Return 0 if rounding decides whether a side gets to ``end``, and ``None`` if the loss is infinite.
    """
    sides: list[list[Fraction]] = []
    for data in (result.recording.data, result.data):
        totals = []
        for one in _in_modes(program, result, data):
            if one.reached < end:
                return Fraction(0)
            with precision(BITS):
                total = arb(0)
                for item in witness_sites(one, end=end, view=view):
                    total += item.loss_ball()
                if total.is_finite():
                    totals.append(upper_short(total))
        sides.append(totals)
    left, right = sides
    if not left or not right:
        return None
    return max(min(left) - max(right), min(right) - max(left), Fraction(0))


def site_in_modes(program: Program, result: Replay, item: SiteLoss) -> SiteLoss | None:
    """Return the random site ``item`` with the two distributions that differ least over all modes.

    Return ``None`` if rounding decides whether a side gets there.
    """
    sides: list[list[Distribution]] = []
    for data in (result.recording.data, result.data):
        runs = _in_modes(program, result, data)
        found = [
            site.distribution_neighbour for one in runs for site in one.losses if site.index == item.index
        ]
        if len(found) < len(runs):
            return None
        sides.append(found)
    if all(distribution == item.record.distribution for distribution in sides[0]) and all(
        distribution == item.distribution_neighbour for distribution in sides[1]
    ):
        return item
    pairs = [(left, right) for left in sides[0] for right in sides[1]]
    costs = [worst_cost(left, right, "square") for left, right in pairs]
    known = [(cost, k) for k, cost in enumerate(costs) if cost is not None]
    if len(known) < len(pairs):
        return None
    here, there = pairs[min(known)[1]]
    return replace(
        item,
        record=replace(item.record, distribution=here),
        distribution_neighbour=there,
        moved=here != there,
    )


def met_in_modes(program: Program, result: Replay, leak: Leak) -> bool:
    """Return whether two outputs may be one real number: the ranges of both inputs over all modes meet."""
    sides = []
    for data in (result.recording.data, result.data):
        found = [_Outputs.at(program, result, data, leak.index, mode) for mode in MODES]
        sides.append([value for values in found for value in values])
    return _meet([leak.recorded, *sides[0]], [leak.neighbour, *sides[1]])


def _in_modes(program: Program, result: Replay, data: Any) -> list[Replay]:
    """Replay the recording on ``data``, one of the two inputs, in each mode, the default mode first."""
    options: dict[str, Any] = {"compare": False, "view": result.view, "counted": result.counted}
    options |= {"hidden": result.hidden, "released": result.released}
    runs = [replay(program, data, result.recording, **options)]
    for mode in MODES:
        with rounding_mode(mode):
            runs.append(replay(program, in_mode(data, mode), result.recording, **options))
    return runs


class _Outputs(Replayer):
    """A replay that keeps the outputs without comparing them."""

    @unwatched
    def reveal(self, value: Any, *, site: str, to: To = PUBLIC) -> Any:
        self.__dict__.setdefault("shown", {}).setdefault(self.reached, value)
        return super().reveal(value, site=site, to=to)

    @classmethod
    def at(cls, program: Program, result: Replay, data: Any, index: int, mode: int) -> list[Any]:
        """Return the output at ``index`` in a list, which is empty if there is none."""
        options: dict[str, Any] = {"view": result.view, "counted": result.counted}
        options |= {"hidden": result.hidden, "released": result.released}
        coins = cls(result.recording, compare=False, **options)
        with (
            suppress(DivergedError, StepLimitError, MechanismError, InvalidParameterError),
            rounding_mode(mode),
        ):
            run_program(program, in_mode(data, mode), coins)
        shown = coins.__dict__.get("shown", {})
        return [shown[index]] if index in shown else []


def _meet(left: Sequence[Any], right: Sequence[Any]) -> bool:
    """Return whether values of the same structure on both sides may be equal.

    Numbers may be equal if their ranges meet. Everything else must be equal. The first value of each side is
    the one of the default rounding mode, whose sign of zero counts.
    """
    one, other, values = left[0], right[0], [*left, *right]
    if any(type(value) is not type(one) for value in values):
        return False
    if isinstance(one, list | tuple):
        alike = all(len(value) == len(one) for value in values)
        return alike and all(_meet([v[i] for v in left], [v[i] for v in right]) for i in range(len(one)))
    if isinstance(one, dict):
        return _meet([[*value.items()] for value in left], [[*value.items()] for value in right])
    if isinstance(one, bool) or not isinstance(one, float | int | np.number | np.ndarray):
        return bool(same_shown(one, other))
    arrays = [np.asarray(value) for value in values]
    if any(
        a.shape != arrays[0].shape or a.dtype != arrays[0].dtype or a.dtype.kind not in "fiu" for a in arrays
    ):
        return bool(same_shown(one, other))
    differ = arrays[0] != arrays[len(left)]
    if not same_shown(arrays[0][~differ], arrays[len(left)][~differ]):
        return False
    numbers = np.array([array[differ] for array in arrays])
    low, high = (
        [pick(side, axis=0) for side in (numbers[: len(left)], numbers[len(left) :])]
        for pick in (np.min, np.max)
    )
    return bool(np.isfinite(numbers).all() and np.all((low[0] <= high[1]) & (low[1] <= high[0])))


def _parts(data: Any) -> Iterator[np.ndarray[Any, Any]]:
    """Yield the arrays and numbers in ``data``, as arrays."""
    if isinstance(data, dict):
        data = [*data.values()]
    if isinstance(data, list | tuple):
        for item in data:
            yield from _parts(item)
    elif isinstance(data, np.ndarray | np.number | float | int):
        array = np.asarray(data)
        if array.dtype.kind in "fiu":
            yield array
