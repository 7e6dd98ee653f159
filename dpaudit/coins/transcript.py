"""Transcripts: what one run of a program did, site by site, and bit-by-bit comparison of what was shown.

A run is a list of ``SiteRecord`` in program order, the return value last (as a reveal to the public, unless
the program returns ``Returned(value, to=...)``). Values are copied when they are recorded: an array that the
program changes later stays as it was.
"""

from __future__ import annotations

import copy
import hashlib
import json
import re
from collections.abc import Generator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from dpaudit.core.errors import DpauditError, InvalidParameterError, MechanismError
from dpaudit.core.exact import encode_value
from dpaudit.core.raised import held_by
from dpaudit.core.views import PUBLIC, Audience
from dpaudit.distributions.base import Distribution

if TYPE_CHECKING:
    from dpaudit.coins.base import Coins, Program, To

__all__ = [
    "Kind",
    "Recording",
    "Returned",
    "SiteRecord",
    "count_of",
    "fingerprint",
    "frozen_copy",
    "outcome_shape",
    "raised_by",
    "require_plain",
    "run_program",
    "same_shown",
    "same_value",
    "to_the_last_bit",
]

#: ``raise`` is the end of a run by an error, which everybody sees; its value is (type, message,
#: all else that it holds).
Kind = Literal["observe", "aggregate", "channel", "draw", "reveal", "raise"]

RETURN_SITE = "return"

#: Names of methods in the messages of errors about them, whichever interpreter runs the program.
_INTERPRETERS = re.compile(r"\b(Recorder|Replayer|Forcer|_Enumerated)\b")


@dataclass(frozen=True)
class Returned:
    """Wrap a program's return value to show it to somebody other than the public."""

    value: Any
    to: To


@dataclass(frozen=True)
class SiteRecord:
    """One site of one run.

    ``distribution`` is ``None`` for a reveal, for a channel's answers (whose distribution is joint: see
    ``session``) and for an
    aggregate without a tractable image distribution (``unmet_condition`` then says why, and ``parts`` keeps
    the users' distributions). ``through`` is the image that an aggregate was pushed through.
    ``uniform`` is the stored uniform of a hidden draw.
    """

    kind: Kind
    site: str
    to: Audience
    value: Any
    distribution: Distribution | None = None
    uniform: Any = None
    session: int | None = None
    query: Any = None
    forced: bool = False
    unmet_condition: str = ""
    parts: tuple[Distribution, ...] = ()
    through: Any = None

    @property
    def random(self) -> bool:
        return self.kind not in ("reveal", "raise")


@dataclass(frozen=True)
class Recording:
    """A run: the sites in order, the kernels of the channels that it opened (``SiteRecord.session`` indexes
    them), and the data that it ran on. ``cut`` says why it was ended before its own end; empty for a complete
    run."""

    sites: tuple[SiteRecord, ...]
    kernels: tuple[Any, ...] = ()
    replicates: int | None = None
    forced: bool = field(default=False)
    data: Any = field(default=None, compare=False, repr=False)
    cut: str = ""

    @property
    def returned(self) -> Any:
        """The program's return value."""
        return self.sites[-1].value


#: Values of these very types cannot be changed by anybody.
_UNCHANGING = frozenset({bool, int, float, str, type(None)})


def frozen_copy(value: Any) -> Any:
    """A copy that later changes by the program cannot reach."""
    if type(value) in _UNCHANGING or isinstance(value, bool | int | float | str | type(None)):
        return value
    if type(value) is tuple and all(type(item) in _UNCHANGING for item in value):
        return value
    if isinstance(value, np.ndarray):
        return value.copy()
    return copy.deepcopy(value)


def same_value(left: Any, right: Any) -> bool:
    """Bit-by-bit equality: type family, shape, dtype and every bit (NaN equals the same NaN; 0.0 is not
    -0.0).

    A numpy scalar is of the family of the Python number that it is. Other types than ``require_plain`` allows
    differ from everything, so that no ``==`` of theirs can hide a difference.
    """
    if isinstance(left, np.ndarray) or isinstance(right, np.ndarray):
        if not (isinstance(left, np.ndarray) and isinstance(right, np.ndarray)):
            return False
        if left.dtype != right.dtype or left.shape != right.shape:
            return False
        if left.dtype.hasobject:
            return all(
                same_value(a, b) for a, b in zip(left.ravel().tolist(), right.ravel().tolist(), strict=True)
            )
        return left.tobytes() == right.tobytes()
    if isinstance(left, list | tuple):
        return type(left) is type(right) and len(left) == len(right) and all(map(same_value, left, right))
    if isinstance(left, dict):
        return isinstance(right, dict) and same_value([*left.items()], [*right.items()])
    if isinstance(left, float | np.floating) and isinstance(right, float | np.floating):
        return float(left).hex() == float(right).hex()
    left, right = (item.item() if isinstance(item, np.generic) else item for item in (left, right))
    return type(left) is type(right) and isinstance(left, _PLAIN) and bool(left == right)


#: What a shown value is made of, besides arrays, lists, tuples and dicts: types with an honest ``==``.
_PLAIN = (bool, int, float, str, Fraction, type(None))

#: Numpy's own scalar types: a subclass of one of them could carry more than its number.
_SCALARS = frozenset(np.sctypeDict.values())


def same_shown(left: Any, right: Any) -> bool:
    """Whether two shown values are the same to the last bit: the same types, all the way down, and the same
    bytes. Stricter than ``same_value``: a numpy number is not the Python number, and a NaN has a payload."""
    if type(left) is not type(right):
        return False
    if isinstance(left, np.ndarray):
        if left.dtype != right.dtype or left.shape != right.shape:
            return False
        if left.dtype.hasobject:
            return all(map(same_shown, left.ravel().tolist(), right.ravel().tolist()))
        return _bits(left) == _bits(right)
    if isinstance(left, list | tuple):
        return len(left) == len(right) and all(map(same_shown, left, right))
    if isinstance(left, dict):
        return same_shown([*left.items()], [*right.items()])
    if isinstance(left, float | np.generic):
        return _bits(np.asarray(left)) == _bits(np.asarray(right))
    return type(left) in _PLAIN and bool(left == right)


def to_the_last_bit(value: Any) -> Any:
    """A shown value as texts that hold its types, its bytes and the order of its keys: two are equal where
    ``same_shown`` says so."""
    if isinstance(value, list | tuple):
        return [type(value).__name__, *map(to_the_last_bit, value)]
    if isinstance(value, dict):
        return [type(value).__name__, *([key, to_the_last_bit(item)] for key, item in value.items())]
    if isinstance(value, float | np.ndarray | np.generic):
        array = np.asarray(value)
        text = f"{type(value).__name__} {array.dtype.str} {array.shape}"
        if array.dtype.hasobject:
            return [text, *map(to_the_last_bit, array.ravel().tolist())]
        return f"{text} {_bits(array).hex()}"
    return f"{type(value).__name__} {value!r}"


def _bits(array: NDArray[Any]) -> bytes:
    """The bytes of an array without the padding that an extended float has."""
    kept = np.ascontiguousarray(array)
    if kept.dtype.kind == "f" and np.finfo(kept.dtype).nmant == 63:
        return kept.view(np.uint8).reshape(-1, kept.dtype.itemsize)[:, :10].tobytes()
    return kept.tobytes()


def require_plain(value: Any) -> None:
    """Raise ``InvalidParameterError`` for a value that is not made of numbers, texts, arrays, lists, tuples
    and string-keyed dicts: it could be neither compared bit by bit nor written to a file.

    Subclasses of these are refused: a masked array, a named tuple or a float with an attribute shows more
    than its numbers, and may lie when it is compared.
    """
    if type(value) is np.ndarray and not value.dtype.metadata:
        if value.dtype.kind in "biufU":
            return
        if value.dtype.kind == "O":
            value = value.ravel().tolist()
    if type(value) is dict and all(type(key) is str for key in value):
        value = [*value.values()]
    if type(value) is list or type(value) is tuple:
        for item in value:
            require_plain(item)
    elif type(value) not in _PLAIN and not (type(value) in _SCALARS and value.dtype.kind in "biufU"):
        raise InvalidParameterError(
            "a shown value must be made of numbers, strings, arrays, lists, tuples and string-keyed dicts, "
            f"and of no subclass of these, got {_described(value)}; convert it before it is shown."
        )


def _described(value: Any) -> str:
    name = f"{type(value).__module__}.{type(value).__qualname__}".removeprefix("builtins.")
    return f"{name} of dtype {value.dtype}" if isinstance(value, np.ndarray) else name


def count_of(value: Any) -> int:
    """How many numbers and texts a plain value holds, all the way down: lists may be ragged, and hold
    arrays."""
    if isinstance(value, np.ndarray):
        return count_of(value.ravel().tolist()) if value.dtype.hasobject else value.size
    if isinstance(value, dict):
        return sum(count_of(item) for item in value.values())
    return sum(count_of(item) for item in value) if isinstance(value, list | tuple) else 1


def outcome_shape(value: Any) -> tuple[int, ...]:
    """The shape of an outcome; ``()`` for a scalar."""
    return tuple(np.shape(value))


def run_program(program: Program, data: Any, coins: Coins) -> Any:
    """Run ``program(coins, data)`` to its end and reveal what it returns. A generator is exhausted and
    returns the tuple of its items.

    The program gets a copy of the data: what it changes in place, the next run does not see.

    Raises ``MechanismError`` if the program raises, with the program's own error as the cause.
    """
    try:
        result = program(coins, frozen_copy(data))
        if isinstance(result, Generator):
            result = tuple(result)
    except DpauditError:
        raise
    except (Exception, SystemExit) as error:
        raise MechanismError(
            f"a program must run on its data, got {type(error).__name__}: {error}; fix it or the data."
        ) from error
    to: To = PUBLIC
    if isinstance(result, Returned):
        result, to = result.value, result.to
    return coins.reveal(result, site=RETURN_SITE, to=to)


def raised_by(error: Exception) -> tuple[str, str, str]:
    """(type, message, all else) of the error with which a program ended, as ``run_program`` passed it on."""
    own = error.__cause__ if isinstance(error, MechanismError) and error.__cause__ is not None else error
    message, held = (_INTERPRETERS.sub("coins", text) for text in (str(own), held_by(own)))
    return type(own).__qualname__, message, held


def fingerprint(recording: Recording) -> str:
    """A digest of everything in a run: sites, audiences, distributions, values. Equal seeds and data must
    give equal digests in any process."""
    digest = hashlib.sha256()
    for record in recording.sites:
        distribution = None if record.distribution is None else record.distribution.to_json()
        row = [
            record.kind,
            record.site,
            sorted(p.name for p in record.to),
            distribution,
            encode_value(record.value),
            record.unmet_condition,
        ]
        digest.update(json.dumps(row, sort_keys=True).encode())
    return digest.hexdigest()
