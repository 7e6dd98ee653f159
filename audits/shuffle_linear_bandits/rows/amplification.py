"""Check P_Amp with unique users: what its printed noise certifies, and the paper's own accounting.

The row on Theorem 3.2 requires both constants of O(ε, δ) to be 1, which is more than the paper states. It
verifies this, because the noise is about ten times what the budget needs.
"""

from __future__ import annotations

from fractions import Fraction
from functools import partial

from audits.shuffle_linear_bandits.amplified_privacy import (
    BATCH_VIEW,
    DOMAIN,
    SQUARED,
    batch_proof,
    closed_form,
    condition_bound,
    epsilon_needed,
    rounded_down,
    sum_witness,
)
from dpaudit.certify.build import Proof, shuffled_gaussian
from dpaudit.core.claims import ApproxDP
from dpaudit.core.evidence import Evidence
from dpaudit.core.exact_functions import ln
from dpaudit.core.question import Question
from dpaudit.core.suite import Group, Run
from dpaudit.kernel.ball import arb, ball, lower_exact, upper_short
from dpaudit.kernel.t2.approximate_shuffle import approximate_clones_delta
from dpaudit.reference.mechanisms.linear_bandit_noise import (
    amplified_noise,
    epsilon_cap,
    local_budget,
    local_noise,
    variance_above,
    variance_below,
)
from dpaudit.suite import Chain, Measured, Sides, Step, evidence, full, inequality, over, step, steps
from dpaudit.suite.worst import Constant

__all__ = ["rows"]

rows = Group("Shuffled Gaussian messages (P_Amp), unique users")

#: Batch sizes, deltas (the last one stands for 1/B²), and epsilons as shares of the largest one allowed.
SETTINGS = over(
    users=(20, 1000, full(100, 380, 10_000, 100_000)),
    delta=("1/10 1/1000000", full("1/1000 0")),
    share=("1", full("1/10 1/2")),
).where(lambda users, delta, share: delta > 0 or users != 1000, "1/B² once")


def _delta(users: int, delta: Fraction) -> Fraction:
    return delta or Fraction(1, users**2)


def _epsilon(users: int, delta: Fraction, share: Fraction) -> Fraction:
    """Return a share of the cap sqrt(log(2/δ)/B), rounded down."""
    return rounded_down(ball(share) * epsilon_cap(delta=delta, batch_size=users))


def _words(users: int, delta: Fraction, share: Fraction) -> str:
    loss = f"{float(_delta(users, delta)):.3g}"
    return f"B = {users}, δ = {loss}, ε = {float(_epsilon(users, _delta(users, delta), share)):.3g}"


def _claim(users: int, delta: Fraction, share: Fraction) -> ApproxDP:
    loss = _delta(users, delta)
    epsilon = _epsilon(users, loss, share)
    return ApproxDP(epsilon=epsilon, delta=loss, view=BATCH_VIEW, domain=DOMAIN)


@evidence(
    rows,
    "CZ22-T3.2p/B.1p",
    "Theorems 3.2 and B.1",
    claim=_claim,
    over=SETTINGS,
    name=_words,
    expect="consistent",
)
def amplified(run: Run, users: int, delta: Fraction, share: Fraction) -> list[Evidence]:
    """Algorithm 1 with P_Amp, σ₁ as printed, is O(ε, δ)-SDP: both constants may be 1

    0 < ε <= sqrt(log(2/δ)/B). One batch's list of noisy pairs (φy, φφᵀ) has joint sensitivity sqrt 4.5. The
    upper bound is the almost covering blanket. The lower bound is the exact Gaussian profile of the list's
    sum. Disjoint batches of unique users cost no more than one (CZ22-S34par).

    Note: the certificate covers vectors and matrices under one permutation; the two independent ones, as
    printed, are post-processing

    Note: the paper prints no constants, so (ε, δ) itself is more than it states. Each release alone has the
    same noise and a smaller sensitivity (2 and sqrt 2), so one budget covers both
    """
    claim = _claim(users, delta, share)
    noise = amplified_noise(epsilon=claim.epsilon, delta=claim.delta, batch_size=users)
    proof = batch_proof(
        variance=variance_below(noise),
        users=users,
        spare=float(Fraction(claim.delta)) / 100,
        epsilon=Fraction(claim.epsilon),
    )
    return [proof.certify(claim), sum_witness(claim, variance=variance_above(noise), users=users)]


@evidence(
    rows,
    "CZ22-T3.2p/B.1p/cost",
    "Theorems 3.2 and B.1, their constant",
    at_most="1/4",
    quantity="ε needed at δ / ε",
    over=over(
        users=(20, 1000, full(100, 380, 10_000)),
        delta="1/10 1/1000000",
        share=("1", full("1/10")),
    ),
    name=_words,
    role="sharper",
)
def cost(run: Run, users: int, delta: Fraction, share: Fraction) -> Measured:
    """With the printed noise the actual privacy cost of P_Amp is less than a quarter of ε at δ

    Compute, by bisection on both profiles, the least ε at which the batch's list is certified at δ, and the
    ε below which its sum refutes (·, δ), each over the printed ε.

    Note: at δ = 0.1, the value in the experiments, the list is (0, 0.1)-DP
    """
    loss = _delta(users, delta)
    epsilon = _epsilon(users, loss, share)
    noise = variance_below(amplified_noise(epsilon=epsilon, delta=loss, batch_size=users))
    low, high = epsilon_needed(noise, users, loss)
    return Measured(low=low / epsilon, high=high / epsilon, method="blanket from above, sum from below")


def _experiment_claim(epsilon: Fraction) -> ApproxDP:
    return ApproxDP(epsilon=epsilon, delta=Fraction(1, 10), view=BATCH_VIEW, domain=DOMAIN)


@evidence(
    rows,
    "CZ22-T3.2p/experiments",
    "Theorem 3.2's noise at the experiments' ε, B = 20, δ = 0.1",
    claim=_experiment_claim,
    over=over(epsilon="1 10"),
    role="what-if",
    expect=lambda epsilon: "consistent" if epsilon < 10 else "inconclusive",
)
def experiments(run: Run, epsilon: Fraction) -> list[Evidence]:
    """Above the theorem's range, at the experiments' ε = 1 and 10, its noise still gives (ε, 0.1)-SDP for B
    = 20

    The largest ε of the theorem is 0.387 there. It covers only the first of the experiments' 0.2, 1 and 10,
    and Lemma B.4's condition fails at all three. The upper bound is the blanket or the user's own message.
    The lower bound is the sum.

    Note: CZ22-EXPlab examines which noise the experiments used
    """
    claim = _experiment_claim(epsilon)
    noise = amplified_noise(epsilon=epsilon, delta=claim.delta, batch_size=20)
    proof = batch_proof(variance=variance_below(noise), users=20, spare=1e-2, epsilon=epsilon)
    return [proof.certify(claim), sum_witness(claim, variance=variance_above(noise), users=20)]


# The paper's own accounting

STEP_SETTINGS = over(
    users=(20, 100, 380, 1000, 10_000, 100_000), delta="1/10 1/1000 1/1000000", share="1/10 1/2 1"
)


def _budget(users: int, delta: Fraction, share: Fraction) -> tuple[Fraction, arb]:
    epsilon = _epsilon(users, delta, share)
    return epsilon, local_budget(epsilon=epsilon, delta=delta, batch_size=users)[0]


@step("ε₀ ≤ 1", over=STEP_SETTINGS)
def _local_at_most_one(users: int, delta: Fraction, share: Fraction) -> Sides:
    """ε₀ = ε sqrt(B/log(2/δ)) is at most 1"""
    return _budget(users, delta, share)[1], 1


@step("same noise", over=STEP_SETTINGS)
def _same_noise(users: int, delta: Fraction, share: Fraction) -> Chain:
    """σ₁ is the local noise at (ε₀, δ₀): their squares' ratio is 1"""
    epsilon, local = _budget(users, delta, share)
    printed = amplified_noise(epsilon=epsilon, delta=delta, batch_size=users)
    at_local = local_noise(epsilon=1, delta=delta / users) / local
    return {
        "σ₁ <= (1 + 10⁻³⁰) 4 sqrt(2 log(2.5/δ₀))/ε₀": (printed, at_local * (1 + arb(10) ** -30)),
        "4 sqrt(2 log(2.5/δ₀))/ε₀ <= (1 + 10⁻³⁰) σ₁": (at_local, printed * (1 + arb(10) ** -30)),
    }


@step("condition of Lemma B.4", over=STEP_SETTINGS, expect="refuted")
def _condition(users: int, delta: Fraction, share: Fraction) -> Sides:
    """e^ε₀ <= B/(16 log(2/δ')), δ' = δ/2, which Lemma B.4 requires"""
    return _budget(users, delta, share)[1].exp(), condition_bound(users, delta / 2).exp()


@steps(
    rows,
    "CZ22-B.1s2",
    "proof of Theorem B.1: ε₀, δ₀, δ' put into Lemma B.4",
    role="step",
    expect="refuted",
    cells=True,
)
def into_the_lemma() -> list[Step]:
    """With ε₀ = ε sqrt(B/log(2/δ)), δ₀ = δ/B, δ' = δ/2, Lemma B.4 applies to the whole range of Theorem B.1

    Evaluate ε₀, the noise and the lemma's condition, with exponentials of both sides.

    Note: the lemma does not cover batches below 16 e^ε₀ log(4/δ), such as the experiments' B = 20, δ = 0.1.
    The theorem still holds there (CZ22-T3.2p/B.1p), by another proof; CZ22-B.1s2/repaired has the range
    """
    return [_local_at_most_one, _same_noise, _condition]


def _applies(users: int, delta: Fraction, share: Fraction) -> bool:
    local = _budget(users, delta, share)[1]
    return bool(local <= condition_bound(users, delta / 2))


@inequality(
    rows,
    "CZ22-B.1s2/repaired",
    "proof of Theorem B.1 where Lemma B.4 applies",
    role="repaired",
    over=STEP_SETTINGS.where(_applies, "where ε₀ <= log(B/(16 log(4/δ)))"),
)
def in_range(users: int, delta: Fraction, share: Fraction) -> Chain:
    """Where its condition holds, Lemma B.4 gives ε̃ <= 14 ε and δ̃ <= 7 δ

    Evaluate the lemma's closed form at ε₀, δ₀ = δ/B, δ' = δ/2.

    Proof: with ε₀ <= 1, ε̃ <= (ε₀/2)(8 sqrt(e log(8/δ)/B) + 8e/B), log(8/δ) <= 3 log(2/δ) and B >= 16 log
    4: a multiple of ε that does not depend on B or δ; δ̃ <= δ/2 + (e^ε̃ + 1)(3/2) δ
    """
    epsilon, local = _budget(users, delta, share)
    found, loss = closed_form(users, local, delta / 2, delta / users)
    return {
        "ε̃ <= 14 ε": (found, 14 * epsilon),
        "δ̃ <= 7 δ": (loss, 7 * delta),
        "ε̃ / ε": Constant(found, epsilon),
        "δ̃ / δ": Constant(loss, delta),
    }


LEMMA = over(
    users=(500, full(50, 1000, 10_000, 100_000)),
    local=("1/4 1", full("1/2 2 4")),
    slack="1/20 1/1000000",
    leak="0 1/100 1",
).where(
    lambda users, local, slack, leak: bool(ball(local) <= condition_bound(users, slack)),
    "where the condition holds",
)


@inequality(rows, "CZ22-B.4", "Lemma B.4 (Feldman, McMillan and Talwar 2021, Theorem 3.8)", over=LEMMA)
def lemma(users: int, local: Fraction, slack: Fraction, leak: Fraction) -> Sides:
    """Shuffled (ε₀, δ₀)-DP messages are (ε̃, δ̃)-SDP with the printed closed form

    ε₀ = local, δ' = slack, δ₀ = leak · δ'/n. The upper bound, for every randomiser, is the clone bound with
    a delta, proved in the kernel with a smaller constant. It is evaluated at the printed ε̃, rounded down,
    and compared with the printed δ̃.
    """
    spare = leak * slack / users
    epsilon, delta = closed_form(users, local, slack, spare)
    at = lower_exact(epsilon).limit_denominator(10**9) - Fraction(1, 10**8)
    return approximate_clones_delta(users=users, local=local, spare=spare, epsilon=at), delta


@inequality(
    rows,
    "CZ22-B.4s",
    "after Lemma B.4",
    over=over(
        users=(100, 1000, 10_000, 1_000_000), local="1/1000 1/10 1 2 4 8", slack="1/2 1/20 1/1000000"
    ).where(
        lambda users, local, slack: bool(ball(local) <= condition_bound(users, slack)),
        "where the condition holds",
    ),
)
def simplified(users: int, local: Fraction, slack: Fraction) -> Chain:
    """ε̃ = O(sqrt(e^ε₀ log(1/δ')/n)) for ε₀ > 1 and O(ε₀ sqrt(log(1/δ')/n)) for ε₀ <= 1: the constant 16 is
    enough

    Compute the closed form over the simplified one.

    Note: δ' is at most 1/2; as δ' tends to 1, log(1/δ') tends to 0, but the closed form's log(4/δ') does
    not
    """
    found, _ = closed_form(users, local, slack, Fraction(0))
    root = (ln(1 / slack) / users).sqrt()
    rate = root * ball(local) if local <= 1 else root * ball(local / 2).exp()
    return {"ε̃ <= 16 simplified": (found, 16 * rate), "ε̃ / simplified": Constant(found, rate)}


@inequality(
    rows, "CZ22-S34var", "Section 3.4, footnote 6", over=over(users="20 1000 100000", delta="1/10 1/1000000")
)
def variances(users: Fraction, delta: Fraction) -> Chain:
    """P_Amp's noise has variance O(1/(ε²B)) per user and Õ(T/(ε²B)) over T: its logarithms are at most 32
    L²

    Compare σ₁² ε² B = 32 log(2.5B/δ) log(2/δ) with L = log(2.5B/δ). At half the ε, σ₁² is exactly four
    times as large.
    """
    many = int(users)
    one, half = (amplified_noise(epsilon=e, delta=delta, batch_size=many) ** 2 for e in (1, Fraction(1, 2)))
    level = ln(Fraction(5, 2) * many / delta)
    return {
        "σ₁² ε² B <= 32 log(2.5B/δ)²": (one * many, 32 * level**2),
        "σ₁²(ε/2) <= (1 + 10⁻³⁰) 4 σ₁²(ε)": (half, 4 * one * (1 + arb(10) ** -30)),
        "4 σ₁²(ε) <= (1 + 10⁻³⁰) σ₁²(ε/2)": (4 * one, half * (1 + arb(10) ** -30)),
    }


# dpaudit calibrate


def _list_of(users: int, deviation: Fraction) -> Proof:
    return shuffled_gaussian(users=users, sensitivity_squared=SQUARED, variance=deviation**2)


def _ask(users: int, delta: str) -> None:
    loss = Fraction(delta)
    epsilon = _epsilon(users, loss, Fraction(1))
    printed = upper_short(amplified_noise(epsilon=epsilon, delta=loss, batch_size=users))
    rows.calibrate(
        Question(
            id=f"CZ22-T3.2p/B={users},δ={delta}",
            title=f"P_Amp: {users} users a batch, ε = {float(epsilon):.3g}, δ = {float(loss):g}",
            claim=ApproxDP(epsilon=epsilon, delta=loss, view=BATCH_VIEW, domain=DOMAIN),
            parameter="σ of an entry of a message",
            printed=printed,
            mechanism=partial(_list_of, users),
        )
    )


for _users in (20, 1000):
    for _loss in ("1/10", "1/1000000"):
        _ask(_users, _loss)
