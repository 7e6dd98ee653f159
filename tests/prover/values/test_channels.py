"""Sessions of channels, shifted noise, randomised response of one number, and selections, in proofs.

Each mechanism is proved with its exact bound, and wrong versions of it are not.
"""

from __future__ import annotations

import copy
import inspect
import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.special import logsumexp

from audits.classics.rows import descent, sparse_vector
from dpaudit.core.claims import ApproxDP, GaussianDP, PureDP, ZeroConcentratedDP
from dpaudit.core.data import Anything, Integers, Interval, Records
from dpaudit.distributions import (
    AboveThreshold,
    BinaryTree,
    Categorical,
    DiscreteGaussian,
    DiscreteLaplace,
    Exponential,
    Gaussian,
    Gumbel,
    Kernel,
    Laplace,
    RandomisedResponse,
    ValuesAboveThreshold,
)
from dpaudit.kernel.values import channels, tables
from dpaudit.kernel.values.check import ValuesProofError, check
from dpaudit.kernel.values.info import Info, RefusedStepError, Setting
from dpaudit.kernel.values.polynomials import ONE, Poly
from dpaudit.kernel.values.releases import log_above
from dpaudit.prover.values.prove import prove_values

BITS = Records(Integers(0, 1))
THREE = Records(Integers(0, 1), width=3)
FEW = Records(Integers(0, 1), width=3, size=4)
STREAM = Records(Integers(0, 1), size=8)
LETTERS = Records(Integers(0, 3), size=5)
TWELVE = Records(Integers(0, 1), width=12, size=3)
POINTS = Records(Anything(), width=2, size=8)
E1, ONE_MORE = PureDP(epsilon=1), PureDP(epsilon=1, adjacency="add-remove")
HALF = ZeroConcentratedDP(rho="1/2")


def threshold(b: Any, c: Any, k: Any = 1, **options: Any) -> AboveThreshold:
    return AboveThreshold(
        threshold=1,
        threshold_noise=None if b is None else Laplace(scale=b),
        query_noise=None if c is None else Laplace(scale=c),
        max_positives=k,
        **options,
    )


GENERAL, RISING, TWO = threshold(2, 4), threshold(2, 2), threshold(2, 8, 2)
REDRAWN = threshold(4, 8, 2, resample_threshold=True)
HALVED, MORE, NO_NOISE, OPEN = threshold(1, 4), threshold(2, 4, 2), threshold(2, None), threshold(2, 4, None)
ONE_SIDED = AboveThreshold(
    threshold=1, threshold_noise=Exponential(scale=2), query_noise=Exponential(scale=4), max_positives=1
)
NORMAL = AboveThreshold(threshold=1, threshold_noise=Gaussian(sigma=9), query_noise=Gaussian(sigma=9))


def until_positive(coins: Any, data: Any, kernel: Any) -> Any:
    session = coins.channel(kernel, site="flags")
    for place, count in enumerate(data.sum(axis=0)):
        if session.ask(count):
            return place
    return None


def until_closed(coins: Any, data: Any, kernel: Any) -> Any:
    session = coins.channel(kernel, site="flags")
    found: list[int] = []
    for count in data.sum(axis=0).tolist():
        if len(found) < 2 and session.ask(count):
            found.append(0)
    return len(found)


def of_chunks(coins: Any, data: Any) -> Any:
    session = coins.channel(GENERAL, site="flags")
    for k in range(4):
        if session.ask(data[2 * k : 2 * k + 2].sum()):
            return k
    return None


def of_overlapping_chunks(coins: Any, data: Any) -> Any:
    session = coins.channel(GENERAL, site="flags")
    for k in range(4):
        if session.ask(data[2 * k : 2 * k + 3].sum()):
            return k
    return None


def one_sided_of_chunks(coins: Any, data: Any) -> Any:
    session = coins.channel(ONE_SIDED, site="flags")
    for k in range(4):
        if session.ask(data[2 * k : 2 * k + 2].sum()):
            return k
    return None


def released_threshold(coins: Any, data: Any) -> Any:
    count = coins.release(data.sum(), Laplace(scale=4), site="count")
    kernel = AboveThreshold(
        threshold=count / 2, threshold_noise=Laplace(scale=4), query_noise=Laplace(scale=4)
    )
    return coins.channel(kernel, site="flags").ask(data[:, 0].sum() - data[:, 1].sum())


def asks_all(coins: Any, data: Any, kernel: Any) -> Any:
    session = coins.channel(kernel, site="flags")
    return [session.ask(count) for count in data.sum(axis=0)]


def general(coins: Any, data: Any) -> Any:
    return until_positive(coins, data, GENERAL)


def rising(coins: Any, data: Any) -> Any:
    return until_positive(coins, data, RISING)


def one_sided(coins: Any, data: Any) -> Any:
    return until_positive(coins, data, ONE_SIDED)


def made_inside(coins: Any, data: Any) -> Any:
    kernel = AboveThreshold(threshold=1, threshold_noise=Laplace(scale=2), query_noise=Laplace(scale=4))
    return until_positive(coins, data, kernel)


def two_positives(coins: Any, data: Any) -> Any:
    return until_closed(coins, data, TWO)


def redrawn(coins: Any, data: Any) -> Any:
    return until_closed(coins, data, REDRAWN)


def halved(coins: Any, data: Any) -> Any:
    return until_positive(coins, data, HALVED)


def one_more(coins: Any, data: Any) -> Any:
    return until_closed(coins, data, MORE)


def no_query_noise(coins: Any, data: Any) -> Any:
    return until_positive(coins, data, NO_NOISE)


def gaussian_threshold(coins: Any, data: Any) -> Any:
    return until_positive(coins, data, NORMAL)


def never_closed(coins: Any, data: Any) -> Any:
    return asks_all(coins, data, OPEN)


def asked_after_the_end(coins: Any, data: Any) -> Any:
    return asks_all(coins, data, GENERAL)


def falls_and_rises(coins: Any, data: Any) -> Any:
    session = coins.channel(RISING, site="flags")
    for place, count in enumerate(data.sum(axis=0)):
        if session.ask(count if place % 2 else -count):
            return place
    return None


def doubled(coins: Any, data: Any) -> Any:
    session = coins.channel(GENERAL, site="flags")
    return session.ask(data[:, 0].sum()) or session.ask(2 * data[:, 1].sum())


def two_sessions(coins: Any, data: Any) -> Any:
    return until_positive(coins, data, GENERAL), until_positive(coins, data, GENERAL)


def raw_answer(coins: Any, data: Any) -> Any:
    session = coins.channel(GENERAL, site="flags")
    count = data[:, 0].sum()
    return count if session.ask(count) else 0


def asked_by_data(coins: Any, data: Any) -> Any:
    session = coins.channel(GENERAL, site="flags")
    return session.ask(data[:, 0].sum()) if data[0, 0] > 0 else False


def one_query(coins: Any, data: Any) -> Any:
    session = coins.channel(OPEN, site="flags")
    return session.ask(5), session.ask(data.sum()), session.ask(2.5)


def same_query_twice(coins: Any, data: Any) -> Any:
    session = coins.channel(OPEN, site="flags")
    count = data.sum()
    return session.ask(count), session.ask(count)


def an_array(coins: Any, data: Any) -> Any:
    return coins.channel(GENERAL, site="flags").ask(data.sum(axis=0))


def not_clipped(coins: Any, data: Any) -> Any:
    return coins.channel(GENERAL, site="flags").ask(data.sum())


def of_a_truth_value(coins: Any, data: Any) -> Any:
    return coins.channel(GENERAL, site="flags").ask(data.sum() > 3)


def session_returned(coins: Any, data: Any) -> Any:
    return coins.channel(GENERAL, site="flags")


def session_as_truth(coins: Any, data: Any) -> Any:
    session = coins.channel(GENERAL, site="flags")
    return 1 if session else data.sum()


def session_compared(coins: Any, data: Any) -> Any:
    session = coins.channel(GENERAL, site="flags")
    return data.sum() if session == session else 0


def hidden_scale(coins: Any, data: Any) -> Any:
    noise = Laplace(scale=data.sum() + 1)
    kernel = AboveThreshold(threshold=1, threshold_noise=noise, query_noise=noise)
    return coins.channel(kernel, site="flags").ask(data.sum())


def private_threshold(coins: Any, data: Any) -> Any:
    kernel = AboveThreshold(
        threshold=data.sum(), threshold_noise=Laplace(scale=2), query_noise=Laplace(scale=4)
    )
    return coins.channel(kernel, site="flags").ask(3)


TREE, SHORT = BinaryTree(leaves=8, noise=Laplace(scale=4)), BinaryTree(leaves=4, noise=Laplace(scale=4))
TREE_HALVED, TREE_NORMAL = (
    BinaryTree(leaves=8, noise=Laplace(scale=2)),
    BinaryTree(leaves=8, noise=Gaussian(sigma=2)),
)
TREE_WHOLE = BinaryTree(leaves=8, noise=DiscreteGaussian(sigma2=4))
LEVELS = BinaryTree(leaves=8, noise_by_level=[Laplace(scale=2), *[Laplace(scale=6)] * 3])
TREE_GUMBEL = BinaryTree(leaves=8, noise=Gumbel(scale=400))


def counted(coins: Any, data: Any, kernel: Any) -> Any:
    tree = coins.channel(kernel, site="tree")
    answers = [tree.ask(record) for record in data]
    return [BinaryTree.prefix(answers, length) for length in range(len(answers) + 1)]


def tree(coins: Any, data: Any) -> Any:
    return counted(coins, data, TREE)


def tree_normal(coins: Any, data: Any) -> Any:
    return counted(coins, data, TREE_NORMAL)


def tree_whole(coins: Any, data: Any) -> Any:
    return counted(coins, data, TREE_WHOLE)


def tree_levels(coins: Any, data: Any) -> Any:
    return counted(coins, data, LEVELS)


def tree_halved(coins: Any, data: Any) -> Any:
    return counted(coins, data, TREE_HALVED)


def tree_too_short(coins: Any, data: Any) -> Any:
    return counted(coins, data, SHORT)


def tree_gumbel(coins: Any, data: Any) -> Any:
    return counted(coins, data, TREE_GUMBEL)


def tree_of_neighbours(coins: Any, data: Any) -> Any:
    session = coins.channel(TREE, site="tree")
    return [session.ask(data[k] + data[k - 1]) for k in range(8)]


def tree_of_doubles(coins: Any, data: Any) -> Any:
    session = coins.channel(TREE, site="tree")
    return [session.ask(2 * record) for record in data]


def tree_of_fractions(coins: Any, data: Any) -> Any:
    session = coins.channel(TREE_WHOLE, site="tree")
    return [session.ask(0.5 * record) for record in data]


def tree_and_leaf(coins: Any, data: Any) -> Any:
    session = coins.channel(TREE, site="tree")
    return [session.ask(record) for record in data], data[0]


def tree_of_a_changed_array(coins: Any, data: Any) -> Any:
    session = coins.channel(TREE, site="tree")
    found = []
    for record in data:
        leaf = np.array([record])
        found.append(session.ask(leaf))
        leaf += 5
    return found


def prefix_of_raw(coins: Any, data: Any) -> Any:
    return BinaryTree.prefix(list(data), 8)


WHOLE = DiscreteGaussian(sigma2=1)


def shifted(coins: Any, data: Any) -> Any:
    return coins.observe(Laplace(scale=1).shift(data.sum()), site="sum")


def shifted_whole(coins: Any, data: Any) -> Any:
    return coins.observe(DiscreteLaplace(scale=1).shift(data.sum()), site="sum")


def largest(coins: Any, data: Any) -> Any:
    return coins.release(data.max(), DiscreteLaplace(scale=2**62), site="largest")  # raises for 2^62 only


def shifted_normal(coins: Any, data: Any) -> Any:
    return coins.observe(Gaussian(variance=1).shift(data.sum()), site="sum")


def whole_normal(coins: Any, data: Any) -> Any:
    return coins.observe(WHOLE.shift(data.sum()), site="sum")


def whole_release(coins: Any, data: Any) -> Any:
    return coins.release(data.sum(), WHOLE, site="sum")


def shifted_halved(coins: Any, data: Any) -> Any:
    return coins.observe(Laplace(scale="1/2").shift(data.sum()), site="sum")


def whole_halved(coins: Any, data: Any) -> Any:
    return coins.observe(DiscreteGaussian(sigma2="1/2").shift(data.sum()), site="sum")


def whole_of_a_float(coins: Any, data: Any) -> Any:
    return coins.observe(DiscreteGaussian(sigma2=1).shift(0.5 * data.sum()), site="sum")


def whole_scaled(coins: Any, data: Any) -> Any:
    return data.sum() + 0.5 * coins.draw(DiscreteGaussian(sigma2=4), site="noise")


def shared_noise(coins: Any, data: Any) -> Any:
    noise = coins.draw(WHOLE, site="noise")
    return data.sum() + noise, data[0] + noise


def shifted_gumbel(coins: Any, data: Any) -> Any:
    return coins.observe(Gumbel(scale=5).shift(data.sum()), site="sum")


def shifted_twice(coins: Any, data: Any) -> Any:
    return coins.observe(Laplace(scale=1).shift(data.sum()).shift(data.sum()), site="sum")


def shift_returned(coins: Any, data: Any) -> Any:
    return Laplace(scale=1).shift(data.sum())


def released_shift(coins: Any, data: Any) -> Any:
    return coins.release(0, Laplace(scale=1).shift(data.sum()), site="sum")


def letters(coins: Any, data: Any) -> Any:
    return [coins.observe(RandomisedResponse(symbols=4, truth=x, epsilon=1), site="r") for x in data]


def letters_kept(coins: Any, data: Any) -> Any:
    return [coins.observe(RandomisedResponse(symbols=4, truth=x, keep="2/5"), site="r") for x in data]


def letters_kept_more(coins: Any, data: Any) -> Any:
    return [coins.observe(RandomisedResponse(symbols=4, truth=x, keep="1/2"), site="r") for x in data]


def letters_twice(coins: Any, data: Any) -> Any:
    found = [coins.observe(RandomisedResponse(symbols=4, truth=x, epsilon=1), site="r") for x in data]
    return found, coins.observe(RandomisedResponse(symbols=4, truth=data[0], epsilon=1), site="r")


def letters_always_kept(coins: Any, data: Any) -> Any:
    return [coins.observe(RandomisedResponse(symbols=4, truth=x, keep=1), site="r") for x in data]


def too_few_letters(coins: Any, data: Any) -> Any:
    return [coins.observe(RandomisedResponse(symbols=3, truth=x, epsilon=1), site="r") for x in data]


def letter_of_the_sum(coins: Any, data: Any) -> Any:
    return coins.observe(RandomisedResponse(symbols=16, truth=data.sum(), epsilon=1), site="r")


def private_epsilon(coins: Any, data: Any) -> Any:
    return coins.observe(RandomisedResponse(symbols=4, truth=0, epsilon=data[0]), site="r")


def letter_and_truth(coins: Any, data: Any) -> Any:
    return coins.observe(RandomisedResponse(symbols=4, truth=data[0], epsilon=1), site="r"), data[0]


REPLACED = threshold(2, 4)
object.__setattr__(REPLACED, "respond", lambda state, query, rng, replicates=None: bool(query > 1))
SILENT = Laplace(scale=1)
object.__setattr__(SILENT, "sample", lambda rng, size=(): np.zeros(size))
SILENT_LEVEL = AboveThreshold(threshold=1, threshold_noise=SILENT, query_noise=SILENT)
SILENT_TREE = BinaryTree(leaves=8, noise=SILENT)


class Subclass(AboveThreshold):
    """A channel that the prover does not know."""


SUBCLASS = Subclass(threshold=1, threshold_noise=Laplace(scale=2), query_noise=Laplace(scale=4))


def replaced_method(coins: Any, data: Any) -> Any:
    return coins.channel(REPLACED, site="flags").ask(data.sum())


def replaced_sample(coins: Any, data: Any) -> Any:
    return coins.release(data.sum(), SILENT, site="sum")


def replaced_sample_shifted(coins: Any, data: Any) -> Any:
    return coins.observe(SILENT.shift(data.sum()), site="sum")


def replaced_sample_of_a_threshold(coins: Any, data: Any) -> Any:
    return coins.channel(SILENT_LEVEL, site="flags").ask(data.sum())


def replaced_sample_of_a_tree(coins: Any, data: Any) -> Any:
    return coins.channel(SILENT_TREE, site="tree").ask(data.sum())


def a_subclass(coins: Any, data: Any) -> Any:
    return coins.channel(SUBCLASS, site="flags").ask(data.sum())


def rest_of_an_iterator(coins: Any, data: Any) -> Any:
    records, session = iter(data.tolist()), coins.channel(GENERAL, site="flags")
    any(session.ask(record) for record in records)
    return sum(records)


def stored_session(coins: Any, data: Any) -> Any:
    sessions = [coins.channel(GENERAL, site="flags")]
    return sessions[0].ask(data.sum()), sessions[0].ask(data.sum())


def attribute_of_a_kernel(coins: Any, data: Any) -> Any:
    return data.sum() if GENERAL.max_positives == 1 else 0


def direct_response(coins: Any, data: Any) -> Any:
    return GENERAL.respond(GENERAL.open(), data.sum(), None)  # type: ignore[arg-type]


def state_of_a_session(coins: Any, data: Any) -> Any:
    return coins.channel(GENERAL, site="flags")._state


def asked_with_one_noise(coins: Any, data: Any) -> Any:
    noise, session = coins.draw(Laplace(scale=9), site="noise"), coins.channel(TWO, site="flags")
    return session.ask(data.sum() + noise), session.ask(data[0] + noise)


def prefix_of_private_length(coins: Any, data: Any) -> Any:
    return BinaryTree.prefix([0] * 99, int(data.sum()))


def two_trees(coins: Any, data: Any) -> Any:
    return counted(coins, data, TREE), counted(coins, data, TREE)


def tree_of_one_record(coins: Any, data: Any) -> Any:
    session = coins.channel(TREE, site="tree")
    return [session.ask(data[0]) for _ in range(8)]


def tree_and_sum(coins: Any, data: Any) -> Any:
    return counted(coins, data, TREE), coins.release(data.sum(), Laplace(scale=4), site="sum")


def attribute_of_a_response(coins: Any, data: Any) -> Any:
    return RandomisedResponse(symbols=4, truth=data[0], epsilon=1).truth


def returned_response(coins: Any, data: Any) -> Any:
    return RandomisedResponse(symbols=4, truth=data[0], epsilon=1)


def one_letter_often(coins: Any, data: Any) -> Any:
    return [coins.observe(RandomisedResponse(symbols=4, truth=data[0], epsilon=1), site="r") for x in data]


def private_symbols(coins: Any, data: Any) -> Any:
    return coins.observe(RandomisedResponse(symbols=2 + data[0], truth=0, epsilon=1), site="r")


def noise_taken_back(coins: Any, data: Any) -> Any:
    noise = coins.draw(DiscreteGaussian(sigma2=100), site="noise")
    return (data.sum() + noise) - noise


def weighted(coins: Any, data: Any) -> Any:
    return [coins.observe(Categorical(weights=[1 + x, 4 - x]), site="w") for x in data]


def weighted_by_a_sum(coins: Any, data: Any) -> Any:
    total = data.sum()
    return coins.observe(Categorical(weights=[total + 5, 20 - total]), site="w")


def weighted_by_floats(coins: Any, data: Any) -> Any:
    chance = 0.25 + 0.125 * float(data[0])
    return coins.observe(Categorical(probabilities=[chance, 1 - chance]), site="w")


def response_of_a_comparison(coins: Any, data: Any) -> Any:
    return coins.observe(RandomisedResponse(symbols=2, truth=int(data[0] > 1), keep="3/4"), site="w")


def constant_weights(coins: Any, data: Any) -> Any:
    return ["a", "b"][coins.observe(Categorical(weights=[1, 2]), site="w")]


def weighted_by_two_records(coins: Any, data: Any) -> Any:
    return coins.observe(Categorical(weights=[1 + data[0], 4 - data[1]]), site="w")


def weighted_to_zero(coins: Any, data: Any) -> Any:
    return coins.observe(Categorical(weights=[data[0], 4 - data[0]]), site="w")


def weighted_twice(coins: Any, data: Any) -> Any:
    return [coins.observe(Categorical(weights=[1 + data[0], 4 - data[0]]), site="w") for _ in range(2)]


def negative_weights(coins: Any, data: Any) -> Any:
    return coins.observe(Categorical(weights=[2 - data[0], 4]), site="w")


def weighted_by_an_interval(coins: Any, data: Any) -> Any:
    return coins.observe(Categorical(weights=[1 + data[0], 4 - data[0]]), site="w")


def hidden_weights(coins: Any, data: Any) -> Any:
    return coins.draw(Categorical(weights=[1 + data[0], 4 - data[0]]), site="w")


def as_many_weights_as_data(coins: Any, data: Any) -> Any:
    return coins.observe(Categorical(weights=[1 for _ in range(int(data[0]) + 1)]), site="w")


def exponential(data: Any, rng: Any) -> Any:
    p = np.exp(1.0 * data.sum(axis=0) / (2 * 1))
    p /= p.sum()
    return rng.choice(3, p=p)


def exponential_centred(data: Any, rng: Any) -> Any:
    scores = data.sum(axis=0)
    weights = np.exp((scores - scores.max()) / 2)
    return rng.choice(["a", "b", "c"], p=weights / weights.sum())


def exponential_doubled(data: Any, rng: Any) -> Any:
    p = np.exp(data.sum(axis=0) / 1)
    p /= p.sum()
    return rng.choice(3, p=p)


def peeled(data: Any, rng: Any) -> Any:
    scores, left, found = data.sum(axis=0), [0, 1, 2], []
    for _ in range(2):
        p = np.exp(np.array([scores[j] for j in left]) / 4)
        p /= p.sum()
        chosen = rng.choice(left, p=p)
        found.append(chosen)
        left.remove(chosen)
    return found


def peeled_by_gumbel(data: Any, rng: Any) -> Any:
    scores, left, found = data.sum(axis=0), [0, 1, 2], []
    for _ in range(2):
        here = np.array([scores[j] for j in left])
        found.append(left.pop(np.argmax(here + rng.gumbel(scale=4, size=len(left)))))
    return found


def peeled_halved(data: Any, rng: Any) -> Any:
    scores, left, found = data.sum(axis=0), [0, 1, 2], []
    for _ in range(2):
        p = np.exp(np.array([scores[j] for j in left]) / 2)
        p /= p.sum()
        chosen = rng.choice(left, p=p)
        found.append(chosen)
        left.remove(chosen)
    return found


def peeled_with_one_noise(data: Any, rng: Any) -> Any:
    scores, noise = data.sum(axis=0), rng.gumbel(scale=4, size=3)
    return [np.argmax(scores + noise), np.argmax(2 * scores + noise)]


def removed_by_data(data: Any, rng: Any) -> Any:
    left = [0, 1, 2]
    left.remove(data.sum(axis=0)[0])
    return left


def popped_by_data(data: Any, rng: Any) -> Any:
    return [0, 1, 2].pop(data.sum(axis=0)[0])


RIGHT = [
    (general, E1, THREE, 1), (rising, ONE_MORE, THREE, 1), (one_sided, E1, THREE, 1),
    (made_inside, E1, THREE, 1), (two_positives, E1, FEW, 1), (redrawn, E1, FEW, 1),
    (one_query, PureDP(epsilon="1/4"), BITS, Fraction(1, 4)), (doubled, PureDP(epsilon=2), THREE, 2),
    (never_closed, PureDP(epsilon=2), FEW, 2), (two_sessions, PureDP(epsilon=2), THREE, 2),
    (same_query_twice, PureDP(epsilon="3/2"), BITS, Fraction(3, 2)),
    (falls_and_rises, PureDP(epsilon="3/2"), THREE, Fraction(3, 2)),
    (of_chunks, PureDP(epsilon="1/4"), STREAM, Fraction(1, 4)),
    (released_threshold, PureDP(epsilon="5/4"), THREE, Fraction(5, 4)),
    (tree, E1, STREAM, 1), (tree_whole, HALF, STREAM, Fraction(1, 2)), (tree_levels, E1, STREAM, 1),
    (tree_normal, HALF, STREAM, Fraction(1, 2)), (tree_normal, GaussianDP(mu=1), STREAM, 1),
    (shifted, E1, BITS, 1), (shifted_whole, E1, BITS, 1), (shifted_normal, HALF, BITS, Fraction(1, 2)),
    (whole_normal, HALF, BITS, Fraction(1, 2)), (whole_release, HALF, BITS, Fraction(1, 2)),
    (letters, E1, LETTERS, 1), (letter_of_the_sum, E1, LETTERS, 1),
    (letters_kept, E1, LETTERS, log_above(Fraction(2))),
    (weighted, PureDP(epsilon=2), LETTERS, log_above(Fraction(4))),
    (weighted_by_a_sum, E1, LETTERS, log_above(Fraction(8, 5))),
    (weighted_by_floats, E1, LETTERS, log_above(Fraction(5, 2))),
    (response_of_a_comparison, PureDP(epsilon="11/10"), LETTERS, log_above(Fraction(3))),
    (constant_weights, PureDP(epsilon="1/10"), LETTERS, 0),
    (exponential, E1, THREE, 1), (exponential_centred, E1, THREE, 1),
    (peeled, E1, THREE, 1), (peeled_by_gumbel, E1, THREE, 1),
]  # fmt: skip
WRONG = [
    (general, PureDP(epsilon="99/100"), THREE), (rising, E1, THREE), (halved, E1, THREE),
    (falls_and_rises, ONE_MORE, THREE), (one_more, E1, FEW), (no_query_noise, E1, THREE),
    (gaussian_threshold, E1, THREE), (gaussian_threshold, HALF, THREE), (never_closed, E1, FEW),
    (asked_after_the_end, PureDP(epsilon=9), FEW), (doubled, E1, THREE), (two_sessions, E1, THREE),
    (raw_answer, PureDP(epsilon=9), THREE), (asked_by_data, PureDP(epsilon=9), FEW),
    (same_query_twice, PureDP(epsilon="1/4"), BITS), (an_array, PureDP(epsilon=9), THREE),
    (not_clipped, PureDP(epsilon=9), Records(Anything())), (of_a_truth_value, PureDP(epsilon=9), BITS),
    (session_returned, E1, BITS), (session_as_truth, E1, BITS),
    (session_compared, E1, BITS), (hidden_scale, PureDP(epsilon=9), BITS),
    (private_threshold, PureDP(epsilon=9), BITS), (released_threshold, PureDP(epsilon="3/4"), THREE),
    (of_overlapping_chunks, PureDP(epsilon="1/4"), STREAM), (of_chunks, PureDP(epsilon="1/4"), BITS),
    (one_sided_of_chunks, PureDP(epsilon="1/4"), STREAM),
    (of_chunks, PureDP(epsilon="1/4", unit="user"), Records(Integers(0, 1), size=8, group=2)),
    (shifted_whole, E1, Records(Integers(0, 2**62), size=1)),
    (largest, E1, Records(Integers(0, 2**62))),
    (tree, PureDP(epsilon="99/100"), STREAM), (tree_halved, E1, STREAM), (tree_gumbel, E1, STREAM),
    (tree_too_short, PureDP(epsilon=9), STREAM), (tree_of_neighbours, E1, STREAM),
    (tree_of_doubles, E1, STREAM), (tree_of_fractions, HALF, STREAM), (tree_whole, GaussianDP(mu=1), STREAM),
    (tree_and_leaf, PureDP(epsilon=9), STREAM), (tree_of_a_changed_array, E1, STREAM),
    (prefix_of_raw, E1, STREAM), (tree, ONE_MORE, STREAM),
    (shifted_halved, E1, BITS), (whole_halved, HALF, BITS), (whole_of_a_float, HALF, BITS),
    (whole_scaled, HALF, BITS), (whole_normal, E1, BITS), (whole_normal, GaussianDP(mu=1), BITS),
    (shared_noise, ZeroConcentratedDP(rho=9), LETTERS), (shifted_gumbel, PureDP(epsilon=9), BITS),
    (shifted_twice, E1, BITS), (shift_returned, E1, BITS), (released_shift, PureDP(epsilon="1/2"), BITS),
    (letters, PureDP(epsilon="99/100"), LETTERS), (letters_kept_more, E1, LETTERS),
    (letters_twice, E1, LETTERS), (letters_always_kept, PureDP(epsilon=9), LETTERS),
    (too_few_letters, PureDP(epsilon=9), LETTERS), (private_epsilon, PureDP(epsilon=9), LETTERS),
    (letter_and_truth, PureDP(epsilon=9), LETTERS), (letter_of_the_sum, E1, BITS),
    (weighted, PureDP(epsilon="138/100"), LETTERS), (weighted_by_two_records, PureDP(epsilon=9), LETTERS),
    (weighted_to_zero, PureDP(epsilon=9), LETTERS), (weighted_twice, PureDP(epsilon=2), LETTERS),
    (negative_weights, PureDP(epsilon=9), LETTERS), (hidden_weights, PureDP(epsilon=9), LETTERS),
    (weighted_by_an_interval, PureDP(epsilon=9), Records(Interval(0, 3), size=5)),
    (as_many_weights_as_data, PureDP(epsilon=9), LETTERS),
    *((program, PureDP(epsilon=9), BITS) for program in (
        replaced_method, replaced_sample, replaced_sample_shifted, replaced_sample_of_a_threshold,
        replaced_sample_of_a_tree, a_subclass, stored_session, attribute_of_a_kernel, direct_response,
        state_of_a_session, prefix_of_private_length, noise_taken_back,
    )),
    (rest_of_an_iterator, PureDP(epsilon=9), STREAM), (asked_with_one_noise, PureDP(epsilon=9), STREAM),
    (two_trees, E1, STREAM), (tree_of_one_record, E1, STREAM), (tree_and_sum, E1, STREAM),
    (attribute_of_a_response, PureDP(epsilon=9), LETTERS), (returned_response, PureDP(epsilon=9), LETTERS),
    (one_letter_often, E1, LETTERS), (private_symbols, PureDP(epsilon=9), LETTERS),
    (exponential_doubled, E1, THREE), (peeled_halved, E1, THREE), (peeled_with_one_noise, E1, THREE),
    (removed_by_data, PureDP(epsilon=9), THREE), (popped_by_data, PureDP(epsilon=9), THREE),
]  # fmt: skip


def name_of(case: Any) -> str:
    return getattr(case, "__name__", "")


@pytest.mark.parametrize(("program", "claim", "data", "bound"), RIGHT, ids=name_of)
def test_a_right_program_is_proved_with_its_exact_bound(
    program: Any, claim: Any, data: Any, bound: Any
) -> None:
    """The kernel derives the bound of the mechanism from the certificate alone."""
    proof = prove_values(program, claim, data=data)
    assert proof.verdict == "verified", proof.reason
    assert proof.bound is not None
    assert float(proof.bound) == pytest.approx(float(bound), rel=1e-12)
    check(proof.certificate)


@pytest.mark.parametrize(("program", "claim", "data"), WRONG, ids=name_of)
def test_a_wrong_program_is_not_proved(program: Any, claim: Any, data: Any) -> None:
    """A program that is not private, or is not understood, is never verified."""
    proof = prove_values(program, claim, data=data)
    assert proof.verdict == "inconclusive"
    assert proof.certificate is None


def listed(certificate: Any) -> list[str]:
    return [node[1] for node in certificate["tree"] if node[0] == "show"]


def test_the_rows_of_the_suite_are_proved_if_they_are_right() -> None:
    """Algorithms 1 and 2 and the tree of DP-FTRL are proved, algorithms 3 to 6 and a small tree are not."""

    def kernel(b: Any, c: Any, k: int | None = 1) -> Kernel:
        return AboveThreshold(
            threshold=sparse_vector.THRESHOLD,
            threshold_noise=Laplace(scale=b),
            query_noise=None if c is None else Laplace(scale=c),
            max_positives=k,
        )

    never: Any = lambda answer: False  # noqa: E731
    values = ValuesAboveThreshold(threshold=0, threshold_noise=Laplace(scale=2), query_noise=Laplace(scale=2))
    cases: list[tuple[Any, Any, Records, str]] = [
        (sparse_vector.sparse_vector(kernel(2, 4)), E1, TWELVE, "verified"),
        (sparse_vector.sparse_vector(kernel(4, 8), channels=2), E1, TWELVE, "verified"),
        (sparse_vector.sparse_vector(values, ends=np.isfinite), E1, TWELVE, "inconclusive"),
        (sparse_vector.sparse_vector(kernel(4, "4/3")), E1, TWELVE, "inconclusive"),
        (sparse_vector.sparse_vector(kernel(2, None, None), ends=never), E1, TWELVE, "inconclusive"),
        (sparse_vector.sparse_vector(kernel(2, 2, None), ends=never), E1, TWELVE, "inconclusive"),
        (descent.ftrl(12), HALF, POINTS, "verified"),
        (descent.ftrl(4), HALF, POINTS, "inconclusive"),
    ]
    for program, claim, data, verdict in cases:
        assert prove_values(program, claim, data=data, files=[__file__]).verdict == verdict


def iterated(coins: Any, data: Any) -> Any:
    counts = iter(data.sum(axis=0).tolist())
    session = coins.channel(TWO, site="flags")
    return any(session.ask(count) for count in counts), [
        coins.release(count, Laplace(scale=10), site="rest") for count in counts
    ]


def test_an_iterator_goes_on_where_a_loop_left_it() -> None:
    """After two queries of three, the last count remains, and it alone is released."""
    proof = prove_values(iterated, PureDP(epsilon="11/10"), data=FEW)
    assert (proof.verdict, proof.paths) == ("verified", 4)
    # One query costs 1/2 + 1/4 and leaves two counts. Two cost 1 and leave one. Three cost 1.
    assert proof.bound == Fraction(11, 10)


def hidden_flags(coins: Any, data: Any) -> int:
    level = 1 + coins.draw(Laplace(scale=4), site="level")
    for place, count in enumerate(data.sum(axis=0)):
        if count + coins.draw(Laplace(scale=8), site="count") > level:
            return place
    return 12


def session_and_hidden_flags(coins: Any, data: Any) -> Any:
    session = coins.channel(OPEN, site="flag")
    return session.ask(data[:, 0].sum()), hidden_flags(coins, data)


def test_a_session_beside_hidden_noise_costs_the_sum() -> None:
    """The hidden noise is independent of the noise of the session."""
    parts = [prove_values(hidden_flags, PureDP(epsilon="1/2"), data=TWELVE)]
    parts += [prove_values(session_and_hidden_flags, PureDP(epsilon=e), data=TWELVE) for e in ("3/4", "5/8")]
    assert [proof.verdict for proof in parts] == ["verified", "verified", "inconclusive"]
    assert [proof.bound for proof in parts] == [Fraction(1, 2), Fraction(3, 4), Fraction(3, 4)]


def written(noise: str, k: int | None, again: bool) -> dict[str, Any]:
    return {
        "kernel": "above-threshold",
        "noise": noise,
        "threshold_scale": "2",
        "query_scale": "3",
        "max_positives": k,
        "resample_threshold": again,
    }


STEP = Info(kind="f", change=ONE, change1=ONE, change2=ONE, rises=True, support=None)
STILL = Info(kind="f", support=())
SESSIONS = list(itertools.product(["laplace", "exponential"], [1, 2, None], [False, True], [False, True]))


def worst_loss(noise: str, k: int | None, again: bool, up: int, down: int) -> float:
    """Return the largest loss of a session in which queries below rise and queries above fall."""
    family = {"laplace": Laplace, "exponential": Exponential}[noise]
    kernel = AboveThreshold(
        threshold=0,
        threshold_noise=family(scale=2),
        query_noise=family(scale=3),
        max_positives=k,
        resample_threshold=again,
    )
    positives = k or 12
    answers = ([False] * (24 // positives - 1) + [True]) * positives
    worst = 0.0
    for below, above in itertools.product((0, 20, 40), (-80, -40, 0)):
        left = [above if answer else below for answer in answers]
        right = [q - down if answer else q + up for q, answer in zip(left, answers, strict=True)]
        worst = max(worst, abs(float(kernel.log_joint(left, answers) - kernel.log_joint(right, answers))))
    return worst


def session_cost(noise: str, k: int | None, again: bool, monotone: bool, rule: Any) -> Fraction:
    s = Setting(adjacency="add-remove" if monotone else "replace-one")
    found: Fraction = rule(s, [STEP], written(noise, k, again), [0] * 24).cost[0]
    return found


@pytest.mark.parametrize(("noise", "k", "again", "monotone"), SESSIONS)
def test_the_cost_of_a_session_is_attained(noise: str, k: int | None, again: bool, monotone: bool) -> None:
    """No session loses more than the rule's bound, and some session attains it if there is a cut-off."""
    worst = worst_loss(noise, k, again, 1, 0 if monotone else 1)
    bound = float(session_cost(noise, k, again, monotone, channels.session_part))
    assert worst <= bound + 1e-9
    assert k is None or worst >= bound - 1e-9


MUTANTS = [
    (channels, "session_part", "k * (d / b + each)", "d / b + k * each"),
    (channels, "session_part", "d / b + k * each", "d / b + each"),
    (channels, "session_part", "else d / b + k * each", "else k * each"),
    (channels, "session_part", "else 2)", "else 1)"),
    (channels, "session_part", "1 if s.length_is_private", "0 if s.length_is_private"),
    (channels, "session_part", "min(most, len(asked))", "1"),
    (channels, "session_part", "if one and", "if"),
]


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant[3])
def test_a_wrong_cost_of_a_session_is_found(mutant: Any) -> None:
    """Some session loses more than a mutated rule allows."""
    rule = changed(*mutant)
    assert any(
        worst_loss(noise, k, again, 1, 0 if monotone else 1)
        > float(session_cost(noise, k, again, monotone, rule)) + 1e-9
        for noise, k, again, monotone in SESSIONS
    )


def changed(module: Any, name: str, old: str, new: str) -> Any:
    source = inspect.getsource(module)
    assert source.count(old) >= 1
    space: dict[str, Any] = {"__name__": module.__name__}
    exec(compile(source.replace(old, new, 1), f"mutant {new}", "exec"), space)
    return space[name]


def test_a_record_that_changes_one_query_of_many_pays_for_one() -> None:
    """Queries of separate records cost one query's noise, unless two records change or move."""
    first, second = (Info(kind="f", change=ONE, change1=ONE, support=((k, k + 1, 1),)) for k in range(2))
    channel = written("laplace", 1, False)

    def cost(s: Setting, *infos: Info) -> Fraction:
        found: Fraction = channels.session_part(s, infos, channel, range(len(infos))).cost[0]
        return found

    assert cost(Setting(), first, second) == Fraction(1, 3)
    assert cost(Setting(), first, first) == Fraction(7, 6)
    assert cost(Setting(), first, second, first) == Fraction(7, 6)
    assert cost(Setting(), first, second, STEP) == Fraction(7, 6)
    assert cost(Setting(group=2), first, second) == Fraction(7, 6)
    assert cost(Setting(adjacency="add-remove"), first, second) == Fraction(7, 6)


def test_the_cost_depends_on_the_asked_values_alone() -> None:
    """Public queries cost nothing, and one private query with Laplace noise costs what its noise allows."""
    s = Setting()
    for noise, cost in (("laplace", Fraction(1, 3)), ("exponential", Fraction(5, 2))):
        part = channels.session_part(s, [STILL, STEP], written(noise, None, False), [0, 1, 0])
        assert part.cost[0] == cost
    assert channels.session_part(s, [STILL], written("laplace", 1, False), [0, 0]).cost[0] == 0
    assert channels.session_part(s, [STEP, STILL], written("laplace", 1, False), []).cost[0] == 0


@pytest.mark.parametrize(
    "change",
    [
        {"kernel": "other"}, {"noise": "gaussian"}, {"threshold_scale": "0"}, {"query_scale": "-1"},
        {"max_positives": 0}, {"max_positives": True}, {"max_positives": "1"}, {"resample_threshold": 0},
        {"more": 1},
    ],
)  # fmt: skip
def test_a_malformed_channel_is_refused(change: dict[str, Any]) -> None:
    """The kernel reads only channels that its rule covers."""
    with pytest.raises(RefusedStepError):
        channels.session_part(Setting(), [STEP], {**written("laplace", 1, False), **change}, [0])


@pytest.mark.parametrize(
    "info",
    [
        Info(kind="f", change=None, change1=None, change2=None),
        Info(kind="b", change=ONE),
        Info(kind="f", shape=(2,), change=ONE),
        Info(kind="f", shape=(Poly.symbol("N"),), records=1, change=ONE),
    ],
)
def test_a_query_that_has_no_rule_is_refused(info: Info) -> None:
    """A query is a single number of bounded change."""
    with pytest.raises(RefusedStepError):
        channels.session_part(Setting(), [info], written("laplace", 1, False), [0])


def test_a_forged_session_is_refused() -> None:
    """A query needs an open session with a known channel, and every session has its number."""
    proof = prove_values(general, E1, data=THREE)
    events = [text for text in listed(proof.certificate) if text.startswith(("channel", "ask"))]
    assert events[0] == "channel 0 0"
    assert sum(text.startswith("ask 0 ") for text in events) == 3
    for old, new in (
        ("channel 0 0", "channel 1 0"),
        ("channel 0 0", "channel 0 1"),
        ("channel 0 0", "channel 0"),
        ("channel 0 0", "nothing"),
        (events[1], "ask 0 999"),
        (events[1], "ask 1 0"),
    ):
        forged = copy.deepcopy(proof.certificate)
        assert forged is not None
        for node in forged["tree"]:
            if node[0] == "show" and node[1] == old:
                node[1] = new
        with pytest.raises(ValuesProofError):
            check(forged)
    edits: list[dict[str, Any]] = [{"channels": []}, {"channels": None}, {"sessions": []}]
    for edit in edits:
        with pytest.raises(ValuesProofError):
            check({**(proof.certificate or {}), **edit})


def table(s: Setting, rows: Any, *, change: Any = None, low: int = 0, rule: Any = tables.table_ratio) -> Any:
    high = Poly.of(low + len(rows) - 1)
    info = Info(kind="i", low=Poly.of(low), high=high, change=None if change is None else Poly.of(change))
    return rule(s, info, {"law": "table", "node": 0, "low": low, "rows": rows})


GEOMETRIC = [["1/2", "1/2"], ["1/4", "3/4"], ["1/8", "7/8"]]


def test_a_table_costs_its_largest_ratio() -> None:
    """Only rows whose integers are within the change are compared, in both directions."""
    s = Setting()
    assert table(s, GEOMETRIC) == 4
    assert table(s, GEOMETRIC, change=1) == 2
    assert table(s, GEOMETRIC[::-1], change=1) == 2
    assert table(s, [["1/2", "1/2"]] * 3) == 1
    for rows in ([["1", "0"], ["1/2", "1/2"]], [["1/2", "1/4"]], [["1"], ["1/2", "1/2"]], [["2", "-1"]], []):
        with pytest.raises(RefusedStepError):
            table(s, rows)
    with pytest.raises(RefusedStepError):
        tables.table_ratio(
            s,
            Info(kind="i", low=Poly.of(0), high=Poly.of(3), change=ONE),
            {"law": "table", "node": 0, "low": 0, "rows": GEOMETRIC},
        )


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("b / a)", "a / b)"), ("i + 1 + steps", "i + steps"), ("int(change)", "0"),
        ("need((a == 0) == (b == 0)", "need(True"),
    ],
)  # fmt: skip
def test_a_wrong_table_rule_is_found(old: str, new: str) -> None:
    """Each mutated rule contradicts exact probabilities."""
    rule, s = changed(tables, "table_ratio", old, new), Setting()
    rising, falling = table(s, GEOMETRIC, change=1, rule=rule), table(s, GEOMETRIC[::-1], change=1, rule=rule)
    try:
        hidden = table(s, [["0", "1"], ["1/2", "1/2"]], rule=rule)
    except (RefusedStepError, ZeroDivisionError):
        hidden = None
    assert min(rising, falling) < 2 or hidden is not None


def test_discrete_gaussian_noise_has_the_zcdp_bound_of_its_parameter() -> None:
    """Rényi divergences of every order stay within the bound, for integers only."""
    k = np.arange(-80, 81)
    for sigma2, moved in ((1.0, 1), (4.0, 1), (4.0, 3), (0.3, 2)):
        p, q = (-((k - m) ** 2) / (2 * sigma2) for m in (0, moved))
        p, q = p - logsumexp(p), q - logsumexp(q)
        for alpha in (1.5, 2.0, 5.0):
            divergence = logsumexp(alpha * p + (1 - alpha) * q) / (alpha - 1)
            assert divergence <= alpha * moved**2 / (2 * sigma2) + 1e-9


def test_discrete_gaussian_noise_supports_claims_of_delta_by_zcdp() -> None:
    """A claim of delta is proved from rho, and so needs more than the trade-off curve of a Gaussian."""
    claim = ApproxDP(epsilon=3, delta="1/10")
    assert prove_values(whole_normal, claim, data=BITS).verdict == "verified"
    close = ApproxDP(epsilon=1, delta="13/100")
    assert prove_values(shifted_normal, close, data=BITS).verdict == "verified"
    assert prove_values(whole_normal, close, data=BITS).verdict == "inconclusive"


def test_shifted_noise_costs_what_a_release_costs() -> None:
    """The two spellings of one release have the same bound."""
    data = Records(Interval(0, 3), size=4)

    def observed(coins: Any, data: Any) -> Any:
        return coins.observe(Laplace(scale=2).shift(data.sum()), site="sum")

    def released(coins: Any, data: Any) -> Any:
        return coins.release(data.sum(), Laplace(scale=2), site="sum")

    bounds = [prove_values(one, PureDP(epsilon=2), data=data).bound for one in (observed, released)]
    assert bounds == [Fraction(3, 2), Fraction(3, 2)]
