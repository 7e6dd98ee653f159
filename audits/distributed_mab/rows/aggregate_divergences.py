"""Rényi and concentrated DP of one batch's aggregate: Lemmas 3 and 4, Theorems 2 and 4, and lost messages."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

from audits.distributed_mab.concentrated_privacy import (
    concentrated_bound,
    gaussian_batch,
    gaussian_batches,
    sum_witness,
)
from audits.distributed_mab.noise_privacy import DOMAIN
from audits.distributed_mab.renyi_privacy import (
    lemma_3,
    skellam_batch,
    skellam_batches,
    skellam_witness,
    theorem_2_batch,
    theorem_2_final,
)
from dpaudit.certify.build import discrete_gaussian_sum, integer_noise
from dpaudit.core.claims import RenyiDP, ZeroConcentratedDP
from dpaudit.core.evidence import Evidence
from dpaudit.core.exact_functions import ceil_root
from dpaudit.core.suite import Group, Run
from dpaudit.core.views import SERVER, View
from dpaudit.kernel.ball import ball, precision
from dpaudit.kernel.t1.skellam_renyi import skellam_renyi
from dpaudit.reference.mechanisms.gaussian_sum_divergence import (
    divergence_excess,
    largest_log_ratio,
    one_gaussian,
    xi,
)
from dpaudit.reference.mechanisms.parameter_sheet import (
    discrete_gaussian_sheet,
    rounded_up_root,
    skellam_sheet,
)
from dpaudit.suite import (
    Chain,
    Grid,
    Sides,
    Step,
    evidence,
    full,
    inequality,
    listed,
    on,
    only_quick,
    over,
    reals,
    step,
    steps,
)

__all__ = ["rows"]

rows = Group("Rényi and concentrated privacy of a batch's aggregate")

THE_SERVER = View.of(SERVER)
HALF = Fraction(1, 2)
QUERY = "a user's contribution to an integer query of sensitivity Δ"
ORDERS = (2, 3, 4, 5, 8, 16, 32, 64)
LOST = "when messages are lost (the paper is silent on drop-outs)"


def renyi(order: Any, epsilon: Any, domain: str = DOMAIN) -> RenyiDP:
    """Return a Rényi claim in the server's view."""
    return RenyiDP(order=order, epsilon=epsilon, view=THE_SERVER, domain=domain)


def concentrated(rho: Fraction, domain: str = DOMAIN) -> ZeroConcentratedDP:
    """Return a concentrated claim in the server's view."""
    return ZeroConcentratedDP(rho=rho, view=THE_SERVER, domain=domain)


# Lemma 3


@inequality(
    rows,
    "CZ23-L3",
    "Lemma 3",
    over=over(
        order=(only_quick(*ORDERS), full(*range(2, 65))),
        shift=(1, 2, 10, full(100)),
        variance=("1/20", "1/4", "1", "10", "1000", full("100 100000")),
    ).where(lambda order, shift, variance: shift < 100 or order in ORDERS, "shift 100 at eight orders"),
)
def lemma(order: int, shift: int, variance: Fraction) -> Sides:
    """Skellam noise: ε(α) <= αΔ²/(2σ²) + min{((2α-1)Δ² + 6Δ)/(4σ⁴), 3Δ/(2σ²)}

    Compute exact Rényi divergences (sums with proved tails) of Skellam noise from itself shifted by Δ. The
    distribution is symmetric, so both directions agree. Among all shifts up to Δ, the largest has the largest
    divergence.
    """
    divergence = skellam_renyi(variance, shift=shift, order=Fraction(order))
    return divergence, lemma_3(order, shift, variance)


@evidence(
    rows,
    "CZ23-L3/gaussian",
    "Lemma 3 without its second term",
    claim=renyi("5/4", "5/8", QUERY),
    role="sharper",
    expect="refuted",
)
def gaussian(run: Run) -> list[Evidence]:
    """Skellam noise of variance 1, Δ = 1, costs no more at order 5/4 than a Gaussian, αΔ²/(2σ²) = 5/8

    The lemma's second term is needed: the exact divergence is above the Gaussian divergence at order 5/4, and
    below it at order 2.
    """
    return [skellam_witness(renyi("5/4", "5/8", QUERY), Fraction(1), 1)]


SMALLEST = renyi(2, lemma_3(2, 1, Fraction(1)), QUERY)


@evidence(rows, "CZ23-L3/certificate", "Lemma 3", claim=SMALLEST, role="step")
def certificate(run: Run) -> list[Evidence]:
    """Skellam noise of variance 1, Δ = 1, order 2: the printed bound, by a certificate

    This is the smallest variance of a theorem's sheet at the smallest order.
    """
    return [integer_noise("skellam", sensitivity=1, variance=1).certify(SMALLEST)]


# Theorem 2

#: Points at which one divergence does not take long.
CURVE = over(
    order=(only_quick(2, 3, 8, 64), full(*range(2, 65))),
    epsilon="1/10 1/2 1 3",
    s="1 10",
    n=(2, 16, 256, full(4, 8, 64, 1024)),
).where(lambda order, epsilon, s, n: rounded_up_root(s * epsilon, n) <= 40, "g up to 40")
#: Orders at which the printed second branch is smaller than Lemma 3's (CZ23-T2P/algebra).
FAR = over(order=(128, 256, 512, 1024), epsilon="1/10", s="1", n=(2, 4, 64))


@lru_cache(maxsize=4096)  # both steps use the same points
def _divergence(order: int, epsilon: Fraction, s: Fraction, n: int) -> Any:
    g, variance = skellam_batch(epsilon, s, n)
    return skellam_renyi(variance, shift=g, order=Fraction(order))


@step(over=CURVE + FAR)
def _per_batch(order: int, epsilon: Fraction, s: Fraction, n: int) -> Sides:
    """D_α <= αε²/2 + min{(2α-1)ε²/(4s²n) + 3ε/(2s³n^{3/2}), 3ε²/(2s sqrt n)}"""
    return _divergence(order, epsilon, s, n), theorem_2_batch(order, epsilon, s, n)


@step(over=CURVE + FAR)
def _final(order: int, epsilon: Fraction, s: Fraction, n: int) -> Sides:
    """D_α <= αε²/2 + min{(2α-1)ε²/(4s²) + 3ε/(2s³), 3ε²/(2s)}"""
    return _divergence(order, epsilon, s, n), theorem_2_final(order, epsilon, s)


@steps(rows, "CZ23-T2P/curve", "Theorem 2 and its proof")
def curve() -> list[Step]:
    """Dist-RDP-SE: the exact divergence of a batch's aggregate is at most the printed ε_n(α) and ε(α)

    Compare the exact Rényi divergences of Sk(0, g²/ε²) from itself shifted by g, g = ⌈sε sqrt n⌉, with both
    printed forms.

    Note: the statement holds although the step to its second branch does not (CZ23-T2P/algebra/second)
    """
    return [_per_batch, _final]


def theorem_2_claim(order: int, s: int, epsilon: Fraction) -> RenyiDP:
    """Return the claim of the theorem's ε(α) at one order."""
    return renyi(order, theorem_2_final(order, epsilon, Fraction(s)))


@evidence(
    rows,
    "CZ23-T2P",
    "Theorem 2",
    claim=theorem_2_claim,
    over=listed(
        "order s epsilon", (2, 1, "1"), (8, 1, "1/10"), (64, 1, "1"), (2, 10, "1/2"), (64, 10, "1/2")
    ),
)
def rdp(run: Run, order: int, s: int, epsilon: Fraction) -> list[Evidence]:
    """Dist-RDP-SE: the aggregates are (α, ε(α))-RDP

    One certificate covers the batch sizes 2, 4, ..., 64, each with its own g and variance, at fixed disjoint
    positions. Its bound is the largest exact divergence.
    """
    return [skellam_batches(epsilon, Fraction(s)).certify(theorem_2_claim(order, s, epsilon))]


BELOW_ONE, FROM_ONE = "1/1000 1/10 1/2 99/100", "1 3 40"
#: The two sides are equal if sε sqrt(n) is an integer.
SLACK = 1 + Fraction(1, 10**20)


def _algebra(epsilons: str) -> Any:
    return over(epsilon=epsilons, s="1 3 10", n=(2, 4, 100, 2**19))


EVERY = _algebra(f"{BELOW_ONE} {FROM_ONE}")
#: g over its least value sε sqrt n.
FROM_1 = reals(1, None)


def _share(epsilon: Fraction, s: Fraction, n: int, excess: Fraction | None) -> Any:
    """Return sε sqrt n over g = ⌈sε sqrt n⌉, or over ``excess`` times sε sqrt n."""
    if excess is not None:
        return 1 / ball(excess)
    return ball(s * epsilon) * ball(n).sqrt() / ceil_root((s * epsilon) ** 2 * n)


def _slack(excess: Fraction | None) -> Any:
    return ball(SLACK if excess is None else 1)


@inequality(
    rows,
    "CZ23-T2P/algebra/first",
    "proof of Theorem 2",
    over=EVERY,
    prove=on(excess=FROM_1),
    role="step",
)
def first_branch(
    epsilon: Fraction = Fraction(1), s: Fraction = Fraction(1), n: int = 1, excess: Fraction | None = None
) -> Chain:
    """From Lemma 3 to Theorem 2: ((2α-1)g² + 6g)ε⁴/(4g⁴) <= (2α-1)ε²/(4s²n) + 3ε/(2s³n^{3/2})

    Insert Δ = g, σ² = g²/ε² and g = ⌈sε sqrt n⌉ into Lemma 3 and compare with the theorem's term, summand by
    summand (a factor 1 + 1e-20 covers the points at which both are equal).

    Note: on a range it is proved for every g = excess · sε sqrt(n) with excess >= 1; s and n cancel. The
    rounded g is one of them, and the factor 1 + 1e-20 is not used
    """
    share, slack = _share(epsilon, s, n, excess), _slack(excess)
    return {
        "g²ε⁴/(4g⁴) <= ε²/(4s²n), both times 4s²n/ε²": (share**2, slack),
        "6gε⁴/(4g⁴) <= 3ε/(2s³n^{3/2}), both times 2s³n^{3/2}/(3ε)": (share**3, slack),
    }


@inequality(
    rows,
    "CZ23-T2P/algebra/second/repaired",
    "proof of Theorem 2, repaired",
    over=EVERY,
    prove=on(epsilon=reals(0, None, "()"), excess=FROM_1),
    role="repaired",
    power=1,
    words="3ε/(2s sqrt n), for every ε",
)
@inequality(
    rows,
    "CZ23-T2P/algebra/second/range",
    "proof of Theorem 2",
    over=_algebra(FROM_ONE),
    prove=on(epsilon=FROM_1, excess=FROM_1),
    role="step",
    power=2,
    words="3ε²/(2s sqrt n), for ε >= 1",
)
@inequality(
    rows,
    "CZ23-T2P/algebra/second",
    "proof of Theorem 2",
    over=_algebra(BELOW_ONE),
    role="step",
    expect="refuted",
    power=2,
    words="3ε²/(2s sqrt n), as printed",
)
def second_branch(
    epsilon: Fraction,
    power: int,
    words: str,
    s: Fraction = Fraction(1),
    n: int = 1,
    excess: Fraction | None = None,
) -> Sides:
    """From Lemma 3 to Theorem 2: 3ε²/(2g) <= {words}

    Insert Δ = g, σ² = g²/ε² and g = ⌈sε sqrt n⌉ into Lemma 3 and compare with the theorem's term, both sides
    times 2s sqrt(n)/(3ε).

    Note: on a range it is proved for every g = excess · sε sqrt(n) with excess >= 1; s and n cancel. The
    rounded g is one of them, and the factor 1 + 1e-20 is not used

    Note: 3σ^{-2}Δ/2 = 3ε²/(2g), and g >= sε sqrt(n) leaves one factor ε: the printed branch needs g >= s
    sqrt(n) and is too small by up to 1/ε for ε < 1. The theorem's ε(α) itself still holds (CZ23-T2P/curve)
    """
    return _share(epsilon, s, n, excess), _slack(excess) * ball(epsilon ** (power - 1))


USERS, PRESENT = 16, 15
FIFTEEN = f"{PRESENT} of {USERS} users"
TAIL = Fraction(1, 2**20)
RDP_LOST = replace(theorem_2_claim(2, 10, HALF), participation=FIFTEEN)


@evidence(rows, "CZ23-T2P/dropout", f"Theorem 2, {LOST}", claim=RDP_LOST, role="what-if", expect="refuted")
def rdp_dropout(run: Run) -> list[Evidence]:
    """Dist-RDP-SE, s = 10, 15 of 16 users present: order 2 costs at most ε(2)

    Compare the exact divergence, modulo m, with the variance of 15 of 16 shares, with the printed ε(2).

    Note: a participation r divides the variance by 1/r: about ε²α/(2r)
    """
    g, variance = skellam_batch(HALF, Fraction(10), USERS)
    sheet = skellam_sheet(users=USERS, epsilon=HALF, tail_prob=TAIL, scale_factor=10)
    return [skellam_witness(RDP_LOST, variance * PRESENT / USERS, g, sheet.modulus)]


# Lemma 4


def lemma_4_claim(variance: Fraction, count: int, shift: int) -> ZeroConcentratedDP:
    """Return the claim of (1/2)ε²-CDP with Lemma 4's ε."""
    with precision(256):
        rho = concentrated_bound(Fraction(shift**2) / (count * variance), xi(variance, count - 1))
    return concentrated(rho, QUERY)


@evidence(
    rows,
    "CZ23-L4",
    "Lemma 4",
    claim=lemma_4_claim,
    over=listed(
        "variance count shift",
        (Fraction(1, 4), 64, 32),
        (Fraction(1), 2, 1),
        (Fraction(1), 64, 32),
        (Fraction(1), 2**19, 717),
    ),
    expect=lambda variance, count, shift: "refuted" if variance < 1 else "verified",
)
def sums(run: Run, variance: Fraction, count: int, shift: int) -> list[Evidence]:
    """Sums of discrete Gaussians: (1/2)ε²-CDP with the printed ε

    Lemma 4 on single instances: the smallest sum at the smallest σ of Theorem 4, σ = 1 with Δ = n/2, and Δ
    near sqrt(n), Theorem 4's range. A refutation uses the exact divergence at an order near 1 (a rho-CDP
    mechanism has at most rho times the order). A verification uses the kernel's bound for all orders.

    Refuted: the masses are those of one discrete Gaussian times a factor of period n. A shift by n/2 aligns
    the maximum of this factor with its minimum, and D_1 exceeds Δ²/(2nσ²) by about 4n exp(-2π²σ²), but ξ/4
    allows only about 2.5n exp(-2π²σ²). With Δ = n/2 the printed ε is too small once n is large enough, at
    every σ
    """
    claim = lemma_4_claim(variance, count, shift)
    exactly = sum_witness(claim, variance, count=count, shift=shift) if count <= 64 else None
    if variance < 1 and exactly is not None:
        return [exactly]
    certified = discrete_gaussian_sum(sensitivity=shift, variance=variance, count=count).certify(claim)
    return [certified] if exactly is None else [certified, exactly]


def _shifts(many: tuple[int, ...], **others: Any) -> Grid:
    """Return the grid: sums of 2, 3 and 16 draws, in the full profile also of ``many``, shifted by 1 or by
    half their number."""
    grid = over(variance="1/4 1/2 1 2", count=(2, 3, 16, full(*many)), half=(False, True), **others)
    return grid.where(lambda count, half, **_: not half or count >= 4, "Δ = n/2 if half, else 1")


def _shift(count: int, half: bool) -> int:
    return count // 2 if half else 1


@step("all orders", over=_shifts((5, 64, 128)))
def _every_order(variance: Fraction, count: int, half: bool) -> Sides:
    """max_r log Θ(r)/Θ(r - Δ), which bounds D_α - αΔ²/(2nσ²) at every α, is at most ξ"""
    return largest_log_ratio(variance, count=count, shift=_shift(count, half)), xi(variance, count - 1)


@step("orders", over=_shifts((5,), order="1001/1000 3/2 4 30"))
def _some_orders(variance: Fraction, count: int, half: bool, order: Fraction) -> Sides:
    """exp(D_α - αΔ²/(2nσ²)) <= exp(ξ)"""
    excess = divergence_excess(variance, count=count, shift=_shift(count, half), order=order)
    return excess.exp(), xi(variance, count - 1).exp()


@steps(rows, "CZ23-L4/repaired", "Lemma 4, repaired", role="repaired")
def sums_repaired() -> list[Step]:
    """Sums of discrete Gaussians: D_α <= αΔ²/(2nσ²) + ξ, so (1/2)ε²-CDP with ε² = Δ²/(nσ²) + 2ξ

    Compute the exact periodic factor of the sum's masses. Its largest log-ratio bounds the excess of every
    order (proof: rule gaussian-sum of the kernel). A few orders are also computed directly.

    Note: the excess is of the order of 4n exp(-2π²σ²). ξ is loose by a factor of 2.5 for large n, by far more
    for small n
    """
    return [_every_order, _some_orders]


NO_XI = concentrated(one_gaussian(Fraction(1, 4), count=16, shift=1), QUERY)


@evidence(rows, "CZ23-L4/without-xi", "Lemma 4 without ξ", claim=NO_XI, role="sharper", expect="refuted")
def without_xi(run: Run) -> list[Evidence]:
    """16 discrete Gaussians of σ² = 1/4 cost no more than one of σ² = 4 (ξ left out)

    Compare the exact divergence of the sum, at an order near 1, with one discrete Gaussian's parameter. The
    term ξ is needed.
    """
    return [sum_witness(NO_XI, Fraction(1, 4), count=16, shift=1)]


# Theorem 4


def theorem_4_claim(epsilon: Fraction, s: int, exponent: int) -> ZeroConcentratedDP:
    """Return the claim of (1/2)ε̄²-CDP with the printed ε̄ at T = 2^exponent."""
    with precision(256):
        return concentrated(concentrated_bound(epsilon**2, xi(Fraction(s * s), 2**exponent // 2 - 1)))


@evidence(
    rows,
    "CZ23-T4P",
    "Theorem 4",
    claim=theorem_4_claim,
    over=listed(
        "epsilon s exponent",
        ("1/2", 1, 20),
        ("1/8", 1, 7),
        ("99/100", 1, 12),
        ("1/2", 3, 20),
        ("1/2", 10, 20),
    ),
    name=lambda epsilon, s, exponent: f"s = {s}, ε = {epsilon}, T = 2^{exponent}",
)
def cdp(run: Run, epsilon: Fraction, s: int, exponent: int) -> list[Evidence]:
    """Dist-CDP-SE: (1/2)ε̄²-CDP, full participation

    Compare one certificate over all batch sizes up to T/2, each with its own g and share, for all orders at
    once, with (1/2) min{sqrt(ε² + ξ/2), ε + ξ}². ξ is as printed (the part that ξ adds is rounded up in its
    56th bit). The kernel's bound does not use Lemma 4.

    Note: Lemma 4 fails for large Δ (CZ23-L4), but here Δ = g is near sε sqrt(n), far below n/2, and every
    share has σ² >= s² >= 1
    """
    return [gaussian_batches(epsilon, s, exponent).certify(theorem_4_claim(epsilon, s, exponent))]


CDP_LOST = replace(theorem_4_claim(HALF, 10, 20), participation=FIFTEEN)


@evidence(rows, "CZ23-T4P/dropout", f"Theorem 4, {LOST}", claim=CDP_LOST, role="what-if", expect="refuted")
def cdp_dropout(run: Run) -> list[Evidence]:
    """Dist-CDP-SE, s = 10, 15 of 16 users present: (1/2)ε̄²-CDP

    Compute the exact divergence, modulo m, of the sum of 15 shares. The certificate gives the bound that does
    hold.

    Note: a participation r costs ε²/(2r)
    """
    sheet = discrete_gaussian_sheet(users=USERS, epsilon=HALF, tail_prob=TAIL, scale_factor=10)
    g, share = gaussian_batch(HALF, Fraction(10), USERS)
    certified = discrete_gaussian_sum(sensitivity=g, variance=share, count=PRESENT).certify(CDP_LOST)
    return [sum_witness(CDP_LOST, share, count=PRESENT, shift=g, modulus=sheet.modulus), certified]
