"""Shared parts of the rows on whole protocols: their audit, and the lines that no history can enter."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

from dpaudit.certify.build import post_processing
from dpaudit.certify.sites import Site
from dpaudit.core.claims import PureDP
from dpaudit.core.data import Integers, Records
from dpaudit.core.evidence import Evidence
from dpaudit.core.exact import ExactLike
from dpaudit.core.suite import Run
from dpaudit.core.views import SERVER, Principal, View
from dpaudit.reference.algorithms.mab.batched_elimination import batch_lengths
from dpaudit.reference.algorithms.mab.batched_proofs import in_parallel, laplace_batches
from dpaudit.reference.algorithms.mab.distributed_elimination import program, variant
from dpaudit.reference.algorithms.mab.steered_histories import steered
from dpaudit.reference.algorithms.neighbours import reward_pairs
from dpaudit.replay.audit import PrivacyAudit
from dpaudit.replay.domains import Values

__all__ = [
    "bits",
    "protocol_audit",
]


def bits(horizon: int, *, n_arms: int = 2) -> Records:
    """Return the declaration of all tables (T, K) of rewards 0 and 1, one row for each user."""
    return Records(Integers(0, 1), size=horizon, width=n_arms)


def protocol_audit(
    name: str,
    *,
    epsilon: ExactLike,
    horizon: int,
    rounds: Sequence[int],
    more_rounds: Sequence[int] = (),
    ways: Mapping[str, Callable[[int], bool | None]],
    backgrounds: Mapping[str, Sequence[float]],
    n_arms: int = 2,
    growth: ExactLike = 2,
    site: str = "aggregate",
    seen_by: Principal = SERVER,
    more: Callable[[Run], Sequence[Evidence]] | None = None,
) -> PrivacyAudit:
    """Return the audit of one variant (``distributed_elimination.NAMES``) with p = 1/T, as in the theorems.

    The users of ``rounds`` (and of ``more_rounds``, in the full profile) change on each of ``backgrounds``.
    ``ways`` are the steered histories (``steered``). ``site`` is the site that a user's reward affects.
    """
    budget = Fraction(epsilon)
    lengths = batch_lengths(horizon, growth=growth)
    chosen = variant(name, epsilon=budget, failure_prob=Fraction(1, horizon)).prepared(lengths)
    return PrivacyAudit(
        domain=Values(0, 1),
        claim=PureDP(epsilon=budget, view=View.of(seen_by), domain=bits(horizon, n_arms=n_arms).words),
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
    )
