"""Claims about tails of noise, and finite claims stated as text: regret, error, ordering, message size."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from dpaudit.core.claims.base import Claim
from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.exact import ExactLike, exact, in_figures, positive, probability

__all__ = [
    "Controls",
    "ErrorRate",
    "LowerBound",
    "MessageSize",
    "Ordering",
    "RegretBound",
    "RegretRate",
    "SameDistribution",
    "Statement",
    "SubExponential",
    "SubGaussian",
    "TailBound",
    "Unbuilt",
]


@dataclass(frozen=True, kw_only=True)
class SubGaussian(Claim):
    """The claim that E exp(lambda X) <= exp(lambda^2 variance_proxy / 2) for all real lambda."""

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
    """The claim that E exp(lambda X) <= exp(lambda^2 variance_proxy / 2) for |lambda| <= 1/scale."""

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
    """The claim that P(event) <= probability, for the event that the text ``event`` describes."""

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
        return f"P({self.event}) <= {in_figures(exact(self.probability))}"


@dataclass(frozen=True, kw_only=True)
class Statement(Claim):
    """A finite claim stated as text, with its constants as named exact parameters.

    Parameters
    ----------
    text : str
        The claim.
    quantity_name : str
        The name of the quantity that ``claimed`` bounds.
    claimed : number or str, optional
        The claimed value of this quantity, if there is one.
    constants : tuple of (str, str)
        The name and the exact value of each constant.
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
    """A rate O(.), restated as a finite claim that names its instances, grid and every hidden constant."""

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
    """The claim that no algorithm of the named class does better on every instance of the named family."""

    type: ClassVar[str] = "lower-bound"
    quantity: ClassVar[str] = "regret / lower bound"
    at_least: ClassVar[bool] = True


@dataclass(frozen=True, kw_only=True)
class Ordering(Statement):
    """The claim that one quantity is at most another: means, curves, variants."""

    type: ClassVar[str] = "ordering"
    quantity: ClassVar[str] = "difference"


@dataclass(frozen=True, kw_only=True)
class MessageSize(Statement):
    """A bound on the number of bits that one user sends."""

    type: ClassVar[str] = "message-size"
    quantity: ClassVar[str] = "bits"


@dataclass(frozen=True, kw_only=True)
class SameDistribution(Statement):
    """The claim that two programs, or a program and a distribution, have the same output distribution."""

    type: ClassVar[str] = "same-distribution"
    quantity: ClassVar[str] = "distance"


@dataclass(frozen=True, kw_only=True)
class Controls(Statement):
    """A claim about dpaudit itself: it refutes each of these broken programs and no correct one.

    ``cells`` holds the name of each cell of the row, in order, and the verdict that the cell must get.
    """

    type: ClassVar[str] = "controls"
    quantity: ClassVar[str] = "cells not as expected"
    claimed: ExactLike | None = 0
    cells: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.claimed != 0:
            raise InvalidParameterError(
                f"a Controls claim must claim 0 cells that are not as expected, got {self.claimed}.",
                code="E-CONTROLS-CLAIMED",
            )

    def in_words(self) -> str:
        cells = ", ".join(f"{name} ({expect})" for name, expect in self.cells)
        return f"{self.text}: {cells}" if cells else self.text


@dataclass(frozen=True, kw_only=True)
class Unbuilt(Statement):
    """A placeholder for the claim of a row that could not be built, because its function raised on import.

    Such a row can only crash.
    """

    type: ClassVar[str] = "unbuilt"
    quantity: ClassVar[str] = "nothing"
