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
from typing import Any, TypeVar

import numpy as np

from dpaudit.coins.replayer import SessionPair
from dpaudit.core.claims import Adjacency
from dpaudit.core.exact import dyadic, exact
from dpaudit.distributions import (
    AboveThreshold,
    BinaryTree,
    Categorical,
    Kernel,
    NoisyArgmax,
    RandomisedResponse,
    SubsampledGaussianSum,
)
from dpaudit.distributions.base import Distribution
from dpaudit.distributions.exact_weights import exact_weights, same_chances
from dpaudit.kernel.t1.exponentials import ExpSum
from dpaudit.replay.accounting import worst_loss
from dpaudit.replay.channel_costs import query_moves
from dpaudit.replay.leaves import ROUNDING, Leaf, Match, leaves_of, objection
from dpaudit.replay.shuffled_messages import answers_a_bit, changed_message, shuffled_gaussian

__all__ = ["match", "match_session"]

Rule = Callable[[Leaf, Distribution, Distribution, Adjacency], Match]
D = TypeVar("D", bound=Distribution)


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
    message = None if rule in (_shuffled, shuffled_gaussian) else distribution.changed_message(other)
    distribution, other = (distribution, other) if message is None else message
    if rule is None:
        return Match(objection=f"no rule compares a site with a {leaf.rule} mechanism")
    return rule(leaf, distribution, other, adjacency)


def _amount(leaf: Leaf, distribution: Distribution, family: str | None) -> Fraction | None:
    """Return the amount of noise over the leaf's. Without ``family``, the leaf names its family."""
    return distribution.added_noise.amount_over(
        leaf.parameters["family"] if family is None else family, leaf.parameters
    )


def _additive(family: str | None, *, squared: bool = False) -> Any:
    """Return the rule of additive noise of a family.

    Costs add up in |change| / scale, or in its square if ``squared``.
    """

    def rule(leaf: Leaf, distribution: Distribution, other: Distribution, adjacency: Adjacency) -> Match:
        moves = distribution.distances(other)
        if moves is None:
            return objection(f"its noise is not the same on both inputs, {distribution!r} and {other!r}")
        ratio = _amount(leaf, distribution, family)
        if ratio is None:
            return objection(f"its noise is {distribution.added_noise!r}")
        if ratio < 1:
            return objection(f"its noise {distribution.added_noise!r} is smaller than the leaf's")
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


def _integer_noise(
    leaf: Leaf, distribution: Distribution, other: Distribution, adjacency: Adjacency
) -> Match:
    """Match noise of a single number, because the bound is for one shift."""
    moves = distribution.distances(other)
    if moves is not None and sum(gap > 0 for gap in moves) > 1:
        return objection("more than one of its numbers changed")
    found: Match = _additive(None)(leaf, distribution, other, adjacency)
    return replace(found, share=Fraction(found.events)) if not found.objection else found


def _vector_noise(family: str | None) -> Any:
    """Return the rule of vectors with integer noise."""

    def rule(leaf: Leaf, distribution: Distribution, other: Distribution, adjacency: Adjacency) -> Match:
        moves, ratio = distribution.distances(other), _amount(leaf, distribution, family)
        if moves is None or ratio is None or ratio < 1:
            return objection(f"its noise is {distribution.added_noise!r} and {other.added_noise!r}")
        return _moved_vector(leaf, moves)

    return rule


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
    stated = {**leaf.parameters, "scale": leaf.parameters.get(name)}
    family = leaf.parameters.get("noise", "laplace")
    ratio = None if distribution is None else distribution.amount_over(family, stated)
    return ratio is not None and ratio >= 1


def _fits_range(moved: Sequence[Fraction], kind: str) -> bool:
    if kind in ("one_coordinate", "one_query"):
        return sum(gap != 0 for gap in moved) <= 1
    return kind == "general" or all(gap >= 0 for gap in moved) or all(gap <= 0 for gap in moved)


def _both(kind: type[D]) -> Callable[[Callable[[Leaf, D, D, Adjacency], Match]], Rule]:
    """Return a decorator for the rule of a mechanism whose distribution is a ``kind`` on both inputs."""

    def decorate(rule: Callable[[Leaf, D, D, Adjacency], Match]) -> Rule:
        def checked(
            leaf: Leaf, distribution: Distribution, other: Distribution, adjacency: Adjacency
        ) -> Match:
            if isinstance(distribution, kind) and isinstance(other, kind):
                return rule(leaf, distribution, other, adjacency)
            return objection(f"its distribution is {distribution!r} and {other!r}, not a {kind.__name__}")

        return checked

    return decorate


@_both(NoisyArgmax)
def _noisy_max(leaf: Leaf, distribution: NoisyArgmax, other: NoisyArgmax, adjacency: Adjacency) -> Match:
    if distribution.noise != other.noise:
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


@_both(RandomisedResponse)
def _response(
    leaf: Leaf, distribution: RandomisedResponse, other: RandomisedResponse, adjacency: Adjacency
) -> Match:
    cost = worst_loss(distribution, other)
    if (
        distribution.symbols != other.symbols
        or cost is None
        or cost > leaf.number("epsilon") * (1 + ROUNDING)
    ):
        return objection(f"its distribution is {distribution!r} and {other!r}")
    return Match()


def _finite(leaf: Leaf, distribution: Distribution, other: Distribution, adjacency: Adjacency) -> Match:
    rule = _weighted if "weights" in leaf.parameters else _tabulated
    return rule(leaf, distribution, other, adjacency)


@_both(Categorical)
def _tabulated(leaf: Leaf, distribution: Categorical, other: Categorical, adjacency: Adjacency) -> Match:
    rows = [tuple(exact(entry) for entry in row) for row in leaf.parameters["rows"]]
    for one in (distribution, other):
        if tuple(Fraction(weight, sum(one.weights)) for weight in one.weights) not in rows:
            return objection(f"its distribution {one!r} is not a row of the table")
    return Match()


def _weighted(leaf: Leaf, distribution: Distribution, other: Distribution, adjacency: Adjacency) -> Match:
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


@_both(SubsampledGaussianSum)
def _subsampled(
    leaf: Leaf, distribution: SubsampledGaussianSum, other: SubsampledGaussianSum, adjacency: Adjacency
) -> Match:
    """Require the same records on both sides except one, which is missing, null or replaced on one side."""
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


_RULES: dict[str, Rule] = {
    "laplace": _additive("laplace"),
    "discrete-laplace": _additive("discrete-laplace"),
    "polya": _additive("discrete-laplace"),
    "gaussian": _additive("gaussian", squared=True),
    "gaussian-sum": _additive("discrete-gaussian-sum", squared=False),
    "integer-noise": _integer_noise,
    "vector-noise": _vector_noise(None),
    "binomial-vectors": _vector_noise("binomial"),
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
    kind, rule = _CHANNELS.get(leaf.rule, (None, None))
    if kind is not None and rule is not None and isinstance(kernel, kind):
        return rule(leaf, kernel, gaps, adjacency)
    return objection(f"it is the channel {kernel!r}, but the leaf is a {leaf.rule} mechanism")


def _tree(leaf: Leaf, kernel: BinaryTree, gaps: Sequence[Sequence[Fraction]], adjacency: Adjacency) -> Match:
    """Require that every level's noise is the node's mechanism for the change of one leaf, of any shape.

    Entries add up in the norm of the node.
    """
    moved = [gap for gap in gaps if any(gap)]
    if kernel.leaves > int(leaf.parameters["leaves"]):
        return objection(f"it is a tree of {kernel.leaves} leaves")
    if len(moved) != 1:
        return objection(f"{len(moved)} of its leaves changed")
    leaves = [] if leaf.premise is None else leaves_of(leaf.premise)[0]
    if len(leaves) != 1:
        return objection("a node of the leaf's tree is more than one mechanism")
    places = np.array([float(entry) for entry in moved[0]])
    found = [
        match(leaves[0], distribution.shift(0 * places), distribution.shift(places), adjacency)
        for distribution in kernel.noise_by_level
    ]
    furthest = max((item.reach for item in found), default=Fraction(1))
    return next((item for item in found if item.objection), Match(reach=furthest))


def _threshold(
    leaf: Leaf, kernel: AboveThreshold, gaps: Sequence[Sequence[Fraction]], adjacency: Adjacency
) -> Match:
    if not _has_noise(leaf, kernel.threshold_noise, "threshold_scale"):
        return objection(f"the threshold's noise is {kernel.threshold_noise!r}")
    if not _has_noise(leaf, kernel.query_noise, "query_scale"):
        return objection(f"a query's noise is {kernel.query_noise!r}")
    if kernel.max_positives is None or kernel.max_positives > int(leaf.parameters["answers"]):
        return objection(f"it answers 'above' {kernel.max_positives} times")
    if kernel.resample_threshold:
        return objection("it draws the threshold's noise again")
    moved = [sum(gap, Fraction(0)) for gap in gaps]
    furthest, most = max(map(abs, moved), default=Fraction(0)), _sensitivity(leaf, adjacency)
    if furthest > most * (1 + ROUNDING):
        return objection(f"a query changed by {float(furthest):.6g}")
    kind = str(leaf.parameters["range"])
    if not _fits_range(moved, kind):
        return objection(f"its queries do not change as {kind} requires")
    return Match(reach=_part(furthest, most))


_CHANNELS: dict[str, tuple[type[Kernel], Callable[[Leaf, Any, Any, Adjacency], Match]]] = {
    "above-threshold": (AboveThreshold, _threshold),
    "tree": (BinaryTree, _tree),
}
