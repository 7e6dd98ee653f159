"""Consequences of Lemma 2's event E: the arms that survive a batch (CZ23-L2b, L2c), and for how long
(CZ23-L2d)."""

from __future__ import annotations

import itertools
from fractions import Fraction

from dpaudit.core.claims import Ordering
from dpaudit.core.suite import Group, Run
from dpaudit.kernel.ball import ball
from dpaudit.reference.algorithms.mab.elimination_corners import best_arms_lost, pull_ratio, surviving_gaps
from dpaudit.suite import Chain, Measured, Sides, evidence, full, inequality, over

__all__ = ["rows"]

rows = Group("Lemma 2: consequences of E")

FIRST, SECOND, THIRD = (f"Lemma 2, {which} step" for which in ("first", "second", "third"))

#: Means of 2 to 4 arms, with ties and near ties.
INSTANCES = (
    (1.0, 0.0),
    (0.5, 0.5),
    (1.0, 1.0),
    (0.0, 0.0),
    (1 / 3, 1 / 3 - 1e-9),
    (0.7, 0.1, 0.7),
    (0.3, 0.3, 0.3),
    (1.0, 1 - 2.0**-40, 0.5),
    (0.1 + 0.2, 0.3, 0.3),
    (0.9, 0.9, 0.2, 0.1),
)
QUICK = (1, 2, 5, 12, 20, 40)
LEVELS = (Fraction(1, 10), Fraction(1, 2**20))
NEAR = 2.0**-30


@inequality(
    rows,
    "CZ23-L2b",
    FIRST,
    role="step",
    over=over(means=INSTANCES, b=(*QUICK, full(*(b for b in range(1, 41) if b not in QUICK))), p=LEVELS),
    measure="left - right",
)
def best_arm(means: tuple[float, ...], b: int, p: Fraction) -> Sides:
    """While all means are within β(b) no best arm is ever eliminated

    Close one batch with decoded means at -β, -β/2, 0, β/2, β from the means, all combinations, ties included,
    through the algorithm's float comparisons, and test E exactly. The comparisons are monotone and the means
    are floats, so rounding cannot reverse a comparison that holds on E. The left side counts eliminated best
    arms.

    Proof: UCB of a best arm >= μ* >= μ_a >= LCB of any arm, also in floats
    """
    return best_arms_lost(means, batch=b, p=p), 0


def _survives(constant: Fraction) -> Ordering:
    text = f"an arm that survives batch b on E has Δ_a <= {float(constant):g} β(b), on the grid"
    return Ordering(text=text, quantity_name="Δ/β", claimed=constant)


@evidence(
    rows,
    "CZ23-L2c/sharper",
    SECOND,
    claim=_survives(Fraction(39, 10)),
    role="sharper",
    expect="refuted",
    case="3.9",
)
@evidence(rows, "CZ23-L2c", SECOND, claim=_survives(Fraction(4)), role="step", case="4")
def bad_arms(run: Run) -> Measured:
    """While all means are within β(b) an arm with Δ_a > {case} β(b) is eliminated

    Give one arm a gap of c β(b) and find the largest c for which it survives a batch on E.

    Note: attained: μ̂_a = μ_a + β and μ̂* = μ* - β let an arm with Δ <= 4β stay
    """
    factors = [1.0, 2.0, 3.0, 3.5, 3.9, 3.95, 4 - NEAR, 4 + NEAR, 4.1, 5.0, 8.0]
    cases = list(itertools.product((2, 3, 4), run.choose(quick=(14, 20, 30), full=range(14, 41)), LEVELS))
    found = [surviving_gaps(factors, n_arms=k, batch=b, p=p) for k, b, p in cases]
    return Measured(
        low=min(found),
        high=max(found),
        samples=len(cases) * len(factors),
        method="decoded means at the corners of E through the algorithm's own comparisons",
        scope="K = 2, 3, 4, gaps from β to 8β, also 4β(1 ± 2^-32), b = 14, 20, 30 (full profile: 14 to 40)",
    )


def _at_most(constant: Fraction) -> Ordering:
    text = f"N_a(T) <= {constant} l(b̄_a), l(b) = ⌈η^b⌉, on the grid"
    return Ordering(text=text, quantity_name="N_a(T) / l(b̄_a)", claimed=constant)


@evidence(
    rows,
    "CZ23-L2d/growth/repaired",
    f"{THIRD}, with Remark 4",
    claim=_at_most(Fraction(16, 3)),
    role="repaired",
    growths="3/2, 2, 4",
    case="16/3",
)
@evidence(
    rows,
    "CZ23-L2d/growth",
    f"{THIRD}, with Remark 4",
    claim=_at_most(Fraction(4)),
    role="what-if",
    expect="refuted",
    growths="4",
    case="4",
)
@evidence(
    rows,
    "CZ23-L2d",
    THIRD,
    claim=_at_most(Fraction(4)),
    role="step",
    growths="2",
    case="4",
)
def pulls(run: Run, growths: str) -> Measured:
    """An arm that survives b̄_a batches gets at most {case} l(b̄_a) pulls, η = {growths}

    Force every order of elimination and count the pulls that Algorithm 1 requests.

    Note: with η = 2 there are b̄_a + 1 batches and 2^{b̄+2} - 2 pulls, below 4 · 2^b̄. With η = 4 the pulls
    tend to η²/(η - 1) = 16/3 times l(b̄_a), so Remark 4 keeps the order but not the constant

    Note: a horizon can only reduce the number of pulls. The last remaining arm has no b̄_a
    """
    deepest, found = run.choose(quick=7, full=9), []
    for growth, k in itertools.product(map(Fraction, growths.split(", ")), (2, 3)):
        depth = deepest // 2 + 1 if growth == 4 else deepest
        for ends in itertools.product(range(depth), repeat=k - 1):
            found.append((pull_ratio([*ends, 10**6], batches=depth + 1, growth=growth), growth, ends))
    worst = max(found)
    return Measured(
        low=worst[0],
        high=worst[0],
        samples=len(found),
        method="the algorithm's own pulls along forced eliminations, at every horizon",
        scope=f"2 and 3 arms, every order of elimination in {deepest} batches (η = 4: half as many)",
        details={"at": f"η = {worst[1]}, batches survived {worst[2]}"},
    )


TAILS = tuple(
    (Fraction(sigma), Fraction(h))
    for sigma, h in (("7/5", "1"), ("141", "100"), ("20", "0"), ("0", "0"), ("3/10", "1/50"))
)


@inequality(
    rows,
    "CZ23-L2d/explicit",
    THIRD,
    role="step",
    over=over(
        b=(1, 2, 5, 10, 20, 40, full(*(b for b in range(1, 61) if b not in (1, 2, 5, 10, 20, 40)))),
        K=(2, 10, 50),
        p=(Fraction(1), Fraction(1, 10), Fraction(1, 2**20)),
        tail=TAILS,
    ),
)
def explicit(b: int, K: int, p: Fraction, tail: tuple[Fraction, Fraction]) -> Chain:
    """On E: l(b̄_a) <= max{72 L₁/Δ², 12 σ sqrt(L₂)/Δ, 12 h L₂/Δ}, and L₁ <= 2 log(KT/p)

    An arm that survives batch b on E has Δ <= 4β(b). The largest of the three terms of β(b) is then at least
    Δ/12. The right side is smallest at the largest gap, Δ = 4β(b). L₁ = log(4Kb²/p) and L₂ = log(2Kb²/p)
    belong to batch b̄_a, the last batch survived. tail = (σ, h).

    Note: hence on E: Reg(T) <= Σ (576 log(KT/p)/Δ_a + 68 σ sqrt(log(KT/p)) + 96 h log(KT/p))
    """
    first, second = ball(4 * K * b * b / p).log(), ball(2 * K * b * b / p).log()
    (sigma, h), n = tail, 2**b
    gap = 4 * ((first / (2 * n)).sqrt() + (ball(sigma) * second.sqrt() + ball(h) * second) / n)
    sides = (72 * first / gap**2, 12 * ball(sigma) * second.sqrt() / gap, 12 * ball(h) * second / gap)
    longest = sides[0].max(sides[1]).max(sides[2])
    return {
        "2^b <= max{72 L₁/Δ², 12 σ sqrt(L₂)/Δ, 12 h L₂/Δ} at Δ = 4β(b)": (n, longest),
        "log(4Kb²/p) <= 2 log(KT/p) for b <= log2 T": (first, 2 * ball(K * n / p).log()),
    }
