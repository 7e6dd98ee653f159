"""What the interpreter computes with besides plain Python objects.

None of these is ever handed to other code: the interpreter looks at their exact type and applies a rule, or
refuses. ``samples`` are the values on real neighbouring data (two for each sample world, x and x'), which
check every step.
"""

from __future__ import annotations

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
    "Draw",
    "Entries",
    "Filtered",
    "Generator",
    "Named",
    "Noisy",
    "Private",
    "Public",
    "Ranked",
    "Response",
    "Samples",
    "Symbol",
    "Transposed",
    "Uniform",
]

Samples = list[Any]
Shape = tuple[int | Poly, ...]


class Missing:
    """The value of a step that real data could not reach on a forced path."""

    def __repr__(self) -> str:
        return "MISSING"


MISSING = Missing()


class Symbol:
    """Base class: anything the interpreter does not ask for by exact type is refused by it."""

    __slots__ = ()


@dataclass(eq=False, slots=True)
class Private(Symbol):
    """A recorded step: its node, what is known of it, and its value on the sample data."""

    node: int
    info: Info
    samples: Samples

    @property
    def shape(self) -> Shape:
        return self.info.shape


@dataclass(eq=False, slots=True)
class Public(Symbol):
    """A value made of outcomes alone, the same on both sides. ``shape`` and ``kind`` are None if unknown.

    ``count``: it is one of 0, ..., count - 1.
    """

    expression: Any
    shape: Shape | None
    kind: str | None
    samples: Samples
    python: bool = False
    count: int | None = None


@dataclass(eq=False, slots=True)
class Draw(Symbol):
    """One draw of noise on a path. ``used``: entries that serve, with None for the whole. ``hidden``: its
    symbols in comparisons, by entry. ``seen``: the outcome, once it is shown bare."""

    number: int
    distribution: str
    scale: Any
    positive: Poly
    shape: Shape
    samples: Samples
    python: bool = True
    used: set[int | None] = field(default_factory=set)
    hidden: dict[int | None, str] = field(default_factory=dict)
    seen: Public | None = None

    def free(self, entry: int | None) -> bool:
        """Whether this entry (or, for None, every one) has not served yet."""
        taken = self.used | set(self.hidden)
        return not taken if entry is None else entry not in taken and None not in taken


#: A factor, a draw, and the entry of it (None: the whole draw).
Term = tuple[Fraction, Draw, int | None]


@dataclass(eq=False, slots=True)
class Noisy(Symbol):
    """``base`` plus noise that nobody has seen yet. ``base`` is a Private, a Public or a plain value of the
    shape of the noise. ``released``: the outcome, once it is seen. ``source``: a noisy value and what was
    done to it, so that the first one is released and this one is a function of the outcome."""

    base: Any
    terms: tuple[Term, ...]
    shape: Shape
    released: Any = None
    source: Any = None
    #: Entries that were taken out, by place.
    parts: dict[int, Any] = field(default_factory=dict)


@dataclass(eq=False, slots=True)
class Filtered(Symbol):
    """Rows of ``base`` where ``mask`` holds: how many is private."""

    base: Private
    mask: Private


@dataclass(eq=False, slots=True)
class Transposed(Symbol):
    """The transpose of an array of records, of use only on the left of ``@``."""

    base: Private


@dataclass(eq=False, slots=True)
class Condition(Symbol):
    """A comparison with hidden noise: ``form < 0`` (or ``<= 0``) over symbols, not decided yet."""

    form: Any
    strict: bool
    answer: bool | None = None


@dataclass(eq=False, slots=True)
class Uniform(Symbol):
    """``rng.random(...)``: uniform on [0, 1), of use only in one comparison with a public number."""

    number: int
    shape: Shape
    samples: Samples
    used: bool = False
    seen: Any = None


@dataclass(eq=False, slots=True)
class Coin(Symbol):
    """Independent coins with probability ``p``, one for each entry."""

    uniform: Uniform
    p: Fraction
    shape: Shape
    samples: Samples
    seen: Any = None


@dataclass(eq=False, slots=True)
class Choice(Symbol):
    """Uniform whole numbers below ``limit``, one for each entry."""

    number: int
    limit: int
    shape: Shape
    samples: Samples
    used: bool = False
    seen: Any = None


@dataclass(eq=False, slots=True)
class Response(Symbol):
    """Randomised answers of each record, not shown yet."""

    base: Private
    keep: Fraction
    among: int | None
    samples: Samples
    released: Any = None


@dataclass(eq=False, slots=True)
class Ranked(Symbol):
    """``argsort`` of noisy scores: its ends may be released."""

    scores: Noisy


class Entries(Symbol):
    """An array written entry by entry: a list of scalars, and the kind of numbers that it holds."""

    __slots__ = ("items", "kind")

    def __init__(self, items: list[Any], kind: str) -> None:
        self.items, self.kind = items, kind


@dataclass(eq=False, slots=True)
class Array(Symbol):
    """An array as a place in memory: ``content`` is an ndarray or a symbol with a shape. ``shared``: others
    may share its memory, so that it is not changed in place."""

    content: Any
    shared: bool = False


@dataclass(frozen=True, eq=False)
class Named:
    """A module, builtin or type that the interpreter treats itself."""

    name: str
    real: Any


class Generator(Symbol):
    """Stands for a numpy.random.Generator."""

    __slots__ = ()


class Coins(Symbol):
    """Stands for dpaudit's coins."""

    __slots__ = ()
