"""Check communication and computation: bits of the protocols, and Remark 6.4's operations."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np

from audits.glm_bandits.costs import bit_bill, node_updates, prefix_nodes
from audits.glm_bandits.printed_parameters import JointParameters
from dpaudit.core.exact_functions import ln, log2
from dpaudit.core.plots import table
from dpaudit.core.suite import Group, Run
from dpaudit.kernel.ball import arb
from dpaudit.reference.algorithms.contextual.links import logistic
from dpaudit.reference.mechanisms.binomial_vectors import VectorSheet
from dpaudit.reference.mechanisms.vector_messages import user_messages
from dpaudit.suite import Measured, Sides, Step, evidence, over, step, steps

__all__ = ["rows"]

rows = Group("Communication and computation", kind="utility")

SHEETS = [(1, 4, 60), (2, 4, 60), (3, 6, 80)]
SIZES = [
    (200, 1, 1.0, 0.1),
    (1000, 5, 1.0, 0.01),
    (5000, 3, 4.0, 0.02),
    (15_000, 5, 8.0, 0.02),
    (10**6, 5, 1.0, 1e-6),
]


def _bits_of_users(n: int, sheet: VectorSheet) -> tuple[int, int]:
    """Count the bits of all users with labels of the vector, and with labels of the matrix."""
    rng, counts = np.random.default_rng([n, sheet.dim]), [0, 0]
    for _ in range(n):
        arm = rng.normal(size=sheet.dim)
        arm /= np.linalg.norm(arm)
        entries = np.outer(arm, arm)[np.triu_indices(sheet.dim)]
        for message in user_messages(np.concatenate([rng.random() * arm, entries]), sheet, rng):
            counts[isinstance(message.label, tuple)] += 1
    return counts[0], counts[1]


@evidence(
    rows,
    "SAR-COMM",
    "Appendix S",
    at_most=0,
    quantity="bits counted, minus the printed number",
    kind="utility",
)
def bits(run: Run) -> Measured:
    """n users send (g + b) n d bits for a vector and (g + b) n d² for a matrix, (i, j) and (j, i) both:
    counted for g + b up to 86, d up to 3, n up to 6

    Run the randomizers of n users on drawn rewards and arms and count the bits with labels of the vector and
    of the matrix. At (127) g + b is above 10⁶, and the bill of the paper's sizes is computed, not counted.

    Note: a run of private gradient descent sends T vectors at the smaller budgets of its T calls, more than
    T² times as many bits: the table has the bill
    """
    apart = 0
    for (dim, g, b), n in itertools.product(SHEETS, (1, 2, 6)):
        vectors, matrices = _bits_of_users(n, VectorSheet(dim=dim, batch_size=n, precision=g, trials=b))
        apart = max(apart, abs(vectors - (g + b) * n * dim), abs(matrices - (g + b) * n * dim**2))
    billed = []
    for n, dim, epsilon, delta in SIZES:
        bill = bit_bill(n=n, dim=dim, epsilon=epsilon, delta=delta)
        billed.append(
            [n, dim, epsilon, delta, bill.precision, bill.trials, bill.vector_bits, bill.matrix_bits,
             bill.steps or "less than 1", bill.descent_bits or "-"]
        )  # fmt: skip
    picture = table(
        title="Bits that one user sends, at the printed constants",
        columns=["n", "d", "ε", "δ", "g", "b", "vector", "matrix", "steps of descent", "all of descent"],
        rows=billed,
    )
    return Measured(low=apart, high=apart, scope=f"(d, g, b) in {SHEETS}, n in 1, 2, 6", plots=[picture])


@step("the tree", over=over(d=(1, 5), T=(64, 1000, 4096)))
def _tree(d: int, T: int) -> Sides:
    """d² entries of the nodes that a round completes and reads ≤ 2 d² (log2 T + 1), in every round"""
    most = max(node_updates(t) + prefix_nodes(t) for t in range(1, T + 1))
    return d**2 * most, 2 * d**2 * (log2(T) + 1)


def _surely_called(*, T: int, d: int, epsilon: Fraction) -> arb:
    """Return calls of the optimizer that Criterion I certainly makes.

    Arms e_1, ..., e_d in turn, θ* = e_1, c = 1 in (21), δ = 1/10, ζ = 1/20.
    """
    steep = logistic().at(arb(0 if d > 1 else 1)).slope
    parameters = JointParameters(
        T=T, d=d, S=Fraction(1), kappa=1 / logistic().at(arb(1)).slope, kappa_star=1 / steep,
        epsilon=epsilon, delta=Fraction(1, 10), zeta=Fraction(1, 20),
    )  # fmt: skip
    return parameters.surely_explored()


@step(
    "calls of the optimizer",
    over=over(T=(10**8, 10**10, 10**12), C=(1, 1000), epsilon="1/10 1/100"),
    expect="refuted",
)
def _calls(T: int, C: int, epsilon: Fraction) -> Sides:
    """calls ≤ C d log T, with c = 1 in (21), δ = 1/10, ζ = 1/20, d = 1, one arm, S = 1"""
    return _surely_called(T=T, d=1, epsilon=epsilon), C * ln(T)


@step("calls of the optimizer in d", over=over(d=(10**4, 10**5, 10**6), C=(1, 1000)), expect="refuted")
def _calls_in_d(d: int, C: int) -> Sides:
    """calls ≤ C d log T, with c = 1 in (21), T = 10^30, ε = 1, δ = 1/10, ζ = 1/20, arms e_j in turn, S = 1"""
    horizon = 10**30
    return _surely_called(T=horizon, d=d, epsilon=Fraction(1)), C * d * ln(horizon)


@steps(rows, "SAR-R6.4", "Remark 6.4", cells=True, expect="refuted")
def operations() -> list[Step]:
    """A round costs O(d² log T) for the trees, and the private optimizer is called O(d log T) times in
    total

    Count nodes. Bound from below the rounds in which Criterion I calls the optimizer, on the event of I.1.

    Refuted: Criterion II allows O(d log T) calls. Criterion I calls it in every round until V has grown to
    γ²κR² in every direction of the arms, in d(γ²κ - λ_max) rounds at least, of the order d³ log⁴T (κ, κ*,
    ε, δ, ζ, R, S fixed): every constant fails, in T and in d. The paper's own count1_cutoff is 8 d R²κγ²
    log T

    Note: at ε = 1 and d = 1 the same count is below 0 up to T = 10^16, since λ is above γ²κ there. V
    changes by fresh noise of full rank in every round, so its inverse cannot be updated in O(d²)
    """
    return [_tree, _calls, _calls_in_d]
