"""``post``: a function of public values that no symbol can pass through, declared with its possible results.

``arm = post(best_index, sums, counts, choices=range(arms))`` calls ``best_index(sums, counts)`` in an
ordinary run. In a proof the arguments must be public (outcomes, what was computed from them, plain numbers),
and each of ``choices`` is explored: any of them may be the result, and it is the same on both sides
(post-processing)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any

from dpaudit.core.errors import InvalidParameterError
from dpaudit.prover.symbols import Follower, Private, Public, RefusedError, is_plain, plain_key

__all__ = ["post"]


def post(function: Callable[..., Any], *public: Any, choices: Sequence[Any]) -> Any:
    """``function(*public)``, which must be one of ``choices`` (numbers, text or None, by type and value).

    Raises ``InvalidParameterError`` for a result that is not among them, and ``RefusedError`` in a proof
    where an argument is private, or the function could carry something private (a closure, defaults,
    attributes: H5)."""
    follower = _follower(public)
    if follower is None:
        result = function(*public)
        if not any(type(result) is type(choice) and result == choice for choice in choices):
            raise InvalidParameterError(
                f"post must give one of its choices, got {result!r}; declare it among them."
            )
        return result
    _require_bare(function, follower)
    for choice in choices:
        if not (is_plain(choice) or choice is None or type(choice) is str):
            follower.refuse("a choice of post is no number, text or None")
    arguments = ", ".join(_key(value, follower) for value in public)
    # Two functions may share a name, and choices an order: one question is one code with one list of answers.
    answers = ", ".join(repr(plain_key(choice)) for choice in choices)
    name = f"{function.__module__}.{function.__qualname__} {follower.place_of(function.__code__)}"
    question = f"{name} ({arguments}) among [{answers}]"
    return choices[follower.fork(question, len(choices))]


def _require_bare(function: Any, follower: Follower) -> None:
    bare = type(function) is FunctionType and not (
        function.__closure__ or function.__defaults__ or function.__kwdefaults__ or vars(function)
    )
    if not bare:
        follower.refuse("post was given something else than a plain function without closure and defaults")


def _symbols(value: Any) -> list[Private | Public]:
    if type(value) in (list, tuple):
        return [symbol for item in value for symbol in _symbols(item)]
    return [value] if type(value) in (Private, Public) else []


def _follower(values: Sequence[Any]) -> Follower | None:
    """Who follows the run, if a symbol is among the arguments; refuses private ones."""
    symbols = _symbols(list(values))
    for symbol in symbols:
        if type(symbol) is Private:
            symbol._follower.refuse("post was given a private value")
            raise RefusedError("post was given a private value.")
    return symbols[0]._follower if symbols else None


def _key(value: Any, follower: Follower) -> str:
    """The argument as text: equal texts are equal values."""
    if type(value) in (list, tuple):
        return f"{type(value).__name__}[{', '.join(_key(item, follower) for item in value)}]"
    if type(value) is Public:
        return Public.key_of(value)
    if is_plain(value) or value is None or type(value) in (str, float):
        return repr(plain_key(value))
    follower.refuse(f"post was given a {type(value).__name__}")
    return ""
