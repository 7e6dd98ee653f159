"""Check self-concordance: Lemmas G.1 to G.3 and Observation 2, on families of Definition 4.1 and
on probit."""

from __future__ import annotations

from fractions import Fraction

from flint import arb_series

from dpaudit.core.suite import Group
from dpaudit.kernel.ball import arb, ball, precision
from dpaudit.reference.algorithms.contextual.links import (
    FiniteFamily,
    Link,
    Probit,
    bernoulli,
    finite_family,
    logistic,
)
from dpaudit.suite import Chain, Sides, inequality, over

__all__ = ["rows"]

rows = Group("Generalized linear models: self-concordance", kind="structure")

#: Families of Definition 4.1 on [0, R], including extremes: R large and small, weights far apart.
FAMILIES: dict[str, FiniteFamily] = {
    "logistic": logistic(),
    "Bernoulli, R = 1/2": bernoulli("1/2"),
    "Bernoulli, R = 4": bernoulli(4),
    "thirds": finite_family("thirds", ("0", "1/3", "2/3", "1"), ("1", "2", "2", "1")),
    "rare top": finite_family("rare top", ("0", "1/10", "2"), ("1", "1", "1/1000000")),
    "no zero": finite_family("no zero", ("1/2", "3/4", "3"), ("7", "1", "1/3")),
}
LINKS: dict[str, Link] = {**FAMILIES, "probit": Probit()}
CANONICAL = tuple(FAMILIES)
#: Beyond 8 the ratios of G.1 and (26) are so near 1 (1 - e^-32) that a float cannot distinguish them.
SCORES = "-8 -5 -2 -1/2 0 1/3 1 3 8"


def _top(link: str) -> Fraction:
    """Return R, or 1 for probit."""
    return LINKS[link].largest_reward or Fraction(0)


# G.1 and G.2


@inequality(rows, "SAR-G.1", "Lemma G.1", over=over(link=CANONICAL, z=SCORES))
@inequality(
    rows, "SAR-G.1/probit", "Lemma G.1, another distribution", over=over(link=("probit",), z=SCORES),
    role="what-if", expect="refuted",
)  # fmt: skip
def third_derivative(link: str, z: Fraction) -> Sides:
    """abs(mu''(z)) is at most R mu'(z)

    Compute both as moments in balls. The third central moment is at most R times the variance, since a
    reward is within R of the mean.

    Note: probit rewards in {0, 1} are not a canonical family; there the ratio is abs(z), and R = 1 fails
    from 1 on
    """
    found = LINKS[link].at(ball(z))
    return abs(found.curvature), ball(_top(link)) * found.slope


#: Bits for differences of nearly equal means: φ(38) is 2^-1044.
DIFFERENCES = 4000
PAIRS = {"z": SCORES, "h": "-30 -2 -1/10 1/1000 1/2 5"}


@inequality(rows, "SAR-G.2", "Lemma G.2, (25), (26), (45)", over=over(link=CANONICAL, **PAIRS))
@inequality(
    rows, "SAR-G.2/probit", "Lemma G.2, another distribution", over=over(link=("probit",), **PAIRS),
    role="what-if", expect="refuted",
)  # fmt: skip
def averaged_slopes(link: str, z: Fraction, h: Fraction) -> Chain:
    """The slope, and its averages between z1 = z and z2 = z + h, are at least the slope at an end over 1 +
    R|h| (over 2 + R|h| with the weight 1 - v)

    The integrals have closed forms: (mu(z2) - mu(z1))/h and (b(z2) - b(z1) - h mu(z1))/h².
    """
    with precision(DIFFERENCES):
        first, second = (LINKS[link].at(ball(score)) for score in (z, z + h))
        average = (second.mean - first.mean) / ball(h)
        weighted = (second.log_partition - first.log_partition - ball(h) * first.mean) / ball(h) ** 2
    reach = ball(_top(link) * abs(h))
    return {
        "(25) mu'(z1)/(1 + R|h|) ≤ average slope": (first.slope / (1 + reach), average),
        "(25) mu'(z2)/(1 + R|h|) ≤ average slope": (second.slope / (1 + reach), average),
        "(26) mu'(z1) ≤ e^(R|h|) mu'(z2)": (first.slope, reach.exp() * second.slope),
        "(26) mu'(z2) ≤ e^(R|h|) mu'(z1)": (second.slope, reach.exp() * first.slope),
        "(45) mu'(z1)/(2 + R|h|) ≤ ∫(1-v) mu'": (first.slope / (2 + reach), weighted),
    }


# G.3 and Observation 2


TINY = Fraction(1, 10**25)


@inequality(rows, "SAR-G.3", "Lemma G.3", over=over(link=CANONICAL, z="-7 -2 0 1/3 3 12"))
def moments(link: str, z: Fraction) -> Chain:
    """Mean, variance and third central moment of the reward are b', b'' and b'''

    Compare moments of the distribution with the coefficients of b's power series in balls: they differ by
    at most 10^-25.
    """
    family = FAMILIES[link]
    found, series = family.at(ball(z)), _expanded(link, z)
    return {
        "E r = b'": (abs(found.mean - series[1]), TINY),
        "Var r = b''": (abs(found.slope - 2 * series[2]), TINY),
        "E (r - E r)³ = b'''": (abs(found.curvature - 6 * series[3]), TINY),
    }


def _expanded(link: str, z: Fraction) -> arb_series:
    """Return b(z + t) as a power series in t, from the sum of exponentials."""
    family = FAMILIES[link]
    terms = zip(family.support, family.weights, strict=True)
    total = sum(
        (ball(w) * arb_series([ball(r * z), ball(r)], prec=4).exp() for r, w in terms),
        arb_series([0], prec=4),
    )
    return total.log()


@inequality(rows, "SAR-OBS2", "Observation 2", over=over(link=CANONICAL, **PAIRS), measure="left - right")
def convex(link: str, z: Fraction, h: Fraction) -> Chain:
    """b is convex for every exponential family

    Compare b at a midpoint with the mean of b at the ends. The reason is b'' = Var r ≥ 0.
    """
    with precision(DIFFERENCES):
        ends = [FAMILIES[link].at(ball(score)).log_partition for score in (z, z + h)]
        middle = FAMILIES[link].at(ball(z + h / 2))
        room = (ends[0] + ends[1]) / 2 - middle.log_partition
    return {
        "b((z1 + z2)/2) ≤ (b(z1) + b(z2))/2": (arb(0), room),
        "0 ≤ b''": (arb(0), middle.slope),
    }
