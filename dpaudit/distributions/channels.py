"""What an interactive kernel is: a mechanism that keeps hidden noise between its answers, with the joint
distribution of all answers.

The sparse vector technique compares every query with one noisy threshold; a tree counter draws the noise of a
node once and everybody re-reads it. Their answers are not independent given the queries, so the loss of a
session is that of one joint distribution:

* ``open()`` starts a session, ``respond`` samples its next answer;
* ``log_joint(queries, outcomes)`` is the log-density of all answers of a session given its queries in order,
  in floats;
* ``log_joint_ball`` encloses it for one session.

Queries may be chosen adaptively: the joint density at given answers is the same whether the queries were
fixed or chosen on the way.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, TypeVar

import numpy as np
from flint import arb
from numpy.typing import NDArray

from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.exact import refuse_floats, require_written_so

__all__ = ["Kernel", "expect_keys", "kernel_from_json", "queried_numbers", "register_kernel", "same_length"]


class Kernel(ABC):
    """An interactive mechanism. Subclasses are frozen dataclasses with exact parameters, registered under
    ``name``.
    """

    name: ClassVar[str]

    @property
    def answers(self) -> tuple[Any, ...] | None:
        """All answers that one query can get, for enumeration; ``None`` where they are not finite."""
        return None

    @abstractmethod
    def open(self) -> Any:
        """The state of a new session. ``respond`` changes it."""

    @abstractmethod
    def respond(self, state: Any, query: Any, rng: np.random.Generator, replicates: int | None = None) -> Any:
        """Sample the answer to ``query``: one, or ``replicates`` independent ones on a leading axis.

        Under replicates an array-valued query carries the replicate axis first; a scalar one is shared.
        Raises ``InvalidParameterError`` once the channel is closed.
        """

    def answer_distribution(self, state: Any, query: Any) -> Any:
        """The distribution of the next answer, to ``query``, where it has one of its own; otherwise the
        kernel. The state stays as it is."""
        return self

    @abstractmethod
    def take(self, state: Any, query: Any, answer: Any) -> None:
        """Change the state as if ``query`` had been answered by ``answer``. Raises as ``respond``."""

    @abstractmethod
    def respond_after(
        self, state: Any, queries: Sequence[Any], outcomes: Sequence[Any], rng: np.random.Generator
    ) -> Any:
        """Sample the answer to the last of ``queries`` given ``outcomes``, those to all before it, of which
        some were chosen and not drawn."""

    @abstractmethod
    def log_joint(self, queries: Sequence[Any], outcomes: Sequence[Any]) -> NDArray[np.float64]:
        """Log-density of all answers of a session: one number for each independent copy (replicate,
        coordinate).
        """

    @abstractmethod
    def log_joint_ball(self, queries: Sequence[Any], outcomes: Sequence[Any]) -> arb:
        """An ``arb`` that contains the total log-density of the answers of one session; ``-inf`` if they are
        impossible.
        """

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """Plain JSON with exact strings; ``kernel_from_json`` reads it back to an equal kernel."""

    @classmethod
    @abstractmethod
    def from_json(cls, data: dict[str, Any]) -> Kernel:
        """Inverse of ``to_json``."""


K = TypeVar("K", bound=type[Kernel])
_REGISTRY: dict[str, type[Kernel]] = {}


def register_kernel(name: str) -> Callable[[K], K]:
    """Class decorator: make a kernel readable from JSON under ``name``."""

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
    """Read a kernel that ``to_json`` wrote. Raises ``InvalidParameterError`` for an unknown one, and for
    another spelling of a known one."""
    kind = data.get("kernel") if isinstance(data, dict) else None
    if not isinstance(kind, str) or kind not in _REGISTRY:
        raise InvalidParameterError(
            f"a kernel must be one of {sorted(_REGISTRY)}, got {kind!r}.", code="E-KERNEL-UNKNOWN"
        )
    refuse_floats(data, name="a kernel in a file")
    kernel = _REGISTRY[kind].from_json(data)
    require_written_so(kernel.to_json(), data, name=f"the kernel {kind!r}")
    return kernel


# What the kernels share


def expect_keys(data: dict[str, Any], keys: set[str]) -> None:
    if data.keys() != keys | {"kernel"}:
        raise InvalidParameterError(
            f"a kernel must have exactly the keys {sorted(keys)}, got {sorted(data)}.", code="E-KERNEL-FIELDS"
        )


def same_length(queries: Sequence[Any], outcomes: Sequence[Any]) -> int:
    if len(queries) != len(outcomes):
        raise InvalidParameterError(
            f"a session must have one answer for each query, got {len(queries)} queries and "
            f"{len(outcomes)} answers.",
            code="E-SESSION-LENGTH",
        )
    return len(queries)


def queried_numbers(value: Any) -> NDArray[np.float64]:
    array = np.asarray(value, dtype=np.float64)
    if not np.isfinite(array).all():
        raise InvalidParameterError(
            f"a query must be a finite number, got {value!r}.", code="E-QUERY-NOT-FINITE"
        )
    return array
