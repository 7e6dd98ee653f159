"""Concurrent shufflers for ``benchmarks.compare``: sums of bits and linear bandits.

Tenenbaum, Kaplan, Mansour and Stemmer (ICML 2023).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, cached_property, partial

import numpy as np

from audits.concurrent_shuffle.node_privacy import nodes_proof
from audits.concurrent_shuffle.regret_bounds import REWARD_NOISE
from audits.shuffle_linear_bandits.binomial_privacy import stated
from benchmarks.compare_linear import CLAIM, LINEAR, Instance
from benchmarks.compare_protocols import DELTA, EPSILON, Cost, Floats, Play, Protocol, Seeds, least_epsilon
from dpaudit.certify.build import Proof, compose_sequential
from dpaudit.certify.calibrate import calibrate
from dpaudit.kernel.ball import lower
from dpaudit.reference.algorithms.contextual.concurrent_linucb import ConcurrentPolicy, simulate
from dpaudit.reference.algorithms.contextual.concurrent_radius import (
    concurrent_radius,
    entry_error_bound,
    printed_ridge,
)
from dpaudit.reference.mechanisms.binary_sum import binary_sum_mechanism
from dpaudit.reference.mechanisms.binomial_vectors import VectorSheet, printed_sheet
from dpaudit.reference.mechanisms.binomial_witness import one_entry
from dpaudit.reference.mechanisms.concurrent_sum import ConcurrentSum
from dpaudit.reference.mechanisms.concurrent_tree import Tree, binary_tree, build_tree
from dpaudit.reference.mechanisms.prefix_noise import TreeNoise, VectorEntryNoise

__all__ = ["SUMS", "TKMS23", "concurrent_protocols", "sum_protocols"]

SUMS, TKMS23 = "continual sums of bits", "Tenenbaum et al. 2023"


# Sums


def sum_protocols(exponent: int) -> list[Protocol]:
    """Return Algorithms 2 and 3 with calibrated bits for 2^``exponent`` users."""
    trees = {f"Algorithm 3, k = {k}": build_tree(horizon=2**exponent, n_shufflers=k) for k in (1, 2, 3)}
    trees["Algorithm 2, k = log n - 1"] = binary_tree(2**exponent)
    return [_sum_protocol(name, tree) for name, tree in trees.items()]


def _sum_protocol(name: str, tree: Tree) -> Protocol:
    printed = _counter(tree, EPSILON)

    def errors(counter: Callable[[], ConcurrentSum]) -> Play:
        def play(runs: int, seeds: Seeds) -> Floats:
            ones = np.ones(tree.horizon, np.int64)
            return counter().largest_errors(ones, np.random.default_rng(seeds.own), runs=runs)

        return play

    return Protocol(
        family=SUMS,
        name=name,
        paper=TKMS23,
        trust="shufflers",
        claim=CLAIM,
        cost=lambda: Cost(0.0, least_epsilon(nodes_proof(printed))),
        printed=errors(lambda: printed),
        equal=errors(lambda: _counter(tree, _budget(tree))),
        note="bits calibrated here, none are printed",
    )


def _counter(tree: Tree, epsilon: Fraction) -> ConcurrentSum:
    return ConcurrentSum(tree, binary_sum_mechanism, epsilon, DELTA)


@cache
def _budget(tree: Tree) -> Fraction:
    """Return the largest epsilon, to 1/50, whose equal shares really compose to (1, 1e-6)."""
    claim = stated(EPSILON, DELTA)
    low, high = 50, 500
    while high - low > 1:
        middle = (low + high) // 2
        counter = _counter(tree, Fraction(middle, 50))
        enough = nodes_proof(counter, grid="1/200").certify(claim).bound <= DELTA
        low, high = (middle, high) if enough else (low, middle)
    return Fraction(low, 50)


# Linear bandits


@dataclass(frozen=True, eq=False)
class Sheets:
    """Algorithm 4 over a tree: the parameters of a node by height, for vector and matrix jointly."""

    tree: Tree
    sheets: tuple[VectorSheet, ...]

    def proof(self) -> Proof:
        """Return all nodes above one user."""
        return compose_sequential([s.statistic().proof(epsilon=EPSILON, delta=DELTA) for s in self.sheets])

    def cost(self) -> Cost:
        """Return a lower bound from one entry of the most expensive node."""
        entries = [one_entry(sheet) for sheet in self.sheets]
        low = max((float(e.largest_epsilon(float(DELTA))) for e in entries if e is not None), default=0.0)
        return Cost(low, least_epsilon(self.proof()))

    def fewer(self, share: Fraction) -> Sheets:
        """Return the same with this share of the trials."""
        return Sheets(
            self.tree, tuple(replace(s, trials=max(1, math.ceil(share * s.trials))) for s in self.sheets)
        )

    @cached_property
    def nodes(self) -> tuple[VectorEntryNoise, ...]:
        """Return the noise of an entry by height."""
        return tuple(
            VectorEntryNoise(n_users=s.batch_size, precision=s.precision, bits=s.trials) for s in self.sheets
        )

    def calibrated(self) -> Sheets:
        """Return the same with the least share of the trials, to a thousandth, that is certified."""
        found = calibrate(
            stated(EPSILON, DELTA), lambda share: self.fewer(share).proof(), start=Fraction(1, 1000)
        )
        return self.fewer(found.parameter)


def concurrent_protocols(at: Instance, shufflers: Sequence[int] = (1, 2)) -> list[Protocol]:
    """Build Algorithm 4 with this number of shufflers, its budget halved between vector and matrix."""
    return [_bandit(at, k) for k in shufflers]


def _bandit(at: Instance, k: int) -> Protocol:
    tree = build_tree(horizon=at.horizon, n_shufflers=k)
    parts = 2 * k
    printed = Sheets(
        tree,
        tuple(
            printed_sheet(dim=at.dim, batch_size=size, epsilon=EPSILON / parts, delta=DELTA / parts)
            for size in tree.sizes
        ),
    )
    return Protocol(
        family=LINEAR,
        name=f"concurrent LinUCB, k = {k}",
        paper=TKMS23,
        trust="shufflers",
        claim=CLAIM,
        cost=printed.cost,
        printed=partial(_regret, at, lambda: printed),
        equal=partial(_regret, at, printed.calibrated),
    )


def _regret(at: Instance, sheets: Callable[[], Sheets], runs: int, seeds: Seeds) -> Floats:
    """Return Theorem C.3's ridge and radius for the noise of the nodes."""
    made = sheets()
    proxy = TreeNoise(made.tree, made.nodes).noise_proxy().max()
    bound = entry_error_bound(proxy * 1.000001, horizon=at.horizon, dim=at.dim, blind=made.tree.sizes[0] - 1)
    ridge = printed_ridge(bound, dim=at.dim)
    policy = ConcurrentPolicy(
        tree=made.tree,
        ridge=lower(ridge),
        radius=cache(lambda t: _radius(t, at, ridge)),
        vec_noise=made.nodes,
        mat_noise=made.nodes,
    )
    found = simulate(policy, at.arms(runs, seeds.instances), seed=seeds.own, checkpoints=[at.horizon])
    return found.pseudo.final


def _radius(time: int, at: Instance, ridge: object) -> float:
    found = concurrent_radius(
        time,
        dim=at.dim,
        ridge=ridge,  # type: ignore[arg-type]
        reward_noise_std=REWARD_NOISE,
        confidence_alpha=Fraction(1, at.horizon),
    )
    return lower(found)
