"""Define the coins, through which a program under audit takes all randomness and shows all outcomes.

A program is a function ``program(coins, data)``. At each *site* it names the **distribution** of the outcome
and **who sees it**. The same program runs under different interpreters:

* ``Sampler`` only samples. It is the fast path for simulations.
* ``Recorder`` samples and writes the transcript.
* ``Replayer`` runs on a neighbouring input with the recorded outcomes, and evaluates each site's distribution
  there.
* ``Forcer`` runs along a chosen history.
* ``enumerate_view`` and ``sum_out`` sum over all paths of a small finite program.
* ``ProvingCoins`` runs on symbols, for a proof.

Rules of this layer. Site names label reports, and no adversary sees them. ``replicates=R`` adds one leading
axis to every outcome. Array parameters must then have this axis, and scalars are shared. A loss is summed
over event axes, never over the replicate axis. The randomness of the environment (rewards, contexts) is not
part of the mechanism and never comes from the coins, because under audit the data are given.
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
    """An open interactive channel. The outcomes of one session have one joint distribution."""

    @abstractmethod
    def ask(self, query: Any) -> Any:
        """Send one query and return its outcome, which the channel's audience sees.

        Parameters
        ----------
        query : number or array
            The query, which may depend on the data.
        """


class Coins(ABC):
    """The primitives of a program. Every interpreter implements them with the same signatures.

    In every primitive, ``site`` is the name of the site in reports, and ``to`` is the principal, or the
    principals, that see the outcome (``dpaudit.core.views``).
    """

    replicates: int | None = None

    @abstractmethod
    def observe(self, distribution: Distribution, *, site: str, to: To = PUBLIC) -> Any:
        """Draw from ``distribution``, show the outcome to ``to`` and return it.

        Parameters
        ----------
        distribution : Distribution
            The distribution of the outcome. It may depend on the data.
        """

    def release(self, value: Any, noise: Distribution, *, site: str, to: To = PUBLIC) -> Any:
        """Show ``value`` plus noise to ``to`` and return the sum. This is ``observe(noise.shift(value))``.

        Parameters
        ----------
        value : number or array
            The exact value. Each entry of an array gets independent noise.
        noise : Distribution
            The distribution of the noise.
        """
        return self.observe(noise.shift(value), site=site, to=to)

    @abstractmethod
    def aggregate(
        self, distributions: Sequence[Distribution], through: Any, *, site: str, to: To = SERVER
    ) -> Any:
        """Draw one outcome per user, map the outcomes to their image, show the image to ``to`` and return it.

        Nobody sees the outcomes of single users.

        Parameters
        ----------
        distributions : sequence of Distribution
            One distribution per user.
        through : Sum, SumMod, Counts or Shuffle
            The image: ``Sum()``, ``SumMod(m)``, ``Counts(outcomes)`` or ``Shuffle()``
            (``dpaudit.distributions.images``).
        """

    @abstractmethod
    def channel(self, kernel: Any, *, site: str, to: To = PUBLIC) -> ChannelSession:
        """Open an interactive channel whose answers ``to`` sees.

        Parameters
        ----------
        kernel : Kernel
            A kernel with a joint distribution of its answers, such as ``AboveThreshold`` or ``BinaryTree``.
        """

    @abstractmethod
    def draw(self, distribution: Distribution, *, site: str) -> Any:
        """Return a hidden draw, such as a bit for randomised rounding. Nobody sees it."""

    @abstractmethod
    def reveal(self, value: Any, *, site: str, to: To = PUBLIC) -> Any:
        """Show ``value`` without noise, such as an arm, a batch size or a stop, and return it."""
