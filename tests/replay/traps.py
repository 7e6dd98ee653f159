"""A gallery: programs that are not what their certificate speaks about, and programs that are.

Each broken program fails the claim of ε = 1 in one way that an ordinary audit could miss; each right one
satisfies it and uses an everyday feature of the language. The claim, the accounting and the proof are those
of one Laplace release of a sum, unless the case says otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from dpaudit.certify.build import (
    Proof,
    above_threshold,
    accounted,
    compose_parallel,
    compose_sequential,
    discrete_laplace_mechanism,
    laplace_mechanism,
    post_processing,
    randomised_response,
    report_noisy_max,
)
from dpaudit.certify.sites import Site
from dpaudit.coins import Coins, Returned
from dpaudit.core.claims import Adjacency, ApproxDP, PrivacyClaim, PureDP
from dpaudit.core.neighbours import Neighbours
from dpaudit.core.views import PUBLIC, SERVER, View
from dpaudit.distributions import (
    AboveThreshold,
    Bernoulli,
    DiscreteLaplace,
    Exponential,
    Gaussian,
    Gumbel,
    Laplace,
    NoisyArgmax,
    PolyaDifference,
    RandomisedResponse,
    Skellam,
    SumMod,
)
from dpaudit.replay.audit import PrivacyAudit
from dpaudit.replay.domains import Interval, ListedPairs, Values

__all__ = ["BROKEN", "FOREIGN", "RIGHT", "Case"]

NOISE = Laplace(scale=1)
INTEGER_NOISE = DiscreteLaplace(scale=1)
PROOF = laplace_mechanism(sensitivity=1, scale=1)
INTEGER_PROOF = discrete_laplace_mechanism(sensitivity=1, scale=1)
ONE_SUM = (Site("sum", total=1),)


def pair(left: Sequence[float], right: Sequence[float], name: str = "one record") -> Neighbours:
    return Neighbours(name, np.array(left, dtype=float), np.array(right, dtype=float))


FIRST = (pair([0, 0], [1, 0], "the first record from 0 to 1"),)
BOTH = (*FIRST, pair([1, 0], [1, 1], "the second record from 0 to 1"))


@dataclass(frozen=True)
class Case:
    """A program with what its author declares."""

    program: Callable[[Coins, Any], Any]
    pairs: Sequence[Neighbours] = BOTH
    sites: Sequence[Site] = ONE_SUM
    proof: Proof = PROOF
    view: View = field(default_factory=lambda: View.of(PUBLIC))
    adjacency: Adjacency = Adjacency.REPLACE_ONE
    domain: Any = field(default_factory=lambda: Values(0, 1))
    claim: PrivacyClaim | None = None

    def audit(self) -> PrivacyAudit:
        return PrivacyAudit(
            claim=self.claim or PureDP(epsilon=1, view=self.view, adjacency=self.adjacency),
            program=self.program,
            neighbours=lambda run: self.pairs,
            sites=self.sites,
            proof=self.proof,
            domain=self.domain,
        )


BROKEN: dict[str, Case] = {}
RIGHT: dict[str, Case] = {}
#: Programs with randomness of their own that does not depend on the data: no verdict can be given.
FOREIGN: dict[str, Case] = {}

Made = Callable[[Coins, Any], Any]


def add(gallery: dict[str, Case], **options: Any) -> Callable[[Made], Made]:
    def decorate(program: Made) -> Made:
        gallery[program.__name__] = Case(program, **options)
        return program

    return decorate


def noisy_sum(coins: Coins, data: Any, site: str = "sum") -> float:
    return float(coins.release(float(data.sum()), NOISE, site=site))


# Broken: the noise is not that of the certificate


@add(BROKEN)
def one_sided_noise(coins: Coins, data: Any) -> float:
    return float(coins.release(float(data.sum()), Exponential(scale=100), site="sum"))


@add(BROKEN)
def bounded_noise_by_a_rare_choice(coins: Coins, data: Any) -> float:
    sides = Laplace(scale=1) if coins.observe(Bernoulli(p="999/1000"), site="sum") else Exponential(scale=1)
    return float(coins.release(float(data.sum()), sides, site="sum"))


@add(BROKEN)
def gaussian_noise_for_a_pure_claim(coins: Coins, data: Any) -> float:
    return float(coins.release(float(data.sum()), Gaussian(sigma=100), site="sum"))


@add(BROKEN)
def gumbel_noise(coins: Coins, data: Any) -> float:
    return float(coins.release(float(data.sum()), Gumbel(scale=3), site="sum"))


@add(BROKEN, sites=ONE_SUM, proof=INTEGER_PROOF)
def skellam_noise_for_discrete_laplace(coins: Coins, data: Any) -> int:
    return int(coins.release(int(data.sum()), Skellam(variance=1000), site="sum"))


@add(BROKEN)
def scale_by_the_record(coins: Coins, data: Any) -> float:
    return float(coins.release(0.0, Laplace(scale=2 if data[0] > 0 else 3), site="sum"))


@add(BROKEN)
def scale_by_a_rare_record(coins: Coins, data: Any) -> float:
    total = float(data.sum())
    return float(coins.release(total, Laplace(scale="1001/1000" if total > 1 else 1), site="sum"))


@add(BROKEN, sites=ONE_SUM, proof=post_processing(INTEGER_PROOF, function="modulo m"), view=View.of(SERVER))
def modulus_by_the_record(coins: Coins, data: Any) -> None:
    distributions = [INTEGER_NOISE.shift(int(data.sum()) % 5)]
    coins.aggregate(distributions, SumMod(7 if data[0] > 0 else 5), site="sum")


@add(BROKEN)
def mean_with_too_little_noise(coins: Coins, data: Any) -> float:
    return float(coins.release(float(data.mean()), Laplace(scale="1/10"), site="sum"))


@add(BROKEN, proof=report_noisy_max(sensitivity=1, scale=2, range="general"))
def noisy_maximum_with_half_the_noise(coins: Coins, data: Any) -> int:
    return int(coins.observe(NoisyArgmax(np.array([data[0], 1 - data[0]]), NOISE), site="sum"))


@add(BROKEN)
def the_same_noise_twice(coins: Coins, data: Any) -> tuple[float, float]:
    noise = float(coins.draw(NOISE, site="noise"))
    return noise + float(data.sum()), noise


# Broken: raw data decide


@add(BROKEN)
def noisy_value_against_a_raw_threshold(coins: Coins, data: Any) -> bool:
    return bool(noisy_sum(coins, data) > 5 + data[0])


@add(BROKEN)
def unmoved_noise_against_a_raw_value(coins: Coins, data: Any) -> bool:
    noisy_sum(coins, data)
    return bool(coins.observe(NOISE, site="threshold") > 3 + data[0] / 100)


@add(BROKEN)
def a_loop_that_raw_data_stop(coins: Coins, data: Any) -> int:
    noisy, steps = noisy_sum(coins, data), 0
    while steps < 100 and noisy < 4 + data[0] / 10:
        noisy += 1
        steps += 1
    return steps


@add(BROKEN)
def no_end_on_one_side(coins: Coins, data: Any) -> float:
    noisy = noisy_sum(coins, data)
    while noisy > 6 and data[0] > 0:
        pass
    return noisy


@add(BROKEN)
def a_window_on_one_line(coins: Coins, data: Any) -> Any:
    noisy = noisy_sum(coins, data)
    return float(data[0]) if 2.3451 < noisy < 2.3461 else noisy


@add(BROKEN)
def a_window_that_moves_with_the_data(coins: Coins, data: Any) -> bool:
    noisy = noisy_sum(coins, data)
    return bool(1.7 + data[0] < noisy < 1.701 + data[0])


@add(BROKEN)
def a_window_behind_and(coins: Coins, data: Any) -> Any:
    noisy = noisy_sum(coins, data)
    return noisy > 1.234 and noisy < 1.2341 and bool(data[0])


@add(BROKEN)
def a_window_behind_or(coins: Coins, data: Any) -> Any:
    noisy = noisy_sum(coins, data)
    return noisy < 1.234 or noisy > 1.2341 or float(data[0])


@add(BROKEN)
def a_window_in_a_comprehension(coins: Coins, data: Any) -> Any:
    noisy = noisy_sum(coins, data)
    return [float(x) for x in data if 0.777 < noisy < 0.7771]


@add(BROKEN)
def a_window_in_any(coins: Coins, data: Any) -> bool:
    noisy = noisy_sum(coins, data)
    return any(x > 0 for x in data if 0.777 < noisy < 0.7771)


@add(BROKEN)
def a_window_in_a_lambda(coins: Coins, data: Any) -> Any:
    noisy = noisy_sum(coins, data)
    return (lambda: float(data[0]) if 3.21 < noisy < 3.2101 else noisy)()


@add(BROKEN)
def a_window_in_a_match(coins: Coins, data: Any) -> Any:
    match noisy_sum(coins, data):
        case noisy if 2.5 < noisy < 2.5001:
            return float(data[0])
        case noisy:
            return noisy


@add(BROKEN)
def a_window_in_a_text(coins: Coins, data: Any) -> str:
    noisy = noisy_sum(coins, data)
    return f"{noisy:.3f}{data[0] if -1.5001 < noisy < -1.5 else ''}"


@add(BROKEN)
def a_window_of_a_site_that_does_not_move(coins: Coins, data: Any) -> Any:
    noisy_sum(coins, data)
    other = coins.observe(NOISE, site="other")
    return float(data[0]) if 5.5 < other < 5.501 else 0.0


@add(BROKEN)
def a_rare_hidden_coin(coins: Coins, data: Any) -> Any:
    noisy = noisy_sum(coins, data)
    return float(data[0]) if coins.draw(Bernoulli(p="1/10000"), site="coin") else noisy


@add(BROKEN)
def a_second_release_in_a_window(coins: Coins, data: Any) -> float:
    noisy = noisy_sum(coins, data)
    return noisy_sum(coins, data) if 2.3451 < noisy < 2.3461 else noisy


@add(BROKEN)
def a_record_more_or_less(coins: Coins, data: Any) -> None:
    noisy_sum(coins, data)
    for _ in range(int(data.sum())):
        coins.reveal(0, site="record")


@add(BROKEN)
def the_order_of_two_sites(coins: Coins, data: Any) -> None:
    noisy_sum(coins, data)
    for name in ("a", "b") if data[0] > 0 else ("b", "a"):
        coins.observe(NOISE if name == "a" else Laplace(scale=2), site=name)


@add(BROKEN)
def an_audience_by_the_record(coins: Coins, data: Any) -> None:
    coins.release(float(data.sum()), NOISE, site="sum", to=PUBLIC if data[0] > 0 else SERVER)


@add(BROKEN)
def an_audience_of_the_result_by_the_record(coins: Coins, data: Any) -> Any:
    noisy = noisy_sum(coins, data)
    return Returned(noisy, PUBLIC) if data[0] > 0 else Returned(noisy, SERVER)


# Broken: errors


@add(BROKEN)
def an_error_on_one_side(coins: Coins, data: Any) -> float:
    noisy = noisy_sum(coins, data)
    if noisy > 20 + data[0] / 8:
        raise ValueError("too large")
    return noisy


@add(BROKEN)
def an_error_in_a_window_on_one_side(coins: Coins, data: Any) -> float:
    noisy = noisy_sum(coins, data)
    if data[0] > 0 and 2.3451 < noisy < 2.3461:
        raise ValueError("unlucky")
    return noisy


@add(BROKEN)
def an_assertion_about_the_data(coins: Coins, data: Any) -> float:
    noisy = noisy_sum(coins, data)
    assert noisy < 6 + data[0] / 4
    return noisy


@add(BROKEN)
def an_error_of_another_type(coins: Coins, data: Any) -> float:
    noisy = noisy_sum(coins, data)
    if noisy > 3:
        raise (ValueError if data[0] > 0 else KeyError)("no")
    return noisy


@add(BROKEN)
def an_error_that_tells(coins: Coins, data: Any) -> float:
    noisy = noisy_sum(coins, data)
    if noisy > 3:
        raise ValueError(f"the sum {data.sum()} is too large")
    return noisy


@add(BROKEN)
def an_exit_on_one_side(coins: Coins, data: Any) -> float:
    noisy = noisy_sum(coins, data)
    if noisy > 3 and data[0] > 0:
        raise SystemExit(1)
    return noisy


@add(BROKEN)
def an_error_that_is_caught(coins: Coins, data: Any) -> float:
    noisy = noisy_sum(coins, data)
    try:
        math.sqrt(noisy - 10 - data[0] / 8)
    except ValueError:
        return 0.0
    return 1.0


# Broken: more than the proof's sensitivity


@add(BROKEN, pairs=FIRST)
def the_last_record_twice(coins: Coins, data: Any) -> float:
    return float(coins.release(float(data.sum() + data[-1]), NOISE, site="sum"))


@add(BROKEN, pairs=FIRST, domain=Interval(None, None))
def a_hundredfold_sum_of_large_data(coins: Coins, data: Any) -> float:
    total = float(np.clip(data, -1, 0).sum()) + float(np.clip(data, 0, 1).sum())
    return float(coins.release(total / 2 * (1 + 99 * bool(np.abs(data).max() > 1)), NOISE, site="sum"))


@add(BROKEN, pairs=FIRST, domain=Interval(0, 1))
def a_product_of_records(coins: Coins, data: Any) -> float:
    return float(coins.release(float(data[0] + 9 * data[0] * data[1]), NOISE, site="sum"))


@add(BROKEN, pairs=FIRST, domain=Interval(0, 2))
def a_wider_domain_than_the_pairs(coins: Coins, data: Any) -> float:
    return noisy_sum(coins, data)


# The cheap mechanism of one branch and the dear one of the other: the certificate pays for one branch.
CHEAP_TWICE_OR_DEAR = compose_parallel(
    [
        compose_sequential([laplace_mechanism(sensitivity=1, scale=10)], times=[2]),
        laplace_mechanism(sensitivity=1, scale=1),
    ],
    by="position",
)
CHEAP_AND_DEAR = (Site("*", touches=2, total="11/10"),)


@add(BROKEN, sites=CHEAP_AND_DEAR, proof=CHEAP_TWICE_OR_DEAR, claim=ApproxDP(epsilon=1, delta="1/1000000"))
def leaves_of_two_branches(coins: Coins, data: Any) -> tuple[float, float]:
    total = float(data.sum())
    cheap = coins.release(total, Laplace(scale=10), site="cheap")
    return float(cheap), float(coins.release(total, NOISE, site="dear"))


@add(
    BROKEN,
    sites=(Site("sum", touches=2, total=2),),
    proof=accounted([Site("sum", mechanism=PROOF)], declared="one sum"),
)
def two_sums_where_the_proof_has_one(coins: Coins, data: Any) -> tuple[float, float]:
    return noisy_sum(coins, data), noisy_sum(coins, data)


@add(BROKEN, proof=accounted([Site("other", mechanism=PROOF)], declared="another"))
def a_site_that_the_proof_does_not_name(coins: Coins, data: Any) -> float:
    return noisy_sum(coins, data)


@add(
    BROKEN,
    sites=(Site("*", touches=2, total=1),),
    proof=compose_parallel([laplace_mechanism(sensitivity=1, scale=2)] * 2, by="position"),
)
def two_cells_of_a_partition(coins: Coins, data: Any) -> None:
    for name in ("a", "b"):
        coins.release(float(data[0]), Laplace(scale=2), site=name)


# Broken: shown values that look alike


@add(BROKEN)
def a_payload_of_nan(coins: Coins, data: Any) -> float:
    noisy_sum(coins, data)
    bits = 0x7FF8000000000000 + int(data[0])
    return float(np.array([bits], dtype=np.int64).view(np.float64)[0])


@add(BROKEN)
def a_mask(coins: Coins, data: Any) -> Any:
    return np.ma.masked_array([noisy_sum(coins, data)], mask=[bool(data[0])])


class Alike(float):
    """Equal to everything."""

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = float.__hash__


@add(BROKEN)
def an_equality_that_lies(coins: Coins, data: Any) -> float:
    noisy_sum(coins, data)
    return Alike(data[0])


class Tagged(np.ndarray):
    """An array with an attribute."""

    tag: float = 0.0


@add(BROKEN)
def an_array_with_an_attribute(coins: Coins, data: Any) -> Any:
    shown = np.array([noisy_sum(coins, data)]).view(Tagged)
    shown.tag = float(data[0])
    return shown


@add(BROKEN)
def metadata_of_a_dtype(coins: Coins, data: Any) -> Any:
    kind = np.dtype(np.float64, metadata={"record": float(data[0])})
    return np.array([noisy_sum(coins, data)]).astype(kind)


@add(BROKEN)
def a_dtype_by_the_record(coins: Coins, data: Any) -> Any:
    noisy_sum(coins, data)
    return np.zeros(2, dtype=np.int32 if data[0] > 0 else np.int64)


@add(BROKEN)
def a_scalar_type_by_the_record(coins: Coins, data: Any) -> Any:
    noisy_sum(coins, data)
    return np.float64(1.0) if data[0] > 0 else 1.0


@add(BROKEN)
def digits_beyond_double(coins: Coins, data: Any) -> Any:
    noisy_sum(coins, data)
    return np.longdouble(1) + np.longdouble(data[0]) * np.finfo(np.longdouble).eps


@add(BROKEN)
def a_sign_of_zero(coins: Coins, data: Any) -> float:
    noisy_sum(coins, data)
    return -0.0 if data[0] > 0 else 0.0


@add(BROKEN)
def a_ragged_list_of_data(coins: Coins, data: Any) -> Any:
    return [noisy_sum(coins, data), [float(data.sum()), 2]]


@add(BROKEN)
def a_list_or_a_tuple(coins: Coins, data: Any) -> Any:
    noisy = noisy_sum(coins, data)
    return [noisy] if data[0] > 0 else (noisy,)


@add(BROKEN)
def the_order_of_keys(coins: Coins, data: Any) -> Any:
    noisy = noisy_sum(coins, data)
    return {"a": noisy, "b": 0} if data[0] > 0 else {"b": 0, "a": noisy}


@add(BROKEN)
def low_digits_of_a_noisy_value(coins: Coins, data: Any) -> float:
    return noisy_sum(coins, data) * (1 + float(data[0]) * 2.0**-50)


@add(BROKEN)
def one_item_more(coins: Coins, data: Any) -> Iterator[float]:
    yield noisy_sum(coins, data)
    yield from (0.0 for _ in range(int(data[0])))


# Foreign randomness: no verdict

OUTSIDE = np.random.default_rng(0)


@add(FOREIGN)
def a_global_coin(coins: Coins, data: Any) -> Any:
    return noisy_sum(coins, data), bool(OUTSIDE.random() < 0.3)


@add(FOREIGN)
def a_rare_global_coin(coins: Coins, data: Any) -> Any:
    return noisy_sum(coins, data), bool(OUTSIDE.random() < 0.03)


@add(FOREIGN)
def a_global_error(coins: Coins, data: Any) -> Any:
    if OUTSIDE.random() < 0.05:
        raise ValueError("unlucky")
    return noisy_sum(coins, data)


# Right: plain releases


@add(RIGHT)
def a_sum(coins: Coins, data: Any) -> float:
    return noisy_sum(coins, data)


TEN = (pair([0] * 10, [1] + [0] * 9), pair([1] * 9 + [0], [1] * 10))


@add(RIGHT, pairs=TEN, proof=laplace_mechanism(sensitivity="1/10", scale="1/10"))
def a_mean_of_ten(coins: Coins, data: Any) -> float:
    return float(coins.release(float(data.mean()), Laplace(scale="1/10"), site="sum"))


@add(
    RIGHT,
    pairs=(pair([0.1, 0.3], [0.3, 0.3]),),
    domain=Values("0.1", "0.3", 0.2),
    proof=laplace_mechanism(sensitivity="0.2", scale="0.2"),
    sites=(Site("sum", total=1),),
)
def decimals_of_the_domain(coins: Coins, data: Any) -> float:
    return float(coins.release(float(data.sum()), Laplace(scale="0.2"), site="sum"))


@add(RIGHT, pairs=FIRST, domain=Interval(0, 1))
def a_sum_on_a_declared_domain(coins: Coins, data: Any) -> float:
    return noisy_sum(coins, data)


@add(RIGHT, pairs=FIRST, domain=Interval(None, None))
def a_clipped_sum_of_real_numbers(coins: Coins, data: Any) -> float:
    return float(coins.release(float(np.clip(data, 0, 1).sum()), NOISE, site="sum"))


@add(RIGHT, pairs=FIRST, domain=Values(0, 1), proof=INTEGER_PROOF)
def a_count(coins: Coins, data: Any) -> int:
    return int(coins.release(int(data.sum()), INTEGER_NOISE, site="sum"))


@add(RIGHT, pairs=(pair([0, 1], [0, 1, 1]), pair([1], [])), adjacency=Adjacency.ADD_REMOVE)
def a_sum_of_those_present(coins: Coins, data: Any) -> float:
    return noisy_sum(coins, data)


@add(RIGHT, proof=laplace_mechanism(sensitivity=2, scale=2))
def a_vector(coins: Coins, data: Any) -> Any:
    return coins.release(np.array([data.sum(), -data.sum()]), Laplace(scale=2), site="sum")


@add(
    RIGHT,
    sites=(Site("s*", touches=2, total=1),),
    proof=compose_sequential([laplace_mechanism(sensitivity=1, scale=2)], times=[2]),
)
def two_sums_at_half_the_cost(coins: Coins, data: Any) -> tuple[float, float]:
    first = float(coins.release(float(data.sum()), Laplace(scale=2), site="s1"))
    return first, float(coins.release(float(data.sum()), Laplace(scale=2), site="s2"))


@add(
    RIGHT,
    proof=compose_parallel([PROOF], by="position"),
    sites=(Site("cell-*", total=1),),
)
def cells_by_position(coins: Coins, data: Any) -> list[float]:
    return [float(coins.release(float(x), NOISE, site=f"cell-{i}")) for i, x in enumerate(data)]


@add(
    RIGHT,
    proof=accounted([Site("su?", mechanism=PROOF)], declared="one sum is released"),
)
def a_declared_sum(coins: Coins, data: Any) -> float:
    return noisy_sum(coins, data)


@add(RIGHT, proof=post_processing(INTEGER_PROOF, function="modulo m"), view=View.of(SERVER))
def a_secure_sum(coins: Coins, data: Any) -> None:
    share = PolyaDifference(shape="1/2", log_ratio=1)
    coins.aggregate([share.shift(int(x)) for x in data], SumMod(1000), site="sum")


@add(RIGHT, proof=randomised_response(epsilon=1), sites=(Site("bit-*", total=1),))
def randomised_bits(coins: Coins, data: Any) -> list[int]:
    return [
        int(coins.observe(RandomisedResponse(symbols=2, truth=int(x), epsilon=1), site=f"bit-{i}"))
        for i, x in enumerate(data)
    ]


SVT = AboveThreshold(
    threshold=1, threshold_noise=Laplace(scale=2), query_noise=Laplace(scale=4), max_positives=1
)


@add(
    RIGHT,
    sites=(Site("svt", total=1),),
    proof=above_threshold(sensitivity=1, threshold_scale=2, query_scale=4),
)
def sparse_vector_by_a_channel(coins: Coins, data: Any) -> list[bool]:
    session = coins.channel(SVT, site="svt")
    answers: list[bool] = []
    for query in (*data, float(data.sum())):
        answers.append(bool(session.ask(float(query))))
        if answers[-1]:
            break
    return answers


LEAD = (pair([300, 0], [300, 1]), pair([0, 300], [1, 300]))


@add(
    RIGHT,
    pairs=LEAD,
    domain=ListedPairs(),
    proof=report_noisy_max(sensitivity=1, scale=1, range="one_coordinate"),
)
def a_noisy_maximum(coins: Coins, data: Any) -> int:
    return int(coins.observe(NoisyArgmax(data, NOISE), site="sum"))


# Right: what is done with an outcome is free


@add(RIGHT)
def exp_of_an_outcome(coins: Coins, data: Any) -> float:
    with np.errstate(over="ignore"):
        return float(np.exp(noisy_sum(coins, data)))


@add(RIGHT)
def sqrt_of_an_outcome(coins: Coins, data: Any) -> float:
    with np.errstate(invalid="ignore"):
        return float(np.sqrt(noisy_sum(coins, data)))


@add(RIGHT)
def math_exp_of_an_outcome(coins: Coins, data: Any) -> float:
    return math.exp(noisy_sum(coins, data))


@add(RIGHT)
def sqrt_that_may_fail(coins: Coins, data: Any) -> float:
    return math.sqrt(noisy_sum(coins, data))


@add(RIGHT)
def sqrt_with_a_handler(coins: Coins, data: Any) -> float:
    try:
        return math.sqrt(noisy_sum(coins, data))
    except ValueError:
        return 0.0


@add(RIGHT)
def an_error_on_both_sides(coins: Coins, data: Any) -> float:
    noisy = noisy_sum(coins, data)
    if noisy > 4:
        raise ValueError(f"{noisy} is too large")
    return noisy


@add(RIGHT)
def an_error_in_a_window_of_outcomes(coins: Coins, data: Any) -> float:
    noisy = noisy_sum(coins, data)
    if 2.3451 < noisy < 2.3461:
        raise ValueError("unlucky")
    return noisy


@add(RIGHT)
def an_assertion_about_an_outcome(coins: Coins, data: Any) -> float:
    noisy = noisy_sum(coins, data)
    assert noisy < 5
    return noisy


@add(RIGHT)
def a_threshold(coins: Coins, data: Any) -> bool:
    return noisy_sum(coins, data) > 0.5


@add(RIGHT)
def a_window_of_outcomes(coins: Coins, data: Any) -> str:
    noisy = noisy_sum(coins, data)
    return "inside" if 2.3451 < noisy < 2.3461 else "outside"


@add(RIGHT)
def and_or_of_outcomes(coins: Coins, data: Any) -> bool:
    noisy = noisy_sum(coins, data)
    return (noisy > 0 and noisy < 2) or noisy > 4


@add(RIGHT)
def a_rounded_outcome(coins: Coins, data: Any) -> int:
    return round(noisy_sum(coins, data))


@add(RIGHT)
def a_text(coins: Coins, data: Any) -> str:
    return f"about {noisy_sum(coins, data):.2f}"


@add(RIGHT)
def a_dict(coins: Coins, data: Any) -> dict[str, Any]:
    noisy = noisy_sum(coins, data)
    return {"sum": noisy, "sign": math.copysign(1, noisy), "list": [noisy, None]}


@add(RIGHT)
def a_single(coins: Coins, data: Any) -> Any:
    with np.errstate(over="ignore"):
        return np.float32(noisy_sum(coins, data))


@add(RIGHT)
def a_nan(coins: Coins, data: Any) -> float:
    noisy = noisy_sum(coins, data)
    return noisy if noisy > 0 else math.nan


@add(RIGHT, proof=laplace_mechanism(sensitivity=1, scale=1))
def a_filtered_vector(coins: Coins, data: Any) -> list[float]:
    noisy = coins.release(data, NOISE, site="sum")
    return [float(x) for x in noisy if x > 0]


@add(RIGHT)
def a_match(coins: Coins, data: Any) -> str:
    match round(noisy_sum(coins, data)):
        case 0:
            return "none"
        case 1 | 2:
            return "few"
        case _:
            return "other"


# Right: ways of writing a program


@add(RIGHT)
def no_end_on_both_sides(coins: Coins, data: Any) -> float:
    noisy = noisy_sum(coins, data)
    while noisy > 6:
        pass
    return noisy


@add(RIGHT)
def a_generator(coins: Coins, data: Any) -> Iterator[float]:
    noisy = noisy_sum(coins, data)
    yield noisy
    if noisy > 1:
        yield noisy / 2


@add(RIGHT)
def a_rejection_loop(coins: Coins, data: Any) -> tuple[float, float]:
    while True:
        extra = float(coins.observe(NOISE, site="extra"))
        if abs(extra) < 2:
            break
    return noisy_sum(coins, data), extra


@add(RIGHT)
def a_loop_on_an_outcome(coins: Coins, data: Any) -> int:
    noisy, steps = noisy_sum(coins, data), 0
    while noisy > 1:
        noisy /= 2
        steps += 1
    return steps


@add(RIGHT)
def a_recursion_on_an_outcome(coins: Coins, data: Any) -> int:
    def depth(value: float) -> int:
        return 0 if value < 1 else 1 + depth(value / 2)

    return depth(noisy_sum(coins, data))


class Counter:
    """State that lives in one run only."""

    def __init__(self) -> None:
        self.calls = 0

    def add(self, value: float) -> float:
        self.calls += 1
        return value + self.calls


@add(RIGHT)
def state_of_its_own(coins: Coins, data: Any) -> float:
    counter = Counter()
    counter.add(1.0)
    return counter.add(noisy_sum(coins, data))


@add(RIGHT)
def a_public_constant(coins: Coins, data: Any) -> float:
    coins.reveal(len(data), site="size")
    coins.reveal({"version": 1}, site="header")
    return noisy_sum(coins, data)


@add(RIGHT)
def data_changed_in_place(coins: Coins, data: Any) -> float:
    data *= 1.0
    noisy = noisy_sum(coins, data)
    data[:] = 0
    return noisy


@add(RIGHT, view=View.of(SERVER))
def a_server_that_publishes(coins: Coins, data: Any) -> bool:
    noisy = float(coins.release(float(data.sum()), NOISE, site="sum", to=SERVER))
    return noisy > 0


@add(RIGHT)
def unmoved_noise_beside(coins: Coins, data: Any) -> float:
    return noisy_sum(coins, data) + float(coins.observe(Gaussian(sigma=1), site="more"))


@add(RIGHT)
def a_window_of_unmoved_noise(coins: Coins, data: Any) -> Any:
    noisy = noisy_sum(coins, data)
    other = coins.observe(NOISE, site="other")
    return noisy if 1.5 < other < 1.501 else 0.0


@add(RIGHT)
def a_large_answer_to_a_large_outcome(coins: Coins, data: Any) -> Any:
    return np.zeros(max(0, int(noisy_sum(coins, data))))


@add(RIGHT)
def a_number_and_an_array(coins: Coins, data: Any) -> Any:
    noisy = noisy_sum(coins, data)
    shown = np.array([noisy, 0.0, 1.0])
    coins.reveal([[1, 2], [3]], site="ragged")
    coins.reveal({"cells": [1, [2, []], {"last": np.zeros(3)}]}, site="nested")
    return int(np.argmax(shown)), shown


@add(RIGHT)
def a_number_and_a_list(coins: Coins, data: Any) -> Any:
    return [noisy_sum(coins, data), [1, 2]]


class Released:
    """A callable object."""

    def __call__(self, coins: Coins, data: Any, scale: int = 1) -> float:
        return float(coins.release(float(data.sum()), Laplace(scale=scale), site="sum"))


RIGHT["a_callable_object"] = Case(Released())
RIGHT["a_partial"] = Case(partial(Released(), scale=1))
