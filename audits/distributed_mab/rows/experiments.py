"""The paper's experiments (section 7, appendix J; claims CZ23-E1 to CZ23-E5), at the paper's own settings.

The paper describes its figures in sentences. Each sentence becomes an ordering of mean regrets per round with
named constants. The mean is over the 20 instances and all runs on them. Bets on runs decide the ordering.
Each run draws its instance from the 20, the same instance for all algorithms of a comparison. Each regret is
cut at a cap, and the regret beyond the cap is bounded rigorously (``elimination_cuts``).

Every profile has the paper's horizons: T = 10^6 for easy instances, T = 10^7 for hard instances and the
graded data.
"""

from __future__ import annotations

from fractions import Fraction

from audits.distributed_mab.experiment_comparisons import at_most, compared, comparison, difference, falling
from audits.distributed_mab.experiment_runs import Cell
from audits.distributed_mab.experiment_settings import COMPETITORS, EPSILONS, FAILURE_PROB, FIGURES
from dpaudit.core.suite import Group, Outcome, Run
from dpaudit.suite import listed, over

__all__ = ["rows"]

rows = Group("What the figures show", kind="utility")

#: The constants that the sentences leave open: a shrinking gap, a match, a visible gain, "much better".
SHRINKS, FACTOR, VISIBLE, FAR = Fraction(1, 2), Fraction(3, 2), Fraction(19, 20), 5
BASELINE, PURE, RENYI, FINE = COMPETITORS
_, LOCAL, PURE_2, RENYI_2, CONCENTRATED_2 = FIGURES[4].competitors
SYNTHETIC = "Section 7, Figures 1 to 3"


@comparison(rows, "CZ23-E1", f"{SYNTHETIC}; Appendix J", constants=[("far", FAR)])
def order_wise(run: Run) -> Outcome:
    """For large T Dist-DP-SE has order-wise the regret of DP-SE: at most 5 times as much

    Simulate both on the paper's easy instances at ε = 0.1 (full: easy and hard, ε = 0.1, 0.5, 1), and bet on
    the paired differences. Appendix J says "order-wise same". The factor is this audit's.
    """
    cases = run.choose(quick=[(2, "0.1")], full=[(figure, e) for figure in (2, 3) for e in EPSILONS])
    return compared(run, [at_most(f, PURE, BASELINE, e, str(FAR)) for f, e in cases], runs=(400, 2000))


@comparison(
    rows,
    "CZ23-E1/ratio",
    SYNTHETIC,
    constants=[("factor", FACTOR)],
    role="sharper",
    over=listed("epsilon", "0.1", "1"),
    expect=lambda epsilon: "refuted" if epsilon < 1 else "verified",
)
def ratio(run: Run, epsilon: Fraction) -> Outcome:
    """For large T Dist-DP-SE matches DP-SE: regret within a factor 3/2, easy instances

    Simulate both and bet on the paired differences. At ε = 0.1 the ratio is about 2, both at T and at T/16.
    Reg(T)/T goes to 0 for both algorithms, and so does the difference, but the ratio does not.
    """
    shown = f"{float(epsilon):g}"
    return compared(run, [at_most(2, PURE, BASELINE, shown, str(FACTOR))], runs=(400, 2000))


CORNER_HORIZON = 10**8


@comparison(
    rows,
    "CZ23-E1/corner",
    "Section 7 (p = 0.1) and line 27 of Algorithm 1; the instance is this audit's",
    at_most="1/100",
    constants=[("close", "1/100")],
    role="what-if",
    over=listed("p", (FAILURE_PROB), (f"1/{CORNER_HORIZON}")),
    name=lambda p: (
        "p = 0.1, as in the experiments" if p > Fraction(1, 100) else "p = 1/T, as in the theorems"
    ),
    expect=lambda p: "refuted" if p > Fraction(1, 100) else "verified",
)
def corner(run: Run, p: Fraction) -> Outcome:
    """Dist-DP-SE matches DP-SE if arms pay nothing: E Reg(T)/T larger by at most 1/100

    Simulate both on one arm with Bernoulli(1/2) rewards and nine that always pay 0, T = 10^8, ε = 1, and bet
    on the paired differences. The margin τ leaves room for the noise with probability 1 - p/2 at either end.
    A sum of zeros that falls below -τ is decoded to a sum above n g, so an arm that never pays looks perfect.
    With p = 0.1 this happens to some of nine arms in one batch out of five, and the best arm is eliminated.
    The means of the paper's synthetic instances stay away from 0 and 1, so their sums have room on both
    sides.
    """
    shown = FAILURE_PROB if p > Fraction(1, 100) else f"1/{CORNER_HORIZON}"
    both = [
        (1.0, Cell("corner", PURE, "1", CORNER_HORIZON, shown)),
        (-1.0, Cell("corner", BASELINE, "1", CORNER_HORIZON, shown)),
    ]
    return compared(run, [both], runs=(600, 4000))


# Easy and hard instances


@comparison(rows, "CZ23-E2", SYNTHETIC, constants=[("shrinks", SHRINKS)])
def shrinking(run: Run) -> Outcome:
    """The gap of Dist-DP-SE to DP-SE in Reg(T)/T shrinks with T: at T it is at most half the gap at T/16

    Simulate both at both horizons, easy and hard instances at ε = 0.1 (full: ε = 0.1, 0.5, 1), and bet on the
    combination of the four regrets.
    """
    combinations = [
        [
            *difference(figure, PURE, BASELINE, epsilon),
            *difference(figure, PURE, BASELINE, epsilon, weight=-float(SHRINKS), shorter=16),
        ]
        for figure in (2, 3)
        for epsilon in run.choose(quick=("0.1",), full=EPSILONS)
    ]
    return compared(run, combinations, runs=(400, 1000), figure=2)


@comparison(rows, "CZ23-E2/epsilon", SYNTHETIC, over=over(gain_of=("DP-SE", "Dist-RDP-SE (s = 10)")))
def at_larger_epsilon(run: Run, gain_of: str) -> Outcome:
    """The gap of Dist-DP-SE, to DP-SE and to Dist-RDP-SE, is smaller for larger ε

    The difference of E Reg(T)/T at the larger ε is at most the difference at the smaller ε: easy instances, ε
    = 0.1 and 1 (full: adjacent values among 0.1, 0.5, 1). Simulate both at both ε and bet on the combination
    of the four regrets.
    """
    other = BASELINE if gain_of == "DP-SE" else RENYI
    return compared(
        run, falling(2, PURE, other, run.choose(quick=("0.1", "1"), full=EPSILONS)), runs=(400, 2500)
    )


GAINS = {
    "easy": (2, EPSILONS, (400, 3000)),
    "hard": (3, ("0.1",), (600, 1500)),
    "graded": (5, ("1",), (3000, 6000)),
}


def _gain(run: Run, instances: str, *, shown: bool = False) -> Outcome:
    figure, epsilons, runs = GAINS[instances]
    chosen = run.choose(quick=epsilons[:1], full=epsilons)
    gains = [at_most(figure, RENYI, PURE, epsilon, str(VISIBLE)) for epsilon in chosen]
    return compared(run, gains, runs=runs, figure=figure if shown else None)


@comparison(rows, "CZ23-E2/gain", SYNTHETIC, constants=[("visible", VISIBLE)])
def gain_on_easy(run: Run) -> Outcome:
    """Dist-RDP-SE (s = 10) gains visibly over Dist-DP-SE on easy instances: at most 19/20 of its regret

    Simulate both at ε = 0.1 (full: ε = 0.1, 0.5, 1) and bet on the paired differences.
    """
    return _gain(run, "easy")


@comparison(rows, "CZ23-E2/scale", "Appendix J, Figure 2")
def scale(run: Run) -> Outcome:
    """A higher scale factor s gives a higher gain: regret of Dist-RDP-SE with s = 100 is at most its regret
    with s = 10

    Simulate both on easy instances at ε = 0.1 (full: ε = 0.1, 0.5) and bet on the paired differences.
    """
    epsilons = run.choose(quick=("0.1",), full=("0.1", "0.5"))
    return compared(run, [at_most(2, FINE, RENYI, epsilon) for epsilon in epsilons], runs=(550, 3000))


@comparison(rows, "CZ23-E3", "Section 7, Figures 1 and 3", constants=[("visible", VISIBLE)])
def gain_on_hard(run: Run) -> Outcome:
    """Dist-RDP-SE (s = 10) gains visibly over Dist-DP-SE on hard instances, ε = 0.1: at most 19/20 of its
    regret

    Simulate both and bet on the paired differences.
    """
    return _gain(run, "hard", shown=True)


# One framework: "CDP-SE" is the central pure variant, "Dist-CDP-SE" the variant with discrete Gaussians

ORDER = {
    "Dist-DP-SE is much better than LDP-SE: a fifth of its regret": (PURE_2, LOCAL, Fraction(1, FAR)),
    "Dist-RDP-SE (s = 10) is better than the pure Dist-DP-SE: 19/20 of its regret": (
        RENYI_2,
        PURE_2,
        VISIBLE,
    ),
    "Dist-CDP-SE (s = 10) is better than Dist-RDP-SE (s = 10)": (CONCENTRATED_2, RENYI_2, Fraction(1)),
}


@comparison(
    rows,
    "CZ23-E4",
    "Section 7, Figure 4",
    constants=[("far", FAR), ("visible", VISIBLE)],
    over=over(sentence=tuple(ORDER)),
    name=lambda sentence: sentence,
)
def one_framework(run: Run, sentence: str) -> Outcome:
    """In one framework LDP-SE is worst, then the pure, the Rényi and the concentrated distributed algorithm

    Simulate both algorithms of each pair on easy instances, T = 10^6, batches of 2^b, ε = 0.1 (full: ε = 0.1,
    0.5, 1), and bet on the paired differences.

    Note: Theorem 4 covers only ε < 1. The figure has ε = 1
    """
    left, right, factor = ORDER[sentence]
    epsilons = run.choose(quick=("0.1",), full=EPSILONS)
    first = sentence == next(iter(ORDER))
    pairs = [at_most(4, left, right, epsilon, str(factor)) for epsilon in epsilons]
    return compared(run, pairs, runs=(400, 2500), figure=4 if first else None)


# Figure 5 on the packaged instance: clusters of diamonds, graded by cut (the paper's data cannot be
# redistributed)


@comparison(rows, "CZ23-E5", "Section 7, Figures 1 and 5", constants=[("factor", FACTOR)])
def graded(run: Run) -> Outcome:
    """Graded data: for large T Dist-DP-SE matches DP-SE, ε = 5 and 10: either regret within 3/2 of the other

    Simulate both on 48 clusters of diamonds, T = 10^7, ε = 10 (full: 5 and 10), and bet on the paired
    differences in both directions. At ε = 1 an upper bound on Dist-DP-SE's regret is out of reach: in the
    batch of 64 users a sum of the best arm (mean 0.95) leaves the analyzer's window with a probability of the
    order of 0.001, and the best arm is eliminated.
    """
    pairs = [
        at_most(5, left, right, epsilon, str(FACTOR))
        for epsilon in run.choose(quick=("10",), full=("5", "10"))
        for left, right in ((PURE, BASELINE), (BASELINE, PURE))
    ]
    return compared(run, pairs, runs=(800, 3000), figure=5)


@comparison(rows, "CZ23-E5/gain", "Section 7, Figures 1 and 5", constants=[("visible", VISIBLE)])
def gain_on_graded(run: Run) -> Outcome:
    """Graded data: Dist-RDP-SE (s = 10) gains visibly over Dist-DP-SE, ε = 1: at most 19/20 of its regret

    Simulate both on 48 clusters of diamonds, T = 10^7, and bet on the paired differences.
    """
    return _gain(run, "graded")


@comparison(rows, "CZ23-E5/scale", "Section 7, Figure 5")
def scale_on_graded(run: Run) -> Outcome:
    """Graded data: a higher scale factor s gives a higher gain: s = 100 against s = 10, ε = 1

    Simulate both on 48 clusters of diamonds, T = 10^7, and bet on the paired differences.
    """
    return compared(run, [at_most(5, FINE, RENYI, "1")], runs=(3000, 6000))
