"""Returning users, run through the coins: one user's rewards enter several batches (appendix I).

The data are users, not rounds: a public schedule says who plays in each round, and a changed user changes the
rewards of all rounds that are theirs. Assumption 2 allows at most B batches, and one round in each. Theorem 1
does not cover such users: with ε in every batch they lose Bε, as Remark 9 says, and no less.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from algorithms.mab.distributed_elimination import program, variant
from algorithms.play import Decisions
from audits.distributed_mab.concentrated_privacy import NEAR_ONE, concentrated_bound
from audits.distributed_mab.divergence_protocols import HISTORIES, gaussian_batches, obstacles
from audits.distributed_mab.protocol_runs import (
    PUBLIC_CHOICES,
    add_view_row,
    batch_lengths,
    laplace_batches,
    steered,
)
from audits.program_rows import add_privacy_rows
from dpaudit.claims import PureDP, Unit, ZeroConcentratedDP
from dpaudit.coins.base import Coins, Program
from dpaudit.kernel.ball import precision
from dpaudit.proofs.build import accounted, compose_parallel
from dpaudit.proofs.sites import Site
from dpaudit.replays.audit import PrivacyAudit
from dpaudit.replays.followed import survey
from dpaudit.replays.histories import Neighbours
from dpaudit.suite import Outcome, Run, Suite
from dpaudit.views import SERVER, View
from dpaudit.witnesses.divergence import divergence_witness
from mechanisms.gaussian_sum_divergence import xi

__all__ = ["BATCHES", "SCHEDULE", "add_rows", "batches_of", "returning_program"]

EPSILON = Fraction(1)
#: B, how many batches a returning user joins.
BATCHES = 2
#: Two arms and l(b) = 7^b: batch 1 is rounds 0 to 13, batch 2 rounds 14 to 111; then an arm can go out.
GROWTH, FIRST, HORIZON = 7, 14, 116
#: Who plays in each round: the seven users of arm 1 in batch 1 come back as the first seven of batch 2.
SCHEDULE: tuple[int, ...] = (*range(FIRST), *range(GROWTH), *range(FIRST, HORIZON - GROWTH))

DOMAIN = f"a user's rewards in [0, 1], in at most {BATCHES} batches, once in each"
ASSUMPTION_2 = (
    f"a user plays in at most {BATCHES} batches and once in each (Assumption 2), so that each of their "
    "rewards enters one aggregate"
)


def batches_of(user: int, schedule: Sequence[int] = SCHEDULE) -> list[int]:
    """The batches that ``user`` plays in, while both arms stay in: 1 for rounds before ``FIRST``, then 2."""
    return [1 if t < FIRST else 2 for t, who in enumerate(schedule) if who == user]


def returning_program(rounds: Program, schedule: Sequence[int] = SCHEDULE) -> Program:
    """``rounds``, a program on potential outcomes (T, K), as one on users (U, K): round t is played with the
    rewards of user ``schedule[t]``."""
    players = np.array(schedule)

    def run(coins: Coins, users: NDArray[Any]) -> Decisions:
        found: Decisions = rounds(coins, users[players])
        return found

    return run


def _pairs() -> list[Neighbours]:
    users = np.zeros((max(SCHEDULE) + 1, 2))
    one = users.copy()
    one[0] = 1.0  # plays in both batches
    other = users.copy()
    other[-1] = 1.0  # plays once, in the batch that the horizon cuts
    return [
        Neighbours("all rewards 0, the first user from 0 to 1", users, one),
        Neighbours("all rewards 0, the last user from 0 to 1", users, other),
    ]


def _audit(total: Fraction, touches: int) -> PrivacyAudit:
    """The claim that a user loses at most ``total``, with ``touches`` aggregates declared."""
    chosen = variant("dist_dp_se", epsilon=EPSILON, failure_prob=Fraction(1, HORIZON))
    lengths = batch_lengths(HORIZON, growth=GROWTH)
    batch = compose_parallel(laplace_batches(chosen, lengths, epsilon=EPSILON))
    ways = {"arm 2 goes out": lambda k: k % 2 == 0, "arm 1 goes out": lambda k: k % 2 == 1}
    return PrivacyAudit(
        claim=PureDP(
            epsilon=total,
            view=View.of(SERVER),
            unit=Unit.USER,
            domain=DOMAIN,
        ),
        program=returning_program(program(chosen, growth=GROWTH, grid=1)),
        neighbours=lambda run: _pairs(),
        sites=[Site("aggregate", touches=touches, total=total)],
        histories={name: steered(chosen, lengths, up) for name, up in ways.items()},
        proof=accounted(
            [Site("aggregate", touches=BATCHES, mechanism=batch)],
            declared=ASSUMPTION_2,
        ),
        samples=1,
        unentered=PUBLIC_CHOICES,
    )


def add_rows(suite: Suite) -> None:
    """The rows on users who return: Theorem 1 as printed, and Remark 9."""
    add_view_row(
        suite,
        "CZ23-T1P/returning",
        _audit(EPSILON, 1),
        title=f"Dist-DP-SE with users who play in {BATCHES} batches: (ε, 0)-DP per user, as for unique users",
        expect="refuted",
        source="Theorem 1, Definition 3 (which assume unique users)",
    )
    add_privacy_rows(
        suite,
        "CZ23-I/protocol",
        _audit(BATCHES * EPSILON, BATCHES),
        title=f"Dist-DP-SE with users who play in B = {BATCHES} batches: (Bε, 0)-DP per user",
        expect="verified",
        expect_accounting="verified",
        source="Appendix I, Assumption 2 and Remark 9",
    )
    _concentrated(suite)


def _concentrated(suite: Suite) -> None:
    epsilon = Fraction(1, 2)
    chosen = variant("dist_cdp_se", epsilon=epsilon, failure_prob=Fraction(1, HORIZON))
    lengths = batch_lengths(HORIZON, growth=GROWTH)
    with precision(256):
        rho = concentrated_bound(epsilon**2, xi(Fraction(1), HORIZON // 2 - 1))
    claim = ZeroConcentratedDP(rho=BATCHES * rho, view=View.of(SERVER), unit=Unit.USER, domain=DOMAIN)

    @suite.row(
        "CZ23-I/concentrated/protocol",
        title=f"Dist-CDP-SE with users who play in B = {BATCHES} batches: B(1/2)ε̄²-CDP per user",
        kind="privacy",
        claim=claim,
        view=str(claim.view),
        source="Appendix I, RDP/CDP route",
    )
    def concentrated(run: Run) -> Outcome:
        """Compose two batches of Theorem 4 on the same user's rewards; follow the program on users who differ
        in both of their rounds, along forced histories, and compare the users' laws in every aggregate."""
        found = survey(
            returning_program(program(chosen, growth=GROWTH, grid=1)),
            map(chosen.sheet, lengths),
            _pairs(),
            HISTORIES,
            unentered=PUBLIC_CHOICES,
        )
        sheet = chosen.sheet(lengths[0])
        below = divergence_witness(
            claim,
            "discrete-gaussian-sum",
            shift=sheet.precision,
            order=NEAR_ONE,
            modulus=sheet.modulus,
            variance=Fraction(sheet.precision**2) / (sheet.users * epsilon**2),
            count=sheet.users,
            description=f"one of the user's {BATCHES} aggregates, that of {sheet.users} users; modulo m",
        )
        proof = accounted(
            [
                Site(
                    "aggregate",
                    touches=BATCHES,
                    mechanism=compose_parallel(gaussian_batches(chosen, lengths)),
                )
            ],
            declared=ASSUMPTION_2,
        )
        notes = [
            f"one user moved the sums of encodings by {found.moved} g in all",
            "the lower bound is that of one aggregate: there is no witness for the product of two",
        ]
        reasons = obstacles(found, declared=BATCHES)
        return Outcome([proof.certify(claim), below], notes, reasons, samples=found.runs)
