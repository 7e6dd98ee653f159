"""Recorder: run a program and write its transcript. Forcer builds on it."""

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
    """Samples like ``Sampler`` and keeps every site. Hidden draws are drawn as a uniform through the inverse
    cdf, and the uniform is kept."""

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
        """What was recorded so far; ``cut`` says why the run was ended before its own end."""
        return Recording(
            tuple(self.sites),
            tuple(self.kernels),
            self.replicates,
            forced=any(site.forced for site in self.sites),
            cut=cut,
        )

    def end_by(self, error: MechanismError | InvalidParameterError) -> None:
        """Record that the program ended by ``error``."""
        self._keep("raise", "program", PUBLIC, raised_by(error))

    def _outcome(self, distribution: Distribution, site: str) -> tuple[Any, bool]:
        """The outcome at a site, and whether it was chosen rather than drawn."""
        self._admit(size_of(distribution))
        return sample_distribution(distribution, self.rng, self.replicates), False

    def _hidden(self, distribution: Distribution, site: str) -> tuple[Any, Any, bool]:
        """The outcome of a hidden draw, its uniform, and whether it was chosen."""
        uniform = self.rng.random(outer_size(distribution, self.replicates) + distribution.batch_shape)
        return distribution.ppf(uniform), uniform, False

    def _answer(self, session: RecordedSession, query: Any) -> tuple[Any, bool]:
        """A channel's answer, and whether it was chosen."""
        return session.kernel.respond(session.state, query, self.rng, self.replicates), False

    def _admit(self, values: int) -> None:
        """One more site, with so many numbers."""
        self._values += values
        if self._limits is not None:
            self._limits.admit(len(self.sites) + 1, self._values)

    def _keep(self, kind: Kind, site: str, to: To, value: Any, **details: Any) -> Any:
        self.sites.append(
            SiteRecord(kind=kind, site=site, to=audience(to), value=frozen_copy(value), **details)
        )
        return value


class RecordedSession(ChannelSession):
    """An open channel: its kernel and state, and the answers so far."""

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
    """A Python number where the outcome is one."""
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

    With ``keep_errors`` an error of the program's own is how the run ends, an outcome like any other;
    otherwise it is raised. ``limits`` cut the run where it exceeds them (``Recording.cut`` says so).
    """
    return recorded(program, data, Recorder(rng, replicates=replicates, limits=limits), keep_errors)


def recorded(program: Program, data: Any, coins: Recorder, keep_errors: bool) -> Recording:
    """The transcript that ``coins`` write of a run; errors as in ``record``."""
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
