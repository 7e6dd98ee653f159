"""Read times in an output as numbers.

The seconds since 1970 come first, which show all noise. The fields of the calendar and the clock follow,
because a day may be noisy and its hour not. Times are read as local wall-clock times, as they are printed.
The offset of the time zone is a separate number.
"""

from __future__ import annotations

from datetime import date, datetime, time, timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["MAX_FIELDS", "seconds_of", "time_numbers", "without_numpy"]

#: Arrays with more times than this are read as seconds only.
MAX_FIELDS = 16
_DAY = 86_400
_EPOCH = date(1970, 1, 1).toordinal()


def time_numbers(part: Any) -> tuple[str, dict[str, float]] | None:
    """Return the kind of a date, time of day, date with time or duration, and its numbers by name, or None.

    Times of pandas are Python times.
    """
    if isinstance(part, timedelta):
        return "duration", {" in seconds": part.total_seconds()}
    if isinstance(part, datetime):
        numbers = {" in seconds since 1970": _days(part) * _DAY + _seconds_of_day(part)} | _calendar(part)
        return _zoned("date and time", numbers | _clock(part), part)
    if isinstance(part, date):
        return "date", {" in days since 1970": _days(part)} | _calendar(part)
    if isinstance(part, time):
        return _zoned("time of day", {" in seconds": _seconds_of_day(part)} | _clock(part), part)
    return None


def without_numpy(part: np.datetime64 | np.timedelta64) -> Any:
    """Convert a numpy time to a Python time to the microsecond, or to None for a missing time.

    A time that Python cannot represent becomes an integer.
    """
    unit = np.datetime_data(part.dtype)[0]
    return part.astype(f"{part.dtype.kind}8[us]").item() if unit in ("ns", "ps", "fs", "as") else part.item()


def seconds_of(times: NDArray[Any]) -> NDArray[np.float64]:
    """Return the seconds (since 1970) of numpy times, or NaN for missing times, with the shape of ``times``.

    Durations in months or years, whose length varies, stay in their unit.
    """
    unit = np.datetime_data(times.dtype)[0]
    fixed = times.dtype.kind == "M" or unit not in ("Y", "M", "generic")
    exact = times.astype(f"{times.dtype.kind}8[us]") if fixed else times
    seconds = exact.astype(np.int64) / (1e6 if fixed else 1.0)
    return np.where(np.isnat(times), np.nan, seconds)


def _days(part: date) -> float:
    return float(part.toordinal() - _EPOCH)


def _seconds_of_day(part: datetime | time) -> float:
    return part.hour * 3600.0 + part.minute * 60.0 + _second(part)


def _second(part: datetime | time) -> float:
    return part.second + part.microsecond / 1e6


def _calendar(part: date) -> dict[str, float]:
    return {".year": part.year, ".month": part.month, ".day": part.day}


def _clock(part: datetime | time) -> dict[str, float]:
    return {".hour": part.hour, ".minute": part.minute, ".second": _second(part)}


def _zoned(kind: str, numbers: dict[str, float], part: datetime | time) -> tuple[str, dict[str, float]]:
    offset = part.utcoffset()
    if offset is None:
        return kind, numbers
    return f"{kind} in a zone", numbers | {".utcoffset() in seconds": offset.total_seconds()}
