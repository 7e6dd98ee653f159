"""Certified composition beside dp-accounting: ``python -m benchmarks.accountants``.

For Gaussian, Laplace, discrete Laplace and Skellam noise, k = 1, 64 and 1024 steps, and delta from 1e-3 to
1e-14, both sides are asked for epsilon in one run, on the same grid. Where the exact value is known
(Gaussian: closed form; discrete Laplace: the losses lie on the grid) a value below it is flagged.
dp-accounting is optional (``pip install dp-accounting``); without it only the certified side is printed. The
noise is scaled so that all cases have total epsilon of a few units.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dpaudit.ball import arb, ball, enclose, lower_exact, upper_exact
from dpaudit.certificates.certpld import Grid, LossLaw, power
from dpaudit.certificates.divergence import positive_part
from dpaudit.certificates.lattice import Skellam
from dpaudit.certificates.rules.integer_noise import lattice_pair
from dpaudit.certificates.rules.pairs import gaussian_pair, laplace_pair, response_pair
from dpaudit.certificates.rules.readout import gaussian_delta

__all__ = ["CASES", "Case", "main", "smallest_epsilon"]

DELTAS = (3, 6, 8, 10, 12, 13, 14)
STEPS = (1, 64, 1024)


@dataclass(frozen=True)
class Case:
    """One mechanism at k steps: the certified law of a step, dp-accounting's law of a step, and the exact
    delta if known.
    """

    name: str
    step_law: Callable[[int, Grid], LossLaw]
    other: Callable[[Any, int, float], Any]
    exact: Callable[[int, Fraction], Fraction] | None = None


def _root(k: int) -> int:
    return math.isqrt(k)


def _skellam_masses(variance: float, reach: int) -> dict[int, float]:
    from scipy.special import ive

    return {x: math.log(ive(abs(x), variance)) for x in range(-reach, reach + 1) if ive(abs(x), variance) > 0}


def _other_skellam(pld: Any, k: int, step: float) -> Any:
    shift, variance = 10, 100.0 * k
    lower = _skellam_masses(variance, int(40 * math.sqrt(variance)))
    upper = {x + shift: mass for x, mass in lower.items()}
    return pld.from_two_probability_mass_functions(
        lower, upper, value_discretization_interval=step, log_mass_truncation_bound=-50
    )


def _lattice_delta(k: int, epsilon: Fraction) -> Fraction:
    """Discrete Laplace of scale sqrt(k) and sensitivity 1, k-fold: it is randomised response of 1/sqrt(k).

    delta = sum over j of C(k, j) (e^((k - j)/s) - e^(epsilon + j/s))_+ / (1 + e^(1/s))^k.
    """

    def compute() -> Any:
        step = ball(Fraction(1, _root(k)))
        total = arb(0)
        for j in range(k + 1):
            total += math.comb(k, j) * positive_part(
                ((k - j) * step).exp() - (ball(epsilon) + j * step).exp()
            )
        return total / (1 + step.exp()) ** k

    return lower_exact(enclose(compute))


CASES = [
    Case(
        "gaussian",
        lambda k, grid: gaussian_pair(Fraction(1, k), grid),
        lambda pld, k, step: pld.from_gaussian_mechanism(math.sqrt(k), value_discretization_interval=step),
        lambda k, epsilon: gaussian_delta(Fraction(1), epsilon),
    ),
    Case(
        "laplace",
        lambda k, grid: laplace_pair(Fraction(1, _root(k)), grid),
        lambda pld, k, step: pld.from_laplace_mechanism(math.sqrt(k), value_discretization_interval=step),
    ),
    Case(
        "discrete laplace",
        lambda k, grid: response_pair(Fraction(1, _root(k)), grid),
        lambda pld, k, step: pld.from_discrete_laplace_mechanism(
            1 / math.sqrt(k), value_discretization_interval=step
        ),
        _lattice_delta,
    ),
    Case("skellam", lambda k, grid: lattice_pair(Skellam(Fraction(100 * k)), 10, grid), _other_skellam),
]


def smallest_epsilon(
    delta_at: Callable[[Fraction], Fraction], delta: Fraction, *, high: Fraction
) -> Fraction:
    """The smallest epsilon in [0, ``high``] with ``delta_at(epsilon) <= delta``, from above to 2^-40 of
    ``high``.
    """
    low = Fraction(0)
    if delta_at(low) <= delta:
        return low
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if delta_at(middle) > delta else (low, middle)
    return high


def _certified(case: Case, k: int, grid: Grid) -> tuple[list[Fraction], float]:
    started = time.perf_counter()
    law = power(case.step_law(k, grid), k)
    values = [
        smallest_epsilon(lambda e: upper_exact(law.delta(e)), Fraction(1, 10**n), high=Fraction(40))
        for n in DELTAS
    ]
    return values, time.perf_counter() - started


def _others(case: Case, k: int, step: float) -> tuple[list[float], float] | None:
    try:
        from dp_accounting.pld import privacy_loss_distribution as pld
    except ImportError:
        return None
    started = time.perf_counter()
    law = case.other(pld, k, step).self_compose(k)
    return [float(law.get_epsilon_for_delta(10.0**-n)) for n in DELTAS], time.perf_counter() - started


def _report(case: Case, k: int, step: Fraction) -> str:
    ours, ours_time = _certified(case, k, Grid(step=step))
    theirs = _others(case, k, float(step))
    lines = [f"{case.name}, k = {k}, grid {float(step):g}: certified {ours_time:.1f} s"]
    if theirs is not None:
        lines[0] += f", dp-accounting {theirs[1]:.1f} s"
    for i, n in enumerate(DELTAS):
        line = f"  delta 1e-{n:<2}  certified {float(ours[i]):10.6f}"
        truth = _truth(case, k, n)
        if truth is not None:
            line += f"  exact {float(truth):10.6f}  certified - exact {float(ours[i] - truth):+.1e}"
        if theirs is not None:
            line += f"  dp-accounting {theirs[0][i]:10.6f}"
            if truth is not None:
                gap = theirs[0][i] - float(truth)
                line += f"  minus exact {gap:+.1e}{'  BELOW THE TRUTH' if gap < -1e-9 else ''}"
        lines.append(line)
    return "\n".join(lines)


def _truth(case: Case, k: int, n: int) -> Fraction | None:
    if case.exact is None:
        return None
    exact = case.exact
    return smallest_epsilon(lambda e: exact(k, e), Fraction(1, 10**n), high=Fraction(40))


def main(arguments: list[str] | None = None) -> None:
    """Print the comparison for every case; ``--grid`` sets the step of losses, ``--only`` picks
    mechanisms.
    """
    parser = argparse.ArgumentParser(prog="python -m benchmarks.accountants", description=main.__doc__)
    parser.add_argument(
        "--grid", default="1/1024", help="step of the loss grid, an exact number (default 1/1024)"
    )
    parser.add_argument(
        "--only", nargs="*", default=[case.name for case in CASES], help="names of mechanisms"
    )
    options = parser.parse_args(arguments)
    for case in CASES:
        if case.name in options.only:
            for k in STEPS:
                sys.stdout.write(_report(case, k, Fraction(options.grid)) + "\n")
                sys.stdout.flush()


if __name__ == "__main__":
    main()
