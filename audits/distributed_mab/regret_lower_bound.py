"""The lower bounds that the paper relies on: Shariff and Sheffet (2018), and Ren et al. (2020) for local DP.

A lower bound is never verified by simulation. Its construction and its steps are computed, and the private
algorithms at hand are held against it: one of them below it would refute it.

The construction: arm a has mean 1/2 - Δ in the base instance and 1/2 + Δ in the other one.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

from audits.distributed_mab.regret_bounds import Setting
from audits.distributed_mab.simulated_regret import final_regrets, interval
from audits.inequalities import Inequality, Point, add_steps
from dpaudit.claims import LowerBound, Ordering
from dpaudit.evidence import Estimate
from dpaudit.exact_functions import ln
from dpaudit.kernel.ball import ball
from dpaudit.plots import table
from dpaudit.statistics import mean_bounds
from dpaudit.suite import Outcome, Run, Suite

__all__ = ["add_rows", "cheapest_coupling", "dearest_change"]


def add_rows(suite: Suite) -> None:
    """The construction, the steps of the argument, and the algorithms against both bounds."""
    _coupling(suite)
    _group_privacy(suite)
    _argument(suite)
    _pulls(suite)
    _local(suite)
    suite.not_checkable(
        "CZ23-LB/all-algorithms",
        reason=(
            "Ω(K log T/ε) for every ε-DP algorithm, and the factor 1/ε² for every local one, are theorems "
            "of other papers about all algorithms; their constructions, steps and the algorithms at hand "
            "are in CZ23-LB"
        ),
    )


# The construction


def cheapest_coupling(samples: int, gap: Fraction) -> Fraction:
    """The least expected number of differing places when ``samples`` rewards of mean 1/2 - Δ and of 1/2 + Δ
    are coupled, from the exact laws of both by the dual: the expected number of ones is 1-Lipschitz in the
    number of places, and the place-by-place maximal coupling attains its difference.

    Raises ``ArithmeticError`` where the two sides disagree.
    """
    low, high = Fraction(1, 2) - gap, Fraction(1, 2) + gap
    ones = [
        sum(k * math.comb(samples, k) * p**k * (1 - p) ** (samples - k) for k in range(samples + 1))
        for p in (low, high)
    ]
    # A uniform per place shows 1 below the mean: the pair differs where it falls between the two means.
    differ = high - low
    places = sum(
        k * math.comb(samples, k) * differ**k * (1 - differ) ** (samples - k) for k in range(samples + 1)
    )
    if ones[1] - ones[0] != places:
        raise ArithmeticError(f"the coupling must attain the dual bound {ones[1] - ones[0]}, got {places}.")
    return Fraction(places)


def _coupling(suite: Suite) -> None:
    @suite.row(
        "CZ23-LB/coupling",
        title=(
            "The two reward streams of an arm can be coupled to differ in 2nΔ places on average, not in fewer"
        ),
        kind="structure",
        claim=Ordering(
            text=(
                "|least expected number of differing places - 2nΔ| is 0, for n <= 40 and Δ = 1/100, 1/10, "
                "1/4, 1/2"
            ),
            quantity_name="largest deviation from 2nΔ",
            claimed=0,
        ),
        source="Shariff and Sheffet (2018), as relied on after Theorem 1",
    )
    def evaluate(run: Run) -> Outcome:
        """Compute both sides of the transport problem in fractions: the coupling by common uniforms from
        above, the number of ones as a test function from below."""
        gaps = [Fraction(g) for g in ("1/100", "1/10", "1/4", "1/2")]
        counts = range(1, 41)
        worst = max(abs(cheapest_coupling(n, gap) - 2 * n * gap) for n in counts for gap in gaps)
        estimate = Estimate.exactly(
            worst,
            quantity="largest deviation from 2nΔ",
            samples=len(counts) * len(gaps),
            method="exact fractions, primal and dual",
            scope=f"n up to {counts[-1]}, Δ = 1/100, 1/10, 1/4, 1/2",
        )
        return Outcome([estimate])


def dearest_change(samples: int, gap: Fraction, epsilon: Fraction) -> Any:
    """The largest log P'(E)/P(E) over all ε-DP mechanisms of ``samples`` rewards, when their mean moves from
    1/2 - Δ to 1/2 + Δ, as a ball.

    One reward: an event's chance f(0), f(1) has f(1) <= e^ε f(0), and the ratio grows with f(1)/f(0); hence
    log((1 + x)/(1 - x)), x = 2Δ tanh(ε/2). Rewards are independent: place by place the bounds multiply, and
    ε-DP mechanisms with e^{ε (number of ones)} in proportion attain the product.
    """
    x = 2 * ball(gap) * (ball(epsilon) / 2).tanh()
    return samples * ((1 + x) / (1 - x)).log()


def _group_privacy(suite: Suite) -> None:
    add_steps(
        suite,
        "CZ23-LB/group-privacy",
        title="Under ε-DP the change of n rewards from mean 1/2 - Δ to 1/2 + Δ costs at most e^{2nΔε}",
        steps=[
            Inequality(
                name="cost",
                text="n log((1 + x)/(1 - x)) <= 2nΔε, x = 2Δ tanh(ε/2)",
                left=lambda n, gap, epsilon: dearest_change(n, gap, epsilon),
                # At Δ = 1/2 both sides are equal.
                right=lambda n, gap, epsilon: ball(2 * n * gap * epsilon * (1 + Fraction(1, 2**100))),
                points=lambda run: [
                    {"n": n, "gap": Fraction(g), "epsilon": Fraction(e)}
                    for n in (1, 100)
                    for g in ("1/1000", "1/10", "1/4", "49/100", "1/2")
                    for e in ("1/1000", "1/10", "1", "4", "20")
                ],
            )
        ],
        about=(
            "The largest ratio of an event's probabilities over all ε-DP mechanisms of n rewards, in closed "
            "form, against e^{2nΔε}."
        ),
        source="Shariff and Sheffet (2018), as relied on after Theorem 1",
        scope="n = 1, 100, Δ from 1/1000 to 1/2, ε from 1/1000 to 20; equal at Δ = 1/2, up to 2^-100",
        notes=["proof: artanh is convex and 0 at 0, so that artanh(2Δ u) <= 2Δ artanh(u) for 2Δ <= 1"],
    )


def _argument(suite: Suite) -> None:
    def points(run: Run) -> list[Point]:
        return [
            {"T": (4 * int(1 / Fraction(g))) ** 5 * factor, "gap": Fraction(g), "epsilon": Fraction(e)}
            for g in ("1/1000", "1/100", "1/10", "1/4")
            for e in ("1/20", "1", "20")
            for factor in (1, 2, 10**6, 10**30)
        ]

    add_steps(
        suite,
        "CZ23-LB/argument",
        title=(
            "Fewer than log T/(100εΔ) pulls with chance 1/2 would cost more than T^{3/4} elsewhere, for "
            "large T"
        ),
        steps=[
            Inequality(
                name="contradiction",
                text="T^{3/4} <= (1/2) e^{-2nΔε} Δ (T - n), n = log T/(100εΔ), for T >= (4/Δ)^5",
                left=lambda T, gap, epsilon: (ln(T) * ball(Fraction(3, 4))).exp(),
                right=lambda T, gap, epsilon: (
                    (-ln(T) / 50).exp() * ball(gap) * (T - ln(T) / ball(100 * epsilon * gap)) / 2
                ),
                points=points,
            )
        ],
        about=(
            "If arm a gets fewer than n pulls with probability 1/2 in the base instance, it does so with "
            "probability e^{-2nΔε}/2 where it is the best arm, and each pull of another arm then costs Δ."
        ),
        source="Shariff and Sheffet (2018), as relied on after Theorem 1",
        scope="Δ = 1/1000 to 1/4, ε = 1/20, 1, 20, T from (4/Δ)^5 to 1e30 times that",
        notes=["e^{-2nΔε} = T^{-1/50}: the constant 100 is not the best one; T has to be large against 1/Δ"],
    )


# The algorithms

PURE = ("dist_dp_se", "cdp_se", "shuffle_dp_se/repaired", "ldp_se")


def _pulls(suite: Suite) -> None:
    @suite.row(
        "CZ23-LB",
        title="Every ε-DP algorithm pulls a suboptimal arm log T/(100 ε Δ) times with probability 1/2",
        kind="lower-bound",
        claim=LowerBound(
            text=(
                "P(N_a(T) >= log T/(100 ε Δ_a)) >= 1/2 for two arms, for Dist-DP-SE, CDP-SE, Shuffle-DP-SE "
                "(repaired) and LDP-SE, at T = 2^24"
            ),
            quantity_name="P(N_a(T) >= log T/(100 ε Δ_a))",
            claimed="1/2",
            constants=(("constant", "100"),),
        ),
        expect="inconclusive",
        source="Shariff and Sheffet (2018), as relied on after Theorem 1",
    )
    def evaluate(run: Run) -> Outcome:
        """Simulate the pure private variants on two arms, where pulls = regret / Δ; bound the probability.

        Simulation never verifies a lower bound; an upper bound below 1/2 would refute it.
        """
        runs = run.choose(quick=100, full=1000)
        instances = ((1.0, 0.0), (0.5, 0.25), (0.5, 0.49))
        epsilons = run.choose(quick=("1/20", "99/100"), full=("1/1000", "1/20", "1/2", "99/100"))
        cells = list(itertools.product(PURE, instances, epsilons))
        lowest = highest = 1.0
        rows = []
        for name, means, epsilon in cells:
            setting = Setting(name=name, epsilon=Fraction(epsilon), n_arms=2, horizon=2**24)
            gap = means[0] - means[1]
            least = math.log(setting.horizon) / (100 * float(setting.epsilon) * gap)
            seed = run.seed_sequence(f"{name} {means} {epsilon}")
            pulls = final_regrets(setting, means, runs=runs, seed=seed) / gap
            low, high = mean_bounds(pulls >= least, low=0.0, high=1.0, alpha=run.alpha / len(cells))
            lowest, highest = min(lowest, low), min(highest, high)
            rows.append([name, str(means), epsilon, least, float(pulls.min()), float(pulls.min()) / least])
        estimate = Estimate(
            quantity="P(N_a(T) >= log T/(100 ε Δ_a))",
            lower=lowest,
            upper=highest,
            confidence=1 - run.alpha,
            samples=runs * len(cells),
            method="batch simulation; bets on the indicator",
            scope=f"{len(cells)} cells (variant, instance, ε), T = 2^24, {runs} runs each",
            seed=run.seed,
        )
        picture = table(
            title="Pulls of the suboptimal arm against log T/(100 ε Δ)",
            columns=["variant", "means", "ε", "log T/(100 ε Δ)", "least pulls seen", "quotient"],
            rows=rows,
        )
        return Outcome([estimate], plots=[picture])


def _local(suite: Suite) -> None:
    @suite.row(
        "CZ23-LB/local",
        title="Under local ε-DP the regret has a factor 1/ε²",
        kind="lower-bound",
        claim=LowerBound(
            text="E Reg(T) >= log T/(100 ε² Δ) for LDP-SE on two arms at T = 2^40, ε = 1/2, ..., 1/64",
            quantity_name="regret / (log T/(100 ε² Δ))",
            claimed=1,
            constants=(("constant", "100"),),
        ),
        expect="inconclusive",
        source="Ren et al. (2020), as relied on in section 6 and Table 1; the constant is ours",
    )
    def evaluate(run: Run) -> Outcome:
        """Simulate LDP-SE as ε falls; its regret times ε² stays where it is."""
        runs = run.choose(quick=60, full=1000)
        cells = list(itertools.product(((1.0, 0.0), (0.6, 0.4)), ("1/2", "1/8", "1/64")))
        lowest = highest = math.inf
        rows = []
        for means, epsilon in cells:
            setting = Setting(name="ldp_se", epsilon=Fraction(epsilon), n_arms=2, horizon=2**40)
            gap = means[0] - means[1]
            unit = math.log(setting.horizon) / (100 * float(setting.epsilon) ** 2 * gap)
            found = interval(run, setting, means, runs=runs, alpha=run.alpha / len(cells)) / unit
            lowest, highest = min(lowest, found.low), min(highest, found.high)
            rows.append([str(means), epsilon, found.mean, found.low, found.high])
        estimate = Estimate(
            quantity="regret / (log T/(100 ε² Δ))",
            lower=lowest,
            upper=highest,
            confidence=1 - run.alpha,
            samples=runs * len(cells),
            method="batch simulation; bets on the mean of min(regret, cap), rigorous excess added",
            scope=f"{len(cells)} cells (instance, ε), T = 2^40, {runs} runs each",
            seed=run.seed,
        )
        picture = table(
            title="LDP-SE: regret / (log T/(100 ε² Δ))",
            columns=["means", "ε", "mean", "at least", "at most"],
            rows=rows,
        )
        return Outcome([estimate], plots=[picture])
