"""Primitives of the coins outside of the view of a tracer: what happens in there is the harness's own.

A tracer slows every operation down, also of functions that it leaves out, and most of a watched run's time
goes into distributions. A primitive is therefore hidden where nothing of the program's own can run in it: its
distributions,
images and kernels are the harness's, made of numbers, and so is all else that it is given. A distribution
that the program defines is watched as any other code of it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from fractions import Fraction
from functools import wraps
from typing import Any, TypeVar, cast

import numpy as np
from flint import arb

from dpaudit.core.views import Principal
from dpaudit.distributions.base import BaseMeasure
from dpaudit.distributions.identity import identity

__all__ = ["HIDES", "unwatched"]

Method = TypeVar("Method", bound=Callable[..., Any])

#: The attribute of a tracer that lets primitives be hidden from it; a debugger's has none.
HIDES = "hides_primitives"

#: Values in which no code of the program's can be.
_NUMBERS = (bool, int, float, complex, str, bytes, Fraction, arb, type(None))
_INERT = frozenset({*_NUMBERS, *np.sctypeDict.values(), BaseMeasure, Principal} - {np.object_, np.void})
_CONTAINERS = frozenset({list, tuple, set, frozenset})
#: Containers up to this size are looked through as they are.
_FEW = 8


def unwatched(method: Method) -> Method:
    """``method`` of an interpreter, or of a session with its ``_kernel``, hidden from a tracer that allows
    it."""

    @wraps(method)
    def hidden(self: Any, *arguments: Any, **named: Any) -> Any:
        tracer = sys.gettrace()
        if tracer is None or not getattr(tracer, HIDES, False):
            return method(self, *arguments, **named)
        sys.settrace(None)
        try:
            if _is_inert((*arguments, *named.values(), getattr(self, "_kernel", None))):
                return method(self, *arguments, **named)
        finally:
            sys.settrace(tracer)
        return method(self, *arguments, **named)

    return cast(Method, hidden)


def _is_inert(whole: Any) -> bool:
    """Whether a value is made of numbers, texts, plain arrays and the harness's own distributions, all the
    way down. Nothing of the value is called."""
    waiting, seen = [whole], set()
    while waiting:
        value = waiting.pop()
        kind = type(value)
        if kind in _INERT:
            continue
        if kind is np.ndarray:
            if value.dtype.hasobject:
                return False
        elif kind in _CONTAINERS:  # each object once: thousands of users share a few distributions
            waiting += value if len(value) <= _FEW else {identity(item): item for item in value}.values()
        elif kind is dict:
            waiting += value.keys()
            waiting += value.values()
        elif identity(value) not in seen:
            if not _is_of_the_harness(kind):
                return False
            seen.add(identity(value))
            waiting += vars(value).values()
    return True


#: What ``_is_of_the_harness`` said before.
_KINDS: dict[type, bool] = {}


def _is_of_the_harness(kind: type) -> bool:
    """Whether a class is one of ``dpaudit.distributions``, and not only says so, and keeps its values in the
    open."""
    known = _KINDS.get(kind)
    if known is None:
        module = sys.modules.get(kind.__module__)
        inside = (
            kind.__module__.startswith("dpaudit.distributions.")
            and getattr(module, kind.__name__, None) is kind
        )
        known = inside and not any(base.__dict__.get("__slots__") for base in kind.__mro__)
        if inside:
            _KINDS[kind] = known
    return known
