"""Privacy of the whole adaptive protocols under pure DP: Algorithm 1 over all batches, run through the coins.

The view is what Definition 3 protects: every output of the secure function, of all arms and batches, with the
arms that follow from them. Each user takes part once, in a batch that the outcomes shown before determine, so
the batches compose in parallel although they are adaptive. The replays test that one changed reward moves one
aggregate and nothing else, along histories in which arms go out, the last arm is played to the end, and the
horizon cuts a batch.

Rewards are 0 and 1 here, and their encodings need no rounding: a hidden draw before a visible sum would leave
no exact loss to compare with. The files beside this one have the rest: fractions and masked messages
(``enumerated_protocols``), lost messages and cut batches (``lost_messages``), users who return
(``returning_programs``), Rényi and concentrated DP (``divergence_protocols``), and what decisions alone show
(``central_decisions``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

from algorithms.mab.distributed_elimination import program, variant
from audits.distributed_mab import (
    central_decisions,
    divergence_protocols,
    enumerated_protocols,
    lost_messages,
    returning_programs,
)
from audits.distributed_mab.noise_privacy import DOMAIN
from audits.distributed_mab.protocol_runs import (
    PUBLIC_CHOICES,
    add_view_row,
    batch_lengths,
    in_parallel,
    laplace_batches,
    reward_pairs,
    steered,
)
from audits.program_rows import add_privacy_rows
from dpaudit.claims import PureDP
from dpaudit.evidence import Evidence
from dpaudit.exact import ExactLike
from dpaudit.proofs.build import post_processing
from dpaudit.proofs.sites import Site
from dpaudit.replays.privacy import PrivacyAudit
from dpaudit.suite import Run, Suite
from dpaudit.views import PUBLIC, SERVER, Principal, View

__all__ = ["add_rows", "protocol_audit"]


def add_rows(suite: Suite) -> None:
    """The rows on the protocols of Theorems 1, 2, 4, 5 and 6, run through the coins."""
    _distributed(suite)
    _central(suite)
    _local(suite)
    lost_messages.add_rows(suite)
    enumerated_protocols.add_rows(suite)
    divergence_protocols.add_rows(suite)
    returning_programs.add_rows(suite)


def protocol_audit(
    name: str,
    *,
    epsilon: ExactLike,
    horizon: int,
    rounds: Sequence[int],
    more_rounds: Sequence[int] = (),
    ways: Mapping[str, Callable[[int], bool | None]],
    backgrounds: Mapping[str, Sequence[float]],
    growth: ExactLike = 2,
    site: str = "aggregate",
    seen_by: Principal = SERVER,
    more: Callable[[Run], Sequence[Evidence]] | None = None,
) -> PrivacyAudit:
    """The audit of one variant (``distributed_elimination.NAMES``) with p = 1/T, as the theorems set it.

    The users of ``rounds`` (and of ``more_rounds``, in the full profile) change on each of ``backgrounds``;
    ``ways`` are the steered histories (``protocol_runs.steered``); ``site`` is what a user's reward enters.
    """
    budget = Fraction(epsilon)
    chosen = variant(name, epsilon=budget, failure_prob=Fraction(1, horizon))
    lengths = batch_lengths(horizon, growth=growth)
    return PrivacyAudit(
        claim=PureDP(epsilon=budget, view=View.of(seen_by), domain=DOMAIN),
        program=program(chosen, growth=growth, grid=1),
        neighbours=lambda run: reward_pairs(
            horizon=horizon,
            rounds=(*rounds, *run.choose(quick=(), full=more_rounds)),
            backgrounds=backgrounds,
        ),
        sites=[Site(site, total=budget)],
        histories={name: steered(chosen, lengths, up) for name, up in ways.items()},
        proof=post_processing(
            in_parallel(laplace_batches(chosen, lengths, epsilon=budget)),
            function="reduction modulo m, analyzer, confidence bounds, elimination",
        ),
        samples=1,
        more=more,
        unentered=PUBLIC_CHOICES,
    )


LEVEL = {"all rewards 0": (0.0, 0.0)}
APART = {"arm 1 pays 1, arm 2 pays 0": (1.0, 0.0)}
ONE_GOES_OUT = {"arm 2 goes out": lambda k: k % 2 == 0, "arm 1 goes out": lambda k: k % 2 == 1}


def _distributed(suite: Suite) -> None:
    source = "Theorem 1, Definition 3"
    # At ε = 1 an arm can go out after batch 6 at the earliest, in round 252. The user who completes that
    # batch changes; in the full profile others do, one of them in the batch that the horizon cuts.
    add_privacy_rows(
        suite,
        "CZ23-T1P",
        protocol_audit(
            "dist_dp_se",
            epsilon=1,
            horizon=258,
            rounds=(251,),
            more_rounds=(0, 5, 100, 253, 256),
            ways=ONE_GOES_OUT,
            backgrounds=LEVEL,
        ),
        title="Dist-DP-SE: all sums of all arms and batches, adaptive, are (ε, 0)-DP, ε = 1",
        expect="verified",
        expect_accounting="verified",
        source=source,
    )
    # Longer batches (Remark 4) let an arm go out although ε is small.
    add_view_row(
        suite,
        "CZ23-T1P/small",
        protocol_audit(
            "dist_dp_se",
            epsilon=Fraction(1, 5),
            horizon=154,
            growth=75,
            rounds=(0,),
            ways=ONE_GOES_OUT,
            backgrounds=APART,
        ),
        title="Dist-DP-SE with ε = 1/5 and l(b) = 75^b: all sums are (ε, 0)-DP",
        source=f"{source}, Remark 4",
    )
    # Three arms: arm 3 goes out after batch 5, and batch 6 is played, and summed, with the other two.
    add_view_row(
        suite,
        "CZ23-T1P/large",
        protocol_audit(
            "dist_dp_se",
            epsilon=8,
            horizon=316,
            rounds=(300,),
            ways={"arm 3 goes out, then arm 1": lambda k: k % 3 != 2 if k < 15 else k == 16},
            backgrounds={"all rewards 0": (0.0, 0.0, 0.0)},
        ),
        title="Dist-DP-SE with ε = 8 and three arms: all sums are (ε, 0)-DP, also after an arm went out",
        source=source,
    )


def _central(suite: Suite) -> None:
    claim = PureDP(epsilon=central_decisions.EPSILON, view=View.of(PUBLIC), domain=DOMAIN)
    add_privacy_rows(
        suite,
        "CZ23-T5P/protocol",
        protocol_audit(
            "cdp_se",
            epsilon=central_decisions.EPSILON,
            horizon=central_decisions.HORIZON,
            growth=central_decisions.LENGTH,
            rounds=(0, central_decisions.HORIZON - 1),
            ways=ONE_GOES_OUT,
            backgrounds=APART,
            seen_by=PUBLIC,
            more=lambda run: [central_decisions.decision_witness(claim)],
        ),
        title="CDP-SE (central): the arms played are (ε, 0)-DP in the view of the public, ε = 1/2",
        expect="verified",
        expect_accounting="verified",
        source="Theorem 5, Algorithms 2 and 3",
    )
    central_decisions.add_rows(suite)


def _local(suite: Suite) -> None:
    add_privacy_rows(
        suite,
        "CZ23-T6P/protocol",
        protocol_audit(
            "ldp_se",
            epsilon=Fraction(1, 2),
            horizon=104,
            growth=50,
            rounds=(50, 103),
            more_rounds=(0, 99),
            ways=ONE_GOES_OUT,
            backgrounds=LEVEL,
            site="message",
        ),
        title="LDP-SE (local): every message of every user, adaptive, is (ε, 0)-DP together, ε = 1/2",
        expect="verified",
        expect_accounting="verified",
        source="Theorem 6, Algorithm 4",
    )
