"""Recorder and Forcer: run a program and write its transcript, sampled or along a chosen history."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from statistics import NormalDist
from typing import Any

import numpy as np

from dpaudit.coins.base import ChannelSession, Coins, Program, To
from dpaudit.coins.limits import Limits, StepLimitError, exhausted, size_of
from dpaudit.coins.sampler import outer_size, sample_aggregate, sample_law
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
from dpaudit.errors import InvalidParameterError, MechanismError, NotTractableError
from dpaudit.laws.base import BaseMeasure, Law
from dpaudit.views import NOBODY, PUBLIC, SERVER, audience

__all__ = ["Choice", "Forcer", "ImpossibleHistoryError", "QuantileRng", "Recorder", "force", "record"]


class ImpossibleHistoryError(InvalidParameterError):
    """A chosen outcome has probability 0: the history is none of the program's."""


#: Chooses the outcome at a site: ``choice(site, occurrence, law)`` returns a value, or None to sample.
Choice = Callable[[str, int, Law], Any]


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
    def observe(self, law: Law, *, site: str, to: To = PUBLIC) -> Any:
        value, forced = self._outcome(law, site)
        return self._keep("observe", site, to, value, law=law, forced=forced)

    @unwatched
    def release(self, value: Any, noise: Law, *, site: str, to: To = PUBLIC) -> Any:
        return super().release(value, noise, site=site, to=to)

    @unwatched
    def aggregate(self, laws: Sequence[Law], through: Any, *, site: str, to: To = SERVER) -> Any:
        laws = list(laws)
        try:
            image = through.image_law(laws)
        except NotTractableError as error:
            self._admit(sum(size_of(law) for law in laws))
            value = sample_aggregate(laws, through, self.rng, replicates=self.replicates, per_user=True)
            details: dict[str, Any] = {"obstacle": str(error), "parts": tuple(laws)}
            return self._keep("aggregate", site, to, value, through=through, **details)
        value, forced = self._outcome(image, site)
        return self._keep("aggregate", site, to, value, law=image, forced=forced, through=through)

    def channel(self, kernel: Any, *, site: str, to: To = PUBLIC) -> ChannelSession:
        self.kernels.append(kernel)
        return _RecordedSession(self, kernel, len(self.kernels) - 1, site, to)

    @unwatched
    def draw(self, law: Law, *, site: str) -> Any:
        self._admit(size_of(law))
        uniform = self._uniform(law, site)
        value = law.ppf(uniform)
        plain = value.item() if np.ndim(value) == 0 and isinstance(value, np.ndarray | np.generic) else value
        return self._keep("draw", site, NOBODY, plain, law=law, uniform=uniform)

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

    def _outcome(self, law: Law, site: str) -> tuple[Any, bool]:
        """The outcome at a site, and whether it was chosen rather than drawn."""
        self._admit(size_of(law))
        return sample_law(law, self.rng, self.replicates), False

    def _uniform(self, law: Law, site: str) -> Any:
        """The uniform of a hidden draw."""
        return self.rng.random(outer_size(law, self.replicates) + law.batch_shape)

    def _rng_of(self, site: str) -> Any:
        """What a channel draws its noise with."""
        return self.rng

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


class _RecordedSession(ChannelSession):
    def __init__(self, coins: Recorder, kernel: Any, index: int, site: str, to: To) -> None:
        self._coins, self._kernel, self._index, self._site, self._to = coins, kernel, index, site, to
        self._state = kernel.open()

    @unwatched
    def ask(self, query: Any) -> Any:
        self._coins._admit(size_of(query))
        rng = self._coins._rng_of(self._site)
        value = self._kernel.respond(self._state, query, rng, self._coins.replicates)
        return self._coins._keep(
            "channel", self._site, self._to, value, session=self._index, query=frozen_copy(query)
        )


class Forcer(Recorder):
    """Records a run along a chosen history: worst-case prefixes, rare branches.

    ``choice`` picks outcomes; where it returns None the site is sampled. A chosen outcome of a law with a
    density is moved by a uniform in ``[-radius, radius]``: the forced transcript then has a density, so that
    what it shows holds with positive probability, not on a null set that the adversary never sees. An outcome
    off the support of a counting law raises ``InvalidParameterError``. ``hidden`` maps (site, occurrence) of
    hidden draws to the uniform that they get; ``levels`` maps the names of channels to the quantile at which
    all their noise is drawn.
    """

    def __init__(
        self,
        rng: np.random.Generator,
        choice: Choice,
        *,
        radius: float = 2.0**-20,
        hidden: Mapping[tuple[str, int], float] | None = None,
        levels: Mapping[str, Sequence[float]] | None = None,
        limits: Limits | None = None,
    ) -> None:
        super().__init__(rng, limits=limits)
        if not radius > 0:
            raise InvalidParameterError(
                f"radius must be greater than 0, got {radius}; a forced point must lie in a box."
            )
        self.choice = choice
        self.radius = radius
        self.impossible: ImpossibleHistoryError | None = None
        self._hidden = dict(hidden or {})
        self._levels = {site: QuantileRng(rng, chosen) for site, chosen in (levels or {}).items()}
        self._seen: dict[str, int] = {}
        self._drawn: dict[str, int] = {}

    def _outcome(self, law: Law, site: str) -> tuple[Any, bool]:
        occurrence = self._seen.get(site, 0)
        self._seen[site] = occurrence + 1
        chosen = self.choice(site, occurrence, law)
        self._admit(size_of(law))
        if chosen is None:
            return sample_law(law, self.rng, None), False
        if law.base_measure is BaseMeasure.LEBESGUE:
            # Far out the floats are coarse: the box must hold many of them.
            radius = np.maximum(self.radius, 2.0**-30 * np.abs(chosen))
            chosen = chosen + radius * (2.0 * self.rng.random(np.shape(chosen)) - 1.0)
            chosen = float(chosen) if np.ndim(chosen) == 0 else chosen
        if not np.all(np.isfinite(law.logp(chosen))):
            self.impossible = ImpossibleHistoryError(
                f"a forced outcome must be possible, got {chosen!r} at site {site!r}; choose another."
            )
            raise self.impossible
        return chosen, True

    def _uniform(self, law: Law, site: str) -> Any:
        occurrence = self._drawn.get(site, 0)
        self._drawn[site] = occurrence + 1
        uniform = super()._uniform(law, site)  # drawn in any case: the other sites stay what they were
        chosen = self._hidden.get((site, occurrence))
        return uniform if chosen is None else np.full(np.shape(uniform), chosen)[()]

    def _rng_of(self, site: str) -> Any:
        return self._levels.get(site, self.rng)


class QuantileRng:
    """A generator whose continuous noise comes out at given quantiles, in turn: what a channel draws inside
    can be steered, and its answers stay possible ones."""

    def __init__(self, rng: np.random.Generator, levels: Sequence[float]) -> None:
        self._rng = rng
        self._levels = list(levels)
        self._next = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._rng, name)

    def _level(self) -> float:
        self._next += 1
        return self._levels[(self._next - 1) % len(self._levels)]

    def laplace(self, loc: float = 0.0, scale: float = 1.0, size: Any = None) -> Any:
        q = self._level()
        side = np.log(2 * q) if q < 0.5 else -np.log(2 * (1 - q))
        return np.full(size or (), loc + scale * side)

    def exponential(self, scale: float = 1.0, size: Any = None) -> Any:
        return np.full(size or (), -scale * np.log1p(-self._level()))

    def normal(self, loc: float = 0.0, scale: float = 1.0, size: Any = None) -> Any:
        return np.full(size or (), loc + scale * NormalDist().inv_cdf(self._level()))


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
    return _recorded(program, data, Recorder(rng, replicates=replicates, limits=limits), keep_errors)


def force(
    program: Program,
    data: Any,
    choice: Choice,
    *,
    rng: np.random.Generator,
    radius: float = 2.0**-20,
    hidden: Mapping[tuple[str, int], float] | None = None,
    levels: Mapping[str, Sequence[float]] | None = None,
    keep_errors: bool = False,
    limits: Limits | None = None,
) -> Recording:
    """Run ``program`` on ``data`` along a chosen history and return its transcript; see ``Forcer`` and
    ``record``.

    Raises ``ImpossibleHistoryError`` for an impossible outcome, even if the program catches it: a run that
    goes on without the site's outcome is not one of its runs.
    """
    coins = Forcer(rng, choice, radius=radius, hidden=hidden, levels=levels, limits=limits)
    try:
        return _recorded(program, data, coins, keep_errors)
    finally:
        if coins.impossible is not None:
            raise coins.impossible


def _recorded(program: Program, data: Any, coins: Recorder, keep_errors: bool) -> Recording:
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
