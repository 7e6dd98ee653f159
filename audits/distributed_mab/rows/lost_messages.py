"""Lost messages and cut batches: Theorem 1's privacy if fewer users than planned add noise.

The paper covers neither users who drop out nor the batch that the horizon cuts. A share is made for n users,
and only all n shares add up to Lap_Z(g/ε). Here Algorithm 1 never aggregates an unfinished batch. The reading
in which it does, with the shares of a full batch, is equivalent to a batch whose last users are lost.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from audits.distributed_mab.lost_messages import oversized, unfinished_batches
from audits.distributed_mab.protocol_runs import bits
from dpaudit.certify.build import Proof, polya_noise, post_processing
from dpaudit.certify.sites import Site
from dpaudit.core.claims import Ordering, PureDP
from dpaudit.core.suite import Group, Run
from dpaudit.core.views import SERVER, View
from dpaudit.reference.algorithms.mab.batched_elimination import batch_lengths
from dpaudit.reference.algorithms.mab.batched_proofs import in_parallel, laplace_batches
from dpaudit.reference.algorithms.mab.distributed_elimination import Variant, program, variant
from dpaudit.reference.algorithms.neighbours import reward_pairs
from dpaudit.reference.mechanisms.parameter_sheet import Sheet
from dpaudit.replay.audit import PrivacyAudit
from dpaudit.replay.domains import Values
from dpaudit.suite import Measured, evidence, privacy

__all__ = ["rows"]

rows = Group("Lost messages and cut batches")

EPSILON = Fraction(1)
LOST = "when messages are lost (the paper is silent on drop-outs)"
ZEROS = {"all rewards 0": (0.0, 0.0)}

CUT = Ordering(
    text=(
        "at every horizon T the aggregates are those of the batches completed before round T, and "
        "the rewards of the users after them affect no site"
    ),
    quantity_name="missing or additional aggregates, and affected sites",
    claimed=0,
)


@evidence(
    rows,
    "CZ23-T1P/cut",
    "Algorithm 1 (what happens when T runs out inside a batch is not printed)",
    claim=CUT,
    role="step",
)
def cut(run: Run) -> Measured:
    """A batch that the horizon cuts is never aggregated, and its users' rewards enter nothing

    Run Dist-DP-SE at every horizon of a range, count its aggregates, change the rewards of all users in the
    unfinished batch, and replay.
    """
    horizons = range(1, run.choose(quick=62, full=190))
    rng = run.rng("cut")
    wrong = 0
    for horizon in horizons:
        chosen = variant("dist_dp_se", epsilon=EPSILON, failure_prob=Fraction(1, horizon))
        wrong += sum(unfinished_batches(program(chosen, grid=1), horizon, rng=rng))
    return Measured(
        low=wrong,
        high=wrong,
        samples=len(horizons),
        method="a run and a replay at each horizon",
        scope=f"two arms, T = 1, ..., {horizons[-1]}, before an arm can be eliminated",
    )


def _audit(
    chosen: Variant,
    participation: Sequence[bool],
    parts: Sequence[Proof],
    changed: int,
    words: str = "everybody",
    *,
    site: str,
) -> PrivacyAudit:
    """Return the audit of a program whose ``participation`` is a public constant.

    Without ``words`` the claim is about this program alone, as a proof of it is.
    """
    pairs = reward_pairs(horizon=len(participation), rounds=(changed,), backgrounds=ZEROS)
    return PrivacyAudit(
        domain=Values(0, 1),
        claim=PureDP(
            epsilon=EPSILON,
            view=View.of(SERVER),
            participation=words,
            domain=bits(len(participation)).words,
        ),
        program=program(chosen, grid=1, participation=participation),
        neighbours=lambda run: pairs,
        sites=[Site(site, total=EPSILON)],
        proof=in_parallel(parts),
        samples=1,
    )


def _polya(sheet: Sheet, share: Fraction) -> Proof:
    return polya_noise(sensitivity=sheet.precision, scale=sheet.precision / EPSILON, share=share)


@privacy(
    rows,
    "CZ23-T1P/cut/aggregated",
    "Algorithm 1, in the reading that aggregates the messages present",
    role="what-if",
    expect="refuted",
    accounting="",
)
def aggregated() -> PrivacyAudit:
    """Dist-DP-SE that sums a cut batch with the shares of a full one: (ε, 0)-DP, T = 14

    T = 14 ends in batch 3 of arm 1, which has 8 users, after 2 of them have played. The protocol's last run
    then sums 2 messages with shares for 8 users. A longer table of rewards in which no user answers after T
    models this reading.
    """
    horizon, length, begun = 14, 8, 2 * (2 + 4)
    chosen = variant("dist_dp_se", epsilon=EPSILON, failure_prob=Fraction(1, horizon))
    present = horizon - begun
    parts = laplace_batches(chosen, (2, 4), epsilon=EPSILON)
    cut_off = _polya(chosen.sheet(length), Fraction(present, length))
    participation = [t < horizon for t in range(begun + length + 1)]
    words = f"all users until round {horizon}; {present} of {length} users in the batch that it cuts"
    return _audit(chosen, participation, [*parts, cut_off], begun, words, site="aggregate")


#: One user of batch 2 of arm 1 is lost: 3 of 4.
HORIZON, LENGTH, MISSING = 14, 4, 4
RATIO = Fraction(LENGTH - 1, LENGTH)
PARTICIPATION = [t != MISSING for t in range(HORIZON)]
WORDS = f"{LENGTH - 1} of {LENGTH} users in one batch, and all other users"


def _chosen(name: str) -> Variant:
    return variant(name, epsilon=EPSILON, failure_prob=Fraction(1, HORIZON)).prepared(batch_lengths(HORIZON))


@privacy(
    rows,
    "CZ23-T1P/dropout/protocol",
    f"Theorem 1, {LOST}",
    role="what-if",
    expect="refuted",
    accounting="",
)
def dropout() -> PrivacyAudit:
    """Dist-DP-SE, one of 4 users of one batch lost: all sums are (ε, 0)-DP"""
    chosen = _chosen("dist_dp_se")
    parts = laplace_batches(chosen, batch_lengths(HORIZON), epsilon=EPSILON)
    short = _polya(chosen.sheet(LENGTH), RATIO)
    return _audit(chosen, PARTICIPATION, [*parts, short], MISSING + 1, WORDS, site="aggregate")


@privacy(
    rows,
    "CZ23-T1P/dropout/protocol/repaired",
    f"Theorem 1, {LOST}; repaired",
    role="repaired",
    accounting="",
    prove=bits(HORIZON),
)
def dropout_repaired() -> PrivacyAudit:
    """Dist-DP-SE with shares for 3 of 4 users, one of 4 lost: all sums are (ε, 0)-DP"""
    chosen = _chosen("dist_dp_se")
    parts = [
        post_processing(
            _polya(chosen.sheet(users), Fraction(1)),
            function="adding the shares beyond those that make up Lap_Z(g/ε), which are independent of them",
        )
        for users in batch_lengths(HORIZON)
    ]
    shares = oversized(chosen, RATIO).prepared(batch_lengths(HORIZON))
    return _audit(shares, PARTICIPATION, parts, MISSING + 1, site="aggregate")


@privacy(
    rows,
    "CZ23-T6P/dropout/protocol",
    f"Theorem 6, {LOST}",
    role="what-if",
    accounting="",
    prove=bits(HORIZON),
)
def local_dropout() -> PrivacyAudit:
    """LDP-SE (local), one of 4 users of one batch lost: all messages are (ε, 0)-DP

    Every message has its own noise, so the same loss is harmless in the local model.
    """
    chosen = _chosen("ldp_se")
    parts = laplace_batches(chosen, batch_lengths(HORIZON), epsilon=EPSILON)
    return _audit(chosen, PARTICIPATION, parts, MISSING + 1, site="message")
