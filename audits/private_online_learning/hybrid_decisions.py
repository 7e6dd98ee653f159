"""Hybrid-UCB's decisions alone lose 3/2 of the epsilon it is given (claim HHM-T5P in its own view).

Hu, Huang and Mehta, "Near-Optimal Algorithms for Private Online Learning in a Stochastic Environment",
Algorithm 4 (equations 32 to 35) and Theorem 5: "Hybrid-UCB is epsilon-DP", where the adversary sees the arms
pulled and neighbours differ in one reward vector. The noisy sums are internal, so a large loss of theirs
refutes nothing by itself. Here one decision sequence does, for every epsilon, and no decision sequence does
worse.

The instance. K = 2, T = 169. X(t) = (1, 0) in every round but 1 and 10, where it is (0, 0); the neighbour
has X(10) = (1, 0). E: arm 1 is pulled in rounds 1, 10, 160, 162, 164, 166, 168 and arm 2 in all others. E
fixes the round of arm 1's second pull, so along E the changed vector is seen exactly there, as 0 from D and
as 1 from D'.

Why E tells them apart. After O pulls arm 1's released sum has the noise N_O,
    N_1 = Z0, N_2 = Z0 + Y1, N_3 = Z0 + Y2, N_4 = Z0 + Z1 + Y3, N_5 = Z0 + Z1 + Y4,
    N_6 = Z0 + Z1 + Y4 + Y5, N_7 = Z0 + Z1 + Y6:
Y1 is the first leaf and Y2 the root of the tree with two leaves, Z1 the array that replaces it, Y3 to Y6 are
nodes of the tree with four leaves. (The root is released because the release comes before the check that the
tree is full.) The changed reward stands under Y1, Y2 and Z1. Bonuses grow with t, so arm 1 waits only while
its sum is far below 0. It is pulled in round 10, which keeps Z0 from being very low; it waits until round
160 on N_2 and in round 161 on N_3, so Y1 and Y2 are far below 0; then N_4, N_5 and N_7 are as low, by Z1 at
the price epsilon/2 for each unit or by Y3, Y4 and Y6 together at 3/4 epsilon, so Z1 is far below 0. From D'
each of the three must be lower by 1, each at the price epsilon/2: P(E|D') is about exp(-3/2 epsilon) *
P(E|D). Arm 2 cannot bring E about instead: its index is an average over 8 and later over 150 pulls, and
costs as many times more to move.

``dpaudit.witnesses.window_event`` turns this into inequalities in six steps and checks each in ball
arithmetic for all epsilon at once: the loss is at least 1.499999997 * epsilon. P(E|D) is tiny; exp(-635 -
12.5 epsilon) is certified. Such an event refutes pure differential privacy and says nothing about (epsilon,
delta).

No decision sequence loses more. Fix any sequence and any pair of neighbours. The changed reward is seen at
one pull of one arm, or never. Each released sum with it in contains exactly one noise whose block covers it,
so moving all the used noises that cover it by the change maps the event from one data set onto that from the
other, and the density changes by a factor of at most exp(sum of 1/scale). The tree with 2^r leaves has r + 1
used nodes over its first leaf (the leaf and the root included), which gives
    (epsilon/2) * (r + 1)/r + epsilon/2 = (1 + 1/(2r)) * epsilon <= (3/2) * epsilon, with equality at r = 1;
other leaves have no more, and the first pull has its array only. So the decisions are (3/2)*epsilon-DP, and
by E not better.

Repairs, by the same count: node scale (r + 1)/(0.5 epsilon) in place of r/(0.5 epsilon) (``repaired``), or a
full tree released as its array and never as its root (``promoted``: Section 4.2 in words, against Algorithm
4). Each gives epsilon-DP; the second needs no more noise, and E shows that it has no slack.

Readings used. Z^(0) of equation 32 is the noise of the initial pull. "At most log(lambda) p-sums" makes a
full tree's sum its root. Logarithms are base 2. The initial pulls are rounds 1 and 2. Ties have probability
0.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

from dpaudit.errors import InvalidParameterError, NotTractableError
from dpaudit.evidence import Witness
from dpaudit.exact import ExactLike, exact_str, positive
from dpaudit.views import PUBLIC, View
from dpaudit.witnesses.window_event import window_event_loss
from mechanisms.hybrid_counter import HybridVariant

__all__ = [
    "DECISIONS",
    "block_of",
    "decision_event",
    "decision_loss_bounds",
    "decision_witness",
    "largest_charge",
    "released_noises",
    "reward_vectors",
    "scale_of",
]


#: The rounds of arm 1; arm 2 is pulled in all others. The horizon is one round after arm 1's last pull.
ARM_ONE = (1, 10, 160, 162, 164, 166, 168)
HORIZON = 169
CHANGED_PULL = 2
DECISIONS = tuple(1 if t in ARM_ONE else 2 for t in range(1, HORIZON + 1))

#: Choices of the proof search: any others that the checker accepts prove the same.
HALF_WIDTH = Fraction(3, 10)
TRANSPORT = (Fraction(40), Fraction(17, 4))
MARGIN, EXPONENT, GRID = 1 / 256, 0.9, 2**16


def released_noises(arm: int, pulls: int, variant: HybridVariant = "printed") -> list[str]:
    """The noises in arm's released sum after ``pulls`` >= 1 pulls (equations 32 and 33).

    ``Zr`` is the noise of array r, ``Yr:h:j`` that of node j of height h in the tree with 2^r leaves.
    """
    level = (
        pulls.bit_length() - 1
    )  # the tree in use holds pulls 2^level to 2^(level+1) - 1; level 0 is an array only
    names = [f"{arm}/Z{r}" for r in range(max(level, 1))]
    leaves = pulls - (2**level - 1) if level else 0
    if leaves == 2**level and variant == "promoted":
        return [*names, f"{arm}/Z{level}"]
    start = 0
    for height in range(level, -1, -1):
        if leaves >> height & 1:
            names.append(f"{arm}/Y{level}:{height}:{start >> height}")
            start += 2**height
    return names


def scale_of(name: str, variant: HybridVariant = "printed") -> Fraction:
    """In units of 2/epsilon: 1 for an array, r (or r + 1, widened) for a node of the tree with 2^r leaves."""
    kind, level = _kind(name)
    return Fraction(1) if kind == "Z" else Fraction(level + (variant == "repaired"))


def block_of(name: str) -> range:
    """The pulls whose rewards the sum under this noise contains."""
    kind, level = _kind(name)
    if kind == "Z":
        return range(2**level, 2 ** (level + 1))
    height, index = (int(part) for part in name.split(":")[1:])
    first = 2**level + (index << height)
    return range(first, first + 2**height)


def _kind(name: str) -> tuple[str, int]:
    label = name.split("/")[1].split(":")[0]
    return label[0], int(label[1:])


def largest_charge(levels: int, *, variant: HybridVariant = "printed") -> Fraction:
    """The largest loss that one reward can cause, in units of epsilon, by the used noises that contain it.

    Counted over all pulls of an arm until the tree with 2^levels leaves is full and its array has been used.
    No level exceeds level 1: at most r + 1 nodes of the tree with 2^r leaves contain a leaf.
    """
    if levels < 1:
        raise InvalidParameterError(f"levels must be at least 1, got {levels}; the first tree has level 1.")
    charge: dict[int, Fraction] = {}
    used = {name for pulls in range(1, 2 ** (levels + 1) + 1) for name in released_noises(1, pulls, variant)}
    for name in used:
        for pull in block_of(name):
            charge[pull] = charge.get(pull, Fraction(0)) + 1 / (2 * scale_of(name, variant))
    return max(charge.values())


def reward_vectors(*, neighbour: bool) -> list[tuple[int, int]]:
    """X(1), ..., X(T): the data set D, or its neighbour D'."""
    empty = {ARM_ONE[0]} if neighbour else {ARM_ONE[0], ARM_ONE[CHANGED_PULL - 1]}
    return [(0, 0) if t in empty else (1, 0) for t in range(1, HORIZON + 1)]


def decision_loss_bounds(
    epsilon: ExactLike, *, variant: HybridVariant = "printed"
) -> tuple[Fraction, Fraction, str]:
    """Rigorous bounds on the privacy loss of Hybrid-UCB's decisions, with what they rest on.

    The lower bound is the certified loss of ``DECISIONS`` on ``reward_vectors``; the upper one holds for
    every decision sequence, horizon and pair of neighbours. ``epsilon`` > 0 is the algorithm's parameter.
    Raises ``InvalidParameterError`` for an epsilon that is not positive, and ``DpauditError`` for the
    release ``repaired``, whose lower bound has no such proof.
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


def decision_witness(epsilon: ExactLike) -> Witness:
    """The counterexample to HHM-T5P at ``epsilon``, as data from which the checker recomputes the loss."""
    low, _, text = decision_loss_bounds(epsilon)
    number = positive(epsilon, name="epsilon")
    body = {"view": View.of(PUBLIC).to_json(), "epsilon": exact_str(number), **decision_event()}
    return Witness(
        quantity="epsilon", bound=low, form="window-event", body=body, origin="forced", description=text
    )


@cache
def decision_event(*, variant: HybridVariant = "printed") -> dict[str, Any]:
    """The instance, E and the numbers of the proof, for ``window_event_loss``; the same for every epsilon."""
    body = _instance(variant)
    search = _Search(body)
    centre = search.centre()
    body["box"] = {"half_width": exact_str(HALF_WIDTH), "centre": search.named(centre)}
    cost = float((np.abs(centre[:, 1]) / search.scales).sum())
    charge = Fraction(0)
    for name in sorted(body["shift"], key=lambda name: not name.endswith("Z1")):
        charge += 1 / scale_of(name, variant)
        body["tails"].append(search.tail(name, slope=-cost - 2 * float(charge) - 0.25, variant=variant))
    return body


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
        "tails": [],
    }


def _runs() -> list[list[int]]:
    """``DECISIONS`` as runs [arm, rounds]."""
    ends = [t for t in range(1, HORIZON) if DECISIONS[t] != DECISIONS[t - 1]]
    return [[DECISIONS[start], end - start] for start, end in pairwise([0, *ends, HORIZON])]


@dataclass
class _Search:
    """Finds the numbers of the proof by linear programming in floats; the checker trusts none of them.

    Row i of ``matrix`` and ``offsets`` (columns: constant, slope in u) belongs to round i + 3.
    """

    body: dict[str, Any]

    def __post_init__(self) -> None:
        self.names = list(self.body["scales"])
        self.scales = np.array([float(Fraction(value)) for value in self.body["scales"].values()])
        place = {name: i for i, name in enumerate(self.names)}
        rows = np.zeros((HORIZON - 2, len(self.names)))
        self.offsets = np.zeros((HORIZON - 2, 2))
        for t in range(3, HORIZON + 1):
            winner = DECISIONS[t - 1]
            for arm, sign in ((winner, 1), (3 - winner, -1)):
                count = DECISIONS[: t - 1].count(arm)
                rows[t - 3, [place[name] for name in self._noises(arm, count)]] += sign / count
                self.offsets[t - 3] += sign * self._index(arm, count, t)
        self.keys = [f"{t}/{3 - DECISIONS[t - 1]}" for t in range(3, HORIZON + 1)]
        self.place, self.matrix = place, rows

    def _noises(self, arm: int, count: int) -> list[str]:
        names: list[str] = self.body["sums"][arm - 1][count - 1]
        return names

    def _index(self, arm: int, count: int, t: int) -> NDArray[np.float64]:
        rewards = sum(int(x) for x in self.body["rewards"][arm - 1][:count])
        level = (count + 1).bit_length() - 1
        return np.array([72**0.5 * np.log2(t) * level, rewards + (3 * np.log2(t) * count) ** 0.5]) / count

    def centre(self) -> NDArray[np.float64]:
        """The likeliest centre of a box inside E: column 0 leaves room for the box, column 1 for rounding."""
        room = np.abs(self.matrix) @ (float(HALF_WIDTH) * self.scales)
        return np.column_stack(
            [self._likeliest(self.offsets[:, 0] - room), self._likeliest(self.offsets[:, 1])]
        )

    def _likeliest(self, offsets: NDArray[np.float64]) -> NDArray[np.float64]:
        rates, both = np.tile(1 / self.scales, 2), np.hstack([-self.matrix, self.matrix])
        found = _solved(linprog(rates, A_ub=both, b_ub=offsets - MARGIN))
        plus, minus = np.split(found, 2)
        return np.asarray(np.round((plus - minus) * GRID) / GRID)

    def tail(self, name: str, *, slope: float, variant: HybridVariant) -> dict[str, Any]:
        """Steps 4 and 5 of the checker for the event that the shifted noise ``name`` is positive."""
        wrong = (name, 1, 0.0)
        if not (name.endswith("Z1") and variant == "printed"):
            return {"noise": name, "chernoff": self._multipliers([wrong], slope)}
        # Lower Z1 and raise what covers pull 4: each sum with Z1 in it has exactly one of these in it too.
        others = [other for other in self.names if other.startswith("1/Y") and 4 in block_of(other)]
        escapes = {other: self._multipliers([wrong, (other, 1, 1.0)], slope) for other in others}
        move = {name: "-1", **dict.fromkeys(others, "1")}
        return {
            "noise": name,
            "transport": {"move": move, "length": [exact_str(s) for s in TRANSPORT], "escapes": escapes},
        }

    def _multipliers(self, extra: list[tuple[str, int, float]], slope: float) -> dict[str, Any]:
        """Multipliers of the rows and of ``sign * m + factor * (s0 + u*s1) >= 0`` that keep to ``slope``."""
        rows = np.zeros((len(extra), len(self.names)))
        for row, (name, sign, _) in zip(rows, extra, strict=True):
            row[self.place[name]] = sign
        lengths = np.outer([factor for *_, factor in extra], [float(s) for s in TRANSPORT])
        offsets = np.vstack([self.offsets, lengths])
        theta = np.vstack([self.matrix, rows]).T
        limits = np.concatenate([np.tile(EXPONENT / self.scales, 2), [slope]])
        found = _solved(linprog(offsets[:, 0], A_ub=np.vstack([theta, -theta, offsets[:, 1]]), b_ub=limits))
        exact_values = [exact_str(Fraction(int(y * GRID), GRID)) for y in found]
        split = len(self.keys)
        kept = {key: y for key, y in zip(self.keys, exact_values[:split], strict=True) if y != "0"}
        return {"rows": kept, "extra": exact_values[split:]}

    def named(self, centre: NDArray[np.float64]) -> dict[str, list[str]]:
        """The centre as exact numbers by name, without the zeros."""
        return {
            name: [exact_str(Fraction(float(x))) for x in values]
            for name, values in zip(self.names, centre, strict=True)
            if values.any()
        }


def _solved(result: Any) -> NDArray[np.float64]:
    if result.status != 0:
        raise NotTractableError(
            f"the linear program must have a solution, got {result.message!r}; change the event."
        )
    return np.asarray(result.x, dtype=float)
