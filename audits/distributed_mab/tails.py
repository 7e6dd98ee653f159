"""Tails of the noise: Proposition 1 on Skellam noise, Lemma 5 on sums of discrete Laplace noise.

Convention (Lemma 7): X is (σ², h)-sub-exponential iff E e^{λX} <= e^{λ²σ²/2} for all |λ| <= 1/h.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

from audits.inequalities import Inequality, Number, Point, add_steps
from dpaudit.claims import SubExponential
from dpaudit.exact_functions import larger, log_of_two_over
from dpaudit.kernel.ball import arb, ball
from dpaudit.laws import (
    DiscreteLaplace,
    Law,
    PolyaDifference,
    Skellam,
)
from dpaudit.laws.exact_tails import beyond
from dpaudit.proofs.decide import decide_proxy, noise_sum
from dpaudit.suite import Outcome, Row, Run, Suite

__all__ = ["ENOUGH", "LEVELS", "add_rows", "laplace_sum_radius", "skellam_radius"]

#: Failure probabilities: both ends of (0, 1] and the experiments' own 1/10.
LEVELS = tuple(
    Fraction(p) for p in ("1", "999/1000", "1/2", "1/10", "1/1000", "1/1000000", "1/1000000000000")
)
#: Lemma 5's absolute constant: the smallest for the moment generating function is 1/sqrt(1 - e^{-1/2}) =
#: 1.59421.
ENOUGH, TOO_SMALL = Fraction(8, 5), Fraction(1594, 1000)


def add_rows(suite: Suite) -> None:
    """The rows on concentration."""
    _skellam_cumulant(suite)
    _skellam_derivation(suite)
    _skellam_tail(suite)
    _laplace_sum_cumulant(suite)
    _laplace_sum_tail(suite)


def add_proxy_row(
    suite: Suite,
    id_: str,
    *,
    title: str,
    law: Law,
    count: int,
    proxy: Fraction,
    scale: Fraction,
    about: str,
    source: str,
    expect: str = "verified",
    notes: Sequence[str] = (),
) -> None:
    """A row that decides a sub-exponential claim on the exact cumulant function: certificate or witness."""
    noise = noise_sum([(law, count)])
    claim = SubExponential(variance_proxy=proxy, scale=scale, of=noise.name)

    def evaluate(run: Run) -> Outcome:
        return Outcome([decide_proxy(claim, noise)], notes)

    evaluate.__doc__ = about
    suite.add(
        Row(id=id_, title=title, kind="tail", claim=claim, evaluate=evaluate, expect=expect, source=source)
    )


# Proposition 1


def skellam_radius(variance: Number, p: Number) -> Any:
    """Proposition 1's 2σ sqrt(log(2/p)) + sqrt(2) log(2/p), as a ball."""
    level = log_of_two_over(p)
    return 2 * (ball(variance) * level).sqrt() + arb(2).sqrt() * level


def _skellam_cumulant(suite: Suite) -> None:
    scaling = "log E e^{λX} = σ²(cosh λ - 1): the inequality does not depend on σ², and σ² = 1 stands for all"
    add_proxy_row(
        suite,
        "CZ23-P1/mgf",
        title="Sk(0, σ²): E e^{λX} <= e^{λ²σ²} for |λ| <= sqrt(2), the step in Proposition 1's proof",
        law=Skellam(variance=1),
        count=1,
        proxy=Fraction(2),
        scale=Fraction(7, 10),  # 1/sqrt(2) = 0.7071: |λ| <= 10/7 is a little more than is claimed
        about="Decide the inequality on the exact cumulant function, for |λ| <= 10/7 > sqrt(2).",
        source="proof of Proposition 1",
        notes=[scaling, "it holds up to |λ| = 2.98, where cosh λ - 1 = λ²: h = 0.336 would do"],
    )
    add_proxy_row(
        suite,
        "CZ23-P1/pair",
        title="Sk(0, σ²) is (2σ², sqrt(2))-sub-exponential in the convention of Lemma 7",
        law=Skellam(variance=1),
        count=1,
        proxy=Fraction(2),
        scale=Fraction(7, 5),  # a little less than sqrt(2), so that |λ| <= 5/7 covers |λ| <= 1/sqrt(2)
        about="Decide the inequality on the exact cumulant function, for |λ| <= 5/7 > 1/sqrt(2).",
        source="Proposition 1",
        notes=[
            scaling,
            "true, but it is not what the proof shows: the proof's |λ| <= sqrt(2) is h = 1/sqrt(2)",
        ],
    )
    add_proxy_row(
        suite,
        "CZ23-P1/half",
        title="Sk(0, σ²) is (σ², h)-sub-exponential for some h > 0 (without the factor 2)",
        law=Skellam(variance=1),
        count=1,
        proxy=Fraction(1),
        scale=Fraction(100),
        about="Decide the inequality with the variance itself as proxy, for |λ| <= 1/100.",
        source="Proposition 1, without its factor 2",
        expect="refuted",
        notes=["cosh λ - 1 > λ²/2 for every λ other than 0: some factor above 1 is needed for every range"],
    )


def _skellam_derivation(suite: Suite) -> None:
    def printed(h_squared: Fraction) -> list[Inequality]:
        # Lemma 7's radius for (2σ², h): 2σ sqrt(L) + 2h L; both sides' linear coefficients, squared
        return [
            Inequality(
                name="linear term",
                text=f"(2h)² <= (sqrt 2)², the coefficients of log(2/p), with h² = {h_squared}",
                left=lambda h_squared: ball(4 * h_squared),
                right=lambda h_squared: ball(2),
                points=lambda run: [{"h_squared": h_squared}],
            )
        ]

    for id_, h_squared, expect, words in (
        ("CZ23-P1/derivation", Fraction(2), "refuted", "sqrt(2), as printed"),
        ("CZ23-P1/derivation/repaired", Fraction(1, 2), "verified", "1/sqrt(2), as the proof shows"),
    ):
        add_steps(
            suite,
            id_,
            title=f"Proposition 1's radius follows from Lemma 7 with h = {words}",
            steps=printed(h_squared),
            about=(
                "Insert the pair (2σ², h) into Lemma 7 and compare the coefficient of log(2/p) with the "
                "printed one; the coefficients of σ sqrt(log(2/p)) agree."
            ),
            source="Proposition 1 with Lemma 7",
            scope="the coefficient itself: no grid",
            expect=expect,
            kind="tail",
            notes=["h = sqrt(2) gives 2 sqrt(2) log(2/p), twice the printed term: a slip of 1/h for h"]
            if expect == "refuted"
            else [],
        )


def _skellam_tail(suite: Suite) -> None:
    def points(run: Run) -> list[Point]:
        variances = ["1/400", "1/20", "1/2", "1", "4", "100", *run.choose(quick=[], full=["10000", "250000"])]
        return [{"variance": Fraction(v), "p": p} for v, p in itertools.product(variances, LEVELS)]

    def tail(variance: Fraction, p: Fraction, radius: Callable[..., Any]) -> Any:
        return beyond(Skellam(variance=variance), radius(variance, p))

    def sharper(variance: Number, p: Number) -> Any:
        level = log_of_two_over(p)
        return (2 * ball(variance) * level).sqrt() + level / arb(12).sqrt()

    for id_, radius, words, note in (
        ("CZ23-P1", skellam_radius, "2σ sqrt(log(2/p)) + sqrt(2) log(2/p)", "loose by a factor 10 at p = 1"),
        (
            "CZ23-P1/sharper",
            sharper,
            "σ sqrt(2 log(2/p)) + log(2/p)/sqrt(12)",
            "proof: (2k)!/2 >= 12^{k-1} gives cosh λ - 1 <= (λ²/2)/(1 - λ²/12), so X is sub-gamma "
            "with variance "
            "factor σ² and scale 1/sqrt(12)",
        ),
    ):
        add_steps(
            suite,
            id_,
            title=f"X ~ Sk(0, σ²): |X| <= {words} with probability 1 - p or more",
            steps=[
                Inequality(
                    name="tail",
                    text=f"P(|X| > {words}) <= p at every point of the grid",
                    left=lambda variance, p, radius=radius: tail(variance, p, radius),
                    right=lambda variance, p: ball(p),
                    points=points,
                )
            ],
            about="Compare the exact tail beyond the radius with p, from σ² = 1/400 and p = 1 on.",
            source="Proposition 1" if id_ == "CZ23-P1" else "Proposition 1, sharpened",
            scope="σ² from 1/400 to 100 (full profile: 250000), p from 1 to 1e-12",
            kind="tail",
            notes=[note],
        )


# Lemma 5


def laplace_sum_radius(c: Fraction, n: int, epsilon: Fraction, p: Number) -> Any:
    """Lemma 5's max{(c/ε) sqrt(2n log(2/p)), (2c/ε) log(2/p)}, as a ball."""
    level = log_of_two_over(p)
    return ball(c / epsilon) * larger((2 * n * level).sqrt(), 2 * level)


def _laplace_sum_cumulant(suite: Suite) -> None:
    worst = (
        "the smallest c is 1/sqrt(1 - e^{-1/2}) = 1.59421: (cosh λ - 1)/(cosh ε - 1) <= (λ/ε)² for "
        "|λ| <= ε, with "
        "equality as ε tends to 0, and -log(1 - t²) <= c²t²/2 on |t| <= 1/c is tightest at |t| = 1/c"
    )
    for id_, c, expect in (("CZ23-L5", ENOUGH, "verified"), ("CZ23-L5/smaller", TOO_SMALL, "refuted")):
        epsilon, n = Fraction(1, 1000), 16
        add_proxy_row(
            suite,
            id_,
            title=f"A sum of n Lap_Z(1/ε) is (nc²/ε², c/ε)-sub-exponential with c = {c}",
            law=DiscreteLaplace(scale=1 / epsilon),
            count=n,
            proxy=n * c**2 / epsilon**2,
            scale=c / epsilon,
            about=(
                f"Decide Lemma 5's moment condition with c = {c} on the exact cumulant function, at n "
                f"= {n} and "
                f"ε = {epsilon}; the lemma only says that some absolute c > 0 exists."
            ),
            source="Lemma 5",
            expect=expect,
            notes=[worst],
        )

    def points(run: Run) -> list[Point]:
        return [
            {"epsilon": Fraction(e), "part": Fraction(t)}
            for e in ("1/1000", "1/10", "1", "4", "20")
            for t in ("1/1000", "1/4", "1/2", "4/5", "1")
        ]

    def cumulant(epsilon: Fraction, part: Fraction) -> Any:
        return DiscreteLaplace(scale=1 / epsilon).log_mgf_ball(part * epsilon / ENOUGH)

    add_steps(
        suite,
        "CZ23-L5/all",
        title="Lemma 5's moment condition with c = 8/5 holds for every ε",
        steps=[
            Inequality(
                name="reduction",
                text="(cosh λ - 1)/(cosh ε - 1) <= (λ/ε)² for |λ| < ε",
                left=lambda epsilon, part: (
                    (ball(part * epsilon / ENOUGH).cosh() - 1) / (ball(epsilon).cosh() - 1)
                ),
                right=lambda epsilon, part: ball((part / ENOUGH) ** 2),
                points=points,
            ),
            Inequality(
                name="end point",
                text="-log(1 - 1/c²) <= 1/2, c = 8/5",
                left=lambda: -(1 - 1 / ball(ENOUGH**2)).log(),
                right=lambda: ball(Fraction(1, 2)),
                points=lambda run: [{}],
            ),
            Inequality(
                name="cumulant",
                text="log E e^{λX} <= c²λ²/(2ε²) for |λ| <= ε/c",
                left=cumulant,
                right=lambda epsilon, part: ball(part**2 / 2),
                points=points,
            ),
        ],
        about=(
            "The reduction to ε near 0 on a grid (it holds because (cosh x - 1)/x² has a power series with "
            "positive coefficients), the one inequality that is left, and the exact cumulant on a grid."
        ),
        source="Lemma 5",
        scope="ε from 1/1000 to 20, λ up to ε/c",
        kind="tail",
    )


def _laplace_sum_tail(suite: Suite) -> None:
    def points(run: Run) -> list[Point]:
        scales = [Fraction(1, 10), Fraction(1), Fraction(4), *run.choose(quick=[], full=[Fraction(1, 50)])]
        users = [1, 2, 8, 64, *run.choose(quick=[], full=[256])]
        found: list[Point] = []
        for epsilon, n in itertools.product(scales, users):
            # levels around log(2/p) = n/2, where the two branches of the maximum meet and Lemma 5 is tightest
            doublings = sorted({1, 10, 40, *(round(n * part / 69) for part in (20, 40, 50, 60, 100))} - {0})
            found += [{"n": n, "epsilon": epsilon, "p": Fraction(2, 2**j)} for j in doublings]
        return found

    def tail(c: Fraction, n: int, epsilon: Fraction, p: Fraction) -> Any:
        law = PolyaDifference(shape=n, log_ratio=epsilon)
        return beyond(law, laplace_sum_radius(c, n, epsilon, p))

    for id_, c, expect, note in (
        (
            "CZ23-L5/tail",
            ENOUGH,
            "verified",
            "the smallest c for all n, ε and p is 1.5641, where the rate function of the Laplace law is 1/2 "
            "(Cramér: attained as n grows with log(2/p) = n/2)",
        ),
        (
            "CZ23-L5/tail/smaller",
            Fraction(3, 2),
            "refuted",
            "sqrt(2), what the variance alone would ask for, is smaller still",
        ),
    ):
        add_steps(
            suite,
            id_,
            title=f"|Σ Lap_Z(1/ε)| <= max((c/ε) sqrt(2n log(2/p)), (2c/ε) log(2/p)) with c = {c}",
            steps=[
                Inequality(
                    name="tail",
                    text=f"P(|Σ X_i| > v) <= p at v as printed, c = {c}, at every point of the grid",
                    left=lambda n, epsilon, p, c=c: tail(c, n, epsilon, p),
                    right=lambda n, epsilon, p: ball(p),
                    points=points if expect == "verified" else _crossing,
                )
            ],
            about=(
                "Exact tails of sums of n discrete Laplace variables (differences of Pólya variables "
                "of shape n) "
                "at the smallest v that the lemma allows."
            ),
            source="Lemma 5",
            scope="n up to 64 (full profile: 256), ε from 1/10 to 4 (1/50), p down to 2^-n"
            if expect == "verified"
            else "n = 256, ε = 1/10, p near 2 e^{-n/2}",
            expect=expect,
            kind="tail",
            notes=[note],
        )


def _crossing(run: Run) -> list[Point]:
    """Levels around log(2/p) = n/2 at n = 256."""
    return [{"n": 256, "epsilon": Fraction(1, 10), "p": Fraction(2, 2**j)} for j in (170, 185, 200)]
