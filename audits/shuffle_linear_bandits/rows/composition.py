"""Check users who return: advanced composition, P_Amp's noise for M batches, and group privacy."""

from __future__ import annotations

import itertools
from fractions import Fraction

from audits.shuffle_linear_bandits.amplified_privacy import (
    BATCH_VIEW,
    returning_proof,
    rounded_down,
    sum_witness,
)
from dpaudit.core.claims import ApproxDP
from dpaudit.core.conversions import response_delta, step_budget
from dpaudit.core.evidence import Evidence
from dpaudit.core.exact_functions import ln
from dpaudit.core.suite import Group, Run
from dpaudit.kernel.ball import arb, ball
from dpaudit.reference.mechanisms.linear_bandit_noise import (
    amplified_noise,
    returning_cap,
    returning_noise,
    variance_above,
    variance_below,
)
from dpaudit.suite import Chain, Sides, evidence, full, inequality, over
from dpaudit.suite.worst import Constant

__all__ = ["hockey_stick", "rows"]

rows = Group("Returning users: composition")

RETURNING = "all of a user's contexts and rewards, |φ| <= 1 and |y| <= 1, in each batch once"


# Theorem E.2

TARGETS = {"target": "1/100 1/2 999/1000", "times": (1, 2, 10, 100, full(1000))}


def _composed(target: Fraction, times: int, slack: Fraction, leak: Fraction) -> Sides:
    """Return the complements of kδ + δ' and of the exact delta at ε' of the worst k mechanisms."""
    kept = response_delta(step_budget(target, times, slack), times=times, at=ball(target), leak=leak)
    return 1 - times * leak - slack, kept


@inequality(
    rows,
    "CZ22-E.2/repaired",
    "Theorem E.2, with δ' <= 7/10",
    role="repaired",
    case="δ' <= 7/10",
    over=over(**TARGETS, slack="1/1000000 1/100 1/2 7/10", leak="0 1/1000000"),
)
@inequality(
    rows,
    "CZ22-E.2",
    "Theorem E.2 (Dwork and Roth, Corollary 3.21)",
    expect="refuted",
    case="every δ'",
    over=over(**TARGETS, slack="1/1000000 1/2 999/1000 9999/10000", leak="0"),
)
def advanced(target: Fraction, times: int, slack: Fraction, leak: Fraction) -> Sides:
    """k mechanisms with ε = ε'/(2 sqrt(2k log(1/δ'))) compose to (ε', kδ + δ')-DP, ε' < 1, {case}

    Compute the exact delta at ε' = target of k = times randomised responses, each of which reveals
    everything with probability δ = leak. This is the worst adaptive composition (Kairouz, Oh, Viswanath
    2015). Complements are compared, δ' = slack.

    Note: the paper states no range of δ'. The claim is false as δ' tends to 1: the printed ε grows without
    bound and one mechanism alone exceeds (ε', δ'); for δ' <= 7/10 it holds. The paper uses δ' = δ/2, never
    above 1/2
    """
    return _composed(target, times, slack, leak)


# Theorem E.3 = 4.2 (i)

RUNS = over(users=(20, 1000), batches=(2, 10, full(100, 1000)), delta="1/10 1/1000000", share="1")


def _returning_claim(users: int, batches: int, delta: Fraction, share: Fraction) -> ApproxDP:
    cap = returning_cap(delta=delta, batch_size=users, horizon=users * batches)
    epsilon = rounded_down(ball(share) * cap)
    return ApproxDP(epsilon=epsilon, delta=delta, view=BATCH_VIEW, domain=RETURNING)


def _returning_words(users: int, batches: int, delta: Fraction, share: Fraction) -> str:
    epsilon = _returning_claim(users, batches, delta, share).epsilon
    return f"B = {users}, M = {batches}, δ = {float(delta):g}, ε = {float(Fraction(epsilon)):.3g}"


@evidence(
    rows,
    "CZ22-T4.2i/E.3",
    "Theorems 4.2 (i) and E.3",
    claim=_returning_claim,
    over=RUNS,
    name=_returning_words,
    expect="consistent",
)
def returning(run: Run, users: int, batches: int, delta: Fraction, share: Fraction) -> list[Evidence]:
    """P_Amp with a user in all M batches, σ₁ as printed in Theorem E.3, is O(ε, δ)-SDP: both constants may
    be 1

    ε is at the end of its range, (2 log(2/δ)/B) sqrt(2T). All of the user's data are replaced. The upper
    bound composes the user's own messages without any shuffling, if that is enough, and otherwise the
    shuffled batches on a grid. The lower bound uses the sums of the batches.

    Note: the range of ε is read from a partly illegible copy
    """
    claim = _returning_claim(users, batches, delta, share)
    noise = returning_noise(epsilon=claim.epsilon, delta=delta, batch_size=users, horizon=users * batches)
    proof = returning_proof(
        variance=variance_below(noise),
        users=users,
        batches=batches,
        spare=float(delta) / 10,
        epsilon=Fraction(claim.epsilon),
    )
    below = sum_witness(claim, variance=variance_above(noise), users=users, batches=min(batches, 20))
    return [proof.certify(claim), below]


HORIZONS = over(batches=(1, 2, 10, 1000, 10**6, 10**12, 10**100), users=20, delta="1/10 1/1000000")


def _substituted(users: int, batches: int, delta: Fraction) -> arb:
    """Return ε times σ₁ of Theorem B.1 at ε_m = ε/(2 sqrt(2M log(2/δ))), δ_m = δ/(2M)."""
    part = amplified_noise(epsilon=1, delta=delta / (2 * batches), batch_size=users)
    return part * 2 * (2 * batches * ln(2 / delta)).sqrt()


def _ratio(users: int, batches: int, delta: Fraction) -> tuple[arb, arb]:
    printed = returning_noise(epsilon=1, delta=delta, batch_size=users, horizon=users * batches)
    return printed, _substituted(users, batches, delta)


@inequality(
    rows, "CZ22-E.3s", "proof of Theorem E.3: ε_m, δ_m put into Theorem B.1", role="step", over=HORIZONS
)
def put_in(batches: int, users: int, delta: Fraction) -> Chain:
    """With ε_m and δ_m in Theorem B.1, σ₁ is sqrt(log(4M/δ)/log(2/δ)) times the printed one

    Substitute, and compare squares.

    Note: a constant is enough for fixed M, but none for all M: the printed σ₁ has log(2/δ) and the
    substitution gives sqrt(log(2/δ) log(4M/δ)), so the proof as printed loses a factor of the order of
    sqrt(log M). The noise is still enough: CZ22-T4.2i/E.3
    """
    printed, wanted = _ratio(users, batches, delta)
    factor = (ln(Fraction(4 * batches) / delta) / ln(2 / delta)).sqrt()
    near = 1 + arb(10) ** -30
    return {
        "substituted <= (1 + 10⁻³⁰) factor · printed": (wanted, near * factor * printed),
        "factor · printed <= (1 + 10⁻³⁰) substituted": (factor * printed, near * wanted),
        "substituted / printed": Constant(wanted, printed),
    }


@inequality(
    rows,
    "CZ22-E.3s/constant",
    "proof of Theorem E.3, with an absolute constant",
    role="what-if",
    expect="refuted",
    over=HORIZONS,
)
def by_a_constant(batches: int, users: int, delta: Fraction) -> Sides:
    """The substituted σ₁ is at most 4 times the printed one, for every M

    Compute the same ratio, sqrt(log(4M/δ)/log(2/δ)), at huge M.

    Note: the constant is ours; the ratio exceeds any constant, but so slowly that exceeding 4 takes M above
    10^19
    """
    printed, wanted = _ratio(users, batches, delta)
    return wanted, 4 * printed


@inequality(
    rows,
    "CZ22-T4.2s",
    "after Theorem 4.2",
    over=over(batches=(1, 2, 10, 1000, 10**6), users=(20, 1000), delta="1/10 1/1000000"),
)
def variance_factor(batches: int, users: int, delta: Fraction) -> Chain:
    """The noise variance of each batch grows by a factor O(M), up to logarithms: 8 M log(2/δ)
    log(5T/δ)/log(2.5B/δ)

    Compute σ₁² of Theorem E.3 over σ₁² of Theorem 3.2 at the same ε, δ, B.
    """
    returning_, unique = (
        noise**2
        for noise in (
            returning_noise(epsilon=1, delta=delta, batch_size=users, horizon=users * batches),
            amplified_noise(epsilon=1, delta=delta, batch_size=users),
        )
    )
    level = ln(2 / delta) * ln(5 * users * batches / delta) / ln(Fraction(5, 2) * users / delta)
    near = 1 + arb(10) ** -30
    return {
        "ratio <= (1 + 10⁻³⁰) 8 M logs": (returning_, near * 8 * batches * level * unique),
        "8 M logs <= (1 + 10⁻³⁰) ratio": (8 * batches * level * unique, near * returning_),
    }


# Remark D.5


def hockey_stick(p: tuple[Fraction, ...], q: tuple[Fraction, ...], factor: Fraction) -> Fraction:
    """Return the largest P(S) - factor Q(S)."""
    return sum((max(a - factor * b, Fraction(0)) for a, b in zip(p, q, strict=True)), Fraction(0))


def _chain(seed: int, events: int) -> list[tuple[Fraction, ...]]:
    """Return distributions of k + 1 datasets, each a neighbour of the one before: random weights on four
    outcomes."""
    state, distributions = 2 * seed + 1, []
    for _ in range(events + 1):
        weights = []
        for _ in range(4):
            state = state * 6364136223846793005 + 1442695040888963407 & (1 << 64) - 1
            weights.append(1 + (state >> 58))
        distributions.append(tuple(Fraction(w, sum(weights)) for w in weights))
    return distributions


def _leaking(events: int, factor: Fraction) -> list[tuple[Fraction, ...]]:
    """Return the worst chain: the probability of the first of two outcomes grows by the factor, and by δ =
    1/200."""
    top, distributions = Fraction(0), []
    for _ in range(events + 1):
        distributions.append((top, 1 - top))
        top = factor * top + Fraction(1, 200)
    return distributions


@inequality(
    rows,
    "CZ22-D.5",
    "Remark D.5",
    measure="left - right",
    over=over(events=(1, 2, 3, 4), factor="5/4 2 4", seed=(*range(10), full(*range(10, 200)))),
)
def group(events: int, factor: Fraction, seed: int) -> Chain:
    """Event-level (ε, δ)-JDP is user-level (kε, k e^((k-1)ε) δ)-JDP for k rounds per user

    e^ε = factor, k = events. There are k + 1 distributions on four outcomes, random or the extremal chain.
    δ is the largest exact hockey-stick divergence of neighbours in both directions. It bounds the
    divergence of the ends at e^(kε).

    Proof: δ_k <= e^ε δ_(k-1) + δ, so δ_k <= δ (1 + e^ε + ... + e^((k-1)ε)) <= k e^((k-1)ε) δ, for any view
    """
    found: dict[str, Sides] = {}
    for name, distributions in (("random", _chain(seed, events)), ("extremal", _leaking(events, factor))):
        delta = max(
            hockey_stick(*pair, factor)
            for a, b in itertools.pairwise(distributions)
            for pair in ((a, b), (b, a))
        )
        ends = max(
            hockey_stick(*pair, factor**events)
            for pair in ((distributions[0], distributions[-1]), (distributions[-1], distributions[0]))
        )
        sharper = delta * sum(factor**j for j in range(events))
        found[f"{name}: δ_k <= δ (e^(kε) - 1)/(e^ε - 1)"] = (ends, sharper)
        found[f"{name}: δ_k <= k e^((k-1)ε) δ"] = (ends, events * factor ** (events - 1) * delta)
    return found
