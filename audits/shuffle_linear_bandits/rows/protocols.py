"""Audit the whole adaptive protocols as programs: Algorithm 1 in the view of each trust model.

The instances are small: two features, two actions, two batches and one additional user. The actions of the
second batch follow from the noisy sums of the first. One changed user affects only the statistics of the
user's own batch in the view. The rows on the randomisers examine the noise of one batch at other sizes.
Here the question is whether the adaptive protocol costs no more.

P_Amp is examined with the pairs of messages under one permutation, which reveals more than the two of
Algorithm 3, and with both permutations in CZ22-R3.4b/lists. Except for CZ22-T3.2p/protocol, the bounds of
this file do not use the shuffler's anonymity: the noise of the messages alone is enough. If the claim
holds as printed, amplification is not needed at that size.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from audits.shuffle_linear_bandits.amplified_privacy import batch_proof
from audits.shuffle_linear_bandits.protocol_runs import (
    SQUARES,
    algorithm,
    protocol_audit,
    returning,
)
from dpaudit.certify.build import (
    Proof,
    accounted,
    billboard,
    gaussian_mechanism,
    tree_mechanism,
)
from dpaudit.certify.sites import Site
from dpaudit.core.claims import ApproxDP
from dpaudit.core.suite import Group
from dpaudit.core.views import EVERYBODY_ELSE, SERVER, SHUFFLER_OUTPUT, View
from dpaudit.reference.algorithms.contextual.batch_counters import (
    binomial_sums,
    by_batches,
    messages,
    shuffled_lists,
    shuffled_pairs,
    tree_by_levels,
    tree_of_batches,
)
from dpaudit.reference.algorithms.contextual.protocol_instances import (
    DIM,
    declared_users,
    grid_pairs,
    on_the_grid,
    rounded_mechanism,
)
from dpaudit.reference.mechanisms.binomial_vectors import printed_sheet, returning_sheet
from dpaudit.reference.mechanisms.linear_bandit_noise import (
    amplified_noise,
    epsilon_cap,
    local_noise,
    returning_noise,
    tree_noise,
    variance_below,
)
from dpaudit.replay.audit import PrivacyAudit
from dpaudit.suite import full, over, privacy

__all__ = ["rows"]

rows = Group("Whole protocols, run as programs")


def largest_epsilon(batch: int, delta: Fraction) -> Fraction:
    """Return a short number just below sqrt(log(2/δ)/B), the largest ε of Theorem 3.2."""
    return Fraction(int(float(epsilon_cap(delta=delta, batch_size=batch)) * 1000), 1000)


def variance_of(batch: int, delta: Fraction) -> Fraction:
    """Return the variance of a message of P_Amp at the largest ε, rounded down."""
    epsilon = largest_epsilon(batch, delta)
    return variance_below(amplified_noise(epsilon=epsilon, delta=delta, batch_size=batch))


def gaussian(variance: Fraction) -> Proof:
    """Return the mechanism of one user's pair of messages, or of the sum of the user's batch."""
    return gaussian_mechanism(sensitivity_squared=SQUARES, variance=variance)


@privacy(
    rows,
    "CZ22-F.1/protocol",
    "Proposition F.1, Corollary B.3",
    over=over(epsilon="1", delta=["1/10", full("1/1000000")]),
    accounting="",
    prove=declared_users(5),
)
def local(epsilon: Fraction, delta: Fraction) -> PrivacyAudit:
    """Batched-Local-LinUCB: all messages of all users, adaptive, are jointly (ε₀, δ₀)-DP

    A user's vector and matrix are one release.
    """
    variance = variance_below(local_noise(epsilon=epsilon, delta=delta))
    claim = ApproxDP(epsilon=epsilon, delta=delta, view=View.of(SERVER))
    return protocol_audit(
        by_batches(messages(variance=variance)), claim, gaussian(variance), batch=2, data=declared_users(5)
    )


@privacy(
    rows,
    "CZ22-T3.2p/protocol",
    "Theorem 3.2 at a ninth of its ε, Algorithm 1",
    role="sharper",
    over=over(batch=[4, full(8)], delta=["1/1000"]),
    accounting="",
    expect="consistent",
)
def shuffled(batch: int, delta: Fraction) -> PrivacyAudit:
    """Algorithm 1 with P_Amp at the largest ε of Theorem 3.2: the shuffled messages of all batches,
    adaptive, are (ε/9, δ)-DP

    The pairs of messages are under one permutation. The claim needs it to hide who sent what: a message
    alone has ε/6 at best.
    """
    variance, epsilon = variance_of(batch, delta), largest_epsilon(batch, delta) / 9
    claim = ApproxDP(epsilon=epsilon, delta=delta, view=View.of(SHUFFLER_OUTPUT))
    pairs = batch_proof(variance=variance, users=batch, spare=float(delta) / 30, epsilon=epsilon)
    counter = by_batches(shuffled_pairs(variance=variance))
    return protocol_audit(counter, claim, pairs, batch=batch, shuffled=True)


@privacy(
    rows,
    "CZ22-R3.4b/protocol",
    "Remark 3.4, Definition D.3",
    over=over(batch=[3, full(6)]),
    accounting="",
    prove=lambda batch: declared_users(2 * batch + 1),
)
def joint(batch: int) -> PrivacyAudit:
    """Algorithm 1 with P_Amp: the actions of all others and the shuffler's output, adaptive, are jointly
    (ε, δ)-DP at the largest ε of Theorem 3.2

    δ = 1/10. The user's own action is not in the view. The constants in O(ε, δ) are 1 here.
    """
    delta = Fraction(1, 10)
    variance = variance_of(batch, delta)
    claim = ApproxDP(epsilon=largest_epsilon(batch, delta), delta=delta, view=EVERYBODY_ELSE)
    statistics = accounted([Site("statistics/*", mechanism=gaussian(variance))], declared="one batch")
    return protocol_audit(
        by_batches(shuffled_pairs(variance=variance)),
        claim,
        gaussian(variance),
        batch=batch,
        proof=billboard(statistics, actions="the noisy sums and the users' own contexts"),
        shuffled=True,
        data=declared_users(2 * batch + 1),
    )


@privacy(
    rows,
    "CZ22-R3.4b/lists",
    "Remark 3.4, Algorithm 3 with its two permutations",
    over=over(batch=[3, full(6)]),
    accounting="",
    prove=lambda batch: declared_users(2 * batch + 1),
)
def joint_lists(batch: int) -> PrivacyAudit:
    """Algorithm 1 with P_Amp, vectors and matrices permuted apart: the actions of all others and the
    shuffler's output, adaptive, are jointly (ε, δ)-DP at the largest ε of Theorem 3.2

    δ = 1/10. Certificate and proof add up two releases, which costs more than the pair of
    CZ22-R3.4b/protocol.
    """
    variance = variance_of(batch, Fraction(1, 10))
    sites = [
        Site(
            f"statistics/{name}", mechanism=gaussian_mechanism(sensitivity_squared=squares, variance=variance)
        )
        for name, squares in (("vectors", 4), ("matrices", 2))
    ]
    proof = accounted(sites, declared="a user is in one batch, once in each list")
    return replace(
        joint(batch),
        program=algorithm(by_batches(shuffled_lists(variance=variance, dim=DIM)), batch=batch),
        sites=sites,
        proof=billboard(proof, actions="the noisy sums and the users' own contexts"),
    )


@privacy(
    rows,
    "CZ22-T3.5p/protocol",
    "Theorem 3.5, Theorem C.1",
    over=over(epsilon=["15", full("1/5")], delta=["49/100", full("1/1000000")], batch=[2]),
    accounting="",
    prove=lambda batch, **_: declared_users(2 * batch + 1),
)
def binomial(epsilon: Fraction, delta: Fraction, batch: int) -> PrivacyAudit:
    """Algorithm 1 with P_Vec: the bits of all labels and batches, vector and matrix, adaptive, are (ε,
    δ)-DP

    The bits are released as integer sums for every label. Certificate and proof hold for every rounding of
    the entries. The replays' data lie on the grid 1/g, where nothing is rounded.
    """
    sheet = printed_sheet(dim=2, batch_size=batch, epsilon=epsilon, delta=delta)
    claim = ApproxDP(epsilon=epsilon, delta=delta, view=View.of(SHUFFLER_OUTPUT))
    return protocol_audit(
        by_batches(binomial_sums(sheet)),
        claim,
        rounded_mechanism(sheet),
        batch=batch,
        pairs=grid_pairs,
        domain=on_the_grid(declared_users(2 * batch + 1)),
        data=declared_users(2 * batch + 1),
    )


@privacy(
    rows,
    "CZ22-T4.2i/protocol",
    "Theorem E.3 with constants 1 in O(ε, δ), Assumption 4.1",
    role="sharper",
    over=over(epsilon=["1", full("10")], delta=["1/10"], batches=[2, full(3)]),
    accounting="",
    prove=declared_users(3),
)
def returning_users(epsilon: Fraction, delta: Fraction, batches: int) -> PrivacyAudit:
    """Algorithm 1 with P_Amp and users who return in every batch: the shuffled messages are (ε, δ)-DP for a
    user

    A record is all data of a user. The pairs of messages are under one permutation. The certificate and the
    proof use the messages of one user, without amplification.
    """
    users = 3
    noise = returning_noise(epsilon=epsilon, delta=delta, batch_size=users, horizon=users * batches)
    variance = variance_below(noise)
    claim = ApproxDP(epsilon=epsilon, delta=delta, view=View.of(SHUFFLER_OUTPUT))
    return protocol_audit(
        by_batches(shuffled_pairs(variance=variance)),
        claim,
        gaussian(variance),
        batch=users,
        users=users,
        schedule=returning(batches),
        touches=batches,
        shuffled=True,
        data=declared_users(users),
    )


@privacy(
    rows,
    "CZ22-F.3/protocol",
    "Proposition F.3; noise of Shariff and Sheffet 2018, since none is printed",
    over=over(epsilon=["1"], delta=["1/10", full("1/1000000")]),
    accounting="",
    prove=declared_users(5),
)
def central(epsilon: Fraction, delta: Fraction) -> PrivacyAudit:
    """Batched-Central-LinUCB: the actions of all others and the nodes of the tree over batches are jointly
    (ε, δ)-DP"""
    batches = 2
    variance = variance_below(tree_noise(epsilon=epsilon, delta=delta, leaves=batches))
    claim = ApproxDP(epsilon=epsilon, delta=delta, view=EVERYBODY_ELSE)
    tree = tree_mechanism(gaussian(variance), leaves=batches)
    proof = billboard(
        accounted([Site("statistics/*", mechanism=tree)], declared="one leaf"),
        actions="the prefix sums and the users' own contexts",
    )
    counter = tree_of_batches(variance=variance, batches=batches)
    return protocol_audit(counter, claim, tree, batch=2, proof=proof, data=declared_users(5))


@privacy(
    rows,
    "CZ22-T4.2ii/protocol",
    "Theorems 4.2 and E.5, Assumption 4.1",
    over=over(epsilon=["15", full("1/5")], delta=["49/100", full("1/1000000")], batches=[2, full(3)]),
    accounting="",
    prove=declared_users(3),
)
def returning_bits(epsilon: Fraction, delta: Fraction, batches: int) -> PrivacyAudit:
    """Algorithm 1 with P_Vec and users who return in every batch: the bits of all labels and batches,
    adaptive, are (ε, δ)-DP for a user

    A record is all data of a user. The bits are released as integer sums for every label. Certificate and
    proof hold for every rounding of the entries. The replays' data lie on the grid 1/g, where nothing is
    rounded.
    """
    users = 3
    sheet = returning_sheet(dim=2, batch_size=users, batches=batches, epsilon=epsilon, delta=delta)
    claim = ApproxDP(epsilon=epsilon, delta=delta, view=View.of(SHUFFLER_OUTPUT))
    return protocol_audit(
        by_batches(binomial_sums(sheet)),
        claim,
        rounded_mechanism(sheet),
        batch=users,
        pairs=grid_pairs,
        domain=on_the_grid(declared_users(users)),
        users=users,
        schedule=returning(batches),
        touches=batches,
        data=declared_users(users),
    )


@privacy(
    rows,
    "CZ22-P4.3/E.7/protocol",
    "Propositions 4.3 and E.7, Definition D.4; noise of Shariff and Sheffet 2018, since none is printed",
    over=over(epsilon=["1"], delta=["1/10", full("1/1000000")]),
    accounting="",
    prove=declared_users(2),
)
def several_rounds(epsilon: Fraction, delta: Fraction) -> PrivacyAudit:
    """The central tree with node variance times M₀², round by round: the nodes and the actions of all
    others are jointly (ε, δ)-DP for a user of M₀ = 2 of 3 rounds

    A record is all data of a user. The user's rounds are the first two, so the user is in two leaves and,
    twice, in the node above them.
    """
    rounds = 2
    variance = rounds**2 * variance_below(tree_noise(epsilon=epsilon, delta=delta, leaves=3))
    once = gaussian(variance)
    twice = gaussian_mechanism(sensitivity_squared=rounds**2 * SQUARES, variance=variance)
    claim = ApproxDP(epsilon=epsilon, delta=delta, view=EVERYBODY_ELSE)
    sites = [
        Site("statistics/level 0", touches=rounds, mechanism=once),
        Site("statistics/level 1", mechanism=twice),
    ]
    nodes = accounted(sites, declared="a user is in rounds 1 and 2 of 3")
    audit = protocol_audit(
        tree_by_levels(variance=variance),
        claim,
        once,
        batch=1,
        users=2,
        data=declared_users(2),
        schedule=lambda users: [0, 0, 1],
        proof=billboard(nodes, actions="the prefix sums and the users' own contexts"),
    )
    return replace(audit, sites=sites, because="a user is in two rounds")
