"""Broken protocols: a batch's correct protocol with one mistake, for shares of every family of sheets.

A mistake replaces the protocol of a batch and keeps the algorithm around it. It changes the noise in the
sheet (``noise``), the secure function (``with_aggregator``), the use of the noise (``around``) or the
arithmetic (``computed``). A protocol is built anew for every run, because some keep state. These protocols
are controls: an audit that does not catch them is broken.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from dpaudit.coins.base import Coins
from dpaudit.core.views import SERVER
from dpaudit.distributions import (
    DiscreteGaussian,
    Distribution,
    LatticeDistribution,
    PointMass,
    Polya,
    PolyaDifference,
    Skellam,
    WrappedMod,
)
from dpaudit.reference.mechanisms.batch_protocol import BatchProtocol
from dpaudit.reference.mechanisms.fixed_point import encode, split_reward
from dpaudit.reference.mechanisms.modular_sum import Aggregator, decoded_sum, secure_sum
from dpaudit.reference.mechanisms.parameter_sheet import Sheet

__all__ = [
    "LastBatchToo",
    "Make",
    "Overlap",
    "ReusedNoise",
    "announced",
    "around",
    "centred",
    "computed",
    "correct",
    "deviation_for_variance",
    "for_sensitivity",
    "half_the_budget_twice",
    "in_halves",
    "inverted",
    "messages_to_the_server",
    "no_room_for_noise",
    "noise",
    "noise_only_if_needed",
    "one_share",
    "one_sided",
    "plain",
    "raw_decision",
    "saturating",
    "scale_of_half_the_batch",
    "shares_for",
    "shown",
    "twice",
    "uncorrected",
    "with_aggregator",
]

#: The protocol for a batch size: from (coins, rewards) to the noisy sum.
Protocols = Callable[[int], Callable[[Coins, Sequence[Any]], Any]]

#: Builds the protocols of one run from the correct sheets and the rewards' grid.
Make = Callable[[Callable[[int], Sheet], int | None], Protocols]

#: A batch's release built on the correct protocol ``inner`` of that batch: (coins, rewards, inner).
Around = Callable[[Coins, Sequence[Any], BatchProtocol], Any]


def correct(sheet: Callable[[int], Sheet], grid: int | None) -> Protocols:
    """Return the unchanged reference, which is not a mutant."""
    return lambda users: BatchProtocol(sheet=sheet(users), grid=grid)


# Wrong noise


def noise(altered: Callable[[Sheet], LatticeDistribution]) -> Make:
    """Return the reference with another share of noise."""

    def make(sheet: Callable[[int], Sheet], grid: int | None) -> Protocols:
        def protocol(users: int) -> BatchProtocol:
            right = sheet(users)
            return BatchProtocol(sheet=replace(right, share=altered(right)), grid=grid)

        return protocol

    return make


def for_sensitivity(value: Callable[[int], Fraction]) -> Make:
    """Use noise for the sensitivity ``value(g)`` instead of g."""
    return noise(lambda sheet: sheet.share.scaled(value(sheet.precision) / sheet.precision))


def inverted(epsilon: Fraction) -> Callable[[Sheet], LatticeDistribution]:
    """Use ε/g instead of g/ε."""
    return lambda sheet: sheet.share.scaled((epsilon / sheet.precision) ** 2)


def deviation_for_variance(epsilon: Fraction) -> Callable[[Sheet], LatticeDistribution]:
    """Use σ instead of σ²: total variance g/ε, not g²/ε²."""

    def altered(sheet: Sheet) -> LatticeDistribution:
        variance = Fraction(sheet.precision) / (epsilon * sheet.users)
        if isinstance(sheet.share, Skellam):
            return Skellam(variance=variance)
        return DiscreteGaussian(sigma2=variance)

    return altered


def one_share(epsilon: Fraction) -> Callable[[Sheet], LatticeDistribution]:
    """Use local noise of shape 1/n for each message, as if the messages were summed before anybody sees
    them.
    """
    return lambda sheet: PolyaDifference(shape=Fraction(1, sheet.users), log_ratio=epsilon / sheet.precision)


def shares_for(count: Callable[[int], int]) -> Make:
    """Use shares for ``count(n)`` users with n users: shape 1/count, or variance/count."""

    def altered(sheet: Sheet) -> LatticeDistribution:
        distribution, share = sheet.share, Fraction(sheet.users, count(sheet.users))
        if isinstance(distribution, PolyaDifference):
            return PolyaDifference(shape=distribution.shape * share, log_ratio=distribution.log_ratio)
        if isinstance(distribution, Skellam):
            return Skellam(variance=distribution.parameters()["variance"] * share)
        return DiscreteGaussian(sigma2=distribution.parameters()["sigma2"] * share)

    return noise(altered)


def scale_of_half_the_batch(sheet: Callable[[int], Sheet], grid: int | None) -> Protocols:
    """Use central noise of scale g(n/2)/ε on encodings of precision g(n)."""

    def protocol(users: int) -> BatchProtocol:
        right, before = sheet(users), sheet(users // 2)
        share = right.share.scaled(Fraction(before.precision, right.precision))
        return BatchProtocol(sheet=replace(right, share=share), grid=grid)

    return protocol


def with_aggregator(make: Callable[[], Aggregator]) -> Make:
    """Return the reference with another secure function, built anew for every run."""

    def protocols(sheet: Callable[[int], Sheet], grid: int | None) -> Protocols:
        aggregator = make()
        return lambda users: BatchProtocol(sheet=sheet(users), aggregator=aggregator, grid=grid)

    return protocols


def _values(distributions: Sequence[Distribution]) -> list[int]:
    """Return the encodings in the users' distributions."""
    return [int(getattr(distribution, "offset", 0)) for distribution in distributions]


def one_sided(epsilon: Fraction) -> Aggregator:
    """Let each user add one Pólya variable instead of a difference of two."""

    def aggregated(coins: Coins, distributions: Sequence[Distribution], sheet: Sheet) -> Any:
        share = Polya(shape=Fraction(1, sheet.users), log_ratio=epsilon / sheet.precision)
        return secure_sum(coins, [share.shift(value) for value in _values(distributions)], sheet)

    return aggregated


def messages_to_the_server(coins: Coins, distributions: Sequence[Distribution], sheet: Sheet) -> Any:
    """Send every message to the server, with a share of noise that is mostly 0."""
    return sum(secure_sum(coins, [distribution], sheet) for distribution in distributions) % sheet.modulus


def noise_only_if_needed(coins: Coins, distributions: Sequence[Distribution], sheet: Sheet) -> Any:
    """Add no noise to a batch without any reward."""
    if any(_values(distributions)):
        return secure_sum(coins, distributions, sheet)
    return secure_sum(coins, [PointMass(0)], sheet)


def in_halves(epsilon: Fraction) -> Aggregator:
    """Let every user draw her share as the sum of two half shares, with users in reverse order."""

    def aggregated(coins: Coins, distributions: Sequence[Distribution], sheet: Sheet) -> Any:
        half = PolyaDifference(shape=Fraction(1, 2 * sheet.users), log_ratio=epsilon / sheet.precision)
        values = [getattr(distribution, "offset", 0) for distribution in reversed(distributions)]
        return secure_sum(coins, [half.shift(part) for v in values for part in (v, v - v)], sheet)

    return aggregated


class LastBatchToo:
    """Do not reset sums: an arm's aggregate also contains the previous batch (two arms in turn)."""

    def __init__(self) -> None:
        self.calls, self.before = 0, [0, 0]

    def __call__(self, coins: Coins, distributions: Sequence[Distribution], sheet: Sheet) -> Any:
        arm = self.calls % 2
        self.calls += 1
        total = sum(_values(distributions))
        moved = [distributions[0].shift(self.before[arm]), *distributions[1:]]
        self.before[arm] += total
        return secure_sum(coins, moved, sheet)


# Wrong use of the noise


def around(make: Callable[[], Around]) -> Make:
    """Wrap a mistake around the correct protocol, made anew for every run and equal for all mechanisms."""

    def protocols(sheet: Callable[[int], Sheet], grid: int | None) -> Protocols:
        step = make()
        return lambda users: (
            lambda coins, rewards: step(coins, rewards, BatchProtocol(sheet=sheet(users), grid=grid))
        )

    return protocols


def twice(coins: Coins, rewards: Sequence[Any], inner: BatchProtocol) -> Any:
    """Release the batch twice for a better mean, each time with the noise for the whole budget."""
    return (inner(coins, rewards) + inner(coins, rewards)) / 2


def half_the_budget_twice(coins: Coins, rewards: Sequence[Any], inner: BatchProtocol) -> Any:
    """Release twice with the noise for half the budget each: correct, though wasteful."""
    share = inner.sheet.share.scaled(2)
    return twice(coins, rewards, replace(inner, sheet=replace(inner.sheet, share=share)))


def announced(coins: Coins, rewards: Sequence[Any], inner: BatchProtocol) -> Any:
    """Branch on raw data: the users report a batch without any reward to the server, and send nothing
    else.
    """
    empty = coins.reveal(not any(rewards), site="empty", to=SERVER)
    return 0.0 if empty else inner(coins, rewards)


def raw_decision(coins: Coins, rewards: Sequence[Any], inner: BatchProtocol) -> Any:
    """Release the noisy sum, but eliminate arms by the raw sum."""
    inner(coins, rewards)
    return float(sum(rewards))


class Overlap:
    """Start a batch one user early: the last user of the previous batch replaces its first user."""

    def __init__(self) -> None:
        self.last: Any = None

    def __call__(self, coins: Coins, rewards: Sequence[Any], inner: BatchProtocol) -> Any:
        held = rewards if self.last is None else [self.last, *rewards[1:]]
        self.last = rewards[-1]
        return inner(coins, held)


class ReusedNoise:
    """Reuse the noise of the first release: for all arms in a batch (``by_batch``), or for all arms in all
    batches.
    """

    def __init__(self, *, by_batch: bool) -> None:
        self.by_batch, self.users, self.noise = by_batch, 0, np.array(0)

    def __call__(self, coins: Coins, rewards: Sequence[Any], inner: BatchProtocol) -> Any:
        sheet = inner.sheet
        encoded = encode(coins, rewards, precision=sheet.precision, grid=inner.grid)
        clear = np.array(encoded) if sheet.trust == "local" else np.array(sum(encoded))
        if not self.users or (self.by_batch and len(rewards) != self.users):
            seen = np.asarray(shown(coins, encoded, sheet))
            self.users, self.noise = len(rewards), seen - clear
        else:
            seen = (clear + self.noise) % sheet.modulus
            coins.reveal(seen.tolist(), site="aggregate", to=SERVER)
        return decoded_sum(int(seen.sum()) % sheet.modulus, sheet)


def shown(coins: Coins, encoded: Sequence[Any], sheet: Sheet) -> Any:
    """Return what the server sees of the correct protocol: one residue, or one for each user (local)."""
    if sheet.trust == "central":
        return coins.observe(sheet.aggregate_distribution(sum(encoded)), site="aggregate", to=SERVER)
    if sheet.trust == "local":
        distribution = WrappedMod(sheet.share, modulus=sheet.modulus, offset=np.array(encoded))
        return coins.observe(distribution, site="message", to=SERVER)
    return secure_sum(coins, [sheet.share.shift(value) for value in encoded], sheet)


# Wrong arithmetic: privacy holds, the sum is wrong


def computed(finish: Callable[[Coins, list[Any], Sheet], Any], *, floor: bool = False) -> Make:
    """Run the reference up to ``finish``, from the encodings to the decoded sum; ``floor`` omits the rounding
    coins.
    """

    def protocols(sheet: Callable[[int], Sheet], grid: int | None) -> Protocols:
        def one(coins: Coins, rewards: Sequence[Any], users: int) -> Any:
            parameters = sheet(users)
            g = parameters.precision
            encoded = (
                [split_reward(x, precision=g)[0] for x in rewards]
                if floor
                else encode(coins, rewards, precision=g, grid=grid)
            )
            return finish(coins, encoded, parameters)

        return lambda users: lambda coins, rewards: one(coins, rewards, users)

    return protocols


def plain(coins: Coins, encoded: list[Any], sheet: Sheet) -> Any:
    """Finish as the reference does, for ``floor``."""
    return decoded_sum(shown(coins, encoded, sheet), sheet)


def uncorrected(coins: Coins, encoded: list[Any], sheet: Sheet) -> Any:
    """Omit the analyzer's underflow correction: a noisy sum below 0 decodes to near m/g."""
    return shown(coins, encoded, sheet) / sheet.precision


def centred(coins: Coins, encoded: list[Any], sheet: Sheet) -> Any:
    """Correct as if residues were centred: values above m/2 are taken for negative."""
    y = np.asarray(shown(coins, encoded, sheet))
    signed = np.where(y > sheet.modulus // 2, y - sheet.modulus, y) / sheet.precision
    return signed if signed.ndim else float(signed)


def no_room_for_noise(coins: Coins, encoded: list[Any], sheet: Sheet) -> Any:
    """Use the modulus n g + 1, without room for the noise."""
    tight = replace(sheet, noise_margin=0, modulus=sheet.users * sheet.precision + 1)
    return decoded_sum(shown(coins, encoded, tight), tight)


def saturating(coins: Coins, encoded: list[Any], sheet: Sheet) -> Any:
    """Clip messages to [0, g] instead of reducing them modulo m: a saturating counter."""
    g = sheet.precision
    clipped = [np.clip(value + coins.draw(sheet.share, site="noise"), 0, g) for value in encoded]
    total = np.asarray(sum(clipped))
    return coins.reveal(total if total.ndim else int(total), site="aggregate", to=SERVER) / g
