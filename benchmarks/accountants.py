"""Compare certified composition with dp-accounting: ``python -m benchmarks.accountants``.

The cases are Gaussian, Laplace, discrete Laplace and Skellam noise, k = 1, 64 and 1024 steps, and delta from
1e-3 to 1e-14. Both sides compute epsilon in one run, on the same grid. Each value is printed with its ratio
to the true value, and is flagged if it is below. The true value is exact if there is a closed form (Gaussian;
discrete Laplace; one step of Laplace and Skellam). Otherwise a certified lower and a certified upper
distribution on a finer grid bracket it, and only a value below the lower end is flagged.

dp-accounting is optional (``pip install dpaudit[interop]``); without it only the certified side is printed.
The noise is scaled so that all cases have a total epsilon of a few units.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpaudit.certify.merged import laplace_lower, lattice_lower
from dpaudit.kernel.ball import arb, ball, enclose, lower_exact, upper_exact
from dpaudit.kernel.t1.certpld import Grid, LossDistribution, power
from dpaudit.kernel.t1.divergence import lattice_delta, positive_part
from dpaudit.kernel.t1.integer_noise import lattice_pair
from dpaudit.kernel.t1.pairs import laplace_pair, response_pair
from dpaudit.kernel.t2.gaussian import gaussian_delta, gaussian_pair
from dpaudit.kernel.t2.special_distributions import Skellam

__all__ = ["CASES", "Case", "main", "smallest_epsilon", "truth"]

DELTAS = (3, 6, 8, 10, 12, 13, 14)
STEPS = (1, 64, 1024)

#: The true value is bracketed on a grid finer by this factor.
FINER = 4

SHIFT = 10  # sensitivity of the integer query of the Skellam case

Curve = Callable[[Fraction], Fraction]


@dataclass(frozen=True)
class Case:
    """One mechanism at k steps.

    It holds the certified distribution of a step, dp-accounting's distributions of a step by name, the exact
    delta of all steps if it is known (otherwise ``None``), and a lower distribution of a step.
    """

    name: str
    step_distribution: Callable[[int, Grid], LossDistribution]
    others: dict[str, Callable[[Any, int, float], Any]]
    exact: Callable[[int, Fraction], Fraction | None]
    lower: Callable[[int, Grid], LossDistribution] | None = None


def _root(k: int) -> int:
    return math.isqrt(k)


def _skellam_variance(k: int) -> int:
    return 100 * k


def _skellam_masses(variance: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    from scipy.special import ive

    reach = int(40 * math.sqrt(variance))
    x = np.arange(-reach, reach + 1)
    mass = np.asarray(ive(np.abs(x), variance))
    return x[mass > 0], mass[mass > 0]


def _skellam_by_masses(pld: Any, k: int, step: float) -> Any:
    """Use the public entry point for two probability mass functions: each loss is rounded up."""
    x, mass = _skellam_masses(_skellam_variance(k))
    lower = dict(zip(x.tolist(), np.log(mass).tolist(), strict=True))
    upper = {point + SHIFT: log for point, log in lower.items()}
    return pld.from_two_probability_mass_functions(
        lower, upper, value_discretization_interval=step, log_mass_truncation_bound=-50
    )


def _skellam_by_dots(pld: Any, k: int, step: float) -> Any:
    """Connect the dots through the deltas of one step, computed in floats from the masses."""
    from dp_accounting.pld import pld_pmf

    _, mass = _skellam_masses(_skellam_variance(k))
    p, q = mass[SHIFT:], mass[:-SHIFT]
    end = math.ceil(float(np.max(np.abs(np.log(p / q)[(p > 1e-25) & (q > 1e-25)]))) / step)
    deltas = [np.maximum(p - math.exp(i * step) * q, 0.0).sum() for i in range(-end, end + 1)]
    pmf = pld_pmf.create_pmf_pessimistic_connect_dots_fixed_gap(step, -end, end, np.array(deltas))
    return pld.PrivacyLossDistribution(pmf)


def _lattice_delta(k: int, epsilon: Fraction) -> Fraction:
    """Return discrete Laplace of scale sqrt(k) and sensitivity 1, k-fold: randomised response of 1/sqrt(k).

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


def _one_laplace(k: int, epsilon: Fraction) -> Fraction | None:
    """Return one step at ratio 1: delta = 1 - exp((epsilon - 1)/2) below 1."""
    if k > 1:
        return None
    return lower_exact(enclose(lambda: 1 - ball((epsilon - 1) / 2).exp())) if epsilon < 1 else Fraction(0)


def _one_skellam(k: int, epsilon: Fraction) -> Fraction | None:
    if k > 1:
        return None
    return lower_exact(lattice_delta(Skellam(Fraction(100)), shift=SHIFT, epsilon=epsilon))


CASES = [
    Case(
        "gaussian",
        lambda k, grid: gaussian_pair(Fraction(1, k), grid),
        {
            "dp-accounting": lambda pld, k, step: pld.from_gaussian_mechanism(
                math.sqrt(k), value_discretization_interval=step
            )
        },
        lambda k, epsilon: gaussian_delta(Fraction(1), epsilon),
    ),
    Case(
        "laplace",
        lambda k, grid: laplace_pair(Fraction(1, _root(k)), grid),
        {
            "dp-accounting": lambda pld, k, step: pld.from_laplace_mechanism(
                math.sqrt(k), value_discretization_interval=step
            )
        },
        _one_laplace,
        lambda k, grid: laplace_lower(Fraction(1, _root(k)), grid),
    ),
    Case(
        "discrete laplace",
        lambda k, grid: response_pair(Fraction(1, _root(k)), grid),
        {
            "dp-accounting": lambda pld, k, step: pld.from_discrete_laplace_mechanism(
                1 / math.sqrt(k), value_discretization_interval=step
            )
        },
        _lattice_delta,
    ),
    Case(
        "skellam",
        lambda k, grid: lattice_pair(Skellam(Fraction(_skellam_variance(k))), SHIFT, grid),
        {"masses": _skellam_by_masses, "connect the dots": _skellam_by_dots},
        _one_skellam,
        lambda k, grid: lattice_lower(Skellam(Fraction(_skellam_variance(k))), SHIFT, grid),
    ),
]


def smallest_epsilon(delta_at: Curve, delta: Fraction, *, high: Fraction) -> Fraction:
    """Return the smallest epsilon in [0, ``high``] with ``delta_at(epsilon) <= delta``, from above to
    2^-40 of ``high``.
    """
    low = Fraction(0)
    if delta_at(low) <= delta:
        return low
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if delta_at(middle) > delta else (low, middle)
    return high


def _epsilons(delta_at: Curve) -> list[Fraction]:
    return [smallest_epsilon(delta_at, Fraction(1, 10**n), high=Fraction(40)) for n in DELTAS]


def _certified(case: Case, k: int, grid: Grid) -> tuple[list[Fraction], float]:
    started = time.perf_counter()
    distribution = power(case.step_distribution(k, grid), k)
    values = _epsilons(lambda e: upper_exact(distribution.delta(e)))
    return values, time.perf_counter() - started


def truth(case: Case, k: int, step: Fraction) -> list[tuple[Fraction, Fraction]]:
    """Return for each delta a lower and an upper bound on the true epsilon; they agree if it is known."""
    if case.exact(k, Fraction(0)) is not None:
        return [(value, value) for value in _epsilons(lambda e: case.exact(k, e) or Fraction(0))]
    if case.lower is None:
        return [(Fraction(0), Fraction(40))] * len(DELTAS)
    fine = step / FINER
    below = power(case.lower(k, Grid(step=fine, upper=False)), k)
    margin = Fraction(40, 2**40)  # the search ends that far above the distribution's epsilon
    lower = [max(value - margin, Fraction(0)) for value in _epsilons(lambda e: lower_exact(below.delta(e)))]
    return list(zip(lower, _certified(case, k, Grid(step=fine))[0], strict=True))


def _others(case: Case, k: int, step: float) -> dict[str, tuple[list[float], float]]:
    """Return dp-accounting's values and seconds for each of its ways to state the mechanism."""
    try:
        from dp_accounting.pld import privacy_loss_distribution as pld
    except ImportError:
        return {}
    found = {}
    for name, make in case.others.items():
        started = time.perf_counter()
        distribution = make(pld, k, step).self_compose(k)
        values = [float(distribution.get_epsilon_for_delta(10.0**-n)) for n in DELTAS]
        found[name] = (values, time.perf_counter() - started)
    return found


def _report(case: Case, k: int, step: Fraction) -> str:
    ours, seconds = _certified(case, k, Grid(step=step))
    theirs = _others(case, k, float(step))
    times = "".join(f", {name} {spent:.2f} s (x{seconds / spent:.0f})" for name, (_, spent) in theirs.items())
    lines = [f"{case.name}, k = {k}, grid {float(step):g}: certified {seconds:.2f} s{times}"]
    for i, (n, (low, high)) in enumerate(zip(DELTAS, truth(case, k, step), strict=True)):
        certified = _with_ratio(float(ours[i]), low, high)
        line = f"  delta 1e-{n:<2}  truth {_interval(low, high)}  certified {certified}"
        for name, (values, _) in theirs.items():
            line += f"  {name} {_with_ratio(values[i], low, high)}"
        lines.append(line)
    return "\n".join(lines)


def _interval(low: Fraction, high: Fraction) -> str:
    return f"{float(low):.6f}" if low == high else f"[{float(low):.6f}, {float(high):.6f}]"


def _with_ratio(value: float, low: Fraction, high: Fraction) -> str:
    """Format a value with its ratio to the upper end of the true value, flagged if it is below the lower
    end.
    """
    ratio = f"{value:.6f} (x{value / float(high):.6f})" if high else f"{value:.6f}"
    gap = value - float(low)
    return ratio + (f" BELOW THE TRUTH by {-gap:.1e}" if gap < -1e-9 else "")


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the comparison for every case.

    ``--grid`` sets the step of losses, ``--only`` selects mechanisms, ``--steps`` the numbers of steps.
    """
    parser = argparse.ArgumentParser(prog="python -m benchmarks.accountants", description=main.__doc__)
    parser.add_argument(
        "--grid", default="1/1024", help="step of the loss grid, an exact number (default 1/1024)"
    )
    parser.add_argument(
        "--only", nargs="*", default=[case.name for case in CASES], help="names of mechanisms"
    )
    parser.add_argument("--steps", nargs="*", type=int, default=list(STEPS), help="numbers of steps")
    options = parser.parse_args(arguments)
    flagged = 0
    for case in CASES:
        if case.name in options.only:
            for k in options.steps:
                text = _report(case, k, Fraction(options.grid))
                flagged += text.count("BELOW THE TRUTH")
                sys.stdout.write(text + "\n")
                sys.stdout.flush()
    sys.stdout.write(f"values below the truth: {flagged}\n")


if __name__ == "__main__":
    main()
