"""Transform programs into mutants: each transformation makes a known mistake in any program.

A mutant runs the program with coins that pass all calls to the real ones, except for the mistake:

    half = scaled("1/2")(program)

``sites`` is a shell-style pattern of the sites at which the mistake is made. A mistake that does not apply to
a program (shared noise if nothing is released twice) leaves it unchanged, so compare each mutant with what
must catch it (``controls``). If the mistake itself cannot be made (a distribution without a scale), the run
is invalid and ends with ``BrokenMutantError``.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, cast

import numpy as np

from dpaudit.coins import Coins, Program
from dpaudit.coins.base import ChannelSession, To
from dpaudit.core.errors import NotTractableError
from dpaudit.core.exact import ExactLike, positive
from dpaudit.core.views import PUBLIC, SERVER, audience
from dpaudit.distributions import (
    Distribution,
    PointMass,
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
    "without",
]

#: A function from a program to the program with a mistake.
Mutation = Callable[[Program], Program]


class BrokenMutantError(BaseException):
    """The transformation itself raised, so there is no mutant.

    This is a BaseException, so that no program catches it, and no interpreter treats it as an outcome.
    """


@dataclass
class _Passing(Coins):
    """Coins that pass every call to the real coins. A mistake overrides one of the methods.

    ``passed_on`` is the last error that the real coins raised.
    """

    real: Coins
    sites: str = "*"
    replicates: int | None = field(init=False, default=None)
    kept: dict[Any, Any] = field(init=False, default_factory=dict)
    passed_on: Exception | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self.replicates = self.real.replicates

    def meant(self, site: str) -> bool:
        """Return whether the mistake is made at this site."""
        return fnmatch.fnmatchcase(site, self.sites)

    def observe(self, distribution: Distribution, *, site: str, to: To = PUBLIC) -> Any:
        with self._asking(site):
            return self.real.observe(distribution, site=site, to=to)

    def aggregate(
        self, distributions: Sequence[Distribution], through: Any, *, site: str, to: To = SERVER
    ) -> Any:
        with self._asking(site):
            return self.real.aggregate(distributions, through, site=site, to=to)

    def channel(self, kernel: Any, *, site: str, to: To = PUBLIC) -> ChannelSession:
        with self._asking(site):
            return self.real.channel(kernel, site=site, to=to)

    def draw(self, distribution: Distribution, *, site: str) -> Any:
        with self._asking(site):
            return self.real.draw(distribution, site=site)

    def reveal(self, value: Any, *, site: str, to: To = PUBLIC) -> Any:
        with self._asking(site):
            return self.real.reveal(value, site=site, to=to)

    @contextmanager
    def _asking(self, site: str) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            self.passed_on = error
            raise


class _Guarded(_Passing):
    """The coins that a mutant gets.

    They turn an error of the mistake, but not one of the real coins, into ``BrokenMutantError``.
    """

    real: _Passing

    @contextmanager
    def _asking(self, site: str) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            if error is self.real.passed_on:
                raise
            name = type(self.real).__name__.lower()
            raise BrokenMutantError(f"{name} at site {site!r}: {type(error).__name__}: {error}") from error


def _mutation(make: Callable[[Coins], _Passing]) -> Mutation:
    def mutate(program: Program) -> Program:
        def mutant(coins: Coins, data: Any) -> Any:
            return program(_Guarded(make(coins)), data)

        return mutant

    return mutate


def scaled(factor: ExactLike, *, sites: str = "*") -> Mutation:
    """Multiply the scale of the noise by ``factor``. One half is noise for half the sensitivity."""
    number = positive(factor, name="factor")

    class Scaled(_Passing):
        def observe(self, distribution: Distribution, *, site: str, to: To = PUBLIC) -> Any:
            return super().observe(
                distribution.scaled(number) if self.meant(site) else distribution, site=site, to=to
            )

        def aggregate(
            self, distributions: Sequence[Distribution], through: Any, *, site: str, to: To = SERVER
        ) -> Any:
            parts = (
                [distribution.scaled(number) for distribution in distributions]
                if self.meant(site)
                else distributions
            )
            return super().aggregate(parts, through, site=site, to=to)

    return _mutation(lambda coins: Scaled(coins, sites))


def without(sites: str = "*", *, first: int | None = None, shown: bool = True) -> Mutation:
    """Remove the noise: reveal the released value. With ``first``, only in that many first releases.

    If not ``shown``, the raw value is used without being revealed, and only its effects are visible.
    """

    class Bare(_Passing):
        def bare(self, site: str) -> bool:
            if not self.meant(site):
                return False
            self.kept["seen"] = self.kept.get("seen", 0) + 1
            return first is None or self.kept["seen"] <= first

        def observe(self, distribution: Distribution, *, site: str, to: To = PUBLIC) -> Any:
            raw = _raw(distribution)
            if raw is None or not self.bare(site):
                return super().observe(distribution, site=site, to=to)
            return self.reveal(raw, site=site, to=to) if shown else raw

        def aggregate(
            self, distributions: Sequence[Distribution], through: Any, *, site: str, to: To = SERVER
        ) -> Any:
            parts = (
                [_point(distribution) for distribution in distributions] if self.bare(site) else distributions
            )
            return super().aggregate(parts, through, site=site, to=to)

    return _mutation(lambda coins: Bare(coins, sites))


def shared(sites: str = "*") -> Mutation:
    """Use one draw of noise for all entries of a released array."""

    class Shared(_Passing):
        def observe(self, distribution: Distribution, *, site: str, to: To = PUBLIC) -> Any:
            raw = np.asarray(_raw(distribution))
            if not self.meant(site) or raw.size < 2:
                return super().observe(distribution, site=site, to=to)
            first = raw.ravel()[0]
            noise, _ = distribution.noise_and_offset
            shown = super().observe(noise.shift(first.item()), site=site, to=to)
            rest = self.reveal(raw - first, site=f"{site}/differences", to=to)
            return shown + rest

        def aggregate(
            self, distributions: Sequence[Distribution], through: Any, *, site: str, to: To = SERVER
        ) -> Any:
            whole = _image(distributions, through) if self.meant(site) else None
            if whole is None or np.size(_raw(whole)) < 2:
                return super().aggregate(distributions, through, site=site, to=to)
            return self.observe(whole, site=site, to=to)

    return _mutation(lambda coins: Shared(coins, sites))


def reusing(sites: str = "*") -> Mutation:
    """Add the first release's noise again in every later release of the same shape and noise."""

    class Reusing(_Passing):
        def observe(self, distribution: Distribution, *, site: str, to: To = PUBLIC) -> Any:
            first = partial(super().observe, distribution, site=site, to=to)
            return self.again(distribution, first, site=site, to=to)

        def aggregate(
            self, distributions: Sequence[Distribution], through: Any, *, site: str, to: To = SERVER
        ) -> Any:
            first = partial(super().aggregate, distributions, through, site=site, to=to)
            return self.again(_image(distributions, through), first, site=site, to=to)

        def again(self, whole: Distribution | None, first: Callable[[], Any], *, site: str, to: To) -> Any:
            raw = None if whole is None or not self.meant(site) else _raw(whole)
            if whole is None or raw is None:
                return first()
            key = (whole.noise_and_offset[0], np.shape(raw))
            if key not in self.kept:
                shown = first()
                self.kept[key] = shown - raw
                return shown
            return self.reveal(raw + self.kept[key], site=site, to=to)

    return _mutation(lambda coins: Reusing(coins, sites))


def twice(sites: str = "*") -> Mutation:
    """Make each release a second time, with fresh noise: one affected site too many."""

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
    """Branch on raw data: announce a release whose raw value is 0 everywhere, and do not add noise to it."""

    class Branching(_Passing):
        def observe(self, distribution: Distribution, *, site: str, to: To = PUBLIC) -> Any:
            raw = _raw(distribution)
            if raw is not None and self.meant(site) and not np.any(raw):
                return self.reveal(raw, site=f"{site}/empty", to=to)
            return super().observe(distribution, site=site, to=to)

        def aggregate(
            self, distributions: Sequence[Distribution], through: Any, *, site: str, to: To = SERVER
        ) -> Any:
            if self.meant(site) and not any(
                raw is not None and np.any(raw) for raw in map(_raw, distributions)
            ):
                self.reveal(0, site=f"{site}/empty", to=to)
            return super().aggregate(distributions, through, site=site, to=to)

    return _mutation(lambda coins: Branching(coins, sites))


def widened(sites: str = "*", *, also: To = PUBLIC) -> Mutation:
    """Show to ``also`` everything that is shown or revealed to any other principal."""
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
    """Miscount the users of distributed noise: drop the last user's share from every aggregate."""

    class Short(_Passing):
        def aggregate(
            self, distributions: Sequence[Distribution], through: Any, *, site: str, to: To = SERVER
        ) -> Any:
            parts = [*distributions[:-1], _point(distributions[-1])] if self.meant(site) else distributions
            return super().aggregate(parts, through, site=site, to=to)

    return _mutation(lambda coins: Short(coins, sites))


def _raw(distribution: Distribution) -> Any:
    """Return the value that noise was added to, of the kind that an outcome has, or ``None`` if none was."""
    noise, offset = distribution.noise_and_offset
    if noise is distribution:
        return None
    if isinstance(offset, np.ndarray):
        return offset
    return int(offset) if offset.denominator == 1 else float(offset)


def _image(distributions: Sequence[Distribution], through: Any) -> Distribution | None:
    """Return the distribution of an aggregate, or None if it has no closed form."""
    try:
        return cast("Distribution", through.image_distribution(distributions))
    except NotTractableError:
        return None


def _point(distribution: Distribution) -> Distribution:
    """Return ``distribution`` without its noise."""
    raw = _raw(distribution)
    if raw is not None:
        return PointMass(value=raw)
    return distribution if isinstance(distribution, PointMass) else PointMass(value=0)
