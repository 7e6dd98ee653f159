"""Check tail lemmas: Bernstein, squares of sub-Gaussians, norms of noise matrices, self-normalised sums."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from audits.glm_bandits.exact_tails import (
    binomial_at_least,
    binomial_below,
    chi_square_above,
    crossing_probability,
)
from dpaudit.core.exact_functions import ceil_log2, ln, log2
from dpaudit.core.suite import Group, Run
from dpaudit.kernel.ball import arb, ball, integer
from dpaudit.reference.algorithms.contextual.shuffle_glm import shuffled_matrix_noise
from dpaudit.suite import (
    Chain,
    Measured,
    Sides,
    Step,
    evidence,
    full,
    inequality,
    integers,
    on,
    over,
    reals,
    step,
    steps,
)
from dpaudit.suite.regret import proportion_interval

__all__ = ["rows"]

rows = Group("Tail lemmas", kind="tail")

# Sums


@inequality(
    rows, "SAR-E.2", "Lemma E.2",
    over=over(n=(1, 20, 200, full(2000)), p="1/100 1/3 1/2 99/100", delta="1/2 1/20 1/1000000"),
)  # fmt: skip
def bernstein(n: int, p: Fraction, delta: Fraction) -> Sides:
    """A sum exceeds its mean by √(2v log(1/δ)) + (2b/3) log(1/δ) with probability δ at most

    Compute exact binomial tails: b = max(p, 1 - p), v = n p (1 - p).
    """
    log, spread = ln(1 / delta), max(p, 1 - p)
    radius = (2 * ball(n * p * (1 - p)) * log).sqrt() + 2 * ball(spread) / 3 * log
    return binomial_at_least(n, p, ball(n * p) + radius), delta


SQUARES = over(log_margin="1001/1000 4", delta="1/2 1/20 1/1000000")


@inequality(
    rows,
    "SAR-E.3",
    "Lemma E.3, the mean of the squares",
    over=SQUARES,
    role="repaired",
    repairs="SAR-E.3/sum",
    power=1,
    case="the mean of",
)
@inequality(
    rows, "SAR-E.3/sum", "Lemma E.3, (28)", over=SQUARES,
    expect="refuted", power=0, case="the sum, without 1/n, of",
)  # fmt: skip
def squares(log_margin: Fraction, delta: Fraction, power: int) -> Sides:
    """P({case} X_i² - E X_i² above √(8σ⁴ log(2/δ)/n)) ≤ δ for n > 64 log(2/δ)

    Use Gaussian X_i, with the chi-square distribution in balls, n just above 64 log(2/δ) and 4 times this
    value.

    Note: (28) prints the sum; its only use, Lemma T.2, takes the mean: a 1/n is missing. Other sub-Gaussian
    distributions are not examined
    """
    need = 64 * ln(2 / delta) * ball(log_margin)
    n = int(float(need.mid())) + 1
    excess = (8 * ln(2 / delta) / n).sqrt() * n**power
    return chi_square_above(n, n + excess), delta


# Norms


@inequality(
    rows,
    "SAR-TAIL-Z",
    "Section I.1",
    over=over(d=(1, 2, 50, 10**4), T=(1, 10, 1000), alpha="1/1000000 1/10 1"),
    prove=on(d=integers(1, None), T=integers(1, None), alpha=reals(0, 1, "(]")),
)
def gaussian_norm(d: int, T: int, alpha: Fraction) -> Chain:
    """P(‖Z‖ > 4√d + 2 ln(2T/α)) < α/(2T), Z of independent N(0, 1) entries, or symmetrised from such a Z'

    Compute proved bounds on the left side: the mean of ‖Z‖ is at most 2√d in all three readings, and ‖Z‖ is
    a Lipschitz function of the entries with constant 1, √2 and 1.

    Note: concentration of Gaussian functions, and Slepian's inequality for the mean, are assumed as known
    results
    """
    beyond = 2 * arb(d).sqrt() + 2 * ln(2 * T / alpha)
    level = ball(alpha / (2 * T))
    return {
        "independent entries": ((-(beyond**2) / 2).exp(), level),
        "(Z' + Z'ᵀ)/√2": (2 * (-(beyond**2) / 4).exp(), level),
        "(Z' + Z'ᵀ)/2": (2 * (-(beyond**2) / 2).exp(), level),
    }


SHAPES = {"d": (1, 5, 100, 1000, 10**6), "zeta": "1/2 1/20 1/1000000"}
TWOS = over(T=(4, 5, 9, 17, 1000, 10**6, 10**12), **SHAPES)
NATURAL = over(T=(70, 129, 257, 1000, 10**6, 10**12), **SHAPES)


def _ridge_part(T: int, d: int, zeta: Fraction, log: arb) -> arb:
    """Return λ/(4√d + 1) of (19) in units of log(32/δ)/(ε κ*), with ``log`` for its log T."""
    return 64 * log * (ln(16 * T / zeta) + arb(d).sqrt())


def _norm(d: int, T: int, zeta: Fraction) -> arb:
    return 4 * arb(d).sqrt() + 2 * ln(16 * T / zeta)


def _of_nodes(T: int, d: int, zeta: Fraction, log: arb) -> Sides:
    """Return σ_noise √(2m) (4√d + 2 log(16T/ζ)) with the m = ⌈log2 T⌉ + 1 nodes of the tree, and the value
    of (19)."""
    return arb(72).sqrt() * (ceil_log2(T) + 1) * _norm(d, T, zeta), _ridge_part(T, d, zeta, log)


@step("log T for m, as printed", over=TWOS)
def _as_printed(T: int, d: int, zeta: Fraction) -> Sides:
    """√72 log(32/δ) log T/(ε κ*) (4√d + 2 log(16T/ζ)) ≤ λ/(4√d + 1), log T of any base on both sides"""
    return arb(72).sqrt() * ln(T) * _norm(d, T, zeta), _ridge_part(T, d, zeta, ln(T))


@step("m nodes, log T of base 2, T from 4", over=TWOS)
def _base_two(T: int, d: int, zeta: Fraction) -> Sides:
    """σ_noise √(2m) (4√d + 2 log(16T/ζ)) ≤ λ/(4√d + 1), log2 T in (19), as in the tree's depth"""
    return _of_nodes(T, d, zeta, log2(T))


@step("m nodes, log T natural, T from 70", over=NATURAL)
def _natural(T: int, d: int, zeta: Fraction) -> Sides:
    """the same inequality with the natural log T in (19)"""
    return _of_nodes(T, d, zeta, ln(T))


@steps(rows, "SAR-49", "(49), (50), Assumption I.1", cells=True)
def noise_within_ridge() -> list[Step]:
    """The noise of every prefix stays within λ/(4√d + 1), λ of (19), as Assumption I.1 requires

    Compare the norms of (49), with the tree's own m, with (19), in units of log(32/δ)/(ε κ*). SAR-TAIL-Z
    has the tail, α/(2T) per round and tree with α = ζ/8.

    Note: the paper names no base of log T. SAR-49/small has the few horizons at which the natural one
    fails, SAR-49/nodes the line that writes log T for m
    """
    return [_as_printed, _base_two, _natural]


@inequality(
    rows, "SAR-49/small", "(49), (50), log T natural, T below 70", role="what-if", expect="refuted",
    over=over(T=(3, 9, 65), **SHAPES),
)  # fmt: skip
def noise_at_small_horizons(T: int, d: int, zeta: Fraction) -> Sides:
    """The same with the natural log T in (19) at T = 3, 9 and 65

    Refuted: at d = 10⁶ the bound with m = ⌈log2 T⌉ + 1 is above λ/(4√d + 1); with √d below log(16T/ζ) it is
    not
    """
    return _of_nodes(T, d, zeta, ln(T))


@inequality(
    rows, "SAR-49/nodes", "(49), its second inequality", role="step", expect="refuted",
    over=over(T=(4, 9, 1000, 10**12), base=("2", "e")),
)  # fmt: skip
def nodes_of_a_prefix(T: int, base: str) -> Sides:
    """m ≤ log T for m = ⌈log T + 1⌉, by which √72 √m √m log(32/δ)/(ε κ*) becomes √72 log(32/δ) log T/(ε κ*)

    Both sides have the same base.

    Refuted: m is log T + 1 or more, and σ_noise contains a √m, so fewer nodes in a prefix do not help

    Note: the factor is at most 1 + 2/log T, for which (19) has slack from T = 4 on (SAR-49); with I.1's (Z'
    + Z'ᵀ)/2 the factor √2 of (49) is slack as well
    """
    log = ln(T) / ln(2) if base == "2" else ln(T)
    return (ceil_log2(T) if base == "2" else integer(ln(T).ceil())) + 1, log


SMALL = over(d=(1, 2, 10, 50), T=(16, 1000, 10**9), M=(1, 2), delta="49/100 1/1000")
ALL = over(d=(1, 50, 600, 10**6), T=(16, 1000, 10**9), M=(1, 2), delta="49/100 1/1000")


@inequality(
    rows,
    "SAR-OBS1/small",
    "Observation 1, Gaussian noise",
    over=SMALL,
    lead=1,
    case="d up to 50, √d as printed",
)
@inequality(
    rows, "SAR-OBS1/repaired", "repair of Observation 1", over=ALL, lead=2, case="2√d instead of √d",
    role="repaired", repairs="SAR-OBS1",
)  # fmt: skip
def observation_gaussian(d: int, T: int, M: int, delta: Fraction, lead: int) -> Sides:
    """All M noise matrices have norms below σ~(√d + 6√log(2dMT/δ)) with probability 1 - 1/T²: {case}

    Upper-triangular entries are independent N(0, σ~²): P(‖N‖ > 2√d + s) ≤ 2 e^(-s²/4), with a union over M
    matrices.

    Note: for Gaussian entries; P2's own noise is lighter than its proxy and not examined here
    """
    beyond = 6 * ln(2 * d * M * T / delta).sqrt() - (2 - lead) * arb(d).sqrt()
    return 2 * M * (-(beyond**2) / 4).exp(), Fraction(1, T**2)


@evidence(
    rows, "SAR-OBS1", "Observation 1", at_most=Fraction(1, 256), kind="tail", expect="refuted",
    quantity="P(norm above σ~(√d + 6√log(2dMT/δ)))",
)  # fmt: skip
def observation(run: Run) -> Measured:
    """The noise matrix is below σ~(√d + 6√log(2dMT/δ)) with probability 1 - 1/T², at d = 600

    T = 16, M = 2, δ = 0.49. Draw symmetric matrices with independent N(0, 1) entries.

    Refuted: the norm is near 2√d, and √d + 6√log(2dMT/δ) is below it from d about 36 log(2dMT/δ) on; the
    cited corollary has a constant before the √d

    Note: σ~² is read as the proxy itself, which D.1 gives to the entries
    """
    d, T, M, delta = 600, 16, 2, 0.49
    limit = np.sqrt(d) + 6 * np.sqrt(np.log(2 * d * M * T / delta))
    rng = np.random.default_rng(run.seed)
    events = []
    for _ in range(12):
        half = np.triu(rng.normal(size=(d, d)))
        matrix = half + np.triu(half, 1).T
        events.append(bool(np.abs(np.linalg.eigvalsh(matrix)).max() > limit))
    found = proportion_interval(np.array(events), alpha=run.alpha)
    return Measured(
        low=found.low, high=found.high, samples=len(events), method="drawn matrices, Clopper and Pearson",
        exact=False, covers=False, scope="d = 600, T = 16, M = 2, δ = 0.49, Gaussian entries",
    )  # fmt: skip


@evidence(
    rows, "SAR-15", "(15)", at_most=Fraction(1, 10**6), kind="tail", expect="refuted",
    over=over(sensitivity="1 1/4"), quantity="P(norm above (15)'s λ_max - λ)",
)  # fmt: skip
def explicit_ends(run: Run, sensitivity: Fraction) -> Measured:
    """The shuffled sums' noise has norm at most (8 R log(d²/δ)/(κ* ε)) (√d + 6 √log(2MT/δ)), as (15) has it

    d = 5, ε = 1, δ = 1/100, κ* = 4, R = 1, M = 2, T = 1000: (15) allows 372. Draw the noise of (127) at
    (ε/2, δ/2), 1000 users, rounding at its worst: sensitivity 1 for V of the first batch, 1/κ* for the H_k.

    Refuted: all draws are above, V's by a factor near 40 and H_k's by near 10. (15) has neither the
    constants of (127) nor, for V, its sensitivity, which is 1 and not 1/κ*

    Note: λ of (8) has an O() and can be chosen larger; λ_max - λ of (15) has none
    """
    d, T, M, delta = 5, 1000, 2, 0.01
    allowed = 8 * np.log(d**2 / delta) / 4 * (np.sqrt(d) + 6 * np.sqrt(np.log(2 * M * T / delta)))
    rng = np.random.default_rng(run.seed_sequence(f"(15) {sensitivity}"))
    noise = shuffled_matrix_noise(0.5, delta / 2, dim=d)
    norms = [np.abs(np.linalg.eigvalsh(noise(1000, float(sensitivity), rng))).max() for _ in range(100)]
    found = proportion_interval(np.array(norms) > allowed, alpha=run.alpha)
    return Measured(
        low=found.low, high=found.high, samples=len(norms), method="drawn matrices, Clopper and Pearson",
        exact=False, covers=False, scope="d = 5, ε = 1, δ = 1/100, κ* = 4, M = 2, T = 1000",
        details={"median norm / allowed": float(np.median(norms) / allowed)},
    )  # fmt: skip


@evidence(
    rows, "SAR-15/definite", "(8), the first batch's V, its O() taken with constant 1", at_most="1/1000000",
    kind="tail", expect="refuted", role="what-if", over=over(users=(1000, 10_000)),
    quantity="P(V is not positive definite)", constants=[("constant of σ in (8)", 1)],
)  # fmt: skip
def definite(run: Run, users: int) -> Measured:
    """The released V of the first batch is positive definite, as its use in norms requires

    As for SAR-15, T = 10⁶. V is the noise plus λ I of (8) plus (users/d) I, the largest matrix that arms of
    norm 1 can have in their least direction.

    Refuted: at these batch sizes nearly every V is indefinite, since λ of (8) is below the noise of (127)

    Note: the paper does not say what Algorithm 1 does then. `shuffle_glm` raises an error, or cuts widths at
    0 and counts the batches (psd_mode)
    """
    d, T, M, delta = 5, 10**6, 2, 0.01
    scale = np.log(d**2 / delta) / 4
    ridge = 20 * d * np.log(T) + 6 * scale * np.sqrt(np.log(2 * d * M * T / delta))
    rng = np.random.default_rng(run.seed_sequence(f"definite {users}"))
    noise = shuffled_matrix_noise(0.5, delta / 2, dim=d)
    least = [np.linalg.eigvalsh(noise(users, 1.0, rng)).min() for _ in range(100)]
    found = proportion_interval(np.array(least) + ridge + users / d <= 0, alpha=run.alpha)
    return Measured(
        low=found.low, high=found.high, samples=len(least), method="drawn matrices, Clopper and Pearson",
        exact=False, covers=False, scope="d = 5, ε = 1, δ = 1/100, κ* = 4, M = 2, T = 10⁶",
    )  # fmt: skip


# Matrices and martingales


@inequality(
    rows, "SAR-H.2", "Lemma H.2",
    over=over(d=(1, 2, 5), n=(50, 500), share="1 1/2 1/100", skew="1 1/10"),
)  # fmt: skip
def empirical_matrix(d: int, n: int, share: Fraction, skew: Fraction) -> Sides:
    """P(not 3εnI + Σ xxᵀ ≥ (n/8) E xxᵀ) is at most 2d e^(-εn/8), which bounds the printed "≤" as well

    x = e_j 999/1000 with probability p_j, the first a share `skew` of the equal ones (0 the rest, d = 1). ε
    is `share` of the largest p_j/24. Exact binomial tails are added over j.

    Note: the printed event, "≤" for all directions, lies inside this one up to ties; H.1 uses "not ≥"
    """
    weight = Fraction(1, 2 * d)
    chances = [weight * skew, *[weight] * (d - 1)]
    square = Fraction(999, 1000) ** 2
    epsilon = share * square * max(chances) / 24
    found = Fraction(0)
    for chance in chances:
        limit = n * chance / 8 - 3 * epsilon * n / square
        found += binomial_below(n, chance, limit)
    return found, 2 * d * (-ball(epsilon * n / 8)).exp()


@inequality(
    rows, "SAR-J.2", "Lemma J.2",
    over=over(p="1/100 1/10 1/2", ridge="1/100 1 10", delta="1/2 1/20", rounds=(60, full(500))),
)  # fmt: skip
def self_normalised(p: Fraction, ridge: Fraction, delta: Fraction, rounds: int) -> Sides:
    """P(some ‖S_t‖ in H_t^-1 is above √λ/2 + (2/√λ) log(√(det H_t/λ^d)/δ) + (2/√λ) d log 2) ≤ δ

    d = 1, x_t = 1, η_t a Bernoulli(p) minus p. Compute the distribution of all paths up to the horizon,
    exact in balls. A sum that the balls leave undecided counts as above.

    Note: a finite horizon, weaker than the printed statement for all t
    """
    root = ball(ridge).sqrt()

    def crossed(t: int, total: arb) -> bool:
        matrix = ball(t * p * (1 - p) + ridge)
        bound = root / 2 + 2 / root * ((matrix.sqrt() / (root * ball(delta))).log() + arb(2).log())
        return not abs(total) / matrix.sqrt() < bound

    return crossing_probability(p=p, rounds=rounds, crossed=crossed), delta
