"""Sampler: the interpreter that only samples, whole arrays at a time. Recorder builds on it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dpaudit.coins.base import ChannelSession, Coins, To
from dpaudit.core.errors import InvalidParameterError, NotTractableError
from dpaudit.core.views import PUBLIC, SERVER
from dpaudit.distributions.base import Distribution

__all__ = ["Sampler", "sample_aggregate", "sample_distribution"]


class Sampler(Coins):
    """Draws every site from its distribution and keeps nothing.

    ``rng`` is the only source of randomness. With ``replicates=R`` outcomes have a leading axis of length R,
    which array-valued parameters must carry already. With ``per_user=True`` aggregates are drawn user by user
    instead of from the image distribution: the same distribution, slower, for tests.
    """

    def __init__(
        self, rng: np.random.Generator, *, replicates: int | None = None, per_user: bool = False
    ) -> None:
        if replicates is not None and replicates < 1:
            raise InvalidParameterError(
                f"replicates must be 1 or more, got {replicates}; pass None for a single run."
            )
        self.rng = rng
        self.replicates = replicates
        self.per_user = per_user

    def observe(self, distribution: Distribution, *, site: str, to: To = PUBLIC) -> Any:
        return sample_distribution(distribution, self.rng, self.replicates)

    def release(self, value: Any, noise: Distribution, *, site: str, to: To = PUBLIC) -> Any:
        # The same distribution as noise.shift(value), without building it: this is the hot path of every
        # simulation.
        if noise.event_ndim:
            return self.observe(noise.shift(value), site=site, to=to)
        shape = np.shape(value)
        if self.replicates is not None and not shape:
            shape = (self.replicates,)
        return _plain(value + noise.sample(self.rng, shape))

    def aggregate(
        self, distributions: Sequence[Distribution], through: Any, *, site: str, to: To = SERVER
    ) -> Any:
        return sample_aggregate(
            distributions, through, self.rng, replicates=self.replicates, per_user=self.per_user
        )

    def channel(self, kernel: Any, *, site: str, to: To = PUBLIC) -> ChannelSession:
        return _SampledSession(kernel, self.rng, self.replicates)

    def draw(self, distribution: Distribution, *, site: str) -> Any:
        return sample_distribution(distribution, self.rng, self.replicates)

    def reveal(self, value: Any, *, site: str, to: To = PUBLIC) -> Any:
        return value


class _SampledSession(ChannelSession):
    def __init__(self, kernel: Any, rng: np.random.Generator, replicates: int | None) -> None:
        self._kernel, self._rng, self._replicates = kernel, rng, replicates
        self._state = kernel.open()

    def ask(self, query: Any) -> Any:
        return self._kernel.respond(self._state, query, self._rng, self._replicates)


def sample_distribution(distribution: Distribution, rng: np.random.Generator, replicates: int | None) -> Any:
    """One outcome of ``distribution`` (a plain scalar where it is one), or ``replicates`` of them on a
    leading axis."""
    return _plain(distribution.sample(rng, outer_size(distribution, replicates)))


def outer_size(distribution: Distribution, replicates: int | None) -> tuple[int, ...]:
    """The sample size that gives one outcome per replicate: array-valued parameters carry the replicate axis
    themselves."""
    if replicates is None:
        return ()
    shape = distribution.batch_shape
    if not shape:
        return (replicates,)
    if shape[0] != replicates:
        raise InvalidParameterError(
            f"an array-valued parameter must have the {replicates} replicates as its leading axis, got "
            f"shape {shape}; "
            f"broadcast it to ({replicates}, ...)."
        )
    return ()


def sample_aggregate(
    distributions: Sequence[Distribution],
    through: Any,
    rng: np.random.Generator,
    *,
    replicates: int | None,
    per_user: bool = False,
) -> Any:
    """Draw an aggregate from its image distribution, or user by user where there is no such distribution (or
    ``per_user`` asks for it)."""
    if not per_user:
        try:
            return sample_distribution(through.image_distribution(distributions), rng, replicates)
        except NotTractableError:
            pass  # no closed form of the image: draw the parts, which gives the same distribution
    parts = [sample_distribution(distribution, rng, replicates) for distribution in distributions]
    if replicates is None:
        return _plain(through.apply(parts))
    return np.stack([np.asarray(through.apply([part[r] for part in parts])) for r in range(replicates)])


def _plain(value: Any) -> Any:
    """A Python scalar where the outcome is one number; programs branch on it and reveal it."""
    return value.item() if isinstance(value, np.ndarray | np.generic) and value.ndim == 0 else value
