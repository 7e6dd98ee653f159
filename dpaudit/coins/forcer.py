"""Forcer: run a program along a chosen history and write its transcript."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from statistics import NormalDist
from typing import Any

import numpy as np

from dpaudit.coins.base import Program
from dpaudit.coins.levels import uniform_of
from dpaudit.coins.limits import Limits, size_of
from dpaudit.coins.recorder import RecordedSession, Recorder, plain, recorded
from dpaudit.coins.sampler import sample_distribution
from dpaudit.coins.transcript import Recording
from dpaudit.core.errors import InvalidParameterError
from dpaudit.distributions.base import BaseMeasure, Distribution

__all__ = ["Choice", "Forcer", "ImpossibleHistoryError", "QuantileRng", "force"]

#: Chooses the outcome at a random site: ``choice(site, occurrence, distribution)`` returns a value, or None
#: to sample.
#: Occurrences count from 0, hidden draws of a name apart from its other sites. At a channel whose next answer
#: has a distribution of its own (a node of a tree) ``distribution`` is that distribution, at others the
#: kernel.
Choice = Callable[[str, int, Distribution], Any]


class ImpossibleHistoryError(InvalidParameterError):
    """A chosen outcome has probability 0: the history is none of the program's."""


class Forcer(Recorder):
    """Records a run along a chosen history: worst-case prefixes, rare branches.

    ``choice`` picks outcomes, of hidden draws and of channels too; where it returns None the site is sampled.
    A chosen outcome of a distribution with a density is moved by a uniform in ``[-radius, radius]``: the
    forced
    transcript then has a density, so that what it shows holds with positive probability, not on a null set
    that the adversary never sees. An outcome off the support of a counting distribution raises
    ``ImpossibleHistoryError``. After a forced answer a channel's later ones are drawn given those before.
    ``hidden`` maps (site, occurrence) of hidden draws to the uniform that they get; ``levels`` maps the names
    of channels to the quantile at which all their noise is drawn.
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
        self._levels_of_draws = dict(hidden or {})
        self._levels = {site: QuantileRng(rng, chosen) for site, chosen in (levels or {}).items()}
        self._seen: dict[str, int] = {}
        self._drawn: dict[str, int] = {}

    def _outcome(self, distribution: Distribution, site: str) -> tuple[Any, bool]:
        chosen = self.choice(site, self._next(self._seen, site), distribution)
        self._admit(size_of(distribution))
        if chosen is None:
            return sample_distribution(distribution, self.rng, None), False
        return self._possible(distribution, site, chosen), True

    def _hidden(self, distribution: Distribution, site: str) -> tuple[Any, Any, bool]:
        occurrence = self._next(self._drawn, site)
        value, uniform, _ = super()._hidden(
            distribution, site
        )  # drawn in any case: other sites stay what they were
        level = self._levels_of_draws.get((site, occurrence))
        if level is not None:
            uniform = np.full(np.shape(uniform), level)[()]
            return distribution.ppf(uniform), uniform, True
        chosen = self.choice(site, occurrence, distribution)
        if chosen is None:
            return value, uniform, False
        chosen = self._possible(distribution, site, chosen)
        return chosen, uniform_of(distribution, chosen), True

    def _answer(self, session: RecordedSession, query: Any) -> tuple[Any, bool]:
        kernel, site = session.kernel, session.site
        distribution = kernel.answer_distribution(session.state, query)
        chosen = self.choice(site, self._next(self._seen, site), distribution)
        if chosen is None:
            rng: Any = self._levels.get(site, self.rng)
            if session.forced:
                answer = kernel.respond_after(session.state, session.queries, session.answers, rng)
            else:
                answer = kernel.respond(session.state, query, rng)
            return answer, False
        if isinstance(distribution, Distribution):
            chosen = self._possible(distribution, site, chosen)
        elif not np.isfinite(kernel.log_joint(session.queries, [*session.answers, chosen])).all():
            raise self._impossible(site, chosen)
        kernel.take(session.state, query, chosen)
        return chosen, True

    @staticmethod
    def _next(counts: dict[str, int], site: str) -> int:
        counts[site] = counts.get(site, 0) + 1
        return counts[site] - 1

    def _possible(self, distribution: Distribution, site: str, chosen: Any) -> Any:
        """A chosen outcome in its box; raises where it has probability 0."""
        if distribution.base_measure is BaseMeasure.LEBESGUE:
            # Far out the floats are coarse: the box must hold many of them.
            radius = np.maximum(self.radius, 2.0**-30 * np.abs(chosen))
            chosen = plain(chosen + radius * (2.0 * self.rng.random(np.shape(chosen)) - 1.0))
        if not np.all(np.isfinite(distribution.logp(chosen))):
            raise self._impossible(site, chosen)
        return chosen

    def _impossible(self, site: str, chosen: Any) -> ImpossibleHistoryError:
        self.impossible = ImpossibleHistoryError(
            f"a forced outcome must be possible, got {chosen!r} at site {site!r}; choose another."
        )
        return self.impossible


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
        return recorded(program, data, coins, keep_errors)
    finally:
        if coins.impossible is not None:
            raise coins.impossible
