"""Concentrated DP of one batch's aggregate: Lemma 4, Theorem 4, and drop-outs."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from audits.distributed_mab.gaussian_sums import (
    divergence_excess,
    largest_log_ratio,
    one_gaussian,
    xi,
)
from audits.distributed_mab.noise_privacy import DOMAIN, add_privacy_row
from audits.inequalities import Inequality, Point, add_steps
from dpaudit.claims import ZeroConcentratedDP
from dpaudit.evidence import Witness
from dpaudit.kernel.ball import ball, precision, upper_short
from dpaudit.proofs.build import compose_parallel, discrete_gaussian_sum
from dpaudit.suite import Run, Suite
from dpaudit.views import SERVER, View
from dpaudit.witnesses.divergence import divergence_witness
from mechanisms.parameter_sheet import discrete_gaussian_sheet, rounded_up_root

__all__ = ["NEAR_ONE", "add_rows", "concentrated_bound"]

#: R_α/α bounds rho from below at every order α; this near to 1 it is D_1 to six digits.
NEAR_ONE = Fraction(10**6 + 1, 10**6)
QUERY = "a user's contribution to an integer query of sensitivity Δ"


def add_rows(suite: Suite) -> None:
    """The rows on concentrated DP."""
    _lemma_4(suite)
    _theorem_4(suite)
    _dropout(suite)


def concentrated_bound(square: Fraction, correction: Any) -> Fraction:
    """(1/2) min{sqrt(e² + ξ/2), e + ξ}² for e² = ``square``, rounded up: e²/2 + min{ξ/4, eξ + ξ²/2}."""
    root = ball(square).sqrt()
    return square / 2 + upper_short((correction / 4).min(root * correction + correction**2 / 2))


def _lemma_4(suite: Suite) -> None:
    def claimed(variance: Fraction, count: int, shift: int) -> ZeroConcentratedDP:
        with precision(256):
            rho = concentrated_bound(Fraction(shift**2) / (count * variance), xi(variance, count - 1))
        return ZeroConcentratedDP(rho=rho, view=View.of(SERVER), domain=QUERY)

    def exactly(variance: Fraction, count: int, shift: int) -> Witness:
        return _sum_witness(claimed(variance, count, shift), variance, count=count, shift=shift)

    def add(id_: str, case: tuple[Fraction, int, int], expect: str, notes: list[str]) -> None:
        variance, count, shift = case
        claim = claimed(*case)

        def evidence(run: Run) -> list[Any]:
            if expect == "refuted":
                return [exactly(*case)]
            proof = discrete_gaussian_sum(sensitivity=shift, variance=variance, count=count)
            return [proof.certify(claim), exactly(*case)] if count <= 64 else [proof.certify(claim)]

        add_privacy_row(
            suite,
            id_,
            title=(
                f"{count} discrete Gaussians of σ² = {variance}, Δ = {shift}: (1/2)ε²-CDP with the printed ε"
            ),
            claim=claim,
            evidence=evidence,
            about=(
                "Lemma 4 on one instance. A refutation rests on the exact divergence of an order near 1 (a "
                "rho-CDP mechanism has at most rho times the order), a verification on the kernel's bound "
                "for all orders."
            ),
            source="Lemma 4",
            expect=expect,
            notes=notes,
        )

    why = (
        "the masses are those of one discrete Gaussian times a factor of period n; a shift by n/2 "
        "sets its top "
        "against its bottom, and D_1 exceeds Δ²/(2nσ²) by about 4n exp(-2π²σ²), where ξ/4 allows about "
        "2.5n exp(-2π²σ²): with Δ = n/2 the printed ε is too small once n is large enough, at every σ"
    )
    add("CZ23-L4", (Fraction(1, 4), 64, 32), "refuted", [why])
    add("CZ23-L4/two", (Fraction(1), 2, 1), "verified", ["the smallest sum, at the smallest σ of Theorem 4"])
    add("CZ23-L4/half", (Fraction(1), 64, 32), "verified", ["at σ = 1 Δ = n/2 does no harm yet"])
    add("CZ23-L4/small-shift", (Fraction(1), 2**19, 717), "verified", ["Δ near sqrt(n): Theorem 4's range"])
    _lemma_4_repaired(suite)
    plain = ZeroConcentratedDP(
        rho=one_gaussian(Fraction(1, 4), count=16, shift=1), view=View.of(SERVER), domain=QUERY
    )
    add_privacy_row(
        suite,
        "CZ23-L4/without-xi",
        title="16 discrete Gaussians of σ² = 1/4 cost no more than one of σ² = 4 (ξ left out)",
        claim=plain,
        evidence=lambda run: [_sum_witness(plain, Fraction(1, 4), count=16, shift=1)],
        about="The exact divergence of the sum, at order near 1, against one discrete Gaussian's parameter.",
        source="Lemma 4 without ξ",
        expect="refuted",
    )


def _sum_witness(
    claim: ZeroConcentratedDP, variance: Fraction, *, count: int, shift: int, modulus: int | None = None
) -> Witness:
    """The exact divergence of the sum from itself shifted, at an order so near to 1 that it is D_1's."""
    return divergence_witness(
        claim,
        "discrete-gaussian-sum",
        shift=shift,
        order=NEAR_ONE,
        modulus=modulus,
        variance=variance,
        count=count,
        description=f"{count} discrete Gaussians of σ² = {variance} against themselves shifted by {shift}",
    )


def _lemma_4_repaired(suite: Suite) -> None:
    def points(run: Run) -> list[Point]:
        counts = [2, 3, 16, *run.choose(quick=[], full=[5, 64, 128])]
        return [
            {"variance": Fraction(v), "count": n, "shift": d}
            for v in ("1/4", "1/2", "1", "2")
            for n in counts
            for d in sorted({1, n // 2})
        ]

    def orders(run: Run) -> list[Point]:
        return [
            point | {"order": Fraction(a)}
            for point in points(run)
            for a in ("1001/1000", "3/2", "4", "30")
            if point["count"] <= 16
        ]

    add_steps(
        suite,
        "CZ23-L4/repaired",
        title="Sums of discrete Gaussians: D_α <= αΔ²/(2nσ²) + ξ, so (1/2)ε²-CDP with ε² = Δ²/(nσ²) + 2ξ",
        steps=[
            Inequality(
                name="all orders",
                text=(
                    "max_r log Θ(r)/Θ(r - Δ), which bounds D_α - αΔ²/(2nσ²) at every α, is at "
                    "most ξ, on the grid"
                ),
                left=lambda variance, count, shift: largest_log_ratio(variance, count=count, shift=shift),
                right=lambda variance, count, shift: xi(variance, count - 1),
                points=points,
            ),
            Inequality(
                name="orders",
                text="exp(D_α - αΔ²/(2nσ²)) <= exp(ξ) at four orders",
                left=lambda variance, count, shift, order: divergence_excess(
                    variance, count=count, shift=shift, order=order
                ).exp(),
                right=lambda variance, count, shift, order: xi(variance, count - 1).exp(),
                points=orders,
            ),
        ],
        about=(
            "The exact periodic factor of the sum's masses; its largest log-ratio bounds the excess "
            "of every order "
            "(proof: rule gaussian-sum of the kernel), and a few orders are computed outright."
        ),
        source="Lemma 4, repaired",
        scope="σ² from 1/4 to 2, n from 2 to 16 (full profile: 128), Δ = 1 and n/2",
        notes=[
            (
                "of the order of 4n exp(-2π²σ²): ξ is loose by a factor of 2.5 for large n, by "
                "far more for small n"
            )
        ],
    )


# Theorem 4


def _gaussian_batch(epsilon: Fraction, s: Fraction, n: int) -> tuple[int, Fraction]:
    """g and each share's parameter g²/(nε²) of Theorem 4's sheet."""
    g = rounded_up_root(s * epsilon, n)
    return g, g**2 / (n * epsilon**2)


def _theorem_4(suite: Suite) -> None:
    for id_, epsilon, s, exponent in (
        ("CZ23-T4P", Fraction(1, 2), 1, 20),
        ("CZ23-T4P/small", Fraction(1, 8), 1, 7),
        ("CZ23-T4P/large", Fraction(99, 100), 1, 12),
        ("CZ23-T4P/s-3", Fraction(1, 2), 3, 20),
        ("CZ23-T4P/s-10", Fraction(1, 2), 10, 20),
    ):
        horizon = 2**exponent
        with precision(256):
            rho = concentrated_bound(epsilon**2, xi(Fraction(s * s), horizon // 2 - 1))
        claim = ZeroConcentratedDP(rho=rho, view=View.of(SERVER), domain=DOMAIN)

        def evidence(
            run: Run,
            claim: ZeroConcentratedDP = claim,
            epsilon: Fraction = epsilon,
            s: int = s,
            exponent: int = exponent,
        ) -> list[Any]:
            parts = []
            for n in (2**b for b in range(1, exponent)):
                g, share = _gaussian_batch(epsilon, Fraction(s), n)
                parts.append(discrete_gaussian_sum(sensitivity=g, variance=share, count=n))
            return [compose_parallel(parts).certify(claim)]

        add_privacy_row(
            suite,
            id_,
            title=f"Dist-CDP-SE, s = {s}, ε = {epsilon}, T = 2^{exponent}: (1/2)ε̄²-CDP, full turnout",
            claim=claim,
            evidence=evidence,
            about=(
                "One certificate over all batch sizes up to T/2, each with its own g and share, for "
                "all orders at "
                "once, against (1/2) min{sqrt(ε² + ξ/2), ε + ξ}² with ξ as printed (rounded up in "
                "the 56th bit of "
                "what ξ adds). The kernel's bound does not use Lemma 4."
            ),
            source="Theorem 4",
            notes=[
                "Lemma 4 fails for large Δ (CZ23-L4), but here Δ = g is near sε sqrt(n), far below "
                "n/2, and every share "
                "has σ² >= s² >= 1"
            ],
        )


# Drop-outs


def _dropout(suite: Suite) -> None:
    epsilon, users, present, s = Fraction(1, 2), 16, 15, Fraction(10)
    sheet = discrete_gaussian_sheet(
        users=users, epsilon=epsilon, tail_prob=Fraction(1, 2**20), scale_factor=s
    )
    modulus, view, turnout = sheet.modulus, View.of(SERVER), f"{present} of {users} users"
    share_g, share = _gaussian_batch(epsilon, s, users)
    with precision(256):
        rho = concentrated_bound(epsilon**2, xi(s * s, 2**19 - 1))
    concentrated = ZeroConcentratedDP(rho=rho, view=view, domain=DOMAIN, turnout=turnout)
    add_privacy_row(
        suite,
        "CZ23-T4P/dropout",
        title=f"Dist-CDP-SE, s = 10, {turnout} present: (1/2)ε̄²-CDP",
        claim=concentrated,
        evidence=lambda run: [
            _sum_witness(concentrated, share, count=present, shift=share_g, modulus=modulus),
            discrete_gaussian_sum(sensitivity=share_g, variance=share, count=present).certify(concentrated),
        ],
        about="The exact divergence, modulo m, of the sum of 15 shares; the certificate says what does hold.",
        source="Theorem 4, when messages are lost (the paper is silent on drop-outs)",
        expect="refuted",
        notes=["a turnout r costs ε²/(2r)"],
    )
