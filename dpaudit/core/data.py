"""Declare the data of a mechanism once, as a value.

``Records(Interval(0, 10), size=200)`` declares the domain of a record, the number of records, and the
container in which the mechanism gets them. Proofs, pairs of neighbouring inputs for attacks, Hypothesis
strategies and texts of reports are all derived from it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain, islice, product
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from dpaudit.core.claims.base import Adjacency, one_of
from dpaudit.core.column import Column
from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.exact import ExactLike, exact
from dpaudit.core.unusual import NO_RECORD, OUTSIDE, Case, cases_inside, cases_outside, require_kinds
from dpaudit.kernel.values.declaration import words_of

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

    from dpaudit.core.neighbours import Neighbours
    from dpaudit.core.pairs import RecordPairs

__all__ = [
    "EVERY",
    "Anything",
    "Ball",
    "Categories",
    "Column",
    "Integers",
    "Interval",
    "OneHot",
    "Records",
    "Table",
    "Texts",
]

#: The largest numbers of extreme records, of corner pairs, and of drawn pairs. They are small because all
#: pairs share the significance level of a check.
EXTREMES, PAIRS, DRAWN = 6, 12, 4
#: Drawn datasets of unlimited size have at most so many records more than the smallest number.
MORE = 7
#: Every number of records.
EVERY: Final = "every"

Size = int | Literal["every"]


def _ends(low: ExactLike, high: ExactLike) -> tuple[Fraction, Fraction]:
    a, b = exact(low, name="low"), exact(high, name="high")
    if a > b:
        raise InvalidParameterError(f"low must be at most high, got {low} and {high}.", code="E-BOUNDS-ORDER")
    return a, b


@dataclass(frozen=True)
class Interval:
    """Real numbers from ``low`` to ``high``, as float64.

    Parameters
    ----------
    low, high : number or str
        The bounds, exact: ``0.1`` is 1/10.

    Raises
    ------
    InvalidParameterError
        When the data are declared: ``low`` is above ``high``, or a bound is not finite.
    """

    low: ExactLike
    high: ExactLike

    def column(self, width: int | None = None) -> Column:
        return Column("f", *_ends(self.low, self.high), width)


@dataclass(frozen=True)
class Integers:
    """Integers from ``low`` to ``high``, as int64.

    Parameters
    ----------
    low, high : int
        The bounds.
    bits : bool
        Whether the records are truth values of type bool (False). The bounds must then be 0 and 1.
    """

    low: int
    high: int
    bits: bool = False

    def column(self, width: int | None = None) -> Column:
        low, high = _ends(self.low, self.high)
        if low.denominator != 1 or high.denominator != 1 or (self.bits and [low, high] != [0, 1]):
            raise InvalidParameterError(
                f"the bounds of Integers must be integers, with bits=True 0 and 1, got {self.low} and "
                f"{self.high}.",
                code="E-INTEGERS-BOUNDS",
            )
        return Column("b" if self.bits else "i", low, high, width)


@dataclass(frozen=True)
class Categories:
    """``count`` categories, coded 0, 1, ..., count - 1 as int64."""

    count: int

    def column(self, width: int | None = None) -> Column:
        if type(self.count) is not int or self.count < 1:
            raise InvalidParameterError(
                f"a number of categories must be a positive integer, got {self.count!r}.",
                code="E-CATEGORIES-COUNT",
            )
        return Column("i", Fraction(0), Fraction(self.count - 1), width)


@dataclass(frozen=True)
class Ball:
    """Rows of ``width`` real numbers whose norm is at most ``radius``, as float64.

    Parameters
    ----------
    radius : number or str
        The largest norm of a row.
    width : int
        The length of a row.
    norm : 1, 2 or math.inf
        The order of the norm (2). The ball of ``math.inf`` is a cube.
    """

    radius: ExactLike
    width: int
    norm: float = 2

    def column(self, width: int | None = None) -> Column:
        radius = exact(self.radius, name="radius")
        if (
            radius <= 0
            or self.norm not in (1, 2, math.inf)
            or type(self.width) is not int
            or self.width < 1
            or width is not None
        ):
            raise InvalidParameterError(
                "a Ball must have a positive radius, norm 1, 2 or math.inf and a positive width, and a "
                f"column of it no other width, got {self!r} and width {width!r}.",
                code="E-BALL-SHAPE",
            )
        ball = None if self.norm == math.inf else (str(int(self.norm)), radius)
        return Column("f", -radius, radius, self.width, ball)


@dataclass(frozen=True)
class OneHot:
    """Rows of ``width`` int64, of which exactly one is 1 and all others are 0.

    A sum of such rows is a histogram: it changes by at most 2 in L1 norm if a record is replaced, and by 1 if
    a record is added or removed.
    """

    width: int

    def column(self, width: int | None = None) -> Column:
        if type(self.width) is not int or self.width < 1 or width is not None:
            raise InvalidParameterError(
                f"OneHot must have a positive width, and a column of it no other width, got {self!r} and "
                f"width {width!r}.",
                code="E-ONE-HOT-WIDTH",
            )
        return Column("i", Fraction(0), Fraction(1), self.width, ("one-hot", Fraction(1)))


@dataclass(frozen=True)
class Anything:
    """Any finite float64."""

    def column(self, width: int | None = None) -> Column:
        return Column("f", None, None, width)


@dataclass(frozen=True)
class Texts:
    """Texts (``str``), passed as a list. A function of a text returns a number for each record.

    Parameters
    ----------
    longest : int, optional
        The largest length of a text, in code points. Without it, texts have any length.
    """

    longest: int | None = None

    def column(self, width: int | None = None) -> Column:
        longest = self.longest
        known = longest is None or (type(longest) is int and 0 <= longest < 2**32)
        if not known or width is not None:
            raise InvalidParameterError(
                "longest must be an integer from 0 to 2^32 - 1 or None, and a record of Texts has no width, "
                f"got {longest!r} and width {width!r}.",
                code="E-TEXTS-LONGEST",
            )
        return Column("t", None, None if longest is None else Fraction(longest))


Domain = Interval | Integers | Categories | Ball | OneHot | Anything | Texts


def _require_size(size: Any, at_least: Any, group: Any) -> None:
    if size != EVERY and (type(size) is not int or size < 1):
        raise InvalidParameterError(
            f"size must be a positive integer or EVERY, got {size!r}.", code="E-SIZE-RANGE"
        )
    for name, value in (("at_least", at_least), ("group", group)):
        if type(value) is not int or value < 1:
            raise InvalidParameterError(
                f"{name} must be a positive integer, got {value!r}.", code="E-SIZE-RANGE"
            )
    if size != EVERY and at_least != 1:
        raise InvalidParameterError(
            f"at_least requires size=EVERY, got at_least={at_least} and size={size}.", code="E-AT-LEAST-SIZE"
        )


@dataclass(frozen=True)
class Records:
    """The data of a mechanism: an array of records.

    Parameters
    ----------
    domain : Interval, Integers, Categories, Ball, OneHot, Anything or Texts
        The domain of each number of a record, or with ``Ball`` and ``OneHot`` of each row. ``Texts`` requires
        ``container="list"``.
    size : int or EVERY
        The number of records, or EVERY for any number. Under add-remove the number is private in any case.
    width : int, optional
        The length of a record's row. Without it, a record is one number.
    at_least : int
        The smallest number of records, for ``size=EVERY``.
    group : int
        The largest number of records of one user. The claim is about all of them at once.
    container : "array", "list" or "record"
        An ndarray, a list of Python numbers in which rows are tuples, or the only record itself, as in local
        privacy (``size=1``): a number, a text or one row as an ndarray.
    admits : tuple of str
        What the data may hold beside the domain: "nan", "infinite", "null", "outside" (out of bounds) and
        "empty" (no record). A check then tries it, and there is no proof.

    Raises
    ------
    InvalidParameterError
        A number is out of range, or the parameters do not fit each other.

    Examples
    --------
    >>> Records(Interval(0, 10), size=200).words
    'numbers in [0, 10], 200 records'
    """

    domain: Domain
    size: Size = EVERY
    width: int | None = None
    at_least: int = 1
    group: int = 1
    container: Literal["array", "list", "record"] = "array"
    admits: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _require_size(self.size, self.at_least, self.group)
        _require_admits(self.admits)
        if self.container not in ("array", "list", "record"):
            raise InvalidParameterError(
                f"container must be 'array', 'list' or 'record', got {self.container!r}.",
                code="E-CONTAINER-UNKNOWN",
            )
        if self.container == "record" and self.size != 1:
            raise InvalidParameterError(
                f"container='record' requires size=1, got {self.size!r}.", code="E-RECORD-SIZE"
            )
        if self.columns[""].kind == "t" and self.container == "array":
            raise InvalidParameterError(
                "Texts must be in a list (container='list').", code="E-TEXTS-CONTAINER"
            )

    @property
    def columns(self) -> dict[str, Column]:
        """Return the only column, under the name ``""``."""
        return {"": _column(self.domain, self.width)}

    @property
    def words(self) -> str:
        """Return a description of one record and of the number of records."""
        return _words(self)

    def build(self, columns: Mapping[str, Any]) -> Any:
        """Return the input of the mechanism from its arrays by column."""
        if self.container == "array":
            return columns[""]
        if self.container == "record":
            only = columns[""][0]
            return only.item() if isinstance(only, np.generic) else only
        return [tuple(row) if isinstance(row, list) else row for row in columns[""].tolist()]

    def pairs(
        self, adjacency: Adjacency | str = Adjacency.REPLACE_ONE, *, unusual: bool = False
    ) -> RecordPairs:
        """Return pairs of neighbouring inputs.

        ``list(...)`` of them has corners and drawn pairs, pairs with what the data admit, and with
        ``unusual`` pairs of unusual datasets. ``.strategy()`` is a Hypothesis strategy.
        """
        return _pairs(self, adjacency, unusual=unusual)

    def outside(self, adjacency: Adjacency | str = Adjacency.REPLACE_ONE) -> dict[str, list[Neighbours]]:
        """Return pairs with a record that is not in the declared data, by kind ("nan", "outside", ...)."""
        return _outside(self, adjacency)

    def strategy(self, adjacency: Adjacency | str = Adjacency.REPLACE_ONE) -> SearchStrategy[tuple[Any, Any]]:
        """Return a Hypothesis strategy for pairs of neighbouring inputs, which may be equal."""
        return self.pairs(adjacency).strategy().map(lambda pair: (pair.left, pair.right))


@dataclass(frozen=True)
class Table:
    """The data of a mechanism: a dict of columns, each with one entry or row for every record.

    Parameters
    ----------
    domains : dict of str to a domain
        The columns. ``(domain, width)`` declares rows.
    size, at_least, group, admits
        As for ``Records``.
    container : "table" or "frame"
        A dict of arrays, or a pandas DataFrame with the default index, whose columns are numbers.

    Raises
    ------
    InvalidParameterError
        There is no column, a name is not a string, or a number is out of range.
    """

    domains: Mapping[str, Domain | tuple[Domain, int]]
    size: Size = EVERY
    at_least: int = 1
    group: int = 1
    container: Literal["table", "frame"] = "table"
    admits: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _require_size(self.size, self.at_least, self.group)
        _require_admits(self.admits)
        if not self.domains or not all(isinstance(name, str) and name for name in self.domains):
            raise InvalidParameterError(
                f"a table must have columns with names, got {self.domains!r}.", code="E-TABLE-COLUMNS"
            )
        if any(column.kind == "t" for column in self.columns.values()):
            raise InvalidParameterError(
                "a column of a Table must hold numbers. Declare texts as Records(Texts(), container='list').",
                code="E-TEXTS-CONTAINER",
            )
        wide = [name for name, column in self.columns.items() if column.width is not None]
        if self.container not in ("table", "frame") or (self.container == "frame" and wide):
            raise InvalidParameterError(
                "container must be 'table' or 'frame', and a column of a frame one number for each record, "
                f"got {self.container!r} and rows in {wide}.",
                code="E-TABLE-CONTAINER",
            )

    @property
    def columns(self) -> dict[str, Column]:
        """Return the columns by name."""
        return {
            name: _column(*(entry if isinstance(entry, tuple) else (entry, None)))
            for name, entry in self.domains.items()
        }

    @property
    def words(self) -> str:
        """Return a description of one record and of the number of records."""
        return _words(self)

    def build(self, columns: Mapping[str, Any]) -> Any:
        """Return the input of the mechanism from its arrays by column."""
        if self.container == "frame":
            import pandas as pd  # slow to import, and not needed by other containers

            return pd.DataFrame(dict(columns))
        return dict(columns)

    def pairs(
        self, adjacency: Adjacency | str = Adjacency.REPLACE_ONE, *, unusual: bool = False
    ) -> RecordPairs:
        """Return pairs of neighbouring inputs.

        ``list(...)`` of them has corners and drawn pairs, pairs with what the data admit, and with
        ``unusual`` pairs of unusual datasets. ``.strategy()`` is a Hypothesis strategy.
        """
        return _pairs(self, adjacency, unusual=unusual)

    def outside(self, adjacency: Adjacency | str = Adjacency.REPLACE_ONE) -> dict[str, list[Neighbours]]:
        """Return pairs with a record that is not in the declared data, by kind ("nan", "outside", ...)."""
        return _outside(self, adjacency)

    def strategy(self, adjacency: Adjacency | str = Adjacency.REPLACE_ONE) -> SearchStrategy[tuple[Any, Any]]:
        """Return a Hypothesis strategy for pairs of neighbouring inputs, which may be equal."""
        return self.pairs(adjacency).strategy().map(lambda pair: (pair.left, pair.right))


def _require_admits(admits: object) -> None:
    if not require_kinds(admits):
        raise InvalidParameterError(
            f"admits must be a tuple of {', '.join(map(repr, OUTSIDE))}, got {admits!r}.",
            code="E-ADMITS-UNKNOWN",
        )


def _words(data: Records | Table) -> str:
    words = str(_described(data)["words"])
    if data.container == "record":
        words = f"{words.removesuffix(', 1 records')}, one record as the whole input"
    return f"{words}, and {', '.join(data.admits)} admitted" if data.admits else words


def _corner_records(columns: Mapping[str, Column]) -> list[Any]:
    """Return extreme records, as tuples with an entry of each column."""
    each = [column.corners() for column in columns.values()]
    alike = zip(*([found[k % len(found)] for k in range(max(map(len, each)))] for found in each), strict=True)
    return list(islice(dict.fromkeys(chain(alike, islice(product(*each), 24))), EXTREMES))


def _outside(data: Records | Table, adjacency: Adjacency | str) -> dict[str, list[Neighbours]]:
    found = {}
    for kind in (kind for kind in OUTSIDE if kind not in data.admits):
        pairs = _pairs(data, adjacency, kinds=(kind,)).unusual()
        if pairs:
            found[kind] = pairs
    return found


def _pairs(
    data: Records | Table,
    adjacency: Adjacency | str,
    *,
    unusual: bool = False,
    kinds: tuple[str, ...] | None = None,
) -> RecordPairs:
    """Return pairs of neighbours. A record is the entry of the only column, or a tuple of all entries."""
    from hypothesis import strategies as st  # slow to import, and not needed by proofs

    from dpaudit.core.pairs import RecordPairs

    by = one_of(Adjacency, adjacency, name="adjacency")
    if data.container == "record" and by is Adjacency.ADD_REMOVE:
        raise InvalidParameterError(
            "an input that is one record (container='record') has no neighbour by add-remove. Claim "
            "adjacency='replace-one'.",
            code="E-RECORD-ADJACENCY",
        )
    columns = data.columns
    values = _corner_records(columns)
    nulls: Any = tuple(column.null() for column in columns.values())
    record: Any = st.tuples(*(column.strategy() for column in columns.values()))
    one = isinstance(data, Records)
    if data.size == EVERY:  # under add-remove the smaller of two neighbours may have the smallest size
        least = data.at_least + (data.group if by is Adjacency.ADD_REMOVE else 0)
    sizes = (least, least + MORE) if data.size == EVERY else (int(data.size),) * 2
    more = _cases(data, values, sizes, kinds=data.admits if kinds is None else kinds, inside=unusual)
    if by is not Adjacency.ADD_REMOVE:
        more = [case for case in more if case.words != NO_RECORD]
    if one:
        values, nulls, record = [value for (value,) in values], nulls[0], data.columns[""].strategy()
        more = [case.unwrapped() for case in more]

    def make(records: list[Any]) -> Any:
        by_column = [records] if one else [[row[k] for row in records] for k in range(len(columns))]
        parts = zip(columns.items(), by_column, strict=True)
        return data.build({name: column.array(entries) for (name, column), entries in parts})

    return RecordPairs(
        record=record,
        values=values,
        sizes=sizes,
        adjacency=by,
        null=nulls,
        make=make,
        group=data.group,
        most=PAIRS,
        drawn=DRAWN,
        more=more,
    )


def _cases(
    data: Records | Table, values: list[Any], sizes: tuple[int, int], *, kinds: tuple[str, ...], inside: bool
) -> list[Case]:
    """Return unusual datasets: inside the domain if asked for, and of these ``kinds`` outside of it."""
    columns, (least, most) = list(data.columns.values()), sizes
    odd_and_even = sorted({min(least + 1, most), max(least, most - 1), most})
    found = list(cases_inside(columns, values, odd_and_even)) if inside else []
    return found + list(cases_outside(columns, values, min(least + 2, most), kinds))


def _column(domain: Any, width: int | None) -> Column:
    if not isinstance(domain, Interval | Integers | Categories | Ball | OneHot | Anything | Texts):
        raise InvalidParameterError(
            "a domain must be Interval, Integers, Categories, Ball, OneHot, Anything or Texts, got "
            f"{domain!r}.",
            code="E-DOMAIN-TYPE",
        )
    if width is not None and (type(width) is not int or width < 1):
        raise InvalidParameterError(f"width must be a positive integer, got {width!r}.", code="E-WIDTH-RANGE")
    return domain.column(width)


def declared(data: Records | Table) -> dict[str, Any]:
    """Return the declaration as a certificate holds it, with the description that the kernel derives.

    Raise ``InvalidParameterError`` if the data admit values outside the domain.
    """
    require_domain_only(data)
    return _described(data)


def require_domain_only(data: Records | Table) -> None:
    """Raise ``InvalidParameterError`` for data that no proof covers: odd values, or one record."""
    if data.container == "record":
        raise InvalidParameterError(
            "a proof requires an array, a list, a table or a frame of records, got container='record'. Use "
            "check.",
            code="E-RECORD-NO-PROOF",
        )
    if data.admits:
        raise InvalidParameterError(
            f"a proof is about the domain, and data must have admits=(), got {data.admits!r}. Use check.",
            code="E-ADMITS-NO-PROOF",
        )


def _described(data: Records | Table) -> dict[str, Any]:
    """Return the declaration of the domain, with its description."""
    found = {
        "size": None if data.size == EVERY else data.size,
        "at_least": data.at_least,
        "container": data.container,
        "columns": [column.to_json(name) for name, column in data.columns.items()],
    }
    return {**found, "words": words_of(found, data.group)}


def sample_pair(
    data: Records | Table, *, adjacency: Adjacency, size: int, rng: np.random.Generator
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return two random neighbours as arrays by column.

    Under add-remove the second has ``group`` records more.
    """
    more = data.group if adjacency is Adjacency.ADD_REMOVE else 0
    changed = sorted(
        int(k) for k in rng.choice(size + more, size=min(data.group, size + more), replace=False)
    )
    left, right = {}, {}
    for name, column in data.columns.items():
        base = column.sample(rng, size + more)
        if adjacency is Adjacency.ADD_REMOVE:
            left[name], right[name] = np.delete(base, changed, axis=0), base
            continue
        other = base.copy()
        fresh = column.sample(rng, len(changed))
        for k, record in zip(changed, fresh, strict=True):
            other[k] = column.null() if adjacency is Adjacency.ZERO_OUT else record
        left[name], right[name] = base, other
    return left, right


__all__ += ["declared", "require_domain_only", "sample_pair"]
