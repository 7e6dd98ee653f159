"""The proof of Theorem 10, step by step (appendix H): the packing and its range, testing, batch to online.

The testing step itself, (58), is held against the best private selectors in ``lower_bound_learners``.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from audits.inequalities import Inequality, Point, add_steps
from audits.private_online_learning.hard_family import instance, total_variation, witness_gap
from dpaudit.claims import Ordering
from dpaudit.evidence import Estimate
from dpaudit.exact_functions import ln
from dpaudit.kernel.ball import arb, ball
from dpaudit.suite import Outcome, Run, Suite

__all__ = ["add_rows"]

ENUMERATED = "exact enumeration in fractions"


def add_rows(suite: Suite) -> None:
    """Step 1 with its range, the inequality of step 2, and step 3."""
    _construction(suite)
    _range(suite)
    _fano(suite)
    _conversion(suite)


def _pairs(n_actions: int, gap: Fraction, base: Fraction) -> Iterator[tuple[Any, Any]]:
    laws = [instance(j, n_actions=n_actions, gap=gap, base=base) for j in range(n_actions)]
    return ((laws[i], laws[j]) for i in range(n_actions) for j in range(n_actions) if i < j)


def _construction(suite: Suite) -> None:
    @suite.row(
        "HHM-T10/packing",
        title=(
            "Any two instances of the family are at total variation distance Δ, and {(1, 0)} × {0, "
            "1}^(K−2) shows it"
        ),
        kind="structure",
        claim=Ordering(
            text=(
                "max over pairs of |TV(P_i, P_j) − Δ|, and |P_1(A) − P_2(A) − Δ| for the paper's event "
                "A, is 0"
            ),
            quantity_name="largest deviation from Δ",
            claimed=0,
        ),
        source="Appendix H, step 1 and footnote 5",
    )
    def packing(run: Run) -> Outcome:
        """Enumerate {0, 1}^K under every instance in exact fractions, K = 2..6, and compare all pairs.

        Also the gaps: action j is uniquely optimal under P_j, all gaps are Δ, and Δ > Δ/2 makes the family
        a packing.
        """
        gaps = [Fraction(g) for g in ("1/50", "1/10", "1/4", "1/2")]
        worst, count = Fraction(0), 0
        for k in range(2, run.choose(quick=6, full=7)):
            for gap in gaps:
                pairs = list(_pairs(k, gap, Fraction(1, 2)))
                worst = max(
                    worst, abs(witness_gap(*pairs[0]) - gap), *(abs(total_variation(*p) - gap) for p in pairs)
                )
                count += len(pairs)
        scope = "K = 2..5 (quick) or 6, Δ = 1/50, 1/10, 1/4, 1/2, all pairs"
        return Outcome(
            [
                Estimate.exactly(
                    worst,
                    quantity="largest deviation from Δ",
                    samples=count,
                    method=ENUMERATED,
                    scope=scope,
                )
            ],
            samples=count,
        )


def _range(suite: Suite) -> None:
    gaps = [Fraction(g) for g in ("1/100", "1/4", "1/2", "3/4", "1", "2")]

    @suite.row(
        "HHM-T10/range",
        title="The construction exists for every Δ_min > 0",
        kind="structure",
        claim=Ordering(
            text="the largest mean, 1/2 + Δ_min, is at most 1", quantity_name="largest mean", claimed=1
        ),
        expect="refuted",
        source='Theorem 10 ("Let Δ_min > 0"); appendix H, step 1',
    )
    def printed(run: Run) -> Outcome:
        """Build the family for gaps up to 2 and look at its means: above Δ_min = 1/2 the best action's mean
        exceeds 1."""
        worst = max(Fraction(1, 2) + gap for gap in gaps if gap <= 1)
        note = (
            "for Δ_min in (1/2, 1] a family with base mean 0 does the same (HHM-T10/range-repaired); "
            "above 1 no instance has such gaps"
        )
        return Outcome(
            [
                Estimate.exactly(
                    worst,
                    quantity="largest mean",
                    samples=len(gaps),
                    method=ENUMERATED,
                    scope="Δ_min = 1/100, 1/4, 1/2, 3/4, 1",
                )
            ],
            [note],
        )

    @suite.row(
        "HHM-T10/range-repaired",
        title="With base mean 0 the family exists for every Δ_min ≤ 1 and keeps its distances",
        kind="structure",
        claim=Ordering(
            text="for base means 0 and (1 − Δ)/2 and Δ ≤ 1, max over pairs of |TV(P_i, P_j) − Δ| is 0",
            quantity_name="largest deviation from Δ",
            claimed=0,
        ),
        source="repair of appendix H, step 1",
    )
    def repaired(run: Run) -> Outcome:
        """Enumerate the family with other base means in exact fractions: the distance is Δ whatever the
        base, so that steps 2 and 3 carry over."""
        worst, count = Fraction(0), 0
        for k in range(2, 6):
            for gap in (g for g in gaps if g <= 1):
                for base in (Fraction(0), (1 - gap) / 2):
                    pairs = list(_pairs(k, gap, base))
                    worst = max(worst, *(abs(total_variation(*p) - gap) for p in pairs))
                    count += len(pairs)
        return Outcome(
            [
                Estimate.exactly(
                    worst,
                    quantity="largest deviation from Δ",
                    samples=count,
                    method=ENUMERATED,
                    scope="K = 2..5, Δ up to 1, two base means",
                )
            ]
        )


def _fano(suite: Suite) -> None:
    def points(run: Run) -> Iterator[Point]:
        for m in (2, 3, 4, 16, 256, 10**6):
            for power in (0, 1, 2, 5, 10, 40):
                yield {"M": m, "tenfold": Fraction(power, 4)}

    def tail(M: int, tenfold: Fraction) -> Any:
        return ball(tenfold).exp()

    def least(value: Any) -> Any:
        return value if value < 1 else arb(1)  # no grid point straddles 1

    add_steps(
        suite,
        "HHM-T10/asz",
        title="The inequality that the paper puts in the place of Acharya, Sun and Zhang's",
        steps=[
            Inequality(
                name="repaired inequality",
                text=(
                    "0.45 M min{1, (M−1)/e^(10εD)} ≤ 0.9 M(M−1)/(M−1+e^(10εD)), both sides divided by 0.45 M"
                ),
                left=lambda M, tenfold: least((M - 1) / tail(M, tenfold)),
                right=lambda M, tenfold: 2 * (M - 1) / (M - 1 + tail(M, tenfold)),
                points=points,
            ),
            Inequality(
                name="error at n = ln K/(10εΔ)",
                text="0.2 ≤ 0.45 (K−1)/K",
                left=lambda K: ball(Fraction(1, 5)),
                right=lambda K: ball(Fraction(45 * (K - 1), 100 * K)),
                points=lambda run: ({"K": k} for k in (2, 3, 4, 16, 256, 10**6)),
            ),
        ],
        about="""Compute both sides of the paper's replacement, x/(x + y) ≥ ½ min{1, x/y} with x = M − 1 and
        y = e^(10εD), and of the error that it gives.

        At M = 2 and ε = 0 both sides are equal. The next row checks the paper's remark that the original
        inequality fails there.""",
        source="Appendix H, step 2",
        scope="M from 2 to 10^6, 10εD from 0 to 10",
    )
    add_steps(
        suite,
        "HHM-T10/asz-original",
        title="Acharya, Sun and Zhang's own inequality, which the paper says fails at M = 2, ε = 0",
        steps=[
            Inequality(
                name="original inequality",
                text="0.8 M min{1, M/e^(10εD)} ≤ 0.9 M(M−1)/(M−1+e^(10εD))",
                left=lambda M, tenfold: ball(Fraction(4, 5)) * M * least(M / tail(M, tenfold)),
                right=lambda M, tenfold: ball(Fraction(9, 10)) * M * (M - 1) / (M - 1 + tail(M, tenfold)),
                points=points,
            )
        ],
        about=(
            "Compute both sides of the inequality as the cited work prints it: 1.6 against 0.9 at M = 2, "
            "ε = 0, as the paper says."
        ),
        source="Appendix H, step 2; Acharya, Sun and Zhang (2021), proof of Theorem 2",
        scope="M from 2 to 10^6, 10εD from 0 to 10",
        expect="refuted",
        notes=["the paper is right about the error in the cited proof"],
    )


def _samples(run: Run) -> Iterator[Point]:
    """K, gap, epsilon from m* = ln K/(10 epsilon gap) far below 1 to far above."""
    for k in (2, 4, 16, 256, 10**6):
        for gap in ("1/50", "1/10", "1/4", "1/2", "1"):
            for eps in ("1/1000", "1/100", "1/10", "1/2", "2", "20", "1000"):
                yield {"K": k, "gap": Fraction(gap), "eps": Fraction(eps)}


def _critical(K: int, gap: Fraction, eps: Fraction) -> Any:
    return ln(K) / ball(10 * eps * gap)


def _whole(value: Any, *, up: bool) -> int:
    """Floor or ceiling of a ball that holds no integer."""
    return int((value.ceil() if up else value.floor()).unique_fmpz())


def _conversion(suite: Suite) -> None:
    claimed = Fraction(98, 10_000)
    add_steps(
        suite,
        "HHM-T10/conversion",
        title="The first m* rounds cost 0.2 · 0.49 m* Δ, which is 0.0098 ln K/ε",
        steps=[
            Inequality(
                name="last sentence of the proof",
                text="0.0098 ln K/ε ≤ 0.2 · 0.49 ⌊m*⌋ Δ, m* = ln K/(10εΔ)",
                left=lambda K, gap, eps: ball(claimed * 10 * gap) * _critical(K, gap, eps),
                right=lambda K, gap, eps: ball(claimed * 10 * gap) * _whole(_critical(K, gap, eps), up=False),
                points=_samples,
            )
        ],
        measure="left - right",
        about="""Run the conversion with a whole number of rounds and samples.

        m* = ln K/(10εΔ) is no integer for any rational ε and Δ. (58) holds for at most ⌊m*⌋ samples, so
        that the step gives 0.2 · 0.49 ⌊m*⌋ Δ, less than the stated 0.0098 ln K/ε, and nothing at all where
        m* < 1 (ε above ln K/(10Δ)).""",
        source="Appendix H, step 3",
        scope="K from 2 to 10^6, Δ from 1/50 to 1, ε from 1/1000 to 1000",
        expect="refuted",
        notes=["the constant survives, with room, by another last step: HHM-T10/conversion-repaired"],
    )
    better = Fraction(225, 10_000)
    add_steps(
        suite,
        "HHM-T10/conversion-repaired",
        title="Each of the first ⌈m*⌉ rounds costs 0.45 (K−1)/K Δ, which gives 0.0225 ln K/ε",
        steps=[
            Inequality(
                name="round by round",
                text="0.0225 ln K/ε ≤ 0.45 (K−1)/K ⌈m*⌉ Δ",
                left=lambda K, gap, eps: ball(better * 10 * gap) * _critical(K, gap, eps),
                right=lambda K, gap, eps: (
                    ball(Fraction(45 * (K - 1), 100 * K) * gap) * _whole(_critical(K, gap, eps), up=True)
                ),
                points=_samples,
            ),
            Inequality(
                name="the stated constant",
                text="0.0098 ln K/ε ≤ 0.0225 ln K/ε",
                left=lambda: ball(claimed),
                right=lambda: ball(better),
                points=lambda run: [{}],
            ),
        ],
        about="""Put another last step in the place of the majority vote, and compute it for whole numbers
        of rounds.

        The action of round t is itself an ε-DP selector from t − 1 < m* samples, t = 1..⌈m*⌉ (T ≥ m* allows
        these rounds). The proof of (58) bounds the average error over the K instances, so that the errors
        of all rounds add up: some instance has regret at least 0.45 (K−1)/K ⌈m*⌉ Δ. No rounding, no
        majority, and m* < 1 is the case of one round.""",
        source="repair of appendix H, step 3",
        scope="K from 2 to 10^6, Δ from 1/50 to 1, ε from 1/1000 to 1000",
    )
