"""Check exact losses and distributions of seven programs against enumeration, quadrature or brute force."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import integrate, stats

from dpaudit.coins import (
    Returned,
    enumerate_view,
    hockey_stick,
    max_log_ratio,
    record,
    replay,
    sum_out,
    visible_values,
)
from dpaudit.core.views import EVERYTHING, PUBLIC, SERVER, View, user
from dpaudit.distributions import (
    AboveThreshold,
    Bernoulli,
    Binomial,
    Categorical,
    Counts,
    Gaussian,
    Laplace,
    NoisyArgmax,
    RandomisedResponse,
    Shuffle,
    SumMod,
)
from dpaudit.kernel.ball import arb, lower, upper


def assert_encloses(ball, value, rel=1e-9):
    assert lower(ball) <= value * (1 + rel) + 1e-300
    assert upper(ball) >= value * (1 - rel) - 1e-300


# 1. Report Noisy Max


def noisy_max(coins, data):
    return coins.observe(NoisyArgmax(data.sum(axis=0), Laplace(scale=1)), site="winner")


def test_report_noisy_max_against_quadrature():
    """The enumerated distribution and the losses of report noisy max equal numerical integrals."""
    left, right = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]), np.array([[0.0, 1.0, 0.0], [0.0, 1.0, 0.0]])

    def brute(sums, j):
        def density(z):
            others = math.prod(stats.laplace.cdf(z - s) for i, s in enumerate(sums) if i != j)
            return stats.laplace.pdf(z - sums[j]) * others

        return integrate.quad(density, -60, 60, points=sorted(set(sums.tolist())), limit=400, epsabs=1e-13)[0]

    distributions = [enumerate_view(noisy_max, data, view=View.of(PUBLIC)) for data in (left, right)]
    for distribution, data in zip(distributions, (left, right), strict=True):
        for key, probability in distribution.probabilities.items():
            assert_encloses(
                probability, brute(data.sum(axis=0), int(distribution.transcripts[key][0])), rel=1e-7
            )
    expected = max(math.log(brute(left.sum(axis=0), j) / brute(right.sum(axis=0), j)) for j in range(3))
    assert upper(max_log_ratio(*distributions)[0]) == pytest.approx(expected, rel=1e-7)
    recording = record(noisy_max, left, rng=np.random.default_rng(0))
    winner = recording.returned
    assert float(replay(noisy_max, right, recording).loss()) == pytest.approx(
        math.log(brute(left.sum(axis=0), winner) / brute(right.sum(axis=0), winner)), rel=1e-7
    )


# 2. Sparse vector


def sparse_vector(coins, data):
    kernel = AboveThreshold(
        threshold=1, threshold_noise=Laplace(scale=2), query_noise=Laplace(scale=4), max_positives=1
    )
    session = coins.channel(kernel, site="svt")
    answers = []
    for query in data:
        answers.append(session.ask(float(query)))
        if answers[-1]:
            break
    return tuple(answers)


def test_sparse_vector_against_quadrature():
    """The joint probability of every answer pattern of 4 queries equals a numerical integral."""
    left, right = np.array([0.0, 1.0, 0.5, 0.0]), np.array([1.0, 0.0, 1.5, 1.0])

    def brute(queries, answers):
        def density(z):
            value = stats.laplace.pdf(z, scale=2)
            for query, answer in zip(queries, answers, strict=False):
                below = stats.laplace.cdf(1 + z - query, scale=4)
                value *= (1 - below) if answer else below
            return value

        corners = sorted({0.0, *(q - 1 for q in queries)})
        return integrate.quad(density, -120, 120, points=corners, limit=600, epsabs=1e-13)[0]

    distributions = [enumerate_view(sparse_vector, data, view=View.of(PUBLIC)) for data in (left, right)]
    assert len(distributions[0].probabilities) == 5
    for distribution, data in zip(distributions, (left, right), strict=True):
        assert_encloses(sum(distribution.probabilities.values()), 1.0)
        for key, probability in distribution.probabilities.items():
            assert_encloses(probability, brute(data, distribution.transcripts[key][-1]), rel=1e-7)
    recording = record(sparse_vector, left, rng=np.random.default_rng(4))
    answers = recording.returned
    expected = math.log(brute(left, answers) / brute(right, answers))
    assert float(replay(sparse_vector, right, recording).loss()) == pytest.approx(expected, rel=1e-6)


# 3. Secure aggregation with a drop-out


def secure_aggregation(coins, data):
    """Sum 3 users' values modulo 7 with Binomial(4, 1/2) noise each. User ``data[3]`` has publicly left."""
    present = [i for i in range(3) if i != data[3]]
    coins.reveal(len(present), site="turnout")
    distributions = [Binomial(trials=4, p="1/2").shift(int(data[i])) for i in present]
    return Returned(coins.aggregate(distributions, SumMod(7), site="sum", to=SERVER), SERVER)


def test_secure_aggregation_with_a_drop_out_against_brute_force():
    """The distribution of the modular sum of the present users equals a count of all noise combinations."""
    data = np.array([2, 0, 1, 1])

    def brute(values):
        distribution = dict.fromkeys(range(7), Fraction(0))
        for noise in itertools.product(range(5), repeat=2):
            weight = math.prod((Fraction(math.comb(4, k), 16) for k in noise), start=Fraction(1))
            distribution[(values[0] + values[2] + sum(noise)) % 7] += weight
        return distribution

    distribution = enumerate_view(secure_aggregation, data, view=View.of(SERVER))
    expected = brute(data)
    assert len(distribution.probabilities) == 7
    for key, probability in distribution.probabilities.items():
        assert_encloses(probability, float(expected[int(distribution.transcripts[key][1])]))
    other = np.array([0, 0, 1, 1])
    recording = record(secure_aggregation, data, rng=np.random.default_rng(1))
    seen = int(recording.returned)
    loss = math.log(brute(data)[seen] / brute(other)[seen])
    assert float(replay(secure_aggregation, other, recording).loss()) == pytest.approx(loss, rel=1e-9)


# 4. Shuffled randomised response


def shuffled_response(coins, data):
    distributions = [RandomisedResponse(truth=int(x), symbols=2, keep="3/4") for x in data]
    return Returned(coins.aggregate(distributions, Counts(2), site="counts", to=SERVER), SERVER)


def test_shuffled_randomised_response_against_brute_force():
    """Distribution, largest loss and delta of four users' counts equal sums over all 16 outcomes."""

    def brute(values):
        distribution = dict.fromkeys(range(5), Fraction(0))
        for bits in itertools.product((0, 1), repeat=4):
            distribution[sum(bits)] += math.prod(
                (Fraction(3 if b == x else 1, 4) for b, x in zip(bits, values, strict=True)),
                start=Fraction(1),
            )
        return distribution

    left, right = (0, 0, 1, 1), (1, 0, 1, 1)
    distributions = [
        enumerate_view(shuffled_response, np.array(data), view=View.of(SERVER)) for data in (left, right)
    ]
    for distribution, data in zip(distributions, (left, right), strict=True):
        for key, probability in distribution.probabilities.items():
            assert_encloses(probability, float(brute(data)[int(distribution.transcripts[key][0][1])]))
    worst = max(math.log(brute(left)[k] / brute(right)[k]) for k in range(5))
    assert upper(max_log_ratio(*distributions)[0]) == pytest.approx(worst, rel=1e-9)
    # Shuffling does not amplify pure privacy, because a unanimous outcome has loss log 3. It amplifies delta.
    assert worst == pytest.approx(math.log(3), rel=1e-12)
    delta = sum(max(float(brute(left)[k] - 2 * brute(right)[k]), 0.0) for k in range(5))
    assert_encloses(hockey_stick(*distributions, arb(2)), delta)
    assert delta < 0.75 - 2 * 0.25


# 5. The multiset of shuffled Gaussian vectors


def shuffled_vectors(coins, data):
    distributions = [Gaussian(variance=1).shift(row) for row in data]
    return Returned(coins.aggregate(distributions, Shuffle(), site="vectors", to=SERVER), SERVER)


def test_shuffled_gaussian_vectors_against_the_sum_over_permutations():
    """The loss of the multiset is the log-ratio of two sums over all orders of three users."""
    left = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]])
    right = left.copy()
    right[0] = [1.5, -1.0]

    def density(rows, centres):
        return sum(
            math.prod(float(stats.norm.pdf(rows[i], loc=centres[j]).prod()) for i, j in enumerate(order))
            for order in itertools.permutations(range(3))
        )

    for seed in range(5):
        recording = record(shuffled_vectors, left, rng=np.random.default_rng(seed))
        rows = np.asarray(recording.returned)
        expected = math.log(density(rows, left) / density(rows, right))
        assert float(replay(shuffled_vectors, right, recording).loss()) == pytest.approx(expected, rel=1e-9)


# 6. Noisy gradient descent


def gradient_descent(coins, data):
    weight = 0.0
    for step in range(3):
        gradient = float(np.clip(data - weight, -1, 1).sum())
        weight += 0.25 * coins.release(gradient, Gaussian(variance=4), site=f"gradient {step}")
    return weight


def test_noisy_gradient_descent_against_the_closed_form():
    """The losses of three adaptive Gaussian releases add up along the recorded path."""
    left, right = np.array([0.0, 2.0, -1.0]), np.array([3.0, 2.0, -1.0])
    recording = record(gradient_descent, left, rng=np.random.default_rng(6))
    weight, expected = 0.0, 0.0
    for step in range(3):
        value = recording.sites[step].value
        here, there = (float(np.clip(data - weight, -1, 1).sum()) for data in (left, right))
        expected += ((value - there) ** 2 - (value - here) ** 2) / 8
        weight += 0.25 * value
    result = replay(gradient_descent, right, recording)
    assert result.leaks == ()
    assert float(result.loss()) == pytest.approx(expected, rel=1e-12)


# 7. Joint differential privacy: own action, own branch


def joint_program(coins, data):
    """Show a noisy count to everybody, and to each user an action that also depends on her bit.

    A user with bit 1 draws twice.
    """
    count = coins.observe(Categorical(probabilities=_count_distribution(int(data.sum()))), site="count")
    for i, bit in enumerate(data):
        for _ in range(1 + int(bit)):
            coins.observe(Bernoulli(p=Fraction(1 + count + int(bit), 6)), site=f"action {i}", to=user(i))
    return count


def _count_distribution(total):
    weights = [Fraction(1, 2 ** abs(total - k)) for k in range(4)]
    return [w / sum(weights) for w in weights]


def test_joint_privacy_sums_the_users_own_actions_out():
    """In the view of everybody but user 0, the loss is the loss of the public count."""
    left, right = np.array([0, 1, 0]), np.array([1, 1, 0])
    view = View.everybody_but(user(0))
    distributions = [enumerate_view(joint_program, data, view=view) for data in (left, right)]
    for distribution, data in zip(distributions, (left, right), strict=True):
        assert_encloses(sum(distribution.probabilities.values()), 1.0)
        for key, probability in distribution.probabilities.items():
            count, *actions, returned = distribution.transcripts[key]
            assert returned == count
            expected = _count_distribution(int(data.sum()))[count]
            for action, bit in zip(actions, [1, 1, 0], strict=True):
                p = Fraction(1 + count + bit, 6)
                expected *= p if action else 1 - p
            assert_encloses(probability, float(expected))
    worst = max(float(_count_distribution(1)[k] / _count_distribution(2)[k]) for k in range(4))
    assert upper(max_log_ratio(*distributions)[0]) == pytest.approx(math.log(worst), rel=1e-9)


def test_joint_privacy_is_broken_in_everybodys_view():
    """In everybody's view, some transcript is possible on one input only, due to the extra draw of user 0."""
    distributions = [
        enumerate_view(joint_program, np.array(data), view=EVERYTHING) for data in ([0, 1, 0], [1, 1, 0])
    ]
    assert upper(max_log_ratio(*distributions)[0]) == math.inf


def test_summing_out_a_given_transcript_agrees_with_full_enumeration():
    """``sum_out`` of a visible transcript equals its enumerated probability."""
    data, view = np.array([0, 1, 0]), View.everybody_but(user(0))
    recording = record(joint_program, data, rng=np.random.default_rng(9))
    seen = visible_values(recording, view)
    total, paths = sum_out(joint_program, data, seen, view=view)
    distribution = enumerate_view(joint_program, data, view=view)
    expected = next(
        distribution.probabilities[key]
        for key, transcript in distribution.transcripts.items()
        if list(transcript) == list(seen)
    )
    assert_encloses(total, float(expected.mid()))
    assert len(paths) == 2
