"""The gallery's exact truths agree with a second route and with known figures; its command writes what it
says.
"""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from benchmarks import gallery
from benchmarks.gallery_truths import argmax_distribution, components, flags_distribution
from dpaudit.distributions import Exponential, Laplace, NoisyArgmax

#: The largest loss on the patterns of Ding et al. (2018), to the digits shown.
KNOWN = {
    "TruncatedGeometric": 0.1178,
    "ReportNoisyMax1": 0.0946,
    "ReportNoisyMax2": 0.1,
    "SVT1": 0.0885,
    "SVT2": 0.0882,
    "SVT3": 0.5,
    "SVT4": 0.1725,
    "SVT5": math.inf,
    "SVT6": 0.42,
    "RAPPOR": 0.3001,
    "OneTimeRAPPOR": 0.6005,
    "PrefixSum": 1.0,
}
PLACES = {entry.name: place for place, entry in enumerate(gallery.GALLERY)}


@pytest.mark.parametrize("name", KNOWN)
def test_truths_are_the_known_ones(name: str) -> None:
    """Each is right to the fourth digit, and never above the mechanism's own."""
    found = gallery.truth_on_pairs(PLACES[name])
    assert found == KNOWN[name] or abs(found - KNOWN[name]) < 1e-4
    assert found <= gallery.GALLERY[PLACES[name]].truth * (1 + 1e-9)


@pytest.mark.parametrize("exponential", [False, True], ids=["Laplace", "exponential"])
def test_noisy_argmax_has_a_second_route(exponential: bool) -> None:
    """The quadrature agrees with the distribution's closed form on every pattern."""
    noise = Exponential(scale=20) if exponential else Laplace(scale=20)
    for pair in components(5):
        for side in pair:
            other = np.exp(NoisyArgmax(np.tile(side, (5, 1)), noise).logp(np.arange(5)))
            assert np.allclose(
                argmax_distribution(side, scale=20, exponential=exponential), other, rtol=1e-9, atol=0
            )


def test_flags_agree_with_the_mechanism() -> None:
    """The distribution sums to 1, and is that of 200,000 runs of the mechanism (false failure below 1e-6)."""
    entry = gallery.GALLERY[PLACES["SVT4"]]
    for side in entry.pairs[-1]:
        distribution = flags_distribution(side, **entry.distribution)
        assert math.isclose(sum(distribution.values()), 1, rel_tol=1e-9)
        flags = entry.mechanism(side, np.random.default_rng(0), 200_000)
        first = np.where(flags.max(axis=1) == 1, flags.argmax(axis=1), len(side))
        shares = np.bincount(first, minlength=len(side) + 1) / len(flags)
        # Hoeffding with a union over 22 cells: 2 * 22 * exp(-2 n d^2) < 1e-6 at d = 0.0067.
        assert np.abs(shares - list(distribution.values())).max() < 0.0067


def test_the_command_writes_results_and_page(tmp_path: Path) -> None:
    """Keys, truth and verdict of an entry that falls at once; the page gets its table."""
    file, page = tmp_path / "out.json", tmp_path / "page.md"
    arguments = ["--json", str(file), "--page", str(page), "-k", "half the noise", "--seeds", "2"]
    assert gallery.main([*arguments, "--max-samples", "4000"]) == 0
    [found] = json.loads(file.read_text(encoding="utf-8"))["results"]
    assert {"name", "truth", "lower", "verdict", "runs_median", "runs_90", "seconds"} <= set(found)
    assert (found["truth"], found["verdict"], found["above_truth"]) == (2.0, "refuted", 0)
    assert 0 < found["runs_median"] <= found["runs_90"] <= 4000
    assert "Laplace, half the noise" in page.read_text(encoding="utf-8")


def test_an_infinite_truth_is_written_as_text() -> None:
    """The JSON file holds no infinity, which JSON does not have; nothing refuted has no number of runs."""
    found = gallery.measure(PLACES["ReportNoisyMax4"], seeds=1, max_samples=400, alpha=1e-6)
    assert found["truth"] == "inf"
    assert found["runs_median"] is None
    json.dumps(found, allow_nan=False)
