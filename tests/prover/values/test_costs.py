"""Costs of a path with mechanisms of the kernel, shares of several parties, and decided comparisons."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpaudit.core.claims import ApproxDP, GaussianDP, PureDP, RenyiDP, ZeroConcentratedDP
from dpaudit.core.data import EVERY, Integers, Interval, Records
from dpaudit.core.views import EVERYBODY_ELSE, SERVER, Principal, View, user
from dpaudit.distributions import Bernoulli, Binomial, PolyaDifference, Sum, SumMod, WrappedMod
from dpaudit.kernel.check import derived_bound
from dpaudit.kernel.kernel_t0 import CertificateError
from dpaudit.kernel.values.check import concluded
from dpaudit.kernel.values.costs import Cost, guarantees, maximal
from dpaudit.kernel.values.info import Info, RefusedStepError, Setting
from dpaudit.kernel.values.polynomials import ZERO, Poly
from dpaudit.kernel.values.shares import share_cost
from dpaudit.kernel.values.views import read_view
from dpaudit.prover.values.prove import prove_values

SETTING = Setting()
DELTA = ApproxDP(epsilon=1, delta=Fraction(1, 10))


def moving_by(change: int) -> Info:
    """Return the bounds of an integer that changes by at most ``change``."""
    d = Poly.of(change)
    return Info(kind="i", low=ZERO, high=Poly.of(10), change1=d, change2=d * d, change=d)


def bound(costs: list[Cost], claim: Any) -> float:
    """Return the bound on the claim's quantity for paths with these costs."""
    found = guarantees(concluded(costs, 1), claim.to_json())
    return float(max(derived_bound(guarantee, claim) for guarantee in found))


def skellam_delta(variance: float, shift: int, epsilon: float) -> float:
    """Return delta from the masses as sums over pairs of Poisson variables."""
    from scipy.stats import skellam

    points = np.arange(-200, 201)
    p, q = (
        skellam.pmf(points, variance / 2, variance / 2),
        skellam.pmf(points - shift, variance / 2, variance / 2),
    )
    return float(np.maximum(p - math.exp(epsilon) * q, 0).sum())


def test_full_shares_are_the_known_noise() -> None:
    """Polya shares cost as discrete Laplace noise; Skellam shares have the delta of a sum over masses."""
    polya = {"shape": "1/4", "log_ratio": "1/2", "parties": 4}
    assert share_cost(SETTING, moving_by(2), "polya-difference", polya) == Cost(Fraction(1))
    skellam = share_cost(SETTING, moving_by(2), "skellam", {"variance": "3", "parties": 4})
    assert bound([skellam], DELTA) == pytest.approx(skellam_delta(12, 2, 1), rel=1e-9)


def test_lost_shares_cost_more() -> None:
    """Three of four Polya shares cost more than four thirds of the four."""
    lost = share_cost(
        SETTING, moving_by(2), "polya-difference", {"shape": "1/4", "log_ratio": "1/2", "parties": 3}
    )
    assert lost.epsilon > Fraction(4, 3)


@pytest.mark.parametrize(
    "view", [View.of(SERVER), View.of(user(0)), View.of(Principal("others")), EVERYBODY_ELSE]
)
@pytest.mark.parametrize(("shape", "parties"), [("1/4", 4), ("1/4", 3), ("1", 1)])
def test_users_in_the_view_know_their_shares(view: View, shape: str, parties: int) -> None:
    """A user who knows an own share is left with less noise, so no user may be in the view."""
    given = {"parties": parties, "shape": shape, "log_ratio": "1"}
    setting = Setting(size=4, view=read_view(view.to_json()))
    if view == View.of(SERVER):
        assert share_cost(setting, moving_by(1), "polya-difference", given).epsilon >= 1
    else:
        with pytest.raises(RefusedStepError, match="who knows a share"):
            share_cost(setting, moving_by(1), "polya-difference", given)


def test_discrete_gaussian_shares_are_no_gaussian_dp() -> None:
    """One discrete Gaussian is zCDP with D^2 / 2v, and has no bound on mu."""
    cost = share_cost(SETTING, moving_by(2), "discrete-gaussian", {"variance": "8", "parties": 1})
    assert bound([cost], ZeroConcentratedDP(rho=1)) == 0.25
    with pytest.raises(CertificateError):
        bound([cost], GaussianDP(mu=1))


@pytest.mark.parametrize(
    ("family", "given", "kind"),
    [
        ("cauchy", {"parties": 1}, "i"),
        ("skellam", {"variance": "3", "parties": 0}, "i"),
        ("skellam", {"variance": "-3", "parties": 1}, "i"),
        ("skellam", {"variance": "3", "parties": 1}, "f"),
        ("skellam", {"variance": "3", "trials": "4", "parties": 1}, "i"),
        ("binomial", {"trials": "3/2", "probability": "1/2", "parties": 1}, "i"),
        ("binomial", {"trials": "3", "probability": "3/2", "parties": 1}, "i"),
    ],
)
def test_forged_shares_are_refused(family: str, given: dict[str, Any], kind: str) -> None:
    """Unknown families, wrong parameters and values that are no integers have no cost."""
    from dataclasses import replace

    with pytest.raises(RefusedStepError):
        share_cost(SETTING, replace(moving_by(1), kind=kind), family, given)


def test_paths_with_different_mechanisms() -> None:
    """The worst of single mechanisms counts, a cost that covers all others counts, and else there is none."""
    light, heavy = (
        share_cost(SETTING, moving_by(d), "skellam", {"variance": "3", "parties": 4}) for d in (1, 2)
    )
    both = Cost(mechanisms=tuple(sorted((*light.mechanisms, *heavy.mechanisms))))
    assert bound([light, heavy], DELTA) == bound([heavy], DELTA)
    assert maximal([light, heavy, both]) == [both]
    claim = RenyiDP(order=2, epsilon=1)
    assert bound([light, both], claim) == pytest.approx(bound([light], claim) + bound([heavy], claim))
    with pytest.raises(CertificateError):
        bound([both, Cost(Fraction(1), mechanisms=light.mechanisms)], DELTA)


BITS, UNIT = Records(Integers(0, 1), size=4), Records(Interval(0, 1), size=4)
POLYA, HALF = (PolyaDifference(shape=shape, log_ratio=1) for shape in ("1/4", "1/2"))


def shares(coins: Any, data: Any) -> Any:
    return coins.aggregate([POLYA.shift(x) for x in data.tolist()], SumMod(100), site="sum")


def lost_share(coins: Any, data: Any) -> Any:
    return coins.aggregate([POLYA.shift(x) for x in data[:3].tolist()], SumMod(100), site="sum")


def unequal_shares(coins: Any, data: Any) -> Any:
    noises = [POLYA, POLYA, POLYA, HALF]
    return coins.aggregate([n.shift(x) for n, x in zip(noises, data.tolist())], Sum(), site="sum")  # noqa: B905


def doubled_values(coins: Any, data: Any) -> Any:
    return coins.aggregate([POLYA.shift(2 * x) for x in data.tolist()], SumMod(100), site="sum")


def everybody_twice(coins: Any, data: Any) -> Any:
    return coins.aggregate([POLYA.shift(x) for x in data.tolist()] * 2, SumMod(100), site="sum")


def binomial_shares(coins: Any, data: Any) -> Any:
    noise = Binomial(trials=5, p=Fraction(1, 2))
    return coins.aggregate([noise.shift(x) for x in data.tolist()], Sum(), site="sum", to=SERVER)


def local_messages(coins: Any, data: Any) -> Any:
    noise = PolyaDifference(shape=1, log_ratio=1)
    return coins.observe(WrappedMod(noise, modulus=50, offset=data), site="messages", to=SERVER)


def rounded(coins: Any, data: Any) -> Any:
    scaled = [3 * x for x in data.tolist()]
    whole = [math.floor(s) for s in scaled]
    encoded = [w + coins.draw(Bernoulli(p=s - w), site="rounding") for s, w in zip(scaled, whole)]  # noqa: B905
    return coins.aggregate([POLYA.shift(x) for x in encoded], SumMod(100), site="sum")


def one_coin_for_all(coins: Any, data: Any) -> Any:
    scaled = [3 * x for x in data.tolist()]
    coin = coins.draw(Bernoulli(p=scaled[0] - math.floor(scaled[0])), site="rounding")
    return coins.aggregate([POLYA.shift(math.floor(s) + coin) for s in scaled], SumMod(100), site="sum")


def shown_coin(coins: Any, data: Any) -> Any:
    return coins.reveal(coins.draw(Bernoulli(p=data[0]), site="coin"), site="shown")


def coin_with_a_probability_above_one(coins: Any, data: Any) -> Any:
    coin = coins.draw(Bernoulli(p=2 * data[0]), site="coin")
    return coins.aggregate([POLYA.shift(coin)] * 4, Sum(), site="sum")


@pytest.mark.parametrize(
    ("program", "claim", "data", "verdict"),
    [
        (shares, PureDP(epsilon=1), BITS, "verified"),
        (shares, PureDP(epsilon="99/100"), BITS, "inconclusive"),
        (lost_share, PureDP(epsilon=1), BITS, "inconclusive"),
        (lost_share, PureDP(epsilon="1.28"), BITS, "verified"),
        (unequal_shares, PureDP(epsilon=1), BITS, "inconclusive"),
        (doubled_values, PureDP(epsilon=1), BITS, "inconclusive"),
        (everybody_twice, PureDP(epsilon=1), BITS, "inconclusive"),
        (shares, PureDP(epsilon=1, adjacency="add-remove"), BITS, "inconclusive"),
        (binomial_shares, ApproxDP(epsilon=1, delta="1/200"), BITS, "verified"),
        (binomial_shares, ApproxDP(epsilon=1, delta="1/1000"), BITS, "inconclusive"),
        (binomial_shares, PureDP(epsilon=9), BITS, "inconclusive"),
        (local_messages, PureDP(epsilon=1), BITS, "verified"),
        (local_messages, PureDP(epsilon="1/2"), BITS, "inconclusive"),
        (rounded, PureDP(epsilon=3), UNIT, "verified"),
        (rounded, PureDP(epsilon="2.9"), UNIT, "inconclusive"),
        (one_coin_for_all, PureDP(epsilon=3), UNIT, "inconclusive"),
        (shown_coin, PureDP(epsilon=9), UNIT, "inconclusive"),
        (coin_with_a_probability_above_one, PureDP(epsilon=9), UNIT, "inconclusive"),
    ],
)
def test_programs_with_shares(program: Any, claim: Any, data: Any, verdict: str) -> None:
    """Sums of equal shares and randomised rounding are proved with the right number, and no smaller one."""
    assert prove_values(program, claim, data=data).verdict == verdict


def checked(data: Any, rng: Any) -> Any:
    """Return a noisy sum after a check of the declared range."""
    if data.ndim != 1 or not np.all((data >= 0) & (data <= 1)):
        raise ValueError("data must be in [0, 1].")
    return data.sum() + rng.laplace(0, 1)


def checked_too_strictly(data: Any, rng: Any) -> Any:
    """Raise for data that the declaration allows, which reveals a record."""
    if not np.all(data < 1):
        raise ValueError("data must be below 1.")
    return data.sum() + rng.laplace(0, 1)


@pytest.mark.parametrize("size", [3, EVERY])
def test_checks_that_the_declaration_decides(size: Any) -> None:
    """A check of the declared range is no branch on data; a stricter one is."""
    data = Records(Interval(0, 1), size=size)
    assert prove_values(checked, PureDP(epsilon=1), data=data).verdict == "verified"
    assert prove_values(checked, PureDP(epsilon="1/2"), data=data).verdict == "inconclusive"
    assert prove_values(checked_too_strictly, PureDP(epsilon=1), data=data).verdict == "inconclusive"


def test_renyi_claims() -> None:
    """A Laplace sum has the Renyi divergence of its zCDP, and not less."""
    data = Records(Interval(0, 1), size=3)
    assert prove_values(checked, RenyiDP(order=2, epsilon=1), data=data).verdict == "verified"
    assert prove_values(checked, RenyiDP(order=2, epsilon="1/4"), data=data).verdict == "inconclusive"
