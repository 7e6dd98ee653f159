"""tmlt.core (Tumult): measurements say their metric, their measure and an exact privacy function.

    adapted = dpaudit.blackbox.adapters.tmlt(AddLaplaceNoise(NumpyIntegerDomain(), scale=1))

tmlt.core 0.20 needs numpy below 2 on Python up to 3.12, and dpaudit needs numpy 2: they install together from
Python 3.13 on.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from dpaudit.blackbox.adapters.adapted import Adapted, library, refused, unseeded
from dpaudit.core.claims import Adjacency, ApproxDP, PrivacyClaim, PureDP, ZeroConcentratedDP
from dpaudit.core.claims.base import Model

__all__ = ["tmlt"]

#: Metrics by the name of their class: which change of a data set they count; none for numbers.
_METRICS: dict[str, Adjacency | None] = {
    "SymmetricDifference": Adjacency.ADD_REMOVE,
    "HammingDistance": Adjacency.REPLACE_ONE,
    "AbsoluteDifference": None,
}


def tmlt(
    measurement: Any,
    *,
    d_in: Any = 1,
    neighbours: Sequence[tuple[Any, Any]] = (),
    model: Model | str = Model.IDEAL,
) -> Adapted:
    """``measurement`` as what ``check`` takes: the claim is ``measurement.privacy_function(d_in)`` in its own
    measure (PureDP, RhoZCDP, ApproxDP), exactly.

    ``d_in``: the distance of neighbours in the input metric. ``neighbours``: pairs at that distance; for
    numbers they are left out and made. tmlt.core's generator cannot be handed over: runs cannot be repeated.

    Raises ``InvalidParameterError`` where tmlt.core is missing, for what is no measurement, for another
    metric or measure, and for a privacy function without a finite value.
    """
    base = library("tmlt.core.measurements.base", package="tmlt-core")
    if not isinstance(measurement, base.Measurement):
        raise refused(
            "tmlt must be given a Measurement", type(measurement).__name__, "chain it to its noise with |"
        )
    metric = type(measurement.input_metric).__name__
    if metric not in _METRICS:
        raise refused(
            f"the input metric must be one of {sorted(_METRICS)}",
            metric,
            "check the measurement by dpaudit.check, with pairs of your own",
        )
    adjacency = _METRICS[metric]
    domain = f"{measurement.input_domain}; neighbours at {metric} at most {d_in}"
    claim = _claim(
        measurement, d_in, adjacency=adjacency or Adjacency.REPLACE_ONE, domain=domain, model=model
    )

    def mechanism(data: Any, rng: np.random.Generator) -> Any:
        return measurement(data)

    pairs = list(neighbours) or (_numbers(measurement, d_in) if adjacency is None else [])
    return Adapted(mechanism=mechanism, claim=claim, neighbours=pairs, notes=(unseeded("tmlt.core"),))


def _claim(measurement: Any, d_in: Any, **context: Any) -> PrivacyClaim:
    """The privacy function at ``d_in`` in the measurement's own measure."""
    measure = type(measurement.output_measure).__name__
    loss = measurement.privacy_function(d_in)
    if measure == "PureDP":
        return PureDP(epsilon=_exact(loss), **context)
    if measure == "RhoZCDP":
        return ZeroConcentratedDP(rho=_exact(loss), **context)
    if measure == "ApproxDP":
        epsilon, delta = loss
        return ApproxDP(epsilon=_exact(epsilon), delta=_exact(delta), **context)
    raise refused(
        "the output measure must be PureDP, RhoZCDP or ApproxDP", measure, "convert it in tmlt.core first"
    )


def _exact(number: Any) -> Fraction:
    """An ``ExactNumber`` as a fraction: rational ones exactly, others from above."""
    expression = number.expr
    if expression.is_Rational:
        return Fraction(int(expression.p), int(expression.q))
    if not expression.is_finite:
        raise refused("the privacy function must have a finite value", number, "choose a smaller d_in")
    return Fraction(number.to_float(round_up=True))


def _numbers(measurement: Any, d_in: Any) -> list[tuple[Any, Any]]:
    """0 and ``d_in``, in the type that the domain takes."""
    kind = np.int64 if "Integer" in type(measurement.input_domain).__name__ else np.float64
    return [(kind(0), kind(d_in))]
