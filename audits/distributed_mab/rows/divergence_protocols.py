"""Rényi and concentrated DP of the whole adaptive protocols (Theorems 2 and 4).

For every prefix of outcomes, only the aggregate that the changed user enters has a different distribution.
The divergence of the whole view is therefore at most the largest divergence of a single aggregate: the
certificates compose the batches in parallel, by earlier outputs. From below, it is at least the divergence of
any aggregate that every history makes, modulo m as the server sees it.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache

from audits.distributed_mab.concentrated_privacy import NEAR_ONE, concentrated_bound
from audits.distributed_mab.protocol_runs import bits
from audits.distributed_mab.renyi_privacy import theorem_2_final
from dpaudit.certify.witnesses.divergence import divergence_witness
from dpaudit.coins.base import Program
from dpaudit.core.claims import Ordering, RenyiDP, ZeroConcentratedDP
from dpaudit.core.evidence import Estimate, Evidence
from dpaudit.core.suite import Cell, Group, Outcome, Run
from dpaudit.core.views import SERVER, View
from dpaudit.kernel.ball import precision
from dpaudit.reference.algorithms.mab.batched_elimination import batch_lengths
from dpaudit.reference.algorithms.mab.batched_proofs import (
    gaussian_batches,
    in_parallel,
    share_variance,
    skellam_batches,
)
from dpaudit.reference.algorithms.mab.distributed_elimination import Variant, program, variant
from dpaudit.reference.algorithms.mab.steered_histories import HISTORIES, certain_lengths
from dpaudit.reference.algorithms.neighbours import reward_pairs
from dpaudit.reference.mechanisms.gaussian_sum_divergence import xi
from dpaudit.replay.aggregate_histories import Survey, survey
from dpaudit.suite import evidence, over
from dpaudit.suite.attempts import program_files
from dpaudit.suite.program_proofs import evidence_of

__all__ = ["rows"]

rows = Group("Rényi and concentrated privacy of the protocols")

SERVER_VIEW = View.of(SERVER)


@lru_cache(maxsize=8)
def surveyed(name: str, epsilon: Fraction, horizon: int, s: int) -> Survey:
    """Measure the effect of one reward in Algorithm 1 with two arms. The changed reward belongs to the first
    user, to a user who completes the first or the last batch of arm 2, or to a user whose batch the horizon
    cuts."""
    chosen, lengths = setting_of(name, epsilon, horizon, s)
    ends = [2 * sum(lengths[:b]) for b in range(1, len(lengths) + 1)]
    last = max(end for end in ends if end < horizon)
    return survey(
        program(chosen, grid=1),
        map(chosen.sheet, lengths),
        reward_pairs(
            horizon=horizon,
            rounds=(0, ends[0] - 1, last - 1, horizon - 1),
            backgrounds={"all rewards 0": (0.0, 0.0)},
        ),
        HISTORIES,
    )


def setting_of(name: str, epsilon: Fraction, horizon: int, s: int) -> tuple[Variant, list[int]]:
    """Return the variant with p = 1/T, and the sizes of the batches that can be completed."""
    chosen = variant(name, epsilon=epsilon, failure_prob=Fraction(1, horizon), scale_factor=s)
    return chosen, batch_lengths(horizon)


@dataclass(frozen=True, kw_only=True)
class Protocol:
    """Return a variant with s = 1 over ``horizon`` rounds."""

    name: str
    epsilon: Fraction
    horizon: int

    @property
    def parts(self) -> tuple[Variant, list[int]]:
        return setting_of(self.name, self.epsilon, self.horizon, 1)

    @cached_property
    def program(self) -> Program:
        """The program, one object for all claims about it, so that they share its exploration."""
        chosen, lengths = self.parts
        return program(chosen.prepared(lengths), grid=1)


RENYI = Protocol(name="dist_rdp_se", epsilon=Fraction(1), horizon=512)
CONCENTRATED = Protocol(name="dist_cdp_se", epsilon=Fraction(1, 2), horizon=258)


def _outcome(protocol: Protocol, claim: RenyiDP | ZeroConcentratedDP, found: list[Evidence]) -> Outcome:
    """Return the evidence on the claim, and on its accounting: a proof of the program, and the effect of one
    reward in its runs."""
    proof = evidence_of(protocol.program, claim, bits(protocol.horizon), files=program_files())
    looked = surveyed(protocol.name, protocol.epsilon, protocol.horizon, 1)
    notes = [
        f"{looked.runs} pairs of runs; one reward changed the sums of encodings by at most {looked.moved} g",
        "the row assumes that earlier outputs determine the batch that a user enters",
    ]
    # a run that deviates from the theorem breaks the accounting, whatever the reward affects
    moved = float(looked.moved) if not looked.faults else float(looked.moved + 1 + len(looked.faults))
    estimate = Estimate.exactly(
        moved,
        quantity=ACCOUNTING.quantity_name,
        samples=looked.runs,
        method="users' distributions in every aggregate, on both inputs, along followed histories",
        scope=f"two arms, ε = {protocol.epsilon}, s = 1, T = {protocol.horizon}, four users, four histories",
    )
    cell = Cell(
        name="accounting",
        claim=ACCOUNTING,
        evidence=[estimate],
        notes=looked.faults,
        samples=looked.runs,
        deciding=False,
    )
    return Outcome(
        [*found, *proof.evidence],
        [*notes, *proof.notes],
        looked.unmet(),
        samples=looked.runs,
        cells=[cell],
    )


ACCOUNTING = Ordering(
    text=(
        "one reward enters one aggregate, whose sum of encodings it changes by at most g; every user adds "
        "the theorem's share, and nothing else depends on the reward"
    ),
    quantity_name="Σ over aggregates of |shift of Σ x̂| / g",
    claimed=1,
)


def _words(users: int) -> str:
    return f"the aggregate of arm 1 in the batch of {users}, all rewards 0 or one user's 1; modulo m"


def renyi_claim(order: int) -> RenyiDP:
    """Theorem 2's ε(α)."""
    budget = theorem_2_final(order, RENYI.epsilon, Fraction(1))
    return RenyiDP(order=order, epsilon=budget, view=SERVER_VIEW, domain=bits(RENYI.horizon).words)


@evidence(
    rows,
    "CZ23-T2P/protocol",
    "Theorem 2, Definition 3",
    claim=renyi_claim,
    over=over(order=(2, 32)),
)
def renyi(run: Run, order: int) -> Outcome:
    """Dist-RDP-SE, s = 1, ε = 1: all sums, adaptive, are (α, ε(α))-RDP

    Certify the batches' noise, each with its own g, in parallel. Run the program on neighbouring inputs along
    forced histories and compare the users' distributions in every aggregate. The lower bound is the exact
    divergence of one aggregate that every history makes, shifted by g.
    """
    claim, (chosen, lengths) = renyi_claim(order), RENYI.parts
    certain = certain_lengths(chosen, RENYI.horizon)
    below = [
        divergence_witness(
            claim,
            "skellam",
            shift=sheet.precision,
            variance=sheet.users * share_variance(sheet),
            modulus=sheet.modulus,
            description=_words(sheet.users),
        )
        for sheet in (chosen.sheet(certain[0]), chosen.sheet(certain[-1]))
    ]
    return _outcome(RENYI, claim, [in_parallel(skellam_batches(chosen, lengths)).certify(claim), *below])


with precision(256):
    RHO = concentrated_bound(CONCENTRATED.epsilon**2, xi(Fraction(1), CONCENTRATED.horizon // 2 - 1))
CDP = ZeroConcentratedDP(rho=RHO, view=SERVER_VIEW, domain=bits(CONCENTRATED.horizon).words)


@evidence(rows, "CZ23-T4P/protocol", "Theorem 4, Definition 3", claim=CDP)
def concentrated(run: Run) -> Outcome:
    """Dist-CDP-SE, s = 1, ε = 1/2, T = 258: all sums, adaptive, are (1/2)ε̄²-CDP

    The method is CZ23-T2P/protocol's, for all orders.
    """
    chosen, lengths = CONCENTRATED.parts
    first = chosen.sheet(certain_lengths(chosen, CONCENTRATED.horizon)[0])
    below = divergence_witness(
        CDP,
        "discrete-gaussian-sum",
        shift=first.precision,
        order=NEAR_ONE,
        modulus=first.modulus,
        description=_words(first.users),
        variance=share_variance(first),
        count=first.users,
    )
    return _outcome(CONCENTRATED, CDP, [in_parallel(gaussian_batches(chosen, lengths)).certify(CDP), below])
