"""Define ``post``, which applies any function to public values, with its possible results declared.

``arm = post(best_index, sums, counts, choices=range(arms))`` calls ``best_index(sums, counts)`` in an
ordinary run. In a proof, the function is not called. Its arguments must be public: outcomes, values computed
from outcomes, or plain numbers. Each of ``choices`` is explored as a possible result, which is the same on
both neighbouring inputs (post-processing).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any

from dpaudit.core.errors import InvalidParameterError
from dpaudit.prover.symbols import Follower, Private, Public, RefusedError, is_plain, plain_key

__all__ = ["post"]


def post(function: Callable[..., Any], *public: Any, choices: Sequence[Any]) -> Any:
    """Return ``function(*public)``, which must be one of ``choices``.

    Parameters
    ----------
    function : callable
        In a proof: a plain function without closure, defaults and attributes, which could carry private
        values (H5).
    *public : object
        The arguments. In a proof: public values, numbers, text, None, and lists and tuples of these.
    choices : sequence
        All possible results: numbers, text or None, compared by type and value.

    Raises
    ------
    InvalidParameterError
        The result is not one of ``choices``.
    RefusedError
        In a proof: an argument is private, or the function is not plain.
    """
    follower = _follower(public)
    if follower is None:
        result = function(*public)
        if not any(type(result) is type(choice) and result == choice for choice in choices):
            raise InvalidParameterError(
                f"the result of post must be one of its choices, got {result!r}.", code="E-POST-RESULT"
            )
        return result
    _require_bare(function, follower)
    for choice in choices:
        if not (is_plain(choice) or choice is None or type(choice) is str):
            follower.refuse("a choice of post is not a number, text or None")
    arguments = ", ".join(_key(value, follower) for value in public)
    # Two functions may share a name, and two lists of choices an order: a question is identified by its code
    # object and its list of answers.
    answers = ", ".join(repr(plain_key(choice)) for choice in choices)
    name = f"{function.__module__}.{function.__qualname__} {follower.place_of(function.__code__)}"
    question = f"{name} ({arguments}) among [{answers}]"
    return choices[follower.fork(question, len(choices))]


def _require_bare(function: Any, follower: Follower) -> None:
    bare = type(function) is FunctionType and not (
        function.__closure__ or function.__defaults__ or function.__kwdefaults__ or vars(function)
    )
    if not bare:
        follower.refuse("post was given something other than a plain function without closure and defaults")


def _symbols(value: Any) -> list[Private | Public]:
    if type(value) in (list, tuple):
        return [symbol for item in value for symbol in _symbols(item)]
    return [value] if type(value) in (Private, Public) else []


def _follower(values: Sequence[Any]) -> Follower | None:
    """Return the follower of the run if a symbol is among the arguments. Refuse private symbols."""
    symbols = _symbols(list(values))
    for symbol in symbols:
        if type(symbol) is Private:
            symbol._follower.refuse("post was given a private value")
            raise RefusedError("post was given a private value.", code="E-POST-PRIVATE")
    return symbols[0]._follower if symbols else None


def _key(value: Any, follower: Follower) -> str:
    """Return the argument as text. Equal texts are equal values."""
    if type(value) in (list, tuple):
        return f"{type(value).__name__}[{', '.join(_key(item, follower) for item in value)}]"
    if type(value) is Public:
        return Public.key_of(value)
    if is_plain(value) or value is None or type(value) in (str, float):
        return repr(plain_key(value))
    follower.refuse(f"post was given a {type(value).__name__}")
    return ""
