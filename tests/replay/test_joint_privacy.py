"""Joint privacy: what everybody but one user sees, whichever user that is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpaudit.certify.build import accounted, billboard, laplace_mechanism
from dpaudit.certify.sites import Site
from dpaudit.certify.witnesses.recompute import recompute
from dpaudit.coins import Coins, Returned
from dpaudit.core.claims import PureDP
from dpaudit.core.errors import InvalidParameterError
from dpaudit.core.evidence import Witness, evidence_from_json
from dpaudit.core.neighbours import Neighbours
from dpaudit.core.suite import Run
from dpaudit.core.verdicts import Judgement, Strength, VerdictKind, judge
from dpaudit.core.views import EVERYBODY_ELSE, NOBODY, PUBLIC, SERVER, View, user
from dpaudit.distributions import Bernoulli, Laplace
from dpaudit.replay.audit import PrivacyAudit
from dpaudit.replay.domains import Values
from dpaudit.replay.privacy import privacy_outcome
from tests.errors import raises

SUM = Site("sum", mechanism=laplace_mechanism(sensitivity=1, scale=1))
PROOF = billboard(accounted([SUM], declared="one noisy sum"), actions="the sum and the own bit")

Program = Callable[[Coins, Any], Any]


def pair_of(changed: int) -> Neighbours:
    left, right = np.array([0.0, 1.0, 0.0]), np.array([0.0, 1.0, 0.0])
    right[changed] = 1 - right[changed]
    return Neighbours(f"user {changed} changes", left, right)


def audit_of(
    program: Program, *, view: View = EVERYBODY_ELSE, pairs: Sequence[Neighbours] | None = None
) -> PrivacyAudit:
    return PrivacyAudit(
        domain=Values(0, 1),
        claim=PureDP(epsilon=1, view=view),
        program=program,
        neighbours=lambda run: [pair_of(0), pair_of(1)] if pairs is None else pairs,
        sites=[SUM],
        proof=PROOF,
    )


def decide(audit: PrivacyAudit) -> tuple[Judgement, list[Witness]]:
    """The judgement, and the witnesses, each of which re-computes against the claim from what it says."""
    run = Run(profile="quick", alpha=0.01, seed=0, row_id="row")
    outcome = privacy_outcome(audit, run, accounting="consistent")
    witnesses = [item for item in outcome.evidence if isinstance(item, Witness)]
    for item in witnesses:
        recompute(evidence_from_json(item.to_json()), audit.claim)  # raises for a bound that is too large
    (cell,) = outcome.cells
    for item in cell.evidence:
        if isinstance(item, Witness):
            recompute(item, cell.claim)
    return judge(audit.claim, outcome.evidence, unmet=outcome.unmet, alpha=run.alpha), witnesses


def own_actions(coins: Coins, data: Any) -> float:
    """A noisy sum for everybody; user i is shown an action that depends on it and on her own bit."""
    total = coins.release(float(data.sum()), Laplace(scale=1), site="sum")
    for i, bit in enumerate(data):
        coins.reveal(bool(total * bit > 1), site=f"action {i}", to=user(i))
    return total


def kept_to_herself(coins: Coins, data: Any) -> Any:
    """The whole run ends in what only the users see, and one of them sees more than the others."""
    total = coins.release(float(data.sum()), Laplace(scale=1), site="sum", to=SERVER)
    for i, bit in enumerate(data):
        for _ in range(1 + int(bit)):
            coins.reveal(float(bit), site="own", to=user(i))
    coins.reveal([float(bit) for bit in data], site="nobody's", to=NOBODY)
    return Returned(total, SERVER)


def random_actions(coins: Coins, data: Any) -> float:
    """User i's action is random, and its distribution depends on her own bit; with bit 1 there are two."""
    total = coins.release(float(data.sum()), Laplace(scale=1), site="sum")
    for i, bit in enumerate(data):
        for _ in range(1 + int(bit)):
            coins.observe(Bernoulli(p=Fraction(1 + int(bit), 4)), site=f"action {i}", to=user(i))
    return total


RIGHT: dict[str, Program] = {
    "own actions": own_actions,
    "kept to herself": kept_to_herself,
}


@pytest.mark.parametrize("name", RIGHT)
@pytest.mark.parametrize("view", [EVERYBODY_ELSE, View.everybody_but(user(0))], ids=["anybody", "user 0"])
def test_a_right_billboard_program_is_verified(name: str, view: View) -> None:
    """The certificate and a witness meet at the claim: what the user left out is shown may differ."""
    pairs = None if view == EVERYBODY_ELSE else [pair_of(0)]
    judgement, _ = decide(audit_of(RIGHT[name], view=view, pairs=pairs))
    assert (judgement.verdict, judgement.strength) == (VerdictKind.CONSISTENT, Strength.ACCOUNTED), judgement
    assert float(judgement.lower or 0) == pytest.approx(1, abs=1e-12)


def to_the_next_user(coins: Coins, data: Any) -> float:
    """User i's action is shown to the next user."""
    total = coins.release(float(data.sum()), Laplace(scale=1), site="sum")
    for i, bit in enumerate(data):
        coins.reveal(bool(total * bit > 1), site=f"action {i}", to=user((i + 1) % len(data)))
    return total


def raw_data_for_the_next_user(coins: Coins, data: Any) -> float:
    """User i + 1's action depends on user i's own bit."""
    total = coins.release(float(data.sum()), Laplace(scale=1), site="sum")
    for i in range(1, len(data)):
        coins.reveal(bool(total > data[i - 1]), site=f"action {i}", to=user(i))
    return total


def public_action(coins: Coins, data: Any) -> float:
    """The user's action is shown to her, and to everybody at the end."""
    total = coins.release(float(data.sum()), Laplace(scale=1), site="sum")
    actions = [
        bool(coins.reveal(bool(total * bit > 1), site="own", to=user(i))) for i, bit in enumerate(data)
    ]
    return float(sum(actions))


@pytest.mark.parametrize("program", [to_the_next_user, raw_data_for_the_next_user, public_action])
def test_a_leak_to_other_users_is_refuted_at_infinity(program: Program) -> None:
    """Other users see what depends on the data without noise: a leak, which re-computes from the witness."""
    judgement, (witness,) = decide(audit_of(program))
    assert (judgement.verdict, judgement.strength) == (VerdictKind.REFUTED, Strength.WITNESS)
    assert (witness.form, witness.bound) == ("leak", None)
    assert "the user left out is user-" in witness.description


def test_half_the_noise_is_refuted_at_twice_the_budget() -> None:
    """The loss of the noisy sum is the joint loss: 2 at scale 1/2."""

    def program(coins: Coins, data: Any) -> None:
        total = coins.release(float(data.sum()), Laplace(scale="1/2"), site="sum")
        for i, bit in enumerate(data):
            coins.reveal(total + bit, site=f"action {i}", to=user(i))

    judgement, _ = decide(audit_of(program))
    assert judgement.verdict is VerdictKind.REFUTED
    assert float(judgement.lower or 0) == pytest.approx(2, abs=1e-9)


def server_only(coins: Coins, data: Any) -> Returned:
    """The server gets a noisy sum, the public the true one."""
    total = coins.release(float(data.sum()), Laplace(scale=1), site="sum", to=SERVER)
    coins.reveal(float(data.sum()), site="true sum", to=PUBLIC)
    return Returned(total, SERVER)


def test_what_the_public_sees_is_in_the_joint_view() -> None:
    """A program that shows the public the true sum is refuted, whatever the server sees."""
    assert decide(audit_of(server_only))[0].verdict is VerdictKind.REFUTED


def raw_for_the_server(coins: Coins, data: Any) -> float:
    """The server computes on the data; the public sees a noisy sum."""
    values = coins.reveal([float(bit) for bit in data], site="raw", to=SERVER)
    return float(coins.release(sum(values), Laplace(scale=1), site="sum"))


def test_a_trusted_server_may_see_the_data() -> None:
    """In the public's view the noisy sum is all; in the joint view, which holds the server, the data are."""
    claim = PureDP(epsilon=1, view=View.of(PUBLIC))
    audit = PrivacyAudit(
        domain=Values(0, 1),
        claim=claim,
        program=raw_for_the_server,
        neighbours=lambda run: [pair_of(0)],
        sites=[SUM],
    )
    judgement, _ = decide(audit)
    assert (judgement.verdict, judgement.strength) == (VerdictKind.CONSISTENT, Strength.ACCOUNTED), judgement
    assert decide(audit_of(raw_for_the_server))[0].verdict is VerdictKind.REFUTED


def test_an_own_action_at_random_does_not_refute() -> None:
    """What the user left out draws is hidden, whatever its distribution and number."""
    judgement, _ = decide(audit_of(random_actions))
    assert judgement.verdict is VerdictKind.CONSISTENT, judgement


def test_a_hidden_draw_that_others_come_to_see_is_not_verified() -> None:
    """A public statistic that follows the user's own random answer costs what nobody accounts for."""

    def program(coins: Coins, data: Any) -> float:
        bits = [
            int(coins.observe(Bernoulli(p=Fraction(1 + int(bit), 4)), site="own", to=user(i)))
            for i, bit in enumerate(data)
        ]
        total = coins.release(float(data.sum()), Laplace(scale=1), site="sum")
        return coins.reveal(total + 3 * bits[0], site="shown")

    assert decide(audit_of(program))[0].verdict is VerdictKind.INCONCLUSIVE


def test_a_pair_of_a_user_in_the_view_is_refused() -> None:
    """The claim for user 0 says nothing about the data of user 1; the error says what to do."""
    with raises(InvalidParameterError, code="E-PAIR-USER-IN-VIEW", match="user 1"):
        decide(audit_of(own_actions, view=View.everybody_but(user(0)), pairs=[pair_of(1)]))


def test_a_pair_must_say_whose_data_it_changes() -> None:
    """Data of no records have no positions: the user must be named."""
    silent = Neighbours("a dict", {"bits": [0, 1]}, {"bits": [1, 1]})
    with raises(InvalidParameterError, code="E-PAIR-USER-MISSING", match="'a dict'"):
        decide(audit_of(own_actions, pairs=[silent]))
