"""An exact lower bound on delta for all of P_Vec, from one entry of a binomial sum.

The features change from e_1 to -e_1 and the reward stays 1. One entry of the vector then changes by twice the
scale, the whole range of its encoding. No other entry changes, and nothing needs rounding. The batch's sum
under that label is Bin(bB, p) at one of two offsets, and a half-line of it is the best event of that label,
because its likelihood ratio is monotone. In M batches with the same change the sums add up to Bin(MbB, p) at
one of two offsets. The added sum reveals no more than its terms, so the bound holds for the terms too.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from dpaudit.certify.witnesses.inputs import written_inputs
from dpaudit.certify.witnesses.whole_release import whole_release_witness
from dpaudit.core.claims import ApproxDP
from dpaudit.core.evidence import Witness
from dpaudit.core.exact import exact, exact_str
from dpaudit.core.views import SHUFFLER_OUTPUT
from dpaudit.distributions import Binomial
from dpaudit.reference.mechanisms.binomial_vectors import VectorSheet

__all__ = ["OneEntry", "one_entry"]

#: Largest number of trials of a binomial distribution.
MOST_TRIALS = 2**53
#: A smaller delta is not reported.
LEAST = 1e-20


@dataclass(frozen=True)
class OneEntry:
    """Bin(``noise``) against itself shifted by ``move`` > 0 integers.

    ``data`` are the changed user's two records, the record with the larger sum first. ``words`` describes the
    records.
    """

    noise: Binomial
    move: int
    data: tuple[list[float], list[float]] = ([1.0, 0.0, 1.0], [-1.0, 0.0, 1.0])
    words: str = "features e_1 against -e_1 with reward 1"

    def threshold(self, epsilon: float, *, up: bool) -> int:
        """Return the threshold t of the best half-line: {x > t} if the shifted distribution comes first
        (``up``), else {x <= t}.
        """
        n, p = self.noise.trials, float(self.noise.p)
        low, high = self.move, n  # log p(x - move) / p(x) rises in x
        while high - low > 1:
            x = (low + high) // 2
            loss = self._loss(x, n, p)
            if (loss > epsilon) if up else (loss > -epsilon):
                high = x
            else:
                low = x
        return low

    def _loss(self, x: int, n: int, p: float) -> float:
        """Return log p(x - move) / p(x): the sum of ``move`` logs, or for a long sum a mean of 64 terms."""
        terms = min(self.move, 64)
        places = [(2 * k + 1) * self.move / (2 * terms) - 0.5 for k in range(terms)]
        odds = math.log((1 - p) / p)
        logs = [math.log((x - j) / (n - x + j + 1)) + odds for j in places]
        return math.fsum(logs) * self.move / terms

    def delta(self, epsilon: float) -> float:
        """Return a float near the exact delta of this entry, the larger delta of both directions."""
        return max(self._excesses(epsilon))

    def _excesses(self, epsilon: float) -> tuple[float, float]:
        """Return P - e^epsilon Q of the best half-line, with P the shifted distribution, and the same with
        the roles exchanged.
        """
        noise, moved = self.noise, self.noise.shift(self.move)
        t, s = self.threshold(epsilon, up=True), self.threshold(epsilon, up=False)
        forth = float(moved.sf(t)) - math.exp(epsilon) * float(noise.sf(t))
        return forth, float(noise.cdf(s)) - math.exp(epsilon) * float(moved.cdf(s))

    def largest_epsilon(self, delta: float, *, digits: int = 3) -> Fraction:
        """Return the largest epsilon of the given number of digits at which this entry still has a larger
        delta, or 0.
        """
        if self.delta(0.0) <= delta:
            return Fraction(0)
        low, high = 0.0, self.move / math.sqrt(self.noise.variance())
        while self.delta(high) > delta:
            low, high = high, 2 * high
        while high - low > 10.0 ** -(digits + 1) * high:
            middle = (low + high) / 2
            low, high = (middle, high) if self.delta(middle) > delta else (low, middle)
        if low == 0:
            return Fraction(0)
        step = Fraction(10) ** (math.floor(math.log10(low)) - digits + 1)
        return math.floor(Fraction(low) / step) * step

    def witness(self, claim: ApproxDP, *, batches: int = 1) -> Witness | None:
        """Return the better half-line of this entry against ``claim``, in the shuffler's view, or ``None`` if
        its excess is too small.
        """
        epsilon = float(exact(claim.epsilon))
        forth, back = self._excesses(epsilon)
        up = forth >= back
        if max(forth, back) < LEAST:
            return None
        threshold = self.threshold(epsilon, up=up)
        pair, way = (self.noise.shift(self.move), self.noise), 1 if up else -1
        return whole_release_witness(
            claim,
            distributions=pair[::way],  # the shifted distribution comes first if it is the likelier
            site="ones under label 1",
            to=SHUFFLER_OUTPUT.name,
            inputs=written_inputs(*self.data[::way]),
            words=f"{self.words}, in each of {batches} batches: the number of ones under one label, added up",
            parts=[{"coordinate": None, "points": None, "cuts": [exact_str(Fraction(2 * threshold + 1, 2))]}],
        )


def one_entry(sheet: VectorSheet, *, batches: int = 1) -> OneEntry | None:
    """Build the change of one entry by its whole range, summed over ``batches``.

    If a distribution cannot have that many trials (``MOST_TRIALS``), sum over as many batches as fit. Return
    ``None`` if a single batch does not fit.
    """
    trials = sheet.trials * sheet.batch_size
    seen = min(batches, MOST_TRIALS // trials)
    return (
        OneEntry(Binomial(trials=trials * seen, p=sheet.chance), int(2 * sheet.scale) * seen)
        if seen
        else None
    )
