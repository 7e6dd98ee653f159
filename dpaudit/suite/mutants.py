"""Mutants as transformations of a program: each makes, from any program, one with a known mistake.

A mutant runs the program with coins that pass everything on to the real ones, except for the mistake:

    half = scaled("1/2")(program)

``sites`` is a shell-style pattern of the sites at which the mistake is made. A mistake that a program has no
place for (shared noise where nothing is released twice) leaves it as it was: hold each mutant against what it
must be caught by (``controls``). Where the mistake itself cannot be made (a law without a scale), no run says
anything about the mutant: ``BrokenMutantError`` ends it.
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
from dpaudit.distributions import (
    DiscreteGaussian,
    DiscreteLaplace,
    Gaussian,
    Laplace,
    Law,
    PointMass,
    Shifted,
    Skellam,
)
from dpaudit.core.views import PUBLIC, SERVER, audience

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

    def observe(self, law: Law, *, site: str, to: To = PUBLIC) -> Any:
        with self._asking():
            return self.real.observe(law, site=site, to=to)

    def aggregate(self, laws: Sequence[Law], through: Any, *, site: str, to: To = SERVER) -> Any:
        with self._asking():
            return self.real.aggregate(laws, through, site=site, to=to)

    def channel(self, kernel: Any, *, site: str, to: To = PUBLIC) -> ChannelSession:
        with self._asking():
            return self.real.channel(kernel, site=site, to=to)

    def draw(self, law: Law, *, site: str) -> Any:
        with self._asking():
            return self.real.draw(law, site=site)

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

    def observe(self, law: Law, *, site: str, to: To = PUBLIC) -> Any:
        with self._making(site):
            return self.mistake.observe(law, site=site, to=to)

    def aggregate(self, laws: Sequence[Law], through: Any, *, site: str, to: To = SERVER) -> Any:
        with self._making(site):
            return self.mistake.aggregate(laws, through, site=site, to=to)

    def channel(self, kernel: Any, *, site: str, to: To = PUBLIC) -> ChannelSession:
        with self._making(site):
            return self.mistake.channel(kernel, site=site, to=to)

    def draw(self, law: Law, *, site: str) -> Any:
        with self._making(site):
            return self.mistake.draw(law, site=site)

    def reveal(self, value: Any, *, site: str, to: To = PUBLIC) -> Any:
        with self._making(site):
            return self.mistake.reveal(value, site=site, to=to)


def _mutation(make: Callable[[Coins], _Passing]) -> Mutation:
    def mutate(program: Program) -> Program:
        def mutant(coins: Coins, data: Any) -> Any:
            return program(_Guarded(make(coins)), data)

        return mutant

    return mutate


def with_scale(law: Law, factor: Fraction) -> Law:
    """``law`` with ``factor`` times its scale, around the same centre.

    Raises ``InvalidParameterError`` for a law that has no scale of its own.
    """
    if isinstance(law, Shifted):
        return with_scale(law.base, factor).shift(law.offset)
    if isinstance(law, Laplace):
        return Laplace(scale=law.scale * factor)
    if isinstance(law, Gaussian):
        return Gaussian(variance=law.sigma2 * factor**2)
    if isinstance(law, DiscreteLaplace):
        return DiscreteLaplace(scale=exact(law.scale) * factor)
    if isinstance(law, DiscreteGaussian):
        return DiscreteGaussian(sigma2=exact(law.parameters()["sigma2"]) * factor**2)
    if isinstance(law, Skellam):
        return Skellam(variance=exact(law.parameters()["variance"]) * factor**2)
    raise InvalidParameterError(
        f"a scaled mutant needs noise with a scale, got {type(law).__name__}; name the sites that have it."
    )


def scaled(factor: ExactLike, *, sites: str = "*") -> Mutation:
    """Noise of ``factor`` times the scale: one half is noise for half the sensitivity."""
    number = positive(factor, name="factor")

    class Scaled(_Passing):
        def observe(self, law: Law, *, site: str, to: To = PUBLIC) -> Any:
            return super().observe(with_scale(law, number) if self.meant(site) else law, site=site, to=to)

        def aggregate(self, laws: Sequence[Law], through: Any, *, site: str, to: To = SERVER) -> Any:
            parts = [with_scale(law, number) for law in laws] if self.meant(site) else laws
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

        def observe(self, law: Law, *, site: str, to: To = PUBLIC) -> Any:
            if not (isinstance(law, Shifted) and self.bare(site)):
                return super().observe(law, site=site, to=to)
            return self.reveal(_raw(law), site=site, to=to) if shown else _raw(law)

        def aggregate(self, laws: Sequence[Law], through: Any, *, site: str, to: To = SERVER) -> Any:
            parts = [_point(law) for law in laws] if self.bare(site) else laws
            return super().aggregate(parts, through, site=site, to=to)

    return _mutation(lambda coins: Bare(coins, sites))


def shared(sites: str = "*") -> Mutation:
    """One draw of noise for all entries of an array that is released."""

    class Shared(_Passing):
        def observe(self, law: Law, *, site: str, to: To = PUBLIC) -> Any:
            if not (self.meant(site) and isinstance(law, Shifted) and np.size(_raw(law)) > 1):
                return super().observe(law, site=site, to=to)
            raw = np.asarray(_raw(law))
            first = raw.ravel()[0]
            shown = super().observe(law.base.shift(first.item()), site=site, to=to)
            rest = self.reveal(raw - first, site=f"{site}/differences", to=to)
            return shown + rest

    return _mutation(lambda coins: Shared(coins, sites))


def reusing(sites: str = "*") -> Mutation:
    """The first release's noise is added again in every later release of the same shape and noise."""

    class Reusing(_Passing):
        def observe(self, law: Law, *, site: str, to: To = PUBLIC) -> Any:
            if not (self.meant(site) and isinstance(law, Shifted)):
                return super().observe(law, site=site, to=to)
            raw, key = _raw(law), (law.base, np.shape(_raw(law)))
            if key not in self.kept:
                shown = super().observe(law, site=site, to=to)
                self.kept[key] = shown - raw
                return shown
            return self.reveal(raw + self.kept[key], site=site, to=to)

    return _mutation(lambda coins: Reusing(coins, sites))


def twice(sites: str = "*") -> Mutation:
    """Each release is made a second time, with fresh noise: one touch too many."""

    class Twice(_Passing):
        def observe(self, law: Law, *, site: str, to: To = PUBLIC) -> Any:
            shown = super().observe(law, site=site, to=to)
            if self.meant(site):
                super().observe(law, site=f"{site}/again", to=to)
            return shown

        def aggregate(self, laws: Sequence[Law], through: Any, *, site: str, to: To = SERVER) -> Any:
            shown = super().aggregate(laws, through, site=site, to=to)
            if self.meant(site):
                super().aggregate(laws, through, site=f"{site}/again", to=to)
            return shown

    return _mutation(lambda coins: Twice(coins, sites))


def branching(sites: str = "*") -> Mutation:
    """A branch on raw data: a release whose raw value is 0 everywhere is announced as such and not noised."""

    class Branching(_Passing):
        def observe(self, law: Law, *, site: str, to: To = PUBLIC) -> Any:
            if self.meant(site) and isinstance(law, Shifted) and not np.any(_raw(law)):
                return self.reveal(_raw(law), site=f"{site}/empty", to=to)
            return super().observe(law, site=site, to=to)

        def aggregate(self, laws: Sequence[Law], through: Any, *, site: str, to: To = SERVER) -> Any:
            if self.meant(site) and not any(np.any(_raw(law)) for law in laws if isinstance(law, Shifted)):
                self.reveal(0, site=f"{site}/empty", to=to)
            return super().aggregate(laws, through, site=site, to=to)

    return _mutation(lambda coins: Branching(coins, sites))


def widened(sites: str = "*", *, also: To = PUBLIC) -> Mutation:
    """What is shown, or revealed, to some is shown to ``also`` as well."""
    more = audience(also)

    class Widened(_Passing):
        def wider(self, site: str, to: To) -> To:
            return audience(to) | more if self.meant(site) else to

        def observe(self, law: Law, *, site: str, to: To = PUBLIC) -> Any:
            return super().observe(law, site=site, to=self.wider(site, to))

        def aggregate(self, laws: Sequence[Law], through: Any, *, site: str, to: To = SERVER) -> Any:
            return super().aggregate(laws, through, site=site, to=self.wider(site, to))

        def channel(self, kernel: Any, *, site: str, to: To = PUBLIC) -> ChannelSession:
            return super().channel(kernel, site=site, to=self.wider(site, to))

        def reveal(self, value: Any, *, site: str, to: To = PUBLIC) -> Any:
            return super().reveal(value, site=site, to=self.wider(site, to))

    return _mutation(lambda coins: Widened(coins, sites))


def one_share_less(sites: str = "*") -> Mutation:
    """Distributed noise for one user too many: the last user's share is missing from every aggregate."""

    class Short(_Passing):
        def aggregate(self, laws: Sequence[Law], through: Any, *, site: str, to: To = SERVER) -> Any:
            parts = [*laws[:-1], _point(laws[-1])] if self.meant(site) else laws
            return super().aggregate(parts, through, site=site, to=to)

    return _mutation(lambda coins: Short(coins, sites))


def _raw(law: Shifted) -> Any:
    """The value that the noise was added to, as numbers of the kind that an outcome has."""
    if isinstance(law.offset, np.ndarray):
        return law.offset
    return int(law.offset) if law.offset.denominator == 1 else float(law.offset)


def _point(law: Law) -> Law:
    """``law`` without its noise."""
    if not isinstance(law, Shifted):
        return law if isinstance(law, PointMass) else PointMass(value=0)
    return PointMass(value=_raw(law))
