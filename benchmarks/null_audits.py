"""Measure how often ``check`` refutes correct mechanisms: ``python -m benchmarks.null_audits``.

Each audit runs ``check`` at its default confidence on a mechanism that is private exactly at its claim (or,
if no closed form is known, at the claim that its proof gives), with a different seed. The rate of false
refutations, with its exact (Clopper-Pearson) interval, must not be above the nominal 5 %, and no single
mechanism's rate may, by exact tests with Holm's correction. The command exits with 1 if a rate is above.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from scipy import stats

from dpaudit import ApproxDP, GaussianDP, Profile, PureDP, RenyiDP, ZeroConcentratedDP, check
from dpaudit.blackbox import AS_RUN
from dpaudit.blackbox.statistics import excess_p_value, holm, proportion_bounds
from dpaudit.core.claims import PrivacyClaim
from dpaudit.core.neighbours import Neighbours

__all__ = ["NULLS", "Null", "Result", "audit", "main", "measure"]

ALPHA = 0.05
MAX_SAMPLES = 1200
#: Claims are rounded up by this share, so that the printed number is not below the true one.
ROUNDED_UP = 1 + 1e-9
#: The probability that one of the mechanisms raises.
RAISING = 0.2


@dataclass(frozen=True)
class Null:
    """A private mechanism with its claim.

    ``delta`` is 0 for pure privacy. Otherwise ``stated`` builds the claim from ``epsilon``.
    """

    name: str
    mechanism: Callable[[Any, np.random.Generator], Any]
    neighbours: Sequence[tuple[Any, Any]]
    epsilon: float
    delta: float = 0.0
    stated: Callable[[str], PrivacyClaim] | None = None

    def claim(self, share: float = 1.0) -> PrivacyClaim:
        """Return the claim with its epsilon multiplied by ``share`` (below 1 it is false)."""
        epsilon = f"{self.epsilon * share * ROUNDED_UP:.15g}"
        if self.stated:
            return self.stated(epsilon)
        if self.delta:
            return ApproxDP(epsilon=epsilon, delta=f"{self.delta * ROUNDED_UP:.15g}")
        return PureDP(epsilon=epsilon)


@dataclass(frozen=True)
class Result:
    """The audits of one mechanism.

    It counts audits, refutations, and audits that reported a dependence between calls instead of a verdict on
    the claim.
    """

    name: str
    audits: int
    refuted: int
    dependent: int


def gaussian_delta(epsilon: float, shift: float) -> float:
    """Return the exact delta of Gaussian noise whose mean changes by ``shift`` deviations (Balle & Wang
    2018).
    """
    below = stats.norm.cdf(shift / 2 - epsilon / shift)
    return float(below - math.exp(epsilon) * stats.norm.cdf(-shift / 2 - epsilon / shift))


def laplace_profile(epsilon: str) -> Profile:
    """Return the exact profile of Laplace noise of scale 1/``epsilon`` on a sum that changes by 1, at four
    points.
    """
    whole = float(epsilon)
    shares = (0.0, 0.3, 0.6, 0.9)
    deltas = [-math.expm1((share - 1) * whole / 2) * ROUNDED_UP for share in shares]
    return Profile(points=[(share * whole, delta) for share, delta in zip(shares, deltas, strict=True)])


def as_run(epsilon: str) -> PureDP:
    """Claim pure privacy of the program as it runs: every bit of a float counts."""
    return PureDP(epsilon=epsilon, model=AS_RUN)


def choice_epsilon(scores: tuple[Sequence[float], Sequence[float]], epsilon: float) -> float:
    """Return the exact privacy loss of the exponential mechanism between two vectors of scores."""
    one, two = (np.asarray(side, dtype=float) * epsilon / 2 for side in scores)
    logs = [side - np.log(np.exp(side).sum()) for side in (one, two)]
    return float(np.abs(logs[0] - logs[1]).max())


def noisy_pair_epsilon(gaps: tuple[float, float], scale: float) -> float:
    """Return the exact loss of the larger of two scores with Laplace noise each, whose gap changes as
    given.
    """

    def first_wins(gap: float) -> float:
        lost = 0.5 * math.exp(-abs(gap) / scale) * (1 + abs(gap) / (2 * scale))
        return 1 - lost if gap >= 0 else lost

    one, two = (first_wins(gap) for gap in gaps)
    return max(abs(math.log(one / two)), abs(math.log((1 - one) / (1 - two))))


def geometric(epsilon: float) -> Callable[[Any, np.random.Generator], int]:
    """Release the sum with two-sided geometric noise, exactly ``epsilon``-DP."""
    stop = 1 - math.exp(-epsilon)
    return lambda data, rng: int(sum(data) + rng.geometric(stop) - rng.geometric(stop))


def response(epsilon: float, answers: int) -> Callable[[Any, np.random.Generator], int]:
    """Apply randomised response among several answers, exactly ``epsilon``-DP."""
    truth = math.exp(epsilon) / (math.exp(epsilon) + answers - 1)

    def run(data: int, rng: np.random.Generator) -> int:
        return data if rng.random() < truth else int((data + rng.integers(1, answers)) % answers)

    return run


def choice(epsilon: float) -> Callable[[Any, np.random.Generator], int]:
    """Run the exponential mechanism on a vector of scores of sensitivity 1."""
    return lambda scores, rng: int(np.argmax(np.asarray(scores) * epsilon / 2 + rng.gumbel(size=len(scores))))


def sparse_vector(scores: Sequence[float], rng: np.random.Generator) -> list[bool]:
    """Run above-threshold with one positive answer at epsilon 1 (Lyu, Su & Li 2017, algorithm 1)."""
    level, flags = 1.0 + rng.laplace(0, 2), []
    for score in scores:
        flags.append(bool(score + rng.laplace(0, 4) >= level))
        if flags[-1]:
            break
    return flags


def normal(data: float, rng: np.random.Generator) -> float:
    """Add Gaussian noise of deviation 1: 1-GDP, 1/2-zCDP, and of Rényi divergence a/2 at every order a."""
    return float(data + rng.normal())


def sometimes_raises(data: int, rng: np.random.Generator) -> float:
    """Raise with probability 0.2 or, on the other input, 0.2 e^(1/2); otherwise add Laplace noise of scale
    2.
    """
    if rng.random() < RAISING * math.exp(data / 2):
        raise ValueError("not enough data")
    return float(data + rng.laplace(0, 2))


def _nulls() -> list[Null]:
    unit, counts = [(0.0, 1.0)], [([0, 1, 1], [1, 1, 1]), ([0, 0, 0], [0, 0, 1])]
    ones, zeros = np.ones(4), np.zeros(4)
    scores = ((0.0, 0.0, 0.0), (1.0, -1.0, -1.0))
    halves = ([1.0] * 3 + [0.0] * 3, [0.0] * 3 + [1.0] * 3)
    going_on = math.log((1 - RAISING) / (1 - RAISING * math.exp(0.5)))
    return [
        Null("Laplace", lambda x, rng: x + rng.laplace(), unit, 1.0),
        Null("Laplace, small epsilon", lambda x, rng: x + rng.laplace(0, 10), unit, 0.1),
        Null("Laplace, large epsilon", lambda x, rng: x + rng.laplace(0, 0.25), unit, 4.0),
        Null("Gaussian", lambda x, rng: x + rng.normal(), unit, 1.0, gaussian_delta(1.0, 1.0)),
        Null(
            "Gaussian, small delta",
            lambda x, rng: x + rng.normal(0, 3),
            unit,
            1.0,
            gaussian_delta(1.0, 1 / 3),
        ),
        Null("geometric", geometric(1.0), counts, 1.0),
        Null("geometric, small epsilon", geometric(0.2), counts, 0.2),
        Null("randomised response", response(1.0, 2), [(0, 1)], 1.0),
        Null("response among ten", response(1.5, 10), [(0, 3), (2, 9), (4, 5)], 1.5),
        Null("exponential mechanism", choice(1.0), [scores], choice_epsilon(scores, 1.0)),
        Null(
            "larger of two noisy scores",
            lambda q, rng: int(np.argmax(q + rng.laplace(0, 2, 2))),
            [(np.array([0.0, 1.0]), np.array([1.0, 0.0]))],
            noisy_pair_epsilon((-1.0, 1.0), 2.0),
        ),
        Null(
            "report noisy max of six", lambda q, rng: int(np.argmax(q + rng.laplace(0, 2, 6))), [halves], 1.0
        ),
        Null("sparse vector", sparse_vector, [halves], 1.0),
        Null("vector", lambda x, rng: x + rng.laplace(0, 4, 4), [(zeros, ones)], 1.0),
        Null(
            "list of two releases", lambda x, rng: [x + rng.laplace(0, 2), x + rng.laplace(0, 2)], unit, 1.0
        ),
        Null("text", lambda x, rng: f"about {x + rng.laplace():.3f} people", unit, 1.0),
        Null("JSON", lambda x, rng: json.dumps({"sum": x + rng.laplace(), "unit": "kg"}), unit, 1.0),
        Null("label", lambda x, rng: "high" if x + rng.laplace() > 0.5 else "low", unit, 1.0),
        Null("mapping", lambda x, rng: {"sum": x + rng.laplace(), "version": 3}, unit, 1.0),
        Null("raises sometimes", sometimes_raises, [(0, 1)], going_on + 0.5),
        Null("raises by noise", lambda x, rng: math.sqrt(x + rng.laplace()), unit, 1.0),
        Null("rounded", lambda x, rng: round(float(x + rng.laplace()), 1), unit, 1.0),
        Null("length", lambda x, rng: [0] * max(0, geometric(1.0)(x, rng)), [([1, 1], [1, 1, 1])], 1.0),
        Null("Gaussian, GDP", normal, unit, 1.0, stated=lambda mu: GaussianDP(mu=mu)),
        Null("Gaussian, zCDP", normal, unit, 0.5, stated=lambda rho: ZeroConcentratedDP(rho=rho)),
        Null("Gaussian, Rényi", normal, unit, 1.0, stated=lambda e: RenyiDP(order=2, epsilon=e)),
        Null("Laplace, profile", lambda x, rng: x + rng.laplace(), unit, 1.0, stated=laplace_profile),
        Null("geometric, as it runs", geometric(1.0), counts, 1.0, stated=as_run),
        Null(  # eighths are floats, and so are their sums
            "noise on a grid, as it runs",
            lambda x, rng: x + geometric(1 / 8)([], rng) / 8,
            unit,
            1.0,
            stated=as_run,
        ),
        Null(
            "response by floats, as it runs",
            lambda x, rng: 0.1 + 0.6 * response(1.0, 2)(x, rng),
            [(0, 1)],
            1.0,
            stated=as_run,
        ),
        Null("huge integers", lambda data, rng: 2**70 + geometric(1.0)(data, rng), counts, 1.0),
        Null("nothing", lambda x, rng: rng.standard_cauchy(3), unit, 0.05),
    ]


NULLS = _nulls()


def audit(place: int, seed: int, *, share: float = 1.0, max_samples: int = MAX_SAMPLES) -> tuple[bool, bool]:
    """Return whether one audit refuted the mechanism at ``place``, and whether it reported dependent calls.

    ``share`` is the share of the true epsilon in the claim.
    """
    null = NULLS[place]
    result = check(
        null.mechanism,
        null.claim(share),
        neighbours=[Neighbours(f"{a} and {b}", a, b) for a, b in null.neighbours],  # entries may be answers
        alpha=ALPHA,
        seed=seed,
        max_samples=max_samples,
    )
    return result.verdict == "refuted", result.evidence.lower is None


def measure(audits: int, *, seed: int, jobs: int) -> list[Result]:
    """Run audits spread evenly over the mechanisms, each with a different seed, from ``seed`` on."""
    places = list(itertools.islice(itertools.cycle(range(len(NULLS))), audits))
    found = Parallel(n_jobs=jobs)(delayed(audit)(place, seed + k) for k, place in enumerate(places))
    results = []
    for place, null in enumerate(NULLS):
        own = [outcome for where, outcome in zip(places, found, strict=True) if where == place]
        refuted, dependent = (sum(outcome[k] for outcome in own) for k in (0, 1))
        results.append(Result(null.name, len(own), refuted, dependent))
    return results


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.null_audits", description=__doc__)
    parser.add_argument("--audits", type=int, default=1440, help="audits in all (default 1440)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the first audit (default 0)")
    parser.add_argument("--jobs", type=int, default=1, help="processes (default 1)")
    options = parser.parse_args(arguments)
    if options.audits < 1:
        parser.error(f"--audits must be 1 or more, got {options.audits}")
    start = time.monotonic()
    results = measure(options.audits, seed=options.seed, jobs=options.jobs)
    lines = [
        f"{item.name:28}{item.audits:5} audits{item.refuted:4} refuted{item.dependent:4} dependent"
        for item in results
    ]
    refuted, dependent = sum(item.refuted for item in results), sum(item.dependent for item in results)
    low, high = proportion_bounds(refuted, options.audits, alpha=0.05)
    p_values = [excess_p_value(item.refuted, item.audits, at_most=ALPHA) for item in results if item.audits]
    above = int(holm(p_values, alpha=0.05).sum())
    lines.append(
        f"{options.audits} null audits at {1 - ALPHA:.0%}: {refuted} false refutations, "
        f"{refuted / options.audits:.2%} (95 % interval {low:.2%} to {high:.2%}), "
        f"{above} mechanisms above the level, "
        f"{dependent} falsely reported as dependent; {time.monotonic() - start:.0f} s"
    )
    sys.stdout.write("\n".join(lines) + "\n")
    return int(low > ALPHA or above > 0)


if __name__ == "__main__":
    sys.exit(main())
