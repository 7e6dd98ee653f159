"""Proofs of protocols that release integer vectors with binomial noise. Wrong versions are not verified."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest

from audits.concurrent_shuffle.rows import protocols as concurrent
from audits.glm_bandits.rows import descent
from audits.shuffle_linear_bandits.protocol_runs import algorithm
from audits.shuffle_linear_bandits.rows import protocols
from dpaudit.coins import Coins
from dpaudit.core.views import SHUFFLER_OUTPUT
from dpaudit.distributions import Bernoulli
from dpaudit.prover.values.prove import ValuesProof
from dpaudit.reference.algorithms.contextual.batch_counters import Release, binomial_sums, by_batches
from dpaudit.reference.algorithms.contextual.concurrent_linucb_protocol import ConcurrentLinUCB, by_height
from dpaudit.reference.algorithms.contextual.protocol_instances import declared_users
from dpaudit.reference.mechanisms.binomial_vectors import VectorSheet, printed_sheet
from dpaudit.reference.mechanisms.shuffled_gradient_descent import vector_call
from tests.followed import proof_of

proved = partial(proof_of, files=[__file__])


# P_GD


def test_the_descent_is_proved() -> None:
    """Both calls together cost what the exact distributions of the noise give, to three digits."""
    found = proved(descent.RIGHT, descent.TWICE, descent.DATA)
    assert found.verdict == "verified"
    assert found.bound is not None
    assert float(found.bound) == pytest.approx(0.3989, abs=1e-3)


def raw_gradients(coins: Coins, step: int, gradients: Any) -> Any:
    coins.reveal(gradients.sum(axis=0), site="raw", to=SHUFFLER_OUTPUT)
    return vector_call(descent.SHEET, descent.LENGTH)(coins, step, gradients)


def unrounded(coins: Coins, step: int, gradients: Any) -> Any:
    """Add integer noise to numbers that are not whole, which reveals their fractional parts."""
    sent = descent.clipped(gradients, descent.LENGTH) / descent.LENGTH
    return coins.release(sent.sum(axis=0), descent.SHEET.noise, site="gradient", to=SHUFFLER_OUTPUT)


@pytest.mark.parametrize(
    "program",
    [
        descent.halved(0),
        descent.halved(1),
        descent.features_shown,
        descent.reused,
        *(
            replace(descent.RIGHT, call=call)
            for call in (raw_gradients, unrounded, descent.unclipped, descent.doubled_on_one_side)
        ),
        replace(descent.RIGHT, steps=3),
        replace(
            descent.RIGHT, call=vector_call(descent.ALONE, descent.LENGTH / 2), batches=descent.read_twice
        ),
        replace(descent.RIGHT, call=vector_call(replace(descent.SHEET, precision=2), descent.LENGTH)),
    ],
)
def test_wrong_descents_are_not_verified(program: Any) -> None:
    """Less noise, shown data, reused noise, no rounding, no clipping, and more steps."""
    if isinstance(program, type(descent.RIGHT)) and program.batches is descent.read_twice:
        assert proved(program, descent.ONCE, descent.DATA).verdict != "verified"
    else:
        assert proved(program, descent.TWICE, descent.DATA).verdict != "verified"


# P_Vec

BITS = protocols.binomial(epsilon=Fraction(15), delta=Fraction(49, 100), batch=2)
SHEET = printed_sheet(dim=2, batch_size=2, epsilon=Fraction(15), delta=Fraction(49, 100))
USERS = declared_users(2)


def of_two(release: Release) -> ValuesProof:
    """Prove one batch of two users for the claim of the row."""
    program = algorithm(by_batches(release), batch=2)
    return proved(program, replace(BITS.claim, domain=USERS.words), USERS)


def test_the_bits_are_proved() -> None:
    """One batch of P_Vec is proved for all users, with every rounding."""
    assert of_two(binomial_sums(SHEET)).verdict == "verified"


def raw(coins: Coins, batch: Any) -> Any:
    coins.reveal(batch[0], site="raw", to=SHUFFLER_OUTPUT)
    return binomial_sums(SHEET)(coins, batch)


def not_rounded(coins: Coins, batch: Any) -> Any:
    return coins.release(batch.sum(axis=0) * SHEET.precision, SHEET.noise, site="sum", to=SHUFFLER_OUTPUT)


def rounding_shown(coins: Coins, batch: Any) -> Any:
    """Show the coins that round, which depend on the data."""
    for row in batch:
        for value in (row + 1) * SHEET.precision:
            coins.observe(Bernoulli(p=value - np.floor(value)), site="coin", to=SHUFFLER_OUTPUT)
    return binomial_sums(SHEET)(coins, batch)


@pytest.mark.parametrize(
    "release",
    [
        raw,
        not_rounded,
        rounding_shown,
        binomial_sums(replace(SHEET, trials=8)),
        binomial_sums(replace(SHEET, precision=1000 * SHEET.precision)),
    ],
)
def test_broken_bits_are_not_verified(release: Release) -> None:
    """Raw statistics, no rounding, coins that are shown, less noise, and more precision."""
    assert of_two(release).verdict != "verified"


@pytest.mark.parametrize("share", [1, 2])
def test_concurrent_shufflers_are_proved(share: int) -> None:
    """Every batch of the tree counts, and with little noise there is no proof."""
    audit = concurrent.bandit(n_shufflers=1, share=share)
    data = declared_users(4)
    assert proved(audit.program, audit.claim, data).verdict == "verified"
    assert isinstance(audit.program, ConcurrentLinUCB)
    sheet = VectorSheet(dim=2, batch_size=2, precision=4, trials=8)
    for release in (binomial_sums(sheet), raw, not_rounded):
        broken = replace(audit.program, release=by_height([release]))
        assert proved(broken, audit.claim, data).verdict != "verified"
