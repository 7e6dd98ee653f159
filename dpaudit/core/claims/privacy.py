"""Privacy claims: pure, approximate, Rényi, zero-concentrated and Gaussian DP, and privacy profiles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Literal, TypedDict, Unpack

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

#: The ``domain`` of a claim that does not describe its data.
NOT_STATED = "not stated"

#: What happens to a record between neighbours.
_CHANGES = {
    Adjacency.REPLACE_ONE: "replaced",
    Adjacency.ADD_REMOVE: "added or removed",
    Adjacency.ZERO_OUT: "replaced by the null record",
}

#: Fields with a fixed list of values, which may also be given by name.
_OPTIONS: dict[str, type[Enum]] = {
    "adjacency": Adjacency,
    "unit": Unit,
    "adversary": Adversary,
    "model": Model,
}


class Setting(TypedDict, total=False):
    """The fields that all privacy claims share, as their constructors accept them."""

    adjacency: Adjacency | Literal["replace-one", "add-remove", "zero-out"]
    domain: str
    unit: Unit | Literal["event", "user"]
    view: View | Principal
    adversary: Adversary | Literal["oblivious", "adaptive"]
    participation: str
    model: Model | Literal["ideal", "as_run"]


@dataclass(frozen=True, kw_only=True)
class PrivacyClaim(Claim):
    """The base class of privacy claims, with the fields that they share.

    Parameters
    ----------
    adjacency : Adjacency or str
        The relation that makes two datasets neighbours (replace-one).
    domain : str
        A description of the data. If it is not stated, an audit of a program derives it from the declared
        data.
    unit : Unit or str
        The meaning of one record: an event or a user (event).
    view : View or Principal
        What the adversary sees (the public outputs). One principal such as ``SERVER`` also sees what is
        public.
    adversary : Adversary or str
        Oblivious or adaptive (oblivious).
    participation : str
        The least share or number of users who take part (everybody).
    model : Model or str
        Real numbers, or the program in floating point (ideal).

    Raises
    ------
    InvalidParameterError
        A field has an unknown value, or ``view`` is neither a view nor a principal.
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
                "view must be a View or a principal such as PUBLIC, SERVER, user(3) or "
                f"View.everybody_but(user(3)), got {self.view!r}.",
                code="E-VIEW-TYPE",
            )

    def _context(self) -> str:
        """Return the change between neighbours, the view, and what else is unusual, in parentheses."""
        record = "one record" if self.unit is Unit.EVENT else "all records of one user"
        seen = "the output" if self.view == View.of(PUBLIC) else f"what {self.view} sees"
        parts = [f"{record} {_CHANGES[self.adjacency]}", f"the adversary sees {seen}"]
        if self.adversary is Adversary.ADAPTIVE:
            parts.append("the data are chosen adaptively")
        if self.participation != "everybody":
            parts.append(f"participation: {self.participation}")
        if self.model is Model.AS_RUN:
            parts.append("the program in floating point")
        return f"({'; '.join(parts)})"


def _not_negative(epsilon: ExactLike) -> Fraction:
    number = exact(epsilon, name="epsilon")
    if number < 0:
        raise InvalidParameterError(f"epsilon must be 0 or more, got {number}.", code="E-EPSILON-RANGE")
    return number


@dataclass(frozen=True, kw_only=True)
class PureDP(PrivacyClaim):
    """The claim of epsilon-DP: P(M(D) in S) <= e^epsilon P(M(D') in S) for all neighbours D, D' and events S.

    Parameters
    ----------
    epsilon : number or str
        The bound, 0 or more, exact: ``0.1`` is 1/10.

    Raises
    ------
    InvalidParameterError
        ``epsilon`` is negative or not finite, or a field of ``PrivacyClaim`` is wrong.

    Examples
    --------
    >>> PureDP(epsilon="1/3").bound
    Fraction(1, 3)
    """

    type: ClassVar[str] = "pure-dp"
    quantity: ClassVar[str] = "epsilon"
    epsilon: ExactLike = field(kw_only=False)

    if TYPE_CHECKING:

        def __init__(self, epsilon: ExactLike, **setting: Unpack[Setting]) -> None: ...

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set("epsilon", _not_negative(self.epsilon))

    @property
    def bound(self) -> Fraction:
        return exact(self.epsilon)

    def in_words(self) -> str:
        return f"pure DP with ε = {as_written(exact(self.epsilon))} {self._context()}"


@dataclass(frozen=True, kw_only=True)
class ApproxDP(PrivacyClaim):
    """The claim of (epsilon, delta)-DP. The bounded quantity is delta at this epsilon.

    Parameters
    ----------
    epsilon, delta : number or str
        Exact numbers, epsilon 0 or more and delta in [0, 1].

    Raises
    ------
    InvalidParameterError
        A number is out of range, or a field of ``PrivacyClaim`` is wrong.
    """

    type: ClassVar[str] = "approx-dp"
    quantity: ClassVar[str] = "delta"
    epsilon: ExactLike
    delta: ExactLike

    if TYPE_CHECKING:

        def __init__(self, *, epsilon: ExactLike, delta: ExactLike, **setting: Unpack[Setting]) -> None: ...

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set("epsilon", _not_negative(self.epsilon))
        self._set("delta", probability(self.delta, name="delta"))

    @property
    def bound(self) -> Fraction:
        return exact(self.delta)

    def in_words(self) -> str:
        delta = in_figures(exact(self.delta))
        return f"approximate DP with ε = {as_written(exact(self.epsilon))}, δ = {delta} {self._context()}"


@dataclass(frozen=True, kw_only=True)
class RenyiDP(PrivacyClaim):
    """The claim of (order, epsilon)-Rényi DP: the Rényi divergence of order ``order`` is at most ``epsilon``.

    Parameters
    ----------
    order, epsilon : number or str
        Exact numbers, order greater than 1 and epsilon greater than 0.

    Raises
    ------
    InvalidParameterError
        A number is out of range, or a field of ``PrivacyClaim`` is wrong.
    """

    type: ClassVar[str] = "renyi-dp"
    quantity: ClassVar[str] = "renyi epsilon"
    order: ExactLike
    epsilon: ExactLike

    if TYPE_CHECKING:

        def __init__(self, *, order: ExactLike, epsilon: ExactLike, **setting: Unpack[Setting]) -> None: ...

    def __post_init__(self) -> None:
        super().__post_init__()
        order = exact(self.order, name="order")
        if order <= 1:
            raise InvalidParameterError(
                f"order must be greater than 1, got {order}. Order 1, the mean loss, is not supported.",
                code="E-ORDER-RANGE",
            )
        self._set("order", order)
        self._set("epsilon", positive(self.epsilon, name="epsilon"))

    @property
    def bound(self) -> Fraction:
        return exact(self.epsilon)

    def in_words(self) -> str:
        epsilon = in_figures(exact(self.epsilon))
        return f"Rényi DP of order {as_written(exact(self.order))} with ε = {epsilon} {self._context()}"


@dataclass(frozen=True, kw_only=True)
class ZeroConcentratedDP(PrivacyClaim):
    """The claim of rho-zCDP: the Rényi divergence of every order a > 1 is at most rho * a.

    Parameters
    ----------
    rho : number or str
        The bound, greater than 0, exact.

    Raises
    ------
    InvalidParameterError
        ``rho`` is out of range, or a field of ``PrivacyClaim`` is wrong.
    """

    type: ClassVar[str] = "zcdp"
    quantity: ClassVar[str] = "rho"
    rho: ExactLike = field(kw_only=False)

    if TYPE_CHECKING:

        def __init__(self, rho: ExactLike, **setting: Unpack[Setting]) -> None: ...

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set("rho", positive(self.rho, name="rho"))

    @property
    def bound(self) -> Fraction:
        return exact(self.rho)

    def in_words(self) -> str:
        return f"zero-concentrated DP with ρ = {in_figures(exact(self.rho))} {self._context()}"


@dataclass(frozen=True, kw_only=True)
class GaussianDP(PrivacyClaim):
    """The claim of mu-GDP: telling neighbours apart is at least as hard as telling N(0, 1) from N(mu, 1).

    Parameters
    ----------
    mu : number or str
        The bound, greater than 0, exact.

    Raises
    ------
    InvalidParameterError
        ``mu`` is out of range, or a field of ``PrivacyClaim`` is wrong.
    """

    type: ClassVar[str] = "gdp"
    quantity: ClassVar[str] = "mu"
    mu: ExactLike = field(kw_only=False)

    if TYPE_CHECKING:

        def __init__(self, mu: ExactLike, **setting: Unpack[Setting]) -> None: ...

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set("mu", positive(self.mu, name="mu"))

    @property
    def bound(self) -> Fraction:
        return exact(self.mu)

    def in_words(self) -> str:
        return f"Gaussian DP with μ = {in_figures(exact(self.mu))} {self._context()}"


@dataclass(frozen=True, kw_only=True)
class Profile(PrivacyClaim):
    """The claim of a privacy profile: (epsilon, delta)-DP at each of several points at once.

    The bounded quantity is the largest excess of the true delta over the stated delta, over all points. The
    claimed value is 0.

    Parameters
    ----------
    points : sequence of (epsilon, delta)
        At least one pair, with every epsilon 0 or more and every delta in [0, 1]. They are kept as exact
        strings, in the order of epsilon.

    Raises
    ------
    InvalidParameterError
        There is no pair, a number is out of range, or a field of ``PrivacyClaim`` is wrong.
    """

    type: ClassVar[str] = "profile"
    quantity: ClassVar[str] = "excess delta"
    points: Sequence[tuple[ExactLike, ExactLike]]

    if TYPE_CHECKING:

        def __init__(
            self, *, points: Sequence[tuple[ExactLike, ExactLike]], **setting: Unpack[Setting]
        ) -> None: ...

    def __post_init__(self) -> None:
        super().__post_init__()
        try:
            pairs = [(exact(e, name="epsilon"), probability(d, name="delta")) for e, d in self.points]
        except (TypeError, ValueError) as error:
            raise InvalidParameterError(
                "points must be pairs (epsilon, delta) of numbers such as [(0, '0.1'), (1, '0.01')], got "
                f"{self.points!r}: {error}",
                code="E-PROFILE-POINTS",
            ) from None
        if not pairs or min(pairs)[0] < 0:
            raise InvalidParameterError(
                f"points must hold at least one pair, each with epsilon >= 0, got {self.points!r}.",
                code="E-PROFILE-POINTS",
            )
        self._set("points", tuple((exact_str(e), exact_str(d)) for e, d in sorted(pairs)))

    @property
    def exact_points(self) -> tuple[tuple[Fraction, Fraction], ...]:
        """Return the points as exact numbers."""
        return tuple((exact(epsilon), exact(delta)) for epsilon, delta in self.points)

    @property
    def bound(self) -> Fraction:
        return Fraction(0)

    def in_words(self) -> str:
        first = ", ".join(f"δ({in_figures(e)}) <= {in_figures(d)}" for e, d in self.exact_points[:6])
        more = len(self.points) - 6
        return f"the privacy profile {first}{f' and {more} more' if more > 0 else ''} {self._context()}"
