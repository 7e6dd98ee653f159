"""Adapt a ``DpEvent`` of dp-accounting to a mechanism, with the epsilon of the accountant as the claim.

    adapted = dpaudit.blackbox.adapters.dp_event(SelfComposedDpEvent(GaussianDpEvent(2.0), 10), delta="1e-5")

An event describes a mechanism on a sum of vectors of norm at most 1. Here it runs on its worst pair for
adding or removing a record: the record is 1, all others are 0, and the data state whether it is present. A
refutation of such a claim refutes the number of the accountant.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dpaudit.blackbox.adapters.adapted import Adapted, library, refused
from dpaudit.core.claims import Adjacency, ApproxDP
from dpaudit.core.exact import ExactLike, exact

__all__ = ["dp_event"]

#: Largest number of draws in one run of an event, because ``check`` reads no more numbers of an output.
MAX_DRAWS = 4096


def dp_event(event: Any, *, delta: ExactLike) -> Adapted:
    """Adapt an event of dp-accounting, with the epsilon of its ``PLDAccountant`` as the claim.

    The claim is (epsilon, delta)-DP under add-remove adjacency. The data are ``[1]`` (the record is present)
    or ``[]``. Compositions release all their numbers and are not adaptive.

    Parameters
    ----------
    event : DpEvent
        A ``LaplaceDpEvent``, ``GaussianDpEvent``, ``PoissonSampledDpEvent``, ``SelfComposedDpEvent``,
        ``ComposedDpEvent`` or ``NoOpDpEvent``, nested in any way.
    delta : number
        The delta at which the accountant computes epsilon, in (0, 1).

    Returns
    -------
    Adapted
        The mechanism, the claim and a pair.

    Raises
    ------
    InvalidParameterError
        dp-accounting is missing, the event is of another kind or makes more than 4096 draws, ``delta`` is out
        of range, or the accountant gives no finite epsilon.
    """
    core = library("dp_accounting", package="dp-accounting")
    if not 0 < exact(delta, name="delta") < 1:
        raise refused("delta must be in (0, 1)", delta, code="E-DELTA-RANGE")
    _require_understood(event)
    if _draws(event) > MAX_DRAWS:
        raise refused(
            f"event must draw at most {MAX_DRAWS} numbers", _draws(event), code="E-EVENT-DRAWS-RANGE"
        )
    accountant = library("dp_accounting.pld", package="dp-accounting").PLDAccountant(
        core.NeighboringRelation.ADD_OR_REMOVE_ONE
    )
    epsilon = float(accountant.compose(event).get_epsilon(float(exact(delta))))
    if not np.isfinite(epsilon):
        raise refused("the accountant must give a finite epsilon", epsilon, code="E-EPSILON-NOT-FINITE")

    def mechanism(data: Any, rng: np.random.Generator) -> Any:
        shown: list[float] = []
        _run(event, float(len(data) > 0), rng, shown)
        return np.array(shown)

    claim = ApproxDP(
        epsilon=epsilon, delta=delta, adjacency=Adjacency.ADD_REMOVE, domain="a vector of norm at most 1"
    )
    notes = ("the event runs on its worst pair, as in the accountant. No training code runs",)
    return Adapted(mechanism=mechanism, claim=claim, neighbours=[([1], [])], notes=notes)


def _kind(event: Any) -> str:
    return type(event).__name__


def _require_understood(event: Any) -> None:
    kind = _kind(event)
    if kind == "ComposedDpEvent":
        for part in event.events:
            _require_understood(part)
    elif kind in ("SelfComposedDpEvent", "PoissonSampledDpEvent"):
        _require_understood(event.event)
    elif kind not in ("LaplaceDpEvent", "GaussianDpEvent", "NoOpDpEvent"):
        raise refused(
            "event must consist of Laplace, Gaussian, Poisson-sampled, composed and no-op events",
            kind,
            code="E-EVENT-KIND",
        )


def _draws(event: Any) -> int:
    kind = _kind(event)
    if kind == "ComposedDpEvent":
        return sum(_draws(part) for part in event.events)
    if kind == "SelfComposedDpEvent":
        return int(event.count) * _draws(event.event)
    return _draws(event.event) if kind == "PoissonSampledDpEvent" else int(kind != "NoOpDpEvent")


def _run(event: Any, value: float, rng: np.random.Generator, shown: list[float]) -> None:
    """Append the releases of the event to ``shown``, if the record contributes ``value`` to the sum."""
    kind = _kind(event)
    if kind == "ComposedDpEvent":
        for part in event.events:
            _run(part, value, rng, shown)
    elif kind == "SelfComposedDpEvent":
        for _ in range(int(event.count)):
            _run(event.event, value, rng, shown)
    elif kind == "PoissonSampledDpEvent":
        _run(event.event, value * float(rng.random() < event.sampling_probability), rng, shown)
    elif kind != "NoOpDpEvent":
        draw = rng.laplace if kind == "LaplaceDpEvent" else rng.normal
        shown.append(value + float(draw(0.0, event.noise_multiplier)))
