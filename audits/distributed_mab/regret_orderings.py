"""What the paper says beside its rates: Theorem 1 against the central baseline, and larger s in Theorem 2.

Both are simulated, and bounded by bets.
"""

from __future__ import annotations

import itertools
from fractions import Fraction

from audits.distributed_mab.regret_bounds import Setting
from audits.distributed_mab.regret_growth import inverse_budget, noise_octave
from audits.distributed_mab.simulated_regret import Interval, baseline_interval, interval, mean_interval_over
from dpaudit.claims import Ordering
from dpaudit.evidence import Estimate
from dpaudit.plots import table
from dpaudit.suite import Outcome, Run, Suite

__all__ = ["add_rows"]


def add_rows(suite: Suite) -> None:
    """The row CZ23-OPT and the regret half of CZ23-S."""
    _baseline(suite)
    _scaling_factor(suite)


def _baseline(suite: Suite) -> None:
    limit = 5

    @suite.row(
        "CZ23-OPT",
        title="Dist-DP-SE's regret is DP-SE's, of the central model, up to a constant",
        kind="regret",
        claim=Ordering(
            text=(
                f"E Reg of Dist-DP-SE <= {limit} E Reg of DP-SE (Sajed and Sheffet) at T = 2^24 and p = "
                "1/T, for ε = 1/1000, 1/10, 1, 20 and four instances, arms in random order"
            ),
            quantity_name="regret of Dist-DP-SE / regret of DP-SE",
            claimed=limit,
            constants=(("C", str(limit)),),
        ),
        source="after Theorem 1",
    )
    def evaluate(run: Run) -> Outcome:
        """Simulate both algorithms on the same instances; the printed rates are the same expression."""
        runs = run.choose(quick=400, full=2000)
        instances = [(1.0, 0.0), (0.75, 0.5), (0.5, 0.49), (0.5,) + (0.4,) * 9]
        cells = list(itertools.product(instances, ("1/1000", "1/10", "1", "20")))
        low, high, rows = 0.0, 0.0, []
        for means, epsilon in cells:
            setting = Setting(name="dist_dp_se", epsilon=Fraction(epsilon), n_arms=len(means), horizon=2**24)
            level = run.alpha / (2 * len(cells))
            ours = interval(run, setting, means, runs=runs, alpha=level)
            theirs = baseline_interval(run, setting, means, runs=runs, alpha=level)
            low, high = max(low, ours.low / theirs.high), max(high, ours.high / theirs.low)
            rows.append(
                [str(means[:3]), len(means), epsilon, ours.mean, theirs.mean, ours.mean / theirs.mean]
            )
        estimate = Estimate(
            quantity="regret of Dist-DP-SE / regret of DP-SE",
            lower=low,
            upper=high,
            confidence=1 - run.alpha,
            samples=2 * runs * len(cells),
            method="simulation; bets on the mean of min(regret, cap), rigorous excess added",
            scope=f"{len(cells)} cells (instance, ε), T = 2^24, {runs} runs each",
            seed=run.seed,
            covers_claim=True,
        )
        picture = table(
            title="Mean regret at T = 2^24, p = 1/T",
            columns=["means", "K", "ε", "Dist-DP-SE", "DP-SE", "ratio"],
            rows=rows,
        )
        return Outcome([estimate], plots=[picture])


def _scaling_factor(suite: Suite) -> None:
    scales = (1, 10, 100)

    @suite.row(
        "CZ23-S/regret",
        title="Larger s: lower regret of Dist-RDP-SE",
        kind="regret",
        claim=Ordering(
            text=(
                "E Reg(s') <= E Reg(s) for (s, s') = (1, 10) and (10, 100), T = 2^24, K = 2 and 10, "
                "averaged over an octave of ε below 1/20"
            ),
            quantity_name="regret at s' / regret at s",
            claimed=1,
        ),
        source="discussion of Theorem 2",
    )
    def evaluate(run: Run) -> Outcome:
        """Simulate where noise decides; the largest upper bound of the ratio at consecutive s."""
        runs = run.choose(quick=400, full=2000)
        level = run.alpha / 6
        found: dict[tuple[int, int], Interval] = {}
        for k, s in itertools.product((2, 10), scales):
            cells = noise_octave(
                "dist_rdp_se", scale=s, epsilon=Fraction(1, 20), n_arms=k, exponent=24, unit=inverse_budget
            )
            found[k, s] = mean_interval_over(run, cells, runs=runs, alpha=level)
        pairs = [
            (k, s, found[k, t].low / found[k, s].high, found[k, t].high / found[k, s].low)
            for k in (2, 10)
            for s, t in itertools.pairwise(scales)
        ]
        estimate = Estimate(
            quantity="regret at s' / regret at s",
            lower=max(low for _, _, low, _ in pairs),
            upper=max(high for *_, high in pairs),
            confidence=1 - run.alpha,
            samples=6 * runs * len(cells),
            method="batch simulation; bets on the mean of min(regret, cap), rigorous excess added",
            scope=f"K = 2, 10, s = 1, 10, 100, T = 2^24, an octave of ε, {runs} runs each",
            seed=run.seed,
            covers_claim=True,
        )
        picture = table(
            title="ε E Reg(T), averaged over an octave of ε",
            columns=["K", "s", "mean", "at least", "at most"],
            rows=[[k, s, one.mean, one.low, one.high] for (k, s), one in found.items()],
        )
        return Outcome([estimate], plots=[picture])
