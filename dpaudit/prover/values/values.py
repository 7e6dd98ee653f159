"""Define the values that the interpreter computes with besides plain Python objects.

They are never passed to other code: the interpreter dispatches on their exact type and applies a rule or
refuses. ``samples`` holds the values on real neighbouring data (two for each sample world, x and x'), against
which every step is checked.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from dpaudit.kernel.values.info import Info
from dpaudit.kernel.values.polynomials import Poly

__all__ = [
    "MISSING",
    "Array",
    "Choice",
    "Coin",
    "Coins",
    "Condition",
    "Correlated",
    "Draw",
    "Entries",
    "Filtered",
    "Frame",
    "Generator",
    "Grouped",
    "Joined",
    "Listed",
    "Named",
    "Noisy",
    "PerKey",
    "Private",
    "Public",
    "Ranked",
    "Response",
    "Sample",
    "Samples",
    "Scaled",
    "Series",
    "Symbol",
    "Text",
    "Texts",
    "Transposed",
    "Turned",
    "Uniform",
    "changed",
]

Samples = list[Any]
Shape = tuple[int | Poly, ...]


class Missing:
    """The value of a step that the sample data cannot reach on a forced path."""

    def __repr__(self) -> str:
        return "MISSING"


MISSING = Missing()


class Symbol:
    """Base class of symbolic values. The interpreter refuses every symbol whose type has no rule."""

    __slots__ = ()


@dataclass(eq=False, slots=True)
class Private(Symbol):
    """A private value: a recorded step with its node, derived info and values on the sample data."""

    node: int
    info: Info
    samples: Samples

    @property
    def shape(self) -> Shape:
        """Return the shape of the value."""
        return self.info.shape


@dataclass(eq=False, slots=True)
class Joined(Symbol):
    """A private number whose type depends on a private condition, as in ``x if x < 10 else 10``.

    If ``kind_unknown``, it may be an integer or a float. If ``class_unknown``, it may be a Python or a numpy
    number. The difference could show in what the program does with it, so few operations accept it.
    """

    private: Private
    kind_unknown: bool
    class_unknown: bool


@dataclass(eq=False, slots=True)
class Public(Symbol):
    """A value computed from outcomes alone, equal on both sides.

    ``shape`` and ``kind`` are None if unknown. If ``count`` is set, the value is one of 0, ..., count - 1. If
    ``place`` is set, it holds the expression of a position and a list of numbers, and the value is the number
    at this position.
    """

    expression: Any
    shape: Shape | None
    kind: str | None
    samples: Samples
    python: bool = False
    count: int | None = None
    place: tuple[Any, list[Any]] | None = None


@dataclass(eq=False, slots=True)
class Draw(Symbol):
    """One draw of noise on a path.

    ``used`` holds the entries that a release uses, with None for the whole draw. ``hidden`` maps entries to
    their symbols in comparisons. ``published`` is the outcome, once the draw is published without a base.
    """

    number: int
    distribution: str
    scale: Any
    positive: Poly
    shape: Shape
    samples: Samples
    python: bool = True
    used: set[int | None] = field(default_factory=set)
    hidden: dict[int | None, str] = field(default_factory=dict)
    published: Public | None = None

    def free(self, entry: int | None) -> bool:
        """Return whether this entry, or for None every entry, is still unused."""
        taken = self.used | set(self.hidden)
        return not taken if entry is None else entry not in taken and None not in taken


#: A factor, a draw, and an entry of the draw (None for the whole draw).
Term = tuple[Fraction, Draw, int | None]


@dataclass(eq=False, slots=True)
class Noisy(Symbol):
    """``base`` plus noise that is not published yet.

    ``base`` is a Private, a Public or a plain value of the shape of the noise. ``released`` is the outcome,
    once it is published. ``source`` is an operator with its operands, one of them noisy: then that operand
    is released, and this value is a function of the outcome.
    """

    base: Any
    terms: tuple[Term, ...]
    shape: Shape
    released: Any = None
    source: Any = None
    #: Entries that were extracted, by position.
    parts: dict[int, Any] = field(default_factory=dict)


@dataclass(eq=False, slots=True)
class Scaled(Symbol):
    """``base`` plus ``factor`` times a draw times the private scale ``by``, not published yet.

    ``base`` is a private number, or 0. ``released`` is the outcome, once it is published.
    """

    base: Any
    by: Private
    factor: Fraction
    draw: Draw
    released: Public | None = None


@dataclass(eq=False, slots=True)
class Correlated(Symbol):
    """``base`` plus linear combinations of Gaussian draws that are not published yet.

    ``noise`` is an object array of ``Form`` with the shape of the value, over pairs of the number of a draw
    and a place in it. ``base`` is a Private, a Public or a plain value of the same shape.
    """

    base: Any
    noise: Any
    python: bool = False
    released: Any = None

    @property
    def shape(self) -> tuple[int, ...]:
        """Return the shape of the value."""
        found: tuple[int, ...] = self.noise.shape
        return found


@dataclass(eq=False, slots=True)
class Filtered(Symbol):
    """The rows of ``base`` for which ``mask`` is true. Their number is private."""

    base: Private
    mask: Private


@dataclass(eq=False, slots=True)
class Transposed(Symbol):
    """The transpose of an array of records, usable only on the left of ``@``."""

    base: Private


@dataclass(eq=False, slots=True)
class Condition(Symbol):
    """An undecided comparison with hidden noise: ``form < 0`` if ``strict``, otherwise ``form <= 0``."""

    form: Any
    strict: bool
    answer: bool | None = None


@dataclass(eq=False, slots=True)
class Uniform(Symbol):
    """A draw of ``rng.random(...)``, uniform on [0, 1), usable in one comparison with a probability."""

    number: int
    shape: Shape
    samples: Samples
    used: bool = False
    published: Any = None


@dataclass(eq=False, slots=True)
class Coin(Symbol):
    """Independent coins of probability ``p``, one per entry."""

    uniform: Uniform
    p: Fraction
    shape: Shape
    samples: Samples
    published: Any = None


@dataclass(eq=False, slots=True)
class Choice(Symbol):
    """Uniform integers in [``first``, ``limit``), one per entry."""

    number: int
    limit: int
    shape: Shape
    samples: Samples
    used: bool = False
    published: Any = None
    first: int = 0


@dataclass(eq=False, slots=True)
class Sample(Symbol):
    """Positions of ``count`` of all records, drawn without replacement.

    For a permutation of all positions ``count`` is None. ``used`` is set once the sample selects hidden
    records, or a part of it is taken. ``number`` tells samples apart.
    """

    number: int
    count: int | None
    shape: Shape
    samples: Samples
    used: bool = False
    published: Any = None


@dataclass(eq=False, slots=True)
class Turned(Symbol):
    """Private integers plus or minus one coin or uniform integer each, modulo ``modulus`` if it is given.

    ``source`` is the operator with both operands.
    """

    base: Private
    random: Any
    source: tuple[str, Any, Any]
    modulus: int | None
    samples: Samples


@dataclass(eq=False, slots=True)
class Response(Symbol):
    """The randomised response of each record, not published yet."""

    base: Private
    keep: Fraction
    among: int | None
    samples: Samples
    released: Any = None


@dataclass(eq=False, slots=True)
class Ranked(Symbol):
    """The ``argsort`` of noisy scores, of which the first or last positions may be released."""

    scores: Noisy


class Entries(Symbol):
    """An array written entry by entry, as a list of scalars and the kind of its numbers."""

    __slots__ = ("items", "kind")

    def __init__(self, items: list[Any], kind: str) -> None:
        self.items, self.kind = items, kind


@dataclass(eq=False, slots=True)
class Array(Symbol):
    """An array as a place in memory.

    ``content`` is an ndarray or a symbol with a shape. If ``shared`` is true, other arrays may share its
    memory, so it must not be changed in place.
    """

    content: Any
    shared: bool = False


@dataclass(eq=False, slots=True)
class Series(Symbol):
    """A pandas Series with the index of the data, or if ``keys`` is set, with these integers as index."""

    value: Array
    keys: tuple[int, ...] | None = None


@dataclass(eq=False, slots=True)
class Frame(Symbol):
    """A pandas DataFrame, by its columns, which have the same rows."""

    columns: dict[str, Array]


@dataclass(eq=False, slots=True)
class Grouped(Symbol):
    """``frame.groupby(key)`` or ``frame.groupby(key)[column]``, of which sums and counts are supported."""

    frame: Frame
    key: str
    column: str | None = None


@dataclass(eq=False, slots=True)
class PerKey(Symbol):
    """Sums or counts by key. Their index depends on the data until ``reindex`` fixes it."""

    keys: Array
    values: Array | None


@dataclass(eq=False, slots=True)
class Text(Symbol):
    """One private text of a column, or with ``place`` None each of them, after a chain of changes.

    A change is the name of a method of str and its arguments.
    """

    column: Private
    place: int | None
    changes: tuple[tuple[str, ...], ...] = ()

    def sample(self, side: int) -> Any:
        """Return the text on one side of the sample worlds, or the list of all texts."""
        texts = self.column.samples[side]
        if self.place is None:
            return [changed(text, self.changes) for text in texts]
        return changed(texts[self.place], self.changes)


@dataclass(eq=False, slots=True)
class Texts(Symbol):
    """The list of all private texts, whose length is not a known number."""

    column: Private


@dataclass(eq=False, slots=True)
class Listed(Symbol):
    """A list of one Python number for each record, whose length is not a known number."""

    column: Private


def changed(text: str, changes: Iterable[Sequence[str]]) -> str:
    """Return a text after a chain of changes."""
    for name, *given in changes:
        text = getattr(text, name)(*given)
    return text


@dataclass(frozen=True, eq=False)
class Named:
    """A module, builtin or type that the interpreter handles itself."""

    name: str
    real: Any


@dataclass(eq=False, slots=True)
class Count(Symbol):
    """A random number of runs that nobody sees, by its stopping law (``kernel.values.repetitions``)."""

    law: dict[str, str]
    used: bool = False


@dataclass(eq=False, slots=True)
class Runs(Symbol):
    """``range(count)`` for a random number of runs."""

    count: Count


class Gone(Symbol):
    """The value of a name after a loop that was followed as a whole. It cannot be used."""


class Generator(Symbol):
    """A placeholder for a ``numpy.random.Generator``."""

    __slots__ = ()


class Coins(Symbol):
    """A placeholder for dpaudit's coins."""

    __slots__ = ()
