"""The benchmark of null audits measures what it says: its mechanisms are near their claims, and it counts."""

from __future__ import annotations

import math

import pytest
from scipy import stats

from benchmarks import null_audits
from benchmarks.null_audits import NULLS, audit, choice_epsilon, gaussian_delta, main, noisy_pair_epsilon
from tests.rates import FALSE_FAILURE_RATE

#: Output that does not depend on the data, mechanisms whose proofs are loose on the pairs here, claims that
#: are bet on at points of a looser curve, and an epsilon so small that it takes more runs than a test should.
UNTIGHT = {
    "nothing",
    "Gaussian, zCDP",
    "Gaussian, Rényi",
    "report noisy max of six",
    "sparse vector",
    "Laplace, small epsilon",
}


@pytest.mark.slow
def test_the_command_prints_rate_and_interval(capsys: pytest.CaptureFixture[str]) -> None:
    """One audit of each mechanism: a line for each, the rate with its exact interval, exit code 0."""
    assert main(["--audits", str(len(NULLS)), "--seed", "7"]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert len(printed) == len(NULLS) + 1
    refuted = int(printed[-1].split(": ")[1].split()[0])
    low, high = stats.binomtest(refuted, len(NULLS)).proportion_ci(0.95, method="exact")
    assert f"(95 % interval {low:.2%} to {high:.2%})" in printed[-1]
    assert stats.binom.sf(refuted - 1, len(NULLS), null_audits.ALPHA) > FALSE_FAILURE_RATE


def test_the_command_fails_where_false_refutations_abound(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With an audit that refutes every time the exit code is 1."""
    monkeypatch.setattr(null_audits, "audit", lambda place, seed: (True, False))
    assert main(["--audits", "48"]) == 1
    assert "48 false refutations, 100.00%" in capsys.readouterr().out


@pytest.mark.sample(8)
@pytest.mark.parametrize("place", [k for k, null in enumerate(NULLS) if null.name not in UNTIGHT])
def test_every_mechanism_is_near_its_claim(place: int) -> None:
    """Against four tenths of its epsilon each of them is refuted: the audits would see a violation."""
    assert audit(place, 5, share=0.4, max_samples=20_000) == (True, False)


def test_closed_forms() -> None:
    """The formulas behind the claims, at points where they are known otherwise."""
    assert gaussian_delta(0.0, 1.0) == pytest.approx(2 * stats.norm.cdf(0.5) - 1)
    assert choice_epsilon(((0.0, 0.0), (2.0, 0.0)), 1.0) == pytest.approx(math.log((math.e + 1) / 2))
    # The gap of two Laplace(1) noises: P(gap > -1) by the convolution of their densities.
    wins = 1 - 0.5 * math.exp(-1) * 1.5
    assert noisy_pair_epsilon((1.0, -1.0), 1.0) == pytest.approx(math.log(wins / (1 - wins)))
