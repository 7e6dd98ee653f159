"""Binomial vector sums (Chowdhury and Zhou 2022): parameters, messages, sensitivity, what one entry shows."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from audits.shuffle_linear_bandits.binomial_privacy import cost, stated
from audits.shuffle_linear_bandits.rows.binomial_errors import SMALL, expectation
from dpaudit.certify.binomial_sums import BinomialSum, linear_statistics
from dpaudit.certify.witnesses.recompute import recompute
from dpaudit.coins import Sampler, record, replay
from dpaudit.core.claims import ApproxDP
from dpaudit.core.errors import InvalidParameterError
from dpaudit.reference.mechanisms.binomial_vectors import (
    VectorSheet,
    authors_sheet,
    local_sheet,
    overflow_exponent,
    printed_sheet,
    returning_sheet,
)
from dpaudit.reference.mechanisms.binomial_witness import OneEntry, one_entry
from dpaudit.reference.mechanisms.shuffler import Message, by_label, histograms, shuffle
from dpaudit.reference.mechanisms.vector_messages import (
    aggregate,
    analyze,
    analyze_bits,
    encode,
    labels,
    release,
    user_messages,
)

#: d = 5, B = 20: epsilon, delta, b of C.1, standard deviation, b of E.5 in both readings (M = 1000).
GOLDEN = [
    ("1/5", "1/10", 1172729554, 7368.3808, 6.419443e14, 9.335466e14),
    ("1", "1/10", 46909183, 1473.6762, 2.567777e13, 3.734186e13),
    ("1/5", "1/1000000", 8280661472, 19579.6823, 9.976952e15, 1.240252e16),
    ("1", "1/1000000", 331226459, 3915.9365, 3.990781e14, 4.961008e14),
]

TINY = VectorSheet(dim=2, batch_size=3, precision=4, trials=40)


@pytest.mark.parametrize(("epsilon", "delta", "trials", "std", "returning", "other"), GOLDEN)
def test_printed_parameters(
    epsilon: str, delta: str, trials: int, std: float, returning: float, other: float
) -> None:
    """g, b and the noise of C.1 and E.5 at the settings of the figures, by formulas evaluated elsewhere."""
    sheet = printed_sheet(dim=5, batch_size=20, epsilon=epsilon, delta=delta)
    assert (sheet.precision, sheet.trials) == (9, trials)
    assert math.sqrt(sheet.noise_variance) == pytest.approx(std, rel=1e-7)
    shape = {"dim": 5, "batch_size": 20, "batches": 1000, "epsilon": epsilon, "delta": delta}
    for reading, value in (("substituted", returning), ("without B", other)):
        found = returning_sheet(**shape, reading=reading)  # type: ignore[arg-type]
        assert found.trials == pytest.approx(value, rel=1e-6)


def test_parameters_by_float_formulas() -> None:
    """C.3's, the code's and the halved budget's b, by the formulas in floats; g is a ceiling."""
    local = local_sheet(dim=2, epsilon=1, delta="1/1000")
    assert (local.precision, local.trials) == (4, math.ceil(24e4 * 16 * math.log(20_000) ** 2))
    code = authors_sheet(dim=5, batch_size=20, epsilon=1, delta="1/10", constant=10)
    assert code.trials == math.floor(10 * 81 * math.log(50) ** 2 / 20)
    halved = printed_sheet(dim=5, batch_size=20, epsilon=1, delta="1/10", budget="halved")
    assert halved.trials == math.ceil(24e4 * 81 * math.log(2080) ** 2 / 20 * 4)
    assert printed_sheet(dim=2, batch_size=21, epsilon=1, delta="1/10").precision == math.ceil(
        2 * math.sqrt(21)
    )


def test_sheets_refuse_nonsense() -> None:
    """Batches without users, a chance of 1, a logarithm of less than 1."""
    for changes in ({"batch_size": 0}, {"chance": Fraction(1)}, {"ranges": "tripled"}):
        with pytest.raises(InvalidParameterError):
            VectorSheet(**{"dim": 1, "batch_size": 1, "precision": 4, "trials": 8, **changes})  # type: ignore[arg-type]
    with pytest.raises(InvalidParameterError, match="logarithm"):
        authors_sheet(dim=1, batch_size=1, epsilon=1, delta=1, constant=1)


def statistics(rng: np.random.Generator, dim: int) -> tuple[np.ndarray, np.ndarray]:
    x = rng.normal(size=dim)
    x *= rng.uniform(0, 1) ** 0.2 / np.linalg.norm(x)
    y = rng.choice([-1.0, 1.0, rng.uniform(-1, 1)])
    return x * y, np.outer(x, x)[np.triu_indices(dim)]


def test_the_joint_sensitivity() -> None:
    """Random pairs never change (phi y, upper triangle) by more than 9/2 squared; the pair of the text does
    by exactly that, and the vector alone by at most 4, the matrix alone by at most 2."""
    rng = np.random.default_rng(7)
    for _ in range(4000):
        dim = int(rng.integers(1, 5))
        (v, w), (u, x) = statistics(rng, dim), statistics(rng, dim)
        vector, matrix = np.sum((v - u) ** 2), np.sum((w - x) ** 2)
        assert vector <= 4 + 1e-12
        assert matrix <= 2 + 1e-12
        assert vector + matrix <= 4.5 + 1e-12
        assert max(np.abs(v - u).max(), np.abs(w - x).max()) <= 2
    a, b = math.sqrt((2 + math.sqrt(3)) / 4), math.sqrt((2 - math.sqrt(3)) / 4)
    here, there = np.array([a, b]), -np.array([b, a])
    outer = [np.outer(x, x)[np.triu_indices(2)] for x in (here, there)]
    assert np.sum((here - there) ** 2) + np.sum((outer[0] - outer[1]) ** 2) == pytest.approx(4.5, abs=1e-12)
    found = linear_statistics(dim=3, scale=4, trials=100, chance="1/2")
    assert (found.dimension, found.squares, found.largest) == (9, 72, 8)


def test_a_shuffler_permutes_and_nothing_else() -> None:
    """All messages come out, and each order of three messages is about as frequent as any other."""
    rng = np.random.default_rng(3)
    sent = [[Message("a", 0), Message("b", 1)], [Message("a", 1)]]
    seen: dict[tuple[Message, ...], int] = {}
    for _ in range(6000):
        out = shuffle(sent, rng)
        assert sorted(out) == sorted(m for user in sent for m in user)
        seen[tuple(out)] = seen.get(tuple(out), 0) + 1
    assert len(seen) == 6
    assert stats.chisquare(list(seen.values())).pvalue > 1e-4
    assert histograms(shuffle(sent, rng)) == {"a": {0: 1, 1: 1}, "b": {1: 1}}


@pytest.mark.parametrize("ranges", ["printed", "doubled"])
def test_messages_and_sums_have_one_distribution(ranges: str) -> None:
    """Explicit bits through the shuffler, and one binomial draw a label, give outputs of the same mean (the
    true sums) and the same spread, label by label; (j, i) carries the bits of (i, j)."""
    sheet = VectorSheet(dim=2, batch_size=3, precision=4, trials=40, ranges=ranges)  # type: ignore[arg-type]
    rng = np.random.default_rng(11)
    values = rng.uniform(-1, 1, size=(3, 5))
    bits = []
    for _ in range(300):
        messages = shuffle([user_messages(row, sheet, rng) for row in values], rng)
        assert len(messages) == sheet.batch_size * sheet.bits_per_user
        counted = by_label(messages)
        assert sum(counted[(0, 1)]) == sum(counted[(1, 0)])
        bits.append(analyze_bits(messages, sheet))
    fast = np.array([aggregate(values, sheet, rng) for _ in range(20_000)])
    rounding = ((values + 1) * float(sheet.scale)) % 1
    variance = float(sheet.noise_variance) + (rounding * (1 - rounding)).sum(axis=0) / float(sheet.scale) ** 2
    for drawn in (np.array(bits), fast):
        errors = drawn.mean(axis=0) - values.sum(axis=0)
        assert np.all(np.abs(errors) < 4.5 * np.sqrt(variance / len(drawn)))
        assert np.all(np.abs(drawn.var(axis=0) / variance - 1) < 6 / math.sqrt(len(drawn)))


def test_the_encoding_is_unbiased_and_exact_on_the_grid() -> None:
    """At multiples of 1/g nothing is random; elsewhere two neighbours with the mean of the entry."""
    rng = np.random.default_rng(5)
    grid = np.arange(-4, 5) / 4
    assert encode(grid, TINY, rng).tolist() == list(range(9))
    drawn = encode(np.full(40_000, 0.3), TINY, rng)
    assert set(drawn) == {5, 6}
    assert drawn.mean() == pytest.approx(5.2, abs=0.01)
    with pytest.raises(InvalidParameterError, match=r"\[-1, 1\]"):
        encode(np.array([1.5]), TINY, rng)


def test_too_many_ones_raise() -> None:
    """An encoding of 2g with few trials does not fit into g + b bits: the print's range is too small
    there."""
    sheet = VectorSheet(dim=1, batch_size=1, precision=8, trials=4)
    with pytest.raises(InvalidParameterError, match="ones"):
        user_messages(np.array([1.0, 1.0]), sheet, np.random.default_rng(0))
    assert overflow_exponent(sheet) == 0
    assert overflow_exponent(printed_sheet(dim=5, batch_size=20, epsilon=15, delta="49/100")) > 10_000


def test_the_program_releases_the_sums() -> None:
    """Under coins: one release for all labels, of the binomial distribution, and a neighbour moves it by the
    encodings' difference; the result is the analyzer's of what was shown."""
    data = np.array([[1.0, 0.5, 0.25, 0.0, 1.0], [0.0, 0.0, 0.0, 0.0, 0.0], [0.5, -1.0, 0.25, -0.5, 1.0]])
    other = data.copy()
    other[0] = -data[0]
    program = lambda coins, d: release(coins, d, TINY)  # noqa: E731
    recording = record(program, data, rng=np.random.default_rng(1))
    [shown] = [site for site in recording.sites if site.site == "sums"]
    result = program(Sampler(np.random.default_rng(1)), data)
    assert np.array_equal(result, analyze(np.asarray(shown.value), TINY))
    losses = replay(program, other, recording).losses
    [moved] = [item for item in losses if item.moved and item.record.site == "sums"]
    gaps = np.asarray(moved.distribution_neighbour.offset) - np.asarray(shown.distribution.offset)  # type: ignore[union-attr]
    assert gaps.astype(int).tolist() == (-8 * data[0]).astype(int).tolist()


@pytest.mark.parametrize("epsilon", [0.0, 0.05, 0.3])
def test_one_entry_against_sums(epsilon: float) -> None:
    """delta of one entry, by thresholds, is that of summing over all outcomes; the witness re-computes to
    it."""
    sheet = VectorSheet(dim=2, batch_size=5, precision=4, trials=400)
    x = np.arange(2000 + 9)
    p, q = stats.binom.pmf(x - 8, 2000, 0.25), stats.binom.pmf(x, 2000, 0.25)
    truth = max(np.maximum(a - math.exp(epsilon) * b, 0).sum() for a, b in ((p, q), (q, p)))
    entry = one_entry(sheet)
    assert isinstance(entry, OneEntry)
    assert entry.delta(epsilon) == pytest.approx(truth, rel=1e-9)
    claim = stated(Fraction(epsilon), Fraction(1, 10**9))
    witness = entry.witness(claim)
    assert witness is not None
    assert float(recompute(witness, claim) or 0) == pytest.approx(truth, rel=1e-9)


def test_what_is_certified_is_above_what_is_shown() -> None:
    """The least epsilon certified and the largest that one entry shows, for narrow and wide noise: in order,
    and within a factor of two for wide noise."""
    for trials in (40, 400, 40_000):
        found = cost(VectorSheet(dim=2, batch_size=5, precision=4, trials=trials), "1/100000")
        assert 0 < found.low < found.high
        assert trials < 1000 or found.high < 2 * found.low


def test_one_user_of_two_entries_summed_out() -> None:
    """delta of the two-entry statistic at dimension 1, by summing over all outcomes of both sums, is at most
    the certified one, for every pair of corners."""
    sheet = VectorSheet(dim=1, batch_size=2, precision=4, trials=60)
    claim = ApproxDP(epsilon="1/2", delta=1)
    bound = sheet.statistic().proof(epsilon="1/2", delta="1/100").certify(claim).bound
    assert bound is not None
    x = np.arange(120 + 10)
    distributions = [stats.binom.pmf(x - move, 120, 0.25) for move in range(9)]
    corners = [(4 * (phi * y + 1), 4 * (phi * phi + 1)) for phi, y in itertools.product((-1, 0, 1), (-1, 1))]
    for (a, b), (c, d) in itertools.permutations(corners, 2):
        one, two = (
            np.multiply.outer(distributions[a], distributions[b]),
            np.multiply.outer(distributions[c], distributions[d]),
        )
        assert np.maximum(one - math.exp(0.5) * two, 0).sum() <= float(bound)


def test_less_than_certified_is_refuted() -> None:
    """A tenth of the noise that a claim needs is refuted by one entry: the bounds do not drift apart."""
    need = VectorSheet(dim=5, batch_size=20, precision=9, trials=2200)
    claim = stated(1, "1/1000000")
    assert (need.statistic().proof(epsilon=1, delta="1/1000000").certify(claim).bound or 1) <= Fraction(
        1, 10**6
    )
    entry = one_entry(VectorSheet(dim=5, batch_size=20, precision=9, trials=220))
    witness = None if entry is None else entry.witness(claim)
    assert witness is not None
    assert (witness.bound or 0) > Fraction(1, 1000)


def test_biases_by_exact_means() -> None:
    """Unbiased with B Delta, off by B - 1 with Delta, by enumeration and by hand."""
    values = (Fraction(1, 3), Fraction(-1), Fraction(2, 7))
    assert expectation(values, Fraction(3)) == sum(values)
    assert expectation(values, Fraction(1)) == sum(values) + 2
    assert expectation(values, Fraction(3), trials=Fraction(17, 2) * SMALL.batch_size) == sum(
        values
    ) - Fraction(3, 32)


@pytest.mark.parametrize(
    "changes", [{"trials": 0}, {"chance": 0}, {"squares": 0}, {"times": 0}, {"largest": -1}]
)
def test_sums_refuse_nonsense(changes: dict[str, int]) -> None:
    """Out-of-range shapes are refused with the parameter named."""
    given = {"trials": 100, "chance": "1/4", "dimension": 2, "squares": 8, "largest": 2, **changes}
    with pytest.raises(InvalidParameterError):
        BinomialSum(**given)  # type: ignore[arg-type]


def test_labels_are_those_of_the_upper_triangle() -> None:
    """d of the vector, d (d + 1) / 2 of the matrix, as many as entries."""
    assert labels(2) == (0, 1, (0, 0), (0, 1), (1, 1))
    assert len(labels(5)) == VectorSheet(dim=5, batch_size=1, precision=4, trials=1).entries == 20
