"""diffprivlib: mechanisms, estimators, and tools with their arguments bound.

    adapted = dpaudit.blackbox.adapters.diffprivlib(Laplace(epsilon=1, sensitivity=1))
    adapted = dpaudit.blackbox.adapters.diffprivlib(GaussianNB(epsilon=1, bounds=(0, 1)))
    adapted = dpaudit.blackbox.adapters.diffprivlib(functools.partial(tools.mean, epsilon=1, bounds=(0, 1)))

All of them are driven by ``check``'s generator, so that runs can be repeated. diffprivlib's documentation
names no adjacency. Its sensitivities of means and variances are those of a replaced record, with the number
of records known; those of counts and histograms are those of a record added or removed.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dpaudit.blackbox.adapters.adapted import Adapted, library, refused, seeded_state
from dpaudit.core.claims import Adjacency, ApproxDP, PrivacyClaim, PureDP
from dpaudit.core.claims.base import Model

__all__ = ["diffprivlib"]

#: What an estimator reads from the data where it is left out, as its PrivacyLeakWarning says.
FROM_DATA = ("bounds", "data_norm", "bounds_X", "bounds_y", "range")

Mechanism = Callable[[Any, np.random.Generator], Any]


def diffprivlib(
    thing: Any,
    *,
    adjacency: Adjacency | str | None = None,
    neighbours: Sequence[tuple[Any, Any]] = (),
    model: Model | str = Model.IDEAL,
) -> Adapted:
    """A mechanism, an unfitted estimator or a ``functools.partial`` of a tool as what ``check`` takes.

    The claim is the object's epsilon and delta. A mechanism's data are values; its pairs are values that its
    sensitivity moves apart. An estimator's data are what ``fit`` takes, ``X`` or ``(X, y)`` as a tuple, and
    its output is what the fitted one holds under names that end in ``_``. A tool's data are its first
    argument. ``adjacency`` is yours to choose where data are records, replace-one where nothing is
    said: diffprivlib names none. A ``random_state`` of the object is set aside.

    Raises ``InvalidParameterError`` where diffprivlib is missing, for any other object, for an infinite
    epsilon, and for an estimator that would read its bounds from the data.
    """
    core = library("diffprivlib", package="diffprivlib")
    if isinstance(thing, core.mechanisms.DPMechanism):
        mechanism, pairs = _randomiser(thing), list(neighbours) or _values(thing)
        domain = "a value; neighbours are at most the mechanism's sensitivity apart"
    elif hasattr(thing, "fit") and hasattr(thing, "get_params") and hasattr(thing, "epsilon"):
        mechanism, pairs, domain = _fitting(thing), list(neighbours), "a row of the data"
    elif isinstance(thing, functools.partial) and thing.func.__module__.startswith("diffprivlib.tools"):
        mechanism, pairs, domain = _tool(thing), list(neighbours), "an entry of the array"
    else:
        raise refused(
            "diffprivlib must be given a mechanism, an estimator, or a partial of a tool",
            type(thing).__name__,
            "for a tool write functools.partial(tools.mean, epsilon=1, bounds=(0, 1))",
        )
    claim = _claim(thing, adjacency=adjacency or Adjacency.REPLACE_ONE, domain=domain, model=model)
    notes = []
    if adjacency is None and not isinstance(thing, core.mechanisms.DPMechanism):
        notes.append(f"diffprivlib names no adjacency: {claim.adjacency.value} was assumed")
    own = thing.keywords if isinstance(thing, functools.partial) else vars(thing)
    if own.get("random_state") is not None:
        notes.append("its random_state was set aside: with it all calls would draw the same noise")
    return Adapted(mechanism=mechanism, claim=claim, neighbours=pairs, notes=tuple(notes))


def _claim(thing: Any, **context: Any) -> PrivacyClaim:
    """The epsilon and delta that the object, or the bound arguments of a tool, state."""
    bound = thing.keywords if isinstance(thing, functools.partial) else vars(thing)
    epsilon, delta = bound.get("epsilon", 1.0), bound.get("delta", 0.0)  # 1.0: the default of every tool
    if not 0 <= epsilon < float("inf"):
        raise refused("epsilon must be finite", epsilon, "an infinite one claims nothing")
    if delta == 0:
        return PureDP(epsilon=epsilon, **context)
    return ApproxDP(epsilon=epsilon, delta=delta, **context)


def _randomiser(thing: Any) -> Mechanism:
    """``randomise`` with the generator that each call is given; the object itself is left as it is."""
    own = copy.copy(thing)
    if not hasattr(own, "_rng"):
        raise refused(
            "a mechanism must keep its generator as _rng, as diffprivlib 0.6 does",
            type(thing).__name__,
            "write (data, rng) -> output by yourself",
        )

    def mechanism(data: Any, rng: np.random.Generator) -> Any:
        own._rng = seeded_state(rng)
        return own.randomise(data)

    return mechanism


def _values(thing: Any) -> list[tuple[Any, Any]]:
    """Two values that the sensitivity moves apart, inside the bounds where there are some."""
    if hasattr(thing, "value0"):
        return [(thing.value0, thing.value1)]
    sensitivity, low = getattr(thing, "sensitivity", None), getattr(thing, "lower", 0)
    if sensitivity is None or not sensitivity or hasattr(thing, "utility"):
        return []
    high = getattr(thing, "upper", float("inf"))
    if low == -float("inf"):
        low = 0
    if low + sensitivity > high:
        return []
    pairs = [(low, low + sensitivity)]
    return pairs if high == float("inf") else [*pairs, (high - sensitivity, high)]


def _fitting(thing: Any) -> Mechanism:
    parameters = thing.get_params()
    missing = [name for name in FROM_DATA if name in parameters and parameters[name] is None]
    if missing:
        raise refused(
            f"{type(thing).__name__} must be given {' and '.join(missing)}",
            "None",
            "it would read them from the data, which is not private, as its PrivacyLeakWarning says",
        )

    def mechanism(data: Any, rng: np.random.Generator) -> Any:
        own = copy.deepcopy(thing)
        own.random_state = seeded_state(rng)
        own.fit(*data) if isinstance(data, tuple) else own.fit(data)
        return {name: value for name, value in vars(own).items() if _is_fitted(name)}

    return mechanism


def _is_fitted(name: str) -> bool:
    return name.endswith("_") and not name.startswith("_")


def _tool(bound: functools.partial[Any]) -> Mechanism:
    def mechanism(data: Any, rng: np.random.Generator) -> Any:
        return bound(data, random_state=seeded_state(rng))

    return mechanism
