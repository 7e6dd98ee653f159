"""Returning users: a user who participates in up to B batches (appendix I, Remarks 8 and 9).

Theorem 1 does not cover such users. With ε in every batch, their privacy loss is exactly Bε, as Remark 9
says.
"""

from __future__ import annotations

from fractions import Fraction

from audits.distributed_mab.concentrated_privacy import NEAR_ONE, concentrated_bound
from audits.distributed_mab.returning_programs import (
    ASSUMPTION_2,
    BATCHES,
    EPSILON,
    GROWTH,
    HORIZON,
    USERS,
    returning_audit,
    returning_pairs,
    returning_program,
)
from audits.distributed_mab.returning_users import returning_witness
from dpaudit.certify.build import (
    accounted,
    compose_parallel,
    compose_sequential,
    discrete_gaussian_sum,
    discrete_laplace_mechanism,
)
from dpaudit.certify.sites import Site
from dpaudit.certify.witnesses.divergence import divergence_witness
from dpaudit.coins.base import Program
from dpaudit.core.claims import PureDP, ZeroConcentratedDP
from dpaudit.core.conversions import approximate_route, concentrated_route, exact_route, gaussian_delta
from dpaudit.core.evidence import Evidence
from dpaudit.core.exact_functions import ln
from dpaudit.core.suite import Group, Outcome, Run
from dpaudit.core.views import SERVER, View
from dpaudit.kernel.ball import ball, precision, upper_short
from dpaudit.reference.algorithms.mab.batched_elimination import batch_lengths
from dpaudit.reference.algorithms.mab.batched_proofs import gaussian_batches
from dpaudit.reference.algorithms.mab.distributed_elimination import Variant, strategy, variant
from dpaudit.reference.algorithms.mab.steered_histories import HISTORIES
from dpaudit.reference.mechanisms.gaussian_sum_divergence import xi
from dpaudit.replay.aggregate_histories import survey
from dpaudit.replay.audit import PrivacyAudit
from dpaudit.suite import Chain, evidence, inequality, over, privacy
from dpaudit.suite.attempts import program_files
from dpaudit.suite.program_proofs import evidence_of, record_digest

__all__ = ["rows"]

rows = Group("Returning users")

SERVER_VIEW = View.of(SERVER)
RETURNING = "a user's rewards in up to B batches, one in each"


# The protocols


@privacy(
    rows,
    "CZ23-T1P/returning",
    "Theorem 1, Definition 3 (which assume unique users)",
    role="what-if",
    expect="refuted",
    accounting="",
)
def unique_users() -> PrivacyAudit:
    """Dist-DP-SE with users who play in 2 batches: (ε, 0)-DP per user, as for unique users"""
    return returning_audit(EPSILON, 1)


@privacy(rows, "CZ23-I/protocol", "Appendix I, Assumption 2 and Remark 9", prove=USERS)
def pure_protocol() -> PrivacyAudit:
    """Dist-DP-SE with users who play in B = 2 batches: (Bε, 0)-DP per user

    A record is a user. It holds the rewards of all the user's rounds.
    """
    return returning_audit(BATCHES * EPSILON, BATCHES)


HALF = Fraction(1, 2)
with precision(256):
    PROTOCOL_RHO = BATCHES * concentrated_bound(HALF**2, xi(Fraction(1), HORIZON // 2 - 1))
    SINGLE_RHO = HALF**2 / 2 + upper_short(xi(Fraction(4), 7) / 4)
PROTOCOL = ZeroConcentratedDP(rho=PROTOCOL_RHO, view=SERVER_VIEW, domain=USERS.words)


def concentrated_users() -> tuple[Variant, Program]:
    """Return the variant with ε = 1/2 and its program on users."""
    lengths = batch_lengths(HORIZON, growth=GROWTH)
    chosen = variant("dist_cdp_se", epsilon=HALF, failure_prob=Fraction(1, HORIZON)).prepared(lengths)
    return chosen, returning_program(strategy(chosen, growth=GROWTH, grid=1))


@evidence(
    rows,
    "CZ23-I/concentrated/protocol",
    "Appendix I, RDP/CDP route",
    claim=PROTOCOL,
    fingerprint=lambda seed: record_digest(concentrated_users()[1], PROTOCOL, USERS, files=program_files()),
)
def concentrated_protocol(run: Run) -> Outcome:
    """Dist-CDP-SE with users who play in B = 2 batches: B(1/2)ε̄²-CDP per user

    Compose two batches of Theorem 4 on the same user's rewards. Run the program on users who differ in both
    of their rounds, along forced histories, and compare the users' distributions in every aggregate.

    The proof of the program covers all its paths. A record is a user.
    """
    lengths = batch_lengths(HORIZON, growth=GROWTH)
    chosen, users = concentrated_users()
    followed = evidence_of(users, PROTOCOL, USERS, files=program_files())
    found = survey(
        users,
        map(chosen.sheet, lengths),
        returning_pairs(),
        HISTORIES,
    )
    sheet = chosen.sheet(lengths[0])
    below = divergence_witness(
        PROTOCOL,
        "discrete-gaussian-sum",
        shift=sheet.precision,
        order=NEAR_ONE,
        modulus=sheet.modulus,
        variance=Fraction(sheet.precision**2) / (sheet.users * HALF**2),
        count=sheet.users,
        description=f"one of the user's {BATCHES} aggregates, with {sheet.users} users; modulo m",
    )
    batch = compose_parallel(gaussian_batches(chosen, lengths))
    proof = accounted([Site("aggregate", touches=BATCHES, mechanism=batch)], declared=ASSUMPTION_2)
    notes = [
        f"one user changed the sums of encodings by {found.moved} g in total",
        "the lower bound is for one aggregate: there is no witness for the product of two",
    ]
    reasons = found.unmet(declared=BATCHES)
    return Outcome(
        [proof.certify(PROTOCOL), below, *followed.evidence],
        [*notes, *followed.notes],
        reasons,
        samples=found.runs,
    )


# Ten batches

MANY = 10
LINEAR = PureDP(epsilon=MANY * HALF, view=SERVER_VIEW, domain=RETURNING)
LESS = PureDP(epsilon=MANY * HALF - Fraction(1, 100), view=SERVER_VIEW, domain=RETURNING)
TEN_RHO = ZeroConcentratedDP(rho=MANY * SINGLE_RHO, view=SERVER_VIEW, domain=RETURNING)


@evidence(rows, "CZ23-I/pure", "Remark 9", claim=LINEAR)
def pure(run: Run) -> list[Evidence]:
    """A user who joins B = 10 batches: pure DP adds up to Bε

    Compose ten aggregates of Theorem 1 on the same user's rewards.
    """
    one = discrete_laplace_mechanism(sensitivity=4, scale=4 / HALF)
    return [compose_sequential([one], times=[MANY]).certify(LINEAR)]


@evidence(
    rows,
    "CZ23-I/pure/tight",
    "Remark 9, whether it can be improved for pure DP",
    claim=LESS,
    role="sharper",
    expect="refuted",
)
def tight(run: Run) -> list[Evidence]:
    """A user who joins B = 10 batches loses less than Bε - 1/100

    Linear growth is exact: the witness has all ten aggregates at 0, and all rewards 0 or all of this user's
    rewards 1.
    """
    return [returning_witness(LESS, MANY, HALF)]


@evidence(rows, "CZ23-I/concentrated", "appendix I, RDP/CDP route", claim=TEN_RHO)
def concentrated(run: Run) -> list[Evidence]:
    """A user who joins B = 10 batches: B(ε²/2 + ξ/4)-CDP in total

    Compose ten aggregates of Theorem 4's sheet (s = 2, ε = 1/2, n = 16: g = 4, share g²/(nε²) = 4) on the
    same user's rewards.
    """
    part = discrete_gaussian_sum(sensitivity=4, variance=4, count=16)
    return [compose_sequential([part], times=[MANY]).certify(TEN_RHO)]


# Noise variance per batch

ROUTES = over(batches=(2, 10, 50), epsilon="1/10 1/2 99/100", delta="1/1000 1/1000000 1/1000000000")


@inequality(rows, "CZ23-I/14", "eq. (14)", over=ROUTES)
def approximate(batches: int, epsilon: Fraction, delta: Fraction) -> Chain:
    """Returning users, approximate-DP route: σ² = O(B log(1/δ) log(B/δ)/ε²), and (ε, δ) in total

    Compute the smallest Gaussian variance for (ε_i, δ_i) in each batch, ε_i and δ_i as printed, by bisection
    on the exact privacy profile, and then the exact total of B batches.

    Note: the constants are for this grid. The paper gives orders only
    """
    variance = approximate_route(batches, epsilon, delta)
    order = ball(batches / epsilon**2) * ln(1 / delta) * ln(batches / delta)
    total = gaussian_delta(Fraction(batches) / (2 * Fraction(float(variance.mid()))), ball(epsilon))
    return {
        "σ² <= 16 B log(1/δ) log(B/δ)/ε²": (variance, 16 * order),
        "B log(1/δ) log(B/δ)/ε² <= σ²: the order is exact": (order, variance),
        "exact delta at ε of B batches <= δ": (total, delta),
    }


@inequality(rows, "CZ23-I/15", "eq. (15)", over=ROUTES)
def by_divergences(batches: int, epsilon: Fraction, delta: Fraction) -> Chain:
    """Returning users, RDP/CDP route: σ² = O(B log(1/δ)/ε²), never below the variance needed

    Compare the variance from Bρ-CDP and Lemma 10's closed form with the rate, and with the smallest variance
    that B-fold Gaussian noise needs by its exact privacy profile.

    Note: the constants are for this grid. The paper gives orders only
    """
    variance = concentrated_route(batches, epsilon, delta)
    order = ball(batches / epsilon**2) * ln(1 / delta)
    return {
        "σ² <= (9/4) B log(1/δ)/ε²": (variance, ball(Fraction(9, 4)) * order),
        "B log(1/δ)/ε² <= σ²": (order, variance),
        "the exact least variance <= σ²": (exact_route(batches, epsilon, delta), variance),
    }


@inequality(rows, "CZ23-I/gain", "appendix I", over=ROUTES)
def gain(batches: int, epsilon: Fraction, delta: Fraction) -> Chain:
    """The RDP/CDP route gains a factor of the order of log(B/δ) in variance

    Compare the ratio of the two variances with log(B/δ), from both sides.

    Note: the constants are for this grid. The paper gives orders only
    """
    ratio = approximate_route(batches, epsilon, delta) / concentrated_route(batches, epsilon, delta)
    level = ln(batches / delta)
    return {"gain <= 8 log(B/δ)": (ratio, 8 * level), "log(B/δ) <= gain": (level, ratio)}
