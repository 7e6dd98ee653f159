"""Theorem 3: privacy with a relaxed secure aggregation, its proof's chain, and the premise of Definition 9.

The chain is 2 ε̂ + LLR(Σ). The theorem sets ε̂ = ε/4 and ε' = ε/2, and prints Pólya(1/n, e^{-ε/g}): noise for ε
and not for ε'. Then the chain adds up to 3ε/2. It is not a loose proof: with ``LeakySum``, which Definition 9
admits, the server's view of one batch costs as much, up to what the user's own share of noise hides. With
noise for ε' the chain costs ε, for every admissible S. The whole of Algorithm 1: ``shuffle_algorithm``;
Assumption 1: ``shuffle_assumption``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from audits.distributed_mab import relaxed_premise, shuffle_algorithm, shuffle_assumption
from audits.distributed_mab.noise_privacy import BATCHES, HORIZON, add_privacy_row, largest_log_ratio
from audits.distributed_mab.relaxed_witness import ADMISSIBLE, leaky_event, mixture_witness, program_event
from audits.inequalities import Inequality, Point, add_steps
from dpaudit.claims import PureDP
from dpaudit.evidence import Evidence, Witness
from dpaudit.kernel.ball import ball
from dpaudit.laws import WrappedMod
from dpaudit.proofs.build import (
    Proof,
    compose_parallel,
    discrete_laplace_mechanism,
    post_processing,
    relaxed_release,
)
from dpaudit.suite import Run, Suite
from dpaudit.views import SERVER, View
from mechanisms.batch_protocol import BatchProtocol
from mechanisms.modular_sum import decoded_sum
from mechanisms.parameter_sheet import Sheet, ShuffleVariant, shuffle_sheet
from mechanisms.relaxed_aggregation import CarrySum, LeakyCoin, carry_loss

__all__ = [
    "DOMAIN",
    "add_rows",
    "batches_proof",
    "carry_witness",
    "chain_total",
    "leaky_witness",
    "sheet_of",
]

DOMAIN = "a user's reward in [0, 1], used once; S any (ε/4, q)-relaxation of secure aggregation"

#: Listed messages reach that many noise scales, and ε more, beyond 0 and g; the rest of the mass is charged
#: in full to an event whose probability falls like e^-ε.
QUICK_REACH, FULL_REACH = 2, 5
#: All messages are enumerated: a smaller modulus.
CARRY_HORIZON = 2**10


def add_rows(suite: Suite) -> None:
    """The rows on Theorem 3 and Definition 9."""
    relaxed_premise.add_rows(suite)
    _chain(suite)
    _printed(suite)
    _repaired(suite)
    _benign(suite)
    shuffle_algorithm.add_rows(suite)
    shuffle_assumption.add_rows(suite)


def sheet_of(users: int, epsilon: Fraction, variant: ShuffleVariant, *, horizon: int = HORIZON) -> Sheet:
    """Theorem 3's sheet at p = 1/T, hence p' = 1/(2T)."""
    return shuffle_sheet(users=users, epsilon=epsilon, tail_prob=Fraction(1, horizon), variant=variant)


# The chain


def chain_total(n: int, epsilon: Fraction, variant: ShuffleVariant) -> Any:
    """2 ε̂ + LLR(Σ R(x), Σ R(x')) with the sheet's own noise, wraps included: encodings 0 against g."""
    sheet = sheet_of(n, epsilon, variant)
    noise, m = sheet.total_noise(), sheet.modulus
    here, there = (WrappedMod(noise, modulus=m, offset=total) for total in (0, sheet.precision))
    return ball(epsilon / 2) + largest_log_ratio(here, there)


def _chain(suite: Suite) -> None:
    def points(run: Run) -> list[Point]:
        # Small batches: in larger ones the wraps that keep the total below ε are lost in the balls.
        users = [2, *run.choose(quick=[], full=[4, 8])]
        budgets = ["1", "8", *run.choose(quick=[], full=["1/10"])]
        return [{"n": n, "epsilon": Fraction(e)} for n in users for e in budgets]

    cases: list[tuple[str, ShuffleVariant, str, str, str]] = [
        ("CZ23-T3P/chain", "printed", "ε", "refuted", "ε/2 + ε = 3ε/2: the theorem says ε"),
        ("CZ23-T3P/chain/repaired", "repaired", "ε'", "verified", "ε/2 + ε' = ε"),
    ]
    for id_, variant, noise, expect, note in cases:
        add_steps(
            suite,
            id_,
            title=f"Theorem 3's chain 2ε̂ + LLR(Σ) adds up to ε, with ε̂ = ε/4 and noise for {noise}",
            steps=[
                Inequality(
                    name="chain",
                    text=(
                        f"2ε̂ + LLR(Σ R(x) mod m, Σ R(x') mod m) <= ε, Pólya(1/n, e^(-{noise}/g)), on the grid"
                    ),
                    left=lambda n, epsilon, variant=variant: chain_total(n, epsilon, variant),
                    right=lambda n, epsilon: ball(epsilon),
                    points=points,
                )
            ],
            about=(
                "Evaluate the last line of the proof with the sheet's own numbers: the exact "
                "largest log-ratio of the "
                "aggregate over all residues, and twice ε̂."
            ),
            source="Theorem 3, its proof",
            scope="n = 2, ε = 1, 8 (full profile: n = 4, 8, ε = 1/10 too), T = 2^20",
            expect=expect,
            notes=[note],
        )


# The protocol, for every batch


def batches_proof(epsilon: Fraction, variant: ShuffleVariant) -> Proof:
    """Every batch size of a horizon of 2^20 at fixed disjoint positions, with any admissible S."""
    parts = []
    for users in BATCHES:
        g = sheet_of(users, epsilon, variant).precision
        scale = g / (epsilon if variant == "printed" else epsilon / 2)
        residue = post_processing(
            discrete_laplace_mechanism(sensitivity=g, scale=scale), function="reduction modulo m"
        )
        parts.append(relaxed_release(residue, security=epsilon / 4, release=ADMISSIBLE))
    return post_processing(compose_parallel(parts), function="POST, analyzer, elimination")


def leaky_witness(
    claim: PureDP, *, users: int, epsilon: Fraction, variant: ShuffleVariant, reach: int
) -> Witness:
    """One batch with ``LeakySum`` about the user whose reward changes, the hidden messages summed out; those
    within ``reach`` + ε noise scales are listed one by one."""
    sheet = sheet_of(users, epsilon, variant)
    scale = sheet.precision / (epsilon if variant == "printed" else epsilon / 2)
    event = leaky_event(sheet, LeakyCoin.worst(epsilon / 4), reach=math.ceil((reach + epsilon) * scale))
    return mixture_witness(
        claim,
        event,
        description=(
            f"{users} users, all rewards 0 but user 0's, which is 1 or else 0; LeakySum looks at "
            "user 0; the server "
            f"sees ŷ = g = {sheet.precision} and the coin 1"
        ),
    )


def _claim(epsilon: Fraction) -> PureDP:
    return PureDP(epsilon=epsilon, view=View.of(SERVER), domain=DOMAIN)


def _both_sides(
    run: Run,
    claim: PureDP,
    *,
    users: tuple[Sequence[int], Sequence[int]],
    epsilon: Fraction,
    variant: ShuffleVariant,
) -> list[Evidence]:
    """From below in batches of ``users`` (quick profile, full profile), from above for all."""
    reach = run.choose(quick=QUICK_REACH, full=FULL_REACH)
    below = [
        leaky_witness(claim, users=n, epsilon=epsilon, variant=variant, reach=reach)
        for n in run.choose(quick=users[0], full=users[1])
    ]
    return [*below, batches_proof(epsilon, variant).certify(claim)]


def _printed(suite: Suite) -> None:
    about = (
        "One batch with LeakySum, which CZ23-T3P/premise certifies: an event of the server's "
        "view, the users' hidden "
        "messages summed out, its probability bounded in balls from below on one input and from "
        "above on the other. "
        "The certificate bounds the loss for every admissible S and all batch sizes at fixed "
        "disjoint positions."
    )
    # Batches with m large enough that wraps are below any precision: others take a hundred times as long.
    cases: list[tuple[str, Fraction, tuple[Sequence[int], Sequence[int]]]] = [
        ("CZ23-T3P", Fraction(1), ((2, 1024), (2, 16, 1024, 4096))),
        ("CZ23-T3P/small", Fraction(1, 10), ((2048,), (2048, 2**14))),
        ("CZ23-T3P/large", Fraction(8), ((16,), (16, 64, 1024))),
    ]
    for id_, epsilon, users in cases:
        add_privacy_row(
            suite,
            id_,
            title=f"Shuffle-DP-SE as printed, with any admissible S, is (ε, 0)-DP, ε = {epsilon}",
            claim=_claim(epsilon),
            evidence=lambda run, epsilon=epsilon, users=users: _both_sides(
                run, _claim(epsilon), users=users, epsilon=epsilon, variant="printed"
            ),
            about=about,
            source="Theorem 3, as printed",
            expect="refuted",
            notes=["Pólya(1/n, e^(-ε/g)) is noise for ε, the proof's chain needs noise for ε' = ε/2"],
        )
    epsilon = Fraction(1)
    add_privacy_row(
        suite,
        "CZ23-T3P/three-halves",
        title="Shuffle-DP-SE as printed, with any admissible S, is (3ε/2, 0)-DP, ε = 1",
        claim=_claim(3 * epsilon / 2),
        evidence=lambda run: _both_sides(
            run, _claim(3 * epsilon / 2), users=((256,), (256, 4096)), epsilon=epsilon, variant="printed"
        ),
        about=about,
        source="Theorem 3, what its parameters give",
        notes=["3ε/2 is the right constant: LeakySum comes as near to it as the batch is large"],
    )


def _repaired(suite: Suite) -> None:
    cases: list[tuple[str, Fraction, tuple[Sequence[int], Sequence[int]]]] = [
        ("CZ23-T3P/repaired", Fraction(1), ((512,), (2, 512, 4096))),
        ("CZ23-T3P/repaired/small", Fraction(1, 10), ((), (2**14,))),
    ]
    for id_, epsilon, users in cases:
        add_privacy_row(
            suite,
            id_,
            title=f"Shuffle-DP-SE with noise for ε', with any admissible S, is (ε, 0)-DP, ε = {epsilon}",
            claim=_claim(epsilon),
            evidence=lambda run, epsilon=epsilon, users=users: _both_sides(
                run, _claim(epsilon), users=users, epsilon=epsilon, variant="repaired"
            ),
            about=(
                "The certificate: Lap_Z(g/ε') under a shift by at most g, then whatever has a "
                "simulator within "
                "factors e^±ε̂ (rule relaxed), for all batch sizes at fixed disjoint positions. "
                "From below: LeakySum."
            ),
            source="Theorem 3, repaired: Pólya(1/n, e^(-ε'/g))",
            notes=[
                "for every S that Definition 9 admits; that a given S is one of them is not part "
                "of the certificate"
            ],
        )


# The benign relaxation


def carry_witness(claim: PureDP, *, users: int, epsilon: Fraction, variant: ShuffleVariant) -> Witness:
    """All rewards 0 against one reward of 1 under ``CarrySum``: the server sees the residue 0
    and the carry 0."""
    sheet = sheet_of(users, epsilon, variant, horizon=CARRY_HORIZON)
    protocol = BatchProtocol(sheet=sheet, aggregator=CarrySum(secagg_epsilon=epsilon / 4), grid=1)
    zeros, one = np.zeros(users), np.eye(users)[0]
    event = program_event(
        lambda coins, x: protocol(coins, x), zeros, one, (0, 0, decoded_sum(0, sheet)), view=claim.view
    )
    words = f"{users} users, all rewards 0, or user 0's 1; CarrySum; the server sees residue 0 and carry 0"
    return mixture_witness(claim, event, description=words)


def _benign(suite: Suite) -> None:
    epsilon = Fraction(1)
    claim = _claim(epsilon)
    add_privacy_row(
        suite,
        "CZ23-T3P/carry",
        title="Shuffle-DP-SE as printed, with the benign CarrySum, is (ε, 0)-DP, ε = 1",
        claim=claim,
        evidence=lambda run: [
            carry_witness(claim, users=2, epsilon=epsilon, variant="printed"),
            batches_proof(epsilon, "printed").certify(claim),
        ],
        about=(
            "No worst case is needed: with the sum of y_i + m W_i shown and nothing else, the "
            "carry tells a little "
            "more than the residue, whose noise alone costs ε. All hidden messages of the program summed out."
        ),
        source="Theorem 3, as printed",
        expect="refuted",
        notes=["a little above ε at n = 2, falling towards ε: the adversarial S shows what the proof allows"],
    )

    def points(run: Run) -> list[Point]:
        users = [2, *run.choose(quick=[], full=[4, 8, 16])]
        return [{"n": n, "others": part} for n in users for part in (0, 1)]

    def cost(n: int, others: int, variant: ShuffleVariant) -> Any:
        sheet = sheet_of(n, epsilon, variant, horizon=CARRY_HORIZON)
        return carry_loss(sheet, epsilon / 4, others=others * sheet.precision)[0]

    cases: list[tuple[ShuffleVariant, str, Fraction]] = [
        ("printed", "refuted", epsilon),
        ("repaired", "verified", Fraction(11, 20) * epsilon),
    ]
    for variant, expect, most in cases:
        add_steps(
            suite,
            f"CZ23-T3P/carry/cost/{variant}",
            title=(
                f"With CarrySum the {variant} protocol costs at most {most} (ε = 1), over all that "
                "the server sees"
            ),
            steps=[
                Inequality(
                    name="cost",
                    text=(
                        f"max over residues and carries of |log-ratio| <= {most}, {variant} noise, "
                        "on the grid"
                    ),
                    left=lambda n, others, variant=variant: cost(n, others, variant),
                    right=lambda n, others, most=most: ball(most),
                    points=points,
                )
            ],
            about=(
                "The law of the integer sum of all messages as a product of polynomials in balls, "
                "then every residue "
                "and every carry: the exact cost of one reward 0 against 1."
            ),
            source="Theorem 3 with CarrySum, ε̂ = ε/4",
            scope="n = 2 (full profile: 4, 8, 16), ε = 1, T = 2^10, all other rewards 0, or all 1",
            expect=expect,
            notes=[
                "repaired, a benign S costs little more than ε' = 1/2: it decides nothing about the constant"
            ]
            if variant == "repaired"
            else [],
        )
