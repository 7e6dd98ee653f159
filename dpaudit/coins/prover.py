"""Run a program for a proof: its data, hidden noise and outcomes are symbols.

This interpreter knows the primitives, and which distributions a proof can follow. It does not know symbols. A
``Followed`` run (``dpaudit/prover/explore.py``) makes them and keeps the path. The proof of one generic step
of a loop passes another ``Followed`` object to the same class.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn, Protocol

from dpaudit.coins.base import ChannelSession, Coins, To
from dpaudit.core.views import PUBLIC, audience
from dpaudit.distributions.base import Distribution
from dpaudit.distributions.binomial import Bernoulli
from dpaudit.distributions.continuous import Exponential, Gaussian, Laplace
from dpaudit.distributions.finite import Categorical
from dpaudit.distributions.lattice import DiscreteLaplace

__all__ = ["Followed", "GaussianCoins", "ProvingCoins"]

#: Distributions whose draws become symbols, by exact type, because a subclass may be another distribution.
NOISE = (Laplace, Exponential, DiscreteLaplace)
#: Noise that a released value may have. One-sided noise has another support on the neighbouring input.
RELEASED = (Laplace, DiscreteLaplace)
FINITE = (Bernoulli, Categorical)


class Followed(Protocol):
    """The interface through which the coins report a run to the prover."""

    def hidden(self, distribution: Distribution) -> Any:
        """Return a fresh noise symbol."""

    def chosen(self, distribution: Distribution) -> int:
        """Return the outcome of a hidden finite draw on this path, a plain integer."""

    def released(self, value: Any, distribution: Distribution) -> Any:
        """Show ``value`` plus noise and return the outcome, a public value."""

    def shown(self, value: Any) -> None:
        """Show ``value`` without noise."""

    def refuse(self, what: str) -> NoReturn:
        """Record the refusal and raise it."""
        raise NotImplementedError


class ProvingCoins(Coins):
    """The coins of a symbolic run that ``follower`` records. Every outcome must be shown to the public."""

    __slots__ = ("_follower",)

    def __init__(self, follower: Followed) -> None:
        self._follower = follower

    def __repr__(self) -> str:
        """Refuse the program, because this text would distinguish a proof from a run."""
        return self._follower.refuse("the coins were turned into text")

    def draw(self, distribution: Distribution, *, site: str) -> Any:
        if type(distribution) in NOISE:
            return self._follower.hidden(distribution)
        if type(distribution) in FINITE:
            return self._follower.chosen(distribution)
        return self._follower.refuse(
            f"the hidden draw {_text(site)} has a distribution for which no shift is known"
        )

    def release(self, value: Any, noise: Distribution, *, site: str, to: To = PUBLIC) -> Any:
        self._to_all(site, to)
        if type(noise) not in RELEASED:
            self._follower.refuse(f"the release {_text(site)} has noise other than (discrete) Laplace")
        return self._follower.released(value, noise)

    def observe(self, distribution: Distribution, *, site: str, to: To = PUBLIC) -> Any:
        """Return an outcome whose distribution does not depend on the data, as a release of 0."""
        return self.release(0, distribution, site=site, to=to)

    def reveal(self, value: Any, *, site: str, to: To = PUBLIC) -> Any:
        self._to_all(site, to)
        self._follower.shown(value)
        return value

    def aggregate(
        self, distributions: Sequence[Distribution], through: Any, *, site: str, to: To = PUBLIC
    ) -> Any:
        return self._follower.refuse(f"the aggregate {_text(site)} is not followed (write it as releases)")

    def channel(self, kernel: Any, *, site: str, to: To = PUBLIC) -> ChannelSession:
        return self._follower.refuse(f"the channel {_text(site)} is not followed (write it out in draws)")

    def _to_all(self, site: str, to: To) -> None:
        if audience(to) != audience(PUBLIC):
            self._follower.refuse(f"{_text(site)} is shown to others instead of the public")


class GaussianCoins(ProvingCoins):
    """The coins of programs whose only randomness is Gaussian noise on released values."""

    __slots__ = ()

    def draw(self, distribution: Distribution, *, site: str) -> Any:
        return self._follower.refuse(
            f"the hidden draw {_text(site)} is not supported with Gaussian releases (try a pure claim)"
        )

    def release(self, value: Any, noise: Distribution, *, site: str, to: To = PUBLIC) -> Any:
        self._to_all(site, to)
        if type(noise) is not Gaussian:
            self._follower.refuse(
                f"the release {_text(site)} has noise other than Gaussian (try a pure claim)"
            )
        return self._follower.released(value, noise)


def _text(site: object) -> str:
    return repr(site)[:60] if type(site) is str else "of a site that is not a text"
