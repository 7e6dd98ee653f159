"""Show that Hybrid-UCB's decisions alone have privacy loss 3/2 epsilon (claim HHM-T5P, in the paper's own
view).

The adversary of Theorem 5 sees only the arms pulled. The noisy sums (equations 32 to 35) are internal, so a
large privacy loss of these sums does not refute the theorem. This module gives one decision sequence that
refutes it for every epsilon, and proves that no decision sequence has a larger loss.

The instance. K = 2, T = 169. X(t) = (1, 0) in every round except 1 and 10, in which it is (0, 0). The
neighbour has X(10) = (1, 0). E: arm 1 is pulled in rounds 1, 10, 160, 162, 164, 166, 168 and arm 2 in all
others, so the changed vector is observed exactly at arm 1's second pull, as 0 from D and as 1 from D'.

Why E separates the two inputs. After O pulls, arm 1's released sum has the noise N_O:
    N_1 = Z0, N_2 = Z0 + Y1, N_3 = Z0 + Y2, N_4 = Z0 + Z1 + Y3, N_5 = Z0 + Z1 + Y4,
    N_6 = Z0 + Z1 + Y4 + Y5, N_7 = Z0 + Z1 + Y6:
Y1 is the first leaf and Y2 the root of the tree with two leaves (released before the check that the tree is
full). Z1 is the array that replaces this tree, and Y3 to Y6 are nodes of the tree with four leaves. The
changed reward lies under Y1, Y2 and Z1. Bonuses grow with t, so arm 1 waits only while its sum is far below
0. It is pulled in round 10, which keeps Z0 from being very low. It waits until round 160 on N_2 and in round
161 on N_3, so Y1 and Y2 are far below 0. Then N_4, N_5 and N_7 are as low, either by Z1 at the cost epsilon/2
for each unit, or by Y3, Y4 and Y6 jointly at 3/4 epsilon, so Z1 is far below 0. From D' each of the three
must be lower by 1, each at the cost epsilon/2: P(E|D') is about exp(-3/2 epsilon) P(E|D). Arm 2 cannot bring
E about instead: its index is an average over 8 and later over 150 pulls, and costs as many times more to
move. ``dpaudit.certify.witnesses.window_event`` checks this in ball arithmetic for all epsilon at once: the
loss is at least 1.499999997 epsilon, and P(E|D) is exp(-635 - 12.5 epsilon) or more.

No decision sequence loses more. The changed reward is observed at one pull of one arm, or never. Each
released sum that includes it contains exactly one noise whose block covers it. Shifting all used noises that
cover it by the change therefore maps the event under one dataset onto the event under the other, and the
density changes by a factor of at most exp(sum of 1/scale). The tree with 2^r leaves has r + 1 used nodes over
its first leaf, the root included: (epsilon/2) (r + 1)/r + epsilon/2 = (1 + 1/(2r)) epsilon, at most 3/2
epsilon. No other leaf has more. By the same count, each of two repairs gives epsilon-DP: node scale (r +
1)/(0.5 epsilon) (``repaired``), or a full tree released as its array and never as its root (``promoted``:
section 4.2 in words).

Readings of the paper. Z^(0) of equation 32 is the noise of the initial pull. By "at most log(lambda) p-sums",
the sum of a full tree is its root. Logarithms are base 2. The initial pulls are rounds 1 and 2. No ties.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from itertools import pairwise
from typing import Any

from dpaudit.certify.witnesses.window_event import window_event_loss
from dpaudit.certify.witnesses.window_search import with_proof
from dpaudit.core.evidence import Witness
from dpaudit.core.exact import ExactLike, exact_str, positive
from dpaudit.core.views import PUBLIC, View
from dpaudit.reference.mechanisms.hybrid_charges import block_of, largest_charge, released_noises, scale_of
from dpaudit.reference.mechanisms.hybrid_counter import HybridVariant

__all__ = [
    "DECISIONS",
    "HORIZON",
    "decision_event",
    "decision_loss_bounds",
    "decision_witness",
    "reward_vectors",
]

#: The rounds of arm 1. Arm 2 is pulled in all others. The horizon is one round after arm 1's last pull.
ARM_ONE = (1, 10, 160, 162, 164, 166, 168)
HORIZON = 169
CHANGED_PULL = 2
DECISIONS = tuple(1 if t in ARM_ONE else 2 for t in range(1, HORIZON + 1))


def reward_vectors(*, neighbour: bool) -> list[tuple[int, int]]:
    """Return X(1), ..., X(T): the dataset D, or its neighbour D'."""
    empty = {ARM_ONE[0]} if neighbour else {ARM_ONE[0], ARM_ONE[CHANGED_PULL - 1]}
    return [(0, 0) if t in empty else (1, 0) for t in range(1, HORIZON + 1)]


def decision_loss_bounds(
    epsilon: ExactLike, *, variant: HybridVariant = "printed"
) -> tuple[Fraction, Fraction, str]:
    """Return rigorous bounds on the privacy loss of Hybrid-UCB's decisions at ``epsilon``, and a sentence
    with their derivation. The lower bound is the loss of ``DECISIONS`` on ``reward_vectors``. The upper bound
    holds for every decision sequence, horizon and pair of neighbours.

    Raise ``InvalidParameterError`` for an epsilon that is not positive, and ``DpauditError`` for the release
    ``repaired``, whose lower bound has no such proof.
    """
    number = positive(epsilon, name="epsilon")
    found = window_event_loss(decision_event(variant=variant))
    low, high = found.loss * number, largest_charge(4, variant=variant) * number
    text = (
        f"decisions of Hybrid-UCB ({variant}) at epsilon = {number}: the sequence of {HORIZON} pulls with "
        f"arm 1 in rounds {', '.join(map(str, ARM_ONE))} loses at least {float(low):.10g} between two "
        f"neighbours that differ in round {ARM_ONE[CHANGED_PULL - 1]} (log-probability at least "
        f"{found.constant + found.slope * float(number):.1f}); no sequence loses more than {float(high):.10g}"
    )
    return low, high, text


def decision_witness(epsilon: ExactLike, *, variant: HybridVariant = "printed") -> Witness:
    """Return ``DECISIONS`` at ``epsilon`` as data from which the checker recomputes the loss. For the printed
    variant this is the counterexample to HHM-T5P."""
    low, _, text = decision_loss_bounds(epsilon, variant=variant)
    number = positive(epsilon, name="epsilon")
    head = {"view": View.of(PUBLIC).to_json(), "epsilon": exact_str(number)}
    body = head | decision_event(variant=variant)
    return Witness(
        quantity="epsilon", bound=low, form="window-event", body=body, origin="forced", description=text
    )


@cache
def decision_event(*, variant: HybridVariant = "printed") -> dict[str, Any]:
    """Return the instance, E and the numbers of the proof for ``window_event_loss``. They are the same for
    every epsilon."""
    body = _instance(variant)
    # Lower Z1 and raise the noises that cover pull 4. Each sum that contains Z1 also contains exactly one of
    # these.
    raised = tuple(name for name in body["scales"] if name.startswith("1/Y") and 4 in block_of(name))
    first = {"1/Z1": raised if variant == "printed" else ()}
    return with_proof(body, {**dict.fromkeys(["1/Z1", *body["shift"]], ()), **first})


def _instance(variant: HybridVariant) -> dict[str, Any]:
    counts = [DECISIONS.count(arm) for arm in (1, 2)]
    sums = [[released_noises(arm, k + 1, variant) for k in range(counts[arm - 1])] for arm in (1, 2)]
    names = list(dict.fromkeys(name for arm in sums for noises in arm for name in noises))
    vectors = reward_vectors(neighbour=False)
    shifted = [name for name in names if name.startswith("1/") and CHANGED_PULL in block_of(name)]
    return {
        "unit": "1/2",
        "path": _runs(),
        "rewards": [
            [str(x[arm - 1]) for x, a in zip(vectors, DECISIONS, strict=True) if a == arm] for arm in (1, 2)
        ],
        "replaced": [1, CHANGED_PULL, "1"],
        "sums": sums,
        "scales": {name: exact_str(scale_of(name, variant)) for name in names},
        # Equation 35 times u = epsilon/2: 3*sqrt(8)*log2(t)*floor(log2(O+1))/O, and u*sqrt(3*log2(t)/O).
        "bonus": [
            {"order": 0, "factor": "72", "count": 2, "level": 2, "log": 2},
            {"order": 1, "factor": "3", "count": 1, "level": 0, "log": 1},
        ],
        "shift": dict.fromkeys(shifted, "1"),
    }


def _runs() -> list[list[int]]:
    """Return ``DECISIONS`` as runs [arm, rounds]."""
    ends = [t for t in range(1, HORIZON) if DECISIONS[t] != DECISIONS[t - 1]]
    return [[DECISIONS[start], end - start] for start, end in pairwise([0, *ends, HORIZON])]
