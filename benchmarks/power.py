"""Measure how many runs refute wrong noise, and how often right noise is: ``python -m benchmarks.power``.

Each case is Gaussian noise with a claim of zCDP, GDP or Rényi DP. Its mechanism leaks ``times`` the claimed
mean shift: 2 is half the noise, 10/9 is 10 % less. For each, the command prints the number of seeds that were
refuted within the limit of runs, and the median and the 90 % quantile of the runs (the limit, where a check
refuted nothing). Null audits make the same bets on the right noise. The rate at which the capital ever
reaches 1/alpha, without which a check refutes nothing, has an exact (Clopper-Pearson) interval, and the
command exits with 1 if its lower end is above the nominal 5 %.
``--json FILE`` writes everything with the seeds.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed

from benchmarks.options import count
from dpaudit import GaussianDP, RenyiDP, ZeroConcentratedDP, check
from dpaudit.blackbox.hypotheses import family_of
from dpaudit.blackbox.outcomes import OutcomeEncoder
from dpaudit.blackbox.pair import PairAttack
from dpaudit.blackbox.statistics import proportion_bounds
from dpaudit.core.claims import PrivacyClaim

__all__ = ["CASES", "Case", "Measured", "main", "measure", "null_audit", "runs_to_refute"]

ALPHA = 0.05
#: Largest number of runs of a null audit, and of a check that should refute.
NULL_SAMPLES, MAX_SAMPLES = 400, 60_000


@dataclass(frozen=True)
class Case:
    """Gaussian noise of deviation 1: the mean shift that meets the claim, and by how much it is exceeded."""

    name: str
    claim: PrivacyClaim
    shift: float
    times: float


@dataclass(frozen=True)
class Measured:
    """Runs of one case over all seeds: how many were refuted, the median and the 90 % quantile."""

    name: str
    seeds: int
    refuted: int
    median: float
    ninth_decile: float


CASES = [
    Case("zCDP, rho 2.5 against 2", ZeroConcentratedDP(2), 2.0, math.sqrt(1.25)),
    Case("zCDP 1/2, half the noise", ZeroConcentratedDP("0.5"), 1.0, 2.0),
    Case("zCDP 2, half the noise", ZeroConcentratedDP(2), 2.0, 2.0),
    Case("zCDP 1/2, 10 % less noise", ZeroConcentratedDP("0.5"), 1.0, 10 / 9),
    Case("GDP 1, half the noise", GaussianDP(1), 1.0, 2.0),
    Case("GDP 1, 10 % less noise", GaussianDP(1), 1.0, 10 / 9),
    Case("Rényi of order 2, half the noise", RenyiDP(order=2, epsilon=1), 1.0, 2.0),
    Case("Rényi of order 8, half the noise", RenyiDP(order=8, epsilon=4), 1.0, 2.0),
]


def runs_to_refute(place: int, seed: int) -> int | None:
    """Return the runs after which a check refuted a case, or None."""
    case = CASES[place]
    shift = case.shift * case.times
    result = check(
        lambda x, rng, size: rng.normal(shift * x, 1, size),
        case.claim,
        neighbours=[(0, 1)],
        alpha=ALPHA,
        seed=seed,
        max_samples=MAX_SAMPLES,
        batch=True,
        record_draws=False,
    )
    return result.samples if result.verdict == "refuted" else None


def measure(seeds: int, *, first: int, jobs: int) -> list[Measured]:
    """Run every case with ``seeds`` seeds from ``first`` on."""
    tasks = [(place, first + k) for place in range(len(CASES)) for k in range(seeds)]
    found = Parallel(n_jobs=jobs)(delayed(runs_to_refute)(place, seed) for place, seed in tasks)
    results = []
    for place, case in enumerate(CASES):
        runs = found[place * seeds : (place + 1) * seeds]
        filled = [MAX_SAMPLES if item is None else item for item in runs]
        middle, late = np.quantile(filled, [0.5, 0.9])
        refuted = sum(item is not None for item in runs)
        results.append(Measured(case.name, seeds, refuted, float(middle), float(late)))
    return results


def null_audit(place: int, seed: int) -> bool:
    """Return whether the capital against a case ever reached 1/alpha on scores with the right noise."""
    case, rng = CASES[place], np.random.default_rng([place, seed])
    points = family_of(case.claim).tested
    reader = OutcomeEncoder()
    attack = PairAttack(epsilon=points.middle[0], bits=False, reader=reader, fine=True)
    betting = None
    while 2 * attack.pairs < NULL_SAMPLES:
        size = attack.next_block()
        block = attack.play(*(reader.encode(rng.normal(mean, 1, size)) for mean in (case.shift, 0.0)))
        betting = betting or attack.betting(points.stacked)
        if block is not None and betting.update(block)[0] >= math.log(1 / ALPHA):
            return True
    return False


def false_refutations(audits: int, *, first: int, jobs: int) -> int:
    """Return how many of ``audits`` null audits, spread over the cases, reached 1/alpha."""
    found = Parallel(n_jobs=jobs)(delayed(null_audit)(k % len(CASES), first + k) for k in range(audits))
    return sum(found)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.power", description=__doc__)
    parser.add_argument("--seeds", type=count, default=20, help="checks of each case (default 20)")
    parser.add_argument("--audits", type=count, default=2000, help="null audits in all (default 2000)")
    parser.add_argument("--seed", type=int, default=0, help="first seed (default 0)")
    parser.add_argument("--jobs", type=int, default=1, help="processes (default 1)")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    options = parser.parse_args(arguments)
    measured = measure(options.seeds, first=options.seed, jobs=options.jobs)
    for item in measured:
        sys.stdout.write(
            f"{item.name}: {item.refuted} of {item.seeds} refuted, median {item.median:,.0f} runs, 90 % "
            f"quantile {item.ninth_decile:,.0f}\n"
        )
    refuted = false_refutations(options.audits, first=options.seed, jobs=options.jobs)
    low, high = proportion_bounds(refuted, options.audits, alpha=0.05)
    sys.stdout.write(
        f"null audits: {refuted} of {options.audits} refuted, {refuted / options.audits:.2%} (95 % interval "
        f"{low:.2%} to {high:.2%}), nominal {ALPHA:.0%}\n"
    )
    if options.json:
        null = {"audits": options.audits, "refuted": refuted, "interval": [low, high], "nominal": ALPHA}
        cases = [asdict(item) for item in measured]
        document = {"first_seed": options.seed, "cases": cases, "null": null}
        options.json.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    return int(low > ALPHA)


if __name__ == "__main__":
    sys.exit(main())
