"""What one entry of a binomial sum shows at least: an exact lower bound on delta for all of P_Vec.

The features change from e_1 to -e_1, the reward stays 1: one entry of the vector moves by twice the scale,
the whole range of its encoding, no other entry moves, and nothing needs rounding. So the batch's sum under
that label is Bin(bB, p) at two places, and a half-line of it is the best event of that label (its likelihood
ratio is monotone). In M batches with the same change the sums add up to Bin(MbB, p) at two places: less is
seen of a sum than of its terms."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from dpaudit.claims import ApproxDP
from dpaudit.evidence import Witness
from dpaudit.exact import exact, exact_str
from dpaudit.kernel.ball import precision
from dpaudit.laws import Binomial
from dpaudit.views import SHUFFLER_OUTPUT, View
from dpaudit.witnesses.inputs import written_inputs
from dpaudit.witnesses.release import release_bound
from mechanisms.binomial_vectors import VectorSheet

__all__ = ["OneEntry", "one_entry"]

#: Bits of a stated bound; whoever checks it uses more.
BITS = 128
#: Less is not worth writing down.
LEAST = Fraction(1, 10**30)


@dataclass(frozen=True)
class OneEntry:
    """Bin(``noise``) against itself moved by ``move`` > 0 integers."""

    noise: Binomial
    move: int

    def threshold(self, epsilon: float, *, up: bool) -> int:
        """Where the event of the larger excess begins: {x > t} for the moved side (``up``), {x <= t} for the
        other one."""
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
        """log p(x - move) / p(x): the sum of ``move`` logs, of a long one a mean of 64 terms."""
        terms = min(self.move, 64)
        places = [(2 * k + 1) * self.move / (2 * terms) - 0.5 for k in range(terms)]
        odds = math.log((1 - p) / p)
        logs = [math.log((x - j) / (n - x + j + 1)) + odds for j in places]
        return math.fsum(logs) * self.move / terms

    def delta(self, epsilon: float) -> float:
        """A float near the exact delta of this entry: the better of both directions."""
        noise, moved = self.noise, self.noise.shift(self.move)
        t, s = self.threshold(epsilon, up=True), self.threshold(epsilon, up=False)
        forth = float(moved.sf(t)) - math.exp(epsilon) * float(noise.sf(t))
        back = float(noise.cdf(s)) - math.exp(epsilon) * float(moved.cdf(s))
        return max(forth, back)

    def largest_epsilon(self, delta: float, *, digits: int = 3) -> Fraction:
        """The largest epsilon of so many digits at which this entry still has a larger delta, or 0."""
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

    def witness(self, claim: ApproxDP, *, users: str = "one batch") -> Witness | None:
        """A half-line of this entry against ``claim``, in the shuffler's view; ``None`` without a bound worth
        having."""
        epsilon = float(exact(claim.epsilon))
        here, there = self.noise.shift(self.move), self.noise
        options = ((here, there, True), (there, here, False))
        best: Witness | None = None
        for law, other, up in options:
            site = {"site": "ones under label 1", "to": [SHUFFLER_OUTPUT.name]}
            site |= {"law": law.to_json(), "law_neighbour": other.to_json()}  # type: ignore[dict-item]
            cut = Fraction(2 * self.threshold(epsilon, up=up) + 1, 2)
            parts = [{"coordinate": None, "points": None, "cuts": [exact_str(cut)]}]
            body = {"view": claim.view.to_json(), "site": site, "parts": parts, "order": None}
            rewards = ([1.0, 0.0, 1.0], [-1.0, 0.0, 1.0])
            body["inputs"] = written_inputs(*(rewards if up else rewards[::-1]))
            with precision(BITS):
                bound = release_bound(body, claim, View.of(SHUFFLER_OUTPUT))
            if (
                bound is not None
                and bound > LEAST
                and (best is None or best.bound is None or bound > best.bound)
            ):
                words = (
                    f"features e_1 against -e_1 with reward 1 in {users}: the number of ones under one label"
                )
                best = Witness(
                    quantity=claim.quantity,
                    bound=bound,
                    form="release",
                    body=body,
                    origin="enumerated",
                    description=words,
                )
        return best


def one_entry(sheet: VectorSheet, *, batches: int = 1) -> OneEntry:
    """The change of one entry by its whole range, summed over ``batches``."""
    noise = Binomial(trials=sheet.trials * sheet.batch_size * batches, p=sheet.chance)
    return OneEntry(noise, int(2 * sheet.scale) * batches)
