"""Run something in another rounding mode of the processor: what changes there is rounding.

The four modes round each sum and product of floats to the nearest float, down, up, or towards zero, in Python
as in numpy, without the program's help. A result that all modes agree on was not rounded much. Where they
differ, the real number may lie anywhere between them (Kahan, "How Futile are Mindless Assessments of
Roundoff", 2006). Conversions of large integers to floats always go to the nearest one, and are not seen."""

from __future__ import annotations

import ctypes
import ctypes.util
import platform
from collections.abc import Iterator
from contextlib import contextmanager, suppress

__all__ = ["MODES", "rounding_mode"]

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
#: The modes other than the usual one; none where they are not known.
MODES: tuple[int, ...] = _BY_MACHINE.get(platform.machine(), ())[1:] if _LIBRARY else ()


@contextmanager
def rounding_mode(mode: int) -> Iterator[None]:
    """Floats are rounded as ``mode``, one of ``MODES``, says, in this thread."""
    assert _LIBRARY is not None
    _LIBRARY.fesetround(mode)
    try:
        yield
    finally:
        _LIBRARY.fesetround(0)
