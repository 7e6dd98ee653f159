"""Test losses attained at one list of outcomes against densities, and runs that prove nothing."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from dpaudit.certify.witnesses.recompute import recompute
from dpaudit.core.claims import PureDP
from dpaudit.core.errors import CertificateError
from dpaudit.core.evidence import Witness
from dpaudit.distributions import Laplace
from dpaudit.prover import OneReplaced, Symbols, prove
from dpaudit.prover.attained import Attained
from dpaudit.reference.mechanisms.lazy_bandit_programs import lazy_ucb
from dpaudit.suite.program_proofs import Proving

UNIT = Symbols(1, low=0, high=1)


def asks(coins: Any, data: Any) -> None:
    """Release the record a second time after a positive outcome."""
    shown = coins.release(data[0], Laplace(scale=1), site="one")
    if shown > 0:
        coins.release(data[0], Laplace(scale=1), site="two")


def at(*outcomes: str) -> Attained:
    return Attained((Fraction(0),), (Fraction(1),), tuple(Fraction(o) for o in outcomes))


def density(outcome: float, value: float) -> float:
    return math.exp(-abs(outcome - value)) / 2


def test_the_loss_is_that_of_the_densities() -> None:
    """The loss at the outcomes 1/4 and -3 is 1/2 + 1, the logarithm of the ratio of the densities."""
    found = at("1/4", "-3").loss(asks, UNIT)
    assert found == Fraction(3, 2)
    left, right = (density(0.25, x) * density(-3, x) for x in (0, 1))
    assert math.log(left / right) == pytest.approx(float(found))


@pytest.mark.parametrize("outcomes", [("0", "-3"), ("-1", "-3"), ("1/4",)])
def test_ties_and_other_outcomes_prove_nothing(outcomes: tuple[str, ...]) -> None:
    """A tie, or another number of outcomes than releases, proves nothing."""
    assert at(*outcomes).loss(asks, UNIT) is None


def test_what_is_not_followed_proves_nothing() -> None:
    """Hidden draws, shown outcomes, different constants, a crash and an equality test prove nothing."""

    def hidden(coins: Any, data: Any) -> None:
        coins.release(data[0] + coins.draw(Laplace(scale=1), site="n"), Laplace(scale=1), site="one")

    def shows(coins: Any, data: Any) -> None:
        coins.reveal(coins.release(data[0], Laplace(scale=1), site="one") - data[0], site="shown")

    def differs(coins: Any, data: Any) -> None:
        coins.release(0, Laplace(scale=1), site="one")
        coins.reveal(data[0] > 0, site="shown")

    def crashes(coins: Any, data: Any) -> None:
        coins.release(data[0], Laplace(scale=1), site="one")
        raise ValueError

    def equal(coins: Any, data: Any) -> bool:
        return bool(coins.release(data[0], Laplace(scale=1), site="one") == -3)

    for program in (hidden, shows, differs, crashes, equal):
        assert at("-3").loss(program, UNIT) is None, program.__name__


def test_a_bandit_that_keeps_its_sums_is_refuted() -> None:
    """One reward in two releases has loss 2: the claim 1 is refuted at the outcomes, the claim 2 is
    verified."""
    program, data = lazy_ucb(arms=2, scale=1, forgets=False), Symbols(6, low=0, high=1, width=2)
    proof = prove(program, PureDP(epsilon=1), data=data, adjacency=OneReplaced())
    assert (proof.verdict, proof.bound, proof.witness["kind"]) == ("refuted", 2, "attained")
    numbers = {key: tuple(Fraction(n) for n in proof.witness[key]) for key in ("left", "right", "outcomes")}
    assert 1 < Fraction(proof.witness["loss"]) <= 2
    assert Attained(**numbers).loss(program, data) == Fraction(proof.witness["loss"])
    assert prove(program, PureDP(epsilon=2), data=data, adjacency=OneReplaced()).verdict == "verified"
    kept = lazy_ucb(arms=2, scale=1)
    assert (Attained(**numbers).loss(kept, data) or 0) <= 1


def test_the_refutation_stands_in_a_report() -> None:
    """The refutation is recomputed as a transcript, and a bound above its loss is refused."""
    program, data = lazy_ucb(arms=2, scale=1, forgets=False), Symbols(6, low=0, high=1, width=2)
    proving = Proving(program=program, epsilon=1, data=data, adjacency=OneReplaced())
    [witness] = [item for item in proving.outcome().evidence if isinstance(item, Witness)]
    assert (witness.form, witness.origin) == ("transcript", "forced")
    found = recompute(witness, proving.claim)
    assert witness.bound is not None
    assert found is not None
    assert 1 < witness.bound <= found <= 2
    with pytest.raises(CertificateError, match="too much"):
        recompute(replace(witness, bound=Fraction(3)), proving.claim)
