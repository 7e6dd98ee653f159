"""Theorem 3's protocol: its parameter sheet, the total in its proof, its certificates, and one batch and the
whole of Algorithm 1 with the adversarial and the benign S."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from audits.distributed_mab.noise_privacy import BATCHES, HORIZON, largest_log_ratio
from dpaudit.certify.build import Proof, discrete_laplace_mechanism, post_processing, relaxed_release
from dpaudit.coins import Choice, Coins, Program, force
from dpaudit.coins.enumerator import visible_values
from dpaudit.core.claims import PureDP
from dpaudit.core.evidence import Witness
from dpaudit.distributions import Distribution, WrappedMod
from dpaudit.kernel.ball import ball
from dpaudit.reference.algorithms.mab.batched_proofs import in_parallel
from dpaudit.reference.algorithms.mab.distributed_elimination import Variant, program, variant
from dpaudit.reference.algorithms.mab.steered_histories import steered
from dpaudit.reference.mechanisms.batch_protocol import BatchProtocol
from dpaudit.reference.mechanisms.decoding_error import Rewards, error_interval
from dpaudit.reference.mechanisms.modular_sum import Aggregator, decoded_sum, secure_sum
from dpaudit.reference.mechanisms.parameter_sheet import Sheet, ShuffleVariant, shuffle_sheet
from dpaudit.reference.mechanisms.relaxed_aggregation import (
    CarrySum,
    GarbledSum,
    LeakyCoin,
    LeakySum,
)
from dpaudit.reference.mechanisms.relaxed_views import leaky_event
from dpaudit.replay.hidden_draws import mixture_witness, program_event

__all__ = [
    "EPSILON",
    "algorithm_witness",
    "batches_proof",
    "carry_sheet",
    "carry_witness",
    "chain_total",
    "failure_bounds",
    "leaky_program",
    "leaky_witness",
    "one_arm_wins",
]

#: The server's view in Theorem 3.
ADMISSIBLE = "the output of any (ε/4, q)-relaxation of secure aggregation (Definition 9)"
#: The server's view of the whole algorithm.
EPSILON = Fraction(1)


def _sheet_of(users: int, epsilon: Fraction, noise: ShuffleVariant, *, horizon: int = HORIZON) -> Sheet:
    """Return Theorem 3's sheet at p = 1/T, hence p' = 1/(2T)."""
    return shuffle_sheet(users=users, epsilon=epsilon, tail_prob=Fraction(1, horizon), variant=noise)


def _scale(sheet: Sheet, epsilon: Fraction, noise: ShuffleVariant) -> Fraction:
    """Return the scale of a batch's total noise: g/ε as printed, g/ε' repaired."""
    return sheet.precision / (epsilon if noise == "printed" else epsilon / 2)


def chain_total(n: int, epsilon: Fraction, noise: ShuffleVariant) -> Any:
    """Return 2 ε̂ + LLR(Σ R(x), Σ R(x')) with the sheet's own noise, wraps included, for encodings 0 and
    g."""
    sheet = _sheet_of(n, epsilon, noise)
    here, there = (
        WrappedMod(sheet.total_noise(), modulus=sheet.modulus, offset=total) for total in (0, sheet.precision)
    )
    return ball(epsilon / 2) + largest_log_ratio(here, there)


# From above


def batches_proof(epsilon: Fraction, noise: ShuffleVariant) -> Proof:
    """Compose every batch size of a horizon of 2^20, with any admissible S. The batch of each user depends on
    earlier outputs."""
    parts = []
    for sheet in (_sheet_of(users, epsilon, noise) for users in BATCHES):
        scale = _scale(sheet, epsilon, noise)
        laplace = discrete_laplace_mechanism(sensitivity=sheet.precision, scale=scale)
        residue = post_processing(laplace, function="reduction modulo m")
        parts.append(relaxed_release(residue, security=epsilon / 4, release=ADMISSIBLE))
    return post_processing(in_parallel(parts), function="POST, analyzer, confidence bounds, elimination")


# From below: one batch


def leaky_witness(
    claim: PureDP,
    *,
    users: int,
    epsilon: Fraction,
    noise: ShuffleVariant,
    reach: int,
    horizon: int = HORIZON,
) -> Witness:
    """Return one batch with ``LeakySum`` about the user whose reward changes, with the hidden messages summed
    out. Messages within ``reach`` + ε noise scales are listed one by one."""
    sheet = _sheet_of(users, epsilon, noise, horizon=horizon)
    listed = math.ceil((reach + epsilon) * _scale(sheet, epsilon, noise))
    return mixture_witness(
        claim,
        leaky_event(sheet, LeakyCoin.worst(epsilon / 4), reach=listed),
        description=(
            f"{users} users, all rewards 0 but user 0's, which is 1 or else 0; LeakySum looks at user 0; the "
            f"server sees ŷ = g = {sheet.precision} and the coin 1"
        ),
    )


def carry_sheet(users: int, epsilon: Fraction, noise: ShuffleVariant) -> Sheet:
    """Return a sheet whose modulus is small enough to enumerate all messages."""
    return _sheet_of(users, epsilon, noise, horizon=2**10)


def carry_witness(claim: PureDP, *, users: int, epsilon: Fraction, noise: ShuffleVariant) -> Witness:
    """Compare all rewards 0 with one reward of 1 under ``CarrySum``: the server sees the residue 0 and the
    carry 0."""
    sheet = carry_sheet(users, epsilon, noise)
    protocol = BatchProtocol(sheet=sheet, aggregator=CarrySum(secagg_epsilon=epsilon / 4), grid=1)
    zeros, one = np.zeros(users), np.eye(users)[0]
    event = program_event(
        lambda coins, x: protocol(coins, x), zeros, one, (0, 0, decoded_sum(0, sheet)), view=claim.view
    )
    words = f"{users} users, all rewards 0, or user 0's 1; CarrySum; the server sees residue 0 and carry 0"
    return mixture_witness(claim, event, description=words)


# From below: one event of the whole run

#: Batch and horizon of the enumerated program: both arms' batches of 2, then of 4 users, and a round.
LEAKY, ROUNDS = 4, 13


def _chosen(noise: ShuffleVariant) -> Variant:
    """Return Algorithm 1 with Theorem 3's protocol at ε = 1, p = 1/2."""
    return variant(f"shuffle_dp_se/{noise}", epsilon=EPSILON, failure_prob=Fraction(1, 2))


def leaky_program(noise: ShuffleVariant) -> Program:
    """Return Algorithm 1 with ``LeakySum`` in every batch."""
    return program(_chosen(noise), aggregator=LeakySum(secagg_epsilon=EPSILON / 4), grid=1)


class _LeakyOnce:
    """An ``Aggregator`` for one run: ``LeakySum`` in the first batch of ``LEAKY`` users, perfect aggregation
    in all others. Both are admissible, and the choice for each batch is public."""

    waiting = True

    def __call__(self, coins: Coins, distributions: Sequence[Distribution], sheet: Sheet) -> Any:
        leaks = self.waiting and sheet.users == LEAKY
        self.waiting = self.waiting and not leaks
        chosen: Aggregator = LeakySum(secagg_epsilon=EPSILON / 4) if leaks else secure_sum
        return chosen(coins, distributions, sheet)


def algorithm_witness(claim: PureDP, noise: ShuffleVariant) -> Witness:
    """Return an event of two arms over 13 rounds, with LeakySum in arm 1's batch of 4 users. All rewards are
    0, except that the reward of arm 1 in round 5, the first of this batch, is 1 or 0. Every hidden message of
    the program is summed out."""
    chosen = _chosen(noise)

    def run(coins: Coins, data: Any) -> Any:
        return program(chosen, aggregator=_LeakyOnce(), grid=1)(coins, data)

    zeros = np.zeros((ROUNDS, 2))
    one = zeros.copy()
    one[LEAKY, 0] = 1.0
    shown = {("aggregate", 2): chosen.sheet(LEAKY).precision, ("coin", 0): 1}

    def choice(site: str, occurrence: int, distribution: Distribution) -> Any:
        return shown.get((site, occurrence), 0 if site == "aggregate" else None)

    recording = force(run, one, choice, rng=np.random.default_rng(0))
    seen = visible_values(recording, claim.view)
    event = program_event(run, one, zeros, seen, view=claim.view)
    return mixture_witness(claim, event, description=" ".join((algorithm_witness.__doc__ or "").split()))


def one_arm_wins(noise: ShuffleVariant, best: int) -> Choice:
    """Return the history in which arm ``best`` of two has the largest decoded sum of every batch and the
    other arm the smallest. The other arm is eliminated."""
    ways = steered(_chosen(noise), BATCHES, lambda k: k % 2 == best)
    return lambda site, occurrence, distribution: (
        ways(site, occurrence, distribution) if site == "aggregate" else None
    )


# Assumption 1


def failure_bounds(
    chosen: Variant, n: int, *, p: Fraction, mean: Fraction, rewards: Rewards
) -> tuple[float, float]:
    """Return P(|n_a| > radius at p) in a batch of ``n`` users, rounded down and up: with ``GarbledSum`` at q
    = p', half the p of the sheet, and the largest value under any (ε̂, p')-relaxation."""
    sheet, q, tail, spread = chosen.sheet(n), chosen.failure_prob / 2, chosen.tail(n), math.log(2 / p)
    radius, moved = tail.sigma * math.sqrt(spread) + tail.h * spread, GarbledSum(secagg_error=q).offset(sheet)
    return error_interval(sheet, radius, mean=mean, rewards=rewards, off=q, moved=moved)
