"""Hold the transcript of a run, site by site, and compare shown values bit by bit.

A run is a list of ``SiteRecord`` in program order. The return value comes last, as a reveal to the public,
unless the program returns ``Returned(value, to=...)``. Values are copied when they are recorded, so later
changes by the program do not affect them.
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

#: ``raise`` is the end of a run by an error, which everybody sees. Its value is the triple (type, message,
#: everything else that the error holds).
Kind = Literal["observe", "aggregate", "channel", "draw", "reveal", "raise"]

RETURN_SITE = "return"

#: Class names in error messages about the interpreters' methods. They depend on the interpreter that runs.
_INTERPRETERS = re.compile(r"\b(Recorder|Replayer|Forcer|_Enumerated)\b")


@dataclass(frozen=True)
class Returned:
    """A program's return value that is shown to ``to`` instead of the public."""

    value: Any
    to: To


@dataclass(frozen=True)
class SiteRecord:
    """One site of one run.

    Attributes
    ----------
    kind : str
        The primitive, or "raise" for an error that ends the run.
    site : str
        The name of the site in reports.
    to : Audience
        The principals that see the outcome.
    value : object
        The outcome or shown value.
    distribution : Distribution or None
        The distribution of the outcome. It is ``None`` for a reveal, for the answers of a channel (they have
        a joint distribution, see ``session``) and for an aggregate without a tractable image distribution.
    uniform : float, array or None
        The uniform number of a hidden draw.
    session, query : int, object
        For an answer of a channel, the index of its kernel in ``Recording.kernels``, and its query.
    forced : bool
        Whether the outcome was chosen instead of drawn.
    unmet_condition, parts : str, tuple of Distribution
        For an aggregate without a tractable image distribution, the reason, and the users' distributions.
    through : object
        The image of an aggregate.
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
        """Whether the outcome is drawn: the site is neither a reveal nor an error."""
        return self.kind not in ("reveal", "raise")


@dataclass(frozen=True)
class Recording:
    """The transcript of a run.

    Attributes
    ----------
    sites : tuple of SiteRecord
        The sites in order, the return value last.
    kernels : tuple
        The kernels of the channels that were opened. ``SiteRecord.session`` is an index into them.
    replicates : int or None
        The length of the leading axis of every outcome, if there is one.
    forced : bool
        Whether an outcome was chosen.
    data : object
        The input of the run.
    cut : str
        Why the run was ended early. Empty for a complete run.
    """

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


#: Types whose values are immutable, if the type is exactly one of these.
_UNCHANGING = frozenset({bool, int, float, str, type(None)})


def frozen_copy(value: Any) -> Any:
    """Return a copy that later changes by the program do not affect."""
    if type(value) in _UNCHANGING or isinstance(value, bool | int | float | str | type(None)):
        return value
    if type(value) is tuple and all(type(item) in _UNCHANGING for item in value):
        return value
    if isinstance(value, np.ndarray):
        return value.copy()
    return copy.deepcopy(value)


def same_value(left: Any, right: Any) -> bool:
    """Return whether two values have equal type family, shape, dtype and bits.

    NaN equals the same NaN, and 0.0 differs from -0.0. A numpy scalar belongs to the family of its Python
    number. Values of types that ``require_plain`` does not allow differ from everything, so that their ``==``
    cannot hide a difference.
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


#: Types of shown values, besides arrays, lists, tuples and dicts. Their ``==`` is reliable.
_PLAIN = (bool, int, float, str, Fraction, type(None))

#: Numpy's own scalar types. A subclass could hold more than its number.
_SCALARS = frozenset(np.sctypeDict.values())


def same_shown(left: Any, right: Any) -> bool:
    """Return whether two shown values have the same types, at every level, and the same bytes.

    This is stricter than ``same_value``: a numpy number differs from the Python number, and the payload of a
    NaN counts.
    """
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
    """Return a shown value as texts that hold its types, its bytes and the order of its keys.

    Two results are equal if and only if ``same_shown`` holds for the values.
    """
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
    """Return the bytes of an array without the padding of extended floats."""
    kept = np.ascontiguousarray(array)
    if kept.dtype.kind == "f" and np.finfo(kept.dtype).nmant == 63:
        return kept.view(np.uint8).reshape(-1, kept.dtype.itemsize)[:, :10].tobytes()
    return kept.tobytes()


def require_plain(value: Any) -> None:
    """Raise ``InvalidParameterError`` for a value that is not plain data.

    Plain data are numbers, texts, arrays, lists, tuples and string-keyed dicts. Other values can be neither
    compared bit by bit nor written to a file. Subclasses of these types are refused too, because a masked
    array, a named tuple or a float with an attribute shows more than its numbers, and its ``==`` is not
    reliable.
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
            f"not of their subclasses, got {_type_of(value)}.",
            code="E-VALUE-NOT-PLAIN",
        )


def _type_of(value: Any) -> str:
    name = f"{type(value).__module__}.{type(value).__qualname__}".removeprefix("builtins.")
    return f"{name} of dtype {value.dtype}" if isinstance(value, np.ndarray) else name


def count_of(value: Any) -> int:
    """Return how many numbers and texts a plain value holds. Lists may be nested, ragged, and hold arrays."""
    if isinstance(value, np.ndarray):
        return count_of(value.ravel().tolist()) if value.dtype.hasobject else value.size
    if isinstance(value, dict):
        return sum(count_of(item) for item in value.values())
    return sum(count_of(item) for item in value) if isinstance(value, list | tuple) else 1


def outcome_shape(value: Any) -> tuple[int, ...]:
    """Return the shape of an outcome, ``()`` for a scalar."""
    return tuple(np.shape(value))


def run_program(program: Program, data: Any, coins: Coins) -> Any:
    """Run ``program(coins, data)`` to its end, reveal what it returns, and return that.

    A generator is exhausted, and the tuple of its items is the return value. The program gets a copy of the
    data, so that the next run does not see changes in place.

    Raises
    ------
    MechanismError
        The program raises. Its own error is the cause.
    """
    try:
        result = program(coins, frozen_copy(data))
        if isinstance(result, Generator):
            result = tuple(result)
    except DpauditError:
        raise
    except (Exception, SystemExit) as error:
        raise MechanismError(
            f"the program raised {type(error).__name__}: {error}", code="E-PROGRAM-RAISED"
        ) from error
    to: To = PUBLIC
    if isinstance(result, Returned):
        result, to = result.value, result.to
    return coins.reveal(result, site=RETURN_SITE, to=to)


def raised_by(error: Exception) -> tuple[str, str, str]:
    """Return the type, the message and all other contents of the error with which a program ended.

    ``error`` is what ``run_program`` raised.
    """
    own = error.__cause__ if isinstance(error, MechanismError) and error.__cause__ is not None else error
    message, held = (_INTERPRETERS.sub("coins", text) for text in (str(own), held_by(own)))
    return type(own).__qualname__, message, held


def fingerprint(recording: Recording) -> str:
    """Return a digest of all sites, audiences, distributions and values of a run.

    Equal seeds and data must give equal digests in any process.
    """
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
