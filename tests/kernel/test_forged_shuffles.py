"""Forged certificates of binomial vectors and shuffled messages: refused, or above what enumeration gives."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom, norm

from dpaudit.certify import build
from dpaudit.core.claims import Adjacency, ApproxDP, Unit
from dpaudit.core.errors import CertificateError
from dpaudit.core.views import EVERYBODY_ELSE, SERVER, SHUFFLER_OUTPUT, View, user
from dpaudit.kernel import check

VIEW = View.of(SHUFFLER_OUTPUT)
LIST = build.shuffled_gaussian(users=3, sensitivity_squared=1, variance=1).to_json()
BITS = build.binomial_vectors(
    trials=100, probability="1/4", dimension=2, l2_squared=2, largest=1, orders=(2, 8), deviation=15
).to_json()
ROWS = (("1/2", "1/2", "0"), ("0", "1/2", "1/2"))
TABLE = build.shuffled(build.finite_mechanism(ROWS), users=3, local_epsilon=1).to_json()


def bound(tree: dict[str, Any], *, epsilon: Any = "1/10", **setting: Any) -> float:
    claim = ApproxDP(**{"epsilon": epsilon, "delta": "99/100", "view": VIEW, **setting})
    found = check.derived_bound(check.derive(tree, claim), claim)
    assert found is not None
    return float(found)


def forged(tree: dict[str, Any], **changed: Any) -> dict[str, Any]:
    return {**tree, "parameters": {**tree["parameters"], **changed}}


#: Numbers of other domains; what is no number is refused in every parameter (test_parameters.py).
NO_COUNT = ("0", "-1", "3/2", "1e400")
ILL: list[tuple[dict[str, Any], str, Any]] = [
    *((LIST, "users", value) for value in NO_COUNT),
    *((LIST, "sensitivity_squared", value) for value in ("-1", "inf", "nan", None)),
    *((LIST, "variance", value) for value in ("0", "-1", "inf")),
    *((LIST, "splits", value) for value in ([], ["-1"], ["nan"], ["1"] * 9, "1")),
    *((LIST, "grid", value) for value in (None, {}, {"step": "0", "bits": "128", "tail": "70"})),
    *((LIST, name, ["1", "2"]) for name in ("weights", "times", "turnout", "unit")),
    *((BITS, "trials", value) for value in NO_COUNT),
    *((BITS, "probability", value) for value in ("0", "1", "2", "-1/4")),
    *((BITS, "dimension", value) for value in NO_COUNT),
    *((BITS, "orders", value) for value in ([], ["1"], ["1/2"], ["-3"], ["nan"])),
    *((BITS, "deviation", value) for value in ("-1", "1/2", "25", "1e400")),
    *((BITS, "times", value) for value in NO_COUNT),
    *((BITS, "rounding", value) for value in ("always", "", None)),
    *((BITS, name, ["0", "1"]) for name in ("weights", "turnout", "unit")),
    *((TABLE, "users", value) for value in NO_COUNT),
    *((TABLE, "local", value) for value in ("0", "-1", "inf", "nan", ["1"])),
    *((TABLE, name, ["0", "1"]) for name in ("weights", "times", "turnout", "unit")),
]


@pytest.mark.parametrize(
    ("tree", "name", "value"), ILL, ids=[f"{tree['rule']}-{name}-{value}" for tree, name, value in ILL]
)
def test_ill_formed_parameters_are_refused(tree: dict[str, Any], name: str, value: Any) -> None:
    """As an error of the certificate, whatever stands there."""
    with pytest.raises(CertificateError):
        bound(forged(tree, **{name: value}))


SETTINGS: list[dict[str, Any]] = [
    {"adjacency": Adjacency.ADD_REMOVE},
    {"adjacency": Adjacency.ZERO_OUT},
    {"view": View.of(SERVER)},
    {"view": View.of(SHUFFLER_OUTPUT, user(1))},
]


@pytest.mark.parametrize("tree", [LIST, TABLE], ids=["list", "table"])
@pytest.mark.parametrize(
    "setting",
    [*SETTINGS, {"unit": Unit.USER}, {"view": EVERYBODY_ELSE}],
    ids=["add-remove", "zero-out", "server", "shuffler-and-user", "per-user", "everybody-else"],
)
def test_other_settings_have_no_amplification(tree: dict[str, Any], setting: dict[str, Any]) -> None:
    """Replacing one event in the shuffler's view is all that the rules are about; per user, each user sends
    one message as an assumption of the certificate, or it is refused."""
    claim = ApproxDP(**{"epsilon": "1/10", "delta": "99/100", "view": VIEW, **setting})
    try:
        guarantee = check.derive(tree, claim)
    except CertificateError:
        return
    assert setting == {"unit": Unit.USER}
    assert any("one message" in text or "one event" in text for text in guarantee.assumptions)


def test_a_participation_leaves_the_number_of_users_as_an_assumption() -> None:
    for tree in (LIST, TABLE):
        for participation in ("any", "unknown", Fraction(1, 2)):
            claim = ApproxDP(epsilon="1/10", delta="99/100", view=VIEW, participation=participation)
            assert any("at least 3 users send" in text for text in check.derive(tree, claim).assumptions)


def gaussian(mu: float, epsilon: float) -> float:
    return float(norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu))


@pytest.mark.parametrize("users", [1, 2, 5])
@pytest.mark.parametrize("split", ["0", "1/100", "3", "1000"])
@pytest.mark.parametrize("step", ["1/10", "3", "100"])
def test_no_split_or_grid_is_below_the_sum_of_the_list(users: int, split: str, step: str) -> None:
    """Whatever is stated, the bound is above the exact delta of the sum, which the list tells."""
    grid = {"step": step, "bits": "64", "tail": "20"}
    for squared, epsilon in itertools.product(("1/4", "9"), ("0", "1/2", "2")):
        tree = forged(LIST, users=str(users), sensitivity_squared=squared, splits=[split], grid=grid)
        truth = gaussian(math.sqrt(Fraction(squared) / users), float(Fraction(epsilon)))
        assert bound(tree, epsilon=epsilon) >= truth * (1 - 1e-9) - 1e-15


def test_no_orders_or_deviation_are_below_the_sum_over_all_outcomes() -> None:
    """Random numbers of trials, chances, changes, orders and deviations, with every outcome added up."""
    rng = np.random.default_rng(0)
    accepted = 0
    for _ in range(150):
        trials, chance = int(rng.choice([40, 100, 400])), Fraction(str(rng.choice(["1/4", "1/2", "99/100"])))
        shift, epsilon = (
            [int(s) for s in rng.integers(1, 4, size=rng.integers(1, 3))],
            float(rng.choice([0, 0.5, 2])),
        )
        tree = forged(
            BITS,
            trials=str(trials),
            probability=str(chance),
            dimension=str(len(shift)),
            l2_squared=str(sum(s * s for s in shift)),
            largest=str(max(shift)),
            orders=[str(rng.choice(["101/100", "2", "8", "1000"]))],
            deviation=str(rng.integers(0, trials // 4)),
        )
        try:
            found = bound(tree, epsilon=Fraction(epsilon))
        except CertificateError:
            continue
        accepted += 1
        assert found >= by_enumeration(trials, float(chance), shift, epsilon) * (1 - 1e-9) - 1e-14
    assert accepted > 50


def by_enumeration(trials: int, chance: float, shift: list[int], epsilon: float) -> float:
    p = q = np.ones(1)
    for s in shift:
        points = np.arange(trials + s + 1)
        p = np.outer(p, binom.pmf(points, trials, chance)).ravel()
        q = np.outer(q, binom.pmf(points - s, trials, chance)).ravel()
    e = math.exp(epsilon)
    return float(max(np.maximum(p - e * q, 0).sum(), np.maximum(q - e * p, 0).sum()))


@pytest.mark.parametrize("local", ["1/1000000000", "1/2", "1", "10", "1000000"])
@pytest.mark.parametrize("users", [1, 2, 4])
def test_no_local_epsilon_is_below_the_sum_over_all_multisets(local: str, users: int) -> None:
    """A table with zeros, whose clones need a delta: whichever local epsilon is named."""
    for epsilon in ("0", "1/2", "2"):
        truth = of_multisets(users, float(Fraction(epsilon)))
        assert bound(forged(TABLE, local=local, users=str(users)), epsilon=epsilon) >= truth * (1 - 1e-9)


def of_multisets(users: int, epsilon: float) -> float:
    rows = [[float(Fraction(chance)) for chance in row] for row in ROWS]
    worst = 0.0
    for others in itertools.combinations_with_replacement(range(2), users - 1):
        distributions: list[dict[tuple[int, ...], float]] = [{}, {}]
        for value, distribution in enumerate(distributions):
            for outcomes in itertools.product(range(3), repeat=users):
                key = tuple(sorted(outcomes))
                chance = math.prod(rows[x][y] for x, y in zip((value, *others), outcomes, strict=True))
                distribution[key] = distribution.get(key, 0.0) + chance
        for one, two in (distributions, distributions[::-1]):
            worst = max(worst, sum(max(0.0, p - math.exp(epsilon) * two[key]) for key, p in one.items()))
    return worst
