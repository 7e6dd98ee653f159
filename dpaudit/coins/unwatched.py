"""Hide the primitives of the coins from a tracer, because only dpaudit's own code runs in them.

A tracer slows down every operation, even in functions that it skips, and most of the time of a traced run is
spent in distributions. A primitive is therefore hidden if none of the program's code can run in it: its
distributions, images and kernels are dpaudit's and hold only numbers, and so do all other arguments. A
distribution that the program defines is traced like the rest of the program.
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

#: The attribute of a tracer from which primitives may be hidden. A debugger's tracer does not have it.
HIDES = "hides_primitives"

#: Types of values that cannot contain code of the program.
_NUMBERS = (bool, int, float, complex, str, bytes, Fraction, arb, type(None))
_INERT = frozenset({*_NUMBERS, *np.sctypeDict.values(), BaseMeasure, Principal} - {np.object_, np.void})
_CONTAINERS = frozenset({list, tuple, set, frozenset})
#: In containers up to this size, repeated items are not removed first.
_FEW = 8


def unwatched(method: Method) -> Method:
    """Hide a method of an interpreter, or of a session with its ``_kernel``, from a tracer that allows it."""

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
    """Return whether a value holds only numbers, texts, plain arrays and dpaudit's own distributions.

    This applies at every level. No method of the value is called.
    """
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
            if not _is_own_class(kind):
                return False
            seen.add(identity(value))
            waiting += vars(value).values()
    return True


#: Results of ``_is_own_class``.
_KINDS: dict[type, bool] = {}


def _is_own_class(kind: type) -> bool:
    """Return whether a class is defined in ``dpaudit.distributions`` and has no slots.

    The name of its module alone does not count, because the program can set it.
    """
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
