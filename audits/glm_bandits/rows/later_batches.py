"""Check Lemma E.11: the expected regret of a round in a later batch of Algorithm 1."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from audits.glm_bandits.later_batches import Survivor
from dpaudit.core.errors import UndecidedError
from dpaudit.core.suite import Group
from dpaudit.reference.algorithms.contextual.links import logistic
from dpaudit.suite import Chain, Sides, inequality, listed, over

__all__ = ["rows"]

rows = Group("A round of a later batch", kind="regret")

ROUNDING = Fraction(1, 10**9)


@inequality(
    rows,
    "SAR-E.11",
    "Lemma E.11 with the widths (13), (14)",
    over=listed(
        "c score power", (2, 3, 400), (1, 3, 400), (1, 5, 400), (10, 8, 400), (100, 13, 600), (1000, 18, 800)
    ),
    expect="refuted",
)
def expected_gap(c: int, score: int, power: int) -> Sides:
    """With the widths (13), (14), √κ for every batch, E|μ(<x*, θ*>) - μ(<x, θ*>)| in batch k is at most c
    (φ d²/√(B_1 B_(k-1)) + γ/√B_(k-1) √(d²/κ*)), c absolute

    This extends the instance of SAR-E.10 to a whole run: d = 2, two orthogonal arms of norm 0.99 in every
    round, scores `score` and a little less, T = 10 to the `power`, M = k = 4, lengths (6), (7), O()
    constants 1, φ of appendix F. If E.6 and E.9 hold, the worse arm survives batches 1 to 3, and the
    G-optimal design plays both arms equally often.

    Refuted: the left side is (0.35 √κ/c) times the right one; √κ is e^(score/2), so no c is enough

    Note: at score 3, κ = 22, c = 2 holds and c = 1 does not. With widths γ ‖x‖ for k >= 2, if √κ is a
    misprint there, E.10 is repaired and E.11 follows (SAR-E.11/steps)
    """
    instance = Survivor(score=Fraction(score), power=power)
    if not instance.survives():
        raise UndecidedError("the worse arm must survive on this grid; take a larger T.")
    return instance.loss(), c * instance.bound()


@inequality(
    rows,
    "SAR-E.11/steps",
    "(32)-(39)",
    over=over(d=(1, 2, 5), sets=(1, 4), norm=(1, 4), seed=(0, 1, 2)),
    role="step",
)
def chain_of_means(d: int, sets: int, norm: int, seed: int) -> Chain:
    """E_k Σ ‖y‖ ‖ỹ‖ is at most 4 √(E max ‖x‖² E_(k-1) max ‖x̃‖²), and E_k √μ'(x*) (‖x̃*‖ + ‖x̃‖) at most 2
    √(E_(k-1) max ‖x̃‖²/κ̂), κ̂ ≥ κ*

    Finitely many arm sets, logistic, two eliminations that keep the best arm. V and H are any positive
    matrices. Means are exact, with 10⁻⁹ allowed for floats. With E.10 as repaired and Lemma H.1's constant
    h this is E.11, c = max(24 h, 4 √h).

    Note: c depends only on H.1's constant; 4 and 2 are (32)'s and (36)'s
    """
    rng = np.random.default_rng([seed, d, sets])
    theta = rng.normal(size=d)
    theta *= norm / np.linalg.norm(theta)
    shapes = [np.linalg.inv(root @ root.T + 0.1 * np.eye(d)) for root in rng.normal(size=(2, d, d))]
    link, sums = logistic(), np.zeros(6)
    for _ in range(sets):
        arms = rng.normal(size=(6, d))
        arms /= np.linalg.norm(arms, axis=1, keepdims=True)
        slopes = link.slope(arms @ theta)
        best = int((arms @ theta).argmax())
        plain = np.sqrt(np.einsum("kd,de,ke->k", arms, shapes[0], arms))
        scaled = np.sqrt(slopes * np.einsum("kd,de,ke->k", arms, shapes[1], arms))
        before = np.append(rng.permutation(6)[:4], best)
        now = np.append(before[:2], best)
        pairs = [plain[y] * scaled[z] for x in now for y in (x, best) for z in (x, best)]
        worst = max(sum(pairs[i : i + 4]) for i in range(0, len(pairs), 4))
        lengths = np.sqrt(slopes[best]) * (scaled[best] + scaled[now].max())
        sums += [worst, lengths, slopes[best], plain.max() ** 2, scaled[before].max() ** 2, 0]
        sums[5] = max(sums[5], slopes.max())
    pair, late, steep, first, second = sums[:5] / sets
    allowed = 1 + float(ROUNDING)
    return {
        "(32)-(34)": (Fraction(pair), Fraction(4 * np.sqrt(first * second) * allowed)),
        "(36)-(39)": (Fraction(late), Fraction(2 * np.sqrt(steep * second) * allowed)),
        "κ̂ ≥ κ*": (Fraction(steep), Fraction(sums[5] * allowed)),
    }
