"""python-dp (PyDP), the Python side of Google's C++ library: algorithms over records, and noise for a number.

    adapted = dpaudit.blackbox.adapters.pydp(BoundedSum(epsilon=1, lower_bound=0, upper_bound=1, dtype="int"))

Google's library is about adding and removing a user's records, up to ``l0_sensitivity`` partitions with
``linf_sensitivity`` records in each; one call here is one partition.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dpaudit.blackbox.adapters.adapted import Adapted, library, refused, unseeded
from dpaudit.blackbox.neighbours import corners
from dpaudit.core.claims import Adjacency, ApproxDP, PrivacyClaim, PureDP
from dpaudit.core.claims.base import Model

__all__ = ["pydp"]

#: Records of the data sets that pairs are made of.
RECORDS = 3


def pydp(
    algorithm: Any,
    *,
    records: Sequence[Any] = (),
    neighbours: Sequence[tuple[Any, Any]] = (),
    model: Model | str = Model.IDEAL,
) -> Adapted:
    """An algorithm of ``pydp.algorithms`` (it has ``quick_result``) or a mechanism of
    ``pydp.algorithms.numerical_mechanisms`` (it has ``add_noise``) as what ``check`` takes.

    Claimed are the object's epsilon and delta. An algorithm's data are lists of records, neighbours differ by
    one record that is added or removed: pairs are made of ``records``, the extreme values of one, since the
    object does not show its bounds. A mechanism's data are numbers, its pairs a sensitivity apart. The
    library cannot be seeded.

    Raises ``InvalidParameterError`` where python-dp is missing, for any other object, and for an algorithm in
    which one user has more than one record.
    """
    library("pydp", package="python-dp")
    context: dict[str, Any] = {"model": model}
    if hasattr(algorithm, "quick_result"):
        _require_one_record(algorithm)
        context |= {"adjacency": Adjacency.ADD_REMOVE, "domain": "one record of one user"}
        made = corners(records, RECORDS, Adjacency.ADD_REMOVE) if len(records) else []
        pairs = [(pair.left, pair.right) for pair in made]
    elif hasattr(algorithm, "add_noise"):
        context["domain"] = f"a number; neighbours are at most {_sensitivity(algorithm)} apart"
        pairs = [(0.0, float(_sensitivity(algorithm)))]
    else:
        raise refused(
            "pydp must be given an algorithm with quick_result, or a mechanism with add_noise",
            type(algorithm).__name__,
            "create it with its epsilon first",
        )
    return Adapted(
        mechanism=_mechanism(algorithm),
        claim=_claim(algorithm, context),
        neighbours=list(neighbours) or pairs,
        notes=(unseeded("python-dp"),),
    )


def _mechanism(algorithm: Any) -> Callable[[Any, np.random.Generator], Any]:
    records = hasattr(algorithm, "quick_result")

    def mechanism(data: Any, rng: np.random.Generator) -> Any:
        return algorithm.quick_result(list(data)) if records else algorithm.add_noise(data)

    return mechanism


def _require_one_record(algorithm: Any) -> None:
    """Claims here are about one record, and the budget of an algorithm is about one user's."""
    for name in ("l0_sensitivity", "linf_sensitivity"):
        value = getattr(algorithm, name, 1)
        if isinstance(value, int | float) and value != 1:
            raise refused(
                f"{name} must be 1, so that one user has one record",
                value,
                "check an algorithm for one record a user, or use dpaudit.check with pairs of users",
            )


def _sensitivity(mechanism: Any) -> Any:
    return getattr(mechanism, "sensitivity", None) or getattr(mechanism, "l2_sensitivity", None) or 1.0


def _claim(algorithm: Any, context: dict[str, Any]) -> PrivacyClaim:
    delta = getattr(algorithm, "delta", None)  # Laplace mechanisms have none
    if delta:
        return ApproxDP(epsilon=algorithm.epsilon, delta=delta, **context)
    return PureDP(epsilon=algorithm.epsilon, **context)
