"""Costs of the printed constants: nodes of an explicit tree, calls of a played loop, bits by hand."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from audits.glm_bandits.costs import bit_bill, node_updates, prefix_nodes
from audits.glm_bandits.printed_parameters import JointParameters
from audits.glm_bandits.rows.costs import _bits_of_users
from dpaudit.core.errors import InvalidParameterError
from dpaudit.kernel.ball import arb
from dpaudit.reference.mechanisms.binomial_vectors import VectorSheet
from dpaudit.reference.mechanisms.shuffler import shuffle
from dpaudit.reference.mechanisms.vector_messages import user_messages


def test_nodes_of_an_explicit_tree() -> None:
    """Every dyadic block of 64 leaves, completed once; a prefix is the fewest blocks, found greedily."""
    blocks = [(i * 2**k, (i + 1) * 2**k) for k in range(7) for i in range(64 >> k)]
    for t in range(1, 65):
        assert node_updates(t) == sum(end == t for _, end in blocks)
        place, used = 0, 0
        while place < t:
            place = max(end for start, end in blocks if start == place and end <= t)
            used += 1
        assert prefix_nodes(t) == used


def _joint(**changed: object) -> JointParameters:
    """One arm of norm 1, that is θ*, S = 1, c = 1 in (21)."""
    kappa = 2 + arb(1).exp() + arb(-1).exp()
    values = {
        "T": 10**8, "d": 1, "S": Fraction(1), "kappa": kappa, "kappa_star": kappa,
        "epsilon": Fraction(1, 10), "delta": Fraction(1, 10), "zeta": Fraction(1, 20),
    }  # fmt: skip
    return JointParameters(**{**values, **changed})  # type: ignore[arg-type]


def test_explored_rounds_against_a_loop() -> None:
    """V from lambda_max on, one more a round, until 1/V < 1/(gamma² kappa): the loop's count, in floats."""
    horizon, epsilon, delta, zeta = 10**8, 0.1, 0.1, 0.05
    kappa = 2 + 2 * math.cosh(1)
    noise = math.log(32 / delta)
    ridge = 64 * 5 * noise * math.log(horizon) * (math.log(16 * horizon / zeta) + 1) / (epsilon * kappa)
    gamma = math.log(horizon / zeta) ** 2 * noise / (epsilon * kappa**2)
    value, count = ridge * 6 / 5, 0
    while count < 5000 and 1 / value >= 1 / (gamma**2 * kappa):
        value, count = value + 1, count + 1
    assert count == 5000
    assert float(_joint().surely_explored().mid()) == pytest.approx(gamma**2 * kappa - ridge * 6 / 5)


def test_explored_rounds_of_arms_in_turn_grow_like_the_cube_of_d() -> None:
    """(19) and (21) written out in floats at d = 10^4, T = 10^30, and d³ up to logarithms from there on."""
    horizon, dim, zeta = 10**30, 10**4, 0.05
    kappa, noise = 2 + 2 * math.cosh(1), math.log(320)
    tail = math.log(16 * horizon / zeta) + 100
    top = 64 * 402 * noise * math.log(horizon) * tail / 4
    gamma = dim * math.log(horizon * dim / zeta) ** 2 * noise / 16
    found = [
        float(_joint(T=horizon, d=d, epsilon=Fraction(1), kappa_star=arb(4)).surely_explored().mid())
        for d in (dim, 10 * dim)
    ]
    assert found[0] == pytest.approx(dim * (gamma**2 * kappa - top))
    assert 900 < found[1] / found[0] < 1300


def test_criterion_one_need_not_be_met_where_lambda_is_larger() -> None:
    """At ε = 1 and d = 1 no round is certain up to T = 10^16: not every setting refutes."""
    for power in (4, 8, 16):
        assert _joint(T=10**power, epsilon=Fraction(1)).surely_explored() == 0


def test_a_bill_by_hand() -> None:
    """n = 100, d = 1, ε = 1, δ = 1/10: g = 20, b = ⌈960000 log²(80)⌉, 42 steps or fewer by the formula."""
    bill = bit_bill(n=100, dim=1, epsilon=1.0, delta=0.1)
    assert bill.precision == 20
    assert bill.trials == math.ceil(24e4 * 400 / 100 * math.log(80) ** 2)
    assert bill.matrix_bits == bill.vector_bits == 20 + bill.trials
    assert bill.steps == math.floor(10_000 / math.log(1000) ** 3)
    assert bill.descent_bits is not None
    assert bill.descent_bits > bill.steps**2 * bill.vector_bits


def test_less_than_one_step_is_said() -> None:
    """Few users: no iteration, and no bill."""
    bill = bit_bill(n=10, dim=3, epsilon=0.1, delta=0.01)
    assert bill.steps is None
    assert bill.descent_bits is None


def test_outside_its_range_the_protocol_has_no_bill() -> None:
    """epsilon above 15."""
    with pytest.raises(InvalidParameterError):
        bit_bill(n=10, dim=1, epsilon=16.0, delta=0.1)


def test_bits_of_users_through_the_shuffler() -> None:
    """The same users' messages, shuffled: every label of the vector and both orders of the matrix have (g +
    b) n bits, and the row's counts are their sums."""
    sheet, n = VectorSheet(dim=3, batch_size=4, precision=6, trials=80), 4
    rng = np.random.default_rng(0)
    sent = [user_messages(np.zeros(9), sheet, rng) for _ in range(n)]
    counts = Counter(message.label for message in shuffle(sent, rng))
    assert set(counts.values()) == {86 * n}
    assert set(counts) == {*range(3), *((i, j) for i in range(3) for j in range(3))}
    assert _bits_of_users(n, sheet) == (86 * n * 3, 86 * n * 9)
