"""The gallery of traps: no broken program is verified, no right one refuted or crashed."""

from __future__ import annotations

import pytest

from dpaudit.certify.witnesses.recompute import recompute
from dpaudit.core.errors import InvalidParameterError, MechanismError, code_of
from dpaudit.core.evidence import Witness
from dpaudit.core.suite import Run
from dpaudit.core.verdicts import Judgement, Strength, VerdictKind, judge
from dpaudit.replay.privacy import privacy_outcome
from tests.replay.traps import BROKEN, FOREIGN, RIGHT, Case

#: Broken programs that show what cannot be compared bit by bit.
REFUSED = ("a_mask", "an_equality_that_lies", "an_array_with_an_attribute", "metadata_of_a_dtype")


def decide(case: Case, *, seed: int = 0) -> Judgement:
    run = Run(profile="quick", alpha=0.01, seed=seed, row_id="row")
    audit = case.audit()
    outcome = privacy_outcome(audit, run)
    for item in outcome.evidence:
        if isinstance(item, Witness):
            recompute(
                item, audit.claim
            )  # raises if the witness claims more than its distributions and values give
    return judge(audit.claim, outcome.evidence, unmet=outcome.unmet, alpha=run.alpha)


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_program_is_not_verified(name: str) -> None:
    """A broken program is refuted, inconclusive or refused, whatever its certificate is."""
    if name in REFUSED:
        with pytest.raises(InvalidParameterError, match="shown value"):
            decide(BROKEN[name])
    else:
        assert decide(BROKEN[name]).verdict in (VerdictKind.REFUTED, VerdictKind.INCONCLUSIVE)


def test_leaves_of_two_branches_are_named_as_what_they_are() -> None:
    """The reasons state that no branch covers both leaves, and that the pure bound is exceeded by a tenth."""
    run = Run(profile="quick", alpha=0.01, seed=0, row_id="row")
    reasons = " ".join(privacy_outcome(BROKEN["leaves_of_two_branches"].audit(), run).unmet)
    assert "does not cover in combination" in reasons
    assert "can cost 1.1 in all, the certificate covers only 1" in reasons


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_program_is_verified(name: str) -> None:
    """A correct program is verified as far as replays can test it, and never refuted."""
    found = decide(RIGHT[name])
    assert (found.verdict, found.strength) == (VerdictKind.CONSISTENT, Strength.ACCOUNTED), found.reasons
    [reason] = found.reasons
    assert reason.startswith("not proved: ")


@pytest.mark.parametrize("name", FOREIGN)
@pytest.mark.parametrize("seed", range(5))
def test_foreign_randomness_is_an_error_and_no_refutation(name: str, seed: int) -> None:
    """A program that differs between two runs on the same input raises an error."""
    with pytest.raises(MechanismError) as caught:
        decide(FOREIGN[name], seed=seed)
    assert code_of(caught.value) in {"E-MECHANISM-RANDOMNESS", "E-MECHANISM-STATE"}


def test_the_gallery_is_large_enough() -> None:
    """At least forty programs of each kind."""
    assert len(BROKEN) >= 40
    assert len(RIGHT) >= 40
