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
from dpaudit.suite import Chain, Sides, evidence, full, inequality, listed, over
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
    "CZ22-E.2/any-slack",
    "Theorem E.2 for every δ', as it is printed",
    role="what-if",
    expect="refuted",
    case="every δ'",
    over=over(**TARGETS, slack="1/1000000 1/2 999/1000 9999/10000", leak="0"),
)
@inequality(
    rows,
    "CZ22-E.2/range",
    "Theorem E.2 for δ' <= 7/10",
    role="sharper",
    case="δ' <= 7/10",
    over=over(**TARGETS, slack="7/10", leak="0 1/1000000"),
)
@inequality(
    rows,
    "CZ22-E.2",
    "Theorem E.2 (Dwork and Roth, Corollary 3.21)",
    case="for δ' up to 1/2: the paper uses δ' = δ/2",
    over=over(**TARGETS, slack="1/1000000 1/100 1/2", leak="0 1/1000000"),
)
def advanced(target: Fraction, times: int, slack: Fraction, leak: Fraction) -> Sides:
    """k mechanisms with ε = ε'/(2 sqrt(2k log(1/δ'))) compose to (ε', kδ + δ')-DP, ε' < 1, {case}

    Compute the exact delta at ε' = target of k = times randomised responses, each of which reveals
    everything with probability δ = leak. This is the worst adaptive composition (Kairouz, Oh, Viswanath
    2015). Complements are compared, δ' = slack.

    Note: the paper states no range of δ', and as δ' tends to 1 the statement fails: the printed ε grows
    without bound and one mechanism alone exceeds (ε', δ'). The paper uses δ' = δ/2 only

    Note: the paper also uses the theorem for ε' of 1 and more: CZ22-E.2/use
    """
    return _composed(target, times, slack, leak)


#: ε and δ of Theorem E.3 up to the end of its range, 59.9 at B = 20 and T = 20000, and of Theorem E.5.
USES = listed(
    "theorem batches delta target",
    ("E.3", 1000, "1/10", "1/2"),
    ("E.3", 1000, "1/10", "20"),
    ("E.3", 1000, "1/10", "40"),
    ("E.3", 1000, "1/10", "599/10"),
    *(("E.5", m, delta, e) for m in (1, 1000) for delta in ("49/100", "1/1000000") for e in ("1/2", "15")),
)


@inequality(
    rows,
    "CZ22-E.2/use",
    "proofs of Theorems E.3 and E.5: 'by advanced composition in Theorem E.2'",
    role="step",
    expect="refuted",
    over=USES,
)
def used_beyond(theorem: str, batches: int, delta: Fraction, target: Fraction) -> Sides:
    """With ε_m = ε/(2 sqrt(2M log(2/δ))) and δ_m = δ/(2M) for each of M batches, the final guarantee is (ε,
    δ), on the whole range of ε of Theorems E.3 and E.5

    Compute the exact optimal composition of M mechanisms of (ε_m, δ_m) at ε (Kairouz, Oh, Viswanath 2015), as
    complements. M = batches. Theorem E.3 allows ε up to (2 log(2/δ)/B) sqrt(2T), which is 59.9 at B = 20, T =
    20000 and δ = 1/10. Theorem E.5 allows 15.

    Note: Theorem E.2 is printed for ε' in (0, 1). At M = 1000 and δ = 1/10 the exact δ is 0.210 at ε = 40 and
    0.867 at 59.9. At the points of E.5, with ε up to 15, it stays below δ

    Note: this is about the step. The printed noise gives the claim of E.3 at these points: CZ22-T4.2i/E.3
    """
    step = step_budget(target, batches, delta / 2)
    kept = response_delta(step, times=batches, at=ball(target), leak=delta / (2 * batches))
    return 1 - delta, kept


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


HORIZONS = over(batches=(1, 2, 10, 1000, 10**6, 10**12, 10**100), users=(1, 20), delta="1/10 1/1000000")


def _substituted(users: int, batches: int, delta: Fraction) -> arb:
    """Return ε times σ₁ of Theorem B.1 at ε_m = ε/(2 sqrt(2M log(2/δ))), δ_m = δ/(2M)."""
    part = amplified_noise(epsilon=1, delta=delta / (2 * batches), batch_size=users)
    return part * 2 * (2 * batches * ln(2 / delta)).sqrt()


def _ratio(users: int, batches: int, delta: Fraction) -> tuple[arb, arb]:
    printed = returning_noise(epsilon=1, delta=delta, batch_size=users, horizon=users * batches)
    return printed, _substituted(users, batches, delta)


@inequality(
    rows,
    "CZ22-E.3s",
    "proof of Theorem E.3: 'we only need to replace ε by ε_m and δ by δ_m in Theorem B.1'",
    role="step",
    expect="refuted",
    over=HORIZONS,
)
def replaced(batches: int, users: int, delta: Fraction) -> Sides:
    """With ε_m and δ_m in Theorem B.1, σ₁ is at most the printed 16 log(2/δ) sqrt(T log(5T/δ))/(εB)

    Substitute, and compare. M = batches, B = users, T = M B.

    Note: the substituted σ₁ is 1.88 times the printed one at T = 20000, B = 20, δ = 1/10, and 2.42 times at T
    = 10⁶, B = 1. The factor has no bound: CZ22-E.3s/repaired. Theorem E.3 states O(ε, δ), whose constant
    would have to grow with M

    Note: the printed noise is still enough: CZ22-T4.2i/E.3
    """
    printed, wanted = _ratio(users, batches, delta)
    return wanted, printed


@inequality(
    rows,
    "CZ22-E.3s/repaired",
    "proof of Theorem E.3: ε_m, δ_m put into Theorem B.1, with the factor that the print loses",
    role="repaired",
    repairs="CZ22-E.3s",
    over=HORIZONS,
)
def put_in(batches: int, users: int, delta: Fraction) -> Chain:
    """With ε_m and δ_m in Theorem B.1, σ₁ is sqrt(log(4M/δ)/log(2/δ)) times the printed one

    Substitute, and compare squares.

    Note: the printed σ₁ has log(2/δ) and the substitution gives sqrt(log(2/δ) log(4M/δ))
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
