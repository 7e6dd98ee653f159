"""dp-accounting: a ``DpEvent`` as the mechanism that it describes, claimed to cost what the accountant says.

    adapted = dpaudit.blackbox.adapters.dp_event(SelfComposedDpEvent(GaussianDpEvent(2.0), 10), delta="1e-5")

An event describes a mechanism on a sum of vectors of norm at most 1. Here it runs at its worst pair for
adding or removing a record: the record is 1, all others are 0, the data are whether it is there. A refutation
of such a claim is one of the accountant's number.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dpaudit.blackbox.adapters.adapted import Adapted, library, refused
from dpaudit.core.claims import Adjacency, ApproxDP
from dpaudit.core.exact import ExactLike, exact

__all__ = ["dp_event"]

#: Numbers that one run of an event may draw: ``check`` looks at no more of an output.
MAX_DRAWS = 4096


def dp_event(event: Any, *, delta: ExactLike) -> Adapted:
    """``event`` as what ``check`` takes: (epsilon, delta)-DP with the epsilon that dp-accounting's
    ``PLDAccountant`` computes at ``delta`` in (0, 1), when a record is added or removed.

    Understood are ``LaplaceDpEvent``, ``GaussianDpEvent``, ``PoissonSampledDpEvent``,
    ``SelfComposedDpEvent``, ``ComposedDpEvent`` and ``NoOpDpEvent`` of each other. Compositions release all
    their numbers; they are not adaptive. Data are ``[1]`` (the record is there) or ``[]``.

    Raises ``InvalidParameterError`` where dp-accounting is missing, for another event, for more than 4096
    draws, for a delta outside (0, 1), and where the accountant gives no finite epsilon.
    """
    core = library("dp_accounting", package="dp-accounting")
    if not 0 < exact(delta, name="delta") < 1:
        raise refused("delta must be in (0, 1)", delta, "pass the one that the accountant is asked at")
    _require_understood(event)
    if _draws(event) > MAX_DRAWS:
        raise refused(
            f"an event must draw at most {MAX_DRAWS} numbers", _draws(event), "compose fewer rounds"
        )
    accountant = library("dp_accounting.pld", package="dp-accounting").PLDAccountant(
        core.NeighboringRelation.ADD_OR_REMOVE_ONE
    )
    epsilon = float(accountant.compose(event).get_epsilon(float(exact(delta))))
    if not np.isfinite(epsilon):
        raise refused("the accountant must give a finite epsilon", epsilon, "raise delta, or add noise")

    def mechanism(data: Any, rng: np.random.Generator) -> Any:
        shown: list[float] = []
        _run(event, float(len(data) > 0), rng, shown)
        return np.array(shown)

    claim = ApproxDP(
        epsilon=epsilon, delta=delta, adjacency=Adjacency.ADD_REMOVE, domain="a vector of norm at most 1"
    )
    notes = ("the event runs at its worst pair, as the accountant means it; no training code is run",)
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
            "an event must be made of Laplace, Gaussian, Poisson-sampled and composed ones",
            kind,
            "write the mechanism as (data, rng) -> output",
        )


def _draws(event: Any) -> int:
    kind = _kind(event)
    if kind == "ComposedDpEvent":
        return sum(_draws(part) for part in event.events)
    if kind == "SelfComposedDpEvent":
        return int(event.count) * _draws(event.event)
    return _draws(event.event) if kind == "PoissonSampledDpEvent" else int(kind != "NoOpDpEvent")


def _run(event: Any, value: float, rng: np.random.Generator, shown: list[float]) -> None:
    """Append what the event releases where the record's contribution to the sum is ``value``."""
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
