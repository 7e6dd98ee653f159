"""Claims: what somebody says about a mechanism, as frozen values with exact parameters.

A privacy claim carries everything that its truth depends on: adjacency, domain of a record, unit, view,
adversary, turnout and model. ``quantity`` is what the claim bounds, in its own unit (epsilon for a DP claim),
and ``bound`` the claimed value.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from enum import Enum
from fractions import Fraction
from typing import Any, ClassVar

from dpaudit.errors import InvalidParameterError
from dpaudit.exact import ExactLike, exact, exact_str, positive, probability
from dpaudit.views import PUBLIC, View

__all__ = [
    "Accounting",
    "Adjacency",
    "Adversary",
    "ApproxDP",
    "Claim",
    "ErrorRate",
    "GaussianDP",
    "LowerBound",
    "MessageSize",
    "Model",
    "Ordering",
    "PrivacyClaim",
    "PureDP",
    "RegretBound",
    "RegretRate",
    "RenyiDP",
    "SameDistribution",
    "Statement",
    "SubExponential",
    "SubGaussian",
    "TailBound",
    "Unit",
    "ZeroConcentratedDP",
    "claim_from_json",
]


class Adjacency(Enum):
    """Which pairs of data sets are neighbours."""

    REPLACE_ONE = "replace-one"  # same size, one record differs
    ADD_REMOVE = "add-remove"  # one record more or less
    ZERO_OUT = "zero-out"  # one record replaced by the null record


class Unit(Enum):
    """What one record is: one event (one round), or everything that one user contributes."""

    EVENT = "event"
    USER = "user"


class Adversary(Enum):
    """Whether the data are fixed in advance, or chosen round by round in view of the outcomes."""

    OBLIVIOUS = "oblivious"
    ADAPTIVE = "adaptive"


class Model(Enum):
    """Whether the claim is about real-number laws, or about the float program as it runs."""

    IDEAL = "ideal"
    AS_RUN = "as_run"


_REGISTRY: dict[str, type[Claim]] = {}


@dataclass(frozen=True, kw_only=True)
class Claim:
    """Root of all claims: ``quantity`` is at most (or, with ``at_least``, at least) ``bound``."""

    type: ClassVar[str] = ""
    quantity: ClassVar[str] = ""
    at_least: ClassVar[bool] = False  # True where the claim says that the quantity is at least the bound

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "type" in cls.__dict__ and cls.type:
            _REGISTRY[cls.type] = cls

    @property
    def bound(self) -> Fraction | None:
        """The claimed value of ``quantity``; ``None`` where the claim has no single number."""
        return None

    def in_words(self) -> str:
        """One sentence that says what is claimed."""
        raise NotImplementedError

    def to_json(self) -> dict[str, Any]:
        """The type, each parameter as a number, and beside it its exact value as a string
        (``epsilon_exact``)."""
        data: dict[str, Any] = {"type": self.type}
        for item in fields(self):
            value = getattr(self, item.name)
            if isinstance(value, Fraction):
                data[item.name] = float(value)
                data[f"{item.name}_exact"] = exact_str(value)
            elif isinstance(value, Enum):
                data[item.name] = value.value
            elif isinstance(value, View):
                data[item.name] = value.to_json()
            elif isinstance(value, tuple):
                data[item.name] = [list(v) if isinstance(v, tuple) else v for v in value]
            else:
                data[item.name] = value
        data["in_words"] = self.in_words()
        return data

    def _set(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)


@dataclass(frozen=True, kw_only=True)
class PrivacyClaim(Claim):
    """What every privacy claim states besides its numbers.

    ``domain`` describes one record in words, ``turnout`` the least share or number of users who take part.
    """

    adjacency: Adjacency = Adjacency.REPLACE_ONE
    domain: str = "a real number in [0, 1]"
    unit: Unit = Unit.EVENT
    view: View = field(default_factory=lambda: View.of(PUBLIC))
    adversary: Adversary = Adversary.OBLIVIOUS
    turnout: str = "everybody"
    model: Model = Model.IDEAL

    def _context(self) -> str:
        return f"when one {self.unit.value} changes ({self.adjacency.value}), in the view of {self.view}"


@dataclass(frozen=True, kw_only=True)
class PureDP(PrivacyClaim):
    """epsilon-DP: P(M(D) in S) <= e^epsilon P(M(D') in S) for all neighbours and all events. ``epsilon`` >
    0."""

    type: ClassVar[str] = "pure-dp"
    quantity: ClassVar[str] = "epsilon"
    epsilon: ExactLike

    def __post_init__(self) -> None:
        self._set("epsilon", positive(self.epsilon, name="epsilon"))

    @property
    def bound(self) -> Fraction:
        return exact(self.epsilon)

    def in_words(self) -> str:
        return f"ε = {self.epsilon} pure differential privacy {self._context()}"


@dataclass(frozen=True, kw_only=True)
class ApproxDP(PrivacyClaim):
    """(epsilon, delta)-DP. ``epsilon`` >= 0, ``delta`` in [0, 1]. The bounded quantity is delta at this
    epsilon."""

    type: ClassVar[str] = "approx-dp"
    quantity: ClassVar[str] = "delta"
    epsilon: ExactLike
    delta: ExactLike

    def __post_init__(self) -> None:
        epsilon = exact(self.epsilon, name="epsilon")
        if epsilon < 0:
            raise InvalidParameterError(
                f"epsilon must be 0 or more, got {epsilon}; pass a non-negative number."
            )
        self._set("epsilon", epsilon)
        self._set("delta", probability(self.delta, name="delta"))

    @property
    def bound(self) -> Fraction:
        return exact(self.delta)

    def in_words(self) -> str:
        return (
            f"(ε = {self.epsilon}, δ = {float(exact(self.delta)):g}) differential privacy {self._context()}"
        )


@dataclass(frozen=True, kw_only=True)
class RenyiDP(PrivacyClaim):
    """(order, epsilon)-Renyi DP: the Renyi divergence of order ``order`` > 1 is at most ``epsilon`` > 0."""

    type: ClassVar[str] = "renyi-dp"
    quantity: ClassVar[str] = "renyi epsilon"
    order: ExactLike
    epsilon: ExactLike

    def __post_init__(self) -> None:
        order = exact(self.order, name="order")
        if order <= 1:
            raise InvalidParameterError(
                f"order must be greater than 1, got {order}; use PureDP for the limit."
            )
        self._set("order", order)
        self._set("epsilon", positive(self.epsilon, name="epsilon"))

    @property
    def bound(self) -> Fraction:
        return exact(self.epsilon)

    def in_words(self) -> str:
        return (
            f"Rényi divergence of order {self.order} at most {float(exact(self.epsilon)):g} {self._context()}"
        )


@dataclass(frozen=True, kw_only=True)
class ZeroConcentratedDP(PrivacyClaim):
    """rho-zCDP: the Renyi divergence of every order a > 1 is at most rho * a. ``rho`` > 0."""

    type: ClassVar[str] = "zcdp"
    quantity: ClassVar[str] = "rho"
    rho: ExactLike

    def __post_init__(self) -> None:
        self._set("rho", positive(self.rho, name="rho"))

    @property
    def bound(self) -> Fraction:
        return exact(self.rho)

    def in_words(self) -> str:
        return f"ρ = {float(exact(self.rho)):g} zero-concentrated differential privacy {self._context()}"


@dataclass(frozen=True, kw_only=True)
class GaussianDP(PrivacyClaim):
    """mu-GDP: no easier to tell apart than N(0, 1) and N(mu, 1). ``mu`` > 0."""

    type: ClassVar[str] = "gdp"
    quantity: ClassVar[str] = "mu"
    mu: ExactLike

    def __post_init__(self) -> None:
        self._set("mu", positive(self.mu, name="mu"))

    @property
    def bound(self) -> Fraction:
        return exact(self.mu)

    def in_words(self) -> str:
        return f"μ = {float(exact(self.mu)):g} Gaussian differential privacy {self._context()}"


@dataclass(frozen=True, kw_only=True)
class Accounting(Claim):
    """The proof's own accounting: the releases that one record can touch cost at most ``epsilon`` in
    total."""

    type: ClassVar[str] = "accounting"
    quantity: ClassVar[str] = "epsilon"
    epsilon: ExactLike
    declared: str

    def __post_init__(self) -> None:
        self._set("epsilon", positive(self.epsilon, name="epsilon"))

    @property
    def bound(self) -> Fraction:
        return exact(self.epsilon)

    def in_words(self) -> str:
        return f"one record costs at most ε = {self.epsilon} over all releases; declared: {self.declared}"


@dataclass(frozen=True, kw_only=True)
class SubGaussian(Claim):
    """E exp(lambda X) <= exp(lambda^2 variance_proxy / 2) for all real lambda."""

    type: ClassVar[str] = "sub-gaussian"
    quantity: ClassVar[str] = "variance proxy"
    variance_proxy: ExactLike
    of: str

    def __post_init__(self) -> None:
        self._set("variance_proxy", positive(self.variance_proxy, name="variance_proxy"))

    @property
    def bound(self) -> Fraction:
        return exact(self.variance_proxy)

    def in_words(self) -> str:
        return f"{self.of} is sub-Gaussian with variance proxy {self.variance_proxy}"


@dataclass(frozen=True, kw_only=True)
class SubExponential(Claim):
    """E exp(lambda X) <= exp(lambda^2 variance_proxy / 2) for |lambda| <= 1/scale."""

    type: ClassVar[str] = "sub-exponential"
    quantity: ClassVar[str] = "variance proxy"
    variance_proxy: ExactLike
    scale: ExactLike
    of: str

    def __post_init__(self) -> None:
        self._set("variance_proxy", positive(self.variance_proxy, name="variance_proxy"))
        self._set("scale", positive(self.scale, name="scale"))

    @property
    def bound(self) -> Fraction:
        return exact(self.variance_proxy)

    def in_words(self) -> str:
        return (
            f"{self.of} is sub-exponential with variance proxy {self.variance_proxy} for |λ| <= "
            f"{1 / exact(self.scale)}"
        )


@dataclass(frozen=True, kw_only=True)
class TailBound(Claim):
    """P(event) <= probability, for the event that ``event`` describes."""

    type: ClassVar[str] = "tail-bound"
    quantity: ClassVar[str] = "probability"
    probability: ExactLike
    event: str

    def __post_init__(self) -> None:
        self._set("probability", probability(self.probability, name="probability"))

    @property
    def bound(self) -> Fraction:
        return exact(self.probability)

    def in_words(self) -> str:
        return f"P({self.event}) <= {float(exact(self.probability)):g}"


@dataclass(frozen=True, kw_only=True)
class Statement(Claim):
    """A finite claim in words, with its constants as named exact parameters (``constants``: pairs of name and
    exact string).

    ``claimed`` is the number that ``quantity_name`` is held against, where there is one.
    """

    text: str
    quantity_name: str = ""
    claimed: ExactLike | None = None
    constants: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        if self.claimed is not None:
            self._set("claimed", exact(self.claimed, name="claimed"))
        for name, value in self.constants:
            exact(value, name=name)

    @property
    def bound(self) -> Fraction | None:
        return None if self.claimed is None else exact(self.claimed)

    def in_words(self) -> str:
        return self.text


@dataclass(frozen=True, kw_only=True)
class RegretRate(Statement):
    """A rate O(.), restated as a finite claim: instances, grid and every hidden constant named."""

    type: ClassVar[str] = "regret-rate"
    quantity: ClassVar[str] = "regret / rate"


@dataclass(frozen=True, kw_only=True)
class RegretBound(Statement):
    """A regret bound with explicit constants."""

    type: ClassVar[str] = "regret-bound"
    quantity: ClassVar[str] = "regret / bound"


@dataclass(frozen=True, kw_only=True)
class ErrorRate(Statement):
    """A bound on an error or on a failure probability of an estimator."""

    type: ClassVar[str] = "error-rate"
    quantity: ClassVar[str] = "error"


@dataclass(frozen=True, kw_only=True)
class LowerBound(Statement):
    """No algorithm of the named class does better on every instance of the named family."""

    type: ClassVar[str] = "lower-bound"
    quantity: ClassVar[str] = "regret / lower bound"
    at_least: ClassVar[bool] = True


@dataclass(frozen=True, kw_only=True)
class Ordering(Statement):
    """One thing is at most another: means, curves, variants."""

    type: ClassVar[str] = "ordering"
    quantity: ClassVar[str] = "difference"


@dataclass(frozen=True, kw_only=True)
class MessageSize(Statement):
    """Bits that one user sends."""

    type: ClassVar[str] = "message-size"
    quantity: ClassVar[str] = "bits"


@dataclass(frozen=True, kw_only=True)
class SameDistribution(Statement):
    """Two programs, or a program and a law, have the same output law."""

    type: ClassVar[str] = "same-distribution"
    quantity: ClassVar[str] = "distance"


def claim_from_json(data: dict[str, Any]) -> Claim:
    """Read a claim that ``to_json`` wrote; exact values win over the numbers beside them."""
    cls = _REGISTRY.get(str(data.get("type")))
    if cls is None:
        raise InvalidParameterError(
            f"a claim's type must be one of {sorted(_REGISTRY)}, got {data.get('type')!r}; re-create the "
            "file."
        )
    values: dict[str, Any] = {}
    for item in fields(cls):
        if item.name not in data:
            raise InvalidParameterError(
                f"a {cls.type} claim must have the field {item.name!r}; re-create the file."
            )
        values[item.name] = _read_field(data, item.name)
    claim = cls(**values)
    for name in values:
        value = getattr(claim, name)
        if isinstance(value, Fraction) and data[name] != float(value):
            raise InvalidParameterError(
                f"{name} must agree with {name}_exact = {value}, got {data[name]}; the file was edited."
            )
    return claim


def _read_field(data: dict[str, Any], name: str) -> Any:
    readers: dict[str, Any] = {
        "adjacency": Adjacency,
        "unit": Unit,
        "adversary": Adversary,
        "model": Model,
        "view": View.from_json,
        "constants": lambda pairs: tuple((str(a), str(b)) for a, b in pairs),
    }
    if f"{name}_exact" in data:
        return exact(data[f"{name}_exact"], name=name)
    return readers[name](data[name]) if name in readers else data[name]
