"""Mutants as transformations of a program: each makes, from any program, one with a known mistake.

A mutant runs the program with coins that pass everything on to the real ones, except for the mistake:

    half = scaled("1/2")(program)

``sites`` is a shell-style pattern of the sites at which the mistake is made. A mistake that a program has no
place for (shared noise where nothing is released twice) leaves it as it was: hold each mutant against what it
must be caught by (``controls``). Where the mistake itself cannot be made (a distribution without a scale), no
run says anything about the mutant: ``BrokenMutantError`` ends it.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from dpaudit.coins import Coins, Program
from dpaudit.coins.base import ChannelSession, To
from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.exact import ExactLike, exact, positive
from dpaudit.core.views import PUBLIC, SERVER, audience
from dpaudit.distributions import (
    DiscreteGaussian,
    DiscreteLaplace,
    Distribution,
    Gaussian,
    Laplace,
    PointMass,
    Shifted,
    Skellam,
)

__all__ = [
    "BrokenMutantError",
    "Mutation",
    "branching",
    "one_share_less",
    "reusing",
    "scaled",
    "shared",
    "twice",
    "widened",
    "with_scale",
    "without",
]

#: From a program to one with a mistake.
Mutation = Callable[[Program], Program]


class BrokenMutantError(BaseException):
    """The transformation itself raised, so that there is no mutant. A BaseException: no program catches it,
    and no interpreter takes it for an outcome."""


@dataclass
class _Passing(Coins):
    """Coins that pass every call on; a mistake overrides one of them. ``passed_on`` is what the real coins
    raised last."""

    real: Coins
    sites: str = "*"
    replicates: int | None = field(init=False, default=None)
    kept: dict[Any, Any] = field(init=False, default_factory=dict)
    passed_on: Exception | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self.replicates = self.real.replicates

    def meant(self, site: str) -> bool:
        """Whether the mistake is made at this site."""
        return fnmatch.fnmatchcase(site, self.sites)

    def observe(self, distribution: Distribution, *, site: str, to: To = PUBLIC) -> Any:
        with self._asking():
            return self.real.observe(distribution, site=site, to=to)

    def aggregate(
        self, distributions: Sequence[Distribution], through: Any, *, site: str, to: To = SERVER
    ) -> Any:
        with self._asking():
            return self.real.aggregate(distributions, through, site=site, to=to)

    def channel(self, kernel: Any, *, site: str, to: To = PUBLIC) -> ChannelSession:
        with self._asking():
            return self.real.channel(kernel, site=site, to=to)

    def draw(self, distribution: Distribution, *, site: str) -> Any:
        with self._asking():
            return self.real.draw(distribution, site=site)

    def reveal(self, value: Any, *, site: str, to: To = PUBLIC) -> Any:
        with self._asking():
            return self.real.reveal(value, site=site, to=to)

    @contextmanager
    def _asking(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            self.passed_on = error
            raise


class _Guarded(Coins):
    """What a mutant sees of its coins: an error of the mistake's own, and none that the real coins raised,
    ends the run as ``BrokenMutantError``."""

    def __init__(self, mistake: _Passing) -> None:
        self.mistake = mistake
        self.replicates = mistake.replicates

    @contextmanager
    def _making(self, site: str) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            if error is self.mistake.passed_on:
                raise
            name = type(self.mistake).__name__.lower()
            raise BrokenMutantError(f"{name} at site {site!r}: {type(error).__name__}: {error}") from error

    def observe(self, distribution: Distribution, *, site: str, to: To = PUBLIC) -> Any:
        with self._making(site):
            return self.mistake.observe(distribution, site=site, to=to)

    def aggregate(
        self, distributions: Sequence[Distribution], through: Any, *, site: str, to: To = SERVER
    ) -> Any:
        with self._making(site):
            return self.mistake.aggregate(distributions, through, site=site, to=to)

    def channel(self, kernel: Any, *, site: str, to: To = PUBLIC) -> ChannelSession:
        with self._making(site):
            return self.mistake.channel(kernel, site=site, to=to)

    def draw(self, distribution: Distribution, *, site: str) -> Any:
        with self._making(site):
            return self.mistake.draw(distribution, site=site)

    def reveal(self, value: Any, *, site: str, to: To = PUBLIC) -> Any:
        with self._making(site):
            return self.mistake.reveal(value, site=site, to=to)


def _mutation(make: Callable[[Coins], _Passing]) -> Mutation:
    def mutate(program: Program) -> Program:
        def mutant(coins: Coins, data: Any) -> Any:
            return program(_Guarded(make(coins)), data)

        return mutant

    return mutate


def with_scale(distribution: Distribution, factor: Fraction) -> Distribution:
    """``distribution`` with ``factor`` times its scale, around the same centre.

    Raises ``InvalidParameterError`` for a distribution that has no scale of its own.
    """
    if isinstance(distribution, Shifted):
        return with_scale(distribution.base, factor).shift(distribution.offset)
    if isinstance(distribution, Laplace):
        return Laplace(scale=distribution.scale * factor)
    if isinstance(distribution, Gaussian):
        return Gaussian(variance=distribution.sigma2 * factor**2)
    if isinstance(distribution, DiscreteLaplace):
        return DiscreteLaplace(scale=exact(distribution.scale) * factor)
    if isinstance(distribution, DiscreteGaussian):
        return DiscreteGaussian(sigma2=exact(distribution.parameters()["sigma2"]) * factor**2)
    if isinstance(distribution, Skellam):
        return Skellam(variance=exact(distribution.parameters()["variance"]) * factor**2)
    raise InvalidParameterError(
        f"a scaled mutant needs noise with a scale, got {type(distribution).__name__}; name the sites "
        "that have it."
    )


def scaled(factor: ExactLike, *, sites: str = "*") -> Mutation:
    """Noise of ``factor`` times the scale: one half is noise for half the sensitivity."""
    number = positive(factor, name="factor")

    class Scaled(_Passing):
        def observe(self, distribution: Distribution, *, site: str, to: To = PUBLIC) -> Any:
            return super().observe(
                with_scale(distribution, number) if self.meant(site) else distribution, site=site, to=to
            )

        def aggregate(
            self, distributions: Sequence[Distribution], through: Any, *, site: str, to: To = SERVER
        ) -> Any:
            parts = (
                [with_scale(distribution, number) for distribution in distributions]
                if self.meant(site)
                else distributions
            )
            return super().aggregate(parts, through, site=site, to=to)

    return _mutation(lambda coins: Scaled(coins, sites))


def without(sites: str = "*", *, first: int | None = None, shown: bool = True) -> Mutation:
    """No noise: what was to be released is shown as it is; with ``first`` only in the first so many releases.

    Where it is not ``shown``, the raw value is used, and only what the program makes of it can be seen."""

    class Bare(_Passing):
        def bare(self, site: str) -> bool:
            if not self.meant(site):
                return False
            self.kept["seen"] = self.kept.get("seen", 0) + 1
            return first is None or self.kept["seen"] <= first

        def observe(self, distribution: Distribution, *, site: str, to: To = PUBLIC) -> Any:
            if not (isinstance(distribution, Shifted) and self.bare(site)):
                return super().observe(distribution, site=site, to=to)
            return self.reveal(_raw(distribution), site=site, to=to) if shown else _raw(distribution)

        def aggregate(
            self, distributions: Sequence[Distribution], through: Any, *, site: str, to: To = SERVER
        ) -> Any:
            parts = (
                [_point(distribution) for distribution in distributions] if self.bare(site) else distributions
            )
            return super().aggregate(parts, through, site=site, to=to)

    return _mutation(lambda coins: Bare(coins, sites))


def shared(sites: str = "*") -> Mutation:
    """One draw of noise for all entries of an array that is released."""

    class Shared(_Passing):
        def observe(self, distribution: Distribution, *, site: str, to: To = PUBLIC) -> Any:
            if not (
                self.meant(site) and isinstance(distribution, Shifted) and np.size(_raw(distribution)) > 1
            ):
                return super().observe(distribution, site=site, to=to)
            raw = np.asarray(_raw(distribution))
            first = raw.ravel()[0]
            shown = super().observe(distribution.base.shift(first.item()), site=site, to=to)
            rest = self.reveal(raw - first, site=f"{site}/differences", to=to)
            return shown + rest

    return _mutation(lambda coins: Shared(coins, sites))


def reusing(sites: str = "*") -> Mutation:
    """The first release's noise is added again in every later release of the same shape and noise."""

    class Reusing(_Passing):
        def observe(self, distribution: Distribution, *, site: str, to: To = PUBLIC) -> Any:
            if not (self.meant(site) and isinstance(distribution, Shifted)):
                return super().observe(distribution, site=site, to=to)
            raw, key = _raw(distribution), (distribution.base, np.shape(_raw(distribution)))
            if key not in self.kept:
                shown = super().observe(distribution, site=site, to=to)
                self.kept[key] = shown - raw
                return shown
            return self.reveal(raw + self.kept[key], site=site, to=to)

    return _mutation(lambda coins: Reusing(coins, sites))


def twice(sites: str = "*") -> Mutation:
    """Each release is made a second time, with fresh noise: one touch too many."""

    class Twice(_Passing):
        def observe(self, distribution: Distribution, *, site: str, to: To = PUBLIC) -> Any:
            shown = super().observe(distribution, site=site, to=to)
            if self.meant(site):
                super().observe(distribution, site=f"{site}/again", to=to)
            return shown

        def aggregate(
            self, distributions: Sequence[Distribution], through: Any, *, site: str, to: To = SERVER
        ) -> Any:
            shown = super().aggregate(distributions, through, site=site, to=to)
            if self.meant(site):
                super().aggregate(distributions, through, site=f"{site}/again", to=to)
            return shown

    return _mutation(lambda coins: Twice(coins, sites))


def branching(sites: str = "*") -> Mutation:
    """A branch on raw data: a release whose raw value is 0 everywhere is announced as such and not noised."""

    class Branching(_Passing):
        def observe(self, distribution: Distribution, *, site: str, to: To = PUBLIC) -> Any:
            if self.meant(site) and isinstance(distribution, Shifted) and not np.any(_raw(distribution)):
                return self.reveal(_raw(distribution), site=f"{site}/empty", to=to)
            return super().observe(distribution, site=site, to=to)

        def aggregate(
            self, distributions: Sequence[Distribution], through: Any, *, site: str, to: To = SERVER
        ) -> Any:
            if self.meant(site) and not any(
                np.any(_raw(distribution))
                for distribution in distributions
                if isinstance(distribution, Shifted)
            ):
                self.reveal(0, site=f"{site}/empty", to=to)
            return super().aggregate(distributions, through, site=site, to=to)

    return _mutation(lambda coins: Branching(coins, sites))


def widened(sites: str = "*", *, also: To = PUBLIC) -> Mutation:
    """What is shown, or revealed, to some is shown to ``also`` as well."""
    more = audience(also)

    class Widened(_Passing):
        def wider(self, site: str, to: To) -> To:
            return audience(to) | more if self.meant(site) else to

        def observe(self, distribution: Distribution, *, site: str, to: To = PUBLIC) -> Any:
            return super().observe(distribution, site=site, to=self.wider(site, to))

        def aggregate(
            self, distributions: Sequence[Distribution], through: Any, *, site: str, to: To = SERVER
        ) -> Any:
            return super().aggregate(distributions, through, site=site, to=self.wider(site, to))

        def channel(self, kernel: Any, *, site: str, to: To = PUBLIC) -> ChannelSession:
            return super().channel(kernel, site=site, to=self.wider(site, to))

        def reveal(self, value: Any, *, site: str, to: To = PUBLIC) -> Any:
            return super().reveal(value, site=site, to=self.wider(site, to))

    return _mutation(lambda coins: Widened(coins, sites))


def one_share_less(sites: str = "*") -> Mutation:
    """Distributed noise for one user too many: the last user's share is missing from every aggregate."""

    class Short(_Passing):
        def aggregate(
            self, distributions: Sequence[Distribution], through: Any, *, site: str, to: To = SERVER
        ) -> Any:
            parts = [*distributions[:-1], _point(distributions[-1])] if self.meant(site) else distributions
            return super().aggregate(parts, through, site=site, to=to)

    return _mutation(lambda coins: Short(coins, sites))


def _raw(distribution: Shifted) -> Any:
    """The value that the noise was added to, as numbers of the kind that an outcome has."""
    if isinstance(distribution.offset, np.ndarray):
        return distribution.offset
    return int(distribution.offset) if distribution.offset.denominator == 1 else float(distribution.offset)


def _point(distribution: Distribution) -> Distribution:
    """``distribution`` without its noise."""
    if not isinstance(distribution, Shifted):
        return distribution if isinstance(distribution, PointMass) else PointMass(value=0)
    return PointMass(value=_raw(distribution))
