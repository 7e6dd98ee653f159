"""OpenDP: a ``Measurement`` says its domain, metric and measure, and its privacy map gives the claim.

    import opendp.prelude as dp
    adapted = dpaudit.blackbox.adapters.opendp(dp.m.make_laplace(domain, metric, scale=1.0), d_in=1.0)

OpenDP's metrics are those of its documentation: the symmetric distance counts records added or removed, the
change-one distance records replaced, and for numbers and vectors d_in is the distance of the two inputs.
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

#: Where a privacy profile is held against the runs.
PROFILE_AT = (0.25, 0.5, 1.0, 2.0, 4.0)

#: Records of a data set, and entries of a vector, whose size the domain leaves open.
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
    """``measurement`` as what ``check`` takes: the claim is ``measurement.map(d_in)`` in its own measure.

    ``d_in``: the distance of neighbours in the input metric; left out it is 1, and 2 for the symmetric
    distance on data sets of a known size, which is one record replaced. ``neighbours``: pairs at that
    distance; left out they are made from the domain where it says enough (a boolean, numbers, vectors of
    numbers, data sets with bounds). ``order`` is that of a claim in Rényi divergence. ``model="as_run"``
    claims it of the floats as they run, as OpenDP does. OpenDP draws from a generator of its own: runs cannot
    be repeated.

    Raises ``InvalidParameterError`` where OpenDP is missing, for what is no measurement, for a metric or a
    measure that has no claim here, and for a distance that is no single change of a record.
    """
    core = library("opendp.mod", package="opendp")
    if not isinstance(measurement, core.Measurement):
        raise refused(
            "opendp must be given a Measurement", type(measurement).__name__, "chain it to its noise with >>"
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
    """The name of a metric without its types."""
    return str(metric).split("(")[0].split("<")[0]


def _size(domain: Any) -> int | None:
    size = getattr(domain, "size", None)
    return None if size is None else int(size)


def _default_distance(measurement: Any, metric: str) -> Any:
    sized = _DATASETS.get(metric) is Adjacency.ADD_REMOVE and _size(measurement.input_domain) is not None
    return 2 if sized else 1


def _adjacency(metric: str, distance: Any, measurement: Any) -> tuple[Adjacency, str]:
    """Which pairs are at this distance, and one record in words."""
    if metric in _NUMBERS:
        return Adjacency.REPLACE_ONE, f"{measurement.input_domain}; neighbours at {metric} at most {distance}"
    if metric not in _DATASETS:
        raise refused(
            f"the input metric must be one of {(*_DATASETS, *_NUMBERS)}",
            metric,
            "check the measurement by dpaudit.check, with pairs of your own",
        )
    adjacency = _DATASETS[metric]
    if adjacency is Adjacency.ADD_REMOVE and distance == 2:
        adjacency = Adjacency.REPLACE_ONE  # one record removed, another one added
    elif adjacency is Adjacency.ADD_REMOVE and _size(measurement.input_domain) is not None:
        raise refused(
            "d_in must be 2 for data sets of a known size, of which none has a record more",
            distance,
            "leave d_in out, which is one record replaced, or drop the size from the domain",
        )
    elif distance != 1:
        raise refused(
            f"d_in must be 1 (or 2 for a replaced record, in {metric})",
            distance,
            "ask about one record at a time",
        )
    return adjacency, f"a record of {measurement.input_domain}"


def _claim(measurement: Any, distance: Any, order: int, **context: Any) -> PrivacyClaim:
    """The privacy map at this distance, in the measurement's own measure."""
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
            "convert it, for example by make_zCDP_to_approxDP and make_fix_delta",
        )
    return makers[measure]()


def _pairs(measurement: Any, metric: str, distance: Any, adjacency: Adjacency) -> list[tuple[Any, Any]]:
    """Neighbours that the domain suffices to name; none where it does not."""
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
    one_sign = "monotonic" in str(measurement.input_metric)  # of noisy max: all scores rise, or all fall
    return _moved(base, metric, number(distance), one_sign=one_sign)


def _low(domain: Any, number: type) -> Any:
    bounds = getattr(domain, "bounds", None)
    return number(bounds[0] if bounds else 0)


def _moved(base: list[Any], metric: str, distance: Any, *, one_sign: bool) -> list[tuple[Any, Any]]:
    """Vectors at this distance: one entry moved, in the largest norm all of them as well, and entries moved
    against each other, unless neighbours move in ``one_sign``."""
    first = [base[0] + distance, *base[1:]]
    pairs = [(base, first)]
    if metric == "LInfDistance":
        pairs.insert(0, (base, [entry + distance for entry in base]))
    # Two entries share the distance, in the largest norm each has all of it, and so has any further one.
    share = {"L1Distance": distance / 2, "L2Distance": math.nextafter(distance * math.sqrt(0.5), 0)}
    step = type(distance)(share.get(metric, distance))
    if len(base) > 1 and step and not one_sign:
        moving = len(base) if metric == "LInfDistance" else 2
        sides = [
            [entry + step * (k < moving and k % 2 == side) for k, entry in enumerate(base)] for side in (0, 1)
        ]
        pairs.append((sides[0], sides[1]))
    return pairs
