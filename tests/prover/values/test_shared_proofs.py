"""The fingerprint and the verdict of a row share one proof, of the settings that the run proves."""

from __future__ import annotations

from typing import Any, get_args

import numpy as np
import pytest

from dpaudit import ApproxDP, GaussianDP, PrivacyAudit, PureDP, Records, RenyiDP, Suite, ZeroConcentratedDP
from dpaudit.core.data import Interval
from dpaudit.core.kept import keeping
from dpaudit.core.suite import Group, Profile, Row, Run
from dpaudit.core.verdicts import judge
from dpaudit.distributions import Laplace
from dpaudit.prover.explore import explore
from dpaudit.prover.values import prove
from dpaudit.prover.values.prove import first_path, prove_values
from dpaudit.suite import Neighbours, full, over, privacy, program_proofs

SCALE = {"of the noise": 1.0}


def released_sum(coins: Any, data: Any) -> Any:
    return coins.release(data.sum(), Laplace(scale=1), site="sum")


def scaled_sum(coins: Any, data: Any) -> Any:
    return coins.release(data.sum(), Laplace(scale=SCALE["of the noise"]), site="sum")


def row_of(program: Any) -> Row:
    """A row with two settings, of which only the full profiles have the second."""
    rows = Group("Rows")

    @privacy(
        rows,
        "row",
        "here",
        accounting="",
        over=over(size=(3, full(4))),
        prove=lambda size: Records(Interval(0, 1), size=size),
    )
    def row(size: int) -> PrivacyAudit:
        """The sum is private"""
        pair = Neighbours("first", np.zeros(size), np.eye(size)[0])
        return PrivacyAudit(program=program, claim=PureDP(epsilon=1), neighbours=lambda run: [pair], sites=[])

    suite = Suite(paper="t", title="T")
    suite.include(rows)
    (found,) = suite.rows
    return found


@pytest.fixture
def proved(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of records of each proof that is computed."""
    sizes: list[int] = []

    def counted(program: Any, claim: Any, *, data: Records, **options: Any) -> Any:
        assert isinstance(data.size, int)
        sizes.append(data.size)
        return prove_values(program, claim, data=data, **options)

    monkeypatch.setattr(program_proofs, "prove_values", counted)
    return sizes


def evaluated(row: Row, profile: Profile) -> tuple[str, Any]:
    assert row.fingerprint is not None
    return row.fingerprint(0), row.evaluate(Run(profile=profile, alpha=0.05, seed=0, row_id="row"))


@pytest.mark.parametrize("profile", get_args(Profile))
def test_each_setting_of_the_run_is_proved_once(proved: list[int], profile: Profile) -> None:
    """Without ``keeping`` the fingerprint explores first paths only. It is the same in a fresh process."""
    row = row_of(released_sum)
    with keeping(profile):
        _, outcome = evaluated(row, profile)
    settings = [3] if profile == "quick" else [3, 4]
    assert proved == settings
    proved.clear()
    _, again = evaluated(row, profile)
    assert proved == settings
    assert [(cell.evidence, cell.notes, cell.unmet) for cell in again.cells] == [
        (cell.evidence, cell.notes, cell.unmet) for cell in outcome.cells
    ]
    assert row.fingerprint is not None
    digests = set()
    for verdict in (True, False):
        with keeping(profile, verdict=verdict):
            digests.add(row.fingerprint(0))
    assert len(digests) == 1


def released_twice(coins: Any, data: Any) -> Any:
    first = coins.release(data.sum(), Laplace(scale=2), site="sum")
    return first if first > 0 else coins.release(-data.sum(), Laplace(scale=2), site="sum")


def one_of_two(coins: Any, data: Any) -> Any:
    """A program that the first attempt refuses on its first path."""
    noise = [coins.laplace(1.0) for _ in range(2)] if hasattr(coins, "laplace") else [0.0, 0.0]
    return coins.release(data.sum() + max(noise), Laplace(scale=1), site="sum")


@pytest.mark.parametrize("program", [released_sum, released_twice, one_of_two])
@pytest.mark.parametrize(
    "claim", [PureDP(epsilon=1), ZeroConcentratedDP(rho=1), ApproxDP(epsilon=1, delta="1/10")]
)
def test_a_first_path_is_that_of_the_proof(program: Any, claim: Any) -> None:
    """Alone, in a proof, and in a second proof that shares its exploration."""
    data = Records(Interval(0, 1), size=2)
    alone = first_path(program, claim, data=data)
    assert len(alone) == 64
    with keeping("quick"):
        for one in (claim, GaussianDP(mu=3), claim):
            assert prove_values(program, one, data=data).start == first_path(program, one, data=data)
        assert prove_values(program, claim, data=data).start == alone


def test_claims_share_one_exploration(monkeypatch: pytest.MonkeyPatch) -> None:
    """Renyi orders of one program in one row; outside a row nothing is shared."""
    explored: list[int] = []

    def counted(*arguments: Any, **options: Any) -> Any:
        explored.append(1)
        return explore(*arguments, **options)

    monkeypatch.setattr(prove, "explore", counted)
    data = Records(Interval(0, 1), size=2)
    claims = [RenyiDP(order=order, epsilon=order) for order in (2, 4)]
    bounds = [prove_values(released_sum, claim, data=data).bound for claim in claims]
    assert len(explored) == 2
    with keeping("quick"):
        assert [prove_values(released_sum, claim, data=data).bound for claim in claims] == bounds
    assert len(explored) == 3
    assert bounds[0] != bounds[1]


def test_the_record_of_every_proof_is_in_the_fingerprint(monkeypatch: pytest.MonkeyPatch) -> None:
    """A proof that differs in a fresh process gives another fingerprint there."""
    row = row_of(scaled_sum)
    assert row.fingerprint is not None
    monkeypatch.setattr("dpaudit.replay.privacy.digest_of", lambda *a, **b: "")
    digests = set()
    for scale in (1.0, 2.0):
        monkeypatch.setitem(SCALE, "of the noise", scale)
        with keeping("quick"):
            digests.add(row.fingerprint(0))
    assert len(digests) == 2


def test_outside_a_run_a_changed_value_is_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a notebook: the first proof says nothing on half the noise."""
    row = row_of(scaled_sum)
    for scale, verdict in ((1.0, "verified"), (0.5, "refuted")):
        monkeypatch.setitem(SCALE, "of the noise", scale)
        _, outcome = evaluated(row, "quick")
        (cell,) = [cell for cell in outcome.cells if cell.deciding]
        assert judge(cell.claim, cell.evidence, unmet=cell.unmet, alpha=0.05).verdict == verdict
