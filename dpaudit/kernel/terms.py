"""What rules speak in: the setting of a claim, typed parameters, guarantees, and the registry of rules.

Theory of operation. A certificate is a tree of rule applications. Each node derives a *guarantee* about one
mechanism from its parameters and from the guarantees of its premises. A guarantee is a set of upper bounds
that all hold at once, for every pair of neighbours of the setting and in both directions:

* ``pure``: epsilon-DP; ``gdp_squared``: mu-GDP, as mu squared, which stays rational under composition;
  ``rho``: zCDP;
* ``profile``: a function from epsilon to an upper bound on delta (a ball), where the mechanism has a better
  one than these imply;
* ``renyi``: a function from an order above 1 to an upper bound on the Renyi divergence (a ball), likewise;
* ``pair``: a dominating pair of laws, as a function from a grid to its upper loss law (``certpld``), for
  composition.

``None`` says "no such bound", never "infinite by proof". Rules compute with exact rationals; where a
transcendental function enters they compute in balls and keep the upper end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from dpaudit.claims import (
    Accounting,
    Adjacency,
    Claim,
    Model,
    PrivacyClaim,
    SubExponential,
    SubGaussian,
    TailBound,
    Unit,
)
from dpaudit.errors import CertificateError, InvalidParameterError
from dpaudit.exact import exact
from dpaudit.views import View

__all__ = ["RULES", "Derivation", "Guarantee", "Parameters", "Rule", "Setting", "rule", "shown"]

#: Numbers and words of an untrusted file stay short.
MAX_BITS = 4096
MAX_TEXT = 2000
MAX_LIST = 10_000

Profile = Callable[[Fraction], Any]
RenyiCurve = Callable[[Fraction], Any]
PairOnGrid = Callable[[Any], Any]  # Grid to LossLaw; their module is not imported here, only rules know it


def shown(number: Fraction) -> str:
    """A number for a message, whatever its size."""
    try:
        return f"{float(number):.12g}"
    except OverflowError:
        return f"about 2^{number.numerator.bit_length() - number.denominator.bit_length()}"


@dataclass(frozen=True)
class Setting:
    """What a guarantee is relative to. An accounting claim has no adjacency: its releases and touches are
    declared.
    """

    adjacency: Adjacency | None
    unit: Unit | None
    view: View | None = None

    @classmethod
    def of(cls, claim: Claim) -> Setting:
        """The setting of a claim; refuses claims that no rule speaks about."""
        if isinstance(claim, Accounting | SubGaussian | SubExponential | TailBound):
            return cls(None, None)
        if not isinstance(claim, PrivacyClaim):
            raise CertificateError(
                "a certificate must be for a claim about privacy, an accounting or noise, got "
                f"{claim.type!r}; use other evidence."
            )
        if claim.model is not Model.IDEAL:
            raise CertificateError(
                "the rules speak of real-number laws (model 'ideal'), got a claim about the float "
                "program; restate the claim."
            )
        return cls(claim.adjacency, claim.unit, claim.view)

    def with_adjacency(self, adjacency: Adjacency) -> Setting:
        return replace(self, adjacency=adjacency)


@dataclass(frozen=True, kw_only=True)
class Guarantee:
    """Upper bounds that hold at once for one mechanism, and the assumptions that they rest on.

    Rules about noise bound one law instead, named by ``subject``: ``proxy`` is a reach (``None``: everywhere)
    with a variance proxy for all |t| up to it, ``chance`` the probability of the event.
    """

    pure: Fraction | None = None
    gdp_squared: Fraction | None = None
    rho: Fraction | None = None
    profile: Profile | None = None
    renyi: RenyiCurve | None = None
    pair: PairOnGrid | None = None
    proxy: tuple[Fraction | None, Fraction] | None = None
    chance: Fraction | None = None
    subject: str = ""
    assumptions: tuple[str, ...] = ()

    def with_assumptions(self, more: Iterable[str]) -> Guarantee:
        """The same bounds, resting on ``more`` besides; each assumption is listed once, in order."""
        return replace(self, assumptions=tuple(dict.fromkeys((*self.assumptions, *more))))


class Parameters:
    """The parameters of one node, read with their domains checked. Unread parameters are refused: they
    would mean nothing.
    """

    def __init__(self, values: Any, *, rule: str) -> None:
        if not isinstance(values, dict) or not all(isinstance(key, str) for key in values):
            raise CertificateError(
                f"{rule}: parameters must be a table with names as keys, got {type(values).__name__}; "
                "rebuild the certificate."
            )
        self._values: dict[str, Any] = values
        self._rule = rule
        self._read: set[str] = set()

    def fail(self, message: str) -> CertificateError:
        return CertificateError(f"{self._rule}: {message}")

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def _get(self, name: str) -> Any:
        if name not in self._values:
            raise self.fail(f"the parameter {name!r} must be given; rebuild the certificate.")
        self._read.add(name)
        return self._values[name]

    def number(self, name: str) -> Fraction:
        """An exact number, written as a string."""
        return self._number(name, self._get(name))

    def _number(self, name: str, value: Any) -> Fraction:
        if not isinstance(value, str) or len(value) > MAX_TEXT:
            raise self.fail(
                f'{name} must be an exact number written as a string, got {str(value)[:40]!r}; write "1/3".'
            )
        try:
            number = exact(value, name=name)
        except InvalidParameterError as error:
            raise self.fail(str(error)) from error
        if max(number.numerator.bit_length(), number.denominator.bit_length()) > MAX_BITS:
            raise self.fail(
                f"{name} must have at most {MAX_BITS} bits above and below, got more; round it outward."
            )
        return number

    def positive(self, name: str) -> Fraction:
        number = self.number(name)
        if number <= 0:
            raise self.fail(f"{name} must be greater than 0, got {number}; correct the parameter.")
        return number

    def nonnegative(self, name: str) -> Fraction:
        number = self.number(name)
        if number < 0:
            raise self.fail(f"{name} must be 0 or more, got {number}; correct the parameter.")
        return number

    def probability(self, name: str) -> Fraction:
        number = self.number(name)
        if not 0 <= number <= 1:
            raise self.fail(f"{name} must be in [0, 1], got {number}; correct the parameter.")
        return number

    def integer(self, name: str, *, low: int, high: int) -> int:
        return self._integer(name, self._get(name), low, high)

    def _integer(self, name: str, value: Any, low: int, high: int) -> int:
        number = self._number(name, value)
        if number.denominator != 1 or not low <= number <= high:
            raise self.fail(
                f"{name} must be an integer from {low} to {high}, got {number}; correct the parameter."
            )
        return int(number)

    def _list(self, name: str, most: int, length: int | None = None) -> list[Any]:
        values = self._get(name)
        if not isinstance(values, list) or len(values) > most or length not in (None, len(values)):
            raise self.fail(
                f"{name} must be a list of {length or f'at most {most}'} entries; rebuild the certificate."
            )
        return values

    def numbers(self, name: str, *, most: int) -> list[Fraction]:
        """A list of at most ``most`` exact numbers."""
        return [self._number(f"{name}[{i}]", value) for i, value in enumerate(self._list(name, most))]

    def rows(self, name: str, *, most: int, width: int) -> list[list[Fraction]]:
        """At most ``most`` lists of at most ``width`` exact numbers."""
        rows = self._list(name, most)
        if not all(isinstance(row, list) and len(row) <= width for row in rows):
            raise self.fail(f"{name} must hold lists of at most {width} numbers; rebuild the certificate.")
        return [[self._number(name, entry) for entry in row] for row in rows]

    def integers(self, name: str, *, low: int, high: int, length: int) -> list[int]:
        """A list of ``length`` integers."""
        values = self._list(name, MAX_LIST, length)
        return [self._integer(f"{name}[{i}]", value, low, high) for i, value in enumerate(values)]

    def choice(self, name: str, options: Sequence[str]) -> str:
        value = self._get(name)
        if value not in options:
            raise self.fail(
                f"{name} must be one of {list(options)}, got {str(value)[:40]!r}; correct the parameter."
            )
        return str(value)

    def text(self, name: str) -> str:
        return self._text(name, self._get(name))

    def _text(self, name: str, value: Any) -> str:
        if not isinstance(value, str) or not 0 < len(value) <= MAX_TEXT:
            raise self.fail(f"{name} must be a text of 1 to {MAX_TEXT} characters; shorten or add it.")
        return value

    def texts(self, name: str, *, length: int) -> list[str]:
        return [self._text(name, value) for value in self._list(name, MAX_LIST, length)]

    def table(self, name: str) -> Parameters:
        """A nested table, whose entries must all be read too."""
        return Parameters(self._get(name), rule=f"{self._rule}.{name}")

    def tables(self, name: str, *, most: int) -> list[Parameters]:
        """A list of at most ``most`` nested tables; the caller finishes each."""
        values = self._list(name, most)
        return [Parameters(value, rule=f"{self._rule}.{name}[{i}]") for i, value in enumerate(values)]

    def is_table(self, name: str) -> bool:
        return isinstance(self._values.get(name), dict)

    def finish(self) -> None:
        """Refuse a node that carries a parameter which its rule did not read."""
        unread = sorted(self._values.keys() - self._read)
        if unread:
            raise self.fail(
                f"the parameters must be known to the rule, got {unread[:5]} besides; remove them."
            )


Derivation = Callable[[Parameters, tuple[Guarantee, ...], Setting], Guarantee]


@dataclass(frozen=True)
class Rule:
    """A named rule: how many premises it takes, how it derives, and in which setting its premises are
    derived.
    """

    name: str
    premises: tuple[int, int]
    derive: Derivation
    premise_setting: Callable[[dict[str, Any], Setting], Setting]


RULES: dict[str, Rule] = {}


def _same(parameters: dict[str, Any], setting: Setting) -> Setting:
    return setting


def rule(
    name: str,
    *,
    premises: tuple[int, int] = (0, 0),
    premise_setting: Callable[[dict[str, Any], Setting], Setting] = _same,
) -> Callable[[Derivation], Derivation]:
    """Decorator: make a rule known to the kernel under ``name``, with the least and the largest number of
    premises.
    """

    def decorate(derive: Derivation) -> Derivation:
        if name in RULES:
            raise InvalidParameterError(f"a rule's name must be unique, {name!r} is taken; choose another.")
        RULES[name] = Rule(name, premises, derive, premise_setting)
        return derive

    return decorate
