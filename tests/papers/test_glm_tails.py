"""Exact tails against scipy, enumeration of paths, and drawn matrices."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy import stats

from audits.glm_bandits.exact_tails import (
    binomial_at_least,
    binomial_below,
    chi_square_above,
    crossing_probability,
)
from dpaudit.core.errors import InvalidParameterError
from dpaudit.kernel.ball import arb


def test_binomial_tails() -> None:
    """Both sides of a limit, at a count and between two."""
    distribution = stats.binom(12, 0.25)
    assert float(binomial_at_least(12, Fraction(1, 4), arb(5))) == pytest.approx(distribution.sf(4))
    assert float(binomial_at_least(12, Fraction(1, 4), arb(4.5))) == pytest.approx(distribution.sf(4))
    assert float(binomial_below(12, Fraction(1, 4), Fraction(5))) == pytest.approx(distribution.cdf(4))
    assert float(binomial_below(12, Fraction(1, 4), Fraction(9, 2))) == pytest.approx(distribution.cdf(4))


def test_chi_square() -> None:
    """Odd and even degrees of freedom."""
    for freedom, limit in ((1, 2.5), (10, 14.0), (301, 320.0)):
        found = float(chi_square_above(freedom, arb(limit)).mid())
        assert found == pytest.approx(stats.chi2(freedom).sf(limit))


def test_crossing_against_all_paths() -> None:
    """2^9 paths of a Bernoulli(1/3) walk, with a limit that depends on the round."""
    p, rounds = Fraction(1, 3), 9
    expected = Fraction(0)
    for path in product((0, 1), repeat=rounds):
        sums = np.cumsum([Fraction(x) - p for x in path])
        if any(abs(total) >= Fraction(3, 2) + Fraction(t, 20) for t, total in enumerate(sums, 1)):
            expected += p ** sum(path) * (1 - p) ** (rounds - sum(path))

    def crossed(t: int, total: arb) -> bool:
        return not abs(total) < 1.5 + t * arb(0.05)

    found = crossing_probability(p=p, rounds=rounds, crossed=crossed)
    assert 0 < float(expected) == pytest.approx(float(found.mid()))


def test_norms_of_drawn_matrices_are_below_the_bounds_used() -> None:
    """Means near 2√d, for independent and for symmetrised entries; the /2 reading is √2 smaller."""
    rng = np.random.default_rng(3)
    for d in (2, 30, 200):
        full, symmetric = [], []
        for _ in range(20):
            matrix = rng.normal(size=(d, d))
            full.append(np.linalg.norm(matrix, 2))
            symmetric.append(np.abs(np.linalg.eigvalsh((matrix + matrix.T) / np.sqrt(2))).max())
        assert np.mean(full) <= 2 * np.sqrt(d)
        assert np.mean(symmetric) <= 2 * np.sqrt(d) + 0.5
    assert np.mean(symmetric) >= 1.8 * np.sqrt(200)


def test_no_binomial_distribution() -> None:
    """A chance of 1."""
    with pytest.raises(InvalidParameterError):
        binomial_below(3, Fraction(1), Fraction(1))
