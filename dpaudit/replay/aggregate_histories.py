"""Run a program with secure sums along given aggregates, and compare two neighbours.

If the distribution of an aggregate has no closed form (a sum of discrete Gaussians), its replay has no loss.
A proof by composition needs less: a user enters one aggregate, the sum of its encodings changes by at most g,
and the shares are the mechanism's, one for each user of the batch. ``Followed`` returns for every aggregate
an outcome chosen from public numbers, and keeps the users' distributions. ``survey`` compares the runs of two
neighbours. Any residue is possible, so every history that is followed can happen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

from dpaudit.coins.base import ChannelSession, Coins, Program, To
from dpaudit.coins.transcript import frozen_copy, run_program, same_value
from dpaudit.core.errors import NotTractableError
from dpaudit.core.neighbours import Neighbours
from dpaudit.core.views import PUBLIC, SERVER
from dpaudit.distributions import Distribution

__all__ = ["Aggregate", "Followed", "Sheet", "Steering", "Survey", "survey"]


class Sheet(Protocol):
    """The public values of a batch: users, precision g of the encodings, modulus, noise share of a user."""

    @property
    def users(self) -> int: ...
    @property
    def precision(self) -> int: ...
    @property
    def modulus(self) -> int: ...
    @property
    def share(self) -> Distribution: ...


#: Returns the residue of aggregate number k, given its sheet.
Steering = Callable[[int, Any], int]


@dataclass(frozen=True)
class Aggregate:
    """One secure sum of a run: its sheet, the users' noise without their encodings, and Σ x̂."""

    sheet: Sheet
    noise: tuple[Distribution, ...]
    total: Fraction


class Followed(Coins):
    """Coins that return chosen aggregates and draw nothing. Other random outcomes raise NotTractableError."""

    def __init__(self, sheets: Mapping[int, Sheet], steering: Steering) -> None:
        self._sheets, self._steering = sheets, steering
        self.aggregates: list[Aggregate] = []
        self.shown: list[Any] = []

    def aggregate(
        self, distributions: Sequence[Distribution], through: Any, *, site: str, to: To = SERVER
    ) -> int:
        if through.ring not in self._sheets:
            raise NotTractableError(
                f"site {site!r}: an aggregate must be a sum modulo a batch's m, got {through!r}.",
                code="E-AGGREGATE-KIND",
            )
        sheet = self._sheets[through.ring]
        noise = tuple(distribution.noise_and_offset[0] for distribution in distributions)
        total = sum((_offset(distribution, site) for distribution in distributions), Fraction(0))
        self.aggregates.append(Aggregate(sheet, noise, total))
        return self._steering(len(self.aggregates) - 1, sheet)

    def reveal(self, value: Any, *, site: str, to: To = PUBLIC) -> Any:
        self.shown.append(frozen_copy(value))
        return value

    def observe(self, distribution: Distribution, *, site: str, to: To = PUBLIC) -> Any:
        raise NotTractableError(
            f"site {site!r}: only aggregates can be followed, got {distribution!r}.",
            code="E-AGGREGATE-KIND",
        )

    def draw(self, distribution: Distribution, *, site: str) -> Any:
        raise NotTractableError(
            f"site {site!r}: a hidden draw cannot be followed. Declare the rewards' grid.",
            code="E-AGGREGATE-HIDDEN-DRAW",
        )

    def channel(self, kernel: Any, *, site: str, to: To = PUBLIC) -> ChannelSession:
        raise NotTractableError(f"site {site!r}: a channel cannot be followed.", code="E-AGGREGATE-CHANNEL")


def _offset(distribution: Distribution, site: str) -> Fraction:
    """Return the encoding in one user's distribution. An array is refused, because it would count as 0."""
    _, offset = distribution.noise_and_offset
    if not isinstance(offset, Fraction):
        raise NotTractableError(
            f"site {site!r}: a user's distribution must be of one number, got {distribution!r}.",
            code="E-AGGREGATE-SHAPE",
        )
    return offset


@dataclass(frozen=True)
class Survey:
    """The comparison of all runs.

    ``moved`` is the largest Σ |shift of Σ x̂|/g of one record over the aggregates that it enters. ``faults``
    describes every way in which a run differs from the mechanism. ``runs`` counts pairs of runs.
    """

    moved: Fraction
    faults: tuple[str, ...]
    runs: int

    def unmet(self, *, declared: int = 1) -> list[str]:
        """Return the unmet conditions: faults, and a largest change of the sums other than ``declared`` g."""
        reasons = list(self.faults)
        if self.moved != declared:
            reasons.append(
                f"one record must change the sums by up to {declared} g in all, it changed them by "
                f"{self.moved} g"
            )
        return reasons


def survey(
    program: Program,
    batches: Iterable[Sheet],
    pairs: Sequence[Neighbours],
    steerings: Mapping[str, Steering],
) -> Survey:
    """Run ``program``, whose batches have these sheets, on both inputs of every pair along every history."""
    sheets = {sheet.modulus: sheet for sheet in batches}
    moved, faults, runs = Fraction(0), [], 0
    for pair in pairs:
        for name, steering in steerings.items():
            runs += 1
            left, right = (_follow(program, data, sheets, steering) for data in (pair.left, pair.right))
            found, why = _compare(left, right)
            moved = max(moved, found)
            faults += [f"{text} ({pair.name}; {name})" for text in why]
    return Survey(moved, tuple(faults), runs)


def _follow(program: Program, data: Any, sheets: Mapping[int, Sheet], steering: Steering) -> Followed:
    coins = Followed(sheets, steering)
    run_program(program, data, coins)
    return coins


def _compare(left: Followed, right: Followed) -> tuple[Fraction, list[str]]:
    faults = []
    if not same_value(left.shown, right.shown):
        faults.append("the two inputs have different outputs on the same aggregates")
    if len(left.aggregates) != len(right.aggregates):
        faults.append("the two inputs have different numbers of aggregates")
    moved = Fraction(0)
    for here, there in zip(left.aggregates, right.aggregates, strict=False):
        for side in (here, there):
            if side.noise != (side.sheet.share,) * side.sheet.users:
                faults.append(f"the noise of a batch of {side.sheet.users} is not one share for each user")
        if here.sheet != there.sheet:
            faults.append("an aggregate has another sheet on the neighbour")
        moved += abs(here.total - there.total) / here.sheet.precision
    return moved, faults
