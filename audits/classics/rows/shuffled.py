"""Shuffled randomised response, and vector sums with binomial noise. The view is the output of the shuffler
or the sum."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from dpaudit.certify.build import randomised_response, shuffled, shuffled_response, vector_noise
from dpaudit.certify.sites import Site
from dpaudit.coins import Coins, Program
from dpaudit.core.claims import ApproxDP
from dpaudit.core.data import Integers, Records
from dpaudit.core.neighbours import Neighbours
from dpaudit.core.suite import Group, Outcome, Run
from dpaudit.core.views import SHUFFLER_OUTPUT, View
from dpaudit.distributions import Binomial, Counts, RandomisedResponse
from dpaudit.replay.audit import PrivacyAudit
from dpaudit.replay.domains import Values
from dpaudit.replay.enumeration import enumerated
from dpaudit.suite import evidence, privacy
from dpaudit.suite.program_proofs import evidence_of, record_digest

__all__ = ["rows"]

rows = Group("Shuffled bits and vector sums")

BITS = Values(0, 1)

USERS = 1000
#: A bit of each user.
USER_BITS = Records(Integers(0, 1), size=USERS)


RESPONSES = [RandomisedResponse(symbols=2, truth=bit, epsilon=1) for bit in (0, 1)]


def bits(coins: Coins, data: Any) -> Any:
    return coins.aggregate(
        [RESPONSES[bit] for bit in data.tolist()], Counts(2), site="messages", to=SHUFFLER_OUTPUT
    )


def seen_by_the_shuffler(delta: str) -> ApproxDP:
    return ApproxDP(epsilon="1/10", delta=delta, domain=str(BITS), view=View.of(SHUFFLER_OUTPUT))


def one_bit() -> Neighbours:
    zeros = np.zeros(USERS, int)
    return Neighbours("one bit among zeros", zeros, np.eye(USERS, dtype=int)[0])


def shuffled_bits(delta: str) -> PrivacyAudit:
    return PrivacyAudit(
        claim=seen_by_the_shuffler(delta),
        program=bits,
        neighbours=lambda run: [one_bit()],
        sites=[Site("messages", mechanism=shuffled_response(users=USERS, local=1))],
        domain=BITS,
    )


CLONES = replace(seen_by_the_shuffler("3528/10000000"), domain=USER_BITS.words)


@evidence(
    rows,
    "SHUFFLE/clones",
    "Feldman, McMillan, Talwar 2021, Theorem 3.2",
    claim=CLONES,
    fingerprint=lambda seed: record_digest(bits, CLONES, USER_BITS),
)
def clones(run: Run) -> Outcome:
    """1000 shuffled randomised responses with ε₀ = 1 are (1/10, 3.528e-4)-DP, by clones

    the bound for any local randomiser, beside a proof of the program of one
    """
    proof = evidence_of(bits, CLONES, USER_BITS)
    mechanism = shuffled(randomised_response(epsilon=1), users=USERS)
    return Outcome([mechanism.certify(CLONES), *proof.evidence], proof.notes)


@privacy(
    rows,
    "SHUFFLE/exact",
    "by enumeration of the counts",
    role="sharper",
    accounting="",
    prove=USER_BITS,
)
def exact() -> PrivacyAudit:
    """1000 shuffled randomised responses with ε₀ = 1 are (1/10, 1.711e-5)-DP

    a user sends one message
    """
    audit = shuffled_bits("1711/100000000")
    return replace(audit, claim=replace(audit.claim, domain=USER_BITS.words))


BELOW = seen_by_the_shuffler("1709/100000000")
TABLES = enumerated(BELOW, bits, over=lambda run: [one_bit()])


@evidence(
    rows,
    "SHUFFLE/below",
    "less than the exact value",
    claim=BELOW,
    expect="refuted",
    role="control",
    fingerprint=TABLES.fingerprint,
)
def below(run: Run) -> Outcome:
    """1000 shuffled randomised responses with ε₀ = 1 are (1/10, 1.709e-5)-DP

    the program's hidden draws are summed out on one pair
    """
    return TABLES(run)


DIMENSION, PRECISION = 5, 5
#: A vector of each user.
VECTORS = Records(Integers(0, PRECISION), size=USERS, width=DIMENSION)


def vector_sum(bits: int) -> Program:
    """Release the sum of vectors with coordinates 0 to 5. Every user adds ``bits`` fair coins to each
    coordinate."""

    def program(coins: Coins, data: Any) -> Any:
        noise = Binomial(trials=USERS * bits, p="1/2")
        return coins.release(np.asarray(data).sum(axis=0), noise, site="sum", to=SHUFFLER_OUTPUT)

    return program


def vector_sums(bits: int) -> PrivacyAudit:
    noise = vector_noise(
        "binomial",
        dimension=DIMENSION,
        l2_squared=DIMENSION * PRECISION**2,
        largest=PRECISION,
        orders=range(4, 64, 4),
        trials=USERS * bits,
        probability="1/2",
    )
    zeros = np.zeros((USERS, DIMENSION), int)
    ones = zeros.copy()
    ones[0] = PRECISION
    return PrivacyAudit(
        claim=ApproxDP(epsilon=1, delta="1/100000", view=View.of(SHUFFLER_OUTPUT)),
        program=vector_sum(bits),
        neighbours=lambda run: [Neighbours("one vector among zeros", zeros, ones)],
        sites=[Site("sum", mechanism=noise)],
        domain=Values(*range(PRECISION + 1)),
    )


@privacy(
    rows,
    "VECTOR/right",
    "Cheu, Joseph, Mao, Peng 2021, with fewer bits than printed",
    accounting="",
    prove=VECTORS,
)
def vector_right() -> PrivacyAudit:
    """The sum of 1000 vectors in {0, ..., 5}⁵ with 10 fair coins a user and coordinate is (1, 1e-5)-DP

    a user enters one sum
    """
    audit = vector_sums(10)
    return replace(audit, claim=replace(audit.claim, domain=VECTORS.words))


@privacy(rows, "VECTOR/few", "three bits a user", expect="refuted", role="control", accounting="")
def vector_few() -> PrivacyAudit:
    """The sum of 1000 vectors in {0, ..., 5}⁵ with 3 fair coins a user and coordinate is (1, 1e-5)-DP

    a user enters one sum
    """
    return vector_sums(3)
