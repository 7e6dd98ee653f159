"""The printed parameters of both algorithms, against floats written down apart and against played loops."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from audits.glm_bandits.printed_parameters import JointParameters, ShuffleParameters, descent_steps, power_of
from audits.glm_bandits.rows.parameters import first_horizon
from audits.glm_bandits.switching import doublings, hidden_growth, rising, sure_switches
from dpaudit.core.errors import InvalidParameterError
from dpaudit.kernel.ball import arb


def _shuffle(**changed: object) -> ShuffleParameters:
    values: dict[str, object] = {
        "T": 10_000, "d": 3, "M": 3, "S": Fraction(2), "kappa": arb(9), "kappa_star": arb(5),
        "epsilon": Fraction(2), "delta": Fraction(1, 20),
    }  # fmt: skip
    return ShuffleParameters(**{**values, **changed})  # type: ignore[arg-type]


def _joint(**changed: object) -> JointParameters:
    values: dict[str, object] = {
        "T": 10_000, "d": 3, "S": Fraction(2), "kappa": arb(9), "kappa_star": arb(5),
        "epsilon": Fraction(1, 2),
        "delta": Fraction(1, 20), "zeta": Fraction(1, 50),
    }  # fmt: skip
    return JointParameters(**{**values, **changed})  # type: ignore[arg-type]


def test_algorithm_one_by_hand() -> None:
    """(6)-(10) in floats."""
    shown = _shuffle()
    sigma = math.log(9 / 0.05) / 10
    nu = 2 * math.sqrt(3 * math.log(30_000 / 0.05) ** 3)
    union = math.log(2 * 3 * 3 * 10_000 / 0.05)
    gamma = 60 * math.sqrt(3 * math.log(1e4) + 12 * sigma * math.sqrt(union)) + math.sqrt(8 * nu)
    assert float(shown.ridge.mid()) == pytest.approx(60 * math.log(1e4) + 6 * sigma * math.sqrt(union))
    assert float(shown.gamma.mid()) == pytest.approx(gamma)
    alpha = 1e4 ** (2 / 3)
    first = (3 * math.exp(6) * 9 * gamma**2 / 2 * alpha) ** (2 / 3)
    found = [float(length.mid()) for length in shown.batches()]
    assert found == pytest.approx([first, alpha, alpha**1.5])


def test_the_last_batch_is_the_horizon() -> None:
    """alpha sqrt(B_{M-1}) = T for every M, in section 5's form; below T in appendix F's."""
    for batches in (2, 3, 4, 7):
        shown = _shuffle(M=batches)
        assert float(shown.batches()[-1].mid()) == pytest.approx(1e4)
        assert shown.batches(appendix=True)[-1] < 10_000


def test_algorithm_two_by_hand() -> None:
    """(19)-(21) and both cutoffs in floats."""
    shown, root = _joint(), math.sqrt(3)
    ridge = 64 * (4 * root + 1) * math.log(640) * math.log(1e4) * (math.log(8e6) + root) / 2.5
    gamma = 16 * 3 * math.log(1.5e6) ** 2 * math.log(640) / (0.5 * 25)
    assert float(shown.ridge.mid()) == pytest.approx(ridge)
    assert float((shown.ridge_lower + shown.ridge_upper).mid()) == pytest.approx(
        ridge * (8 * root + 2) / (4 * root + 1)
    )
    assert float(shown.gamma.mid()) == pytest.approx(gamma)
    assert float(shown.beta.mid()) == pytest.approx(2 * root * math.log(5e5) * math.log(20) / math.sqrt(2.5))
    assert float(shown.exploration_cutoff.mid()) == pytest.approx(24 * 9 * gamma**2 * math.log(1e4))
    low = ridge * 4 * root / (4 * root + 1)
    assert float(shown.switching_cutoff.mid()) == pytest.approx(
        math.log2((4 * root + 2) / (4 * root) + 1e4 / 25 / (3 * low))
    )


def test_most_explored_against_a_greedy_player() -> None:
    """Arms along the smallest eigenvalue, V = lambda_min I: never more rounds than the bound, and near it."""
    shown = _joint(d=2, gamma_factor=Fraction(1, 100), epsilon=Fraction(40), T=10**6)
    threshold = 1 / float((shown.gamma**2 * shown.kappa).mid())
    diagonal, count = [float(shown.ridge_lower.mid())] * 2, 0
    while 1 / min(diagonal) >= threshold and count < 10**6:
        diagonal[diagonal.index(min(diagonal))] += 1
        count += 1
    bound = shown.most_explored()
    assert 0 < count <= bound


def test_surely_explored_is_no_more_than_the_most() -> None:
    """A lower and an upper bound on the same count."""
    for factor in (1, 3, 10):
        shown = _joint(gamma_factor=Fraction(factor), T=10**9)
        assert shown.surely_explored() <= shown.most_explored()


def test_steps_of_descent() -> None:
    """ε² n²/(d log³(nd/δ))."""
    found = descent_steps(n=1000, d=2, epsilon=Fraction(1, 2), delta=Fraction(1, 10))
    assert float(found.mid()) == pytest.approx(250_000 / (2 * math.log(20_000) ** 3))
    assert float(power_of(8, Fraction(2, 3)).mid()) == pytest.approx(4)


def test_sure_switches_against_the_worst_noise() -> None:
    """Played with noise that always delays: +share before each doubling, -share until it cannot be hidden."""
    d, share, step, grown = 3, 0.1, 0.001, 20.0
    level, largest, count = 1.0, (1 + share) ** d, 0
    while level < 1 + grown:
        level += step
        if (level - share) ** d > 2 * largest:
            count, largest = count + 1, (level + share) ** d
    found = sure_switches(d=d, grown=arb(grown), share=arb(share), step=arb(step))
    assert found == count > 0
    assert sure_switches(d=d, grown=arb(grown), share=arb(0), step=arb(0)) == int(3 * math.log2(21))


def test_doublings_by_hand() -> None:
    """1, 2, 3, 4, 1, 9: doubled at 2, 4 and 9."""
    assert doublings([Fraction(x) for x in (1, 2, 3, 4, 1, 9)]) == [0, 1, 3, 5]


def test_hidden_growth_against_matrices() -> None:
    """Determinants and the generalised eigenvalue by linear algebra; the doublings by their definition."""
    for d, bound in ((1, 0.1), (3, 0.09), (20, 0.045)):
        shown = hidden_growth(d=d, bound=Fraction(str(bound)), ridge=Fraction(1))
        matrices = [np.diag([float(a), *[float(b)] * (d - 1)]) for a, b in shown.released]
        values = np.maximum.accumulate([np.linalg.det(m) for m in matrices])
        first, later = shown.switches[1], shown.switches[2] - 1
        assert values[first] >= 2 * values[0] > values[first - 1]
        assert values[later] < 2 * values[first] <= values[later + 1]
        for s, matrix in enumerate(matrices):
            true = np.diag([1.0 + s, *[1.0] * (d - 1)])
            assert np.abs(matrix - true).max() <= bound + 1e-12
        ratio = np.linalg.eigvals(np.linalg.solve(matrices[first], matrices[later])).real.max()
        assert float(shown.largest_ratio(first, later)) == pytest.approx(ratio)


def test_rising_determinants_against_matrices() -> None:
    """Arms along the axes in turn, noise on the diagonal."""
    found = rising(d=3, bound=Fraction(1, 10), ridge=Fraction(2), rounds=9)
    for s in range(9):
        diagonal = np.array([2.0 + sum(i % 3 == axis for i in range(s)) for axis in range(3)])
        noise = -0.1 if s == 0 else 0.1
        assert float(found[s]) == pytest.approx(np.prod(diagonal + noise))


def test_the_first_horizon_by_floats() -> None:
    """B_1 at one power of ten less is above it, at the power itself not; (6) in floats."""
    power = first_horizon(d=3, S=Fraction(2), epsilon=Fraction(1))
    kappa, sigma = 2 + 2 * math.cosh(2), math.log(90) / 4
    for k, fits in ((power - 1, False), (power, True)):
        T, M = 10**k, int(math.log2(math.log2(10**k)))
        inner = 3 * math.log(T) + 12 * sigma * math.sqrt(math.log(6 * M * T / 0.1))
        nu = 4 * math.sqrt(3 * math.log(3 * T / 0.1) ** 3)
        gamma = 60 * math.sqrt(inner) + math.sqrt(8 * nu)
        alpha = T ** (1 / (2 * (1 - 2 ** (1 - M))))
        first = (math.sqrt(kappa) * math.exp(6) * 9 * gamma**2 / 2 * alpha) ** (2 / 3)
        assert (first <= T) is fits


def test_outside_their_ranges() -> None:
    """epsilon above 5, zeta above delta, noise as large as the ridge."""
    with pytest.raises(InvalidParameterError):
        _shuffle(epsilon=Fraction(6))
    with pytest.raises(InvalidParameterError):
        _joint(zeta=Fraction(1, 10))
    with pytest.raises(InvalidParameterError):
        hidden_growth(d=2, bound=Fraction(1), ridge=Fraction(1))
