"""Distinguish exceptions of signal handlers from exceptions of the program under proof.

A handler can run at any point of the program, so that its exception (of a timer, for example) passes through
the program as if the program had raised it. It is no evidence about the program. It must reach the code that
installed the handler.
"""

from __future__ import annotations

import functools
import signal
from collections.abc import Iterator
from types import CodeType
from typing import Any

__all__ = ["handlers", "is_from_a_handler"]


def handlers() -> frozenset[CodeType]:
    """Return the code of all signal handlers that are installed now."""
    return frozenset(code for one in signal.valid_signals() for code in _codes(signal.getsignal(one)))


def is_from_a_handler(error: BaseException, installed: frozenset[CodeType]) -> bool:
    """Return whether a handler raised ``error``: one that was ``installed`` before, or is installed now."""
    codes = installed | handlers()
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code in codes:
            return True
        trace = trace.tb_next
    return False


def _codes(handler: Any) -> Iterator[CodeType]:
    """Yield the code of a handler written in Python: a function, a method, a partial or a callable object."""
    while isinstance(handler, functools.partial):
        handler = handler.func
    called = getattr(type(handler), "__call__", None)  # noqa: B004  (the code is needed, not a check)
    for function in (handler, getattr(handler, "__func__", None), called):
        code = getattr(function, "__code__", None)
        if isinstance(code, CodeType):
            yield code
