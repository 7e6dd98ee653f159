"""Prove that the faults found by attacks on enumerations and shuffled counts stay fixed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dpaudit.certify.build import shuffled_response
from dpaudit.certify.sites import Site
from dpaudit.coins import Coins
from dpaudit.core.claims import ApproxDP, PrivacyClaim, PureDP
from dpaudit.core.errors import DpauditError
from dpaudit.core.neighbours import Neighbours
from dpaudit.core.suite import Run
from dpaudit.core.verdicts import VerdictKind, judge
from dpaudit.core.views import EVERYBODY_ELSE, SHUFFLER_OUTPUT, View, user
from dpaudit.distributions import BinaryTree, Counts, Laplace, RandomisedResponse
from dpaudit.replay.audit import PrivacyAudit
from dpaudit.replay.data_sets import DataSets
from dpaudit.replay.domains import ListedPairs
from dpaudit.replay.enumeration import enumerated
from dpaudit.replay.privacy import privacy_outcome

BITS = DataSets(records=2, values=(0, 1))
NOISE = Laplace(scale=1)
RUN = Run(profile="quick", alpha=0.01, seed=0, row_id="row")


def verdict_of(program: Any, claim: PrivacyClaim, over: Any) -> VerdictKind:
    return judge(claim, enumerated(claim, program, over=over)(RUN), unmet=(), alpha=0.01).verdict


@pytest.mark.parametrize(
    "shown",
    [
        lambda data: np.longdouble(1) + np.longdouble(2.0**-60) * int(data[0]),
        lambda data: np.int64(1) if data[0] else 1,
        lambda data: [np.float32(1) if data[0] else 1.0],
        lambda data: [np.float64(1), 1.0] if data[0] else [1.0, np.float64(1)],
        lambda data: float("nan") if data[0] else -float("nan"),
        lambda data: np.array([np.float64(1) if data[0] else 1.0], dtype=object),
    ],
)
def test_types_and_digits_beyond_a_double_are_seen(shown: Any) -> None:
    """A record in a number's type, or in digits beyond double precision, refutes the claim."""
    claim = PureDP(epsilon="1/10", domain=str(BITS))
    assert verdict_of(lambda coins, data: shown(data), claim, BITS) is VerdictKind.REFUTED


def swallowed(ask: Any) -> Any:
    """Return a program that catches the refusal and continues without it."""

    def program(coins: Coins, data: Any) -> float:
        try:
            return float(ask(coins, float(data.sum())))
        except DpauditError:
            return 0.0

    return program


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda coins, total: coins.release(total, Laplace(scale="1/100"), site="sum"), "enumerated"),
        (
            lambda coins, total: coins.channel(BinaryTree(leaves=2, noise=NOISE), site="t").ask(total),
            "finite",
        ),
        (lambda coins, total: coins.reveal({1: total}, site="sum")[1], "shown value"),
    ],
)
def test_what_cannot_be_enumerated_cannot_be_caught(ask: Any, words: str) -> None:
    """A program cannot catch the refusal of an enumeration and continue."""
    claim = PureDP(epsilon="1/10", domain=str(BITS))
    with pytest.raises(DpauditError, match=words):
        verdict_of(swallowed(ask), claim, BITS)


def test_values_with_more_than_numbers_are_refused() -> None:
    """A subclass with an attribute is refused, as replays refuse it."""

    class Told(tuple):
        pass

    def program(coins: Coins, data: Any) -> Any:
        shown = Told((1,))
        shown.secret = int(data[0])  # type: ignore[attr-defined]
        return shown

    with pytest.raises(DpauditError, match="subclasses"):
        verdict_of(program, PureDP(epsilon="1/10", domain=str(BITS)), BITS)


@pytest.mark.parametrize("over", [BITS, lambda run: [Neighbours("u", np.array([0, 1]), np.array([1, 1]))]])
def test_joint_privacy_is_enumerated_in_the_view_of_each_pair(over: Any) -> None:
    """Users who see their own bits are not refuted, those who see another's are."""
    claim = PureDP(epsilon=1, view=EVERYBODY_ELSE, domain=str(BITS))

    def arms(shift: int) -> Any:
        def program(coins: Coins, data: Any) -> None:
            for i, bit in enumerate(data):
                coins.reveal(int(bit), site="bit", to=user((i + shift) % 2))

        return program

    assert verdict_of(arms(0), claim, over) is VerdictKind.INCONCLUSIVE
    assert verdict_of(arms(1), claim, over) is VerdictKind.REFUTED


@pytest.mark.parametrize("symbols", [2, 3])
def test_response_of_more_symbols_is_not_charged_as_a_bit(symbols: int) -> None:
    """The exact delta of shuffled bits verifies bits, not trits, of which it is less than the truth."""
    users = 12
    answers = [RandomisedResponse(symbols=symbols, truth=t, epsilon=1) for t in range(symbols)]

    def program(coins: Coins, data: Any) -> Any:
        distributions = [answers[int(x)] for x in data]
        return coins.aggregate(distributions, Counts(symbols), site="messages", to=SHUFFLER_OUTPUT)

    left = np.full(users, symbols - 1)
    right = left.copy()
    right[0] = 0
    claim = ApproxDP(epsilon="1/2", delta="99/100", view=View.of(SHUFFLER_OUTPUT))
    audit = PrivacyAudit(
        domain=ListedPairs(),
        claim=claim,
        program=program,
        neighbours=lambda run: [Neighbours("one symbol", left, right)],
        sites=[Site("messages", mechanism=shuffled_response(users=users, local=1))],
    )
    outcome = privacy_outcome(audit, RUN)
    found = judge(claim, outcome.evidence, unmet=outcome.unmet, alpha=0.01).verdict
    assert found is (VerdictKind.CONSISTENT if symbols == 2 else VerdictKind.INCONCLUSIVE)
