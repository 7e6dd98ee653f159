"""Privacy of one batch's aggregate under pure DP: Theorems 1, 5 and 6 with their parameter sheets, and lost
messages. Rényi and concentrated DP: ``aggregate_divergences``."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

from audits.distributed_mab.noise_privacy import (
    BATCHES,
    DOMAIN,
    HORIZON,
    batch_sheet,
    dropout_witness,
    laplace_batches,
    present_proof,
    worst_shift,
)
from dpaudit.certify.build import polya_noise
from dpaudit.coins import Coins, Program
from dpaudit.core.claims import PureDP
from dpaudit.core.data import Interval, Records
from dpaudit.core.evidence import Evidence
from dpaudit.core.suite import Group, Outcome, Run
from dpaudit.core.views import PUBLIC, SERVER, View
from dpaudit.distributions import DiscreteLaplace
from dpaudit.reference.mechanisms.batch_protocol import BatchProtocol
from dpaudit.reference.mechanisms.parameter_sheet import local_laplace_sheet, polya_sheet
from dpaudit.suite import Sides, Step, evidence, full, listed, over, step, steps
from dpaudit.suite.attempts import program_files
from dpaudit.suite.program_proofs import evidence_of

__all__ = ["rows"]

rows = Group("Pure differential privacy of a batch's aggregate")

HALF = Fraction(1, 2)


def claim_at(epsilon: Fraction) -> PureDP:
    """Return the claim of (ε, 0)-DP in the server's view."""
    return PureDP(epsilon=epsilon, view=View.of(SERVER), domain=DOMAIN)


@evidence(
    rows,
    "CZ23-T1P/aggregate",
    "Theorem 1",
    claim=claim_at,
    over=over(epsilon="1 1/1000 40"),
    role="step",
    expect="consistent",
)
def aggregate(run: Run, epsilon: Fraction) -> list[Evidence]:
    """Dist-DP-SE: the aggregates of all batches are (ε, 0)-DP, full participation

    The n Pólya shares add up to Lap_Z(g/ε) (CZ23-F1), whose shift by at most g costs exactly ε: one
    certificate over the batch sizes 2, 4, ..., 2^19, each with its own g = ⌈ε sqrt n⌉, at fixed disjoint
    positions. The adaptive protocol is CZ23-T1P.
    """
    proof = laplace_batches(epsilon, "reduction modulo m, analyzer, elimination")
    return [proof.certify(claim_at(epsilon))]


CENTRAL = PureDP(epsilon=HALF, view=View.of(PUBLIC), domain=DOMAIN)


@evidence(rows, "CZ23-T5P", "Theorem 5, Algorithms 2 and 3", claim=CENTRAL, expect="consistent")
def central(run: Run) -> list[Evidence]:
    """CDP-SE (central): any function of the server's noisy sums is (ε, 0)-DP

    Each aggregate has one draw of Lap_Z(g/ε), and the noisy sum is reduced modulo m. The certificate is
    Theorem 1's, in the public view, because the trusted server sees the exact sums.

    Note: Algorithm 3 reduces the noise before it adds it: (ŷ + (η mod m)) mod m = (Σ x̂ + η) mod m
    """
    proof = laplace_batches(HALF, "adding noise mod m, reduction, analyzer, elimination")
    return [proof.certify(CENTRAL)]


#: One user of each batch size. A record is the reward of one of them.
ONE_EACH = Records(Interval(0, 1), size=len(BATCHES))
LOCAL = replace(claim_at(HALF), domain=ONE_EACH.words)


def one_message_each() -> Program:
    """Return a program in which one user of each batch size sends a message."""
    protocols = [
        BatchProtocol(sheet=local_laplace_sheet(users=users, epsilon=HALF, tail_prob=Fraction(1, HORIZON)))
        for users in BATCHES
    ]

    def program(coins: Coins, rewards: Any) -> None:
        for protocol, reward in zip(protocols, rewards, strict=True):
            protocol(coins, [reward])

    return program


@evidence(rows, "CZ23-T6P", "Theorem 6, Algorithm 4", claim=LOCAL)
def local(run: Run) -> Outcome:
    """LDP-SE (local): each user's message is (ε, 0)-DP by itself

    Each user alone rounds a reward to an encoding in {0, ..., g} and adds Lap_Z(g/ε). The noise and the
    shift are those of Theorem 1, for a single user. The proved program sends one message with the sheet of
    each batch size 2, 4, ..., 2^19.
    """
    proof = evidence_of(one_message_each(), LOCAL, ONE_EACH, files=program_files())
    certificate = laplace_batches(HALF, "reduction of one message modulo m").certify(LOCAL)
    return Outcome([certificate, *proof.evidence], proof.notes)


SMALL_SHEETS = over(n=(1, 2, full(4, 16)), epsilon="1/10 1 4", p="1/2 1/100")


@step("aggregate", over=SMALL_SHEETS)
def _aggregate_modulo(n: int, epsilon: Fraction, p: Fraction) -> Sides:
    """max over residues and over shifts 1..g of |log P(ŷ)/P'(ŷ)| / ε <= 1, Theorem 1's sheet"""
    sheet = polya_sheet(users=n, epsilon=epsilon, tail_prob=p)
    return worst_shift(sheet, sheet.total_noise(), epsilon), 1


@step("message", over=SMALL_SHEETS)
def _message_modulo(n: int, epsilon: Fraction, p: Fraction) -> Sides:
    """the same for one message y_i, Theorem 6's sheet"""
    sheet = local_laplace_sheet(users=n, epsilon=epsilon, tail_prob=p)
    return worst_shift(sheet, DiscreteLaplace(scale=sheet.precision / epsilon), epsilon), 1


@steps(rows, "CZ23-T1P/mod", "Theorems 1 and 6", role="step")
def modulus() -> list[Step]:
    """Modulo m the log-ratio stays below ε: the server's view, residue by residue

    Enumerate all residues of the wrapped distribution and all shifts up to g. The wrapped ratio is a weighted
    mean of unwrapped ratios, so it stays strictly below ε.
    """
    return [_aggregate_modulo, _message_modulo]


def participation_claim(users: int, present: int) -> PureDP:
    """Return the theorem's claim at ε = 1 if only ``present`` users' messages arrive."""
    participation = f"{present} of {users} users"
    return PureDP(epsilon=1, view=View.of(SERVER), domain=DOMAIN, participation=participation)


@evidence(
    rows,
    "CZ23-T1P/dropout",
    "Theorem 1, when messages are lost (the paper is silent on drop-outs)",
    claim=participation_claim,
    over=listed("users present", (10, 9), (16, 15), (16, 8), (1024, 922)),
    name=lambda users, present: f"{present} of {users} users present",
    role="what-if",
    expect="refuted",
)
def dropout(run: Run, users: int, present: int) -> list[Evidence]:
    """Dist-DP-SE when messages are lost: the aggregate is (ε, 0)-DP, ε = 1

    Fewer than n Pólya shares do not add up to discrete Laplace noise. The row has an exact witness at the
    outcome 0, at which the log-ratio is largest, and a certificate of the bound that does hold.
    """
    claim = participation_claim(users, present)
    certificate = present_proof(users, present, Fraction(1)).certify(claim)
    return [dropout_witness(claim, users=users, present=present), certificate]


NINE_OF_TEN = PureDP(epsilon=1, view=View.of(SERVER), domain=DOMAIN, participation="9 of 10 users, or more")


@evidence(
    rows,
    "CZ23-T1P/dropout/repaired",
    "Theorem 1, repaired for a participation of r n",
    claim=NINE_OF_TEN,
    role="repaired",
    expect="consistent",
)
def dropout_repaired(run: Run) -> list[Evidence]:
    """Dist-DP-SE with shares Pólya(1/(rn)), at least rn of n users present: (ε, 0)-DP

    Shares of shape 1/(rn) add up to Lap_Z(g/ε) once rn users are present. The shares of further users are
    independent of this sum.
    """
    g = batch_sheet(10, Fraction(1)).precision
    return [polya_noise(sensitivity=g, scale=g, share=1).certify(NINE_OF_TEN)]
