"""Keep a mechanism from ending its process, because exit code 0 would mean that nothing was refuted."""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

from dpaudit.core.errors import MechanismError

__all__ = ["no_silent_end"]

#: The functions of ``os`` that end the process without returning control to Python.
_ENDINGS = ("_exit", "execv", "execve")


@contextmanager
def no_silent_end() -> Iterator[None]:
    """Make functions that would end this process raise ``MechanismError`` within the block.

    They are replaced under every name that a module gives them. Children that a mechanism forks can still
    end. Other threads, such as a watchdog, may end the process with an exit code other than 0. A C library
    that ends the process by itself is not intercepted.
    """
    here, thread = os.getpid(), threading.get_ident()
    changed: list[tuple[dict[str, Any], str, Any, Any]] = []
    for name in _ENDINGS:
        end = getattr(os, name, None)
        if end is None or hasattr(end, "is_refused"):  # already within another such block
            continue
        refuse = _refusing(name, end, here=here, thread=thread)
        for names in gc.get_referrers(end):
            if isinstance(names, dict) and "__name__" in names and "__loader__" in names:  # of a module
                changed += [(names, bound, end, refuse) for bound, value in names.items() if value is end]
    for names, bound, _, refuse in changed:
        names[bound] = refuse
    try:
        yield
    finally:
        for names, bound, end, refuse in changed:
            if names.get(bound) is refuse:
                names[bound] = end


def _refusing(name: str, end: Callable[..., Any], *, here: int, thread: int) -> Callable[..., Any]:
    def refuse(*arguments: Any, **named: Any) -> NoReturn:
        status = arguments[0] if arguments else named.get("status")
        elsewhere = name == "_exit" and threading.get_ident() != thread and status != 0
        if os.getpid() != here or elsewhere:
            end(*arguments, **named)
        raise MechanismError(
            f"a mechanism must return or raise, but it called os.{name}({status!r}), which ends the process.",
            code="E-MECHANISM-EXIT",
        )

    refuse.is_refused = True  # type: ignore[attr-defined]
    return refuse
