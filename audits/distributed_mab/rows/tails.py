"""Tails of the noise: Proposition 1 on Skellam noise, Lemma 5 on sums of discrete Laplace noise.

Convention (Lemma 7): X is (σ², h)-sub-exponential iff E e^{λX} <= e^{λ²σ²/2} for all |λ| <= 1/h.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from dpaudit.certify.decide import decide_proxy, noise_sum
from dpaudit.core.claims import SubExponential
from dpaudit.core.evidence import Evidence
from dpaudit.core.exact_functions import larger, log_of_two_over
from dpaudit.core.suite import Group, Run
from dpaudit.distributions import DiscreteLaplace, PolyaDifference, Skellam
from dpaudit.distributions.exact_tails import beyond
from dpaudit.kernel.ball import arb, ball
from dpaudit.reference.mechanisms.parameter_sheet import LAPLACE_SUM_CONSTANT as C
from dpaudit.suite import Sides, Step, evidence, full, inequality, listed, on, over, step, steps

__all__ = ["LEVELS", "rows", "skellam_radius"]


rows = Group("Tails of the noise: Proposition 1 and Lemma 5", kind="tail")

#: Failure probabilities: near 0, 1, and the experiments' own 1/10.
LEVELS = tuple(
    Fraction(p) for p in ("1", "999/1000", "1/2", "1/10", "1/1000", "1/1000000", "1/1000000000000")
)


# Proposition 1

#: log E e^{λX} = σ²(cosh λ - 1): the inequalities do not depend on σ², so σ² = 1 covers all σ².
SKELLAM = noise_sum([(Skellam(variance=1), 1)])


def _skellam(proxy: Fraction, scale: Fraction) -> SubExponential:
    return SubExponential(variance_proxy=proxy, scale=scale, of=SKELLAM.name)


@evidence(
    rows,
    "CZ23-P1/half",
    "Proposition 1, without its factor 2",
    claim=_skellam,
    role="sharper",
    over=listed("proxy scale", ("1", "100")),
    expect="refuted",
    case="(σ², h)-sub-exponential for some h > 0: E e^{λX} <= e^{λ²σ²/2} for |λ| <= 1/100",
)
@evidence(
    rows,
    "CZ23-P1/pair",
    "Proposition 1 and its proof",
    claim=_skellam,
    over=listed("proxy scale", ("2", "7/5"), ("2", "7/10")),
    case="(2σ², sqrt(2))-sub-exponential: E e^{λX} <= e^{λ²σ²} for |λ| <= 5/7, and even for |λ| <= 10/7",
)
def skellam_pair(run: Run, proxy: Fraction, scale: Fraction) -> list[Evidence]:
    """Sk(0, σ²) is {case}

    Decide the inequality on the exact cumulant function σ²(cosh λ - 1). σ² is a factor, so σ² = 1 covers all
    σ².

    Note: in the convention of Lemma 7 the stated pair requires |λ| <= 1/sqrt(2) < 5/7. The proof shows |λ| <=
    sqrt(2) < 10/7, that is, h = 1/sqrt(2)

    Note: with the factor 2 the inequality holds up to |λ| = 2.98, at which cosh λ - 1 = λ². Without the
    factor it fails for every λ other than 0, since cosh λ - 1 > λ²/2
    """
    return [decide_proxy(_skellam(proxy, scale), SKELLAM)]


@inequality(
    rows,
    "CZ23-P1/derivation/repaired",
    "Proposition 1 with Lemma 7",
    role="repaired",
    prove=on(),
    square=Fraction(1, 2),
    case="1/sqrt(2), as the proof shows",
)
@inequality(
    rows,
    "CZ23-P1/derivation",
    "Proposition 1 with Lemma 7",
    role="step",
    expect="refuted",
    square=Fraction(2),
    case="sqrt(2), as printed",
)
def derivation(square: Fraction) -> Sides:
    """Proposition 1's radius follows from Lemma 7 with h = {case}: (2h)² <= 2

    Insert the pair (2σ², h) into Lemma 7 and compare the coefficient of log(2/p) with the printed
    coefficient, both squared. The coefficients of σ sqrt(log(2/p)) agree.

    Note: h = sqrt(2) gives 2 sqrt(2) log(2/p), twice the printed term, which has 1/h in place of h
    """
    return 4 * square, 2


def skellam_radius(variance: Fraction, p: Fraction) -> arb:
    """Return Proposition 1's 2σ sqrt(log(2/p)) + sqrt(2) log(2/p), as a ball."""
    level = log_of_two_over(p)
    return 2 * (ball(variance) * level).sqrt() + arb(2).sqrt() * level


def _smaller_radius(variance: Fraction, p: Fraction) -> arb:
    level = log_of_two_over(p)
    return (2 * ball(variance) * level).sqrt() + level / arb(12).sqrt()


TAILS = over(variance=("1/400 1/20 1/2 1 4 100", full("10000 250000")), p=LEVELS)


@inequality(
    rows,
    "CZ23-P1/sharper",
    "Proposition 1, sharpened",
    role="sharper",
    over=TAILS,
    radius=_smaller_radius,
    case="σ sqrt(2 log(2/p)) + log(2/p)/sqrt(12)",
)
@inequality(
    rows,
    "CZ23-P1",
    "Proposition 1",
    over=TAILS,
    radius=skellam_radius,
    case="2σ sqrt(log(2/p)) + sqrt(2) log(2/p)",
)
def skellam_tail(variance: Fraction, p: Fraction, radius: Callable[..., arb]) -> Sides:
    """X ~ Sk(0, σ²): |X| <= {case} with probability 1 - p or more

    Compare the exact tail beyond the radius with p.

    Note: the printed radius is loose by a factor 10 at p = 1

    Proof: for the smaller radius, (2k)!/2 >= 12^{k-1} gives cosh λ - 1 <= (λ²/2)/(1 - λ²/12), so X is
    sub-gamma with variance factor σ² and scale 1/sqrt(12)
    """
    return beyond(Skellam(variance=variance), radius(variance, p)), p


# Lemma 5

N, EPSILON, TOO_SMALL = 16, Fraction(1, 1000), Fraction(1594, 1000)
LAPLACE_SUM = noise_sum([(DiscreteLaplace(scale=1 / EPSILON), N)])


def _laplace(c: Fraction) -> SubExponential:
    return SubExponential(variance_proxy=N * c**2 / EPSILON**2, scale=c / EPSILON, of=LAPLACE_SUM.name)


@evidence(
    rows,
    "CZ23-L5/smaller",
    "Lemma 5",
    claim=_laplace(TOO_SMALL),
    role="sharper",
    expect="refuted",
    c=TOO_SMALL,
)
@evidence(rows, "CZ23-L5", "Lemma 5", claim=_laplace(C), c=C)
def laplace_pair(run: Run, c: Fraction) -> list[Evidence]:
    """A sum of n = 16 Lap_Z(1/ε), ε = 1/1000, is (nc²/ε², c/ε)-sub-exponential with c = {c}

    Decide Lemma 5's moment condition on the exact cumulant function. The lemma only states that some absolute
    c > 0 exists.

    Note: the smallest c is 1/sqrt(1 - e^{-1/2}) = 1.59421: (cosh λ - 1)/(cosh ε - 1) <= (λ/ε)² for |λ| <= ε,
    with equality as ε tends to 0, and -log(1 - t²) <= c²t²/2 on |t| <= 1/c is tightest at |t| = 1/c
    """
    return [decide_proxy(_laplace(c), LAPLACE_SUM)]


PARTS = over(epsilon="1/1000 1/10 1 4 20", part="1/1000 1/4 1/2 4/5 1")


@step(over=PARTS)
def _reduction(epsilon: Fraction, part: Fraction) -> Sides:
    """(cosh λ - 1)/(cosh ε - 1) <= (λ/ε)² for |λ| < ε; λ = part ε/c"""
    return (ball(part * epsilon / C).cosh() - 1) / (ball(epsilon).cosh() - 1), (part / C) ** 2


@step()
def _end_point() -> Sides:
    """-log(1 - 1/c²) <= 1/2, c = 8/5"""
    return -(1 - 1 / ball(C**2)).log(), Fraction(1, 2)


@step(over=PARTS)
def _cumulant(epsilon: Fraction, part: Fraction) -> Sides:
    """log E e^{λX} <= c²λ²/(2ε²) for |λ| <= ε/c; λ = part ε/c"""
    return DiscreteLaplace(scale=1 / epsilon).log_mgf_ball(part * epsilon / C), part**2 / 2


@steps(rows, "CZ23-L5/all", "Lemma 5")
def every_epsilon() -> list[Step]:
    """Lemma 5's moment condition with c = 8/5 holds for every ε

    Check the reduction to ε near 0 on a grid (it holds because (cosh x - 1)/x² has a power series with
    positive coefficients), the one remaining inequality, and the exact cumulant on a grid.
    """
    return [_reduction, _end_point, _cumulant]


def _tight(epsilon: Fraction, n: int, j: int) -> bool:
    """Return levels around log(2/p) = n/2, at which the two branches of the maximum meet and Lemma 5 is
    tightest."""
    return j in (1, 10, 40, *(round(n * part / 69) for part in (20, 40, 50, 60, 100)))


@inequality(
    rows,
    "CZ23-L5/tail/smaller",
    "Lemma 5",
    role="sharper",
    expect="refuted",
    over=over(epsilon="1/10", n=256, j=(170, 185, 200)),
    c=Fraction(3, 2),
)
@inequality(
    rows,
    "CZ23-L5/tail",
    "Lemma 5",
    c=C,
    over=over(epsilon=("1/10 1 4", full("1/50")), n=(1, 2, 8, 64, full(256)), j=range(1, 372)).where(
        _tight, "j = 1, 10, 40 or about 0.4, 0.8, 1, 1.2, 2 times n/(2 log 2)"
    ),
)
def laplace_sum_tail(epsilon: Fraction, n: int, j: int, c: Fraction) -> Sides:
    """P(|Σ Lap_Z(1/ε)| > max((c/ε) sqrt(2n log(2/p)), (2c/ε) log(2/p))) <= p with c = {c}, p = 2^{1-j}

    Compute exact tails of sums of n discrete Laplace variables (differences of Pólya variables of shape n).

    Note: the smallest c for all n, ε and p is 1.5641, at which the rate function of the Laplace distribution
    is 1/2 (Cramér: attained as n grows with log(2/p) = n/2). The variance alone would require only sqrt(2)
    """
    p = Fraction(2, 2**j)
    level = log_of_two_over(p)
    radius = ball(c / epsilon) * larger((2 * n * level).sqrt(), 2 * level)
    return beyond(PolyaDifference(shape=n, log_ratio=epsilon), radius), p
