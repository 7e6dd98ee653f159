"""The text of a claim's domain follows from the audit's declaration, and reports count the pairs tried."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from dpaudit.certify.build import laplace_mechanism
from dpaudit.certify.sites import Site
from dpaudit.coins import Coins
from dpaudit.core.claims import Adjacency, PureDP, Unit
from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.neighbours import Neighbours
from dpaudit.core.suite import Outcome, Run
from dpaudit.core.verdicts import Judgement, VerdictKind, judge
from dpaudit.distributions import Laplace
from dpaudit.replay.audit import PrivacyAudit
from dpaudit.replay.data_sets import DataSets
from dpaudit.replay.domains import (
    Ball,
    Columns,
    Interval,
    ListedPairs,
    Records,
    Values,
    require_neighbours,
)
from dpaudit.replay.privacy import privacy_outcome
from dpaudit.replay.search import neighbouring_arrays, search_pairs
from tests.errors import raises

RUN = Run(profile="quick", alpha=0.01, seed=0, row_id="row")


def noisy(coins: Coins, value: float) -> Any:
    return coins.release(float(value), Laplace(scale=1), site="sum")


def total(coins: Coins, data: Any) -> Any:
    return noisy(coins, np.sum(data))


def clipped(coins: Coins, data: Any) -> Any:
    return noisy(coins, np.clip(data, 0, 1))


def audited(
    program: Any, left: Any, right: Any, *, claim: dict[str, Any] | None = None, **options: Any
) -> tuple[PrivacyAudit, Outcome, Judgement]:
    """Return an audit of ε = 1 on one pair, its outcome and its verdict."""
    audit = PrivacyAudit(
        claim=PureDP(epsilon=1, **(claim or {})),
        program=program,
        neighbours=lambda run: [Neighbours("mine", left, right)],
        sites=[Site("sum", mechanism=laplace_mechanism(sensitivity=1, scale=1))],
        **options,
    )
    outcome = privacy_outcome(audit, RUN, accounting="consistent")
    judged = judge(audit.claim, outcome.evidence, unmet=outcome.unmet, alpha=RUN.alpha)
    return audit, outcome, judged


def test_a_program_without_declared_data_is_not_verified() -> None:
    """Without declared data, neither the claim nor its accounting is verified."""
    for words in ({}, {"domain": "salaries, any number"}, {"domain": "numbers in [0, 1]"}):
        audit, outcome, judged = audited(total, [0.0, 0.0], [1.0, 0.0], claim=words)
        assert judged.verdict is VerdictKind.INCONCLUSIVE
        assert audit.undeclared in judged.reasons
        assert audit.undeclared in outcome.cells[0].unmet
        assert words or "not declared" in audit.claim.domain


def test_words_follow_from_the_declaration() -> None:
    """The domain text is that of ``domain``, or of [0, 1] for ``searched``."""
    for options in ({"domain": Interval(0, 1)}, {"searched": (2, None)}):
        audit, _, judged = audited(total, [0.0, 0.0], [1.0, 0.0], **options)
        assert judged.verdict is VerdictKind.CONSISTENT
        assert audit.claim.domain == str(Interval(0, 1))


def test_other_words_than_the_declaration_are_not_verified() -> None:
    """A claim with another domain text is neither verified nor refuted."""
    _, _, judged = audited(total, [0.0], [1.0], claim={"domain": "salaries"}, domain=Interval(0, 1))
    assert judged.verdict is VerdictKind.INCONCLUSIVE
    same = {"domain": str(Interval(0, 1))}
    assert (
        audited(total, [0.0], [1.0], claim=same, domain=Interval(0, 1))[2].verdict is VerdictKind.CONSISTENT
    )


def test_missing_declarations_do_not_excuse_a_refutation() -> None:
    """A witness on the pair of the audit refutes with or without declared data."""
    for options in ({}, {"domain": Interval(0, 1)}):
        _, _, judged = audited(lambda c, d: noisy(c, 2 * sum(d)), [0.0, 0.0], [1.0, 0.0], **options)
        assert judged.verdict is VerdictKind.REFUTED


WRONG_SOMEWHERE = {
    "above 10": lambda coins, data: noisy(coins, data if data > 10 else np.clip(data, 0, 1)),
    "below 0": lambda coins, data: noisy(coins, 5 * data if data < 0 else np.clip(data, 0, 1)),
    "unclipped": noisy,
}


@pytest.mark.sample(1, each=("name",))
@pytest.mark.parametrize("name", WRONG_SOMEWHERE)
@pytest.mark.parametrize("form", [float, np.float64, np.array])
def test_one_number_is_searched_like_records(name: str, form: Any) -> None:
    """A program that is private between 0 and 1 only, about any number, is refuted from the pair (0, 1)."""
    program = WRONG_SOMEWHERE[name]
    _, _, judged = audited(program, form(0.0), form(1.0), domain=Interval(None, None))
    assert judged.verdict is VerdictKind.REFUTED
    assert audited(clipped, form(0.0), form(1.0), domain=Interval(None, None))[2].verdict is (
        VerdictKind.CONSISTENT
    )


def test_what_is_said_about_the_search_is_counted() -> None:
    """The reported numbers of pairs are those generated, and an exhaustive declaration reports no search."""
    for left, right in ((0.0, 1.0), ([0.0, 0.0], [1.0, 0.0])):
        audit, outcome, _ = audited(clipped if left == 0.0 else total, left, right, domain=Interval(0, 1))
        assert audit.domain is not None
        made = audit.domain.beside(
            audit.neighbours(RUN), Adjacency.REPLACE_ONE, np.random.default_rng(10), most=8
        )
        said = re.search(r"(\d+) corner pairs and (\d+) random pairs", " ".join(outcome.notes))
        assert said is not None
        assert [int(x) for x in said.groups()] == [len(made.corners), len(made.random)]
        assert min(len(made.corners), len(made.random)) > 0
    _, outcome, judged = audited(total, [0.0], [1.0], domain=ListedPairs())
    assert judged.verdict is VerdictKind.CONSISTENT
    assert "corner" not in " ".join(outcome.notes)
    _, outcome, _ = audited(total, [0.0, 0.0], [1.0, 0.0], searched=(2, None))
    assert re.search(r"guided search through [1-9]\d* pairs of at most 2 records", " ".join(outcome.notes))


def test_one_number_is_not_removed() -> None:
    """No pair can be generated for one number that is added or removed, and the row says so."""
    claim = {"adjacency": "add-remove"}
    _, outcome, judged = audited(clipped, 0.0, 1.0, claim=claim, domain=Interval(0, 1))
    assert judged.verdict is VerdictKind.INCONCLUSIVE
    assert any("could be generated" in text for text in outcome.unmet)


def test_all_data_sets_are_tried() -> None:
    """A program that is wrong on one pair of datasets is refuted from another pair."""

    def wrong(coins: Coins, data: Any) -> Any:
        return noisy(coins, 3 if tuple(data) == (1, 0, 1) else data[0])

    sets, pair = DataSets(records=3, values=(0, 1)), (np.array([0, 0, 0]), np.array([1, 0, 0]))
    assert audited(wrong, *pair, domain=sets)[2].verdict is VerdictKind.REFUTED
    assert audited(total, *pair, domain=sets)[2].verdict is VerdictKind.CONSISTENT
    assert (
        len(sets.beside([Neighbours("mine", *pair)], Adjacency.REPLACE_ONE, RUN.rng("x"), most=1).rest) == 11
    )
    with raises(InvalidParameterError, code="E-DATA-OUTSIDE-DOMAIN"):
        audited(total, np.array([0, 0, 2]), np.array([0, 0, 1]), domain=sets)


DOMAINS = [
    (Ball(1), np.zeros((3, 2))),
    (Ball(2, step="1/2"), np.zeros((3, 4))),
    (Columns((Ball(1), 2), (Interval(-1, 1), 1)), np.zeros((3, 2, 3))),
    (Columns((Values(-1, 1), 1), (Values(0, "1/2", 1), 1)), np.array([[1.0, 0.0]] * 3)),
    (Interval(0, 1), np.array(0.0)),
    (Values(0, 1, 3), np.array(1)),
]


@pytest.mark.parametrize("number", range(len(DOMAINS)))
def test_pairs_of_vectors_and_columns_are_in_their_domain(number: int) -> None:
    """Corners and random pairs are neighbours that the domain holds; longer vectors are outside."""
    domain, data = DOMAINS[number]
    made = domain.beside(
        [Neighbours("mine", data, data)], Adjacency.REPLACE_ONE, np.random.default_rng(0), most=20
    )
    assert len(made.pairs) >= 3  # one of three values has three pairs
    for pair in made.pairs:
        assert require_neighbours(pair, Adjacency.REPLACE_ONE, Unit.EVENT, domain) == ""
    assert isinstance(domain, Records)
    assert not domain.holds(data + 7.0)


def test_integers_become_other_numbers_only_where_the_domain_has_them() -> None:
    """Integer data in an interval get its fractions, among values they stay integers."""
    pair = Neighbours("mine", np.array([0, 0]), np.array([1, 0]))
    for domain, kinds in ((Interval(0, 1), {"i", "f"}), (Values(0, 1), {"i"})):
        made = domain.beside([pair], Adjacency.REPLACE_ONE, np.random.default_rng(0), most=20)
        assert {pair.left.dtype.kind for pair in made.pairs} <= kinds
        assert all(domain.holds(side) for pair in made.pairs for side in (pair.left, pair.right))


@pytest.mark.parametrize("adjacency", list(Adjacency))
def test_a_search_stays_in_the_domain_and_among_neighbours(adjacency: Adjacency) -> None:
    """Every pair that the guided search looks at is one of the claim's."""
    domain, seen = Values(0, 1), list[Neighbours]()

    def score(pair: Neighbours) -> float:
        seen.append(pair)
        return 0.0

    strategy = neighbouring_arrays(records=4, levels=domain.levels(), adjacency=adjacency)
    assert search_pairs(strategy, score, threshold=1, examples=60, seed=0) is None
    assert len(seen) >= 10
    for pair in seen:
        if not np.array_equal(pair.left, pair.right):
            require_neighbours(pair, adjacency, Unit.EVENT, domain)


def test_a_search_needs_independent_numbers() -> None:
    """A search in vectors of bounded norm is refused when the audit is defined."""
    with raises(InvalidParameterError, code="E-DOMAIN-SEARCHED"):
        audited(total, np.zeros((2, 2)), np.eye(2), domain=Ball(1), searched=(2, 2))


@pytest.mark.parametrize(
    ("unit", "left", "right", "allowed"),
    [
        (Unit.USER, [0, 1, 1], [0], True),
        (Unit.EVENT, [0, 1, 1], [0], False),
        (Unit.USER, [0, 1], [1, 0], False),
        (Unit.USER, [0, 1], [0, 1], False),
    ],
)
def test_a_user_may_add_several_records(unit: Unit, left: Any, right: Any, allowed: bool) -> None:
    """Under add-remove a pair of a user may differ by several records, unchecked; the sizes must differ."""
    pair = Neighbours("mine", left, right)
    if allowed:
        assert require_neighbours(pair, Adjacency.ADD_REMOVE, unit, Interval(0, 1))
        return
    with raises(InvalidParameterError, code="E-PAIR-NOT-NEIGHBOURS"):
        require_neighbours(pair, Adjacency.ADD_REMOVE, unit, Interval(0, 1))
