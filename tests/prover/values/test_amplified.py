"""Shuffled messages, sums over Poisson subsamples, noise on arrays of integers, and chosen distributions.

Each mechanism is proved with a bound that is compared with exact probabilities, and wrong versions of it are not.
"""

# ruff: noqa: E501, PT018 (programs with one statement in each line)

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom, norm

from audits.classics.rows import descent, shuffled
from audits.concurrent_shuffle.protocol_runs import bits_of, calibrated, node_release, sum_audit
from audits.concurrent_shuffle.rows.mutants import still_open
from dpaudit import audit
from dpaudit.core.claims import ApproxDP, GaussianDP, PureDP, RenyiDP
from dpaudit.core.data import Anything, Integers, Interval, Records
from dpaudit.core.views import EVERYBODY_ELSE
from dpaudit.distributions import (
    Binomial,
    Categorical,
    Counts,
    Gaussian,
    Laplace,
    RandomisedResponse,
    Shuffle,
    Skellam,
    SubsampledGaussianSum,
    Sum,
)
from dpaudit.kernel.values import amplified
from dpaudit.kernel.values.amplified import amplified_cost
from dpaudit.kernel.values.check import ValuesProofError, check
from dpaudit.kernel.values.info import Info, RefusedStepError, Setting
from dpaudit.kernel.values.polynomials import ONE, Poly
from dpaudit.prover.values.prove import prove_values
from dpaudit.reference.mechanisms.concurrent_protocol import concurrent_sums
from dpaudit.reference.mechanisms.concurrent_tree import build_tree
from dpaudit.suite.attempts import program_files

FIVE, LETTERS, NUMBERS = Records(Integers(0, 1), size=5), Records(Integers(0, 2), size=5), Records(Anything())
VECTORS = Records(Integers(0, 1), size=4, width=2)
ADDED = {"adjacency": "add-remove"}


def response(bit: Any, epsilon: Any = 1, symbols: int = 2) -> RandomisedResponse:
    return RandomisedResponse(symbols=symbols, truth=bit, epsilon=epsilon)


def kept(letter: Any) -> RandomisedResponse:
    return RandomisedResponse(symbols=3, truth=letter, keep="1/2")


TABLE = [response(0), response(1)]
MIXED = [response(0), response(1, 2)]
ONES = [Binomial(trials=10, p="1/2").shift(0), Binomial(trials=10, p="1/2").shift(1)]
FAR = [Binomial(trials=10, p="1/2"), Binomial(trials=10, p="1/2").shift(3)]
WIDE = [Binomial(trials=10, p="1/2"), Binomial(trials=40, p="1/2").shift(1)]


def counted(coins: Any, data: Any) -> Any:
    return coins.aggregate([response(bit) for bit in data.tolist()], Counts(2), site="m")


def sorted_messages(coins: Any, data: Any) -> Any:
    return coins.aggregate([response(bit) for bit in data.tolist()], Shuffle(), site="m")


def summed(coins: Any, data: Any) -> Any:
    return coins.aggregate([TABLE[bit] for bit in data.tolist()], Sum(), site="m")


def public_bits_too(coins: Any, data: Any) -> Any:
    return coins.aggregate([response(bit) for bit in [*data.tolist(), 0, 1]], Sum(), site="m")


def letters(coins: Any, data: Any) -> Any:
    return coins.aggregate([kept(letter) for letter in data.tolist()], Counts(3), site="m")


def weighted(coins: Any, data: Any) -> Any:
    sent = [Categorical(weights=[1 + x, 4 - x]) for x in data.tolist()]
    return coins.aggregate(sent, Counts(2), site="m")


def ones(coins: Any, data: Any) -> Any:
    return coins.aggregate([ONES[bit] for bit in data.tolist()], Sum(), site="m")


def exact_delta(users: int, *, epsilon: float, local: float = 1.0) -> float:
    """Return delta of the number of ones that users report, over all bits of the others."""
    p = math.exp(local) / (1 + math.exp(local))
    worst = 0.0
    for others in range(users):
        rest = [
            binom.pmf(np.arange(users + 1), others, p),
            binom.pmf(np.arange(users + 1), users - 1 - others, 1 - p),
        ]
        around = np.convolve(*rest)[: users + 1]
        one, zero = (np.convolve(around, [1 - q, q])[: users + 1] for q in (p, 1 - p))
        for a, b in ((one, zero), (zero, one)):
            worst = max(worst, float(np.maximum(a - math.exp(epsilon) * b, 0).sum()))
    return worst


@pytest.mark.parametrize("program", [counted, sorted_messages, summed])
def test_shuffled_bits_cost_their_exact_delta(program: Any) -> None:
    """Counts, sorted messages and sums of five randomised responses have the exact delta of the counts."""
    exact = exact_delta(5, epsilon=0.5)
    right = prove_values(program, ApproxDP(epsilon="1/2", delta=Fraction(exact + 1e-9)), data=FIVE)
    assert right.verdict == "verified" and float(right.bound or 0) == pytest.approx(exact, rel=1e-6)
    wrong = prove_values(program, ApproxDP(epsilon="1/2", delta=Fraction(exact - 1e-4)), data=FIVE)
    assert wrong.verdict == "inconclusive"


def test_more_right_shuffles() -> None:
    """Public messages hide more, tables of three letters have their blanket bound, and pure bounds stay."""
    more = prove_values(
        public_bits_too,
        ApproxDP(epsilon="1/2", delta=Fraction(exact_delta(7, epsilon=0.5) + 1e-6)),
        data=FIVE,
    )
    assert more.verdict == "verified"
    assert prove_values(counted, PureDP(epsilon=1), data=FIVE).verdict == "verified"
    assert prove_values(counted, PureDP(epsilon="9/10"), data=FIVE).verdict == "inconclusive"
    assert prove_values(letters, PureDP(epsilon="7/10"), data=LETTERS).verdict == "verified"  # ln 2
    assert prove_values(letters, PureDP(epsilon="69/100"), data=LETTERS).verdict == "inconclusive"
    assert prove_values(weighted, PureDP(epsilon="11/10"), data=LETTERS).verdict == "verified"  # ln 3
    assert prove_values(ones, ApproxDP(epsilon=1, delta="1/100"), data=FIVE).verdict == "verified"


def stronger(coins: Any, data: Any) -> Any:
    return coins.aggregate([response(bit, 2) for bit in data.tolist()], Counts(2), site="m")


def one_raw(coins: Any, data: Any) -> Any:
    coins.aggregate([response(bit) for bit in data[1:].tolist()], Counts(2), site="m")
    return data[0]


def twice(coins: Any, data: Any) -> Any:
    return counted(coins, data), counted(coins, data)


def two_messages(coins: Any, data: Any) -> Any:
    bits = data.tolist()
    return coins.aggregate([response(bit) for bit in [*bits, bits[0]]], Counts(2), site="m")


def everybody_sends_one_bit(coins: Any, data: Any) -> Any:
    return coins.aggregate([response(data[0]) for _ in range(5)], Counts(2), site="m")


def mixed(coins: Any, data: Any) -> Any:
    bits = data.tolist()
    return coins.aggregate([response(bits[0], 2), *[response(b) for b in bits[1:]]], Counts(2), site="m")


def chosen_mixed(coins: Any, data: Any) -> Any:
    return coins.aggregate([MIXED[bit] for bit in data.tolist()], Counts(2), site="m")


def seen_alone(coins: Any, data: Any) -> Any:
    return [coins.observe(response(bit), site="m") for bit in data.tolist()]


def fewer(coins: Any, data: Any) -> Any:
    return coins.aggregate([response(bit) for bit in data[:3].tolist()], Counts(2), site="m")


def alone(coins: Any, data: Any) -> Any:
    return coins.aggregate([response(bit) for bit in data[:1].tolist()], Counts(2), site="m")


def of_totals(coins: Any, data: Any) -> Any:
    total = data.sum() // 3 if False else np.minimum(data.sum(), 1)
    return coins.aggregate([response(total) for _ in range(5)], Counts(2), site="m")


def out_of_range(coins: Any, data: Any) -> Any:
    return coins.aggregate([response(bit + 1) for bit in data.tolist()], Counts(2), site="m")


def too_few_counters(coins: Any, data: Any) -> Any:
    return coins.aggregate([response(bit) for bit in data.tolist()], Counts(1), site="m")


def noise_beside(coins: Any, data: Any) -> Any:
    return counted(coins, data), coins.release(data.sum(), Laplace(scale=1), site="s")


def far(coins: Any, data: Any) -> Any:
    return coins.aggregate([FAR[bit] for bit in data.tolist()], Sum(), site="m")


def wide(coins: Any, data: Any) -> Any:
    return coins.aggregate([WIDE[bit] for bit in data.tolist()], Sum(), site="m")


def past_the_end(coins: Any, data: Any) -> Any:
    return coins.aggregate([ONES[bit + 1] for bit in data.tolist()], Sum(), site="m")


def half_the_noise(coins: Any, data: Any) -> Any:
    return coins.aggregate([ONES[bit] for bit in data[:2].tolist()], Sum(), site="m")


def by_a_raw_bit(coins: Any, data: Any) -> Any:
    return coins.aggregate([ONES[data[0]]] * 5, Sum(), site="m")


WRONG_SHUFFLES = [
    stronger, one_raw, twice, two_messages, everybody_sends_one_bit, mixed, chosen_mixed, seen_alone, fewer, alone,
    of_totals, out_of_range, too_few_counters, noise_beside,
]  # fmt: skip


@pytest.mark.parametrize("program", WRONG_SHUFFLES)
def test_wrong_shuffles_are_not_verified(program: Any) -> None:
    """Nothing is amplified by users who apply other randomisers, send twice, or are too few."""
    claim = ApproxDP(epsilon="1/2", delta=Fraction(exact_delta(5, epsilon=0.5) + 1e-9))
    assert prove_values(program, claim, data=FIVE).verdict == "inconclusive"


@pytest.mark.parametrize("program", [far, wide, past_the_end, half_the_noise, by_a_raw_bit])
def test_wrong_choices_are_not_verified(program: Any) -> None:
    """A bit that moves further, chooses the noise, or meets less noise, is not proved with the right bound."""
    bound = prove_values(ones, ApproxDP(epsilon=1, delta=1), data=FIVE).bound
    claim = ApproxDP(epsilon=1, delta=bound or 0)
    assert prove_values(ones, claim, data=FIVE).verdict == "verified"
    assert prove_values(program, claim, data=FIVE).verdict == "inconclusive"


@pytest.mark.parametrize(
    ("claim", "data"),
    [
        (ApproxDP(epsilon="1/2", delta="1/3", adjacency="add-remove"), FIVE),
        (ApproxDP(epsilon="1/2", delta="1/3", unit="user"), Records(Integers(0, 1), size=5, group=2)),
        (ApproxDP(epsilon="1/2", delta="1/3", view=EVERYBODY_ELSE), FIVE),
        (GaussianDP(mu=3), FIVE),
    ],
)
def test_settings_without_amplification(claim: Any, data: Any) -> None:
    """A shuffle needs one message of one changed record, and a view of the shuffled messages."""
    assert prove_values(counted, claim, data=data).verdict == "inconclusive"


# Subsamples


def steps(*, rate: Any = "1/10", sigma: Any = 1, times: int = 2, clip: float = 1.0, width: int = 0) -> Any:
    def program(coins: Any, data: Any) -> Any:
        model = 0.0
        for _ in range(times):
            moves = np.clip(model - data, -clip, clip)
            sampled = SubsampledGaussianSum(moves, rate=rate, sigma=sigma, dimension=width)
            model = model - coins.observe(sampled, site="g") / 10
        return model

    return program


CLAIM = ApproxDP(epsilon=1, delta="1/100", adjacency="add-remove")


def sampled_delta(rate: float, sigma: float, epsilon: float) -> float:
    """Return delta of one step by numerical integration, in the worse direction."""
    x = np.linspace(-40, 40, 400_001)
    mixture = rate * norm.pdf(x, 1, sigma) + (1 - rate) * norm.pdf(x, 0, sigma)
    plain = norm.pdf(x, 0, sigma)
    return max(
        float(np.maximum(a - math.exp(epsilon) * b, 0).sum() * (x[1] - x[0]))
        for a, b in ((mixture, plain), (plain, mixture))
    )


def test_one_step_costs_its_exact_delta() -> None:
    """One subsampled step has the delta of a numerical integral, and two steps cost more."""
    exact = sampled_delta(0.1, 1, 1)
    one, two = (prove_values(steps(times=k), CLAIM, data=NUMBERS) for k in (1, 2))
    assert float(one.bound or 0) == pytest.approx(exact, rel=1e-4)
    assert exact < float(two.bound or 0) < 3 * exact + 1e-3 and two.verdict == "verified"


def vector_steps(coins: Any, data: Any) -> Any:
    rows = data / np.maximum(1, np.linalg.norm(data, axis=1, keepdims=True))
    return coins.observe(SubsampledGaussianSum(rows, rate="1/10", variance=1), site="g")


def test_rows_are_clipped_by_their_norm() -> None:
    """A vector step has the delta of a scalar step of the same norm."""
    found = prove_values(vector_steps, CLAIM, data=Records(Anything(), width=3))
    assert float(found.bound or 0) == pytest.approx(sampled_delta(0.1, 1, 1), rel=1e-4)


def cubes(coins: Any, data: Any) -> Any:
    return coins.observe(SubsampledGaussianSum(data, rate="1/10", variance=1), site="g")


def test_rows_of_bounded_records() -> None:
    """A number in [-1, 1] has the norm 1, and a row of three has a norm of sqrt(3), or no bound."""
    one = prove_values(steps(times=1), CLAIM, data=Records(Interval(-5, 5)))
    assert float(one.bound or 0) == pytest.approx(sampled_delta(0.1, 1, 1), rel=1e-4)
    three = prove_values(cubes, CLAIM, data=Records(Interval(-1, 1), width=3))
    assert three.bound is None or float(three.bound) >= sampled_delta(0.1, 1 / math.sqrt(3), 1) * (1 - 1e-4)


def repeated(coins: Any, data: Any) -> Any:
    rows = np.concatenate([np.clip(data, -1, 1), np.clip(data, -1, 1)])
    return coins.observe(SubsampledGaussianSum(rows, rate="1/10", sigma=1, dimension=0), site="g")


def by_the_total(coins: Any, data: Any) -> Any:
    rows = np.clip(data + np.clip(data, 0, 1).sum(), -1, 1)
    return coins.observe(SubsampledGaussianSum(rows, rate="1/10", sigma=1, dimension=0), site="g")


def the_sum_too(coins: Any, data: Any) -> Any:
    rows = np.clip(data, -1, 1)
    coins.release(rows.sum(), Gaussian(sigma=1), site="s")
    return coins.observe(SubsampledGaussianSum(rows, rate="1/10", sigma=1, dimension=0), site="g")


def not_clipped(coins: Any, data: Any) -> Any:
    return coins.observe(SubsampledGaussianSum(data, rate="1/10", sigma=1, dimension=0), site="g")


def filtered(coins: Any, data: Any) -> Any:
    rows = np.clip(data, -1, 1)
    return coins.observe(SubsampledGaussianSum(rows[rows > 0], rate="1/10", sigma=1, dimension=0), site="g")


def wrong_dimension(coins: Any, data: Any) -> Any:
    return coins.observe(
        SubsampledGaussianSum(np.clip(data, -1, 1), rate="1/10", sigma=1, dimension=2), site="g"
    )


def rate_from_the_data(coins: Any, data: Any) -> Any:
    rows = np.clip(data, 0, 1)
    return coins.observe(SubsampledGaussianSum(rows, rate=rows.sum() / 100, sigma=1, dimension=0), site="g")


def used_as_noise(coins: Any, data: Any) -> Any:
    return coins.release(
        data.sum(), SubsampledGaussianSum(np.clip(data, -1, 1), rate="1/10", sigma=1), site="g"
    )


def hidden(coins: Any, data: Any) -> Any:
    return coins.draw(SubsampledGaussianSum(np.clip(data, -1, 1), rate="1/10", sigma=1), site="g")


WRONG_STEPS = [
    steps(rate="1/5"), steps(sigma="1/2"), steps(times=4), steps(clip=2.0), steps(rate=1), steps(width=1), repeated,
    by_the_total, the_sum_too, not_clipped, filtered, wrong_dimension, rate_from_the_data, used_as_noise, hidden,
]  # fmt: skip


@pytest.mark.parametrize("program", WRONG_STEPS)
def test_wrong_steps_are_not_verified(program: Any) -> None:
    """Less noise, more steps, a larger rate or norm, and rows that share records are not proved."""
    claim = replace(CLAIM, delta=prove_values(steps(), CLAIM, data=NUMBERS).bound)
    assert prove_values(steps(), claim, data=NUMBERS).verdict == "verified"
    assert prove_values(program, claim, data=NUMBERS).verdict == "inconclusive"


def test_a_subsample_needs_records_that_are_added_or_replaced() -> None:
    """The row of a null record need not be 0, and a group of records is not one record."""
    whole = replace(CLAIM, adjacency="zero-out", delta=1 - Fraction(1, 10**6))
    assert prove_values(steps(), whole, data=NUMBERS).verdict == "inconclusive"
    users = replace(CLAIM, adjacency="replace-one", unit="user", delta=1 - Fraction(1, 10**6))
    several = Records(Anything(), size=6, group=2)
    assert prove_values(steps(), users, data=several).verdict == "inconclusive"


REPLACED = replace(CLAIM, adjacency="replace-one", delta=Fraction(1, 2))


@pytest.mark.parametrize("data", [NUMBERS, Records(Anything(), size=7)])
def test_a_replaced_record_costs_twice_its_norm(data: Records) -> None:
    """A row in [-1, 1] may move by 2. The delta is that of a row that moves from 0 to 2."""
    found = prove_values(steps(times=1), REPLACED, data=data)
    assert float(found.bound or 0) == pytest.approx(sampled_delta(0.1, 1 / 2, 1), rel=1e-4)
    assert sampled_delta(0.1, 1, 1) < sampled_delta(0.1, 1 / 2, 1)
    twice_as_large = prove_values(steps(times=2), REPLACED, data=data)
    assert float(found.bound or 0) < float(twice_as_large.bound or 0) < 3 * float(found.bound or 0)


@pytest.mark.parametrize("program", WRONG_STEPS)
def test_wrong_steps_are_not_verified_for_replaced_records(program: Any) -> None:
    claim = replace(REPLACED, delta=prove_values(steps(), REPLACED, data=NUMBERS).bound)
    assert prove_values(steps(), claim, data=NUMBERS).verdict == "verified"
    assert prove_values(program, claim, data=NUMBERS).verdict == "inconclusive"


def sampled_renyi(rate: float, sigma: float, order: int) -> float:
    """Return the Renyi divergence of one step by numerical integration, in the worse direction."""
    x = np.linspace(-40, 60, 400_001)
    plain = norm.logpdf(x, 0, sigma)
    mixture = np.logaddexp(math.log(rate) + norm.logpdf(x, 1, sigma), math.log(1 - rate) + plain)
    return max(
        math.log(float(np.exp(order * a + (1 - order) * b).sum()) * (x[1] - x[0])) / (order - 1)
        for a, b in ((mixture, plain), (plain, mixture))
    )


def test_renyi_divergences_of_steps_add_up() -> None:
    """Three steps have three times the divergence of one, and without sampling it is 100 times as large."""
    claim = RenyiDP(order=3, epsilon=100, **ADDED)
    found = prove_values(steps(times=3), claim, data=NUMBERS)
    assert float(found.bound or 0) == pytest.approx(3 * sampled_renyi(0.1, 1, 3), rel=1e-4)
    once = replace(claim, epsilon=(found.bound or 0) * 1)
    for program in (steps(times=4), steps(times=3, sigma="1/2"), steps(times=3, rate="1/5")):
        assert prove_values(program, once, data=NUMBERS).verdict == "inconclusive"
    other = prove_values(steps(times=3), RenyiDP(order=3, epsilon=100), data=NUMBERS)
    assert 3 * sampled_renyi(0.1, 1 / 2, 3) <= float(other.bound or 0) < 9


# Arrays of integers


def vector(coins: Any, data: Any) -> Any:
    return coins.release(data.sum(axis=0), Binomial(trials=4000, p="1/2"), site="v")


@pytest.mark.parametrize(
    "noise", [Binomial(trials=4000, p="1/2"), Binomial(trials=10**9, p="1/2"), Skellam(variance=1000)]
)
def test_noise_on_arrays(noise: Any) -> None:
    """The bound on delta of two entries is above the exact value, and the Renyi sums are not far above."""

    def program(coins: Any, data: Any) -> Any:
        return coins.release(data.sum(axis=0), noise, site="v")

    found = prove_values(program, ApproxDP(epsilon="1/4", delta="1/100"), data=VECTORS)
    mu = math.sqrt(2 / (1000 if isinstance(noise, Skellam) else noise.trials / 4))
    gaussian = norm.cdf(mu / 2 - 0.25 / mu) - math.exp(0.25) * norm.cdf(-mu / 2 - 0.25 / mu)
    assert found.verdict == "verified"
    assert gaussian * 0.9 <= float(found.bound or 0) <= 10 * gaussian + 1e-15


def test_wrong_noise_on_arrays() -> None:
    """Half the trials, values beyond the declared ones and two releases are not proved with the right bound."""

    def less(coins: Any, data: Any) -> Any:
        return coins.release(data.sum(axis=0), Binomial(trials=2000, p="1/2"), site="v")

    def doubled(coins: Any, data: Any) -> Any:
        return coins.release(2 * data.sum(axis=0), Binomial(trials=4000, p="1/2"), site="v")

    def two(coins: Any, data: Any) -> Any:
        return vector(coins, data), vector(coins, data)

    def unclipped(coins: Any, data: Any) -> Any:
        return coins.release(data.sum(axis=0).astype(float), Binomial(trials=4000, p="1/2"), site="v")

    bound = prove_values(vector, ApproxDP(epsilon="1/10", delta=1), data=VECTORS).bound
    claim = ApproxDP(epsilon="1/10", delta=bound or 0)
    assert prove_values(vector, claim, data=VECTORS).verdict == "verified"
    for program in (less, doubled, two, unclipped):
        assert prove_values(program, claim, data=VECTORS).verdict == "inconclusive"
    wider = Records(Integers(0, 2), size=4, width=2)
    assert prove_values(vector, claim, data=wider).verdict == "inconclusive"
    assert (
        prove_values(vector, replace(claim, adjacency="add-remove"), data=VECTORS).verdict == "inconclusive"
    )


# The kernel


def symbol(*ends: int) -> Info:
    return Info(
        kind="i", low=Poly.of(0), high=ONE, change1=ONE, change2=ONE, change=ONE, support=((*ends, 1),)
    )  # type: ignore[arg-type]


RELEASE = {"law": "shuffled", "node": 0, "nodes": [0, 1], "epsilon": "1"}


@pytest.mark.parametrize(
    "change",
    [
        {"nodes": []},
        {"nodes": [0, 0]},
        {"nodes": [0, 7]},
        {"rows": []},
        {"rows": [["1", "0"], ["0", "1"]]},
        {"nodes": None},
    ],
)
def test_forged_shuffles_are_refused(change: dict[str, Any]) -> None:
    """A record of one record in two messages, of missing steps, or of two randomisers has no cost."""
    infos = [symbol(0, 1), symbol(1, 2)]
    assert len(amplified_cost(Setting(), infos, RELEASE)[0].mechanisms) == 1
    with pytest.raises((RefusedStepError, TypeError)):
        amplified_cost(Setting(), infos, {**RELEASE, **change})


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("need(disjoint(support, own)", "need(True"),
        ('"users": users, "local"', '"users": str(2 * len(nodes)), "local"'),
        ("upper_root(squared),", "upper_root(squared) / 2,"),
        ("most if len(info.shape) == 1 else None", "most"),
        ('s.adjacency in ("add-remove", "replace-one") and s.group == 1', "True"),
        ("info.shape[:1] == (_number_of_records(s),)", "True"),
        ("one_each and info.aligned == (0, None, 1)", "True"),
    ],
)
def test_mutants_change_a_verdict(old: str, new: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without any of its conditions, the rule gives another bound to one of these programs."""

    def bounds() -> list[Any]:
        cases: list[tuple[Callable[..., Any], Any, Records]] = [
            (two_messages, ApproxDP(epsilon="1/2", delta=1), FIVE),
            (counted, ApproxDP(epsilon="1/2", delta=1), FIVE),
            (steps(), CLAIM, NUMBERS),
            (cubes, CLAIM, Records(Interval(-1, 1), width=3)),
        ]
        forged = {"law": "subsampled-gaussian", "node": 0, "rate": "1/10", "variance": "1"}
        row = Info(
            shape=(Poly.symbol("N"),), records=1, norm2=ONE, norm1=ONE, change=ONE, aligned=(0, None, 1)
        )
        found: list[Any] = [prove_values(*case[:2], data=case[2]).bound for case in cases]
        for s, info in (
            (Setting(adjacency="zero-out"), row),
            (Setting(size=4), row),
            (Setting(adjacency="add-remove"), replace(row, aligned=(1, None, 1))),
        ):
            try:
                found.append(str(module["amplified_cost"](s, [info], forged)))
            except RefusedStepError:
                found.append(None)
        return found

    from dpaudit.kernel.values import releases

    module: dict[str, Any] = vars(amplified)
    before = bounds()
    source = inspect.getsource(amplified)
    assert old in source
    module = {"__name__": amplified.__name__}
    exec(compile(source.replace(old, new, 1), "mutant", "exec"), module)
    monkeypatch.setattr(releases, "amplified_cost", module["amplified_cost"])
    assert bounds() != before


@pytest.mark.parametrize(("program", "verdict"), [(counted, "refuted"), (far, "refuted")])
def test_false_claims_are_attacked(program: Any, verdict: str) -> None:
    """An audit of a false claim about shuffled messages or shares attacks the program."""
    assert audit(program, ApproxDP(epsilon="1/10", delta="1/1000"), data=FIVE).verdict == verdict


def test_the_certificate_lists_every_user() -> None:
    """A certificate without one of the users no longer proves the same bound, and one without a law fails."""
    found = prove_values(counted, PureDP(epsilon=1), data=FIVE)
    assert found.certificate is not None
    certificate = found.certificate
    [release] = certificate["releases"]
    assert len(release["nodes"]) == 5 and check(certificate).mechanisms
    with pytest.raises(ValuesProofError):
        check({**certificate, "releases": [{**release, "law": "unknown"}]})


def test_compositions_use_pairs() -> None:
    """Two shuffles compose by their pairs, which is tighter than the sum of two bounds."""
    claim = ApproxDP(epsilon=1, delta=1)
    single = prove_values(counted, replace(claim, epsilon="1/2"), data=FIVE).bound
    both = prove_values(twice, claim, data=FIVE).bound
    assert single is not None and both is not None and both < 2 * single


def test_the_rows_of_the_classics() -> None:
    """The classics' own programs are proved, and their controls are not with the same data."""
    numbers = descent.sgd_right().claim
    assert prove_values(descent.sgd_right().program, numbers, data=NUMBERS).verdict == "verified"
    assert prove_values(descent.sgd_denser().program, numbers, data=NUMBERS).verdict == "inconclusive"
    claim = shuffled.vector_right().claim
    assert prove_values(shuffled.vector_right().program, claim, data=shuffled.VECTORS).verdict == "verified"
    assert prove_values(shuffled.vector_few().program, claim, data=shuffled.VECTORS).verdict == "inconclusive"


def test_the_protocols_of_continual_sums() -> None:
    """Continual sums are proved with their calibrated bits, and not with a bit each or reopened shufflers."""
    tree = build_tree(horizon=4, n_shufflers=1, degree=2, leaf_degree=2)
    (heights,) = calibrated(tree, epsilon=Fraction(9, 10), delta=Fraction(1, 10), parts=1)
    claim = sum_audit(tree, [heights], epsilon=Fraction(9, 10), delta=Fraction(1, 10)).claim
    data, files = bits_of(tree), program_files()

    def verdict(trials: int, **others: Any) -> str:
        program = concurrent_sums(tree, node_release([replace(heights, trials=trials)]), **others)
        return prove_values(program, claim, data=data, files=files).verdict

    assert verdict(heights.trials) == "verified"
    assert verdict(1) == verdict(-(-heights.trials // 2)) == "inconclusive"
    assert verdict(heights.trials, read=still_open) == "inconclusive"
