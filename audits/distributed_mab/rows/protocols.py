"""Privacy of the whole adaptive protocols under pure DP: Algorithm 1 over all batches, as a program of
``coins``.

Definition 3 protects this view: every output of the secure function, of all arms and batches, and the arms
that follow from these outputs. Each user participates once, in a batch that earlier outputs determine, so the
batches compose in parallel although they are adaptive. The replays test that one changed reward affects one
aggregate and nothing else, along histories in which arms are eliminated, the last arm is played to the end,
and the horizon cuts a batch.

Rewards are 0 and 1 here, so their encodings need no rounding. A hidden draw before a visible sum would leave
no exact loss to compare with.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from audits.distributed_mab.central_decisions import (
    EPSILON,
    HORIZON,
    LENGTH,
    decision_witness,
    literal_program,
)
from audits.distributed_mab.protocol_runs import bits, protocol_audit
from dpaudit.certify.sites import Site
from dpaudit.core.claims import PureDP
from dpaudit.core.suite import Group
from dpaudit.core.views import PUBLIC, SERVER, View
from dpaudit.reference.algorithms.neighbours import reward_pairs
from dpaudit.replay.audit import PrivacyAudit
from dpaudit.replay.domains import Values
from dpaudit.suite import listed, privacy

__all__ = ["rows"]

rows = Group("Pure differential privacy of the protocols")

LEVEL = {"all rewards 0": (0.0, 0.0)}
APART = {"arm 1 pays 1, arm 2 pays 0": (1.0, 0.0)}
ONE_ELIMINATED = {"arm 2 is eliminated": lambda k: k % 2 == 0, "arm 1 is eliminated": lambda k: k % 2 == 1}
THREE = {"arm 3 is eliminated, then arm 1": lambda k: k % 3 != 2 if k < 15 else k == 16}


def _one(epsilon: Fraction) -> PrivacyAudit:
    """Return a run at ε = 1, in which an arm can be eliminated after batch 6 at the earliest, in round 252.
    The user who completes this batch changes. The full profile also changes others, including a user in the
    batch that the horizon cuts."""
    return protocol_audit(
        "dist_dp_se",
        epsilon=epsilon,
        horizon=258,
        rounds=(251,),
        more_rounds=(0, 5, 100, 253, 256),
        ways=ONE_ELIMINATED,
        backgrounds=LEVEL,
    )


def _small(epsilon: Fraction) -> PrivacyAudit:
    """Return a run with longer batches, l(b) = 75^b (Remark 4), which can eliminate an arm although ε is
    small."""
    return protocol_audit(
        "dist_dp_se",
        epsilon=epsilon,
        horizon=154,
        growth=75,
        rounds=(0,),
        ways=ONE_ELIMINATED,
        backgrounds=APART,
    )


def _large(epsilon: Fraction) -> PrivacyAudit:
    """Return a run in which arm 3 is eliminated after batch 5, and batch 6 is played and summed with the
    other two."""
    backgrounds = {"all rewards 0": (0.0, 0.0, 0.0)}
    return protocol_audit(
        "dist_dp_se",
        epsilon=epsilon,
        horizon=316,
        rounds=(300,),
        ways=THREE,
        backgrounds=backgrounds,
        n_arms=3,
    )


SETTINGS = {
    Fraction(1): (_one, "ε = 1, l(b) = 2^b, T = 258", bits(258)),
    Fraction(1, 5): (_small, "ε = 1/5, l(b) = 75^b, T = 154 (Remark 4)", bits(154)),
}


@privacy(
    rows,
    "CZ23-T1P",
    "Theorem 1, Definition 3, Remark 4",
    over=listed("epsilon", *SETTINGS),
    name=lambda epsilon: SETTINGS[epsilon][1],
    prove=lambda epsilon: SETTINGS[epsilon][2],
)
def distributed(epsilon: Fraction) -> PrivacyAudit:
    """Dist-DP-SE: all sums of all arms and batches, adaptive, are (ε, 0)-DP"""
    make, _, _ = SETTINGS[epsilon]
    return make(epsilon)


@privacy(rows, "CZ23-T1P/three-arms", "Theorem 1, Definition 3", expect="consistent")
def three_arms() -> PrivacyAudit:
    """Dist-DP-SE: all sums of three arms, adaptive, are (ε, 0)-DP, ε = 8, T = 316

    A proof of this program has more paths than the limit.
    """
    audit = _large(Fraction(8))
    return replace(audit, claim=replace(audit.claim, domain=str(audit.domain)))


@privacy(rows, "CZ23-T5P/protocol", "Theorem 5, Algorithms 2 and 3", prove=bits(HORIZON))
def central() -> PrivacyAudit:
    """CDP-SE (central): the arms played are (ε, 0)-DP in the view of the public, ε = 1/2"""
    claim = PureDP(epsilon=EPSILON, view=View.of(PUBLIC), domain=bits(HORIZON).words)
    return protocol_audit(
        "cdp_se",
        epsilon=EPSILON,
        horizon=HORIZON,
        growth=LENGTH,
        rounds=(0, HORIZON - 1),
        ways=ONE_ELIMINATED,
        backgrounds=APART,
        seen_by=PUBLIC,
        more=lambda run: [decision_witness(claim)],
    )


@privacy(
    rows,
    "CZ23-T5P/server",
    "Theorem 5, Algorithm 3 (the theorem trusts the server)",
    role="what-if",
    expect="refuted",
    accounting="refuted",
)
def server() -> PrivacyAudit:
    """CDP-SE (central): (ε, 0)-DP in the view of the server that adds the noise"""
    return PrivacyAudit(
        domain=Values(0, 1),
        claim=PureDP(epsilon=EPSILON, view=View.of(SERVER)),
        program=literal_program(),
        neighbours=lambda run: reward_pairs(horizon=HORIZON, rounds=(0,), backgrounds=LEVEL),
        sites=[Site("aggregate", total=EPSILON)],
        samples=1,
    )


@privacy(rows, "CZ23-T6P/protocol", "Theorem 6, Algorithm 4", prove=bits(104))
def local() -> PrivacyAudit:
    """LDP-SE (local): all messages of all users, adaptive, are jointly (ε, 0)-DP, ε = 1/2"""
    return protocol_audit(
        "ldp_se",
        epsilon=Fraction(1, 2),
        horizon=104,
        growth=50,
        rounds=(50, 103),
        more_rounds=(0, 99),
        ways=ONE_ELIMINATED,
        backgrounds=LEVEL,
        site="message",
    )
