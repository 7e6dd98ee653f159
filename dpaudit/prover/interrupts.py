"""Tell the exception of a signal handler from one of the program under proof.

A handler runs wherever the signal finds the interpreter, so its exception (a timer's, say) passes through
the program as if the program had raised it. It says nothing about the program, and belongs to whoever
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
    """The code of all signal handlers that are installed now."""
    return frozenset(code for one in signal.valid_signals() for code in _codes(signal.getsignal(one)))


def is_from_a_handler(error: BaseException, installed: frozenset[CodeType]) -> bool:
    """Whether ``error`` came out of a handler: one of those ``installed`` before, or of those now."""
    codes = installed | handlers()
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code in codes:
            return True
        trace = trace.tb_next
    return False


def _codes(handler: Any) -> Iterator[CodeType]:
    """The code of a handler that is written in Python: a function, a method, a partial, an object."""
    while isinstance(handler, functools.partial):
        handler = handler.func
    called = getattr(type(handler), "__call__", None)  # noqa: B004  (its code is asked for)
    for function in (handler, getattr(handler, "__func__", None), called):
        code = getattr(function, "__code__", None)
        if isinstance(code, CodeType):
            yield code
