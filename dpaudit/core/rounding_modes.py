"""Run code in another rounding mode of the processor, to find results that depend on rounding.

The four modes round each sum and product of floats to the nearest float, down, up, or towards zero, in Python
as in numpy, without a change of the program. A result on which all modes agree was not rounded much. If they
differ, the real number may lie anywhere between them (Kahan, "How Futile are Mindless Assessments of
Roundoff", 2006).

Python itself converts integers to floats, always to the nearest one. ``in_mode`` replaces integers by
integers that follow the mode, as do the integers computed from them. Conversions of other integers, such as
``len(data)`` and rounded floats, do not follow it.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import math
import operator
import platform
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from fractions import Fraction
from typing import Any

__all__ = ["MODES", "in_mode", "rounding_mode"]

#: FE_TONEAREST, FE_DOWNWARD, FE_UPWARD and FE_TOWARDZERO of <fenv.h> by machine.
_X86, _ARM = (0, 0x400, 0x800, 0xC00), (0, 0x800000, 0x400000, 0xC00000)
_BY_MACHINE = {"x86_64": _X86, "i686": _X86, "aarch64": _ARM, "arm64": _ARM}


def _library() -> ctypes.CDLL | None:
    for name in (ctypes.util.find_library("m"), None):
        with suppress(OSError, AttributeError, TypeError):
            library = ctypes.CDLL(name)
            library.fesetround.argtypes, library.fesetround.restype = [ctypes.c_int], ctypes.c_int
            return library
    return None


_LIBRARY = _library()
#: The modes other than the default. Empty on machines whose modes are not known.
MODES: tuple[int, ...] = _BY_MACHINE.get(platform.machine(), ())[1:] if _LIBRARY else ()


@contextmanager
def rounding_mode(mode: int) -> Iterator[None]:
    """Round floats in this thread by ``mode``, one of ``MODES``, within the block."""
    assert _LIBRARY is not None
    _LIBRARY.fesetround(mode)
    try:
        yield
    finally:
        _LIBRARY.fesetround(0)


def in_mode(data: Any, mode: int) -> Any:
    """Return ``data`` with integers whose conversions to floats follow ``mode``, one of ``MODES``."""
    kind = _KINDS[MODES.index(mode)]

    def follow(item: Any) -> Any:
        if type(item) is int:
            return kind(item)
        if type(item) in (list, tuple):
            return type(item)(map(follow, item))
        if type(item) is dict:
            return {key: follow(value) for key, value in item.items()}
        return item

    return follow(data)


def _rounded(value: Fraction, toward: float) -> float:
    """Return ``value`` rounded to a float towards ``toward`` (0 or an infinity)."""
    near = float(value)
    if near == value:
        return near
    wanted = value > 0 if toward == 0 else toward < 0  # round down
    if wanted and near > value:
        return math.nextafter(near, -math.inf)
    return math.nextafter(near, math.inf) if not wanted and near < value else near


class _ModeInt(int):
    """An integer that becomes a float in a rounding mode, as do the results of its arithmetic."""

    toward = 0.0

    def __float__(self) -> float:
        return _rounded(Fraction(int(self)), self.toward)

    def __neg__(self) -> _ModeInt:
        return type(self)(-int(self))

    def __pos__(self) -> _ModeInt:
        return self

    def __abs__(self) -> _ModeInt:
        return type(self)(abs(int(self)))

    def __truediv__(self, other: Any) -> Any:
        if isinstance(other, int) and other:
            return _rounded(Fraction(int(self), int(other)), self.toward)
        return float(self) / other

    def __rtruediv__(self, other: Any) -> Any:
        if isinstance(other, int) and self:
            return _rounded(Fraction(int(other), int(self)), self.toward)
        return other / float(self)


def _follow(name: str) -> None:
    """Add the operator ``name`` to ``_ModeInt``, with the ``_ModeInt`` on either side."""
    of: Callable[[Any, Any], Any] = getattr(operator, name)

    def left(self: _ModeInt, other: Any) -> Any:
        if isinstance(other, int):
            found = of(int(self), int(other))
            return type(self)(found) if type(found) is int else found
        return of(float(self), other) if isinstance(other, float) else NotImplemented

    def right(self: _ModeInt, other: Any) -> Any:
        if isinstance(other, int):
            found = of(int(other), int(self))
            return type(self)(found) if type(found) is int else found
        return of(other, float(self)) if isinstance(other, float) else NotImplemented

    setattr(_ModeInt, f"__{name}__", left)
    setattr(_ModeInt, f"__r{name}__", right)


for _name in ("add", "sub", "mul", "floordiv", "mod", "pow"):
    _follow(_name)
_KINDS = [
    type(f"_ModeInt{k}", (_ModeInt,), {"toward": toward})
    for k, toward in enumerate((-math.inf, math.inf, 0.0))
]
