"""Run a program along a chosen history and write its transcript."""

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

#: A function that chooses outcomes: ``choice(site, occurrence, distribution)`` returns a value, or None to
#: sample. Occurrences count from 0, separately for the hidden draws and the other sites of one name. At a
#: channel, ``distribution`` is the distribution of the next answer if the kernel has one (a node of a tree),
#: and otherwise the kernel.
Choice = Callable[[str, int, Distribution], Any]


class ImpossibleHistoryError(InvalidParameterError):
    """The program cannot produce this history: a chosen outcome has probability 0."""

    code = "E-HISTORY-IMPOSSIBLE"


class Forcer(Recorder):
    """An interpreter that records a run along a chosen history, such as a worst-case prefix or a rare branch.

    After a forced answer, the later answers of its channel are drawn conditionally on the earlier ones.

    Parameters
    ----------
    rng : numpy.random.Generator
        The source of all outcomes that are not chosen.
    choice : callable
        Chooses outcomes, also of hidden draws and channels. Where it returns None, the site is sampled.
    radius : float
        A chosen outcome of a distribution with a density is shifted by a uniform number in
        ``[-radius, radius]`` (2^-20). The forced transcript then has a density, so that its event has
        positive probability and is not a null set that the adversary never sees.
    hidden : mapping of (site, occurrence) to float, optional
        The uniform numbers from which hidden draws are computed.
    levels : mapping of str to sequence of float, optional
        For channels by name, the quantiles at which all their noise is drawn, in turn.
    limits : Limits, optional
        Limits of the run.

    Raises
    ------
    InvalidParameterError
        ``radius`` is not positive.
    ImpossibleHistoryError
        A chosen outcome has probability 0, such as a number outside the support of a distribution.
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
                f"radius must be greater than 0, got {radius}. A forced outcome needs a box around it.",
                code="E-RADIUS-RANGE",
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
        # Draw in any case, so that the choice does not change the outcomes at other sites.
        value, uniform, _ = super()._hidden(distribution, site)
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
        """Return a chosen outcome in its box, or raise ``ImpossibleHistoryError`` if its probability is 0."""
        if distribution.base_measure is BaseMeasure.LEBESGUE:
            # Large floats are sparse, and the box must hold many of them.
            radius = np.maximum(self.radius, 2.0**-30 * np.abs(chosen))
            chosen = plain(chosen + radius * (2.0 * self.rng.random(np.shape(chosen)) - 1.0))
        if not np.all(np.isfinite(distribution.logp(chosen))):
            raise self._impossible(site, chosen)
        return chosen

    def _impossible(self, site: str, chosen: Any) -> ImpossibleHistoryError:
        self.impossible = ImpossibleHistoryError(
            f"a forced outcome must have positive probability, got {chosen!r} at site {site!r}."
        )
        return self.impossible


class QuantileRng:
    """A generator whose continuous noise is drawn at given quantiles, in turn.

    It steers the hidden noise of a channel, so that all answers remain possible.
    """

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
    """Run ``program`` on ``data`` along a chosen history and return its transcript.

    Parameters
    ----------
    program, data : callable, object
        The program ``program(coins, data)`` and its input.
    choice, rng, radius, hidden, levels
        As in ``Forcer``.
    keep_errors, limits
        As in ``record``.

    Returns
    -------
    Recording
        The transcript, in which ``forced`` marks the chosen outcomes.

    Raises
    ------
    ImpossibleHistoryError
        A chosen outcome has probability 0. This error is raised even if the program catches it, because a
        run that continues without the outcome of a site is not a run of the program.
    """
    coins = Forcer(rng, choice, radius=radius, hidden=hidden, levels=levels, limits=limits)
    try:
        return recorded(program, data, coins, keep_errors)
    finally:
        if coins.impossible is not None:
            raise coins.impossible
