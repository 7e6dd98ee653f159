"""Write the arguments of certificate constructors as JSON: exact numbers, sensitivities and grids."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from dpaudit.core.exact import ExactLike, exact, exact_str
from dpaudit.kernel.t1.exponentials import ExpSum

__all__ = [
    "BoundedSum",
    "LossGrid",
    "Moves",
    "Sensitivity",
    "exact_text",
    "with_grid",
    "written_sensitivity",
    "written_weight",
]


@dataclass(frozen=True)
class BoundedSum:
    """The query "sum of the records, each clipped to [lower, upper]".

    Its sensitivity is derived from the claim's adjacency.
    """

    lower: ExactLike
    upper: ExactLike


Sensitivity = ExactLike | BoundedSum

#: How scores change between neighbours.
Moves = Literal["one_coordinate", "monotone", "general"]


def exact_text(value: ExactLike, name: str) -> str:
    """Return an exact number as text."""
    return exact_str(exact(value, name=name))


def written_sensitivity(value: Sensitivity, name: str = "sensitivity") -> Any:
    """Return a sensitivity as JSON: a number as text, or the query of a bounded sum."""
    if isinstance(value, BoundedSum):
        ends = {
            "lower": exact_str(exact(value.lower, name="lower")),
            "upper": exact_str(exact(value.upper, name="upper")),
        }
        return {"query": "sum", **ends}
    return exact_str(exact(value, name=name))


def written_weight(weight: ExpSum) -> list[list[str]]:
    """Return a sum of exponentials as pairs of a coefficient and an exponent."""
    return [[exact_str(c), exact_str(a)] for a, c in sorted(weight.terms.items())]


@dataclass(frozen=True, kw_only=True)
class LossGrid:
    """The grid on which loss distributions are composed.

    Parameters
    ----------
    step : exact number
        The distance of two losses on the grid.
    bits : int
        Masses are multiples of 2^-bits.
    tail : int
        Losses beyond the mass 2^-tail are cut off.
    """

    step: ExactLike = "1/1000"
    bits: int = 128
    tail: int = 70

    def to_json(self) -> dict[str, str]:
        return {
            "step": exact_str(exact(self.step, name="step")),
            "bits": str(self.bits),
            "tail": str(self.tail),
        }


def with_grid(
    parameters: dict[str, Any], grid: LossGrid | None, orders: Sequence[ExactLike] = ()
) -> dict[str, Any]:
    """Add the grid or the orders for delta to the parameters of a composition, if they are given."""
    more: dict[str, Any] = {} if grid is None else {"grid": grid.to_json()}
    if orders:
        more["orders"] = [exact_text(order, "order") for order in orders]
    return {**parameters, **more}
