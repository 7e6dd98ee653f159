"""Exact probabilities of events of the output refute wrong programs and no right ones."""

import math
from fractions import Fraction
from functools import partial

import numpy as np
import pytest

from dpaudit import ApproxDP, GaussianDP, PureDP, audit
from dpaudit.certify.witnesses.recompute import recompute
from dpaudit.core.data import Integers, Interval, Records
from dpaudit.core.evidence import evidence_from_json
from dpaudit.core.verdicts import VerdictKind
from dpaudit.distributions import Laplace
from dpaudit.prover.forms import Form
from dpaudit.prover.values.noise_regions import Noise, enclosed, estimated
from dpaudit.prover.values.output_events import event_counterexample
from tests.prover.values import witnesses

ONE = PureDP(epsilon=1)
UNIT = Records(Interval(0, 1), size=6)
ROWS = Records(Interval(0, 1), size=8, width=4)
WHOLE = Records(Integers(0, 4), size=6)


witness_of = partial(witnesses.witness_of, search=event_counterexample)


@pytest.mark.parametrize("law", ["laplace", "gaussian", "exponential", "gumbel", "uniform"])
def test_the_probability_of_a_star_agrees_with_samples(law):
    """The enclosure, the estimate and a frequency of samples agree, and the enclosure is narrow."""
    rng = np.random.default_rng(0)
    noise = {f"n{k}": Noise(law, Fraction(k + 1, 2)) for k in range(4)}
    draw = {"laplace": rng.laplace, "gaussian": rng.normal, "gumbel": rng.gumbel}.get(law)
    standard = {"exponential": rng.exponential, "uniform": rng.uniform}.get(law) or draw
    n = [standard(size=200_000) * (k + 1) / 2 for k in range(4)]
    one, half = Fraction(1), Fraction(1, 2)
    rows = [
        Form({"n0": one, "n1": -one}, Fraction(1, 4)),
        Form({"n0": -one, "n2": 2 * one}, -one),
        Form({"n2": -one, "n0": half}, -2 * one),
        Form({"n3": one}, -one),
    ]
    inside = (n[0] - n[1] <= -0.25) & (2 * n[2] - n[0] <= 1) & (n[0] / 2 - n[2] <= 2) & (n[3] <= 1)
    low, high = enclosed(rows, noise)
    assert 0 <= high - low < Fraction(1, 10**40)
    assert float(low) == pytest.approx(estimated(rows, noise), rel=1e-8)
    assert float(low) == pytest.approx(inside.mean(), abs=0.005)


def test_a_chain_of_comparisons_has_no_probability():
    """A component that is no star is left out instead of being approximated."""
    one = Fraction(1)
    rows = [Form({f"n{k}": one, f"n{k + 1}": -one}) for k in range(3)]
    noise = {f"n{k}": Noise("laplace", one) for k in range(4)}
    assert enclosed(rows, noise) is None


def svt(data, rng, *, queries=4.0, level=2.0, count=1):
    top = 4 + rng.laplace(scale=level)
    out = []
    for answer in data.sum(axis=0):
        above = answer + rng.laplace(scale=queries) >= top
        out.append(above)
        if above:
            count -= 1
            if count == 0:
                break
    return out


def svt_twice(data, rng):
    return svt(data, rng, count=2, queries=8.0)


def svt_fresh(data, rng):
    out = []
    for answer in data.sum(axis=0):
        out.append(answer + rng.laplace(scale=4) > 4)
    return out


def above(data, rng):
    noisy = data.sum() + rng.laplace(scale=1)
    return noisy if noisy > 3 else None


def common_noise_erased(data, rng):
    noise = rng.laplace(scale=1)
    return data.sum() + noise, 2 * (data.sum() + noise)


def answered(data, rng):
    return [int(one > 0) if rng.random() < 0.73 else int(one <= 0) for one in data[:4]]


def any_of_two(data, rng):
    return bool(rng.integers(2)) or bool(data.sum() + rng.laplace(scale=1) > 3)


def equal_in_reals(data, rng):
    return (data - data.mean()).sum() * 1e3 + rng.laplace(scale=1e-9) > 0


def constant_up_to_rounding(data, rng):
    return ((data - data.mean()).sum() > 0) + rng.laplace(scale=1e-3)


def caught(data, rng):
    noisy = data.sum() + rng.laplace(scale=1)
    try:
        return float(noisy)
    except Exception:
        return data.sum()


def typed(data, rng):
    noisy = data.sum() + rng.laplace(scale=1)
    return noisy if isinstance(noisy, float) else data.sum()


def typed_in_small_units(data, rng):
    noisy = 1e-8 * data.sum() + rng.laplace(scale=1e-9)
    return 0.0 if isinstance(noisy, float) else noisy


def typed_array(data, rng):
    noisy = data + rng.laplace(scale=1, size=len(data))
    return noisy if noisy.dtype == float else data


def named(data, rng):
    return rng.laplace(scale=1) + (data.sum() if "Generator" in type(rng).__name__[:9] else 9 * data.sum())


def shown_by_coins(coins, data):
    level = coins.draw(Laplace(scale=2), site="level")
    if sum(data) + coins.draw(Laplace(scale=4), site="query") > 3 + level:
        coins.reveal(True, site="above")


def normal(data, rng):
    return data.sum() + rng.normal(scale=1)


@pytest.mark.parametrize("seconds", witnesses.SEARCHED)
@pytest.mark.parametrize(
    ("function", "claim", "data"),
    [
        *[(f, ONE, ROWS) for f in (svt, svt_twice)],
        (svt_fresh, ONE, ROWS),
        *[
            (f, ONE, UNIT)
            for f in (
                *(above, common_noise_erased, answered, any_of_two, equal_in_reals),
                *(
                    constant_up_to_rounding,
                    caught,
                    typed,
                    typed_in_small_units,
                    typed_array,
                    named,
                    shown_by_coins,
                ),
            )
        ],
        (normal, GaussianDP(mu=1), UNIT),
        (normal, ApproxDP(epsilon=1, delta="127/1000"), UNIT),
    ],
)
def test_a_right_program_has_no_witness(function, claim, data, seconds):
    """Programs whose loss is at most the claim have no witness, tricks against the symbols included."""
    assert witness_of(function, claim, data, seconds=seconds) is None


def svt_without_query_noise(data, rng):
    level = 4 + rng.laplace(scale=2)
    return [answer >= level for answer in data.sum(axis=0)]


def svt_without_limit(data, rng):
    return svt(data, rng, queries=2.0, count=9)


def normal_svt(data, rng):
    level = 4 + rng.normal(scale=0.5)
    return [answer + rng.normal(scale=0.5) >= level for answer in data.sum(axis=0)]


def shared(data, rng):
    return np.bincount(data, minlength=5) + rng.laplace(scale=2)


def coin(data, rng):
    return [int(one > 0) if rng.random() < 0.9 else int(one <= 0) for one in data[:3]]


def laplace(data, rng):
    return data.sum() + rng.laplace(scale=0.5)


def leaking_at_times(data, rng):
    return data.sum() if rng.random() < 0.001 else None


def above_too_often(coins, data):
    level = coins.draw(Laplace(scale="1/2"), site="level")
    if sum(data) > 3 + level:
        coins.reveal(True, site="above")


def above_too_often_in_steps(coins, data):
    level = coins.draw(Laplace(scale="1/2"), site="level")
    if sum(data) > 3 + level:
        coins.reveal(True, site="above")
    yield 0


@pytest.mark.parametrize(
    ("function", "claim", "data", "least"),
    [
        (svt_without_query_noise, ONE, ROWS, math.inf),
        (svt_without_limit, ONE, ROWS, 1.1),
        (normal_svt, ONE, ROWS, 1.5),
        (shared, ONE, WHOLE, math.inf),
        (coin, ONE, UNIT, 2.19),
        (above_too_often, ONE, UNIT, 1.9),
        (above_too_often_in_steps, ONE, UNIT, 1.9),
        (laplace, ONE, UNIT, 1.99),
        (laplace, ApproxDP(epsilon=1, delta="1/10"), UNIT, 0.35),
        (laplace, GaussianDP(mu=1), UNIT, 1.05),
        (leaking_at_times, ONE, UNIT, math.inf),
        (leaking_at_times, ApproxDP(epsilon=1, delta="1/10000"), UNIT, 0.0009),
    ],
)
def test_a_wrong_program_has_a_witness_that_can_be_checked(function, claim, data, least):
    """The witness from a file gives its bound again, which is above the claim and near the true loss."""
    found = witness_of(function, claim, data)
    assert found is not None
    again = recompute(evidence_from_json(found.to_json()), claim)
    assert again == found.bound
    assert (math.inf if again is None else float(again)) >= least


def test_audit_uses_the_events():
    """An audit of a sparse vector without noise on the queries is refuted by a table."""
    found = audit(svt_without_query_noise, ONE, data=ROWS)
    assert (found.verdict, found.witness.form) == (VerdictKind.REFUTED, "tables")
