"""Check Lemma T.2, the privacy of shuffled gradient descent and its budget sum, and Theorem 5.1, one batch
of Algorithm 1."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from audits.glm_bandits.poisoned_batch import Instance, no_room, poisoned
from audits.glm_bandits.shuffled_descent import batch_proof, descent
from audits.glm_bandits.shuffled_sums import sheet_of, stated
from dpaudit.core.claims import ApproxDP
from dpaudit.core.errors import UndecidedError
from dpaudit.core.evidence import Evidence
from dpaudit.core.exact_functions import ln
from dpaudit.core.suite import Group, Run
from dpaudit.kernel.ball import arb, ball
from dpaudit.suite import Measured, Sides, evidence, inequality, listed

__all__ = ["rows"]

rows = Group("Shuffled gradient descent and one batch: privacy")

DESCENTS = listed(
    "n d epsilon delta",
    (200, 1, "1", "1/10"),
    (2000, 1, "1", "1/10"),
    (2000, 10, "15", "499/1000"),
    (20_000, 5, "1/10", "1/1000000"),
    (1, 1, "15", "1/10"),
)


def of_gradients(n: int, d: int, epsilon: Fraction, delta: Fraction) -> ApproxDP:
    return stated(epsilon, delta, domain="one user's (x, r): gradients of length at most L")


def in_one_line(n: int, d: int, epsilon: Fraction, delta: Fraction) -> str:
    run = descent(n=n, d=d, epsilon=epsilon, delta=delta)
    return f"n = {n}, d = {d}, ε = {epsilon}, δ = {float(delta):g}: {run.steps} steps"


@evidence(rows, "SAR-T.2p", "Lemma T.2, privacy", claim=of_gradients, over=DESCENTS, name=in_one_line)
def gradients(run: Run, n: int, d: int, epsilon: Fraction, delta: Fraction) -> list[Evidence]:
    """P_GD with its printed T, all n users in each of its calls, is (ε, δ)-shuffle DP, ε <= 15

    Compose the calls' own binomial distributions, with adaptively chosen gradients, at the printed (127) of
    each call.

    Note: T is below 1, and there is no step, if ε n < √(d log³(nd/δ)): at ε = 1, δ = 1/10, d = 1 up to n =
    9. No range of ε is printed (SAR-T.2p/no-range)
    """
    made = descent(n=n, d=d, epsilon=epsilon, delta=delta)
    claim = of_gradients(n, d, epsilon, delta)
    return [made.proof(epsilon=epsilon, delta=delta).certify(claim)]


SUMS = listed(
    "n d epsilon delta",
    (200, 1, "1", "1/10"),
    (2000, 1, "1", "1/10"),
    (20_000, 5, "1", "1/10"),
    (20_000, 5, "1", "1/1000000"),
)


@inequality(rows, "SAR-T.2p/budget", "Lemma T.2, \"directly follows\"", over=SUMS, role="step",
            expect="refuted", kind="structure")  # fmt: skip
def budget(n: int, d: int, epsilon: Fraction, delta: Fraction) -> Sides:
    """T calls at (ε/(2√(2T log(1/δ))), δ/(T+1)) compose to at most (ε, δ) by advanced composition

    Compute ε₀ √(2T log(1/δ')) + T ε₀ (e^{ε₀} - 1) at the remaining δ', δ - T δ₀ = δ/(T+1).

    Refuted: log(1/δ') is log((T+1)/δ), not log(1/δ); the sum is above ε from T about δ^-3 on. The mechanism
    is still private (SAR-T.2p), through the slack of (127)
    """
    made = descent(n=n, d=d, epsilon=epsilon, delta=delta)
    call, left = ball(made.call_epsilon), delta - made.steps * made.call_delta
    total = call * (2 * made.steps * ln(1 / left)).sqrt() + made.steps * call * (call.exp() - 1)
    return total, ball(epsilon)


@inequality(rows, "SAR-T.2p/budget/repaired", "repair of Lemma T.2's budgets", over=SUMS, role="repaired",
            repairs="SAR-T.2p/budget", kind="structure")  # fmt: skip
def repaired_budget(n: int, d: int, epsilon: Fraction, delta: Fraction) -> Sides:
    """T calls at (ε/(2√(2T log(2/δ))), δ/(2T)) compose to at most (ε, δ), ε <= 1: the usual split, δ' = δ/2

    The repair multiplies the noise by √(log(2/δ)/log(1/δ)): 1.14 at δ = 1/10, 1.02 at δ = 10^-6.
    """
    steps = descent(n=n, d=d, epsilon=epsilon, delta=delta).steps
    log = ln(2 / delta)
    call = ball(epsilon) / (2 * (2 * steps * log).sqrt())
    return call * (2 * steps * log).sqrt() + steps * call * (call.exp() - 1), ball(epsilon)


HUGE = ApproxDP(epsilon=10**10, delta="1/10", domain="one user's (x, r)", view=stated(1, 1, domain="").view)


@evidence(rows, "SAR-T.2p/no-range", "Lemma T.2, no range", claim=HUGE, role="what-if",
          expect="refuted")  # fmt: skip
def huge(run: Run) -> Measured:
    """P_GD is (ε, δ)-shuffle DP for every ε, as T.2 states without a range of ε: ε = 10¹⁰, δ = 1/10

    n = d = 1. The calls stay at ε₀ < 1, since T grows with ε². Compare a gradient of L in each call with
    -L. The sum of the ones of all calls is Bin(N, 1/4), shifted by m. At the middle Hoeffding's inequality
    bounds both errors by exp(-m²/2N): δ >= 1 - (1 + e^ε) exp(-m²/2N).

    Refuted: T calls at ε₀ also cost T ε₀²/2, of the order ε². At these constants the violation needs an
    impractically large ε; S.1, on which T.2 builds, has ε <= 15, and so has SAR-T.2p; Theorem 5.1 has ε < 5
    """
    made = descent(n=1, d=1, epsilon=10**10, delta="1/10")
    sheet = made.sheet
    move = 2 * sheet.precision * made.steps
    trials = sheet.trials * sheet.batch_size * made.steps
    exponent = Fraction(move**2, 2 * trials)
    # e^-x <= 1/(1 + x) is exact, and tight enough
    lower_bound = 1 - 1 / (1 + exponent) - (1 / (1 + exponent - 10**10) if exponent > 10**10 else 1)
    return Measured(low=max(Fraction(0), lower_bound), method="Hoeffding's inequality, exact numbers")


BATCHES = listed(
    "B d epsilon delta", (200, 1, "49/10", "1/10"), (2000, 2, "1", "1/1000000"), (2000, 2, "1/2", "499/1000")
)


def of_batches(B: int, d: int, epsilon: Fraction, delta: Fraction) -> ApproxDP:
    return stated(epsilon, delta, domain="one user's arms and reward, in one batch; weights at most 1/κ*")


@evidence(
    rows, "SAR-T5.1p/repaired", "repair of Theorem 5.1, privacy", claim=of_batches, over=BATCHES,
    role="repaired", repairs=("SAR-T5.1p", "SAR-D.1p/off-event"),
)  # fmt: skip
def one_batch(run: Run, B: int, d: int, epsilon: Fraction, delta: Fraction) -> list[Evidence]:
    """With weights cut at 1/κ*, min(μ'(<x, θ_1>)/β(x), 1/κ*), a batch of Algorithm 1 is (ε, δ)-shuffle DP

    Certify matrix sum and gradient descent of one batch jointly, on all data. A user is in one batch.
    Without the cut it is the printed algorithm on its event.

    Note: the cut changes nothing on the event of Lemma E.7, so it does not increase the regret there
    """
    claim = of_batches(B, d, epsilon, delta)
    return [batch_proof(n=B, d=d, epsilon=epsilon, delta=delta).certify(claim)]


PRINTED = listed(
    "R score nearest T M epsilon delta constant",
    (1, "1/100", "4/5", 10**5, 4, "1", "1/1000000", 1),
    (1, "1/2", "4/5", 300_000, 4, "4", "1/10", 1),
    (3, "27/2", "4/5", 10**16, 5, "1", "1/1000000", 1),
    (3, 14, "4/5", 10**16, 5, "1", "1/1000000", 1),
    (10, "33/2", "7/10", 10**18, 3, "1/10", "1/1000000", 1),
    (3, 16, "4/5", 10**19, 4, "1/10", "1/1000000", 1),
    (8, "35/2", "7/10", 10**23, 3, "1/100", "1/1000000", 10**5),
    (5, "41/2", "7/10", 10**24, 4, "1/100", "1/1000000", 10**5),
)


def of_everybody(epsilon: Fraction, delta: Fraction, **instance: Any) -> ApproxDP:
    return stated(epsilon, delta, domain="one user's arms in the unit ball and reward in [0, R]")


def large(score: Fraction, **instance: Any) -> str:
    return "refuted" if score > 10 else "verified"


def lengths_of(**instance: Any) -> str:
    at = Instance(**instance)
    lengths = ", ".join(f"{length:.3g}" for length in at.lengths())
    constants = "" if at.constant == 1 else f", constants {at.constant:.0e}"
    return (
        f"κ* = {float(at.parameters.kappa_star):.4g}, R = {at.R}, RS = {at.score}, T = {at.T:.0e}, "
        f"M = {at.M}, ε = {at.epsilon}, δ = {float(at.delta):g}{constants}: batches {lengths}"
    )


@evidence(
    rows, "SAR-T5.1p", "Theorem 5.1, privacy", claim=of_everybody, over=PRINTED, expect=large, name=lengths_of
)
def whole(run: Run, **instance: Any) -> list[Evidence] | Measured:
    """Algorithm 1 is (ε, δ)-shuffle DP for ε < 5, δ < 1/2, on all datasets of Assumption 4.2

    Batches have the lengths (6), and the last one is cut at T. The O(.) constants are 1, or 10⁵ in σ and ν
    of (10), and M <= log log T. Bernoulli link on {0, R}, d = 1, θ* = S, arms in [nearest, 1], so that κ* =
    1/μ'(nearest S) is valid for both neighbours.

    Upper bound, for any dataset: each batch's matrix sum and descent jointly, with weights up to R²/4.
    Lower bound: equal numbers of rewards 0 and R in the first batch bring θ_1 near 0, where the weight of
    the second batch's users is about R²/4, up to κ*R²/4 times the weight for which their noise is drawn.
    The distribution of one entry is exact. The probabilities of θ_1, of V and of a message without room for
    its ones are bounded.

    Refuted: the sensitivity 1/κ* holds on an event under honest rewards, which a privacy claim cannot use

    Note: larger constants only require a longer horizon and a smaller ε. P2's own noise needs a constant
    below 4000 in σ (SAR-S.1/proxy). M = 3 is at most log log T to base 2 and e, M from 4 on to base 2

    Note: between the certified κ*, with κ*R²/4 near 1, and the refuted ones the constant of (127) hides it;
    the certificate ends at batches of 10⁵, where nb of a descent reaches the kernel's limit

    Note: messages of g + b bits have room in every batch examined, except with a probability below e^-1000.
    At much larger T or larger κ* they do not, since g = 2√n outgrows b

    Note: repair: cut the weights at 1/κ* (SAR-T5.1p/repaired), at no cost on the event of Lemma E.7
    """
    at = Instance(**instance)
    claim = of_everybody(at.epsilon, at.delta)
    if large(at.score) == "verified":
        return [max(_certified(at, claim), key=lambda made: made.bound)]
    found = poisoned(at)
    details = {
        "kappa*": float(found.kappa_star), "first batch": found.first, "second batch": found.second,
        "move": found.move, "chance of the first batch": float(found.likely),
    }  # fmt: skip
    return Measured(low=found.delta, details=details, covers=False, method="bounds in balls")


def _certified(at: Instance, claim: ApproxDP) -> list[Any]:
    """Return a certificate for each batch, since a user is in one. The first one's matrices have weight 1 =
    Δ."""
    made = []
    for place, n in enumerate(at.lengths()):
        excess = at.excess if place else Fraction(1)
        sheet = sheet_of(n=n, d=1, epsilon=at.epsilon / 2, delta=at.delta / 2)
        calls = descent(n=n, d=1, epsilon=at.epsilon / 2, delta=at.delta / 2)
        overflow = no_room(sheet, excess) + no_room(calls.sheet, Fraction(1), times=calls.steps)
        if not overflow < arb(-1000).exp():
            raise UndecidedError(f"messages of batch {place + 1} have no room; lower κ* or the horizon.")
        proof = batch_proof(n=n, d=1, epsilon=at.epsilon, delta=at.delta, beyond=excess)
        made.append(proof.certify(claim))
    return made
