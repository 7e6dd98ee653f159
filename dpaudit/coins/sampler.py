"""Run a program by sampling only, whole arrays at a time. ``Recorder`` uses the same functions."""

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
    """An interpreter that draws every site from its distribution and records nothing.

    Parameters
    ----------
    rng : numpy.random.Generator
        The only source of randomness.
    replicates : int, optional
        The length R of a leading axis of every outcome, which array-valued parameters must have already.
        Default: no such axis.
    per_user : bool
        Draw aggregates user by user instead of from the image distribution (False). The distribution is the
        same, but this is slower. It is for tests.

    Raises
    ------
    InvalidParameterError
        ``replicates`` is less than 1.
    """

    def __init__(
        self, rng: np.random.Generator, *, replicates: int | None = None, per_user: bool = False
    ) -> None:
        if replicates is not None and replicates < 1:
            raise InvalidParameterError(
                f"replicates must be 1 or more, or None for a single run, got {replicates}.",
                code="E-REPLICATES-RANGE",
            )
        self.rng = rng
        self.replicates = replicates
        self.per_user = per_user

    def observe(self, distribution: Distribution, *, site: str, to: To = PUBLIC) -> Any:
        return sample_distribution(distribution, self.rng, self.replicates)

    def release(self, value: Any, noise: Distribution, *, site: str, to: To = PUBLIC) -> Any:
        # This is the hot path of every simulation, so noise.shift(value) is sampled without building it.
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
    """Return one outcome of ``distribution``, or ``replicates`` outcomes on a leading axis.

    A single number is returned as a Python scalar.
    """
    return _plain(distribution.sample(rng, outer_size(distribution, replicates)))


def outer_size(distribution: Distribution, replicates: int | None) -> tuple[int, ...]:
    """Return the sample size that gives one outcome per replicate.

    Array-valued parameters already have the replicate axis. Raise ``InvalidParameterError`` if they do not.
    """
    if replicates is None:
        return ()
    shape = distribution.batch_shape
    if not shape:
        return (replicates,)
    if shape[0] != replicates:
        raise InvalidParameterError(
            f"an array-valued parameter must have the {replicates} replicates as its leading axis, got "
            f"shape {shape}. Broadcast it to ({replicates}, ...).",
            code="E-REPLICATES-SHAPE",
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
    """Draw an aggregate from its image distribution, or user by user if there is none or if ``per_user``."""
    if not per_user:
        try:
            return sample_distribution(through.image_distribution(distributions), rng, replicates)
        except NotTractableError:
            pass  # the image has no closed form, and drawing the parts gives the same distribution
    parts = [sample_distribution(distribution, rng, replicates) for distribution in distributions]
    if replicates is None:
        return _plain(through.apply(parts))
    return np.stack([np.asarray(through.apply([part[r] for part in parts])) for r in range(replicates)])


def _plain(value: Any) -> Any:
    """Return a Python scalar for a single number, because programs branch on it and reveal it."""
    return value.item() if isinstance(value, np.ndarray | np.generic) and value.ndim == 0 else value
