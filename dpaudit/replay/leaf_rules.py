"""Decide whether an affected site is the mechanism of a leaf, with one rule for each kind of mechanism.

The noise must be the same on both inputs, of the leaf's family and at least of its scale, and shifted by no
more than the leaf's sensitivity. More noise is allowed in families whose larger scales are smaller ones plus
something independent, because the output is then the leaf's with independent noise added. A site that no rule
here can compare is an objection too: nothing then shows that the program is the certificate's mechanism.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import chain
from typing import Any

import numpy as np

from dpaudit.certify.proof import Proof
from dpaudit.coins.replayer import SessionPair
from dpaudit.core.claims import Adjacency
from dpaudit.core.exact import dyadic, exact
from dpaudit.distributions import (
    AboveThreshold,
    BinaryTree,
    Binomial,
    Categorical,
    DiscreteGaussian,
    NoisyArgmax,
    PolyaDifference,
    RandomisedResponse,
    ScalarDistribution,
    SubsampledGaussianSum,
)
from dpaudit.distributions.base import Distribution
from dpaudit.distributions.exact_weights import exact_weights, same_chances
from dpaudit.kernel.t1.exponentials import ExpSum
from dpaudit.replay.accounting import worst_loss
from dpaudit.replay.channel_costs import query_moves
from dpaudit.replay.leaves import ROUNDING, Leaf, Match, leaves_of, objection
from dpaudit.replay.shifts import base_of, moved_message, moves_of
from dpaudit.replay.shuffled_messages import answers_a_bit, changed_message, shuffled_gaussian

__all__ = ["match", "match_session"]


def _sensitivity(leaf: Leaf, adjacency: Adjacency) -> Fraction:
    stated = leaf.parameters["sensitivity"]
    if not isinstance(stated, dict):
        return leaf.number("sensitivity")
    lower, upper = (exact(stated[name], name=name) for name in ("lower", "upper"))
    return upper - lower if adjacency is Adjacency.REPLACE_ONE else max(abs(lower), abs(upper))


# One rule for each kind of leaf


def match(leaf: Leaf, distribution: Distribution, other: Distribution, adjacency: Adjacency) -> Match:
    """Return how a site with ``distribution`` on one input and ``other`` on the neighbour fits ``leaf``.

    Shuffled messages of which one changed fit a leaf without a shuffler as that message does.
    """
    rule = _RULES.get(leaf.rule)
    message = None if rule in (_shuffled, shuffled_gaussian) else moved_message(distribution, other)
    distribution, other = (distribution, other) if message is None else message
    if rule is None:
        return Match(objection=f"no rule compares a site with a {leaf.rule} mechanism")
    return rule(leaf, distribution, other, adjacency)


def _additive(noise: Callable[[Leaf, Distribution], Fraction | None], *, squared: bool = False) -> Any:
    """Return the rule of additive noise.

    ``noise`` returns the scale (or variance) of a distribution over the leaf's, or ``None`` for another
    family. Costs add up in |change| / scale, or in its square if ``squared``.
    """

    def rule(leaf: Leaf, distribution: Distribution, other: Distribution, adjacency: Adjacency) -> Match:
        moves = moves_of(distribution, other)
        if moves is None:
            return objection(f"its noise is not the same on both inputs, {distribution!r} and {other!r}")
        ratio = noise(leaf, base_of(distribution))
        if ratio is None:
            return objection(f"its noise is {base_of(distribution)!r}")
        if ratio < 1:
            return objection(f"its noise {base_of(distribution)!r} is smaller than the leaf's")
        if squared:
            most = (
                leaf.number("sensitivity_squared")
                if "sensitivity_squared" in leaf.parameters
                else _sensitivity(leaf, adjacency) ** 2
            )
            moved, together = sum((gap**2 for gap in moves), Fraction(0)), leaf.events**2
        else:
            most, moved, together = _sensitivity(leaf, adjacency), sum(moves, Fraction(0)), leaf.events
        if moved > most * together * (1 + ROUNDING):
            unit = " squared" if squared else ""
            return objection(f"it changed by {float(moved):.6g}{unit}, more than {most * together}")
        if not most:
            return Match(share=Fraction(0))
        reach = moved / most
        times = reach / (1 + ROUNDING)  # in units of one event's change, or of its square
        events = 1 + math.isqrt(math.ceil(times) - 1) if squared else math.ceil(times)
        return Match(share=reach / ratio, events=max(events, 1), reach=reach)

    return rule


def _ratio(family: str, key: str) -> Callable[[Leaf, Distribution], Fraction | None]:
    """Return the function of a leaf and noise that divides the noise's parameter ``key`` by the leaf's.

    It returns ``None`` for noise of another family.
    """

    def ratio(leaf: Leaf, noise: Distribution) -> Fraction | None:
        if not isinstance(noise, ScalarDistribution) or noise.name != family:
            return None
        return Fraction(noise.parameters()[key]) / leaf.number(key)

    return ratio


def _discrete_laplace(leaf: Leaf, noise: Distribution) -> Fraction | None:
    """Return the ratio for shares too: shape 1 is the distribution itself, and more shape is more noise."""
    ratio = _ratio("discrete-laplace", "scale")(leaf, noise)
    if isinstance(noise, PolyaDifference):
        scale, share = 1 / noise.log_ratio, leaf.number("share") if "share" in leaf.parameters else 1
        if scale == leaf.number("scale"):
            return Fraction(1) if noise.shape >= share else Fraction(0)
    return ratio


def _discrete_gaussian(leaf: Leaf, noise: Distribution) -> Fraction | None:
    if not isinstance(noise, DiscreteGaussian) or int(leaf.parameters.get("count", 1)) != 1:
        return None
    # A larger variance is not this noise plus something independent: only the same noise is the leaf's.
    return Fraction(int(noise.sigma2 == leaf.number("variance")))


def _integer(leaf: Leaf, noise: Distribution) -> Fraction | None:
    family = leaf.parameters["family"]
    if family == "skellam":
        return _ratio("skellam", "variance")(leaf, noise)
    if family == "binomial" and isinstance(noise, Binomial) and noise.p == leaf.number("probability"):
        return Fraction(noise.trials, int(leaf.parameters["trials"]))
    return _discrete_gaussian(leaf, noise) if family == "discrete-gaussian-sum" else None


def _integer_noise(
    leaf: Leaf, distribution: Distribution, other: Distribution, adjacency: Adjacency
) -> Match:
    """Match noise of a single number, because the bound is for one shift."""
    moves = moves_of(distribution, other)
    if moves is not None and sum(gap > 0 for gap in moves) > 1:
        return objection("more than one of its numbers changed")
    found: Match = _additive(_integer)(leaf, distribution, other, adjacency)
    return replace(found, share=Fraction(found.events)) if not found.objection else found


def _vector_noise(leaf: Leaf, distribution: Distribution, other: Distribution, adjacency: Adjacency) -> Match:
    moves, ratio = moves_of(distribution, other), _integer(leaf, base_of(distribution))
    if moves is None or ratio is None or ratio < 1:
        return objection(f"its noise is {base_of(distribution)!r} and {base_of(other)!r}")
    return _moved_vector(leaf, moves)


def _binomial_vectors(
    leaf: Leaf, distribution: Distribution, other: Distribution, adjacency: Adjacency
) -> Match:
    moves, noise = moves_of(distribution, other), base_of(distribution)
    if moves is None or not isinstance(noise, Binomial) or noise.p != leaf.number("probability"):
        return objection(f"its noise is {base_of(distribution)!r} and {base_of(other)!r}")
    if noise.trials < int(leaf.parameters["trials"]):
        return objection(f"its noise has {noise.trials} trials")
    return _moved_vector(leaf, moves)


def _moved_vector(leaf: Leaf, moves: Sequence[Fraction]) -> Match:
    """Match a vector by its whole change, including coins of a rounding.

    A replay cannot tell these coins from a change that is always there, which no rounding averages out.
    """
    if len(moves) > int(leaf.parameters["dimension"]) or max(moves) > math.ceil(leaf.number("largest")):
        return objection("it has more coordinates than the leaf, or one of them changed by more")
    moved, most = sum((gap**2 for gap in moves), Fraction(0)), leaf.number("l2_squared")
    if moved > most:
        return objection(f"it changed by {float(moved):.6g} squared")
    return Match(reach=_part(moved, most))


def _part(moved: Fraction, most: Fraction) -> Fraction:
    return min(moved / most, Fraction(1)) if most else Fraction(1)


def _has_noise(leaf: Leaf, distribution: Distribution | None, name: str) -> bool:
    """Return whether ``distribution`` is the leaf's noise, of scale ``name`` or more."""
    family = leaf.parameters.get("noise", "laplace")
    if not isinstance(distribution, ScalarDistribution) or distribution.name != family:
        return False
    given = distribution.parameters()
    if family == "gaussian":
        return bool(given["variance"] >= leaf.number("variance"))
    return bool(
        given["scale"] == leaf.number(name) or (family == "laplace" and given["scale"] > leaf.number(name))
    )


def _fits_range(moved: Sequence[Fraction], kind: str) -> bool:
    if kind in ("one_coordinate", "one_query"):
        return sum(gap != 0 for gap in moved) <= 1
    return kind == "general" or all(gap >= 0 for gap in moved) or all(gap <= 0 for gap in moved)


def _noisy_max(leaf: Leaf, distribution: Distribution, other: Distribution, adjacency: Adjacency) -> Match:
    if (
        not (isinstance(distribution, NoisyArgmax) and isinstance(other, NoisyArgmax))
        or distribution.noise != other.noise
    ):
        return objection(f"its distribution is {distribution!r} and {other!r}")
    if not _has_noise(leaf, distribution.noise, "scale") or distribution.scores.shape != other.scores.shape:
        return objection(f"its noise is {distribution.noise!r}")
    if distribution.batch_shape:
        return objection("it is more than one maximum")
    moved = [
        dyadic(a) - dyadic(b)
        for a, b in zip(distribution.scores.tolist(), other.scores.tolist(), strict=True)
    ]
    furthest, most = max(map(abs, moved)), _sensitivity(leaf, adjacency)
    if furthest > most * (1 + ROUNDING):
        return objection(f"a score changed by {float(furthest):.6g}")
    if not _fits_range(moved, str(leaf.parameters["range"])):
        return objection(f"its scores do not change as {leaf.parameters['range']} requires")
    if int(leaf.parameters.get("candidates", distribution.count)) != distribution.count:
        return objection(f"it has {distribution.count} candidates")
    return Match(reach=_part(furthest, most))


def _response(leaf: Leaf, distribution: Distribution, other: Distribution, adjacency: Adjacency) -> Match:
    if not (isinstance(distribution, RandomisedResponse) and isinstance(other, RandomisedResponse)):
        return objection(f"its distribution is {distribution!r} and {other!r}")
    cost = worst_loss(distribution, other)
    if (
        distribution.symbols != other.symbols
        or cost is None
        or cost > leaf.number("epsilon") * (1 + ROUNDING)
    ):
        return objection(f"its distribution is {distribution!r} and {other!r}")
    return Match()


def _finite(leaf: Leaf, distribution: Distribution, other: Distribution, adjacency: Adjacency) -> Match:
    if "weights" in leaf.parameters:
        return _weighted(leaf, distribution, other)
    rows = [tuple(exact(entry) for entry in row) for row in leaf.parameters["rows"]]
    for one in (distribution, other):
        if not isinstance(one, Categorical) or _chances(one) not in rows:
            return objection(f"its distribution {one!r} is not a row of the table")
    return Match()


def _weighted(leaf: Leaf, distribution: Distribution, other: Distribution) -> Match:
    """Require that both distributions are rows of the table, with equal probabilities for each outcome."""
    rows = [
        [ExpSum({exact(a): exact(c) for c, a in weight}) for weight in row]
        for row in leaf.parameters["weights"]
    ]
    for one in (distribution, other):
        weights = exact_weights(one)
        if weights is None or not any(same_chances(weights, row) for row in rows):
            return objection(f"its distribution {one!r} is not a row of the table")
    return Match()


def _chances(distribution: Categorical) -> tuple[Fraction, ...]:
    return tuple(Fraction(weight, sum(distribution.weights)) for weight in distribution.weights)


def _shuffled(leaf: Leaf, distribution: Distribution, other: Distribution, adjacency: Adjacency) -> Match:
    """Match the users' distributions before the shuffler: at least the leaf's number, of which one differs.

    Both distributions that this user may have are compared with everybody's.
    """
    users = changed_message(leaf, distribution, other)
    if isinstance(users, Match):
        return users
    everybody, changed = users
    local = None
    if "local" in leaf.parameters:
        for one in everybody:
            if not answers_a_bit(one, leaf.number("local")):
                return objection(f"one user's distribution is {one!r}, not randomised response of one bit")
        local = Leaf("randomised-response", {"epsilon": leaf.parameters["local"]})
    if local is None and leaf.premise is not None:
        local = leaves_of(leaf.premise)[0][0]
    if local is None:
        local = Leaf("finite", {"rows": leaf.parameters["rows"]})
    pairs = [match(local, one, two, adjacency) for two in changed for one in everybody if one != two]
    return next((found for found in pairs if found.objection), Match())


def _subsampled(leaf: Leaf, distribution: Distribution, other: Distribution, adjacency: Adjacency) -> Match:
    """Require the same records on both sides except one, which is missing, null or replaced on one side."""
    if not (isinstance(distribution, SubsampledGaussianSum) and isinstance(other, SubsampledGaussianSum)):
        return objection(
            f"its distribution is {distribution!r} and {other!r}: release the sum as one "
            "SubsampledGaussianSum"
        )
    if (distribution.rate, distribution.sigma2, distribution.dimension) != (
        other.rate,
        other.sigma2,
        other.dimension,
    ):
        return objection(
            f"its sampling or noise is not the same on both inputs, {distribution!r} and {other!r}"
        )
    if distribution.rate > leaf.number("rate") or distribution.sigma2 < leaf.number("variance"):
        return objection(
            f"its rate {distribution.rate} is larger, or its variance {distribution.sigma2} smaller, "
            "than the leaf's"
        )
    here, there = Counter(distribution.records), Counter(other.records)
    changed = [*(here - there).elements()], [*(there - here).elements()]
    replaced = adjacency is Adjacency.REPLACE_ONE and max(map(len, changed)) == 1
    if len(changed[0]) + len(changed[1]) != 1 and not replaced:
        return objection(
            f"{len(changed[0]) + len(changed[1])} of its records differ, but only one may be on one side only"
        )
    most = _sensitivity(leaf, adjacency)
    squared = max(sum((entry**2 for entry in one), Fraction(0)) for one in chain(*changed))
    if squared > most**2 * (1 + ROUNDING):
        return objection(f"a record has norm {float(squared) ** 0.5:.6g}, more than {most}")
    return Match(reach=_part(squared, most**2))


_RULES: dict[str, Callable[[Leaf, Distribution, Distribution, Adjacency], Match]] = {
    "laplace": _additive(_ratio("laplace", "scale")),
    "discrete-laplace": _additive(_discrete_laplace),
    "polya": _additive(_discrete_laplace),
    "gaussian": _additive(_ratio("gaussian", "variance"), squared=True),
    "gaussian-sum": _additive(_discrete_gaussian, squared=False),
    "integer-noise": _integer_noise,
    "vector-noise": _vector_noise,
    "binomial-vectors": _binomial_vectors,
    "noisy-max": _noisy_max,
    "randomised-response": _response,
    "finite": _finite,
    "shuffle": _shuffled,
    "shuffled-response": _shuffled,
    "shuffled-table": _shuffled,
    "shuffled-gaussian": shuffled_gaussian,
    "poisson-subsampled-gaussian": _subsampled,
}


# Channels


def match_session(session: SessionPair, adjacency: Adjacency, leaf: Leaf) -> Match:
    """Return how an affected channel fits ``leaf``."""
    kernel, gaps = session.kernel, query_moves(session)
    if kernel != session.kernel_neighbour:
        return objection("its channel is not the same on both inputs")
    if gaps is None:
        return objection("its queries differ in number or shape on the neighbour")
    if leaf.rule == "above-threshold" and isinstance(kernel, AboveThreshold):
        return _threshold(leaf, kernel, [sum(gap, Fraction(0)) for gap in gaps], adjacency)
    if leaf.rule == "tree" and isinstance(kernel, BinaryTree) and leaf.premise is not None:
        return _tree(leaf, leaf.premise, kernel, gaps, adjacency)
    return objection(f"it is the channel {kernel!r}, but the leaf is a {leaf.rule} mechanism")


def _tree(
    leaf: Leaf, node: Proof, kernel: BinaryTree, gaps: Sequence[Sequence[Fraction]], adjacency: Adjacency
) -> Match:
    """Require that every level's noise is the node's mechanism for the change of one leaf, of any shape.

    Entries add up in the norm of the node.
    """
    moved = [gap for gap in gaps if any(gap)]
    if kernel.leaves > int(leaf.parameters["leaves"]):
        return objection(f"it is a tree of {kernel.leaves} leaves")
    if len(moved) != 1:
        return objection(f"{len(moved)} of its leaves changed")
    leaves, _ = leaves_of(node)
    if len(leaves) != 1:
        return objection("a node of the leaf's tree is more than one mechanism")
    places = np.array([float(entry) for entry in moved[0]])
    found = [
        match(leaves[0], distribution.shift(0 * places), distribution.shift(places), adjacency)
        for distribution in kernel.noise_by_level
    ]
    furthest = max((item.reach for item in found), default=Fraction(1))
    return next((item for item in found if item.objection), Match(reach=furthest))


def _threshold(leaf: Leaf, kernel: AboveThreshold, moved: Sequence[Fraction], adjacency: Adjacency) -> Match:
    if not _has_noise(leaf, kernel.threshold_noise, "threshold_scale"):
        return objection(f"the threshold's noise is {kernel.threshold_noise!r}")
    if not _has_noise(leaf, kernel.query_noise, "query_scale"):
        return objection(f"a query's noise is {kernel.query_noise!r}")
    if kernel.max_positives is None or kernel.max_positives > int(leaf.parameters["answers"]):
        return objection(f"it answers 'above' {kernel.max_positives} times")
    if kernel.resample_threshold:
        return objection("it draws the threshold's noise again")
    furthest, most = max(map(abs, moved), default=Fraction(0)), _sensitivity(leaf, adjacency)
    if furthest > most * (1 + ROUNDING):
        return objection(f"a query changed by {float(furthest):.6g}")
    kind = str(leaf.parameters["range"])
    if not _fits_range(moved, kind):
        return objection(f"its queries do not change as {kind} requires")
    return Match(reach=_part(furthest, most))
