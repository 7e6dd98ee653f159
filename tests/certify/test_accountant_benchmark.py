"""The comparison with dp-accounting: its own numbers are right, and it flags a float accountant below the
truth.
"""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from benchmarks import accountants
from dpaudit.kernel.t1.certpld import Grid
from dpaudit.kernel.t2.gaussian import gaussian_delta


def test_exact_discrete_laplace_is_the_binomial_sum() -> None:
    """The exact value that the comparison holds others against, for 16 steps, in floats."""
    step, epsilon = 1 / 4, 1.5
    terms = (
        math.comb(16, j) * max(0.0, math.exp((16 - j) * step) - math.exp(epsilon + j * step))
        for j in range(17)
    )
    truth = sum(terms) / (1 + math.exp(step)) ** 16
    exact = next(case for case in accountants.CASES if case.name == "discrete laplace").exact
    assert exact is not None
    assert float(exact(16, Fraction(3, 2))) == pytest.approx(truth, rel=1e-10)


def test_smallest_epsilon_inverts_delta() -> None:
    """epsilon at delta = 1e-6 for mu = 1 is 4.886554; at a delta that holds at 0 it is 0."""

    def delta(epsilon: Fraction) -> Fraction:
        return gaussian_delta(Fraction(1), epsilon)

    found = accountants.smallest_epsilon(delta, Fraction(1, 10**6), high=Fraction(40))
    assert float(found) == pytest.approx(4.886554, abs=1e-6)
    assert accountants.smallest_epsilon(delta, Fraction(9, 10), high=Fraction(40)) == 0


def test_benchmark_runs(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The script prints a line for each delta, and no certified value below the truth."""
    monkeypatch.setattr(accountants, "DELTAS", (3, 10))
    accountants.main(["--only", "discrete laplace", "skellam", "--grid", "1/32", "--steps", "1", "16"])
    text = capsys.readouterr().out
    assert text.count("delta 1e-") == 8
    for line in text.splitlines():
        assert "BELOW" not in line.split("certified")[-1].split("  ")[0]


@pytest.mark.parametrize("name", [case.name for case in accountants.CASES])
@pytest.mark.parametrize("k", [1, 16])
def test_truth_is_at_or_below_the_certified_value(name: str, k: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Closed forms, and the certified bracket where there is none: narrow, and the certified value is never
    below its lower end.
    """
    monkeypatch.setattr(accountants, "DELTAS", (3, 8))
    case = next(case for case in accountants.CASES if case.name == name)
    step = Fraction(1, 128)
    certified, _ = accountants._certified(case, k, Grid(step=step))
    for value, (low, high) in zip(certified, accountants.truth(case, k, step), strict=True):
        assert low <= high
        assert high - low <= Fraction(1, 500) * high
        assert value >= low


def test_a_value_below_the_truth_is_flagged() -> None:
    """A value below the lower end is marked with the distance, one inside the bracket is not."""
    low, high = Fraction(1), Fraction(11, 10)
    assert "BELOW THE TRUTH by 1.0e-02" in accountants._with_ratio(0.99, low, high)
    assert "BELOW" not in accountants._with_ratio(1.05, low, high)


def test_float_accountant_is_flagged(monkeypatch: pytest.MonkeyPatch) -> None:
    """An accountant that is 1e-6 below the exact epsilon of Gaussian steps is flagged at each delta; one that
    is as much above, and our own, are not.
    """
    monkeypatch.setattr(accountants, "DELTAS", (3, 8, 13))
    case = next(case for case in accountants.CASES if case.name == "gaussian")
    step = Fraction(1, 128)
    exact = [float(low) for low, _ in accountants.truth(case, 16, step)]

    def others(*arguments: object) -> dict[str, tuple[list[float], float]]:
        return {"short": ([e - 1e-6 for e in exact], 1.0), "long": ([e + 1e-6 for e in exact], 1.0)}

    monkeypatch.setattr(accountants, "_others", others)
    lines = accountants._report(case, 16, step).splitlines()[1:]
    assert len(lines) == 3
    for line in lines:
        ours, _, theirs = line.partition("  short ")
        short, _, long = theirs.partition("  long ")
        assert "BELOW" not in ours
        assert "BELOW THE TRUTH by 1.0e-06" in short
        assert "BELOW" not in long
