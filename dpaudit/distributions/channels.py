"""Define interactive kernels: mechanisms that keep hidden noise between answers, with a joint distribution.

The sparse vector technique compares every query with one noisy threshold. A tree counter draws the noise of a
node once and uses it again later. Their answers are not independent given the queries, so the loss of a
session is the loss of one joint distribution:

* ``open()`` starts a session, and ``respond`` samples its next answer.
* ``log_joint(queries, outcomes)`` is the log-density of all answers of a session given its queries in order,
  in floats.
* ``log_joint_ball`` encloses it for one session.

Queries may be adaptive: the joint density at given answers is the same whether the queries are fixed or
depend on earlier answers.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, ClassVar, TypeVar

import numpy as np
from flint import arb
from numpy.typing import NDArray

from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.exact import refuse_floats, require_written_so
from dpaudit.distributions.base import Distribution

__all__ = ["Kernel", "expect_keys", "kernel_from_json", "queried_numbers", "register_kernel", "same_length"]


class Kernel(ABC):
    """An interactive mechanism. Subclasses are frozen dataclasses, registered under ``name``."""

    name: ClassVar[str]

    @property
    def answers(self) -> tuple[Any, ...] | None:
        """All possible answers to one query, for enumeration, or ``None`` if there are infinitely many."""
        return None

    @abstractmethod
    def open(self) -> Any:
        """Return the state of a new session. ``respond`` changes it."""

    @abstractmethod
    def respond(self, state: Any, query: Any, rng: np.random.Generator, replicates: int | None = None) -> Any:
        """Sample the answer to a query.

        Parameters
        ----------
        state : object
            The state of the session, which this call changes.
        query : number or array
            The query. With replicates, the first axis of an array is the replicate axis, and a scalar is
            shared.
        rng : numpy.random.Generator
            The source of randomness.
        replicates : int, optional
            The number of independent answers, on a leading axis. Default: one answer.

        Raises
        ------
        InvalidParameterError
            The channel is closed.
        """

    def answer_distribution(self, state: Any, query: Any) -> Any:
        """Return the distribution of the answer to ``query`` if it does not depend on other answers.

        Otherwise return the kernel. The state does not change.
        """
        return self

    def node_distributions(self, queries: Sequence[Any]) -> list[Distribution] | None:
        """Return the independent distributions of the answers to these queries in order, or ``None``."""
        return None

    def largest_loss(self, moves: Sequence[Sequence[Fraction]]) -> Fraction | None:
        """Return a bound on |log p - log p'| of a session whose queries change, or ``None`` if not known.

        Parameters
        ----------
        moves : sequence of sequence of Fraction
            For each query the change of each of its entries.
        """
        return None

    @abstractmethod
    def take(self, state: Any, query: Any, answer: Any) -> None:
        """Change the state as if ``query`` had the answer ``answer``. Errors are raised as in ``respond``."""

    @abstractmethod
    def respond_after(
        self, state: Any, queries: Sequence[Any], outcomes: Sequence[Any], rng: np.random.Generator
    ) -> Any:
        """Sample the answer to the last query, given the answers to all earlier queries.

        Some of the earlier answers in ``outcomes`` were chosen and not drawn.
        """

    @abstractmethod
    def log_joint(self, queries: Sequence[Any], outcomes: Sequence[Any]) -> NDArray[np.float64]:
        """Return the log-density of all answers of a session, per copy (replicate, coordinate)."""

    @abstractmethod
    def log_joint_ball(self, queries: Sequence[Any], outcomes: Sequence[Any]) -> arb:
        """Return an ``arb`` that contains the total log-density of the answers of one session.

        It is ``-inf`` if the answers are impossible.
        """

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """Return plain JSON with exact strings, from which ``kernel_from_json`` reads an equal kernel."""

    @classmethod
    @abstractmethod
    def from_json(cls, data: dict[str, Any]) -> Kernel:
        """Read what ``to_json`` wrote."""


K = TypeVar("K", bound=type[Kernel])
_REGISTRY: dict[str, type[Kernel]] = {}


def register_kernel(name: str) -> Callable[[K], K]:
    """Return a class decorator that makes a kernel readable from JSON under ``name``."""

    def decorate(cls: K) -> K:
        if name in _REGISTRY:
            raise InvalidParameterError(
                f"the name of a kernel must be unique, but {name!r} is taken.", code="E-NAME-TAKEN"
            )
        cls.name = name
        _REGISTRY[name] = cls
        return cls

    return decorate


def kernel_from_json(data: dict[str, Any]) -> Kernel:
    """Read a kernel that ``to_json`` wrote.

    Raises
    ------
    InvalidParameterError
        The kernel is unknown, or is written differently from how ``to_json`` writes it.
    """
    kind = data.get("kernel") if isinstance(data, dict) else None
    if not isinstance(kind, str) or kind not in _REGISTRY:
        raise InvalidParameterError(
            f"a kernel must be one of {sorted(_REGISTRY)}, got {kind!r}.", code="E-KERNEL-UNKNOWN"
        )
    refuse_floats(data, name="a kernel in a file")
    kernel = _REGISTRY[kind].from_json(data)
    require_written_so(kernel.to_json(), data, name=f"the kernel {kind!r}")
    return kernel


# Functions that all kernels use


def expect_keys(data: dict[str, Any], keys: set[str]) -> None:
    """Raise ``InvalidParameterError`` unless the JSON of a kernel has exactly these keys."""
    if data.keys() != keys | {"kernel"}:
        raise InvalidParameterError(
            f"a kernel must have exactly the keys {sorted(keys)}, got {sorted(data)}.", code="E-KERNEL-FIELDS"
        )


def same_length(queries: Sequence[Any], outcomes: Sequence[Any]) -> int:
    """Return the number of queries. Raise ``InvalidParameterError`` if the number of answers differs."""
    if len(queries) != len(outcomes):
        raise InvalidParameterError(
            f"a session must have one answer for each query, got {len(queries)} queries and "
            f"{len(outcomes)} answers.",
            code="E-SESSION-LENGTH",
        )
    return len(queries)


def queried_numbers(value: Any) -> NDArray[np.float64]:
    """Return a query as an array of floats. Raise ``InvalidParameterError`` if a number is not finite."""
    array = np.asarray(value, dtype=np.float64)
    if not np.isfinite(array).all():
        raise InvalidParameterError(
            f"a query must be a finite number, got {value!r}.", code="E-QUERY-NOT-FINITE"
        )
    return array
