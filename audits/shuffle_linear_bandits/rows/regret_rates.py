"""Check the regret theorems: Lemmas A.2 and A.4 with explicit constants, compared with the printed rates.

An O(.) has no explicit constant. The finite restatement, Reg(T) <= C rate with probability 1 - α or more,
uses the same round C everywhere, which is ours. The upper bound holds for ALL instances at each point of a
grid (``algorithms/contextual/proved_regret.py``). The lower bound is simulated on instances of Section 6.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from audits.shuffle_linear_bandits.rate_simulation import N_ARMS, noisy_policy, quantile_floor, simulated_rate
from audits.shuffle_linear_bandits.regret_protocols import PROTOCOLS, Point, RegretClaim
from dpaudit.core.claims import RegretRate
from dpaudit.core.exact_functions import ln
from dpaudit.core.plots import table
from dpaudit.core.suite import Group, Run
from dpaudit.kernel.ball import arb, ball, lower, upper
from dpaudit.reference.algorithms.contextual.aggregate_noise import GaussianNoise
from dpaudit.reference.algorithms.contextual.environments import sphere_arms
from dpaudit.reference.algorithms.contextual.proved_regret import worked_out
from dpaudit.reference.algorithms.contextual.simulated_regret import simulate_batched
from dpaudit.suite import (
    Expression,
    Measured,
    Sides,
    Step,
    constant,
    evidence,
    expected,
    full,
    inequality,
    leaf,
    on,
    over,
    reals,
    step,
    steps,
)
from dpaudit.suite.regret import CUT_AND_CHARGED, Cut, Interval, mean_interval

__all__ = ["grid_points", "rows"]

rows = Group("Regret: the printed rates", kind="regret")

#: Our C for every rate, a round number.
CONSTANT = 12
#: The constant of Lemma A.2.
REGULAR = 8
EXPONENTS, QUICK = (10, 12, 14, 20, 30, 50, 100), (12, 20, 50, 100)
DIMS, SHARES, ALPHAS = (2, 3, 20, 100), ("1", "1/10", "1/1000"), ("1/2", "1/20")
#: Settings of the simulated runs: log2 T, log2 B, d, α.
SIMULATED = (12, 6, 3, Fraction(1, 2))


def _batch_sizes(claim: RegretClaim, exponent: int, dim: int, share: str, delta: str) -> list[int]:
    """Return powers of two, so that batches are whole: 1, 16, about sqrt(T) and T^(3/5).

    If the claim prescribes a batch size, return it to the nearest power of two.
    """
    if claim.id == "CZ22-P4.3r":
        return [1]
    if claim.batch_size is None:
        return [1, 16, 2 ** (exponent // 2), 2 ** round(3 * exponent / 5)]
    cap = 15.0 if claim.id.startswith("CZ22-C") else 1.0
    wanted = claim.batch_size(2**exponent, dim, cap * float(Fraction(share)), float(Fraction(delta)))
    nearest = min(range(exponent + 1), key=lambda k: abs(2**k / wanted - 1))
    return [2**nearest]


def grid_points(claim: RegretClaim, *, quick: bool) -> Iterator[Point]:
    """Return the points at which one claim is checked."""
    exponents = QUICK if quick else EXPONENTS
    for e, d, share, delta in itertools.product(exponents, DIMS, SHARES, claim.deltas):
        for batch_size, alpha in itertools.product(_batch_sizes(claim, e, d, share, delta), ALPHAS):
            yield Point(
                horizon=2**e,
                batch_size=batch_size,
                dim=d,
                share=Fraction(share),
                delta=Fraction(delta),
                failure_prob=Fraction(alpha),
            )


def _claim_of(claim: RegretClaim) -> RegretRate:
    sizes = "B = as prescribed, to a power of 2" if claim.batch_size else "B = 1, 16, about T^(1/2), T^(3/5)"
    if claim.id == "CZ22-P4.3r":
        sizes = "B = 1"
    grid = (
        f"log2 T = {', '.join(map(str, EXPONENTS))} (quick profile: {', '.join(map(str, QUICK))}); {sizes}; "
        f"d = {', '.join(map(str, DIMS))}; ε = {', '.join(SHARES)} of the theorem's largest; "
        f"δ = {', '.join(claim.deltas)}; α = {', '.join(ALPHAS)}"
    )
    return RegretRate(
        text=(
            f"Reg(T) <= C ({claim.words}) with probability 1 - α or more, C = {CONSTANT} (ours), for all "
            f"instances, at each point of the grid {grid}"
        ),
        quantity_name="regret / rate",
        claimed=CONSTANT,
        constants=(("C", str(CONSTANT)),),
    )


def _proved(run: Run, claim: RegretClaim) -> tuple[Measured, list[list[Any]], str]:
    """Return the largest proved bound / printed rate, by horizon, and the points at which the rate is
    vacuous."""
    points, vacuous = list(grid_points(claim, quick=run.profile == "quick")), 0
    worst: dict[int, tuple[float, str]] = {}
    for p in points:
        rate = claim.rate(p)
        bound = worked_out(
            claim.total_std(p),
            horizon=p.horizon,
            batch_size=p.batch_size,
            dim=p.dim,
            failure_prob=p.failure_prob,
        )
        vacuous += bool(rate >= p.horizon)
        found = (upper(bound.regret / rate), str(p))
        worst[p.horizon] = max(worst.get(p.horizon, found), found)
    lines: list[list[Any]] = [[f"2^{t.bit_length() - 1}", *found] for t, found in worst.items()]
    measured = Measured(
        high=max(found[0] for found in worst.values()),
        samples=len(points),
        method="Lemmas A.2 and A.4 with explicit constants (c = 6, a net), in balls",
        scope=f"ALL instances at each of {len(points)} points",
    )
    return (
        measured,
        lines,
        f"the rate itself is T or more, and so vacuous, at {vacuous} of {len(points)} points",
    )


def _simulated(run: Run, claim: RegretClaim) -> tuple[Measured, str]:
    """Return a lower bound on the median of regret / rate at one point of the grid."""
    exponent, batch, dim, alpha = SIMULATED
    delta = claim.deltas[1]
    size = 2**batch if claim.batch_size is None else _batch_sizes(claim, exponent, dim, "1", delta)[0]
    p = Point(
        horizon=2**exponent,
        batch_size=1 if claim.id == "CZ22-P4.3r" else size,
        dim=dim,
        share=Fraction(1),
        delta=Fraction(delta),
        failure_prob=alpha,
    )
    runs = run.choose(quick=40, full=200)
    found = simulated_rate(
        claim.id, p, epsilon=float(claim.epsilon(p).mid()), runs=runs, seed=run.seed_sequence(claim.id)
    )
    floor = quantile_floor(found.pseudo.final, level=1 - float(alpha), alpha=run.alpha)
    outside = int((found.indefinite_batches > 0).sum())
    measured = Measured(
        low=lower(ball(Fraction(floor)) / claim.rate(p)),
        exact=False,
        samples=runs,
        method="simulation; an order statistic below the (1 - α)-quantile",
        scope=f"{N_ARMS} arms of Section 6, {runs} runs, {p}",
    )
    return measured, (
        f"simulated at {p}: mean regret {found.pseudo.mean:.0f} ± {found.pseudo.standard_error:.0f}; a V_m "
        f"that is not positive definite in {outside} of {runs} runs"
    )


for _claim in PROTOCOLS:

    @evidence(rows, _claim.id, _claim.source, claim=_claim_of(_claim), case=_claim.title, protocol=_claim)
    def bounded(run: Run, protocol: RegretClaim) -> list[Measured]:
        """{case}: the printed regret holds with one constant, for all instances of the grid

        Compute the constants of Lemma A.4 for the printed noise and λ = max(1, 2 Σ_N), and compare with the
        printed rate at every point of the grid. Simulate the protocol for the lower bound.

        Note: the upper bound rests on steps that have separate rows: A.2b, A.6, A.4c
        """
        measured, lines, vacuous = _proved(run, protocol)
        simulated, notes = _simulated(run, protocol)
        picture = table(
            title="The proved bound over the printed rate, by horizon",
            columns=["T", "bound / rate at most", "at"],
            rows=lines,
        )
        remarks = [vacuous, notes, *([protocol.note] if protocol.note else [])]
        upper_side = Measured(
            high=measured.high,
            samples=measured.samples,
            method=measured.method,
            scope=measured.scope,
            notes=remarks,
            plots=[picture],
        )
        return [upper_side, simulated]


# The lemmas behind the theorems

HORIZONS = (2**10, 2**14, 2**20, 2**40, full(2**80))
_GRID = {
    "horizon": HORIZONS,
    "batch_size": (1, 16, 1024),
    "dim": (2, 5, 20, 100),
    "alpha": "1 1/2 1/20 1/1000",
}


def _printed_lemma(sigma: Any, horizon: int, batch_size: int, dim: int, alpha: Fraction) -> Any:
    """Return dB log T + d sqrt(T) log(T/α) + sqrt(σT) d^(3/4) log T log(T/α)."""
    logs = ln(horizon / alpha)
    noisy = (sigma * horizon).sqrt() * (arb(dim) ** 3).sqrt().sqrt() * ln(horizon)
    return dim * batch_size * ln(horizon) + dim * arb(horizon).sqrt() * logs + noisy * logs


@inequality(
    rows,
    "CZ22-A.4",
    "Lemmas 3.9 and A.4",
    over=over(sigma="1/100 1 10 100 10000 100000000", **_GRID),
    constant=CONSTANT,
)
def template(
    sigma: Fraction, horizon: int, batch_size: int, dim: int, alpha: Fraction, constant: int
) -> Sides:
    """The template: regret at most {constant} (dB log T + d √T log(T/α) + √(σT) d^(3/4) log T log(T/α))

    The noise has any σ, and all instances are covered: the proof with explicit constants, λ = max(1, 2
    Σ_N), c = 6. {constant} is ours. The lemma names no constant.
    """
    bound = worked_out(ball(sigma), horizon=horizon, batch_size=batch_size, dim=dim, failure_prob=alpha)
    return bound.regret, constant * _printed_lemma(ball(sigma), horizon, batch_size, dim, alpha)


@inequality(rows, "CZ22-RA.5", "Remark A.5", over=over(**_GRID), constant=CONSTANT)
def noiseless(horizon: int, batch_size: int, dim: int, alpha: Fraction, constant: int) -> Sides:
    """Without privacy, batched LinUCB has regret at most {constant} (dB log T + d √T log(T/α)) at λ = 1,
    for every d

    σ = 0: the proof with explicit constants, λ = 1 at every d.

    Note: the conditions on λ in the analyses of others are quoted and not checked
    """
    bound = worked_out(arb(0), horizon=horizon, batch_size=batch_size, dim=dim, failure_prob=alpha)
    return bound.regret, constant * _printed_lemma(arb(0), horizon, batch_size, dim, alpha)


@step("stale rounds", prove=on())
def _stale() -> Sides:
    """|Ψ| is at most half of dB/log 2 log(1 + T/(d λ_min))"""
    return Fraction(1, 2), REGULAR


@step(
    "width",
    over=over(level="0 1 3", width="1/1000 10 1000"),
    prove=on(level=reals(0, None), width=reals(0, None)),
)
def _width(level: Fraction, width: Fraction) -> Sides:
    """4 √2 √(2 log(1/α) + w) <= 8 √(log(1/α) + w), squared"""
    return 32 * (2 * level + width), REGULAR**2 * (level + width)


@step("norms", prove=on())
def _norms() -> Sides:
    """4 √2 (√λ_max + ν) <= 8 (√λ_max + ν), squared"""
    return 32, REGULAR**2


@steps(rows, "CZ22-A.2", "Lemma A.2", constant=REGULAR)
def regular(constant: int) -> list[Step]:
    """Lemma A.2 with the constant {constant}: |Ψ| + 4 β_M Σ min(1, ‖φ‖) is at most {constant} times its
    right side

    β_M is √(2 log(1/α) + w) + √λ_max + ν with w = d log(1 + T/(d λ_min)), and Σ min(1, ‖φ‖) is at most
    √(2Tw). The right side is dB/log 2 log(1 + T/(d λ_min)) + √(Tw) (√(log(1/α) + w) + √λ_max + ν). Compare
    term by term, without the factors that both terms have. {constant} = 4 √2 √2 is the proof's. level =
    log(1/α) and width = w are any numbers from 0 up.

    Note: this proof gives probability 1 - 2α, and 1 - α is printed (two events of 1 - α each); α in the
    bound is free up to a constant
    """
    return [_stale, _width, _norms]


# Growth, simulated where the rate is not vacuous

#: (σ per user, log2 T) before and after along each axis.
AXES = {
    "T, 2^10 to 2^14": ((Fraction(1, 4), 10), (Fraction(1, 4), 14)),
    "σ a user, 1/16 to 1": ((Fraction(1, 16), 13), (Fraction(1), 13)),
}


def _noisy_regret(std: Fraction, exponent: int) -> Expression:
    """Return an estimate of E Reg(T)/T under Gaussian noise of ``std`` per user at B = 16, d = 3."""
    horizon, alpha = 2**exponent, Fraction(1, 20)
    p = Point(
        horizon=horizon, batch_size=16, dim=3, share=Fraction(1), delta=Fraction(1, 10), failure_prob=alpha
    )

    def bounding(run: Run, level: float) -> Interval:
        seeds = run.seed_sequence(f"growth {std} {exponent}").spawn(2)
        size = _growth_runs(run)
        arms = sphere_arms(replicates=size, n_arms=N_ARMS, dim=3, rng=np.random.default_rng(seeds[0]))
        noise = GaussianNoise(std_vec=float(std), std_mat=float(std))
        policy = noisy_policy(p, noise, float(std) * horizon**0.5, constant=2.0)
        runs = simulate_batched(
            policy, arms, name="growth", horizon=horizon, seed=seeds[1], checkpoints=[horizon]
        )
        share = np.clip(runs.pseudo.final / horizon, 0.0, 1.0)
        return mean_interval(share, Cut(1.0, 0.0, (1.0,)), alpha=level)

    return leaf(f"noisy {std} 2^{exponent}", bounding, runs=_growth_runs, method=CUT_AND_CHARGED)


def _growth_runs(run: Run) -> int:
    return int(run.choose(quick=200, full=1000))


def _against_template(std: Fraction, exponent: int) -> Expression:
    horizon = 2**exponent
    rate = _printed_lemma(ball(std) * arb(horizon).sqrt(), horizon, 16, 3, Fraction(1, 20)) / horizon
    return _noisy_regret(std, exponent) / constant(lower(rate), upper(rate))


@expected(
    rows,
    "CZ22-A.4/growth",
    "Lemmas 3.9 and A.4",
    at_most=Fraction(3, 2),
    claim="rate",
    quantity="ratio after / ratio before",
    role="sharper",
    constants=[("slack", Fraction(3, 2))],
    over=over(axis=tuple(AXES)),
)
def growing(axis: str) -> Expression:
    """E regret / rate of Lemma A.4 grows by at most 3/2 from end to end of T and of σ

    Simulate Gaussian noise of known σ per user, with ridge and radius of the proof with c = 2, B = 16, d =
    3, ten arms of Section 6. Compare the ratios at both ends.

    Note: regret may grow more slowly than an upper bound; faster growth would contradict it in the long run
    """
    before, after = AXES[axis]
    return _against_template(*after) / _against_template(*before)
