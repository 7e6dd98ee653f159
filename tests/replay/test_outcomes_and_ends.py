"""Every way in which an outcome can differ, and every way in which a run can end, is judged."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dpaudit import check
from dpaudit.blackbox import Inputs
from dpaudit.certify.build import group_privacy
from dpaudit.certify.mechanisms import gaussian_mechanism, laplace_mechanism
from dpaudit.certify.sites import Site
from dpaudit.certify.witnesses.recompute import recompute
from dpaudit.coins import Coins
from dpaudit.core.claims import PrivacyClaim, PureDP, Unit, ZeroConcentratedDP
from dpaudit.core.errors import MechanismError
from dpaudit.core.evidence import Witness
from dpaudit.core.neighbours import Neighbours
from dpaudit.core.suite import Run
from dpaudit.core.verdicts import VerdictKind, judge
from dpaudit.distributions import Bernoulli, Categorical, Gaussian, Laplace
from dpaudit.replay.audit import PrivacyAudit
from dpaudit.replay.data_sets import DataSets
from dpaudit.replay.domains import ListedPairs
from dpaudit.replay.enumeration import enumerated
from dpaudit.replay.privacy import privacy_outcome, short_outcome
from dpaudit.replay.replay_plan import gather
from dpaudit.replay.watch import Watch
from tests.errors import raises

ONE = DataSets(records=1, values=(0, 1))
RUN = Run(profile="quick", alpha=0.05, seed=0, row_id="row")
PAIR = [Neighbours("0 and 1", [0], [1])]
LAPLACE = laplace_mechanism(sensitivity=1, scale=1)


def audited(program: Any, claim: PrivacyClaim, pairs: Any = PAIR, mechanism: Any = LAPLACE) -> PrivacyAudit:
    return PrivacyAudit(
        claim=claim,
        program=program,
        neighbours=lambda run: pairs,
        sites=[Site("x", mechanism=mechanism)],
        domain=ListedPairs(),
    )


def verdict(audit: PrivacyAudit) -> VerdictKind:
    found = privacy_outcome(audit, RUN)
    for item in found.evidence:
        if isinstance(item, Witness):
            recompute(item, audit.claim)
    return judge(audit.claim, found.evidence, unmet=found.unmet, alpha=RUN.alpha).verdict


@pytest.mark.parametrize(
    ("zero", "one"),
    [(0, 0.0), (0, False), (0.0, -0.0), (1, True), ([0], [0.0]), ((0,), [0]), (np.int64(0), 0), ("0", 0)],
)
def test_outcomes_that_differ_in_type_or_sign_only_refute(zero: Any, one: Any) -> None:
    """Enumerated tables tell them apart, and their witness is computed again."""

    def program(coins: Coins, data: Any) -> Any:
        return one if data[0] else zero

    claim = PureDP(epsilon=1, domain=str(ONE))
    (witness,) = [item for item in enumerated(claim, program, over=ONE)(RUN) if isinstance(item, Witness)]
    assert witness.bound is None
    assert recompute(witness, claim) is None


def test_a_path_that_raises_is_an_outcome_of_an_enumeration() -> None:
    """With equal chances it costs nothing, with other chances as much as a returned value."""

    def raises(coins: Coins, data: Any, *, leaks: bool) -> int:
        p = "3/4" if leaks and data[0] else "1/4"
        if coins.draw(Bernoulli(p=p), site="fails"):
            raise ValueError("no")
        return 0

    claim = PureDP(epsilon=1, domain=str(ONE))
    for leaks, wanted in ((False, VerdictKind.CONSISTENT), (True, VerdictKind.REFUTED)):
        found = enumerated(claim, partial(raises, leaks=leaks), over=ONE)(RUN)
        assert judge(claim, found, alpha=0.05).verdict is wanted


def test_a_raised_error_is_not_the_returned_value_that_says_the_same() -> None:
    """A pair of texts, and what is written beside values, pass for no error."""
    claim = PureDP(epsilon=1, domain=str(ONE))

    def program(coins: Coins, data: Any) -> Any:
        if data[0]:
            raise ValueError("no")
        coins.reveal(("ValueError", "no"), site="first")
        return ["raised"]

    found = enumerated(claim, program, over=ONE)(RUN)
    assert judge(claim, found, alpha=0.05).verdict is VerdictKind.REFUTED


def test_a_program_that_raises_on_every_path_is_not_enumerated() -> None:
    """A program that raises on every path is refused, because nothing ran."""

    def broken(coins: Coins, data: Any) -> Any:
        raise ValueError("no")

    with raises(MechanismError, code="E-MECHANISM-RAISED"):
        enumerated(PureDP(epsilon=1, domain=str(ONE)), broken, over=ONE)(RUN)


@pytest.mark.parametrize(
    "then",
    [
        lambda coins, data: coins.reveal(data[0], site="y"),
        lambda coins, data: data[0] and coins.reveal(0, site="y"),
        lambda coins, data: 1 / data[0],
        lambda coins, data: coins.release(np.zeros(data[0] + 1), Laplace(scale=1), site="y"),
        lambda coins, data: coins.release(float(data[0]), Laplace(scale=1), site="y"),
    ],
)
def test_what_follows_an_impossible_outcome_does_not_matter(then: Any) -> None:
    """An outcome that one input cannot give is an infinite loss, whatever is shown after it."""

    def program(coins: Coins, data: Any) -> int:
        coins.observe(Categorical(weights=[0, 1] if data[0] else [1, 0]), site="x")
        then(coins, data)
        return 0

    claim = PureDP(epsilon=1)
    for found in (privacy_outcome(audited(program, claim), RUN), short_outcome(audited(program, claim), RUN)):
        assert found is not None
        (witness,) = [item for item in found.evidence if isinstance(item, Witness)]
        assert witness.bound is None
        assert recompute(witness, claim) is None


def test_a_run_without_an_end_does_not_raise_the_limit_of_others() -> None:
    """The limit follows from runs that ended; the row ends, and is not verified."""
    limits = []

    class Spied(Watch):
        def stop(self) -> None:
            limits.append(self.limit)
            super().stop()

    def program(coins: Coins, data: Any) -> int:
        coins.release(float(data[0]), Laplace(scale=1), site="x")
        while data[0] == 1:
            pass
        return 0

    audit = audited(program, PureDP(epsilon=1))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dpaudit.replay.replay_plan.Watch", Spied)
        findings = gather(audit, RUN)
    assert limits
    assert max(limits) <= 5_000_000
    assert limits.count(5_000_000) <= 4  # the first run on this input, the first recording, the last run
    assert min(limits) < 100_000
    assert findings.leaks


@pytest.mark.parametrize("events", [2, 3])
def test_a_release_that_all_events_of_a_user_move_is_verified_for_groups(events: int) -> None:
    """A move by as many sensitivities as events is paid for, and a move by more is not."""
    cases = [
        (PureDP(epsilon=events, unit=Unit.USER), LAPLACE, Laplace(scale=1)),
        (
            ZeroConcentratedDP(rho=f"{events**2}/2", unit=Unit.USER),
            gaussian_mechanism(sensitivity=1, scale=1),
            Gaussian(sigma=1),
        ),
    ]
    for claim, mechanism, noise in cases:
        whole = group_privacy(mechanism, events=events, declared="at most so many")
        wanted = {events: VerdictKind.CONSISTENT, events + 1: VerdictKind.REFUTED}
        for changed, kind in wanted.items():
            pairs = [Neighbours("all change", [0] * changed, [1] * changed)]
            program = lambda coins, data, noise=noise: coins.release(float(sum(data)), noise, site="x")  # noqa: E731
            assert verdict(audited(program, claim, pairs, whole)) is kind


@pytest.mark.parametrize(
    "make", [pd.DataFrame, pd.Series, lambda rows: pd.DataFrame({"a": rows}, index=[*map(str, rows)])]
)
def test_tables_are_inputs_of_an_audit(make: Any) -> None:
    """Right and wrong claims about a program on pandas data are judged, and the witness is computed again."""

    def program(coins: Coins, data: Any) -> Any:
        return coins.release(float(data.to_numpy().sum()), Laplace(scale=1), site="x")

    inputs = Inputs([0, 1], size=(1, 3), make=make)
    assert verdict(audited(program, PureDP(epsilon=1), inputs)) is VerdictKind.CONSISTENT
    assert verdict(audited(program, PureDP(epsilon="1/2"), inputs)) is VerdictKind.REFUTED


class _CarryingError(ValueError):
    """An error with an attribute of its own."""

    def __init__(self, carried: Any = None) -> None:
        super().__init__("no")
        self.carried = carried


def _noted(bit: int) -> None:
    error = ValueError("no")
    error.add_note(str(bit))
    raise error


def _from_another(bit: int) -> None:
    raise ValueError("no") from KeyError(bit)


def _in_context(bit: int) -> None:
    empty: dict[int, int] = {}
    try:
        empty[bit]
    except KeyError:
        raise ValueError("no") from None


def _carrying(bit: int) -> None:
    raise _CarryingError([bit])


def _of_a_class(bit: int) -> None:
    raise type("Made", (ValueError,), {"code": bit})("no")


def _same(bit: int) -> None:
    raise _CarryingError({"any": [1, {2, 3}]})


@pytest.mark.parametrize("fail", [_noted, _from_another, _in_context, _carrying, _of_a_class])
def test_all_that_an_error_holds_is_an_outcome(fail: Any) -> None:
    """The message is the same on both inputs: replays leak, an enumeration and a check refute."""

    def program(coins: Coins, data: Any) -> int:
        if coins.observe(Bernoulli(p="1/2"), site="x"):
            fail(int(data[0]))
        return 0

    claim = PureDP(epsilon=1, domain=str(ONE))
    assert any(leak.what == "raised" for leak in gather(audited(program, claim), RUN).leaks.values())
    assert judge(claim, enumerated(claim, program, over=ONE)(RUN), alpha=0.05).verdict is VerdictKind.REFUTED

    def mechanism(data: Any, rng: np.random.Generator) -> Any:
        return fail(data[0]) if rng.random() < 0.5 else 0

    found = check(mechanism, PureDP(epsilon=1), neighbours=[([0], [1])], seed=0)
    assert found.verdict is VerdictKind.REFUTED


def test_equal_errors_are_one_outcome() -> None:
    """An error that holds the same on both inputs is no leak, and an enumeration verifies the program."""

    def program(coins: Coins, data: Any) -> int:
        if coins.observe(Bernoulli(p="1/2"), site="x"):
            _same(int(data[0]))
        return 0

    claim = PureDP(epsilon=1, domain=str(ONE))
    assert not gather(audited(program, claim), RUN).leaks
    found = enumerated(claim, program, over=ONE)(RUN)
    assert judge(claim, found, alpha=0.05).verdict is VerdictKind.CONSISTENT
