"""Mutants of the distributed protocols: caught as declared, by other routes than the rows', and nothing that
is correct is caught."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats

from audits.distributed_mab.mutant_claims import claim_of, divergence_witness_of, sum_distance, target_of
from audits.distributed_mab.mutant_protocols import EPSILON, FAILURE_PROB, MECHANISMS, REFERENCES, program_of
from audits.distributed_mab.mutant_register import ARITHMETIC, HARMLESS, PRIVACY
from audits.distributed_mab.rows import mutants
from audits.distributed_mab.rows.mutants import early_pairs
from dpaudit.blackbox.statistics import fit_log_wealth
from dpaudit.certify.sites import Site
from dpaudit.certify.witnesses.recompute import recompute
from dpaudit.coins import Choice, Program, Recording, Replay, Sampler, force, record, replay
from dpaudit.core.neighbours import Neighbours, both_directions
from dpaudit.core.suite import Run
from dpaudit.core.views import SERVER, View
from dpaudit.distributions import Binomial, Categorical, SumMod
from dpaudit.distributions.base import Distribution
from dpaudit.kernel.ball import arb, lower, upper
from dpaudit.reference.algorithms.mab.batched_elimination import Elimination
from dpaudit.reference.algorithms.mab.distributed_elimination import NAMES, Variant, program, variant
from dpaudit.reference.algorithms.mab.elimination_corners import late_pair
from dpaudit.reference.mechanisms.batch_protocol import BatchProtocol
from dpaudit.reference.mechanisms.broken_protocols import Make, correct
from dpaudit.reference.mechanisms.decoded_sum_distribution import distance, enumerated_sum
from dpaudit.reference.mechanisms.discrete_gaussian_sum import DiscreteGaussianSum
from dpaudit.reference.mechanisms.modular_sum import secure_sum
from dpaudit.reference.mechanisms.parameter_sheet import Sheet
from dpaudit.replay.accounting import observe_accounting
from dpaudit.replay.breaches import search
from dpaudit.replay.shifted_noise import shifted_noise
from tests.rates import FALSE_FAILURE_RATE

THE_SERVER = View.of(SERVER)
THRESHOLD = -math.log(FALSE_FAILURE_RATE)
MARGIN = 1 + 1e-9
PURE = ("polya", "central", "local")


def pairs(horizon: int = 14) -> list[Neighbours]:
    """Two arms, 2 + 2 and 4 + 4 users, 8 + 8 with horizon 30; one reward of a batch changes from 0 to 1."""
    flips = np.tile([[0.0, 1.0], [1.0, 0.0]], (horizon // 2, 1))
    found = []
    for data in (np.zeros((horizon, 2)), flips):
        for round_ in (1, 3, 0) if horizon < 30 else (1, 3, 12, 0):
            left, right = data.copy(), data.copy()
            left[round_], right[round_] = 0.0, 1.0
            found.append(Neighbours(f"round {round_}", left, right))
    return found


def at_quantile(level: float) -> Choice:
    """The history in which every aggregate or message lies there in Z_m, where its distribution allows it."""

    def choose(site: str, occurrence: int, distribution: Distribution) -> Any:
        value = np.full(distribution.batch_shape, int(level * float(distribution.support.upper or 0)))
        outcome = value if value.ndim else int(value)
        return outcome if np.isfinite(distribution.logp(outcome)).all() else None

    return choose


def ways(result: Replay, *, site: str = "aggregate") -> Iterator[str]:
    """What one replay shows to be wrong."""
    if result.leaks:
        yield "leak"
    declared = [Site(site, total=EPSILON)]
    if observe_accounting(result, declared).violations(declared):
        yield "accounting"
    loss = float(result.loss(THE_SERVER, end=result.witness_end(THE_SERVER)))
    if abs(loss) > EPSILON * MARGIN:
        yield "loss"


def plain_search(tested: Program, cases: Sequence[Neighbours], *, site: str = "aggregate") -> Iterator[str]:
    """Sampled histories, and all outcomes at one place in Z_m: nothing is aimed at what moves."""
    rng = np.random.default_rng(1)
    for pair in both_directions(cases):
        recordings: list[Recording] = [record(tested, pair.left, rng=rng)]
        recordings += [force(tested, pair.left, at_quantile(level), rng=rng) for level in (0.0, 0.3, 0.8)]
        for recording in recordings:
            yield from ways(replay(tested, pair.right, recording), site=site)


REPLAYED = [name for name, mutant in PRIVACY.items() if mutant.caught != "divergence"]


@pytest.mark.parametrize("name", REPLAYED)
def test_the_mutant_is_caught_as_declared(name: str) -> None:
    """A search that does not aim finds what the mutant declares as well."""
    mutant = PRIVACY[name]
    tested = program_of(mutant.make, mutant.mechanism)
    cases = [late_pair(REFERENCES[mutant.mechanism])] if mutant.late else pairs()
    if mutant.mechanism in PURE:
        site = "message" if mutant.mechanism == "local" else "aggregate"
        assert mutant.caught in plain_search(tested, cases, site=site)
    else:
        rng = np.random.default_rng(1)
        assert any(replay(tested, pair.right, record(tested, pair.left, rng=rng)).leaks for pair in cases)


def largest_folded_ratio(rate: float, modulus: int, shift: int) -> float:
    """max over residues of log P(y)/P(y - shift), for discrete Laplace noise of scale 1/rate modulo m."""
    residues = np.arange(modulus)
    logs = np.logaddexp(-rate * residues, -rate * (modulus - residues))
    return float(np.max(logs - logs[(residues - shift) % modulus]))


@pytest.mark.parametrize("mechanism", ["polya", "central", "local"])
@pytest.mark.parametrize(
    ("mistake", "rate", "releases"),
    [
        ("inverted-scale", 2 / 0.9, 1),
        ("halved-sensitivity", 0.9, 1),
        ("budget-twice", 0.45, 2),
        ("overlapping-batches", 0.45, 2),
    ],
)
def test_the_largest_loss_is_that_of_folded_laplace_noise(
    mechanism: Any, mistake: str, rate: float, releases: int
) -> None:
    """First batch, g = 2: the search's loss is the closed form's, to rounding, and the witness holds."""
    target = target_of(PRIVACY[f"{mechanism}/{mistake}"].make, mechanism)
    found = search(target, early_pairs(horizon=5, rounds=(1,)), rng=np.random.default_rng(1))
    modulus = REFERENCES[mechanism].sheet(2).modulus
    assert found.loss == pytest.approx(releases * largest_folded_ratio(rate, modulus, 2), rel=1e-9)
    claim = claim_of(mechanism)
    witness = found.witness(claim)
    assert witness is not None
    bound = recompute(witness, claim)
    assert bound is not None
    assert float(bound) == pytest.approx(found.loss, rel=1e-9)
    assert bound > EPSILON


def float_divergence(noise: np.ndarray[Any, Any], shift: int, modulus: int) -> float:
    """Order 2, of a table of probabilities on -w, ..., w modulo m, in floats."""
    reach = len(noise) // 2
    folded = np.zeros(modulus)
    np.add.at(folded, np.arange(-reach, reach + 1) % modulus, noise)
    return math.log(float(np.sum(folded**2 / np.roll(folded, shift))))


@pytest.mark.parametrize("mechanism", ["skellam", "gaussian"])
@pytest.mark.parametrize(
    ("mistake", "factor", "sums"),
    [
        ("wrong-scale", 0.9 / 13, 1),
        ("halved-sensitivity", 1 / 4, 1),
        ("sensitivity-g-1", (12 / 13) ** 2, 1),
        ("wrong-n", 1 / 2, 1),
        ("budget-twice", 1.0, 2),
        ("overlapping-batches", 1.0, 2),
    ],
)
def test_the_divergence_is_that_of_the_mutated_noise(
    mechanism: Any, mistake: str, factor: float, sums: int
) -> None:
    """First batch, 2 users, g = 13: the witness is the divergence of noise with the variance that the mistake
    leaves, computed in floats; above the claim, where the reference's is not."""
    sheet, claim = REFERENCES[mechanism].sheet(2), claim_of(mechanism)
    assert sheet.precision == 13
    variance = factor * (13 / 0.9) ** 2
    reach = np.arange(-150, 151)
    if mechanism == "skellam":
        table = stats.skellam.pmf(reach, sums * variance / 2, sums * variance / 2)
    else:
        share = np.exp(-(reach**2) / variance)  # parameter variance/2 for each of two users
        table = share / share.sum()
        for _ in range(2 * sums - 1):
            table = np.convolve(table, share / share.sum())
    expected = float_divergence(table, 13 * sums, sheet.modulus) / (1 if mechanism == "skellam" else 2)
    target = target_of(PRIVACY[f"{mechanism}/{mistake}"].make, mechanism)
    early = early_pairs(horizon=5, rounds=(1,))
    witness = divergence_witness_of(target, early, claim)
    assert witness is not None
    assert witness.bound is not None
    assert float(witness.bound) == pytest.approx(expected, rel=1e-6)
    assert claim.bound is not None
    assert witness.bound > claim.bound
    right = divergence_witness_of(target_of(correct, mechanism), early, claim)
    assert right is not None
    assert right.bound is not None
    assert right.bound <= claim.bound


def test_no_noise_stands_between_inputs_that_no_aggregate_sees() -> None:
    """A record of a batch that the horizon cuts moves nothing."""
    (pair,) = early_pairs(horizon=5, rounds=(4,))
    assert shifted_noise(program_of(correct, "skellam"), pair, seed=0) is None


def test_noise_that_depends_on_the_data_is_no_shift() -> None:
    """Where one input gets noise and its neighbour none there is no divergence of a shift to speak of."""
    (pair,) = early_pairs(horizon=5, rounds=(1,))
    make = PRIVACY["polya/noise-if-needed"].make
    assert shifted_noise(program_of(make, "skellam"), pair, seed=0) is None


def test_raw_sums_of_the_late_pair_decide_differently() -> None:
    """Plain Algorithm 1 on noiseless sums: arm 0 goes out on the left, stays on the right, and both runs
    agree before."""
    chosen = REFERENCES["polya"]
    pair = late_pair(chosen)
    out = []
    for data in (pair.left, pair.right):
        state = Elimination((2,), failure_prob=FAILURE_PROB, tail=chosen.tail)
        start = 0
        while state.n_active > 1 and start + 2 * state.length <= len(data):
            n = state.length
            state.update([data[start : start + n, 0].mean(), data[start + n : start + 2 * n, 1].mean()])
            start += 2 * n
        out.append((state.batch, state.active.tolist()))
    assert out == [(8, [False, True]), (8, [True, True])]
    assert np.sum(pair.left != pair.right) == 1


# The distribution of a decoded sum


def declared_distribution(
    sheet: Sheet, reward_successes: Distribution, whole: int
) -> tuple[Distribution, int]:
    """The distribution of g times the decoded sum, in floats, from the sheet: rounding and noise convolved.
    With the smallest outcome, by which it is shifted."""
    reach = sheet.noise_margin
    if sheet.trust == "distributed" and sheet.share.name == "discrete-gaussian":
        table = DiscreteGaussianSum(sigma2=sheet.share.parameters()["sigma2"], terms=sheet.users)
        reach, noise = table.reach, table.probabilities
    else:
        noise = np.exp(sheet.total_noise().logp(np.arange(-reach, reach + 1)))
    rounding = np.exp(reward_successes.logp(np.arange(sheet.users + 1)))
    return Categorical.of_floats(np.convolve(noise, rounding)), whole - reach


def distribution_mismatch(
    release: Any, sheet: Sheet, rewards: Sequence[float], *, seed: int, size: int
) -> bool:
    """Whether ``size`` decoded sums of one batch, all drawn at once, refute the declared distribution."""
    coins = Sampler(np.random.default_rng(seed), replicates=size)
    decoded = np.broadcast_to(release(coins, rewards), (size,)) * sheet.precision
    scaled = np.asarray(rewards) * sheet.precision
    rest = scaled - np.floor(scaled)
    assert len(set(rest.tolist())) == 1  # one coin for all users: their sum is binomial
    successes = Binomial(trials=len(rewards), p=str(rest[0]))
    distribution, lowest = declared_distribution(sheet, successes, int(np.floor(scaled).sum()))
    draws = np.round(decoded).astype(np.int64) - lowest
    outside = (draws < 0) | (draws >= len(distribution.weights))  # type: ignore[attr-defined]
    if outside.any():  # a margin of 2^-40: in these samples it does not happen by chance
        return True
    return bool(fit_log_wealth(draws, distribution, rng=coins.rng).total.max() > THRESHOLD)


def breaks_the_distribution(make: Make, *, seed: int = 1, size: int = 2000) -> bool:
    """Batches of 2, 8 and 128 users with rewards at 0, 1/2 and 1, the rounding coins included."""
    sheets = variant("dist_dp_se", epsilon=EPSILON, failure_prob=Fraction(1, 2**40)).sheet
    return any(
        distribution_mismatch(
            make(sheets, None)(users), sheets(users), [reward] * users, seed=seed, size=size
        )
        for users in (2, 8, 128)
        for reward in (0.0, 0.5, 1.0)
    )


@pytest.mark.parametrize("name", ARITHMETIC)
def test_a_wrong_sum_is_caught_by_its_distribution(name: str) -> None:
    """Sampled sums refute the declared distribution, as the enumeration of the row does."""
    assert breaks_the_distribution(ARITHMETIC[name].make)
    reward = 0.25 if name == "rounding-down" else 1.0
    assert lower(sum_distance(ARITHMETIC[name].make, users=2, reward=reward)[0]) > 1e-3


@pytest.mark.parametrize("make", [correct, HARMLESS["in-halves"].make])
def test_a_right_sum_has_its_distribution(make: Make) -> None:
    """Negative control for both routes: the reference, and shares drawn in halves."""
    assert not breaks_the_distribution(make)
    for reward in (0.0, 0.25, 1.0):
        assert upper(sum_distance(make, users=2, reward=reward)[0]) < 1e-12


def test_without_correction_the_sum_is_wrong_as_often_as_the_noise_is_negative() -> None:
    """All rewards 0: the distance is the probability of a residue above n g + τ, from folded noise."""
    sheet = REFERENCES["polya"].sheet(2)
    rate, m, residues = 0.9 / sheet.precision, sheet.modulus, np.arange(sheet.modulus)
    folded = np.exp(-rate * residues) + np.exp(-rate * (m - residues))
    above = residues > 2 * sheet.precision + sheet.noise_margin
    expected = folded[above].sum() / folded.sum()
    found, _ = sum_distance(ARITHMETIC["no-correction"].make, users=2, reward=0.0)
    assert float(found) == pytest.approx(expected, rel=1e-12)


def test_the_distance_allows_for_what_an_enumeration_left_out() -> None:
    """Half the mass missing: the true distance from a fair coin may be 0 or 1/2, and the ball holds both."""
    coin = {0: arb(1) / 2, 1: arb(1) / 2}
    gap = distance({0: arb(1) / 2}, coin, 0.5)
    assert gap.contains(arb(0))
    assert gap.contains(arb(1) / 2)
    assert distance({0: arb(1)}, coin, 0.0) == arb(1) / 2


def test_a_sum_off_the_grid_is_an_outcome_of_its_own() -> None:
    """A release that returns 1/3 on the grid of 1/2 is never taken for a multiple of it."""
    distribution, left_out = enumerated_sum(lambda coins, rewards: 1 / 3, [0.0], 2)
    assert list(distribution) == [2 / 3]
    assert left_out == 0


# What is not broken


@pytest.mark.parametrize("mechanism", PURE)
def test_the_search_comes_close_to_epsilon_on_the_reference_and_finds_nothing(mechanism: Any) -> None:
    """Negative control with teeth: a claim tightened by 1 % would be refuted, the claim is not."""
    target = target_of(correct, mechanism)
    found = search(target, early_pairs(horizon=13, rounds=(1, 4)), rng=np.random.default_rng(1))
    assert not found.ways
    assert found.loss > 0.99 * EPSILON


@pytest.mark.parametrize("name", [name for name, change in HARMLESS.items() if change.releases == 1])
def test_a_harmless_change_is_not_caught(name: str) -> None:
    """The search that does not aim, accounting included: wrong sums and other ways to the same noise cost no
    privacy."""
    assert list(plain_search(program_of(HARMLESS[name].make, "polya"), pairs()[:2])) == []


def test_two_releases_at_half_the_budget_cost_at_most_epsilon() -> None:
    """The loss stays below ε, the search says so, and only an accounting of one release is broken."""
    change = HARMLESS["half-budget-twice"]
    assert set(plain_search(program_of(change.make, "polya"), pairs()[:2])) == {"accounting"}
    target = target_of(change.make, "polya", releases=change.releases)
    found = search(target, early_pairs(horizon=5, rounds=(1,)), rng=np.random.default_rng(1))
    assert not found.ways
    assert found.loss > 0.95 * EPSILON


@pytest.mark.parametrize("name", ["dist_dp_se", "cdp_se", "ldp_se", "shuffle_dp_se/repaired"])
def test_no_correct_variant_is_caught_over_200_seeds(name: str) -> None:
    """Sampled histories of 200 seeds, pairs in turn, perfect aggregation: no leak, no release too many, no
    loss above ε in the server's view. In the local model only the changed user's message moves."""
    chosen = variant(name, epsilon=EPSILON, failure_prob="1/8")
    tested = program(chosen, grid=1, aggregator=secure_sum)
    cases = both_directions(pairs(30 if name == "dist_dp_se" else 14))
    for seed in range(200):
        pair = cases[seed % len(cases)]
        result = replay(tested, pair.right, record(tested, pair.left, rng=np.random.default_rng(seed)))
        if name == "ldp_se":  # the worst cost of an array of messages is found in floats: skip it
            assert not result.leaks
            assert sum(item.moved for item in result.losses) <= 1
            assert abs(float(result.loss(THE_SERVER))) <= EPSILON * MARGIN
        else:
            assert list(ways(result)) == []


@pytest.mark.parametrize("name", [name for name in NAMES if name != "shuffle_dp_se/printed"])
def test_no_correct_sum_breaks_its_distribution_over_200_seeds(name: str) -> None:
    """200 samples of 60 batches of 8 users, rewards 1/2, each at a hundredth of the suite's error rate."""
    chosen: Variant = variant(name, epsilon=EPSILON, failure_prob=Fraction(1, 2**40))
    sheet = chosen.sheet(8)
    release = BatchProtocol(sheet=sheet)
    assert not any(
        distribution_mismatch(release, sheet, [0.5] * 8, seed=seed, size=60) for seed in range(200)
    )


# The register


def test_every_mechanism_has_the_mistakes_that_an_audit_must_know() -> None:
    """Scale, sensitivity, n, budget, noise shared by arms, batch length and a branch on raw data, for each of
    the five; the missing correction besides."""
    for mechanism in MECHANISMS:
        own = {name.split("/")[1] for name in PRIVACY if name.startswith(f"{mechanism}/")}
        scale = "inverted-scale" if mechanism in PURE else "wrong-scale"
        assert own >= {
            scale,
            "halved-sensitivity",
            "sensitivity-g-1",
            "wrong-n",
            "budget-twice",
            "shared-noise",
            "overlapping-batches",
            "raw-branch",
        }
    assert "no-correction" in ARITHMETIC


def test_every_mutant_is_a_cell_of_its_table_with_the_right_claim() -> None:
    """No mutant is left out of the report: a table a mechanism, each cell with its author's claim, and the
    correct protocol among them."""
    for row in mutants.rows.rows:
        cells = row.evaluate(Run(profile="quick", alpha=1e-3, seed=1, row_id=row.id)).cells
        refuted = {cell.name for cell in cells if cell.expect == "refuted"}
        mechanism = row.id.removeprefix("CZ23-M/")
        if mechanism == "sum":
            assert refuted == ARITHMETIC.keys()
            continue
        assert refuted == {
            name.removeprefix(f"{mechanism}/") for name in PRIVACY if name.startswith(f"{mechanism}/")
        }
        assert {cell.claim for cell in cells if cell.name in refuted} == {claim_of(mechanism)}
        assert "correct" in {cell.name for cell in cells} - refuted


def test_a_message_reduced_modulo_another_number_is_caught_by_the_exact_distribution() -> None:
    """A message reduced modulo m - 1 on the way: the distribution of ŷ is not the declared one."""
    sheet = REFERENCES["polya"].sheet(2)
    wrong = SumMod(sheet.modulus - 1).image_distribution([sheet.share, sheet.share.shift(1)])
    right = sheet.aggregate_distribution(1)
    gaps = [abs(float(wrong.logp(y) - right.logp(y))) for y in range(sheet.modulus - 1)]
    assert max(gaps) > 0.01
