"""Proves that ``dpaudit calibrate`` prints what the kernel certifies, and that smaller noise fails."""

from __future__ import annotations

import math

import pytest
from scipy import stats

from dpaudit.cli.calibrate import MECHANISMS
from tests.cli.suites import VERIFIED, invoke, write_suite


def cells(result, mechanism):
    """The words of one mechanism's line."""
    [line] = [line for line in result.stdout.splitlines() if line.split()[:1] == [mechanism]]
    return line.split()


@pytest.mark.parametrize(
    ("mechanism", "smallest"), [("laplace", 1.5), ("noisy-max", 3.0), ("noisy-max-monotone", 1.5)]
)
def test_pure_mechanisms_need_their_known_scale(mechanism, smallest):
    """Sensitivity 3 at epsilon 2: 3/2 for Laplace and monotone scores, 3 for scores that move both ways."""
    result = invoke("calibrate", mechanism, "--epsilon", "2", "--sensitivity", "3")
    assert result.exit_code == 0
    assert float(cells(result, mechanism)[3]) == pytest.approx(smallest, rel=2e-3)


def test_the_gaussian_scale_is_that_of_its_exact_curve():
    """The certified standard deviation meets delta on the exact curve, and one smaller by 1 % does not."""
    words = cells(invoke("calibrate", "gaussian", "--delta", "1e-6"), "gaussian")
    sigma = float(words[5])

    def delta(s):
        return stats.norm.cdf(1 / (2 * s) - s) - math.e * stats.norm.cdf(-1 / (2 * s) - s)

    assert delta(sigma) <= 1e-6 < delta(0.99 * sigma)


def test_half_the_noise_has_half_the_slack():
    """``--have``: at scale 1 Report Noisy Max costs 2, a slack of 0.5."""
    assert cells(invoke("calibrate", "noisy-max", "--have", "1"), "noisy-max")[-2:] == ["2", "0.5x"]


def test_all_lists_every_mechanism():
    """Without a name every mechanism has a line."""
    result = invoke("calibrate")
    assert all(cells(result, name) for name in MECHANISMS)


@pytest.mark.parametrize(
    "options",
    [("--epsilon", "-1"), ("--epsilon", "nan"), ("--steps", "0"), ("--sensitivity", "0"), ("--delta", "2")],
)
def test_bad_values_are_refused_with_exit_code_2(options):
    """Out-of-range values exit with 2 and say what must hold."""
    result = invoke("calibrate", "laplace", *options)
    assert result.exit_code == 2
    assert "must" in result.output + result.stderr


def test_the_paper_of_the_bundled_suite_is_calibrated():
    """For the private online learning paper: printed noise, what is certified for it, and what it needs."""
    result = invoke("calibrate", "audits/private_online_learning/suite.py")
    assert result.exit_code == 0
    needs = {
        "HHM-T2": ("1", "1x", "1"),
        "HHM-RNM": ("2", "0.5x", "2"),
        "HHM-T5P/r=1": ("1.5", "0.6667x", "4"),
    }
    for item, words in needs.items():
        assert tuple(cells(result, item)[-3:]) == words


def test_a_delta_over_many_steps_uses_the_loss_grid():
    """64 Skellam steps at (1, 1e-6) need within 1 % of 64 times the variance of a Gaussian at one step, far
    less than adding deltas up allows.
    """
    result = invoke("calibrate", "skellam", "--steps", "64", "--delta", "1e-6", "--grid", "1/500")
    assert float(cells(result, "skellam")[4]) == pytest.approx(64 * 4.2242**2, rel=0.02)


def test_a_whole_parameter_is_printed_whole():
    """Binomial noise has a whole number of trials."""
    words = cells(invoke("calibrate", "binomial", "--delta", "1e-4"), "binomial")
    assert int(words[6]) > int(words[8]) > 0


@pytest.mark.parametrize("name", ["laplac", "nowhere/suite.py"])
def test_an_unknown_mechanism_is_refused_with_the_known_ones(name):
    """A name that is neither a mechanism nor a path exits with 2 and lists the mechanisms."""
    result = invoke("calibrate", name)
    assert result.exit_code == 2
    assert "discrete-gaussian" in result.output + result.stderr


def test_a_suite_without_questions_says_so(tmp_path):
    """Nothing to answer is said, not passed over in silence."""
    suite = write_suite(tmp_path / "suite.py", VERIFIED)
    result = invoke("calibrate", suite)
    assert result.exit_code == 0
    assert "asks nothing about its noise" in result.stdout


def test_bounds_below_every_float_are_shown():
    """Noise far beyond the claim: a delta too small for a float, and a slack too large for one, are written
    out."""
    row = cells(invoke("calibrate", "gaussian", "--delta", "1e-6", "--have", "1000"), "gaussian")
    assert "e-" in row[-2]
    assert float(row[-2].partition("e-")[2]) > 1000
    assert row[-1].endswith("x")
    assert "e+" in row[-1]
