"""Notes on failed attempts to prove a row's own program, and declarations inside a domain."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dpaudit import PrivacyAudit, PureDP, Records, Suite
from dpaudit.certify.build import laplace_mechanism
from dpaudit.certify.sites import Site
from dpaudit.core.claims import RenyiDP
from dpaudit.core.data import Anything, Integers, Interval
from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.suite import Run
from dpaudit.core.verdicts import judge
from dpaudit.core.views import SERVER, View
from dpaudit.distributions import Laplace
from dpaudit.replay import domains
from dpaudit.replay.domains import Values, Within
from dpaudit.suite import Neighbours, privacy
from dpaudit.suite.attempts import NO_PROOF, why_unproved
from tests.errors import raises

RUN = Run(profile="quick", alpha=0.05, seed=0, row_id="x")
UNIT = domains.Interval(0, 1)


def noisy_sum(coins: Any, data: Any) -> Any:
    return coins.release(data.sum(), Laplace(scale=1), site="sum")


def sum_of_a_rank(coins: Any, data: Any) -> Any:
    return coins.release(float(np.partition(data, 1)[1]), Laplace(scale=1), site="sum")


def to_the_server(coins: Any, data: Any) -> Any:
    return coins.release(data.sum(), Laplace(scale=1), site="sum", to=SERVER)


class Program:
    def __call__(self, coins: Any, data: Any) -> Any:
        return sum_of_a_rank(coins, data)


def audit(program: Any, claim: Any = None) -> PrivacyAudit:
    return PrivacyAudit(
        claim=claim or PureDP(epsilon=1),
        program=program,
        neighbours=lambda run: [Neighbours("one", np.array([0.0, 0.5]), np.array([1.0, 0.5]))],
        sites=[Site("sum", mechanism=laplace_mechanism(sensitivity=1, scale=1))],
        domain=UNIT,
    )


@pytest.mark.parametrize(
    ("tried", "word"),
    [
        (audit(sum_of_a_rank), "partition"),
        (audit(Program()), "partition"),
        (audit(lambda coins, data: str(coins)), "test_attempts.py:"),
    ],
)
def test_the_sentence_names_the_operation_and_its_line(tried: PrivacyAudit, word: str) -> None:
    """Where the attempt stops, also for programs that are objects."""
    said = why_unproved(tried, RUN)
    assert said.startswith(NO_PROOF)
    assert word in said
    assert "test_attempts.py:" in said


def test_what_is_proved_for_another_claim_is_said_to_be() -> None:
    """A program that can be followed, under a claim that no proof is about."""
    renyi = audit(noisy_sum, RenyiDP(order=2, epsilon=1))
    assert renyi.claim.in_words() in why_unproved(renyi, RUN)
    server = audit(to_the_server, PureDP(epsilon=1, view=View.of(SERVER)))
    assert "prove=Records" in why_unproved(server, RUN)
    assert "prove=Records" in why_unproved(audit(noisy_sum), RUN)


def row(program: Any, **options: Any) -> Any:
    suite = Suite(paper="mine", title="Mine")

    @privacy(suite, "sum", "mine", accounting="", **options)
    def sums() -> PrivacyAudit:
        """A noisy sum is private

        one sum
        """
        return replace(audit(program), claim=PureDP(epsilon=1, domain=Records(Interval(0, 1)).words))

    (found,) = suite.rows
    return found


def test_a_row_about_declared_data_inside_its_domain_is_verified() -> None:
    """The domain makes pairs, and nothing stands in the way of the certificate."""
    found = row(noisy_sum, prove=Records(Interval(0, 1)))
    outcome = found.evaluate(RUN)
    verdict = judge(found.claim, outcome.evidence, unmet=outcome.unmet)
    assert (verdict.verdict, verdict.strength.value) == ("verified", "proved in scope")
    assert not outcome.unmet
    assert any("corner pairs" in note for note in outcome.notes)


def test_a_wrong_program_about_declared_data_is_refuted() -> None:
    """Twice the sum is not verified for want of a proof."""

    def doubled(coins: Any, data: Any) -> Any:
        return coins.release(2 * data.sum(), Laplace(scale=1), site="sum")

    found = row(doubled, prove=Records(Interval(0, 1)), expect="refuted")
    assert judge(found.claim, found.evaluate(RUN).evidence).verdict == "refuted"


@pytest.mark.parametrize(
    ("data", "around"),
    [
        (Records(Interval(0, 2)), UNIT),
        (Records(Anything()), UNIT),
        (Records(Integers(0, 2)), Values(0, 1)),
        (Records(Interval(0, 1)), Values(0, 1)),
        (Records(Interval(-1, 1)), domains.Interval(0, None)),
        (Records(Interval(0, 1), width=3), domains.Interval(-1, None)),
        (Records(Integers(0, 1)), Values(0, 1, 2)),
    ],
)
def test_a_declaration_of_other_numbers_than_the_domain_is_an_error(data: Any, around: Any) -> None:
    """Pairs of the domain would leave out data of the claim, or refute it by data that it is not about."""
    with raises(InvalidParameterError, code="E-DOMAIN-DATA"):
        Within(data, around)


@pytest.mark.parametrize(
    ("data", "around"),
    [
        (Records(Interval(0, 1), width=3), domains.Interval(0, 1)),
        (Records(Integers(0, 1)), Values(0, 1)),
        (Records(Anything()), domains.Interval(None, None)),
    ],
)
def test_a_declaration_of_the_domain_has_its_own_words(data: Any, around: Any) -> None:
    """The words are those of the declaration."""
    assert str(Within(data, around)) == data.words
