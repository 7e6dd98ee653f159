"""The shuffle paper's regret rows: printed constants, worked-out bounds, exponents, stale rounds."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from audits.shuffle_linear_bandits.rate_simulation import PROTOCOL_NOISE, quantile_floor, simulated_rate
from audits.shuffle_linear_bandits.regret_protocols import PROTOCOLS, Point, RegretClaim
from audits.shuffle_linear_bandits.rows.corollaries import COROLLARIES, Corollary
from audits.shuffle_linear_bandits.rows.regret_rates import CONSTANT, grid_points
from audits.shuffle_linear_bandits.stale_rounds import adversarial, exact_stale, stale_at_most
from dpaudit.core.errors import InvalidParameterError
from dpaudit.kernel.ball import arb
from dpaudit.reference.algorithms.contextual import noise_levels
from dpaudit.reference.algorithms.contextual.exponents import excess, monomial
from dpaudit.reference.algorithms.contextual.proved_regret import norm_exceeded, worked_out
from dpaudit.reference.algorithms.contextual.radius import (
    exact_radius,
    noise_bound,
    printed_radius,
    private_tree_regularity,
    regularity,
    sequential_local_radius,
)
from tests.rates import FALSE_FAILURE_RATE


@pytest.mark.parametrize(
    ("epsilon", "delta", "amplified", "local", "trials", "returning"),
    [
        (0.2, 0.1, 27.289047, 50.745450, 1172729554, 6298.852765),
        (1.0, 0.1, 5.457809, 10.149090, 46909183, 1259.770553),
        (0.2, 1e-6, 101.430314, 108.560771, 8280661472, 41305.360019),
        (1.0, 1e-6, 20.286063, 21.712154, 331226459, 8261.072004),
    ],
)
def test_noise_levels_are_the_printed_ones(
    epsilon: float, delta: float, amplified: float, local: float, trials: int, returning: float
) -> None:
    """Known values at T = 20000, B = 20, d = 5, worked out by hand from the printed formulas."""
    found = noise_levels.amplified_std(epsilon=epsilon, delta=delta, batch_size=20)
    assert found == pytest.approx(amplified, rel=1e-7)
    assert noise_levels.local_std(epsilon=epsilon, delta=delta) == pytest.approx(local, rel=1e-7)
    level = noise_levels.binomial_level(epsilon=epsilon, delta=delta, batch_size=20, dim=5)
    assert (level.precision, level.trials) == (9, trials)
    assert level.std(20) == pytest.approx(math.sqrt(trials * 20 * 3 / 16) / 9)
    back = noise_levels.returning_amplified_std(epsilon=epsilon, delta=delta, horizon=20000, batch_size=20)
    assert back == pytest.approx(returning, rel=1e-8)


def test_further_known_values() -> None:
    """The cap of Theorem B.1, b of Theorem E.5, C.3's g, Shariff and Sheffet's node."""
    assert noise_levels.epsilon_cap(delta=0.1, batch_size=20) == pytest.approx(0.387023, rel=1e-5)
    level = noise_levels.returning_binomial_level(epsilon=0.2, delta=0.1, horizon=20000, batch_size=20, dim=5)
    assert level.trials == pytest.approx(6.419443e14, rel=1e-6)
    assert noise_levels.binomial_level(epsilon=1, delta=0.1, batch_size=400, dim=2, local=True).precision == 4
    std, regular = private_tree_regularity(epsilon=0.2, delta=0.1, horizon=20000, dim=5, failure_prob=0.1)
    assert std == pytest.approx(590.220713, rel=1e-8)
    assert regular.max_eig == pytest.approx(3 * regular.min_eig)
    freedom = noise_levels.wishart_freedom(epsilon=1, delta=0.1, leaves=20000, dim=5)
    assert freedom == 6 + math.ceil(224 * 16 * math.log(1280) * math.log(20))


def test_radii_are_their_formulas() -> None:
    """Written out with numbers: Section 3.1 and the proof of Lemma A.2, at t = 100, d = 3."""
    printed = printed_radius(100, dim=3, ridge=2.0, failure_prob=0.1)
    assert printed == pytest.approx(math.sqrt(2 * math.log(20) + 3 * math.log(1 + 100 / 6)) + math.sqrt(2))
    bound = noise_bound(total_std=5, dim=3, n_batches=10, failure_prob=0.1)
    assert bound == pytest.approx(2 * 5 * (math.sqrt(3) + math.sqrt(math.log(200))))
    regular = regularity(vec_bound=bound, mat_bound=bound)
    assert (regular.ridge, regular.min_eig, regular.max_eig) == pytest.approx((2 * bound, bound, 3 * bound))
    wide = math.sqrt(2 * math.log(10) + 3 * math.log(1 + 100 / (3 * bound)))
    exact = exact_radius(100, dim=3, regular=regular, failure_prob=0.1)
    assert exact == pytest.approx(wide + math.sqrt(3 * bound) + math.sqrt(bound))
    ridge, radius = sequential_local_radius(100, std=2.0, dim=3, horizon=500, failure_prob=0.1)
    gamma = 20 * (4 * math.sqrt(3) + 2 * math.log(10000))
    assert ridge == pytest.approx(2 * gamma)
    tail = (math.sqrt(3 * gamma) + 2 * math.sqrt(300 / gamma)) * 3 * math.log(500)
    assert radius == pytest.approx(4 * math.sqrt(3 * math.log(500)) + tail)
    with pytest.raises(InvalidParameterError, match="failure_prob in"):
        noise_bound(total_std=1, dim=2, n_batches=3, failure_prob=0.0)


@pytest.mark.parametrize("claim", PROTOCOLS, ids=lambda claim: claim.id)
def test_noise_of_proofs_and_of_simulations_is_one(claim: RegretClaim) -> None:
    """σ in balls and σ of the simulated protocol, two codes, agree at every point of the quick grid."""
    for p in list(grid_points(claim, quick=True))[::7]:
        if p.horizon > 2**50:  # b does not fit a float's integers there
            continue
        epsilon = float(claim.epsilon(p).mid())
        _, total = PROTOCOL_NOISE[claim.id](p, epsilon)
        # b is rounded up in one and raised by 1 in the other.
        assert total == pytest.approx(float(claim.total_std(p).mid()), rel=1e-5)


def test_the_worked_out_bound_is_the_formula_in_floats() -> None:
    """Another code of the same formula, at a point; and it falls with c and without noise."""
    sigma, horizon, size, dim = 7.0, 4096, 16, 3
    norm = 6 * sigma * (math.sqrt(dim) + math.sqrt(math.log(2 * 256 / 0.05)))
    growth = math.log(1 + horizon / (dim * norm))
    radius = math.sqrt(2 * math.log(20) + dim * growth) + math.sqrt(3 * norm) + math.sqrt(norm)
    wanted = dim * size * growth / (2 * math.log(2)) + 4 * radius * math.sqrt(2 * dim * horizon * growth)

    def found(sigma: int, constant: int = 6) -> arb:
        bounds = worked_out(
            arb(sigma),
            horizon=horizon,
            batch_size=size,
            dim=dim,
            failure_prob=Fraction(1, 10),
            constant=constant,
        )
        regret: arb = bounds.regret
        return regret

    assert float(found(7).mid()) == pytest.approx(wanted)
    assert found(7, constant=2) < found(7)
    assert found(0) < found(7)


def test_runs_stay_below_the_worked_out_bound() -> None:
    """What is proved for all instances holds in simulations of every protocol at α = 1/2, run by run but for
    the share α."""
    for claim in PROTOCOLS:
        if claim.id == "CZ22-P4.3r":
            continue
        p = Point(
            horizon=1024,
            batch_size=64,
            dim=2,
            share=Fraction(1),
            delta=Fraction(1, 10),
            failure_prob=Fraction(1, 2),
        )
        bound = worked_out(
            claim.total_std(p), horizon=p.horizon, batch_size=64, dim=2, failure_prob=p.failure_prob
        )
        runs = simulated_rate(claim.id, p, epsilon=float(claim.epsilon(p).mid()), runs=30, seed=1)
        above = int((runs.pseudo.final > float(bound.regret.upper())).sum())
        assert stats.binom.sf(above - 1, 30, 0.5) > FALSE_FAILURE_RATE
        assert runs.indefinite_batches.sum() == 0


@pytest.mark.parametrize("lost", ["T", "B", "delta"])
def test_a_rate_with_a_factor_lost_is_not_covered_by_the_constant(lost: str) -> None:
    """Negative control: B.1's rate without T^(1/8), with B^(-1/4) too much, or P_Vec's without its
    log^(1/2)(d²/δ) at tiny δ needs more than C somewhere."""
    claim = next(one for one in PROTOCOLS if one.id == ("CZ22-C.1r" if lost == "delta" else "CZ22-B.1r"))
    worst = 0.0
    for exponent in (20, 60, 100):
        for batch in (0, exponent // 2):
            p = Point(
                horizon=2**exponent,
                batch_size=2**batch,
                dim=2,
                share=Fraction(1),
                delta=Fraction(1, 10**40) if lost == "delta" else Fraction(1, 10),
                failure_prob=Fraction(1, 2),
            )
            wrong = {
                "T": p.horizon**0.125,
                "B": p.batch_size**0.25,
                "delta": math.sqrt(math.log(p.dim**2 / float(p.delta))),
            }[lost]
            bound = worked_out(
                claim.total_std(p),
                horizon=p.horizon,
                batch_size=p.batch_size,
                dim=p.dim,
                failure_prob=p.failure_prob,
            )
            worst = max(worst, float((bound.regret / claim.rate(p)).mid()) * wrong)
    assert worst > CONSTANT


def test_norms_of_gaussian_matrices_are_below_the_net_bound() -> None:
    """Simulated norms never pass c = 6 (d = 4, M = 8), often pass c = 1/2, and the net bound agrees."""
    rng = np.random.default_rng(2)
    drawn = rng.normal(size=(500, 8, 4, 4))
    steps = np.triu(drawn) + np.triu(drawn, 1).swapaxes(-1, -2)
    largest = np.abs(np.linalg.eigvalsh(steps.cumsum(axis=1))).max(axis=(1, 2))
    unit = math.sqrt(8) * (2 + math.sqrt(math.log(160)))
    assert (largest > 6 * unit).sum() == 0
    assert (largest > unit / 2).mean() > 0.2
    six, one = (norm_exceeded(dim=4, n_batches=8, failure_prob=Fraction(1, 10), constant=c) for c in (6, 1))
    assert six < arb(1) / 20
    assert one > 1


def test_monomials_are_functions_of_their_symbols() -> None:
    """Products, powers and substitution against numbers; a symbol named twice is refused."""
    at = {"T": 7.0, "B": 3.0, "e": 1.7}

    def value(text: str, **values: float) -> float:
        return float(math.prod((at | values)[s] ** float(power) for s, power in monomial(text).powers))

    left, right = monomial("T^3/4 B^-1/4 e"), monomial("T^1/2 e^-1")
    together = math.prod(at[s] ** float(power) for s, power in (left * right**2 / left).powers)
    assert together == pytest.approx(value("T^1/2 e^-1") ** 2)
    put = left.at(B=monomial("T^3/5 e^1/5"))
    inner = value("T^3/5 e^1/5")
    assert math.prod(at[s] ** float(power) for s, power in put.powers) == pytest.approx(
        value("T^3/4 B^-1/4 e", B=inner)
    )
    assert excess([left, right], monomial("T"), without=["e"])["T"] == (Fraction(3, 4), Fraction(1))
    with pytest.raises(InvalidParameterError, match="must occur once"):
        monomial("T^2 T")


@pytest.mark.parametrize("corollary", COROLLARIES, ids=lambda one: one.id)
def test_corollaries_hold_in_numbers(corollary: Corollary) -> None:
    """At large symbols the terms, evaluated with B as a number, are no larger than the printed rate; with the
    printed exponent of T lowered by 1/20 they are."""
    symbols = {"T": 1e40, "e": 1e9, "L": 50.0, "L2": 50.0, "d": 1.0, "M": 1e6}

    def value(text: str, known: dict[str, float]) -> float:
        return float(math.prod(known[s] ** float(power) for s, power in monomial(text).powers))

    known = dict(symbols)
    for name, text in {"B": corollary.batch, **corollary.replaced}.items():
        known[name] = value(text, symbols)
    largest = max(value(term, known) for term in corollary.terms)
    printed = value(corollary.printed, symbols)
    assert largest <= printed * (1 + 1e-9)
    assert largest > printed / symbols["T"] ** 0.05


@pytest.mark.parametrize("kind", ["cycling", "repeats", "growing", "turning"])
def test_stale_rounds_are_those_of_fresh_inverses(kind: str) -> None:
    """Exact count, float count and a direct look (V inverted anew at each round) agree; features have norm at
    most 1."""
    features = adversarial(kind, horizon=60, batch_size=12, dim=2)
    rows = np.array([[float(x) for x in row] for row in features])
    assert np.linalg.norm(rows, axis=1).max() <= 1 + 1e-12
    for min_eig in (Fraction(1, 50), Fraction(1, 2)):
        direct, gram, sent = 0, float(min_eig) * np.eye(2), np.eye(2)
        for t, x in enumerate(rows):
            if t % 12 == 0:
                sent = gram.copy()
            then, now = (math.sqrt(x @ np.linalg.inv(v) @ x) for v in (sent, gram))
            direct += then > 2 * now * (1 + 1e-12)
            gram = gram + np.outer(x, x)
        assert exact_stale(features, batch_size=12, min_eig=min_eig) == direct
        assert stale_at_most(rows, batch_size=12, min_eig=float(min_eig)) >= direct


def test_stale_rounds_pass_a_fourth_of_the_bound() -> None:
    """Negative control: Claim A.6 with a fourth of its bound is false on a sequence of repeats."""
    features = adversarial("repeats", horizon=120, batch_size=40, dim=3)
    found = exact_stale(features, batch_size=40, min_eig=Fraction(7))
    bound = 3 * 40 * math.log(1 + 120 / 21) / (2 * math.log(2))
    assert bound / 4 < found < bound


def test_quantile_floors_are_below_the_quantile() -> None:
    """Of uniform values: above the median in at most a share alpha of experiments; 0 where n is too small."""
    rng = np.random.default_rng(3)
    floors = [quantile_floor(rng.random(40), level=0.5, alpha=0.1) for _ in range(2000)]
    above = int((np.array(floors) > 0.5).sum())
    assert stats.binom.sf(above - 1, 2000, 0.1) > FALSE_FAILURE_RATE
    assert np.mean(floors) > 0.3
    assert quantile_floor(rng.random(3), level=0.05, alpha=0.01) == 0.0
