"""Rounding of the data's floats decides nothing about a claim on real numbers, and refutes one as run."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpaudit.certify.build import laplace_mechanism
from dpaudit.certify.sites import Site
from dpaudit.coins import Coins
from dpaudit.core.claims import ApproxDP, Model, PureDP, ZeroConcentratedDP
from dpaudit.core.neighbours import Neighbours
from dpaudit.core.rounding_modes import MODES, in_mode, rounding_mode
from dpaudit.core.suite import Run
from dpaudit.core.verdicts import Judgement, VerdictKind, judge
from dpaudit.distributions import Bernoulli, Gaussian, Laplace
from dpaudit.replay.audit import PrivacyAudit
from dpaudit.replay.domains import ListedPairs
from dpaudit.replay.privacy import privacy_outcome
from dpaudit.replay.rounding import by_rounding, float_type, in_double

NOISE = Laplace(scale=1)

needs_modes = pytest.mark.skipif(not MODES, reason="the rounding modes of this processor are not known")


def pair(left: list[float], right: list[float], dtype: Any) -> Neighbours:
    return Neighbours("one record", np.array(left, dtype=dtype), np.array(right, dtype=dtype))


#: In float32 the sums differ by 1.00000006.
TENTHS = ([0.0, 0.0, 0.0, 0.1, 0.8], [1.0, 0.0, 0.0, 0.1, 0.8])


def decide(
    program: Any,
    data: tuple[list[float], list[float]],
    dtype: Any = np.float32,
    model: Model = Model.IDEAL,
    proof: Any = None,
) -> Judgement:
    audit = PrivacyAudit(
        domain=ListedPairs(),
        claim=PureDP(epsilon=1, model=model),
        program=program,
        neighbours=lambda run: [pair(*data, dtype)],
        sites=[Site(pattern="sum", touches=1, total=1)],
        proof=(proof or laplace_mechanism(sensitivity=1, scale=1)) if model is Model.IDEAL else None,
    )
    outcome = privacy_outcome(audit, Run(profile="quick", alpha=0.01, seed=0, row_id="row"))
    return judge(audit.claim, outcome.evidence, unmet=outcome.unmet, alpha=0.01)


def noisy_sum(coins: Coins, data: Any) -> float:
    return float(coins.release(float(data.sum()), NOISE, site="sum"))


def test_the_data_of_these_tests_do_round() -> None:
    """The float32 sums differ by more than one, the double ones by one up to the last digits."""
    narrow, wide = ([np.array(x, dtype=t).sum() for x in TENTHS] for t in (np.float32, np.float64))
    assert 1e-8 < float(narrow[1]) - float(narrow[0]) - 1 < 1e-6
    assert abs(float(wide[1]) - float(wide[0]) - 1) < 1e-15


def test_a_right_program_on_narrow_data_is_not_refuted() -> None:
    """A loss of 1.00000006 on float32 data is 1 in double precision: open, in words; verified on double
    data, and refuted as run."""
    found = decide(noisy_sum, TENTHS)
    assert found.verdict is VerdictKind.INCONCLUSIVE
    assert any("by rounding of float32 data only" in reason for reason in found.reasons)
    assert found.lower is None or found.lower <= 1 + Fraction(1, 10**9)
    assert decide(noisy_sum, TENTHS, np.float64).verdict is VerdictKind.CONSISTENT
    assert decide(noisy_sum, TENTHS, model=Model.AS_RUN).verdict is VerdictKind.REFUTED


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_a_loss_that_stays_in_double_precision_refutes(dtype: Any) -> None:
    """A thousandth too much is no rounding, whatever the data's type."""

    def program(coins: Coins, data: Any) -> float:
        return float(coins.release(1.001 * float(data.sum()), NOISE, site="sum"))

    assert decide(program, ([0.0, 0.5], [1.0, 0.5]), dtype).verdict is VerdictKind.REFUTED


def shares(coins: Coins, data: Any) -> float:
    noisy_sum(coins, data)
    return float((data / data.sum()).sum())


#: The shares add up to 1 and to another float than 1, in either width.
SHARED = ([0.6, 0.3, 0.3], [0.7, 0.3, 0.3])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_constant_of_the_reals_is_a_leak_as_run_only(dtype: Any) -> None:
    """Shares add up to one: which float comes out depends on the data, which an adversary of the program
    sees, and which says nothing of the mechanism."""
    shown = {float((x / x.sum()).sum()) for x in (np.array(one, dtype=dtype) for one in SHARED)}
    assert len(shown) == 2
    found = decide(shares, SHARED, dtype)
    assert found.verdict is VerdictKind.INCONCLUSIVE
    assert any("differs by rounding only" in reason for reason in found.reasons)
    assert decide(shares, SHARED, dtype, model=Model.AS_RUN).verdict is VerdictKind.REFUTED


def test_what_is_more_than_rounding_stays_a_leak() -> None:
    """The sum itself, a thousandth of it, the sign of zero and the payload of NaN."""
    for shown in (
        lambda x: float(x.sum()),
        lambda x: np.float32(1 + x.sum() / 1000),
        lambda x: 0.0 if x[0] > 0 else -0.0,
        lambda x: bool(x[0]),
    ):

        def program(coins: Coins, data: Any, shown: Any = shown) -> Any:
            noisy_sum(coins, data)
            return shown(data)

        assert decide(program, ([0.0, 1.0], [1.0, 1.0])).verdict is VerdictKind.REFUTED


UNIT = 2.0**-53


@pytest.mark.parametrize(
    ("left", "right", "data", "wanted"),
    [
        (1.0, 1 + 2 * UNIT, [1.0, 1.0], True),
        (1.0, 1 + 10 * UNIT, [1.0, 1.0], True),
        (1.0, 1 + 12 * UNIT, [1.0, 1.0], False),
        (1.0, 1 + 12 * UNIT, [1.0, 3.0], True),  # numbers of that size
        (1.0, 1 + 2.0**-21, [np.float32(1)], True),
        (1.0, 1 + 2.0**-21, [np.float64(1)], False),
        (1.0, 1.05, np.ones(1000, dtype=np.float16), False),  # never more than half of the digits
        (0.0, -0.0, [1.0], False),
        (float("nan"), 1.0, [1.0], False),
        (float("inf"), 1.0, [1.0], False),
        (1, 2, [1.0], False),
        ([1.0, "a"], [1 + 2 * UNIT, "a"], [1.0], True),
        ([1.0, "a"], [1 + 2 * UNIT, "b"], [1.0], False),
        ([1.0], (1 + 2 * UNIT,), [1.0], False),
        ([1.0], [1 + 2 * UNIT, 0], [1.0], False),
        ({"a": 1.0}, {"a": 1 + 2 * UNIT}, [1.0], True),
        ({"a": 1.0}, {"b": 1 + 2 * UNIT}, [1.0], False),
        (np.float32(1), np.float64(1 + 2 * UNIT), [1.0], False),
        (np.array([1.0, np.inf]), np.array([1 + 2 * UNIT, np.inf]), [1.0], True),
        (np.array([1.0, np.inf]), np.array([1 + 2 * UNIT, -np.inf]), [1.0], False),
        (np.array([1.0]), np.array([1.0, 1.0]), [1.0], False),
    ],
)
def test_what_counts_as_rounding(left: Any, right: Any, data: Any, wanted: bool) -> None:
    """At most eight units and one for each number, of numbers as large as the largest."""
    assert by_rounding(left, right, data=data) is wanted


def test_the_type_of_data_is_that_of_their_narrowest_float() -> None:
    """Wherever it stands; other data are taken for double, and keep their numbers there."""
    narrow = {"a": [np.float32(0.1), 1], "b": (np.ones(2, dtype=np.float16), "text", None)}
    assert float_type(narrow) == np.float16
    assert float_type([1, "text", np.arange(3)]) == np.float64
    wide = in_double(narrow)
    assert float_type(wide) == np.float64
    assert wide["a"] == [float(np.float32(0.1)), 1]
    assert type(wide["b"]) is tuple


def swallowed(coins: Coins, data: Any) -> float:
    """A sum to which a large number was added before it was taken off: rounded to an even number."""
    return float(coins.release(float(2**53 + sum(data.tolist()) - 2**53), NOISE, site="sum"))


def swallowed_by_array(coins: Coins, data: Any) -> float:
    return float(coins.release((data + 2.0**53).sum() - 2.0**53 * len(data), NOISE, site="sum"))


def shown_swallowed(coins: Coins, data: Any) -> float:
    noisy_sum(coins, data)
    return float(2**53 + data[0] / 4 - 2**53)


def shown_in_a_list(coins: Coins, data: Any) -> Any:
    noisy_sum(coins, data)
    return {"a": [1, np.array([1.0, 2**53 + data[0] / 4 - 2**53])], "b": "text"}


DOUBLED = ([0.0, 1.0], [1.0, 1.0])
#: A quarter of each is swallowed: 2 on the left, where the real number is 1.25, and 0 on the right.
QUARTERS = ([5.0, 0.0], [4.0, 0.0])


@needs_modes
@pytest.mark.parametrize(
    ("program", "data"),
    [
        (swallowed, DOUBLED),
        (swallowed, ([0.5, 0.5], [1.5, 0.5])),
        (swallowed, ([0.4], [1.4])),
        (swallowed, ([0.3, 0.7], [1.3, 0.7])),
        (swallowed_by_array, ([0.4], [1.4])),
        (shown_swallowed, QUARTERS),
        (shown_in_a_list, QUARTERS),
    ],
)
def test_a_number_that_the_program_rounds_refutes_no_claim_on_reals(program: Any, data: Any) -> None:
    """The processor's other rounding modes tell what the program's own rounding may be; as run it counts."""
    found = decide(program, data, np.float64)
    assert found.verdict is VerdictKind.INCONCLUSIVE
    assert any("rounding" in reason for reason in found.reasons)
    assert decide(program, data, np.float64, model=Model.AS_RUN).verdict is VerdictKind.REFUTED


@pytest.mark.parametrize(
    "program",
    [
        lambda coins, data: coins.release(2 * float(data.sum()), NOISE, site="sum"),
        lambda coins, data: coins.release(float(2**53 + 2 * data.sum() - 2**53), NOISE, site="sum"),
        lambda coins, data: coins.release(float(2**40 + 2 * data.sum()) - 2**40, NOISE, site="sum"),
        lambda coins, data: float(2**53 + 2 * data.sum() - 2**53),
        lambda coins, data: (data / data.sum() * 1e-3).tolist(),
    ],
)
def test_a_violation_of_that_size_on_exact_numbers_is_refuted(program: Any) -> None:
    """Twice the sum, whatever large number is beside it: nothing is rounded, and shown shares are shown."""
    assert decide(program, DOUBLED, np.float64).verdict is VerdictKind.REFUTED


@needs_modes
def test_a_first_release_of_another_notion_is_rounded_too() -> None:
    """A Gaussian release that rounding moves by 2 in the place of 1: no witness against (epsilon, delta)."""

    def verdict(factor: int) -> VerdictKind:
        def program(coins: Coins, data: Any) -> None:
            value = float(2**53 + factor * sum(data.tolist()) - 2**53)
            coins.release(value, Gaussian(sigma=1), site="sum")

        audit = PrivacyAudit(
            claim=ZeroConcentratedDP(rho="1/2"),
            program=program,
            neighbours=lambda run: [pair(*DOUBLED, np.float64)],
            sites=[Site(pattern="sum", touches=1, total=1)],
        )
        outcome = privacy_outcome(audit, Run(profile="quick", alpha=0.01, seed=0, row_id="row"))
        return judge(audit.claim, outcome.evidence, unmet=outcome.unmet, alpha=0.01).verdict

    assert verdict(1) is VerdictKind.INCONCLUSIVE
    assert verdict(2) is VerdictKind.REFUTED


@needs_modes
def test_a_release_behind_an_outcome_is_rounded_too() -> None:
    """The same behind a coin: a move by 1, which the claim allows, is rounded to 2; as run it counts."""

    def verdict(factor: int, model: Model) -> VerdictKind:
        def program(coins: Coins, data: Any) -> None:
            if coins.observe(Bernoulli(p="1/2"), site="coin"):
                value = float(2**53 + factor * sum(data.tolist()) - 2**53)
                coins.release(value, Gaussian(sigma=1), site="sum")

        audit = PrivacyAudit(
            claim=ApproxDP(epsilon=1, delta="1/10", model=model),
            program=program,
            neighbours=lambda run: [pair(*DOUBLED, np.float64)],
            sites=[Site(pattern="sum", touches=1, total=1)],
        )
        outcome = privacy_outcome(audit, Run(profile="quick", alpha=0.01, seed=0, row_id="row"))
        return judge(audit.claim, outcome.evidence, unmet=outcome.unmet, alpha=0.01).verdict

    assert verdict(1, Model.IDEAL) is VerdictKind.INCONCLUSIVE
    assert verdict(2, Model.IDEAL) is VerdictKind.REFUTED
    assert verdict(1, Model.AS_RUN) is VerdictKind.REFUTED


@needs_modes
def test_the_modes_are_those_of_the_processor_and_end() -> None:
    """Down, up and towards zero, in Python as in numpy; afterwards to the nearest again."""
    one, tiny = 1.0, 2.0**-60
    shown = []
    for mode in MODES:
        with rounding_mode(mode):
            shown.append((one + tiny > 1, -one - tiny < -1, bool((np.ones(5) + tiny > 1).all())))
    assert shown == [(False, True, False), (True, False, True), (False, False, False)]
    with pytest.raises(ZeroDivisionError), rounding_mode(MODES[1]):
        raise ZeroDivisionError
    assert one + tiny == 1


def _converted(coins: Coins, data: Any) -> None:
    coins.release(float(2**53 + sum(data)) - 2**53, NOISE, site="sum")


def _divided(coins: Coins, data: Any) -> None:
    coins.release((2**53 + sum(data)) / 1 - 2**53, NOISE, site="sum")


def _as_number_of_numpy(coins: Coins, data: Any) -> None:
    coins.release(float(np.float64(2**53 - sum(-x for x in data))) - 2**53, NOISE, site="sum")


def _converted_twice(coins: Coins, data: Any) -> None:
    coins.release(float(2**53 + 2 * sum(data)) - 2**53, NOISE, site="sum")


@needs_modes
@pytest.mark.parametrize(
    ("program", "verdict"),
    [
        (_converted, VerdictKind.INCONCLUSIVE),
        (_divided, VerdictKind.INCONCLUSIVE),
        (_as_number_of_numpy, VerdictKind.INCONCLUSIVE),
        (_converted_twice, VerdictKind.REFUTED),
    ],
)
def test_a_conversion_of_a_large_integer_is_rounding(program: Any, verdict: VerdictKind) -> None:
    """2^53 + 1 becomes 2^53, so that one record seems to move the sum by 2; twice the sum really does."""
    audit = PrivacyAudit(
        claim=PureDP(epsilon=1),
        program=program,
        neighbours=lambda run: [Neighbours("one record", [1, 0], [1, 1]), Neighbours("two", [1, 1], [1, 2])],
        sites=[Site("sum", mechanism=laplace_mechanism(sensitivity=1, scale=1))],
    )
    outcome = privacy_outcome(audit, Run(profile="quick", alpha=0.01, seed=0, row_id="row"))
    unmet = outcome.unmet
    assert judge(audit.claim, outcome.evidence, unmet=unmet, alpha=0.01).verdict is verdict


@needs_modes
def test_integers_in_a_mode_follow_it() -> None:
    """Sums, differences, products and quotients of them become the float below, above or towards zero."""
    large = 2**53 + 1
    below, above, zero = (in_mode([1, -1], mode) for mode in MODES)
    assert [float(2**53 + one[0]) for one in (below, above, zero)] == [2.0**53, 2.0**53 + 2, 2.0**53]
    assert [float(-(2**53) + one[1]) for one in (below, above, zero)] == [
        -(2.0**53) - 2,
        -(2.0**53),
        -(2.0**53),
    ]
    assert (large * below[0]) / 1 == 2.0**53
    assert (large * above[0]) / 1 == 2.0**53 + 2
    assert 1 / (3 * below[0]) < Fraction(1, 3) < 1 / (3 * above[0])
    assert [below[0] + 2, 5 // above[0], 7 % (3 * zero[0]), abs(zero[1])] == [3, 5, 1, 1]
