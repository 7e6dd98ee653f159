"""Accounting: the conversions of Lemma 10 and advanced composition (Theorem 7)."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from functools import lru_cache
from typing import Any

from audits.inequalities import Inequality, Number, Point, add_steps
from dpaudit.exact_functions import ln
from dpaudit.kernel.ball import arb, ball, upper_short
from dpaudit.kernel.t1.divergence import lattice_delta
from dpaudit.kernel.t1.skellam_renyi import skellam_renyi
from dpaudit.kernel.t2.special_laws import Skellam
from dpaudit.suite import Run, Suite

__all__ = ["add_rows", "converted", "gaussian_delta", "response_delta", "step_budget"]

DELTAS = ("1/10000000000", "1/100000", "1/10", "1/2", "9/10", "999/1000")


def add_rows(suite: Suite) -> None:
    """The rows on accounting."""
    _conversion(suite)
    _conversion_of_pure(suite)
    _advanced_composition(suite)


# Lemma 10


def gaussian_delta(rho: Number, epsilon: Any) -> Any:
    """The exact delta of the Gaussian mechanism of zCDP parameter ``rho`` at any real ``epsilon``, as a
    ball."""
    mu = (2 * ball(rho)).sqrt()
    near, far = mu / 2 - epsilon / mu, -mu / 2 - epsilon / mu
    return _normal(near) - epsilon.exp() * _normal(far)


def _normal(x: Any) -> Any:
    return (-x / arb(2).sqrt()).erfc() / 2


def converted(divergence: Any, order: Fraction, delta: Fraction) -> Any:
    """Lemma 10's ε(α) + log(1/(αδ))/(α-1) + log(1 - 1/α) at one order, as a ball."""
    return divergence + ln(1 / (order * delta)) / ball(order - 1) + ln(1 - 1 / order)


@lru_cache(maxsize=512)
def _best_order(rho: Fraction, delta: Fraction) -> Fraction:
    """The order at which Lemma 10's expression for ε(α) = ρα is least, to about nine digits.

    With a = α - 1 the derivative ρ - log(1/(αδ))/a² changes sign once; bisection in log a.
    """
    low, high = -20.0, 60.0
    while high - low > 1e-10:
        middle = (low + high) / 2
        a = math.exp(middle)
        slope = float(rho) * a * a + math.log1p(a) + math.log(float(delta))
        low, high = (low, middle) if slope > 0 else (middle, high)
    return 1 + Fraction(math.exp(high)).limit_denominator(10**12)


def _conversion(suite: Suite) -> None:
    def points(run: Run) -> list[Point]:
        rhos = ["1/1000000", "1/10000", "1/100", "1/2", "5"]
        return [{"rho": Fraction(r), "delta": Fraction(d)} for r, d in itertools.product(rhos, DELTAS)]

    def printed(rho: Fraction, delta: Fraction) -> Any:
        order = _best_order(rho, delta)
        return converted(ball(rho * order), order, delta)

    def closed(rho: Fraction, delta: Fraction) -> Any:
        return ball(rho) + 2 * (ball(rho) * ln(1 / delta)).sqrt()

    add_steps(
        suite,
        "CZ23-L10",
        title=(
            "RDP gives (ε, δ)-DP with ε = inf { ε(α) + log(1/(αδ))/(α-1) + log(1 - 1/α) }, also for large δ"
        ),
        steps=[
            Inequality(
                name="Gaussian",
                text="the exact delta of Gaussian noise of ρ at that ε is at most δ, on the grid",
                left=lambda rho, delta: gaussian_delta(rho, printed(rho, delta)),
                right=lambda rho, delta: ball(delta),
                points=points,
            ),
            Inequality(
                name="closed form",
                text="and ε <= ρ + 2 sqrt(ρ log(1/δ)), ρ = ε²/2 of CDP",
                left=lambda rho, delta: printed(rho, delta).exp(),
                right=lambda rho, delta: closed(rho, delta).exp(),
                points=points,
            ),
        ],
        about=(
            "Evaluate the printed expression at its best order and compare the exact (ε, δ) curve of "
            "Gaussian noise "
            "there with δ; ε may be negative, where the inequality P(E) <= e^ε P'(E) + δ still has to hold."
        ),
        source="Lemma 10",
        scope="ρ from 1e-6 to 5, δ from 1e-10 to 0.999",
        notes=["proof: (1 - e^{ε-L})_+ <= e^{(α-1)(L-ε)} (1 - 1/α)^α / (α-1) pointwise, for every real ε"],
    )
    _conversion_sign(suite, printed)
    _conversion_of_skellam(suite)


def _conversion_sign(suite: Suite, printed: Any) -> None:
    def points(run: Run) -> list[Point]:
        return [
            {"rho": Fraction(r), "delta": Fraction(d)}
            for r, d in (("1/10000", "9/10"), ("1/100", "1/2"), ("1/1000000000000", "1/100000"))
        ]

    for id_, left, expect, title, notes in (
        (
            "CZ23-L10/sign",
            lambda rho, delta: (-printed(rho, delta)).exp(),
            "refuted",
            "Lemma 10's ε is a privacy loss: 0 or more",
            [
                "negative for every δ once ρ is small, roughly below δ²: what it says is then true, "
                "but (ε, δ)-DP "
                "wants ε >= 0; the repair is max(0, ε)"
            ],
        ),
        (
            "CZ23-L10/sign/repaired",
            lambda rho, delta: (-(printed(rho, delta).max(arb(0)))).exp(),
            "verified",
            "max(0, Lemma 10's ε) is 0 or more",
            [],
        ),
    ):
        add_steps(
            suite,
            id_,
            title=title,
            steps=[
                Inequality(
                    name="sign",
                    text="e^{-ε} <= 1 at three pairs of ρ and δ",
                    left=left,
                    right=lambda rho, delta: arb(1),
                    points=points,
                )
            ],
            about="Evaluate the printed expression at its best order for small ρ.",
            source="Lemma 10" if expect == "refuted" else "Lemma 10, repaired",
            scope="(ρ, δ) = (1e-4, 0.9), (1e-2, 1/2), (1e-12, 1e-5)",
            expect=expect,
            notes=notes,
        )


def _conversion_of_skellam(suite: Suite) -> None:
    def points(run: Run) -> list[Point]:
        return [
            {"variance": v, "shift": d, "delta": Fraction(p)}
            for v, d in ((1, 1), (16, 2), (400, 10))
            for p in ("1/1000000", "1/1000", "1/10", "9/10")
        ]

    @lru_cache(maxsize=8)
    def curve(variance: int, shift: int) -> list[Any]:
        orders = [Fraction(order) for order in range(2, 65)]
        return [(order, skellam_renyi(Fraction(variance), shift=shift, order=order)) for order in orders]

    def delta_at(variance: int, shift: int, delta: Fraction) -> Any:
        values = [
            upper_short(converted(divergence, order, delta)) for order, divergence in curve(variance, shift)
        ]
        return lattice_delta(Skellam(Fraction(variance)), shift=shift, epsilon=max(min(values), Fraction(0)))

    add_steps(
        suite,
        "CZ23-L10/integer-orders",
        title="With integer orders 2..64 alone, the conversion of Skellam noise is valid",
        steps=[
            Inequality(
                name="Skellam",
                text="the exact delta at max(0, the least converted ε) is at most δ",
                left=delta_at,
                right=lambda variance, shift, delta: ball(delta),
                points=points,
            )
        ],
        about="Convert exact Skellam divergences at integer orders and compare with the exact delta.",
        source="Lemma 10 with Theorem 2",
        scope="σ² = 1, 16, 400 with Δ = 1, 2, 10; δ from 1e-6 to 0.9",
    )


def _conversion_of_pure(suite: Suite) -> None:
    def points(run: Run) -> list[Point]:
        return [
            {"epsilon": Fraction(e), "order": Fraction(a)}
            for e in ("1/1000", "1/10", "1", "5", "30")
            for a in ("1001/1000", "3/2", "2", "10", "1000")
        ]

    def response(epsilon: Fraction, order: Fraction) -> Any:
        # (s^a t^(1-a) + t^a s^(1-a)), s = e^ε t, t = 1/(1 + e^ε)
        total = (ball(order * epsilon).exp() + ball((1 - order) * epsilon).exp()) / (1 + ball(epsilon).exp())
        return total.log() / ball(order - 1)

    add_steps(
        suite,
        "CZ23-L10/pure",
        title="(ε, 0)-DP gives (α, ε²α/2)-RDP for every α",
        steps=[
            Inequality(
                name="randomised response",
                text="D_α of randomised response, the extremal ε-DP pair, is at most ε²α/2, on the grid",
                left=response,
                right=lambda epsilon, order: ball(epsilon**2 * order / 2),
                points=points,
            )
        ],
        about="Closed form of the extremal pair's divergence against the printed bound.",
        source="Lemma 10, last part",
        scope="ε from 1/1000 to 30, α from 1.001 to 1000",
        notes=["tight as ε tends to 0"],
    )


# Theorem 7


def response_delta(epsilon: Any, *, times: int, at: Any, leak: Fraction = Fraction(0)) -> Any:
    """1 minus the exact delta at ``at`` of ``times``-fold randomised response of budget ``epsilon``, each
    of which shows everything with probability ``leak``: (1 - leak)^k Σ_l C(k,l) min(e^{(k-l)ε}, e^{at +
    lε}) / (1 + e^ε)^k.

    That many-fold response is the worst adaptive composition of (ε, leak)-DP mechanisms (Kairouz, Oh,
    Viswanath 2015). The complement is returned because delta is near 1 where Theorem 7 fails.
    """
    total = arb(0)
    for k in range(times + 1):
        here, there = (epsilon * (times - k)).exp(), (at + epsilon * k).exp()
        total += math.comb(times, k) * here.min(there)
    return ball(1 - leak) ** times * total / (1 + epsilon.exp()) ** times


def step_budget(target: Fraction, times: int, slack: Fraction) -> Any:
    """ε = ε'/(2 sqrt(2k log(1/δ')))."""
    return ball(target) / (2 * (2 * times * ln(1 / slack)).sqrt())


def _advanced_composition(suite: Suite) -> None:
    def points(slacks: tuple[str, ...], leaks: tuple[str, ...]) -> Any:
        return lambda run: [
            {"target": Fraction(e), "times": k, "slack": Fraction(d), "leak": Fraction(x)}
            for e, k, d, x in itertools.product(
                ("1/100", "1/2", "9/10", "999/1000"), (1, 2, 4, 10, 50), slacks, leaks
            )
        ]

    def kept(target: Fraction, times: int, slack: Fraction, leak: Fraction) -> Any:
        return response_delta(step_budget(target, times, slack), times=times, at=ball(target), leak=leak)

    cases = (
        (
            "CZ23-T7",
            "for every δ' in (0, 1)",
            points(("1/1000000", "1/2", "999/1000", "9999/10000"), ("0",)),
            "refuted",
            (
                "as δ' tends to 1 the printed ε grows like 1/sqrt(1 - δ'), and one mechanism "
                "alone exceeds (ε', δ')"
            ),
        ),
        (
            "CZ23-T7/range",
            "for δ' <= 7/10",
            points(("1/1000000000000", "1/1000000", "1/100", "1/2", "7/10"), ("0", "1/1000000", "1/100")),
            "verified",
            "proof: Theorem 3.20 of Dwork and Roth needs kε(e^ε - 1) <= ε'/2, that is (ε'/(4 "
            "log(1/δ')))(e^ε - 1)/ε <= "
            "1, which holds for ε' <= 1 and δ' <= 7/10 (largest at k = 1); small δ' is what the paper uses",
        ),
    )
    for id_, words, grid, expect, note in cases:
        steps = [
            Inequality(
                name="composition",
                text=f"1 - kδ - δ' <= 1 - (exact delta at ε' of k mechanisms), {words}, on the grid",
                left=lambda target, times, slack, leak: ball(1 - times * leak - slack),
                right=kept,
                points=grid,
            )
        ]
        if expect == "verified":
            steps.append(
                Inequality(
                    name="condition",
                    text="(ε'/(4 log(1/δ')))(e^ε - 1)/ε <= 1 at ε' = 1, δ' = 7/10, k = 1",
                    left=lambda: (
                        (step_budget(Fraction(1), 1, Fraction(7, 10)).exp() - 1)
                        / step_budget(Fraction(1), 1, Fraction(7, 10))
                        / (4 * ln(Fraction(10, 7)))
                    ),
                    right=lambda: arb(1),
                    points=lambda run: [{}],
                )
            )
        add_steps(
            suite,
            id_,
            title=f"Advanced composition with ε = ε'/(2 sqrt(2k log(1/δ'))), ε' < 1, {words}",
            steps=steps,
            about=(
                "Exact delta of k-fold randomised response, the worst composition of k mechanisms, "
                "at ε', against "
                "kδ + δ'; complements are compared, since both are near 1 where it fails."
            ),
            source="Theorem 7 (Dwork and Roth, Corollary 3.21)",
            scope="ε' from 0.01 to 0.999, k from 1 to 50",
            expect=expect,
            notes=[note],
        )
