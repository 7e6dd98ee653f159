"""Proves that ``dpaudit calibrate`` prints what the kernel certifies, and that smaller noise fails."""

from __future__ import annotations

import math
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from fractions import Fraction

import pytest
from scipy import stats

from dpaudit.certify.families import Shape
from dpaudit.cli.calibrate import MECHANISMS
from dpaudit.cli.calibrate_options import length
from dpaudit.cli.calibrate_search import search
from dpaudit.core.claims import PureDP
from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.exact import exact
from tests.cli.suites import VERIFIED, invoke, write_suite
from tests.errors import raises


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
    assert "has no questions about its noise" in result.stdout


def test_bounds_below_every_float_are_shown():
    """Noise far beyond the claim: a delta too small for a float, and a slack too large for one, are written
    out."""
    row = cells(invoke("calibrate", "gaussian", "--delta", "1e-6", "--have", "1000"), "gaussian")
    assert "e-" in row[-2]
    assert float(row[-2].partition("e-")[2]) > 1000
    assert row[-1].endswith("x")
    assert "e+" in row[-1]


REFUSED = [
    ("gaussian --epsilon 0 --delta 1e-6", "--epsilon must be greater than 0, got 0"),
    ("shuffled-gaussian --epsilon 0", "--epsilon must be greater than 0, got 0"),
    ("binomial-vectors --epsilon 0", "--epsilon must be greater than 0, got 0"),
    ("laplace --epsilon 1e400", "--epsilon must be at most 1000000, got 1e400"),
    ("laplace --delta 1", "--delta must be in [0, 1), got 1"),
    ("shuffled-gaussian --delta 0", "--delta must be greater than 0 for shuffled-gaussian, got 0"),
    ("all --delta 0", "--delta must be greater than 0 for noisy-max-gaussian, got 0"),
    ("binomial-vectors --parties 0", "--parties must be 1 or more, got 0"),
    ("binomial-vectors --dim 0", "--dim must be 1 or more, got 0"),
    ("noisy-max --candidates 0", "--candidates must be 1 or more, got 0"),
    ("above-threshold --answers 0", "--answers must be 1 or more, got 0"),
    ("tree --leaves 0", "--leaves must be 1 or more, got 0"),
    ("polya --share 7", "--share must be in (0, 1], got 7"),
    ("skellam --grid 0", "--grid must be greater than 0, got 0"),
    ("laplace --have 0", "--have must be greater than 0, got 0"),
    ("laplace --seconds 0", "--seconds must be finite and greater than 0, got 0"),
    ("laplace --sensitivity root(2)", "such as 2, 0.1, 1/3 or \"sqrt(4.5)\", got 'root(2)'"),
    ("laplace --sensitivity sqrt(0)", "--sensitivity must be greater than 0, got 0"),
    ("discrete-laplace --sensitivity 3/2", "sensitivity"),
    ("shuffled-gaussian --dim 3", "shuffled-gaussian does not use --dim"),
    ("laplace --parties 3 --dim 3", "laplace does not use --dim, --parties"),
    ("laplace --grid 1/10 --delta 1e-6", "--grid requires --delta and more than one step"),
    ("laplace --grid 1/10 --steps 2", "--grid requires --delta and more than one step"),
    ("shuffled-gaussian --have 1e-300", "must be between 1e-300 and 1e300, got 1e+600"),
    ("shuffled-gaussian --have 1e300", "must be between 1e-300 and 1e300, got 1e-600"),
    ("binomial-vectors --sensitivity 1e300", "must be at most 1e300, got 7.2e+601"),
    ("binomial-vectors --epsilon 1e-300 --delta 1e-300", "trials must be an integer from 1 to"),
    ("binomial --epsilon 1e-300 --delta 1e-300", "integer-noise: trials must be an integer from 1 to"),
    ("discrete-gaussian --have 1e300 --seconds 1", "bound for --have 1e300 was not found within --seconds 1"),
    ("audits/classics/suite.py --epsilon 2", "a suite takes no options"),
]


@pytest.mark.parametrize(("words", "told"), REFUSED, ids=[words for words, _ in REFUSED])
def test_what_cannot_be_asked_is_refused_by_the_name_of_the_option(words, told):
    """Exit code 2, and the message names the option, what must hold, and the value received."""
    result = invoke("calibrate", *words.split())
    assert result.exit_code == 2
    assert told in result.stderr
    assert "Traceback" not in result.stderr


EXTREME = [
    ("laplace --epsilon 1e-300", 1e300),
    ("gaussian --epsilon 1e-300", 398_942),  # at ε = 0 and δ = 1e-6: about 1/(δ sqrt(2π))
    ("shuffled-gaussian --epsilon 1e-300", 398_942),
    ("binomial-vectors --epsilon 1e-300", 24 * 6e12),  # 4.5 g² = 72 = 24 · 3, variance 3/16: n = μ² of it
    ("binomial-vectors --delta 1e-400", 3e6),
    ("gaussian --delta 1e-400", 42.5),
    ("gaussian --delta 0.99999999999999999", 0.0582),
]


@pytest.mark.parametrize(("words", "near"), EXTREME, ids=[words for words, _ in EXTREME])
def test_extreme_claims_are_answered(words, near):
    """Beyond the floats in epsilon or delta, each answer is of the size that Gaussian noise has there, and
    the claim is printed as it was asked."""
    name, *options = words.split()
    row = cells(invoke("calibrate", *words.split()), name)
    assert any(cell.strip(",").endswith(options[-1]) for cell in row[1:3])
    smallest = next(float(cell) for cell in row[3:] if cell[0].isdigit() and "/" not in cell and cell != "1")
    assert smallest == pytest.approx(near, rel=0.05)


@pytest.mark.parametrize("text", ["sqrt(4.5)", "sqrt(2)", "sqrt(1e-40)", "sqrt(3e41)", "sqrt(1/7)"])
def test_a_square_root_is_never_taken_for_less(text):
    """The length is at least the root, by its square, and above it by less than 1e-12 of it."""
    square = exact(text[5:-1])
    found = length(text, name="--sensitivity")
    assert square <= found**2 <= square * (1 + Fraction(1, 10**12))


def test_a_rational_root_is_exact():
    """sqrt(9/4) is 3/2, and the Laplace scale for it that of 3/2."""
    assert length("sqrt(2.25)", name="x") == Fraction(3, 2)
    row = cells(invoke("calibrate", "laplace", "--sensitivity", "sqrt(9/4)"), "laplace")
    assert float(row[3]) == pytest.approx(1.5, rel=2e-3)


def test_a_root_needs_the_noise_of_its_length():
    """The Gaussian for sqrt(4.5) has sqrt(4.5) times the standard deviation of that for 1, to the search's
    width."""
    root, one = (
        float(cells(invoke("calibrate", "gaussian", "--sensitivity", by), "gaussian")[5])
        for by in ("sqrt(4.5)", "1")
    )
    assert root / one == pytest.approx(math.sqrt(4.5), rel=3e-3)


def test_a_search_ends_in_time():
    """A composition that takes minutes a parameter is stopped after the seconds allowed, and says how far it
    came; afterwards the timer is whose it was."""
    owner = signal.getsignal(signal.SIGALRM)
    words = ["--epsilon", ".5", "--delta", "1e-6", "--parties", "500", "--steps", "2", "--seconds", "1"]
    begun = time.monotonic()
    result = invoke("calibrate", "shuffled-gaussian", *words)
    assert time.monotonic() - begun < 20
    assert result.exit_code == 2
    assert "did not end within --seconds 1 (" in result.stderr
    assert signal.getsignal(signal.SIGALRM) is owner
    assert signal.getitimer(signal.ITIMER_REAL)[1] == 0.0


def test_a_search_that_is_stopped_says_what_it_knows():
    """Between two parameters, too, the clock is looked at: the bracket so far is in the message."""

    def slow(parameter):
        time.sleep(0.2)
        return MECHANISMS["laplace"].proof(Fraction(1), parameter, Shape())

    with ThreadPoolExecutor(1) as elsewhere:  # no timer interrupts a thread
        stopped = elsewhere.submit(search, "laplace", PureDP(epsilon=1), slow, start=Fraction(4), seconds=0.5)
        with raises(
            InvalidParameterError, code="E-CALIBRATE-TIMEOUT", match=r"3 parameters tried: certified 1\)"
        ):
            stopped.result()


def test_binomial_vectors_name_their_precision_and_show_no_slack():
    """g = max(2 sqrt(B), d, 4) = 20 at B = 100; far more trials than needed leave the left-out part of delta,
    which is no slack."""
    result = invoke("calibrate", "binomial-vectors", "--parties", "100", "--have", "1000000")
    assert "= 20 for --parties B = 100 users" in result.stdout
    assert "||phi|| <= 1 and |y| <= 1" in result.stdout
    row = cells(result, "binomial-vectors")
    assert row[-2] == "1000000"
    assert 1e-10 < float(row[-1]) <= 1e-9
    wide = invoke("calibrate", "binomial-vectors", "--dim", "7", "--sensitivity", "1/2")
    assert "= 7 for --parties B = 1 users" in wide.stdout
    assert "messages times 0.5" in wide.stdout


def test_the_help_says_what_the_sensitivity_scales_for_every_mechanism():
    """Each mechanism has its line, and the joint sensitivity of LinUCB's messages stands there."""
    text = invoke("calibrate", "--help").stdout
    assert all(f"{name}: {kind.parameter}, {kind.scales}" in text for name, kind in MECHANISMS.items())
    assert '--sensitivity "sqrt(4.5)"' in text
    assert length("sqrt(4.5)", name="x") < exact("2.1214")


@pytest.mark.parametrize("name", MECHANISMS)
def test_a_mechanism_uses_the_options_that_it_says(name):
    """Every option that it names changes its proof, and no other does."""
    kind = MECHANISMS[name]
    shape = Shape(parties=3)
    other = {"candidates": 5, "answers": 2, "leaves": 64, "parties": 5, "dim": 9, "share": Fraction(1, 2)}
    before = kind.proof(Fraction(1), Fraction(50), shape).to_json()
    changed = {
        option
        for option, value in other.items()
        if kind.proof(Fraction(1), Fraction(50), replace(shape, **{option: value})).to_json() != before
    }
    assert changed <= kind.uses
    assert kind.uses - changed <= {"candidates"}
