"""Fixed-point encoding (CZ23-ENC), the analyzer's two cases (CZ23-CASE), and its errors outside them.

Rewards are floats, so dyadic, and so are the probabilities of their encodings: means, ranges and laws below
are exact.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from audits.inequalities import Inequality, Point, add_steps
from dpaudit.claims import Ordering, SameDistribution, SubGaussian
from dpaudit.coins import Coins, enumerate_view
from dpaudit.evidence import Estimate
from dpaudit.kernel.ball import arb, ball, precision, upper
from dpaudit.laws import Binomial
from dpaudit.plots import table
from dpaudit.proofs.decide import bounded_noise, decide_proxy
from dpaudit.suite import Outcome, Row, Run, Suite
from dpaudit.views import PUBLIC, View
from mechanisms.fixed_point import encode, encoding_law, split_reward
from mechanisms.local_noise import polya_share
from mechanisms.modular_sum import decoded_sum
from mechanisms.parameter_sheet import Sheet

__all__ = ["Circle", "add_rows", "mean_error", "rounding_distance", "rounding_ends", "sum_movement"]

PRECISIONS = (1, 2, 7)


def add_rows(suite: Suite) -> None:
    """The rows CZ23-ENC and CZ23-CASE."""
    _encoding(suite)
    _proxy(suite)
    _aggregation(suite)
    _cases(suite)


# Encoding


def mean_error(reward: Fraction, precision: int) -> Any:
    """E[x̂] - x g as a ball, without radius for a dyadic reward."""
    law = encoding_law(reward, precision=precision)
    return sum((p * int(k) for k, p in law.atoms()), arb(0)) - ball(reward * precision)


def rounding_ends(reward: Fraction, precision: int) -> tuple[Fraction, Fraction]:
    """The least and the largest ι = x̂ - x g."""
    errors = [int(k) - reward * precision for k, _ in encoding_law(reward, precision=precision).atoms()]
    return min(errors), max(errors)


def sum_movement(before: Fraction, after: Fraction, precision: int) -> int:
    """The most that Σ x̂ can move when one reward changes from ``before`` to ``after``, roundings free."""
    laws = [encoding_law(reward, precision=precision) for reward in (before, after)]
    here, there = ([int(k) for k, _ in law.atoms()] for law in laws)
    return max(abs(a - b) for a, b in itertools.product(here, there))


def _rewards() -> list[Fraction]:
    """Multiples of 1/32, and points just beside 0, 1/2 and 1: all dyadic."""
    near, half = Fraction(1, 2**40), Fraction(1, 2)
    return [*(Fraction(k, 32) for k in range(33)), near, half - near, half + near, 1 - near]


def _encoding(suite: Suite) -> None:
    def points(run: Run) -> list[Point]:
        return [
            {"x": x, "g": g}
            for g in (*PRECISIONS, *run.choose(quick=(), full=(64, 1000)))
            for x in _rewards()
        ]

    def pairs(run: Run) -> list[Point]:
        return [{"x": x, "y": y, "g": g} for g in PRECISIONS for x in _rewards()[::4] for y in _rewards()]

    def ends(x: Any, g: int) -> tuple[Fraction, Fraction]:
        return rounding_ends(Fraction(x), g)

    add_steps(
        suite,
        "CZ23-ENC",
        title="Fixed-point encoding: E[x̂] = x g, ι = x̂ - x g in [-1, 1], Σ x̂ moves by at most g",
        steps=[
            Inequality(
                name="mean",
                text="|E[x̂] - x g| <= 0",
                left=lambda x, g: abs(mean_error(Fraction(x), g)),
                right=lambda x, g: arb(0),
                points=points,
            ),
            Inequality(
                name="interval",
                text="|ι| <= 1",
                left=lambda x, g: ball(max(-ends(x, g)[0], ends(x, g)[1])),
                right=lambda x, g: arb(1),
                points=points,
            ),
            Inequality(
                name="length",
                text="max ι - min ι <= 1: ι is in [-f, 1 - f] with f = x g - ⌊x g⌋",
                left=lambda x, g: ball(ends(x, g)[1] - ends(x, g)[0]),
                right=lambda x, g: arb(1),
                points=points,
            ),
            Inequality(
                name="sensitivity",
                text="|Σ x̂ - Σ x̂'| <= g when one reward is replaced, roundings free",
                left=lambda x, y, g: ball(sum_movement(Fraction(x), Fraction(y), g)),
                right=lambda x, y, g: ball(g),
                points=pairs,
            ),
        ],
        about=(
            "The exact law of one user's encoding, from the mechanism: its mean, its ends, and "
            "how far the encodings "
            "of any two rewards can be apart."
        ),
        source="Algorithm 1, line 20",
        scope=(
            "g = 1, 2, 7 (full profile: 64, 1000); rewards: multiples of 1/32, and 2^-40 beside 0, 1/2 and 1"
        ),
        measure="left - right",
        notes=[
            "the sensitivity g is attained by rewards 0 and 1; |ι| < 1, as -f and 1 - f are never -1 or 1"
        ],
    )


def _proxy(suite: Suite) -> None:
    noise = bounded_noise(0, 1)
    for id_, proxy, words in (
        ("CZ23-ENC/proxy", Fraction(1), "1-sub-Gaussian, as printed"),
        ("CZ23-ENC/proxy/sharper", Fraction(1, 4), "1/4-sub-Gaussian: its interval has length 1, not 2"),
    ):
        claim = SubGaussian(variance_proxy=proxy, of=noise.name)

        def evaluate(run: Run, claim: SubGaussian = claim) -> Outcome:
            """Every law on an interval of length 1, minus its mean: the rounding error ι is one
            (CZ23-ENC)."""
            return Outcome([decide_proxy(claim, noise)], ["attained at f = 1/2, a fair coin of ±1/2"])

        suite.add(
            Row(
                id=id_,
                title=f"The rounding error ι of one reward is {words}",
                kind="tail",
                claim=claim,
                evaluate=evaluate,
                source="Term (ii) in the proof of Theorem 1",
            )
        )


# Per user and aggregated


def rounding_distance(reward: Fraction, *, users: int, precision: int) -> Any:
    """Total variation between Σ x̂ of the running program, user by user, and n ⌊x g⌋ + Bin(n,
    x g - ⌊x g⌋)."""

    def program(coins: Coins, data: Sequence[Fraction]) -> None:
        coins.reveal(int(sum(encode(coins, data, precision=precision))), site="sum")

    found = enumerate_view(program, [reward] * users, view=View.of(PUBLIC))
    whole, rest = split_reward(reward, precision=precision)
    law = Binomial(trials=users, p=rest).shift(users * whole)
    total = {seen[0]: found.probabilities[key] for key, seen in found.transcripts.items()}
    return sum((abs(p - law.logp_ball(k).exp()) for k, p in total.items()), arb(0)) / 2


def _aggregation(suite: Suite) -> None:
    quantity, claimed = "total variation", Fraction(1, 10**30)

    def evaluate(run: Run) -> Outcome:
        """Enumerate all rounding bits of the program and compare the law of the sum with one
        binomial draw."""
        users = run.choose(quick=(1, 2, 5), full=(1, 2, 5, 10))
        rewards = [Fraction(k, 16) for k in range(0, 17, 3)] + [Fraction(1)]
        with precision(160):
            worst = max(
                upper(rounding_distance(x, users=n, precision=g))
                for n in users
                for g in PRECISIONS
                for x in rewards
            )
        estimate = Estimate(
            quantity=quantity,
            lower=0.0,
            upper=worst,
            confidence=1.0,
            samples=len(users) * len(PRECISIONS) * len(rewards),
            method="complete enumeration in balls",
            scope="n up to 5 (full profile: 10) equal rewards, g = 1, 2, 7",
            covers_claim=True,
        )
        return Outcome([estimate])

    claim = SameDistribution(
        text="Σ x̂_i of n users with reward x has the law n ⌊x g⌋ + Bin(n, x g - ⌊x g⌋), on the grid",
        quantity_name=quantity,
        claimed=claimed,
    )
    suite.add(
        Row(
            id="CZ23-ENC/sum",
            title="Rounding user by user and rounding the batch at once have one law",
            kind="structure",
            claim=claim,
            evaluate=evaluate,
            source="Algorithm 1, line 20",
        )
    )


# The analyzer


@dataclass(frozen=True, kw_only=True)
class Circle:
    """One (n, g, τ), the modulus n g + 2τ + 1 - ``short``, and the noisy sums v in a window of them."""

    n: int
    g: int
    tau: int
    short: int = 0

    @property
    def sheet(self) -> Sheet:
        modulus = self.n * self.g + 2 * self.tau + 1 - self.short
        return Sheet(
            trust="distributed",
            users=self.n,
            precision=self.g,
            noise_margin=self.tau,
            modulus=modulus,
            tail_prob=Fraction(1, 2),
            share=polya_share(users=self.n, epsilon=1, precision=self.g),
        )

    def inside(self) -> NDArray[np.int64]:
        """-τ, ..., n g + τ."""
        return np.arange(-self.tau, self.n * self.g + self.tau + 1)

    def outside(self) -> NDArray[np.int64]:
        """Two moduli on either side of it."""
        m, window = self.sheet.modulus, self.inside()
        return np.concatenate([np.arange(window[0] - 2 * m, window[0]), np.arange(1, 2 * m + 1) + window[-1]])

    def errors(self, sums: NDArray[np.int64]) -> NDArray[np.int64]:
        """g times (analyzer's output - v/g), exact integers: outputs are multiples of 1/g."""
        decoded = np.asarray(decoded_sum(sums % self.sheet.modulus, self.sheet))
        return np.asarray(np.rint(decoded * self.g).astype(np.int64) - sums)

    def cases(self) -> int:
        """How many v in the window break Case 1 (ŷ > n g + τ, then v in [-τ, 0) and ŷ - m = v) or Case 2
        (otherwise ŷ = v)."""
        v, m = self.inside(), self.sheet.modulus
        y = v % m
        high = y > self.n * self.g + self.tau
        first = (v >= -self.tau) & (v < 0) & (y - m == v)
        return int(np.count_nonzero(~np.where(high, first, y == v)))


def _circles(run: Run, short: int = 0) -> list[Circle]:
    most = run.choose(quick=4, full=9)
    return [
        Circle(n=n, g=g, tau=tau, short=short)
        for n, g, tau in itertools.product(range(1, most), range(1, most), range(2 * most))
    ]


def _cases(suite: Suite) -> None:
    def row(id_: str, title: str, text: str, short: int, expect: str, notes: Sequence[str]) -> None:
        quantity = "noisy sums decoded wrongly"

        def evaluate(run: Run) -> Outcome:
            """Enumerate every noisy sum v in [-τ, n g + τ], reduce it modulo m, and decode it."""
            circles = _circles(run, short)
            wrong = [int(np.count_nonzero(item.errors(item.inside()))) + item.cases() for item in circles]
            worst = circles[int(np.argmax(wrong))]
            estimate = Estimate.exactly(
                max(wrong),
                quantity=quantity,
                samples=sum(len(item.inside()) for item in circles),
                method="complete enumeration",
                scope=f"{len(circles)} triples n, g >= 1, τ >= 0",
            )
            where = [f"for example n = {worst.n}, g = {worst.g}, τ = {worst.tau}"] if max(wrong) else []
            return Outcome([estimate], [*where, *notes])

        claim = Ordering(text=text, quantity_name=quantity, claimed=0)
        suite.add(
            Row(
                id=id_,
                title=title,
                kind="structure",
                claim=claim,
                evaluate=evaluate,
                expect=expect,
                source="Algorithm 1, lines 26 to 30; Cases 1 and 2 in the proof of Theorem 1",
            )
        )

    row(
        "CZ23-CASE",
        "The analyzer returns the noisy sum whenever that is in [-τ, n g + τ]; Cases 1 and 2",
        (
            "with m = n g + 2τ + 1 no noisy sum in [-τ, n g + τ] is decoded wrongly, and Cases 1 "
            "and 2 hold, on the grid"
        ),
        0,
        "verified",
        [],
    )
    row(
        "CZ23-CASE/smaller",
        "The modulus n g + 2τ would do",
        "with m = n g + 2τ no noisy sum in [-τ, n g + τ] is decoded wrongly, on the grid",
        1,
        "refuted",
        ["-τ and n g + τ then share a residue: the modulus has no slack"],
    )
    _outside(suite)


def _outside(suite: Suite) -> None:
    quantity = "|error - (m/g) wraps|"

    def evaluate(run: Run) -> Outcome:
        """Decode the noisy sums up to two moduli outside the window: the error is m/g for each wrap."""
        circles = _circles(run)
        off = [
            int(np.max(np.abs(item.errors(v) + item.sheet.modulus * ((v + item.tau) // item.sheet.modulus))))
            for item in circles
            for v in [item.outside()]
        ]
        picture = table(
            title="Analyzer's error outside [-τ, n g + τ], n = 2, g = 2, τ = 3, m = 11",
            columns=["noisy sum v", "v mod m", "output", "v/g", "error"],
            rows=_examples(Circle(n=2, g=2, tau=3)),
        )
        estimate = Estimate.exactly(
            max(off),
            quantity=quantity,
            samples=sum(len(item.outside()) for item in circles),
            method="complete enumeration",
            scope=f"{len(circles)} triples n, g, τ; noisy sums up to two moduli outside the window",
        )
        return Outcome(
            [estimate], ["one wrap costs m/g = n + (2τ + 1)/g, more than the largest sum"], plots=[picture]
        )

    claim = Ordering(
        text=(
            "a noisy sum v outside [-τ, n g + τ] is decoded with error (m/g) |⌊(v + τ)/m⌋| "
            "exactly, on the grid"
        ),
        quantity_name=quantity,
        claimed=0,
    )
    suite.add(
        Row(
            id="CZ23-CASE/outside",
            title="Outside [-τ, n g + τ] the analyzer's error is m/g for each wrap",
            kind="structure",
            claim=claim,
            evaluate=evaluate,
            source="Algorithm 1, lines 26 to 30",
        )
    )


def _examples(circle: Circle) -> list[list[Any]]:
    v = np.concatenate(
        [
            circle.inside()[0] - np.arange(2, 0, -1),
            circle.inside()[[0, -1]],
            circle.inside()[-1] + np.arange(1, 3),
        ]
    )
    residues = v % circle.sheet.modulus
    outputs = np.asarray(decoded_sum(residues, circle.sheet))
    return [
        [int(a), int(b), float(c), float(a) / circle.g, float(c) - float(a) / circle.g]
        for a, b, c in zip(v.tolist(), residues.tolist(), outputs.tolist(), strict=True)
    ]
