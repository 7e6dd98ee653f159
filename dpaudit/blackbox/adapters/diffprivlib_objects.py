"""Adapt mechanisms, estimators and tools of diffprivlib.

    adapted = dpaudit.blackbox.adapters.diffprivlib(Laplace(epsilon=1, sensitivity=1))
    adapted = dpaudit.blackbox.adapters.diffprivlib(GaussianNB(epsilon=1, bounds=(0, 1)))
    adapted = dpaudit.blackbox.adapters.diffprivlib(functools.partial(tools.mean, epsilon=1, bounds=(0, 1)))

All of them use the generator of ``check``, so runs are reproducible. The documentation of diffprivlib names
no adjacency. Its sensitivities of means and variances are for a replaced record with a known number of
records. Its sensitivities of counts and histograms are for a record that is added or removed.
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

#: Parameters that an estimator reads from the data if they are missing, according to its PrivacyLeakWarning.
FROM_DATA = ("bounds", "data_norm", "bounds_X", "bounds_y", "range")

Mechanism = Callable[[Any, np.random.Generator], Any]


def diffprivlib(
    thing: Any,
    *,
    adjacency: Adjacency | str | None = None,
    neighbours: Sequence[tuple[Any, Any]] = (),
    model: Model | str = Model.IDEAL,
) -> Adapted:
    """Adapt a mechanism, an unfitted estimator or a ``functools.partial`` of a tool of diffprivlib.

    The claim is the epsilon and delta of the object. The data of a mechanism are values, and its pairs are
    values at the distance of its sensitivity. The data of an estimator are the arguments of ``fit``, ``X`` or
    ``(X, y)`` as a tuple, and its output is the dict of fitted attributes, whose names end in ``_``. The data
    of a tool are its first argument. A ``random_state`` of the object is ignored.

    Parameters
    ----------
    thing : object
        The mechanism, estimator or partial.
    adjacency : Adjacency or str, optional
        Which datasets are neighbours, if the data are records. diffprivlib names none. Default: replace-one.
    neighbours : sequence of pairs, optional
        Replaces the pairs of a mechanism. The others have none.
    model : Model or str, default "ideal"
        Whether the claim is about real numbers or about floats as they run.

    Returns
    -------
    Adapted
        The mechanism, the claim, pairs and notes.

    Raises
    ------
    InvalidParameterError
        diffprivlib is missing, the object is of another kind, its epsilon is infinite, or an estimator would
        read its bounds from the data.
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
            "thing must be a mechanism, an estimator, or a functools.partial of a tool of diffprivlib",
            type(thing).__name__,
            code="E-OBJECT-KIND",
        )
    claim = _claim(thing, adjacency=adjacency or Adjacency.REPLACE_ONE, domain=domain, model=model)
    notes = []
    if adjacency is None and not isinstance(thing, core.mechanisms.DPMechanism):
        notes.append(f"diffprivlib names no adjacency, so {claim.adjacency.value} was assumed")
    own = thing.keywords if isinstance(thing, functools.partial) else vars(thing)
    if own.get("random_state") is not None:
        notes.append("random_state was ignored, because with it all calls would draw the same noise")
    return Adapted(mechanism=mechanism, claim=claim, neighbours=pairs, notes=tuple(notes))


def _claim(thing: Any, **context: Any) -> PrivacyClaim:
    """Return the claim with the epsilon and delta of the object, or of the bound arguments of a tool."""
    bound = thing.keywords if isinstance(thing, functools.partial) else vars(thing)
    epsilon, delta = bound.get("epsilon", 1.0), bound.get("delta", 0.0)  # 1.0 is the default of every tool
    if not 0 <= epsilon < float("inf"):
        raise refused("epsilon must be at least 0 and finite", epsilon, code="E-EPSILON-NOT-FINITE")
    if delta == 0:
        return PureDP(epsilon=epsilon, **context)
    return ApproxDP(epsilon=epsilon, delta=delta, **context)


def _randomiser(thing: Any) -> Mechanism:
    """Return ``randomise`` with the generator of each call. The object itself does not change."""
    own = copy.copy(thing)
    if not hasattr(own, "_rng"):
        raise refused(
            "a mechanism must hold its generator as _rng, as in diffprivlib 0.6",
            type(thing).__name__,
            code="E-LIBRARY-VERSION",
        )

    def mechanism(data: Any, rng: np.random.Generator) -> Any:
        own._rng = seeded_state(rng)
        return own.randomise(data)

    return mechanism


def _values(thing: Any) -> list[tuple[Any, Any]]:
    """Return pairs of values at the distance of the sensitivity, within the bounds if there are any."""
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
            f"{type(thing).__name__} requires {' and '.join(missing)}",
            "None",
            "Otherwise it reads them from the data, which is not private (see its PrivacyLeakWarning).",
            code="E-BOUNDS-MISSING",
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
