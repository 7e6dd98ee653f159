"""Test programs of Gaussian releases: rho, mu and delta for all data, against runs on numbers."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import product
from typing import Any

import pytest
from scipy import integrate
from scipy.special import ndtr

from dpaudit.coins import Coins
from dpaudit.coins.prover import GaussianCoins
from dpaudit.core.claims import ApproxDP, GaussianDP, PureDP, RenyiDP, ZeroConcentratedDP
from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.views import SERVER
from dpaudit.distributions import Gaussian
from dpaudit.prover import EVERY, EachMoves, OneReplaced, RefusedError, Symbols, explore, prove
from dpaudit.prover.gaussian import GaussianWalk
from dpaudit.prover.whole_program import explore_program
from tests.errors import raises
from tests.prover.hostile.gaussian import REFUSED

UNIT = Symbols(2, low=0, high=1)
RHO = ZeroConcentratedDP(rho=100)


def of(program: Any, claim: Any = RHO, *, data: Symbols = UNIT, adjacency: Any = None) -> Any:
    return prove(program, claim, data=data, adjacency=adjacency or OneReplaced())


class Runs(Coins):
    """Coins that run on given outcomes and record each released value with its variance."""

    def __init__(self, outcomes: tuple[Fraction, ...]) -> None:
        self.outcomes, self.released = iter(outcomes), list[tuple[Fraction, Fraction]]()

    def release(self, value: Any, noise: Any, *, site: str, to: Any = None) -> Any:
        self.released.append((Fraction(value), noise.sigma2))
        return next(self.outcomes)

    def _no(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError

    observe = aggregate = channel = draw = reveal = _no


def cost(program: Any, left: Any, right: Any, outcomes: tuple[Fraction, ...]) -> Fraction:
    """Return the exact sum of change^2 / (2 variance) of one run with equal outcomes on both inputs."""
    one, two = Runs(outcomes), Runs(outcomes)
    program(one, left)
    program(two, right)
    assert [v for _, v in one.released] == [v for _, v in two.released]
    pairs = zip(one.released, two.released, strict=True)
    return sum(((b - a) ** 2 / (2 * v) for (a, v), (b, _) in pairs), Fraction(0))


def changes(data: Symbols, adjacency: Any) -> Iterator[list[Fraction]]:
    """Yield all corners, and a point inside each box."""
    for box in adjacency.pieces(data):
        ends = [box.get(name, (Fraction(0), Fraction(0))) for name in data.names]
        yield from map(list, product(*ends))
        yield [low + (high - low) * Fraction(i % 3, 3) for i, (low, high) in enumerate(ends)]


# Known figures.


def one_sum(coins: Any, data: Any) -> None:
    coins.release(sum(data), Gaussian(sigma=2), site="sum")


def twice_the_same(coins: Any, data: Any) -> None:
    for _ in range(2):
        coins.release(data[0], Gaussian(sigma=2), site="again")


def shown_again(coins: Any, data: Any) -> Any:
    """Release a number once and show it several times."""
    seen = coins.release(data[0], Gaussian(sigma=2), site="once")
    coins.reveal([seen, 2 * seen], site="again")
    return 3 * seen - 1


def outcome_chooses_the_noise(coins: Any, data: Any) -> None:
    """Cost 1/8, then 1/2 or 2 depending on the outcome, so that the most expensive path costs 17/8."""
    if coins.release(data[0], Gaussian(sigma=2), site="first") > 0:
        coins.release(data[0], Gaussian(sigma=1), site="second")
    else:
        coins.release(data[0], Gaussian(sigma="1/2"), site="second")


def around_an_outcome(coins: Any, data: Any) -> None:
    """Use an outcome inside a later value, where it adds no cost."""
    centre = coins.release(data[0], Gaussian(sigma=2), site="centre")
    coins.release(data[0] + data[1] - 2 * centre, Gaussian(sigma=2), site="around")


def stops_early(coins: Any, data: Any) -> None:
    for query in data:
        if coins.release(query, Gaussian(sigma=2), site="query") > 3:
            return


def sum_and_difference(coins: Any, data: Any) -> None:
    coins.release(data[0] + data[1], Gaussian(sigma=1), site="sum")
    coins.release(data[0] - data[1], Gaussian(sigma=1), site="difference")


def difference_in_a_record(coins: Any, data: Any) -> None:
    coins.release(sum(r[0] - r[1] for r in data), Gaussian(sigma=1), site="difference")


def clipped_sum(coins: Any, data: Any) -> None:
    coins.release(sum([min(max(x, 0), 1) for x in data]), Gaussian(sigma=2), site="sum")


def nothing_but_noise(coins: Any, data: Any) -> None:
    coins.observe(Gaussian(sigma=2), site="noise")


EACH = EachMoves()
KNOWN: dict[str, tuple[Callable[..., Any], Symbols, Any, str]] = {
    "a sum": (one_sum, UNIT, OneReplaced(), "1/8"),
    "a sum of records in [-3, 7]": (one_sum, Symbols(5, low=-3, high=7), OneReplaced(), "100/8"),
    "a sum, each moves": (one_sum, Symbols(5), EACH, "25/8"),
    "a sum, each moves by 1/5": (one_sum, Symbols(5), EachMoves("1/5"), "1/8"),
    "a sum of whole numbers": (one_sum, Symbols(2, low=0, high=4, integers=True), OneReplaced(), "2"),
    "released twice": (twice_the_same, UNIT, OneReplaced(), "1/4"),
    "shown again": (shown_again, UNIT, OneReplaced(), "1/8"),
    "an outcome chooses": (outcome_chooses_the_noise, UNIT, OneReplaced(), "17/8"),
    "around an outcome": (around_an_outcome, UNIT, OneReplaced(), "1/4"),
    "around an outcome, each moves": (around_an_outcome, UNIT, EACH, "5/8"),
    "stops early, one replaced": (stops_early, Symbols(6, low=0, high=1), OneReplaced(), "1/8"),
    "stops early, each moves": (stops_early, Symbols(6), EACH, "6/8"),
    "sum and difference": (sum_and_difference, Symbols(2), EACH, "2"),
    "sum and difference, one way": (sum_and_difference, Symbols(2), EachMoves(one_way=True), "2"),
    "inside a record": (difference_in_a_record, Symbols(2, low=0, high=1, width=2), OneReplaced(), "2"),
    "a record's numbers, one way": (
        difference_in_a_record,
        Symbols(2, width=2),
        EachMoves(one_way=True),
        "2",
    ),
    "clipped, of all numbers": (clipped_sum, Symbols(2), OneReplaced(by=100), "1/8"),
    "clipped, each moves": (clipped_sum, Symbols(2), EachMoves("1/2"), "1/8"),
    "noise alone": (nothing_but_noise, UNIT, OneReplaced(), "0"),
}


@pytest.mark.parametrize("name", KNOWN)
def test_known_figures(name: str) -> None:
    """A claim of the exact rho is verified, and a claim just below it is not."""
    program, data, adjacency, rho = KNOWN[name]
    exact = Fraction(rho)
    above = of(program, ZeroConcentratedDP(rho=exact or 1), data=data, adjacency=adjacency)
    assert (above.verdict, above.bound, above.reason) == ("verified", exact, "")
    if exact:
        claim = ZeroConcentratedDP(rho=exact * (1 - Fraction(1, 10**12)))
        below = of(program, claim, data=data, adjacency=adjacency)
        assert (below.verdict, below.bound) == ("inconclusive", exact)
        assert "above the claim" in below.reason


def test_many_corners_are_bounded_release_by_release() -> None:
    """With 2^40 corners, each release is bounded at its worst corner. Few corners give the exact bound."""
    found = of(sum_and_differences, data=Symbols(40), adjacency=EachMoves())
    assert found.bound == 2 * Fraction(40**2, 2)
    exact = of(sum_and_differences, data=Symbols(4), adjacency=EachMoves())
    assert exact.bound == Fraction(4**2, 2)  # ((a + b)^2 + (a - b)^2) / 2 = a^2 + b^2 with a = b = 2, not 16


def sum_and_differences(coins: Any, data: Any) -> None:
    half = len(data) // 2
    coins.release(sum(data), Gaussian(sigma=1), site="sum")
    coins.release(sum(data[:half]) - sum(data[half:]), Gaussian(sigma=1), site="difference")


# Programs that are not followed.


@pytest.mark.parametrize("name", REFUSED)
def test_hostile_programs_are_refused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs that the rule does not cover have no bound, and a reason that names the cause."""
    monkeypatch.setattr(explore, "MAX_DECISIONS", 60)  # so that the endless program stops early
    program, words = REFUSED[name]
    found = of(program)
    assert (found.verdict, found.bound) == ("inconclusive", None)
    assert words in found.reason


def test_an_audience_other_than_the_public_is_refused() -> None:
    """A release to another audience than the public is refused."""

    def secret(coins: Any, data: Any) -> None:
        coins.release(data[0], Gaussian(sigma=1), site="a", to=SERVER)

    with raises(RefusedError, code="E-PROGRAM-NOT-FOLLOWED", match="'a'"):
        explore_program(secret, UNIT, coins=GaussianCoins, walk_class=GaussianWalk)


def test_no_pure_claim_holds_and_no_other_kind_is_taken() -> None:
    """Gaussian noise has no pure bound, and Rényi claims and data of every size are refused."""
    assert of(one_sum, PureDP(epsilon=50)).bound is None
    with raises(
        InvalidParameterError,
        code="E-CLAIM-NOT-PROVABLE",
        match="PureDP, ZeroConcentratedDP, GaussianDP, ApproxDP",
    ):
        of(one_sum, RenyiDP(order=2, epsilon=1))
    with raises(InvalidParameterError, code="E-CLAIM-EVERY-SIZE"):
        of(one_sum, data=Symbols(EVERY, low=0, high=1))
    for change, code in (
        ({"adjacency": "add-remove"}, "E-CLAIM-NOT-REPLACE-ONE"),
        ({"unit": "user"}, "E-CLAIM-NOT-REPLACE-ONE"),
        ({"model": "as_run"}, "E-CLAIM-NOT-PROVABLE"),
        ({"participation": "half of all users"}, "E-CLAIM-NOT-PROVABLE"),
        ({"adversary": "adaptive"}, "E-CLAIM-NOT-PROVABLE"),
    ):
        with raises(InvalidParameterError, code=code):
            of(one_sum, ZeroConcentratedDP(rho=1, **change))


def test_what_is_too_long_to_write_is_inconclusive() -> None:
    """Numbers with too many digits for the checker are inconclusive."""

    def huge(coins: Any, data: Any) -> None:
        value = data[0]
        for _ in range(60):
            value = value / 10**90
        coins.release(value, Gaussian(sigma=1), site="a")

    found = of(huge)
    assert (found.verdict, found.bound) == ("inconclusive", None)
    assert "checker rejects" in found.reason


# mu and delta.


def test_mu_squared_is_twice_rho() -> None:
    """mu^2 is 2 rho for a single list of releases and for lists that an outcome chooses."""
    same = of(around_an_outcome, GaussianDP(mu="5/7"))  # 1/2 = mu^2 < 25/49
    assert (same.verdict, same.bound**2 >= Fraction(1, 2)) == ("verified", True)
    assert same.bound == pytest.approx(math.sqrt(0.5))
    assert of(around_an_outcome, GaussianDP(mu="7/10")).verdict == "inconclusive"
    assert of(one_sum, GaussianDP(mu="1/2")).bound == Fraction(1, 2)
    for program in (outcome_chooses_the_noise, stops_early):
        rho = of(program, adjacency=EACH).bound
        other = of(program, GaussianDP(mu=100), adjacency=EACH)
        assert (other.verdict, float(other.bound)) == ("verified", pytest.approx(math.sqrt(2 * rho)))
        below = GaussianDP(mu=str(Fraction(math.sqrt(2 * rho)) * Fraction(999, 1000)))
        assert of(program, below, adjacency=EACH).verdict == "inconclusive"


def profile(mu: float, epsilon: float) -> float:
    """Return the least delta at this epsilon of a Gaussian release that changes by mu deviations."""
    return float(ndtr(mu / 2 - epsilon / mu) - math.exp(epsilon) * ndtr(-mu / 2 - epsilon / mu))


def test_delta_follows_from_mu() -> None:
    """delta is the exact Gaussian profile of one release, or of the most expensive path."""
    for epsilon, mu in ((1, 0.5), (2, 0.5)):
        true = profile(mu, epsilon)
        found = of(one_sum, ApproxDP(epsilon=epsilon, delta=true * 1.001))
        assert (found.verdict, float(found.bound)) == ("verified", pytest.approx(true, rel=1e-9))
        assert of(one_sum, ApproxDP(epsilon=epsilon, delta=true * 0.999)).verdict == "inconclusive"
    found = of(outcome_chooses_the_noise, ApproxDP(epsilon=5, delta="1/2"))
    most_expensive = pytest.approx(profile(math.sqrt(2 * 17 / 8), 5), rel=1e-9)
    assert (found.verdict, float(found.bound)) == ("verified", most_expensive)
    assert found.certificate["claim"] == {"rho": "17/8"}
    assert of(nothing_but_noise, ApproxDP(epsilon=0, delta=0)).verdict == "verified"


@pytest.mark.parametrize("order", [2, 6])
def test_the_divergence_of_a_program_that_chooses(order: int) -> None:
    """The integrated divergence is at most order * rho and above the cheaper path's divergence."""

    def factor(change: float, sigma: float, low: float, high: float) -> float:
        """Return the integral of p^a q^(1-a) over one outcome, with q at 0 and p at ``change``."""

        def density(z: float) -> float:
            logs = [-((z - m) ** 2) / (2 * sigma**2) for m in (change, 0)]
            return math.exp(order * logs[0] + (1 - order) * logs[1]) / (sigma * math.sqrt(2 * math.pi))

        ends = [max(low, -60.0), min(high, 60.0)]
        return float(integrate.quad(density, *ends, points=[0, order * change], limit=200, epsabs=0)[0])

    above = factor(1, 2, 0, math.inf) * factor(1, 1, -math.inf, math.inf)
    below = factor(1, 2, -math.inf, 0) * factor(1, 0.5, -math.inf, math.inf)
    divergence = math.log(above + below) / (order - 1)
    rho = float(of(outcome_chooses_the_noise).bound)
    assert order * (1 / 8 + 1 / 2) < divergence <= order * rho * (1 + 1e-9)


@pytest.mark.parametrize("epsilon", [0.0, 1.0, 3.0])
def test_the_delta_of_a_program_that_chooses(epsilon: float) -> None:
    """The integrated delta is at most the proved profile and above the cheaper path's profile."""

    def part(sigma: float, low: float, high: float) -> float:
        def weighed(z: float) -> float:
            loss = (1 - 2 * z) / 8  # the log of N(0, 4) over N(1, 4) at z
            density = math.exp(-(z**2) / 8) / math.sqrt(8 * math.pi)
            return density * profile(1 / sigma, epsilon - loss)

        return float(integrate.quad(weighed, low, high, limit=200)[0])

    delta = part(1, 0, 60) + part(0.5, -60, 0)
    cheaper = profile(math.sqrt(1 / 4 + 1), epsilon)
    proved = of(outcome_chooses_the_noise, ApproxDP(epsilon=epsilon, delta="1/2")).bound
    assert cheaper < delta <= float(proved) * (1 + 1e-9) < 1


# Random programs.


def made(tree: Any) -> Callable[..., Any]:
    """Return the program of a nested tuple, which releases and branches on outcomes."""

    def program(coins: Any, data: Any) -> Any:
        node, seen = tree, []
        while len(node) > 0:
            factors, constant, variance, back, threshold, below, above = node
            value = constant
            for factor, number in zip(factors, data):  # noqa: B905 (as the prover reads programs)
                value = value + factor * number
            if back < len(seen):
                value = value - 2 * seen[back]
            seen.append(coins.release(value, Gaussian(variance=variance), site="r"))
            node = below if seen[len(seen) - 1] < threshold else above
        return len(seen)

    return program


def random_tree(rng: random.Random, size: int, depth: int) -> Any:
    if depth == 0 or rng.random() < 0.15:
        return ()
    factors = tuple(Fraction(rng.choice((0, 1, 1, -1, 2, 3)), rng.choice((1, 1, 2))) for _ in range(size))
    variance = Fraction(rng.randint(1, 9), rng.randint(1, 4))
    after = (random_tree(rng, size, depth - 1), random_tree(rng, size, depth - 1))
    return (factors, rng.randint(-2, 2), variance, rng.randrange(5), rng.randint(-4, 4), *after)


@pytest.mark.parametrize("seed", range(60))
def test_random_programs_cost_exactly_their_most_expensive_run(seed: int) -> None:
    """rho is the largest cost over all corners and all sequences of outcomes."""
    rng = random.Random(seed)
    size, depth = rng.randint(1, 3), rng.randint(1, 4)
    program = made(random_tree(rng, size, depth))
    data = rng.choice((Symbols(size, low=-1, high=2), Symbols(size, low=0, high=1)))
    adjacency = rng.choice((OneReplaced(), EachMoves("3/2"), EachMoves(one_way=True)))
    found = of(program, data=data, adjacency=adjacency)
    left = [Fraction(rng.randint(-9, 9), 7) for _ in range(size)]
    runs = [
        cost(program, left, [x + d for x, d in zip(left, change, strict=True)], outcomes)
        for change in changes(data, adjacency)
        for outcomes in product((Fraction(-9), Fraction(9)), repeat=depth)
    ]
    assert found.bound == max(runs)
    assert found.verdict == ("verified" if max(runs) <= 100 else "inconclusive")
