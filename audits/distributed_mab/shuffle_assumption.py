"""Assumption 1 for Theorem 3: with probability 1 - 3p' the noise in a decoded sum is two-term bounded.

Besides rounding, noise and wraps there is the correctness error q of S. For every (ε̂, q)-relaxation
P(POST(S) is far off) <= P(Σ is far off) + SD <= P(Σ is far off) + q, and ``GarbledSum`` shows how near S can
come to that: both sides of the same number.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Literal, cast

import numpy as np
from numpy.typing import NDArray

from dpaudit.claims import ErrorRate
from dpaudit.evidence import Estimate
from dpaudit.laws import Binomial, WrappedMod
from dpaudit.plots import table
from dpaudit.suite import Outcome, Row, Run, Suite
from mechanisms.modular_sum import decoded_sum
from mechanisms.parameter_sheet import Sheet, ShuffleVariant, shuffle_sheet
from mechanisms.relaxed_aggregation import GarbledSum

__all__ = ["ShuffleBatch", "add_rows", "failure_bounds"]

Floats = NDArray[np.float64]

#: Sums of positive floats below are right to better than this, thresholds to better than its square.
ROUNDING = 1e-9


@dataclass(frozen=True, kw_only=True)
class ShuffleBatch:
    """One batch of ``n`` users at one arm; ``level`` is p' = q, half the p of the sheet.

    Rewards are ``constant``, all equal to ``mean``, or ``coins`` of that mean.
    """

    variant: ShuffleVariant
    n: int
    epsilon: Fraction
    level: Fraction
    mean: Fraction
    rewards: Literal["constant", "coins"]

    @property
    def sheet(self) -> Sheet:
        return shuffle_sheet(
            users=self.n, epsilon=self.epsilon, tail_prob=2 * self.level, variant=self.variant
        )

    def radius(self, level: Fraction) -> float:
        """(sqrt(2)/ε') sqrt(log(2/p)) + (1/ε') log(2/p) with ε' = ε/2, at p = ``level``."""
        spread = math.log(2 / level)
        return (math.sqrt(2 * spread) + spread) * 2 / float(self.epsilon)

    def in_words(self) -> str:
        return (
            f"n = {self.n}, ε = {self.epsilon}, p' = {self.level}, {self.rewards} rewards of mean {self.mean}"
        )


@lru_cache(maxsize=256)
def _residues(sheet: Sheet) -> Floats:
    """P(total noise ≡ e mod m) for e = 0, ..., m - 1."""
    return np.exp(WrappedMod(sheet.total_noise(), modulus=sheet.modulus).logp(np.arange(sheet.modulus)))


def _encoded(batch: ShuffleBatch) -> Iterator[tuple[float, int, float]]:
    """Weight, Σ x̂ and Σ x."""
    whole, part = divmod(batch.mean * batch.sheet.precision, 1)
    coins = batch.rewards == "coins"
    count = Binomial(trials=batch.n, p=batch.mean if coins else part)
    weights = np.exp(count.logp(np.arange(batch.n + 1)))
    for k in np.flatnonzero(weights > 1e-40).tolist():
        if coins:
            yield float(weights[k]), batch.sheet.precision * k, float(k)
        else:
            yield float(weights[k]), batch.n * int(whole) + k, float(batch.n * batch.mean)


def _far(batch: ShuffleBatch, radius: float, *, moved: int) -> float:
    """P(|decoded - Σ x| > radius) where the aggregate is ``moved`` round the circle."""
    sheet = batch.sheet
    y = np.arange(sheet.modulus)
    decoded = cast(Floats, decoded_sum((y + moved) % sheet.modulus, sheet))
    chances, total = _residues(sheet), 0.0
    for weight, encoded, reward_sum in _encoded(batch):
        off = np.abs(decoded - reward_sum) > radius
        total += weight * float(chances[(y[off] - encoded) % sheet.modulus].sum())
    return total


def failure_bounds(batch: ShuffleBatch, level: Fraction) -> tuple[float, float]:
    """P(|n_a| > radius at p = ``level``) from both sides of rounding: with ``GarbledSum`` at q = p', and the
    most that any (ε̂, p')-relaxation can bring about."""
    radius, q = batch.radius(level), float(batch.level)
    inner, outer = radius * (1 - ROUNDING) - ROUNDING, radius * (1 + ROUNDING) + ROUNDING
    garbled = GarbledSum(secagg_error=batch.level).offset(batch.sheet)
    low = (1 - q) * _far(batch, outer, moved=0) + q * _far(batch, outer, moved=garbled)
    high = min(1.0, _far(batch, inner, moved=0) + q)
    return low * (1 - ROUNDING), high * (1 + ROUNDING)


def _batches(run: Run, variant: ShuffleVariant) -> list[ShuffleBatch]:
    users = run.choose(quick=(2, 16), full=(2, 4, 16, 64))
    budgets = [Fraction(e) for e in ("1/10", "1", "5")]
    levels = [Fraction(1, k) for k in (4, 20, 2000)]
    means = [Fraction(m) for m in ("0", "1/2", "1", *run.choose(quick=(), full=("1/100", "99/100")))]
    kinds: tuple[Literal["constant", "coins"], ...] = ("constant", "coins")
    return [
        ShuffleBatch(variant=variant, n=n, epsilon=e, level=p, mean=mean, rewards=kind)
        for n, e, p, mean, kind in itertools.product(users, budgets, levels, means, kinds)
    ]


def add_rows(suite: Suite) -> None:
    """The rows CZ23-A1/T3."""
    usual = [Fraction(k) for k in (1, 2, 10)]
    below = [Fraction(1, 10**j) for j in range(4)]
    at = "at the p' that τ and q were built for, and above"
    _row(suite, "CZ23-A1/T3", "printed", usual, at, "verified", "noise for ε is less than σ and h allow")
    _row(suite, "CZ23-A1/T3/repaired", "repaired", usual, at, "verified", "")
    _row(
        suite,
        "CZ23-A1/T3/any-p",
        "repaired",
        below,
        "for any p",
        "refuted",
        "below p'/3 the correctness error q = p' alone is more than 3p: neither a larger radius "
        "nor a larger τ "
        "mends that, q has to shrink with p, as when Lemma 2 takes p/(K b²)",
    )


def _row(
    suite: Suite,
    id_: str,
    variant: ShuffleVariant,
    parts: Sequence[Fraction],
    words: str,
    expect: str,
    note: str,
) -> None:
    def evaluate(run: Run) -> Outcome:
        """The exact law of a batch's total noise, wraps included: at most the chance of a large error under
        perfect aggregation, plus q, whatever S; at least what the garbled sum makes of it."""
        batches = _batches(run, variant)
        found: dict[int, tuple[float, float, str]] = {}
        for batch, part in itertools.product(batches, parts):
            p = batch.level * part
            if p > 1:
                continue
            low, high = (value / float(3 * p) for value in failure_bounds(batch, p))
            best = found.get(batch.n, (0.0, 0.0, ""))
            where = f"{batch.in_words()}, p = {float(p):.3g}" if low > best[0] else best[2]
            found[batch.n] = (max(low, best[0]), max(high, best[1]), where)
        low, _, where = max(found.values())
        estimate = Estimate(
            quantity=quantity,
            lower=low,
            upper=max(item[1] for item in found.values()),
            confidence=1.0,
            samples=len(batches) * len(parts),
            method=(
                "exact law of the decoded sum in floats, wraps included; S by q from above, "
                "garbled from below"
            ),
            scope=(
                f"{len(batches)} batches: n, ε, p' = q, mean rewards from 0 to 1, constant and coin rewards"
            ),
            covers_claim=True,
        )
        picture = table(
            title="Worst P(|n_a| > radius) / 3p by batch size",
            columns=["n", "garbled sum", "any S", "at"],
            rows=[[n, *item] for n, item in found.items()],
        )
        notes = [f"largest ratio with the garbled sum {low:.4g} at {where}", *([note] if note else [])]
        return Outcome([estimate], notes, plots=[picture])

    quantity = "P(|n_a| > radius) / 3p"
    claim = ErrorRate(
        text=(
            f"Shuffle-DP-SE ({variant} noise): P(|n_a(b)| > sqrt(2 log(2/p))/ε' + log(2/p)/ε') <= "
            f"3p {words}, for "
            f"every (ε̂, p')-relaxation, on the grid"
        ),
        quantity_name=quantity,
        claimed=1,
    )
    suite.add(
        Row(
            id=id_,
            title=f"Shuffle-DP-SE ({variant} noise): Assumption 1 with 1 - 3p', {words}",
            kind="tail",
            claim=claim,
            evaluate=evaluate,
            expect=expect,
            source="Assumption 1 for Theorem 3",
        )
    )
