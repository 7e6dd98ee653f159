"""Adapt a ``Measurement`` of OpenDP, whose privacy map gives the claim.

    import opendp.prelude as dp
    adapted = dpaudit.blackbox.adapters.opendp(dp.m.make_laplace(domain, metric, scale=1.0), d_in=1.0)

The metrics are as in OpenDP's documentation. The symmetric distance counts records that are added or removed,
and the change-one distance counts replaced records. For numbers and vectors, d_in is the distance between the
two inputs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dpaudit.blackbox.adapters.adapted import Adapted, library, refused, unseeded
from dpaudit.blackbox.neighbours import corners
from dpaudit.core.claims import (
    Adjacency,
    ApproxDP,
    PrivacyClaim,
    Profile,
    PureDP,
    RenyiDP,
    ZeroConcentratedDP,
)
from dpaudit.core.claims.base import Model

__all__ = ["opendp"]

#: Epsilons at which a privacy profile is tested.
PROFILE_AT = (0.25, 0.5, 1.0, 2.0, 4.0)

#: Number of records of a dataset, and of entries of a vector, if the domain does not fix it.
RECORDS, ENTRIES = 3, 2

_DATASETS = {
    "SymmetricDistance": Adjacency.ADD_REMOVE,
    "InsertDeleteDistance": Adjacency.ADD_REMOVE,
    "ChangeOneDistance": Adjacency.REPLACE_ONE,
    "HammingDistance": Adjacency.REPLACE_ONE,
}
_NUMBERS = ("AbsoluteDistance", "L1Distance", "L2Distance", "LInfDistance", "DiscreteDistance")


def opendp(
    measurement: Any,
    *,
    d_in: Any = None,
    neighbours: Sequence[tuple[Any, Any]] = (),
    order: int = 2,
    model: Model | str = Model.IDEAL,
) -> Adapted:
    """Adapt a measurement of OpenDP, with the claim ``measurement.map(d_in)`` in its output measure.

    OpenDP draws from an internal generator, so runs are not reproducible.

    Parameters
    ----------
    measurement : opendp.mod.Measurement
        The measurement.
    d_in : number, optional
        The distance of neighbours in the input metric. Default: 1, or 2 for the symmetric distance on
        datasets of a known size, which is one replaced record.
    neighbours : sequence of pairs, optional
        Pairs at that distance. By default, they are made from the domain if it is specific enough (a boolean,
        numbers, vectors of numbers, datasets with bounds).
    order : int, default 2
        The order of a claim in Rényi divergence.
    model : Model or str, default "ideal"
        With "as_run", the claim is about floats as they run, as in OpenDP.

    Returns
    -------
    Adapted
        The mechanism, the claim, pairs and notes.

    Raises
    ------
    InvalidParameterError
        OpenDP is missing, ``measurement`` is not a Measurement, its metric or measure has no claim here, or
        the distance is not a single change of a record.
    """
    core = library("opendp.mod", package="opendp")
    if not isinstance(measurement, core.Measurement):
        raise refused(
            "measurement must be an OpenDP Measurement", type(measurement).__name__, code="E-OBJECT-KIND"
        )
    metric = _origin(measurement.input_metric)
    distance = _default_distance(measurement, metric) if d_in is None else d_in
    adjacency, domain = _adjacency(metric, distance, measurement)
    claim = _claim(measurement, distance, order, adjacency=adjacency, domain=domain, model=model)

    def mechanism(data: Any, rng: np.random.Generator) -> Any:
        return measurement(data)

    pairs = list(neighbours) or _pairs(measurement, metric, distance, adjacency)
    return Adapted(mechanism=mechanism, claim=claim, neighbours=pairs, notes=(unseeded("OpenDP"),))


def _origin(metric: Any) -> str:
    """Return the name of a metric without its types."""
    return str(metric).split("(")[0].split("<")[0]


def _size(domain: Any) -> int | None:
    size = getattr(domain, "size", None)
    return None if size is None else int(size)


def _default_distance(measurement: Any, metric: str) -> Any:
    sized = _DATASETS.get(metric) is Adjacency.ADD_REMOVE and _size(measurement.input_domain) is not None
    return 2 if sized else 1


def _adjacency(metric: str, distance: Any, measurement: Any) -> tuple[Adjacency, str]:
    """Return the adjacency at this distance, and a description of one record."""
    if metric in _NUMBERS:
        return Adjacency.REPLACE_ONE, f"{measurement.input_domain}; neighbours at {metric} at most {distance}"
    if metric not in _DATASETS:
        raise refused(
            f"the input metric must be one of {(*_DATASETS, *_NUMBERS)}", metric, code="E-METRIC-KIND"
        )
    adjacency = _DATASETS[metric]
    if adjacency is Adjacency.ADD_REMOVE and distance == 2:
        adjacency = Adjacency.REPLACE_ONE  # one record removed and another one added
    elif adjacency is Adjacency.ADD_REMOVE and _size(measurement.input_domain) is not None:
        raise refused(
            "d_in must be 2 (one replaced record) for datasets of a known size", distance, code="E-D-IN-RANGE"
        )
    elif distance != 1:
        raise refused(
            f"d_in must be 1 (or 2 for a replaced record, in {metric})", distance, code="E-D-IN-RANGE"
        )
    return adjacency, f"a record of {measurement.input_domain}"


def _claim(measurement: Any, distance: Any, order: int, **context: Any) -> PrivacyClaim:
    """Return the claim of the privacy map at this distance, in the output measure."""
    measure = str(measurement.output_measure)
    loss = measurement.map(distance)
    makers: dict[str, Callable[[], PrivacyClaim]] = {
        "MaxDivergence": lambda: PureDP(epsilon=loss, **context),
        "ZeroConcentratedDivergence": lambda: ZeroConcentratedDP(rho=loss, **context),
        "Approximate(MaxDivergence)": lambda: ApproxDP(epsilon=loss[0], delta=loss[1], **context),
        "SmoothedMaxDivergence": lambda: Profile(
            points=[(epsilon, loss.delta(epsilon)) for epsilon in PROFILE_AT], **context
        ),
        "RenyiDivergence": lambda: RenyiDP(order=order, epsilon=loss(float(order)), **context),
    }
    if measure not in makers:
        raise refused(
            f"the output measure must be one of {sorted(makers)}",
            measure,
            "Convert it, for example by make_zCDP_to_approxDP and make_fix_delta.",
            code="E-MEASURE-KIND",
        )
    return makers[measure]()


def _pairs(measurement: Any, metric: str, distance: Any, adjacency: Adjacency) -> list[tuple[Any, Any]]:
    """Return pairs of neighbours made from the domain, if it is specific enough."""
    domain = measurement.input_domain
    kind = str(domain.type)
    if metric in _DATASETS:
        bounds = getattr(getattr(domain, "element_domain", None), "bounds", None)
        found = corners(list(bounds), _size(domain) or RECORDS, adjacency) if bounds else []
        return [(pair.left, pair.right) for pair in found]
    if metric == "DiscreteDistance":
        return [(False, True)] if "bool" in kind else []
    number = int if any(name in kind for name in ("i32", "i64", "u32", "u64", "i8", "i16")) else float
    if metric == "AbsoluteDistance":
        low = _low(domain, number)
        return [(low, low + number(distance))]
    if not kind.startswith("VectorDomain<AtomDomain<"):
        return []
    low = _low(getattr(domain, "element_domain", None), number)
    base = [low] * (_size(domain) or ENTRIES)
    one_sign = "monotonic" in str(measurement.input_metric)  # for noisy max: all scores rise, or all fall
    return _shifted(base, metric, number(distance), one_sign=one_sign)


def _low(domain: Any, number: type) -> Any:
    bounds = getattr(domain, "bounds", None)
    return number(bounds[0] if bounds else 0)


def _shifted(base: list[Any], metric: str, distance: Any, *, one_sign: bool) -> list[tuple[Any, Any]]:
    """Return pairs of vectors at this distance.

    One entry changes, and in the L-infinity norm, all entries change as well. Unless neighbours change in
    ``one_sign``, a pair with entries that change in opposite directions is added.
    """
    first = [base[0] + distance, *base[1:]]
    pairs = [(base, first)]
    if metric == "LInfDistance":
        pairs.insert(0, (base, [entry + distance for entry in base]))
    # Two entries share the distance. In the L-infinity norm, every entry changes by the whole distance.
    share = {"L1Distance": distance / 2, "L2Distance": math.nextafter(distance * math.sqrt(0.5), 0)}
    step = type(distance)(share.get(metric, distance))
    if len(base) > 1 and step and not one_sign:
        moving = len(base) if metric == "LInfDistance" else 2
        sides = [
            [entry + step * (k < moving and k % 2 == side) for k, entry in enumerate(base)] for side in (0, 1)
        ]
        pairs.append((sides[0], sides[1]))
    return pairs
