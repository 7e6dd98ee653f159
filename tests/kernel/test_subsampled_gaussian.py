"""Poisson-subsampled Gaussian noise: a step by integrals, many steps between two bounds, what is refused."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import pytest
import scipy.integrate
import scipy.special
import scipy.stats

from dpaudit.certify import build
from dpaudit.certify.build import LossGrid
from dpaudit.certify.merged import subsampled_lower
from dpaudit.core.claims import Adjacency, ApproxDP, GaussianDP, PureDP, RenyiDP, Unit
from dpaudit.core.errors import CertificateError
from dpaudit.core.views import PUBLIC, SERVER, View, user
from dpaudit.distributions import SubsampledGaussianSum
from dpaudit.kernel.ball import ball
from dpaudit.kernel.check import check
from dpaudit.kernel.t1.certpld import Grid, power
from dpaudit.kernel.t2.subsampled_gaussian import Step

STEP = build.poisson_subsampled_gaussian(sensitivity=1, rate="1/100", scale=1)
ADDED = {"adjacency": Adjacency.ADD_REMOVE}


def integrated(rate: float, mu: float, epsilon: float, *, removed: bool) -> float:
    """The integral of the positive part of p - e^epsilon q, by quadrature around its kink."""
    e = math.exp(epsilon)

    def gap(y: float) -> float:
        plain = float(scipy.stats.norm.pdf(y))
        mixed = (1 - rate) * plain + rate * float(scipy.stats.norm.pdf(y, mu))
        return max(0.0, mixed - e * plain if removed else plain - e * mixed)

    pieces = np.linspace(-12, 12 + mu, 97)
    return sum(
        scipy.integrate.quad(gap, a, b, epsabs=1e-18, epsrel=1e-12, limit=400)[0]
        for a, b in pairwise(pieces.tolist())
    )


@pytest.mark.parametrize(("rate", "mu"), [("1/4", 1), ("9/10", 2), ("1/100", 1), ("1/2", 4)])
@pytest.mark.parametrize("epsilon", ["0", "1/10", "1", "2"])
def test_one_step_is_the_integral(rate: str, mu: int, epsilon: str) -> None:
    """delta of one step is the larger of the integrals of both directions."""
    step, e = Step(Fraction(mu**2), Fraction(rate)), Fraction(epsilon)
    both = [integrated(float(Fraction(rate)), mu, float(e), removed=way) for way in (True, False)]
    assert float(step.delta(e).mid()) == pytest.approx(max(both), rel=1e-6, abs=1e-14)
    if e == 0:  # the total variation, from either side
        assert both[0] == pytest.approx(both[1], rel=1e-7)


@pytest.mark.parametrize(("rate", "mu"), [("1/4", 1), ("9/10", 2)])
def test_distributions_of_either_direction_are_above_the_integral(rate: str, mu: int) -> None:
    """At points of the grid and between them, at losses of either sign, and close to it."""
    grid = Grid(step=Fraction(1, 100), bits=96, tail=50)
    distributions = Step(Fraction(mu**2), Fraction(rate)).pairs(grid)
    for distribution, removed in zip(distributions, (True, False), strict=True):
        for epsilon in (Fraction(-1, 3), Fraction(0), Fraction(1, 4), Fraction(1, 3), Fraction(1)):
            truth = integrated(float(Fraction(rate)), mu, float(epsilon), removed=removed)
            bound = float(distribution.delta(epsilon).upper())
            assert bound >= truth * (1 - 1e-10) - 1e-15
            assert bound == pytest.approx(truth, rel=1e-3, abs=1e-5)


@pytest.mark.parametrize(("rate", "mu"), [("1/4", 1), ("9/10", 2), ("1/100", 1), ("1/2", 4)])
@pytest.mark.parametrize("epsilon", ["0", "1/10", "1", "2"])
def test_a_replaced_record_is_bounded(rate: str, mu: int, epsilon: str) -> None:
    """Mixtures that share the part without the record are below, for records on one or both sides of 0.

    The bound is that of a record that moves from 0 to mu, which is such a pair.
    """
    step, e = Step(Fraction(mu**2), Fraction(rate)), Fraction(epsilon)
    y, q, t = np.linspace(-12, 12 + mu, 200_001), float(Fraction(rate)), math.exp(float(e))
    losses = []
    for one, other in ((mu / 2, -mu / 2), (mu, 0.0), (0.0, mu), (0.7 * mu, -0.3 * mu)):
        sides = [(1 - q) * scipy.stats.norm.pdf(y) + q * scipy.stats.norm.pdf(y, at) for at in (one, other)]
        losses.append(float(np.maximum(sides[0] - t * sides[1], 0).sum() * (y[1] - y[0])))
    bound = float(step.replaced(e).mid())
    assert max(losses) <= bound * (1 + 1e-6) + 1e-12
    assert bound == pytest.approx(losses[1], rel=1e-4, abs=1e-12)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_samples_of_fixed_size_are_bounded(count: int) -> None:
    """Sums of ``count`` of four records, one of which is replaced, have at most the delta of the bound."""
    y = np.linspace(-15, 15, 60_001)
    rng = np.random.default_rng(5)
    step = Step(Fraction(4), Fraction(count, 4))
    for _ in range(20):
        records = rng.choice([-1.0, -0.5, 0.0, 1.0], size=4)
        sides = []
        for first in (1.0, -1.0):
            totals = [sum(chosen) for chosen in combinations([first, *records[1:]], count)]
            sides.append(np.mean([scipy.stats.norm.pdf(y, total) for total in totals], axis=0))
        for e in (0.0, 0.3, 1.0):
            loss = float(np.maximum(sides[0] - math.exp(e) * sides[1], 0).sum() * (y[1] - y[0]))
            assert loss <= float(step.replaced(Fraction(str(e))).mid()) * (1 + 1e-6)


@pytest.mark.parametrize(("rate", "mu"), [("1/10", 1), ("9/10", 1), ("1/100", 2), ("1/2", 2)])
@pytest.mark.parametrize("order", ["2", "5/2", "3", "6"])
def test_renyi_divergences_are_the_integrals(rate: str, mu: int, order: str) -> None:
    """The divergence is the larger one of both directions. That of a replaced record is above its pairs."""
    step, a = Step(Fraction(mu**2), Fraction(rate)), math.ceil(Fraction(order))
    y, q = np.linspace(-25, 25 + 8 * mu, 400_001), float(Fraction(rate))

    def divergence(one: float, other: float) -> float:
        logs = [
            np.logaddexp(
                math.log(1 - q) + scipy.stats.norm.logpdf(y), math.log(q) + scipy.stats.norm.logpdf(y, at)
            )
            for at in (one, other)
        ]
        moment = scipy.special.logsumexp(a * logs[0] + (1 - a) * logs[1])
        return float(moment + math.log(y[1] - y[0])) / (a - 1)

    exact = max(divergence(mu, 0), divergence(0, mu))
    assert float(step.renyi(Fraction(order), replaced=False).mid()) == pytest.approx(exact, rel=1e-6)
    replaced = float(step.renyi(Fraction(order), replaced=True).mid())
    assert max(exact, divergence(mu / 2, -mu / 2)) <= replaced * (1 + 1e-9) <= 2 * exact


def test_orders_beyond_the_limit_ignore_the_sample() -> None:
    step = Step(Fraction(1), Fraction(1, 10))
    assert float(step.renyi(Fraction(300), replaced=False).mid()) == pytest.approx(150)
    assert float(step.renyi(Fraction(200), replaced=True).mid()) < 100


@pytest.mark.parametrize("replaced", [True, False])
def test_records_that_move_far_ignore_the_sample(replaced: bool) -> None:
    """Their integral would not end. The bound is that of the step without its sample."""
    found = Step(Fraction(10**12), Fraction(1, 10)).renyi(Fraction(2), replaced=replaced)
    assert found == 10**12
    assert Step(Fraction(400), Fraction(1, 10)).renyi(Fraction(2), replaced=replaced) < 400


def test_steps_with_a_replaced_record_compose() -> None:
    """Two steps cost more than one and at most about twice as much, by delta and by Renyi divergence."""
    claims: list[Any] = [ApproxDP(epsilon=1, delta=1), RenyiDP(order=4, epsilon=100)]
    for claim in claims:
        grid = LossGrid(step="1/1000", bits=96, tail=40) if isinstance(claim, ApproxDP) else None
        one = float(STEP.certify(claim).bound)
        two = float(build.compose_sequential([STEP], times=[2], grid=grid).certify(claim).bound)
        assert 1.01 * one < two < 2.01 * one + 1e-5


def test_the_distribution_of_a_program_is_the_pair() -> None:
    """The log-ratio of one record against none is the loss that the rule inverts."""
    step = Step(Fraction(4), Fraction(1, 5))
    with_one, without = (SubsampledGaussianSum(r, rate="1/5", sigma="3/2") for r in ([3], []))
    for loss in ("-1/5", "1/10", "2"):
        place = step.place(ball(Fraction(loss)))
        assert place is not None
        y = 1.5 * float(place.mid())
        assert float(with_one.logp(y) - without.logp(y)) == pytest.approx(float(Fraction(loss)), abs=1e-12)
    assert step.place(ball(Fraction(-1, 4))) is None  # below log(4/5)


def test_two_hundred_steps_of_descent() -> None:
    """sigma 1, rate 1/100, 200 steps: delta(1) is 4.13e-6, from above within 1 %, from below within 2.

    The other direction alone costs next to nothing, and both at once in each step would cost more.
    """
    claim = ApproxDP(epsilon=1, delta="1/100000", **ADDED)
    whole = build.compose_sequential([STEP], times=[200], grid=LossGrid(bits=96, tail=40))
    upper = float(whole.certify(claim).bound)
    coarse = Grid(step=Fraction(1, 400), bits=96, tail=30, upper=False)
    forth, back = subsampled_lower(Fraction(1), Fraction(1, 100), coarse)
    lower = float(power(forth, 200).delta(Fraction(1)).lower())
    assert 4.04e-6 < lower < 4.1306e-6 < upper < 4.17e-6
    assert float(power(back, 200).delta(Fraction(1)).upper()) < 1e-12


def test_another_accountant_agrees() -> None:
    """Where dp-accounting is installed, its figure for the same steps lies between the bounds."""
    accounting = pytest.importorskip("dp_accounting")
    event = accounting.PoissonSampledDpEvent(0.01, accounting.GaussianDpEvent(1.0))
    accountant = accounting.pld.PLDAccountant(value_discretization_interval=1e-3)
    accountant.compose(accounting.SelfComposedDpEvent(event, 200))
    figure = accountant.get_delta(1.0)
    whole = build.compose_sequential([STEP], times=[200], grid=LossGrid(step="1/400", bits=96, tail=40))
    upper = float(whole.certify(ApproxDP(epsilon=1, delta=1, **ADDED)).bound)
    assert figure == pytest.approx(upper, rel=0.01)


@pytest.mark.parametrize(
    ("claim", "words"),
    [
        (PureDP(epsilon=1, **ADDED), "must bound epsilon"),
        (ApproxDP(epsilon=1, delta=1, unit=Unit.USER, **ADDED), "per event"),
        (ApproxDP(epsilon=1, delta=1, view=View.of(user(1)), **ADDED), "no user may be in view"),
        (ApproxDP(epsilon=1, delta=1, view=View.everybody_but(user(1)), **ADDED), "no user may be in view"),
    ],
)
def test_settings_that_are_refused(claim: Any, words: str) -> None:
    """Replaced records, users, users in view and claims of a pure bound are refused."""
    with pytest.raises(CertificateError, match=words):
        STEP.certify(claim)


@pytest.mark.parametrize(("rate", "scale"), [("1", "1"), ("0", "1"), ("3/2", "1"), ("1/2", "0")])
def test_parameters_that_are_refused(rate: str, scale: str) -> None:
    """A rate of 1 is no subsample, one of 0 no release; noise must be there."""
    with pytest.raises(CertificateError):
        build.poisson_subsampled_gaussian(sensitivity=1, rate=rate, scale=scale)


def test_a_smaller_bound_is_refused() -> None:
    """A certificate that states less than the exact delta, or the delta of another rate, is not accepted."""
    claim = ApproxDP(epsilon="1/2", delta=1, **ADDED)
    good = STEP.certify(claim).to_json()
    assert check(good, claim) <= Fraction(good["bound"])
    with pytest.raises(CertificateError):
        check(good | {"bound": str(Fraction(good["bound"]) * Fraction(999, 1000))}, claim)
    good["tree"]["premises"][0]["parameters"]["rate"] = "1/50"
    with pytest.raises(CertificateError):
        check(good, claim)


def test_what_is_assumed_of_who_looks() -> None:
    """Nothing in public; that the sampling is not known where the server or other users are in view."""
    hidden = "nobody in the view knows whether the changed record was sampled"
    assert STEP.certify(ApproxDP(epsilon=1, delta=1, view=View.of(PUBLIC), **ADDED)).assumptions == ()
    server = STEP.certify(ApproxDP(epsilon=1, delta=1, view=View.of(SERVER), **ADDED))
    assert server.assumptions == (hidden,)
    joint = build.billboard(STEP, actions="own data and the model")
    claim = ApproxDP(epsilon=1, delta=1, view=View.everybody_but(user(3)), **ADDED)
    assert hidden in joint.certify(claim).assumptions


def test_subsampling_never_loses_the_plain_guarantee() -> None:
    """mu of the plain release holds too, and one step costs less than it; a record without weight costs
    nothing."""
    plain = build.gaussian_mechanism(sensitivity=1, scale=1)
    mu = GaussianDP(mu=1, **ADDED)
    assert STEP.certify(mu).bound == plain.certify(mu).bound == 1
    claim = ApproxDP(epsilon="1/2", delta=1, **ADDED)
    assert STEP.certify(claim).bound < plain.certify(claim).bound / 50
    nothing = build.poisson_subsampled_gaussian(sensitivity=0, rate="1/2", scale=1)
    assert nothing.certify(PureDP(epsilon=1, **ADDED)).bound == 0
