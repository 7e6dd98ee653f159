"""Check the node mechanism for bits: which claims the replacements for the quoted M_sum_bin satisfy and
which they fail."""

from __future__ import annotations

from fractions import Fraction

from audits.concurrent_shuffle.node_privacy import claim_of
from dpaudit.certify.build import integer_noise
from dpaudit.core.claims import ApproxDP
from dpaudit.core.evidence import Evidence
from dpaudit.core.exact_functions import ln
from dpaudit.core.suite import Group, Run
from dpaudit.kernel.ball import ball
from dpaudit.reference.mechanisms.binary_sum import Variant, binary_sum_mechanism
from dpaudit.suite import Chain, Constant, Sides, evidence, full, inequality, over

__all__ = ["rows"]

rows = Group("Sums of bits: replacements for the quoted mechanism")

CALIBRATED: Variant = "calibrated"
RECALLED: Variant = "tkms21_recalled"

rows.not_checkable(
    "TKMS23-MBIN",
    reason="M_sum_bin is quoted from another paper ('Algorithm 3 of Tenenbaum et al. (2021)') and not "
    "printed here; "
    "the rows below are about the two mechanisms that replace it.",
)

#: Batches and budgets of the certificates. 2048 users take a second.
CERTIFIED = {"users": (200, full(8, 2048)), "epsilon": ("1/2", full("1/20 99/100")), "delta": "1/1000"}
BUDGETS = {"epsilon": "1/20 1/2 99/100", "delta": "1/1000 1/1000000000"}


def _claim(users: int, epsilon: Fraction, delta: Fraction) -> ApproxDP:
    return claim_of(epsilon, delta)


@evidence(
    rows,
    "TKMS23-MBIN/recalled",
    "Section 2.2, from memory of Tenenbaum et al. 2021",
    claim=_claim,
    over=over(**CERTIFIED),
    role="what-if",
    variant=RECALLED,
    case="Shuffled bits with 96 log(2/δ)/ε² coins, as recalled",
)
@evidence(
    rows,
    "TKMS23-MBIN/calibrated",
    "Section 2.2, our stand-in",
    claim=_claim,
    over=over(**CERTIFIED),
    role="repaired",
    repairs=(),
    variant=CALIBRATED,
    case="Shuffled bits with calibrated coins",
)
def private(run: Run, users: int, epsilon: Fraction, delta: Fraction, variant: Variant) -> list[Evidence]:
    """{case} are (ε, δ)-SDP for every batch size, ε < 1

    Add binomial noise to a count that one user changes by 1. δ is exact in both directions.
    """
    node = binary_sum_mechanism(users, epsilon, delta, variant=variant)
    distribution = node.noise
    proof = integer_noise("binomial", sensitivity=1, trials=distribution.trials, probability=distribution.p)
    return [proof.certify(claim_of(epsilon, delta))]


@inequality(
    rows,
    "TKMS23-MBIN/variance",
    "Section 2.2, our stand-in",
    kind="tail",
    over=over(users=(1, 8, 200, 4096, full(2**14, 2**20)), **BUDGETS),
    role="repaired",
)
def variance(users: int, epsilon: Fraction, delta: Fraction) -> Chain:
    """Calibrated bits have V = O(log(1/δ)/ε²) as a variance: at most 4 log(1/δ)/ε² plus a quarter per user

    Compute the exact variance of the error for batches of any size. A small batch sends whole bits, so its
    noise may be up to one fair bit per user larger. C = 4 is ours. The row also reports the ratio of the
    recalled variant.
    """
    printed = ln(1 / delta) / ball(epsilon) ** 2
    node = binary_sum_mechanism(users, epsilon, delta)
    recalled = binary_sum_mechanism(users, epsilon, delta, variant=RECALLED)
    rounding = Fraction(users, 4) if node.p == Fraction(1, 2) else Fraction(0)
    return {
        "variance <= 4 log(1/δ)/ε² + (batch)/4": (node.variance, 4 * printed + ball(rounding)),
        "recalled variance / (log(1/δ)/ε²)": Constant(recalled.variance, printed),
    }


@inequality(
    rows,
    "TKMS23-MBIN/proxy",
    "Section 2.2, the stand-ins read as sub-Gaussian with their variance",
    kind="tail",
    over=over(
        users=(200, 4096, 2**14, full(2**20)),
        variant=(CALIBRATED, RECALLED),
        epsilon="1/2",
        delta="1/1000000",
    ),
    role="what-if",
    expect="refuted",
)
def proxy(users: int, variant: Variant, epsilon: Fraction, delta: Fraction) -> Sides:
    """The error of the stand-ins is sub-Gaussian with proxy at most twice its variance, for every batch
    size

    Compare the optimal proxy of coins of probability p, n (1 - 2p)/(2 log((1-p)/p)), with twice n p (1 -
    p).

    Refuted: in a batch with more users than coins are needed each user's coin is rare, and rare coins are
    not sub-Gaussian with their variance: the proxy grows like n/(2 log(1/p)) while the variance stays. No C
    gives V = O(log(1/δ)/ε²) as a proxy for every n with these mechanisms. The tails used in the error
    bounds still hold, by Bernstein's inequality. The mechanism that the paper quotes is not printed, and
    this row is not about it
    """
    node = binary_sum_mechanism(users, epsilon, delta, variant=variant)
    return node.proxy, 2 * node.variance
