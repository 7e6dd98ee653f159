"""Run a program and write its transcript. ``Forcer`` builds on ``Recorder``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dpaudit.coins.base import ChannelSession, Coins, Program, To
from dpaudit.coins.limits import Limits, StepLimitError, exhausted, size_of
from dpaudit.coins.sampler import outer_size, sample_aggregate, sample_distribution
from dpaudit.coins.transcript import (
    Kind,
    Recording,
    SiteRecord,
    frozen_copy,
    raised_by,
    require_plain,
    run_program,
)
from dpaudit.coins.unwatched import unwatched
from dpaudit.core.errors import InvalidParameterError, MechanismError, NotTractableError
from dpaudit.core.views import NOBODY, PUBLIC, SERVER, audience
from dpaudit.distributions.base import Distribution

__all__ = ["RecordedSession", "Recorder", "plain", "record", "recorded"]


class Recorder(Coins):
    """An interpreter that samples like ``Sampler`` and records every site.

    A hidden draw is the inverse cdf of a uniform number, which is recorded too.

    Parameters
    ----------
    rng : numpy.random.Generator
        The only source of randomness.
    replicates : int, optional
        The length of a leading axis of every outcome. Default: no such axis.
    limits : Limits, optional
        Limits of the run. Default: none.
    """

    def __init__(
        self, rng: np.random.Generator, *, replicates: int | None = None, limits: Limits | None = None
    ) -> None:
        self.rng = rng
        self.replicates = replicates
        self.sites: list[SiteRecord] = []
        self.kernels: list[Any] = []
        self.refused: InvalidParameterError | None = None
        self._limits = limits
        self._values = 0

    @unwatched
    def observe(self, distribution: Distribution, *, site: str, to: To = PUBLIC) -> Any:
        value, forced = self._outcome(distribution, site)
        return self._keep("observe", site, to, value, distribution=distribution, forced=forced)

    @unwatched
    def release(self, value: Any, noise: Distribution, *, site: str, to: To = PUBLIC) -> Any:
        return super().release(value, noise, site=site, to=to)

    @unwatched
    def aggregate(
        self, distributions: Sequence[Distribution], through: Any, *, site: str, to: To = SERVER
    ) -> Any:
        distributions = list(distributions)
        try:
            image = through.image_distribution(distributions)
        except NotTractableError as error:
            self._admit(sum(size_of(distribution) for distribution in distributions))
            value = sample_aggregate(
                distributions, through, self.rng, replicates=self.replicates, per_user=True
            )
            details: dict[str, Any] = {"unmet_condition": str(error), "parts": tuple(distributions)}
            return self._keep("aggregate", site, to, value, through=through, **details)
        value, forced = self._outcome(image, site)
        return self._keep("aggregate", site, to, value, distribution=image, forced=forced, through=through)

    def channel(self, kernel: Any, *, site: str, to: To = PUBLIC) -> ChannelSession:
        self.kernels.append(kernel)
        return RecordedSession(self, kernel, len(self.kernels) - 1, site, to)

    @unwatched
    def draw(self, distribution: Distribution, *, site: str) -> Any:
        self._admit(size_of(distribution))
        value, uniform, forced = self._hidden(distribution, site)
        return self._keep(
            "draw", site, NOBODY, plain(value), distribution=distribution, uniform=uniform, forced=forced
        )

    @unwatched
    def reveal(self, value: Any, *, site: str, to: To = PUBLIC) -> Any:
        self._admit(size_of(value))
        try:
            require_plain(value)
        except InvalidParameterError as error:
            self.refused = error  # stays, even if the program catches it
            raise
        self._keep("reveal", site, to, value)
        return value

    def recording(self, *, cut: str = "") -> Recording:
        """Return what was recorded so far. ``cut`` is the reason if the run was ended early."""
        return Recording(
            tuple(self.sites),
            tuple(self.kernels),
            self.replicates,
            forced=any(site.forced for site in self.sites),
            cut=cut,
        )

    def end_by(self, error: MechanismError | InvalidParameterError) -> None:
        """Record that the program ended with ``error``."""
        self._keep("raise", "program", PUBLIC, raised_by(error))

    def _outcome(self, distribution: Distribution, site: str) -> tuple[Any, bool]:
        """Return the outcome at a site, and whether it was chosen instead of drawn."""
        self._admit(size_of(distribution))
        return sample_distribution(distribution, self.rng, self.replicates), False

    def _hidden(self, distribution: Distribution, site: str) -> tuple[Any, Any, bool]:
        """Return the outcome of a hidden draw, its uniform number, and whether it was chosen."""
        uniform = self.rng.random(outer_size(distribution, self.replicates) + distribution.batch_shape)
        return distribution.ppf(uniform), uniform, False

    def _answer(self, session: RecordedSession, query: Any) -> tuple[Any, bool]:
        """Return a channel's answer, and whether it was chosen."""
        return session.kernel.respond(session.state, query, self.rng, self.replicates), False

    def _admit(self, values: int) -> None:
        """Count one more site with this many numbers, and raise ``StepLimitError`` above a limit."""
        self._values += values
        if self._limits is not None:
            self._limits.admit(len(self.sites) + 1, self._values)

    def _keep(self, kind: Kind, site: str, to: To, value: Any, **details: Any) -> Any:
        self.sites.append(
            SiteRecord(kind=kind, site=site, to=audience(to), value=frozen_copy(value), **details)
        )
        return value


class RecordedSession(ChannelSession):
    """An open channel: its kernel, its state, and the queries and answers so far."""

    def __init__(self, coins: Recorder, kernel: Any, index: int, site: str, to: To) -> None:
        self._coins, self._kernel, self._index, self._to = coins, kernel, index, to
        self.site = site
        self.state = kernel.open()
        self.queries: list[Any] = []
        self.answers: list[Any] = []
        self.forced = False

    @property
    def kernel(self) -> Any:
        return self._kernel

    @unwatched
    def ask(self, query: Any) -> Any:
        self._coins._admit(size_of(query))
        self.queries.append(frozen_copy(query))
        value, forced = self._coins._answer(self, query)
        self.answers.append(value)
        self.forced = self.forced or forced
        details = {"session": self._index, "query": frozen_copy(query), "forced": forced}
        return self._coins._keep("channel", self.site, self._to, value, **details)


def plain(value: Any) -> Any:
    """Return a Python number for an outcome that is a single number, and other outcomes unchanged."""
    return value.item() if np.ndim(value) == 0 and isinstance(value, np.ndarray | np.generic) else value


def record(
    program: Program,
    data: Any,
    *,
    rng: np.random.Generator,
    replicates: int | None = None,
    keep_errors: bool = False,
    limits: Limits | None = None,
) -> Recording:
    """Run ``program`` on ``data`` and return its transcript.

    Parameters
    ----------
    program, data : callable, object
        The program ``program(coins, data)`` and its input.
    rng : numpy.random.Generator
        The only source of randomness.
    replicates : int, optional
        The length of a leading axis of every outcome. Default: no such axis.
    keep_errors : bool
        If true, an error of the program is recorded as the outcome with which the run ends (False).
    limits : Limits, optional
        A run that exceeds these limits is cut there, and ``Recording.cut`` holds the reason.

    Returns
    -------
    Recording
        The sites in order, the return value last.

    Raises
    ------
    MechanismError
        The program raises, and ``keep_errors`` is false.
    InvalidParameterError
        The program shows a value that is not plain data, even if it catches this error.
    """
    return recorded(program, data, Recorder(rng, replicates=replicates, limits=limits), keep_errors)


def recorded(program: Program, data: Any, coins: Recorder, keep_errors: bool) -> Recording:
    """Return the transcript that ``coins`` write of a run. Errors are handled as in ``record``."""
    try:
        run_program(program, data, coins)
    except StepLimitError as error:
        return replace(coins.recording(cut=exhausted(error)), data=data)
    except (MechanismError, InvalidParameterError) as error:
        if not keep_errors or coins.refused is not None:
            raise
        why = exhausted(error.__cause__)
        if why:
            return replace(coins.recording(cut=why), data=data)
        coins.end_by(error)
    if coins.refused is not None:
        raise coins.refused
    return replace(coins.recording(), data=data)
