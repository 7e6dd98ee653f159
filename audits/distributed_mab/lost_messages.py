"""Lost messages and cut batches: what is left of Theorem 1's privacy when fewer users than planned add noise.

The paper says nothing of users who drop out, nor of the batch that the horizon cuts. A share is made for n
users: Lap_Z(g/ε) is reached with all of them only. Algorithm 1 never aggregates an unfinished batch here; the
reading in which it does, with the shares of a full batch, is the same as a batch whose last users are lost.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import accumulate

import numpy as np

from algorithms.mab.distributed_elimination import Variant, program, variant
from audits.distributed_mab.noise_privacy import DOMAIN
from audits.distributed_mab.protocol_runs import (
    PUBLIC_CHOICES,
    add_view_row,
    batch_lengths,
    in_parallel,
    laplace_batches,
    reward_pairs,
)
from dpaudit.claims import Ordering, PureDP
from dpaudit.coins import record, replay
from dpaudit.coins.base import Program
from dpaudit.evidence import Estimate
from dpaudit.laws import PolyaDifference
from dpaudit.proofs.build import Proof, polya_noise, post_processing
from dpaudit.proofs.sites import Site
from dpaudit.replays.audit import PrivacyAudit
from dpaudit.replays.histories import Neighbours
from dpaudit.suite import Outcome, Run, Suite
from dpaudit.views import SERVER, View
from mechanisms.parameter_sheet import Sheet

__all__ = ["add_rows", "completed_batches", "oversized", "unfinished_batches"]

EPSILON = Fraction(1)
SOURCE = "Theorem 1, when messages are lost (the paper is silent on drop-outs)"
ZEROS = {"all rewards 0": (0.0, 0.0)}


def add_rows(suite: Suite) -> None:
    """The rows on cut batches and on lost messages."""
    _never_aggregated(suite)
    _cut(suite)
    _dropout(suite)
    _local_dropout(suite)


# The batch that the horizon cuts


def completed_batches(horizon: int) -> int:
    """How many batches of two arms end, with a round to come, before ``horizon``, while both arms stay in."""
    ends = accumulate(length for length in batch_lengths(horizon) for _ in range(2))
    return sum(end < horizon for end in ends)


def unfinished_batches(program_of: Program, horizon: int, *, rng: np.random.Generator) -> tuple[int, int]:
    """(aggregates beyond the completed batches, sites that users of the unfinished batch move) in one run of
    Dist-DP-SE over ``horizon`` rounds."""
    data = np.zeros((horizon, 2))
    recording = record(program_of, data, rng=rng)
    extra = sum(site.kind == "aggregate" for site in recording.sites) - completed_batches(horizon)
    ends = [0, *accumulate(length for length in batch_lengths(horizon) for _ in range(2))]
    started = max(end for end in ends if end < horizon)
    changed = data.copy()
    changed[started:] = 1.0  # all of them at once: if nothing moves then, no single one moves anything
    result = replay(program_of, changed, recording)
    return abs(extra), sum(item.moved for item in result.losses) + len(result.leaks)


def _never_aggregated(suite: Suite) -> None:
    @suite.row(
        "CZ23-T1P/cut",
        title="A batch that the horizon cuts is never aggregated, and its users' rewards enter nothing",
        kind="structure",
        claim=Ordering(
            text=(
                "at every horizon T the aggregates are those of the batches completed before round T, and "
                "the rewards of the users after them move no site"
            ),
            quantity_name="aggregates too many or too few, and sites moved",
            claimed=0,
        ),
        source="Algorithm 1 (what happens when T runs out inside a batch is not printed)",
    )
    def cut(run: Run) -> Outcome:
        """Run Dist-DP-SE at every horizon of a range, count its aggregates, change the rewards of everybody
        in the unfinished batch, and replay."""
        horizons = range(1, run.choose(quick=62, full=190))
        rng = run.rng("cut")
        found = 0
        for horizon in horizons:
            chosen = variant("dist_dp_se", epsilon=EPSILON, failure_prob=Fraction(1, horizon))
            found += sum(unfinished_batches(program(chosen, grid=1), horizon, rng=rng))
        estimate = Estimate.exactly(
            found,
            quantity="aggregates too many or too few, and sites moved",
            samples=len(horizons),
            method="a run and a replay at each horizon",
            scope=f"two arms, T = 1, ..., {horizons[-1]}, before an arm can go out",
        )
        return Outcome([estimate], samples=len(horizons))


def _audit(
    chosen: Variant,
    turnout: Sequence[bool],
    parts: Sequence[Proof],
    pairs: Sequence[Neighbours],
    words: str,
    *,
    site: str = "aggregate",
) -> PrivacyAudit:
    return PrivacyAudit(
        claim=PureDP(epsilon=EPSILON, view=View.of(SERVER), domain=DOMAIN, turnout=words),
        program=program(chosen, grid=1, turnout=turnout),
        neighbours=lambda run: pairs,
        sites=[Site(site, total=EPSILON)],
        proof=in_parallel(parts),
        samples=1,
        unentered={
            **PUBLIC_CHOICES,
            "oversized.sheet (raise)": "asserts that Theorem 1's shares are its shares: a public parameter",
            "strategy.run": "the last arm, which no run as short as this one reaches (CZ23-T1P)",
            "_Journal.note": "the last arm's runs, merged (CZ23-T1P/large)",
        },
    )


def _polya(sheet: Sheet, share: Fraction) -> Proof:
    g = sheet.precision
    return polya_noise(sensitivity=g, scale=g / EPSILON, share=share)


def _cut(suite: Suite) -> None:
    """T = 14 ends in batch 3 of arm 1, of 8 users: 2 of them have played. The protocol's last run then sums
    2 messages with shares for 8. A longer table of rewards in which nobody answers after T is that reading.
    """
    horizon, length = 14, 8
    chosen = variant("dist_dp_se", epsilon=EPSILON, failure_prob=Fraction(1, horizon))
    begun = 2 * (2 + 4)
    rounds = begun + length + 1
    turnout = [t < horizon for t in range(rounds)]
    parts = laplace_batches(chosen, (2, 4), epsilon=EPSILON)
    present = horizon - begun
    add_view_row(
        suite,
        "CZ23-T1P/cut/aggregated",
        _audit(
            chosen,
            turnout,
            [*parts, _polya(chosen.sheet(length), Fraction(present, length))],
            reward_pairs(horizon=rounds, rounds=(begun,), backgrounds=ZEROS),
            f"everybody until round {horizon}; {present} of {length} users in the batch that it cuts",
        ),
        title="Dist-DP-SE that sums a cut batch with the shares of a full one: (ε, 0)-DP, T = 14",
        expect="refuted",
        source="Algorithm 1, in the reading that aggregates what there is",
    )


# Drop-outs


def oversized(chosen: Variant, ratio: Fraction) -> Variant:
    """``chosen`` with shares Pólya(1/(r n)) for a turnout of at least r = ``ratio``."""

    def sheet(users: int) -> Sheet:
        printed = chosen.sheet(users)
        share = printed.share
        assert isinstance(share, PolyaDifference)  # Theorem 1's shares are
        return replace(printed, share=PolyaDifference(shape=share.shape / ratio, log_ratio=share.log_ratio))

    return replace(chosen, sheet=sheet)


def _dropout(suite: Suite) -> None:
    """One user of batch 2 of arm 1 is lost: 3 of 4."""
    horizon, length, lost = 14, 4, 4
    ratio = Fraction(length - 1, length)
    chosen = variant("dist_dp_se", epsilon=EPSILON, failure_prob=Fraction(1, horizon))
    turnout = [t != lost for t in range(horizon)]
    lengths = batch_lengths(horizon)
    pairs = reward_pairs(horizon=horizon, rounds=(lost + 1,), backgrounds=ZEROS)
    words = f"{length - 1} of {length} users in one batch, everybody else"
    add_view_row(
        suite,
        "CZ23-T1P/dropout/protocol",
        _audit(
            chosen,
            turnout,
            [*laplace_batches(chosen, lengths, epsilon=EPSILON), _polya(chosen.sheet(length), ratio)],
            pairs,
            words,
        ),
        title="Dist-DP-SE, one of 4 users of one batch lost: all sums are (ε, 0)-DP",
        expect="refuted",
        source=SOURCE,
    )
    mended = oversized(chosen, ratio)
    parts = [
        post_processing(
            _polya(chosen.sheet(users), Fraction(1)),
            function="adding the shares beyond those that make up Lap_Z(g/ε), which are independent of them",
        )
        for users in lengths
    ]
    add_view_row(
        suite,
        "CZ23-T1P/dropout/protocol/repaired",
        _audit(mended, turnout, parts, pairs, words),
        title="Dist-DP-SE with shares for 3 of 4 users, one of 4 lost: all sums are (ε, 0)-DP",
        expect="verified",
        source=f"{SOURCE}; repaired",
    )


def _local_dropout(suite: Suite) -> None:
    """Every message has noise of its own: the same loss does no harm in the local model."""
    horizon, length, lost = 14, 4, 4
    chosen = variant("ldp_se", epsilon=EPSILON, failure_prob=Fraction(1, horizon))
    add_view_row(
        suite,
        "CZ23-T6P/dropout/protocol",
        _audit(
            chosen,
            [t != lost for t in range(horizon)],
            laplace_batches(chosen, batch_lengths(horizon), epsilon=EPSILON),
            reward_pairs(horizon=horizon, rounds=(lost + 1,), backgrounds=ZEROS),
            f"{length - 1} of {length} users in one batch, everybody else",
            site="message",
        ),
        title="LDP-SE (local), one of 4 users of one batch lost: all messages are (ε, 0)-DP",
        source="Theorem 6, when messages are lost (the paper is silent on drop-outs)",
    )
