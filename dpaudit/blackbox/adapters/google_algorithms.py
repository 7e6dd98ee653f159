"""Adapt python-dp (PyDP), the Python interface of Google's C++ library: algorithms and noise mechanisms.

    adapted = dpaudit.blackbox.adapters.pydp(BoundedSum(epsilon=1, lower_bound=0, upper_bound=1, dtype="int"))

In Google's library, neighbours differ by the records of one user, in up to ``l0_sensitivity`` partitions with
``linf_sensitivity`` records in each. One call here is one partition.
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

#: Number of records in the datasets of pairs.
RECORDS = 3


def pydp(
    algorithm: Any,
    *,
    records: Sequence[Any] = (),
    neighbours: Sequence[tuple[Any, Any]] = (),
    model: Model | str = Model.IDEAL,
) -> Adapted:
    """Adapt an algorithm or a numerical mechanism of python-dp.

    The claim is the epsilon and delta of the object. The library cannot be seeded.

    Parameters
    ----------
    algorithm : object
        An algorithm of ``pydp.algorithms`` (with ``quick_result``), whose data are lists of records under
        add-remove adjacency, or a mechanism of ``pydp.algorithms.numerical_mechanisms`` (with ``add_noise``),
        whose data are numbers at the distance of its sensitivity.
    records : sequence, optional
        The extreme values of one record, of which pairs are made. The object does not show its bounds.
    neighbours : sequence of pairs, optional
        Replaces these pairs.
    model : Model or str, default "ideal"
        Whether the claim is about real numbers or about floats as they run.

    Returns
    -------
    Adapted
        The mechanism, the claim, pairs and notes.

    Raises
    ------
    InvalidParameterError
        python-dp is missing, the object is of another kind, or one user has more than one record.
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
            "algorithm must have quick_result or add_noise", type(algorithm).__name__, code="E-OBJECT-KIND"
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
    """Require one record per user, because the claim is about a record and the budget about a user."""
    for name in ("l0_sensitivity", "linf_sensitivity"):
        value = getattr(algorithm, name, 1)
        if isinstance(value, int | float) and value != 1:
            raise refused(
                f"{name} must be 1, so that one user has one record",
                value,
                "For more records, use dpaudit.check with pairs that differ by one user.",
                code="E-USER-RECORDS",
            )


def _sensitivity(mechanism: Any) -> Any:
    return getattr(mechanism, "sensitivity", None) or getattr(mechanism, "l2_sensitivity", None) or 1.0


def _claim(algorithm: Any, context: dict[str, Any]) -> PrivacyClaim:
    delta = getattr(algorithm, "delta", None)  # Laplace mechanisms have none
    if delta:
        return ApproxDP(epsilon=algorithm.epsilon, delta=delta, **context)
    return PureDP(epsilon=algorithm.epsilon, **context)
