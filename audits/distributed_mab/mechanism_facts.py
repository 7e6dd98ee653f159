"""Facts on the mechanisms' noise: discrete Gaussian (fact 2), discrete Laplace (fact 3), and claim 1."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from audits.inequalities import Inequality, Number, add_steps
from dpaudit.claims import PureDP, ZeroConcentratedDP
from dpaudit.exact_functions import log_of_two_over
from dpaudit.kernel.ball import arb, ball
from dpaudit.laws import DiscreteGaussian, DiscreteLaplace
from dpaudit.laws.exact_tails import beyond
from dpaudit.proofs.build import discrete_gaussian_sum, discrete_laplace_mechanism
from dpaudit.suite import Outcome, Run, Suite
from dpaudit.views import SERVER, View

__all__ = ["add_rows"]

QUERY = "a user's contribution to an integer query of sensitivity Δ"


def add_rows(suite: Suite) -> None:
    """The rows on facts 2 and 3 and on claim 1."""
    _discrete_gaussian(suite)
    _laplace_mechanism(suite)
    _hyperbolic_cosine(suite)


# Fact 2


def _discrete_gaussian(suite: Suite) -> None:
    epsilon, moved = Fraction(1, 2), 3
    proof = discrete_gaussian_sum(sensitivity=moved, variance=(moved / epsilon) ** 2)
    claim = ZeroConcentratedDP(rho=epsilon**2 / 2, view=View.of(SERVER), domain=QUERY)

    @suite.row(
        "CZ23-F2",
        title="N_Z(0, Δ²/ε²) on a query of sensitivity Δ is (1/2)ε²-CDP",
        kind="privacy",
        claim=claim,
        view="server",
        source="Fact 2",
    )
    def privacy(run: Run) -> Outcome:
        """One certificate for all orders at once, at Δ = 3 and ε = 1/2; the bound Δ²/(2σ²) does not depend on
        either."""
        return Outcome(
            [proof.certify(claim)],
            ["attained: with Δ = 3 the divergence equals ε²α/2 at every integer order α"],
        )

    def tails(run: Run) -> list[dict[str, Number]]:
        return [
            {"sigma2": Fraction(v), "t": t}
            for v in ("1/20", "1/4", "1", "9", "100")
            for t in (0, 1, 2, 3, 5, 10, 30, 100)
            if t * t < 2000 * Fraction(v)
        ]

    def tilts(run: Run) -> list[dict[str, Number]]:
        return [
            {"sigma2": Fraction(v), "t": Fraction(t)}
            for v in ("1/20", "1/4", "1", "9", "100")
            for t in ("1/1000", "1/10", "1/3", "1/2", "1", "5/3", "10", "50")
            if Fraction(v) <= 1 or Fraction(t) <= 1
        ]

    add_steps(
        suite,
        "CZ23-F2/tail",
        title="N_Z(0, σ²) is σ²-sub-Gaussian, and P(|Y| >= t) <= 2 exp(-t²/(2σ²))",
        steps=[
            Inequality(
                name="tail",
                text="P(|Y| >= t) <= 2 exp(-t²/(2σ²)), σ² = Δ²/ε²",
                left=lambda sigma2, t: (
                    beyond(DiscreteGaussian(sigma2=sigma2), ball(t) - ball(Fraction(1, 2))) if t else arb(1)
                ),
                right=lambda sigma2, t: 2 * ball(-t * t / (2 * sigma2)).exp(),
                points=tails,
            ),
            Inequality(
                name="MGF",
                text="log E e^{λY} <= λ²σ²/2 + 2^-100 (they are equal where λσ² is an integer)",
                left=lambda sigma2, t: DiscreteGaussian(sigma2=sigma2).log_mgf_ball(t),
                right=lambda sigma2, t: ball(t * t * sigma2 / 2) + arb(2) ** -100,
                points=tilts,
            ),
        ],
        about=(
            "Compare exact tails with the printed bound at integers t, and the exact cumulant with the "
            "sub-Gaussian one."
        ),
        source="Fact 2",
        scope="σ² = 1/20, 1/4, 1, 9, 100; t up to 100, λ up to 50",
        kind="tail",
        notes=[
            "proof of the second: completing the square leaves a theta sum centred at λσ² over one "
            "centred at "
            "0, and the latter is the largest (Poisson summation)"
        ],
    )


# Fact 3


def _laplace_mechanism(suite: Suite) -> None:
    epsilon, moved = Fraction(1, 2), 3
    claim = PureDP(epsilon=epsilon, view=View.of(SERVER), domain=QUERY)

    @suite.row(
        "CZ23-F3",
        title="Lap_Z(Δ/ε) on a query of sensitivity Δ is (ε, 0)-DP",
        kind="privacy",
        claim=claim,
        view="server",
        source="Fact 3",
    )
    def privacy(run: Run) -> Outcome:
        """Certify Δ = 3, ε = 1/2; the bound Δ/scale is an identity of the two numbers."""
        proof = discrete_laplace_mechanism(sensitivity=moved, scale=moved / epsilon)
        return Outcome([proof.certify(claim)], ["attained at every outcome beyond both query values"])

    def points(run: Run) -> list[dict[str, Number]]:
        scales = ["1/100", "1/10", "1/2", "1", "3", "10", "1000", "100000"]
        levels = ["1", "999/1000", "1/2", "1/10", "1/1000", "1/1000000", "1/1000000000000"]
        return [{"b": Fraction(b), "p": Fraction(p)} for b in scales for p in levels]

    def tail(b: Fraction, whole: Any) -> Any:
        return beyond(DiscreteLaplace(scale=b), whole)

    def ceiling(value: Any) -> Any:
        return value.ceil()

    add_steps(
        suite,
        "CZ23-F3/tail",
        title="P(|Y| > ⌈(Δ/ε) log(2/p)⌉) <= p for Y ~ Lap_Z(Δ/ε)",
        steps=[
            Inequality(
                name="tail",
                text="P(|Y| > ⌈b log(2/p)⌉) <= p, b = Δ/ε",
                left=lambda b, p: tail(b, ceiling(ball(b) * log_of_two_over(p))),
                right=lambda b, p: ball(p),
                points=points,
            ),
            Inequality(
                name="half",
                text="and even <= p/(e^{1/b} + 1), below p/2",
                left=lambda b, p: tail(b, ceiling(ball(b) * log_of_two_over(p))),
                right=lambda b, p: ball(p) / (ball(1 / b).exp() + 1) + ball(p) * arb(2) ** -100,
                points=points,
            ),
        ],
        about="Compare the closed form of the exact tail with p.",
        source="Fact 3",
        scope="b from 1/100 to 1e5, p from 1 to 1e-12",
        kind="tail",
        notes=["proof: P(|Y| >= k + 1) = 2 e^{-k/b}/(e^{1/b} + 1), and e^{-k/b} <= p/2 for k = ⌈b log(2/p)⌉"],
    )
    add_steps(
        suite,
        "CZ23-F3/sharp",
        title="P(|Y| > ⌈(Δ/ε) log(1/p)⌉) <= p: the 2 under the logarithm is not needed",
        steps=[
            Inequality(
                name="tail",
                text="P(|Y| > ⌈b log(1/p)⌉) <= p",
                left=lambda b, p: tail(b, ceiling(ball(b) * (1 / ball(p)).log())),
                right=lambda b, p: ball(p),
                points=lambda run: [point for point in points(run) if point["p"] < 1],
            )
        ],
        about="The same with log(1/p), the smallest constant that works for all scales.",
        source="Fact 3, sharpened",
        scope="b from 1/100 to 1e5, p from 0.999 to 1e-12",
        kind="tail",
        notes=["as b grows and p falls, the ratio tends to 1"],
    )


# Claim 1


def _hyperbolic_cosine(suite: Suite) -> None:
    def orders(run: Run) -> list[dict[str, Number]]:
        return [{"k": k} for k in range(200)]

    def tilts(run: Run) -> list[dict[str, Number]]:
        return [{"t": Fraction(t)} for t in ("0", "1/1000", "1/10", "1/2", "1", "2", "5", "30", "300")]

    def products(run: Run) -> list[dict[str, Number]]:
        return [{"t": Fraction(t), "last": 1000} for t in ("1/10", "1", "3", "10")]

    def product(t: Fraction, last: int) -> Any:
        unit = ball(4 * t * t) / arb.pi() ** 2
        total = arb(1)
        for k in range(1, last + 1):
            total *= 1 + unit / (2 * k - 1) ** 2
        return total

    def rest(t: Fraction, last: int) -> Any:
        # sum over k > N of 1/(2k-1)^2 <= 1/(2(2N-1)), an integral
        return (ball(4 * t * t) / arb.pi() ** 2 / (2 * (2 * last - 1))).exp()

    def odd_squares(last: int) -> Any:
        return sum((ball(Fraction(1, (2 * k - 1) ** 2)) for k in range(1, last + 1)), arb(0))

    add_steps(
        suite,
        "CZ23-CL1",
        title="cosh λ <= e^{λ²/2}, by the product formula of cosh and Σ 1/(2k-1)² = π²/8",
        steps=[
            Inequality(
                name="coefficients",
                text="1/(2k)! <= 1/(2^k k!): the two power series, term by term",
                left=lambda k: ball(Fraction(2**k * math.factorial(k), math.factorial(2 * k))),
                right=lambda k: arb(1),
                points=orders,
            ),
            Inequality(
                name="claim",
                text="cosh λ <= e^{λ²/2}",
                left=lambda t: ball(t).cosh(),
                right=lambda t: ball(t * t / 2).exp(),
                points=tilts,
            ),
            Inequality(
                name="product, below",
                text="Π_{k<=N} (1 + 4λ²/(π²(2k-1)²)) <= cosh λ",
                left=product,
                right=lambda t, last: ball(t).cosh(),
                points=products,
            ),
            Inequality(
                name="product, above",
                text="cosh λ <= the product of N factors times a bound of the rest",
                left=lambda t, last: ball(t).cosh(),
                right=lambda t, last: product(t, last) * rest(t, last),
                points=products,
            ),
            Inequality(
                name="odd squares, below",
                text="Σ_{k<=N} 1/(2k-1)² <= π²/8",
                left=odd_squares,
                right=lambda last: arb.pi() ** 2 / 8,
                points=lambda run: [{"last": 1000}],
            ),
            Inequality(
                name="odd squares, above",
                text="π²/8 <= Σ_{k<=N} 1/(2k-1)² + 1/(2(2N-1))",
                left=lambda last: arb.pi() ** 2 / 8,
                right=lambda last: odd_squares(last) + ball(Fraction(1, 2 * (2 * last - 1))),
                points=lambda run: [{"last": 1000}],
            ),
        ],
        about=(
            "Compare the power series coefficient by coefficient (which proves the claim for all λ), the two "
            "sides on a grid, and partial products and sums of the printed formulas with bounded rests."
        ),
        source="Claim 1",
        scope="200 coefficients, |λ| up to 300, 1000 factors",
        notes=[
            "for every k: (2k)!/k! is a product of k factors, each at least 2 from k = 1 on, so at least 2^k"
        ],
    )
