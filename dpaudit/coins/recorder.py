"""Recorder and Forcer: run a program and write its transcript, sampled or along a chosen history."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dpaudit.coins.base import ChannelSession, Coins, Program, To
from dpaudit.coins.sampler import outer_size, sample_aggregate, sample_law
from dpaudit.coins.transcript import Kind, Recording, SiteRecord, frozen_copy, require_plain, run_program
from dpaudit.errors import InvalidParameterError, NotTractableError
from dpaudit.laws.base import BaseMeasure, Law
from dpaudit.views import NOBODY, PUBLIC, SERVER, audience

__all__ = ["Choice", "Forcer", "Recorder", "force", "record"]

#: Chooses the outcome at a site: ``choice(site, occurrence, law)`` returns a value, or None to sample.
Choice = Callable[[str, int, Law], Any]


class Recorder(Coins):
    """Samples like ``Sampler`` and keeps every site. Hidden draws are drawn as a uniform through the inverse
    cdf, and the uniform is kept."""

    def __init__(self, rng: np.random.Generator, *, replicates: int | None = None) -> None:
        self.rng = rng
        self.replicates = replicates
        self.sites: list[SiteRecord] = []
        self.kernels: list[Any] = []

    def observe(self, law: Law, *, site: str, to: To = PUBLIC) -> Any:
        value, forced = self._outcome(law, site)
        return self._keep("observe", site, to, value, law=law, forced=forced)

    def aggregate(self, laws: Sequence[Law], through: Any, *, site: str, to: To = SERVER) -> Any:
        laws = list(laws)
        try:
            image = through.image_law(laws)
        except NotTractableError as error:
            value = sample_aggregate(laws, through, self.rng, replicates=self.replicates, per_user=True)
            return self._keep("aggregate", site, to, value, obstacle=str(error), parts=tuple(laws))
        value, forced = self._outcome(image, site)
        return self._keep("aggregate", site, to, value, law=image, forced=forced)

    def channel(self, kernel: Any, *, site: str, to: To = PUBLIC) -> ChannelSession:
        self.kernels.append(kernel)
        return _RecordedSession(self, kernel, len(self.kernels) - 1, site, to)

    def draw(self, law: Law, *, site: str) -> Any:
        uniform = self.rng.random(outer_size(law, self.replicates) + law.batch_shape)
        value = law.ppf(uniform)
        plain = value.item() if np.ndim(value) == 0 and isinstance(value, np.ndarray | np.generic) else value
        return self._keep("draw", site, NOBODY, plain, law=law, uniform=uniform)

    def reveal(self, value: Any, *, site: str, to: To = PUBLIC) -> Any:
        require_plain(value)
        self._keep("reveal", site, to, value)
        return value

    def recording(self) -> Recording:
        """What was recorded so far."""
        return Recording(
            tuple(self.sites), tuple(self.kernels), self.replicates, any(s.forced for s in self.sites)
        )

    def _outcome(self, law: Law, site: str) -> tuple[Any, bool]:
        """The outcome at a site, and whether it was chosen rather than drawn."""
        return sample_law(law, self.rng, self.replicates), False

    def _keep(self, kind: Kind, site: str, to: To, value: Any, **details: Any) -> Any:
        self.sites.append(
            SiteRecord(kind=kind, site=site, to=audience(to), value=frozen_copy(value), **details)
        )
        return value


class _RecordedSession(ChannelSession):
    def __init__(self, coins: Recorder, kernel: Any, index: int, site: str, to: To) -> None:
        self._coins, self._kernel, self._index, self._site, self._to = coins, kernel, index, site, to
        self._state = kernel.open()

    def ask(self, query: Any) -> Any:
        value = self._kernel.respond(self._state, query, self._coins.rng, self._coins.replicates)
        return self._coins._keep(
            "channel", self._site, self._to, value, session=self._index, query=frozen_copy(query)
        )


class Forcer(Recorder):
    """Records a run along a chosen history: worst-case prefixes, rare branches.

    ``choice`` picks outcomes; where it returns None the site is sampled. A chosen outcome of a law with a
    density is moved by a uniform in ``[-radius, radius]``: the forced transcript then has a density, so that
    what it shows holds with positive probability, not on a null set that the adversary never sees. An outcome
    off the support of a counting law raises ``InvalidParameterError``.
    """

    def __init__(self, rng: np.random.Generator, choice: Choice, *, radius: float = 2.0**-20) -> None:
        super().__init__(rng)
        if not radius > 0:
            raise InvalidParameterError(
                f"radius must be greater than 0, got {radius}; a forced point must lie in a box."
            )
        self.choice = choice
        self.radius = radius
        self.impossible: InvalidParameterError | None = None
        self._seen: dict[str, int] = {}

    def _outcome(self, law: Law, site: str) -> tuple[Any, bool]:
        occurrence = self._seen.get(site, 0)
        self._seen[site] = occurrence + 1
        chosen = self.choice(site, occurrence, law)
        if chosen is None:
            return sample_law(law, self.rng, None), False
        if law.base_measure is BaseMeasure.LEBESGUE:
            # Far out the floats are coarse: the box must hold many of them.
            radius = np.maximum(self.radius, 2.0**-30 * np.abs(chosen))
            chosen = chosen + radius * (2.0 * self.rng.random(np.shape(chosen)) - 1.0)
            chosen = float(chosen) if np.ndim(chosen) == 0 else chosen
        if not np.all(np.isfinite(law.logp(chosen))):
            self.impossible = InvalidParameterError(
                f"a forced outcome must be possible, got {chosen!r} at site {site!r}; choose another."
            )
            raise self.impossible
        return chosen, True


def record(
    program: Program, data: Any, *, rng: np.random.Generator, replicates: int | None = None
) -> Recording:
    """Run ``program`` on ``data`` and return its transcript."""
    coins = Recorder(rng, replicates=replicates)
    run_program(program, data, coins)
    return replace(coins.recording(), data=data)


def force(
    program: Program, data: Any, choice: Choice, *, rng: np.random.Generator, radius: float = 2.0**-20
) -> Recording:
    """Run ``program`` on ``data`` along a chosen history and return its transcript.

    Raises ``InvalidParameterError`` for an impossible outcome, even if the program catches it: a run that
    goes on without the site's outcome is not one of its runs.
    """
    coins = Forcer(rng, choice, radius=radius)
    try:
        run_program(program, data, coins)
    finally:
        if coins.impossible is not None:
            raise coins.impossible
    return replace(coins.recording(), data=data)
