"""Let the fingerprint of a row prove what its verdict needs, and let the verdict use the same proof.

A worker does both within ``keeping``. Elsewhere nothing is kept, because somebody may change a global value
of a program between two proofs of it, as in a notebook.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

from dpaudit.core.suite import Profile

__all__ = ["keeping", "once", "profile_of_run", "verdict_follows"]

Result = TypeVar("Result")

#: Pairs of a key and a result, or ``None`` outside ``keeping``.
_KEPT: ContextVar[list[tuple[tuple[Any, ...], Any]] | None] = ContextVar("kept results", default=None)
_PROFILE: ContextVar[Profile | None] = ContextVar("profile of the run", default=None)
_VERDICT: ContextVar[bool] = ContextVar("whether a verdict follows", default=False)


@contextmanager
def keeping(profile: Profile, *, verdict: bool = True) -> Iterator[None]:
    """Within this context, let ``once`` compute each result once, for a run of ``profile``.

    ``verdict`` is false if only a fingerprint is computed.
    """
    tokens = _KEPT.set([]), _PROFILE.set(profile), _VERDICT.set(verdict)
    try:
        yield
    finally:
        _KEPT.reset(tokens[0])
        _PROFILE.reset(tokens[1])
        _VERDICT.reset(tokens[2])


def verdict_follows() -> bool:
    """Return whether a verdict follows that needs the whole of a proof, not only its fingerprint."""
    return _VERDICT.get()


def profile_of_run() -> Profile | None:
    """Return the profile of the run, or ``None`` outside ``keeping``."""
    return _PROFILE.get()


def once(same: tuple[Any, ...], equal: tuple[Any, ...], make: Callable[[], Result]) -> Result:
    """Return ``make()``, or its earlier result for the same objects ``same`` and equal values ``equal``.

    An exception is not kept.
    """
    kept = _KEPT.get()
    if kept is None:
        return make()
    for (objects, values), result in kept:
        if len(objects) == len(same) and all(map(_is, objects, same)) and values == equal:
            found: Result = result
            return found
    made = make()
    kept.append(((same, equal), made))  # the objects stay alive, so that no other can have their place
    return made


def _is(left: Any, right: Any) -> bool:
    return left is right
