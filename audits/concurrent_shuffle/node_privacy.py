"""Compute the privacy cost of one user's bit in a tree of shuffled sums, composed over all nodes above the
user.

The view is every completed shuffler output. Changing one bit changes the number of ones by 1 in each node
above the user and in no other node. The nodes' noises are independent. The upper bound composes their
privacy loss distributions. The lower bound adds the nodes' counts, which is post-processing, and compares
one binomial distribution with its shift by k.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from dpaudit.certify.build import LossGrid, Proof, compose_sequential, integer_noise, post_processing
from dpaudit.certify.proof import accepted
from dpaudit.certify.witnesses.inputs import written_inputs
from dpaudit.certify.witnesses.release import release_bound
from dpaudit.core.claims import ApproxDP
from dpaudit.core.errors import CertificateError, InvalidParameterError
from dpaudit.core.evidence import Witness
from dpaudit.core.exact import ExactLike, exact_str
from dpaudit.core.views import SHUFFLER_OUTPUT, View
from dpaudit.distributions import Binomial
from dpaudit.reference.mechanisms.concurrent_sum import ConcurrentSum

__all__ = ["any_node", "any_nodes", "claim_of", "fair_nodes", "fair_witness", "nodes_proof", "summed_witness"]

#: Number of standard deviations, below the middle of the summed counts, that a witness covers.
REACH = 8


def claim_of(epsilon: ExactLike, delta: ExactLike, *, domain: str = "one user's bit, used once") -> ApproxDP:
    """Return (epsilon, delta)-CSDP, a claim about the list of all completed shuffler outputs."""
    return ApproxDP(epsilon=epsilon, delta=delta, view=View.of(SHUFFLER_OUTPUT), domain=domain)


def any_node(epsilon: Fraction, delta: Fraction) -> Proof:
    """Return the worst (epsilon, delta)-DP mechanism, which has two inputs and four outputs.

    Every (epsilon, delta)-DP mechanism is post-processing of it, on any pair of neighbours (Kairouz, Oh and
    Viswanath 2015, Theorem 3.3; Murtagh and Vadhan 2016). With probability delta it reveals the input.
    Otherwise it is randomised response.
    """
    rest = 1 - delta

    def terms(*pairs: tuple[Fraction, Fraction]) -> list[list[str]]:
        return [[exact_str(c), exact_str(a)] for c, a in pairs]

    zero = Fraction(0)
    reveals = terms((delta, zero), (delta, epsilon))
    yes, no = terms((rest, epsilon)), terms((rest, zero))
    table = accepted("finite", {"weights": [[reveals, [], yes, no], [[], reveals, no, yes]]})
    words = f"any node mechanism that is ({epsilon}, {delta})-SDP (Kairouz, Oh, Viswanath 2015)"
    return post_processing(table, function=words)


def any_nodes(*, count: int, epsilon: Fraction, delta: Fraction, grid: ExactLike = "1/1000") -> Proof:
    """Certify ``count`` node mechanisms on the same user's bit, assuming only that each is (epsilon,
    delta)-SDP."""
    return compose_sequential([any_node(epsilon, delta)], times=[count], grid=LossGrid(step=grid))


def nodes_proof(counter: ConcurrentSum, *, grid: ExactLike = "1/1000") -> Proof:
    """Certify all nodes above one user, with the binomial noise that they have."""
    nodes = [
        integer_noise("binomial", sensitivity=1, trials=node.noise.trials, probability=node.p)
        for node in counter.mechanisms
    ]
    return compose_sequential(nodes, grid=LossGrid(step=grid))


def fair_nodes(trials: Sequence[int], *, grid: ExactLike = "1/1000") -> Proof:
    """Certify nodes with this many fair bits each, all above one user."""
    nodes = [integer_noise("binomial", sensitivity=1, trials=count, probability="1/2") for count in trials]
    return compose_sequential(nodes, grid=LossGrid(step=grid))


def summed_witness(claim: ApproxDP, counter: ConcurrentSum) -> Witness:
    """Return ``fair_witness`` for the nodes above one user of a counter.

    Raise ``InvalidParameterError`` if the bits of a node are not fair.
    """
    if any(node.p != Fraction(1, 2) for node in counter.mechanisms):
        raise InvalidParameterError(
            "all nodes must have fair bits, so that their sum is binomial; use fewer users."
        )
    return fair_witness(claim, [node.noise.trials for node in counter.mechanisms])


def fair_witness(claim: ApproxDP, trials: Sequence[int]) -> Witness:
    """Return a lower bound on the privacy loss of the summed reports of nodes with this many fair bits
    each.

    It compares Bin(total, 1/2) with its shift by the number of nodes.
    """
    k, total = len(trials), sum(trials)
    distribution, other = Binomial(trials=total, p="1/2").shift(0), Binomial(trials=total, p="1/2").shift(k)
    # The likelihood ratio falls in the count, so outcomes above the middle add nothing.
    middle = total // 2
    low = max(0, middle - REACH * math.isqrt(total) // 2)
    part = {"coordinate": None, "points": [str(low), str(middle)], "cuts": None}
    site = {"site": "counts above the user, added up", "to": ["shuffler-output"]}
    body: dict[str, Any] = {
        "view": claim.view.to_json(),
        "inputs": written_inputs(0, 1),
        "site": {**site, "law": distribution.to_json(), "law_neighbour": other.to_json()},
        "parts": [part],
        "order": None,
    }
    bound = release_bound(body, claim, claim.view)
    if bound is None:
        raise CertificateError("a release of binomial counts must have a finite delta; widen the window.")
    return Witness(
        quantity=claim.quantity,
        bound=bound,
        form="release",
        body=body,
        origin="enumerated",
        description=f"summed reports of the {k} nodes above one user: Bin({total}, 1/2) shifted by {k}",
    )
