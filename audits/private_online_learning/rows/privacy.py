"""Privacy of the paper's algorithms (claims HHM-T2, T5P, T6, NAIVE-P, and the baseline DP-SE). Each row uses
the accounting of its proof."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from audits.private_online_learning.hybrid_decisions import decision_witness
from audits.private_online_learning.neighbours import (
    BANDIT_HISTORIES,
    CLAIM,
    REWARDS,
    bandit_pairs,
    vector_pairs,
)
from dpaudit.certify.build import (
    accounted,
    compose_parallel,
    laplace_mechanism,
    report_noisy_max,
    tree_mechanism,
)
from dpaudit.certify.sites import Site
from dpaudit.core.claims import Ordering, PureDP
from dpaudit.core.data import Interval as Reals
from dpaudit.core.data import Records
from dpaudit.core.suite import Group, Run
from dpaudit.reference.algorithms.mab import hybrid_ucb, lazy_ucb, successive_elimination
from dpaudit.reference.algorithms.online import ftnl
from dpaudit.reference.mechanisms.hybrid_charges import charge_at
from dpaudit.reference.mechanisms.hybrid_counter import HybridVariant
from dpaudit.reference.mechanisms.report_noisy_max import RnmVariant, rnm_noise
from dpaudit.replay.audit import PrivacyAudit
from dpaudit.suite import Measured, evidence, full, over, privacy
from dpaudit.suite.mutants import without

__all__ = ["rows"]

rows = Group("Privacy of the algorithms")

EPSILON = Fraction(1)
#: Data of the proofs. There are as many rounds as give few paths, and every kind of release occurs.
LAZY_PULLS, PULLS, VECTORS, EPOCHS = (
    Records(Reals(0, 1), size=size, width=width) for size, width in ((6, 2), (8, 2), (15, 5), (6_000, 2))
)
ARRAY = Site("array", mechanism=laplace_mechanism(sensitivity=1, scale=1 / EPSILON))


def _claim(data: Records) -> PureDP:
    """Return the claim about these data."""
    return PureDP(epsilon=EPSILON, domain=data.words)


@privacy(rows, "HHM-T2", "Theorem 2, Algorithm 1", prove=LAZY_PULLS)
def anytime_lazy_ucb() -> PrivacyAudit:
    """Anytime-Lazy-UCB is ε-DP

    every observation is inserted into one array, whose sum is released once when it is full, with
    Laplace(1/epsilon) noise
    """
    return PrivacyAudit(
        claim=_claim(LAZY_PULLS),
        domain=REWARDS,
        program=lazy_ucb.program(epsilon=EPSILON),
        neighbours=lambda run: bandit_pairs(horizon=40, rounds=(0, 1, 2, 7, 33)),
        sites=[ARRAY],
        histories=BANDIT_HISTORIES,
    )


@privacy(
    rows,
    "HHM-T2/first-pull",
    "Algorithm 1, first line",
    role="what-if",
    expect="refuted",
    accounting="refuted",
)
def un_noised_first_pull() -> PrivacyAudit:
    """Anytime-Lazy-UCB with no noise in the mean of an arm's first pull is ε-DP

    Note: the pseudo-code does not repeat the noise. Eq. (3) defines this mean with noise (HHM-T2)
    """
    audit = anytime_lazy_ucb()
    return replace(
        audit,
        program=without("array", first=2, shown=False)(audit.program),
        # Round 3 depends on the two first pulls alone, before anything is drawn.
        neighbours=lambda run: bandit_pairs(horizon=3, rounds=(1,)),
    )


AS_PRINTED, IN_WORDS = "as Algorithm 4 prints it", "as section 4.2 describes it"
WIDER = "with node noise of scale 2(r+1)/ε"


@privacy(
    rows,
    "HHM-T5P/repaired",
    "Algorithm 4",
    role="repaired",
    repairs=("HHM-T5P", "HHM-T5P/levels"),
    reading=WIDER,
    variant="repaired",
    prove=PULLS,
)
@privacy(
    rows,
    "HHM-T5P/promoted",
    "Theorem 5, section 4.2",
    reading=IN_WORDS,
    variant="promoted",
    prove=PULLS,
)
@privacy(
    rows,
    "HHM-T5P",
    "Theorem 5, Algorithm 4",
    expect="refuted",
    accounting="refuted",
    reading=AS_PRINTED,
    variant="printed",
)
def hybrid(reading: str, variant: HybridVariant) -> PrivacyAudit:
    """Hybrid-UCB {reading} is ε-DP

    Note: Algorithm 4 releases a full tree's root before it reads the block from its array, so the first leaf
    of the tree on 2^r leaves is charged for r + 1 nodes. As section 4.2 describes it, a full block belongs to
    the arrays at once, and the first leaf is charged for r nodes
    """
    # The proof of Theorem 5: ε/2 for the arrays and ε/2 for a tree, "at most log(λ) = r" nodes of it. With
    # scale 2r/ε, r + 1 nodes cost (ε/2)(r + 1)/r, at most ε, the cost of two nodes of scale 2/ε at r = 1.
    wider, nodes = variant == "repaired", 1 if variant == "promoted" else 2
    because = (
        f"Hybrid-UCB {reading}: an observation enters one array and the tree of that array; in the tree on "
        f"2^r leaves the first leaf lies under r{' + 1' if nodes == 2 else ''} nodes that are used"
    )
    array = Site("array", mechanism=laplace_mechanism(sensitivity=1, scale=2 / EPSILON))
    node = laplace_mechanism(sensitivity=1, scale=2 * (1 + wider) / EPSILON)
    tree = Site("node-*", mechanism=tree_mechanism(node, levels=nodes, declared=because))
    trees = [Site(f"node-{r}", touches=r + wider, total=EPSILON / 2, group="tree") for r in range(1, 5)]
    return PrivacyAudit(
        claim=CLAIM if variant == "printed" else _claim(PULLS),
        domain=REWARDS,
        program=hybrid_ucb.program(epsilon=EPSILON, variant=variant),
        # Round 28 is in a tree of 2^4 leaves.
        neighbours=lambda run: bandit_pairs(horizon=34, rounds=(0, 2, 4, 8, 28)),
        sites=[array, *trees],
        histories=BANDIT_HISTORIES,
        proof=accounted([array, tree], declared=f"{because}; the most expensive tree has r = 1"),
        more=None if wider else lambda run: [decision_witness(EPSILON, variant=variant)],
    )


def _within_epsilon(r: int) -> Ordering:
    text = f"the noises over an observation of the block of 2^{r} pulls cost at most ε"
    return Ordering(text=text, quantity_name="cost / ε", claimed=1)


LEVELS = over(r=(1, 2, 3, 4, full(5, 6, 7, 8)))


@evidence(
    rows, "HHM-T5P/levels", "Theorem 5", claim=_within_epsilon, role="step", expect="refuted", over=LEVELS
)
def cost_of_a_level(run: Run, r: int) -> Measured:
    """Hybrid-UCB as Algorithm 4 prints it: an observation costs ε/2 for its array and ε/2 for the tree on 2^r
    leaves, "at most log(λ) = r" nodes

    Count the used noises that contain an observation, in every block, each at the cost 1/scale.

    Refuted: the first leaf lies under r + 1 used nodes, at the total cost (1 + 1/(2r)) ε: 1.5, 1.25, 1.167
    ...
    """
    cost = float(charge_at(r))
    return Measured(low=cost, high=cost, samples=2**r, method="exact count over all pulls of the block")


@privacy(rows, "HHM-T6/repaired", "Algorithms 2 and 3", role="repaired", variant="repaired", prove=VECTORS)
@privacy(
    rows, "HHM-T6", "Theorem 6, Algorithms 2 and 3", expect="refuted", accounting="refuted", variant="printed"
)
def follow_the_noisy_leader(variant: RnmVariant) -> PrivacyAudit:
    """Follow the Noisy Leader ({variant}) is ε-DP

    epoch s is rounds 2^s to 2^(s+1) - 1 for all data: a partition by position, with one Report Noisy Max in
    each cell
    """
    scale = rnm_noise(epsilon=EPSILON, variant=variant).scale
    return PrivacyAudit(
        claim=CLAIM if variant == "printed" else _claim(VECTORS),
        domain=REWARDS,
        program=ftnl.program(epsilon=EPSILON, variant=variant),
        neighbours=lambda run: [pair for k in (2, 5) for pair in vector_pairs(n_actions=k, epochs=10)],
        sites=[Site("leader", total=EPSILON)],
        searched=(7, 2),
        proof=compose_parallel(
            [report_noisy_max(sensitivity=1, scale=scale, range="general")], by="position"
        ),
    )


@privacy(rows, "HHM-NAIVE-P", "Section 5", n_actions=5, prove=VECTORS)
def naive(n_actions: int) -> PrivacyAudit:
    """Naive FTNL is ε-DP

    the vector of K sums of an epoch moves by at most 1 in each coordinate, K in l1 norm, and every coordinate
    has Laplace(K/epsilon) noise
    """
    sums = laplace_mechanism(sensitivity=n_actions, scale=n_actions / EPSILON)
    return PrivacyAudit(
        claim=_claim(VECTORS),
        domain=REWARDS,
        program=ftnl.naive_program(epsilon=EPSILON),
        neighbours=lambda run: vector_pairs(n_actions=n_actions, epochs=6),
        sites=[Site("sums", total=EPSILON)],
        proof=compose_parallel([sums], by="position"),
    )


@privacy(rows, "HHM-DPSE", "Section 6 (baseline of Sajed and Sheffet 2019)", prove=EPOCHS)
def dp_se() -> PrivacyAudit:
    """DP-SE, the baseline, is ε-DP

    every epoch starts from scratch: a pull enters one sum, released once with Laplace(1/epsilon) noise
    """
    return PrivacyAudit(
        claim=_claim(EPOCHS),
        domain=REWARDS,
        program=successive_elimination.program(epsilon=EPSILON, failure_probability="1/2"),
        neighbours=lambda run: bandit_pairs(horizon=3000, rounds=(0, 500, 1200)),
        sites=[ARRAY],
    )
