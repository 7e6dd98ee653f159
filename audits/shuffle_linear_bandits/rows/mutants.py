"""Check that broken protocols are detected and that correct ones are not, one table per trust model.

A mutant makes the claim of the correct protocol, whose noise is calibrated to it. An exact bound on the
first release refutes any smaller noise. A leak refutes outputs without fresh noise. Algorithm and batches
are those of the protocols' rows.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

from audits.shuffle_linear_bandits.protocol_runs import SQUARES, algorithm, protocol_audit
from audits.shuffle_linear_bandits.rows.protocols import shuffled, variance_of
from dpaudit.certify.build import accounted, billboard, gaussian_mechanism
from dpaudit.certify.sites import Site
from dpaudit.core.claims import ApproxDP, GaussianDP
from dpaudit.core.neighbours import Neighbours
from dpaudit.core.suite import Group
from dpaudit.core.views import EVERYBODY_ELSE, SERVER, SHUFFLER_OUTPUT, View
from dpaudit.reference.algorithms.contextual.batch_counters import (
    Counter,
    Release,
    by_batches,
    gaussian_sums,
    messages,
    shuffled_pairs,
    trusted_sums,
)
from dpaudit.reference.algorithms.contextual.broken_counters import (
    all_entries,
    announced,
    averaged,
    half_matrix,
    matrix_as_it_is,
    vector_noise_again,
    vectors_in_order,
)
from dpaudit.reference.algorithms.contextual.protocol_instances import DIM, turned_pairs
from dpaudit.replay.audit import PrivacyAudit
from dpaudit.suite import (
    Control,
    broken,
    controls,
    one_share_less,
    program_control,
    reusing,
    scaled,
    shared,
    widened,
    without,
)

__all__ = ["rows"]

rows = Group("Mutants of the protocols")

BATCH = 2
#: Standard deviations relative to the correct ones: without sqrt 2, without the 4, without sqrt(log(2/δ))
#: and without sqrt(log(2.5 B/δ)) at δ = 1/10.
LOST = {
    "no sqrt 2": "0.70711",
    "no 4": "1/4",
    "no log(2/δ)": "0.57777",
    "no log(2.5 B/δ)": "0.50562",
    "variance for deviation": "2/3",
}


EPSILON = Fraction(4)
MECHANISM = gaussian_mechanism(sensitivity_squared=SQUARES, variance=SQUARES)


def audit(counter: Counter, view: View) -> PrivacyAudit:
    """Audit Algorithm 1 with noise of 9/2 squared on each release of a user, claimed to be 1-GDP."""
    joint = billboard(
        accounted([Site("statistics/*", mechanism=MECHANISM)], declared="one batch"),
        actions="the noisy sums and the users' own contexts",
    )
    return protocol_audit(
        counter,
        GaussianDP(mu=1, view=view),
        MECHANISM,
        batch=BATCH,
        proof=joint if view == EVERYBODY_ELSE else None,
    )


def correct(right: PrivacyAudit) -> Control:
    """Check that a correct protocol is consistent at ε = 4 and the exact δ of 1-GDP there, rounded up."""
    free = ApproxDP(epsilon=EPSILON, delta=1, view=View.of(SERVER))
    delta = Fraction(math.ceil(float(MECHANISM.certify(free).bound or 1) * 10**8), 10**8)
    claim = ApproxDP(epsilon=EPSILON, delta=delta, view=right.claim.view)
    return program_control(replace(right, claim=claim), expect="consistent")


def with_counter(right: PrivacyAudit, counter: Counter, *, about: str = "") -> Control:
    """Return ``right`` with another counter in the algorithm."""
    return broken(right, lambda program: algorithm(counter, batch=BATCH), about=about)


@controls(rows, "CZ22-M/amp", "Algorithm 1 with P_Amp in the view of its sums, with deliberate mistakes")
def amplified() -> dict[str, Control]:
    """Every broken P_Amp is detected in the view of its sums, and the correct one is not"""
    right = audit(by_batches(gaussian_sums(variance=SQUARES / BATCH)), View.of(SHUFFLER_OUTPUT))
    return {
        "correct": correct(right),
        **{name: broken(right, scaled(factor)) for name, factor in LOST.items()},
        "one user's noise is missing": broken(right, one_share_less()),
        "noise as for twice the batch": with_counter(
            right, by_batches(gaussian_sums(variance=SQUARES / (2 * BATCH)))
        ),
    }


@controls(rows, "CZ22-T3.2p/controls", "Algorithms 2 to 4 in Algorithm 1, with deliberate mistakes")
def permuted() -> dict[str, Control]:
    """Every broken shuffler of P_Amp is detected

    The program and the claim are those of CZ22-T3.2p/protocol, with batches of four users. Too little noise
    is in CZ22-M/amp.
    """
    right, counted = shuffled(4, Fraction(1, 1000)), variance_of(4, Fraction(1, 1000))

    def by(release: Release) -> Control:
        return broken(right, lambda program: algorithm(by_batches(release), batch=4))

    return {
        "messages in the order of the users": by(messages(variance=counted, to=SHUFFLER_OUTPUT)),
        "vectors in the order of the users": by(vectors_in_order(variance=counted, dim=DIM)),
        "a batch without rewards is announced": by(
            announced(shuffled_pairs(variance=counted), dim=DIM, to=SHUFFLER_OUTPUT)
        ),
    }


@controls(rows, "CZ22-M/local", "Proposition F.1 with deliberate mistakes")
def local() -> dict[str, Control]:
    """Every broken local randomiser is detected in the view of the messages"""
    right = audit(by_batches(messages(variance=SQUARES)), View.of(SERVER))
    return {
        "for a sensitivity of 2": with_counter(right, by_batches(messages(variance=4))),
        "noise of a share of the batch": with_counter(right, by_batches(messages(variance=SQUARES / BATCH))),
        "no noise": broken(right, without()),
    }


@controls(rows, "CZ22-M/joint", "Remark 3.4, Appendices D to F, with deliberate mistakes")
def joint() -> dict[str, Control]:
    """Every broken trusted server is detected in the view of all other users, and correct ones are not"""
    right = audit(by_batches(trusted_sums(variance=SQUARES)), EVERYBODY_ELSE)

    def by(release: Any, **options: Any) -> Control:
        return with_counter(right, by_batches(release(variance=SQUARES, dim=DIM, **options)))

    def looking_alike(release: Any) -> PrivacyAudit:
        counter = by_batches(release(variance=SQUARES, dim=DIM))
        return replace(right, program=algorithm(counter, batch=BATCH))

    release = trusted_sums(variance=SQUARES)
    rewarded = replace(right, neighbours=lambda run: reward_pairs())
    swapped = replace(right, neighbours=lambda run: late_pairs())
    return {
        "one noise for all entries": broken(right, shared()),
        "one noise for all batches": broken(right, reusing()),
        "the vector's noise in the matrix": by(vector_noise_again),
        "the matrix without noise": by(matrix_as_it_is),
        "half the variance in the matrix": by(half_matrix),
        "a batch without rewards is announced": broken(
            rewarded,
            lambda program: algorithm(by_batches(announced(release, dim=DIM)), batch=BATCH),
        ),
        "actions are public": broken(swapped, widened("action")),
        "actions from the true sums": broken(rewarded, without(shown=False)),
        "correct: averaged triangles": correct(looking_alike(averaged)),
        "correct: all entries": correct(looking_alike(all_entries)),
    }


def reward_pairs() -> list[Neighbours]:
    """Yield a pair without rewards in the first batch, in which the first user has one context.

    That user's reward changes from 0 to 1.
    """
    left = turned_pairs(2 * BATCH)[0].left.copy()
    left[0, :, :-1] = [0.0, 1.0]
    left[:BATCH, :, -1] = 0.0
    right = left.copy()
    right[0, :, -1] = 1.0
    return [Neighbours("the first user's reward from 0 to 1", left, right)]


def late_pairs() -> list[Neighbours]:
    """Yield a pair in which the actions of a user of the second batch are swapped."""
    left = turned_pairs(2 * BATCH)[1].left
    right = left.copy()
    right[BATCH] = right[BATCH, ::-1]
    return [Neighbours("the actions of a user of the second batch are swapped", left, right)]
