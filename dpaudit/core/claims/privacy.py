"""Privacy claims: pure, approximate, Rényi, zero-concentrated, Gaussian DP."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from fractions import Fraction
from typing import ClassVar

from dpaudit.core.claims.base import Adjacency, Adversary, Claim, Model, Unit, one_of
from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.exact import ExactLike, as_written, exact, exact_str, in_figures, positive, probability
from dpaudit.core.views import PUBLIC, Principal, View

__all__ = [
    "NOT_STATED",
    "ApproxDP",
    "GaussianDP",
    "PrivacyClaim",
    "Profile",
    "PureDP",
    "RenyiDP",
    "ZeroConcentratedDP",
]

#: The ``domain`` of a claim that says nothing about its data.
NOT_STATED = "not stated"

#: Fields with a fixed list of values, which may also be given by name.
_OPTIONS: dict[str, type[Enum]] = {
    "adjacency": Adjacency,
    "unit": Unit,
    "adversary": Adversary,
    "model": Model,
}


@dataclass(frozen=True, kw_only=True)
class PrivacyClaim(Claim):
    """What every privacy claim states besides its numbers.

    ``domain`` describes the data in words. An audit of a program derives them from the data that it declares,
    if they are not stated. ``participation`` is the least share or number of users who take part.
    ``view`` is who looks: a ``View``, or one principal such as ``SERVER``, who sees what is public too.
    """

    adjacency: Adjacency = Adjacency.REPLACE_ONE
    domain: str = NOT_STATED
    unit: Unit = Unit.EVENT
    view: View = field(default_factory=lambda: View.of(PUBLIC))
    adversary: Adversary = Adversary.OBLIVIOUS
    participation: str = "everybody"
    model: Model = Model.IDEAL

    def __post_init__(self) -> None:
        for name, options in _OPTIONS.items():
            self._set(name, one_of(options, getattr(self, name), name=name))
        if isinstance(self.view, Principal):
            self._set("view", View.of(self.view))
        if not isinstance(self.view, View):
            raise InvalidParameterError(
                f"view must say who looks, got {self.view!r}; pass PUBLIC, SERVER, user(3) or "
                "View.everybody_but(user(3))."
            )

    def _context(self) -> str:
        return f"when one {self.unit.value} changes ({self.adjacency.value}), in the view of {self.view}"


def _not_negative(epsilon: ExactLike) -> Fraction:
    number = exact(epsilon, name="epsilon")
    if number < 0:
        raise InvalidParameterError(f"epsilon must be 0 or more, got {number}; pass a non-negative number.")
    return number


@dataclass(frozen=True, kw_only=True)
class PureDP(PrivacyClaim):
    """epsilon-DP: P(M(D) in S) <= e^epsilon P(M(D') in S) for all neighbours and all events. ``epsilon`` >=
    0."""

    type: ClassVar[str] = "pure-dp"
    quantity: ClassVar[str] = "epsilon"
    epsilon: ExactLike

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set("epsilon", _not_negative(self.epsilon))

    @property
    def bound(self) -> Fraction:
        return exact(self.epsilon)

    def in_words(self) -> str:
        return f"ε = {as_written(exact(self.epsilon))} pure differential privacy {self._context()}"


@dataclass(frozen=True, kw_only=True)
class ApproxDP(PrivacyClaim):
    """(epsilon, delta)-DP. ``epsilon`` >= 0, ``delta`` in [0, 1]. The bounded quantity is delta at this
    epsilon."""

    type: ClassVar[str] = "approx-dp"
    quantity: ClassVar[str] = "delta"
    epsilon: ExactLike
    delta: ExactLike

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set("epsilon", _not_negative(self.epsilon))
        self._set("delta", probability(self.delta, name="delta"))

    @property
    def bound(self) -> Fraction:
        return exact(self.delta)

    def in_words(self) -> str:
        delta = in_figures(exact(self.delta))
        return f"(ε = {as_written(exact(self.epsilon))}, δ = {delta}) differential privacy {self._context()}"


@dataclass(frozen=True, kw_only=True)
class RenyiDP(PrivacyClaim):
    """(order, epsilon)-Renyi DP: the Renyi divergence of order ``order`` > 1 is at most ``epsilon`` > 0."""

    type: ClassVar[str] = "renyi-dp"
    quantity: ClassVar[str] = "renyi epsilon"
    order: ExactLike
    epsilon: ExactLike

    def __post_init__(self) -> None:
        super().__post_init__()
        order = exact(self.order, name="order")
        if order <= 1:
            raise InvalidParameterError(
                f"order must be greater than 1, got {order}; no claim here is about the mean loss."
            )
        self._set("order", order)
        self._set("epsilon", positive(self.epsilon, name="epsilon"))

    @property
    def bound(self) -> Fraction:
        return exact(self.epsilon)

    def in_words(self) -> str:
        epsilon = in_figures(exact(self.epsilon))
        return (
            f"Rényi divergence of order {as_written(exact(self.order))} at most {epsilon} {self._context()}"
        )


@dataclass(frozen=True, kw_only=True)
class ZeroConcentratedDP(PrivacyClaim):
    """rho-zCDP: the Renyi divergence of every order a > 1 is at most rho * a. ``rho`` > 0."""

    type: ClassVar[str] = "zcdp"
    quantity: ClassVar[str] = "rho"
    rho: ExactLike

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set("rho", positive(self.rho, name="rho"))

    @property
    def bound(self) -> Fraction:
        return exact(self.rho)

    def in_words(self) -> str:
        return f"ρ = {in_figures(exact(self.rho))} zero-concentrated differential privacy {self._context()}"


@dataclass(frozen=True, kw_only=True)
class GaussianDP(PrivacyClaim):
    """mu-GDP: no easier to tell apart than N(0, 1) and N(mu, 1). ``mu`` > 0."""

    type: ClassVar[str] = "gdp"
    quantity: ClassVar[str] = "mu"
    mu: ExactLike

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set("mu", positive(self.mu, name="mu"))

    @property
    def bound(self) -> Fraction:
        return exact(self.mu)

    def in_words(self) -> str:
        return f"μ = {in_figures(exact(self.mu))} Gaussian differential privacy {self._context()}"


@dataclass(frozen=True, kw_only=True)
class Profile(PrivacyClaim):
    """(epsilon, delta)-DP at each of several ``points`` ``(epsilon, delta)`` at once: a stated privacy
    profile.

    Every epsilon >= 0 and every delta in [0, 1]; kept as exact strings, in the order of epsilon. The bounded
    quantity is how far the true delta is above the stated one, where it is most; the claim says 0.
    """

    type: ClassVar[str] = "profile"
    quantity: ClassVar[str] = "excess delta"
    points: Sequence[tuple[ExactLike, ExactLike]]

    def __post_init__(self) -> None:
        super().__post_init__()
        try:
            pairs = [(exact(e, name="epsilon"), probability(d, name="delta")) for e, d in self.points]
        except (TypeError, ValueError) as error:
            raise InvalidParameterError(
                f"points must be pairs (epsilon, delta) of numbers, got {self.points!r} ({error}); pass a "
                "list such as [(0, '0.1'), (1, '0.01')]."
            ) from None
        if not pairs or min(pairs)[0] < 0:
            raise InvalidParameterError(
                f"points must hold at least one pair, each with epsilon >= 0, got {self.points!r}; state the "
                "profile where epsilon is 0 or more."
            )
        self._set("points", tuple((exact_str(e), exact_str(d)) for e, d in sorted(pairs)))

    @property
    def exact_points(self) -> tuple[tuple[Fraction, Fraction], ...]:
        """The points as exact numbers."""
        return tuple((exact(epsilon), exact(delta)) for epsilon, delta in self.points)

    @property
    def bound(self) -> Fraction:
        return Fraction(0)

    def in_words(self) -> str:
        said = ", ".join(f"δ({in_figures(e)}) <= {in_figures(d)}" for e, d in self.exact_points[:6])
        more = len(self.points) - 6
        return f"the privacy profile {said}{f' and {more} more' if more > 0 else ''} {self._context()}"
