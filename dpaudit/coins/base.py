"""Coins: the one object through which a program under audit takes all of its randomness and shows all of its
outcomes.

Theory of operation. A program is a function ``program(coins, data)``. At each *site* it names the
**distribution** of
what comes out and **who sees it**. The same program then runs under different interpreters:

* ``Sampler`` samples, and nothing else: the fast path for simulations;
* ``Recorder`` samples and writes the transcript;
* ``Replayer`` runs on a neighbouring input, is fed the recorded outcomes, and evaluates each site's
  distribution there;
* ``Forcer`` runs along a chosen history;
* ``Enumerator`` sums a small finite program out exactly.

Rules of this layer. Site names label reports; no adversary sees them. ``replicates=R`` adds one leading axis
to every outcome: parameters that are arrays must then carry it, scalars are shared. A loss is summed over
event axes, never over the replicate axis. The environment's randomness (rewards, contexts) is not the
mechanism's and never touches the coins: under audit the data are given.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from dpaudit.core.views import PUBLIC, SERVER, Principal
from dpaudit.distributions.base import Distribution

__all__ = ["ChannelSession", "Coins", "Program", "To"]

To = Principal | Iterable[Principal]

#: A program under audit: all randomness through the coins, all data through the second argument.
Program = Callable[["Coins", Any], Any]


class ChannelSession(ABC):
    """An open interactive channel: ``ask`` a query, get its outcome. The outcomes of one session have one
    joint distribution."""

    @abstractmethod
    def ask(self, query: Any) -> Any:
        """Send one query (it may depend on the data) and return the outcome, which the channel's audience
        sees."""


class Coins(ABC):
    """The six primitives. Every interpreter implements them with the same signatures."""

    replicates: int | None = None

    @abstractmethod
    def observe(self, distribution: Distribution, *, site: str, to: To = PUBLIC) -> Any:
        """Draw from ``distribution``, which may depend on the data, and show the outcome to ``to``."""

    def release(self, value: Any, noise: Distribution, *, site: str, to: To = PUBLIC) -> Any:
        """Show ``value + noise`` to ``to``: ``observe(noise.shift(value))``. An array gets independent noise
        per entry."""
        return self.observe(noise.shift(value), site=site, to=to)

    @abstractmethod
    def aggregate(
        self, distributions: Sequence[Distribution], through: Any, *, site: str, to: To = SERVER
    ) -> Any:
        """Draw one outcome per user from ``distributions``, push them through the image ``through``, show the
        image to ``to``.

        ``through`` is ``Sum()``, ``SumMod(m)``, ``Counts(outcomes)`` or ``Shuffle()``
        (``dpaudit.distributions.images``). Nobody sees the parts.
        """

    @abstractmethod
    def channel(self, kernel: Any, *, site: str, to: To = PUBLIC) -> ChannelSession:
        """Open an interactive kernel with a joint distribution (``AboveThreshold``, ``BinaryTree``) whose
        answers ``to`` sees."""

    @abstractmethod
    def draw(self, distribution: Distribution, *, site: str) -> Any:
        """Hidden randomness, such as randomised rounding: nobody sees it."""

    @abstractmethod
    def reveal(self, value: Any, *, site: str, to: To = PUBLIC) -> Any:
        """Deterministic output: an arm, a batch size, a stop. Returns ``value``."""
