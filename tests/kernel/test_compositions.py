"""Compositions of mechanisms without a pair of their own: shuffled rounds, vector noise, a bound on delta."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction

import pytest
from flint import arb

from dpaudit.certify import build
from dpaudit.certify.build import LossGrid
from dpaudit.certify.proof import Proof
from dpaudit.core.claims import ApproxDP, RenyiDP
from dpaudit.core.errors import CertificateError, InvalidParameterError
from dpaudit.kernel.ball import ball
from dpaudit.kernel.t1.certpld import Grid, power
from dpaudit.kernel.t1.profiles import profile_pair
from dpaudit.kernel.t2.shuffle import clones_delta, exact_response_delta
from dpaudit.kernel.t2.shuffle_pairs import clones_pair, exact_response_pair
from tests.errors import raises

GRID = Grid(step=Fraction(1, 100), bits=96, tail=60)
HALF = Fraction(1, 2)


def clone_masses(users: int, local: float) -> list[tuple[float, float]]:
    """P and Q of the clone pair, listed over C and A."""
    chance, q = math.exp(-local), math.exp(local) / (1 + math.exp(local))
    found = []
    for c in range(users):
        weight = math.comb(users - 1, c) * chance**c * (1 - chance) ** (users - 1 - c)
        half = [0.0, *(math.comb(c, a) / 2**c for a in range(c + 1)), 0.0]
        found += [
            (weight * (q * below + (1 - q) * here), weight * ((1 - q) * below + q * here))
            for below, here in itertools.pairwise(half)
        ]
    return found


def response_masses(users: int, local: float, ones: int) -> list[tuple[float, float]]:
    """The number of ones when the changed user holds 1 or 0, and ``ones`` of the others hold 1."""
    q = math.exp(local) / (1 + math.exp(local))

    def distribution(bits: Sequence[int]) -> list[float]:
        total = [1.0]
        for bit in bits:
            p = q if bit else 1 - q
            total = [p * a + (1 - p) * b for a, b in zip([0.0, *total], [*total, 0.0], strict=True)]
        return total

    others = [1] * ones + [0] * (users - 1 - ones)
    return [*zip(distribution([1, *others]), distribution([0, *others]), strict=True)]


def rounds(masses: Sequence[Sequence[tuple[float, float]]], epsilon: float) -> float:
    """delta of the product, outcome by outcome."""
    total = 0.0
    for outcome in itertools.product(*masses):
        p, q = math.prod(m[0] for m in outcome), math.prod(m[1] for m in outcome)
        total += max(0.0, p - math.exp(epsilon) * q)
    return total


@pytest.mark.parametrize(("users", "local"), [(1, "1/2"), (2, "1"), (6, "1"), (30, "2")])
def test_the_clone_pair_has_the_clones_delta(users: int, local: str) -> None:
    """The distribution's delta is that of the list of outcomes at grid points, a little more between them, at
    losses of either sign; and that of the half-line formula."""
    distribution = clones_pair(users, Fraction(local), GRID)
    masses = clone_masses(users, float(Fraction(local)))
    for epsilon in (Fraction(-3, 10), Fraction(0), Fraction(1, 10), Fraction(1, 4), Fraction(1003, 10000)):
        truth, bound = rounds([masses], float(epsilon)), float(distribution.delta(epsilon).upper())
        assert truth - 1e-14 <= bound <= truth * 1.01 + 1e-5
    for epsilon in (Fraction(0), Fraction(1, 10), Fraction(2, 5)):
        exact = clones_delta(users=users, local=Fraction(local), epsilon=epsilon)
        assert float(distribution.delta(epsilon).upper()) == pytest.approx(
            float(exact.mid()), rel=1e-9, abs=1e-25
        )
    assert distribution.infinite == 0


def test_three_clone_rounds_are_the_product() -> None:
    """Three rounds of five users, listed: the composed distribution is above the product and close to it."""
    distribution = power(clones_pair(5, Fraction(1), GRID), 3)
    masses = [clone_masses(5, 1.0)] * 3
    for epsilon in ("1/2", "1", "2"):
        truth = rounds(masses, float(Fraction(epsilon)))
        assert truth <= float(distribution.delta(Fraction(epsilon)).upper()) <= truth * 1.001


def test_responses_with_changing_neighbours_are_below_the_exact_pair() -> None:
    """In each round another number of the others may hold 1: every product is below the composed
    distribution, and some come near: at no round's k are all losses as large as the pair's."""
    pair = exact_response_pair(4, Fraction(1), GRID)
    distribution, shares = power(pair, 2), []
    for first, second in itertools.product(range(4), repeat=2):
        masses = [response_masses(4, 1.0, ones) for ones in (first, second)]
        for way in (masses, [[(q, p) for p, q in one] for one in masses]):
            for epsilon in ("0", "1/2", "1"):
                truth = rounds(way, float(Fraction(epsilon)))
                bound = float(distribution.delta(Fraction(epsilon)).upper())
                assert truth <= bound * (1 + 1e-12)
                shares.append(truth / bound)
    assert max(shares) > 0.9
    once = exact_response_delta(users=4, local=Fraction(1), epsilon=HALF)
    assert float(pair.delta(HALF).upper()) == pytest.approx(float(once.mid()), rel=1e-12)


def test_renyi_of_the_clones_is_the_sum() -> None:
    """The Renyi divergence of the distribution is that of the listed pair, for one round and, twice it, for
    two."""
    shuffled = build.shuffled(build.randomised_response(epsilon=1), users=8)
    for order in (2, 5):
        masses = clone_masses(8, 1.0)
        truth = math.log(sum(p**order * q ** (1 - order) for p, q in masses if q > 0)) / (order - 1)
        claim = RenyiDP(order=order, epsilon=1)
        one = float(shuffled.certify(claim).bound)
        two = float(build.compose_sequential([shuffled], times=[2]).certify(claim).bound)
        assert truth <= one <= truth * (1 + 1e-5)
        assert two == pytest.approx(2 * one, rel=1e-12)


def test_three_shuffled_rounds_at_a_half() -> None:
    """1000 users: delta(1/4) of three rounds, .53 when epsilons are added up, is tiny on a grid and by Renyi
    sums, however the round is bounded."""
    claim = ApproxDP(epsilon="1/4", delta=1)
    clones = build.shuffled(build.randomised_response(epsilon="1/2"), users=1000)
    grid = build.compose_sequential([clones], times=[3], grid=LossGrid(step="1/1000", tail=50))
    sums = build.compose_sequential([clones], times=[3])
    one, three, renyi = (float(proof.certify(claim).bound) for proof in (clones, grid, sums))
    assert one < 1e-30 < three < 1e-14
    assert three < renyi < 1e-11


def test_a_table_and_a_response_compose() -> None:
    """Sixteen users: two rounds by the blanket's profile lie between one round and the epsilons' sum, and the
    exact pair is below them."""
    grid = LossGrid(step="1/50", bits=64, tail=30)
    claim = ApproxDP(epsilon=1, delta=1)
    table = build.shuffled_table([["3/4", "1/4"], ["1/4", "3/4"]], users=16, grid=grid)
    exact = build.shuffled_response(users=16, local="1098612288668110/1000000000000000")  # log 3, above it
    once = table.certify(claim).bound
    twice = build.compose_sequential([table], times=[2], grid=grid).certify(claim).bound
    exactly = build.compose_sequential([exact], times=[2], grid=grid).certify(claim).bound
    assert 0 < once < twice < Fraction(1, 2)
    assert exactly < twice


def test_a_profile_alone_gives_a_pair_that_dominates() -> None:
    """From Laplace noise's exact delta: the polygon's distribution is above it at all losses, of either sign,
    and close; with no pure bound the mass that stays is at infinity."""
    pure = Fraction(1)

    def profile(epsilon: Fraction) -> arb:
        return arb(0) if epsilon >= pure else 1 - ball((epsilon - pure) / 2).exp()

    for bound in (pure, None):
        distribution = profile_pair(profile, bound, GRID)
        for epsilon in (Fraction(k, 37) for k in range(-60, 60)):
            e = float(epsilon)
            truth = max(0.0, 1 - math.exp((abs(e) - 1) / 2))
            truth = truth if e >= 0 else 1 - math.exp(e) + math.exp(e) * truth
            found = float(distribution.delta(epsilon).upper())
            assert truth <= found + 1e-15
            assert found <= truth + 2e-3
        assert distribution.infinite <= 2**GRID.bits // 2**30


def test_a_pair_by_profile_composes_above_the_truth() -> None:
    """Three rounds of binary randomised response, by its profile: above the exact sum, within 1 %."""

    def profile(epsilon: Fraction) -> arb:
        q = 1 / (1 + ball(Fraction(-1)).exp())
        value = q - ball(epsilon).exp() * (1 - q)
        return value if value > 0 else arb(0)

    q = math.e / (1 + math.e)
    distribution = power(profile_pair(profile, Fraction(1), GRID), 3)
    for epsilon in (HALF, Fraction(3, 2)):
        truth = rounds([[(q, 1 - q), (1 - q, q)]] * 3, float(epsilon))
        assert truth * (1 - 1e-12) <= float(distribution.delta(epsilon).upper()) <= 1.01 * truth


VECTOR = {
    "family": "binomial", "dimension": 3, "l2_squared": 4, "largest": 2, "orders": [4, 8, 16, 32],
    "trials": 4000, "probability": "1/2",
}  # fmt: skip


def test_vector_noise_composes_by_its_divergences() -> None:
    """Five releases in sequence are the rule's own ``times`` = 5, and a Gaussian release joins them."""
    claim = ApproxDP(epsilon=1, delta=1)
    one, five = (build.vector_noise(**VECTOR, times=times) for times in (1, 5))  # type: ignore[arg-type]
    whole = build.compose_sequential([one], times=[5]).certify(claim).bound
    assert whole == pytest.approx(five.certify(claim).bound, rel=1e-9)
    gaussian = build.gaussian_mechanism(sensitivity=1, scale=10)
    both = build.compose_sequential([one, gaussian], times=[5, 1]).certify(claim).bound
    assert whole < both < 1
    # mu^2 = 5 * 4 / 1000 + 1 / 100 if the noise were Gaussian; the lattice noise is hardly worse
    ideal = build.gaussian_mechanism(sensitivity_squared="3/100", scale=1).certify(claim).bound
    assert ideal < both < 10**4 * ideal


def test_orders_are_read_with_their_domain() -> None:
    """Orders at 1 or below, none, or too many are refused; a premise without divergences gives 1."""
    once = build.integer_noise("skellam", sensitivity=1, variance=50)
    claim = ApproxDP(epsilon=1, delta=1)
    for orders in (["1"], ["1/2"], [], ["2"] * 17):
        forged = Proof("sequential", {"times": ["3"], "orders": orders}, (once,))
        with pytest.raises(CertificateError, match="orders"):
            forged.certify(claim)
    exact = build.integer_noise("discrete-gaussian-sum", sensitivity=1, variance=50)
    listed = build.compose_sequential([exact], times=[3], orders=[8])
    assert listed.certify(claim).bound == 1  # it has no divergence: only its distribution composes
    on_grid = build.compose_sequential([exact], times=[3], grid=LossGrid())
    assert on_grid.certify(claim).bound < Fraction(1, 100)


def test_many_users_compose_by_their_profile() -> None:
    """20 000 users have too many outcomes to list: the pair of their delta takes over, near to it; the exact
    pair of more than 1000 is refused."""
    distribution = clones_pair(20_000, HALF, Grid(step=Fraction(1, 1000), bits=96, tail=60))
    for epsilon in (Fraction(0), Fraction(3, 1000), Fraction(7, 2000)):
        exact = float(clones_delta(users=20_000, local=HALF, epsilon=epsilon).mid())
        assert exact * (1 - 1e-12) <= float(distribution.delta(epsilon).upper()) <= exact + 3e-5
    with raises(InvalidParameterError, code="E-USERS-TOO-MANY"):
        exact_response_pair(1001, HALF, GRID)
