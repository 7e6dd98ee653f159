"""Adapt measurements of tmlt.core (Tumult), whose exact privacy function gives the claim.

    adapted = dpaudit.blackbox.adapters.tmlt(AddLaplaceNoise(NumpyIntegerDomain(), scale=1))

tmlt.core 0.20 requires numpy below 2 on Python up to 3.12, and dpaudit requires numpy 2. Both can be
installed from Python 3.13 on.
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

#: Maps the class name of a metric to the adjacency of datasets that it counts, or None for numbers.
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
    """Adapt a measurement of tmlt.core, with the exact claim ``measurement.privacy_function(d_in)``.

    The generator of tmlt.core cannot be replaced, so runs are not reproducible.

    Parameters
    ----------
    measurement : tmlt.core.measurements.base.Measurement
        The measurement, with output measure PureDP, RhoZCDP or ApproxDP.
    d_in : number, default 1
        The distance of neighbours in the input metric.
    neighbours : sequence of pairs, optional
        Pairs at that distance. For numbers, a pair is made by default.
    model : Model or str, default "ideal"
        Whether the claim is about real numbers or about floats as they run.

    Returns
    -------
    Adapted
        The mechanism, the claim, pairs and notes.

    Raises
    ------
    InvalidParameterError
        tmlt.core is missing, ``measurement`` is not a Measurement, its metric or measure is of another kind,
        or its privacy function has no finite value.
    """
    base = library("tmlt.core.measurements.base", package="tmlt-core")
    if not isinstance(measurement, base.Measurement):
        raise refused(
            "measurement must be a tmlt.core Measurement", type(measurement).__name__, code="E-OBJECT-KIND"
        )
    metric = type(measurement.input_metric).__name__
    if metric not in _METRICS:
        raise refused(f"the input metric must be one of {sorted(_METRICS)}", metric, code="E-METRIC-KIND")
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
    """Return the claim of the privacy function at ``d_in``, in the output measure."""
    measure = type(measurement.output_measure).__name__
    loss = measurement.privacy_function(d_in)
    if measure == "PureDP":
        return PureDP(epsilon=_exact(loss), **context)
    if measure == "RhoZCDP":
        return ZeroConcentratedDP(rho=_exact(loss), **context)
    if measure == "ApproxDP":
        epsilon, delta = loss
        return ApproxDP(epsilon=_exact(epsilon), delta=_exact(delta), **context)
    raise refused("the output measure must be PureDP, RhoZCDP or ApproxDP", measure, code="E-MEASURE-KIND")


def _exact(number: Any) -> Fraction:
    """Convert an ``ExactNumber`` to a fraction. Rational numbers are exact, and others are rounded up."""
    expression = number.expr
    if expression.is_Rational:
        return Fraction(int(expression.p), int(expression.q))
    if not expression.is_finite:
        raise refused("the privacy function must have a finite value", number, code="E-EPSILON-NOT-FINITE")
    return Fraction(number.to_float(round_up=True))


def _numbers(measurement: Any, d_in: Any) -> list[tuple[Any, Any]]:
    """Return the pair of 0 and ``d_in``, in the type of the domain."""
    kind = np.int64 if "Integer" in type(measurement.input_domain).__name__ else np.float64
    return [(kind(0), kind(d_in))]
