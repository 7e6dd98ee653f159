"""Claims that a function moves its output by a bounded distance if its input moves by a bounded distance."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from dpaudit.core.claims.base import Claim
from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.exact import ExactLike, exact, in_figures

__all__ = ["METRICS", "Stability"]

#: The metrics, and the words for a distance in each.
METRICS = {
    "symmetric": "records added or removed, in any order",
    "insert-delete": "records inserted or deleted, in order",
    "change-one": "records changed, in any order",
    "hamming": "positions that differ",
    "absolute": "absolute difference",
    "L1": "L1 norm of the difference",
    "L2": "L2 norm of the difference",
    "LInf": "largest absolute difference",
    "discrete": "0 if equal, else 1",
}


@dataclass(frozen=True)
class Stability(Claim):
    """The claim that inputs at distance at most ``d_in`` give outputs at distance at most ``d_out``.

    It is the sensitivity of a query, and the stability of a transformation. The function is deterministic.

    Parameters
    ----------
    d_in : number
        The largest distance of two inputs, positive.
    d_out : number
        The largest distance of their outputs, at least 0.
    metric : str
        The metric of outputs, one of "symmetric", "insert-delete", "change-one", "hamming", "absolute", "L1",
        "L2", "LInf" and "discrete".
    input_metric : str
        The metric of inputs ("symmetric").

    Raises
    ------
    InvalidParameterError
        A distance is out of range, or a metric is unknown.

    Examples
    --------
    >>> Stability(1, 10, "absolute").in_words()
    'the output moves by at most 10 (absolute difference) if the input moves by at most 1 (records added or \
removed, in any order)'
    """

    type: ClassVar[str] = "stability"
    quantity: ClassVar[str] = "distance of outputs"
    d_in: ExactLike
    d_out: ExactLike
    metric: str
    input_metric: str = "symmetric"

    def __post_init__(self) -> None:
        for name in ("d_in", "d_out"):
            self._set(name, exact(getattr(self, name), name=name))
        if self.d_in <= 0 or self.d_out < 0:  # type: ignore[operator]
            raise InvalidParameterError(
                f"d_in must be positive and d_out at least 0, got {self.d_in} and {self.d_out}.",
                code="E-STABILITY-RANGE",
            )
        for name in ("metric", "input_metric"):
            if getattr(self, name) not in METRICS:
                raise InvalidParameterError(
                    f"{name} must be one of {', '.join(map(repr, METRICS))}, got {getattr(self, name)!r}.",
                    code="E-STABILITY-METRIC",
                )

    @property
    def bound(self) -> Fraction:
        return exact(self.d_out)

    def in_words(self) -> str:
        return (
            f"the output moves by at most {in_figures(self.bound)} ({METRICS[self.metric]}) if the input "
            f"moves by at most {in_figures(exact(self.d_in))} ({METRICS[self.input_metric]})"
        )
