"""Accounting claims: the total privacy cost of all releases that one record can affect, in one notion.

An accounting claim is about the view of an adversary who sees every release. Its total is stated in a
quantity whose costs add up: epsilon, rho, the Rényi divergence of one order, or mu, whose squares add up.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from dpaudit.core.claims.base import Adjacency, Claim, Unit, one_of
from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.exact import ExactLike, as_written, exact, in_figures, positive

__all__ = [
    "Accounting",
    "AccountingClaim",
    "ConcentratedAccounting",
    "GaussianAccounting",
    "RenyiAccounting",
]


@dataclass(frozen=True, kw_only=True)
class AccountingClaim(Claim):
    """A claim that the releases which one changed record can affect have at most the stated total cost.

    Parameters
    ----------
    declared : str
        A description of these releases.
    adjacency, unit, participation
        As in the privacy claim that the proof is about.
    """

    declared: str
    adjacency: Adjacency = Adjacency.REPLACE_ONE
    unit: Unit = Unit.EVENT
    participation: str = "everybody"

    def __post_init__(self) -> None:
        self._set("adjacency", one_of(Adjacency, self.adjacency, name="adjacency"))
        self._set("unit", one_of(Unit, self.unit, name="unit"))

    def _in_words(self, total: str) -> str:
        change = f"the change of one {self.unit.value} ({self.adjacency.value})"
        return f"{change} costs at most {total} over all releases; declared: {self.declared}"


@dataclass(frozen=True, kw_only=True)
class Accounting(AccountingClaim):
    """A claim that the pure privacy costs of all releases sum to at most ``epsilon`` > 0."""

    type: ClassVar[str] = "accounting"
    quantity: ClassVar[str] = "epsilon"
    epsilon: ExactLike

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set("epsilon", positive(self.epsilon, name="epsilon"))

    @property
    def bound(self) -> Fraction:
        return exact(self.epsilon)

    def in_words(self) -> str:
        return self._in_words(f"ε = {as_written(exact(self.epsilon))}")


@dataclass(frozen=True, kw_only=True)
class ConcentratedAccounting(AccountingClaim):
    """A claim that the zero-concentrated privacy costs of all releases sum to at most ``rho`` > 0."""

    type: ClassVar[str] = "zcdp-accounting"
    quantity: ClassVar[str] = "rho"
    rho: ExactLike

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set("rho", positive(self.rho, name="rho"))

    @property
    def bound(self) -> Fraction:
        return exact(self.rho)

    def in_words(self) -> str:
        return self._in_words(f"ρ = {in_figures(exact(self.rho))}")


@dataclass(frozen=True, kw_only=True)
class GaussianAccounting(AccountingClaim):
    """A claim that the squared Gaussian costs of all releases sum to at most ``mu`` squared, ``mu`` > 0."""

    type: ClassVar[str] = "gdp-accounting"
    quantity: ClassVar[str] = "mu"
    mu: ExactLike

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set("mu", positive(self.mu, name="mu"))

    @property
    def bound(self) -> Fraction:
        return exact(self.mu)

    def in_words(self) -> str:
        return self._in_words(f"μ = {in_figures(exact(self.mu))}")


@dataclass(frozen=True, kw_only=True)
class RenyiAccounting(AccountingClaim):
    """A claim that the Rényi divergences of ``order`` > 1 of all releases sum to at most ``epsilon`` > 0."""

    type: ClassVar[str] = "renyi-dp-accounting"
    quantity: ClassVar[str] = "renyi epsilon"
    order: ExactLike
    epsilon: ExactLike

    def __post_init__(self) -> None:
        super().__post_init__()
        order = exact(self.order, name="order")
        if order <= 1:
            raise InvalidParameterError(f"order must be greater than 1, got {order}.", code="E-ORDER-RANGE")
        self._set("order", order)
        self._set("epsilon", positive(self.epsilon, name="epsilon"))

    @property
    def bound(self) -> Fraction:
        return exact(self.epsilon)

    def in_words(self) -> str:
        return self._in_words(
            f"a Rényi divergence of {in_figures(exact(self.epsilon))} (order {as_written(exact(self.order))})"
        )
