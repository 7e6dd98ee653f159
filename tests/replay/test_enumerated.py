"""Proves that an enumerated program's evidence is exact: right programs and wrong ones, each number by hand
too, and no upper bound beyond what was enumerated."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpaudit.certify.witnesses.recompute import recompute
from dpaudit.coins import Coins, enumerate_view
from dpaudit.core.claims import (
    Adjacency,
    Adversary,
    ApproxDP,
    GaussianDP,
    Model,
    PrivacyClaim,
    PureDP,
    RenyiDP,
    Unit,
    ZeroConcentratedDP,
)
from dpaudit.core.errors import InvalidParameterError, MechanismError, NotTractableError
from dpaudit.core.evidence import Certificate, Evidence, Witness
from dpaudit.core.neighbours import Neighbours
from dpaudit.core.suite import Group, Run
from dpaudit.core.verdicts import judge
from dpaudit.core.views import View, user
from dpaudit.distributions import (
    Bernoulli,
    Binomial,
    DiscreteLaplace,
    Exponential,
    Gumbel,
    Laplace,
    NoisyArgmax,
    RandomisedResponse,
)
from dpaudit.kernel.ball import arb
from dpaudit.kernel.check import examine
from dpaudit.replay.audit import PrivacyAudit
from dpaudit.replay.data_sets import DataSets
from dpaudit.replay.enumeration import enumerated
from dpaudit.replay.privacy import privacy_outcome
from dpaudit.suite import evidence
from tests.errors import raises

BITS = DataSets(records=3, values=(0, 1))
HERE: dict[str, Any] = {"domain": str(BITS)}
RUN = Run(profile="quick", alpha=0.05, seed=0, row_id="here")
LOG_3 = math.log(3)


def responses(coins: Coins, data: Any) -> list[Any]:
    """Each bit kept with probability 3/4: log 3-DP."""
    return [coins.observe(RandomisedResponse(truth=int(x), symbols=2, keep="3/4"), site="bit") for x in data]


def winner(coins: Coins, data: Any) -> Any:
    """The exponential mechanism over the counts of 0 and 1, of sensitivity 1: 1/2-DP."""
    ones = float(data.sum())
    return coins.observe(NoisyArgmax([ones, len(data) - ones], Gumbel(scale=4)), site="winner")


def hidden_bit(coins: Coins, data: Any) -> int:
    """A hidden fair coin decides whether the first bit or a fair coin is shown: log 3-DP."""
    if coins.draw(Bernoulli(p="1/2"), site="hidden"):
        return int(data[0])
    return int(coins.observe(Bernoulli(p="1/2"), site="coin", to=user(9)))


def leaky(coins: Coins, data: Any) -> list[Any]:
    """Shows the last record where all bits came out as ones: rare, and certain to tell."""
    shown = responses(coins, data)
    return [*shown, int(data[2])] if all(shown) else shown


def bounds(claim: PrivacyClaim, program: Any, over: Any = BITS, **more: Any) -> tuple[str, Any, Any]:
    """The verdict and both bounds; every piece of evidence is checked as ``verify`` checks it."""
    found = enumerated(claim, program, over=over, **more)(RUN)
    for item in found:
        if isinstance(item, Witness):
            assert recompute(item, claim) == item.bound
        else:
            assert isinstance(item, Certificate)
            assert examine(item.to_json(), claim).bound <= item.bound
    judged = judge(claim, found)
    return str(judged.verdict), judged.lower, judged.upper


@pytest.mark.parametrize(("epsilon", "verdict"), [("1.0987", "consistent"), ("1.0985", "refuted")])
def test_randomised_response_is_decided_at_log_three(epsilon: str, verdict: str) -> None:
    """Both bounds are log 3, on either side of the claim."""
    found, low, high = bounds(PureDP(epsilon=epsilon, **HERE), responses)
    assert found == verdict
    assert float(low) == pytest.approx(LOG_3, rel=1e-14)
    assert float(high) == pytest.approx(LOG_3, rel=1e-14)
    assert low <= high


def test_a_verified_program_is_accounted_and_never_proved() -> None:
    """That the tables are the program's, on these data sets, stands among the assumptions."""
    claim = PureDP(epsilon=2, **HERE)
    certificate, witness = enumerated(claim, responses, over=BITS)(RUN)
    assert isinstance(certificate, Certificate)
    assert certificate.strength == "accounted"
    assert str(BITS) in certificate.assumptions[0]
    assert isinstance(witness, Witness)
    assert "lower bound only" not in witness.description


def test_delta_renyi_and_mu_equal_the_closed_forms() -> None:
    """One bit of three moves, the others cancel: the numbers are those of one randomised response."""
    p, q = 0.75, 0.25
    _, low, high = bounds(ApproxDP(epsilon=1, delta="1/10", **HERE), responses)
    assert float(low) == pytest.approx(p - math.e * q, rel=1e-13)
    assert float(high) == pytest.approx(p - math.e * q, rel=1e-13)
    renyi = math.log(p**3 / q**2 + q**3 / p**2) / 2
    _, low, high = bounds(RenyiDP(order=3, epsilon=1, **HERE), responses)
    assert float(low) == pytest.approx(renyi, rel=1e-13)
    assert float(high) == pytest.approx(renyi, rel=1e-13)
    _, low, _ = bounds(GaussianDP(mu=1, **HERE), responses)
    assert float(low) == pytest.approx(2 * 0.6744897501960817, rel=1e-12)  # Phi^-1(3/4) - Phi^-1(1/4)


def test_rho_lies_between_a_renyi_order_and_the_pure_bound() -> None:
    """The best of the tried orders from below, epsilon^2 / 2 from above."""
    _, low, high = bounds(ZeroConcentratedDP(rho=1, **HERE), responses)
    orders = [1.25, 1.5, 2, 3, 4, 8]
    best = max(math.log(0.75**a * 0.25 ** (1 - a) + 0.25**a * 0.75 ** (1 - a)) / (a - 1) / a for a in orders)
    assert float(low) == pytest.approx(best, rel=1e-12)
    assert float(high) == pytest.approx(LOG_3**2 / 2, rel=1e-12)


def test_the_exponential_mechanism_equals_its_formula() -> None:
    """P(0 wins) is a logistic function of the difference of counts; all pairs of the cube by hand."""

    def chance(ones: int) -> list[float]:
        weights = [math.exp(ones / 4), math.exp((3 - ones) / 4)]
        return [weight / sum(weights) for weight in weights]

    worst = max(abs(math.log(chance(k)[j] / chance(k + 1)[j])) for k in range(3) for j in range(2))
    verdict, low, high = bounds(PureDP(epsilon="1/2", **HERE), winner)
    assert verdict == "consistent"
    assert float(low) == pytest.approx(worst, rel=1e-12)
    assert float(high) == pytest.approx(worst, rel=1e-12)
    assert bounds(PureDP(epsilon="0.3", **HERE), winner)[0] == "refuted"


def test_hidden_draws_are_summed_out() -> None:
    """3/4 against 1/4, which no single transcript shows."""
    verdict, low, high = bounds(PureDP(epsilon="1.0987", **HERE), hidden_bit)
    assert verdict == "consistent"
    assert float(low) == pytest.approx(LOG_3, rel=1e-13)
    assert float(high) == pytest.approx(LOG_3, rel=1e-13)


def test_a_rare_leak_is_found_and_weighed() -> None:
    """All ones come out with probability at most 27/64: epsilon is infinite, delta that event's."""
    claim = PureDP(epsilon=5, **HERE)
    witness = enumerated(claim, leaky, over=BITS)(RUN)[-1]
    assert isinstance(witness, Witness)
    assert witness.bound is None
    assert judge(claim, [witness]).verdict == "refuted"
    _, low, high = bounds(ApproxDP(epsilon=5, delta="1/2", **HERE), leaky)
    assert low == high == Fraction(27, 64)


def hidden_response(coins: Coins, data: Any) -> int:
    """Hidden: one time in e + 1 a fair coin is shown, else the first bit by randomised response, ε = 2."""
    if coins.draw(RandomisedResponse(truth=1, symbols=2, epsilon=1), site="hidden"):
        return int(coins.observe(RandomisedResponse(truth=int(data[0]), symbols=2, epsilon=2), site="bit"))
    return int(coins.observe(Bernoulli(p="1/2"), site="bit"))


def bits_of(coins: Coins, data: Any) -> list[Any]:
    """Each bit by randomised response with ε = 1."""
    return [coins.observe(RandomisedResponse(truth=int(x), symbols=2, epsilon=1), site="bit") for x in data]


def far_winner(coins: Coins, data: Any) -> Any:
    """Of six candidates, permute-and-flip with scores that move by 1: the best, 40 ahead, loses and gains."""
    scores = [40.0 + float(data.sum()), float(data.sum())]
    return coins.observe(NoisyArgmax([*scores, scores[0]], Exponential(scale=2)), site="winner")


def two_stages(coins: Coins, data: Any) -> list[int]:
    """A bit with ε = 1/3; what it says decides by which ε, 1/3 or 2/3, the same bit is shown again."""
    bit = int(data[0])
    first = coins.observe(RandomisedResponse(truth=bit, symbols=2, epsilon="1/3"), site="first")
    again = RandomisedResponse(truth=bit, symbols=2, epsilon="2/3" if first else "1/3")
    return [int(first), int(coins.observe(again, site="second"))]


@pytest.mark.parametrize(
    ("program", "epsilon"),
    [(bits_of, Fraction(1)), (two_stages, Fraction(1)), (far_winner, Fraction(0))],
)
def test_a_rational_epsilon_is_found_as_this_number(program: Any, epsilon: Fraction) -> None:
    """A claim of the exact value is verified, one of a billionth less is refuted or open, never verified;
    the bound by tables alone, as a ball, lies above."""
    verdict, low, high = bounds(PureDP(epsilon=epsilon or "1/10", **HERE), program)
    assert (verdict, high) == ("consistent", epsilon)
    assert 0 <= epsilon - low < Fraction(1, 10**9)
    if epsilon:
        assert bounds(PureDP(epsilon=epsilon - Fraction(1, 10**9), **HERE), program)[0] != "consistent"
        assert bounds(PureDP(epsilon=epsilon - Fraction(1, 10**6), **HERE), program)[0] == "refuted"


def test_weights_that_are_summed_over_hidden_draws_are_the_distributions() -> None:
    """Every transcript's weight over their sum is its ball: one denominator for paths that have different
    ones; and an epsilon that is not rational is enclosed as by tables."""
    for program in (responses, bits_of, hidden_response, two_stages, far_winner, leaky):
        for data in BITS.listed():
            distribution = enumerate_view(program, data)
            assert distribution.weights is not None
            assert distribution.weights.keys() == distribution.probabilities.keys()
            whole = sum((weight.ball() for weight in distribution.weights.values()), arb(0))
            for key, weight in distribution.weights.items():
                share = weight.ball() / whole
                assert share.overlaps(distribution.probabilities[key])
                assert float(share) == pytest.approx(float(distribution.probabilities[key]), rel=1e-12)
    keep, kept = math.e / (1 + math.e), math.e**2 / (1 + math.e**2)
    seen = [keep * p + (1 - keep) / 2 for p in (kept, 1 - kept)]
    _, low, high = bounds(PureDP(epsilon=2, **HERE), hidden_response)
    assert float(low) == pytest.approx(math.log(seen[0] / seen[1]), rel=1e-12)
    assert float(high) == pytest.approx(math.log(seen[0] / seen[1]), rel=1e-12)


def test_weights_are_known_for_all_distributions_or_not_at_all() -> None:
    """A distribution without exact chances anywhere on a path, a tail, too many paths: balls alone."""

    def half_known(coins: Coins, data: Any) -> list[Any]:
        return [*responses(coins, data), coins.observe(Binomial(trials=2, p="1/3"), site="count")]

    def long(coins: Coins, data: Any) -> list[Any]:
        return [coins.observe(Bernoulli(p="1/3"), site="coin") for _ in range(13)]

    for program, more in ((half_known, {}), (responses, {"tail": 1e-9}), (long, {})):
        distribution = enumerate_view(program, BITS.listed()[0], **more)
        assert distribution.weights is None
        assert sum(distribution.probabilities.values(), arb(0)).contains(1)
    certificate = enumerated(PureDP(epsilon=2, **HERE), half_known, over=BITS)(RUN)[0]
    assert isinstance(certificate, Certificate)
    assert "upper" in certificate.tree["premises"][0]["parameters"]


def test_no_upper_bound_beyond_what_was_enumerated() -> None:
    """Another domain, an adaptive adversary, drop-out, a tail, pairs only: a lower bound, and why."""
    cases: Sequence[tuple[PrivacyClaim, Any, dict[str, Any], str]] = [
        (PureDP(epsilon=2), BITS, {}, "domain"),
        (PureDP(epsilon=2, domain="one of 0, 1, in a data set of 4 records"), BITS, {}, "domain"),
        (PureDP(epsilon=2, adversary=Adversary.ADAPTIVE, **HERE), BITS, {}, "adaptive"),
        (PureDP(epsilon=2, participation="all but one", **HERE), BITS, {}, "takes part"),
        (PureDP(epsilon=2, **HERE), BITS, {"tail": 1e-9}, "left out"),
    ]
    for claim, over, more, why in cases:
        (witness,) = enumerated(claim, responses, over=over, **more)(RUN)
        assert isinstance(witness, Witness)
        assert why in witness.description.partition("lower bound only")[2]
        assert bounds(claim, responses, over, **more)[0] == "inconclusive"
    claim = PureDP(epsilon=2, **HERE)
    assert bounds(claim, responses, lambda run: BITS.pairs(Adjacency.REPLACE_ONE))[0] == "inconclusive"


def test_tables_that_are_too_large_leave_a_lower_bound() -> None:
    """41 x 41 outcomes: no certificate, and delta from merged outcomes is that of all of them."""

    def two(coins: Coins, data: Any) -> list[Any]:
        p = Fraction(1 + int(data.sum()), 8)
        return [coins.observe(Binomial(trials=40, p=p), site="count") for _ in range(2)]

    few = DataSets(records=1, values=(0, 1))
    claim = ApproxDP(epsilon="3/2", delta="1/100", domain=str(few))
    (witness,) = enumerated(claim, two, over=few)(RUN)
    assert isinstance(witness, Witness)
    assert "enumerate less" in witness.description
    assert len(witness.body["outcomes"]) <= 200
    assert sum(int(item["merged"]) for item in witness.body["outcomes"]) == 41**2
    chance = [[math.comb(40, k) * p**k * (1 - p) ** (40 - k) for k in range(41)] for p in (1 / 8, 1 / 4)]
    sides = [[a * b for a, b in itertools.product(one, one)] for one in chance]
    both = [
        sum(max(a - math.exp(1.5) * b, 0.0) for a, b in zip(x, y, strict=True))
        for x, y in (sides, sides[::-1])
    ]
    assert float(witness.bound or 0) == pytest.approx(max(both), rel=1e-12)


def test_merged_outcomes_keep_the_largest_ratio() -> None:
    """The same with a pure claim: the corner where all 80 coins fall alike."""

    def two(coins: Coins, data: Any) -> list[Any]:
        p = Fraction(1 + int(data.sum()), 8)
        return [coins.observe(Binomial(trials=40, p=p), site="count") for _ in range(2)]

    few = DataSets(records=1, values=(0, 1))
    (witness,) = enumerated(PureDP(epsilon=1, domain=str(few)), two, over=few)(RUN)
    assert isinstance(witness, Witness)
    assert float(witness.bound or 0) == pytest.approx(80 * math.log(2), rel=1e-12)


def test_distributions_with_a_tail_bound_from_below() -> None:
    """Two-sided geometric noise of scale 1: epsilon is 1, what was left out can only lower the witness."""

    def geometric(coins: Coins, data: Any) -> Any:
        return coins.release(int(data.sum()), DiscreteLaplace(scale=1), site="sum")

    (witness,) = enumerated(PureDP(epsilon=1, **HERE), geometric, over=BITS, tail=1e-12)(RUN)
    assert isinstance(witness, Witness)
    assert 0.999999 < float(witness.bound or 0) <= 1
    assert bounds(PureDP(epsilon="0.99", **HERE), geometric, BITS, tail=1e-12)[0] == "refuted"


def test_joint_privacy_changes_the_records_of_those_left_out() -> None:
    """Everybody's own bit is shown to her: without user 0 nothing is seen of her, and with user 1 all."""

    def own(coins: Coins, data: Any) -> int:
        for i, x in enumerate(data):
            coins.reveal(int(x), site=f"bit {i}", to=user(i))
        return 0

    claim = PureDP(epsilon=1, view=View.everybody_but(user(0)), **HERE)
    verdict, low, high = bounds(claim, own)
    assert (verdict, low, high) == ("consistent", 0, 0)

    def next_user(coins: Coins, data: Any) -> int:
        for i in range(len(data)):
            coins.reveal(int(data[i - 1]), site=f"bit {i}", to=user(i))
        return 0

    assert bounds(claim, next_user)[0] == "refuted"


def test_user_level_says_that_a_record_is_all_of_a_user() -> None:
    """An assumption more; the numbers are the same."""
    certificate = enumerated(PureDP(epsilon=2, unit=Unit.USER, **HERE), responses, over=BITS)(RUN)[0]
    assert isinstance(certificate, Certificate)
    assert "all that one user contributes" in certificate.assumptions[0]


def test_a_program_that_does_not_repeat_itself_is_refused() -> None:
    """Randomness of its own, and a count of its runs."""
    rng, runs = np.random.default_rng(0), []

    def own_noise(coins: Coins, data: Any) -> float:
        return float(data.sum() + rng.normal())

    def counting(coins: Coins, data: Any) -> int:
        runs.append(1)
        return len(runs)

    for program in (own_noise, counting):
        with raises(MechanismError, code="E-MECHANISM-STATE"):
            enumerated(PureDP(epsilon=1, **HERE), program, over=BITS)(RUN)


def test_refusals_say_why() -> None:
    """Densities, float programs, no pairs."""

    def noisy(coins: Coins, data: Any) -> Any:
        return coins.release(float(data.sum()), Laplace(scale=1), site="sum")

    with pytest.raises(NotTractableError):
        enumerated(PureDP(epsilon=1, **HERE), noisy, over=BITS)(RUN)
    with raises(InvalidParameterError, code="E-CLAIM-NOT-IDEAL"):
        enumerated(PureDP(epsilon=1, model=Model.AS_RUN, **HERE), responses, over=BITS)
    with raises(InvalidParameterError, code="E-NEIGHBOURS-MISSING"):
        enumerated(PureDP(epsilon=1, **HERE), responses, over=lambda run: [])(RUN)
    absent = PureDP(epsilon=1, view=View.everybody_but(user(7)), **HERE)
    with raises(InvalidParameterError, code="E-NEIGHBOURS-MISSING"):
        enumerated(absent, responses, over=BITS)(RUN)


def test_a_row_needs_one_line() -> None:
    """An evidence row of a suite: verified from the enumeration alone."""
    rows, claim = Group(), PureDP(epsilon="1.0987", **HERE)

    small = enumerated(claim, responses, over=BITS)

    @evidence(rows, "bits", "here", claim=claim, fingerprint=small.fingerprint)
    def bits(run: Run) -> list[Evidence]:
        """Three bits, each kept with probability 3/4"""
        return small(run)

    outcome = rows.rows[0].evaluate(RUN)
    assert judge(claim, outcome.evidence).verdict == "consistent"


def test_a_fingerprint_is_that_of_the_tables() -> None:
    """The same for equal programs, over data sets and their pairs; another one for another distribution."""
    claim = PureDP(epsilon=2, **HERE)

    def others(coins: Coins, data: Any) -> list[Any]:
        distributions = [RandomisedResponse(truth=int(x), symbols=2, keep="2/3") for x in data]
        return [coins.observe(distribution, site="bit") for distribution in distributions]

    pairs = lambda run: BITS.pairs(Adjacency.REPLACE_ONE)[:2]  # noqa: E731
    for over in (BITS, pairs):
        first, again, other = (
            enumerated(claim, program, over=over).fingerprint(7) for program in (responses, responses, others)
        )
        assert first == again != other


# Data sets


@pytest.mark.parametrize(
    ("adjacency", "fewer", "count"),
    [
        (Adjacency.REPLACE_ONE, False, 12),  # the edges of the cube
        (Adjacency.REPLACE_ONE, True, 12 + 4 + 1),  # and those of the square and of the segment
        (Adjacency.ZERO_OUT, False, 12),
        (Adjacency.ADD_REMOVE, True, 2 + (2 * 2 + 2) + (2 * 2 + 4 * 3)),
    ],
)
def test_all_pairs_of_neighbours_are_listed_once(adjacency: Adjacency, fewer: bool, count: int) -> None:
    """Against a count by hand, and against all pairs that differ as the adjacency says."""
    over = DataSets(records=3, values=(0, 1), fewer=fewer)
    pairs = over.neighbours(adjacency)
    data = [tuple(item.tolist()) for item in over.listed()]

    def adjacent(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
        if adjacency is Adjacency.ADD_REMOVE:
            return a in {b[:i] + b[i + 1 :] for i in range(len(b))} or b in {
                a[:i] + a[i + 1 :] for i in range(len(a))
            }
        return len(a) == len(b) and sum(x != y for x, y in zip(a, b, strict=True)) == 1

    expected = {(i, j) for i in range(len(data)) for j in range(i) if adjacent(data[i], data[j])}
    assert {(max(pair), min(pair)) for pair in pairs} == expected
    assert len(pairs) == len(expected) == count


def test_null_records_and_named_records() -> None:
    """Zero-out among three values changes to or from 0 only; named records are the only ones to differ."""
    over = DataSets(records=2, values=("0", "1/2", "1"))
    for pair in over.pairs(Adjacency.ZERO_OUT, of=[1]):
        assert pair.left[0] == pair.right[0]
        assert 0.0 in (pair.left[1], pair.right[1])
    assert len(over.pairs(Adjacency.ZERO_OUT, of=[1])) == 3 * 2
    assert over.listed()[0].dtype == np.float64
    assert str(over) == "one of 0, 1/2, 1, in a data set of 2 records"


def test_data_sets_say_what_is_wrong() -> None:
    """No record, one value, a value twice, too many, no null record, no smaller ones."""
    for records, values, code in (
        (0, (0, 1), "E-RECORDS-RANGE"),
        (2, (1,), "E-DOMAIN-ONE-VALUE"),
        (2, (1, 1), "E-DOMAIN-ONE-VALUE"),
        (8, (0, 1), "E-DATASETS-MANY"),
    ):
        with raises(InvalidParameterError, code=code):
            DataSets(records=records, values=values)
    with raises(InvalidParameterError, code="E-DATASETS-NO-NULL"):
        DataSets(records=1, values=(1, 2)).neighbours(Adjacency.ZERO_OUT)
    with raises(InvalidParameterError, code="E-DATASETS-ONE-SIZE"):
        DataSets(records=1, values=(1, 2)).neighbours(Adjacency.ADD_REMOVE)
    with raises(InvalidParameterError, code="E-DATASETS-NO-POSITION"):
        DataSets(records=1, values=(1, 2), fewer=True).neighbours(Adjacency.ADD_REMOVE, of=[0])


def test_pairs_of_a_suite_are_named_in_the_witness() -> None:
    """The worst of the pairs that were given, by its name."""
    pairs = [
        Neighbours("same", np.array([0]), np.array([0, 0])),
        Neighbours("far", np.array([0]), np.array([1])),
    ]
    (witness,) = enumerated(PureDP(epsilon=1), hidden_bit, over=lambda run: pairs)(RUN)
    assert isinstance(witness, Witness)
    assert witness.description.startswith("far: ")


def test_an_audit_that_replays_leave_open_is_refuted_by_its_tables() -> None:
    """The hidden bit against ε = 1: no transcript has a loss of its own, the enumeration shows log 3."""
    claim = PureDP(epsilon=1, **HERE)
    pairs = lambda run: BITS.pairs(Adjacency.REPLACE_ONE)  # noqa: E731
    audit = PrivacyAudit(claim=claim, program=hidden_bit, neighbours=pairs, sites=[])
    outcome = privacy_outcome(audit, RUN)
    assert judge(claim, outcome.evidence, unmet=outcome.unmet).verdict == "inconclusive"
    audit = replace(audit, more=enumerated(claim, hidden_bit, over=BITS))
    outcome = privacy_outcome(audit, RUN)
    judged = judge(claim, outcome.evidence, unmet=outcome.unmet)
    assert judged.verdict == "refuted"
    assert float(judged.lower or 0) == pytest.approx(LOG_3, rel=1e-13)
