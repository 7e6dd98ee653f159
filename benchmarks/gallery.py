"""Check the gallery as black boxes against the exact values: ``python -m benchmarks.gallery --json FILE``.

Each entry is checked at several seeds. The output has the exact epsilon, the median lower bound, how often
the claim was refuted, and the runs that it took, with published figures for comparison. The exit code is 1 if
more lower bounds are above the true value than alpha explains.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.gallery_mechanisms import (
    Mechanism,
    clamped_geometric,
    laplace,
    naive_laplace,
    noisy_argmax,
    noisy_max,
    numerical_sparse_vector,
    prefix_sums,
    rappor,
    sparse_vector,
    sparse_vector_showing,
    two_sparse_vectors,
)
from benchmarks.gallery_truths import (
    argmax_distribution,
    components,
    flags_distribution,
    largest_loss,
    one_query,
)
from benchmarks.options import count
from dpaudit import PureDP, check
from dpaudit.blackbox import AS_RUN, CheckResult
from dpaudit.blackbox.statistics import excess_p_value
from dpaudit.core.claims import Model
from dpaudit.core.neighbours import Neighbours
from dpaudit.report.markdown import refresh

__all__ = ["GALLERY", "Entry", "main", "measure", "truth_on_pairs"]

INFINITE = math.inf
#: Two reports of Bloom filters that differ in 6 of 20 bits.
BLOOM = [(np.isin(range(20), [0, 1, 2, 3]), np.isin(range(20), [3, 4, 5, 6]))]
UNIT = [(0.0, 1.0)]


@dataclass(frozen=True)
class Entry:
    """A mechanism with its claim.

    ``truth`` is the least epsilon that holds for all neighbours and any number of queries, or infinite if
    none holds. ``reached`` is the least epsilon for the pairs tried, if it is less and no ``distribution``
    gives it. With ``at_most`` it is only an upper bound. ``published`` are lower bounds of DP-Sniper
    (regression; 6e8 runs or more) and of StatDP (its first run) at 90 %. ``distribution`` are the arguments
    of the distribution that sums the outputs out.
    """

    name: str
    mechanism: Mechanism
    epsilon: str
    pairs: Sequence[tuple[Any, Any]]
    truth: float
    published: tuple[float | None, float | None] = (None, None)
    reached: float | None = None
    at_most: bool = False
    as_run: bool = False
    distribution: dict[str, Any] = field(default_factory=dict)


def _noisy_max_entries() -> list[Entry]:
    five = components(5)
    argmax = {"scale": 20.0}
    return [
        Entry("ReportNoisyMax1", noisy_argmax(20), "0.1", five, 0.1, (0.0923, 0.0920), distribution=argmax),
        Entry(
            "ReportNoisyMax2",
            noisy_argmax(20, exponential=True),
            "0.1",
            five,
            0.1,
            (0.0975, 0.0996),
            distribution=argmax | {"exponential": True},
        ),
        Entry("ReportNoisyMax3", noisy_max(20), "0.1", five, 0.25, (0.2478, 0.1991)),
        Entry("ReportNoisyMax4", noisy_max(20, exponential=True), "0.1", five, INFINITE, (0.3463, 0.1960)),
        Entry("ReportNoisyMax3, epsilon 1", noisy_max(2), "1", five, 2.5),
        Entry("ReportNoisyMax3, epsilon 1, one pair", noisy_max(2), "1", [five[6]], 2.5),
    ]


def _sparse_vector_entries() -> list[Entry]:
    ten = components(10)

    def flags(
        name: str,
        claim: str,
        truth: float,
        figures: tuple[float, float] | None,
        pairs: Sequence[tuple[Any, Any]] = ten,
        **distribution: Any,
    ) -> Entry:
        ends = 1 if distribution["stop_after_one"] else None
        numbers = {key: distribution[key] for key in ("rho", "nu")}
        run = sparse_vector(distribution["threshold"], stop_after=ends, **numbers, again=name == "SVT2")
        return Entry(name, run, claim, pairs, truth, figures or (None, None), distribution=distribution)

    once: dict[str, Any] = {"stop_after_one": True}
    always: dict[str, Any] = {"stop_after_one": False}
    return [
        flags("SVT1", "0.1", 0.1, (0.0858, 0.0298), threshold=0.5, rho=20.0, nu=40.0, **once),
        flags("SVT2", "0.1", 0.1, (0.0859, 0.0316), threshold=1.0, rho=20.0, nu=40.0, **once),
        flags("SVT4", "0.1", 0.175, (0.1687, 0.1709), threshold=1.0, rho=40.0, nu=40 / 3, **once),
        flags("SVT6", "0.1", INFINITE, (0.2720, 0.3220), threshold=1.0, rho=20.0, nu=20.0, **always),
        flags("SVT4, epsilon 1", "1", 1.75, None, threshold=1.0, rho=4.0, nu=4 / 3, **once),
        flags(
            "SVT4, epsilon 1, one pair", "1", 1.75, None, ten[7:], threshold=1.0, rho=4.0, nu=4 / 3, **once
        ),
    ]


def _other_sparse_vector_entries() -> list[Entry]:
    """Return the programs that release values, or have no noise on the answers."""
    ten = components(10)
    # The third costs 10 answers / 40 at most, the fourth (1 + 6 * 2) / 40 (Lyu, Su and Li 2017).
    both = two_sparse_vectors(
        sparse_vector_showing(1, rho=20, nu=40, stop_after=2),
        sparse_vector(1, rho=40, nu=40 / 3, stop_after=2),
    )
    third = sparse_vector_showing(1, rho=20, nu=20, stop_after=1)
    fifth = sparse_vector(1, rho=20, nu=None, stop_after=None)
    numbers = numerical_sparse_vector(1, rho=30, nu=120, value=60)
    return [
        Entry("SVT3", third, "0.1", ten, INFINITE, (0.1716, 0.0231), reached=0.5),
        Entry("SVT5", fifth, "0.1", ten, INFINITE, (1.7612, 14.31)),
        Entry("SVT34Parallel", both, "0.1", ten, INFINITE, (0.2610, 0.1371), reached=0.575, at_most=True),
        Entry("NumericalSVT", numbers, "0.1", ten, 0.1, (0.0343, None), at_most=True),
    ]


def _entries() -> list[Entry]:
    bit = math.log(0.5125 / 0.4875)
    once = math.log(0.525 / 0.475)
    geometric = math.log1p(2**-3)
    five, ten, twenty = one_query(5), components(10), components(20)
    counts = [(k, k + 1) for k in range(5)]
    reports = rappor(flip=0.75, low=0.45, high=0.55)
    return [
        Entry("Laplace", laplace(10), "0.1", UNIT, 0.1, (0.0968, 0.0998)),
        Entry(
            "TruncatedGeometric",
            clamped_geometric(geometric, top=5),
            "0.1",
            counts,
            geometric,
            (0.1156, 0.1159),
        ),
        Entry("NoisyHist1", laplace(10), "0.1", five, 0.1, (0.0978, 0.0828)),
        Entry("NoisyHist2", laplace(0.1), "0.1", five, 10.0, (4.6020, 9.717)),
        *_noisy_max_entries(),
        *_sparse_vector_entries(),
        *_other_sparse_vector_entries(),
        Entry("RAPPOR", reports, "0.4002", BLOOM, 8 * bit, (0.2930, 0.2416), reached=6 * bit),
        Entry(
            "OneTimeRAPPOR", rappor(flip=0.95), "0.8007", BLOOM, 8 * once, (0.5978, 0.4706), reached=6 * once
        ),
        Entry("LaplaceParallel", laplace(200), "0.1", twenty, 0.1, (0.0350, 0.0126)),
        Entry("PrefixSum", prefix_sums(10), "0.1", ten, 1.0, (0.5040, 0.3516)),
        Entry("float Laplace", naive_laplace(10), "0.1", UNIT, INFINITE, (None, None), as_run=True),
        Entry("Laplace, half the noise", laplace(0.5), "1", UNIT, 2.0),
    ]


GALLERY = _entries()


@cache
def truth_on_pairs(place: int) -> float:
    """Return the least epsilon of the entry at ``place`` on the pairs tried.

    Finite outputs are summed out; otherwise the entry has a closed form.
    """
    entry = GALLERY[place]
    if not entry.distribution:
        return entry.truth if entry.reached is None else entry.reached
    losses = []
    for pair in entry.pairs:
        if "threshold" in entry.distribution:
            distributions = [
                np.array(list(flags_distribution(side, **entry.distribution).values())) for side in pair
            ]
        else:
            distributions = [argmax_distribution(side, **entry.distribution) for side in pair]
        losses.append(largest_loss(distributions[0], distributions[1]))
    return max(losses)


def _checks(
    entry: Entry, *, seeds: int, max_samples: int, alpha: float, stop_early: bool
) -> list[CheckResult]:
    claim = PureDP(epsilon=entry.epsilon, model=AS_RUN if entry.as_run else Model.IDEAL)
    return [
        check(
            entry.mechanism,
            claim,
            neighbours=[Neighbours(f"{a} and {b}", a, b) for a, b in entry.pairs],  # entries are answers
            batch=True,
            seed=seed,
            alpha=alpha,
            max_samples=max_samples,
            stop_early=stop_early,
            record_draws=False,
        )
        for seed in range(seeds)
    ]


def measure(
    place: int, *, seeds: int, max_samples: int, alpha: float, stop_early: bool = True
) -> dict[str, Any]:
    """Check the entry at ``place`` at seeds 0 to ``seeds`` - 1, as one result of the JSON file.

    ``runs_median`` and ``runs_90`` are the runs to a refutation, or ``None`` if fewer than half, or nine
    tenths, of the seeds refuted. Without ``stop_early`` all runs are spent on the bound.
    """
    entry, start = GALLERY[place], time.monotonic()
    results = _checks(entry, seeds=seeds, max_samples=max_samples, alpha=alpha, stop_early=stop_early)
    refuted = [result.verdict == "refuted" for result in results]
    runs = sorted(r.samples if yes else math.inf for r, yes in zip(results, refuted, strict=True))
    bounds = [result.evidence.lower or 0.0 for result in results]
    reached = truth_on_pairs(place)
    return {
        "name": entry.name,
        "truth": _number(entry.truth),
        "truth_on_pairs": _number(reached),
        "truth_is_upper_bound": entry.at_most,
        "claimed": float(entry.epsilon),
        "lower": float(np.median(bounds)),
        "verdict": "refuted" if 2 * sum(refuted) > seeds else "inconclusive",
        "refuted": sum(refuted),
        "above_truth": sum(bound > reached * (1 + 1e-6) for bound in bounds),
        "seeds": seeds,
        "runs_median": _finite(runs[math.ceil(seeds / 2) - 1]),
        "runs_90": _finite(runs[math.ceil(0.9 * seeds) - 1]),
        "seconds": round((time.monotonic() - start) / seeds, 3),
        "dp_sniper": entry.published[0],
        "statdp": entry.published[1],
    }


def _number(value: float) -> float | str:
    return "inf" if math.isinf(value) else value


def _finite(value: float) -> int | None:
    return None if math.isinf(value) else int(value)


def _table(results: Sequence[dict[str, Any]]) -> str:
    """Return the results as Markdown."""

    def shown(value: object) -> str:
        if value is None:
            return ""
        return (
            f"{value:,}"
            if isinstance(value, int)
            else f"{value:.4g}"
            if isinstance(value, float)
            else str(value)
        )

    heads = {
        "name": "mechanism",
        "claimed": "claimed",
        "truth": "true ε",
        "truth_on_pairs": "on these pairs",
        "lower": "lower bound",
        "refuted": "refuted",
        "runs_median": "median runs",
        "runs_90": "90 % of runs",
        "dp_sniper": "DP-Sniper",
        "statdp": "StatDP",
    }
    lines = [f"| {' | '.join(heads.values())} |", "|" + " --- |" * len(heads)]
    for item in results:
        cells = {key: shown(item[key]) for key in heads}
        cells["refuted"] = f"{item['refuted']} of {item['seeds']}"
        if item["truth_is_upper_bound"]:
            cells["truth_on_pairs"] = f"at most {cells['truth_on_pairs']}"
        lines.append(f"| {' | '.join(cells.values())} |")
    return "\n".join(lines) + "\n"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gallery", description=__doc__)
    parser.add_argument("--json", type=Path, required=True, help="write the results to this file")
    parser.add_argument("--page", type=Path, help="Markdown page whose table between markers is replaced")
    parser.add_argument("--quick", action="store_true", help="3 seeds, at most 40,000 runs each")
    parser.add_argument("--seeds", type=count, help="seeds for each entry (default 20)")
    parser.add_argument("--max-samples", type=count, help="runs for each check (default 1,000,000)")
    parser.add_argument("--alpha", type=float, default=0.05, help="significance level (default 0.05)")
    parser.add_argument("--spend-all", action="store_true", help="continue after a refutation, for the bound")
    parser.add_argument("-k", default="", help="only entries whose name contains this text")
    options = parser.parse_args(arguments)
    seeds = options.seeds or (3 if options.quick else 20)
    max_samples = options.max_samples or (40_000 if options.quick else 1_000_000)
    places = [place for place, entry in enumerate(GALLERY) if options.k.lower() in entry.name.lower()]
    if not places:
        parser.error(f"-k must name an entry, got {options.k!r}; leave it out to see all names")
    results = []
    for place in places:
        found = measure(
            place, seeds=seeds, max_samples=max_samples, alpha=options.alpha, stop_early=not options.spend_all
        )
        results.append(found)
        # Written after each entry: an interruption loses nothing.
        options.json.write_text(json.dumps({"results": results}, indent=1) + "\n", encoding="utf-8")
        sys.stdout.write(_table(results[-1:]).splitlines()[-1] + "\n")
        sys.stdout.flush()
    if options.page is not None:
        refresh(options.page, _table(results))
    false = sum(item["above_truth"] for item in results)
    sys.stdout.write(f"{false} of {seeds * len(results)} lower bounds lie above the truth\n")
    return int(excess_p_value(false, seeds * len(results), at_most=options.alpha) < 1e-3)


if __name__ == "__main__":
    sys.exit(main())
