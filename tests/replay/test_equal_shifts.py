"""Equal sites are grouped, charged and evaluated together, with the same results as each of them alone."""

from __future__ import annotations

import dataclasses
import itertools
import json
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpaudit.certify import build
from dpaudit.certify.sites import Site
from dpaudit.certify.witnesses.recompute import recompute
from dpaudit.certify.witnesses.transcript import KnownDistributions, WitnessSession, WitnessSite
from dpaudit.coins import Coins, record, replay
from dpaudit.coins.equal_shifts import by_name, equal_shifts
from dpaudit.core.claims import Adjacency, PureDP
from dpaudit.core.errors import DpauditError
from dpaudit.core.views import EVERYTHING
from dpaudit.distributions import Categorical, DiscreteLaplace, Gaussian, Laplace
from dpaudit.replay import certificate_matching as mismatches_module
from dpaudit.replay.accounting import observe_accounting, worst_cost
from dpaudit.replay.certificate_matching import fit
from dpaudit.replay.leaves import ROUNDING, leaves_of, payments
from dpaudit.replay.witness_search import loss_witness

NOISES = (Laplace(scale=2), Gaussian(sigma=3), DiscreteLaplace(scale=2))


def mixed(coins: Coins, data: Any) -> int:
    """Runs of equal releases, some with a distribution that has no closed form here, and one that does not
    move."""
    for number in range(30):
        noise = NOISES[number // 5 % 3]
        coins.release(data[number % 2], noise, site=f"count {number % 4}")
        coins.release(0, noise, site="still")
    coins.observe(Categorical(weights=[1, 1 + data[0]]), site="bit")
    coins.release(np.array([float(data[0]), 0.0]), NOISES[0], site="vector")
    return 0


def result_of(program: Any = mixed, left: Any = (0, 1), right: Any = (1, 3)) -> Any:
    recording = record(program, left, rng=np.random.default_rng(5))
    return replay(program, right, recording)


def test_losses_that_were_evaluated_together_are_those_of_each_site() -> None:
    """Every loss of a replay is the difference of the two logarithms at its own outcome."""
    result = result_of()
    assert sum(item.moved for item in result.losses) == 32
    for item in result.losses:
        alone = item.record.distribution.logp(item.record.value) - item.distribution_neighbour.logp(
            item.record.value
        )
        assert np.shape(item.loss) == ()
        assert float(item.loss) == pytest.approx(float(np.sum(alone)), rel=1e-12, abs=1e-13)


def test_sites_are_gathered_once_each_by_both_distributions() -> None:
    """Every affected site is in exactly one group, and no two groups have equal distributions."""
    result = result_of()
    found = equal_shifts(result)
    gathered = [item for moves in found for item in moves.items]
    assert sorted(item.index for item in gathered) == [item.index for item in result.losses if item.moved]
    for moves in found:
        assert all(item.record.distribution == moves.distribution for item in moves.items)
        assert all(item.distribution_neighbour == moves.other for item in moves.items)
        assert sum(map(len, by_name(moves).values())) == len(moves.items)
    pairs = [(moves.distribution, moves.other) for moves in found]
    assert all(one != other for one, other in itertools.combinations(pairs, 2))


def test_accounting_of_runs_is_the_sum_over_their_sites() -> None:
    """Affected sites, costs and totals equal those added up site by site."""
    result = result_of()
    sites = [Site("count*", total=100, touches=30), Site("vector", total=10)]
    observed = observe_accounting(result, sites)
    costs = {"count": Fraction(0), "vector": Fraction(0), "bit": Fraction(0)}
    for item in (item for item in result.losses if item.moved):
        cost = worst_cost(item.record.distribution, item.distribution_neighbour, "loss")
        if cost is None:  # Gaussian noise has no worst loss: that of the outcome counts
            cost = Fraction(float(abs(item.loss)))
        costs[item.record.site.split()[0]] += cost
    assert observed.touches == {"count*": 30, "vector": 1}
    assert observed.undeclared == ("bit",)
    assert float(observed.costs["count*"]) == pytest.approx(float(costs["count"]), rel=1e-12)
    assert float(observed.total) == pytest.approx(float(sum(costs.values())), rel=1e-12)


LAPLACE = [build.laplace_mechanism(sensitivity=1, scale=str(scale)) for scale in (1, 2)]
TREES = {
    "sum": build.compose_sequential(LAPLACE, times=[2, 3]),
    "one of two": build.compose_sequential([build.compose_parallel(LAPLACE)], times=[2]),
    "nested": build.compose_sequential(
        [build.compose_parallel([build.compose_sequential(LAPLACE), LAPLACE[1]]), LAPLACE[0]], times=[1, 2]
    ),
}


def exhaustive(proof: Any, rows: Sequence[Any], leaves: Sequence[Any], *, pure: bool) -> bool:
    """Return whether any choice of a leaf for each row is covered, by trying all of them."""
    for choice in itertools.product(*rows):
        spent: dict[int, Fraction] = {}
        for place, cost in choice:
            spent[place] = spent.get(place, Fraction(0)) + cost
        room = all(now <= leaves[place].most * (1 + ROUNDING) for place, now in spent.items())
        if room and payments(proof, spent, whole=not pure) <= 1 + ROUNDING:
            return True
    return False


@pytest.mark.parametrize("name", list(TREES))
@pytest.mark.parametrize("pure", [True, False], ids=["pure", "whole"])
def test_what_is_covered_in_bulk_is_what_some_choice_covers(name: str, pure: bool) -> None:
    """Sites are covered in bulk exactly if some choice of leaves covers them."""
    proof = TREES[name]
    leaves, _ = leaves_of(proof)
    rng = np.random.default_rng(3)
    seen = set()
    for _ in range(60):
        wanted: dict[Any, int] = {}
        for _ in range(int(rng.integers(1, 4))):
            places = sorted(rng.choice(len(leaves), size=int(rng.integers(1, 3)), replace=False).tolist())
            costs = [Fraction(int(rng.integers(1, 3)), 2) if pure else Fraction(1) for _ in places]
            row = tuple(zip(places, costs, strict=True))
            wanted[row] = wanted.get(row, 0) + int(rng.integers(1, 3))
        rows = [row for row, count in wanted.items() for _ in range(count)]
        truth = exhaustive(proof, rows, leaves, pure=pure)
        assert mismatches_module._covered(proof, wanted, leaves, pure=pure) is truth
        seen.add(truth)
    assert seen == {True, False}


def many(coins: Coins, data: int) -> None:
    """More releases than 10^5."""
    noise = Laplace(scale=4)
    for _ in range(100_001):
        coins.release(data, noise, site="count")


def test_a_run_of_more_than_a_hundred_thousand_releases() -> None:
    """A run of more than 100,000 releases is replayed to its end at the certificate's cost."""
    result = result_of(many, 0, 1)
    assert result.reached == 100_002
    assert not result.leaks
    paid = build.compose_sequential([build.laplace_mechanism(sensitivity=1, scale="4")], times=[100_001])
    short = build.compose_sequential([build.laplace_mechanism(sensitivity=1, scale="4")], times=[100_000])
    assert fit(result, paid, Adjacency.REPLACE_ONE, pure=True).mismatches == []
    assert fit(result, short, Adjacency.REPLACE_ONE, pure=True).mismatches != []


def test_a_witness_of_a_run_reads_its_distributions_from_memory() -> None:
    """The re-computed bound is the stated one, and the fields of a site are those that are written."""
    witness = loss_witness(result_of(), end=61, view=EVERYTHING, description="a run of equal sites")
    claim = PureDP(epsilon=1, view=EVERYTHING)
    assert witness.bound is not None
    assert (recompute(witness, claim) or 0) >= witness.bound
    assert all(site.keys() == WitnessSite.fields for site in witness.body["sites"])
    assert WitnessSession.fields == {item.name for item in dataclasses.fields(WitnessSession)}
    names = {item.name.replace("distribution", "law") for item in dataclasses.fields(WitnessSite)}
    assert WitnessSite.fields == names  # the keys of a file are older


def test_distributions_that_are_equal_as_values_only_are_read_again() -> None:
    """A distribution with ``true``, 1.0 or a bare 1 in the place of "1" is refused, also after one with 1 was
    read."""
    read = KnownDistributions()
    good: dict[str, Any] = Laplace(scale=1).to_json()
    assert read(good) is read(json.loads(json.dumps(good)))
    for wrong in (True, 1.0, 1):
        with pytest.raises(DpauditError):
            read({**good, "scale": wrong})
