"""What the rows on whole protocols share: neighbouring rewards, steered histories, the proof by batches."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from algorithms.mab.batched_elimination import batch_length
from algorithms.mab.distributed_elimination import Variant, program, variant
from algorithms.neighbours import reward_pairs
from audits.distributed_mab.noise_privacy import DOMAIN
from audits.public_refusals import GAME, PROTOCOL, TURNOUT
from dpaudit.claims import PureDP
from dpaudit.coins import Choice
from dpaudit.evidence import Evidence
from dpaudit.exact import ExactLike
from dpaudit.laws import WrappedMod
from dpaudit.laws.base import Law
from dpaudit.proofs.build import Proof, compose_parallel, discrete_laplace_mechanism, post_processing
from dpaudit.proofs.sites import Site
from dpaudit.replays.audit import PrivacyAudit
from dpaudit.suite import Run
from dpaudit.views import SERVER, Principal, View

__all__ = [
    "PARTITION",
    "PUBLIC_CHOICES",
    "batch_lengths",
    "in_parallel",
    "laplace_batches",
    "protocol_audit",
    "steered",
]

#: Why batches compose in parallel: the declaration that the certificates carry.
PARTITION = (
    "a user takes part in one batch of one arm, which the public rule reads off the outcomes shown before; a "
    "batch that the horizon cuts is not aggregated"
)

#: Lines that no history can enter, for they belong to other public parameters.
PUBLIC_CHOICES = {
    **GAME,
    **PROTOCOL,
    **TURNOUT,
    "BatchProtocol._aggregate": "who adds the noise is a public parameter; the other trust models' lines",
    "BatchProtocol._local": "many runs at once, which no audit makes",
    "Sheet.total_noise": "the noise of distributed shares, which the trusted server does not use",
    "ceiling": "more digits for a margin near an integer, a public number",
    "total_noise": "the family of the shares is a public parameter; the other families' lines",
    "encode": "rounding, which rewards 0 and 1 do not need (CZ23-T1P/rounding)",
}


def batch_lengths(horizon: int, *, growth: ExactLike = 2) -> list[int]:
    """The batch sizes l(1), l(2), ... below ``horizon``: no other batch can be completed."""
    found: list[int] = []
    while (length := batch_length(len(found) + 1, growth=growth)) < horizon:
        found.append(length)
    return found


def in_parallel(parts: Sequence[Proof]) -> Proof:
    """The batches' mechanisms, each on users of its own; which batch a user is in follows from what was
    shown."""
    return compose_parallel(parts, by="shown outcomes", partition=PARTITION)


def laplace_batches(chosen: Variant, lengths: Sequence[int], *, epsilon: Fraction) -> list[Proof]:
    """Lap_Z(g/ε) on sums of encodings, of sensitivity g, for each batch size with its own g."""
    precisions = [chosen.sheet(users).precision for users in lengths]
    return [discrete_laplace_mechanism(sensitivity=g, scale=g / epsilon) for g in precisions]


def steered(chosen: Variant, lengths: Sequence[int], up: Callable[[int], bool | None]) -> Choice:
    """The history in which aggregate number k = 0, 1, ... decodes to the largest sum that the analyzer can
    return if ``up(k)``, to the smallest one if not, and is drawn if ``up(k)`` is ``None``.

    Messages of single users (local model) add up to that aggregate.
    """
    tops = {}
    for users in lengths:
        sheet = chosen.sheet(users)
        tops[sheet.modulus] = users * sheet.precision + sheet.noise_margin

    def choose(site: str, occurrence: int, law: Law) -> Any:
        direction = up(occurrence)
        if direction is None or not isinstance(law, WrappedMod) or law.modulus not in tops:
            return None
        # the analyzer takes residues above n g + τ for negative sums, the next one for the most negative
        wanted = tops[law.modulus] + (0 if direction else 1)
        if not law.batch_shape:
            return wanted
        messages = np.zeros(law.batch_shape, dtype=np.int64)
        messages[0] = wanted
        return messages

    return choose


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
