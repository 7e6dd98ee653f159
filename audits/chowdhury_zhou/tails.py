"""Concentration: Proposition 1 on Skellam noise, Lemma 5 on sums of discrete Laplace noise, Lemmas 6 to 9.

Convention (Lemma 7): X is (σ², h)-sub-exponential iff E e^{λX} <= e^{λ²σ²/2} for all |λ| <= 1/h.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

from audits.chowdhury_zhou.exact_tails import above, beyond, log_of_two_over, sum_beyond
from audits.hu_huang_mehta.inequalities import Inequality, Number, Point, add_steps, larger
from dpaudit.ball import arb, ball
from dpaudit.certificates.tails import decide_proxy, noise_sum
from dpaudit.claims import SubExponential
from dpaudit.laws import (
    Binomial,
    DiscreteGaussian,
    DiscreteLaplace,
    Gaussian,
    Laplace,
    Law,
    PolyaDifference,
    Skellam,
)
from dpaudit.suite import Outcome, Row, Run, Suite

__all__ = ["LEVELS", "TOO_SMALL", "add_rows", "laplace_sum_radius", "skellam_radius"]

#: Failure probabilities: both ends of (0, 1] and the experiments' own 1/10.
LEVELS = tuple(
    Fraction(p) for p in ("1", "999/1000", "1/2", "1/10", "1/1000", "1/1000000", "1/1000000000000")
)
#: Lemma 5's absolute constant: the smallest for the moment generating function is 1/sqrt(1 - e^{-1/2}) = 1.59421.
ENOUGH, TOO_SMALL = Fraction(8, 5), Fraction(1594, 1000)


def add_rows(suite: Suite) -> None:
    """The rows on concentration."""
    _skellam_cumulant(suite)
    _skellam_derivation(suite)
    _skellam_tail(suite)
    _laplace_sum_cumulant(suite)
    _laplace_sum_tail(suite)
    _sub_gaussian(suite)
    _sub_exponential(suite)
    _hoeffding(suite)
    _sums(suite)


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
            "proof: (2k)!/2 >= 12^{k-1} gives cosh λ - 1 <= (λ²/2)/(1 - λ²/12), so X is sub-gamma with variance "
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
        "the smallest c is 1/sqrt(1 - e^{-1/2}) = 1.59421: (cosh λ - 1)/(cosh ε - 1) <= (λ/ε)² for |λ| <= ε, with "
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
                f"Decide Lemma 5's moment condition with c = {c} on the exact cumulant function, at n = {n} and "
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
                "Exact tails of sums of n discrete Laplace variables (differences of Pólya variables of shape n) "
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


# Lemmas 6 to 9


def _gaussian_beyond(variance: Number, radius: Any) -> Any:
    return (radius / (2 * ball(variance)).sqrt()).erfc()


def _sub_gaussian(suite: Suite) -> None:
    levels = [{"p": p} for p in LEVELS]

    def radius(p: Number) -> Any:
        return (2 * log_of_two_over(p)).sqrt()

    def coins(n: int, p: Fraction) -> Any:
        # sum of n fair signs is n-sub-Gaussian: 2 Bin(n, 1/2) - n
        return 2 * above(Binomial(trials=n, p=Fraction(1, 2)), (ball(n).sqrt() * radius(p) + n) / 2)

    add_steps(
        suite,
        "CZ23-L6",
        title="σ²-sub-Gaussian: |X| <= σ sqrt(2 log(2/p)) with probability 1 - p or more",
        steps=[
            Inequality(
                name="normal law",
                text="N(0, 1)",
                left=lambda p: _gaussian_beyond(1, radius(p)),
                right=lambda p: ball(p),
                points=lambda run: levels,
            ),
            Inequality(
                name="signs",
                text="a sum of n fair signs, σ² = n",
                left=coins,
                right=lambda n, p: ball(p),
                points=lambda run: [{"n": n, "p": p} for n in (1, 2, 9, 100, 1000) for p in LEVELS],
            ),
            Inequality(
                name="discrete Gaussian",
                text="N_Z(0, σ²)",
                left=lambda variance, p: beyond(
                    DiscreteGaussian(sigma2=variance), ball(variance).sqrt() * radius(p)
                ),
                right=lambda variance, p: ball(p),
                points=lambda run: [
                    {"variance": Fraction(v), "p": p} for v in ("1/20", "1", "100") for p in LEVELS
                ],
            ),
        ],
        about="Exact tails of three laws whose variance proxy is known, beyond the printed radius.",
        source="Lemma 6",
        scope="p from 1 to 1e-12",
        kind="tail",
        notes=["proof: P(|X| > t) <= 2 e^{-t²/(2σ²)} (Chernoff at λ = t/σ²), which is p at the radius"],
    )


def _exponential_radius(proxy: Any, h: Any, p: Number) -> Any:
    """Lemma 7's sqrt(2) σ sqrt(log(2/p)) + 2h log(2/p)."""
    level = log_of_two_over(p)
    return (2 * proxy * level).sqrt() + 2 * h * level


def _two_regimes(proxy: Any, h: Any, t: Any) -> Any:
    """Lemma 7's tail: 2 exp(-t²/(2σ²)) up to σ²/h, 2 exp(-t/(2h)) beyond."""
    return 2 * (-t * t / (2 * proxy)).exp() if t <= proxy / h else 2 * (-t / (2 * h)).exp()


#: Laws with a pair (σ², h): Skellam by Proposition 1's proof, sums of (discrete) Laplace by Lemma 5 with c = 8/5.
def _known_pairs() -> dict[str, tuple[Callable[[Any], Any], Any, Any]]:
    c = ball(ENOUGH)
    skellam = {v: Skellam(variance=Fraction(v)) for v in ("1/20", "1", "30")}
    sums = {n: PolyaDifference(shape=n, log_ratio=Fraction(1, 2)) for n in (1, 4, 32)}
    found: dict[str, tuple[Callable[[Any], Any], Any, Any]] = {
        f"Sk(0, {v})": (lambda t, law=law: beyond(law, t), 2 * ball(Fraction(v)), 1 / arb(2).sqrt())
        for v, law in skellam.items()
    }
    found |= {
        f"sum of {n} Lap_Z(2)": (lambda t, law=law: beyond(law, t), 4 * n * c * c, 2 * c) for n, law in sums.items()
    }
    return found | {"Laplace(1)": (lambda t: (-t).exp(), c * c, c)}


def _sub_exponential(suite: Suite) -> None:
    names = list(_known_pairs())

    def at_radius(law: str, p: Fraction) -> Any:
        tail, proxy, h = _known_pairs()[law]
        return tail(_exponential_radius(proxy, h, p))

    def sizes(law: str, part: Fraction) -> tuple[Any, Any]:
        tail, proxy, h = _known_pairs()[law]
        t = ball(part) * proxy / h
        return tail(t), _two_regimes(proxy, h, t)

    parts = [Fraction(t) for t in ("1/1000", "1/4", "999/1000", "1001/1000", "2", "10")]
    grid: list[Any] = [{"law": name, "part": part} for name in names for part in parts]
    add_steps(
        suite,
        "CZ23-L7",
        title="(σ², h)-sub-exponential: two-regime tail, and |X| <= sqrt(2) σ sqrt(log(2/p)) + 2h log(2/p)",
        steps=[
            Inequality(
                name="tail",
                text="P(|X| > t) <= 2e^{-t²/(2σ²)} for t <= σ²/h, 2e^{-t/(2h)} beyond",
                left=lambda law, part: sizes(law, part)[0],
                right=lambda law, part: sizes(law, part)[1],
                points=lambda run: grid,
            ),
            Inequality(
                name="radius",
                text="P(|X| > sqrt(2) σ sqrt(log(2/p)) + 2h log(2/p)) <= p",
                left=at_radius,
                right=lambda law, p: ball(p),
                points=lambda run: [{"law": name, "p": p} for name in names for p in LEVELS],  # type: ignore[dict-item]
            ),
        ],
        about="Exact tails of laws whose pair (σ², h) is known, against both forms of the lemma.",
        source="Lemma 7",
        scope=f"{', '.join(names)}; t from σ²/(1000h) to 10σ²/h, p from 1 to 1e-12",
        kind="tail",
        notes=[
            "proof: Chernoff at λ = t/σ² while that is at most 1/h, at λ = 1/h beyond, where σ²/(2h²) <= t/(2h); the "
            "radius is at least as large as the t at which either regime gives p"
        ],
    )


def _hoeffding(suite: Suite) -> None:
    def points(run: Run) -> list[Point]:
        means = ["0", "1/1000", "1/10", "1/2", "9/10", "1"]
        users = [1, 2, 5, 30, 200, *run.choose(quick=[], full=[2000])]
        return [{"mean": Fraction(m), "n": n, "p": p} for m in means for n in users for p in LEVELS]

    def tail(mean: Fraction, n: int, p: Fraction) -> Any:
        radius = (n * log_of_two_over(p) / 2).sqrt()
        sides = ((mean, Binomial(trials=n, p=mean)), (1 - mean, Binomial(trials=n, p=1 - mean)))
        return sum((above(law, ball(n * centre) + radius) for centre, law in sides), arb(0))

    add_steps(
        suite,
        "CZ23-L8",
        title="X_i iid in [0, 1]: |mean - E X| <= sqrt(log(2/p)/(2n)) with probability 1 - p or more",
        steps=[
            Inequality(
                name="coins",
                text="Bernoulli variables, the extreme laws of a given mean, at every point of the grid",
                left=tail,
                right=lambda mean, n, p: ball(p),
                points=points,
            )
        ],
        about="Exact binomial tails beyond the printed radius, means 0 and 1 and n = 1 first.",
        source="Lemma 8",
        scope="means from 0 to 1, n from 1 to 200 (full profile: 2000), p from 1 to 1e-12",
        kind="tail",
        notes=["proof: Hoeffding 1963, Theorem 2"],
    )


def _sums(suite: Suite) -> None:
    c = ENOUGH

    def radius(proxies: Any, h: Any, p: Number) -> Any:
        level = log_of_two_over(p)
        return larger((2 * proxies * level).sqrt(), 2 * h * level)

    def two_scales(first: Fraction, second: Fraction, p: Fraction) -> Any:
        laws = [DiscreteLaplace(scale=s) for s in (first, second)]
        v = radius(ball(c**2 * (first**2 + second**2)), ball(c * max(first, second)), p)
        return sum_beyond(laws[0], laws[1], v, reach=int(first * 45) + 20)

    def mixed(scale: Fraction, variance: Fraction, p: Fraction) -> Any:
        h = larger(ball(c * scale), 1 / arb(2).sqrt())
        v = radius(ball(c**2 * scale**2 + 2 * variance), h, p)
        return sum_beyond(DiscreteLaplace(scale=scale), Skellam(variance=variance), v, reach=int(scale * 45) + 20)

    pairs = [(Fraction(a), Fraction(b)) for a, b in (("1/10", "5"), ("1", "1"), ("1", "5"), ("2", "3"))]
    add_steps(
        suite,
        "CZ23-L9",
        title="Sums of independent (σ_i², h_i)-sub-exponential variables: v >= max{sqrt(2Σσ_i² L), 2h* L}",
        steps=[
            Inequality(
                name="two scales",
                text="Lap_Z(s1) + Lap_Z(s2) with Lemma 5's pairs, L = log(2/p)",
                left=two_scales,
                right=lambda first, second, p: ball(p),
                points=lambda run: [{"first": a, "second": b, "p": p} for a, b in pairs for p in LEVELS],
            ),
            Inequality(
                name="two families",
                text="Lap_Z(s) + Sk(0, σ²)",
                left=mixed,
                right=lambda scale, variance, p: ball(p),
                points=lambda run: [{"scale": a, "variance": b, "p": p} for a, b in pairs[:3] for p in LEVELS],
            ),
        ],
        about="Exact tails of sums of two different variables at the smallest v that the lemma allows.",
        source="Lemma 9",
        scope="scales 1/10 to 5, variances 1 and 5, p from 1 to 1e-12; equal parts: CZ23-L5/tail",
        kind="tail",
        notes=["proof: the cumulants add on |λ| <= 1/h*, then Lemma 7, each of whose regimes gives p at v"],
    )
