"""Theorem 3's rows: the rule, the witnesses, Definition 9, CarrySum's cost, replays, Assumption 1 with q."""

from __future__ import annotations

import copy
import itertools
import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binom, nbinom

from audits.distributed_mab.shuffle_protocol import (
    algorithm_witness,
    batches_proof,
    carry_witness,
    chain_total,
    failure_bounds,
    leaky_witness,
)
from dpaudit.certify.build import gaussian_mechanism, randomised_response, relaxed_release
from dpaudit.certify.witnesses.recompute import recompute
from dpaudit.coins import Coins, enumerate_view
from dpaudit.core.claims import PureDP
from dpaudit.core.errors import CertificateError, NotTractableError
from dpaudit.core.neighbours import Neighbours
from dpaudit.core.verdicts import VerdictKind, judge
from dpaudit.core.views import SERVER, View
from dpaudit.distributions import Bernoulli, Distribution, PointMass, PolyaDifference, WrappedMod
from dpaudit.kernel.ball import arb, ball, precision
from dpaudit.kernel.check import check
from dpaudit.reference.algorithms.mab.distributed_elimination import program, variant
from dpaudit.reference.mechanisms.batch_protocol import BatchProtocol
from dpaudit.reference.mechanisms.local_noise import total_noise
from dpaudit.reference.mechanisms.modular_sum import Aggregator, decoded_sum, secure_sum
from dpaudit.reference.mechanisms.parameter_sheet import Sheet, polya_sheet, shuffle_sheet
from dpaudit.reference.mechanisms.relaxed_aggregation import (
    CarrySum,
    GarbledSum,
    LeakyCoin,
    LeakySum,
    carry_loss,
    distances,
    nearer_to_full,
)
from dpaudit.reference.mechanisms.relaxed_views import leaky_event
from dpaudit.replay.hidden_draws import HIDDEN, mixture_witness, objections, program_event

Floats = NDArray[np.float64]

CLAIM = PureDP(epsilon=1, view=View.of(SERVER))
COIN, QUARTER = LeakyCoin.worst("1/4"), Fraction(1, 4)
TAIL = Fraction(1, 2**12)


def sheet_of(users: int, kind: Any = "printed") -> Sheet:
    """Theorem 3's sheet at ε = 1 and a modulus small enough to enumerate."""
    return shuffle_sheet(users=users, epsilon=1, tail_prob=TAIL, variant=kind)


def rewards_of(users: int) -> tuple[Floats, Floats]:
    """All 0 but user 0's 1, and all 0."""
    return np.eye(users)[0], np.zeros(users)


# The rule.


def test_the_rule_adds_twice_the_security() -> None:
    """e + 2h, for every e and h; the certificate's bound is the kernel's."""
    for e, h in (("1", "1/4"), ("1/2", "1/100"), ("7", "3")):
        proof = relaxed_release(randomised_response(epsilon=e), security=h, release="S")
        certificate = proof.certify(PureDP(epsilon=100))
        assert certificate.bound == Fraction(e) + 2 * Fraction(h)
        assert certificate.strength == "accounted"  # that S has a simulator is assumed
        with pytest.raises(CertificateError, match="claims too much"):
            check(replace(certificate, bound=Fraction(e) + Fraction(h)), PureDP(epsilon=100))


def test_the_rule_is_attained() -> None:
    """A statistic s by randomised response, a hidden state that is the input, a coin about it: the joint
    log-ratio is e + 2h, so neither the rule nor its factor 2 can be improved."""
    e, h = 1.0, 0.25
    keep = math.exp(e) / (1 + math.exp(e))
    losses = [
        math.log((keep if s == 1 else 1 - keep) / (keep if s == 0 else 1 - keep))
        + math.log(float((COIN.high if c else 1 - COIN.high) / (COIN.low if c else 1 - COIN.low)))
        for s, c in itertools.product((0, 1), repeat=2)
    ]
    assert max(losses) == pytest.approx(e + 2 * h)
    bound = relaxed_release(randomised_response(epsilon=1), security="1/4", release="S").certify(CLAIM).bound
    assert max(losses) <= float(bound) * (1 + 1e-12)


def test_the_rule_refuses_what_it_does_not_cover() -> None:
    """Premises without a pure bound, and a security that is not positive."""
    with pytest.raises(CertificateError, match="pure bound"):
        relaxed_release(gaussian_mechanism(sensitivity=1, scale=1), security=1, release="S")
    with pytest.raises(CertificateError, match="greater than 0"):
        relaxed_release(randomised_response(epsilon=1), security=-1, release="S")


@pytest.mark.parametrize(("kind", "total"), [("printed", Fraction(3, 2)), ("repaired", Fraction(1))])
def test_the_certificates_of_theorem_3(kind: Any, total: Fraction) -> None:
    """3ε/2 as printed, ε repaired, at any ε; the chain in balls comes out just below them."""
    for epsilon in (Fraction(1, 10), Fraction(1), Fraction(8)):
        claim = PureDP(epsilon=epsilon, view=View.of(SERVER))
        assert batches_proof(epsilon, kind).certify(claim).bound == total * epsilon
        with precision(160):
            found = chain_total(2, epsilon, kind)
            assert found < ball(total * epsilon)
            assert found > ball(total * epsilon * (1 - Fraction(1, 10**6)))


# Witnesses.


def shares(sheet: Sheet, users: int, reach: int = 4000) -> Floats:
    """Distribution of the sum of ``users`` shares modulo m, from scipy's negative binomial: an independent
    route."""
    shape = users / sheet.users
    rate = float(Fraction(sheet.share.to_json()["log_ratio"]))
    masses = nbinom(shape, -math.expm1(-rate)).pmf(np.arange(reach))
    difference = np.convolve(masses, masses[::-1])
    folded = np.zeros(sheet.modulus)
    np.add.at(folded, np.arange(-reach + 1, reach) % sheet.modulus, difference)
    return folded


@pytest.mark.parametrize("modulus", [40, 200, 1500])
def test_wrapped_shares_with_terms_left_out(modulus: int) -> None:
    """Residues of a Pólya difference, whose far terms are bounded and not evaluated, against long sums in
    twice the precision: the balls overlap, and say something."""
    distribution = PolyaDifference(shape=Fraction(3, 4), log_ratio=Fraction(1, 2))
    wrapped = WrappedMod(distribution, modulus=modulus)
    for residue in (0, 1, modulus // 2, modulus - 1):
        with precision(128):
            found = wrapped.residue_ball(residue)
        with precision(256):
            near = range(residue - 12 * modulus, residue + 12 * modulus + 1, modulus)
            total = sum(
                (distribution.logp_ball(k).exp() for k in near if abs(k) < 600 or abs(k) <= modulus), arb(0)
            )
        assert found.overlaps(total)
        assert found.rel_accuracy_bits() > 90


def views(sheet: Sheet, encoded: int, coin: LeakyCoin = COIN) -> Floats:
    """P(ŷ, coin) under LeakySum about user 0, all others' encodings being 0, in floats: shape (m, 2)."""
    m, own, rest = sheet.modulus, shares(sheet, 1), shares(sheet, sheet.users - 1)
    total = np.zeros((m, 2))
    for k in range(m):
        near = min((k - sheet.precision) % m, (sheet.precision - k) % m) < min(k, m - k)
        bias = float(coin.high if near else coin.low)
        total += own[(k - encoded) % m] * np.outer(rest[(np.arange(m) - k) % m], [1 - bias, bias])
    return total


def leaky_loss(sheet: Sheet, coin: LeakyCoin) -> tuple[Any, Any]:
    """P(ŷ = g, coin 1) of both inputs of ``leaky_event`` as balls, without trees, all messages listed."""
    g, m = sheet.precision, sheet.modulus
    own = WrappedMod(sheet.share, modulus=m)
    others = WrappedMod(total_noise(sheet.share, users=sheet.users - 1), modulus=m)
    found = []
    for encoded in (g, 0):
        total = arb(0)
        for k in range(m):
            bias = coin.high if nearer_to_full(k, sheet) else coin.low
            total += own.residue_ball((k - encoded) % m) * others.residue_ball((g - k) % m) * ball(bias)
        found.append(total)
    return found[0], found[1]


@pytest.mark.parametrize("users", [2, 4])
def test_four_routes_to_one_loss(users: int) -> None:
    """Trees written down, trees from the program's paths, sums in balls, floats from scipy: one log-ratio."""
    sheet = sheet_of(users)
    left, right = (views(sheet, x) for x in (sheet.precision, 0))
    expected = math.log(left[sheet.precision, 1] / right[sheet.precision, 1])
    written = mixture_witness(CLAIM, leaky_event(sheet, COIN, reach=sheet.modulus), description="all")
    protocol = BatchProtocol(sheet=sheet, aggregator=LeakySum(secagg_epsilon="1/4"), grid=1)
    seen = (sheet.precision, 1, decoded_sum(sheet.precision, sheet))
    event = program_event(lambda coins, x: protocol(coins, x), *rewards_of(users), seen, view=CLAIM.view)
    run = mixture_witness(CLAIM, event, description="program")
    for witness in (written, run):
        assert witness.bound is not None
        assert float(witness.bound) == pytest.approx(expected, rel=1e-9)
        assert recompute(witness, CLAIM) == pytest.approx(witness.bound)
    here, there = leaky_loss(sheet, COIN)
    assert float((here / there).log()) == pytest.approx(expected, rel=1e-9)


def test_the_repaired_loss_by_two_routes() -> None:
    """Sums in balls and floats from scipy, with noise for ε'."""
    sheet = sheet_of(4, "repaired")
    here, there = leaky_loss(sheet, COIN)
    left, right = (views(sheet, x) for x in (sheet.precision, 0))
    assert float(here) == pytest.approx(left[sheet.precision, 1], rel=1e-9)
    assert float(there) == pytest.approx(right[sheet.precision, 1], rel=1e-9)


@pytest.mark.parametrize(("kind", "total"), [("printed", 1.5), ("repaired", 1.0)])
def test_no_outcome_costs_more_than_the_certificate(kind: Any, total: float) -> None:
    """All ŷ, both coins, both directions, in floats; at ε = 1 the printed worst case is above 1."""
    for users in (2, 4, 8):
        sheet = sheet_of(users, kind)
        left, right = (views(sheet, x) for x in (sheet.precision, 0))
        worst = float(np.abs(np.log(left / right)).max())
        assert worst < total
        assert kind == "repaired" or worst > 1.15


def test_leaving_messages_out_only_lowers_the_bound() -> None:
    """Unlisted hidden mass is charged: the bound grows with the reach and stays below the full one."""
    sheet = shuffle_sheet(users=16, epsilon=1, tail_prob=Fraction(1, 2**60), variant="printed")
    bounds = [
        float(mixture_witness(CLAIM, leaky_event(sheet, COIN, reach=reach), description="").bound or 0)
        for reach in (2, 6, 20)
    ]
    assert bounds == sorted(bounds)
    assert bounds[0] < bounds[1] < 1.5


def test_the_printed_theorem_is_refuted_and_the_repaired_one_verified() -> None:
    """The judge's verdicts on both sides of one batch of 1024 users."""
    for kind, verdict, low in (
        ("printed", VerdictKind.REFUTED, 1.49),
        ("repaired", VerdictKind.CONSISTENT, 0.98),
    ):
        witness = leaky_witness(CLAIM, users=1024, epsilon=Fraction(1), noise=kind, reach=2)  # type: ignore[arg-type]
        certificate = batches_proof(Fraction(1), kind).certify(CLAIM)  # type: ignore[arg-type]
        assert witness.bound is not None
        assert low < witness.bound < certificate.bound
        assert judge(CLAIM, [witness, certificate]).verdict is verdict


def test_an_edited_witness_is_refused() -> None:
    """A coin that tells less on the neighbour's side no longer supports the bound."""
    witness = mixture_witness(CLAIM, leaky_event(sheet_of(2), COIN, reach=99), description="one batch")
    body = copy.deepcopy(witness.body)
    tree = body["events"][0]["neighbour"]
    for branch in tree["branches"]:
        branch["then"]["then"]["law"] = Bernoulli(p=Fraction(1, 2)).to_json()
    with pytest.raises(CertificateError, match="claims too much"):
        recompute(replace(witness, body=body), CLAIM)


def test_a_transcript_that_cannot_be_shown_is_refused() -> None:
    """A return value that no path gives is no event."""
    sheet = sheet_of(2)
    protocol = BatchProtocol(sheet=sheet, aggregator=LeakySum(secagg_epsilon="1/4"), grid=1)
    with pytest.raises(NotTractableError, match="able to show"):
        program_event(lambda coins, x: protocol(coins, x), *rewards_of(2), (1, 1, 99.0), view=CLAIM.view)
    everybody_else = View.everybody_but(SERVER)
    with pytest.raises(NotTractableError, match="name who sees"):
        program_event(lambda coins, x: protocol(coins, x), *rewards_of(2), (0.0,), view=everybody_else)


def test_the_whole_algorithm_costs_what_its_batch_costs() -> None:
    """The witness of 13 rounds of Algorithm 1 is that of one batch of 4 users: the rest has equal
    distributions."""
    witness = algorithm_witness(CLAIM, "printed")
    sheet = shuffle_sheet(users=4, epsilon=1, tail_prob="1/2", variant="printed")
    left, right = (views(sheet, x) for x in (sheet.precision, 0))
    loss = math.log(left[sheet.precision, 1] / right[sheet.precision, 1])
    assert float(witness.bound or 0) == pytest.approx(loss, rel=1e-9)
    assert loss > 1.3


# Definition 9.


def leaky_simulator(coin: LeakyCoin) -> Any:
    def run(coins: Coins, total: int) -> None:
        coins.reveal(total, site="aggregate", to=SERVER)
        coins.observe(Bernoulli(p=coin.simulated), site="coin", to=SERVER)

    return run


def test_a_coin_beyond_its_budget_is_seen() -> None:
    """Negative control: a coin made for ε̂ = 1 is not a relaxation with ε̂ = 1/4."""
    sheet = polya_sheet(users=2, epsilon=Fraction(7, 10), tail_prob=1)
    for budget, fits in ((Fraction(1, 4), True), (Fraction(1), False)):
        coin = LeakyCoin.worst(budget)
        with precision(160):
            worst, wrong = distances(LeakySum(secagg_epsilon=budget), leaky_simulator(coin), sheet)
        assert wrong.is_zero()
        assert bool(worst <= ball(Fraction(1, 4))) is fits


def test_showing_a_message_is_no_relaxation() -> None:
    """Negative control: with one message in the clear no simulator helps: an infinite log-ratio."""

    def careless(coins: Coins, distributions: Sequence[Distribution], sheet: Sheet) -> Any:
        messages = [coins.draw(distribution, site="message") for distribution in distributions]
        coins.reveal(sum(messages) % sheet.modulus, site="aggregate", to=SERVER)
        return coins.reveal(messages[0], site="clear", to=SERVER)

    def guess(coins: Coins, total: int) -> None:
        careless(coins, [PointMass(0), PointMass(total)], sheet)

    sheet = polya_sheet(users=2, epsilon=Fraction(7, 10), tail_prob=1)
    worst, wrong = distances(careless, guess, sheet)
    assert worst == arb("inf")
    assert wrong.is_zero()


def test_a_garbled_sum_is_off_with_probability_q_exactly() -> None:
    """P(shown = Σ + floor(m/2)) = q and P(shown = Σ) = 1 - q, and the distribution depends on Σ alone."""
    sheet = polya_sheet(users=2, epsilon=1, tail_prob="1/2")
    m = sheet.modulus
    for a, b in itertools.product(range(0, m, 3), repeat=2):
        found = enumerate_view(
            lambda coins, y: GarbledSum(secagg_error="1/8")(coins, [PointMass(k) for k in y], sheet),
            (a, b),
            view=View.of(SERVER),
        )
        distribution = {int(seen[0]): found.probabilities[key] for key, seen in found.transcripts.items()}
        assert distribution.keys() == {(a + b) % m, (a + b + m // 2) % m}
        assert distribution[(a + b) % m] == ball(Fraction(7, 8))


# CarrySum.


def test_the_cost_of_a_carry_by_enumeration() -> None:
    """Polynomials in balls against the program's own distribution of (residue, carry): the same largest
    log-ratio."""
    sheet = polya_sheet(users=2, epsilon=1, tail_prob=1)
    protocol = BatchProtocol(sheet=sheet, aggregator=CarrySum(secagg_epsilon=1), grid=1)

    def distribution(rewards: Floats) -> dict[tuple[int, int], float]:
        found = enumerate_view(lambda coins, x: protocol(coins, x), rewards, view=View.of(SERVER), tail=1e-3)
        masses: dict[tuple[int, int], float] = defaultdict(float)
        for key, seen in found.transcripts.items():
            masses[int(seen[0]), int(seen[1])] += float(found.probabilities[key])
        return masses

    one, zeros = (distribution(data) for data in rewards_of(2))
    worst, r, w = carry_loss(sheet, Fraction(1), others=0)
    losses = {key: abs(math.log(one[key] / zeros[key])) for key in zeros if abs(key[1]) < 2}
    assert max(losses.values()) == pytest.approx(float(worst), rel=1e-6)
    assert losses[r, w] == pytest.approx(float(worst), rel=1e-6)


def test_the_benign_sum_refutes_the_printed_theorem_too() -> None:
    """Its witness reaches the exact cost, which is above ε; with the repaired noise it stays below ε."""
    witness = carry_witness(CLAIM, users=2, epsilon=Fraction(1), noise="printed")
    assert 1.05 < float(witness.bound or 0) < 1.06
    exact, r, w = carry_loss(
        shuffle_sheet(users=2, epsilon=1, tail_prob=TAIL, variant="printed"), QUARTER, others=0
    )
    assert (r, w) == (0, 0)
    assert float(witness.bound or 0) == pytest.approx(float(exact), abs=1e-5)
    repaired, *_ = carry_loss(sheet_of(2, "repaired"), QUARTER, others=0)
    assert repaired < 0.56


# Replays.


@pytest.fixture(scope="module")
def pairs() -> list[Neighbours]:
    """One reward of 0 or 1, in a batch of 2 and in one of 8."""
    found = []
    for t in (0, 12):
        left, right = np.zeros((30, 2)), np.zeros((30, 2))
        right[t, 0] = 1.0
        found.append(Neighbours(f"round {t + 1}", left, right))
    return found


def objections_to(aggregator: Aggregator, pairs: list[Neighbours]) -> list[str]:
    chosen = variant("shuffle_dp_se/printed", epsilon=1, failure_prob="1/2")
    run = program(chosen, aggregator=aggregator, grid=1)
    rng = np.random.default_rng(7)
    zeros = {"0": lambda site, i, distribution: 0 if site == "aggregate" else None}
    return objections(run, pairs, zeros, sites=(HIDDEN, "aggregate", "coin"), rng=rng)


def test_the_algorithm_keeps_to_the_accounting(pairs: list[Neighbours]) -> None:
    """With LeakySum nothing speaks against it; with perfect aggregation no message and no coin ever moves."""
    assert objections_to(LeakySum(secagg_epsilon="1/4"), pairs) == []
    missing = objections_to(secure_sum, pairs)
    assert missing == [f"no forced history affected a site {site!r}" for site in (HIDDEN, "coin")]


def test_objections_to_broken_programs(pairs: list[Neighbours]) -> None:
    """Negative controls: an encoding in the clear is a leak, two coins are one too many, memory between
    calls shows on the program's own input."""
    leaky = LeakySum(secagg_epsilon="1/4")

    def clear(coins: Coins, distributions: Sequence[Distribution], sheet: Sheet) -> Any:
        coins.reveal(int(getattr(distributions[0], "offset", 0)), site="clear", to=SERVER)
        return leaky(coins, distributions, sheet)

    def twice(coins: Coins, distributions: Sequence[Distribution], sheet: Sheet) -> Any:
        leaky(coins, distributions, sheet)
        return leaky(coins, distributions, sheet)

    calls: list[int] = []

    def remembers(coins: Coins, distributions: Sequence[Distribution], sheet: Sheet) -> Any:
        calls.append(1)
        coins.reveal(len(calls), site="calls", to=SERVER)
        return leaky(coins, distributions, sheet)

    assert any(text.startswith("leak") for text in objections_to(clear, pairs))
    assert any("affected 2 sites" in text for text in objections_to(twice, pairs))
    assert any("repeat itself" in text for text in objections_to(remembers, pairs))


# Assumption 1.


@pytest.mark.parametrize("mean", ["0", "1/2", "1"])
def test_perfect_sums_fail_as_in_theorem_1(mean: str) -> None:
    """With q taken off, the upper bound is Theorem 1's failure probability at ε' and p', here from scipy's
    noise and every residue decoded by the analyzer."""
    chosen = variant("shuffle_dp_se/repaired", epsilon=2, failure_prob=Fraction(1, 10))
    other, p = variant("dist_dp_se", epsilon=1, failure_prob=Fraction(1, 20)), Fraction(1, 20)
    sheet, tail = chosen.sheet(4), chosen.tail(4)
    assert sheet == other.sheet(4)
    spread = math.log(2 / p)
    radius = tail.sigma * math.sqrt(spread) + tail.h * spread
    assert radius == pytest.approx(math.sqrt(2 * spread) + spread)  # ε' = 1
    assert tail == other.tail(4)
    _, high = failure_bounds(chosen, 4, p=p, mean=Fraction(mean), rewards="coins")
    noise, decoded = shares(sheet, 4), decoded_sum(np.arange(sheet.modulus), sheet)
    expected = sum(
        binom(4, float(Fraction(mean))).pmf(k)
        * noise[(np.flatnonzero(np.abs(decoded - k) > radius) - k * sheet.precision) % sheet.modulus].sum()
        for k in range(5)
    )
    assert high == pytest.approx(expected + 1 / 20, rel=1e-6)


def test_the_garbled_sum_fails_as_the_program_does() -> None:
    """The lower bound against the complete distribution of the running program with GarbledSum."""
    chosen, p = variant("shuffle_dp_se/repaired", epsilon=5, failure_prob=Fraction(1, 2)), Fraction(1, 4)
    protocol = BatchProtocol(sheet=chosen.sheet(2), aggregator=GarbledSum(secagg_error=p), grid=1)
    found = enumerate_view(lambda coins, x: protocol(coins, x), np.ones(2), view=View.of(SERVER))
    spread = math.log(8)
    radius = (math.sqrt(2 * spread) + spread) * 2 / 5
    failures = sum(
        float(found.probabilities[key])
        for key, seen in found.transcripts.items()
        if abs(seen[-1] - 2) > radius
    )
    low, high = failure_bounds(chosen, 2, p=p, mean=Fraction(1), rewards="constant")
    assert low == pytest.approx(failures, rel=1e-6)
    assert low <= high
    assert failures > 0.2  # q itself shows
